# SPDX-License-Identifier: Apache-2.0
"""approx_top_k.py: tf.math.approx_max_k and approx_min_k; the results are exact."""

from __future__ import annotations

import collections

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.reduction_ops import swap_with_last

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, TensorLike

ApproxTopK = collections.namedtuple("ApproxTopK", "values indices")


def _top_k(operand: Any, k: int, dimension: int) -> tuple:
    """The k largest elements along a dimension, and their indices."""
    last = tensor_shape.as_shape(operand.shape).rank == 1 or dimension == -1
    order = None if last else swap_with_last(operand, dimension)
    if order is not None:
        operand = op("Transpose", operand, order)
    values, indices = op("TopKV2", operand, k)
    if order is not None:
        values, indices = op("Transpose", values, order), op("Transpose", indices, order)
    return values, indices


@export("math.approx_max_k", "approx_max_k")
def approx_max_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> Any:
    """Finds the `k` largest elements along a dimension.

    Args:
      operand: A floating-point tensor.
      k: The number of elements.
      reduction_dimension: The dimension to search.
      recall_target: Ignored: the recall is 1.
      reduction_input_size_override: Ignored.
      aggregate_to_topk: Ignored: the result has `k` elements, sorted.
      name: A name for the operation (optional).

    Returns:
      A named tuple (values, indices).
    """
    del recall_target  # the result is exact
    del reduction_input_size_override  # determines only the recall
    del aggregate_to_topk  # there are no partial results to aggregate
    with scope(name, "ApproxTopK"):
        return ApproxTopK(*_top_k(convert_to_tensor(operand), k, reduction_dimension))


@export("math.approx_min_k", "approx_min_k")
def approx_min_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> Any:
    """Finds the `k` smallest elements along a dimension; see `tf.math.approx_max_k`.

    Args:
      operand: A floating-point tensor.
      k: The number of elements.
      reduction_dimension: The dimension to search.
      recall_target: Ignored: the recall is 1.
      reduction_input_size_override: Ignored.
      aggregate_to_topk: Ignored: the result has `k` elements, sorted.
      name: A name for the operation (optional).
    """
    del recall_target  # the result is exact
    del reduction_input_size_override  # determines only the recall
    del aggregate_to_topk  # there are no partial results to aggregate
    with scope(name, "ApproxTopK"):
        negative = op("Neg", convert_to_tensor(operand))
        values, indices = _top_k(negative, k, reduction_dimension)
        return ApproxTopK(op("Neg", values), indices)
