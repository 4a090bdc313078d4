# SPDX-License-Identifier: Apache-2.0
"""distributions.py: continuous distributions of scalars of tf.distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy

from situ._src.framework.graph import scope
from situ._src.legacy.distribution import (
    FULLY_REPARAMETERIZED,
    Distribution,
    RegisterKL,
    derived_seed,
    named,
    random_function,
)
from situ._src.ops import check_ops
from situ._src.ops.array_ops import constant, convert_to_tensor, identity, op
from situ._src.ops.control_flow_ops import with_dependencies

_SERIES = 3  # terms of the asymptotic series of the normal cdf


def _ones(x):
    return op("OnesLike", x)


def _one(x):
    return constant(1, x.dtype)


def _ndtr(x):
    """The cdf of the standard normal distribution."""
    w = x * math.sqrt(0.5)
    z = op("Abs", w)
    outer = op("SelectV2", op("Greater", w, op("ZerosLike", w)), 2.0 - op("Erfc", z), op("Erfc", z))
    inner = op("Less", z, constant(math.sqrt(0.5), x.dtype))
    return 0.5 * op("SelectV2", inner, 1.0 + op("Erf", w), outer)


def _log_ndtr(x):
    """The logarithm of `_ndtr`, also where that is 0 or 1; gradients are finite everywhere."""
    lower, upper = (-20.0, 8.0) if x.dtype.name == "float64" else (-10.0, 5.0)
    low, high = constant(lower, x.dtype), constant(upper, x.dtype)
    far = op("Minimum", x, low)
    square, total, term = op("Square", far), 1.0, 1.0
    for n in range(1, _SERIES + 1):
        term = term * (1.0 - 2.0 * n) / square
        total = total + term
    tail = -0.5 * square - op("Log", -far) - 0.5 * math.log(2.0 * math.pi) + op("Log", total)
    middle = op("Log", _ndtr(op("Maximum", x, low)))
    body = op("SelectV2", op("Greater", x, low), middle, tail)
    return op("SelectV2", op("Greater", x, high), -_ndtr(-x), body)


class _Scalars(Distribution):
    """A distribution whose parameters are tensors of one floating-point type."""

    _scalars: tuple[str, ...] = ()

    def _setup(self, arguments, positive=(), message=None):
        """Sets the parameters from the arguments of the constructor and calls the base class."""
        name, checked = arguments["name"], arguments["validate_args"]
        with scope(name, type(self).__name__) as full:
            values = {key: convert_to_tensor(arguments[key], name=key) for key in self._scalars}
            for key in positive if checked else ():
                check = check_ops.assert_positive(values[key], message=message)
                values[key] = with_dependencies([check], values[key])
            for key, value in values.items():
                setattr(self, "_" + key, identity(value, name=key))
            check_ops.assert_same_float_dtype(list(values.values()))
        Distribution.__init__(
            self,
            dtype=values[self._scalars[-1]].dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=checked,
            allow_nan_stats=arguments["allow_nan_stats"],
            parameters={k: v for k, v in arguments.items() if k != "__class__"},
            graph_parents=[getattr(self, "_" + key) for key in self._scalars],
            name=full,
        )

    def _full(self):
        """Ones of the batch shape."""
        return op("Fill", self.batch_shape_tensor(), constant(1, self.dtype))


def _parameter(name, text):
    return property(lambda self: getattr(self, "_" + name), doc=text)


@named("Normal")
class Normal(_Scalars):
    """Normal distribution.

    Args:
      loc: Mean.
      scale: Standard deviation.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    _scalars = ("loc", "scale")
    loc, scale = _parameter("loc", "The mean."), _parameter("scale", "The standard deviation.")

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Normal",
    ) -> None:
        self._setup(dict(locals()), ("scale",))

    def _sample_n(self, n, seed):
        noise = random_function("random_normal")(self._with_batch(n), dtype=self.dtype, seed=seed)
        return noise * self.scale + self.loc

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _log_prob(self, x):
        return op("Square", self._z(x)) * -0.5 - (
            op("Log", self.scale) + 0.5 * math.log(2.0 * math.pi)
        )

    def _cdf(self, x):
        return _ndtr(self._z(x))

    def _log_cdf(self, x):
        return _log_ndtr(self._z(x))

    def _survival_function(self, x):
        return _ndtr(-self._z(x))

    def _log_survival_function(self, x):
        return _log_ndtr(-self._z(x))

    def _quantile(self, p):
        return op("Ndtri", p) * self.scale + self.loc

    def _entropy(self):
        return 0.5 * math.log(2.0 * math.pi * math.e) + op("Log", self.scale * _ones(self.loc))

    def _mean(self):
        return self.loc * _ones(self.scale)

    _mode = _mean

    def _stddev(self):
        return self.scale * _ones(self.loc)


