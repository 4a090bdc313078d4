# SPDX-License-Identifier: Apache-2.0
"""test_image_ops.py: resizing with filters, colors, edges, random boxes, compared with
TensorFlow."""

import numpy as np
import pytest

import situ as tf

IMAGE = tf.reshape(tf.range(48.0), [4, 4, 3]) / 48.0
OLD = tf.compat.v1.image


def check(tensor, total, first):
    """Returns the sum and the first numbers, for comparison with TensorFlow's."""
    values = tensor.numpy().astype("f")
    np.testing.assert_allclose(values.sum(), total, rtol=1e-3)
    np.testing.assert_allclose(values.ravel()[:3], first, atol=1e-3)


def test_filters_keep_flat_images_and_weigh_all_rows():
    flat = tf.fill([1, 5, 7, 1], 3.0)
    for method in ("bicubic", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "bilinear"):
        for antialias in (False, True):
            made = tf.image.resize(flat, [3, 9], method, antialias=antialias)
            assert made.shape == [1, 3, 9, 1]
            np.testing.assert_allclose(made.numpy(), 3.0, rtol=1e-5)


def test_cubic_filters_of_both_generations():
    check(tf.image.resize(IMAGE, [6, 3], "bicubic"), 26.438, [-0.01, 0.011, 0.032])
    check(tf.image.resize(IMAGE, [6, 3], "bicubic", antialias=True), 26.438, [-0.005, 0.016, 0.037])
    check(OLD.resize_bicubic(IMAGE[None], [6, 3]), 27.792, [0.0, 0.021, 0.042])
    check(OLD.resize_bicubic(IMAGE[None], [6, 3], align_corners=True), 26.438, [0.0, 0.021, 0.042])
    check(OLD.resize_images(IMAGE, [6, 3], method=2), 27.792, [0.0, 0.021, 0.042])
    with pytest.raises(ValueError, match="Resize method is not implemented: cubist"):
        tf.image.resize(IMAGE, [6, 3], "cubist")


def test_color_conversions_are_inverse():
    for there, back in (("rgb_to_yuv", "yuv_to_rgb"), ("rgb_to_yiq", "yiq_to_rgb")):
        turned = getattr(tf.image, there)(IMAGE)
        np.testing.assert_allclose(
            turned[..., 0].numpy(), IMAGE.numpy() @ [0.299, 0.587, 0.114], rtol=1e-5
        )
        np.testing.assert_allclose(
            getattr(tf.image, back)(turned).numpy(), IMAGE.numpy(), atol=1e-4
        )


def test_edges_and_noise():
    check(tf.image.sobel_edges(IMAGE[None]), 60.0, [0.0, 0.0, 0.0])
    down, right = tf.image.image_gradients(IMAGE[None])
    check(down, 9.0, [0.25, 0.25, 0.25])
    check(right, 2.25, [0.0625, 0.0625, 0.0625])
    noise = np.mean((0.1 * IMAGE.numpy()) ** 2)
    np.testing.assert_allclose(
        tf.image.psnr(IMAGE, IMAGE * 0.9, 1.0).numpy(), -10 * np.log10(noise), rtol=1e-5
    )


def test_margins_keep_the_ratio():
    made = tf.image.resize_with_pad(IMAGE, 5, 9).numpy()
    assert made.shape == (5, 9, 3) and not made[:, :2].any() and not made[:, 7:].any()
    np.testing.assert_allclose(made[:, 2:7], tf.image.resize(IMAGE, [5, 5]).numpy(), rtol=1e-5)
    low = tf.image.resize_with_pad(tf.ones([6, 7, 1]), 9, 9).numpy()  # 7.7 rows: 0 above, 2 below
    assert low[:, 0, 0].tolist() == [1] * 7 + [0, 0]


