# SPDX-License-Identifier: Apache-2.0
"""test_image_suppression.py: tf.image.non_max_suppression and its variants."""

import numpy
import pytest

import situ as tf

BOXES = [
    [0, 0, 1, 1],
    [0, 0.1, 1, 1.1],
    [0, -0.1, 1, 0.9],
    [0, 10, 1, 11],
    [0, 10.1, 1, 11.1],
    [0, 100, 1, 101],
]
SCORES = [0.9, 0.75, 0.6, 0.95, 0.5, 0.3]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("threshold", ["float16", "float32"])
def test_versions(dtype, threshold):
    boxes, scores = tf.constant(BOXES, dtype), tf.constant(SCORES, dtype)
    iou, least = tf.constant(0.5, threshold), tf.constant(float("-inf"), threshold)
    common = dict(boxes=boxes, scores=scores, max_output_size=3, iou_threshold=iou)
    assert tf.raw_ops.NonMaxSuppressionV2(**common).numpy().tolist() == [3, 0, 5]
    common["score_threshold"] = least
    assert tf.raw_ops.NonMaxSuppressionV3(**common).numpy().tolist() == [3, 0, 5]
    common["max_output_size"] = 5
    indices, count = tf.raw_ops.NonMaxSuppressionV4(**common, pad_to_max_output_size=True)
    assert indices.numpy().tolist() == [3, 0, 5, 0, 0] and int(count) == 3
    old = tf.raw_ops.NonMaxSuppression(
        boxes=tf.constant(BOXES), scores=tf.constant(SCORES), max_output_size=2
    )
    assert old.numpy().tolist() == [3, 0]


def test_soft_suppression_lowers_scores():
    indices, scores = tf.image.non_max_suppression_with_scores(
        BOXES, SCORES, 6, 1.0, 0.0, soft_nms_sigma=0.5
    )
    assert indices.numpy().tolist() == [3, 0, 1, 5, 4, 2]
    expected = [0.95, 0.9, 0.384, 0.3, 0.256, 0.197]
    assert numpy.allclose(scores, expected, atol=1e-3)


def test_overlaps():
    overlaps = [[1.0, 0.7, 0.2], [0.7, 1.0, 0.0], [0.2, 0.0, 1.0]]
    best = tf.image.non_max_suppression_overlaps(overlaps, [0.7, 0.9, 0.1], 3, 0.6, 0.4)
    assert best.numpy().tolist() == [1]
    best = tf.image.non_max_suppression_overlaps(overlaps, [0.7, 0.9, 0.1], 3, 0.6)
    assert best.numpy().tolist() == [1, 2]


def test_padded_batches():
    boxes = tf.constant([BOXES, BOXES[::-1]])
    scores = tf.constant([SCORES, SCORES[::-1]])
    indices, counts = tf.image.non_max_suppression_padded(
        boxes, scores, 4, pad_to_max_output_size=True
    )
    assert indices.numpy().tolist() == [[3, 0, 5, 0], [2, 5, 0, 0]]
    assert counts.numpy().tolist() == [3, 3]
    with pytest.raises(ValueError, match="must be True for batched input"):
        tf.image.non_max_suppression_padded(boxes, scores, 4)
    with pytest.raises(TypeError, match="does not match type int32"):
        tf.image.non_max_suppression_padded(boxes[0], scores[0], 2**31)


def test_combined():
    boxes = tf.reshape(tf.constant(BOXES), [1, 6, 1, 4])
    scores = tf.reshape(tf.constant([SCORES, SCORES[::-1]]), [1, 2, 6])
    scores = tf.transpose(scores, [0, 2, 1])
    result = tf.image.combined_non_max_suppression(boxes, scores, 2, 3, clip_boxes=False)
    assert result.valid_detections.numpy().tolist() == [3]
    assert numpy.allclose(result.nmsed_scores, [[0.95, 0.95, 0.9]])
    assert result.nmsed_classes.numpy().tolist() == [[0, 1, 0]]
    assert numpy.allclose(result.nmsed_boxes[0, 0], BOXES[3])
    padded = tf.image.combined_non_max_suppression(boxes, scores, 1, 9, pad_per_class=True)
    assert padded.nmsed_boxes.shape == (1, 2, 4)
    with pytest.raises((TypeError, ValueError), match="int64|int32"):
        tf.image.combined_non_max_suppression(boxes, scores, 2, 2**31)


@pytest.mark.parametrize(
    "boxes, scores, size, threshold, message",
    [
        ([0.0, 0, 1, 1], [0.9], 3, 0.5, "rank 2 but is rank 1"),
        ([[0.0, 0, 1]], [0.9], 3, 0.5, "Dimension must be 4 but is 3"),
        ([[0.0, 0, 1, 1]] * 2, [0.9], 3, 0.5, "Dimensions must be equal, but are 2 and 1"),
        ([[0.0, 0, 1, 1]], [[0.9]], 3, 0.5, "rank 1 but is rank 2"),
        ([[0.0, 0, 1, 1]], [0.9], [[3]], 0.5, "rank 0 but is rank 2"),
        ([[0.0, 0, 1, 1]], [0.9], 3, [[0.5]], "rank 0 but is rank 2"),
        ([[0.0, 0, 1, 1]], [0.9], -1, 0.5, "non-negative"),
        ([[0.0, 0, 1, 1]], [0.9], 1, 1.5, r"in \[0, 1\]"),
    ],
)
def test_wrong_arguments(boxes, scores, size, threshold, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.image.non_max_suppression(boxes, scores, size, threshold)


@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_boxes_of_nan_end(sigma):
    boxes = numpy.float32([[0, 0, 1, 1], [numpy.nan, 0, 1, 1], [0, 0, 1, 1], [0, 5, 1, 6]])
    scores = numpy.array([0.5, 0.9, 0.7, 0.6], numpy.float32)
    index, score, count = tf.raw_ops.NonMaxSuppressionV5(
        boxes=boxes,
        scores=scores,
        max_output_size=4,
        iou_threshold=0.5,
        score_threshold=0.0,
        soft_nms_sigma=sigma,
        pad_to_max_output_size=False,
    )
    assert (index.numpy().tolist(), count.numpy()) == ([1], 1)
    numpy.testing.assert_allclose(score, [0.9])


def test_overlaps_of_nan():
    index = tf.raw_ops.NonMaxSuppressionWithOverlaps(
        overlaps=numpy.full((2, 2), numpy.nan, numpy.float32),
        scores=numpy.ones(2, numpy.float32),
        max_output_size=5,
        overlap_threshold=0.5,
        score_threshold=0.0,
    )
    assert index.numpy().tolist() == [0]
