# SPDX-License-Identifier: Apache-2.0
"""discrete_distributions.py: distributions of integers and of vectors of tf.distributions."""

from __future__ import annotations

from typing import Any

from situ._src.framework import tensor_shape
from situ._src.framework.api import BOTH, V1
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.legacy.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    RegisterKL,
    derived_seed,
    named,
    random_function,
)
from situ._src.ops import check_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, identity, op
from situ._src.ops.control_flow_ops import with_dependencies
from situ._src.ops.functional_ops import map_fn
from situ._src.ops.random_ops import categorical


def _sum_last(x):
    return op("Sum", x, [-1])


def _column(x):
    return op("ExpandDims", x, -1)


def _lbeta(x):
    return BOTH["math.lbeta"](x)


def _zeros(x):
    return op("ZerosLike", x)


def _function(name):
    return V1.get(name) or BOTH[name]


def _integers(value, most):
    """Returns the checks of a sample of integers from 0 to `most` (None: no limit)."""
    checks = [
        lambda: check_ops.assert_non_negative(value, message="Elements must be non-negative.")
    ]
    if value.dtype.is_floating:
        whole = op("Floor", value)
        checks.append(
            lambda: check_ops.assert_equal(value, whole, message="Elements must be integers.")
        )
    if most is not None:
        limit, message = constant(most, value.dtype), f"Elements cannot exceed {most}."
        checks.append(lambda: check_ops.assert_less_equal(value, limit, message=message))
    return checks


def _counts(x):
    """Returns x, which must be whole numbers that are not negative."""
    checks = [check_ops.assert_non_negative(x, message=f"'{x}' must be non-negative.")]
    if x.dtype.is_floating:
        message = f"'{x}' cannot contain fractional components."
        checks.append(check_ops.assert_equal(x, op("Floor", x), message=message))
    return with_dependencies(checks, x)


