# SPDX-License-Identifier: Apache-2.0
"""nest.py: nested structures: lists, tuples, named tuples, mappings, attrs classes, and composite
tensors.

A `Nest` knows which types are structures and walks over them; flatten and pack run in the extension
(structure.c). CORE has the rules of tf.nest. COMPOSITES also expands composite tensors, as for the
arguments and results of functions. DATA has the rules of tf.data, where lists are tensors; PARTS
also expands composite tensors. The
public functions are tf.nest; nest_paths.py adds those of tensorflow.python.util.nest. Mappings are
ordered by sorted keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, MappingView, MutableMapping, Sequence

import _situ
from situ._src.framework.api import BOTH

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Container:
    """How structures of some types are taken apart and rebuilt; here sequences."""

    def keys(self, structure) -> Any:
        """Returns the keys of the children: a hashable sequence."""
        return range(len(structure))

    def values(self, structure) -> Any:
        """Returns the children."""
        return list(structure)

    def rebuild(self, structure, parts) -> Any:
        """Returns a structure of the same type with other children."""
        return type(structure)(parts)


class _List(Container):
    """Ranges and views of mappings, which become lists."""

    def rebuild(self, structure, parts):
        del structure  # its type cannot be rebuilt
        return list(parts)


class _NamedTuple(Container):
    def keys(self, structure):
        return structure._fields

    def rebuild(self, structure, parts):
        return type(structure)(*parts)


class _Attrs(Container):
    def keys(self, structure):
        return tuple([a.name for a in type(structure).__attrs_attrs__])

    def values(self, structure):
        return [getattr(structure, key) for key in self.keys(structure)]

    def rebuild(self, structure, parts):
        return type(structure)(*parts)


class _Mapping(Container):
    def keys(self, structure):
        try:
            return tuple(sorted(structure.keys()))
        except TypeError:
            raise TypeError("nest only supports dicts with sortable keys.") from None

    def values(self, structure):
        return [structure[key] for key in sorted(structure.keys())]

    def rebuild(self, structure, parts):
        new = dict(zip(self.keys(structure), parts))
        kind = type(structure)
        if isinstance(structure, MutableMapping):
            made = defaultdict(structure.default_factory) if kind is defaultdict else kind()
            for key in structure:
                made[key] = new[key]
            return made
        try:
            return kind((key, new[key]) for key in structure)
        except TypeError as e:
            raise TypeError(
                f"Error creating an object of type {kind} like {structure}. Note that it must "
                "accept a single positional argument representing an iterable of key-value "
                f"pairs, in addition to self. Cause: {e}"
            ) from None


class _Protocol(Container):
    """Classes with __tf_flatten__ and __tf_unflatten__, such as data classes."""

    def keys(self, structure):
        return range(len(self.values(structure)))

    def values(self, structure):
        return structure.__tf_flatten__()[1]

    def rebuild(self, structure, parts):
        return structure.__tf_unflatten__(structure.__tf_flatten__()[0], tuple(parts))


class _Composite(Container):
    """Composite tensors and their specs: structures of one child, the list of their tensors."""

    def keys(self, structure):
        return (getattr(structure, "value_type", type(structure)).__name__,)

    def values(self, structure):
        return [list(structure._situ_tensors_)]

    def rebuild(self, structure, parts):
        """Returns a composite tensor; of values that are not tensors a tuple."""
        if hasattr(structure, "_situ_leaf_") or all(isinstance(p, _situ.Tensor) for p in parts[0]):
            return structure._situ_from_tensors_(parts[0])
        return tuple(parts[0])


class _FlatComposite(_Composite):
    """Composite tensors and their specs where lists are leaves: structures of their tensors."""

    def keys(self, structure):
        return range(len(structure._situ_tensors_))

    def values(self, structure):
        return list(structure._situ_tensors_)

    def rebuild(self, structure, parts):
        return super().rebuild(structure, [list(parts)])


class _Template(tuple):
    """The parts of a structure that `_make` rebuilds from other parts."""

    _make: Callable


_SEQUENCE, _LIST, _NAMED_TUPLE, _ATTRS = Container(), _List(), _NamedTuple(), _Attrs()
_MAPPING, _PROTOCOL, COMPOSITE = _Mapping(), _Protocol(), _Composite()
_FLAT_COMPOSITE = _FlatComposite()


class _DotString:
    """A leaf in the description of a structure."""

    def __repr__(self):
        return "."


def _described(value):
    return f"type={type(value).__name__} str={value}"


def _qualified(kind):
    """Returns the name of a type as C knows it: types of the interpreter have their module's."""
    is_heap_type = kind.__flags__ & 1 << 9
    is_short = is_heap_type or kind.__module__ == "builtins"
    return kind.__name__ if is_short else f"{kind.__module__}.{kind.__name__}"


