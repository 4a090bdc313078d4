# SPDX-License-Identifier: Apache-2.0
"""dtypes.py: tf.DType and the data types of tensors (tf.float32, ...), by TensorFlow's enum values
and by NumPy's names."""

from __future__ import annotations

import _situ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import DTypeLike

# Types that NumPy does not have, with their largest values.
SMALL_FLOATS = {"bfloat16": 3.3895313892515355e38, "float8_e5m2": 57344, "float8_e4m3fn": 448}
STORAGE_TYPES = {**SMALL_FLOATS, "int4": 7, "uint4": 15}


class DType:
    """The type of the elements of a tensor, such as tf.float32."""

    def __init__(self, number, name, size):
        self.as_datatype_enum, self.name, self.size = number, name, size

    @property
    def as_numpy_dtype(self):
        """The NumPy scalar type; `object` for strings and handles. For bfloat16,
        float8 and int4 it is that of ml_dtypes, or a larger type if ml_dtypes is not installed."""
        import numpy

        if self.name in ("string", "resource", "variant"):
            return object
        if self.base_dtype.name in STORAGE_TYPES:
            from situ._src.framework import storage_types

            return storage_types.numpy_type(self.base_dtype.name)
        return getattr(numpy, {"bool": "bool_"}.get(self.base_dtype.name, self.base_dtype.name))

    @property
    def base_dtype(self):
        """The type without the reference flag: tf.float32 for tf.float32_ref."""
        return ALL[self.as_datatype_enum % 100]

    @property
    def real_dtype(self):
        """The type of the parts of a complex type; else the base type."""
        parts = {"complex64": "float32", "complex128": "float64"}
        return BY_NAME[parts.get(self.base_dtype.name, self.base_dtype.name)]

    is_floating = property(
        lambda s: s.base_dtype.name in ("float16", "float32", "float64", *SMALL_FLOATS)
    )
    is_integer = property(lambda s: "int" in s.name)
    is_bool = property(lambda s: s.base_dtype.name == "bool")
    is_complex = property(lambda s: s.name.startswith("complex"))
    is_unsigned = property(lambda s: s.name.startswith("uint"))
    is_numpy_compatible = property(lambda s: s.name not in ("resource", "variant"))
    _is_ref_dtype = property(lambda s: s.as_datatype_enum > 100)

    def _limit(self, which):
        import numpy

        if self.is_bool:
            return which == "max"
        if self.base_dtype.name in ("int4", "uint4"):
            least = 0 if self.is_unsigned else -8
            return self.as_numpy_dtype(15 + least if which == "max" else least)
        if self.base_dtype.name in SMALL_FLOATS:
            largest = numpy.float32(SMALL_FLOATS[self.base_dtype.name])
            return self.as_numpy_dtype(largest if which == "max" else -largest)
        if self.is_complex or not self.is_numpy_compatible or self.name == "string":
            raise TypeError(f"Cannot find {which}imum value of {self}.")
        info = numpy.finfo if self.is_floating else numpy.iinfo
        return getattr(info(self.as_numpy_dtype), which)

    min = property(lambda s: s._limit("min"))
    max = property(lambda s: s._limit("max"))
    limits = property(lambda s: (s.min, s.max))

    def is_compatible_with(self, other) -> bool:
        """Returns whether two types are equal, apart from the reference flag.

        Args:
          other: a DType, or what tf.as_dtype converts to one.
        """
        return as_dtype(other).base_dtype is self.base_dtype

    def __eq__(self, other):
        if other is None:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return self.as_datatype_enum

    def __repr__(self):
        return "tf." + self.name

    def __str__(self):
        return f"<dtype: '{self.name}'>"

    def __reduce__(self):
        return as_dtype, (self.name,)

    def __int__(self):
        return self.as_datatype_enum


def _create_types():
    """Creates all types and registers them in the extension."""
    types = {}
    for _, number, size, name, numpy_name in _situ.types():
        types[number] = DType(
            number, name if name in ("string", "resource", "variant") else numpy_name, size
        )
        _situ.set_dtype(number, types[number])
    for number, plain in list(types.items()):
        types[number + 100] = DType(number + 100, plain.name + "_ref", plain.size)
    return types


ALL = _create_types()
BY_NAME = {t.name: t for t in ALL.values()}
BY_NAME.update(
    half=BY_NAME["float16"],
    double=BY_NAME["float64"],
    float=BY_NAME["float32"],
    object=BY_NAME["string"],
    bool_=BY_NAME["bool"],
    str=BY_NAME["string"],
    int=BY_NAME["int32"],
    bytes=BY_NAME["string"],
    object_=BY_NAME["string"],
    complex=BY_NAME["complex128"],
)
NAMES = {
    n: t
    for n, t in BY_NAME.items()
    if n not in ("object", "bool_", "str", "int", "float", "bytes", "object_", "complex")
}


def as_dtype(type_value: DTypeLike) -> DType:
    """Converts a value to a DType.

    Args:
      type_value: a DType, an enum value of TensorFlow, a name, a NumPy type, or a Python type.

    Returns:
      The DType.

    Raises:
      TypeError: the value does not stand for a type.
    """
    if isinstance(type_value, DType):
        return type_value
    if isinstance(type_value, str) and type_value in BY_NAME:
        return BY_NAME[type_value]
    if isinstance(type_value, int) and not isinstance(type_value, bool) and type_value in ALL:
        return ALL[type_value]
    name = (
        getattr(type_value, "__name__", None)
        if isinstance(type_value, type)
        else getattr(type_value, "name", None)
    )
    if name in BY_NAME and not isinstance(type_value, str):
        return BY_NAME[name]
    kind = getattr(type_value, "kind", None)
    if kind in ("U", "S", "O"):
        return BY_NAME["string"]
    raise TypeError(f"Cannot convert type_value {type_value!r} to a TensorFlow DType.")


def dtype_of(value) -> DType | None:
    """Returns the base type of a value that has a `dtype`, else None."""
    dtype = getattr(value, "dtype", None)
    return as_dtype(dtype).base_dtype if dtype is not None else None


def beyond_int32(*values):
    """Whether one of some Python values is an integer that int32 cannot hold."""
    return any(isinstance(v, int) and not -(2**31) <= v < 2**31 for v in values)
