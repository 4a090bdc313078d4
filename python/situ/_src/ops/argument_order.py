# SPDX-License-Identifier: Apache-2.0
"""argument_order.py: functions of graph style whose arguments stood in another order before
TensorFlow 1.0; which one is meant is told from the kinds of the arguments."""

import numbers

from situ._src.framework.api import OPS, export
from situ._src.ops import array_ops


@export(v1="concat")
def concat(values, axis, name="concat"):
    """Tensors one behind the other along an axis; also concat(axis, values)."""
    if isinstance(values, numbers.Integral) and isinstance(axis, (list, tuple)):
        values, axis = axis, values
    return array_ops.concat(values, axis, name)


@export(v1="split")
def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Parts of a tensor along an axis; also split(axis, number of parts, value)."""
    if isinstance(value, numbers.Integral) and isinstance(num_or_size_splits, numbers.Integral):
        value, axis = axis, value
    return array_ops.split(value, num_or_size_splits, axis, num, name)


@export(v1="reverse")
def reverse(tensor, axis, name=None):
    """The other way round along axes; also with a truth value for each of them."""
    if isinstance(axis, (list, tuple)) and axis and all(isinstance(a, bool) for a in axis):
        axis = [i for i, turn in enumerate(axis) if turn]
    return OPS["ReverseV2"](tensor, axis, name=name)
