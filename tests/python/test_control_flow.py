# SPDX-License-Identifier: Apache-2.0
"""test_control_flow.py: tf.cond, tf.while_loop and what is made of them, in both styles."""
import numpy as np
import pytest

import situ
import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def _fresh():
    tf.reset_default_graph()


def test_cond_runs_one_branch():
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(1.0)
    calls = []

    def note(a):
        calls.append(float(a))
        return a
    result = tf.cond(x > 0, lambda: tf.py_func(note, [x], tf.float32) * v, lambda: x - v)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(result, {x: 3.0}) == 3.0 and calls == [3.0]
        assert sess.run(result, {x: -3.0}) == -4.0 and calls == [3.0]


def test_branches_update_variables():
    x = tf.placeholder(tf.bool, [])
    v = tf.Variable(1.0)
    update = tf.cond(x, lambda: tf.assign_add(v, 5.0), lambda: tf.identity(v))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(update, {x: True}) == 6.0
        assert sess.run(v) == 6.0
        assert sess.run(update, {x: False}) == 6.0
        assert sess.run(v) == 6.0


def test_nested_conds_and_case():
    x = tf.placeholder(tf.int32, [])
    y = tf.constant(7)
    result = tf.case([(tf.equal(x, 0), lambda: y), (tf.equal(x, 1), lambda: y * 2)],
                     default=lambda: tf.constant(-1))
    with tf.Session() as sess:
        assert [sess.run(result, {x: i}) for i in range(3)] == [7, 14, -1]


def test_while_counts():
    limit = tf.placeholder(tf.int32, [])
    i, total = tf.while_loop(lambda i, s: i < limit, lambda i, s: (i + 1, s + i),
                             [tf.constant(0), tf.constant(0)])
    with tf.Session() as sess:
        assert sess.run([i, total], {limit: 10}) == [10, 45]
        assert sess.run([i, total], {limit: 0}) == [0, 0]


def test_while_may_grow_and_end_early():
    x = tf.constant([1.0])
    grown = tf.while_loop(lambda a: tf.shape(a)[0] < 9, lambda a: tf.concat([a, a], 0), [x],
                          shape_invariants=[tf.TensorShape([None])])
    once = tf.while_loop(lambda i: i < 100, lambda i: i + 1, [tf.constant(0)],
                         maximum_iterations=3)
    with tf.Session() as sess:
        assert sess.run(tf.shape(grown))[0] == 16
        assert sess.run(once) == 3
    with pytest.raises(ValueError, match="shape_invariants"):
        tf.while_loop(lambda a: True, lambda a: tf.concat([a, a], 0), [x])


def test_rows():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    squares = tf.map_fn(lambda r: r * r, tf.constant(x))
    sums = tf.scan(lambda a, r: a + r, tf.constant(x))
    total = tf.foldl(lambda a, r: a + r, tf.constant(x))
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(squares), x * x)
        np.testing.assert_array_equal(sess.run(sums), np.cumsum(x, 0))
        np.testing.assert_array_equal(sess.run(total), x.sum(0))


def test_functions_choose():
    v = situ.Variable(1.0)

    @situ.function
    def step(x):
        return situ.cond(x > 0, lambda: v.assign_add(x), lambda: v - x)
    assert float(step(situ.constant(2.0))) == 3.0 and float(v) == 3.0
    assert float(step(situ.constant(-2.0))) == 5.0 and float(v) == 3.0
    assert int(situ.while_loop(lambda i: i < 5, lambda i: [i + 2], [situ.constant(0)])[0]) == 6
