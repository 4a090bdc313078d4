# SPDX-License-Identifier: Apache-2.0
"""random.py: keras.random: random numbers from explicit seeds and SeedGenerators."""

from __future__ import annotations

import random as python_random
from typing import Any

from situ._src.framework.scopes import init_scope
from situ._src.keras import context
from situ._src.keras3 import operands
from situ._src.keras3.dtypes import is_float_dtype, is_int_dtype, standardize_dtype
from situ._src.keras3.exports import keras3_export, tf, unsupported_function
from situ._src.keras3.operands import tensor

_MOST = 10**9  # largest seed that is made up
_state: dict[str, Any] = {"generator": None}


@keras3_export("random.SeedGenerator")
class SeedGenerator:
    """A stream of seeds: each draw of a random function takes the next one.

    Args:
      seed: Integer; default: a different one in each run, or that of
        `keras.utils.set_random_seed`.
      name: Name of its variable.

    Raises:
      ValueError: If the seed is not an integer.
    """

    def __init__(self, seed: int | None = None, name: str | None = None, **kwargs: Any) -> None:
        if kwargs:
            raise ValueError(f"Unrecognized keyword arguments: {kwargs}")
        if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
            raise ValueError(f"Argument `seed` must be an integer. Received: seed={seed}")
        if seed is not None and seed < 0:
            raise ValueError(
                f"Argument `seed` must be a non-negative integer. Received: seed={seed}"
            )
        self._initial_seed = python_random.randint(1, _MOST) if seed is None else seed
        self.name = name or "seed_generator"
        with context.eager(), init_scope():
            self.state = tf.Variable(
                [self._initial_seed, 0], trainable=False, dtype="int64", name="seed_generator_state"
            )

    def next(self, ordered: bool = True):
        """Returns the next seed, two integers.

        Args:
          ordered: Has no effect: seeds are always taken in order.
        """
        del ordered  # draws are never reordered
        seed = tf.identity(self.state)
        self.state.assign_add([0, 1])
        return seed

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {"seed": self._initial_seed}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> SeedGenerator:
        """Creates a generator from the result of get_config."""
        return cls(**config)


def global_generator() -> SeedGenerator:
    """Returns the generator of calls without a seed."""
    if _state["generator"] is None:
        _state["generator"] = SeedGenerator()
    return _state["generator"]


def reset() -> None:
    """Makes the next call without a seed begin a new stream, from Python's random numbers."""
    _state["generator"] = None


def draw_seed(seed: Any):
    """Returns the two integers of a seed: an integer, a SeedGenerator or None."""
    if isinstance(seed, SeedGenerator):
        return seed.next()
    if seed is None:
        return global_generator().next()
    if isinstance(seed, int):
        return tf.constant([seed, 0], "int64")
    raise ValueError(
        "Argument `seed` must be either an integer or an instance of `SeedGenerator`. "
        f"Received: seed={seed} (of type {type(seed)})"
    )


def _shape(shape):
    return [operands.tensor(n, "int32") if hasattr(n, "dtype") else n for n in shape]


@keras3_export("random.normal")
def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None):
    """Normally distributed numbers.

    Args:
      shape: Shape.
      mean: Mean.
      stddev: Standard deviation.
      dtype: Floating-point type; default: `keras.config.floatx()`.
      seed: Integer, SeedGenerator, or None for the global stream.
    """
    name = _float(dtype)
    return tf.random.stateless_normal(_shape(shape), draw_seed(seed), mean, stddev, name)


@keras3_export("random.truncated_normal")
def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
):
    """Normally distributed numbers within two standard deviations; see normal."""
    name = _float(dtype)
    return tf.random.stateless_truncated_normal(_shape(shape), draw_seed(seed), mean, stddev, name)


def _float(dtype):
    name = standardize_dtype(dtype)
    if not is_float_dtype(name):
        raise ValueError(
            f"`keras.random` requires a floating point `dtype`. Received: dtype={dtype}"
        )
    return name


@keras3_export("random.uniform")
def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None):
    """Uniformly distributed numbers in [minval, maxval).

    Args:
      shape: Shape.
      minval: Smallest number.
      maxval: End.
      dtype: Floating-point type; default: `keras.config.floatx()`.
      seed: Integer, SeedGenerator, or None for the global stream.

    Raises:
      ValueError: If dtype is not a floating-point type.
    """
    name = standardize_dtype(dtype)
    if not is_float_dtype(name):
        raise ValueError(
            f"`keras.random.uniform` requires a floating point dtype. Received: dtype={dtype} "
        )
    return tf.random.stateless_uniform(
        _shape(shape), draw_seed(seed), tf.cast(minval, name), tf.cast(maxval, name), name
    )


@keras3_export("random.randint")
def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None):
    """Uniformly distributed integers in [minval, maxval); see uniform.

    Raises:
      ValueError: If dtype is not an integer type.
    """
    name = standardize_dtype(dtype)
    if not is_int_dtype(name):
        raise ValueError(
            f"`keras.random.randint` requires an integer dtype. Received: dtype={dtype} "
        )
    wide = name if name in ("int32", "int64") else "int32"
    result = tf.random.stateless_uniform(
        _shape(shape), draw_seed(seed), tf.cast(minval, wide), tf.cast(maxval, wide), wide
    )
    return tf.cast(result, name)


@keras3_export("random.categorical")
def categorical(logits: Any, num_samples: int, dtype: Any = "int32", seed: Any = None):
    """Draws class ids.

    Args:
      logits: Logits [batch, classes].
      num_samples: Number of draws per row.
      dtype: Integer type.
      seed: Integer, SeedGenerator, or None for the global stream.

    Raises:
      ValueError: If logits are not a matrix.
    """
    logits = tensor(logits)
    if operands.rank(logits) != 2:
        raise ValueError(
            "`keras.random.categorical` only supports 2D tensors. Received: "
            f"logits.shape={tuple(logits.shape.as_list())}"
        )
    drawn = tf.random.stateless_categorical(logits, num_samples, draw_seed(seed), dtype="int64")
    return tf.cast(drawn, standardize_dtype(dtype))


@keras3_export("random.dropout")
def dropout(inputs: Any, rate: Any, noise_shape: Any = None, seed: Any = None):
    """Sets a fraction of elements to 0 and scales the others.

    Args:
      inputs: Tensor.
      rate: Fraction.
      noise_shape: Shape of the mask, broadcast to that of inputs.
      seed: Integer, SeedGenerator, or None for the global stream.
    """
    x = tensor(inputs)
    lengths = list(operands.sizes(x))
    if noise_shape is not None:
        lengths = [n if m is None else m for n, m in zip(lengths, noise_shape)]
    kept = tf.random.stateless_uniform(_shape(lengths), draw_seed(seed), dtype=x.dtype) >= rate
    return tf.where(kept, x / tf.cast(1 - rate, x.dtype), tf.zeros_like(x))


@keras3_export("random.shuffle")
def shuffle(x: Any, axis: int = 0, seed: Any = None):
    """Shuffles along an axis.

    Args:
      x: Tensor.
      axis: Axis.
      seed: Integer, SeedGenerator, or None for the global stream.
    """
    x = tensor(x)
    keys = tf.random.stateless_uniform([operands.sizes(x)[axis]], draw_seed(seed))
    return tf.gather(x, tf.argsort(keys), axis=axis)


for _name in ("gamma", "beta", "binomial"):
    unsupported_function("random." + _name, "situ has no stateless kernel for this distribution.")
