# SPDX-License-Identifier: Apache-2.0
"""distribution.py: the base class of tf.distributions, and divergences of pairs of classes."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from typing import Any

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.dtypes import as_dtype, dtype_of
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops import check_ops
from situ._src.ops.array_ops import constant, convert_to_tensor, identity, op
from situ._src.ops.control_flow_ops import with_dependencies


def named(*names: str) -> Any:
    """Decorates a class or function of tf.distributions and tf.contrib.distributions."""
    return export(
        v1=tuple(part + n for part in ("distributions.", "contrib.distributions.") for n in names)
    )


def random_function(name: str) -> Any:
    """Returns a random function of TensorFlow 1, such as "random_normal"."""
    return V1.get(name) or BOTH[name]


def derived_seed(seed: int | None, salt: str) -> int | None:
    """Returns the seed of a second op of a distribution."""
    if seed is None:
        return None
    digest = hashlib.md5((str(seed) + salt).encode("utf-8")).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


@named("ReparameterizationType")
class ReparameterizationType:
    """Whether gradients go through the samples of a distribution to its parameters."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")
for _part in ("distributions.", "contrib.distributions."):
    V1[_part + "FULLY_REPARAMETERIZED"] = FULLY_REPARAMETERIZED
    V1[_part + "NOT_REPARAMETERIZED"] = NOT_REPARAMETERIZED


def _first(*functions):
    """Returns the result of the first function that is implemented."""
    missing = None
    for function in functions:
        try:
            return function()
        except NotImplementedError as error:
            missing = missing or error
    raise missing


def _unknown(name):
    """Returns a statistic that a subclass may define."""

    def call(self: Any, *args: Any) -> Any:
        raise NotImplementedError(f"{name} is not implemented: {type(self).__name__}")

    return call


def _statistic(name, text):
    """Returns a public method of no argument around a method `_name`."""

    def call(self: Any, name: str = name) -> Any:
        with self._scope(name):
            return getattr(self, "_call_" + call.__name__, getattr(self, "_" + call.__name__))()

    call.__name__, call.__doc__ = name, text
    return call


def _of_value(name, text):
    """Returns a public method of a value around a method `_name`."""

    def call(self: Any, value: Any, name: str = name) -> Any:
        with self._scope(name):
            value = self._converted(value)
            own = getattr(self, "_call_" + call.__name__, getattr(self, "_" + call.__name__))
            return own(value)

    call.__name__, call.__doc__ = name, text
    return call


