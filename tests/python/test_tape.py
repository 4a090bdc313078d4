# SPDX-License-Identifier: Apache-2.0
"""test_tape.py: GradientTape and custom gradients in eager style; numbers are TensorFlow's."""
import numpy as np
import pytest
import situ as tf


def test_tape_of_tensors():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    w = tf.constant([[1.0, 0.0], [0.5, 1.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.matmul(x, w))
    np.testing.assert_allclose(tape.gradient(y, x), [[1, 1.5], [1, 1.5]])
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.gradient(y, x)


def test_what_is_not_watched_has_no_gradient():
    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = x * y
    assert tape.gradient(z, y) is None
    assert float(tape.gradient(z, x)) == 3
    assert float(tape.gradient(z, y, unconnected_gradients="zero")) == 0
    assert [float(g) for g in tape.gradient(z, [x, z])] == [3, 1]
    assert float(tape.gradient(z, {"a": x})["a"]) == 3
    assert float(tape.gradient(z, x, output_gradients=tf.constant(2.0))) == 6


def test_variables_are_watched():
    v = tf.Variable([1.0, 2.0])
    still = tf.Variable(1.0, trainable=False)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v * still)
    assert tape.watched_variables() == (v,)
    np.testing.assert_allclose(tape.gradient(loss, v), [2, 4])
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        loss = tf.reduce_sum(v * v)
    assert tape.gradient(loss, v) is None


def test_assignments_have_no_gradient():
    v = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        a = v * 2
        v.assign_add(4.0)
        y = a + v * v
    assert float(tape.gradient(y, v)) == 12


def test_nested_tapes():
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x ** 3
        first = inner.gradient(y, x)
    assert (float(first), float(outer.gradient(first, x))) == (27, 18)


def test_a_persistent_tape_inside_itself():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.sin(x)
        first = tape.gradient(y, x)
    np.testing.assert_allclose(float(tape.gradient(first, x)), -np.sin(2.0), rtol=1e-6)


def test_stop_recording_and_reset():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            z = x * x
    assert tape.gradient(z, x) is None and float(tape.gradient(y, x)) == 4
    tape.reset()
    assert tape.gradient(y, x) is None


def test_attributes_and_lists_are_recorded():
    x = tf.constant([[1.0, 2.0, 3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b, c = tf.split(tf.concat([x, x * 2], 0), 3, axis=1)
        y = tf.reduce_sum(tf.matmul(a, c, transpose_a=True)) + tf.reduce_sum(b[0:1] * 5)
    np.testing.assert_allclose(tape.gradient(y, x), [[15, 5, 5]])


def test_tape_in_a_function():
    v = tf.Variable(3.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            y = v * v * x
        return tape.gradient(y, v)
    assert float(step(tf.constant(2.0))) == 12


def test_tape_over_a_function():
    v = tf.Variable(3.0)

    @tf.function
    def f(x):
        return v * v * x
    f(tf.constant(1.0))
    with tf.GradientTape() as tape:
        y = f(tf.constant(2.0)) * 2
    assert float(tape.gradient(y, v)) == 24


def test_custom_gradients_in_eager_style():
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))
    x = tf.constant(100.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = 3 * log1pexp(x * 1)
    assert float(tape.gradient(y, x)) == 3


def test_jacobians():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_allclose(tape.jacobian(y, x), np.diag([2, 4, 6]))
    batch = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(batch)
        y = batch ** 2
    np.testing.assert_allclose(tape.batch_jacobian(y, batch),
                               [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])


def test_gradients_in_eager_style_say_what_to_do():
    with pytest.raises(RuntimeError, match="GradientTape"):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))


def test_a_tape_inside_a_custom_gradient():
    @tf.custom_gradient
    def f(x):
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        slope = inner.gradient(y, x)
        return y, lambda dy: dy * slope * 100
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == 600


@pytest.mark.parametrize("make", [lambda: tf.keras.optimizers.SGD(0.1),
                                  lambda: tf.keras.optimizers.Adam(0.1)])
def test_several_changes_in_one_function(make):
    """The gradient for a variable is that for its value of now, not for what it was made of."""
    def steps(v, optimizer, state):
        found = []
        for _ in range(3):
            with tf.GradientTape() as tape:
                y = v * v + tf.sin(v) * state
            slope = tape.gradient(y, v)
            found.append(slope)
            optimizer.apply_gradients([(slope, v)])
            v.assign_sub(0.1 * slope)
        return found
    wanted = steps(tf.Variable(3.0), make(), tf.constant(2.0))
    v, optimizer = tf.Variable(3.0), make()
    found = tf.function(lambda: steps(v, optimizer, tf.constant(2.0)))()
    np.testing.assert_allclose([float(x) for x in found], [float(x) for x in wanted], rtol=1e-5)


def test_gradient_goes_on_through_what_was_assigned():
    v, state = tf.Variable(3.0), tf.Variable(0.0)

    @tf.function
    def f():
        with tf.GradientTape() as tape:
            h = v * v
            state.assign(h)
            y = h * 2.0
        return tape.gradient(y, v)
    assert f().numpy() == 12.0 and state.numpy() == 9.0
