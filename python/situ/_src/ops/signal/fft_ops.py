# SPDX-License-Identifier: Apache-2.0
"""fft_ops.py: tf.signal: Fourier transforms of one to three dimensions and over any axes;
fftshift."""

from __future__ import annotations

import math

import numpy

from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import cast, convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, Tensor, TensorLike

_COMPLEX = {"float32": "complex64", "float64": "complex128"}
_REAL = {"complex64": "float32", "complex128": "float64"}


def static_shape(x: Tensor) -> list | None:
    """Returns the static dimensions of a tensor, None where one is unknown; None without a rank."""
    return None if x.shape.rank is None else x.shape.as_list()


def with_default(x: TensorLike, dtype: str) -> Tensor:
    """Returns a tensor. As in TensorFlow, tensors keep their type; NumPy arrays and Python numbers
    are converted to the default type if they can be."""
    if isinstance(x, (numpy.ndarray, numpy.generic)):
        return convert_to_tensor(numpy.asarray(x, dtype))
    if hasattr(x, "dtype"):
        return convert_to_tensor(x)
    try:
        return convert_to_tensor(x, dtype)
    except (TypeError, ValueError):
        return convert_to_tensor(x)


def _complex_transform(op_name, function_name, names, v1, what):
    @export(*names, v1=v1)
    def transform(input: TensorLike, name: str | None = None) -> Tensor:
        return op(op_name, with_default(input, "complex64"), name=name)

    rank = int(op_name[-2]) if op_name.endswith("D") else 1
    transform.__name__ = transform.__qualname__ = function_name
    transform.__doc__ = f"""Computes the {what} of the last {rank} dimension(s).

        Args:
          input: A complex64 or complex128 tensor of at least {rank} dimension(s), of any length.
          name: A name for the operation (optional).

        Returns:
          A tensor of the type and shape of `input`.
        """
    return transform


def _v1_names(name):
    return (name, f"spectral.{name}")


fft = _complex_transform(
    "FFT", "fft", ["signal.fft"], _v1_names("fft"), "discrete Fourier transform"
)
ifft = _complex_transform(
    "IFFT", "ifft", ["signal.ifft"], _v1_names("ifft"), "inverse discrete Fourier transform"
)
fft2d = _complex_transform(
    "FFT2D", "fft2d", ["signal.fft2d"], _v1_names("fft2d"), "discrete Fourier transform"
)
ifft2d = _complex_transform(
    "IFFT2D", "ifft2d", ["signal.ifft2d"], _v1_names("ifft2d"), "inverse discrete Fourier transform"
)
fft3d = _complex_transform(
    "FFT3D", "fft3d", ["signal.fft3d"], _v1_names("fft3d"), "discrete Fourier transform"
)
ifft3d = _complex_transform(
    "IFFT3D", "ifft3d", ["signal.ifft3d"], _v1_names("ifft3d"), "inverse discrete Fourier transform"
)


def _lengths(x, rank, fft_length, inverse):
    """Returns the lengths of a real transform: an int32 tensor and, if they are known, a list."""
    if fft_length is not None:
        fft_length = convert_to_tensor(fft_length, "int32")
        known = constant_value(fft_length)
        return fft_length, None if known is None else [int(n) for n in known.reshape(-1)]
    dims = static_shape(x)
    if dims is not None and None not in dims[-rank:]:
        dims = dims[-rank:]
        if inverse and dims:
            dims[-1] = max(0, 2 * (dims[-1] - 1))
        return convert_to_tensor(dims, "int32"), dims
    sizes = op("Shape", x)[-rank:]
    if inverse:
        last = op("Maximum", (sizes[-1:] - 1) * 2, 0)
        sizes = op("ConcatV2", [sizes[:-1], last], 0)
    return sizes, None


