# SPDX-License-Identifier: Apache-2.0
"""test_mixed_operands.py: numbers, lists and NumPy arrays in expressions with tensors and
variables are converted to the tensor's type. Numbers are TensorFlow's."""

import operator

import numpy as np
import pytest

import situ as tf

tf1 = tf.compat.v1


OPERANDS = [np.sqrt(4.0), np.int64(2), np.array([2.0, 2.0]), np.float32(2), 2, 2.0, [2.0, 2.0]]
OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("make", [tf.constant, tf.Variable])
@pytest.mark.parametrize("other", OPERANDS, ids=repr)
def test_operands_take_the_type_of_the_tensor(name, make, other):
    function, plain = getattr(operator, name), np.array([1.0, 2.0], "f")
    found, turned = function(make(plain), other), function(other, make(plain))
    other = np.asarray(other, "f")
    for result, expected in ((found, function(plain, other)), (turned, function(other, plain))):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow", "lt"])
def test_operands_of_graphs(name):
    function = getattr(operator, name)
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf1.float32, [None])
        v = tf1.get_variable("v", [2], initializer=tf1.ones_initializer())
        for other in OPERANDS:
            for tensor in (function(x, other), function(other, x), function(v, other)):
                assert tensor.graph is session.graph
        session.run(tf1.global_variables_initializer())
        assert session.run(x / np.sqrt(4.0), {x: [1, 3]}).tolist() == [0.5, 1.5]


def test_products_take_the_type_of_the_left_matrix():
    for product in (tf.matmul(tf.ones([2, 2]), np.ones((2, 2))), tf.ones([2, 2]) @ np.ones((2, 2))):
        assert product.dtype == tf.float32 and product.numpy().tolist() == [[2, 2], [2, 2]]


def test_elements_of_variables_are_compared():
    v = tf.Variable([1.0, 2.0])
    assert (v == 1.0).numpy().tolist() == [True, False]
    assert (v != [1.0, 3.0]).numpy().tolist() == [False, True]
    assert int(tf.reduce_sum(tf.cast(v == 2.0, tf.int32))) == 1
    assert tf.function(lambda: tf.cast(v == 2.0, tf.int32))().numpy().tolist() == [0, 1]
    assert (v == None) is False and (v != None) is True  # noqa: E711
    assert v in [v] and (v == "no number") is False


def test_filters_of_no_images_have_gradients_of_zero():
    for sizes in ((0, 12, 12, 16), (2, 0, 12, 16), (2, 12, 0, 3)):
        w = tf.Variable(tf.ones([3, 3, sizes[-1], 8]))
        with tf.GradientTape() as tape:
            y = tf.nn.conv2d(tf.zeros(sizes), w, 1, "SAME")
        gradient = tape.gradient(y, w)
        assert gradient.shape == w.shape and not gradient.numpy().any()
