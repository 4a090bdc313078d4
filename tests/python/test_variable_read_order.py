# SPDX-License-Identifier: Apache-2.0
"""test_variable_read_order.py: reads of a variable that the step changes, if the step is split into
several programs.

A shape that depends on data (boolean_mask) cuts a step: what needs it is planned when it is known.
"""

import numpy as np
import pytest

import situ.compat.v1 as tf

FEED = [1.0, -1.0, 2.0]


@pytest.fixture(autouse=True)
def fresh():
    tf.reset_default_graph()


def picked():
    x = tf.placeholder(tf.float32, [None])
    return x, tf.boolean_mask(x, x > 0)


def run(fetches, x):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, {x: FEED})


def test_behind_a_change_of_a_later_part_the_new_value_is_read():
    x, some = picked()
    v = tf.Variable([1.0, 2.0])
    before = v * 1.0
    change = tf.assign_sub(v, tf.fill([2], tf.reduce_sum(some)))
    with tf.control_dependencies([change]):
        after, turned = v + 0.0, tf.reshape(v, [1, 2]) + 0.0
    old, new, column = run([before, after, turned], x)
    np.testing.assert_array_equal(old, [1, 2])
    np.testing.assert_array_equal(new, [-2, -1])
    np.testing.assert_array_equal(column, [[-2, -1]])


def test_in_front_of_a_change_of_an_earlier_part_the_old_value_is_read():
    x, some = picked()
    v = tf.Variable(1.0)
    before, change = some * v, tf.assign_add(v, 10.0)
    old, new = run([before, change], x)
    np.testing.assert_array_equal(old, [1, 2])
    assert new == 11


def test_behind_a_change_of_an_earlier_part_the_new_value_is_read():
    x, some = picked()
    v = tf.Variable(1.0)
    first = v * 1.0
    with tf.control_dependencies([first]):
        change = tf.assign_add(v, 10.0)
    with tf.control_dependencies([change]):
        after = some * v
    old, new = run([first, after], x)
    assert old == 1
    np.testing.assert_array_equal(new, [11, 22])


def test_averages_behind_a_step_of_training_count_it():
    x, some = picked()
    v = tf.Variable([3.0])
    loss = tf.reduce_sum(some) * tf.reduce_sum(v)
    step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    averages = tf.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([step]):
        apply = averages.apply([v])
    with tf.control_dependencies([apply]):
        average = averages.average(v).read_value()
    np.testing.assert_array_equal(run(average, x), [1.5])
