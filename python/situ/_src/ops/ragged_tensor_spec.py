# SPDX-License-Identifier: Apache-2.0
"""ragged_tensor_spec.py: tf.RaggedTensorSpec: the type of a ragged tensor."""

from __future__ import annotations

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.tensor import Tensor
from situ._src.framework.type_spec import TensorSpec, TypeSpec, spec_of
from situ._src.ops.ragged_tensor import RaggedTensor, to_ragged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import (
        Any,
        DTypeLike,
        Sequence,
        ShapeLike,
        TensorLike,
    )


@export("RaggedTensorSpec")
class RaggedTensorSpec(TypeSpec):
    """The type of a ragged tensor, for input signatures.

    Args:
      shape: the shape, with None for ragged dimensions; None for unknown rank.
      dtype: the type of the values.
      ragged_rank: the number of ragged dimensions; by default all but the first.
      row_splits_dtype: int32 or int64.
      flat_values_spec: the spec of the flat values, if they are not a tensor.
    """

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = "float32",
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = "int64",
        flat_values_spec: Any = None,
    ):
        if flat_values_spec is not None:
            dtype = flat_values_spec.dtype if dtype is None else dtype
            if as_dtype(dtype) != flat_values_spec.dtype:
                raise ValueError("dtype must be the same as flat_values_spec.dtype")
        elif dtype is None:
            raise ValueError("At least one of dtype or flat_values_spec must be provided")
        self.flat_values_spec = flat_values_spec
        self.shape, self.dtype = tensor_shape.as_shape(shape), as_dtype(dtype)
        self.row_splits_dtype = as_dtype(row_splits_dtype)
        rank = self.shape.rank
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError(f"Argument `ragged_rank` must be an int. Received {ragged_rank}.")
        if rank is not None and ragged_rank >= rank:
            raise ValueError(
                f"Argument `ragged_rank` ({ragged_rank}) must be less than rank ({rank})."
            )
        self.ragged_rank = ragged_rank

    rank = property(lambda s: s.shape.rank)
    value_type = property(lambda s: RaggedTensor if s.ragged_rank > 0 else Tensor)

    @classmethod
    def from_value(cls, value: TensorLike) -> RaggedTensorSpec:
        """Returns the spec of a ragged tensor or RaggedTensorValue.

        Raises:
          ValueError: the value is not ragged.
        """
        value = to_ragged(value) if not isinstance(value, RaggedTensor) else value
        if not isinstance(value, RaggedTensor):
            return cls(value.shape, value.dtype, 0)
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    def _key(self):
        return self.dtype, self.ragged_rank, self.row_splits_dtype, self.flat_values_spec

    def _serialize(self):
        return self.shape, self.dtype, self.ragged_rank, self.row_splits_dtype

    def _matches(self, other):
        return type(other) is type(self) and other._key() == self._key()

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether a value, or every value of another spec, can match this spec.

        Args:
          spec_or_value: a TypeSpec or a value.
        """
        other = spec_or_value if isinstance(spec_or_value, TypeSpec) else spec_of(spec_or_value)
        if isinstance(other, TensorSpec) and self.ragged_rank == 0:
            return other.dtype == self.dtype and self.shape.is_compatible_with(other.shape)
        return self._matches(other) and self.shape.is_compatible_with(other.shape)

    def is_subtype_of(self, other: Any) -> bool:
        """Returns whether every value of this spec is one of the other's."""
        return self._matches(other) and (
            other.shape.most_specific_compatible_shape(self.shape) == other.shape
        )

    def most_specific_common_supertype(self, others: Sequence) -> Any:
        """Returns the narrowest spec that includes this one and the others, or None."""
        shape = self.shape
        for other in others:
            if not self._matches(other):
                return None
            shape = shape.most_specific_compatible_shape(other.shape)
        return type(self)(shape, *self._key())

    @property
    def _situ_tensors_(self):
        dims = self.shape.as_list() if self.shape.rank is not None else None
        if self.ragged_rank <= 0:  # below 0: a scalar of a dataset that was unbatched
            return [self.flat_values_spec or TensorSpec(dims, self.dtype)]
        inner = None if dims is None else [None, *dims[self.ragged_rank + 1 :]]
        rows = dims[0] if dims else None
        outer = [None if rows is None else rows + 1, *[None] * (self.ragged_rank - 1)]
        return [
            self.flat_values_spec or TensorSpec(inner, self.dtype),
            *[TensorSpec([n], self.row_splits_dtype) for n in outer],
        ]

    def _situ_from_tensors_(self, pieces):
        made = RaggedTensor.from_nested_row_splits(pieces[0], list(pieces[1:]), validate=False)
        if isinstance(made, RaggedTensor) and self.shape.rank is not None:
            made._set_shape(self.shape)
        return made

    def __eq__(self, other):
        return self._matches(other) and self.shape == other.shape

    def __hash__(self):
        return hash((type(self), self.shape, self.dtype, self.ragged_rank))

    def __repr__(self):
        return (
            f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {self.ragged_rank}, "
            f"{self.row_splits_dtype!r})"
        )
