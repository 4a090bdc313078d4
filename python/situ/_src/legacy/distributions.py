# SPDX-License-Identifier: Apache-2.0
"""distributions.py: tf.distributions: samples, log probabilities, entropies and KL divergences."""

from __future__ import annotations

import contextlib
import math
from typing import Any

from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.dtypes import dtype_of
from situ._src.framework.graph import scope
from situ._src.ops import check_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, identity, op
from situ._src.ops.control_flow_ops import with_dependencies
from situ._src.ops.random_ops import categorical


def _named(*names):
    return export(
        v1=tuple(part + n for part in ("distributions.", "contrib.distributions.") for n in names)
    )


def _random(name):
    return V1.get(name) or BOTH[name]


def _sum_last(x):
    return op("Sum", x, [-1])


class Distribution:
    """Base class of distributions."""

    event_ndims = 0

    def __init__(self, name, validate_args, allow_nan_stats, **parameters):
        with scope(name, type(self).__name__) as self.name:
            pass
        self.validate_args, self.allow_nan_stats = validate_args, allow_nan_stats
        self.parameters = {
            **parameters,
            "validate_args": validate_args,
            "allow_nan_stats": allow_nan_stats,
            "name": name,
        }

    @contextlib.contextmanager
    def _scope(self, name):
        with scope(self.name), scope(name):
            yield

    def _checked(self, x, *checks):
        """Returns x, after the checks (functions of no argument) if validate_args is True."""
        return with_dependencies([c() for c in checks], x) if self.validate_args else x

    dtype = property(lambda s: s._like().dtype)
    batch_shape = property(lambda s: s._like().shape)

    def _shape(self, sample_shape):
        """The shape of a sample: the wanted one before that of the parameters."""
        want = convert_to_tensor(
            [sample_shape]
            if isinstance(sample_shape, int)
            else list(sample_shape)
            if not hasattr(sample_shape, "dtype")
            else sample_shape,
            "int32",
        )
        want = op("Reshape", want, [-1])
        return op("ConcatV2", [want, op("Shape", self._like())], 0)

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        with self._scope(name):
            return op("Shape", self._like())

    def prob(self, value, name="prob"):
        with self._scope(name):
            return op("Exp", self._log_prob(convert_to_tensor(value)))

    def sample(self, sample_shape=(), seed=None, name="sample"):
        """Draws samples of shape `sample_shape + batch shape`."""
        with self._scope(name):
            return self._sample(sample_shape, seed)

    def log_prob(self, value, name="log_prob"):
        with self._scope(name):
            return self._log_prob(convert_to_tensor(value))

    def cdf(self, value, name="cdf"):
        with self._scope(name):
            return self._cdf(convert_to_tensor(value, self.dtype))

    def _undefined(self, *args):
        raise NotImplementedError(f"{type(self).__name__} does not have this statistic.")

    _cdf = _entropy = _mean = _mode = _variance = _undefined

    def entropy(self, name="entropy"):
        with self._scope(name):
            return self._entropy()

    def mean(self, name="mean"):
        with self._scope(name):
            return self._mean()

    def mode(self, name="mode"):
        with self._scope(name):
            return self._mode()

    def variance(self, name="variance"):
        with self._scope(name):
            return self._variance()

    def stddev(self, name="stddev"):
        with self._scope(name):
            return op("Sqrt", self._variance())

    def kl_divergence(self, other, name="kl_divergence"):
        with self._scope(name):
            return kl_divergence(self, other, self.allow_nan_stats)

    def cross_entropy(self, other, name="cross_entropy"):
        with self._scope(name):
            return self._entropy() + kl_divergence(self, other, self.allow_nan_stats)


def _pair(a, b):
    """Returns both as floating-point tensors of one type."""
    kind = next((dtype_of(v) for v in (a, b) if dtype_of(v) is not None), None) or "float32"
    return convert_to_tensor(a, kind), convert_to_tensor(b, kind)