def _truncated(value):
    text = str(value)
    return text[:100] + (text[100:] and "...")


def is_named_tuple(kind):
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def same_named_tuples(a, b):
    """Returns whether two types are named tuples of the same name and fields."""
    return (
        is_named_tuple(a)
        and is_named_tuple(b)
        and (a.__name__, a._fields) == (b.__name__, b._fields)
    )


class Nest(dict):
    """Maps a type to the Container of its values, or to None: they are leaves.

    Types with a true attribute `_situ_leaf_` are leaves.

    Args:
      lists: whether lists and other sequences than tuples are structures.
      composites: whether composite tensors are structures of their tensors.
    """

    def __init__(self, lists: bool = True, composites: bool = False):
        super().__init__()
        self._lists, self._composites = lists, composites

    def __missing__(self, kind):
        if len(self) >= 1024:  # of a program that creates many classes
            self.clear()
        self[kind] = found = self._container(kind)
        return found

    def _container(self, kind):
        if self._composites and hasattr(kind, "_situ_tensors_"):
            return COMPOSITE if self._lists else _FLAT_COMPOSITE
        if issubclass(kind, (str, bytes)) or getattr(kind, "_situ_leaf_", False):
            return None
        if issubclass(kind, Mapping):
            return _MAPPING
        if hasattr(kind, "__attrs_attrs__"):
            return _ATTRS
        if is_named_tuple(kind):
            is_sparse = kind.__name__ == "SparseTensorValue"
            return None if is_sparse and not self._lists else _NAMED_TUPLE
        if hasattr(kind, "__tf_flatten__") and hasattr(kind, "__tf_unflatten__"):
            return _PROTOCOL
        if issubclass(kind, tuple):
            return _SEQUENCE
        if not self._lists or not issubclass(kind, (Sequence, MappingView)):
            return None
        return _LIST if issubclass(kind, (range, MappingView)) else _SEQUENCE

    def is_nested(self, value) -> bool:
        """Returns whether a value is a structure."""
        return self[type(value)] is not None

    def flatten(self, structure) -> list:
        """Returns the leaves of a structure."""
        return _situ.flatten(self, structure)

    def pack(self, structure, leaves) -> Any:
        """Returns a structure with other leaves.

        Raises:
          IndexError: the number of leaves is wrong.
        """
        return _situ.pack(self, structure, leaves if type(leaves) is list else list(leaves))

    def map(self, function, structure, *others) -> Any:
        """Returns a structure of the results of a function of the leaves. In others, each leaf of
        the first structure may be a structure, and types may differ."""
        flat = [self.flatten(structure), *[self.flatten_like(structure, o) for o in others]]
        return _situ.pack(self, structure, [function(*some) for some in zip(*flat)])

    def flatten_like(self, structure, other) -> list:
        """Returns the parts of another value at the leaves of a structure, by index or by key.

        Raises:
          TypeError: the other value is not nested in this way.
          ValueError: it has other keys or another number of children.
        """
        container, own = self[type(structure)], CORE[type(other)]
        if container is None:
            return [other]
        if own is None:
            raise TypeError(
                "If shallow structure is a sequence, input must also be a sequence. Input has "
                f"type: {type(other)}."
            )
        parts, values = container.values(structure), own.values(other)
        if len(values) != len(parts):
            raise ValueError(
                "The two structures don't have the same sequence length. Input structure has "
                f"length {len(values)}, while shallow structure has length {len(parts)}."
            )
        if container is _MAPPING and container.keys(structure) != own.keys(other):
            raise ValueError(
                "The two structures don't have the same keys. Input structure has keys "
                f"{list(other)}, while shallow structure has keys {list(structure)}."
            )
        return [x for part, value in zip(parts, values) for x in self.flatten_like(part, value)]

    def template(self, structure, leaf) -> Any:
        """Returns a structure of lists, tuples and dicts alone, with `leaf(value)` for each leaf in
        the order of `flatten`. The extension builds results from templates: it calls the method
        `_make` of a tuple that stands for another structure."""
        filled = iter([leaf(value) for value in self.flatten(structure)])

        def visit(part):
            container = self[type(part)]
            if container is None:
                return next(filled)
            children = [visit(value) for value in container.values(part)]
            if container is _NAMED_TUPLE or type(part) in (list, tuple, dict):
                return container.rebuild(part, children)
            made = _Template(children)
            made._make = lambda parts: container.rebuild(part, parts)
            return made

        return visit(structure)

    def assert_same(self, a, b, check_types: bool = True) -> None:
        """Raises the error of tf.nest.assert_same_structure."""
        error = self._difference(a, b, check_types)
        if error is None:
            return
        dot = lambda _: _DotString()
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_described(a)}\n\nSecond structure: {_described(b)}\n\n"
            f"More specifically: {error}\nEntire first structure:\n{CORE.map(dot, a)}\n"
            f"Entire second structure:\n{CORE.map(dot, b)}"
        ) from None

    def _difference(self, a, b, check_types):
        """Returns the first difference of two structures as an exception, or None."""
        left, right = self[type(a)], self[type(b)]
        if left is None or right is None:
            if left is right:
                return None
            one, other = (a, b) if right is None else (b, a)
            return ValueError(
                f'Substructure "{_described(one)}" is a sequence, while substructure '
                f'"{_described(other)}" is not'
            )
        if check_types and (error := _type_difference(a, b, left, right)):
            return error
        if left is COMPOSITE and right is COMPOSITE and not _compatible(a, b):
            one, other = _described(_spec(a)), _described(_spec(b))
            return ValueError(f"Incompatible CompositeTensor TypeSpecs: {one} vs. {other}")
        parts, others = left.values(a), right.values(b)
        for x, y in zip(parts, others):
            if error := self._difference(x, y, check_types):
                return error
        if len(parts) == len(others):
            return None
        return ValueError(
            "The two structures don't have the same number of elements. First structure: "
            f"{_described(a)}. Second structure: {_described(b)}"
        )


