# SPDX-License-Identifier: Apache-2.0
"""test_sets.py: tf.sets eagerly and in functions, and Unique with an axis."""

import pytest

import situ as tf


def sparse(rows, dtype):
    places = [[r, i] for r, row in enumerate(rows) for i in range(len(row))]
    values = tf.constant([v for row in rows for v in row], dtype)
    places = tf.reshape(tf.constant(places, tf.int64), [-1, 2])
    return tf.SparseTensor(places, values, [len(rows), max(map(len, rows))])


A, B = [[3, 1, 1], [5, 4, 4]], [[2, 3, 3], [5, 4, 6]]
CASES = {
    "union": ([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]], [1, 2, 3, 4, 5, 6], [2, 3]),
    "intersection": ([[0, 0], [1, 0], [1, 1]], [3, 4, 5], [2, 2]),
    "difference": ([[0, 0]], [1], [2, 1]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "string"])
@pytest.mark.parametrize("layout", ["dense", "mixed", "flipped", "sparse"])
def test_operations(name, dtype, layout):
    call = getattr(tf.sets, name)
    a, b = ([[str(v) if dtype == "string" else v for v in r] for r in x] for x in (A, B))
    x = sparse(a, dtype) if layout in ("flipped", "sparse") else tf.constant(a, dtype)
    y = sparse(b, dtype) if layout in ("mixed", "sparse") else tf.constant(b, dtype)
    indices, values, shape = CASES[name]
    if dtype == "string":
        values = [str(v).encode() for v in values]
    for function in (call, tf.function(call)):
        result = function(x, y)
        assert result.indices.numpy().tolist() == indices
        assert result.values.numpy().tolist() == values
        assert result.dense_shape.numpy().tolist() == shape


def test_difference_the_other_way():
    result = tf.sets.difference(sparse(A, "int32"), tf.constant(B), aminusb=False)
    assert result.values.numpy().tolist() == [2, 6]


def test_sizes_and_errors():
    assert tf.sets.size(sparse([[1, 1], [], [3, 4]], "int32")).numpy().tolist() == [1, 0, 2]
    with pytest.raises(TypeError, match="Expected `SparseTensor`"):
        tf.sets.size(tf.constant([[1]]))
    with pytest.raises(TypeError, match="invalid dtype"):
        tf.sets.union([[1.0]], [[2.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Mismatched shapes \[1\] vs \[2\]"):
        tf.sets.union([[1]], [[2], [3]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="has rank 1 < 2"):
        tf.sets.union([1], [2])
    bad = tf.SparseTensor([[1, 0], [0, 0]], [1, 2], [2, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of order"):
        tf.sets.size(bad)
    assert tf.sets.size(bad, validate_indices=False).numpy().tolist() == [1, 1]
    far = tf.SparseTensor([[9, 0]], [1], [2, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Index out of range"):
        tf.sets.size(far, validate_indices=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shape must be a 1D tensor"):
        tf.raw_ops.SetSize(set_indices=1, set_values=[1, 1], set_shape=1)


def test_unique_slices():
    x = [[1, 2, 1], [1, 2, 1], [3, 4, 3]]
    y, places, counts = tf.raw_ops.UniqueWithCountsV2(x=x, axis=[0])
    assert y.numpy().tolist() == [[1, 2, 1], [3, 4, 3]]
    assert (places.numpy().tolist(), counts.numpy().tolist()) == ([0, 0, 1], [2, 1])
    y, places = tf.raw_ops.UniqueV2(x=x, axis=[-1], out_idx=tf.int64)
    assert y.numpy().tolist() == [[1, 2], [1, 2], [3, 4]]
    assert (places.numpy().tolist(), places.dtype) == ([0, 1, 0], tf.int64)
    y, places = tf.raw_ops.UniqueV2(x=[["a"], ["b"], ["a"]], axis=[0])
    assert y.numpy().tolist() == [[b"a"], [b"b"]]


def test_unique_compares_values_of_floats():
    y, places = tf.unique([float("nan"), float("nan"), -0.0, 0.0])
    assert len(y) == 3
    assert places.numpy().tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize(
    ("axis", "message"),
    [([], "unique expects a 1D vector"), ([2], r"axis has to be between \[0, 2\)")],
)
def test_unique_errors(axis, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.raw_ops.UniqueV2(x=[[1, 2]], axis=tf.constant(axis, tf.int64))
