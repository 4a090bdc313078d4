# SPDX-License-Identifier: Apache-2.0
"""test_quantization.py: tf.quantization: values, gradients and errors of TensorFlow 2.21."""

import pytest

import situ as tf

INVALID = tf.errors.InvalidArgumentError
quantization = tf.quantization


def close(result, values):
    assert result.numpy().ravel().tolist() == pytest.approx(values, 1e-6, 1e-7)


def test_range_of_arguments():
    x = [-10.0, -1.0, 0.1, 3.0, 7.0]
    close(
        quantization.fake_quant_with_min_max_args(x),
        [-6.0235295, -0.9882353, 0.09411765, 3.0117648, 5.9764705],
    )
    with pytest.raises(INVALID, match="min has to be smaller than max, was: 1 >= 0"):
        quantization.fake_quant_with_min_max_args(x, min=1, max=0)
    with pytest.raises(INVALID, match="num_bits must be between 2 and 16, inclusive"):
        quantization.fake_quant_with_min_max_args(x, num_bits=1)


def test_range_of_variables():
    x = tf.constant([-10.0, -1.0, 0.1, 3.0, 7.0])
    quantized = quantization.fake_quant_with_min_max_vars(x, -1.0, 2.0, 4, True)
    close(quantized, [-1.0714285, -1.0714285, 0, 1.9285715, 1.9285715])
    close(quantization.fake_quant_with_min_max_vars(x, 0.0, 0.0), [0, 0, 0, 0, 0])
    x, low, high = tf.constant([-10.0, -0.5, 0.1, 3.0, 7.0]), tf.constant(-1.0), tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch([x, low, high])
        y = quantization.fake_quant_with_min_max_vars(x, low, high)
        loss = tf.reduce_sum(y * tf.constant([1.0, 2.0, 3.0, 4.0, 5.0]))
    dx, dlow, dhigh = tape.gradient(loss, [x, low, high])
    assert dx.numpy().tolist() == [0, 2, 3, 0, 0]
    assert (dlow.numpy(), dhigh.numpy()) == (1, 9)


def test_range_per_channel():
    x = [[-10.0, -1.0], [0.3, 3.0]]
    close(
        quantization.fake_quant_with_min_max_vars_per_channel(x, [-1.0, -2.0], [2.0, 0.5]),
        [-1, -1, 0.29411766, 0.5],
    )
    with pytest.raises(INVALID, match="min has incorrect size, expected 2 was 1"):
        quantization.fake_quant_with_min_max_vars_per_channel(x, [-1.0], [2.0, 0.5])


def test_quantize_and_dequantize():
    close(
        quantization.quantize_and_dequantize_v2([-1.0, 0.3, 0.7], -1.0, 1.0),
        [-1, 0.296875, 0.703125],
    )
    per_row = quantization.quantize_and_dequantize_v2(
        [[-1.0, 0.3], [0.7, 3.0]], 0.0, 0.0, range_given=False, num_bits=4, axis=0
    )
    close(per_row, [-1, 0.25, 0.85714287, 3])
    x = tf.constant([-3.0, 0.3, 0.7])
    for function, slopes in (
        (quantization.quantize_and_dequantize, [1, 1, 1]),
        (quantization.quantize_and_dequantize_v2, [0, 1, 1]),
    ):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, -1.0, 1.0, range_given=True)
        assert tape.gradient(y, x).numpy().tolist() == slopes
