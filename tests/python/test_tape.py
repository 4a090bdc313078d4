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
            y = x**3
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
        y = batch**2
    np.testing.assert_allclose(tape.batch_jacobian(y, batch), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])


def test_gradients_in_eager_style_say_what_to_do():
    with pytest.raises(RuntimeError, match="GradientTape"):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))


def test_a_tape_inside_a_custom_gradient():
    @tf.custom_gradient
    def f(x):
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x
        slope = tf.convert_to_tensor(inner.gradient(y, x))
        return y, lambda dy: dy * slope * 100

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == 600


@pytest.mark.parametrize(
    "make", [lambda: tf.keras.optimizers.SGD(0.1), lambda: tf.keras.optimizers.Adam(0.1)]
)
def test_several_changes_in_one_function(make):
    """The gradient for a variable is that for its current value, not for the tensors it was
    computed from."""

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


def test_what_goes_through_stop_gradient_is_another_tensor():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        stopped = x * tf.stop_gradient(x)
        square = (x - tf.stop_gradient(x * 2)) ** 2
        same = tf.identity(x)
        both = x * same
        formed = tf.reshape(x, [2])
        third = x * formed
    np.testing.assert_allclose(tape.gradient(stopped, x), [1, 2])
    np.testing.assert_allclose(tape.gradient(square, x), [-2, -4])
    np.testing.assert_allclose(tape.gradient(both, same), [1, 2])
    np.testing.assert_allclose(tape.gradient(both, x), [2, 4])
    np.testing.assert_allclose(tape.gradient(third, formed), [1, 2])


def test_equal_constants_are_different_tensors():
    for make in (lambda: tf.zeros([2]), lambda: tf.ones_like(tf.zeros([2]))):
        a, b = make(), make()
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = a + b * 3
        assert tape.gradient(y, b) is None


TWICE = [
    (lambda x: x[1:] * x[1:], [0, 2, 2]),
    (lambda x: tf.cumsum(x) ** 2, [12, 10, 6]),
    (lambda x: tf.pad(x, [[1, 1]]) ** 2, [2, 2, 2]),
    (lambda x: tf.concat([x, x * 2], 0) ** 2, [10, 10, 10]),
    (lambda x: tf.reduce_max(x * x, 0), [0, 0, 2]),
    (lambda x: tf.gather(x, [2, 2, 0]) ** 2, [2, 0, 4]),
    (lambda x: tf.reverse(x, [0]) ** 3, [6, 12, 18]),
    (lambda x: tf.concat(tf.split(x * x, [1, 2]), 0), [2, 2, 2]),
    (lambda x: tf.math.squared_difference(x, tf.stop_gradient(tf.reduce_mean(x))), [2, 2, 2]),
    (lambda x: tf.add_n([x * x * i for i in range(1, 71)]), [4970, 4970, 4970]),
    (lambda x: tf.stack([x[i % 3] ** 2 for i in range(72)]), [48, 48, 48]),
    (tf.nn.relu, [0, 0, 0]),
    (tf.nn.relu6, [0, 0, 0]),
    (tf.nn.leaky_relu, [0, 0, 0]),
    (lambda x: tf.nn.max_pool1d(x[None, :, None], 2, 1, "SAME"), [0, 0, 0]),
]


@pytest.mark.parametrize("function, expected", TWICE)
def test_second_derivatives_of_calls_with_constants_beside_them(function, expected):
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        slope = tf.convert_to_tensor(inner.gradient(y, x))
    np.testing.assert_allclose(tf.convert_to_tensor(outer.gradient(slope, x)), expected)


def test_gradients_for_what_a_function_with_its_own_gradient_gave():
    x = tf.constant([1.0, 2.0])
    triple = tf.custom_gradient(lambda z: (z * 2, lambda d: d * 3))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        first = triple(x)
        second = triple(first)
        y = tf.reduce_sum(first * [5.0, 7.0] + second)
    found = tape.gradient(y, [first, second, x, first])
    for have, want in zip(found, ([8, 10], [1, 1], [24, 30], [8, 10])):
        np.testing.assert_allclose(have, want)


