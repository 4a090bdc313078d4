# SPDX-License-Identifier: Apache-2.0
"""test_random_distributions.py: Poisson, binomial and gamma numbers, seeds from seeds and the seeds
of functions are those of TensorFlow 2.21."""

import numpy
import pytest

import situ as tf

r = tf.random
EXPECTED = {
    "gamma": [
        [0.06695, 2.62919, 7.79681, 0.62824, 1.63694, 6.31726],
        [0.03348, 0.8764, 1.9492, 0.31412, 0.54565, 1.57931],
    ],
    "poisson": [
        [3, 3, 62, 2, 3, 77],
        [18.0, 20.0, 14.0],
    ],
    "binomial": [
        [3, 7, 74, 1, 7, 66],
        [43.0, 0.0, 43.0, 0.0, 41.0, 0.0],
    ],
    "full range": [
        [1105988140, 1738052849],
        [7464880146280614444, 1591045637757961278],
        [1105988140, 1738052849],
        [7464880146280614444, 1591045637757961278],
    ],
    "seeds": [
        [1105988140, 1738052849, -335576002, 370444179],
        [7464880146280614444, 1591045637757961278],
        [1105988140, 12345],
    ],
    "shuffle": [
        [4, 6, 1, 2, 7, 11, 9, 3, 5, 10, 0, 8],
    ],
    "generator": [
        [3, 63, 4, 53, 3, 63],
        [154117, 0, 0],
        [614744610, 3911894924],
        [154117, 0, 0],
    ],
    "stateful poisson": [
        [1.0, 7.0, 370.0, 0.0, 12.0, 389.0],
        [0, 2],
        [1, 5],
    ],
    "nested functions": [
        [-1.86472, 0.80265],
        [-1.86472, 0.80265],
        [-1.86472, 0.80265],
    ],
    "bfloat16": [
        [0.75, 0.82031, 0.59375, 0.28125],
        [0.34375, 0.88281, 0.48438, 0.14844],
    ],
}


def generator():
    made = r.Generator.from_seed(5)
    drawn = made.binomial([3, 2], [10.0, 100.0], [0.3, 0.6])
    integers = made.uniform_full_int([2], tf.uint32)
    return [drawn, made.state, integers, made.state]


def stateful_poisson():
    r.set_seed(3)
    seeded = [r.poisson([2], 3.0, tf.int64, seed=7) for _ in range(2)]
    r.set_seed(3)
    return [r.poisson([2], [0.5, 15.0, 400.0]), *seeded]


def nested_functions():
    """A function in a function counts the seeds of its random ops from 0."""
    r.set_seed(3)
    inner = tf.function(lambda: r.normal([2]))
    return tf.function(lambda: [inner(), r.normal([2]), inner()])()


def bfloat16():
    r.set_seed(3)
    drawn = [r.uniform([4], dtype="bfloat16"), r.stateless_uniform([4], [1, 2], dtype="bfloat16")]
    return [tf.cast(v, "float32") for v in drawn]


