# SPDX-License-Identifier: Apache-2.0
"""test_image_arguments.py: tf.image: argument checks, images of unknown shape, sizes that are
tensors."""

import numpy
import pytest

import situ as tf


def unknown(function, *specs):
    """Traces a function of tensors of unknown shape and returns (the function, result shape)."""
    concrete = tf.function(function).get_concrete_function(*specs)
    return concrete, concrete.outputs[0].shape


ANY = tf.TensorSpec(None, tf.float32)
SIZE = tf.TensorSpec([], tf.int32)


@pytest.mark.parametrize("flip", ["flip_left_right", "flip_up_down", "transpose", "rot90"])
def test_images_of_unknown_rank(flip):
    change = getattr(tf.image, flip)
    function, _ = unknown(lambda x: change(x), ANY)
    image = tf.reshape(tf.range(12.0), [2, 3, 2])
    assert (function(image).numpy() == change(image).numpy()).all()
    batch = tf.stack([image, image + 1])
    assert (function(batch).numpy() == change(batch).numpy()).all()


def test_crops_and_pads_of_unknown_shape():
    function, shape = unknown(lambda x: tf.image.crop_to_bounding_box(x, 1, 0, 1, 2), ANY)
    assert shape.as_list() == [1, 2, None]
    image = tf.reshape(tf.range(6.0), [2, 3, 1])
    assert function(image).numpy().ravel().tolist() == [3, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="height must be >= target"):
        function(image[:1])
    function, shape = unknown(lambda x: tf.image.pad_to_bounding_box(x, 1, 1, 4, 5), ANY)
    assert shape.as_list() == [4, 5, None] and function(image).shape == (4, 5, 1)
    function, shape = unknown(lambda x: tf.image.resize_with_crop_or_pad(x, 3, 2), ANY)
    assert shape.as_list() == [3, 2, None] and function(image).shape == (3, 2, 1)
    function, shape = unknown(lambda x: tf.image.resize_with_pad(x, 3, 2), ANY)
    assert shape.as_list() == [3, 2, None] and function(image).shape == (3, 2, 1)


def test_sizes_that_are_tensors():
    image = tf.ones([4, 4, 1])
    function, _ = unknown(lambda h, w: tf.image.resize_with_crop_or_pad(image, h, w), SIZE, SIZE)
    assert function(tf.constant(6), tf.constant(2)).shape == (6, 2, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="target_height must be > 0"):
        function(tf.constant(0), tf.constant(2))
    crop = tf.image.central_crop(image, tf.constant(0.5))
    assert crop.shape == (2, 2, 1)
    turned = tf.function(lambda k: tf.image.rot90(tf.reshape(tf.range(4), [2, 2, 1]), k))
    assert turned(tf.constant(5)).numpy().ravel().tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: tf.image.crop_to_bounding_box(x, -1, 0, 1, 1), "offset_height must be >= 0"),
        (lambda x: tf.image.crop_to_bounding_box(x, 0, 0, 0, 1), "target_height must be > 0"),
        (lambda x: tf.image.crop_to_bounding_box(x, 0, 9, 1, 1), "width must be >= target"),
        (lambda x: tf.image.pad_to_bounding_box(x, 0, -1, 9, 9), "offset_width must be >= 0"),
        (lambda x: tf.image.pad_to_bounding_box(x, 0, 0, 1, 9), "height must be <= target"),
        (lambda x: tf.image.pad_to_bounding_box(x[:0], 0, 0, 9, 9), "inner 3 dims"),
        (lambda x: tf.image.resize_with_crop_or_pad(x, 0, 1), "target_height must be > 0"),
        (lambda x: tf.image.resize_with_crop_or_pad(x[0], 1, 1), "either 3 or 4 dimensions"),
        (lambda x: tf.image.resize(x, 3), "1-D Tensor of 2 elements"),
        (lambda x: tf.image.resize(x[0], [3, 3]), "either 3 or 4 dimensions"),
        (lambda x: tf.image.grayscale_to_rgb(x), "should be size 1"),
        (lambda x: tf.image.grayscale_to_rgb(x[0, 0]), "at least two-dimensional"),
        (lambda x: tf.image.flip_up_down(x[0]), "at least three-dimensional"),
        (lambda x: tf.image.adjust_gamma(x, -1), "non-negative real number"),
        (lambda x: tf.image.adjust_hue(x, 2.0), r"interval \[-1, 1\]"),
        (lambda x: tf.image.central_crop(x, 1.5), r"within \(0, 1\]"),
        (lambda x: tf.image.stateless_random_hue(x, 0.7, (1, 2)), "max_delta must be <= 0.5"),
        (lambda x: tf.image.stateless_random_contrast(x, 2, 1, (1, 2)), "upper must be > lower"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call(tf.ones([3, 4, 3]))


def test_wrong_tensors():
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-negative real number"):
        tf.image.adjust_gamma(tf.ones([2, 2, 3]), tf.constant(-1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        tf.image.crop_and_resize(tf.ones([1, 2, 2, 1]), [[0, 0, numpy.nan, 1]], [0], [1, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank 1"):
        tf.image.crop_and_resize(tf.ones([1, 2, 2, 1]), [[0, 0, 1, 1.0]], [[0]], [1, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="overflow"):
        tf.image.resize(tf.ones([5, 2, 2, 2]), [1610637938, 1610637938])
    with pytest.raises(AttributeError, match="floating point or integer"):
        tf.image.convert_image_dtype(tf.constant([True]), tf.float32)


def test_strings_of_assertions_are_escaped():
    @tf.function
    def function(x):
        tf.debugging.Assert(x, ["an 'image'"])
        return x

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[an \\'image\\'\]"):
        function(tf.constant(False))


def test_standardized_images_are_float32():
    image = tf.cast(tf.reshape(tf.range(12), [2, 2, 3]), "uint8")
    result = tf.image.per_image_standardization(image)
    assert result.dtype == tf.float32 and abs(float(tf.math.reduce_std(result)) - 1) < 1e-5
