# SPDX-License-Identifier: Apache-2.0
"""updates.py: one update of a variable and its slots: the op for the kind of variable."""
from situ._lib.api import OPS
from situ._lib.array_ops import cast, convert_to_tensor


def is_slices(grad):
    """Whether a gradient is rows of a tensor (IndexedSlices) and not all of it."""
    return hasattr(grad, "indices") and hasattr(grad, "values") and hasattr(grad, "dense_shape")


def dense(grad, variable):
    """A gradient as one tensor in the variable's shape; rows that come twice are added."""
    if not is_slices(grad):
        return grad
    rows = variable.shape.as_list()[0]
    return OPS["UnsortedSegmentSum"](grad.values, grad.indices, rows)


def update(name, states, *values, **attrs):
    """Apply<name> on references, ResourceApply<name> on handles; values take the variable's type.
    The first of `states` is the variable, the others are its slots."""
    first = states[0]
    dtype = first.dtype.base_dtype
    values = [v if v is None else cast(convert_to_tensor(v), dtype) for v in values]
    if hasattr(first, "_ref_"):
        return OPS["Apply" + name](*[s._ref_() for s in states], *values, **attrs)
    return OPS["ResourceApply" + name](*[s.handle for s in states], *values, **attrs)
