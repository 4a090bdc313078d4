# SPDX-License-Identifier: Apache-2.0
"""test_custom_gradients_eager.py: tapes and functions with custom gradients. Numbers are
TensorFlow's."""

import pytest

import situ as tf


@tf.custom_gradient
def log1pexp(x):
    """Of TensorFlow's documentation: the gradient uses an exponential of the way there."""
    e = tf.exp(x)
    return tf.math.log(1 + e), lambda upstream: upstream * (1 - 1 / (1 + e))


@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
def test_second_gradients_see_what_the_function_computed(make):
    x = make(0.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = log1pexp(x)
        first = inner.gradient(y, x)
    assert float(first) == 0.5
    assert float(outer.gradient(first, x)) == 0.25


def test_the_gradient_of_what_the_function_computed_is_replaced():
    @tf.custom_gradient
    def cube(x):
        square = x * x
        return square * x, lambda upstream: upstream * 100.0 * square

    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = cube(x)
    assert float(tape.gradient(y, x)) == 400
