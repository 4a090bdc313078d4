# SPDX-License-Identifier: Apache-2.0
"""complex_ops.py: complex numbers: tf.complex, tf.math.real, imag, conj, angle, and tf.abs."""

from __future__ import annotations

from situ._src.framework.api import export, fast_path
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


def _part(op_name, x, name):
    """Runs an op whose result has the type of the parts of `x`."""
    return op(op_name, x, Tout=x.dtype.real_dtype, name=name)


@export("complex", "dtypes.complex")
def complex_(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Returns complex numbers with the given parts.

    Args:
      real: A tensor of float32 or float64.
      imag: A tensor of the same type, broadcast with `real`.
      name: A name for the operation (optional).

    Returns:
      A tensor of complex64 or complex128.

    Raises:
      TypeError: The types differ or are others.
    """
    real = convert_to_tensor(real, name="real")
    imag = convert_to_tensor(imag, name="imag")
    with scope(name, "Complex") as full:
        types = (real.dtype.base_dtype.name, imag.dtype.base_dtype.name)
        if types not in (("float32", "float32"), ("float64", "float64")):
            raise TypeError(
                f"The `real` and `imag` components have incorrect types: {types[0]} {types[1]}. "
                "They must be consistent, and one of [tf.float32, tf.float64]"
            )
        result = as_dtype("complex64" if types[0] == "float32" else "complex128")
        return op("Complex", real, imag, Tout=result, name=full)


@export("abs", "math.abs")
@fast_path("Abs", real=True)
def abs_(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the absolute value of each element.

    Args:
      x: A tensor of signed numbers or of complex numbers, which may be sparse or ragged.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `x`; of float32 or float64 if `x` is complex.
    """
    with scope(name, "Abs") as full:
        x = x if hasattr(type(x), "_situ_tensors_") else convert_to_tensor(x, name="x")
        if x.dtype.base_dtype.is_complex:
            return _part("ComplexAbs", x, full)
        return op("Abs", x, name=full)


@export("math.real", v1="real")
def real(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the real part of each element; a real tensor itself.

    Args:
      input: A tensor of numbers.
      name: A name for the operation (optional).
    """
    with scope(name, "Real") as full:
        input = convert_to_tensor(input, name="input")
        return _part("Real", input, full) if input.dtype.base_dtype.is_complex else input


@export("math.imag", v1="imag")
def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the imaginary part of each element; zeros for a real tensor.

    Args:
      input: A tensor of numbers.
      name: A name for the operation (optional).
    """
    with scope(name, "Imag") as full:
        input = convert_to_tensor(input, name="input")
        if input.dtype.base_dtype.is_complex:
            return _part("Imag", input, full)
        return op("ZerosLike", input)


@export("math.angle", v1="angle")
def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the argument of each element in radians: atan2(imag, real).

    Args:
      input: A tensor of numbers.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of the parts; of real numbers 0, or pi where they are negative.
    """
    with scope(name, "Angle") as full:
        input = convert_to_tensor(input, name="input")
        if input.dtype.base_dtype.is_complex:
            return _part("Angle", input, full)
        pi = convert_to_tensor(3.141592653589793, input.dtype)
        zeros = op("ZerosLike", input)
        return op("SelectV2", op("Less", input, zeros), op("Mul", pi, op("OnesLike", input)), zeros)


@export("math.conj", v1="conj")
def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the complex conjugate of each element; a real tensor itself.

    Args:
      x: A tensor of numbers.
      name: A name for the operation (optional).

    Raises:
      TypeError: The elements are no numbers.
    """
    with scope(name, "Conj") as full:
        x = convert_to_tensor(x, name="x")
        if x.dtype.base_dtype.is_complex:
            return op("Conj", x, name=full)
        if x.dtype.base_dtype.is_floating or x.dtype.base_dtype.is_integer:
            return x
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}")
