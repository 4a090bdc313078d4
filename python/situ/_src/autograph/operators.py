# SPDX-License-Identifier: Apache-2.0
"""operators.py: the functions that AutoGraph-converted code calls for if, and, or, not, comparisons
and assert: operations for tensors, Python otherwise."""

from __future__ import annotations

import types

import _situ
from situ._src.autograph.builtins import COMPARE, TABLE, Undefined
from situ._src.autograph.builtins import is_tensor as _is_tensor
from situ._src.autograph.builtins import value_of as _value
from situ._src.framework import nest
from situ._src.framework.api import OPS
from situ._src.ops import control_flow_ops
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.control_flow_ops import cond

_converter: list = []
_BUILT_IN = (type, types.BuiltinFunctionType)


def set_converter(function):
    """Sets the function that converts called functions; conversion.py sets it, to avoid an import
    cycle."""
    _converter.append(function)


def converted(function):
    """Returns the converted form of a function that is called, or the replacement of a built-in."""
    own = TABLE.get(function) if isinstance(function, _BUILT_IN) else None
    return _converter[0](function) if own is None else own


# Values of variables


def _is_number(value):
    return isinstance(value, (bool, int, float)) or type(value).__module__ == "numpy"


def carried(leaf):
    """Returns whether a leaf is a value that operations select, or a loop variable."""
    if isinstance(leaf, Undefined):
        return False
    return (
        _is_tensor(leaf)
        or _is_number(leaf)
        or hasattr(leaf, "_flow")
        or isinstance(leaf, _situ.EagerTensor)
        or hasattr(leaf, "_situ_tensor_")
    )


def _merged(one, other, made, name):
    """Returns a leaf of a variable after an if: the operation's result, or the value if both
    branches left it unchanged."""
    found = next(made) if carried(one) and carried(other) else Undefined(name)
    kept = one is other and (hasattr(one, "_situ_tensor_") or not carried(one))
    return one if kept else found


def _merge(one, other, made, name):
    """Returns the value of a variable after an if."""
    if isinstance(one, Undefined) or isinstance(other, Undefined):
        return Undefined(name)
    ones, others = nest.flatten(one, True), nest.flatten(other, True)
    if len(ones) != len(others):
        return Undefined(name)
    leaves = [_merged(a, b, made, name) for a, b in zip(ones, others)]
    return nest.pack_sequence_as(one, leaves, True)


def if_stmt(test, body, orelse, get, put, names):
    """Implements an if statement; get and put read and set the variables that its branches
    assign."""
    test = _value(test)
    if not _is_tensor(test):
        body() if test else orelse()
        return
    start, ends = get(), []

    def branch(function):
        def call():
            put(start)
            function()
            ends.append(get())
            return [
                _value(leaf) if carried(leaf) else None
                for value in ends[-1]
                for leaf in nest.flatten(value, True)
            ]

        return call

    _check_in_graph(names)
    made = iter([v for v in _aligned(test, branch(body), branch(orelse)) if v is not None])
    put(tuple(_merge(a, b, made, n) for a, b, n in zip(*ends, names)))


def peek(read, name):
    """Returns d["a"] or o.a, or Undefined if it does not exist."""
    try:
        return read()
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        return Undefined(name)


def is_set(value):
    """Returns whether a variable is set."""
    return not isinstance(value, Undefined)


def _check_in_graph(names):
    if _situ.current_graph() is None:
        raise RuntimeError(
            f"An if statement that assigns {names} depends on a graph tensor outside of its graph."
        )


def _aligned(test, yes, no):
    """Calls cond and drops leaves that only one branch sets."""

    return control_flow_ops.cond_aligned(test, yes, no)


def if_return(test, body, orelse):
    """Implements an if statement whose branches return."""
    test = _value(test)
    if not _is_tensor(test):
        return body() if test else orelse()
    return cond(test, body, orelse, strict=True)


def if_exp(test, body, orelse):
    """Implements a conditional expression."""
    return if_return(test, body, orelse)


def and_(first, second):
    """Implements `and`; the second operand is evaluated lazily for Python values."""
    value = _value(first())
    return (
        OPS["LogicalAnd"](value, convert_to_tensor(second()))
        if _is_tensor(value)
        else value and second()
    )


def or_(first, second):
    """Implements `or`; the second operand is evaluated lazily for Python values."""
    value = _value(first())
    return (
        OPS["LogicalOr"](value, convert_to_tensor(second()))
        if _is_tensor(value)
        else value or second()
    )


def chain(names, values):
    """Implements chained comparisons, a < b < c; each operand is evaluated when it is needed."""
    left = _value(values[0]())

    def compare(place, left):
        right = _value(values[place + 1]())
        first = COMPARE[names[place]](left, right)
        if place + 1 == len(names):
            return first
        return and_(lambda: first, lambda: compare(place + 1, right))

    return compare(0, left)


def not_(value):
    """Implements `not`."""
    value = _value(value)
    return OPS["LogicalNot"](value) if _is_tensor(value) else not value


def assert_stmt(test, message):
    """Implements `assert`."""
    from situ._src.ops.check_ops import Assert

    test = _value(test)
    if _is_tensor(test):
        Assert(test, [str(message)])
    else:
        assert test, message
