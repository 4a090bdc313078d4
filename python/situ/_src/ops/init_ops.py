# SPDX-License-Identifier: Apache-2.0
"""init_ops.py: initializers of tf.initializers, tf.keras.initializers and TensorFlow 1."""

from __future__ import annotations

import math

from situ._src.framework import style
from situ._src.framework.api import BOTH, OPS, V2, export
from situ._src.framework.dtypes import as_dtype
from situ._src.ops import random_ops
from situ._src.ops.array_ops import constant, ones, zeros

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import (
        Any,
        DTypeLike,
        ShapeLike,
        TensorLike,
    )


class Initializer:
    """Base class: an initializer is a function of shape and dtype."""

    _IS_FLOATING = False  # the type must be a floating-point one

    def __init__(self, dtype="float32"):
        self.dtype = as_dtype(dtype)
        if self._IS_FLOATING:
            self._check_floating(self.dtype)

    @staticmethod
    def _check_floating(dtype):
        if not dtype.is_floating:
            raise ValueError(
                f"Argument `dtype` is expected to be floating point. Received: {dtype}."
            )

    def __call__(self, shape, dtype=None, partition_info=None, **kwargs):
        """Returns a tensor of initial values."""
        del partition_info  # the values do not depend on the other parts of the variable
        self._check_keywords(kwargs)
        if kwargs.get("partition_shape") is not None:
            shape = kwargs["partition_shape"]
        return self.make(shape, as_dtype(dtype) if dtype is not None else self.dtype)

    _HAS_PARTITIONS = True  # whether values of a part of a variable can be computed alone

    def _check_keywords(self, kwargs):
        """Raises an error for keywords that are unknown or not supported."""
        for keyword in kwargs:
            if keyword not in ("partition_shape", "partition_offset", "layout"):
                raise TypeError(
                    "Keyword argument should be one of ['partition_shape', 'partition_offset', "
                    f"'layout']. Received: {keyword}"
                )
            if keyword != "layout" and not self._HAS_PARTITIONS:
                raise ValueError(
                    f"{type(self).__name__} initializer doesn't support partition-related arguments"
                )

    def get_config(self):
        """Returns the constructor arguments by name."""
        if isinstance(self, _Random):
            return {self.NAMES[0]: self.a, self.NAMES[1]: self.b, "seed": self.seed}
        names = {
            "Constant": ("value",),
            "VarianceScaling": ("scale", "mode", "distribution", "seed"),
            "Identity": ("gain",),
        }.get(type(self).__name__)
        if names is None:
            names = ("seed",) if isinstance(self, VarianceScaling) else ()
        return {n: getattr(self, n) for n in names}

    def _draw(self, kind, shape, first, second, dtype):
        """Draws from a distribution with a stateful op and the seeds of the graph or program."""
        return _STATEFUL[kind](shape, first, second, dtype, seed=self.seed)


_STATEFUL = {
    "normal": random_ops.random_normal,
    "uniform": random_ops.random_uniform,
    "truncated_normal": random_ops.truncated_normal,
}
_STATELESS = {
    "normal": random_ops.stateless_normal,
    "uniform": random_ops.stateless_uniform,
    "truncated_normal": random_ops.stateless_truncated_normal,
}


_SEED_LIMIT = 2**31 - 2  # Keras takes seeds modulo this


class Stateless:
    """Mixin for eager mode: an initializer with a seed returns the same values in every call."""

    def _used_seed(self):
        """Returns the seed of a stateless op, or None to use the seeds of stateful ops."""
        return None if self.seed is None else [self.seed, 0]

    def _draw(self, kind, shape, first, second, dtype):
        seed = None if style.is_graph() else self._used_seed()
        if seed is None:
            return super()._draw(kind, shape, first, second, dtype)
        return _STATELESS[kind](shape, seed, first, second, dtype)


class KerasSeeds(Stateless):
    """Mixin for Keras: an initializer without a seed draws one from Python's `random` when it is
    created. If tf.random.set_seed or SITU_SEED is in effect, that determines the values instead."""

    _seed = _drawn_seed = None

    @property
    def seed(self):
        """The argument `seed`: an integer, a keras.random.SeedGenerator or None."""
        return self._seed

    @seed.setter
    def seed(self, value):
        self._seed = value
        self._drawn_seed = random_ops.weights_seed() if value is None else value

    def _used_seed(self):
        if hasattr(self._drawn_seed, "next"):
            return self._drawn_seed.next()
        return None if self._drawn_seed is None else [self._drawn_seed % _SEED_LIMIT, 0]


@export("zeros_initializer", "initializers.zeros", "keras.initializers.Zeros")
class Zeros(Initializer):
    """Initializer that returns zeros."""

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        return zeros(shape, dtype)


@export("ones_initializer", "initializers.ones", "keras.initializers.Ones")
class Ones(Initializer):
    """Initializer that returns ones."""

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        return ones(shape, dtype)


