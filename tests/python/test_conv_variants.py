# SPDX-License-Identifier: Apache-2.0
"""test_conv_variants.py: convolutions with several batch dimensions, tf.raw_ops.Conv, transposed
dilated convolutions, gradients of filters in 3-D, and tf.nn.with_space_to_batch."""

import numpy as np
import pytest
from conftest import run_once as _run

import situ.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")
RNG = np.random.default_rng(1)


def _random(*shape):
    return RNG.standard_normal(shape).astype("f")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_several_batch_dimensions(rank, known):
    inner = [4, 5, 3][:rank] + [2]
    x, kernel = _random(2, 3, *inner), _random(*[2] * rank, 2, 3)
    function = [tf.nn.conv1d, tf.nn.conv2d, tf.nn.conv3d][rank - 1]
    fed = tf.placeholder(tf.float32, [None, 3, *inner] if known else [None, None, *inner])
    y = function(fed, kernel, 1, "SAME")
    assert y.shape.as_list() == [None, 3 if known else None, *inner[:-1], 3]
    want = _run(function(x.reshape(6, *inner), kernel, 1, "SAME"))
    with tf.Session() as session:
        got = session.run(y, {fed: x})
    np.testing.assert_allclose(got, want.reshape(2, 3, *want.shape[1:]), rtol=1e-5)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("batch_dims", [0, 1, 2])
@pytest.mark.parametrize("rank", [2, 3])
def test_raw_op(rank, batch_dims, first):
    spatial, batch = [4, 5, 3][:rank], [2, 3][:batch_dims]
    x, kernel = _random(*batch, *spatial, 4), _random(*[2] * rank, 2, 6)
    ones = [1] * (rank + 2)
    conv = tf.raw_ops.Conv
    if rank == 3:
        kernel = _random(*[2] * rank, 4, 6)
    want = [tf.nn.conv2d, tf.nn.conv3d][rank - 2](x.reshape(-1, *spatial, 4), kernel, 1, "VALID")
    fed = np.moveaxis(x, -1, batch_dims) if first else x
    y = conv(
        input=fed,
        filter=kernel,
        strides=ones,
        padding="VALID",
        dilations=ones,
        data_format="CHANNELS_FIRST" if first else "CHANNELS_LAST",
        batch_dims=batch_dims,
        groups=2 if rank == 2 else 1,
    )
    got = _run(y)
    got = np.moveaxis(got, batch_dims, -1) if first else got
    want = _run(want)
    np.testing.assert_allclose(got, want.reshape(*batch, *want.shape[1:]), rtol=1e-4, atol=1e-5)


def test_raw_op_refuses():
    x, kernel = np.zeros([1, 4, 4, 2], "f"), np.zeros([1, 1, 2, 2], "f")
    for changes, text in (
        ({"batch_dims": 2}, "rank must be the same"),
        ({"batch_dims": -1}, "non-negative"),
        ({"filter": kernel[0]}, "must be rank 4 or 5"),
        ({"data_format": "NHWC"}, "Invalid data format"),
        ({"groups": 2}, "groups"),
        ({"explicit_paddings": [0] * 8}, "explicit_paddings must be empty"),
    ):
        arguments = {"input": x, "filter": kernel, "strides": [1] * 4, "padding": "SAME"}
        with pytest.raises(ValueError, match=text):
            tf.raw_ops.Conv(**{**arguments, **changes})
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not have zero elements"):
        tf.nn.conv3d(np.zeros([1, 1, 1, 1, 1], "f"), np.zeros([1, 0, 1, 1, 1], "f"), 1, "SAME")


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("rate", [1, 2, 3])
def test_atrous_transpose_is_the_gradient(rate, padding):
    x, kernel = tf.constant(_random(2, 9, 10, 2)), _random(3, 2, 2, 3)
    y = tf.nn.atrous_conv2d(x, kernel, rate, padding)
    dy = tf.constant(_random(*y.shape.as_list()))
    want = tf.gradients(y, x, dy)[0]
    got = tf.nn.atrous_conv2d_transpose(dy, kernel, [2, 9, 10, 2], rate, padding)
    np.testing.assert_allclose(_run(got), _run(want), rtol=1e-5, atol=1e-5)
    for wrong in ((0, padding), (2, "FULL")):
        with pytest.raises(ValueError, match="rate|padding"):
            tf.nn.atrous_conv2d_transpose(dy, kernel, [2, 9, 10, 2], *wrong)


@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_gradient_of_filters_in_3d(stride, padding, data_format):
    shape = [2, 4, 3, 3, 2] if data_format == "NDHWC" else [2, 2, 4, 3, 3]
    x, kernel = tf.constant(_random(*shape)), tf.constant(_random(3, 3, 2, 2, 3))
    y = tf.nn.conv3d(x, kernel, stride, padding, data_format)
    dy = tf.constant(_random(*y.shape.as_list()))
    want = tf.gradients(y, kernel, dy)[0]
    got = tf.nn.conv3d_backprop_filter(x, [3, 3, 2, 2, 3], dy, stride, padding, data_format)
    assert got.shape == want.shape
    np.testing.assert_allclose(_run(got), _run(want), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="must be rank 1"):
        tf.nn.conv3d_backprop_filter(x, 3, dy, stride, padding)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_space_to_batch_dilates(padding, data_format):
    x, kernel = _random(3, 15, 16, 2), _random(3, 3, 2, 2)

    def convolve(x, num_spatial_dims, padding):
        assert num_spatial_dims == 2
        x = tf.transpose(x, [0, 2, 3, 1]) if data_format == "NCHW" else x
        y = tf.nn.conv2d(x, kernel, 1, padding)
        return tf.transpose(y, [0, 3, 1, 2]) if data_format == "NCHW" else y

    for rates in ([2, 3], [1, 1]):
        want = _run(tf.nn.conv2d(x, kernel, 1, padding, dilations=[1, *rates, 1]))
        fed = np.moveaxis(x, 3, 1) if data_format == "NCHW" else x
        got = _run(
            tf.nn.with_space_to_batch(
                fed, rates, padding, convolve, [3, 3], data_format=data_format
            )
        )
        got = np.moveaxis(got, 1, 3) if data_format == "NCHW" else got
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="filter_shape"):
        tf.nn.with_space_to_batch(x, [2, 2], "SAME", convolve)
    with pytest.raises(ValueError, match="positive"):
        tf.nn.with_space_to_batch(x, [0, 2], "VALID", convolve)