def _pad_to(x, rank, lengths, known, inverse):
    """Pads the last dimensions with zeros to the lengths of a transform, where they are shorter."""
    dims = static_shape(x)
    if dims is not None and 0 in dims:
        return x
    if known is not None and dims is not None and None not in dims[-rank:]:
        want = [*known[:-1], known[-1] // 2 + 1] if inverse and known else known
        missing = [max(0, n - d) for n, d in zip(want, dims[-rank:])]
        if not any(missing):
            return x
        return op("Pad", x, [[0, 0]] * (len(dims) - rank) + [[0, m] for m in missing])
    if inverse:
        lengths = op("ConcatV2", [lengths[:-1], lengths[-1:] // 2 + 1], 0)
    missing = op("Maximum", lengths - op("Shape", x)[-rank:], 0)
    outer = op("Fill", op("Reshape", op("Maximum", op("Rank", x) - rank, 0), [1]), 0)
    behind = op("ConcatV2", [outer, missing], 0)
    return op("Pad", x, op("Pack", [op("ZerosLike", behind), behind], axis=1))


def _real_transform(function_name, rank, inverse):
    op_name = function_name.upper()
    types, default = (_REAL, "complex64") if inverse else (_COMPLEX, "float32")

    @export(f"signal.{function_name}", v1=f"spectral.{function_name}")
    def transform(
        input_tensor: TensorLike, fft_length: TensorLike = None, name: str | None = None
    ) -> Tensor:
        with scope(name, function_name):
            x = with_default(input_tensor, default)
            if x.dtype.name not in types:
                kinds = "tf.complex64 or tf.complex128" if inverse else "tf.float32 or tf.float64"
                raise ValueError(f"{op_name.rstrip('23D')} requires {kinds} inputs, got: {x}")
            x.shape.with_rank_at_least(rank)
            lengths, known = _lengths(x, rank, fft_length, inverse)
            x = _pad_to(x, rank, lengths, known, inverse)
            attr = {"Treal" if inverse else "Tcomplex": as_dtype(types[x.dtype.name])}
            return op(op_name, x, lengths, **attr)

    transform.__name__ = transform.__qualname__ = function_name
    if inverse:
        transform.__doc__ = f"""Computes the inverse of `rfft` over the last {rank} dimension(s).

        Args:
          input_tensor: A complex64 or complex128 tensor of frequencies.
          fft_length: The lengths of the result, an int32 tensor of shape [{rank}]; by default those
            of the input, and 2 * (m - 1) for its last dimension m. The input is cropped or padded
            with zeros.
          name: A name for the operation (optional).

        Returns:
          A float32 or float64 tensor.
        """
    else:
        transform.__doc__ = f"""Computes the transform of {rank} dimension(s) of real numbers.

        Args:
          input_tensor: A float32 or float64 tensor.
          fft_length: The lengths of the transform, an int32 tensor of shape [{rank}]; by default
            those of the input. The input is cropped or padded with zeros.
          name: A name for the operation (optional).

        Returns:
          A complex64 or complex128 tensor with the frequencies 0 to `fft_length / 2` in its last
          dimension.
        """
    return transform


rfft = _real_transform("rfft", 1, False)
rfft2d = _real_transform("rfft2d", 2, False)
rfft3d = _real_transform("rfft3d", 3, False)
irfft = _real_transform("irfft", 1, True)
irfft2d = _real_transform("irfft2d", 2, True)
irfft3d = _real_transform("irfft3d", 3, True)


def _along(x, axis, transform):
    """Applies a transform of the last dimension to an axis."""
    rank = x.shape.rank
    if axis == rank - 1:
        return transform(x)
    order = [*range(rank)]
    order[axis], order[-1] = order[-1], order[axis]
    return op("Transpose", transform(op("Transpose", x, order)), order)


def _resize_last(x, length):
    """Crops or pads the last dimension to a static length."""
    size = static_shape(x)[-1]
    if size is not None and size > length:
        return x[..., :length]
    if size is not None and size < length:
        return op("Pad", x, [[0, 0]] * (x.shape.rank - 1) + [[0, length - size]])
    return x


def _axes_and_lengths(x, fft_length, axes, inverse_real):
    rank = x.shape.rank
    if rank is None:
        raise ValueError("The rank of `input_tensor` must be known.")
    if axes is None:
        axes = range(rank)
    else:
        axes = [int(a) for a in constant_value(convert_to_tensor(axes, "int32"))]
    axes = [a + rank if a < 0 else a for a in axes]
    if fft_length is not None:
        lengths = [int(n) for n in constant_value(convert_to_tensor(fft_length, "int32"))]
    else:
        dims = static_shape(x)
        lengths = [dims[a] for a in axes]
        if inverse_real and lengths:
            lengths[-1] = max(0, 2 * (lengths[-1] - 1))
    if len(lengths) != len(axes):
        raise ValueError(f"`fft_length` has {len(lengths)} elements for {len(axes)} axes.")
    return axes, lengths


def _norm_scale(norm, lengths, inverse):
    """Returns the factor of the result for a normalization, beside 1 / n of inverse transforms."""
    n = math.prod(lengths)
    scales = {"backward": 1.0, "forward": 1 / n, "ortho": 1 / math.sqrt(n)}
    scale = scales["backward" if norm is None else norm] if n else 1.0
    return 1 / scale if inverse else scale


def _transform_over_axes(function_name, real, inverse):
    """Exports fftnd, ifftnd, rfftnd or irfftnd."""
    default = "float32" if real and not inverse else "complex64"

    @export(f"signal.{function_name}")
    def transform(
        input_tensor: TensorLike,
        fft_length: TensorLike = None,
        axes: Axis = None,
        norm: str | None = None,
        name: str | None = None,
    ) -> Tensor:
        with scope(name, function_name):
            x = with_default(input_tensor, default)
            axes, lengths = _axes_and_lengths(x, fft_length, axes, real and inverse)
            one = ifft if inverse else fft
            steps = [*zip(axes, lengths)]
            if real and not inverse:
                axis, n = steps.pop()
                x = _along(x, axis, lambda y: rfft(y, [n]))
            last = steps.pop() if real and inverse else None
            for axis, n in reversed(steps):
                x = _along(x, axis, lambda y, n=n: one(_resize_last(y, n)))
            if last:
                x = _along(x, last[0], lambda y: irfft(y, [last[1]]))
            scale = _norm_scale(norm, lengths, inverse)
            return x if scale == 1 else x * cast(convert_to_tensor(scale, "float64"), x.dtype)

    transform.__name__ = transform.__qualname__ = function_name
    what = "inverse Fourier transform" if inverse else "Fourier transform"
    transform.__doc__ = f"""Computes the {what} over any axes.

        Args:
          input_tensor: A tensor of {"float" if default == "float32" else "complex"} numbers.
          fft_length: The lengths of the transform, one per axis; by default those of the input,
            which is cropped or padded with zeros.
          axes: The axes; by default all.
          norm: "backward" (divide by the size in the inverse transform, the default), "forward" (in
            the forward transform) or "ortho" (by its square root in both).
          name: A name for the operation (optional).

        Returns:
          A tensor of {"real" if real and inverse else "complex"} numbers.
        """
    return transform


fftnd = _transform_over_axes("fftnd", False, False)
ifftnd = _transform_over_axes("ifftnd", False, True)
rfftnd = _transform_over_axes("rfftnd", True, False)
irfftnd = _transform_over_axes("irfftnd", True, True)


def _shift(x, axes, name, sign):
    with scope(name, "fftshift" if sign > 0 else "ifftshift"):
        x = convert_to_tensor(x)
        if axes is None:
            axes = [*range(x.shape.rank)]
        axes = [axes] if isinstance(axes, int) else [int(a) for a in axes]
        dims = static_shape(x)
        shifts: list[Any] = [
            dims[a] // 2 * sign if dims and dims[a] is not None else op("Shape", x)[a] // 2 * sign
            for a in axes
        ]
        return op("Roll", x, op("Pack", shifts), axes) if axes else x


@export("signal.fftshift")
def fftshift(x: TensorLike, axes: Axis = None, name: str | None = None) -> Tensor:
    """Moves frequency 0 to the center.

    Args:
      x: A tensor.
      axes: The axes to shift; by default all.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type and shape of `x`.
    """
    return _shift(x, axes, name, 1)


@export("signal.ifftshift")
def ifftshift(x: TensorLike, axes: Axis = None, name: str | None = None) -> Tensor:
    """Inverts `tf.signal.fftshift`.

    Args:
      x: A tensor.
      axes: The axes to shift; by default all.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type and shape of `x`.
    """
    return _shift(x, axes, name, -1)