@named("Uniform")
class Uniform(_Scalars):
    """Uniform distribution on [low, high).

    Args:
      low: Lower limit.
      high: Upper limit.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    _scalars = ("low", "high")
    low, high = _parameter("low", "The lower limit."), _parameter("high", "The upper limit.")

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Uniform",
    ) -> None:
        self._setup(dict(locals()))
        message = "uniform not defined when low >= high."
        with scope(self.name):
            self._low: Any = self._checked(
                self.low, lambda: check_ops.assert_less(self.low, self.high, message=message)
            )

    def range(self, name: str | None = "range") -> Any:
        """Returns `high - low`."""
        with self._scope(name):
            return self.high - self.low

    def _sample_n(self, n, seed):
        noise = random_function("random_uniform")(self._with_batch(n), dtype=self.dtype, seed=seed)
        return noise * self.range() + self.low

    def _prob(self, x):
        wide = x * self._full()
        nothing = op("ZerosLike", wide)
        outside = op("LogicalOr", op("Less", wide, self.low), op("GreaterEqual", wide, self.high))
        density = op("SelectV2", outside, nothing, op("RealDiv", _ones(wide), self.range()))
        return op("SelectV2", op("IsNan", wide), wide, density)

    def _cdf(self, x):
        wide = x * self._full()
        part = (wide - self.low) / self.range()
        part = op("SelectV2", op("Less", wide, self.low), op("ZerosLike", wide), part)
        return op("SelectV2", op("GreaterEqual", wide, self.high), _ones(wide), part)

    def _entropy(self):
        return op("Log", self.range())

    def _mean(self):
        return (self.low + self.high) / 2.0

    def _variance(self):
        return op("Square", self.range()) / 12.0

    def _stddev(self):
        return self.range() / math.sqrt(12.0)


@named("Laplace")
class Laplace(_Scalars):
    """Laplace distribution.

    Args:
      loc: Mean.
      scale: Spread, positive.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    _scalars = ("loc", "scale")
    loc, scale = _parameter("loc", "The mean."), _parameter("scale", "The spread.")

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Laplace",
    ) -> None:
        self._setup(dict(locals()), ("scale",))

    def _sample_n(self, n, seed):
        least = numpy.nextafter(self.dtype.as_numpy_dtype(-1.0), self.dtype.as_numpy_dtype(0.0))
        noise = random_function("random_uniform")(
            self._with_batch(n), minval=least, maxval=1.0, dtype=self.dtype, seed=seed
        )
        return self.loc - self.scale * op("Sign", noise) * op("Log1p", op("Neg", op("Abs", noise)))

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _log_prob(self, x):
        return -op("Abs", self._z(x)) - math.log(2.0) - op("Log", self.scale)

    def _below(self, z):
        """The logarithm of the cdf of the standard distribution."""
        tail = op("Log1p", -0.5 * op("Exp", -op("Abs", z)))
        return op("SelectV2", op("Less", z, op("ZerosLike", z)), z - math.log(2.0), tail)

    def _log_cdf(self, x):
        return self._below(self._z(x))

    def _log_survival_function(self, x):
        return self._below(-self._z(x))

    def _cdf(self, x):
        z = self._z(x)
        return 0.5 + 0.5 * op("Sign", z) * (1.0 - op("Exp", -op("Abs", z)))

    def _entropy(self):
        return math.log(2.0) + 1.0 + op("Log", self.scale + op("ZerosLike", self.loc))

    def _mean(self):
        return self.loc + op("ZerosLike", self.scale)

    _mode = _mean

    def _stddev(self):
        return math.sqrt(2.0) * self.scale + op("ZerosLike", self.loc)


