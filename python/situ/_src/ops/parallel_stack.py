# SPDX-License-Identifier: Apache-2.0
"""parallel_stack.py: tf.parallel_stack."""

from __future__ import annotations

import _situ
from situ._src.framework.api import export
from situ._src.ops.array_ops import stack

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


@export("parallel_stack")
def parallel_stack(values: TensorLike, name: str | None = "parallel_stack") -> Tensor:
    """Stacks tensors along a new first dimension, in a graph only.

    Args:
      values: List of tensors of the same shape.
      name: A name for the operation (optional).
    """
    if _situ.executing_eagerly():
        raise RuntimeError("tf.parallel_stack() is not compatible with eager execution.")
    return stack(values, 0, name)