@export("constant_initializer", "initializers.constant")
class Constant(Initializer):
    """Initializer that returns a constant value."""

    _TAKES_TENSORS = False  # whether the value may be a tensor or variable

    def __init__(
        self,
        value: TensorLike = 0,
        dtype: DTypeLike = "float32",
        verify_shape: bool = False,
        support_partition: bool = False,
    ):
        super().__init__(dtype)
        self._HAS_PARTITIONS = support_partition
        is_tensor = hasattr(value, "get_shape") and not self._TAKES_TENSORS
        if isinstance(value, (dict, set)) or callable(value) or is_tensor:
            raise TypeError(
                f"Invalid type for initial value: {type(value).__name__}. Expected Python scalar, "
                "list or tuple of values, or numpy.ndarray."
            )
        self.value, self.verify_shape = value, verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None, **kwargs):
        if verify_shape is None:
            return super().__call__(shape, dtype, partition_info, **kwargs)
        return Constant(self.value, self.dtype, verify_shape, self._HAS_PARTITIONS)(
            shape, dtype, partition_info, **kwargs
        )

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        if self.verify_shape:
            import numpy

            actual, expected = numpy.shape(self.value), tuple(int(s) for s in shape)
            if actual != expected:
                raise TypeError(f"Expected Tensor's shape: {expected}, but got {actual}.")
        return constant(self.value, dtype, shape)


@export("keras.initializers.Constant")
class KerasConstant(Constant):
    """Initializer that returns a constant value."""

    _TAKES_TENSORS = True

    def __init__(
        self,
        value: TensorLike = 0,
        dtype: DTypeLike = "float32",
        verify_shape: bool = False,
        support_partition: bool = True,
    ):
        super().__init__(value, dtype, verify_shape, support_partition)


KerasConstant.__name__ = KerasConstant.__qualname__ = "Constant"  # of configurations


class _Random(Initializer):
    """Base class of initializers that draw from a distribution with two parameters."""

    def __init__(self, first=None, second=None, seed=None, dtype="float32", **kwargs):
        super().__init__(dtype)
        parameters = [kwargs.pop(n, v) for n, v in zip(self.NAMES, (first, second))]
        if kwargs:
            raise TypeError(f"unexpected argument {next(iter(kwargs))!r}")
        self.a, self.b = (d if v is None else v for v, d in zip(parameters, self.DEFAULTS))
        self.seed = seed

    def make(self, shape, dtype):
        if self._IS_FLOATING:
            self._check_floating(dtype)
        return self._draw(self.KIND, shape, self.a, self.b, dtype)


@export(v1=("random_normal_initializer", "initializers.random_normal"))
class RandomNormal(_Random):
    """Initializer that draws from a normal distribution."""

    _IS_FLOATING = True
    NAMES, DEFAULTS = ("mean", "stddev"), (0.0, 1.0)
    KIND = "normal"


@export(v1=("truncated_normal_initializer", "initializers.truncated_normal"))
class TruncatedNormal(_Random):
    """Initializer that draws from a truncated normal distribution."""

    _IS_FLOATING = True
    NAMES, DEFAULTS = ("mean", "stddev"), (0.0, 1.0)
    KIND = "truncated_normal"


@export(v1=("random_uniform_initializer", "initializers.random_uniform"))
class RandomUniform(_Random):
    """Initializer that draws from a uniform distribution."""

    NAMES, DEFAULTS = ("minval", "maxval"), (0, None)
    KIND = "uniform"


def _export_v2(base, low, *plain, keras=()):
    """Exports a variant with the default parameters of Keras and TensorFlow 2."""
    kept = {"DEFAULTS": (low, 0.05), "__doc__": base.__doc__}
    export("keras.initializers." + base.__name__, v2=keras)(
        type(base.__name__, (KerasSeeds, base), dict(kept))
    )
    if plain:
        export(v2=plain)(type(base.__name__, (Stateless, base), kept))


_export_v2(RandomNormal, 0.0, "random_normal_initializer", keras="initializers.random_normal")
_export_v2(TruncatedNormal, 0.0, keras="initializers.truncated_normal")
_export_v2(RandomUniform, -0.05, "random_uniform_initializer", keras="initializers.random_uniform")


