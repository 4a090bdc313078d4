# SPDX-License-Identifier: Apache-2.0
"""test_morphology.py: tf.nn.dilation2d and erosion2d against NumPy, with gradients."""

import numpy as np
import pytest

import situ as tf


def _dilated(x, kernel, stride, rate):
    height = (x.shape[1] - (kernel.shape[0] - 1) * rate - 1) // stride + 1
    width = (x.shape[2] - (kernel.shape[1] - 1) * rate - 1) // stride + 1
    y = np.full((x.shape[0], height, width, x.shape[3]), -np.inf)
    for r, c in np.ndindex(*kernel.shape[:2]):
        rows = slice(r * rate, r * rate + (height - 1) * stride + 1, stride)
        columns = slice(c * rate, c * rate + (width - 1) * stride + 1, stride)
        y = np.maximum(y, x[:, rows, columns] + kernel[r, c])
    return y


@pytest.mark.parametrize("stride, rate", [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_dilation_and_erosion(stride, rate):
    random = np.random.RandomState(stride + 7 * rate)
    x, kernel = random.randn(2, 7, 8, 3), random.randn(2, 3, 3)
    steps, rates = [1, stride, stride, 1], [1, rate, rate, 1]
    expected = _dilated(x, kernel, stride, rate)
    made = tf.nn.dilation2d(x, kernel, steps, "VALID", "NHWC", rates)
    np.testing.assert_allclose(made, expected)
    eroded = tf.nn.erosion2d(-x, kernel[::-1, ::-1], steps, "VALID", "NHWC", rates)
    np.testing.assert_allclose(eroded, -expected)


def test_gradients_go_to_the_largest_sum():
    x = tf.constant([[1.0, 5.0], [3.0, 2.0]])
    kernel = tf.constant([[0.0, 0.0], [4.0, 0.0]])
    with tf.GradientTape() as tape:
        tape.watch([x, kernel])
        y = tf.nn.dilation2d(
            x[None, :, :, None], kernel[:, :, None], [1] * 4, "VALID", "NHWC", [1] * 4
        )
        loss = tf.reduce_sum(y) * 2
    dx, dk = tape.gradient(loss, [x, kernel])
    np.testing.assert_array_equal(dx, [[0, 0], [2, 0]])
    np.testing.assert_array_equal(dk, [[0, 0], [2, 0]])


def test_arguments():
    x, kernel = tf.ones([1, 3, 3, 2]), tf.ones([2, 2, 2])
    with pytest.raises(ValueError, match="NHWC"):
        tf.nn.dilation2d(x, kernel, [1] * 4, "SAME", "NCHW", [1] * 4)
    with pytest.raises(ValueError, match="Cannot specify both 'filter' and 'filters'"):
        tf.compat.v1.nn.dilation2d(x, kernel, [1] * 4, [1] * 4, "SAME", filters=kernel)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="same depth"):
        tf.nn.erosion2d(x, kernel[:, :, :1], [1] * 4, "SAME", "NHWC", [1] * 4)
