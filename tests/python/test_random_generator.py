# SPDX-License-Identifier: Apache-2.0
"""test_random_generator.py: tf.random.Generator has TensorFlow's numbers for equal seeds."""

import numpy as np
import pytest

import situ as tf


def near(tensor, numbers):
    np.testing.assert_allclose(tensor.numpy(), numbers, rtol=1e-6)


def test_numbers_are_tensorflows():
    one = tf.random.Generator.from_seed(1)
    near(one.normal([3]), [0.43842274, -0.53439844, -0.07710262])
    near(one.uniform([2]), [0.6941341, 0.7800473])
    assert one.uniform([3], 0, 10, tf.int32).numpy().tolist() == [0, 5, 6]
    one.reset_from_seed(1)
    near(one.truncated_normal([2]), [0.43842274, -0.53439844])
    assert one.uniform_full_int([1], tf.int32).numpy().tolist() == [161602923]
    near(
        tf.random.Generator.from_seed(1234, alg="philox").normal([2, 2]),
        [[0.9356609, 1.0854305], [-0.93788373, -0.5061547]],
    )


def test_states():
    one = tf.random.Generator.from_seed(1)
    assert one.state.numpy().tolist() == [1, 0, 0] and one.key.numpy() == 0
    one.normal([3])
    assert one.state.numpy().tolist() == [769, 0, 0]
    assert tf.random.Generator.from_seed([1, 2, 3]).state.numpy().tolist() == [1, 2, 3]
    assert tf.random.Generator.from_seed(-5).state.numpy().tolist() == [-5, -1, -1]
    one.reset_from_key_counter(7, [1, 2])
    assert one.state.numpy().tolist() == [1, 2, 7]
    one.reset([-256, 0, 3])
    one.skip(1)
    assert one.state.numpy().tolist() == [0, 1, 3]
    assert tf.random.create_rng_state([4, 5], 1).numpy().tolist() == [0, 4, 5]


def test_split_and_seeds():
    one = tf.random.Generator.from_seed(1)
    assert one.split(2)[1].state.numpy().tolist() == [0, 0, 684265014234019051]
    assert one.make_seeds(1).numpy().tolist() == [[-1648345058620875413], [0]]
    copy = tf.random.Generator(copy_from=one)
    near(copy.normal([2]), one.normal([2]).numpy())


def test_in_a_function_it_goes_on():
    one, two = tf.random.Generator.from_seed(9), tf.random.Generator.from_seed(9)

    @tf.function
    def draw():
        return one.normal([2])

    near(draw(), two.normal([2]).numpy())
    near(draw(), two.normal([2]).numpy())


def test_the_shared_one_and_errors():
    mine = tf.random.Generator.from_seed(2)
    tf.random.set_global_generator(mine)
    assert tf.random.get_global_generator() is mine
    with pytest.raises(ValueError, match="Unsupported algorithm"):
        tf.random.Generator.from_seed(1, alg="threefry")
    with pytest.raises(ValueError, match="Must specify maxval"):
        mine.uniform([2], dtype=tf.int32)


def test_states_of_tensors_in_functions():
    made = []

    @tf.function
    def states(seed, counter):
        if not made:
            made.append(tf.random.Generator.from_seed(seed))
            made.append(tf.random.Generator.from_key_counter(seed, counter, "philox"))
            made.extend(tf.random.Generator.from_seed(1).split(2))
        made[1].reset_from_key_counter(seed, counter)
        return [generator.state.value() for generator in made]

    found = [s.numpy().tolist() for s in states(tf.constant(3), tf.constant([4], tf.int64))]
    split = [g.state.numpy().tolist() for g in tf.random.Generator.from_seed(1).split(2)]
    assert found == [[0, 0, 3], [4, 0, 3], *split]
    expected = {7: [7, 0, 0], 2**70 + 5: [5, 64, 0]}
    for seed, state in expected.items():
        assert tf.random.Generator.from_seed(seed).state.numpy().tolist() == state
    for seed in (np.int64(7), tf.constant(7), [7], tf.constant([7])):
        assert tf.random.Generator.from_seed(seed).state.numpy().tolist() == [0, 0, 7]


def test_bounds_of_none_draw_from_the_whole_range():
    whole = tf.random.Generator.from_seed(5).uniform_full_int([3], tf.uint32)
    bounded = tf.random.Generator.from_seed(5).uniform([3], None, dtype=tf.uint32)
    assert bounded.numpy().tolist() == whole.numpy().tolist()
    with pytest.raises(ValueError, match="Must specify maxval"):
        tf.random.Generator.from_seed(5).uniform([3], dtype=tf.uint32)


def test_corner_cases_of_binomial_numbers():
    counts, probs = [5.0, 5, 5, 0, 0, 0], [0.0, 1, np.nan, -10, 10, np.nan]
    drawn = tf.random.Generator.from_seed(1).binomial([6], counts, probs, tf.float32)
    np.testing.assert_array_equal(drawn, [0, 5, np.nan, 0, 0, 0])


def test_a_new_global_generator():
    tf.random.set_global_generator(None)
    assert tf.random.get_global_generator() is tf.random.get_global_generator()
