# SPDX-License-Identifier: Apache-2.0
"""test_bincount.py: tf.raw_ops.Bincount and the other ops that count into a fixed number of
bins."""

import numpy as np
import pytest

import situ as tf

raw = tf.raw_ops


def test_values_of_a_vector_are_counted():
    counts = raw.Bincount(arr=[1, 2, 1, 7], size=4, weights=np.zeros(0, np.float64))
    np.testing.assert_array_equal(counts, np.array([0, 2, 1, 0], np.float64))
    sums = raw.Bincount(arr=[1, 2, 1, 7], size=4, weights=[1.0, 2.0, 4.0, 8.0])
    np.testing.assert_array_equal(sums, [0, 5, 2, 0])


def test_rows_of_a_matrix_are_counted():
    x = tf.constant([[0, 2, 2], [1, 5, 0]], tf.int64)
    no_weights = tf.constant([], tf.int32)
    counts = raw.DenseBincount(input=x, size=tf.constant(3, tf.int64), weights=no_weights)
    np.testing.assert_array_equal(counts, [[1, 0, 2], [1, 1, 0]])
    used = raw.DenseBincount(input=x, size=3, weights=tf.ones([2, 3]), binary_output=True)
    np.testing.assert_array_equal(used, [[1, 0, 1], [1, 1, 0]])
    assert used.dtype == tf.float32


def test_elements_of_sparse_and_ragged_tensors_are_counted():
    no_weights = tf.constant([], tf.int32)
    counts = raw.SparseBincount(
        indices=[[0, 1], [2, 0], [2, 3]],
        values=[1, 2, 1],
        dense_shape=[3, 4],
        size=3,
        weights=[10, 20, 30],
    )
    np.testing.assert_array_equal(counts, [[0, 10, 0], [0, 0, 0], [0, 30, 20]])
    flat = raw.SparseBincount(
        indices=[[1], [2]], values=[1, 1], dense_shape=[3], size=2, weights=no_weights
    )
    np.testing.assert_array_equal(flat, [0, 2])
    rows = raw.RaggedBincount(splits=[0, 2, 2, 3], values=[1, 1, 0], size=2, weights=no_weights)
    np.testing.assert_array_equal(rows, [[0, 2], [0, 0], [1, 0]])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda w: raw.Bincount(arr=[1], size=[1], weights=w), "rank 0 but is rank 1"),
        (lambda w: raw.Bincount(arr=[1], size=-5, weights=w), "must be non-negative"),
        (lambda w: raw.DenseBincount(input=[-1], size=2, weights=w), "must be non-negative"),
        (lambda w: raw.DenseBincount(input=[[[1]]], size=2, weights=w), "at most rank 2"),
        (lambda w: raw.RaggedBincount(splits=[], values=[1], size=1, weights=w), "non-empty"),
        (lambda w: raw.RaggedBincount(splits=[0, 3], values=[1], size=1, weights=w), "end with"),
        (
            lambda w: raw.SparseBincount(
                indices=[[-1]], values=[1], dense_shape=[2], size=1, weights=w
            ),
            "out of bounds",
        ),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call(tf.constant([], tf.int32))
