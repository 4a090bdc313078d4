# SPDX-License-Identifier: Apache-2.0
"""contrib_summaries.py: tf.contrib.layers.summarize_tensor, summarize_collection and others."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import export
from situ._src.framework.graph import get_default_graph
from situ._src.summary import summary_ops

for _name in ("summarize_tensor", "summarize_activation"):

    @export(v1="contrib.layers." + _name)
    def _summarize(tensor, tag=None):
        """Adds a scalar summary of a scalar, a histogram of other tensors."""
        name = tag or tensor.op.name
        return (
            summary_ops.scalar(name, tensor)
            if tensor.shape.ndims == 0
            else summary_ops.histogram(name, tensor)
        )


@export(v1="contrib.layers.summarize_collection")
def summarize_collection(
    collection: str, name_filter: Any = None, summarizer: Any = _summarize
) -> list:
    """Adds summaries of the tensors of a collection.

    Args:
      collection: Key of the collection.
      name_filter: Regular expression that names must match.
      summarizer: Function that adds a summary of a tensor.
    """
    return [summarizer(t) for t in get_default_graph().get_collection(collection, name_filter)]


@export(v1="contrib.layers.summarize_tensors")
def summarize_tensors(tensors: Any, summarizer: Any = _summarize) -> list:
    """Adds summaries of tensors.

    Args:
      tensors: List of tensors.
      summarizer: Function that adds a summary of a tensor.
    """
    return [summarizer(t) for t in tensors]