@_named("Normal")
class Normal(Distribution):
    """Normal distribution.

    Args:
      loc: Mean.
      scale: Standard deviation.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether a KL divergence may be NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    def __init__(
        self,
        loc,
        scale,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Normal",
    ) -> None:
        super().__init__(name, validate_args, allow_nan_stats, loc=loc, scale=scale)
        with scope(self.name):
            self.loc, scale = _pair(loc, scale)
            self.scale = self._checked(scale, lambda: check_ops.assert_positive(scale))

    def _like(self):
        return op("Add", self.loc, op("ZerosLike", self.scale))

    def _sample(self, sample_shape, seed):
        noise = _random("random_normal")(self._shape(sample_shape), dtype=self.loc.dtype, seed=seed)
        return noise * self.scale + self.loc

    def _log_prob(self, value):
        z = (value - self.loc) / self.scale
        return z * z * -0.5 - (op("Log", self.scale) + 0.5 * math.log(2.0 * math.pi))

    def _cdf(self, value):
        z = (value - self.loc) / self.scale
        return 0.5 * op("Erfc", z * -math.sqrt(0.5))

    def _entropy(self):
        return (
            0.5 + 0.5 * math.log(2.0 * math.pi) + op("Log", self.scale * op("OnesLike", self.loc))
        )

    def _mean(self):
        return self._like()

    _mode = _mean

    def _variance(self):
        return op("Square", self.scale * op("OnesLike", self.loc))


@_named("Uniform")
class Uniform(Distribution):
    """Uniform distribution on [low, high).

    Args:
      low: Lower limit.
      high: Upper limit.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether a KL divergence may be NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    def __init__(
        self,
        low=0.0,
        high=1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Uniform",
    ) -> None:
        super().__init__(name, validate_args, allow_nan_stats, low=low, high=high)
        message = "uniform not defined when low >= high."
        with scope(self.name):
            low, self.high = _pair(low, high)
            self.low = self._checked(
                low, lambda: check_ops.assert_less(low, self.high, message=message)
            )

    def _like(self):
        return op("Add", self.low, op("ZerosLike", self.high))

    def range(self, name: str | None = "range"):
        with self._scope(name):
            return self.high - self.low

    def _sample(self, sample_shape, seed):
        noise = _random("random_uniform")(
            self._shape(sample_shape), dtype=self.low.dtype, seed=seed
        )
        return noise * self.range() + self.low

    def _log_prob(self, value):
        inside = op("LogicalAnd", op("GreaterEqual", value, self.low), op("Less", value, self.high))
        size = op("Neg", op("Log", self.range())) + op("ZerosLike", value)
        return op("SelectV2", inside, size, constant(-math.inf, value.dtype))

    def _entropy(self):
        return op("Log", self.range())

    def _mean(self):
        return (self.low + self.high) / 2.0

    def _variance(self):
        return op("Square", self.range()) / 12.0


def _logits_and_probs(logits, probs, to_logits, to_probs, check):
    """Returns both parameters of a distribution of which one is given."""
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if probs is None:
        logits = convert_to_tensor(logits)
        return logits, to_probs(logits)
    probs = check(convert_to_tensor(probs))
    return to_logits(probs), probs


def _integers(value, most):
    """Returns the checks of a sample of integers from 0 to `most` (None: no limit)."""
    checks = [lambda: check_ops.assert_non_negative(value, message="Elements must be non-negative")]
    if value.dtype.is_floating:
        whole = op("Floor", value)
        checks.append(
            lambda: check_ops.assert_equal(value, whole, message="Elements must be integers.")
        )
    if most is not None:
        limit, message = constant(most, value.dtype), f"Elements cannot exceed {most}."
        checks.append(lambda: check_ops.assert_less_equal(value, limit, message=message))
    return checks


