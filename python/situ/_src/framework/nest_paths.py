# SPDX-License-Identifier: Apache-2.0
"""nest_paths.py: the private functions of tensorflow.python.util.nest that programs use: paths of
leaves, and shallow structures, whose leaves correspond to parts of other structures."""

from __future__ import annotations

from collections.abc import Mapping

from situ._src.framework import nest
from situ._src.framework.api import BOTH
from situ._src.framework.nest import CORE, pack_sequence_as

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


def _same_kind(shallow, structure):
    """Returns whether the type of a structure fits that of a shallow one."""
    a, b = type(shallow), type(structure)
    if isinstance(structure, a):
        return True
    if nest.is_named_tuple(a) and nest.is_named_tuple(b):
        return nest.same_named_tuples(a, b)
    return any(issubclass(a, kind) and issubclass(b, kind) for kind in (list, Mapping))


def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises an error if `input_tree` is not nested as `shallow_tree`; the leaves of `shallow_tree`
    may correspond to structures.

    Args:
      shallow_tree: the structure to compare with.
      input_tree: the structure to check.
      check_types: whether the types of sequences must fit, too.
      expand_composites: whether composite tensors count as structures of their tensors.

    Raises:
      TypeError: the types differ.
      ValueError: the lengths or keys differ.
    """
    rules = nest.nest_of(expand_composites)
    container, own = rules[type(shallow_tree)], rules[type(input_tree)]
    if container is None:
        return
    if own is None:
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has "
            f"type: {type(input_tree)}."
        )
    are_composite = nest.COMPOSITE in (container, own)
    if (
        container is not own
        if are_composite
        else check_types and not _same_kind(shallow_tree, input_tree)
    ):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if are_composite:
        nest.assert_compatible(shallow_tree, input_tree)
    elif len(input_tree) != len(shallow_tree):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has "
            f"length {len(input_tree)}, while shallow structure has length {len(shallow_tree)}."
        )
    if isinstance(shallow_tree, Mapping) and (absent := set(shallow_tree) - set(input_tree)):
        raise ValueError(
            "The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree "
            f"has the following keys that are not in the input_tree: {sorted(absent)}."
        )
    for child, part in zip(container.values(shallow_tree), own.values(input_tree)):
        assert_shallow_structure(child, part, check_types, expand_composites)


def _paths(rules, shallow, structure, path=()):
    """Yields (path, part) for the parts of a structure at the leaves of a shallow one."""
    container, own = rules[type(shallow)], rules[type(structure)]
    if container is None:
        yield path, structure
        return
    parts = dict(zip(own.keys(structure), own.values(structure)))
    for key, child in zip(container.keys(shallow), container.values(shallow)):
        yield from _paths(rules, child, parts[key], (*path, key))


def flatten_with_tuple_paths_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list:
    """Returns (path, part) for the parts of `input_tree` at the leaves of `shallow_tree`.

    Args:
      shallow_tree: the structure whose leaves select the parts.
      input_tree: a structure that is nested as `shallow_tree`, and possibly deeper.
      check_types: whether the types of sequences must fit, too.
      expand_composites: whether composite tensors count as structures of their tensors.

    Returns:
      A list of pairs; a path is a tuple of keys.

    Raises:
      TypeError: the types differ.
      ValueError: the lengths or keys differ.
    """
    assert_shallow_structure(shallow_tree, input_tree, check_types, expand_composites)
    return list(_paths(nest.nest_of(expand_composites), shallow_tree, input_tree))


def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list:
    """Returns the parts of `input_tree` at the leaves of `shallow_tree`.

    Args:
      shallow_tree: the structure whose leaves select the parts.
      input_tree: a structure that is nested as `shallow_tree`, and possibly deeper.
      check_types: whether the types of sequences must fit, too.
      expand_composites: whether composite tensors count as structures of their tensors.

    Raises:
      TypeError: the types differ.
      ValueError: the lengths or keys differ.
    """
    found = flatten_with_tuple_paths_up_to(shallow_tree, input_tree, check_types, expand_composites)
    return [part for _, part in found]


def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any,
    func: Callable,
    *inputs: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    **kwargs: Any,
) -> Any:
    """Applies `func(path, *parts)` to the parts of `inputs` at the leaves of `shallow_tree`.

    Args:
      shallow_tree: the structure whose leaves select the parts.
      func: called with a path, a tuple of keys, and the part of each input there.
      *inputs: structures that are nested as `shallow_tree`, and possibly deeper.
      check_types: whether the types of sequences must fit, too.
      expand_composites: whether composite tensors count as structures of their tensors.
      **kwargs: passed to `func`.

    Returns:
      The results in the shape of `shallow_tree`.

    Raises:
      TypeError: the types of an input differ from those of `shallow_tree`.
      ValueError: there are no inputs, or the lengths or keys differ.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    flat = [
        flatten_with_tuple_paths_up_to(shallow_tree, x, check_types, expand_composites)
        for x in inputs
    ]
    results = [func(some[0][0], *[part for _, part in some], **kwargs) for some in zip(*flat)]
    return pack_sequence_as(shallow_tree, results, expand_composites)


def map_structure_up_to(shallow_tree: Any, func: Callable, *inputs: Any, **kwargs: Any) -> Any:
    """Applies a function to the parts of `inputs` at the leaves of `shallow_tree`.

    Args:
      shallow_tree: the structure whose leaves select the parts.
      func: called with the part of each input at a leaf.
      *inputs: structures that are nested as `shallow_tree`, and possibly deeper.
      **kwargs: `check_types` and `expand_composites`, as for map_structure_with_tuple_paths_up_to.

    Returns:
      The results in the shape of `shallow_tree`.

    Raises:
      TypeError: the types of an input differ from those of `shallow_tree`.
      ValueError: there are no inputs, or the lengths or keys differ.
    """
    call = lambda _, *parts: func(*parts)
    return map_structure_with_tuple_paths_up_to(shallow_tree, call, *inputs, **kwargs)


