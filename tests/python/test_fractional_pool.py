# SPDX-License-Identifier: Apache-2.0
"""test_fractional_pool.py: windows cover the images; results and gradients are theirs."""

import numpy as np
import pytest

import situ as tf


def _pooled(x, rows, columns, reduce, overlap):
    out = np.zeros((x.shape[0], len(rows) - 1, len(columns) - 1, x.shape[3]), x.dtype)
    for i in range(len(rows) - 1):
        for k in range(len(columns) - 1):
            part = x[:, rows[i] : rows[i + 1] + overlap, columns[k] : columns[k + 1] + overlap]
            out[:, i, k] = reduce(part, axis=(1, 2))
    return out


@pytest.mark.parametrize("pseudo_random", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
def test_results_are_those_of_the_windows(pseudo_random, overlapping):
    x = np.random.RandomState(5).randn(2, 11, 9, 3).astype(np.float32)
    for function, reduce in (
        (tf.nn.fractional_max_pool, np.max),
        (tf.nn.fractional_avg_pool, np.mean),
    ):
        y, rows, columns = function(x, [1.0, 1.6, 1.3, 1.0], pseudo_random, overlapping, seed=7)
        rows, columns = rows.numpy(), columns.numpy()
        assert y.shape == (2, 6, 6, 3)
        assert rows[0] == 0 and rows[-1] == 11 and columns[-1] == 9
        assert set(np.diff(rows)) <= {1, 2} and set(np.diff(columns)) <= {1, 2}
        expected = _pooled(x, rows, columns, reduce, int(overlapping))
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


def test_equal_seeds_have_equal_windows():
    x = tf.random.normal([1, 40, 40, 1])
    one, two = (tf.nn.fractional_max_pool(x, 1.5, seed=3) for _ in range(2))
    for a, b in zip(one, two):
        np.testing.assert_array_equal(a, b)


def test_windows_are_those_of_tensorflow():
    x = np.zeros([1, 20, 30, 1], np.float32)
    for pseudo_random, rows in (
        (False, [0, 1, 2, 4, 5, 6, 7, 9, 11, 13, 14, 16, 18, 20]),
        (True, [0, 1, 3, 4, 6, 7, 9, 11, 12, 14, 15, 17, 18, 20]),
    ):
        made = tf.compat.v1.nn.fractional_max_pool(
            x, [1, 1.5, 1.5, 1], pseudo_random, deterministic=True, seed=3, seed2=5
        )
        np.testing.assert_array_equal(made[1], rows)


def test_gradient_of_max_goes_to_the_first_maximum():
    x = np.array([[1, 4, 2], [4, 3, 9]], np.float64).reshape(1, 2, 3, 1)
    dy = np.array([[10, 20]], np.float64).reshape(1, 1, 2, 1)
    dx = tf.raw_ops.FractionalMaxPoolGrad(
        orig_input=x,
        orig_output=np.array([[4, 9]], np.float64).reshape(1, 1, 2, 1),
        out_backprop=dy,
        row_pooling_sequence=[0, 2],
        col_pooling_sequence=[0, 2, 3],
    )
    np.testing.assert_array_equal(dx[0, :, :, 0], [[0, 10, 0], [0, 0, 20]])


def test_gradient_of_average_is_spread():
    x = tf.constant(np.ones([1, 2, 3, 1], np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, _, _ = tf.compat.v1.nn.fractional_avg_pool(x, [1, 2, 3, 1])
    np.testing.assert_allclose(tape.gradient(y, x), np.full([1, 2, 3, 1], 1 / 6), rtol=1e-6)


def test_errors():
    x = tf.ones([1, 4, 4, 1])
    with pytest.raises(ValueError, match="pooling_ratio should be of length 1, 2 or 4"):
        tf.nn.fractional_max_pool(x, [1.0, 2.0, 2.0])
    with pytest.raises(ValueError, match="must be >= 1"):
        tf.nn.fractional_avg_pool(x, 0.5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Pooling ratio is higher"):
        tf.nn.fractional_max_pool(x, 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not be negative, got -1"):
        tf.raw_ops.FractionalAvgPoolGrad(
            orig_input_tensor_shape=[1, 2, 2, 1],
            out_backprop=tf.ones([1, 1, 1, 1]),
            row_pooling_sequence=[0, -1],
            col_pooling_sequence=[0, 2],
        )


@pytest.mark.parametrize("ratios", [[1.5, 1.5, 1.5, 1.0], [1.0, 1.5, 1.5, 1.5]])
def test_batch_and_depth_are_not_pooled(ratios):
    with pytest.raises(tf.errors.UnimplementedError, match="batch nor channel"):
        tf.raw_ops.FractionalMaxPool(value=tf.ones([3, 4, 4, 3]), pooling_ratio=ratios)


def test_determinism_needs_a_seed():
    tf.config.experimental.enable_op_determinism()
    try:
        with pytest.raises(ValueError, match="requires a non-zero seed"):
            tf.nn.fractional_max_pool(tf.ones([1, 4, 4, 1]), 1.5)
        assert tf.nn.fractional_avg_pool(tf.ones([1, 4, 4, 1]), 1.5, seed=1)[0].shape[1] == 2
    finally:
        tf.python.framework.config.disable_op_determinism()
