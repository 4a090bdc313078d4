# SPDX-License-Identifier: Apache-2.0
"""random.py: keras.random: random numbers from explicit seeds and SeedGenerators."""

from __future__ import annotations

from typing import Any

from situ._src.keras.seed_generator import SeedGenerator, wrapped
from situ._src.keras3 import operands
from situ._src.keras3.dtypes import is_float_dtype, is_int_dtype, standardize_dtype
from situ._src.keras3.exports import keras3_export, tf
from situ._src.keras3.operands import tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Tensor

_state: dict[str, Any] = {"generator": None}


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
        return wrapped(seed.next())
    if seed is None:
        return wrapped(global_generator().next(ordered=False))
    if isinstance(seed, int):
        return tf.constant([wrapped(seed), 0], "int64")
    raise ValueError(
        "Argument `seed` must be either an integer or an instance of `SeedGenerator`. "
        f"Received: seed={seed} (of type {type(seed)})"
    )


def _shape(shape):
    return [operands.tensor(n, "int32") if hasattr(n, "dtype") else n for n in shape]


@keras3_export("random.normal")
def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Tensor:
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
) -> Tensor:
    """Normally distributed numbers within two standard deviations; see normal.

    Args:
      shape: Shape.
      mean: Mean.
      stddev: Standard deviation.
      dtype: Floating-point type; default: `keras.config.floatx()`.
      seed: Integer, SeedGenerator, or None for the global stream.
    """
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
def uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Tensor:
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
def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Tensor:
    """Uniformly distributed integers in [minval, maxval); see uniform.

    Args:
      shape: Shape.
      minval: Smallest number.
      maxval: End.
      dtype: Floating-point type; default: `keras.config.floatx()`.
      seed: Integer, SeedGenerator, or None for the global stream.

    Raises:
      ValueError: If dtype is not an integer type.
    """
    name = standardize_dtype(dtype)
    if not is_int_dtype(name):
        raise ValueError(
            f"`keras.random.randint` requires an integer dtype. Received: dtype={dtype} "
        )
    wide = name if name in ("int32", "int64") else "int64"
    result = tf.random.stateless_uniform(
        _shape(shape), draw_seed(seed), tf.cast(minval, wide), tf.cast(maxval, wide), wide
    )
    return tf.cast(result, name)


@keras3_export("random.categorical")
def categorical(logits: Any, num_samples: int, dtype: Any = "int32", seed: Any = None) -> Tensor:
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
def dropout(inputs: Any, rate: Any, noise_shape: Any = None, seed: Any = None) -> Tensor:
    """Sets a fraction of elements to 0 and scales the others.

    Args:
      inputs: Tensor.
      rate: Fraction.
      noise_shape: Shape of the mask, broadcast to that of inputs.
      seed: Integer, SeedGenerator, or None for the global stream.
    """
    x = tensor(inputs)
    if noise_shape is not None:
        lengths = operands.sizes(x)
        noise_shape = _shape([n if m is None else m for n, m in zip(lengths, noise_shape)])
    return tf.nn.experimental.stateless_dropout(x, rate, draw_seed(seed), noise_shape=noise_shape)


@keras3_export("random.shuffle")
def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Tensor:
    """Shuffles along an axis.

    Args:
      x: Tensor.
      axis: Axis.
      seed: Integer, SeedGenerator, or None for the global stream.
    """
    x = tensor(x)
    keys = tf.random.stateless_uniform([operands.sizes(x)[axis]], draw_seed(seed))
    return tf.gather(x, tf.argsort(keys), axis=axis)


def _wide(name):
    """Returns the type that distributions are computed in; there is no bfloat16."""
    return "float32" if name == "bfloat16" else name


@keras3_export("random.gamma")
def gamma(shape: Any, alpha: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    """Numbers of the gamma distribution of rate 1.

    Args:
      shape: Shape.
      alpha: Shape parameters.
      dtype: Floating-point type; default: `keras.config.floatx()`.
      seed: Integer, SeedGenerator, or None for the global stream.
    """
    name = _float(dtype)
    wide = _wide(name)
    drawn = tf.random.stateless_gamma(_shape(shape), draw_seed(seed), alpha, dtype=wide)
    return tf.cast(drawn, name)


@keras3_export("random.binomial")
def binomial(
    shape: Any, counts: Any, probabilities: Any, dtype: Any = None, seed: Any = None
) -> Tensor:
    """Numbers of binomial distributions.

    Args:
      shape: Shape.
      counts: Numbers of trials.
      probabilities: Probabilities of success.
      dtype: Floating-point type; default: `keras.config.floatx()`.
      seed: Integer, SeedGenerator, or None for the global stream.
    """
    name = _float(dtype)
    wide = _wide(name)
    seeds = draw_seed(seed)
    drawn = tf.random.stateless_binomial(_shape(shape), seeds, counts, probabilities, wide)
    return tf.cast(drawn, name)


@keras3_export("random.beta")
def beta(shape: Any, alpha: Any, beta: Any, dtype: Any = None, seed: Any = None) -> Tensor:
    """Numbers of beta distributions, from two of gamma distributions.

    Args:
      shape: Shape.
      alpha: First shape parameters.
      beta: Second shape parameters.
      dtype: Floating-point type; default: `keras.config.floatx()`.
      seed: Integer, SeedGenerator, or None for the global stream.
    """
    name = _float(dtype)
    wide, sizes = _wide(name), _shape(shape)
    seeds = tf.cast(draw_seed(seed), "int32")  # Keras adds in this type

    def drawn(parameter, seed):
        parameter = tf.broadcast_to(tf.cast(parameter, wide), sizes)
        return tf.cast(tf.random.stateless_gamma(sizes, seed, parameter, dtype=wide), name)

    first, second = drawn(alpha, seeds), drawn(beta, seeds + 12)
    return first / (first + second)
