# SPDX-License-Identifier: Apache-2.0
"""test_tensor_array.py: tf.TensorArray in graphs, with gradients."""

import numpy as np
import pytest

import situ.compat.v1 as tf

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def _fresh():
    tf.reset_default_graph()


def run(tensor, x):
    with tf.Session() as sess:
        return sess.run([tensor, tf.gradients(tf.reduce_sum(tensor * tensor), x)[0]], {x: X})


@pytest.mark.parametrize(
    "form, want, factor",
    [
        (lambda a, x: a.unstack(x).stack(), X, np.ones((3, 1))),
        (lambda a, x: a.unstack(x).gather([2, 0]), X[[2, 0]], [[1], [0], [1]]),
        (lambda a, x: a.scatter([2, 0, 1], x).stack(), X[[1, 2, 0]], np.ones((3, 1))),
        (lambda a, x: a.unstack(x).read(1), X[1], [[0], [1], [0]]),
        (
            lambda a, x: a.write(0, x[1]).write(2, x[0]).write(1, x[1]).stack(),
            X[[1, 1, 0]],
            [[1], [2], [0]],
        ),
        (lambda a, x: a.unstack(x).concat(), X.reshape(12), np.ones((3, 1))),
    ],
)
def test_forms(form, want, factor):
    x = tf.placeholder(tf.float32, [3, 4])
    value, grad = run(form(tf.TensorArray(tf.float32, 3, clear_after_read=False), x), x)
    np.testing.assert_array_equal(value, want)
    np.testing.assert_array_equal(grad, 2 * X * factor)


def test_elements_of_different_size():
    x = tf.placeholder(tf.float32, [3, 4])
    array = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, x).write(1, x[:2] * 3)
    value, grad = run(array.concat(), x)
    np.testing.assert_array_equal(value, np.concatenate([X, X[:2] * 3]))
    np.testing.assert_array_equal(grad, 2 * X * [[10], [10], [1]])
    value, grad = run(tf.TensorArray(tf.float32, 2, infer_shape=False).split(x, [1, 2]).read(1), x)
    np.testing.assert_array_equal(value, X[1:])
    np.testing.assert_array_equal(grad, 2 * X * [[0], [1], [1]])


def test_loops_write_arrays():
    x = tf.placeholder(tf.float32, [None, 4])
    rows = tf.TensorArray(tf.float32, tf.shape(x)[0]).unstack(x)
    count = rows.size()

    def body(i, array, h):
        h = h + rows.read(i)
        return i + 1, array.write(i, h), h

    _, array, _ = tf.while_loop(
        lambda i, *_: i < count, body, [0, tf.TensorArray(tf.float32, count), tf.zeros([4])]
    )
    assert array.stack().shape.as_list() == [None, 4]
    value, grad = run(array.stack(), x)
    sums = np.cumsum(X, 0)
    np.testing.assert_array_equal(value, sums)
    np.testing.assert_allclose(grad, 2 * np.cumsum(sums[::-1], 0)[::-1])


def test_wrong_numbers():
    array = tf.TensorArray(tf.float32, 2)
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="element 5 in a list with 2"):
            sess.run(array.write(5, [1.0]).stack())
        with pytest.raises(tf.errors.InvalidArgumentError, match="different shapes"):
            sess.run(
                tf.TensorArray(tf.float32, 2, infer_shape=False)
                .write(0, [1.0])
                .write(1, [1.0, 2.0])
                .stack()
            )
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        array.write(0, [1.0]).write(1, [1.0, 2.0])
    with pytest.raises(ValueError, match="Tried to write int32"):
        array.write(0, tf.constant(1))


def test_texts():
    upper = tf.map_fn(lambda s: tf.string_join([s, "!"]), tf.constant(["a", "b"]))
    with tf.Session() as sess:
        assert sess.run(upper).tolist() == [b"a!", b"b!"]
