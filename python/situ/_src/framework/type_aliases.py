# SPDX-License-Identifier: Apache-2.0
"""type_aliases.py: aliases for the annotations of public functions. Only type checkers import this
module, because importing typing would slow down start-up."""

from collections.abc import Sequence
from typing import Any, Callable

from _situ import Operation, Tensor
from situ._src.framework.tensor_shape import TensorShape

TensorLike = Any  # a tensor, a variable, a NumPy array, a number, a string or nested lists of these
DTypeLike = Any  # a tf.DType, a NumPy dtype, a Python type or the name of a dtype
ShapeLike = Any  # a tf.TensorShape, a list of dimensions or a 1-D integer tensor
Axis = Any  # a dimension, a list of dimensions or None
Structure = Any  # nested tuples, lists and dictionaries

__all__ = [
    "Any",
    "Axis",
    "Callable",
    "DTypeLike",
    "Operation",
    "Sequence",
    "ShapeLike",
    "Structure",
    "Tensor",
    "TensorLike",
    "TensorShape",
]
