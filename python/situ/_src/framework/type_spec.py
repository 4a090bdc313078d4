# SPDX-License-Identifier: Apache-2.0
"""type_spec.py: tf.TypeSpec, tf.TensorSpec, tf.SparseTensorSpec, and printed signatures of
functions."""

from __future__ import annotations

from situ._src.framework import spec_fields, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import DType, as_dtype
from situ._src.framework.indexed_slices import IndexedSlices, is_slices
from situ._src.framework.tensor import Tensor
from situ._src.ops.array_ops import convert_to_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import (
        Any,
        DTypeLike,
        Sequence,
        ShapeLike,
        TensorLike,
    )


@export("TypeSpec")
class TypeSpec:
    """Describes values: their class, and what they have in common.

    `_serialize` of a subclass returns the arguments of its constructor. Specs are equal if these
    are; a spec includes others with narrower shapes and TypeSpecs.
    """

    shape: tensor_shape.TensorShape
    dtype: DType
    value_type = property(lambda s: None)

    def _serialize(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._serialize()")

    @classmethod
    def _deserialize(cls, serialization):
        """Returns the spec with what `_serialize` returned."""
        return cls(*serialization)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether a value, or every value of another spec, can match this spec.

        Args:
          spec_or_value: a TypeSpec or a value.
        """
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else spec_of(spec_or_value)
        return type(other) is type(self) and spec_fields.compatible(
            self._serialize(), other._serialize()
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Returns whether every value of this spec is one of the other's."""
        return type(other) is type(self) and other.most_specific_common_supertype([self]) == other

    def most_specific_common_supertype(self, others: Sequence) -> Any:
        """Returns the narrowest spec that includes this one and the others, or None."""
        if any(type(other) is not type(self) for other in others):
            return None
        try:
            common = spec_fields.supertype(self._serialize(), [o._serialize() for o in others])
        except spec_fields.NoSupertype:
            return None
        return self._deserialize(common)

    def most_specific_compatible_type(self, other: Any) -> Any:
        """Returns the narrowest spec that includes both.

        Raises:
          ValueError: there is none.
        """
        common = self.most_specific_common_supertype([other])
        if common is None:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return common

    def __eq__(self, other):
        return type(other) is type(self) and spec_fields.equal(
            self._serialize(), other._serialize()
        )

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((type(self), spec_fields.hashable(self._serialize())))

    def __repr__(self):
        return f"{type(self).__name__}{self._serialize()!r}"


@export("TensorSpec")
class TensorSpec(TypeSpec):
    """Describes a dense tensor.

    Args:
      shape: a shape; None for unknown rank.
      dtype: the type of the elements.
      name: the name of an argument, or None.
    """

    def __init__(
        self, shape: ShapeLike = None, dtype: DTypeLike = "float32", name: str | None = None
    ):
        self.shape, self.dtype, self.name = tensor_shape.as_shape(shape), as_dtype(dtype), name

    rank = property(lambda s: s.shape.rank)

    @property
    def value_type(self) -> Any:
        return Tensor

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Returns a TensorSpec with the shape and dtype of another spec."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    @classmethod
    def from_tensor(cls, tensor: TensorLike, name: str | None = None) -> TensorSpec:
        """Returns the TensorSpec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name)

    def _serialize(self):
        return self.shape, self.dtype, self.name

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether a value, or every value of another spec, can match this spec.

        Args:
          spec_or_value: a TypeSpec or a value.
        """
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else spec_of(spec_or_value)
        return type(other) is type(self) and spec_fields.compatible(
            self._serialize()[:2], other._serialize()[:2]
        )

    def is_subtype_of(self, other: Any) -> bool:
        """Returns whether every value of this spec is one of the other's."""
        return (
            type(other) is type(self)
            and other.dtype == self.dtype
            and self.name in (None, other.name)
            and other.shape.most_specific_compatible_shape(self.shape) == other.shape
        )

    def __hash__(self):
        return hash((self.shape, self.dtype))

    def __repr__(self):
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


@export("SparseTensorSpec")
class SparseTensorSpec(TypeSpec):
    """Describes a tf.sparse.SparseTensor.

    Args:
      shape: the dense shape; None for unknown rank.
      dtype: the type of the values.
    """

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = "float32"):
        self.shape, self.dtype = tensor_shape.as_shape(shape), as_dtype(dtype)

    rank = property(lambda s: s.shape.rank)

    @property
    def value_type(self) -> Any:
        from situ._src.ops.sparse_ops import SparseTensor

        return SparseTensor

    @property
    def _situ_tensors_(self):
        rank = self.shape.rank
        return [
            TensorSpec([None, rank], "int64"),
            TensorSpec([None], self.dtype),
            TensorSpec([rank], "int64"),
        ]

    def _serialize(self):
        return self.shape, self.dtype

    def _situ_from_tensors_(self, tensors):
        made = self.value_type(*tensors)
        made._static = None if self.shape.rank is None else self.shape.as_list()
        return made


