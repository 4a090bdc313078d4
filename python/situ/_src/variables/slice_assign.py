# SPDX-License-Identifier: Apache-2.0
"""slice_assign.py: variable[...].assign: assignment to slices. A slice of a variable is a tensor
registered with its variable and key."""

from __future__ import annotations

import weakref

from situ._src.framework.tensor import Tensor, _extend
from situ._src.ops import indexing
from situ._src.ops.array_ops import convert_to_tensor, op

_slices: dict = {}  # id of a tensor -> (weak reference to it, variable, key)


def register_slice(tensor, variable, key):
    """Registers a tensor as variable[key] and returns it."""
    key_ = id(tensor)
    _slices[key_] = weakref.ref(tensor, lambda _: _slices.pop(key_, None)), variable, key
    return tensor


def _change(variable, key, value, op_name, name):
    """Assigns a slice of a variable: `value`, or op(slice, value)."""
    value = convert_to_tensor(value, variable.dtype.base_dtype)
    if op_name is not None:
        value = op(op_name, variable._situ_tensor_()[key], value)
    return variable._assign_part(indexing.parts(key), value, name)


def _assigner(name, op_name):
    def get(tensor):
        entry = _slices.get(id(tensor))
        if entry is None or entry[0]() is not tensor:
            raise AttributeError(
                f"'{type(tensor).__name__}' object has no attribute '{name}': "
                "only variables and slices of them (variable[0]) can be assigned to."
            )
        _, variable, key = entry

        def assign(val, name=None):
            return _change(variable, key, val, op_name, name)

        return assign

    return property(get)


_extend(
    Tensor,
    assign=_assigner("assign", None),
    assign_add=_assigner("assign_add", "AddV2"),
    assign_sub=_assigner("assign_sub", "Sub"),
)
