# SPDX-License-Identifier: Apache-2.0
"""distributions.py: tf.distributions: samples, log probabilities, entropies and KL divergences."""

from __future__ import annotations

import math
from typing import Any

from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.dtypes import dtype_of
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
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

    def __init__(self, name, **parameters):
        self.name = name
        self.parameters = parameters

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

    def batch_shape_tensor(self, name=None):
        return op("Shape", self._like())

    def prob(self, value, name=None):
        with scope(name, "prob"):
            return op("Exp", self.log_prob(value))

    def sample(self, sample_shape=(), seed=None, name=None):
        """Draws samples of shape `sample_shape + batch shape`."""
        with scope(name, "sample"):
            return self._sample(sample_shape, seed)

    def log_prob(self, value, name=None):
        with scope(name, "log_prob"):
            return self._log_prob(convert_to_tensor(value))

    def stddev(self, name=None):
        return op("Sqrt", self.variance())

    def kl_divergence(self, other, name=None):
        return kl_divergence(self, other, name=name)

    def cross_entropy(self, other, name=None):
        return self.entropy() + kl_divergence(self, other)


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
      validate_args: Has no effect: parameters are not checked.
      allow_nan_stats: Has no effect: undefined statistics are NaN.
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
        super().__init__(name, loc=loc, scale=scale)
        self.loc, self.scale = _pair(loc, scale)

    def _like(self):
        return op("Add", self.loc, op("ZerosLike", self.scale))

    def _sample(self, sample_shape, seed):
        noise = _random("random_normal")(self._shape(sample_shape), dtype=self.loc.dtype, seed=seed)
        return noise * self.scale + self.loc

    def _log_prob(self, value):
        z = (value - self.loc) / self.scale
        return z * z * -0.5 - (op("Log", self.scale) + 0.5 * math.log(2.0 * math.pi))

    def cdf(self, value, name: str | None = None):
        z = (convert_to_tensor(value, self.dtype) - self.loc) / self.scale
        return 0.5 * op("Erfc", z * -math.sqrt(0.5))

    def entropy(self, name: str | None = None):
        return (
            0.5 + 0.5 * math.log(2.0 * math.pi) + op("Log", self.scale * op("OnesLike", self.loc))
        )

    def mean(self, name: str | None = None):
        return self._like()

    mode = mean

    def variance(self, name: str | None = None):
        return op("Square", self.scale * op("OnesLike", self.loc))


@_named("Uniform")
class Uniform(Distribution):
    """Uniform distribution on [low, high).

    Args:
      low: Lower limit.
      high: Upper limit.
      validate_args: Has no effect: parameters are not checked.
      allow_nan_stats: Has no effect: undefined statistics are NaN.
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
        super().__init__(name, low=low, high=high)
        self.low, self.high = _pair(low, high)

    def _like(self):
        return op("Add", self.low, op("ZerosLike", self.high))

    def range(self, name: str | None = None):
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

    def entropy(self, name: str | None = None):
        return op("Log", self.range())

    def mean(self, name: str | None = None):
        return (self.low + self.high) / 2.0

    def variance(self, name: str | None = None):
        return op("Square", self.range()) / 12.0


def _logits(logits, probs, log):
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")
    return convert_to_tensor(logits if logits is not None else log(convert_to_tensor(probs)))


@_named("Bernoulli")
class Bernoulli(Distribution):
    """Bernoulli distribution on {0, 1}.

    Args:
      logits: Log-odds of 1; give either logits or probs.
      probs: Probability of 1.
      dtype: Type of the samples.
      validate_args: Has no effect: parameters are not checked.
      allow_nan_stats: Has no effect: undefined statistics are NaN.
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
        super().__init__(name, logits=logits, probs=probs)
        self.logits = _logits(logits, probs, lambda p: op("Log", p) - op("Log1p", op("Neg", p)))
        self.probs = op("Sigmoid", self.logits) if probs is None else convert_to_tensor(probs)
        self._kind = dtype

    dtype = property(lambda s: s._kind)

    def _like(self):
        return self.logits

    def _sample(self, sample_shape, seed):
        noise = _random("random_uniform")(
            self._shape(sample_shape), dtype=self.probs.dtype, seed=seed
        )
        return cast(op("Less", noise, self.probs), self._kind)

    def _log_prob(self, value):
        value = cast(value, self.logits.dtype)
        return value * self.logits - op("Softplus", self.logits)

    def entropy(self, name: str | None = None):
        return op("Softplus", self.logits) - self.logits * self.probs

    def mean(self, name: str | None = None):
        return self.probs

    def mode(self, name: str | None = None):
        return cast(op("Greater", self.probs, 0.5), self._kind)

    def variance(self, name: str | None = None):
        return self.probs * (1.0 - self.probs)


@_named("Categorical")
class Categorical(Distribution):
    """Categorical distribution; the last dimension of the parameters is the classes.

    Args:
      logits: Unnormalized log probabilities; give either logits or probs.
      probs: Probabilities.
      dtype: Type of the samples.
      validate_args: Has no effect: parameters are not checked.
      allow_nan_stats: Has no effect: undefined statistics are NaN.
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
        super().__init__(name, logits=logits, probs=probs)
        self.logits = _logits(logits, probs, lambda p: op("Log", p))
        self.probs = op("Softmax", self.logits) if probs is None else convert_to_tensor(probs)
        self._kind = dtype

    dtype = property(lambda s: s._kind)
    event_size = property(lambda s: s.logits.shape.as_list()[-1])

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
        ids = cast(value, "int32")
        ones = op("OneHot", ids, self.event_size, constant(1.0), constant(0.0))
        return _sum_last(ones * op("LogSoftmax", self.logits))

    def entropy(self, name: str | None = None):
        logs = op("LogSoftmax", self.logits)
        return op("Neg", _sum_last(op("Exp", logs) * logs))

    def mode(self, name: str | None = None):
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
      allow_nan_stats: Has no effect.
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
        return result(distribution_a, distribution_b)
