# SPDX-License-Identifier: Apache-2.0
"""test_data_loops.py: loops over datasets in tf.function; variables that functions of elements
read."""

import numpy as np
import pytest

import situ as tf

Dataset = tf.data.Dataset


def values(data):
    return [np.asarray(x).tolist() for x in data.as_numpy_iterator()]


def long(number):
    return tf.constant(number, tf.int64)


def test_datasets_that_a_function_makes():
    @tf.function
    def total(n):
        found = tf.constant(0, tf.int64)
        for _ in tf.range(3):
            for x in Dataset.range(n):
                for y in Dataset.range(x).map(lambda z: z * n):
                    found += y
        return found

    assert [int(total(long(n))) for n in (4, 3)] == [3 * 4 * 4, 3 * 3 * 1]


def test_groups_and_texts():
    @tf.function
    def joined(words):
        found = tf.constant("")
        for some in Dataset.from_tensor_slices(words).batch(2):
            found = found + tf.strings.reduce_join(some) + "|"
        return found

    assert joined(tf.constant(["a", "b", "c"])).numpy() == b"ab|c|"
    assert joined(tf.constant([], tf.string)).numpy() == b""

    @tf.function
    def sums():
        found = tf.constant(0, tf.int64)
        for some in Dataset.range(10).group_by_window(lambda x: x % 2, lambda k, w: w.batch(5), 5):
            found += tf.reduce_sum(some) * tf.cast(tf.shape(some)[0], tf.int64)
        return found

    assert int(sums()) == 225


def test_a_loop_that_is_left_takes_no_more():
    iterator = iter(Dataset.range(9))

    @tf.function
    def some():
        found = tf.constant(0, tf.int64)
        for x in iterator:
            if x >= 2:
                break
            found += x
        return found

    assert int(some()) == 1 and int(next(iterator)) == 3


def test_iterators_that_a_function_makes():
    @tf.function
    def some(n):
        iterator = iter(Dataset.range(n))
        return next(iterator) + next(iterator), iterator.get_next()

    for _ in range(2):
        assert [int(x) for x in some(long(5))] == [1, 2]
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        some(long(2))


def test_a_shuffled_dataset_goes_on_from_call_to_call():
    data = Dataset.range(4).shuffle(4, seed=5)
    other = Dataset.range(4).shuffle(4, seed=5)

    @tf.function
    def order():
        found = tf.constant(0, tf.int64)
        for x in data:
            found = found * 10 + x
        return found

    want = [int("".join(str(x) for x in values(other))) for _ in range(2)]
    assert [int(order()) for _ in range(2)] == want and want[0] != want[1]


def test_gradients_go_through_loops():
    @tf.function
    def slope(w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = tf.constant(0.0)
            for x in Dataset.from_tensor_slices([1.0, 2.0, 3.0]):
                loss += w * x
        return tape.gradient(loss, w)

    assert float(slope(tf.constant(2.0))) == 6


def test_variables_are_read_when_an_iterator_begins():
    number = tf.Variable(2, dtype=tf.int64)
    scaled = Dataset.range(3).map(lambda x: x * number)
    inner = Dataset.range(2).flat_map(lambda x: Dataset.range(2).map(lambda y: y * number + x))
    assert values(scaled) == [0, 2, 4] and values(inner) == [0, 2, 1, 3]
    number.assign(5)
    assert values(scaled) == [0, 5, 10] and values(inner) == [0, 5, 1, 6] and len(scaled) == 3
    kept = scaled.cache()
    assert values(kept) == [0, 5, 10]
    number.assign(6)
    assert values(kept) == [0, 5, 10] and values(scaled.batch(3)) == [[0, 6, 12]]
    assert int(Dataset.range(3).reduce(np.int64(0), lambda s, x: s + x * number)) == 18


def test_functions_read_variables_for_their_datasets():
    number = tf.Variable(3, dtype=tf.int64)
    outside = Dataset.range(3).map(lambda x: x * number)

    @tf.function
    def total():
        found = tf.constant(0, tf.int64)
        for x in outside:
            found += x
        return found, Dataset.range(3).map(lambda x: x * number).reduce(
            np.int64(0), lambda s, x: s + x
        )

    assert [int(x) for x in total()] == [9, 9]
    number.assign(4)
    assert [int(x) for x in total()] == [12, 12]


def test_loops_that_are_not_converted_end():
    @tf.function(autograph=False)
    def total():
        return sum(Dataset.range(3))

    with pytest.raises(RuntimeError, match="was not converted"):
        total()