@_named("Bernoulli")
class Bernoulli(Distribution):
    """Bernoulli distribution on {0, 1}.

    Args:
      logits: Log-odds of 1; give either logits or probs.
      probs: Probability of 1.
      dtype: Type of the samples.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether a KL divergence may be NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    def __init__(
        self,
        logits=None,
        probs=None,
        dtype: Any = "int32",
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Bernoulli",
    ) -> None:
        super().__init__(name, validate_args, allow_nan_stats, logits=logits, probs=probs)
        with scope(self.name):
            self.logits, self.probs = _logits_and_probs(
                logits,
                probs,
                lambda p: op("Log", p) - op("Log1p", op("Neg", p)),
                lambda x: op("Sigmoid", x),
                self._checked_probs,
            )
        self._kind = dtype

    dtype = property(lambda s: s._kind)

    def _checked_probs(self, probs):
        one, message = constant(1, probs.dtype), "probs has components greater than 1."
        return self._checked(
            probs,
            lambda: check_ops.assert_non_negative(probs),
            lambda: check_ops.assert_less_equal(probs, one, message=message),
        )

    def _like(self):
        return self.logits

    def _sample(self, sample_shape, seed):
        noise = _random("random_uniform")(
            self._shape(sample_shape), dtype=self.probs.dtype, seed=seed
        )
        return cast(op("Less", noise, self.probs), self._kind)

    def _log_prob(self, value):
        value = cast(self._checked(value, *_integers(value, 1)), self.logits.dtype)
        return value * self.logits - op("Softplus", self.logits)

    def _entropy(self):
        return op("Softplus", self.logits) - self.logits * self.probs

    def _mean(self):
        return self.probs

    def _mode(self):
        return cast(op("Greater", self.probs, 0.5), self._kind)

    def _variance(self):
        return self.probs * (1.0 - self.probs)


@_named("Categorical")
class Categorical(Distribution):
    """Categorical distribution; the last dimension of the parameters is the classes.

    Args:
      logits: Unnormalized log probabilities; give either logits or probs.
      probs: Probabilities.
      dtype: Type of the samples.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether a KL divergence may be NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    def __init__(
        self,
        logits=None,
        probs=None,
        dtype: Any = "int32",
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Categorical",
    ) -> None:
        super().__init__(name, validate_args, allow_nan_stats, logits=logits, probs=probs)
        with scope(self.name):
            self.logits, self.probs = _logits_and_probs(
                logits,
                probs,
                lambda p: op("Log", p),
                lambda x: op("Softmax", x),
                self._checked_probs,
            )
        self._kind = dtype

    dtype = property(lambda s: s._kind)
    event_size = property(lambda s: s.logits.shape.as_list()[-1])

    def _checked_probs(self, probs):
        one, message = constant(1, probs.dtype), "probs does not sum to 1."
        return self._checked(
            probs,
            lambda: check_ops.assert_non_negative(probs),
            lambda: check_ops.assert_near(_sum_last(probs), one, message=message),
        )

    def _like(self):
        return op("Max", self.logits, [-1])

    def _sample(self, sample_shape, seed):
        shape = self._shape(sample_shape)
        many = op(
            "Prod",
            op(
                "Reshape",
                convert_to_tensor(
                    [sample_shape] if isinstance(sample_shape, int) else list(sample_shape), "int32"
                ),
                [-1],
            ),
            [0],
        )
        flat = op("Reshape", self.logits, [-1, self.event_size])
        drawn = op("Transpose", categorical(flat, many, seed=seed), [1, 0])
        return cast(op("Reshape", drawn, shape), self._kind)

    def _log_prob(self, value):
        ids = cast(self._checked(value, *_integers(value, None)), "int32")
        ones = op("OneHot", ids, self.event_size, constant(1.0), constant(0.0))
        return _sum_last(ones * op("LogSoftmax", self.logits))

    def _entropy(self):
        logs = op("LogSoftmax", self.logits)
        return op("Neg", _sum_last(op("Exp", logs) * logs))

    def _mode(self):
        return cast(op("ArgMax", self.logits, -1), self._kind)


def _normals(a, b):
    ratio = op("Square", a.scale / b.scale)
    return op("Square", a.loc - b.loc) / (2.0 * op("Square", b.scale)) + 0.5 * (
        ratio - 1.0 - op("Log", ratio)
    )


def _bernoullis(a, b):
    return a.probs * (a.logits - b.logits) + op("Softplus", b.logits) - op("Softplus", a.logits)


def _categoricals(a, b):
    mine, others = op("LogSoftmax", a.logits), op("LogSoftmax", b.logits)
    return _sum_last(op("Exp", mine) * (mine - others))


_DIVERGENCES = {
    (Normal, Normal): _normals,
    (Bernoulli, Bernoulli): _bernoullis,
    (Categorical, Categorical): _categoricals,
}


@_named("kl_divergence", "kl")
def kl_divergence(
    distribution_a, distribution_b, allow_nan_stats: bool = True, name: str | None = None
):
    """Returns the Kullback-Leibler divergence KL(distribution_a || distribution_b).

    Args:
      distribution_a: A Normal, Bernoulli or Categorical.
      distribution_b: A distribution of the same class.
      allow_nan_stats: Whether the result may be NaN; False: InvalidArgumentError.
      name: Name scope of the ops.

    Raises:
      NotImplementedError: If there is no formula for the two classes.
    """
    result = _DIVERGENCES.get((type(distribution_a), type(distribution_b)))
    if result is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for "
            f"distribution_a type {type(distribution_a).__name__} and "
            f"distribution_b type {type(distribution_b).__name__}"
        )
    with scope(name, "KullbackLeibler"):
        kl = result(distribution_a, distribution_b)
        if allow_nan_stats:
            return kl
        nan = "KL calculation between {} and {} returned NaN values (and was called with "
        nan += "allow_nan_stats=False). Values:"
        names = distribution_a.name, distribution_b.name
        numbers = op("LogicalNot", op("IsNan", kl))
        every = op("All", numbers, list(range(kl.shape.ndims or 0)))
        check = check_ops.Assert(every, [nan.format(*names), kl])
        return identity(with_dependencies([check], kl), name="checked_kl")
