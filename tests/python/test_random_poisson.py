# SPDX-License-Identifier: Apache-2.0
"""test_random_poisson.py: tf.random.poisson and stateless_poisson, and errors of random ops."""

import numpy as np
import pytest

import situ as tf


@pytest.mark.parametrize("rate", [0.5, 4.0, 10.0, 60.0])
def test_mean_and_variance(rate):
    for numbers in (
        tf.random.poisson([20000], rate, seed=3),
        tf.random.stateless_poisson([20000], [1, 2], rate, tf.float64),
    ):
        values = numbers.numpy().astype(np.float64)
        assert (values >= 0).all() and (values == np.floor(values)).all()
        assert abs(values.mean() - rate) < 4 * np.sqrt(rate / 20000)
        assert abs(values.var() / rate - 1) < 0.08


def test_shapes_and_types():
    numbers = tf.random.poisson([5, 3], [[0.0, 1.0], [100.0, 2.0]], tf.int64)
    assert numbers.shape == (5, 3, 2, 2) and numbers.dtype == tf.int64
    assert (numbers.numpy()[..., 0, 0] == 0).all() and (numbers.numpy()[..., 1, 0] > 30).all()
    assert tf.random.stateless_poisson([4, 2], [1, 2], [1.0, 2.0]).dtype == tf.int32
    assert tf.compat.v1.random_poisson(1.0, [3]).shape == (3,)
    assert tf.random.poisson([0], 1.0).shape == (0,)


def test_seeds():
    draw = lambda seed: tf.random.stateless_poisson([50], seed, 7.0).numpy()
    np.testing.assert_array_equal(draw([1, 2]), draw([1, 2]))
    assert (draw([1, 2]) != draw([1, 3])).any()


def test_bounds_of_integers():
    assert tf.random.uniform([10, 0], 0, 0, tf.int32).shape == (10, 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Need minval < maxval, got 0 >= 0"):
        tf.random.uniform([1], 0, 0, tf.int32)
    not_scalar = "maxval must be a scalar; got a tensor of shape"
    with pytest.raises(tf.errors.InvalidArgumentError, match=not_scalar):
        tf.random.uniform([3], 0, [2, 3], tf.int32)


def test_truth_of_tensors():
    cases = (0, False), (2.5, True), ("", False), ("a", True), ([], False), ([0], True)
    for value, truth in cases:
        assert bool(tf.raw_ops.ToBool(input=tf.constant(value))) == truth