@named("Distribution")
class Distribution:
    """Base class of distributions: a subclass defines `_sample_n`, `_log_prob`, `_batch_shape` and
    other methods with an underscore, and gets the public methods.

    Args:
      dtype: The type of the samples.
      reparameterization_type: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED.
      validate_args: Whether to check parameters and values (InvalidArgumentError).
      allow_nan_stats: Whether undefined statistics are NaN; False: InvalidArgumentError.
      parameters: The arguments of the constructor, a dictionary.
      graph_parents: Tensors of the parameters (optional).
      name: A name for the operations (optional).
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Any = None,
        name: str | None = None,
    ) -> None:
        for i, parent in enumerate(graph_parents or ()):
            if dtype_of(parent) is None:
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        if not name or not name.endswith("/"):
            with scope(name or type(self).__name__) as name:
                pass
        self._name = name
        self._dtype = as_dtype(dtype) if dtype is not None else None
        self._reparameterization_type = reparameterization_type
        self._validate_args, self._allow_nan_stats = validate_args, allow_nan_stats
        self._parameters = parameters or {}

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    reparameterization_type = property(lambda self: self._reparameterization_type)
    validate_args = property(lambda self: self._validate_args)
    allow_nan_stats = property(lambda self: self._allow_nan_stats)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {k: v for k, v in self._parameters.items() if k != "self" and not k.startswith("__")}

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """Returns a distribution with the same arguments, some of them replaced."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> Any:
        """Returns the shapes of the parameters for samples of a shape, as tensors by name."""
        with scope(name):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> Any:
        """Returns the shapes of the parameters for samples of a shape, as TensorShapes by name."""
        if isinstance(sample_shape, tensor_shape.TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        result = {}
        for key, shape in cls.param_shapes(sample_shape).items():
            known = constant_value(shape)
            if known is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            result[key] = tensor_shape.TensorShape([int(n) for n in known])
        return result

    @classmethod
    def _param_shapes(cls, sample_shape):
        """The parameters of a scalar distribution have the shape of the samples."""
        names = getattr(cls, "_scalars", None)
        if not names:
            raise NotImplementedError("_param_shapes not implemented")
        return {name: convert_to_tensor(sample_shape, "int32") for name in names}

    @contextlib.contextmanager
    def _scope(self, name):
        with scope(self.name), scope(name):
            yield

    def _checked(self, x, *checks):
        """Returns x, after the checks (functions of no argument) if validate_args is True."""
        return with_dependencies([c() for c in checks], x) if self.validate_args else x

    def _or_nan(self, x, is_defined, *checks):
        """Returns x where it is defined, elsewhere NaN; or fails if NaN is not allowed."""
        if self.allow_nan_stats:
            return op("SelectV2", is_defined, x, constant(numpy.nan, x.dtype))
        return with_dependencies([c() for c in checks], x)

    def _converted(self, value):
        if dtype_of(value) is None and self.dtype is not None:
            try:
                return convert_to_tensor(value, self.dtype)
            except (TypeError, ValueError):
                pass
        return convert_to_tensor(value)

    # Shapes: a scalar distribution declares the tensors that broadcast to its batch shape.

    def _batch_shape(self):
        result = tensor_shape.TensorShape([])
        for name in self._scalars:
            shape = getattr(self, name).shape
            result = BOTH["broadcast_static_shape"](result, shape)
        return result

    def _batch_shape_tensor(self):
        shapes = [op("Shape", getattr(self, name)) for name in self._scalars]
        result = shapes[0]
        for shape in shapes[1:]:
            result = BOTH["broadcast_dynamic_shape"](result, shape)
        return result

    def _event_shape(self):
        return tensor_shape.TensorShape([])

    def _event_shape_tensor(self):
        return constant([], "int32")

    @property
    def batch_shape(self) -> Any:
        """The static shape of a batch of distributions."""
        return tensor_shape.as_shape(self._batch_shape())

    @property
    def event_shape(self) -> Any:
        """The static shape of one sample of one distribution."""
        return tensor_shape.as_shape(self._event_shape())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """Returns the shape of a batch of distributions."""
        with self._scope(name):
            if self.batch_shape.is_fully_defined():
                return constant(self.batch_shape.as_list(), "int32")
            return self._batch_shape_tensor()

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Any:
        """Returns the shape of one sample of one distribution."""
        with self._scope(name):
            if self.event_shape.is_fully_defined():
                return constant(self.event_shape.as_list(), "int32")
            return self._event_shape_tensor()

    @staticmethod
    def _is_scalar(static, dynamic):
        if static.ndims is not None:
            return convert_to_tensor(static.ndims == 0)
        return op("Equal", op("Size", dynamic()), constant(0))

    def is_scalar_event(self, name: str = "is_scalar_event") -> Any:
        """Returns whether the event shape is []."""
        with self._scope(name):
            return self._is_scalar(self.event_shape, self.event_shape_tensor)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Any:
        """Returns whether the batch shape is []."""
        with self._scope(name):
            return self._is_scalar(self.batch_shape, self.batch_shape_tensor)

    # Samples

    def _with_batch(self, n):
        """The shape of n samples of a batch."""
        return op("ConcatV2", [op("Reshape", n, [1]), self.batch_shape_tensor()], 0)

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Any:
        """Draws samples of shape `sample_shape + batch shape + event shape`."""
        with self._scope(name):
            wanted = convert_to_tensor(sample_shape, "int32")
            rank = tensor_shape.as_shape(wanted.shape).rank
            if rank is not None and rank > 1:
                raise ValueError("Input is neither scalar nor vector.")
            wanted = op("Reshape", wanted, [-1])
            samples = self._sample_n(op("Prod", wanted, 0), seed)
            rest = op("Slice", op("Shape", samples), [1], [-1])
            result = op("Reshape", samples, op("ConcatV2", [wanted, rest], 0))
            known = constant_value(wanted)
            if known is not None and hasattr(result, "graph"):
                shape = tensor_shape.TensorShape([int(size) for size in known])
                result.set_shape(shape.concatenate(self.batch_shape).concatenate(self.event_shape))
            return result

    _sample_n = _unknown("sample_n")

    # Functions of a value

    _log_prob, _prob, _log_cdf, _cdf = map(_unknown, ("log_prob", "prob", "log_cdf", "cdf"))
    _survival_function = _unknown("survival_function")
    _log_survival_function = _unknown("log_survival_function")
    _quantile = _unknown("quantile")

    def _call_log_prob(self, x):
        return _first(lambda: self._log_prob(x), lambda: op("Log", self._prob(x)))

    def _call_prob(self, x):
        return _first(lambda: self._prob(x), lambda: op("Exp", self._log_prob(x)))

    def _call_log_cdf(self, x):
        return _first(lambda: self._log_cdf(x), lambda: op("Log", self._cdf(x)))

    def _call_cdf(self, x):
        return _first(lambda: self._cdf(x), lambda: op("Exp", self._log_cdf(x)))

    def _call_survival_function(self, x):
        return _first(lambda: self._survival_function(x), lambda: 1.0 - self.cdf(x))

    def _call_log_survival_function(self, x):
        return _first(
            lambda: self._log_survival_function(x), lambda: op("Log1p", op("Neg", self.cdf(x)))
        )

    log_prob = _of_value("log_prob", "Returns the logarithm of the probability or density.")
    prob = _of_value("prob", "Returns the probability or density of a value.")
    log_cdf = _of_value("log_cdf", "Returns the logarithm of the probability of at most a value.")
    cdf = _of_value("cdf", "Returns the probability of at most a value.")
    survival_function = _of_value(
        "survival_function", "Returns the probability of more than a value."
    )
    log_survival_function = _of_value(
        "log_survival_function", "Returns the logarithm of the probability of more than a value."
    )
    quantile = _of_value("quantile", "Returns the value of which `cdf` is a probability.")

    # Statistics

    _entropy, _mean, _mode = map(_unknown, ("entropy", "mean", "mode"))
    _variance, _stddev, _covariance = map(_unknown, ("variance", "stddev", "covariance"))

    def _call_variance(self):
        return _first(self._variance, lambda: op("Square", self._stddev()))

    def _call_stddev(self):
        return _first(self._stddev, lambda: op("Sqrt", self._variance()))

    entropy = _statistic("entropy", "Returns the entropy in nats.")
    mean = _statistic("mean", "Returns the mean.")
    mode = _statistic("mode", "Returns the mode.")
    variance = _statistic("variance", "Returns the variance.")
    stddev = _statistic("stddev", "Returns the standard deviation.")
    covariance = _statistic("covariance", "Returns the covariance of the elements of an event.")

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Any:
        """Returns the Kullback-Leibler divergence from another distribution."""
        with self._scope(name):
            return kl_divergence(self, other, self.allow_nan_stats)

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> Any:
        """Returns the cross entropy with another distribution."""
        with self._scope(name):
            return self.entropy() + kl_divergence(self, other, self.allow_nan_stats)

    def __str__(self) -> str:
        parts = [
            f", {key}={shape}"
            for key, shape in (("batch_shape", self.batch_shape), ("event_shape", self.event_shape))
            if shape.ndims is not None
        ]
        return (
            f'tfp.distributions.{type(self).__name__}("{self.name}"{"".join(parts)}, '
            f"dtype={self.dtype.name})"
        )

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' "
            f"batch_shape={self.batch_shape} event_shape={self.event_shape} "
            f"dtype={self.dtype.name}>"
        )


