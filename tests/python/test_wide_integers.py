# SPDX-License-Identifier: Apache-2.0
"""test_wide_integers.py: Python integers beyond int32 as indices, limits and shapes."""

import pytest

import situ as tf

WIDE = 2**40
CALLS = pytest.mark.parametrize(
    "call", [lambda f, *a: f(*a), lambda f, *a: tf.function(f)(*a)], ids=["eager", "function"]
)


@CALLS
@pytest.mark.parametrize(
    "key, expected",
    [
        (slice(None, WIDE), [1, 2, 3]),
        (slice(WIDE, None), []),
        (slice(-WIDE, None), [1, 2, 3]),
        (slice(None, 2**32 + 1), [1, 2, 3]),
        (slice(0, 2**31), [1, 2, 3]),
        (slice(1, WIDE, 2**33), [2]),
        (slice(None, -WIDE), []),
        (slice(WIDE, None, -1), [3, 2, 1]),
    ],
)
def test_slice_beyond_int32(call, key, expected):
    assert call(lambda x: x[key], tf.constant([1, 2, 3])).numpy().tolist() == expected


@CALLS
def test_slice_beside_a_tensor(call):
    first = tf.constant(1)
    assert call(lambda x, i: x[i:WIDE], tf.constant([1, 2, 3]), first).numpy().tolist() == [2, 3]


@CALLS
@pytest.mark.parametrize(
    "args, expected",
    [
        ((WIDE, WIDE + 3), [WIDE, WIDE + 1, WIDE + 2]),
        ((5, WIDE, 2**39), [5, 5 + 2**39]),
        ((-(2**31) - 1, -(2**31)), [-(2**31) - 1]),
        ((2**31 - 2, 2**31), [2**31 - 2, 2**31 - 1]),
    ],
)
def test_range_beyond_int32(call, args, expected):
    made = call(lambda: tf.range(*args))
    assert made.dtype == tf.int64 and made.numpy().tolist() == expected


def test_range_keeps_int32():
    assert tf.range(3).dtype == tf.int32 and tf.range(0, 2**31 - 1, 2**30).dtype == tf.int32
    assert tf.range(0.0, WIDE, WIDE).dtype == tf.float32


@CALLS
@pytest.mark.parametrize("make", [tf.random.uniform, tf.random.normal, tf.zeros, tf.ones])
def test_shape_beyond_int32(call, make):
    assert call(lambda: make([2**32 + 2, 0])).shape.as_list() == [2**32 + 2, 0]


def test_filled_shape_beyond_int32_in_a_function():
    made = tf.function(lambda: tf.ones([2**32 + 2])).get_concrete_function()
    assert made.outputs[0].shape.as_list() == [2**32 + 2]


@pytest.mark.parametrize(
    "make, want",
    [
        (lambda: tf.constant(1) + 2**40, 1),
        (lambda: 2**31 + tf.constant(1), -(2**31) + 1),
        (lambda: tf.constant(2) * -(2**40), 0),
        (lambda: tf.constant(1) < 2**40, False),
        (lambda: tf.minimum(tf.constant(1), 2**40 + 5), 1),
        (lambda: tf.constant([1]) + [2**40 + 3], [4]),
        (lambda: tf.constant(2**40 + 7, tf.int32), 7),
        (lambda: tf.constant(1, tf.uint8) + 300, 45),
        (lambda: tf.constant(1, tf.int8) + 200, -55),
    ],
)
def test_python_integers_wrap_to_the_dtype_of_a_tensor(make, want):
    assert make().numpy().tolist() == want
    assert tf.function(make)().numpy().tolist() == want
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(make()).tolist() == want
