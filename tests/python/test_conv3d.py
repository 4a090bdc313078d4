# SPDX-License-Identifier: Apache-2.0
"""test_conv3d.py: convolution and pooling in three dimensions, against loops of NumPy."""

import itertools

import numpy as np
import pytest

import situ as tf

X = np.random.RandomState(0).randn(2, 5, 6, 4, 3).astype("f")
K = np.random.RandomState(1).randn(3, 2, 3, 3, 2).astype("f")


def boxes(x, size, strides, padding, dilations=(1, 1, 1)):
    """The box of each place of the output, with NaN where there is nothing."""
    wide = [(k - 1) * d + 1 for k, d in zip(size, dilations)]
    if padding == "SAME":
        counts = [-(-n // s) for n, s in zip(x.shape[1:4], strides)]
        more = [
            max(0, (c - 1) * s + w - n) for c, s, w, n in zip(counts, strides, wide, x.shape[1:4])
        ]
        x = np.pad(
            x, [(0, 0), *[(m // 2, m - m // 2) for m in more], (0, 0)], constant_values=np.nan
        )
    counts = [(n - w) // s + 1 for n, w, s in zip(x.shape[1:4], wide, strides)]
    made = np.empty([x.shape[0], *counts, *size, x.shape[-1]])
    for at in itertools.product(*map(range, counts)):
        cut = [slice(p * s, p * s + w, d) for p, s, w, d in zip(at, strides, wide, dilations)]
        made[(slice(None), *at)] = x[(slice(None), *cut)]
    return made


CASES = [("SAME", (1, 1, 1)), ("SAME", (2, 2, 1)), ("VALID", (1, 3, 2)), ("VALID", (2, 1, 1))]


@pytest.mark.parametrize("padding,strides", CASES)
def test_convolution(padding, strides):
    wanted = np.einsum(
        "nabcxyzi,xyzio->nabco", np.nan_to_num(boxes(X, K.shape[:3], strides, padding)), K
    )
    made = tf.nn.conv3d(X, K, [1, *strides, 1], padding)
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-4, atol=1e-4)
    first = tf.nn.conv3d(X.transpose(0, 4, 1, 2, 3), K, [1, 1, *strides], padding, "NCDHW")
    np.testing.assert_allclose(first.numpy().transpose(0, 2, 3, 4, 1), wanted, rtol=1e-4, atol=1e-4)


def test_dilated_convolution():
    windows = boxes(X, K.shape[:3], (1, 1, 1), "VALID", (2, 3, 1))
    made = tf.nn.conv3d(X, K, [1] * 5, "VALID", dilations=[1, 2, 3, 1, 1])
    np.testing.assert_allclose(
        made.numpy(), np.einsum("nabcxyzi,xyzio->nabco", windows, K), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("padding,strides", CASES)
def test_pooling(padding, strides):
    windows = boxes(X, (2, 3, 2), strides, padding)
    ksize, steps = [1, 2, 3, 2, 1], [1, *strides, 1]
    np.testing.assert_allclose(
        tf.nn.max_pool3d(X, ksize, steps, padding).numpy(), np.nanmax(windows, (4, 5, 6)), rtol=1e-6
    )
    np.testing.assert_allclose(
        tf.nn.avg_pool3d(X, ksize, steps, padding).numpy(),
        np.nanmean(windows, (4, 5, 6)),
        rtol=1e-4,
        atol=1e-5,
    )


def test_gradient_of_a_convolution():
    kernel = tf.Variable(K)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.conv3d(X, kernel, [1] * 5, "VALID"))
    wanted = boxes(X, K.shape[:3], (1, 1, 1), "VALID").sum((0, 1, 2, 3))
    found = tape.gradient(loss, kernel).numpy()
    np.testing.assert_allclose(found, np.stack([wanted] * 2, -1), rtol=1e-4, atol=1e-4)


def test_layers_learn():
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            layers.Conv3D(4, 3, activation="relu", input_shape=(8, 8, 8, 1)),
            layers.MaxPooling3D(2),
            layers.AveragePooling3D(),
            layers.GlobalAveragePooling3D(),
            layers.Dense(1),
        ]
    )
    model.layers[0].set_weights([np.ones((3, 3, 3, 1, 4), "f"), np.ones(4, "f")])  # none is dead
    model.compile(tf.keras.optimizers.Adam(0.05), "mse")
    x = np.linspace(-1, 1, 8 * 512).reshape(8, 8, 8, 8, 1).astype("f")
    y = x.mean((1, 2, 3))
    history = model.fit(x, y, epochs=60, verbose=0).history["loss"]
    assert model.count_params() == 117 and history[-1] < 0.2 * history[0]
    assert layers.Conv3D.from_config(model.layers[0].get_config()).kernel_size == (3, 3, 3)


def test_bad_volumes():
    with pytest.raises(ValueError, match="need a tensor of rank 5"):
        tf.nn.conv3d(X[0], K, [1] * 5, "SAME")
    with pytest.raises(ValueError, match="1, 3 or 5 numbers"):
        tf.nn.max_pool3d(X, [1, 2], 1, "SAME")
