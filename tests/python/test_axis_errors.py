# SPDX-License-Identifier: Apache-2.0
"""test_axis_errors.py: the texts of TensorFlow 1 for axes, element types and strings that an op
does not accept, and what it says about segments."""

import re

import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: tf.stack([tf.constant([1, 2])] * 2, axis=2), "axis = 2 not in [-2, 2)"),
        (lambda: tf.stack([[1, 2], [3, 4]], axis=-3), "axis = -3 not in [-2, 2)"),
        (lambda: tf.unstack(tf.zeros([2, 3]), axis=2), "axis = 2 not in [-2, 2)"),
        (lambda: tf.unstack(tf.placeholder("int32")), "Cannot infer num from shape <unknown>"),
        (
            lambda: tf.strings.length("a", unit="bytes"),
            "Attr 'unit' of 'StringLength' Op passed string 'bytes' not in: "
            '"BYTE", "UTF8_CHAR".',
        ),
    ],
)
def test_refused_arguments(call, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        call()


def test_refused_element_types():
    with pytest.raises(TypeError, match="'features' has DataType int32 not in list of allowed"):
        tf.nn.softplus(tf.constant([1]))


@pytest.mark.parametrize(
    "ids, text",
    [
        ([0, 1, 0, 1], "segment ids are not increasing"),
        ([0, 0, 0, -2], "segment ids must be >= 0"),
        ([-1, 0, 0, 1], "segment ids must not be negative"),
    ],
)
def test_segments(ids, text):
    x = tf.ones([4, 2])
    calls = [tf.segment_sum(x, ids), tf.sparse_segment_mean(x, [0, 1, 2, 3], ids)]
    with tf.Session() as session:
        for call in calls:
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                session.run(call)
