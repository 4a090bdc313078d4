# SPDX-License-Identifier: Apache-2.0
"""initializers.py: what variables begin with."""
import math

from situ._lib import random_ops
from situ._lib.api import export
from situ._lib.array_ops import constant, ones, zeros
from situ._lib.dtypes import as_dtype


class Initializer:
    """A function of shape and dtype."""

    def __init__(self, dtype="float32"):
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None, **words):
        return self.make(shape, as_dtype(dtype) if dtype is not None else self.dtype)

    def get_config(self):
        return dict(self.__dict__)


@export("zeros_initializer", "initializers.zeros", "keras.initializers.Zeros")
class Zeros(Initializer):
    def make(self, shape, dtype):
        return zeros(shape, dtype)


@export("ones_initializer", "initializers.ones", "keras.initializers.Ones")
class Ones(Initializer):
    def make(self, shape, dtype):
        return ones(shape, dtype)


@export("constant_initializer", "initializers.constant", "keras.initializers.Constant")
class Constant(Initializer):
    def __init__(self, value=0, dtype="float32", verify_shape=False):
        super().__init__(dtype)
        self.value, self.verify_shape = value, verify_shape

    def make(self, shape, dtype):
        if self.verify_shape:
            import numpy
            have, want = numpy.shape(self.value), tuple(int(s) for s in shape)
            if have != want:
                raise TypeError(f"Expected Tensor's shape: {want}, but got {have}.")
        return constant(self.value, dtype, shape)


class _Random(Initializer):
    def __init__(self, first=None, second=None, seed=None, dtype="float32", **words):
        super().__init__(dtype)
        given = [words.pop(n, v) for n, v in zip(self.NAMES, (first, second))]
        if words:
            raise TypeError(f"unexpected argument {next(iter(words))!r}")
        self.a, self.b = (d if v is None else v for v, d in zip(given, self.DEFAULTS))
        self.seed = seed

    def make(self, shape, dtype):
        return type(self).function(shape, self.a, self.b, dtype, seed=self.seed)


@export(v1=("random_normal_initializer", "initializers.random_normal"))
class RandomNormal(_Random):
    NAMES, DEFAULTS = ("mean", "stddev"), (0.0, 1.0)
    function = staticmethod(random_ops.random_normal)


@export("initializers.truncated_normal", v1="truncated_normal_initializer")
class TruncatedNormal(_Random):
    NAMES, DEFAULTS = ("mean", "stddev"), (0.0, 1.0)
    function = staticmethod(random_ops.truncated_normal)


@export(v1=("random_uniform_initializer", "initializers.random_uniform"))
class RandomUniform(_Random):
    NAMES, DEFAULTS = ("minval", "maxval"), (0, None)
    function = staticmethod(random_ops.random_uniform)


def _narrow(base, low, *more):
    """The same with Keras's spread."""
    return export("keras.initializers." + base.__name__, v2=more)(
        type(base.__name__, (base,), {"DEFAULTS": (low, 0.05), "__doc__": base.__doc__}))


_narrow(RandomNormal, 0.0, "random_normal_initializer", "initializers.random_normal")
_narrow(TruncatedNormal, 0.0)
_narrow(RandomUniform, -0.05, "random_uniform_initializer", "initializers.random_uniform")


@export("initializers.variance_scaling", "keras.initializers.VarianceScaling",
        v1="variance_scaling_initializer")
class VarianceScaling(Initializer):
    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None,
                 dtype="float32"):
        super().__init__(dtype)
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def make(self, shape, dtype):
        sizes = [int(s) for s in shape]
        field = math.prod(sizes[:-2]) if len(sizes) > 2 else 1
        fan_in = field * sizes[-2] if len(sizes) > 1 else sizes[0] if sizes else 1
        fan_out = field * sizes[-1] if sizes else 1
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        scale = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return random_ops.random_uniform(sizes, -limit, limit, dtype, seed=self.seed)
        if self.distribution in ("normal", "truncated_normal"):
            return random_ops.truncated_normal(sizes, 0.0, math.sqrt(scale) / .87962566103423978,
                                               dtype, seed=self.seed)
        return random_ops.random_normal(sizes, 0.0, math.sqrt(scale), dtype, seed=self.seed)


def _scaling(name, scale, mode, distribution, *names, v1=()):
    @export(*names, v1=v1)
    class Scaled(VarianceScaling):
        def __init__(self, seed=None, dtype="float32"):
            super().__init__(scale, mode, distribution, seed, dtype)
    Scaled.__name__ = name
    return Scaled


GlorotUniform = _scaling("GlorotUniform", 1.0, "fan_avg", "uniform",
                         "initializers.glorot_uniform", "keras.initializers.GlorotUniform",
                         v1="glorot_uniform_initializer")
_scaling("GlorotNormal", 1.0, "fan_avg", "truncated_normal", "initializers.glorot_normal",
         "keras.initializers.GlorotNormal", v1="glorot_normal_initializer")
_scaling("HeNormal", 2.0, "fan_in", "truncated_normal", "initializers.he_normal",
         "keras.initializers.HeNormal")
_scaling("LecunNormal", 1.0, "fan_in", "truncated_normal", "initializers.lecun_normal",
         "keras.initializers.LecunNormal")
_scaling("LecunUniform", 1.0, "fan_in", "uniform", "initializers.lecun_uniform",
         "keras.initializers.LecunUniform")
_scaling("HeUniform", 2.0, "fan_in", "uniform", "initializers.he_uniform",
         "keras.initializers.HeUniform")


def _aliases():
    """tf.initializers.RandomNormal is tf.keras.initializers.RandomNormal; small letters too."""
    from situ._lib.api import BOTH, V2
    known = {n.rsplit(".", 1)[1]: c for n, c in BOTH.items()
             if n.startswith("keras.initializers.")}
    for name, thing in known.items():
        V2["initializers." + name] = thing
        small = "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")
        BOTH.setdefault("keras.initializers." + small, thing)


_aliases()


@export("keras.initializers.Identity", v1="initializers.identity")
class Identity(Initializer):
    """A matrix with a number on its diagonal."""

    def __init__(self, gain=1.0, dtype="float32"):
        super().__init__(dtype)
        self.gain = gain

    def make(self, shape, dtype):
        import numpy
        return constant(numpy.eye(*[int(s) for s in shape]) * self.gain, dtype)


@export(v1=("uniform_unit_scaling_initializer", "initializers.uniform_unit_scaling"))
class UniformUnitScaling(Initializer):
    """Uniform numbers that keep the scale of what is multiplied by them."""

    def __init__(self, factor=1.0, seed=None, dtype="float32"):
        super().__init__(dtype)
        self.factor, self.seed = factor, seed

    def make(self, shape, dtype):
        size = math.prod([int(s) for s in shape][:-1]) or 1
        limit = math.sqrt(3 / max(1.0, size)) * self.factor
        return random_ops.random_uniform(shape, -limit, limit, dtype, seed=self.seed)
