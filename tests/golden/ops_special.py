# SPDX-License-Identifier: Apache-2.0
"""ops_special.py: the special functions for ops.py, by mpmath."""
import numpy as np


def by_mpmath(function):
    """A function of mpmath's numbers as one of arrays."""
    def compute(*arrays):
        import mpmath  # only to write the values

        def number(*args):
            try:
                with mpmath.workdps(30):
                    return float(function(mpmath, *(mpmath.mpf(float(a)) for a in args)))
            except (ValueError, ZeroDivisionError):
                return float("inf")
        arrays = np.broadcast_arrays(*arrays)
        made = [number(*args) for args in zip(*(a.ravel() for a in arrays))]
        return np.array(made, np.float64).reshape(arrays[0].shape)
    return compute


def igamma(m, a, x):
    return m.gammainc(a, 0, x, regularized=True)


def igamma_slope(m, a, x):
    return m.diff(lambda t: m.gammainc(t, 0, x, regularized=True), a)


def gamma_sample_slope(m, a, x):
    return -igamma_slope(m, a, x) * m.gamma(a) * m.exp(x) / x ** (a - 1)


SPECIAL_UNARY = {
    "Dawsn": lambda m, x: m.sqrt(m.pi) / 2 * m.exp(-x * x) * m.erfi(x),
    "Expint": lambda m, x: m.ei(x), "FresnelCos": lambda m, x: m.fresnelc(x),
    "FresnelSin": lambda m, x: m.fresnels(x),
    "Spence": lambda m, x: m.re(m.polylog(2, 1 - x)), "Erfinv": lambda m, x: m.erfinv(x),
    "Ndtri": lambda m, x: m.sqrt(2) * m.erfinv(2 * x - 1),
    "BesselI0": lambda m, x: m.besseli(0, x), "BesselI1": lambda m, x: m.besseli(1, x),
    "BesselI0e": lambda m, x: m.exp(-abs(x)) * m.besseli(0, x),
    "BesselI1e": lambda m, x: m.exp(-abs(x)) * m.besseli(1, x),
    "BesselK0": lambda m, x: m.besselk(0, x), "BesselK1": lambda m, x: m.besselk(1, x),
    "BesselK0e": lambda m, x: m.exp(x) * m.besselk(0, x),
    "BesselK1e": lambda m, x: m.exp(x) * m.besselk(1, x),
    "BesselJ0": lambda m, x: m.besselj(0, x), "BesselJ1": lambda m, x: m.besselj(1, x),
    "BesselY0": lambda m, x: m.bessely(0, x), "BesselY1": lambda m, x: m.bessely(1, x),
}
SPECIAL_BINARY = {
    "Igamma": igamma, "Igammac": lambda m, a, x: 1 - igamma(m, a, x), "IgammaGradA": igamma_slope,
    "RandomGammaGrad": gamma_sample_slope, "Zeta": lambda m, x, q: m.zeta(x, q),
    "Betainc": lambda m, a, b, x: m.betainc(a, b, 0, x, regularized=True),
}
SPECIAL = {
    **{name: by_mpmath(function) for name, function in {**SPECIAL_UNARY, **SPECIAL_BINARY}.items()},
    "Xlog1py": lambda x, y: np.where(x == 0, 0, x * np.log1p(y)),
    "NextAfter": lambda x, y: x + 0 * y,  # but for a unit in the last place
}
