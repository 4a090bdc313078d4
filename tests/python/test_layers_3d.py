# SPDX-License-Identifier: Apache-2.0
"""test_layers_3d.py: 1-D and 3-D tf.layers, transposed convolutions, max pooling with argmax."""

import numpy as np
import pytest

import situ.compat.v1 as tf

RNG = np.random.RandomState(0)
VOLUME = RNG.randn(2, 4, 5, 6, 3).astype("f")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as result:
        yield result


def run(*fetches):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches if len(fetches) > 1 else fetches[0])


@pytest.mark.parametrize(
    "taps, strides, padding",
    [
        ((3, 3, 3), (2, 2, 2), "SAME"),
        ((4, 2, 3), (2, 1, 2), "SAME"),
        ((3, 2, 4), (1, 2, 3), "VALID"),
        ((2, 2, 2), (3, 1, 1), "VALID"),
    ],
)
def test_transpose_of_a_convolution_of_volumes_is_its_gradient(taps, strides, padding):
    result = tf.layers.conv3d_transpose(VOLUME, 4, taps, strides, padding.lower(), use_bias=False)
    kernel = tf.trainable_variables()[0]
    assert kernel.shape.as_list() == [*taps, 4, 3]
    x = tf.zeros(result.shape)
    y = tf.nn.conv3d(x, kernel, [1, *strides, 1], padding)
    assert y.shape.as_list() == list(VOLUME.shape)
    got, want = run(result, tf.gradients(y, x, VOLUME)[0])
    np.testing.assert_allclose(got, want, atol=1e-4)


def test_transpose_of_a_convolution_of_rows():
    x, taps = RNG.randn(2, 5, 3).astype("f"), RNG.randn(3, 4, 3).astype("f")
    rows = tf.nn.conv1d_transpose(x, taps, [2, 10, 4], 2)
    images = tf.nn.conv2d_transpose(x[:, None], taps[None], [2, 1, 10, 4], [1, 1, 2, 1])
    got, want = run(rows, images)
    np.testing.assert_allclose(got, want[:, 0], atol=1e-5)


def test_layers_of_rows_and_volumes():
    x = tf.placeholder(tf.float32, [None, 9, 3])
    assert tf.layers.max_pooling1d(x, 2, 2).shape.as_list() == [None, 4, 3]
    assert tf.layers.average_pooling1d(x, 3, 2, padding="same").shape.as_list() == [None, 5, 3]
    assert tf.layers.max_pooling3d(VOLUME, 2, 2).shape.as_list() == [2, 2, 2, 3, 3]
    assert tf.layers.average_pooling3d(VOLUME, 2, 2, "same").shape.as_list() == [2, 2, 3, 3, 3]
    result = tf.layers.conv3d(VOLUME, 4, 3, 2, "same", activation=tf.nn.relu)
    assert result.shape.as_list() == [2, 2, 3, 3, 4] and result.op.name == "conv3d/Relu"
    planes = tf.layers.conv3d(
        VOLUME.transpose(0, 4, 1, 2, 3),
        4,
        3,
        2,
        "same",
        "channels_first",
        activation=tf.nn.relu,
        name="conv3d",
        reuse=True,
    )
    got, want = run(planes, result)
    np.testing.assert_allclose(got.transpose(0, 2, 3, 4, 1), want, atol=1e-5)


def test_convolutions_channel_by_channel():
    x = RNG.randn(2, 7, 6, 3).astype("f")
    result = tf.layers.separable_conv2d(x, 5, 3, padding="same", depth_multiplier=2)
    deep, flat, _ = tf.trainable_variables()
    assert [v.op.name for v in tf.trainable_variables()] == [
        "separable_conv2d/depthwise_kernel",
        "separable_conv2d/pointwise_kernel",
        "separable_conv2d/bias",
    ]
    got, want = run(result, tf.nn.separable_conv2d(x, deep, flat, [1, 1, 1, 1], "SAME"))
    np.testing.assert_allclose(got, want, atol=1e-5)
    rows = tf.layers.separable_conv1d(x[:, 0], 4, 3, strides=2)
    assert rows.shape.as_list() == [2, 2, 4]
    assert tf.trainable_variables()[3].shape.as_list() == [3, 3, 1]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_where_the_largest_elements_are(padding):
    x = RNG.randn(2, 5, 6, 3).astype("f")
    result, places = tf.nn.max_pool_with_argmax(x, [1, 2, 3, 1], [1, 2, 2, 1], padding)
    _, whole = tf.nn.max_pool_with_argmax(
        x, [1, 2, 3, 1], [1, 2, 2, 1], padding, include_batch_in_index=True
    )
    result, places, whole = run(result, places, whole)
    assert places.dtype == "int64"
    assert (x.reshape(-1)[whole] == result).all()
    assert (x.reshape(2, -1)[1][places[1]] == result[1]).all()


def test_pooling_by_the_number_of_sides():
    x = RNG.randn(2, 8, 8, 3).astype("f")
    got, want = run(
        tf.nn.pool(x, [2, 2], "MAX", "SAME", strides=[2, 2]),
        tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    )
    assert (got == want).all()
    assert tf.nn.pool(x[0], [3], "AVG", "VALID", strides=[2]).shape.as_list() == [8, 3, 3]
    assert tf.nn.pool(VOLUME, [2, 2, 2], "AVG", "VALID").shape.as_list() == [2, 3, 4, 5, 3]
