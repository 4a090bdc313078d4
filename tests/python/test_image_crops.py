# SPDX-License-Identifier: Apache-2.0
"""test_image_crops.py: crops of images, rotations; metrics of classes."""

import numpy
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def run(fetches):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches)


def test_boxes_that_better_ones_cover_go():
    boxes = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3], [1, 3, 0, 2], [5, 5, 6, 6]]
    best = tf.image.non_max_suppression(tf.constant(boxes), [0.9, 0.95, 0.3, 0.2, 0.1], 10, 0.5)
    assert run(best).tolist() == [1, 2, 4]
    best = tf.image.non_max_suppression(tf.constant(boxes), [0.9, 0.95, 0.3, 0.2, 0.1], 1, 0.5)
    assert run(best).tolist() == [1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="iou_threshold"):
        run(tf.image.non_max_suppression(tf.constant(boxes), [1.0] * 5, 1, 2.0))


def test_crops():
    image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
    whole = tf.image.crop_and_resize(image, [[0, 0, 1, 1.0]], [0], [3, 3])
    assert whole.shape.as_list()[1:] == [3, 3, 1]
    assert run(whole)[0, :, :, 0].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    part = tf.image.crop_and_resize(image, [[0, 0.5, 0.5, 1.5]], [0], [2, 3], extrapolation_value=9)
    assert run(part)[0, :, :, 0].tolist() == [[1, 2, 9], [4, 5, 9]]
    middle = tf.image.crop_and_resize(image, [[0, 0, 0.5, 0.5]], [0], [1, 1])
    slope = tf.gradients(middle, image)[0]
    assert run(middle).ravel().tolist() == [2] and run(slope).ravel()[0] == 0.25


def test_images_turned():
    image = tf.reshape(tf.range(9.0), [3, 3, 1])
    turned = run(tf.contrib.image.rotate(image, numpy.pi / 2))[:, :, 0]
    assert turned.tolist() == [[2, 5, 8], [1, 4, 7], [0, 3, 6]]
    moved = run(tf.contrib.image.translate(image[None], [1, 0]))[0, :, :, 0]
    assert moved.tolist() == [[0, 0, 1], [0, 3, 4], [0, 6, 7]]


def test_metrics_of_classes():
    labels, guesses = tf.constant([0, 0, 1, 2]), tf.constant([0, 1, 1, 1])
    scores = tf.constant([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7], [0.3, 0.6, 0.1], [0.1, 0.7, 0.2]])
    made = [
        tf.metrics.mean_iou(labels, guesses, 3),
        tf.metrics.mean_per_class_accuracy(labels, guesses, 3),
        tf.metrics.recall_at_k(tf.cast(labels, tf.int64), scores, 2),
        tf.metrics.precision_at_k(tf.cast(labels, tf.int64), scores, 2),
    ]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run([update for _, update in made])
        iou, accuracy, recall, precision = session.run([value for value, _ in made])
    assert abs(iou - (1 / 2 + 1 / 3 + 0) / 3) < 1e-6 and accuracy == 0.5
    assert recall == 0.75 and precision == 3 / 8
