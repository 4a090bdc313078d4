# SPDX-License-Identifier: Apache-2.0
"""nest.py: tensorflow.python.data.util.nest: structures of elements of datasets. A list is a leaf
there, because it stands for a tensor; sparse and ragged tensors are leaves, too."""

from __future__ import annotations

from typing import Any, Callable

from situ._src.framework.api import export
from situ._src.framework.nest import DATA


def _export(function):
    return export(f"python.data.util.nest.{function.__name__}")(function)


@_export
def is_nested(structure: Any) -> bool:
    """Returns whether a value is a tuple, named tuple, mapping or instance of an attrs class.

    Args:
      structure: the value.
    """
    return DATA.is_nested(structure)


@_export
def flatten(structure: Any) -> list:
    """Returns the leaves of a structure, those of a mapping in the order of its sorted keys.

    Args:
      structure: a nested structure, or a leaf.
    """
    return DATA.flatten(structure)


@_export
def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """Returns a structure with other leaves.

    Args:
      structure: a nested structure, or a leaf.
      flat_sequence: the leaves in the order of `flatten`.

    Raises:
      TypeError: `flat_sequence` is not a sequence.
      ValueError: the number of leaves differs.
    """
    if not isinstance(flat_sequence, (list, tuple)):
        raise TypeError(
            f"Argument `flat_sequence` must be a sequence. Got '{type(flat_sequence).__name__}'."
        )
    expected = len(DATA.flatten(structure))
    if len(flat_sequence) != expected:
        raise ValueError(
            f"Could not pack sequence. Argument `structure` had {expected} elements, but argument "
            f"`flat_sequence` had {len(flat_sequence)} elements. Received structure: {structure}, "
            f"flat_sequence: {flat_sequence}."
        )
    return DATA.pack(structure, flat_sequence)


@_export
def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raises an error if two structures are not nested in the same way.

    Args:
      nest1, nest2: nested structures.
      check_types: whether the types of sequences and the keys of mappings must be equal, too.

    Raises:
      ValueError: the structures differ.
      TypeError: the types of two sequences differ.
    """
    DATA.assert_same(nest1, nest2, check_types)


@_export
def map_structure(func: Callable, *structure: Any, check_types: bool = True) -> Any:
    """Applies a function to corresponding leaves of structures.

    Args:
      func: called with one leaf of each structure.
      *structure: nested structures that are nested in the same way.
      check_types: whether the types of sequences must be equal.

    Returns:
      The results in the shape of the first structure.

    Raises:
      TypeError: `func` is not callable.
      ValueError: there is no structure, or they differ.
    """
    if not callable(func):
        raise TypeError(f"Argument `func` must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        DATA.assert_same(structure[0], other, check_types)
    return DATA.map(func, *structure)


@_export
def flatten_up_to(shallow_tree: Any, input_tree: Any) -> list:
    """Returns the parts of a structure at the leaves of another one.

    Args:
      shallow_tree: a structure, maybe less deep.
      input_tree: the structure to flatten.

    Raises:
      TypeError: `input_tree` is not nested as `shallow_tree` is.
      ValueError: it has other keys or another number of parts.
    """
    return DATA.flatten_like(shallow_tree, input_tree)


@_export
def map_structure_up_to(shallow_tree: Any, func: Callable, *inputs: Any) -> Any:
    """Applies a function to the parts of structures at the leaves of another one.

    Args:
      shallow_tree: a structure, maybe less deep than the inputs.
      func: called with one part of each input.
      *inputs: structures.

    Returns:
      The results in the shape of `shallow_tree`.

    Raises:
      ValueError: there is no input, or one has other keys or another number of parts.
    """
    if not inputs:
        raise ValueError("Argument `inputs` is empty. Cannot map over no sequences.")
    parts = [DATA.flatten_like(shallow_tree, tree) for tree in inputs]
    return DATA.pack(shallow_tree, [func(*some) for some in zip(*parts)])
