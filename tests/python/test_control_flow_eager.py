# SPDX-License-Identifier: Apache-2.0
"""test_control_flow_eager.py: tf.cond, tf.while_loop and similar functions, eagerly and in
tf.function."""

import numpy as np
import pytest

import situ as tf


def test_functions_choose():
    v = tf.Variable(1.0)

    @tf.function
    def step(x):
        return tf.cond(x > 0, lambda: v.assign_add(x), lambda: v - x)

    assert float(step(tf.constant(2.0))) == 3.0 and float(v) == 3.0
    assert float(step(tf.constant(-2.0))) == 5.0 and float(v) == 3.0


def test_functions_go_round_and_set_variables():
    v, w = tf.Variable(1.0), tf.Variable(10.0)

    @tf.function
    def run(n):
        def body(i):
            v.assign(v * 2 + w)
            return [i + 1]

        return tf.while_loop(lambda i: i < n, body, [0])[0]

    assert int(run(tf.constant(3))) == 3
    assert float(v) == 78.0 and float(w) == 10.0


def test_eager_calls_python():
    calls = []

    def branch():
        calls.append(1)
        return tf.constant(1)

    assert int(tf.cond(tf.constant(False), branch, lambda: tf.constant(2))) == 2 and not calls
    assert int(tf.while_loop(lambda i: i < 5, lambda i: [i + 2], [tf.constant(0)])[0]) == 6
    assert int(tf.switch_case(tf.constant(1), [branch, lambda: tf.constant(7)])) == 7
    np.testing.assert_array_equal(tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3])), [1, 4, 9])
    np.testing.assert_array_equal(tf.scan(lambda a, x: a + x, tf.constant([1, 2, 3])), [1, 3, 6])


def test_tapes():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, a * x], [tf.constant(0), x])[1]
    assert float(tape.gradient(y, x)) == 4 * 27.0

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, a * x], [0, x])[1]
            y = tf.cond(y > 0, lambda: y * y, lambda: y)
        return tape.gradient(y, x)

    assert float(slope(x)) == 8 * 3.0**7


def test_arrays():
    def fill(n):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        _, array = tf.while_loop(
            lambda i, a: i < n,
            lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32) * 2)),
            (tf.constant(0), array),
        )
        return array.stack()

    np.testing.assert_array_equal(fill(4), [0, 2, 4, 6])
    np.testing.assert_array_equal(tf.function(fill)(tf.constant(4)), [0, 2, 4, 6])
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        array = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(x)
        y = array.read(1) * array.read(1) + array.read(0)
    np.testing.assert_array_equal(tape.gradient(y, x), [[1, 1], [6, 8]])


def test_arguments_of_switch_case():
    one, other = lambda: tf.constant(1), lambda: tf.constant(2)
    for branches, kind, message in (
        ([], ValueError, "at least one item"),
        ({one}, TypeError, "must be a list, tuple, or dict"),
        ([one, 5], TypeError, "must be a 2-tuple"),
        ([(tf.constant(0), one)], TypeError, "must be a Python `int`"),
        ([(0, 5)], TypeError, "fn for key 0 must be callable"),
        ({0: one, 2: other}, ValueError, r"contiguous range of \[0 to 2\) but found {0,2}"),
        ([(0, one), (0, other)], ValueError, "must form contiguous range"),
    ):
        with pytest.raises(kind, match=message):
            tf.switch_case(tf.constant(0), branches)
    with pytest.raises(TypeError, match="'branch_index' must be a Tensor"):
        tf.switch_case(1, [one, other])
    with pytest.raises(TypeError, match="'branch_index' must be an integer Tensor"):
        tf.switch_case(tf.constant(1.0), [one, other])
    for branches in ([one, other], [(1, other), (0, one)], {1: other, 0: one}):
        assert [int(tf.switch_case(tf.constant(i), branches)) for i in (0, 1, 5)] == [1, 2, 2]


def test_a_branch_is_given_once():
    one = lambda: tf.constant(1)
    for old in ("fn1", "fn2"):
        with pytest.raises(TypeError, match="may not be set simultaneously"):
            tf.compat.v1.cond(True, one, one, **{old: one})
    assert int(tf.compat.v1.cond(tf.constant(True), fn1=one, fn2=one)) == 1


def test_groups_of_other_values():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="zero or more .* Tensors"):
        tf.group(1, 2)
