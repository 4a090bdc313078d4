# SPDX-License-Identifier: Apache-2.0
"""test_custom_gradient_structures.py: tf.custom_gradient with nested, ragged and other arguments;
arguments of tf.py_function and of constant initializers."""

import pytest

import situ as tf

DECORATORS = [lambda f: f, tf.function]


@pytest.mark.parametrize("decorate", DECORATORS)
def test_ragged_tensors(decorate):
    @tf.custom_gradient
    def scale(x, y):
        return (x * x, 2 * y), lambda dx, dy: (3 * dx, 4 * dy)

    a, b = tf.ragged.constant([[1.0, 2.0], [3.0]]), tf.ragged.constant([[4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        tape.watch((a, b))
        first, second = decorate(scale)(a, b)
    assert first.to_list() == [[1, 4], [9]] and second.to_list() == [[8], [10, 12]]
    da, db = tape.gradient((first, second), (a, b))
    assert da.to_list() == [[3, 3], [3]] and db.to_list() == [[4], [4, 4]]


@pytest.mark.parametrize("decorate", DECORATORS)
def test_nested_arguments(decorate):
    @tf.custom_gradient
    def add(pair, empty, rest):
        assert empty == ()
        x, y = pair

        def back(dy):
            return [dy, 2 * dy, 3 * dy]

        return {"sum": x + y + rest}, back

    x, y, z = tf.constant(1.0), tf.constant(2.0), tf.constant(4.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y, z])
        result = decorate(lambda: add([x, y], (), z))()
    assert float(result["sum"]) == 7
    assert [float(g) for g in tape.gradient(result, [x, y, z])] == [1, 2, 3]


def test_methods():
    class Model:
        factor = 3.0

        @tf.custom_gradient
        def call(self, x):
            return self.factor * x, lambda dy: 5 * dy

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = Model().call(x)
    assert float(y) == 6 and float(tape.gradient(y, x)) == 5


def test_wrong_number_of_gradients():
    @tf.custom_gradient
    def add(x, y):
        return x + y, lambda dy: dy

    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = add(x, x)
    with pytest.raises(ValueError, match="expected to return 2 gradients, but returned 1"):
        tape.gradient(z, x)


def test_grad_pass_through_ignores_variables():
    x, z = tf.Variable(1.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.grad_pass_through(x.assign)(z**2)
    assert float(y) == 9 and float(tape.gradient(y, z)) == 6
    with tf.GradientTape() as tape:
        y = tf.grad_pass_through(lambda v: x * v)(z)
    assert tape.gradient(y, x) is None


def test_recomputed_functions_show_what_they_wrap():
    def double(x):
        return 2 * x

    assert tf.recompute_grad(double).__wrapped__ is double
    assert float(tf.recompute_grad(double)(tf.constant(2.0))) == 4


def test_gradients_of_complex_tensors():
    with tf.Graph().as_default():
        x = tf.constant(7 + 3j)
        with pytest.raises(TypeError, match="complex tensors must set grad_ys"):
            tf.gradients(x * x, x)


@pytest.mark.parametrize("call", [tf.py_function, tf.numpy_function])
def test_arguments_of_python_functions(call):
    with pytest.raises(TypeError, match="Missing.*Tout"):
        call(lambda x: x, [1])
    with pytest.raises(TypeError, match="Don't.*inp.*decorator"):
        call(inp=[], Tout=tf.int32)
    with pytest.raises(TypeError, match="Missing argument `inp`"):
        call(lambda: 1, Tout=tf.int32)

    @call(Tout=tf.int32)
    def plus(a, b):
        """Adds."""
        return a + b

    assert int(plus(1, 2)) == 3 and plus.__doc__ == "Adds."


def test_constant_initializers():
    with pytest.raises(TypeError, match="Invalid type for initial value: .*Tensor"):
        tf.constant_initializer(tf.constant([1.0]))
    with pytest.raises(ValueError, match="doesn't support partition-related arguments"):
        tf.constant_initializer([1, 2])((2,), partition_shape=(1,))
    keras = tf.keras.initializers.Constant(tf.constant([1.0, 2.0]))
    assert keras((2,)).numpy().tolist() == [1, 2] and type(keras).__name__ == "Constant"
