# SPDX-License-Identifier: Apache-2.0
"""test_error_locations.py: errors of graphs say where the program created the node."""

import inspect
import re
import sys

import pytest

import situ as tf

v1 = tf.compat.v1
HERE = __file__


def line():
    """Returns the number of the line that calls it."""
    return inspect.currentframe().f_back.f_lineno


def add(x, y):
    return tf.add(x, y, name="sum")


def message(function, *args, error=tf.errors.InvalidArgumentError, **kwargs):
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    return str(caught.value)


def test_nodes_of_sessions():
    with tf.Graph().as_default():
        x, y = v1.placeholder(tf.float32, [None]), v1.placeholder(tf.float32, [None])
        z, here = add(x, y), line()
        with v1.Session() as session:
            text = message(session.run, z, {x: [1, 2], y: [1, 2, 3]})
            unfed = message(session.run, z)
    assert text.startswith("Incompatible shapes: [2] vs. [3]")
    inner = inspect.getsourcelines(add)[1] + 1
    assert "Node 'sum' was defined at (most recent call last):" in text
    assert f'File "{HERE}", line {here}, in test_nodes_of_sessions\n    z, here = add' in text
    assert text.endswith(
        f'File "{HERE}", line {inner}, in add\n    return tf.add(x, y, name="sum")'
    )
    assert f"line {here - 1}, in test_nodes_of_sessions\n    x, y = v1.placeholder" in unfed


def test_nodes_of_functions():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def total(x, y):
        return add(x, y)

    text = message(total, tf.ones([2]), tf.ones([3]))
    assert f'File "{HERE}", line {inspect.getsourcelines(add)[1] + 1}, in add' in text
    assert text.index(", in total") < text.index(", in add")


def test_nodes_of_loop_bodies():
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def total(x):
        for _ in tf.range(3):
            tf.debugging.assert_equal(x, 1.0)
            x += 1.0
        return x

    text = message(total, tf.ones([2]))
    assert "was defined at" in text
    assert "tf.debugging.assert_equal(x, 1.0)" in text.partition("was defined at")[2]


def test_variables_and_gradients():
    with tf.Graph().as_default():
        x = v1.get_variable("w", [2])
        y = tf.reduce_sum(x * x)
        (grad,), here = tf.gradients(y, [x]), line()
        with v1.Session() as session:
            text = message(session.run, y, error=tf.errors.FailedPreconditionError)
        assert "y = tf.reduce_sum(x * x)" in text  # where the resource variable is read
        assert grad.op._origin[-1][1] == here


def test_every_line_is_its_own():
    with tf.Graph().as_default():
        made = []
        for _ in range(2):
            made.append(add(tf.constant(1.0), tf.constant(2.0)))
            made.append(add(tf.constant(1.0), tf.constant(2.0)))
        lines = [t.op._origin[-2][1] for t in made]
    assert lines[0] == lines[2] and lines[1] == lines[3] == lines[0] + 1


# What errors name: functions, variables, devices, arguments


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: tf.reduce_sum([1.0], axes=0), r"reduce_sum\(\) got an unexpected .* 'axes'"),
        (lambda: tf.reduce_sum([1.0], 0, False, "a", "b"), r"reduce_sum\(\) takes at most 4 arg"),
        (lambda: tf.reduce_sum([1.0], 1, axis=0), r"reduce_sum\(\) got multiple values"),
        (lambda: tf.add([1.0]), r"add\(\) missing required argument 'y'"),
        (lambda: tf.nn.relu(), r"relu\(\) missing required argument 'features'"),
        (lambda: tf.math.argmax([1.0], dim=1), r"^argmax\(\) got an unexpected keyword"),
    ],
)
def test_functions_are_named_as_in_the_program(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_assignments_name_the_variable():
    variable = tf.Variable([1.0, 2.0], name="weights")
    with pytest.raises(ValueError, match=r"'weights:0' of shape \(2,\): Shapes .* incompatible"):
        variable.assign([1.0, 2.0, 3.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Variable: 'weights:0'"):
        variable.assign_add([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="assigned to variable 'weights:0'"):
        variable.assign(tf.constant([1, 2]))


def test_unknown_devices_list_the_known_ones():
    with pytest.raises(RuntimeError, match="GPU:7 unknown device") as caught:
        with tf.device("/gpu:7"):
            tf.constant(1.0)
    assert str(caught.value).endswith("unknown device.")
    if sys.version_info >= (3, 11):  # exceptions have notes
        assert re.match("Known devices: /job.*CPU:0", caught.value.__notes__[0])


def test_loops_name_the_variable():
    @tf.function
    def grows(n):
        x = tf.ones([1])
        for _ in tf.range(n):
            x = tf.concat([x, x], 0)
        return x

    @tf.function
    def changes(n):
        x = tf.ones([1])
        while n > 0:
            x, n = tf.constant([1]), n - 1
        return x

    with pytest.raises(ValueError, match=r"'x' has shape \(1,\) before the loop, but shape \(2,\)"):
        grows(tf.constant(3))
    with pytest.raises(TypeError, match="'x' has dtype float32 before the loop, but dtype int32"):
        changes(tf.constant(3))


def test_sizes_of_arrays_name_the_argument():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="\n'x' sizes: 9\n'y' sizes: 10"):
        model.fit(tf.ones([9, 2]), tf.ones([10, 1]))
    with pytest.raises(ValueError, match="\n'sample_weight' sizes: 8"):
        model.fit(tf.ones([9, 2]), tf.ones([9, 1]), sample_weight=tf.ones([8]))
