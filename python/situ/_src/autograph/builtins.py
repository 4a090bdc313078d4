# SPDX-License-Identifier: Apache-2.0
"""builtins.py: Python built-ins over tensors in AutoGraph-converted code (range, len, int, float,
max, min, enumerate, zip), and the value of undefined names."""

from __future__ import annotations

import operator

import _situ
from situ._src.framework.api import OPS
from situ._src.framework.tensor import GraphTensor
from situ._src.ops.array_ops import cast, convert_to_tensor

COMPARE = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


class Undefined:
    """The value of a name that is not set on every path."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    def _fail(self, *args, **kwargs):
        raise ValueError(
            f"'{self._name}' is used undefined: it must be set before the if, while "
            "or for over tensors, or on all its ways, to values of one kind."
        )

    __getattr__ = __call__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = (
        __getitem__
    ) = __iter__ = __bool__ = __len__ = __lt__ = __gt__ = __truediv__ = _fail


def is_tensor(value):
    """Returns whether a value is a tensor of a graph."""
    return isinstance(value, GraphTensor)


def value_of(thing):
    """Returns the value of a variable; other values unchanged."""
    behind = getattr(thing, "_situ_tensor_", None) if not isinstance(thing, Undefined) else None
    return behind() if behind is not None else thing


class Range:
    """range() with tensors as arguments, for a loop."""

    def __init__(self, *args):
        args = [convert_to_tensor(a) for a in args]
        self.start = args[0] if len(args) > 1 else convert_to_tensor(0, args[0].dtype)
        self.limit = args[1] if len(args) > 1 else args[0]
        self.delta = args[2] if len(args) > 2 else convert_to_tensor(1, self.limit.dtype)


def _range(*args):
    args = [value_of(a) for a in args]
    return Range(*args) if any(is_tensor(a) for a in args) else range(*[int(a) for a in args])


def _len(thing):
    value = value_of(thing)
    if not is_tensor(value):
        return len(thing)
    if value.shape.rank == 0:
        raise ValueError("len requires a non-scalar tensor, got one of shape ()")
    size = value.shape.as_list()[0] if value.shape.rank else None
    return OPS["Shape"](value)[0] if size is None else size


def _number(python, dtype):
    def convert(*args):
        value = value_of(args[0]) if len(args) == 1 else None
        if not is_tensor(value):
            return python(*args)
        return (
            OPS["StringToNumber"](value, out_type=dtype)
            if value.dtype.name == "string"
            else cast(value, dtype)
        )

    return convert


def _extreme(python, row):
    def choose(*args, **kwargs):
        values = [value_of(a) for a in args]
        if len(values) == 1 and is_tensor(values[0]) and not kwargs:
            return OPS[row](values[0], [0])
        return python(*args, **kwargs)

    return choose


def _is_dataset(thing):
    return hasattr(thing, "element_spec") and hasattr(thing, "enumerate")


def _enumerate(thing, start=0):
    return (
        thing.enumerate(start)
        if _is_dataset(thing) and _situ.current_graph() is not None
        else enumerate(thing, start)
    )


def _zip(*things, **kwargs):
    if things and all(map(_is_dataset, things)) and _situ.current_graph() is not None:
        return type(things[0]).zip(tuple(things))
    return zip(*things, **kwargs)


TABLE = {
    range: _range,
    len: _len,
    int: _number(int, "int32"),
    float: _number(float, "float32"),
    max: _extreme(max, "Max"),
    min: _extreme(min, "Min"),
    enumerate: _enumerate,
    zip: _zip,
}