@export("IndexedSlicesSpec")
class IndexedSlicesSpec(TypeSpec):
    """Describes tf.IndexedSlices.

    Args:
      shape: the dense shape; None for unknown rank.
      dtype: the type of the values.
      indices_dtype: the type of the indices, int32 or int64.
      dense_shape_dtype: the type of `dense_shape`; None if there is none.
      indices_shape: the shape of the indices; by default a vector of unknown size.
    """

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = "float32",
        indices_dtype: DTypeLike = "int64",
        dense_shape_dtype: DTypeLike = None,
        indices_shape: Any = None,
    ):
        self.shape, self.dtype = tensor_shape.as_shape(shape), as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        one = tensor_shape.as_shape([None])
        self._indices_shape = tensor_shape.as_shape(indices_shape).merge_with(one)

    @property
    def value_type(self) -> Any:
        return IndexedSlices

    def _serialize(self):
        types = self.dtype, self._indices_dtype, self._dense_shape_dtype
        return self.shape, *types, self._indices_shape

    @property
    def _situ_tensors_(self):
        rows, sizes = self._indices_shape, self.shape
        inner = sizes.as_list()[1:] if sizes.rank else []
        values = None if sizes.rank is None else [*rows.as_list(), *inner]
        tensors = [TensorSpec(values, self.dtype), TensorSpec(rows, self._indices_dtype)]
        if self._dense_shape_dtype is not None:
            tensors.append(TensorSpec([sizes.rank], self._dense_shape_dtype))
        return tensors

    def _situ_from_tensors_(self, tensors):
        return self.value_type(*tensors)


@export("type_spec_from_value")
def spec_of(value: TensorLike) -> Any:
    """Returns the TypeSpec of a value.

    Args:
      value: a tensor, composite tensor, dataset, or what converts to a tensor.

    Raises:
      TypeError: the value is not supported.
    """
    spec = getattr(value, "_type_spec", None)  # ragged tensors, extension types, PerReplica
    if isinstance(spec, TypeSpec):
        return spec
    if is_slices(value):
        return _slices_spec(value)
    if hasattr(value, "dense_shape") and hasattr(value, "indices"):
        return SparseTensorSpec(value.shape, value.dtype)
    if hasattr(value, "element_spec") and hasattr(value, "get_next"):
        from situ._src.data.iterators import IteratorSpec

        return IteratorSpec(value.element_spec)
    if hasattr(value, "element_spec"):
        from situ._src.data.structure import DatasetSpec

        return DatasetSpec(value.element_spec)
    if hasattr(value, "dynamic_size") and hasattr(value, "element_shape"):
        from situ._src.ops.tensor_array_spec import TensorArraySpec

        return TensorArraySpec.from_value(value)
    try:
        tensor = convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"Could not build a TypeSpec for {value!r} of unsupported type {type(value)}."
        ) from None
    return TensorSpec(tensor.shape, tensor.dtype)


def _slices_spec(value):
    sizes = value.dense_shape
    return IndexedSlicesSpec(
        value.shape,
        value.dtype,
        value.indices.dtype,
        None if sizes is None else sizes.dtype,
        value.indices.shape,
    )


# Printed signatures


def format_type(value):
    """Returns an argument or result as printed signatures show it."""
    if isinstance(value, TensorSpec):
        return repr(TensorSpec(value.shape, value.dtype))
    if isinstance(value, TypeSpec):
        return repr(value)
    if isinstance(value, dict):
        return f"Dict[{', '.join(f'[{k!r}, {format_type(v)}]' for k, v in value.items())}]"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__.capitalize()}[{', '.join(map(format_type, value))}]"
    return f"Literal[{value!r}]"


class Signature:
    """The signature of a traced function, printed as `(a: ..., *, b: ...) -> ...`."""

    def __init__(self, parameters, output, captures):
        self.parameters = parameters  # (name, kind, argument) of each
        self.output, self.captures = output, captures

    def pretty(self) -> str:
        """Returns the signature as several lines."""
        lines = ["Input Parameters:"]
        lines += [f"  {n} ({kind}): {format_type(v)}" for n, kind, v in self.parameters] or [
            "  None"
        ]
        lines += ["Output Type:", f"  {format_type(self.output)}", "Captures:"]
        lines += [f"  {k}: {format_type(v)}" for k, v in self.captures] or ["  None"]
        return "\n".join(lines)

    def __repr__(self):
        parts, has_star = [], False
        for name, kind, value in self.parameters:
            if kind == "KEYWORD_ONLY" and not has_star:
                parts.append("*")
                has_star = True
            parts.append(f"{name}: {format_type(value)}")
        return f"({', '.join(parts)}) -> {format_type(self.output)}"
