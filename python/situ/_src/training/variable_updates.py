# SPDX-License-Identifier: Apache-2.0
"""variable_updates.py: applies one optimizer update with the op for the kind of variable."""

from situ._src.framework.api import OPS
from situ._src.framework.graph import get_default_graph
from situ._src.framework.indexed_slices import IndexedSlices, is_slices
from situ._src.ops.array_ops import cast, convert_to_tensor
from situ._src.variables.eager_variable import EagerVariable, Log


def dense(grad, variable):
    """Converts a gradient to a dense tensor; duplicate rows are added."""
    if not is_slices(grad):
        return grad
    rows = variable.shape.as_list()[0]
    return OPS["UnsortedSegmentSum"](grad.values, grad.indices, rows)


def unique(grad):
    """Adds the slices of equal indices."""
    rows, places = OPS["Unique"](grad.indices)
    sums = OPS["UnsortedSegmentSum"](grad.values, places, OPS["Size"](rows))
    return IndexedSlices(sums, rows, grad.dense_shape)


def _put(states, results):
    """Assigns eager variables: now, or when the traced function runs."""
    results = results if isinstance(results, (list, tuple)) else [results]
    for state, value in zip(states, results):
        state._put(value)
    return states[0]


def _step(name, states, values, attrs):
    return _put(states, OPS["Step" + name](*[s._situ_tensor_() for s in states], *values, **attrs))


def _read(value):
    """Converts a hyperparameter to a tensor; a variable is read."""
    if not hasattr(value, "_situ_reads_"):
        return convert_to_tensor(value)
    with get_default_graph().name_scope("Cast"):
        return convert_to_tensor(value)


def update(name, states, *values, **attrs):
    """Apply<name> on references, ResourceApply<name> on handles, Step<name> on values; the values
    take the variable's type. The first of `states` is the variable, the others are its slots.
    A gradient that is slices changes its rows alone: SparseApply<name> and its like."""
    first = states[0]
    dtype = first.dtype.base_dtype
    given, kind = [], ""
    for value in values:
        if is_slices(value):
            given += [cast(value.values, dtype), value.indices]
            kind = "Sparse"
        else:
            given.append(cast(_read(value), dtype))
    if hasattr(first, "_ref_"):
        return OPS[kind + "Apply" + name](*[s._ref_() for s in states], *given, **attrs)
    if isinstance(first, EagerVariable):
        return Log.call_as(
            f"Resource{kind}Apply{name}", first, _step, kind + name, states, given, attrs
        )
    return OPS["Resource" + kind + "Apply" + name](*[s.handle for s in states], *given, **attrs)
