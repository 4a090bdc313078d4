# SPDX-License-Identifier: Apache-2.0
"""ops_special.py: special functions by integration and bisection, for ops.py."""
import math
import statistics

import numpy as np


def integral(function, low, high, points=4000):
    """Gauss-Legendre quadrature in 40 pieces."""
    nodes, weights = np.polynomial.legendre.leggauss(points // 40)
    edges = np.linspace(low, high, 41)
    half = (edges[1:] - edges[:-1])[:, None] / 2
    middle = (edges[1:] + edges[:-1])[:, None] / 2
    return float(np.sum(function(middle + half * nodes) * weights * half))


def erfinv(x):
    return math.copysign(1, x) * statistics.NormalDist().inv_cdf((abs(x) + 1) / 2) / math.sqrt(2)


def ndtri(p):
    return statistics.NormalDist().inv_cdf(p) if 0 < p < 1 else math.nan


def igamma_series(a, x):
    """The terms of the series of the lower function, and their derivatives for a."""
    term, slope = 1 / a, -1 / a**2
    for n in range(1, 200):
        yield term, slope
        slope = slope * x / (a + n) - term * x / (a + n) ** 2
        term *= x / (a + n)


def igamma(a, x):
    if a <= 0 or x < 0:
        return math.nan
    factor = math.exp(a * math.log(x) - x - math.lgamma(a))
    return factor * math.fsum(term for term, _ in igamma_series(a, x))


def igamma_grad_a(a, x, digamma_step=1e-3):
    """The derivative of lgamma by central differences of high order."""
    h = digamma_step
    weights = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
    digamma = math.fsum(
        w * (math.lgamma(a + k * h) - math.lgamma(a - k * h)) / h for k, w in weights)
    factor = math.exp(a * math.log(x) - x - math.lgamma(a))
    slopes = math.fsum(slope for _, slope in igamma_series(a, x))
    return factor * slopes + igamma(a, x) * (math.log(x) - digamma)


def zeta(x, q):
    if x == 1:
        return math.inf
    terms = math.fsum((q + k) ** -x for k in range(3000))
    end = q + 3000
    return terms + end ** (1 - x) / (x - 1) + end ** -x / 2 + x * end ** (-x - 1) / 12


def bessel_i(order, x):
    return integral(lambda t: np.exp(x * np.cos(t)) * np.cos(order * t), 0, np.pi) / np.pi


def bessel_j(order, x):
    return integral(lambda t: np.cos(order * t - x * np.sin(t)), 0, np.pi) / np.pi


def bessel_k(order, x):
    return integral(lambda t: np.exp(-x * np.cosh(t)) * np.cosh(order * t), 0, 9)


def dawsn(x):
    return integral(lambda t: np.exp(t * t - x * x), 0, x)


def expint(x):
    return math.log(x) + 0.5772156649015329 + integral(lambda t: np.expm1(t) / t, 1e-300, x)


def spence(x):
    if x < 0:
        return math.nan
    return integral(lambda t: np.where(t == 1, -1.0, np.log(t) / (1 - t)), 1, x)


SPECIAL_UNARY = {
    "Erfinv": erfinv, "Ndtri": ndtri, "Dawsn": dawsn, "Expint": expint, "Spence": spence,
    "BesselI0": lambda x: bessel_i(0, x), "BesselI1": lambda x: bessel_i(1, x),
    "BesselI0e": lambda x: bessel_i(0, x) * math.exp(-abs(x)),
    "BesselI1e": lambda x: bessel_i(1, x) * math.exp(-abs(x)),
    "BesselK0": lambda x: bessel_k(0, x), "BesselK1": lambda x: bessel_k(1, x),
    "BesselK0e": lambda x: bessel_k(0, x) * math.exp(x),
    "BesselK1e": lambda x: bessel_k(1, x) * math.exp(x),
    "BesselJ0": lambda x: bessel_j(0, x), "BesselJ1": lambda x: bessel_j(1, x),
}
SPECIAL_BINARY = {"Igamma": igamma, "Igammac": lambda a, x: 1 - igamma(a, x),
                  "IgammaGradA": igamma_grad_a, "Zeta": zeta}