class _Discrete(Distribution):
    """A distribution with the parameters logits and probs, of which one is given."""

    logits = property(lambda self: self._logits, doc="The log-odds or log probabilities.")
    probs = property(lambda self: self._probs, doc="The probabilities.")

    def _set_parameters(self, logits, probs, validate_args, of_classes):
        if (logits is None) == (probs is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            self._logits = convert_to_tensor(logits, name="logits")
            self._probs = op("Softmax" if of_classes else "Sigmoid", self._logits)
            return
        probs = convert_to_tensor(probs, name="probs")
        if validate_args:
            one = constant(1, probs.dtype)
            checks = [check_ops.assert_non_negative(probs)]
            if of_classes:
                message = "probs does not sum to 1."
                checks.append(check_ops.assert_near(_sum_last(probs), one, message=message))
            else:
                message = "probs has components greater than 1."
                checks.append(check_ops.assert_less_equal(probs, one, message=message))
            probs = with_dependencies(checks, probs)
        self._probs = probs
        self._logits = op("Log", probs)
        if not of_classes:
            self._logits = self._logits - op("Log1p", op("Neg", probs))


@named("Bernoulli")
class Bernoulli(_Discrete):
    """Bernoulli distribution on {0, 1}.

    Args:
      logits: Log-odds of 1; give either logits or probs.
      probs: Probability of 1.
      dtype: Type of the samples.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    _scalars = ("logits",)

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = "int32",
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Bernoulli",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k != "__class__"}
        with scope(name, "Bernoulli") as full:
            self._set_parameters(logits, probs, validate_args, False)
        super().__init__(
            as_dtype(dtype),
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._logits, self._probs],
            full,
        )

    def _sample_n(self, n, seed):
        kind = self.probs.dtype
        noise = random_function("random_uniform")(self._with_batch(n), dtype=kind, seed=seed)
        return cast(op("Less", noise, self.probs), self.dtype)

    def _log_prob(self, value):
        value = cast(self._checked(value, *_integers(value, 1)), self.logits.dtype)
        logits, value = self.logits + _zeros(value), value + _zeros(self.logits)
        loss = _function("nn.sigmoid_cross_entropy_with_logits")(labels=value, logits=logits)
        return op("Neg", loss)

    def _entropy(self):
        tail = op("Softplus", op("Neg", self.logits))
        return op("Neg", self.logits) * (op("Sigmoid", self.logits) - 1.0) + tail

    def _mean(self):
        return identity(self.probs)

    def _mode(self):
        return cast(op("Greater", self.probs, constant(0.5, self.probs.dtype)), self.dtype)

    def _variance(self):
        return self.probs * (1.0 - self.probs)


@named("Categorical")
class Categorical(_Discrete):
    """Categorical distribution; the last dimension of the parameters is the classes.

    Args:
      logits: Unnormalized log probabilities; give either logits or probs.
      probs: Probabilities.
      dtype: Type of the samples.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    event_size = property(lambda self: self._event_size, doc="The number of classes.")

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = "int32",
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Categorical",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k != "__class__"}
        with scope(name, "Categorical") as full:
            self._set_parameters(logits, probs, validate_args, True)
            shape = tensor_shape.as_shape(self._logits.shape).with_rank_at_least(1)
            known = shape[-1] if shape.rank else None
            size = op("Shape", self._logits)[-1]
            self._event_size = size if known is None else constant(int(known))
        super().__init__(
            as_dtype(dtype),
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._logits, self._probs],
            full,
        )

    def _batch_shape(self):
        return tensor_shape.as_shape(self.logits.shape)[:-1]

    def _batch_shape_tensor(self):
        return op("Shape", op("Max", self.logits, [-1]))

    def _sample_n(self, n, seed):
        flat = op("Reshape", self.logits, op("Pack", [constant(-1), self.event_size]))
        drawn = op("Transpose", categorical(flat, n, seed=seed), [1, 0])
        return cast(op("Reshape", drawn, self._with_batch(n)), self.dtype)

    def _together(self, value, parameters):
        """Returns classes and the parameters of each, of one batch shape."""
        if self.validate_args:
            value = self._checked(value, *_integers(value, None))
        if value.dtype.is_floating:
            value = cast(value, "int32")
        elif not value.dtype.is_integer:
            raise TypeError(
                f"`value` should have integer `dtype` or `self.dtype` ({self.dtype.name})"
            )
        wide = parameters + cast(_column(_zeros(value)), parameters.dtype)
        batch = op("Max", _zeros(wide), [-1])
        return value + cast(batch, value.dtype), wide

    def _log_prob(self, value):
        ids, logits = self._together(value, self.logits)
        loss = _function("nn.sparse_softmax_cross_entropy_with_logits")
        return op("Neg", loss(labels=ids, logits=logits))

    def _cdf(self, value):
        ids, probs = self._together(value, self.probs)
        before = _function("sequence_mask")(ids, self.event_size)
        return _sum_last(op("SelectV2", before, probs, _zeros(probs)))

    def _entropy(self):
        return op("Neg", _sum_last(op("LogSoftmax", self.logits) * self.probs))

    def _mode(self):
        return cast(op("ArgMax", self.logits, -1), self.dtype)


class _Vectors(Distribution):
    """A distribution of vectors, which has one parameter of the shape of a sample."""

    def _like(self):
        raise NotImplementedError

    def _batch_shape(self):
        return tensor_shape.as_shape(self._like().shape).with_rank_at_least(1)[:-1]

    def _event_shape(self):
        return tensor_shape.as_shape(self._like().shape).with_rank_at_least(1)[-1:]

    def _batch_shape_tensor(self):
        return op("Shape", self._like())[:-1]

    def _event_shape_tensor(self):
        return op("Shape", self._like())[-1:]

    def _covariance_of(self, a, b):
        """The negative outer product with the variances on the diagonal."""
        outer = op("BatchMatMulV2", _column(a), op("ExpandDims", b, -2))
        return op("MatrixSetDiag", op("Neg", outer), self._variance())


def _check_concentration(concentration, validate_args):
    if not validate_args:
        return concentration
    message = "Concentration parameter must be positive."
    return with_dependencies(
        [check_ops.assert_positive(concentration, message=message)], concentration
    )


def _log_combinations(n, counts):
    one = constant(1, counts.dtype)
    return op("Lgamma", n + one) - _sum_last(op("Lgamma", counts + one))


