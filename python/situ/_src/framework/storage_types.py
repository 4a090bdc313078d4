# SPDX-License-Identifier: Apache-2.0
"""storage_types.py: conversions between the bits of bfloat16, float8 and 4-bit integers and NumPy
arrays, which are float32, int8 or uint8 where ml_dtypes is not installed."""

from __future__ import annotations

import functools
from typing import Any

import numpy

# Types that are only stored, with the NumPy type of their bits.
BITS: dict[str, Any] = {
    "bfloat16": numpy.uint16,
    "float8_e5m2": numpy.uint8,
    "float8_e4m3fn": numpy.uint8,
    "int4": numpy.int8,
    "uint4": numpy.uint8,
}


def numpy_type(name: str) -> Any:
    """Returns the type of ml_dtypes, or float32, int8 or uint8 if ml_dtypes is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return BITS[name] if name.endswith("int4") else numpy.float32
    return getattr(ml_dtypes, name)


@functools.cache
def _float8_values(name):
    """Returns the float32 value of each of the 256 bit patterns."""
    bits = numpy.arange(256, dtype=numpy.uint16)
    if name == "float8_e5m2":
        return (bits << 8).view(numpy.float16).astype(numpy.float32)
    exponent, fraction = bits >> 3 & 15, bits & 7
    normal = numpy.ldexp(8.0 + fraction, exponent.astype(int) - 10)
    values = numpy.where(exponent == 0, fraction * 2.0**-9, normal)
    values = numpy.where(bits & 127 == 127, numpy.nan, values)
    return numpy.where(bits >> 7, -values, values).astype(numpy.float32)


def _float8_bits(array, name):
    """Rounds numbers to the nearest values of an 8-bit type, ties to even."""
    values = _float8_values(name)[:128]
    finite = values[numpy.isfinite(values)].astype(numpy.float64)
    steps = numpy.append(finite, 2 * finite[-1] - finite[-2])  # the first value that is too large
    magnitude = numpy.minimum(numpy.abs(array.astype(numpy.float64)), steps[-1])
    above = numpy.clip(numpy.searchsorted(steps, magnitude), 1, len(steps) - 1)
    middle = (steps[above] + steps[above - 1]) / 2
    is_up = (magnitude > middle) | ((magnitude == middle) & (above % 2 == 0))
    bits = numpy.where(is_up, above, above - 1)
    bits = numpy.where(numpy.isnan(array), 0x7E if name == "float8_e5m2" else 0x7F, bits)
    return (bits | numpy.signbit(array) * 0x80).astype(numpy.uint8)


def bits_of(array: numpy.ndarray, name: str) -> numpy.ndarray:
    """Returns the bits of an array of that type of ml_dtypes, or of numbers rounded to it."""
    if array.dtype.name == name:
        return array.view(BITS[name])
    if name == "uint4":
        return array.astype(numpy.uint8) & 15
    if name == "int4":
        return ((array.astype(numpy.int8) & 15) ^ 8) - 8
    if name != "bfloat16":
        return _float8_bits(array, name)
    bits = array.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def values_of(bits: numpy.ndarray, name: str) -> numpy.ndarray:
    """Returns the values of bits, as float32 or as 8-bit integers."""
    if name.endswith("int4"):
        return bits
    if name != "bfloat16":
        return _float8_values(name)[bits]
    return (bits.astype(numpy.uint32) << 16).astype(numpy.uint32).view(numpy.float32)
