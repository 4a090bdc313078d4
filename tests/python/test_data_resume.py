# SPDX-License-Identifier: Apache-2.0
"""test_data_resume.py: iterators that continue from a saved position."""

import numpy as np
import pytest

import situ as tf

Dataset, AUTOTUNE = tf.data.Dataset, tf.data.AUTOTUNE


def values(iterator, most=100):
    return [np.asarray(x).tolist() for _, x in zip(range(most), iterator)]


def ignoring():
    options = tf.data.Options()
    options.experimental_external_state_policy = tf.data.experimental.ExternalStatePolicy.IGNORE
    return options


def bad_at_three(x):
    return tf.debugging.check_numerics(1.0 / tf.cast(x - 3, tf.float32), "three")


PIPELINES = {
    "plain": lambda: Dataset.range(20),
    "rows": lambda: Dataset.from_tensor_slices(np.arange(40).reshape(20, 2)).map(lambda x: x * 2),
    "shuffle": lambda: Dataset.range(20).shuffle(7, seed=3).repeat(2),
    "any seed": lambda: Dataset.range(20).shuffle(7).repeat(2),
    "one order": lambda: Dataset.range(9).shuffle(9, reshuffle_each_iteration=False).repeat(3),
    "training": lambda: (
        Dataset.range(20).shuffle(20).repeat().map(lambda x: x + 1, AUTOTUNE).batch(3).prefetch(2)
    ),
    "batches": lambda: Dataset.range(50).batch(4, drop_remainder=True).map(tf.reduce_sum, 2),
    "random": lambda: (
        Dataset.range(20).map(lambda x: tf.random.uniform([], seed=4)).with_options(ignoring())
    ),
    "inner": lambda: Dataset.range(6).flat_map(lambda x: Dataset.range(6).shuffle(6)),
    "turns": lambda: Dataset.range(6).interleave(lambda x: Dataset.range(x).shuffle(3), 3, 2),
    "several": lambda: Dataset.sample_from_datasets([Dataset.range(30), Dataset.range(50, 80)]),
    "cache": lambda: Dataset.range(7).shuffle(7).cache().repeat(4),
    "filter": lambda: (
        Dataset.range(60).filter(lambda x: x % 3 > 0).window(2).flat_map(lambda w: w.batch(2))
    ),
    "scan": lambda: Dataset.range(20).scan(np.int64(0), lambda s, x: (s + x, s)),
    "generator": lambda: Dataset.from_generator(lambda: iter(range(20)), tf.int32),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("taken", [0, 1, 10])
def test_the_same_elements_follow(name, taken):
    first = iter(PIPELINES[name]())
    values(first, taken)
    saved = first.save()
    rest = values(first, 30)
    assert rest
    other = iter(PIPELINES[name]())
    values(other, 3)
    other.restore(saved)
    again = other.save()
    assert values(other, 30) == rest
    other.restore(again)
    assert values(other, 30) == rest


def test_elements_that_failed_are_passed_by():
    data = Dataset.range(8).map(bad_at_three).batch(2).with_options(ignoring())
    iterator, failed = iter(data), 0
    for _ in range(3):
        try:
            next(iterator)
        except tf.errors.InvalidArgumentError:
            failed += 1
    saved, other = iterator.save(), iter(data)
    other.restore(saved)
    assert failed == 1 and values(other) == values(iterator)


def test_functions_are_not_called_for_what_is_passed_by():
    calls = []

    def note(x):
        calls.append(int(x))
        return x

    data = Dataset.range(1000).map(lambda x: tf.numpy_function(note, [x], tf.int64)).batch(10)
    iterator = iter(Dataset.range(1000).map(lambda x: x).batch(10))
    values(iterator, 50)
    other = iter(data)
    other.restore(iterator.save())
    assert next(other).numpy().tolist() == list(range(500, 510)) == calls


def test_states_of_others_are_refused():
    iterator = iter(Dataset.range(5))
    shuffled = iter(Dataset.range(5).shuffle(2).map(lambda x: x).batch(1))
    for state, words in (
        (shuffled.save(), "a different dataset"),
        (tf.constant([1, 2], tf.int64), "Not a saved iterator state"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            iterator.restore(state)
        assert values(iterator, 2) == [0, 1]


def test_functions_with_outer_state_are_not_saved_unless_allowed():
    random = Dataset.range(3).map(lambda x: tf.random.uniform([], seed=4))
    nested = Dataset.range(3).flat_map(lambda x: random)
    for dataset in (random, nested, random.batch(2)):
        with pytest.raises(tf.errors.FailedPreconditionError, match="RandomUniform is stateful"):
            iter(dataset).save()
        iter(dataset.with_options(ignoring())).save()

    def assert_positive(x):
        tf.debugging.Assert(x >= 0, [x])
        tf.print(x)
        return x

    checked = Dataset.range(3).map(assert_positive)
    iter(checked).save()
