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
        ([-1, 0, 0, 1], "Segment id -1 out of range"),
    ],
)
def test_segments(ids, text):
    x = tf.ones([4, 2])
    calls = [tf.segment_sum(x, ids), tf.sparse_segment_mean(x, [0, 1, 2, 3], ids)]
    with tf.Session() as session:
        for call in calls:
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                session.run(call)


def test_axes_of_reduce_join():
    x, axis = tf.placeholder(tf.string), tf.placeholder(tf.int32)
    words = [[b"this", b"is"], [b"a", b"test"]]
    with tf.Session() as session:
        joined = tf.strings.reduce_join(x, axis=-1, separator=" ")
        assert joined.shape.rank is None
        assert session.run(joined, {x: words}).tolist() == [b"this is", b"a test"]
        joined = tf.strings.reduce_join(words, axis=axis, keepdims=True)
        assert session.run(joined, {axis: [0]}).tolist() == [[b"thisa", b"istest"]]
        assert session.run(joined, {axis: [0, 1]}).tolist() == [[b"thisaistest"]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid reduction dimension 2"):
            session.run(joined, {axis: [2]})
    for wrong in (-3, [0, 2]):
        with pytest.raises(ValueError, match="Invalid reduction dimension .* 2 dimensions"):
            tf.strings.reduce_join(words, axis=wrong)
    with pytest.raises(ValueError, match="Duplicate reduction dimension"):
        tf.strings.reduce_join(words, axis=[0, -2])


def test_norms_of_unknown_rank():
    x = tf.placeholder(tf.float32)
    value = [[[3.0, 0.0], [0.0, -4.0]], [[1.0, 0.0], [0.0, 2.0]]]
    with tf.Session() as session:
        norm = tf.norm(x, 2, axis=(-2, -1))
        assert session.run(norm, {x: value}).round(4).tolist() == [4, 2]
        norm = tf.norm(x, 2, axis=(0, 2), keepdims=True)
        assert session.run(norm, {x: value}).shape == (1, 2, 1)
        normal, norm = tf.linalg.normalize(tf.constant([3 + 4j, 5j]), ord=1)
        assert norm.dtype == tf.float64 and session.run(normal).tolist() == [0.3 + 0.4j, 0.5j]
