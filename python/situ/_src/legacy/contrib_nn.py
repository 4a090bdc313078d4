# SPDX-License-Identifier: Apache-2.0
"""contrib_nn.py: tf.contrib.nn: cross-entropies with the argument order before TensorFlow 1.0."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.ops.nn import losses

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike


@export(v1="contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits")
def flipped_softmax_cross_entropy(
    logits: TensorLike, labels: TensorLike, dim: TensorLike = -1, name: str | None = None
) -> Any:
    """tf.nn.softmax_cross_entropy_with_logits with the argument order before TensorFlow 1.0.

    Args:
      logits: The logits.
      labels: The labels.
      dim: The class dimension.
      name: A name for the operation (optional).
    """
    return losses.softmax_cross_entropy_with_logits(
        labels=labels, logits=logits, dim=dim, name=name
    )


@export(v1="contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits")
def flipped_sparse_softmax_cross_entropy(
    logits: TensorLike, labels: TensorLike, name: str | None = None
) -> Any:
    """tf.nn.sparse_softmax_cross_entropy_with_logits with the argument order before TensorFlow
    1.0.

    Args:
      logits: The logits.
      labels: The labels.
      name: A name for the operation (optional).
    """
    return losses.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


@export(v1="contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits")
def flipped_sigmoid_cross_entropy(
    logits: TensorLike, targets: TensorLike, name: str | None = None
) -> Any:
    """tf.nn.sigmoid_cross_entropy_with_logits with the argument order before TensorFlow 1.0.

    Args:
      logits: The logits.
      targets: The targets.
      name: A name for the operation (optional).
    """
    return losses.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)