def map_structure_with_tuple_paths(func: Callable, *structure: Any, **kwargs: Any) -> Any:
    """Applies `func(path, *leaves)` to the leaves of structures; a path is a tuple of keys.

    Args:
      func: called with a path and the leaf of each structure there.
      *structure: Structures; the first one says where the leaves are.
      **kwargs: `check_types` and `expand_composites`, as for map_structure_with_tuple_paths_up_to;
        others are passed to `func`.

    Returns:
      The results in the shape of the first structure.

    Raises:
      TypeError: the types of two structures differ.
      ValueError: the lengths or keys differ.
    """
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


def map_structure_with_paths(func: Callable, *structure: Any, **kwargs: Any) -> Any:
    """Applies `func(path, *leaves)` to the leaves of structures; a path is a string `key/key`.

    Args:
      func: called with a path and the leaf of each structure there.
      *structure: Structures; the first one says where the leaves are.
      **kwargs: `check_types` and `expand_composites`, as for map_structure_with_tuple_paths_up_to;
        others are passed to `func`.

    Returns:
      The results in the shape of the first structure.

    Raises:
      TypeError: the types of two structures differ.
      ValueError: the lengths or keys differ.
    """
    call = lambda path, *parts, **more: func("/".join(map(str, path)), *parts, **more)
    return map_structure_with_tuple_paths_up_to(structure[0], call, *structure, **kwargs)


def flatten_with_tuple_paths(structure: Any, expand_composites: bool = False) -> list:
    """Returns (path, leaf) for each leaf; a path is a tuple of keys.

    Args:
      structure: a nested structure, or a single value, whose path is empty.
      expand_composites: whether composite tensors count as structures of their tensors.
    """
    return list(_paths(nest.nest_of(expand_composites), structure, structure))


def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator:
    """Yields the path of each leaf, a tuple of keys.

    Args:
      nest: a nested structure, or a single value, whose path is empty.
      expand_composites: whether composite tensors count as structures of their tensors.
    """
    return (path for path, _ in flatten_with_tuple_paths(nest, expand_composites))


def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list:
    """Returns (path, leaf) for each leaf; a path is a string of keys joined by `separator`.

    Args:
      structure: a nested structure, or a single value, whose path is empty.
      separator: the text between two keys.
      expand_composites: whether composite tensors count as structures of their tensors.
    """
    found = flatten_with_tuple_paths(structure, expand_composites)
    return [(separator.join(map(str, path)), leaf) for path, leaf in found]


def list_to_tuple(structure: Any) -> Any:
    """Returns a structure with tuples in place of lists.

    Args:
      structure: a nested structure; a value that is none is returned as it is.
    """
    if not nest.is_nested(structure):
        return structure
    container = CORE[type(structure)]
    parts = [list_to_tuple(part) for part in container.values(structure)]
    return tuple(parts) if isinstance(structure, list) else container.rebuild(structure, parts)


def get_traverse_shallow_structure(
    traverse_fn: Callable, structure: Any, expand_composites: bool = False
) -> Any:
    """Returns a shallow structure of bools: False where `traverse_fn` returns False for a part.

    Args:
      traverse_fn: called with a part of the structure; returns whether to go into it, or a
        structure of bools that says so for each of its children.
      structure: the structure to go through.
      expand_composites: whether composite tensors count as structures of their tensors.

    Raises:
      TypeError: `traverse_fn` returns neither a bool nor a structure of bools of depth 1, or a
        structure for a leaf.
    """
    rules = nest.nest_of(expand_composites)
    chosen = traverse_fn(structure)
    if not rules.is_nested(structure):
        if not isinstance(chosen, bool):
            raise TypeError(
                f"traverse_fn returned structure: {chosen} for non-structure: {structure}"
            )
        return chosen
    if chosen is False:
        return False
    container = rules[type(structure)]
    parts = container.values(structure)
    if isinstance(chosen, bool):
        below = [True] * len(parts)
    elif not rules.is_nested(chosen):
        raise TypeError(f"traverse_fn returned a non-bool scalar: {chosen} for input: {structure}")
    else:
        assert_shallow_structure(chosen, structure, expand_composites=expand_composites)
        below = rules[type(chosen)].values(chosen)
        if not all(isinstance(b, bool) for b in below):
            raise TypeError(
                f"traverse_fn didn't return a depth=1 structure of bools.  saw: {chosen}  for "
                f"structure: {structure}"
            )
    visit = get_traverse_shallow_structure
    made = [visit(traverse_fn, p, expand_composites) if b else b for p, b in zip(parts, below)]
    return container.rebuild(structure, made)


for _function in (
    assert_shallow_structure,
    flatten_up_to,
    flatten_with_joined_string_paths,
    flatten_with_tuple_paths,
    flatten_with_tuple_paths_up_to,
    get_traverse_shallow_structure,
    list_to_tuple,
    map_structure_up_to,
    map_structure_with_paths,
    map_structure_with_tuple_paths,
    map_structure_with_tuple_paths_up_to,
    yield_flat_paths,
):
    for _prefix in ("python.util.nest.", "contrib.framework.nest."):
        BOTH[_prefix + _function.__name__] = _function