def _type_difference(a, b, left, right):
    """Returns the difference of the types or keys of two structures as an exception, or None."""
    one, other = type(a), type(b)
    is_same = (
        one is other
        or (left is right and left in (_MAPPING, COMPOSITE))
        or (isinstance(a, list) and isinstance(b, list))
        or (one.__bases__ == other.__bases__ == (tuple,) and same_named_tuples(one, other))
    )
    if not is_same:
        return TypeError(
            "The two namedtuples don't have the same sequence type. First structure "
            f"{_described(a)} has type {_qualified(one)}, while second structure "
            f"{_described(b)} has type {_qualified(other)}"
        )
    if left is _MAPPING and a.keys() != b.keys():
        return ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{_described(list(a))}, while second structure has keys {_described(list(b))}"
        )
    return None


def _spec(value):
    from situ._src.framework.type_spec import spec_of

    return value if hasattr(value, "value_type") else spec_of(value)


def _compatible(a, b):
    """Returns whether two composite tensors, or their specs, have the same components."""
    one, other = _spec(a), _spec(b)
    if hasattr(one, "_component_specs"):  # of an extension type
        return one.is_compatible_with(other) or (
            type(one) is type(other) and one.most_specific_common_supertype([other]) is not None
        )
    return (
        COMPOSITE.keys(a) == COMPOSITE.keys(b)
        and one.dtype == other.dtype
        and len(a._situ_tensors_) == len(b._situ_tensors_)
    )


def assert_compatible(a, b) -> None:
    """Raises an error if two composite tensors have other components."""
    if not _compatible(a, b):
        raise ValueError(f"Incompatible CompositeTensor TypeSpecs: {_spec(a)} vs. {_spec(b)}")


CORE, COMPOSITES, DATA = Nest(), Nest(composites=True), Nest(lists=False)
PARTS = Nest(lists=False, composites=True)


def is_nested(seq: Any) -> bool:
    """Returns whether a value is a nested structure: a list, tuple, named tuple, mapping or
    another sequence (but not a string), an instance of an attrs class, or an object with
    `__tf_flatten__` and `__tf_unflatten__`.

    Args:
      seq: the value.
    """
    return CORE[type(seq)] is not None


