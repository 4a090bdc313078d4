# SPDX-License-Identifier: Apache-2.0
"""test_glimpse.py: tf.image.extract_glimpse: where glimpses lie, and the noise around images."""

import numpy as np
import pytest

import situ as tf

IMAGE = np.arange(25, dtype=np.float32).reshape(1, 5, 5, 1)


@pytest.mark.parametrize(
    "offsets, centered, normalized, corner",
    [
        ([0.0, 0.0], True, True, (1, 1)),
        ([0.4, -0.4], True, True, (2, 0)),
        ([0.2, 0.4], False, True, (1, 2)),
        ([1.0, 2.0], False, False, (1, 2)),
        ([-1.5, -2.5], True, False, (1, 0)),
    ],
)
def test_inside(offsets, centered, normalized, corner):
    glimpse = tf.image.extract_glimpse(IMAGE, [3, 3], [offsets], centered, normalized)
    row, column = corner
    np.testing.assert_array_equal(glimpse, IMAGE[:, row : row + 3, column : column + 3])


def test_version_1_offsets_are_centers():
    extract = tf.compat.v1.image.extract_glimpse
    glimpse = extract(IMAGE, [3, 3], [[2.5, 1.5]], centered=False, normalized=False)
    np.testing.assert_array_equal(glimpse, IMAGE[:, 1:4, 0:3])


@pytest.mark.parametrize("noise", ["uniform", "gaussian", "zero"])
def test_noise_is_outside_only(noise):
    images = np.random.RandomState(1).rand(2, 4, 4, 3).astype(np.float32)
    glimpse = tf.image.extract_glimpse(
        images, [8, 8], [[-2.0, -2.0], [20.0, 20.0]], False, False, noise
    ).numpy()
    np.testing.assert_array_equal(glimpse[0, 2:6, 2:6], images[0])
    around = np.concatenate([glimpse[0, :2].ravel(), glimpse[1].ravel()])
    if noise == "zero":
        assert not around.any()
    else:
        assert around.min() >= images.min() and around.max() <= images.max()
        assert np.unique(around).size > 100


def test_errors():
    with pytest.raises(tf.errors.InvalidArgumentError, match="uniform, gaussian, or zero"):
        tf.image.extract_glimpse(IMAGE, [3, 3], [[0.0, 0.0]], noise="pink")
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tf.image.extract_glimpse(IMAGE[0], [3, 3], [[0.0, 0.0]])
