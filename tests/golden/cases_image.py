# SPDX-License-Identifier: Apache-2.0
"""cases_image.py: functions of tf.image."""


def picture(tf, *shape):
    """An image whose pixels go up and down."""
    count = 1
    for size in shape:
        count *= size
    return tf.reshape(tf.sin(tf.range(float(count)) * 0.7) * 0.5 + 0.5, shape)


def bytes_of(tf, *shape):
    return tf.cast(picture(tf, *shape) * 255, tf.uint8)


IMAGE_GRAPH = {
    "standardization": lambda tf: tf.image.per_image_standardization(picture(tf, 3, 4, 3)),
    "standardization_batch": lambda tf: tf.image.per_image_standardization(
        bytes_of(tf, 2, 3, 4, 3)),
    "crop_or_pad": lambda tf: tf.image.resize_image_with_crop_or_pad(picture(tf, 5, 4, 1), 3, 6),
    "crop_or_pad_batch": lambda tf: tf.image.resize_image_with_crop_or_pad(
        picture(tf, 2, 2, 5, 1), 5, 2),
    "central_crop": lambda tf: tf.image.central_crop(picture(tf, 5, 6, 1), 0.5),
    "box": lambda tf: tf.image.crop_to_bounding_box(picture(tf, 5, 6, 1), 1, 2, 3, 2),
    "flip": lambda tf: [tf.image.flip_left_right(picture(tf, 2, 3, 1)),
                        tf.image.flip_up_down(picture(tf, 2, 3, 1)),
                        tf.image.transpose_image(picture(tf, 2, 3, 1)),
                        tf.image.rot90(picture(tf, 2, 3, 1)),
                        tf.image.rot90(picture(tf, 2, 3, 1), 3)],
    "brightness": lambda tf: [tf.image.adjust_brightness(picture(tf, 2, 2, 3), 0.2),
                              tf.image.adjust_brightness(bytes_of(tf, 2, 2, 3), 0.2)],
    "contrast": lambda tf: [tf.image.adjust_contrast(picture(tf, 2, 2, 3), 1.5),
                            tf.image.adjust_contrast(bytes_of(tf, 2, 2, 3), 1.5)],
    "hue": lambda tf: tf.image.adjust_hue(picture(tf, 2, 3, 3), 0.1),
    "saturation": lambda tf: tf.image.adjust_saturation(picture(tf, 2, 3, 3), 0.6),
    "gray": lambda tf: [tf.image.rgb_to_grayscale(picture(tf, 2, 3, 3)),
                        tf.image.grayscale_to_rgb(picture(tf, 2, 3, 1))],
    "convert": lambda tf: [tf.image.convert_image_dtype(picture(tf, 2, 2, 1), tf.uint8),
                           tf.image.convert_image_dtype(bytes_of(tf, 2, 2, 1), tf.float32)],
    "bilinear": lambda tf: tf.image.resize_images(picture(tf, 3, 4, 2), [5, 3]),
    "bilinear_corners": lambda tf: tf.image.resize_bilinear(picture(tf, 1, 3, 4, 2), [5, 3],
                                                            align_corners=True),
    "nearest": lambda tf: tf.image.resize_nearest_neighbor(bytes_of(tf, 1, 3, 4, 2), [5, 3]),
    "area": lambda tf: tf.image.resize_area(picture(tf, 1, 5, 4, 1), [2, 3]),
    "random_flip": lambda tf: tf.image.random_flip_left_right(picture(tf, 2, 3, 1), seed=1),
    "random_flip_batch": lambda tf: tf.image.random_flip_up_down(picture(tf, 3, 2, 2, 1), seed=1),
    "random_brightness": lambda tf: tf.image.random_brightness(picture(tf, 2, 2, 3), 63, seed=1),
    "random_contrast": lambda tf: tf.image.random_contrast(picture(tf, 2, 2, 3), .2, 1.8, seed=1),
    "random_hue": lambda tf: tf.image.random_hue(picture(tf, 2, 2, 3), 0.3, seed=1),
    "random_saturation": lambda tf: tf.image.random_saturation(picture(tf, 2, 2, 3), 0.5, 1.5,
                                                               seed=1),
}

IMAGE_EAGER = {
    "resize": lambda tf: [tf.image.resize(picture(tf, 3, 4, 2), [5, 3]),
                          tf.image.resize(bytes_of(tf, 3, 4, 2), [2, 3], "nearest"),
                          tf.image.resize(picture(tf, 6, 4, 1), [3, 3], "area")],
    "crop_or_pad": lambda tf: tf.image.resize_with_crop_or_pad(picture(tf, 5, 4, 1), 3, 6),
    "gamma": lambda tf: tf.image.adjust_gamma(picture(tf, 2, 2, 1), 0.5, 2.0),
}
