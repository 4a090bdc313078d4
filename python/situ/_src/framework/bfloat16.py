# SPDX-License-Identifier: Apache-2.0
"""bfloat16.py: conversions between the bits of bfloat16 and NumPy arrays, which are float32 where
ml_dtypes is not installed."""

from __future__ import annotations

import numpy


def bits_of(array):
    """Returns the bits of an array of ml_dtypes.bfloat16, or of numbers rounded to bfloat16."""
    if array.dtype.name == "bfloat16":
        return array.view(numpy.uint16)
    bits = array.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def floats_of(bits):
    """Returns the float32 values of bits of bfloat16."""
    return (bits.astype(numpy.uint32) << 16).astype(numpy.uint32).view(numpy.float32)