@named("Multinomial")
class Multinomial(_Discrete, _Vectors):
    """Multinomial distribution: how often each class occurs in a number of draws.

    Args:
      total_count: Number of draws, of the floating-point type of the samples.
      logits: Unnormalized log probabilities of the classes; give either logits or probs.
      probs: Probabilities of the classes.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    total_count = property(lambda self: self._total_count, doc="The number of draws.")

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Multinomial",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k != "__class__"}
        with scope(name, "Multinomial") as full:
            count = convert_to_tensor(total_count, name="total_count")
            self._total_count = _counts(count) if validate_args else count
            self._set_parameters(logits, probs, validate_args, True)
            self._mean_value = _column(self._total_count) * self._probs
        super().__init__(
            self._probs.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._total_count, self._logits, self._probs],
            full,
        )

    def _like(self):
        return self._mean_value

    def _sample_n(self, n, seed):
        draws = cast(self.total_count, "int32")
        size = self.event_shape_tensor()[0]
        logits = self.logits + _zeros(cast(_column(draws), self.dtype))
        draws = draws + cast(op("Max", _zeros(logits), [-1]), "int32")
        flat = op("Reshape", logits, op("Pack", [constant(-1), size]))

        def one(arguments):
            row, count = arguments
            drawn = random_function("multinomial")(op("ExpandDims", row, 0), count, seed)
            drawn = op("Reshape", drawn, op("Pack", [n, constant(-1)]))
            kind = self.dtype
            hits = op("OneHot", drawn, size, constant(1, kind), constant(0, kind))
            return op("Sum", hits, [-2])

        each = map_fn(one, [flat, n * op("Reshape", draws, [-1])], dtype=self.dtype)
        shape = op("ConcatV2", [self._with_batch(n), self.event_shape_tensor()], 0)
        return op("Reshape", op("Transpose", each, [1, 0, 2]), shape)

    def _valid(self, counts):
        if not self.validate_args:
            return counts
        total, message = self.total_count, "counts must sum to `self.total_count`"
        check = check_ops.assert_equal(total, _sum_last(_counts(counts)), message=message)
        return with_dependencies([check], _counts(counts))

    def _log_prob(self, counts):
        counts = self._valid(counts)
        likelihood = _sum_last(counts * op("LogSoftmax", self.logits))
        return likelihood + _log_combinations(self.total_count, counts)

    def _wide_probs(self):
        return self.probs * _column(op("OnesLike", self.total_count))

    def _mean(self):
        return identity(self._mean_value)

    def _covariance(self):
        return self._covariance_of(self._mean_value, self._wide_probs())

    def _variance(self):
        return self._mean_value - self._mean_value * self._wide_probs()


class _Concentration(_Vectors):
    """A distribution with a vector of concentrations."""

    concentration = property(lambda self: self._concentration, doc="The concentrations.")
    total_concentration = property(
        lambda self: self._total_concentration, doc="The sum of the concentrations."
    )

    def _set_concentration(self, concentration, validate_args):
        value = convert_to_tensor(concentration, name="concentration")
        self._concentration = _check_concentration(value, validate_args)
        self._total_concentration = _sum_last(self._concentration)

    def _like(self):
        return self._concentration

    def _covariance(self):
        x = self._scale() * self._mean()
        return self._covariance_of(x, x)


@named("Dirichlet")
class Dirichlet(_Concentration):
    """Dirichlet distribution of probabilities; the last dimension is the classes.

    Args:
      concentration: Concentration of each class, positive.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "Dirichlet",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k != "__class__"}
        with scope(name, "Dirichlet") as full:
            self._set_concentration(concentration, validate_args)
        super().__init__(
            self._concentration.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._concentration, self._total_concentration],
            full,
        )

    def _sample_n(self, n, seed):
        gamma = random_function("random_gamma")(
            op("Reshape", n, [1]), self.concentration, dtype=self.dtype, seed=seed
        )
        return gamma / op("Sum", gamma, [-1], keep_dims=True)

    def _valid(self, x):
        one, message = constant(1, x.dtype), "sample last-dimension must sum to `1`"
        return self._checked(
            x,
            lambda: check_ops.assert_positive(x, message="samples must be positive"),
            lambda: check_ops.assert_near(one, _sum_last(x), message=message),
        )

    def _log_prob(self, x):
        x = self._valid(x)
        return _sum_last(op("Xlogy", self.concentration - 1.0, x)) - self._log_normalization()

    def _log_normalization(self):
        return _lbeta(self.concentration)

    def _classes(self):
        return cast(self.event_shape_tensor()[0], self.dtype)

    def _entropy(self):
        total = self.total_concentration
        inner = _sum_last((self.concentration - 1.0) * op("Digamma", self.concentration))
        return self._log_normalization() + (total - self._classes()) * op("Digamma", total) - inner

    def _mean(self):
        return self.concentration / _column(self.total_concentration)

    def _scale(self):
        return op("Rsqrt", 1.0 + _column(self.total_concentration))

    def _variance(self):
        scale = self._scale()
        x = scale * self._mean()
        return x * (scale - x)

    def _mode(self):
        one = constant(1, self.dtype)
        mode = (self.concentration - 1.0) / _column(self.total_concentration - self._classes())
        least = op("Min", self.concentration, [-1], keep_dims=True)
        message = "Mode undefined when any concentration <= 1"
        return self._or_nan(
            mode,
            op("Greater", least, one),
            lambda: check_ops.assert_less(one, self.concentration, message=message),
        )


