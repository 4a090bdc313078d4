# SPDX-License-Identifier: Apache-2.0
"""random.py: random numbers of tf.experimental.numpy."""

from __future__ import annotations

import numpy

from situ._src.numpy_ops.arrays import asarray
from situ._src.numpy_ops.dtypes import default_float, result_type
from situ._src.numpy_ops.exports import numpy_export, tf

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import DTypeLike, ShapeLike, Tensor, TensorLike


def _shape(size):
    """Returns a shape; a number is a shape of one dimension."""
    return () if size is None else (size,) if numpy.ndim(size) == 0 else size


@numpy_export("random.seed")
def seed(s: int) -> None:
    """Sets the global seed, as `tf.random.set_seed` does.

    Args:
      s: An integer.

    Raises:
      ValueError: It is no integer.
    """
    try:
        s = int(s)
    except TypeError:
        raise ValueError(
            f"Argument `s` got an invalid value {s}. Only integers are supported."
        ) from None
    tf.random.set_seed(s)


@numpy_export("random.standard_normal")
def standard_normal(size: ShapeLike = None) -> Tensor:
    """Returns samples of the normal distribution of mean 0 and deviation 1.

    Args:
      size: A shape, or the size of a vector; one sample by default.

    Returns:
      A tensor.
    """
    return tf.random.normal(_shape(size), dtype=default_float())


@numpy_export("random.randn")
def randn(*args: int) -> Tensor:
    """Returns samples of the normal distribution of mean 0 and deviation 1.

    Args:
      *args: The dimensions of the result.

    Returns:
      A tensor.
    """
    return standard_normal(args)


@numpy_export("random.uniform")
def uniform(low: TensorLike = 0.0, high: TensorLike = 1.0, size: ShapeLike = None) -> Tensor:
    """Returns samples that are distributed uniformly.

    Args:
      low: The smallest value.
      high: The limit, which is excluded.
      size: A shape, or the size of a vector; by default that of the limits.

    Returns:
      A tensor.
    """
    dtype = default_float()
    low, high = asarray(low, dtype), asarray(high, dtype)
    shape = tf.broadcast_static_shape(low.shape, high.shape) if size is None else _shape(size)
    return tf.random.uniform(shape, dtype=dtype) * (high - low) + low


@numpy_export("random.random")
def random(size: ShapeLike = None) -> Tensor:
    """Returns samples of the uniform distribution over [0, 1).

    Args:
      size: A shape, or the size of a vector; one sample by default.

    Returns:
      A tensor.
    """
    return uniform(0.0, 1.0, size)


@numpy_export("random.rand")
def rand(*size: int) -> Tensor:
    """Returns samples of the uniform distribution over [0, 1).

    Args:
      *size: The dimensions of the result.

    Returns:
      A tensor.
    """
    return uniform(0.0, 1.0, size)


@numpy_export("random.poisson")
def poisson(lam: TensorLike = 1.0, size: ShapeLike = None) -> Tensor:
    """Returns samples of a Poisson distribution.

    Args:
      lam: The expected values.
      size: A shape, or the size of a vector; one sample by default.

    Returns:
      A tensor of int64.
    """
    return tf.random.poisson(_shape(size), lam, dtype="int64")


@numpy_export("random.randint")
def randint(
    low: int, high: int | None = None, size: ShapeLike = None, dtype: DTypeLike = numpy.int64
) -> Tensor:
    """Returns integers that are distributed uniformly.

    Args:
      low: The smallest integer, or the limit if `high` is None; then the smallest is 0.
      high: The limit, which is excluded.
      size: A shape, or the size of a vector; one integer by default.
      dtype: int32 or int64.

    Returns:
      A tensor.

    Raises:
      ValueError: The type is another one.
    """
    low, high = (0, int(low)) if high is None else (int(low), int(high))
    kind = result_type(dtype)
    if kind.name not in ("int32", "int64"):
        raise ValueError(
            f"Argument `dtype` got an invalid value {dtype}. Only those convertible to "
            "(int32, int64) are supported."
        )
    return tf.random.uniform(_shape(size), low, high, kind)
