# SPDX-License-Identifier: Apache-2.0
"""test_derivatives.py: second and third derivatives through branches and loops of a graph."""

import numpy
import pytest

import situ.compat.v1 as tf
from situ.testing import simulated_gpus


def loop(x, times, step):
    return tf.while_loop(lambda i, v: i < times, lambda i, v: (i + 1, step(v)), [0, x])[1]


def branch(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) * tf.exp(x), lambda: x**3 * tf.cos(x))


def branches_in_loop(x):
    return tf.while_loop(
        lambda i, v: i < 4,
        lambda i, v: (
            i + 1,
            tf.cond(tf.equal(i % 2, 0), lambda: tf.sin(v) * x, lambda: tf.exp(v) * 0.5),
        ),
        [0, x],
    )[1]


def loop_in_branch(x):
    return tf.cond(
        tf.reduce_sum(x) > 0, lambda: loop(x, 3, lambda v: tf.tanh(v) * x + v * v), lambda: x
    )


def gradient_inside(x):
    y = tf.reduce_sum(loop(x, 3, lambda v: tf.sin(v) * x))
    return tf.gradients(y, x)[0] ** 2 + y * y


def recurrent(x):
    kernel = tf.constant([[0.3, -0.2], [0.5, 0.4], [0.1, 0.6]], tf.float64)

    def step(state, element):
        both = tf.concat([tf.reshape(element, [1, 1]), state], 1)
        return tf.tanh(tf.matmul(both, kernel))

    return tf.scan(step, x, initializer=tf.zeros([1, 2], tf.float64))


CASES = {
    "branch": (branch, [0.3, 0.5]),
    "other branch": (branch, [-0.3, -0.5]),
    "loop": (lambda x: loop(x, 4, lambda v: tf.sin(v) * x + v * v * 0.1), [0.3, 0.5]),
    "loop in loop": (
        lambda x: loop(x, 3, lambda v: loop(v, 2, lambda u: tf.sin(u) * x) + v * x),
        [0.3, 0.5],
    ),
    "branches in loop": (branches_in_loop, [0.3, 0.5]),
    "loop in branch": (loop_in_branch, [0.3, 0.5]),
    "never round": (lambda x: x**3 + loop(x, 0, lambda v: tf.sin(v) * x), [0.3, 0.5]),
    "gradient inside": (gradient_inside, [0.3, 0.5]),
    "map_fn": (lambda x: tf.map_fn(lambda e: tf.sin(e) * e * e, x), [0.3, 0.5, 0.9]),
    "scan": (lambda x: tf.scan(lambda a, e: tf.sin(a) * e + e * e * a, x), [0.3, 0.5, 0.9]),
    "fold": (lambda x: tf.foldl(lambda a, e: tf.sin(a) * e + e, x), [0.3, 0.5, 0.9]),
    "recurrent": (recurrent, [0.3, 0.5, 0.9]),
}


def differences(function, point, step=1e-5):
    """The gradient of a number by central differences."""
    result = numpy.zeros_like(point)
    for i in range(len(point)):
        up, down = point.copy(), point.copy()
        up[i] += step
        down[i] -= step
        result[i] = (function(up) - function(down)) / (2 * step)
    return result


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("case", CASES)
def test_against_differences(case, device):
    function, numbers = CASES[case]
    point = numpy.array(numbers)
    with simulated_gpus(1), tf.Graph().as_default(), tf.Session() as session:
        with tf.device(device):
            x = tf.placeholder(tf.float64, point.shape)
            below = tf.reduce_sum(function(x))
            for order in range(1, 4):
                gradient = tf.gradients(below, x)[0]
                expected = differences(lambda at, y=below: session.run(y, {x: at}), point)
                got = session.run(gradient, {x: point})
                numpy.testing.assert_allclose(
                    got, expected, rtol=1e-6, atol=1e-6, err_msg=f"order {order}"
                )
                below = tf.reduce_sum(gradient * numpy.arange(1.0, 1 + len(point)) * 0.3)


def test_hessian_of_a_loop():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [2])
        y = tf.reduce_prod(loop(x, 2, lambda v: v * v))  # (a b) ** 4
        hessian = session.run(tf.hessians(y, x)[0], {x: [1.5, 0.5]})
        a, b = 1.5, 0.5
        numpy.testing.assert_allclose(
            hessian, [[12 * a**2 * b**4, 16 * a**3 * b**3], [16 * a**3 * b**3, 12 * a**4 * b**2]]
        )


def test_nested_tapes(situ):
    program = """
        import situ as tf

        @tf.function
        def power(x, n):
            y = tf.constant(1.0, tf.float64)
            for _ in tf.range(n):
                y = y * x
            return y

        @tf.function
        def second(x):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = tf.reduce_sum(tf.map_fn(
                        lambda e: tf.cond(e > 0, lambda: e ** 4, lambda: e ** 2), x))
                g = tape.gradient(y, x)
            return outer.gradient(g, x)

        x = tf.Variable(2.0, dtype=tf.float64)
        with tf.GradientTape() as third:
            with tf.GradientTape() as outer:
                with tf.GradientTape() as tape:
                    y = power(x, 5)
                d1 = tape.gradient(y, x)
            d2 = outer.gradient(d1, x)
        print(y.numpy(), d1.numpy(), d2.numpy(), third.gradient(d2, x).numpy())
        print(second(tf.constant([1.0, 2.0, -3.0])).numpy())
        """
    result = situ("run", "--gpus", "1", "nested.py", files={"nested.py": program})
    assert result.out == "32.0 80.0 160.0 240.0\n[12. 48.  2.]\n", result.err


@pytest.mark.parametrize("name", ["bilinear", "nearest_neighbor"])
def test_second_derivatives_of_sizes(name):
    """The sum of squares of what is linear: second derivatives do not depend on x."""
    with tf.Graph().as_default() as graph:
        x = tf.constant(numpy.arange(12, dtype="f").reshape(1, 3, 2, 2))
        y = getattr(tf.image, "resize_" + name)(x, [4, 5])
        first = tf.gradients(y * y, x)[0]
        second = tf.gradients(first * x, x)[0]  # first + H x, and H x is first
        with tf.Session(graph=graph) as session:
            a, b = session.run([first, second])
    numpy.testing.assert_allclose(b, 2 * a, rtol=1e-5)


def test_a_gradient_that_is_not_there_is_an_error():
    with tf.Graph().as_default():
        x = tf.constant([[[[0.5, 0.25, 1.0]]]])
        for y in (tf.image.rgb_to_hsv(x), tf.image.resize_area(x, [2, 2])):
            with pytest.raises(LookupError, match="No gradient defined for operation"):
                tf.gradients(y, x)
