# SPDX-License-Identifier: Apache-2.0
"""sliced_variables.py: partitioned variables in checkpoints: the tensor is saved as a whole, so
that it can be restored with other partitions."""

from __future__ import annotations

import math

import numpy

from situ._src.framework import tensor_shape
from situ._src.training import slot_creator


def info(variable):
    """Returns the SaveSliceInfo of a variable, or None."""
    return getattr(variable, "_save_slice_info", None)


def kept_name(variable):
    """Returns the name of a variable, or of the tensor it is a slice of, in checkpoints."""
    part = info(variable)
    return slot_creator.base_name(variable) if part is None else part.full_name


def cut(variable, array):
    """Returns the slice of a tensor that a variable holds."""
    part = info(variable)
    if part is None or list(array.shape) != part.full_shape:
        return array
    return numpy.ascontiguousarray(array[part.place()])


class Whole:
    """All slices of a tensor."""

    def __init__(self, parts):
        self.parts = list(parts)
        self.shape = tensor_shape.as_shape(info(self.parts[0]).full_shape)
        self.dtype = self.parts[0].dtype

    def join(self, values):
        """Returns the tensor from the values of its slices."""
        array = numpy.empty(self.shape.as_list(), values[0].dtype)
        for part, value in zip(self.parts, values):
            array[info(part).place()] = value
        return array


def is_whole(variables):
    """Returns whether variables are all slices of one tensor."""
    if not variables or any(info(v) is None for v in variables):
        return False
    return sum(math.prod(info(v).var_shape) for v in variables) == math.prod(
        info(variables[0]).full_shape
    )


def gather(variables):
    """Returns {name: variable or Whole}; complete sets of slices are combined.

    Raises:
      ValueError: two variables have the same name.
    """
    groups, found = {}, {}
    for variable in variables:
        if info(variable) is not None:
            groups.setdefault(info(variable).full_name, []).append(variable)
    for variable in variables:
        group = groups.get(kept_name(variable), ())
        if is_whole(group):
            if variable is group[0]:
                found.setdefault(kept_name(variable), []).append(Whole(group))
        else:
            found.setdefault(slot_creator.base_name(variable), []).append(variable)
    for name, several in found.items():
        if any(v is not several[0] for v in several):
            raise ValueError(f"At least two variables have the same name: {name}")
    return {name: several[0] for name, several in found.items()}


def parts(target):
    """Returns the variables of a target."""
    return target.parts if isinstance(target, Whole) else [target]


def _names(key, variable):
    """Returns the names that a variable may have in a checkpoint, for other partitions."""
    own, whole = slot_creator.base_name(variable), kept_name(variable)
    others = [
        b + key[len(a) :]
        for a, b in ((own, whole), (whole, own))
        if (key + "/").startswith(a + "/")
    ]
    return [key] + others


def stored(reader, key, variable):
    """Returns the value of a variable in a checkpoint, or None. A slice is looked up in the whole
    tensor, then by its own name."""
    name = next((n for n in _names(key, variable) if reader.has_tensor(n)), None)
    return None if name is None else cut(variable, numpy.asarray(reader.get_tensor(name)))
