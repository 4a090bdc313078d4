# SPDX-License-Identifier: Apache-2.0
"""operator_parts.py: the tensors and operators that a linear operator consists of: operators as
composite tensors, their gradients, and slices of their batches."""

from __future__ import annotations

import copy

from situ._src.framework.api import named
from situ._src.framework.tensor import constant_value
from situ._src.framework.type_spec import TensorSpec, TypeSpec
from situ._src.ops.constant_op import constant, convert_to_tensor, is_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import ClassVar

    from situ._src.framework.type_aliases import (
        Any,
        Callable,
    )


def _map(function: Callable, value: Any) -> Any:
    """Applies a function to a part, or to each item of a list of parts."""
    if isinstance(value, (list, tuple)):
        return [_map(function, item) for item in value]
    return function(value)


def _leaves(value):
    """Returns the tensors of a part."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return value._situ_tensors_ if isinstance(value, Parts) else [value]


def _is_value(leaf):
    return is_tensor(leaf) or hasattr(leaf, "__array__") or hasattr(leaf, "assign")


class Parts:
    """What an operator consists of: constructor arguments that are tensors, operators or lists of
    operators, with the number of their last dimensions that belong to a single matrix."""

    _parts: ClassVar[dict[str, int]] = {}  # by the name of the argument and property
    _size_parts: ClassVar[tuple[str, ...]] = ()  # sizes: parts if they are not known statically
    _parameters: dict[str, Any]

    def _part_depths(self):
        """Returns the depths of parts by name, without those that were not given."""
        return {
            name: depth for name, depth in self._parts.items() if self._parameters[name] is not None
        }

    def _part_values(self):
        """Returns all parts by name."""
        values = {name: getattr(self, name) for name in self._part_depths()}
        for name in self._size_parts:
            size = self._parameters[name]
            if is_tensor(size) and constant_value(size) is None:
                values[name] = size
        return values

    def _rebuilt(self, parts):
        """Returns an operator like this one with other parts."""
        return type(self)(**{**self._parameters, **parts})

    @property
    def _situ_tensors_(self):
        opaque = self.__dict__.get("_opaque_leaves")
        return _leaves(list(self._part_values().values())) if opaque is None else opaque

    _situ_parts_ = _situ_tensors_

    @property
    def _type_spec(self):
        return spec_of_operator(self)

    def _situ_from_tensors_(self, tensors):
        tensors = list(tensors)
        if not all(map(_is_value, tensors)):  # a structure of something else, as of names
            made = copy.copy(self)
            made.__dict__["_opaque_leaves"] = tensors
            return made
        rest = iter(tensors)

        def take(value):
            if isinstance(value, Parts):
                return value._situ_from_tensors_([next(rest) for _ in value._situ_tensors_])
            return next(rest)

        return self._rebuilt({n: _map(take, v) for n, v in self._part_values().items()})

    def _with_gradients(self, gradients):
        """Returns the gradients of the parts as an operator; None if there are none."""
        if all(g is None for g in gradients):
            return None
        parts = zip(gradients, self._situ_tensors_)
        return self._situ_from_tensors_(
            [op("ZerosLike", convert_to_tensor(t)) if g is None else g for g, t in parts]
        )

    def __getitem__(self, slices: Any) -> Any:
        """Slices the batch dimensions.

        Args:
          slices: An index, a slice, `...` or tf.newaxis, or a tuple of them.

        Returns:
          An operator of the same class.
        """
        items = tuple(slices) if isinstance(slices, (list, tuple)) else (slices,)
        if len(items) == 1 and items[0] is Ellipsis:
            return self._rebuilt({})
        batch = _Sizes(self.batch_shape_tensor())
        parts = {
            name: _slice_all(getattr(self, name), depth, items, batch)
            for name, depth in self._part_depths().items()
        }
        return self._rebuilt({**parts, **self._sliced_sizes(items)})

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """Returns the shape without the last two dimensions as a tensor."""
        raise NotImplementedError(name)

    def _sliced_sizes(self, items):
        """Returns the arguments that slicing changes and that are sizes."""
        if "batch_shape" not in self._size_parts or self._parameters["batch_shape"] is None:
            return {}
        sliced = op("Fill", self.batch_shape_tensor(), constant(0))[items]
        return {"batch_shape": op("Shape", sliced)}


class _Sizes:
    """A shape; sizes are integers as far as they are known. The rank is None if it is unknown."""

    def __init__(self, shape: Any) -> None:
        known = constant_value(shape)
        self._shape, self._known = shape, None if known is None else [int(n) for n in known]
        self.rank = shape.shape.as_list()[0] if shape.shape.rank is not None else None

    def __getitem__(self, i: int) -> Any:
        return self._shape[i] if self._known is None else self._known[i]

    def ones(self, depth: int) -> Any:
        """Returns a shape of ones with as many dimensions, and `depth` more."""
        if self.rank is not None:
            return constant([1] * (self.rank + depth), "int32")
        return op("Fill", op("ExpandDims", op("Size", self._shape) + depth, 0), constant(1))


def _slice_all(value, depth, items, batch):
    return _map(lambda part: _slice_part(part, depth, items, batch), value)


def _batch_of(part, depth):
    """Returns the batch dimensions of a part."""
    if isinstance(part, Parts):
        return _Sizes(part.batch_shape_tensor())
    shape = op("Shape", part)
    return _Sizes(shape[:-depth] if depth else shape)


def _deepened(part, depth, batch):
    """Adds dimensions of size 1 to a part until it has the rank of the batch."""
    own = _batch_of(part, depth)
    if batch.rank is not None and own.rank is not None and own.rank >= batch.rank:
        return part
    if not isinstance(part, Parts):
        shape = named("broadcast_dynamic_shape")(batch.ones(depth), op("Shape", part))
        return op("BroadcastTo", part, shape)
    return part._rebuilt(
        {
            name: _map(lambda p, inner=inner: _deepened(p, inner, batch), getattr(part, name))
            for name, inner in part._part_depths().items()
        }
    )


def _slice_part(part, depth, items, batch):
    """Slices one part; dimensions of size 1 that are broadcast to the batch stay."""
    part = _deepened(part, depth, batch)
    own = _batch_of(part, depth)
    if own.rank == 0 and batch.rank != 0:
        return part  # sizes only
    spec, at = [], 0
    for i, item in enumerate(items):
        if item is Ellipsis:
            at = -sum(x is not None for x in items[i + 1 :])
        elif item is not None:
            item = _for_broadcast(item, batch[at], own[at])
            at += 1
        spec.append(item)
    if isinstance(part, Parts):
        return part[tuple(spec)]
    if not any(item is Ellipsis for item in items):
        spec.append(Ellipsis)
    return part[tuple(spec + [slice(None)] * depth)]


def _for_broadcast(item, size, own):
    """Returns the index of a dimension of size `own` for one of a dimension of size `size`."""
    if isinstance(size, int) and isinstance(own, int):
        if size <= own:
            return item
        return slice(None) if isinstance(item, slice) else 0
    repeated = op("Greater", size, own)

    def choose(value, other):
        return None if value is None else op("SelectV2", repeated, constant(other), value)

    if not isinstance(item, slice):
        return choose(item, 0)
    return slice(choose(item.start, 0), choose(item.stop, 1), choose(item.step, 1))


class OperatorSpec(TypeSpec):
    """Describes linear operators: their class, the specs of their parts, and all other arguments.

    Args:
      kind: The class.
      shape: The static shape.
      dtype: The type of the elements.
      parts: The specs of the parts by name.
      others: All other arguments of the constructor.
    """

    def __init__(
        self, kind: type, shape: Any, dtype: Any, parts: dict[str, Any], others: Any
    ) -> None:
        self.kind, self.shape, self.dtype = kind, shape, dtype
        self._part_specs, self._others = parts, others

    value_type = property(lambda s: s.kind)

    @property
    def _situ_tensors_(self):
        return _spec_leaves(list(self._part_specs.values()))

    def _situ_from_tensors_(self, tensors):
        tensors = list(tensors)
        rest = iter(tensors)

        def take(spec):
            if isinstance(spec, OperatorSpec):
                return spec._situ_from_tensors_([next(rest) for _ in spec._situ_tensors_])
            return next(rest)

        parts = {name: _map(take, spec) for name, spec in self._part_specs.items()}
        if all(map(_is_value, tensors)):
            return self.kind(**parts, **self._others)
        return OperatorSpec(self.kind, self.shape, self.dtype, parts, self._others)

    def _signature(self):
        return self.kind, repr(self._part_specs), repr(self._others)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether a value, or every value of another spec, can match this spec.

        Args:
          spec_or_value: A TypeSpec or a value.
        """
        other: Any = spec_or_value
        if not isinstance(other, TypeSpec):
            other = getattr(other, "_type_spec", None)
        return self._fits(other) and all(
            a.is_compatible_with(b) for a, b in zip(self._situ_tensors_, other._situ_tensors_)
        )

    def _fits(self, other):
        return (
            isinstance(other, OperatorSpec)
            and self.kind is other.kind
            and list(self._part_specs) == list(other._part_specs)
            and repr(self._others) == repr(other._others)
            and len(self._situ_tensors_) == len(other._situ_tensors_)
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Returns whether every value of this spec is one of the other's."""
        return self._fits(other) and all(
            a.is_subtype_of(b) for a, b in zip(self._situ_tensors_, other._situ_tensors_)
        )

    def most_specific_common_supertype(self, others: Any) -> Any:
        """Returns the narrowest spec that includes this one and the others, or None."""
        if not all(map(self._fits, others)):
            return None
        columns = zip(self._situ_tensors_, *[o._situ_tensors_ for o in others])
        common = [first.most_specific_common_supertype(rest) for first, *rest in columns]
        if any(c is None for c in common):
            return None
        shape = self.shape
        for other in others:
            shape = shape.most_specific_compatible_shape(other.shape)
        parts = self._situ_from_tensors_(common)._part_specs
        return OperatorSpec(self.kind, shape, self.dtype, parts, self._others)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OperatorSpec) and self._signature() == other._signature()

    def __hash__(self) -> int:
        return hash(self._signature())

    def __repr__(self) -> str:
        return f"OperatorSpec({self.kind.__name__}, {self._part_specs!r}, {self._others!r})"


def _spec_leaves(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _spec_leaves(item)]
    return value._situ_tensors_ if isinstance(value, OperatorSpec) else [value]


def _spec_of_part(part):
    return part._type_spec if isinstance(part, Parts) else TensorSpec(part.shape, part.dtype)


def _plain(value):
    """Returns an argument without its tensors."""
    known = constant_value(value) if is_tensor(value) else value
    return known.tolist() if hasattr(known, "tolist") else known


def spec_of_operator(operator: Any) -> OperatorSpec:
    """Returns the spec of a linear operator.

    Args:
      operator: A LinearOperator.
    """
    parts = {name: _map(_spec_of_part, v) for name, v in operator._part_values().items()}
    others = {n: _plain(v) for n, v in operator._parameters.items() if n not in parts}
    return OperatorSpec(type(operator), operator.shape, operator.dtype, parts, others)
