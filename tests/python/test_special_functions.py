# SPDX-License-Identifier: Apache-2.0
"""test_special_functions.py: values, identities, limits and gradients of special functions."""

import math

import numpy as np
import pytest

import situ as tf

special = tf.math.special
KNOWN = [
    (tf.math.ndtri, 0.975, 1.959963984540054),
    (tf.math.ndtri, 1e-10, -6.361340902404056),
    (tf.math.erfinv, 0.5, 0.4769362762044699),
    (tf.math.erfinv, -0.999, -2.326753765513525),
    (tf.math.bessel_i0, 1.0, 1.2660658777520082),
    (tf.math.bessel_i1, 1.0, 0.5651591039924851),
    (tf.math.bessel_i0e, 50.0, 0.05656162664745419),
    (special.bessel_k0, 1.0, 0.42102443824070834),
    (special.bessel_k1, 1.0, 0.6019072301972346),
    (special.bessel_j0, 1.0, 0.7651976865579666),
    (special.bessel_j1, 1.0, 0.4400505857449335),
    (special.bessel_j0, 40.0, 0.007366890584237552),
    (special.dawsn, 1.0, 0.5380795069127684),
    (special.expint, 1.0, 1.8951178163559368),
    (special.spence, 2.0, -(math.pi**2) / 12),
    (special.spence, 0.0, math.pi**2 / 6),
]


@pytest.mark.parametrize("case", KNOWN, ids=str)
def test_known_values(case):
    function, x, want = case
    assert function(tf.constant(x, tf.float64)).numpy() == pytest.approx(want, rel=1e-13)
    assert function(tf.constant(x, tf.float32)).numpy() == pytest.approx(want, rel=3e-5)


def test_inverses():
    x = np.concatenate([np.linspace(-0.9999, 0.9999, 301), [1e-12, 0.0]])
    np.testing.assert_allclose(tf.math.erf(tf.math.erfinv(x)).numpy(), x, rtol=1e-13, atol=1e-16)
    q = np.concatenate([np.geomspace(1e-300, 1, 100), np.linspace(1, 1.9999, 50)])
    np.testing.assert_allclose(tf.math.erfc(tf.math.erfcinv(q)).numpy(), q, rtol=1e-11)
    assert tf.math.erfinv([1.0, -1.0, 0.0]).numpy().tolist() == [math.inf, -math.inf, 0]
    assert np.isnan(tf.math.erfinv([1.1, -2.0, math.nan]).numpy()).all()


def test_incomplete_gamma_functions():
    x = np.linspace(0.01, 20, 50)
    np.testing.assert_allclose(tf.math.igamma(np.float64(1), x).numpy(), 1 - np.exp(-x), rtol=1e-12)
    np.testing.assert_allclose(
        tf.math.igamma(np.float64(0.5), x).numpy(), tf.math.erf(np.sqrt(x)).numpy(), rtol=1e-12
    )
    a = np.linspace(0.1, 30, 40)[:, None]
    total = tf.math.igamma(a, x) + tf.math.igammac(a, x)
    np.testing.assert_allclose(total.numpy(), np.ones([40, 50]), rtol=1e-12)
    assert tf.math.igamma([2.0, 2.0], [0.0, math.inf]).numpy().tolist() == [0, 1]
    assert np.isnan(tf.math.igamma([-1.0, 1.0], [1.0, -1.0]).numpy()).all()


def test_zeta():
    assert tf.math.zeta(np.float64(2), np.float64(1)).numpy() == pytest.approx(math.pi**2 / 6)
    assert tf.math.zeta(np.float64(3), np.float64(-0.5)).numpy() == pytest.approx(
        -8 + 7 * 1.2020569031595942
    )
    assert tf.math.zeta([1.0, 2.0], [1.0, -1.0]).numpy().tolist() == [math.inf, math.inf]
    assert np.isnan(tf.math.zeta([0.5, 3.0, 2.5], [1.0, -1.0, -0.5]).numpy()).all()


