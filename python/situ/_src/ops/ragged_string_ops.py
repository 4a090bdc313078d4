# SPDX-License-Identifier: Apache-2.0
"""ragged_string_ops.py: tf.strings.split, whose results are ragged."""

from __future__ import annotations

from situ._src.framework.api import V2, export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.ragged_tensor import RaggedTensor, is_ragged, to_ragged

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


def _strings_split(
    input: Any = None, sep: str | None = None, maxsplit: int = -1, name: str | None = None
) -> Any:
    """Splits each string as str.split.

    Args:
      input: A string, or a tensor or ragged tensor of strings.
      sep: The separator; by default white space.
      maxsplit: The largest number of splits; -1: no limit.
      name: A name for the operation (optional).

    Returns:
      A vector for a scalar, else a ragged tensor with one more dimension.
    """
    with scope(name, "StringSplit"):
        strings = to_ragged(input) if is_ragged(input) else convert_to_tensor(input, "string")
        rank = strings.shape.rank
        if rank is not None and rank > 1 and not isinstance(strings, RaggedTensor):
            strings = RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
        if isinstance(strings, RaggedTensor):
            return strings.with_flat_values(_strings_split(strings.flat_values, sep, maxsplit))
        vector = op("Reshape", strings, [1]) if rank == 0 else strings
        separator = "" if sep is None else sep
        indices, values, sizes = op("StringSplitV2", vector, separator, maxsplit=maxsplit)
        if rank == 0:
            return values
        return RaggedTensor.from_value_rowids(values, indices[:, 0], sizes[0], validate=False)


V2["strings.split"] = _strings_split


@export(v1="strings.split")
def strings_split_v1(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """Splits a vector of strings into a SparseTensor or RaggedTensor.

    Args:
      input: Vector of strings.
      sep: The separator; default: white space.
      maxsplit: Largest number of splits; -1: no limit.
      result_type: "SparseTensor" or "RaggedTensor".
      source: Old name of input.
      name: A name for the operation (optional).
    """
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    with scope(name, "StringSplit") as full:
        strings = to_ragged(input if source is None else source)
        if strings.shape.rank == 0:
            strings = op("Reshape", strings, [1])
        result = _strings_split(strings, sep, maxsplit, full)
        return result if result_type == "RaggedTensor" else result.to_sparse()
