# SPDX-License-Identifier: Apache-2.0
"""images.py: batches of images from files, through queues.

Each image is read by a FixedLengthRecordReader, cropped, and (to train) flipped, made brighter or
darker, and stronger or weaker at random; threads of queue runners do it while steps run.
"""

import model
import tensorflow as tf

import data


def read(paths, shuffle, epochs=None):
    """One record: the image [32, 32, 3] as floats, and the label."""
    names = tf.train.string_input_producer(paths, shuffle=shuffle, num_epochs=epochs)
    _, text = tf.FixedLengthRecordReader(record_bytes=data.RECORD).read(names)
    record = tf.decode_raw(text, tf.uint8)
    label = tf.reshape(tf.cast(tf.slice(record, [0], [1]), tf.int32), [])
    planes = tf.reshape(tf.slice(record, [1], [data.RECORD - 1]), [3, data.SIDE, data.SIDE])
    return tf.cast(tf.transpose(planes, [1, 2, 0]), tf.float32), label


def distorted(image):
    """Another view of an image, to train with."""
    image = tf.random_crop(image, [model.CROP, model.CROP, 3])
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, max_delta=63)
    return tf.image.random_contrast(image, lower=0.2, upper=1.8)


def batches(paths, batch_size, train, repeatable=False):
    """A batch of images and labels per step; `repeatable` ones come in the order of the files."""
    with tf.device("/cpu:0"), tf.name_scope("input"):
        shuffle = train and not repeatable
        image, label = read(paths, shuffle, None if train else 1)
        if train:
            image = distorted(image)
        else:
            image = tf.image.resize_image_with_crop_or_pad(image, model.CROP, model.CROP)
        image = tf.image.per_image_standardization(image)
        image.set_shape([model.CROP, model.CROP, 3])
        if shuffle:
            return tf.train.shuffle_batch(
                [image, label],
                batch_size,
                num_threads=4,
                capacity=2000 + 3 * batch_size,
                min_after_dequeue=2000,
            )
        return tf.train.batch(
            [image, label], batch_size, capacity=3 * batch_size, allow_smaller_final_batch=not train
        )
