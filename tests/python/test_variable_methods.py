# SPDX-License-Identifier: Apache-2.0
"""test_variable_methods.py: methods of graph variables besides assign, by reference and by
handle; their initial values. Numbers are TensorFlow's."""

import numpy as np
import pytest

import situ.compat.v1 as tf

START = np.arange(6, dtype="f").reshape(3, 2)


@pytest.fixture(params=[False, True], ids=["reference", "handle"])
def variable(request):
    with tf.Graph().as_default():
        yield tf.Variable(START, use_resource=request.param)


def _after(change, read=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(change if read is None else read)


ROWS = {
    "update": [[7, 8], [2, 3], [9, 3]],
    "add": [[7, 9], [2, 3], [13, 8]],
    "sub": [[-7, -7], [2, 3], [-5, 2]],
    "mul": [[0, 8], [2, 3], [36, 15]],
    "div": [[0, 0.125], [2, 3], [4 / 9, 5 / 3]],
    "min": [[0, 1], [2, 3], [4, 3]],
    "max": [[7, 8], [2, 3], [9, 5]],
}


@pytest.mark.parametrize("word", ROWS)
def test_rows_by_number(variable, word):
    delta = tf.IndexedSlices(tf.constant([[7.0, 8.0], [9.0, 3.0]]), tf.constant([0, 2]))
    np.testing.assert_allclose(
        _after(getattr(variable, "scatter_" + word)(delta)), ROWS[word], rtol=1e-6
    )


@pytest.mark.parametrize(
    "word, want",
    [
        ("update", [[0, 5], [2, 3], [6, 5]]),
        ("add", [[0, 6], [2, 3], [10, 5]]),
        ("sub", [[0, -4], [2, 3], [-2, 5]]),
    ],
)
def test_elements_by_number(variable, word, want):
    change = getattr(variable, "scatter_nd_" + word)([[0, 1], [2, 0]], [5.0, 6.0])
    assert _after(change).tolist() == want


def test_reads_by_number(variable):
    assert _after(variable.sparse_read([2, 0, 2])).tolist() == [[4, 5], [0, 1], [4, 5]]
    assert _after(variable.gather_nd([[0, 1], [2, 0]])).tolist() == [1, 4]


@pytest.mark.parametrize("handle", [False, True])
def test_counting_up(handle):
    with tf.Graph().as_default(), tf.Session() as session:
        count = tf.Variable(0, use_resource=handle)
        up = count.count_up_to(2)
        session.run(count.initializer)
        assert [session.run(up), session.run(up), session.run(count)] == [0, 1, 2]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(up)


def test_first_values():
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        assert _after(tf.get_variable("a", initializer=lambda: tf.ones([2]) * 3)).tolist() == [3, 3]
        with pytest.raises(ValueError, match="If initializer is a constant, do not specify shape"):
            tf.get_variable("b", [3], initializer=tf.ones([3]))
        with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2, 2\), but got \(4,\)"):
            tf.get_variable(
                "c", [2, 2], initializer=tf.constant_initializer([1.0] * 4, verify_shape=True)
            )
        wide = tf.get_variable("d", [1000], initializer=tf.random_uniform_initializer(seed=1))
        normal = tf.get_variable("e", [1000], initializer=tf.random_normal_initializer(seed=1))
        value = _after(wide)
        assert value.min() >= 0 and value.max() > 0.9 and 0.9 < _after(normal).std() < 1.1
        lecun = tf.get_variable("f", [40, 50], initializer=tf.initializers.lecun_uniform(seed=3))
        assert 0.9 < np.abs(_after(lecun)).max() / np.sqrt(3 / 40) < 1


def test_first_values_of_eager_style(python):
    done = python("""
        import situ as tf
        for kind in tf.random_normal_initializer, tf.random_uniform_initializer:
            value = kind(seed=1)([1000]).numpy()
            print(0.02 < value.std() < 0.06)
    """)
    assert done.out == "True\nTrue\n", done.err


def test_an_assignment_without_a_read_is_an_operation(variable):
    for change in (variable.assign, variable.assign_add, variable.assign_sub):
        made = change(START, read_value=False)
        assert isinstance(made, tf.Operation)
    assert _after(variable.assign_add(START, use_locking=True))[2, 1] == 10


def test_the_argument_shape_of_a_variable(variable):
    kind = "Var" in variable.op.type
    given = tf.Variable([1.0, 2.0], shape=[2], use_resource=kind)
    assert given.shape == [2]
    with pytest.raises(ValueError, match=r"not compatible with .* \(\[3\]\)"):
        tf.Variable([1.0, 2.0], shape=[3], use_resource=kind)
    with pytest.raises(NotImplementedError, match=r"shape=\(\?,\) in a graph"):
        tf.Variable([1.0, 2.0], shape=tf.TensorShape([None]), use_resource=kind)


def test_an_initial_value_of_unknown_shape():
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32)
        with pytest.raises(ValueError, match="must have a shape specified"):
            tf.Variable(fed, use_resource=False)
        with pytest.raises(NotImplementedError, match="shape=<unknown>"):
            tf.get_variable("v", initializer=fed, validate_shape=False)
        v = tf.Variable(fed, shape=[2], validate_shape=False, use_resource=False)
        assert v.initializer.get_attr("validate_shape") is False
        session.run(v.initializer, {fed: [1, 2]})
        assert session.run(v).tolist() == [1, 2]


def test_a_variable_by_its_definition_is_not_supported():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="variable_def"):
        tf.Variable(variable_def="v")


def test_arguments_of_the_functions_that_assign(variable):
    before = tf.assign_add(variable, START, None, "plus")
    assert before.op.name == "plus"
    assert tf.assign(variable, START, name="set").op.name == "set"
    if "Var" not in variable.op.type:
        assert tf.assign_sub(variable, START, True).op.get_attr("use_locking") is True


def test_a_partitioned_variable_passes_the_arguments_of_an_assignment():
    with tf.Graph().as_default():
        parts = tf.get_variable(
            "p", [4], partitioner=tf.fixed_size_partitioner(2), initializer=tf.zeros_initializer()
        )
        made = parts.assign([1.0, 2, 3, 4], name="set", read_value=False)
        assert [o.name for o in made] == ["set", "set_1"]
        assert _after(made, parts.as_tensor()).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("use_resource", [False, True])
def test_constraints_are_functions(use_resource):
    with tf.Graph().as_default():
        v = tf.Variable(1.0, use_resource=use_resource, constraint=tf.identity)
        assert v.constraint is tf.identity
        for constraint in (0, "non_neg"):
            with pytest.raises(ValueError, match="must be None or a callable"):
                tf.Variable(1.0, use_resource=use_resource, constraint=constraint)
    with tf.init_scope(), pytest.raises(ValueError, match="must be None or a callable"):
        tf.Variable(1.0, constraint=0)
