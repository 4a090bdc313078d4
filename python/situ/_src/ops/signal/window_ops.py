# SPDX-License-Identifier: Apache-2.0
"""window_ops.py: tf.signal: window functions."""

from __future__ import annotations

import math

import numpy

from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.signal.fft_ops import with_default

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import DTypeLike, Tensor, TensorLike


def _length(window_length, dtype):
    """Returns (length as an int32 scalar, dtype) of a window; ValueError if they are not valid."""
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    length = convert_to_tensor(window_length, "int32")
    length.shape.assert_has_rank(0)
    return length, dtype


def _count(length, dtype):
    return cast(op("Range", 0, length, 1), dtype)


def _raised_cosine(name, default_name, window_length, periodic, dtype, a, b):
    length, dtype = _length(window_length, dtype)
    with scope(name, default_name):
        if constant_value(length) == 1:
            return op("Fill", [1], convert_to_tensor(1.0, dtype))
        periodic = convert_to_tensor(periodic, "bool")
        periodic.shape.assert_has_rank(0)
        # A periodic window of an even length lacks the last sample of the symmetric one.
        period = length + cast(periodic, "int32") * (1 - length % 2) - 1
        period = op("Maximum", period, 1)
        angle = convert_to_tensor(2 * math.pi, dtype) * _count(length, dtype) / cast(period, dtype)
        window = a - b * op("Cos", angle)
        if constant_value(length) is None:  # a window of one sample is 1
            window = op("SelectV2", op("Equal", length, 1), op("OnesLike", window), window)
        return window


@export("signal.hann_window")
def hann_window(
    window_length: TensorLike,
    periodic: TensorLike = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Generates a Hann window.

    Args:
      window_length: The number of samples, a scalar.
      periodic: Whether the window is periodic (for spectra) or symmetric (for filters).
      dtype: A floating-point type.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [window_length].

    Raises:
      ValueError: If `dtype` is not a floating-point type.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


@export("signal.hamming_window")
def hamming_window(
    window_length: TensorLike,
    periodic: TensorLike = True,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Generates a Hamming window.

    Args:
      window_length: The number of samples, a scalar.
      periodic: Whether the window is periodic (for spectra) or symmetric (for filters).
      dtype: A floating-point type.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [window_length].

    Raises:
      ValueError: If `dtype` is not a floating-point type.
    """
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _bessel_i0e(x):
    """Returns exp(-x) I0(x) of a float64 tensor: the mean of exp(x (cos t - 1)) over a period,
    which the sum over equidistant points t approximates to the precision of double for x up to
    several hundred."""
    points = 256
    cosines = numpy.cos((numpy.arange(points) + 0.5) * numpy.pi / points) - 1
    return op("Mean", op("Exp", op("ExpandDims", x, -1) * cosines), [-1])


@export("signal.kaiser_window")
def kaiser_window(
    window_length: TensorLike,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Generates a Kaiser window.

    Args:
      window_length: The number of samples, a scalar.
      beta: The shape parameter: larger values make the window narrower.
      dtype: A floating-point type.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [window_length].

    Raises:
      ValueError: If `dtype` is not a floating-point type.
    """
    length, dtype = _length(window_length, dtype)
    with scope(name, "kaiser_window"):
        half = (cast(op("Maximum", length, 2), "float64") - 1.0) / 2.0
        position = _count(length, "float64") / half - 1.0
        single = op("Equal", length, 1)
        position = op("SelectV2", single, op("ZerosLike", position), position)
        beta = cast(with_default(beta, "float64"), "float64")
        inside = op("Maximum", 1.0 - op("Square", position), convert_to_tensor(0.0, "float64"))
        inner = beta * op("Sqrt", inside)
        window = op("Exp", inner - beta) * (_bessel_i0e(inner) / _bessel_i0e(beta))
        return cast(window, dtype)


@export("signal.kaiser_bessel_derived_window")
def kaiser_bessel_derived_window(
    window_length: TensorLike,
    beta: TensorLike = 12.0,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:
    """Generates a Kaiser-Bessel-derived window, for `tf.signal.mdct`.

    Args:
      window_length: The number of samples, a scalar.
      beta: The shape parameter of the Kaiser window.
      dtype: A floating-point type.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [window_length].

    Raises:
      ValueError: If `dtype` is not a floating-point type.
    """
    length, dtype = _length(window_length, dtype)
    with scope(name, "kaiser_bessel_derived_window"):
        sums = op("Cumsum", kaiser_window(length // 2 + 1, beta, dtype), 0)
        half = op("Sqrt", sums[:-1] / sums[-1])
        return op("ConcatV2", [half, half[::-1]], 0)


@export("signal.vorbis_window")
def vorbis_window(
    window_length: TensorLike, dtype: DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Generates the window of the Vorbis format, for `tf.signal.mdct`.

    Args:
      window_length: The number of samples, a scalar.
      dtype: A floating-point type.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [window_length].

    Raises:
      ValueError: If `dtype` is not a floating-point type.
    """
    length, dtype = _length(window_length, dtype)
    with scope(name, "vorbis_window"):
        angle = math.pi / cast(length, dtype) * (_count(length, dtype) + 0.5)
        return op("Sin", math.pi / 2.0 * op("Square", op("Sin", angle)))