def test_what_seeds_decide_is_tensorflows():
    image = tf.image
    check(image.stateless_random_brightness(IMAGE, 0.2, [1, 2]), 30.106, [0.138, 0.158, 0.179])
    check(image.stateless_random_contrast(IMAGE, 0.2, 0.5, [1, 2]), 23.5, [0.256, 0.277, 0.298])
    check(image.stateless_random_crop(IMAGE, [2, 2, 3], [1, 2]), 6.625, [0.375, 0.396, 0.417])
    check(image.stateless_random_hue(IMAGE, 0.2, [1, 2]), 23.384, [0.014, 0.0, 0.042])
    check(image.stateless_random_saturation(IMAGE, 0.2, 0.5, [1, 2]), 24.047, [0.023, 0.032, 0.042])
    flips = {
        tuple(image.stateless_random_flip_left_right(IMAGE, [i, 0]).numpy()[0, 0])
        for i in range(20)
    }
    assert flips == {tuple(IMAGE.numpy()[0, 0]), tuple(IMAGE.numpy()[0, 3])}


def test_boxes_see_enough_of_an_object():
    for seed in range(1, 20):
        begin, size, box = tf.image.sample_distorted_bounding_box(
            [40, 60, 3],
            [[[0.25, 0.25, 0.75, 0.75]]],
            seed=seed,
            min_object_covered=0.5,
            area_range=[0.2, 0.9],
            aspect_ratio_range=[0.5, 2.0],
        )
        top, left, bottom, right = box.numpy()[0, 0] * [40, 60, 40, 60]
        seen = max(0, min(bottom, 30) - max(top, 10)) * max(0, min(right, 45) - max(left, 15))
        assert seen >= 0.5 * 20 * 30 - 60  # whole pixels: a row and a column may be lost
        assert tf.slice(tf.zeros([40, 60, 3]), begin, size).shape[2] == 3
        assert 0 <= top < bottom <= 40 and 0 <= left < right <= 60
    _, size, box = tf.image.sample_distorted_bounding_box(
        [40, 60, 3], [[[0.0, 0.0, 1.0, 1.0]]], min_object_covered=0.99, area_range=[0.1, 0.2]
    )
    assert size.numpy().tolist() == [40, 60, -1]  # no try is good enough: the whole image


def test_png_there_and_back():
    image = tf.cast(IMAGE * 255.0, tf.uint8)
    assert (tf.image.decode_png(tf.io.encode_png(image)).numpy() == image.numpy()).all()


@pytest.mark.parametrize("batch,axis", [(1, None), (1, 1), (1, 2), (2, None), (-1, 2)])
def test_gather_in_batches(batch, axis):
    params = np.arange(2 * 3 * 4 * 2).reshape(2, 3, 4, 2)
    indices = np.array([[2, 0, 1], [1, 1, 0]])
    made = tf.gather(params, indices, axis=axis, batch_dims=batch).numpy()
    first = batch + 2 if batch < 0 else batch
    axis = first if axis is None else axis
    for example in np.ndindex(*params.shape[:first]):
        wanted = np.take(params[example], indices[example], axis=axis - first)
        assert (made[example] == wanted).all()


def test_png_with_other_channels():
    """Numbers are TensorFlow's: alpha is left out, not mixed with a background."""
    image = np.arange(12, dtype="u1").reshape(1, 3, 4) * 20
    file = tf.io.encode_png(image)
    assert (tf.io.decode_png(file).numpy() == image).all()
    assert (tf.io.decode_png(file, channels=3).numpy() == image[:, :, :3]).all()
    assert tf.io.decode_png(file, channels=1).numpy().ravel().tolist() == [16, 96, 176]
    gray = tf.io.encode_png(image[:, :, :1])
    assert tf.io.decode_png(gray, channels=4).numpy()[0].tolist() == [
        [0, 0, 0, 255],
        [80, 80, 80, 255],
        [160, 160, 160, 255],
    ]


def test_png_of_two_bytes():
    image = np.arange(12, dtype="u2").reshape(2, 2, 3) * 5000
    file = tf.io.encode_png(image)
    assert file.numpy()[24] == 16  # bits
    np.testing.assert_allclose(tf.io.decode_png(file).numpy(), image // 256, atol=1)


def test_graph_style_pads_what_it_resizes_the_old_way():
    image = np.arange(5 * 4, dtype="f").reshape(5, 4, 1)
    have = OLD.resize_image_with_pad(image, 7, 9).numpy()
    want = OLD.resize_images(image, [7, 5]).numpy()
    np.testing.assert_allclose(have[:, 1:6], want, rtol=1e-6)
