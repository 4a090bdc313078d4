# SPDX-License-Identifier: Apache-2.0
"""structure.py: structures of arguments and results of functions: lists, dicts, and things that
are several tensors, such as ragged and sparse tensors."""

from __future__ import annotations

from situ._src.framework.tensor import EagerTensor, GraphTensor

_parts: dict = {}  # class of things that consist of tensors -> class of tuples of these tensors


def _whole(kind, pieces):
    """A ragged or sparse tensor again, of tensors; a tuple of whatever else."""
    if all(isinstance(p, (EagerTensor, GraphTensor)) for p in pieces):
        return kind._situ_from_tensors_(pieces)
    return _tuple(kind, pieces)


def _tuple(kind, pieces):
    """The pieces as a tuple that becomes the thing again where results are put together."""
    if kind not in _parts:
        _parts[kind] = type(
            kind.__name__ + "Parts",
            (tuple,),
            {"_make": classmethod(lambda cls, some: kind._situ_from_tensors_(list(some)))},
        )
    return _parts[kind](pieces)


def split(structure):
    """Results with ragged and sparse tensors as tuples of their pieces."""
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


def map_leaves(structure, function):
    """The structure with what a function makes of each thing in it."""
    if hasattr(structure, "_situ_tensors_"):
        before = structure._situ_tensors_
        after = [function(p) for p in before]
        return (
            structure
            if all(a is b for a, b in zip(after, before))
            else _whole(type(structure), after)
        )
    if isinstance(structure, dict):
        return {k: map_leaves(v, function) for k, v in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*[map_leaves(v, function) for v in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)(map_leaves(v, function) for v in structure)
    return function(structure)


def pack_leaves(structure, values):
    """The structure with values one after the other in place of its tensors; ragged and sparse
    tensors again of their pieces."""
    if structure is None:
        return None
    if isinstance(structure, dict):
        return {k: pack_leaves(v, values) for k, v in structure.items()}
    if hasattr(structure, "_make"):
        return type(structure)._make([pack_leaves(v, values) for v in structure])
    if isinstance(structure, (list, tuple)):
        return type(structure)(pack_leaves(v, values) for v in structure)
    return next(values)


def leaves(structure):
    """The things in a structure, in order."""
    found = []
    map_leaves(structure, found.append)
    return found
