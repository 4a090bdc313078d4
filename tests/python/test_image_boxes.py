# SPDX-License-Identifier: Apache-2.0
"""test_image_boxes.py: boxes drawn into images; numbers are TensorFlow's."""

import numpy as np
import pytest

import situ as tf


def test_boxes_are_drawn():
    image = np.zeros((1, 5, 6, 3), "f")
    boxes = np.array([[[0.0, 0.0, 0.75, 0.6], [0.5, 0.5, 2.0, 2.0], [0.9, 0.1, 0.1, 0.9]]], "f")
    made = tf.image.draw_bounding_boxes(image, boxes, None).numpy()[0]
    yellow, blue = (made == [1, 1, 0]).all(-1), (made == [0, 0, 1]).all(-1)
    first = np.zeros((5, 6), bool)
    first[[0, 3], :4] = first[:4, [0, 3]] = True
    second = np.zeros((5, 6), bool)
    second[2, 2:] = second[2:, 2] = True
    assert (blue == second).all() and (yellow == (first & ~second)).all()


def test_custom_and_gray_colors():
    image, box = np.zeros((1, 2, 2, 1), "f"), np.array([[[0, 0, 1, 1], [0, 0, 0, 0]]], "f")
    made = tf.image.draw_bounding_boxes(image, box, [[0.25], [0.75]]).numpy()
    assert made.ravel().tolist() == [0.75, 0.25, 0.25, 0.25]
    gray = tf.image.draw_bounding_boxes(image, box, None).numpy()
    assert gray.ravel().tolist() == [1.0] * 4


def test_unknown_counts_are_told():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="number of boxes and channels"):
        boxes = tf.compat.v1.placeholder(tf.float32, [1, None, 4])
        tf.image.draw_bounding_boxes(np.zeros((1, 2, 2, 3), "f"), boxes, None)
