# SPDX-License-Identifier: Apache-2.0
"""nest.py: tf.nest: functions on nested lists, tuples, named tuples and dicts; dicts are ordered by
their sorted keys."""

from __future__ import annotations

from situ._src.framework.api import BOTH


def is_nested(seq) -> bool:
    """Returns whether a value is a list, tuple, named tuple or dict.

    Args:
      seq: the value.
    """
    return isinstance(seq, (list, tuple, dict))


def children(structure):
    """Returns the direct children of a list, tuple or dict."""
    if isinstance(structure, dict):
        return [structure[k] for k in sorted(structure)]
    return list(structure)


def flatten(structure, expand_composites: bool = False) -> list:
    """Returns the leaves of a nested structure.

    Args:
      structure: a nested structure, or a single value.
      expand_composites: whether sparse and ragged tensors and IndexedSlices count as structures of
        their tensors; otherwise they are leaves.

    Returns:
      A list of the leaves, depth first; dicts in the order of their sorted keys.
    """
    if expand_composites:
        return flatten(_expanded(structure))
    if not is_nested(structure):
        return [structure]
    return [leaf for part in children(structure) for leaf in flatten(part)]


class _Components(tuple):
    """The tensors of a composite tensor."""

    whole = None

    def rebuilt(self, parts):
        kind = type(self.whole)
        return kind._situ_from_tensors_(parts) if hasattr(kind, _TENSORS) else kind(*parts)


_TENSORS = "_situ_tensors_"


def _expanded(structure, expand=True):
    """Returns a structure in which composite tensors are nested structures of their tensors."""
    if not expand:
        return structure
    from situ._src.framework.indexed_slices import is_slices

    if is_nested(structure):
        return _rebuild(structure, [_expanded(part) for part in children(structure)])
    if not hasattr(structure, _TENSORS) and not is_slices(structure):
        return structure
    made = _Components(getattr(structure, _TENSORS, None) or structure._situ_parts_)
    made.whole = structure
    return made


def _rebuild(structure, parts):
    if isinstance(structure, _Components):
        return structure.rebuilt(parts)
    if isinstance(structure, dict):
        by_key = dict(zip(sorted(structure), parts))
        made = {k: by_key[k] for k in structure}
        return made if type(structure) is dict else type(structure)(made)
    if hasattr(structure, "_fields"):
        return type(structure)(*parts)
    return type(structure)(parts)


def _packed(structure, leaves):
    if not is_nested(structure):
        return next(leaves)
    return _rebuild(structure, [_packed(p, leaves) for p in children(structure)])


def pack_sequence_as(structure, flat_sequence, expand_composites: bool = False):
    """Packs a flat sequence into a structure.

    Args:
      structure: a nested structure, or a single value.
      flat_sequence: as many values as `structure` has leaves.
      expand_composites: as for `flatten`.

    Returns:
      `flat_sequence` in the shape of `structure`.

    Raises:
      ValueError: the number of values differs from the number of leaves.
    """
    nested = _expanded(structure, expand_composites)
    flat, count = list(flat_sequence), len(flatten(nested))
    if len(flat) != count:
        raise ValueError(
            f"Could not pack sequence. Structure had {count} atoms, but flat_sequence "
            f"had {len(flat)} items.  Structure: {structure}, flat_sequence: {flat}."
        )
    return _packed(nested, iter(flat))


def assert_same_structure(
    nest1, nest2, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises an error if two structures are not nested in the same way.

    Args:
      nest1: a nested structure.
      nest2: a nested structure.
      check_types: whether the types of sequences must be equal, too.
      expand_composites: as for `flatten`.

    Raises:
      ValueError: the structures differ.
      TypeError: the types of two sequences differ.
    """

    def fail():
        raise ValueError(
            f"The two structures don't have the same nested structure.\n\nFirst "
            f"structure: {nest1}\n\nSecond structure: {nest2}"
        )

    def compare(a, b):
        if is_nested(a) != is_nested(b):
            fail()
        if not is_nested(a):
            return
        if type(getattr(a, "whole", None)) is not type(getattr(b, "whole", None)):
            fail()
        if (
            check_types
            and type(a) is not type(b)
            and not (isinstance(a, dict) and isinstance(b, dict))
        ):
            raise TypeError(
                "The two structures don't have the same sequence type. First "
                f"structure has type {type(a)}, second structure has type {type(b)}."
            )
        if len(a) != len(b) or isinstance(a, dict) and set(a) != set(b):
            fail()
        for x, y in zip(children(a), children(b)):
            compare(x, y)

    compare(_expanded(nest1, expand_composites), _expanded(nest2, expand_composites))


def map_structure(
    func, *structure, check_types: bool = True, expand_composites: bool = False, **kwargs
):
    """Applies a function to corresponding leaves of structures.

    Args:
      func: called with one leaf of each structure.
      *structure: nested structures that are nested in the same way.
      check_types: whether the types of sequences must be equal.
      expand_composites: as for `flatten`.
      **kwargs: not allowed.

    Returns:
      The results in the shape of the first structure.

    Raises:
      TypeError: `func` is not callable.
      ValueError: there is no structure, or they differ.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and "
            f"`expand_composites`, not: `{'`, `'.join(kwargs)}`"
        )
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types, expand_composites)
    flat = [flatten(s, expand_composites) for s in structure]
    leaves = [func(*items) for items in zip(*flat)]
    return pack_sequence_as(structure[0], leaves, expand_composites)


def flatten_dict_items(dictionary: dict) -> dict:
    """Flattens a dict whose keys may be nested structures.

    Args:
      dictionary: maps structures to values that are nested in the same way; a sparse tensor as a
        key takes a sequence of its components.

    Returns:
      A dict from the leaves of the keys to the leaves of the values.

    Raises:
      TypeError: the argument is not a dict.
      ValueError: a key and its value have different numbers of leaves, or a leaf is not unique.
    """
    if not isinstance(dictionary, dict):
        raise TypeError("input must be a dictionary")
    flat = {}
    for key, value in dictionary.items():
        parts = getattr(key, "_situ_parts_", None)
        keys, values = (
            (parts, list(value))
            if parts is not None
            else (flatten(key), flatten(value))
            if is_nested(key)
            else ([key], [value])
        )
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but "
                f"value had {len(values)} elements. Key: {keys}, value: {values}."
            )
        for one, part in zip(keys, values):
            if one in flat:
                raise ValueError(f"Could not flatten dictionary: key {one} is not unique.")
            flat[one] = part
    return flat


_NAMES = {
    "flatten": flatten,
    "is_nested": is_nested,
    "map_structure": map_structure,
    "pack_sequence_as": pack_sequence_as,
    "assert_same_structure": assert_same_structure,
}
for _prefix in ("nest.", "python.util.nest.", "contrib.framework.nest."):
    BOTH.update({_prefix + k: v for k, v in _NAMES.items()})
BOTH["python.util.nest.is_sequence"] = is_nested
BOTH["python.util.nest.flatten_dict_items"] = flatten_dict_items
