# SPDX-License-Identifier: Apache-2.0
"""dtypes.py: types of tf.experimental.numpy and NumPy's rules of type promotion."""

from __future__ import annotations

import numpy

from situ._src.framework import nest
from situ._src.framework.dtypes import DType, as_dtype
from situ._src.numpy_ops.exports import constants, numpy_export

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike

_settings = {"prefer_float32": False}

constants(
    bool_=numpy.bool_,
    complex128=numpy.complex128,
    complex64=numpy.complex64,
    complex_=numpy.complex128,
    float16=numpy.float16,
    float32=numpy.float32,
    float64=numpy.float64,
    float_=numpy.float64,
    inexact=numpy.inexact,
    int16=numpy.int16,
    int32=numpy.int32,
    int64=numpy.int64,
    int8=numpy.int8,
    int_=numpy.int_,
    object_=numpy.object_,
    string_=numpy.bytes_,
    uint16=numpy.uint16,
    uint32=numpy.uint32,
    uint64=numpy.uint64,
    uint8=numpy.uint8,
    unicode_=numpy.str_,
    iinfo=numpy.iinfo,
    issubdtype=numpy.issubdtype,
)


def prefer_float32(preferred: bool) -> None:
    """Sets whether Python numbers with fractions are float32 and complex64."""
    _settings["prefer_float32"] = preferred


def default_float() -> DType:
    """Returns the type of Python numbers with fractions: float64 unless float32 is preferred."""
    return as_dtype("float32" if _settings["prefer_float32"] else "float64")


def numpy_type(dtype: DTypeLike) -> numpy.dtype:
    """Returns a type as a NumPy dtype."""
    return numpy.dtype(dtype.as_numpy_dtype if isinstance(dtype, DType) else dtype)


def _operand(value):
    """Returns what numpy.result_type takes for a value or a type. Python numbers stay numbers,
    since they adapt to the types of arrays."""
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, (float, complex)) and not isinstance(value, numpy.generic):
        if _settings["prefer_float32"]:
            return numpy.dtype("float32" if isinstance(value, float) else "complex64")
        return type(value)(0)
    dtype = value if isinstance(value, DType) else getattr(value, "dtype", None)
    return numpy_type(dtype) if isinstance(dtype, (DType, numpy.dtype)) else value


def _distinct(operands):
    """Returns the operands that decide on the common type, since NumPy limits their number."""
    integers = [v for v in operands if type(v) is int]
    others = {(type(v), v): v for v in operands if type(v) is not int}
    return [*others.values(), *({min(integers), max(integers)} if integers else ())]


@numpy_export("result_type")
def result_type(*arrays_and_dtypes: Any) -> DType:
    """Returns the type of the result of a computation with several operands.

    Args:
      *arrays_and_dtypes: Tensors, arrays, types, Python numbers, and nested lists of these.

    Returns:
      A `tf.DType` by NumPy's rules of promotion; float64 without arguments.

    Raises:
      TypeError: The types have no common type.
    """
    operands = _distinct([_operand(v) for v in nest.flatten(arrays_and_dtypes)])
    return as_dtype(numpy.result_type(*(operands or [numpy.float64])))


def type_of(value: Any, dtype: DTypeLike = None) -> DType:
    """Returns a given type as a DType, or the type that a value has as a tensor."""
    if dtype is not None:
        return result_type(dtype)
    flat = nest.flatten(value)
    if flat and all(isinstance(v, (str, bytes)) for v in flat):
        return as_dtype("string")
    return result_type(value)


@numpy_export("promote_types")
def promote_types(type1: DTypeLike, type2: DTypeLike) -> numpy.dtype:
    """Returns the smallest type that both types can be cast to safely.

    Args:
      type1: A type.
      type2: A type.

    Returns:
      A NumPy dtype.

    Raises:
      TypeError: The types have no common type.
    """
    return numpy.promote_types(numpy_type(type1), numpy_type(type2))


@numpy_export("finfo")
def finfo(dtype: DTypeLike) -> numpy.finfo:
    """Returns the limits of a floating-point type.

    Args:
      dtype: A floating-point or complex type of NumPy or TensorFlow.

    Returns:
      NumPy's description of the type.

    Raises:
      ValueError: It is not a floating-point type.
    """
    return numpy.finfo(numpy_type(dtype))
