# SPDX-License-Identifier: Apache-2.0
"""test_norm.py: tf.norm of vectors and matrices against NumPy's; TensorFlow's errors."""

import numpy
import pytest

import situ as tf

X = numpy.arange(12, dtype="float32").reshape(2, 3, 2) - 5


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [(1, 2), [0, 1], (2, 0), (-1, 1)])
@pytest.mark.parametrize("ord", ["fro", 1, 2, numpy.inf])
def test_norm_of_matrices(ord, axis, keepdims):
    expected = numpy.linalg.norm(X, ord, tuple(axis), keepdims)
    found = tf.norm(tf.constant(X), ord, axis, keepdims=keepdims)
    assert found.shape.as_list() == list(expected.shape)
    numpy.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("axis", [None, 1, -1])
@pytest.mark.parametrize("ord", ["euclidean", 1, 2, 3, 0.5, numpy.inf])
def test_norm_of_vectors(ord, axis):
    vectors = X.ravel() if axis is None else X
    expected = numpy.linalg.norm(vectors, 2 if ord == "euclidean" else ord, axis)
    numpy.testing.assert_allclose(tf.norm(X, ord, axis), expected, rtol=1e-4)


def test_norm_of_matrices_in_a_function():
    found = tf.function(lambda x: tf.norm(x, 2, [1, 2]))(tf.constant(X))
    numpy.testing.assert_allclose(found, numpy.linalg.norm(X, 2, (1, 2)), rtol=1e-5)


@pytest.mark.parametrize(
    "ord, axis, message",
    [
        ("fro", None, "'ord' must be a supported vector norm, got fro"),
        (0, 1, "'ord' must be a supported vector norm, got 0"),
        (3, [0, 1], "'ord' must be a supported matrix norm in"),
        (1, [1], "'axis' must be None, an integer, or a tuple of 2 unique integers"),
        (1, [1, 1], "'axis' must be None, an integer, or a tuple of 2 unique integers"),
    ],
)
def test_unsupported_norms(ord, axis, message):
    with pytest.raises(ValueError, match=message):
        tf.norm(X, ord, axis)