@pytest.mark.parametrize("function", [tf.nn.relu, tf.nn.relu6, tf.nn.leaky_relu])
def test_second_derivatives_of_bent_lines_vanish(function):
    x = tf.constant([-1.0, 0.5, 7.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        first = inner.gradient(y, x)
    np.testing.assert_array_equal(outer.gradient(first, x), [0, 0, 0])


def test_functions_with_their_own_gradients_and_variables():
    v, x = tf.Variable(3.0), tf.constant(2.0)

    @tf.custom_gradient
    def scaled(x):
        def back(dy, variables=None):
            return dy * 7, [dy * 5 for _ in variables]

        return x * v * v, back

    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x) + v
        return tape.gradient(y, [x, v])

    for function in slopes, tf.function(slopes):
        assert [float(g) for g in function(x)] == [7, 6]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(scaled(x))
    assert [float(g) for g in tape.gradient(y, [x, v])] == [49, 40]
    with pytest.raises(TypeError, match="must accept keyword argument 'variables'"):
        with tf.GradientTape():
            tf.custom_gradient(lambda x: (x * v, lambda dy: dy))(x)


def test_several_results_of_functions_with_their_own_gradients():
    @tf.custom_gradient
    def pair(a, b):
        def back(da, db):
            return tf.maximum(da + db, 10.0), da * db

        return (a * 2, b * 3), back

    def slopes(a, b):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            p, q = pair(a, b)
            z = p + 4 * q
        return tape.gradient(z, [a, b])

    for function in slopes, tf.function(slopes):
        assert [float(g) for g in function(tf.constant(1.0), tf.constant(2.0))] == [10, 4]


def test_target_is_a_variable():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        chosen = v
    assert float(tape.gradient(chosen, v)) == 1 and tape.gradient(chosen, w) is None


def test_custom_gradient_with_variables():
    w = tf.Variable(3.0)

    @tf.custom_gradient
    def scale(x):
        def back(dy, variables=None):
            return dy * w * 10, [dy * x * 100 for _ in variables]

        return x * w, back

    @tf.custom_gradient
    def without(x):
        return x * w, lambda dy: dy

    def gradients():
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scale(x) * 2
        return tape.gradient(y, [x, w])

    assert [float(g) for g in gradients()] == [60, 400]
    assert [float(g) for g in tf.function(gradients)()] == [60, 400]
    with tf.GradientTape(), pytest.raises(TypeError, match="must accept keyword argument 'variab"):
        without(w * 1.0)


def test_custom_gradient_in_a_function():
    @tf.custom_gradient
    def double(x):
        y = x
        if tf.reduce_sum(x) > 0:
            y = x * 2
        return y, lambda dy: tf.clip_by_norm(dy, 0.5)

    @tf.function
    def gradient(v):
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = double(v * v)
        return y, tape.gradient(y, v)

    y, g = gradient(tf.constant([2.0, 3.0]))
    np.testing.assert_allclose(y, [8, 18])
    np.testing.assert_allclose(g, [1.4142135, 2.1213202])


def test_forward_accumulator():
    x, direction = tf.Variable([1.0, 2.0, 3.0]), tf.constant([1.0, 0.0, -1.0])
    with tf.autodiff.ForwardAccumulator(x, direction) as along:
        with tf.GradientTape() as tape:
            y = tf.reduce_prod(x) + tf.reduce_sum(x**3)
        g = tape.gradient(y, x)
        other = tf.constant(1.0) * 2
    assert float(along.jvp(y)) == -20 and along.jvp(other) is None
    assert float(along.jvp(other, "zero")) == 0
    np.testing.assert_allclose(along.jvp(g), [4, 2, -16])
    with pytest.raises(ValueError, match="do not match the shape"):
        tf.autodiff.ForwardAccumulator(x, tf.constant([1.0]))


def test_unknown_unconnected_gradients():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'nonsense'"):
        tape.gradient(x, x, unconnected_gradients="nonsense")


@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_jacobians_use_a_tape_once(method):
    with tf.GradientTape() as tape:
        x = tf.constant([[3.0]])
        tape.watch(x)
        y = x * x
    assert getattr(tape, method)(y, x).numpy().ravel().tolist() == [6.0]
    with pytest.raises(RuntimeError, match="A non-persistent GradientTape can only"):
        getattr(tape, method)(y, x)


def test_a_tape_in_a_function_is_used_once():
    @tf.function
    def twice(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x), tape.gradient(y, x)

    with pytest.raises(RuntimeError, match="A non-persistent GradientTape can only"):
        twice(tf.constant(1.0))


def test_jacobians_in_loops_need_a_persistent_tape():
    x = tf.constant([[3.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(RuntimeError, match="persistent=True to compute the jacobian"):
        tape.jacobian(y, x, experimental_use_pfor=False)
    with pytest.raises(RuntimeError, match="persistent=True.*parallel_iterations"):
        tape.batch_jacobian(y, x, parallel_iterations=8)
    assert tape.batch_jacobian(y, x).numpy().tolist() == [[[6.0]]]


def test_shapes_of_batch_jacobians():
    x = tf.zeros([2])
    with tf.GradientTape(persistent=True) as tape:
        y = tf.zeros([2, 2])
        z = tf.zeros([3, 2])
    for target, source in [(y, x), (x, y)]:
        with pytest.raises(ValueError, match="must have rank at least 2"):
            tape.batch_jacobian(target, source)
    with pytest.raises(ValueError, match="Need first dimension of target shape"):
        tape.batch_jacobian(z, y)
    assert tape.batch_jacobian(y, y[:, :1]).numpy().tolist() == np.zeros([2, 2, 1]).tolist()


def test_jacobians_of_empty_tensors():
    x = tf.zeros([1, 0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**2
    assert tape.batch_jacobian(y, x).shape == [1, 0, 0]
    assert tape.jacobian(y, x).shape == [1, 0, 1, 0]


def test_watching_a_sparse_tensor_watches_its_values():
    with tf.GradientTape() as tape:
        values = tf.constant([1.0, 2.0])
        sparse = tf.SparseTensor([[0, 0], [1, 2]], values, [3, 4])
        tape.watch(sparse)
        total = tf.sparse.reduce_sum(sparse)
    assert tape.gradient(total, values).numpy().tolist() == [1.0, 1.0]


def test_gather_nd_of_slices_has_a_sparse_gradient():
    x = tf.Variable([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        y = tf.gather_nd(x, [[1]])
    gradient = tape.gradient(y, x)
    assert isinstance(gradient, tf.IndexedSlices)
    assert gradient.indices.numpy().tolist() == [1]


def test_tensors_take_attributes_and_convert_only_as_scalars():
    x = tf.constant([1.0, 2.0])
    x.note = "kept"
    assert x.note == "kept"
    for convert in (int, float):
        with pytest.raises(TypeError):
            convert(x)
    assert tf.unstack(tf.constant([], tf.int32), 0) == []


def test_the_backing_device_holds_the_elements():
    x = tf.constant(1.0)
    assert x.backing_device == x.device
