# SPDX-License-Identifier: Apache-2.0
"""sliced_variables.py: variables that are parts of one tensor, in checkpoints: the tensor is
kept as a whole, so that it can be restored into other parts, or into one variable."""

from __future__ import annotations

import math

import numpy

from situ._src.framework import tensor_shape
from situ._src.training import slot_creator


class SaveSliceInfo:
    """Which part of which tensor a variable is."""

    def __init__(self, full_name=None, full_shape=None, var_offset=None, var_shape=None):
        self.full_name, self.full_shape = full_name, list(full_shape)
        self.var_offset, self.var_shape = list(var_offset), list(var_shape)

    @property
    def spec(self):
        """The whole shape, then start and size along each axis, as text."""
        pieces = ":".join(f"{o},{n}" for o, n in zip(self.var_offset, self.var_shape))
        return " ".join(str(n) for n in self.full_shape) + " " + pieces

    def place(self):
        """The part, as an index of the whole."""
        return tuple(slice(o, o + n) for o, n in zip(self.var_offset, self.var_shape))

    def of_slot(self, name):
        """The same part of a slot of the whole."""
        return SaveSliceInfo(
            f"{self.full_name}/{name}", self.full_shape, self.var_offset, self.var_shape
        )


def info(variable):
    """Which part a variable is; None: it is a whole."""
    return getattr(variable, "_save_slice_info", None)


def kept_name(variable):
    """The name under which a checkpoint keeps what a variable is, or is a part of."""
    part = info(variable)
    return slot_creator.base_name(variable) if part is None else part.full_name


def cut(variable, array):
    """What a variable takes of the whole."""
    part = info(variable)
    if part is None or list(array.shape) != part.full_shape:
        return array
    return numpy.ascontiguousarray(array[part.place()])


class Whole:
    """All parts of a tensor."""

    def __init__(self, parts):
        self.parts = list(parts)
        self.shape = tensor_shape.as_shape(info(self.parts[0]).full_shape)
        self.dtype = self.parts[0].dtype

    def join(self, values):
        """The tensor, from the values of its parts."""
        array = numpy.empty(self.shape.as_list(), values[0].dtype)
        for part, value in zip(self.parts, values):
            array[info(part).place()] = value
        return array


def is_whole(variables):
    """Whether variables are all parts of one tensor."""
    if not variables or any(info(v) is None for v in variables):
        return False
    return sum(math.prod(info(v).var_shape) for v in variables) == math.prod(
        info(variables[0]).full_shape
    )


def gather(variables):
    """{name: variable or Whole}: parts of which all are there are put together."""
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
    """The variables that a target of a checkpoint is made of."""
    return target.parts if isinstance(target, Whole) else [target]


def _names(key, variable):
    """A name in a checkpoint, and what it is called where the tensor was cut in another way."""
    own, whole = slot_creator.base_name(variable), kept_name(variable)
    others = [
        b + key[len(a) :]
        for a, b in ((own, whole), (whole, own))
        if (key + "/").startswith(a + "/")
    ]
    return [key] + others


def stored(reader, key, variable):
    """What a checkpoint holds for a variable under this name; None: nothing. Parts are looked for
    in their whole, then under their own names."""
    name = next((n for n in _names(key, variable) if reader.has_tensor(n)), None)
    return None if name is None else cut(variable, numpy.asarray(reader.get_tensor(name)))
