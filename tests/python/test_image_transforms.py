# SPDX-License-Identifier: Apache-2.0
"""test_image_transforms.py: resize, projective transform and filter ops of tf.raw_ops, and image
quality."""

import numpy
import pytest

import situ as tf


def gradient(function, x):
    """Returns (result, gradient of the sum of its squares)."""
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
        total = tf.reduce_sum(tf.cast(y, tf.float32) ** 2)
    return y.numpy(), tape.gradient(total, x).numpy()


def image(*shape):
    return numpy.random.RandomState(1).rand(*shape).astype("float32")


def check_slope(function, x, atol=2e-2):
    """Compares a gradient with differences of the function."""
    y, slope = gradient(function, x)
    step = numpy.random.RandomState(2).rand(*x.shape).astype("float32") * 1e-3
    after = (function(tf.constant(x + step)).numpy().astype("float64") ** 2).sum()
    before = (function(tf.constant(x - step)).numpy().astype("float64") ** 2).sum()
    assert abs((after - before) / 2 - (slope * step).sum()) < atol * max(1e-3, abs(after - before))
    return y


@pytest.mark.parametrize("centers, corners", [(False, False), (True, False), (False, True)])
def test_resize_bicubic(centers, corners):
    def resize(x):
        return tf.raw_ops.ResizeBicubic(
            images=x, size=[5, 3], half_pixel_centers=centers, align_corners=corners
        )

    assert check_slope(resize, image(2, 3, 4, 2)).shape == (2, 5, 3, 2)


def test_resize_bicubic_values():
    x = tf.reshape(tf.constant([128.0, 64, 64, 32, 64, 32, 50, 100]), [1, 2, 4, 1])
    same = tf.raw_ops.ResizeBicubic(images=x, size=[2, 4], half_pixel_centers=True)
    assert numpy.allclose(same, x)
    flat = tf.raw_ops.ResizeBicubic(images=tf.ones([1, 3, 3, 1]), size=[7, 2])
    assert numpy.allclose(flat, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="align_corners must be False"):
        tf.raw_ops.ResizeBicubic(images=x, size=[2, 4], half_pixel_centers=True, align_corners=True)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "float16", "bfloat16", "float64"])
def test_types_of_nearest_gradients(dtype):
    grads = tf.cast(tf.ones([1, 4, 4, 1]), dtype)
    result = tf.raw_ops.ResizeNearestNeighborGrad(grads=grads, size=[2, 2])
    assert result.dtype == dtype and tf.cast(result, tf.float32).numpy().ravel().tolist() == [4] * 4


def test_projective_transform():
    x = tf.reshape(tf.range(12.0), [1, 3, 4, 1])
    shift = [[1.0, 0, 1, 0, 1, 0, 0, 0]]

    def move(mode, value=0.0):
        return (
            tf.raw_ops.ImageProjectiveTransformV3(
                images=x,
                transforms=shift,
                output_shape=[1, 4],
                fill_value=value,
                interpolation="NEAREST",
                fill_mode=mode,
            )
            .numpy()
            .ravel()
            .tolist()
        )

    assert move("CONSTANT", 9.0) == [1, 2, 3, 9]
    assert move("NEAREST") == [1, 2, 3, 3]
    assert move("REFLECT") == [1, 2, 3, 3]
    assert move("WRAP") == [1, 2, 3, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid mode"):
        move("MIRROR")


def test_gradients_of_transforms():
    def move(x):
        return tf.raw_ops.ImageProjectiveTransformV2(
            images=x,
            transforms=[[1.0, 0, 1, 0, 1, -1, 0, 0]],
            output_shape=[4, 4],
            interpolation="NEAREST",
        )

    check_slope(move, image(2, 4, 4, 1))


@pytest.mark.parametrize("kernel", ["lanczos3", "gaussian", "triangle", "keyscubic", "box"])
def test_scale_and_translate(kernel):
    def scale(x):
        return tf.raw_ops.ScaleAndTranslate(
            images=x, size=[3, 7], scale=[0.6, 1.5], translation=[0.2, 0.0], kernel_type=kernel
        )

    assert check_slope(scale, image(1, 5, 5, 2)).shape == (1, 3, 7, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unrecognized kernel type"):
        tf.raw_ops.ScaleAndTranslate(
            images=image(1, 2, 2, 1),
            size=[1, 1],
            scale=[1.0, 1],
            translation=[0.0, 0],
            kernel_type="sinc",
        )


def test_batch_norm_with_global_normalization():
    x, m, v = image(2, 3, 3, 2), image(2), image(2) + 0.5
    beta, gamma = image(2) - 0.5, image(2) + 0.1

    def norm(x):
        return tf.raw_ops.BatchNormWithGlobalNormalization(
            t=x,
            m=m,
            v=v,
            beta=beta,
            gamma=gamma,
            variance_epsilon=0.01,
            scale_after_normalization=True,
        )

    expected = (x - m) / numpy.sqrt(v + 0.01) * gamma + beta
    assert numpy.allclose(check_slope(norm, x), expected, atol=1e-5)
    named = tf.nn.batch_norm_with_global_normalization(x, m, v, beta, gamma, 0.01, True)
    assert numpy.allclose(named, expected, atol=1e-5)


def test_quality():
    a = image(2, 64, 64, 3)
    b = numpy.clip(a + 0.1 * image(2, 64, 64, 3), 0, 1)
    assert numpy.allclose(tf.image.ssim_multiscale(a, a, 1.0, filter_size=3), 1)
    noisy = tf.image.ssim_multiscale(a, b, 1.0, filter_size=3).numpy()
    assert noisy.shape == (2,) and (noisy < 1).all() and (noisy > 0.5).all()
    ints = [(x * 255).astype("uint8") for x in (a, b)]
    assert numpy.allclose(tf.image.psnr(*ints, 255), tf.image.psnr(a, b, 1.0), atol=0.2)
    with pytest.raises(ValueError):
        tf.image.ssim(a, b[:, :32], 1.0)
