# SPDX-License-Identifier: Apache-2.0
"""regularizers.py: tf.contrib.layers.l1_regularizer, l2_regularizer and others."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph, scope
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.math_ops import add_n

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable


def _check(scale, what):
    if isinstance(scale, int) and not isinstance(scale, bool) and scale != 0:
        raise ValueError(f"scale cannot be an integer: {scale}")
    if scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}. ({what})")


@export(v1=("contrib.layers.l2_regularizer", "contrib.slim.l2_regularizer"))
def l2_regularizer(scale: bool, scope: Any = None) -> Any:
    """Returns a function of weights: `scale * sum(square(weights)) / 2`.

    Args:
      scale: Factor; 0 for no regularizer.
      scope: Name scope of the operations.
    """
    _check(scale, "l2")
    if scale == 0.0:
        return lambda _: None

    def l2(weights):
        with _scope(scope, "l2_regularizer") as name:
            weights = convert_to_tensor(weights)
            return op("Mul", cast(scale, weights.dtype), op("L2Loss", weights), name=name)

    return l2


@export(v1=("contrib.layers.l1_regularizer", "contrib.slim.l1_regularizer"))
def l1_regularizer(scale: bool, scope: Any = None) -> Any:
    """Returns a function of weights: `scale * sum(abs(weights))`.

    Args:
      scale: Factor; 0 for no regularizer.
      scope: Name scope of the operations.
    """
    _check(scale, "l1")
    if scale == 0.0:
        return lambda _: None

    def l1(weights):
        with _scope(scope, "l1_regularizer") as name:
            weights = convert_to_tensor(weights)
            total = op("Sum", op("Abs", weights))
            return op("Mul", cast(scale, weights.dtype), total, name=name)

    return l1


@export(v1="contrib.layers.l1_l2_regularizer")
def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: Any = None) -> Any:
    """Returns the sum of l1_regularizer(scale_l1) and l2_regularizer(scale_l2).

    Args:
      scale_l1: Factor of the absolute values.
      scale_l2: Factor of the squares.
      scope: Name scope of the operations.
    """
    parts = [l1_regularizer(scale_l1), l2_regularizer(scale_l2)]
    return sum_regularizer(parts, scope or "l1_l2_regularizer")


@export(v1="contrib.layers.sum_regularizer")
def sum_regularizer(regularizer_list: Any, scope: Any = None) -> Any:
    """Returns the sum of regularizers, None if there are none.

    Args:
      regularizer_list: Regularizers; None counts as 0.
      scope: Name scope of the operations.
    """
    parts = [r for r in regularizer_list if r is not None]

    def total(weights):
        with _scope(scope, "sum_regularizer") as name:
            result = [p for p in (r(weights) for r in parts) if p is not None]
            return add_n(result, name=name) if result else None

    return total if parts else None


@export(v1="contrib.layers.apply_regularization")
def apply_regularization(regularizer: Callable, weights_list: Any = None) -> Any:
    """Returns the sum of the penalties of weights and adds it to REGULARIZATION_LOSSES.

    Args:
      regularizer: Function of weights.
      weights_list: Weights; default: the collection WEIGHTS.
    """
    weights = weights_list or get_default_graph().get_collection(GraphKeys.WEIGHTS)
    results = [p for p in (regularizer(w) for w in weights) if p is not None]
    result = add_n(results) if results else convert_to_tensor(0.0)
    get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, result)
    return result


_scope = scope
