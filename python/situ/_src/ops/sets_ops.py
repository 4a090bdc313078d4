# SPDX-License-Identifier: Apache-2.0
"""sets_ops.py: tf.sets: operations on the last dimension of tensors as sets."""

from __future__ import annotations

import numpy

from situ._src.framework.api import export
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.sparse_ops import SparseTensor, validated

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def _checked(validate_indices, *operands):
    """Checks the indices of the operands of a set operation that are sparse."""
    for one in operands:
        if validate_indices and isinstance(one, SparseTensor):
            validated(one.indices, one.dense_shape)
    return operands


def _in_order(a, b, validate_indices=True):
    return _checked(validate_indices, a, b)


def _ordered(a, b, aminusb=True, validate_indices=True):
    """Returns the arguments of a difference in order."""
    a, b = _checked(validate_indices, a, b)
    return (a, b) if aminusb else (b, a)


def _sets(name, combine):
    @export("sets." + name)
    def call(a: TensorLike, b: TensorLike, *args: Any, **kwargs: Any) -> SparseTensor:
        """Combines the last dimensions of two tensors, sparse or dense, as sets."""
        a, b = (
            _ordered(a, b, *args, **kwargs)
            if name == "difference"
            else _in_order(a, b, *args, **kwargs)
        )

        def rows(one):
            found = {}
            one = one if isinstance(one, SparseTensor) else _all_of(convert_to_tensor(one))
            for place, value in zip(one.indices.numpy(), one.values.numpy()):
                found.setdefault(tuple(int(p) for p in place[:-1]), set()).add(value)
            return found, one

        (first, x), (second, y) = rows(a), rows(b)
        result = [
            (*place, i, value)
            for place in sorted({*first, *second})
            for i, value in enumerate(
                sorted(combine(first.get(place, set()), second.get(place, set())))
            )
        ]
        outer = numpy.maximum(x.dense_shape.numpy(), y.dense_shape.numpy())[:-1]
        most = max([m[-2] + 1 for m in result], default=0)
        return SparseTensor(
            numpy.array([m[:-1] for m in result], "int64").reshape(len(result), len(outer) + 1),
            convert_to_tensor([m[-1] for m in result], x.dtype),
            [*outer, most],
        )

    call.__name__ = name


def _all_of(tensor):
    """Converts a dense tensor to a sparse one with all elements."""
    shape = tensor.shape.as_list()
    return SparseTensor(
        numpy.stack([i.ravel() for i in numpy.indices(shape)], 1),
        op("Reshape", tensor, [-1]),
        shape,
    )


_sets("union", lambda a, b: a | b)
_sets("intersection", lambda a, b: a & b)
_sets("difference", lambda a, b: a - b)


@export("sets.size")
def set_size(a: TensorLike, validate_indices: bool | None = True) -> Tensor:
    """Counts the distinct elements of each set of the last dimension."""
    _checked(validate_indices, a)
    result = numpy.zeros(a.dense_shape.numpy()[:-1], "int32")
    for place in {
        (*p[:-1], v) for p, v in zip(a.indices.numpy().tolist(), a.values.numpy().tolist())
    }:
        result[place[:-1]] += 1
    return constant(result)
