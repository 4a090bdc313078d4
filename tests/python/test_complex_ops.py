# SPDX-License-Identifier: Apache-2.0
"""test_complex_ops.py: functions of complex tensors against NumPy, and their gradients, which are
those of TensorFlow: dy * conj(f'(x))."""

import numpy as np
import pytest

import situ as tf

A = np.array([[1.5 - 2j, -0.25 + 0.5j, 0.75j], [-1 - 1j, 2 + 0.125j, 0.5 - 0.5j]])
B = np.array([[0.5 + 1j, 2 - 0.5j, -1 + 1j], [1 + 0.25j, -0.5j, 3]])
TYPES = ["complex64", "complex128"]
FUNCTIONS = "exp expm1 log log1p sqrt sin cos tan sinh cosh tanh square reciprocal conj".split()
INVERSES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh"}
DERIVATIVES = {
    "exp": np.exp, "log": lambda x: 1 / x, "sin": np.cos, "square": lambda x: 2 * x,
    "sqrt": lambda x: 0.5 / np.sqrt(x), "tanh": lambda x: 1 - np.tanh(x) ** 2,
}  # fmt: skip


def close(result, expected, dtype):
    tolerance = 1e-5 if dtype == "complex64" else 1e-12
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", [*FUNCTIONS, *INVERSES])
def test_functions(name, dtype):
    result = getattr(tf.math, name)(tf.constant(A, dtype))
    assert result.dtype == dtype
    close(result.numpy(), getattr(np, INVERSES.get(name, name))(A), dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_parts(dtype):
    x = tf.constant(A, dtype)
    close(tf.math.real(x).numpy(), A.real, dtype)
    close(tf.math.imag(x).numpy(), A.imag, dtype)
    close(tf.math.angle(x).numpy(), np.angle(A), dtype)
    close(abs(x).numpy(), np.abs(A), dtype)
    close(tf.abs(x).numpy(), np.abs(A), dtype)
    close(tf.complex(tf.math.real(x), tf.math.imag(x)).numpy(), A, dtype)
    assert tf.abs(x).dtype == x.dtype.real_dtype


@pytest.mark.parametrize("dtype", TYPES)
def test_arithmetic(dtype):
    x, y = tf.constant(A, dtype), tf.constant(B, dtype)
    close((x + y).numpy(), A + B, dtype)
    close((x - y[0]).numpy(), A - B[0], dtype)
    close((x * y).numpy(), A * B, dtype)
    close((x / y).numpy(), A / B, dtype)
    close((x**y).numpy(), A**B, dtype)
    close(tf.add_n([x, y, x]).numpy(), A + B + A, dtype)
    assert (x == y).numpy().tolist() == (A == B).tolist()


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_and_products(dtype):
    x, y = tf.constant(A, dtype), tf.constant(B, dtype)
    close(tf.reduce_sum(x, -1).numpy(), A.sum(-1), dtype)
    close(tf.reduce_mean(x, 0).numpy(), A.mean(0), dtype)
    close(tf.cumsum(x, 0).numpy(), A.cumsum(0), dtype)
    close(tf.matmul(x, y, adjoint_b=True).numpy(), A @ B.conj().T, dtype)
    close(tf.matmul(x, y, transpose_a=True).numpy(), A.T @ B, dtype)
    close(tf.matmul(x[None], y[None], adjoint_a=True).numpy()[0], A.conj().T @ B, dtype)
    close(tf.matmul(x[None], y[None], transpose_a=True).numpy()[0], A.T @ B, dtype)
    close(tf.transpose(x, conjugate=True).numpy(), A.conj().T, dtype)
    close(tf.linalg.adjoint(x).numpy(), A.conj().T, dtype)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_gradients_are_conjugates(name):
    x = tf.constant(A)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(tf.math, name)(x)
    close(tape.gradient(y, x).numpy(), np.conj(DERIVATIVES[name](A)), "complex128")


def test_gradients_of_products():
    x, y = tf.constant(A), tf.constant(B)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        size = tf.reduce_sum(tf.abs(x * y) ** 2)
        product = tf.matmul(x, y, adjoint_b=True)
    close(tape.gradient(size, x).numpy(), 2 * A * np.abs(B) ** 2, "complex128")
    ones = np.ones([2, 2])
    close(tape.gradient(product, x).numpy(), ones @ B, "complex128")
    close(tape.gradient(product, y).numpy(), ones.T @ A, "complex128")
