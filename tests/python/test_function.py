# SPDX-License-Identifier: Apache-2.0
"""test_function.py: tf.function: what is traced, when, and which arguments are rejected."""

import collections

import numpy as np
import pytest

import situ as tf

Pair = collections.namedtuple("Pair", "a b")


def counted(**kwargs):
    """A function that counts its traces."""

    @tf.function(**kwargs)
    def double(x, y=2, flag=True):
        counted.traces += 1
        return x * y if flag else x

    counted.traces = 0
    return double


def test_retraces_by_signature():
    f = counted()
    for x in ([1.0, 2.0], [3.0, 4.0], [1.0, 2.0, 3.0], [[1.0]], [1, 2]):
        f(tf.constant(x))
    assert counted.traces == 4 == f.experimental_get_tracing_count()
    f(tf.constant([1.0, 2.0]), 3)
    f(tf.constant([5.0, 6.0]), 3)
    assert counted.traces == 5


def test_equal_calls_share_a_trace():
    f, x = counted(), tf.constant([1.0, 2.0])
    for result in (f(x), f(x, 2), f(x, y=2), f(x=x), f(x, 2, True), f(np.float32([1, 2]))):
        assert result.numpy().tolist() == [2, 4]
    assert counted.traces == 1
    f(x, flag=False)
    assert counted.traces == 2


def test_python_values_are_part_of_the_signature():
    f = counted()
    assert [int(f(n)) for n in (3, 4, 3)] == [6, 8, 6] and counted.traces == 2


def test_structures():
    @tf.function
    def f(d):
        return {"a": d["x"] + 1, "b": [d["y"][0] * 2, (d["y"][1], None)]}

    result = f({"x": tf.constant(1.0), "y": (tf.constant(2), tf.constant(3))})
    assert float(result["a"]) == 2 and int(result["b"][0]) == 4 and result["b"][1][1] is None
    swapped = tf.function(lambda p: Pair(p.b, p.a))(Pair(tf.constant(1), tf.constant(2)))
    assert isinstance(swapped, Pair) and int(swapped.a) == 2
    g = tf.function(lambda xs: len(xs))
    assert [int(g(x)) for x in ([1, 2], (1, 2), [1], {"k": 1})] == [2, 2, 1, 1]


def test_input_signature():
    f = counted(input_signature=[tf.TensorSpec([None], tf.float32)])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def g(x):
        counted.traces += 1
        return x + 1

    assert g([1.0, 2.0]).numpy().tolist() == [2, 3] and g(tf.constant([1.0])).numpy().tolist() == [
        2
    ]
    assert g.get_concrete_function()(tf.constant([5.0])).numpy().tolist() == [6]
    assert counted.traces == 1
    for args in ((tf.constant([[1.0]]),), (tf.constant([1]),), (tf.constant([1.0]), 3), ()):
        with pytest.raises(TypeError, match="Binding inputs to tf.function failed due to"):
            g(*args)
    assert f(tf.constant([1.0])).numpy().tolist() == [2]  # what the signature lacks has defaults
    with pytest.raises(TypeError):
        f(tf.constant([1.0]), 3)


def test_signatures_are_tuples():
    specs = [tf.TensorSpec([None])]
    assert tf.function(lambda x: x, input_signature=specs).input_signature == tuple(specs)
    assert tf.function(lambda: 1, input_signature=[]).input_signature == ()


def test_variables_of_concrete_functions():
    v, w = tf.Variable(1.0), tf.Variable(2.0, trainable=False)
    concrete = tf.function(lambda: v + w).get_concrete_function()
    assert [x is y for x, y in zip(concrete.variables, (v, w))] == [True, True]
    assert len(concrete.trainable_variables) == 1 and concrete.trainable_variables[0] is v


def test_concrete_functions():
    f = counted()
    concrete = f.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert concrete(tf.constant([1.0, 2.0])).numpy().tolist() == [2, 4]
    assert [t.shape.as_list() for t in concrete.inputs] == [[2]]
    x = tf.TensorSpec([2], tf.float32, name="x")
    assert concrete.structured_input_signature == ((x, 2, True), {})
    assert f.python_function(3) == 6 and f.__name__ == "double"


def test_signatures_have_the_specs_of_composite_tensors():
    ragged, sparse = tf.RaggedTensorSpec([None, None], "int32"), tf.SparseTensorSpec([2, 2])

    @tf.function
    def f(r, x, *, k=3):
        return {"r": r, "n": tf.sparse.reduce_sum(x["s"])}

    concrete = f.get_concrete_function(ragged, {"s": sparse})
    assert concrete.structured_input_signature == ((ragged, {"s": sparse}), {"k": 3})
    assert "r: RaggedTensorSpec(TensorShape([None, None])" in repr(concrete)
    assert concrete.function_type.output["r"] == ragged
    s = tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]])
    r = tf.ragged.constant([[1], [2, 3]])
    assert concrete(r=r, x={"s": s})["n"].numpy() == 3 == concrete(r, {"s": s})["n"].numpy()
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        concrete(r)
    of_value = f.get_concrete_function(r, {"s": s}).structured_input_signature[0][0]
    assert of_value == tf.RaggedTensorSpec([2, None], "int32")


def test_captures():
    v, c = tf.Variable(1.0), tf.constant([10.0])

    @tf.function
    def f(x):
        v.assign_add(x)
        return v * c

    assert f(tf.constant(2.0)).numpy().tolist() == [30] and float(v) == 3
    v.assign(0.0)
    assert f(tf.constant(2.0)).numpy().tolist() == [20]
    assert f.get_concrete_function(tf.constant(2.0)).variables == (v,)