CASES = {
    "gamma": lambda: [
        r.stateless_gamma([2, 3], [1, 2], [0.5, 1.5, 7.0]),
        r.stateless_gamma([2, 3], [1, 2], [0.5, 1.5, 7.0], [2.0, 3.0, 4.0], tf.float64),
    ],
    "poisson": lambda: [
        r.stateless_poisson([2, 3], [1, 2], [0.5, 1.5, 70.0]),
        r.stateless_poisson([3], [-5, 9], 20, tf.float64),
    ],
    "binomial": lambda: [
        r.stateless_binomial([2, 3], [1, 2], [4.0, 10.0, 100.0], [0.2, 0.5, 0.7]),
        r.stateless_binomial([3, 2], [1, 2], 50.0, [0.9, 0.001], tf.float32),
    ],
    "full range": lambda: [
        r.stateless_uniform([2], [1, 2], None, None, kind)
        for kind in (tf.int32, tf.int64, tf.uint32, tf.uint64)
    ],
    "seeds": lambda: [
        r.split([1, 2], 2),
        r.split(tf.constant([1, 2], tf.int64), 1),
        r.fold_in([1, 2], 12345),
    ],
    "shuffle": lambda: [r.experimental.stateless_shuffle(tf.range(12), [1, 2])],
    "generator": generator,
    "stateful poisson": stateful_poisson,
    "nested functions": nested_functions,
    "bfloat16": bfloat16,
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_tensorflows(name):
    found = CASES[name]()
    assert len(found) == len(EXPECTED[name])
    for values, expected in zip(found, EXPECTED[name]):
        numpy.testing.assert_allclose(numpy.ravel(values), expected, atol=2e-5, rtol=1e-6)


def test_in_functions():
    """Functions draw the same numbers; their shapes are known where they are traced."""

    @tf.function
    def draw(seed):
        made = r.stateless_poisson([2, 3], seed, [0.5, 1.5, 70.0])
        assert made.shape == [2, 3]
        return made, r.split(seed, 2)

    numbers, seeds = draw(tf.constant([1, 2]))
    assert numbers.numpy().ravel().tolist() == EXPECTED["poisson"][0]
    assert seeds.numpy().ravel().tolist() == EXPECTED["seeds"][0]


def test_both_argument_orders_of_poisson():
    v1 = tf.compat.v1
    assert v1.random_poisson([1.0, 2.0], [3], seed=1).shape == [3, 2]
    assert v1.random.poisson([1.0, 2.0], [3], seed=1).shape == [3, 2]
    assert r.poisson([3], [1.0, 2.0], seed=1).shape == [3, 2]
    numpy.testing.assert_array_equal(r.poisson([2], 0.0, seed=1), [0, 0])
    assert r.poisson([2], numpy.zeros([0], "float32")).shape == [2, 0]
    assert r.poisson([2], numpy.inf).numpy().tolist() == [numpy.inf] * 2


def test_errors():
    with pytest.raises(ValueError, match="must be both None or not None"):
        r.stateless_uniform([2], [1, 2], dtype=tf.int32)
    with pytest.raises(ValueError, match="unsigned"):
        r.stateless_uniform([2], [1, 2], 0, 5, dtype=tf.uint32)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="must end with"):
        r.stateless_binomial([2, 2], [1, 2], [4.0, 10.0, 100.0], 0.2)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="must be a scalar"):
        r.uniform([2], [1, 2], 9, tf.int32)
    assert r.uniform([0], 0, 0, tf.int32).shape == [0]  # bounds are not checked then


def test_places_in_a_permutation():
    places = r.experimental.index_shuffle(tf.range(10), [5, 9], 9)
    assert places.numpy().tolist() == [8, 0, 6, 3, 1, 5, 4, 7, 2, 9]
    one = r.experimental.index_shuffle(tf.constant(2, tf.int64), [5, 9], 9)
    assert one.dtype == tf.int64 and int(one) == 6
    rows = r.experimental.index_shuffle(3, [[1, 2], [3, 4]], 1000)
    assert rows.shape == [2]
    for index, most, message in ((-1, 5, "index must be >= 0"), (0, -1, "max_index must be >= 0")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            r.experimental.index_shuffle(index, [1, 2], most)
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_index must be >= index"):
        r.experimental.index_shuffle(5, [1, 2], 4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="rounds must be an even number"):
        tf.raw_ops.RandomIndexShuffle(index=0, seed=[1, 2, 3], max_index=4, rounds=5)


def test_gradients_go_through_gamma_numbers():
    alpha = tf.constant([0.5, 2.0, 30.0])
    samples = (
        lambda: r.gamma([1000], alpha, seed=1),
        lambda: r.stateless_gamma([1000, 3], [1, 2], alpha),
    )
    for draw in samples:
        with tf.GradientTape() as tape:
            tape.watch(alpha)
            mean = tf.reduce_mean(draw(), 0)
        # the mean of the distribution is alpha
        slope = tape.gradient(mean, alpha)
        assert slope.shape == [3]
        numpy.testing.assert_allclose(slope, numpy.ones(3), atol=0.15)
