# SPDX-License-Identifier: Apache-2.0
"""test_sparse_eager.py: eager sparse tensors: empty rows, maximum and minimum, shapes."""

import pytest

import situ as tf


def test_empty_rows_get_a_default_value():
    sparse = tf.SparseTensor([[0, 0], [2, 3], [2, 1]], [1.0, 2.0, 3.0], [4, 5])
    default = tf.constant(9.0)
    with tf.GradientTape() as tape:
        tape.watch([sparse.values, default])
        filled, empty = tf.sparse.fill_empty_rows(sparse, default)
        total = tf.reduce_sum(filled.values * [1.0, 2.0, 3.0, 4.0, 5.0])
    assert filled.indices.numpy().tolist() == [[0, 0], [1, 0], [2, 3], [2, 1], [3, 0]]
    assert filled.values.numpy().tolist() == [1, 9, 2, 3, 9]
    assert empty.numpy().tolist() == [False, True, False, True]
    values, one = tape.gradient(total, [sparse.values, default])
    assert values.numpy().tolist() == [1, 3, 4] and float(one) == 7
    words, _ = tf.sparse.fill_empty_rows(tf.SparseTensor([[1, 0]], ["a"], [2, 1]), "?")
    assert words.values.numpy().tolist() == [b"?", b"a"]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\(0, 0\) is invalid"):
        tf.sparse.fill_empty_rows(tf.SparseTensor([[7, 0]], [1], [2, 1]), 0)


def test_maximum_and_minimum():
    a = tf.SparseTensor([[0], [2]], [1.0, -2.0], [4])
    b = tf.SparseTensor([[1], [2]], [-3.0, 5.0], [4])
    assert tf.sparse.maximum(a, b).values.numpy().tolist() == [1, 0, 5]
    assert tf.sparse.minimum(a, b).values.numpy().tolist() == [0, -3, -2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.sparse.maximum(a, tf.SparseTensor([[0]], [1.0], [5]))


def test_shapes_that_are_reset():
    sparse = tf.SparseTensor([[0, 1]], [1], [2, 3])
    assert tf.sparse.reset_shape(sparse).dense_shape.numpy().tolist() == [1, 2]
    assert tf.sparse.reset_shape(sparse, [2, 5]).dense_shape.numpy().tolist() == [2, 5]
    with pytest.raises(ValueError, match="should have dimension sizes"):
        tf.sparse.reset_shape(sparse, [2, 2])
    with pytest.raises(ValueError, match="same rank"):
        tf.sparse.reset_shape(sparse, [2, 3, 1])
    with pytest.raises(ValueError):
        tf.sparse.retain(sparse, [True, False])
    with pytest.raises(TypeError, match="neither a SparseTensor"):
        tf.SparseTensor.from_value([1])
