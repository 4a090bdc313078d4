# SPDX-License-Identifier: Apache-2.0
"""dct_ops.py: tf.signal: discrete cosine transforms of types 1 to 4."""

from __future__ import annotations

import math

from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.signal.fft_ops import irfft, rfft
from situ._src.ops.signal.frame_ops import at_least_0, dims_of, pad_axis

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


def _check(x, dct_type, n, axis, norm):
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if dct_type not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if dct_type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        size = x.shape.as_list()[-1] if x.shape.rank else None
        if size is not None and size < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def _number(value, dtype):
    return cast(convert_to_tensor(value), dtype)


def _turn(count, n, sign, dtype):
    """Returns 2 exp(sign i pi k / 2n) for k < count."""
    angle = cast(op("Range", 0, count, 1), "float64") * (math.pi / 2) / _number(n, "float64")
    parts = [cast(2.0 * op(f, angle), dtype) for f in ("Cos", "Sin")]
    complex_dtype = "complex64" if dtype.name == "float32" else "complex128"
    return op("Complex", parts[0], parts[1] * sign, Tout=complex_dtype)


def _weights(first, rest, n, dtype):
    """Returns the vector [first, rest, rest, ...] of length n."""
    is_first = op("Equal", op("Range", 0, n, 1), 0)
    return op("SelectV2", is_first, cast(first, dtype), cast(rest, dtype))


def _real(x):
    real = "float32" if x.dtype.name == "complex64" else "float64"
    return op("Real", x, Tout=real)


def _resize(x, n):
    """Crops or pads the last dimension to n."""
    rank = x.shape.rank
    x = pad_axis(x, rank - 1, at_least_0(n - dims_of(x)[-1]))
    return x[..., :n]


def _dct2(x, n, norm):
    y = _real(rfft(x, [2 * n])[..., :n] * _turn(n, n, -1.0, x.dtype))
    if norm == "ortho":
        root = 0.5 * op("Rsqrt", _number(n, "float64"))
        y = y * _weights(root, root * math.sqrt(2.0), n, x.dtype)
    return y


def _dct3(x, n, norm):
    if norm == "ortho":
        root = op("Sqrt", _number(n, "float64"))
        x = x * _weights(root, root * math.sqrt(0.5), n, x.dtype)
    else:
        x = x * _number(n, x.dtype)
    turn = _turn(n, n, 1.0, x.dtype)
    return irfft(cast(x, turn.dtype) * turn, [2 * n])[..., :n]


def _dct(x, dct_type, n, norm):
    if n is not None:
        x = _resize(x, n)
    size = dims_of(x)[-1]
    if dct_type == 1:
        return _real(rfft(op("ConcatV2", [x, x[..., -2:0:-1]], -1)))
    if dct_type == 2:
        return _dct2(x, size, norm)
    if dct_type == 3:
        return _dct3(x, size, norm)
    # Type 4: the odd elements of type 2 of twice the length.
    y = _dct2(_resize(x, 2 * size), 2 * size, None)[..., 1::2]
    if norm == "ortho":
        y = y * cast(math.sqrt(0.5) * op("Rsqrt", _number(size, "float64")), x.dtype)
    return y


@export("signal.dct", v1="spectral.dct")
def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the discrete cosine transform of the last dimension, as `scipy.fftpack.dct`.

    Args:
      input: A float32 or float64 tensor of shape [..., samples].
      type: The type of the transform: 1, 2, 3 or 4.
      n: The length of the transform: the input is cropped or padded with zeros.
      axis: Must be -1.
      norm: None, or "ortho" for an orthonormal transform.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input`.

    Raises:
      ValueError: If `type`, `n` or `norm` is not valid, or `norm` is "ortho" and `type` is 1.
      NotImplementedError: If `axis` is not -1.
    """
    with scope(name, "dct"):
        x = convert_to_tensor(input)
        _check(x, type, n, axis, norm)
        return _dct(x, type, n, norm)


@export("signal.idct", v1="spectral.idct")
def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Computes the inverse discrete cosine transform of the last dimension, times 2n unless `norm`
    is "ortho".

    Args:
      input: A float32 or float64 tensor of shape [..., samples].
      type: The type of the transform to invert: 1, 2, 3 or 4.
      n: The length of the transform: the input is cropped or padded with zeros.
      axis: Must be -1.
      norm: None, or "ortho" for an orthonormal transform.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input`.

    Raises:
      ValueError: If `type`, `n` or `norm` is not valid, or `norm` is "ortho" and `type` is 1.
      NotImplementedError: If `axis` is not -1.
    """
    with scope(name, "idct"):
        x = convert_to_tensor(input)
        _check(x, type, n, axis, norm)
        return _dct(x, {1: 1, 2: 3, 3: 2, 4: 4}[type], n, norm)