@named("StudentT")
class StudentT(_Scalars):
    """Student's t-distribution.

    Args:
      df: Degrees of freedom, positive.
      loc: Location.
      scale: Scale.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    _scalars = ("df", "loc", "scale")
    df = _parameter("df", "The degrees of freedom.")
    loc, scale = _parameter("loc", "The location."), _parameter("scale", "The scale.")

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "StudentT",
    ) -> None:
        self._setup(dict(locals()), ("df",))

    def _sample_n(self, n, seed):
        noise = random_function("random_normal")(self._with_batch(n), dtype=self.dtype, seed=seed)
        df = self.df * self._full()
        gamma = random_function("random_gamma")(
            op("Reshape", n, [1]),
            0.5 * df,
            beta=0.5,
            dtype=self.dtype,
            seed=derived_seed(seed, "student_t"),
        )
        return noise * op("Rsqrt", gamma / df) * self.scale + self.loc

    def _log_prob(self, x):
        y = (x - self.loc) / self.scale
        half = 0.5 * (self.df + 1.0)
        norm = op("Log", op("Abs", self.scale)) + 0.5 * op("Log", self.df)
        norm += 0.5 * math.log(math.pi) + op("Lgamma", 0.5 * self.df) - op("Lgamma", half)
        return -half * op("Log1p", op("Square", y) / self.df) - norm

    def _cdf(self, x):
        y = (x - self.loc) / op("Abs", self.scale)
        ratio = self.df / (op("Square", y) + self.df)
        half = constant(0.5, self.dtype)
        full = op("ZerosLike", ratio)
        below = 0.5 * op("Betainc", half * self.df + full, half + full, ratio)
        return op("SelectV2", op("Less", y, op("ZerosLike", y)), below, 1.0 - below)

    def _entropy(self):
        half = 0.5 * (self.df + 1.0)
        log_beta = op("Lgamma", 0.5 * self.df) - op("Lgamma", half) + 0.5 * math.log(math.pi)
        spread = op("Log", op("Abs", self.scale * self._full())) + 0.5 * op("Log", self.df)
        return spread + log_beta + half * (op("Digamma", half) - op("Digamma", 0.5 * self.df))

    def _above(self, limit, what):
        return lambda: check_ops.assert_less(
            constant(limit, self.dtype),
            self.df,
            message=f"{what} not defined for components of df <= {limit}",
        )

    def _mean(self):
        mean, is_defined = self.loc * self._full(), op("Greater", self.df, _one(self.df))
        return self._or_nan(mean, is_defined, self._above(1, "mean"))

    def _variance(self):
        two = constant(2, self.dtype)
        is_finite = op("Greater", self.df, two)
        denominator = op("SelectV2", is_finite, self.df - two, _ones(self.df))
        variance = self._full() * op("Square", self.scale) * self.df / denominator
        variance = op("SelectV2", is_finite, variance, constant(math.inf, self.dtype))
        is_defined = op("Greater", self.df, _one(self.df))
        return self._or_nan(variance, is_defined, self._above(1, "variance"))

    def _mode(self):
        return identity(self.loc)


@named("Gamma")
class Gamma(_Scalars):
    """Gamma distribution.

    Args:
      concentration: Shape parameter, positive.
      rate: Inverse scale, positive.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    _scalars: tuple[str, ...] = ("concentration", "rate")
    concentration = _parameter("concentration", "The shape parameter.")
    rate = _parameter("rate", "The inverse scale.")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Gamma",
    ) -> None:
        self._setup(dict(locals()), ("concentration", "rate"))

    def _sample_n(self, n, seed):
        return random_function("random_gamma")(
            op("Reshape", n, [1]), self.concentration, beta=self.rate, dtype=self.dtype, seed=seed
        )

    def _valid(self, x):
        check_ops.assert_same_float_dtype([x], self.dtype)
        return self._checked(x, lambda: check_ops.assert_positive(x))

    def _log_prob(self, x):
        x = self._valid(x)
        unnormalized = op("Xlogy", self.concentration - 1.0, x) - self.rate * x
        return unnormalized - self._log_normalization()

    def _log_normalization(self):
        return op("Lgamma", self.concentration) - self.concentration * op("Log", self.rate)

    def _cdf(self, x):
        return op("Igamma", self.concentration, self.rate * self._valid(x))

    def _entropy(self):
        a = self.concentration
        return a - op("Log", self.rate) + op("Lgamma", a) + (1.0 - a) * op("Digamma", a)

    def _mean(self):
        return self.concentration / self.rate

    def _variance(self):
        return self.concentration / op("Square", self.rate)

    def _stddev(self):
        return op("Sqrt", self.concentration) / self.rate

    def _mode(self):
        a, one = self.concentration, _one(self.concentration)
        message = "mode not defined when any concentration <= 1"
        mode = (a - 1.0) / self.rate
        return self._or_nan(
            mode, op("Greater", a, one), lambda: check_ops.assert_less(one, a, message=message)
        )


