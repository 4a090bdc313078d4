# SPDX-License-Identifier: Apache-2.0
"""tensor_array_spec.py: tf.TensorArraySpec, and TensorArrays as components of elements of
datasets."""

from __future__ import annotations

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.type_spec import TensorSpec, TypeSpec
from situ._src.ops import tensor_array_ops
from situ._src.ops.array_ops import convert_to_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import (
        Any,
        DTypeLike,
        Sequence,
    )


@export("TensorArraySpec")
class TensorArraySpec(TypeSpec):
    """Describes a tf.TensorArray.

    Args:
      element_shape: the shape of each element; None for unknown rank.
      dtype: the type of the elements.
      dynamic_size: whether the array grows.
      infer_shape: whether all elements must have the same shape.
    """

    def __init__(
        self,
        element_shape: Any = None,
        dtype: DTypeLike = "float32",
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ):
        self._element_shape, self.dtype = tensor_shape.as_shape(element_shape), as_dtype(dtype)
        self._dynamic_size, self._infer_shape = bool(dynamic_size), bool(infer_shape)

    shape = tensor_shape.as_shape([])  # of the handle

    @property
    def value_type(self) -> Any:
        """The class tf.TensorArray."""
        return tensor_array_ops.TensorArray

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """Returns the spec of a TensorArray."""
        if not isinstance(value, tensor_array_ops.TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, but got: `{type(value)}`.")
        array: Any = value
        return cls(array.element_shape, array.dtype, array.dynamic_size, array._infer)

    def is_compatible_with(self, spec_or_value: Any) -> Any:
        """Returns whether a TensorArray, or every one of another spec, can match this spec."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = TensorArraySpec.from_value(other)
        return (
            self._matches(other)
            and self._element_shape.is_compatible_with(other._element_shape)
            and self._dynamic_size == other._dynamic_size
        )

    def _matches(self, other):
        return isinstance(other, TensorArraySpec) and self.dtype == other.dtype

    def most_specific_common_supertype(self, others: Sequence) -> Any:
        """Returns the narrowest spec that includes this one and the others, or None."""
        shape = self._element_shape
        for other in others:
            if not self._matches(other) or self._dynamic_size != other._dynamic_size:
                return None
            shape = shape.most_specific_compatible_shape(other._element_shape)
        return TensorArraySpec(shape, self.dtype, self._dynamic_size, self._infer_shape)

    @property
    def _situ_tensors_(self):
        return [TensorSpec([], "variant")]

    def _situ_from_tensors_(self, tensors):
        return tensor_array_ops.from_list(
            tensors[0], self.dtype, self._element_shape, self._dynamic_size, self._infer_shape
        )

    def _key(self):
        return str(self._element_shape), self.dtype, self._dynamic_size, self._infer_shape

    def __eq__(self, other):
        return isinstance(other, TensorArraySpec) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        return (
            f"TensorArraySpec({self._element_shape!r}, {self.dtype!r}, {self._dynamic_size}, "
            f"{self._infer_shape})"
        )


class ArrayComponent:
    """A TensorArray as a component of an element: a composite of its list."""

    def __init__(self, array):
        self.spec, self._list = TensorArraySpec.from_value(array), _list_of(array)

    shape = tensor_shape.as_shape([])
    dtype = property(lambda s: s.spec.dtype)

    @property
    def _situ_tensors_(self):
        return [self._list]

    def _situ_from_tensors_(self, tensors):
        made = object.__new__(ArrayComponent)
        made.spec, made._list = self.spec, tensors[0]
        return made


def _list_of(array):
    """Returns the elements of a TensorArray as a TensorList."""
    if hasattr(array, "_flow"):
        return array._flow()
    dims = tensor_array_ops.dims_of(array.element_shape)
    result = OPS["TensorListReserve"](dims, len(array._items), element_dtype=array.dtype)
    for index, item in enumerate(array._items):
        if item is not None:
            result = OPS["TensorListSetItem"](result, convert_to_tensor(index, "int32"), item)
    return result
