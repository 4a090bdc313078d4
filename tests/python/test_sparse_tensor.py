# SPDX-License-Identifier: Apache-2.0
"""test_sparse_tensor.py: the parts and static shapes of eager sparse tensors."""

import pytest

import situ as tf


def test_parts_of_sparse_tensors_are_checked():
    sparse = tf.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [3, 4])
    value = tf.compat.v1.SparseTensorValue([[0, 0]], [5], [1, 1])
    assert tf.SparseTensor.from_value(value).values.numpy().tolist() == [5]
    assert tf.cast(sparse, tf.int32).values.dtype == tf.int32
    convert = tf.compat.v1.convert_to_tensor_or_sparse_tensor
    assert convert(sparse) is sparse and isinstance(convert(value), tf.SparseTensor)
    assert convert([1, 2]).numpy().tolist() == [1, 2]
    with pytest.raises(TypeError, match="neither a SparseTensor nor SparseTensorValue"):
        tf.SparseTensor.from_value([1])
    with pytest.raises(RuntimeError, match="Sparse dtype mismatch"):
        convert(sparse, tf.int32)
    for indices, values, shape in (
        ([[0, 0]], [1, 2], [3, 4]),
        ([[0, 0]], [[1]], [3, 4]),
        ([[0, 0]], [1], [3]),
        ([0, 0], [1, 1], [3]),
    ):
        with pytest.raises(ValueError):
            tf.SparseTensor(indices, values, shape)
    assert tf.SparseTensor([[0, 2]], [1], [-1, 5]).shape.as_list() == [None, 5]


def test_static_shapes_of_sparse_tensors():
    shapes = []

    @tf.function
    def trace(rows, whole):
        shapes.append(tf.SparseTensor([[0, 2]], [1], [rows, 3]).shape.as_list())
        shapes.append(tf.SparseTensor([[0, 2]], [1], whole).shape.as_list())
        return rows

    trace(tf.constant(5, tf.int64), tf.constant([5, 5], tf.int64))
    assert shapes == [[None, 3], [None, None]]