_DIVERGENCES: dict[tuple[type, type], Any] = {}


@named("RegisterKL")
class RegisterKL:
    """Decorates a function of (a, b, name) that returns the divergence of two classes.

    Args:
      dist_cls_a: The class of the first distribution.
      dist_cls_b: The class of the second distribution.
    """

    def __init__(self, dist_cls_a: Any, dist_cls_b: Any) -> None:
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn: Any) -> Any:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _DIVERGENCES:
            a, b = (cls.__name__ for cls in self._key)
            raise ValueError(
                f"KL({a} || {b}) has already been registered to: {_DIVERGENCES[self._key]}"
            )
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn


def _registered(type_a, type_b):
    """Returns the function of the nearest pair of base classes, or None."""
    found = [
        (i + k, (i, k), _DIVERGENCES[a, b])
        for i, a in enumerate(inspect.getmro(type_a))
        for k, b in enumerate(inspect.getmro(type_b))
        if (a, b) in _DIVERGENCES
    ]
    return min(found, key=lambda item: item[:2])[2] if found else None


@named("kl_divergence", "kl")
def kl_divergence(
    distribution_a: Any,
    distribution_b: Any,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Any:
    """Returns the Kullback-Leibler divergence KL(distribution_a || distribution_b).

    Args:
      distribution_a: A distribution.
      distribution_b: A distribution.
      allow_nan_stats: Whether the result may be NaN; False: InvalidArgumentError.
      name: Name scope of the ops.

    Raises:
      NotImplementedError: If no function is registered for the classes or bases of them.
    """
    function = _registered(type(distribution_a), type(distribution_b))
    if function is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for "
            f"distribution_a type {type(distribution_a).__name__} and "
            f"distribution_b type {type(distribution_b).__name__}"
        )
    with scope(None, "KullbackLeibler"):
        kl = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return kl
        nan = "KL calculation between {} and {} returned NaN values (and was called with "
        nan += "allow_nan_stats=False). Values:"
        names = distribution_a.name, distribution_b.name
        kl = convert_to_tensor(kl)
        numbers = op("LogicalNot", op("IsNan", kl))
        every = op("All", numbers, list(range(kl.shape.ndims or 0)))
        check = check_ops.Assert(every, [nan.format(*names), kl])
        return identity(with_dependencies([check], kl), name="checked_kl")
