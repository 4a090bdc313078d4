# SPDX-License-Identifier: Apache-2.0
"""segment_join.py: tf.strings.unsorted_segment_join."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.ops.array_ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


@export("strings.unsorted_segment_join")
def unsorted_segment_join(
    inputs: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """Concatenates the strings of each segment.

    Args:
      inputs: A tensor of strings.
      segment_ids: The segment of each string; the shape is a prefix of that of `inputs`.
      num_segments: The number of segments.
      separator: The string between the parts.
      name: A name for the operation (optional).

    Returns:
      A tensor of strings of shape [num_segments, ...].
    """
    return op(
        "UnsortedSegmentJoin", inputs, segment_ids, num_segments, separator=separator, name=name
    )