@named("Exponential")
class Exponential(Gamma):
    """Exponential distribution.

    Args:
      rate: Inverse mean, positive.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    _scalars = ("rate",)

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Exponential",
    ) -> None:
        self._setup(dict(locals()), ("rate",))
        with scope(self.name):
            self._concentration = _ones(self.rate)

    def _sample_n(self, n, seed):
        least = numpy.finfo(self.dtype.as_numpy_dtype).tiny
        noise = random_function("random_uniform")(
            self._with_batch(n), minval=least, maxval=1.0, dtype=self.dtype, seed=seed
        )
        return -op("Log", noise) / self.rate


@named("Beta")
class Beta(_Scalars):
    """Beta distribution.

    Args:
      concentration1: Number of successes, positive.
      concentration0: Number of failures, positive.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    _scalars = ("concentration1", "concentration0")
    concentration1 = _parameter("concentration1", "The number of successes.")
    concentration0 = _parameter("concentration0", "The number of failures.")
    total_concentration = _parameter("total_concentration", "The sum of both numbers.")

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Beta",
    ) -> None:
        arguments = dict(locals())
        self._setup(arguments, self._scalars, "Concentration parameter must be positive.")
        with scope(self.name):
            self._total_concentration = self.concentration1 + self.concentration0

    def _sample_n(self, n, seed):
        draw, ones = random_function("random_gamma"), _ones(self.total_concentration)
        count = op("Reshape", n, [1])
        first = draw(count, self.concentration1 * ones, dtype=self.dtype, seed=seed)
        second = draw(
            count, self.concentration0 * ones, dtype=self.dtype, seed=derived_seed(seed, "beta")
        )
        return first / (first + second)

    def _valid(self, x):
        one = _one(x)
        return self._checked(
            x,
            lambda: check_ops.assert_positive(x, message="sample must be positive"),
            lambda: check_ops.assert_less(x, one, message="sample must be less than `1`."),
        )

    def _log_prob(self, x):
        x = self._valid(x)
        unnormalized = op("Xlogy", self.concentration1 - 1.0, x)
        unnormalized += (self.concentration0 - 1.0) * op("Log1p", op("Neg", x))
        return unnormalized - self._log_normalization()

    def _log_normalization(self):
        both = op("Lgamma", self.concentration1) + op("Lgamma", self.concentration0)
        return both - op("Lgamma", self.total_concentration)

    def _cdf(self, x):
        full = op("ZerosLike", x + self.total_concentration)
        return op("Betainc", self.concentration1 + full, self.concentration0 + full, x + full)

    def _entropy(self):
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        inner = (a - 1.0) * op("Digamma", a) + (b - 1.0) * op("Digamma", b)
        return self._log_normalization() - inner + (total - 2.0) * op("Digamma", total)

    def _mean(self):
        return self.concentration1 / self.total_concentration

    def _variance(self):
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self):
        one = constant(1, self.dtype)
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        is_defined = op(
            "LogicalAnd",
            op("Greater", self.concentration1, one),
            op("Greater", self.concentration0, one),
        )
        return self._or_nan(
            mode,
            is_defined,
            *(
                lambda key=key: check_ops.assert_less(
                    one, getattr(self, key), message=f"Mode undefined for {key} <= 1."
                )
                for key in self._scalars
            ),
        )


@RegisterKL(Normal, Normal)
def _normals(a, b, name=None):
    with scope(name, "kl_normal_normal"):
        ratio = op("Square", a.scale) / op("Square", b.scale)
        apart = op("Square", a.loc - b.loc) / (2.0 * op("Square", b.scale))
        return apart + 0.5 * (ratio - 1.0 - op("Log", ratio))


@RegisterKL(Gamma, Gamma)
def _gammas(a, b, name=None):
    with scope(name, "kl_gamma_gamma"):
        x, y = a.concentration, b.concentration
        shape = (x - y) * op("Digamma", x) + op("Lgamma", y) - op("Lgamma", x)
        rate = y * (op("Log", a.rate) - op("Log", b.rate)) + x * (b.rate / a.rate - 1.0)
        return shape + rate


@RegisterKL(Beta, Beta)
def _betas(a, b, name=None):
    with scope(name, "kl_beta_beta"):
        result = b._log_normalization() - a._log_normalization()
        for key in ("concentration1", "concentration0"):
            mine, other = getattr(a, key), getattr(b, key)
            result -= op("Digamma", mine) * (other - mine)
        mine, other = a.total_concentration, b.total_concentration
        return result + op("Digamma", mine) * (other - mine)
