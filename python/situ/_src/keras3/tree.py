# SPDX-License-Identifier: Apache-2.0
"""tree.py: keras.tree: nested structures."""

from __future__ import annotations

from typing import Any

from situ._src.framework import nest
from situ._src.keras3.exports import keras3_export


@keras3_export("tree.MAP_TO_NONE")
class MAP_TO_NONE:
    """Returned by a function of `traverse`: replaces a value by None."""


@keras3_export("tree.is_nested")
def is_nested(structure: Any) -> bool:
    """Returns whether a value is a list, tuple or dictionary.

    Args:
      structure: The structure.
    """
    return isinstance(structure, (list, tuple, dict))


@keras3_export("tree.flatten")
def flatten(structure: Any) -> list:
    """Returns the leaves of a structure as a list; dictionaries are sorted by key.

    Args:
      structure: The structure.
    """
    return nest.flatten(structure)


def _paths(structure, path):
    if isinstance(structure, dict):
        for key in sorted(structure):
            yield from _paths(structure[key], (*path, key))
    elif isinstance(structure, (list, tuple)):
        for i, part in enumerate(structure):
            yield from _paths(part, (*path, i))
    else:
        yield path, structure


@keras3_export("tree.flatten_with_path")
def flatten_with_path(structure: Any) -> list:
    """Returns (path, leaf) of each leaf; a path is a tuple of keys and indices.

    Args:
      structure: The structure.
    """
    return list(_paths(structure, ()))


@keras3_export("tree.map_structure")
def map_structure(func: Any, *structures: Any, none_is_leaf: bool = True) -> Any:
    """Calls a function on the leaves of equal structures.

    Args:
      func: Function.
      *structures: Structures.
      none_is_leaf: Whether func is called on None; otherwise None stays.
    """
    call = func if none_is_leaf else lambda *v: None if v[0] is None else func(*v)
    return nest.map_structure(call, *structures)


@keras3_export("tree.map_structure_up_to")
def map_structure_up_to(shallow_structure: Any, func: Any, *structures: Any) -> Any:
    """Calls a function on the parts of structures at the leaves of a shallow one.

    Args:
      shallow_structure: The structure whose leaves select the parts.
      func: Function.
      *structures: Structures.
    """
    if isinstance(shallow_structure, dict):
        return {
            k: map_structure_up_to(v, func, *[s[k] for s in structures])
            for k, v in shallow_structure.items()
        }
    if isinstance(shallow_structure, (list, tuple)):
        parts = [
            map_structure_up_to(v, func, *[s[i] for s in structures])
            for i, v in enumerate(shallow_structure)
        ]
        return type(shallow_structure)(parts)
    return func(*structures)


@keras3_export("tree.map_shape_structure")
def map_shape_structure(func: Any, structure: Any) -> Any:
    """Calls a function on shapes: tuples and lists of integers and None are leaves.

    Args:
      func: Function.
      structure: The structure.
    """
    if isinstance(structure, (list, tuple)) and all(
        n is None or isinstance(n, int) for n in structure
    ):
        return func(tuple(structure))
    if isinstance(structure, dict):
        return {k: map_shape_structure(func, v) for k, v in structure.items()}
    return type(structure)(map_shape_structure(func, v) for v in structure)


@keras3_export("tree.pack_sequence_as")
def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """Returns leaves in the form of a structure.

    Args:
      structure: The structure.
      flat_sequence: As many values as the structure has leaves.
    """
    return nest.pack_sequence_as(structure, list(flat_sequence))


@keras3_export("tree.lists_to_tuples")
def lists_to_tuples(structure: Any) -> Any:
    """Returns a structure with tuples instead of lists.

    Args:
      structure: The structure.
    """
    if isinstance(structure, dict):
        return {k: lists_to_tuples(v) for k, v in structure.items()}
    if isinstance(structure, (list, tuple)):
        return tuple(lists_to_tuples(v) for v in structure)
    return structure


@keras3_export("tree.traverse")
def traverse(func: Any, structure: Any, top_down: bool = True) -> Any:
    """Calls a function on all parts of a structure; None keeps a part.

    Args:
      func: Function that returns a replacement, None, or MAP_TO_NONE.
      structure: The structure.
      top_down: Whether parents are visited before their children.
    """
    replaced = func(structure) if top_down else None
    if replaced is not None:
        return None if replaced is MAP_TO_NONE else replaced
    if isinstance(structure, dict):
        structure = {k: traverse(func, v, top_down) for k, v in structure.items()}
    elif isinstance(structure, (list, tuple)):
        parts = [traverse(func, v, top_down) for v in structure]
        named = hasattr(structure, "_fields")
        structure = type(structure)(*parts) if named else type(structure)(parts)
    if top_down:
        return structure
    replaced = func(structure)
    if replaced is None:
        return structure
    return None if replaced is MAP_TO_NONE else replaced


@keras3_export("tree.assert_same_structure")
def assert_same_structure(a: Any, b: Any, check_types: Any = None) -> None:
    """Raises an error if two structures differ.

    Args:
      a: Structure.
      b: Structure.
      check_types: Has no effect, as in Keras 3: types are compared.
    """
    del check_types  # deprecated in Keras 3
    try:
        nest.assert_same_structure(a, b)
    except TypeError as error:
        raise ValueError(str(error)) from None


@keras3_export("tree.assert_same_paths")
def assert_same_paths(a: Any, b: Any) -> None:
    """Raises a ValueError if the paths of leaves differ.

    Args:
      a: Structure.
      b: Structure.
    """
    paths = [sorted(map(str, (p for p, _ in flatten_with_path(s)))) for s in (a, b)]
    if paths[0] != paths[1]:
        raise ValueError(f"`a` and `b` don't have the same paths: {paths[0]} and {paths[1]}")
