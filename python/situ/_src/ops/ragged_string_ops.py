# SPDX-License-Identifier: Apache-2.0
"""ragged_string_ops.py: tf.strings.split, whose results are ragged."""

from __future__ import annotations

import re

from situ._src.framework.api import V2, export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.ragged_tensor import RaggedTensor
from situ._src.ops.string_ops import regex_replace

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any

_SPACES = " \t\n\r\f\v"


def _split(strings, sep):
    """Splits strings; returns (indices, values, shape)."""
    if sep is None or sep == "":
        return op("StringSplit", strings, _SPACES, skip_empty=True)
    sep = sep.decode() if isinstance(sep, bytes) else sep
    if len(sep.encode()) > 1:
        strings, sep = regex_replace(strings, re.escape(sep), "\x01"), "\x01"
    return op("StringSplit", strings, sep, skip_empty=False)


def _strings_split(input=None, sep=None, maxsplit=-1, name=None):
    """Splits a string into a vector, or a vector of strings into a ragged tensor."""
    with scope(name, "StringSplit"):
        if maxsplit != -1:
            raise ValueError("tf.strings.split: situ supports maxsplit=-1 only.")
        strings = convert_to_tensor(input, "string")
        if strings.shape.ndims == 0:
            return _split(op("Reshape", strings, [1]), sep)[1]
        if strings.shape.ndims != 1:
            raise ValueError("tf.strings.split: situ needs a scalar or a vector of strings.")
        indices, values, sizes = _split(strings, sep)
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
    """Splits a vector of strings into a SparseTensor or RaggedTensor."""
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    with scope(name, "StringSplit") as full:
        result = _strings_split(input if source is None else source, sep, maxsplit, full)
        return (
            result
            if result_type == "RaggedTensor" or not isinstance(result, RaggedTensor)
            else result.to_sparse()
        )
