# SPDX-License-Identifier: Apache-2.0
"""test_extreme_values.py: logsumexp of large numbers and means of large integers do not
overflow."""

import numpy
import pytest

import situ as tf

INF = float("inf")
MOST = 2**31 - 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "x, expected",
    [
        ([-200, -100, 0, 100, 200], [-200, -100, 0, 100, 200]),
        ([200, 100, 0, -100], [200, 200, 200, 200]),
        ([-INF, -INF, 1], [-INF, -INF, 1]),
        ([1, INF, 2], [1, INF, INF]),
        ([0, 0], [0, numpy.log(2)]),
        ([], []),
    ],
)
def test_cumulative_logsumexp(dtype, x, expected):
    x = numpy.array(x, dtype)
    found = tf.math.cumulative_logsumexp(x).numpy()
    assert found.dtype == dtype and found.tolist() == pytest.approx(expected, rel=1e-3)
    turned = tf.math.cumulative_logsumexp(x[::-1].copy(), reverse=True).numpy()
    assert turned[::-1].tolist() == pytest.approx(expected, rel=1e-3)
    before = tf.math.cumulative_logsumexp(x, exclusive=True).numpy()
    assert before.tolist() == pytest.approx([-INF, *expected][: len(expected)], rel=1e-3)


def test_gradient_of_cumulative_logsumexp():
    x, weights = tf.constant([0.5, -1.0, 2.0, 0.3]), tf.constant([1.0, -2.0, 0.5, -0.1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.math.cumulative_logsumexp(x) * weights)
    assert tape.gradient(y, x).numpy() == pytest.approx(
        [-0.56283283, -0.34871513, 0.32409835, -0.01255039], rel=1e-4
    )
    wide = tf.constant([-200.0, 0.0, 200.0])
    with tf.GradientTape() as tape:
        tape.watch(wide)
        y = tf.math.cumulative_logsumexp(wide)
    assert tape.gradient(y, wide).numpy() == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    "x, axis, expected",
    [
        ([MOST, MOST, MOST - 10, -5], None, 1610612731),
        ([-MOST] * 3, None, -MOST),
        ([[MOST, 1], [MOST, 2]], 0, [MOST, 1]),
        ([[MOST, MOST], [1, 2]], 1, [MOST, 1]),
        ([-7, 2, 0], None, -1),
    ],
)
def test_means_of_integers_do_not_overflow(x, axis, expected):
    found = tf.reduce_mean(tf.constant(x, tf.int32), axis)
    assert found.dtype == tf.int32 and found.numpy().tolist() == expected


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_means_of_small_integers(dtype):
    most = numpy.iinfo(dtype).max
    assert tf.reduce_mean(numpy.full(100_003, most, dtype)).numpy() == most


def test_a_mean_of_many_integers():
    x = numpy.full((300, 1000), MOST, "int32")
    assert tf.reduce_mean(x).numpy() == MOST
    assert set(tf.reduce_mean(x, 0).numpy().tolist()) == {MOST}
    assert tf.reduce_mean(numpy.array([2**40, 2**40 + 2], "int64")).numpy() == 2**40 + 1
    assert tf.reduce_sum(tf.constant([MOST, 1])).numpy() == -(2**31)  # a sum has its type


@pytest.mark.parametrize("x", [[-1e4, 1e4], [1e30, -1e30], [-INF, 0.0], [800.0, -900.0]])
def test_logarithms_of_exponentials(x):
    most = max(x)
    assert tf.reduce_logsumexp(x).numpy() == pytest.approx(most)
    assert tf.nn.log_softmax(x).numpy().max() == pytest.approx(0.0)
    assert tf.nn.softplus(x).numpy() == pytest.approx(
        [max(v, 0.0) if v else numpy.log(2) for v in x]
    )
    if all(map(numpy.isfinite, x)):
        loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=x).numpy()
        assert loss == pytest.approx([max(-x[0], 0.0), max(x[1], 0.0)])
