# SPDX-License-Identifier: Apache-2.0
"""slice_assign.py: variable[...].assign: parts of variables that are changed. A part is a tensor
that remembers which part of which variable it is."""

from __future__ import annotations

import weakref

from situ._src.framework.tensor import Tensor, _extend
from situ._src.ops import indexing
from situ._src.ops.array_ops import convert_to_tensor, op

_known: dict = {}  # id of a tensor -> (weak reference to it, variable, key)


def remember(tensor, variable, key):
    """The tensor, which is variable[key]."""
    number = id(tensor)
    _known[number] = weakref.ref(tensor, lambda _: _known.pop(number, None)), variable, key
    return tensor


def _change(variable, key, value, row):
    """Gives another value to a part of a variable: what `row` (an op) makes of it and the given
    one, or the given one itself."""
    value = convert_to_tensor(value, variable.dtype.base_dtype)
    if row is not None:
        value = op(row, variable._situ_tensor_()[key], value)
    return variable._assign_part(indexing.parts(key), value)


def _assigner(name, row):
    def get(tensor):
        found = _known.get(id(tensor))
        if found is None or found[0]() is not tensor:
            raise AttributeError(
                f"'{type(tensor).__name__}' object has no attribute '{name}': "
                "only variables and parts of them (variable[0]) are assigned to."
            )
        _, variable, key = found

        def assign(value, use_locking=False, name=None, read_value=True):
            return _change(variable, key, value, row)

        return assign

    return property(get)


_extend(
    Tensor,
    assign=_assigner("assign", None),
    assign_add=_assigner("assign_add", "AddV2"),
    assign_sub=_assigner("assign_sub", "Sub"),
)
