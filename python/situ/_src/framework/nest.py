# SPDX-License-Identifier: Apache-2.0
"""nest.py: tf.nest: structures of lists, tuples, dicts and named tuples."""

from __future__ import annotations

from situ._src.framework.api import BOTH


def is_nested(seq):
    return isinstance(seq, (list, tuple, dict))


def _parts(structure):
    if isinstance(structure, dict):
        return [structure[k] for k in sorted(structure)]
    return list(structure)


def flatten(structure, expand_composites=False):
    """The leaves, in order; dicts by their sorted keys."""
    if not is_nested(structure):
        return [structure]
    return [leaf for part in _parts(structure) for leaf in flatten(part)]


def _like(structure, parts):
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
    return _like(structure, [_packed(p, leaves) for p in _parts(structure)])


def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """The leaves in a structure."""
    flat, count = list(flat_sequence), len(flatten(structure))
    if len(flat) != count:
        raise ValueError(
            f"Could not pack sequence. Structure had {count} atoms, but flat_sequence "
            f"had {len(flat)} items.  Structure: {structure}, flat_sequence: {flat}."
        )
    return _packed(structure, iter(flat))


def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    def fail():
        raise ValueError(
            f"The two structures don't have the same nested structure.\n\nFirst "
            f"structure: {nest1}\n\nSecond structure: {nest2}"
        )

    def walk(a, b):
        if is_nested(a) != is_nested(b):
            fail()
        if not is_nested(a):
            return
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
        for x, y in zip(_parts(a), _parts(b)):
            walk(x, y)

    walk(nest1, nest2)


def map_structure(func, *structure, check_types=True, expand_composites=False, **kwargs):
    """A function of each leaf, in the structure."""
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
        assert_same_structure(structure[0], other, check_types)
    leaves = [func(*items) for items in zip(*[flatten(s) for s in structure])]
    return pack_sequence_as(structure[0], leaves)


def flatten_dict_items(dictionary):
    """A dict whose keys may be structures as one whose keys are their leaves; of a key that has
    parts (a sparse tensor) the value has as many."""
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
