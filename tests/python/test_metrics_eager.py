# SPDX-License-Identifier: Apache-2.0
"""test_metrics_eager.py: tf.metrics raises an error eagerly; the argument order of
confusion_matrix."""

import pytest

import situ as tf


def test_metrics_of_graph_style_are_refused_eagerly():
    with pytest.raises(RuntimeError, match="not supported when eager execution is enabled"):
        tf.compat.v1.metrics.mean([1.0])


def test_weights_come_before_the_type_in_the_confusion_matrix():
    found = tf.math.confusion_matrix([0, 1], [0, 1], 2, [0.5, 2.0], tf.float32)
    assert found.numpy().tolist() == [[0.5, 0.0], [0.0, 2.0]]
