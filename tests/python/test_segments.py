# SPDX-License-Identifier: Apache-2.0
"""test_segments.py: reductions of sorted segments, of dense rows and of rows chosen by indices."""

import numpy as np
import pytest

import situ as tf

IDS = [0, 0, 3, 3, 3]
ROWS = np.array([[1, 2], [3, -4], [5, 6], [0, 8], [9, 10]])


def _numpy(reduce, empty, dtype):
    result = np.full([4, 2], empty, dtype)
    result[0], result[3] = reduce(ROWS[:2].astype(dtype)), reduce(ROWS[2:].astype(dtype))
    return result


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64"])
@pytest.mark.parametrize(
    "name, reduce, empty",
    [
        ("sum", lambda x: x.sum(0), 0),
        ("mean", lambda x: (x.sum(0) / len(x)).astype(x.dtype), 0),
        ("prod", lambda x: x.prod(0), 1),
        ("min", lambda x: x.min(0), 0),
        ("max", lambda x: x.max(0), 0),
    ],
)
def test_reductions(name, reduce, empty, dtype):
    got = getattr(tf.math, "segment_" + name)(tf.constant(ROWS, dtype), tf.constant(IDS))
    assert got.dtype.name == dtype
    np.testing.assert_allclose(got, _numpy(reduce, empty, dtype), rtol=1e-3)


def test_complex_and_unsigned():
    x = tf.constant([1 + 2j, 3 - 1j, 2j])
    assert tf.math.segment_prod(x, [0, 0, 2]).numpy().tolist() == [5 + 5j, 1, 2j]
    assert tf.math.segment_mean(x, [0, 0, 1]).numpy().tolist() == [2 + 0.5j, 2j]
    big = tf.constant([2**63 + 5, 7], tf.uint64)
    assert tf.math.segment_max(big, [0, 0]).numpy().tolist() == [2**63 + 5]
    assert tf.math.segment_min(big, [0, 0]).numpy().tolist() == [7]
    wraps = tf.constant([200, 100], tf.uint8)
    assert tf.math.segment_sum(wraps, [0, 0]).numpy().tolist() == [44]


def test_shapes():
    @tf.function
    def shapes(x, ids):
        sums = tf.math.segment_sum(x, ids)
        fixed = tf.sparse.segment_sum(x, [0], [1], num_segments=3)
        assert sums.shape.as_list() == [None, 2] and fixed.shape.as_list() == [3, 2]
        return sums

    assert shapes(tf.zeros([5, 2]), IDS).shape == [4, 2]
    assert tf.math.segment_sum(tf.zeros([0, 2]), tf.zeros([0], tf.int32)).shape == [0, 2]
    for function in (tf.math.segment_sum, tf.function(tf.math.segment_sum)):
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="at least rank 1"):
            function(tf.constant(1.0), tf.constant([0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="same size as dimension 0"):
        tf.math.segment_sum(tf.zeros([3]), [0, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="overflow when multiplying"):
        tf.sparse.segment_sum(tf.zeros([1, 4]), [0], tf.constant([2**62 - 1]))


def test_order():
    for ids, text in (
        ([0, 1, 0], "not increasing"),
        ([0, 1, 2, 0], r"Segment id 1 out of range \[0, 1\), possibly"),
        ([0, -1], "segment ids must be >= 0"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            tf.math.segment_max(tf.zeros([len(ids)]), ids)


INDICES, SPARSE_IDS = [3, 0, 0, 4], [0, 0, 2, 2]


@pytest.mark.parametrize("sparse_gradient", [False, True])
@pytest.mark.parametrize("name, power", [("sum", 0), ("mean", 1), ("sqrt_n", 0.5)])
def test_chosen_rows(name, power, sparse_gradient):
    function = getattr(tf.sparse, "segment_" + name)
    x = tf.constant(ROWS, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, INDICES, SPARSE_IDS, num_segments=4, sparse_gradient=sparse_gradient)
            loss = tf.reduce_sum(y * y)
        dx = tape.gradient(loss, x)
        assert isinstance(dx, tf.IndexedSlices) == sparse_gradient
        dense = tf.convert_to_tensor(dx)
        total = tf.reduce_sum(dense * tf.constant(ROWS, tf.float64))
    chosen = np.zeros([4, 5])
    for row, segment in zip(INDICES, SPARSE_IDS):
        chosen[segment, row] += 1 / 2**power
    np.testing.assert_allclose(y, chosen @ ROWS)
    np.testing.assert_allclose(dense, 2 * chosen.T @ chosen @ ROWS)
    second = tf.convert_to_tensor(outer.gradient(total, x))
    np.testing.assert_allclose(second, 2 * chosen.T @ chosen @ ROWS)


def test_bad_rows():
    x = tf.zeros([3, 2])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Bad: indices\[1\] == 3 out of range \[0, 3\)"
    ):
        tf.sparse.segment_mean(x, [0, 3], [0, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be < num_segments"):
        tf.sparse.segment_mean(x, [0, 1], [0, 2], num_segments=2)
    grad = tf.raw_ops.SparseSegmentSumGrad
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Index 2 out of range \[0, 2\)"):
        grad(grad=x, indices=[2], segment_ids=[0], output_dim0=2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Segment id 3 out of range"):
        grad(grad=x, indices=[1], segment_ids=[3], output_dim0=2)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "min", "max"])
def test_gradients(name):
    function = getattr(tf.math, "segment_" + name)
    x = tf.constant(ROWS, tf.float64)

    weights = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]])

    def loss(x):
        return tf.reduce_sum(function(x, IDS) * weights)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = loss(x)
    steps = np.eye(ROWS.size).reshape(-1, *ROWS.shape) * 1e-4
    slopes = [(loss(x + step) - loss(x - step)).numpy() / 2e-4 for step in steps]
    np.testing.assert_allclose(tape.gradient(y, x).numpy().ravel(), slopes, rtol=1e-5, atol=1e-5)
