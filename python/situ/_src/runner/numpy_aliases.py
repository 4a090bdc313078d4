# SPDX-License-Identifier: Apache-2.0
"""numpy_aliases.py: restores names of NumPy that 1.24 to 2.3 removed and that programs of
TensorFlow 1 and 2.0 use. Names that NumPy still has are unchanged."""

from __future__ import annotations

import builtins
import functools
import os
import sys
import warnings

import numpy

import _situ
from situ._src.runner.program import is_installed_file

_OWN = os.path.abspath(__file__ + "/../../..") + os.sep
_NAMES = {
    "float": builtins.float,
    "int": builtins.int,
    "bool": builtins.bool,
    "object": builtins.object,
    "str": builtins.str,
    "complex": builtins.complex,
    "long": builtins.int,
    "unicode": builtins.str,
    "float_": numpy.float64,
    "complex_": numpy.complex128,
    "unicode_": numpy.str_,
    "string_": numpy.bytes_,
    "Inf": numpy.inf,
    "Infinity": numpy.inf,
    "infty": numpy.inf,
    "PINF": numpy.inf,
    "NINF": -numpy.inf,
    "NaN": numpy.nan,
    "NAN": numpy.nan,
    "product": numpy.prod,
    "cumproduct": numpy.cumprod,
    "alltrue": numpy.all,
    "sometrue": numpy.any,
    "row_stack": numpy.vstack,
    "bool8": numpy.bool_,
    "round_": numpy.round,
    "cfloat": numpy.complex128,
    "singlecomplex": numpy.complex64,
    "longfloat": numpy.longdouble,
    "longcomplex": numpy.clongdouble,
}


def _asscalar(a):
    return a.item()


def _in1d(ar1, ar2, assume_unique=False, invert=False):
    return numpy.isin(numpy.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def _asfarray(a, dtype=numpy.float64):
    is_inexact = numpy.issubdtype(dtype, numpy.inexact)
    return numpy.asarray(a, dtype=dtype if is_inexact else numpy.float64)


def _msort(a):
    return numpy.sort(a, axis=0)


def _reshape(plain):
    """Wraps numpy.reshape to accept `newshape`."""

    @functools.wraps(plain)
    def reshape(a, *args, newshape=None, **kwargs):
        return (
            plain(a, *args, **kwargs) if newshape is None else plain(a, newshape, *args, **kwargs)
        )

    return reshape


_FUNCTIONS = {"asscalar": _asscalar, "in1d": _in1d, "asfarray": _asfarray, "msort": _msort}


def _array(plain):
    """Wraps numpy.array: rows of different lengths make an array of objects, as before NumPy 1.24,
    if the program itself calls it."""

    @functools.wraps(plain)
    def array(object, dtype=None, **kwargs):
        try:
            return plain(object, dtype, **kwargs)
        except ValueError as error:
            caller = sys._getframe(1).f_code.co_filename
            if dtype is not None or "inhomogeneous" not in str(error) or _is_library(caller):
                raise
            return plain(object, dtype=builtins.object, **kwargs)

    return array


def _is_library(path):
    return path.startswith(_OWN) or is_installed_file(path)


def _takes_newshape():
    try:
        numpy.reshape([0], newshape=[1])
    except TypeError:
        return False
    return True


def install():
    """Adds the names that NumPy lacks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, thing in {**_NAMES, **_FUNCTIONS}.items():
            if not hasattr(numpy, name):
                setattr(numpy, name, thing)
        if not hasattr(numpy.lib, "pad"):
            numpy.lib.pad = numpy.pad
        if not _takes_newshape():
            numpy.reshape = _reshape(numpy.reshape)
        numpy.array = _array(numpy.array)
    if not hasattr(numpy.ndarray, "tostring"):
        _situ.extend(numpy.ndarray, "tostring", lambda self, order="C": self.tobytes(order))