@export(v1=("variance_scaling_initializer", "initializers.variance_scaling"))
class VarianceScaling(Initializer):
    """Initializer whose variance depends on the shape of the weights."""

    _IS_FLOATING = True

    input_axes: Any = None  # if given, the axes of input and output units of the weights
    output_axes: Any = None

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = "float32",
    ):
        super().__init__(dtype)
        if scale <= 0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                "Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: "
                f"{mode}"
            )
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def __call__(self, shape, dtype=None, partition_info=None, **kwargs):
        self._check_keywords(kwargs)
        whole = shape if partition_info is None else partition_info.full_shape
        if kwargs.get("partition_shape") is not None:
            shape = kwargs["partition_shape"]
        dtype = as_dtype(dtype) if dtype is not None else self.dtype
        return self._scaled([int(s) for s in shape], [int(s) for s in whole], dtype)

    def _fans(self, sizes):
        """Returns the numbers of input and output units of weights."""
        if self.input_axes is not None and self.output_axes is not None:
            return (
                math.prod(sizes[a] for a in axes) for axes in (self.input_axes, self.output_axes)
            )
        field = math.prod(sizes[:-2]) if len(sizes) > 2 else 1
        fan_in = field * sizes[-2] if len(sizes) > 1 else sizes[0] if sizes else 1
        return fan_in, field * sizes[-1] if sizes else 1

    def _scaled(self, shape, sizes, dtype):
        """Draws values of a shape; `sizes` is the shape of the whole variable, which determines
        the variance."""
        fan_in, fan_out = self._fans(sizes)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        scale = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return self._draw("uniform", shape, -limit, limit, dtype)
        if self.distribution in ("normal", "truncated_normal"):
            return self._draw(
                "truncated_normal", shape, 0.0, math.sqrt(scale) / 0.87962566103423978, dtype
            )
        return self._draw("normal", shape, 0.0, math.sqrt(scale), dtype)


@export("keras.initializers.VarianceScaling", v2="initializers.variance_scaling")
class KerasVarianceScaling(KerasSeeds, VarianceScaling):
    """Initializer whose variance depends on the shape of the weights."""


KerasVarianceScaling.__name__ = "VarianceScaling"


def _export_scaling(name, scale, mode, distribution, *v1):
    """Defines and exports an initializer of variance scaling, for TensorFlow 1 and Keras."""

    def begin(self, seed=None, dtype="float32"):
        VarianceScaling.__init__(self, scale, mode, distribution, seed, dtype)

    small = "initializers." + "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip(
        "_"
    )
    result = export(v1=(small, *v1))(type(name, (VarianceScaling,), {"__init__": begin}))
    export("keras.initializers." + name, v2=small)(
        type(name, (KerasSeeds, VarianceScaling), {"__init__": begin})
    )
    return result


GlorotUniform = _export_scaling(
    "GlorotUniform", 1.0, "fan_avg", "uniform", "glorot_uniform_initializer"
)
_export_scaling("GlorotNormal", 1.0, "fan_avg", "truncated_normal", "glorot_normal_initializer")
_export_scaling("HeNormal", 2.0, "fan_in", "truncated_normal")
_export_scaling("LecunNormal", 1.0, "fan_in", "truncated_normal")
_export_scaling("LecunUniform", 1.0, "fan_in", "uniform")
_export_scaling("HeUniform", 2.0, "fan_in", "uniform")


def _export_aliases():
    """Exports tf.initializers.NAME for Keras initializers, also in snake case."""

    known = {n.rsplit(".", 1)[1]: c for n, c in BOTH.items() if n.startswith("keras.initializers.")}
    for name, thing in known.items():
        V2["initializers." + name] = thing
        small = "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
        BOTH.setdefault("keras.initializers." + small, thing)


_export_aliases()


@export("keras.initializers.Identity", v1="initializers.identity")
class Identity(Initializer):
    """Initializer that returns a multiple of the identity matrix."""

    _IS_FLOATING = True

    def __init__(self, gain: TensorLike = 1.0, dtype: DTypeLike = "float32"):
        super().__init__(dtype)
        self.gain = gain

    _HAS_PARTITIONS = False

    def __call__(self, shape, dtype=None, partition_info=None, **kwargs):
        if partition_info is None:
            return super().__call__(shape, dtype, **kwargs)
        whole = super().__call__(partition_info.full_shape, dtype, **kwargs)
        return OPS["Slice"](whole, list(partition_info.var_offset), [int(s) for s in shape])

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        import numpy

        sizes: Any = [int(s) for s in shape]
        if len(sizes) != 2:
            raise ValueError(
                "The tensor to initialize, specified by argument `shape` must be two-dimensional. "
                f"Received shape={shape}"
            )
        if not dtype.is_floating and not dtype.is_complex:
            raise ValueError(
                f"Argument `dtype` is expected to be floating point. Received: {dtype}."
            )
        return constant(numpy.eye(*sizes) * self.gain, dtype)


@export(v1=("uniform_unit_scaling_initializer", "initializers.uniform_unit_scaling"))
class UniformUnitScaling(Initializer):
    """Initializer that draws uniform values that keep the scale of the inputs."""

    _IS_FLOATING = True

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = "float32"):
        super().__init__(dtype)
        self.factor, self.seed = factor, seed

    def __call__(self, shape, dtype=None, partition_info=None):
        whole = shape if partition_info is None else partition_info.full_shape
        size = math.prod([int(s) for s in whole][:-1]) or 1
        limit = math.sqrt(3 / max(1.0, size)) * self.factor
        return self._draw(
            "uniform", shape, -limit, limit, self.dtype if dtype is None else as_dtype(dtype)
        )
