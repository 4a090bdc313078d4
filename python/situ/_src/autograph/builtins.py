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
            "or for over tensors, or in all branches, to values of the same type."
        )

    __getattr__ = __call__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = (
        __getitem__
    ) = __iter__ = __bool__ = __len__ = __lt__ = __gt__ = __truediv__ = _fail


def is_tensor(value):
    """Returns whether a value is a tensor of a graph."""
    return isinstance(value, GraphTensor)


def value_of(value):
    """Returns the value of a variable; other values unchanged."""
    read = getattr(value, "_situ_tensor_", None) if not isinstance(value, Undefined) else None
    return read() if read is not None else value


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


def _len(sequence):
    value = value_of(sequence)
    if not is_tensor(value):
        return len(sequence)
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


def _is_dataset(value):
    return hasattr(value, "element_spec") and hasattr(value, "enumerate")


def _enumerate(iterable, start=0):
    return (
        iterable.enumerate(start)
        if _is_dataset(iterable) and _situ.current_graph() is not None
        else enumerate(iterable, start)
    )


def _zip(*iterables, **kwargs):
    if iterables and all(map(_is_dataset, iterables)) and _situ.current_graph() is not None:
        return type(iterables[0]).zip(iterables)
    return zip(*iterables, **kwargs)


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
