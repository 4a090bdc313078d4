# SPDX-License-Identifier: Apache-2.0
"""test_optional_feeds.py: tf.placeholder_with_default and other optional feeds: defaults do not
constrain a run, and each run is checked."""

import numpy as np
import pytest
from conftest import run_once as _run

import situ.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_the_shape_is_the_one_that_was_asked_for():
    x = tf.placeholder_with_default(np.zeros((4, 3), "f"), [None, 3])
    assert x.op.type == "PlaceholderWithDefault" and x.shape.as_list() == [None, 3]
    doubled = x * 2
    assert doubled.shape.as_list() == [None, 3]
    assert _run(doubled).shape == (4, 3)
    assert _run(doubled, {x: np.ones((1, 3))}).tolist() == [[2, 2, 2]]
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        _run(doubled, {x: np.ones((1, 2))})
    with pytest.raises(ValueError, match=r"shape \[4,3\], but \[5,\?\] was requested"):
        tf.placeholder_with_default(np.zeros((4, 3), "f"), [5, None])
    assert tf.placeholder_with_default(np.zeros((4, 3), "f"), None).shape.ndims is None


def test_sizes_that_are_fed():
    size = tf.placeholder_with_default(4, [])
    made = [tf.fill([size, 2], 1.0), tf.reshape(tf.range(12), [size, -1]), tf.range(size)]
    assert [str(m.shape) for m in made] == ["(?, 2)", "(?, ?)", "(?,)"]
    assert [m.shape for m in _run(made)] == [(4, 2), (4, 3), (4,)]
    assert [m.shape for m in _run(made, {size: 2})] == [(2, 2), (2, 6), (2,)]


def test_gradient_and_choice():
    keep = tf.placeholder_with_default(2.0, [])
    flag = tf.placeholder_with_default(True, [])
    grad = tf.gradients(keep * keep, keep)[0]
    chosen = tf.cond(flag, lambda: keep, lambda: keep * 10)
    assert _run([grad, chosen]) == [4, 2]
    assert _run([grad, chosen], {keep: 3.0, flag: False}) == [6, 30]


BAD = {
    "slice": (
        lambda p: tf.slice(tf.ones([2, 2]), p, [2, 2]),
        [0, 1],
        r"Expected size\[1\] in \[0, 1\], but got 2",
    ),
    "random": (
        lambda p: tf.random_uniform([2], p[0], 2, dtype=tf.int32),
        [5, 0],
        "Need minval < maxval, got 5 >= 2",
    ),
    "transpose": (lambda p: tf.transpose(tf.ones([2, 2]), p), [0, 0], "is missing from"),
    "reverse": (lambda p: tf.reverse(tf.ones([2, 2]), p), [1, 1], "specified more than once"),
    "part": (lambda p: tf.ones([2, 2])[p[0]], [7, 0], "slice index 7 of dimension 0 out of bounds"),
}


@pytest.mark.parametrize("default", [True, False])
@pytest.mark.parametrize("name", BAD)
def test_values_of_a_run_are_checked(name, default):
    """The shape of the result was known before; the values are not in order all the same."""
    build, value, message = BAD[name]
    given = tf.placeholder_with_default(value, [2]) if default else tf.placeholder(tf.int32, [2])
    made = build(given)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        _run(made, {} if default else {given: value})


def test_values_of_a_run_are_checked_each_time():
    begin = tf.placeholder(tf.int32, [1])
    part = tf.slice(tf.constant([1.0, 2.0, 3.0]), begin, [2])
    with tf.Session() as session:
        assert session.run(part, {begin: [1]}).tolist() == [2, 3]
        for bad in 2, -1, 100:
            with pytest.raises(tf.errors.InvalidArgumentError, match="Expected"):
                session.run(part, {begin: [bad]})
        assert session.run(part, {begin: [0]}).tolist() == [1, 2]


def test_ensure_shape():
    x = tf.placeholder(tf.float32)
    sure = tf.ensure_shape(x, [None, 2])
    assert sure.shape.as_list() == [None, 2]
    assert _run([sure, tf.gradients(sure, x)[0]], {x: [[1.0, 2.0]]})[0].tolist() == [[1, 2]]
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"Shape of tensor \[1,3\] is not compatible with expected shape "
        r"\[\?,2\]",
    ):
        _run(sure, {x: [[1.0, 2.0, 3.0]]})
    with pytest.raises(ValueError, match="not compatible with expected shape"):
        tf.ensure_shape(tf.ones([3]), [2])
    late = tf.ensure_shape(tf.py_func(lambda: np.ones(3, "f"), [], tf.float32), [2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not compatible"):
        _run(late)


def test_mirrored_margins_have_dense_gradients():
    x = tf.placeholder(tf.float32, [None, 4])
    made = tf.pad(x, [[1, 2], [0, 1]], "REFLECT")
    grad = tf.gradients(made * made, x)[0]
    assert isinstance(grad, tf.Tensor) and made.shape.as_list() == [None, 5]
    value = np.arange(12, dtype="f").reshape(3, 4)
    found, back = _run([made, grad], {x: value})
    want = np.pad(value, [[1, 2], [0, 1]], "reflect")
    assert found.tolist() == want.tolist()
    count = np.array([2, 3, 1])[:, None] * np.array([1, 1, 2, 1])
    assert back.tolist() == (2 * value * count).tolist()
    free = tf.placeholder(tf.float32)
    mirrored = tf.pad(free, [[1, 1]], "SYMMETRIC")
    assert mirrored.shape.as_list() == [None]
    assert _run(mirrored, {free: [1.0, 2.0]}).tolist() == [1, 1, 2, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="paddings must be"):
        _run(made, {x: value[:2]})


def test_saturating_casts_of_large_numbers():
    value = tf.constant([1.7, -1.7, 1e10, -1e10, np.inf, -np.inf])
    assert _run(tf.saturate_cast(value, tf.int32)).tolist() == [
        1,
        -1,
        2147483520,
        -2147483648,
        2147483520,
        -2147483648,
    ]
    assert _run(tf.saturate_cast(value, tf.uint8)).tolist() == [1, 0, 255, 0, 255, 0]
    assert _run(tf.saturate_cast(tf.constant([300, -300]), tf.int8)).tolist() == [127, -128]