UNARY = {
    "erfinv": (tf.math.erfinv, -0.95, 0.95),
    "ndtri": (tf.math.ndtri, 0.02, 0.98),
    "bessel_i0": (tf.math.bessel_i0, -4, 4),
    "bessel_i0e": (tf.math.bessel_i0e, 0.1, 30),
    "bessel_i1": (tf.math.bessel_i1, -4, 4),
    "bessel_i1e": (tf.math.bessel_i1e, -30, -0.1),
    "bessel_k0": (special.bessel_k0, 0.1, 5),
    "bessel_k0e": (special.bessel_k0e, 0.1, 50),
    "bessel_k1": (special.bessel_k1, 0.1, 5),
    "bessel_k1e": (special.bessel_k1e, 0.1, 50),
    "bessel_j0": (special.bessel_j0, -30, 30),
    "bessel_j1": (special.bessel_j1, -30, 30),
    "dawsn": (special.dawsn, -6, 6),
    "expint": (special.expint, 0.1, 6),
    "spence": (special.spence, 0.05, 6),
}


@pytest.mark.parametrize("name", UNARY)
def test_gradients(name):
    function, low, high = UNARY[name]
    x, step = tf.constant(np.linspace(low, high, 24)), 1e-5
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    got = tape.gradient(y, x).numpy()
    want = (function(x + step) - function(x - step)).numpy() / (2 * step)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["igamma", "igammac", "zeta"])
def test_gradients_of_two_arguments(name):
    function, step = getattr(tf.math, name), 1e-5
    a = tf.constant(np.linspace(1.3, 9, 12)[:, None])
    x = tf.constant(np.linspace(0.2, 12, 10))
    with tf.GradientTape() as tape:
        tape.watch([a, x])
        y = function(a, x)
    da, dx = tape.gradient(y, [a, x])
    want = (function(a, x + step) - function(a, x - step)).numpy().sum(0) / (2 * step)
    np.testing.assert_allclose(dx.numpy(), want, rtol=1e-5, atol=1e-8)
    if name == "zeta":
        assert da is None
        return
    want = (function(a + step, x) - function(a - step, x)).numpy().sum(1, keepdims=True)
    np.testing.assert_allclose(da.numpy(), want / (2 * step), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("axis", [None, 0, 1, [0, 2], []])
def test_products_of_complex_numbers(dtype, axis):
    rng = np.random.default_rng(7)
    x = (rng.standard_normal((3, 4, 5)) + 1j * rng.standard_normal((3, 4, 5))).astype(dtype)
    over = tuple(axis) if isinstance(axis, list) else axis
    got = tf.reduce_prod(x, axis).numpy()
    np.testing.assert_allclose(got, np.prod(x, axis=over) if axis != [] else x, rtol=1e-4)
    if isinstance(axis, int):
        np.testing.assert_allclose(tf.math.cumprod(x, axis).numpy(), np.cumprod(x, axis), rtol=1e-4)
        norm = np.sqrt((np.abs(x) ** 2).sum(axis))
        np.testing.assert_allclose(tf.math.reduce_euclidean_norm(x, axis).numpy(), norm, rtol=1e-5)


def test_complex_bias():
    x = np.arange(6).reshape(2, 3) * (1 + 2j)
    bias = np.array([1j, 2, 3 - 1j])
    variable = tf.constant(bias)
    with tf.GradientTape() as tape:
        tape.watch(variable)
        y = tf.nn.bias_add(tf.constant(x), variable)
    np.testing.assert_array_equal(y.numpy(), x + bias)
    np.testing.assert_array_equal(tape.gradient(y, variable).numpy(), [2, 2, 2])


def test_euclidean_norm_of_integers_is_truncated():
    assert tf.math.reduce_euclidean_norm([3, 3]).numpy() == 4
