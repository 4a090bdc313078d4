# SPDX-License-Identifier: Apache-2.0
"""structure.py: nested structures of arguments and results of functions: lists, dicts, named tuples
and composite tensors (ragged, sparse), which consist of several tensors."""

from __future__ import annotations

from situ._src.framework.tensor import EagerTensor, GraphTensor

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable

_tuple_classes: dict = {}  # class of composite tensors -> tuple class of their tensors


def _rebuild(kind, tensors):
    """Returns a composite tensor of tensors; of other values a tuple."""
    if all(isinstance(p, (EagerTensor, GraphTensor)) for p in tensors):
        return kind._situ_from_tensors_(tensors)
    return _tuple(kind, tensors)


def _tuple(kind, tensors):
    """Returns tensors as a tuple that `pack_leaves` turns into the composite tensor again."""
    if kind not in _tuple_classes:
        _tuple_classes[kind] = type(
            kind.__name__ + "Parts",
            (tuple,),
            {"_make": classmethod(lambda cls, some: kind._situ_from_tensors_(list(some)))},
        )
    return _tuple_classes[kind](tensors)


def split(structure):
    """Returns a structure with composite tensors replaced by tuples of their tensors."""
    if hasattr(structure, "_situ_tensors_"):
        return _tuple(type(structure), structure._situ_tensors_)
    if isinstance(structure, dict):
        return {k: split(v) for k, v in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[split(v) for v in structure])
    return (
        type(structure)(map(split, structure))
        if isinstance(structure, (list, tuple))
        else structure
    )


def map_leaves(structure, function: Callable):
    """Returns the structure with `function` applied to each leaf."""
    if hasattr(structure, "_situ_tensors_"):
        before = structure._situ_tensors_
        after = [function(p) for p in before]
        return (
            structure
            if all(a is b for a, b in zip(after, before))
            else _rebuild(type(structure), after)
        )
    if isinstance(structure, dict):
        return {k: map_leaves(v, function) for k, v in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[map_leaves(v, function) for v in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)(map_leaves(v, function) for v in structure)
    return function(structure)


def pack_leaves(structure, values):
    """Returns the structure with its tensors replaced by the next values; composite tensors are
    rebuilt."""
    if structure is None:
        return None
    if isinstance(structure, dict):
        return {k: pack_leaves(v, values) for k, v in structure.items()}
    if hasattr(structure, "_make"):
        return type(structure)._make([pack_leaves(v, values) for v in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)(pack_leaves(v, values) for v in structure)
    return next(values)


def leaves(structure) -> list:
    """Returns the leaves of a structure in order."""
    result: list = []
    map_leaves(structure, result.append)
    return result
