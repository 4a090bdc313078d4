# SPDX-License-Identifier: Apache-2.0
"""variable_slices.py: variable[...].assign: parts of variables that are changed. A part is a tensor
that remembers which part of which variable it is."""
import weakref

from situ._lib.array_ops import constant, convert_to_tensor, op
from situ._lib.tensors import Tensor, _extend

_known = {}  # id of a tensor -> (weak reference to it, variable, key)


def remember(tensor, variable, key):
    """The tensor, which is variable[key]."""
    number = id(tensor)
    _known[number] = weakref.ref(tensor, lambda _: _known.pop(number, None)), variable, key
    return tensor


def _changed(variable, key, value, row):
    """The variable's value with another part: what `row` (an op) makes of it and the given one."""
    whole = convert_to_tensor(variable)
    shape = whole.shape.as_list()
    import numpy  # not before it is needed: it takes longer than all of situ
    places = constant(numpy.arange(numpy.prod(shape), dtype="int32").reshape(shape))[key]
    part = whole[key]
    value = convert_to_tensor(value, whole.dtype)
    value = op("BroadcastTo", value, op("Shape", part))
    value = value if row is None else op(row, part, value)
    flat = op("TensorScatterUpdate", op("Reshape", whole, [-1]), op("Reshape", places, [-1, 1]),
              op("Reshape", value, [-1]))
    return op("Reshape", flat, shape)


def _assigner(name, row):
    def get(tensor):
        found = _known.get(id(tensor))
        if found is None or found[0]() is not tensor:
            raise AttributeError(f"'{type(tensor).__name__}' object has no attribute '{name}': "
                                 "only variables and parts of them (variable[0]) are assigned to.")
        _, variable, key = found

        def assign(value, use_locking=False, name=None, read_value=True):
            variable.assign(_changed(variable, key, value, row))
            return variable
        return assign
    return property(get)


_extend(Tensor, assign=_assigner("assign", None), assign_add=_assigner("assign_add", "AddV2"),
        assign_sub=_assigner("assign_sub", "Sub"))
