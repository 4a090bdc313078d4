# SPDX-License-Identifier: Apache-2.0
"""test_shape_arithmetic.py: Roll, BroadcastArgs, ConcatOffset, EditDistance, eye of tensors."""

import numpy as np
import pytest

import situ as tf
from situ.compat import v1 as tf1


def test_roll_of_any_type_and_axes():
    x = np.arange(24).reshape(2, 3, 4)
    for shift, axis in ((5, 1), (-1, -1), ([1, -2], [0, 2]), ([1, 1], [2, 2])):
        np.testing.assert_array_equal(tf.roll(x, shift, axis), np.roll(x, shift, axis))
    assert tf.roll(["a", "b", "c"], 1, 0).numpy().tolist() == [b"c", b"a", b"b"]
    variable = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.roll(variable, 1, 0) * [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(tape.gradient(y, variable), [2, 4, 1])


def test_roll_by_computed_shifts():
    with tf1.Graph().as_default(), tf1.Session() as session:
        shift = tf1.placeholder("int32")
        y = tf.roll(tf.constant([[1, 2, 3], [4, 5, 6]]), shift, [0, 1])
        assert y.shape == [2, 3]
        np.testing.assert_array_equal(session.run(y, {shift: [1, -1]}), [[5, 6, 4], [2, 3, 1]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same size"):
            session.run(y, {shift: [1]})
        with pytest.raises(ValueError, match="Shape must be at least rank 1 but is rank 0"):
            tf.roll(7, 1, 0)
        with pytest.raises(ValueError, match="both shapes must be equal"):
            tf.roll([[1, 2]], [1], [0, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="axis 3 is out of range"):
        tf.roll([1, 2], 1, 3)


def test_broadcast_args():
    np.testing.assert_array_equal(tf.broadcast_dynamic_shape([3, 1], [2, 1, 5]), [2, 3, 5])
    np.testing.assert_array_equal(tf.raw_ops.BroadcastArgs(s0=[3, 0, 5], s1=[1, 1]), [3, 0, 5])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[2,3\] vs. \[4\]"):
        tf.broadcast_dynamic_shape([2, 3], [4])


def test_concat_offset():
    made = tf.raw_ops.ConcatOffset(concat_dim=-1, shape=[[2, 3], [2, 7], [2, 1]])
    assert [part.numpy().tolist() for part in made] == [[0, 0], [0, 3], [0, 10]]
    for shapes, message in (
        ([[2, 3], [2, 3, 4]], "input 1 should contain 2 elements"),
        ([[2, 3], [1, 3]], r"Input 1 has shape \[1 3\] and doesn't match input 0"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.raw_ops.ConcatOffset(concat_dim=1, shape=shapes)


def test_edit_distance_has_a_static_shape():
    with tf1.Graph().as_default(), tf1.Session() as session:
        a = tf.SparseTensor([[0, 0, 0], [1, 0, 1]], [1, 2], [2, 1, 2])
        b = tf.SparseTensor([[0, 0, 0], [0, 3, 0]], [1, 2], [1, 4, 2])
        y = tf1.edit_distance(a, b, normalize=False)
        assert y.shape == [2, 4]
        np.testing.assert_array_equal(session.run(y), [[0, 0, 0, 1], [1, 0, 0, 0]])


def test_eye_of_a_computed_batch_shape():
    with tf1.Graph().as_default(), tf1.Session() as session:
        batch, rows = tf1.placeholder("int32"), tf1.placeholder("int32")
        y = tf.linalg.eye(rows, 3, batch_shape=batch)
        made = session.run(y, {batch: [2, 2], rows: 2})
        np.testing.assert_array_equal(made, np.tile(np.eye(2, 3), [2, 2, 1, 1]))
