# SPDX-License-Identifier: Apache-2.0
"""sparse_elementwise.py: ops that compute the stored values of a sparse tensor alone, as they keep
zeros, and Identity of composite tensors."""

from __future__ import annotations

from situ._src.framework import nest
from situ._src.framework.api import OPS
from situ._src.ops.array_ops import is_sparse, op
from situ._src.ops.sparse_ops import SparseTensor

_KEEP_ZEROS = {
    OPS[name]
    for name in (
        *("Abs", "ComplexAbs", "Neg", "Sign", "Square", "Sqrt", "Erf", "Tanh"),
        *("BesselI0e", "BesselI1e"),
    )
}


def otherwise(function, args, kwargs):
    """Handles a call of an op with a composite argument; NotImplemented if it has none or the op
    is none of these."""
    rest = dict(kwargs)
    value = args[0] if args else rest.pop("x", rest.pop("input", None))
    if function is OPS["Identity"] and hasattr(type(value), "_situ_tensors_"):
        return nest.map_structure(lambda t: op("Identity", t), value, expand_composites=True)
    if function not in _KEEP_ZEROS or not is_sparse(value):
        return NotImplemented
    sparse = SparseTensor.from_value(value)
    result = SparseTensor(
        sparse.indices, function(sparse.values, *args[1:], **rest), sparse.dense_shape
    )
    result._static = sparse._static
    return result