class Layer:
    def __init__(self):
        self.weight = None

    @tf.function
    def __call__(self, x):
        if self.weight is None:
            self.weight = tf.Variable(2.0)
        return self.weight * x

    @tf.function
    def shifted(self, x):
        return self.weight + x


def test_methods_and_variables_of_the_first_call():
    a, b = Layer(), Layer()
    assert [float(a(tf.constant(x))) for x in (3.0, 4.0)] == [6, 8]
    a.weight.assign(5.0)
    assert float(b(tf.constant(1.0))) == 2 and float(a(tf.constant(1.0))) == 5
    assert float(a.shifted(tf.constant(1.0))) == 6 and float(b.shifted(tf.constant(1.0))) == 3


def test_variables_of_every_call_are_refused():
    with pytest.raises(ValueError, match="only supports singleton tf.Variables created on the"):
        tf.function(lambda x: tf.Variable(1.0) * x)(tf.constant(1.0))


def test_functions_call_functions():
    inner = tf.function(lambda x: x * 2)
    outer = tf.function(lambda x: inner(x) + inner(x + 1))
    assert float(outer(tf.constant(1.0))) == 6


def test_python_control_flow():
    @tf.function
    def f(x):
        for i in range(3):
            x = x + i
        return x

    @tf.function
    def total(x):
        result = 0.0
        for part in x:
            result = result + part
        return result

    assert int(f(tf.constant(0))) == 3 and float(total(tf.constant([1.0, 2.0, 3.0]))) == 6


def test_a_tensor_is_no_condition():
    @tf.function(autograph=False)
    def f(x):
        return x if x > 0 else -x

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError) as caught:
        f(tf.constant(-3.0))
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("Using a symbolic `tf.Tensor` as a Python `bool` is not allowed")
    assert "tf.cond, tf.while_loop or tf.where" in rest[-1] and isinstance(caught.value, TypeError)
    tf.config.run_functions_eagerly(True)
    try:
        assert float(f(tf.constant(-3.0))) == 3 and tf.config.functions_run_eagerly()
    finally:
        tf.config.run_functions_eagerly(False)


def test_errors_while_running():
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def square(x):
        return tf.matmul(x, x)

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        square([[1.0, 2.0]])
    assert str(caught.value).startswith("Matrix size-incompatible: In[0]: [1,2], In[1]: [1,2]")
    assert "[Op:__inference_square" in str(caught.value)
    assert square([[2.0]]).numpy().tolist() == [[4]]


def test_nothing_and_python_values_are_returned():
    assert tf.function(lambda x: None)(tf.constant(1)) is None
    number, text = tf.function(lambda: (1, "a"))()
    assert int(number) == 1 and text.numpy() == b"a"
    assert not tf.function(tf.executing_eagerly)().numpy()


def test_values_that_a_program_keeps_stay():
    """New values of variables are put in the memory of old ones, but not of those in use."""
    v, optimizer = tf.Variable([1.0, 2.0]), tf.keras.optimizers.SGD(1.0, momentum=0.5)

    @tf.function
    def step():
        before = v + 0.0
        optimizer.apply_gradients([(tf.ones(2), v)])
        return before

    np.testing.assert_array_equal(step(), [1, 2])
    kept, same = v.value(), tf.identity(v)
    other, view = tf.Variable(v), np.asarray(v)
    np.testing.assert_array_equal(step(), [0, 1])
    np.testing.assert_array_equal(step(), [-1.5, -0.5])
    np.testing.assert_array_equal(v, [-3.25, -2.25])
    for old in (kept, same, other, view):
        np.testing.assert_array_equal(old, [0, 1])


def test_a_variable_with_a_less_specific_shape_is_assigned_other_shapes():
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape([None]))
    assert v.shape == [None]

    @tf.function
    def double():
        return v * 2.0

    @tf.function
    def replace(x):
        v.assign(x)
        v.assign_add(x)
        return tf.shape(v)

    assert double().numpy().tolist() == [2, 4]
    v.assign([1.0, 2.0, 3.0])
    assert double().numpy().tolist() == [2, 4, 6]
    assert double.get_concrete_function().outputs[0].shape.as_list() == [None]
    with tf.GradientTape() as tape:
        y = double()
    assert tape.gradient(y, v).numpy().tolist() == [2, 2, 2]
    assert replace(tf.constant([5.0])).numpy().tolist() == [1] and v.numpy().tolist() == [10]
    with pytest.raises(ValueError, match=r"\(None,\) and \(1, 1\) are incompatible"):
        v.assign([[1.0]])
    with pytest.raises(ValueError, match=r"not compatible with .* \(\[2\]\)"):
        tf.Variable([1.0], shape=[2])
    with pytest.raises(ValueError, match="`variable_def` arg is not supported"):
        tf.Variable(variable_def="v")


def test_options_of_functions():
    with pytest.raises(ValueError, match="experimental_autograph_options must be"):
        tf.function(abs, experimental_autograph_options=("LISTS",))
    made = tf.function(lambda x: x, jit_compile=True, experimental_implements="name")
    assert made(tf.constant(2)).numpy() == 2
    short, long = (made.pretty_printed_concrete_signatures(verbose=v) for v in (False, True))
    assert len(short) < len(long)
