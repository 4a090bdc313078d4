# SPDX-License-Identifier: Apache-2.0
"""indexed_slices.py: tf.IndexedSlices: a sparse set of slices of a tensor along its first axis,
such as the gradient of tf.gather."""

from __future__ import annotations

import collections

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import concat, convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike

IndexedSlicesValue = collections.namedtuple("IndexedSlicesValue", "values indices dense_shape")
export(v1=("IndexedSlicesValue", "compat.v1.IndexedSlicesValue"))(IndexedSlicesValue)


@export("IndexedSlices", "python.framework.ops.IndexedSlices")
class IndexedSlices:
    """Slices of a tensor along its first axis: `values[i]` belongs to index `indices[i]`.

    Slices with equal indices are added.

    Args:
      values: a tensor of shape [n, ...].
      indices: an integer tensor of shape [n].
      dense_shape: the shape of the whole tensor, if it is known.
    """

    is_tensor_like = True

    def __init__(self, values: TensorLike, indices: TensorLike, dense_shape: TensorLike = None):
        self.values, self.indices = convert_to_tensor(values), convert_to_tensor(indices)
        self.dense_shape = None if dense_shape is None else convert_to_tensor(dense_shape)

    dtype = property(lambda s: s.values.dtype)
    name = property(lambda s: s.values.name)
    op = property(lambda s: s.values.op)
    graph = property(lambda s: s.values.graph)
    device = property(lambda s: s.values.device)

    @property
    def shape(self) -> Any:
        """The static shape of the whole tensor."""
        known = None if self.dense_shape is None else constant_value(self.dense_shape)
        if known is not None:
            return tensor_shape.as_shape([int(size) for size in known])
        rank = tensor_shape.as_shape(self.values.shape).rank
        return tensor_shape.as_shape(
            None
            if rank is None
            else [None, *tensor_shape.as_shape(self.values.shape).as_list()[1:]]
        )

    def get_shape(self) -> Any:
        """Returns the static shape of the whole tensor."""
        return self.shape

    def consumers(self) -> Any:
        """Returns the operations that read the values."""
        return self.values.consumers()

    def with_values(self, values: TensorLike) -> Any:
        """Returns IndexedSlices with other values and the same indices."""
        return IndexedSlices(values, self.indices, self.dense_shape)

    def __neg__(self):
        return self.with_values(-self.values)

    def _situ_tensor_(self):
        if self.dense_shape is None:
            raise ValueError(
                f"Tensor conversion requested for IndexedSlices without dense_shape: {self!r}"
            )
        rows = op("StridedSlice", self.dense_shape, [0], [1], [1], shrink_axis_mask=1)
        return op("UnsortedSegmentSum", self.values, self.indices, rows)

    @property
    def _situ_parts_(self):
        """The tensors that a session fetches for this value."""
        return [p for p in (self.values, self.indices, self.dense_shape) if p is not None]

    _situ_tensors_ = _situ_parts_

    @classmethod
    def _situ_from_tensors_(cls, tensors):
        return cls(*tensors)

    def _situ_value_(self, values, session):
        return IndexedSlicesValue(*values, *[None] * (3 - len(values)))

    def __repr__(self):
        shape = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{shape})"


def is_slices(value) -> bool:
    """Returns whether a value is tf.IndexedSlices."""
    return isinstance(value, IndexedSlices)


def map_values(function, value):
    """Applies a function to a tensor, or to the values of IndexedSlices."""
    if is_slices(value):
        return value.with_values(function(value.values))
    return function(convert_to_tensor(value))


def add(parts):
    """Returns the sum of gradients: concatenated slices if all are IndexedSlices, else a tensor."""
    if len(parts) == 1:
        return parts[0]
    if not all(is_slices(p) for p in parts):
        return op("AddN", [convert_to_tensor(p) for p in parts])
    same_dtype = len({p.indices.dtype for p in parts}) == 1
    indices = [p.indices if same_dtype else op("Cast", p.indices, "int64") for p in parts]
    return IndexedSlices(
        concat([p.values for p in parts], 0), concat(indices, 0), parts[0].dense_shape
    )