def nest_of(expand_composites) -> Nest:
    """Returns the rules for the argument `expand_composites`."""
    return COMPOSITES if expand_composites else CORE


def flatten(structure: Any, expand_composites: bool = False) -> list:
    """Returns the leaves of a nested structure.

    Args:
      structure: a nested structure, or a single value.
      expand_composites: whether sparse and ragged tensors and IndexedSlices count as structures of
        their tensors; otherwise they are leaves.

    Returns:
      A list of the leaves, depth first; dicts in the order of their sorted keys.
    """
    return _situ.flatten(COMPOSITES if expand_composites else CORE, structure)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False):
    """Packs a flat sequence into a structure.

    Args:
      structure: a nested structure, or a single value.
      flat_sequence: as many values as `structure` has leaves.
      expand_composites: as for `flatten`.

    Returns:
      `flat_sequence` in the shape of `structure`.

    Raises:
      TypeError: `flat_sequence` is not a sequence.
      ValueError: the number of values differs from the number of leaves.
    """
    nest = nest_of(expand_composites)
    if not nest.is_nested(flat_sequence):
        raise TypeError(
            f"Attempted to pack value:\n  {_truncated(flat_sequence)}\ninto a structure, but found "
            f"incompatible type `{type(flat_sequence)}` instead."
        )
    flat = [flat_sequence[i] for i in range(len(flat_sequence))]
    try:
        return nest.pack(structure, flat)
    except IndexError:
        if not nest.is_nested(structure):
            raise ValueError(
                f"The target structure is of type `{type(structure)}`\n  {_truncated(structure)}\n"
                f"However the input is a sequence ({type(flat_sequence)}) of length {len(flat)}.\n"
                f"  {_truncated(flat_sequence)}\n"
                "nest cannot guarantee that it is safe to map one to the other."
            ) from None
        raise ValueError(
            f"Could not pack sequence. Structure had {len(nest.flatten(structure))} atoms, but "
            f"flat_sequence had {len(flat)} items.  Structure: {structure}, flat_sequence: "
            f"{flat_sequence}."
        ) from None


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises an error if two structures are not nested in the same way.

    Args:
      nest1: a nested structure.
      nest2: a nested structure.
      check_types: whether the types of sequences and the keys of mappings must be equal, too.
      expand_composites: as for `flatten`.

    Raises:
      ValueError: the structures differ.
      TypeError: the types of two sequences differ.
    """
    nest_of(expand_composites).assert_same(nest1, nest2, check_types)


def map_structure(
    func: Callable,
    *structure: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    **kwargs: Any,
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
    if not structure:
        raise ValueError("Must provide at least one structure")
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and "
            f"`expand_composites`, not: `{'`, `'.join(kwargs)}`"
        )
    nest = nest_of(expand_composites)
    for other in structure[1:]:
        nest.assert_same(structure[0], other, check_types)
    flat = [_situ.flatten(nest, s) for s in structure]
    return _situ.pack(nest, structure[0], [func(*items) for items in zip(*flat)])


def _fed_parts(value):
    """Returns the arrays of a value that a composite tensor is fed with: a sequence of them, or a
    RaggedTensorValue."""
    if hasattr(value, "nested_row_splits"):
        return [value.flat_values, *value.nested_row_splits]
    return list(value)


def flatten_dict_items(dictionary: Mapping) -> dict:
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
    if not isinstance(dictionary, Mapping):
        raise TypeError(
            "FlattenDictItems: 'dict' must be a dictionary or collection.Mapping type object, "
            f"instead of '{type(dictionary).__name__}'."
        )
    flat: dict = {}
    for key, value in dictionary.items():
        parts = getattr(key, "_situ_parts_", None)
        keys, values = (
            # trailing components may be omitted
            list(zip(*zip(parts, _fed_parts(value)))) or ((), ())
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
                raise ValueError(f"Cannot flatten dict because this key is not unique: {one}")
            flat[one] = part
    return flat


for _prefix in ("nest.", "python.util.nest.", "contrib.framework.nest."):
    for _function in (flatten, is_nested, map_structure, pack_sequence_as, assert_same_structure):
        BOTH[_prefix + _function.__name__] = _function
for _prefix in ("python.util.nest.", "contrib.framework.nest."):
    BOTH[_prefix + "is_sequence"] = is_nested
    BOTH[_prefix + "flatten_dict_items"] = flatten_dict_items