@named("DirichletMultinomial")
class DirichletMultinomial(_Concentration):
    """Multinomial distribution whose probabilities have a Dirichlet distribution.

    Args:
      total_count: Number of draws, of the floating-point type of the samples.
      concentration: Concentration of each class, positive.
      validate_args: Whether to check the parameters (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      name: Name of the ops.
    """

    total_count = property(lambda self: self._total_count, doc="The number of draws.")

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = "DirichletMultinomial",
    ) -> None:
        parameters = {k: v for k, v in locals().items() if k != "__class__"}
        with scope(name, "DirichletMultinomial") as full:
            count = convert_to_tensor(total_count, name="total_count")
            self._total_count = _counts(count) if validate_args else count
            self._set_concentration(concentration, validate_args)
        super().__init__(
            self._concentration.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [self._total_count, self._concentration],
            full,
        )

    def _sample_n(self, n, seed):
        size = self.event_shape_tensor()[0]
        gamma = random_function("random_gamma")(
            op("Reshape", n, [1]), self.concentration, dtype=self.dtype, seed=seed
        )
        logits = op("Reshape", op("Log", gamma), op("Pack", [constant(-1), size]))
        draws = random_function("multinomial")(
            logits,
            cast(self.total_count, "int32"),
            seed=derived_seed(seed, "dirichlet_multinomial"),
        )
        hits = op("OneHot", draws, size, constant(1, self.dtype), constant(0, self.dtype))
        shape = op("ConcatV2", [self._with_batch(n), self.event_shape_tensor()], 0)
        return op("Reshape", op("Sum", hits, [-2]), shape)

    def _log_prob(self, counts):
        if self.validate_args:
            message = "counts last-dimension must sum to `self.total_count`"
            counts = _counts(counts)
            total = _sum_last(counts)
            check = check_ops.assert_equal(self.total_count, total, message=message)
            counts = with_dependencies([check], counts)
        ordered = _lbeta(self.concentration + counts) - _lbeta(self.concentration)
        return ordered + _log_combinations(self.total_count, counts)

    def _mean(self):
        return self.total_count * (self.concentration / _column(self.total_concentration))

    def _scale(self):
        total = _column(self.total_concentration)
        return op("Sqrt", (1.0 + total / self.total_count) / (1.0 + total))

    def _variance(self):
        scale = self._scale()
        x = scale * self._mean()
        return x * (self.total_count * scale - x)


@RegisterKL(Bernoulli, Bernoulli)
def _bernoullis(a, b, name=None):
    with scope(name, "kl_bernoulli_bernoulli"):
        zeros = op("Softplus", op("Neg", b.logits)) - op("Softplus", op("Neg", a.logits))
        ones = op("Softplus", b.logits) - op("Softplus", a.logits)
        mine = op("Sigmoid", a.logits)
        return mine * zeros + op("Sigmoid", op("Neg", a.logits)) * ones


@RegisterKL(Categorical, Categorical)
def _categoricals(a, b, name=None):
    with scope(name, "kl_categorical_categorical"):
        difference = op("LogSoftmax", a.logits) - op("LogSoftmax", b.logits)
        return _sum_last(op("Softmax", a.logits) * difference)


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlets(a, b, name=None):
    with scope(name, "kl_dirichlet_dirichlet"):
        digammas = op("Digamma", a.concentration) - _column(op("Digamma", a.total_concentration))
        inner = _sum_last((a.concentration - b.concentration) * digammas)
        return inner - _lbeta(a.concentration) + _lbeta(b.concentration)
