# SPDX-License-Identifier: Apache-2.0
"""test_sorting.py: orders, the largest of many, places of extremes, where elements are equal, are
no numbers or the last of their type; numbers are TensorFlow's."""

import numpy as np
import pytest

import situ as tf


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
def test_extremes_of_integers_are_sorted(dtype):
    info = np.iinfo(dtype)
    values = np.array([3, info.max, info.min, 0, info.min], dtype)
    assert tf.sort(values).numpy().tolist() == sorted(values.tolist())
    assert (
        tf.argsort(values, stable=True).numpy().tolist()
        == np.argsort(values, kind="stable").tolist()
    )


def test_what_is_no_number_is_sorted_behind_all_numbers():
    nan = np.nan
    np.testing.assert_array_equal(tf.sort([1.0, nan, 0.0]), [0, 1, nan])
    assert tf.argsort([1.0, nan, 0.0, nan]).numpy().tolist() == [2, 0, 1, 3]
    values, places = tf.nn.top_k([nan, 1.0, nan, 3.0, 2.0], 4)
    np.testing.assert_array_equal(values, [3, 2, 1, nan])
    assert places.numpy().tolist() == [3, 4, 1, 0]


@pytest.mark.parametrize("k", [1, 2, 7, 100, 1000])
def test_the_largest_of_many(k):
    x = np.random.RandomState(k).randint(0, 50, (3, 1000)).astype("f")
    values, places = tf.nn.top_k(x, k)
    order = np.argsort(-x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


def test_places_of_extremes_pass_by_what_is_no_number():
    nan = float("nan")
    x = tf.constant([[nan, 1.0, 2.0], [1.0, nan, 2.0], [nan, nan, nan], [3.0, nan, 1.0]])
    np.testing.assert_array_equal(tf.argmax(x, 1), [2, 2, 0, 0])
    np.testing.assert_array_equal(tf.argmin(x, 1), [1, 0, 0, 2])
    np.testing.assert_array_equal(tf.argmax(x, 0), [3, 0, 0])
