# SPDX-License-Identifier: Apache-2.0
"""test_variable_parts.py: assignments to parts of variables: variable[...].assign in graph
style, by reference and by handle, and the op of tensors."""

import numpy as np
import pytest

import situ.compat.v1 as tf

START = np.arange(12, dtype="f").reshape(3, 4)
KEYS = [
    np.s_[0],
    np.s_[:2],
    np.s_[::2, 1:],
    np.s_[-1, ::-1],
    np.s_[..., 2],
    np.s_[1:1],
    np.s_[1, 2],
    np.s_[None, 1],
    np.s_[:],
]


@pytest.fixture(params=[False, True], ids=["reference", "handle"])
def variable(request):
    with tf.Graph().as_default():
        yield tf.Variable(START, use_resource=request.param)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_part_is_assigned(variable, key):
    value = -np.arange(1, START[key].size + 1, dtype="f").reshape(START[key].shape)
    change = variable[key].assign(value)
    want = START.copy()
    want[key] = value
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(variable).tolist() == START.tolist()
        assert session.run(change).tolist() == want.tolist()
        assert session.run(variable).tolist() == want.tolist()
        session.run(tf.global_variables_initializer())
        session.run(change.op)
        assert session.run(variable).tolist() == want.tolist()


@pytest.mark.parametrize("value", [7.0, [7.0] * 4, [[7.0] * 4], [[7.0], [7.0]], [[7.0]]])
def test_values_are_broadcast(variable, value):
    with tf.Session() as session:
        change = variable[:2].assign(value)
        session.run(tf.global_variables_initializer())
        assert session.run(change).tolist() == [[7.0] * 4, [7.0] * 4, START[2].tolist()]


def test_several_parts_in_one_step(variable):
    changes = [variable[i].assign([float(-i)] * 4) for i in range(3)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([c.op for c in changes])
        assert session.run(variable).tolist() == [[0.0] * 4, [-1.0] * 4, [-2.0] * 4]


def test_places_of_tensors(variable):
    row = tf.placeholder(tf.int32, [])
    changes = [
        variable[row, 1:].assign([5.0, 6.0, 7.0]),
        variable[tf.cast(row, tf.int64)].assign_add([1.0, 1.0, 1.0, 1.0]),
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(changes[0].op, {row: 2})
        session.run(changes[1].op, {row: 0})
        assert session.run(variable).tolist() == [[1, 2, 3, 4], [4, 5, 6, 7], [8, 5, 6, 7]]


def test_values_that_do_not_fit(variable):
    with pytest.raises(
        ValueError,
        match=r"Cannot broadcast input shape \[4,1\] into final shape "
        r"\[2,4\]",
    ):
        variable[:2].assign(np.ones((4, 1), "f"))


def test_a_part_of_a_variable_without_a_value(variable):
    change = variable[0].assign([1.0] * 4)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(change.op)


def test_gradient_of_an_update():
    with tf.Graph().as_default():
        whole, part = tf.constant(START), tf.constant([[1.0], [2.0]])
        made = tf.raw_ops.TensorStridedSliceUpdate(
            input=whole, begin=[0, 1], end=[2, 3], strides=[1, 1], value=part
        )
        grads = tf.gradients(made * made, [whole, part])
        with tf.Session() as session:
            value, of_whole, of_part = session.run([made, *grads])
    want = START.copy()
    want[:2, 1:3] = [[1], [2]]
    assert value.tolist() == want.tolist()
    want *= 2
    want[:2, 1:3] = 0
    assert of_whole.tolist() == want.tolist() and of_part.tolist() == [[4], [8]]


def test_on_a_gpu(python):
    done = python(
        """
        import situ.compat.v1 as tf
        for handle in False, True:
            with tf.device("/gpu:0"):
                v = tf.Variable([[1., 2.], [3., 4.]], use_resource=handle)
                change = v[:, 1].assign([8., 9.])
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                print(session.run(change).tolist(), change.op.device)
    """,
        gpus=1,
    )
    assert done.out == "[[1.0, 8.0], [3.0, 9.0]] /device:GPU:0\n" * 2, done.err


def test_the_name_of_an_assignment_to_a_part(variable):
    made = variable[0].assign(START[1], "part")
    assert made.op.name == "part"
