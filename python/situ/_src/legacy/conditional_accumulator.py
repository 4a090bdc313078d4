# SPDX-License-Identifier: Apache-2.0
"""conditional_accumulator.py: tf.ConditionalAccumulator and tf.SparseConditionalAccumulator: the
mean of the gradients of one step."""

from __future__ import annotations

from situ._src.framework import dtypes, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.indexed_slices import IndexedSlices
from situ._src.ops.array_ops import cast, convert_to_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, DTypeLike, ShapeLike, TensorLike


def _step(value):
    """Returns a step as an int64 tensor."""
    return cast(convert_to_tensor(value), "int64")


def _dense_shape(shape):
    """Returns a shape as an int64 tensor; an empty one if it is None."""
    if shape is None or (isinstance(shape, (list, tuple)) and not shape):
        return convert_to_tensor([], "int64")
    return cast(convert_to_tensor(shape), "int64")


def _create(op_name, dtype, shape, shared_name, name, reduction_type):
    """Returns the handle of a new accumulator."""
    return OPS[op_name](
        dtype=dtypes.as_dtype(dtype),
        shape=tensor_shape.TensorShape(shape),
        shared_name=shared_name or "",
        reduction_type=reduction_type,
        name=name,
    )


@export(v1="ConditionalAccumulatorBase")
class ConditionalAccumulatorBase:
    """Base class of accumulators: gradients of the current step are added, those of earlier steps
    are dropped. Taking the mean waits for a number of gradients and begins the next step.

    Args:
      dtype: the type of the gradients: float16, float32 or float64.
      shape: their shape, which may be partly known, or None.
      accumulator_ref: the handle.
    """

    _prefix = "Resource"

    def __init__(self, dtype: DTypeLike, shape: ShapeLike, accumulator_ref: Any) -> None:
        self._dtype, self._shape = dtypes.as_dtype(dtype), tensor_shape.TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        operation = getattr(accumulator_ref, "op", None)
        self._name = operation.name.split("/")[-1] if operation is not None else "accumulator"

    accumulator_ref = property(lambda s: s._accumulator_ref)
    name = property(lambda s: s._name)
    dtype = property(lambda s: s._dtype)

    def num_accumulated(self, name: str | None = None) -> Any:
        """Returns the number of gradients in the accumulator."""
        return OPS[self._prefix + "AccumulatorNumAccumulated"](
            self._accumulator_ref, name=name or f"{self._name}_NumAccumulated"
        )

    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Any:
        """Returns an operation that sets the step of the accumulator."""
        return OPS[self._prefix + "AccumulatorSetGlobalStep"](
            self._accumulator_ref, _step(new_global_step), name=name
        )


@export(v1="ConditionalAccumulator")
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of dense gradients.

    Args:
      dtype: the type of the gradients: float16, float32 or float64.
      shape: their shape, which may be partly known, or None.
      shared_name: the name under which sessions share the accumulator; by default `name`.
      name: a name for the operation.
      reduction_type: "MEAN" or "SUM".
    """

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        handle = _create(
            "ResourceConditionalAccumulator", dtype, shape, shared_name, name, reduction_type
        )
        super().__init__(dtype, shape, handle)

    def apply_grad(self, grad: Any, local_step: int = 0, name: str | None = None) -> Any:
        """Returns an operation that adds a gradient, unless it is of an earlier step.

        Args:
          grad: the gradient.
          local_step: the step that it was computed in.
          name: a name for the operation.

        Raises:
          ValueError: the shape is not compatible with that of the accumulator.
        """
        grad = convert_to_tensor(grad, self._dtype)
        grad.shape.assert_is_compatible_with(self._shape)
        return OPS["ResourceAccumulatorApplyGradient"](
            self._accumulator_ref, _step(local_step), grad, name=name
        )

    def take_grad(self, num_required: int, name: str | None = None) -> Any:
        """Returns the mean (or sum) of the gradients; waits until there are `num_required`."""
        result = OPS["ResourceAccumulatorTakeGradient"](
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        if hasattr(result, "set_shape"):
            result.set_shape(self._shape)
        return result


@export(v1=("SparseConditionalAccumulator", "sparse.SparseConditionalAccumulator"))
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of sparse gradients (tf.IndexedSlices). Each row of the mean is divided by
    the number of gradients that have it.

    Args:
      dtype: the type of the gradients: float16, float32 or float64.
      shape: their shape, which may be partly known, or None.
      shared_name: the name under which sessions share the accumulator; by default `name`.
      name: a name for the operation.
      reduction_type: "MEAN" or "SUM".
    """

    _prefix = ""

    def __init__(
        self,
        dtype: DTypeLike,
        shape: ShapeLike = None,
        shared_name: str | None = None,
        name: str = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        handle = _create(
            "SparseConditionalAccumulator", dtype, shape, shared_name, name, reduction_type
        )
        super().__init__(dtype, shape, handle)

    def apply_indexed_slices_grad(
        self, grad: Any, local_step: int = 0, name: str | None = None
    ) -> Any:
        """Returns an operation that adds a tf.IndexedSlices, unless it is of an earlier step."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: TensorLike,
        grad_shape: Any = None,
        local_step: int = 0,
        name: str | None = None,
    ) -> Any:
        """Returns an operation that adds a gradient, unless it is of an earlier step.

        Args:
          grad_indices: the indices of its rows, a vector.
          grad_values: the rows.
          grad_shape: the shape of the dense gradient, or None.
          local_step: the step that it was computed in.
          name: a name for the operation.
        """
        return OPS["SparseAccumulatorApplyGradient"](
            self._accumulator_ref,
            _step(local_step),
            cast(convert_to_tensor(grad_indices), "int64"),
            convert_to_tensor(grad_values, self._dtype),
            _dense_shape(grad_shape),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required: int, name: str | None = None) -> Any:
        """Returns indices, values and shape of the mean (or sum) of the gradients; waits until
        there are `num_required`."""
        return OPS["SparseAccumulatorTakeGradient"](
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required: int, name: str | None = None) -> Any:
        """Returns the same as a tf.IndexedSlices."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)
