# SPDX-License-Identifier: Apache-2.0
"""dtypes.py: type promotion of Keras 3: the lattice of JAX with weak Python numbers, and names of
types."""

from __future__ import annotations

from typing import Any

from situ._src.framework.dtypes import as_dtype
from situ._src.keras import context
from situ._src.keras3.exports import keras3_export

# The direct successors of each type; "int" and "float" are weak: types of Python numbers.
_LATTICE: dict[str, tuple[str, ...]] = {
    "bool": ("int",),
    "int": ("uint8", "int8"),
    "uint8": ("int16", "uint16"),
    "uint16": ("int32", "uint32"),
    "uint32": ("int64", "uint64"),
    "uint64": ("float",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float",),
    "float": ("bfloat16", "float16"),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64",),
    "float64": ("complex64",),
    "complex64": ("complex128",),
    "complex128": (),
}
_PYTHON_TYPES = {bool: "bool", int: "int", float: "float", str: "string", complex: "complex64"}
_ALLOWED = (*[n for n in _LATTICE if n not in ("int", "float")], "string")


def _above(name: str) -> set[str]:
    """Returns a type and all types that it can be promoted to."""
    result, waiting = set(), [name]
    while waiting:
        one = waiting.pop()
        if one not in result:
            result.add(one)
            waiting += _LATTICE[one]
    return result


_ABOVE = {name: _above(name) for name in _LATTICE}


@keras3_export("backend.standardize_dtype", "utils.standardize_dtype")
def standardize_dtype(dtype: Any) -> str:
    """Returns the name of a type.

    Args:
      dtype: Name, Python type, NumPy type or `tf.DType`; None: that of `keras.config.floatx()`.

    Raises:
      ValueError: If there is no such type.
    """
    if dtype is None:
        return context.setting("float")
    if dtype in _PYTHON_TYPES:
        name = _PYTHON_TYPES[dtype]
        return {"int": "int32", "float": context.setting("float")}.get(name, name)
    if isinstance(dtype, str) and dtype in ("int", "float"):
        return {"int": "int32", "float": context.setting("float")}[dtype]
    try:
        name = as_dtype(dtype).base_dtype.name
    except TypeError:
        name = str(dtype)
    if name not in _ALLOWED:
        raise ValueError(f"Invalid dtype: {dtype}")
    return name


def _operand(dtype: Any) -> str:
    """Returns the node of the lattice for an argument of result_type."""
    if dtype in (int, float, bool):
        return _PYTHON_TYPES[dtype]
    if isinstance(dtype, str) and dtype in ("int", "float"):
        return dtype
    return standardize_dtype(dtype)


@keras3_export("backend.result_type")
def result_type(*dtypes: Any) -> str:
    """Returns the type that values of different types are promoted to.

    Args:
      *dtypes: Types; the Python types int and float stand for Python numbers, which adapt to the
        type of tensors. None stands for `keras.config.floatx()`.

    Raises:
      ValueError: If the types have no common type.
    """
    if not dtypes:
        return context.setting("float")
    operands = {_operand(d) for d in dtypes}
    if operands == {"string"}:
        return "string"
    if "string" in operands:
        raise ValueError(f"No implicit promotion between {sorted(operands)}.")
    common = set.intersection(*[_ABOVE[n] for n in operands])
    least = next(n for n in common if all(m in _ABOVE[n] for m in common))
    return standardize_dtype(least)


@keras3_export("backend.is_float_dtype")
def is_float_dtype(dtype: Any) -> bool:
    """Returns whether a type is a floating-point type.

    Args:
      dtype: The type.
    """
    name = standardize_dtype(dtype)
    return name.startswith(("float", "bfloat"))


@keras3_export("backend.is_int_dtype")
def is_int_dtype(dtype: Any) -> bool:
    """Returns whether a type is an integer type; bool is not one.

    Args:
      dtype: The type.
    """
    name = standardize_dtype(dtype)
    return name.startswith(("int", "uint"))
