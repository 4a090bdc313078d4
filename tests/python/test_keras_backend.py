# SPDX-License-Identifier: Apache-2.0
"""test_keras_backend.py: functions of tf.keras.backend have the arguments and defaults of Keras."""

import inspect

import numpy as np
import pytest

import situ as tf

K = tf.keras.backend
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_axes_default_to_the_last_one():
    np.testing.assert_array_equal(K.argmax(X), [2, 2])
    np.testing.assert_array_equal(K.argmin(X), [0, 0])
    assert K.concatenate([X, X]).shape == (2, 6) and K.expand_dims(X).shape == (2, 3, 1)
    assert K.stack([X, X]).shape == (2, 2, 3)


def test_arguments_have_the_names_of_keras():
    np.testing.assert_array_equal(K.one_hot(indices=[1], num_classes=3), [[0, 1, 0]])
    np.testing.assert_array_equal(K.gather(reference=X, indices=[1]), X[1:])
    np.testing.assert_array_equal(K.clip(X, min_value=1, max_value=None), np.maximum(X, 1))
    np.testing.assert_array_equal(K.clip(X, 3.0, 2.0), np.full((2, 3), 3))
    np.testing.assert_array_equal(K.reverse(X, axes=1), X[:, ::-1])
    np.testing.assert_array_equal(K.tile([1, 2], n=2), [1, 2, 1, 2])
    np.testing.assert_array_equal(K.pow(X, a=2), X**2)
    np.testing.assert_array_equal(K.squeeze(X[None], axis=0), X)
    np.testing.assert_array_equal(K.sum(X, axis=0, keepdims=True), [[3, 5, 7]])
    np.testing.assert_array_equal(K.maximum(x=X, y=2.0), np.maximum(X, 2))


def test_reductions_of_booleans_and_numbers():
    assert float(K.mean([True, False])) == 0.5 and float(K.var([True, False])) == 0.25
    assert bool(K.any([0, 2])) and not bool(K.all([0, 2]))


def test_products_contract_the_dimension_before_the_last():
    y = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(K.dot(X, y), np.dot(X, y))
    np.testing.assert_array_equal(K.dot(X, X.T), X @ X.T)
    sparse = tf.sparse.from_dense(X)
    np.testing.assert_array_equal(K.dot(sparse, X.T), X @ X.T)


def test_sparse_and_ragged_tensors_are_concatenated():
    sparse = tf.sparse.from_dense(X)
    assert K.is_sparse(K.concatenate([sparse, sparse]))
    np.testing.assert_array_equal(K.concatenate([sparse, X], axis=0), np.concatenate([X, X]))
    ragged = tf.ragged.constant([[1], [2, 3]])
    assert K.concatenate([ragged, ragged], axis=0).to_list() == [[1], [2, 3], [1], [2, 3]]


def test_created_values_are_variables():
    for made in (K.zeros((2, 2)), K.ones((2, 2)), K.eye(2)):
        assert isinstance(made, tf.Variable) and made.dtype == K.floatx()
    K.set_value(made, X[:, :2])
    np.testing.assert_array_equal(K.get_value(made), X[:, :2])
    assert not isinstance(K.zeros((0, 2)), tf.Variable)


def test_gradients_stop_at_each_of_several_tensors():
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        a, b = K.stop_gradient([x * x, x])
        y = x * a + b
    assert float(tape.gradient(y, x)) == 4.0


@pytest.mark.parametrize("name", [n for n in dir(K) if not n.startswith("_")])
def test_every_function_explains_its_arguments(name):
    function = getattr(K, name)
    parameters = [p for p in inspect.signature(function).parameters if p != "name"]
    doc = inspect.getdoc(function)
    assert doc and [p for p in parameters if f"{p}:" not in doc] == []
