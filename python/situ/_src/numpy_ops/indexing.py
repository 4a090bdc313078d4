# SPDX-License-Identifier: Apache-2.0
"""indexing.py: tensor[...] with NumPy's advanced indices: tensors, arrays and lists of integers or
booleans."""

from __future__ import annotations

import numpy

from situ._src.framework.tensor_shape import Dimension
from situ._src.numpy_ops.arrays import (
    asarray,
    broadcast,
    is_tensor,
    positive_axis,
    promoted,
    rank,
    size_of,
)
from situ._src.numpy_ops.exports import tf
from situ._src.numpy_ops.manipulation import moveaxis
from situ._src.numpy_ops.selection import nonzero
from situ._src.ops import indexing

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor

_ERROR = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)


def _is_part_of_tuple(part):
    """Returns whether a list with this element is a tuple of indices and not an array."""
    if part is None or part is Ellipsis or isinstance(part, (list, tuple, slice)):
        return True
    return (is_tensor(part) or isinstance(part, numpy.ndarray)) and part.ndim != 0


def _parts(key):
    """Returns a key as a list of indices."""
    is_list = isinstance(key, (list, tuple))
    if isinstance(key, tuple) or is_list and any(map(_is_part_of_tuple, key)):
        return list(key)
    return [key]


def _integers(part):
    """Returns an index as a tensor that the ops take; IndexError if it is none."""
    index = part if is_tensor(part) else asarray(part)
    if not index.dtype.is_integer or index.dtype.name == "uint64":
        raise IndexError(f"{_ERROR}, got {part!r}")
    if index.dtype.name in ("int32", "int64"):
        return index
    return tf.cast(index, "int64" if index.dtype.name == "uint32" else "int32")


def _scalar(part):
    """Returns a bound of a slice, or an index of a single element."""
    if part is None or isinstance(part, (int, numpy.integer, Dimension)):
        return part
    index = _integers(part)
    if index.shape.rank not in (None, 0):
        raise IndexError(f"{_ERROR}, got {part!r}")
    return index


def _is_basic(part):
    if part is None or part is Ellipsis or isinstance(part, (slice, Dimension)):
        return True
    return isinstance(part, (int, numpy.integer)) and not isinstance(part, bool)


def _expand(part):
    """Returns the indices that an element of a key stands for: basic ones, and tensors."""
    if isinstance(part, slice):
        return [slice(*[_scalar(v) for v in (part.start, part.stop, part.step)])]
    if _is_basic(part):
        return [part]
    index = part if is_tensor(part) else asarray(part)
    if index.dtype.is_bool and index.shape.rank != 0:
        return list(nonzero(index))
    return [_integers(index)]


def _is_advanced(part):
    return is_tensor(part) and part.shape.rank != 0


def _is_all(part):
    return isinstance(part, slice) and part == slice(None)


def _dimensions(parts):
    """Returns the dimension that each advanced index selects from, after the basic ones have been
    applied; counted from the end if an ellipsis comes first."""
    kept = [p is None or isinstance(p, slice) or _is_advanced(p) for p in parts]
    found = []
    for i, part in enumerate(parts):
        if _is_advanced(part):
            after_ellipsis = any(p is Ellipsis for p in parts[:i])
            found.append(-sum(kept[i:]) if after_ellipsis else sum(kept[:i]))
    return found


def _from_front(indices, tensor, axis):
    """Returns indices without negative ones."""
    size = tf.cast(size_of(tensor, axis), indices.dtype)
    return tf.where(indices < 0, indices + size, indices)


def _gather(tensor, indices, axes):
    """Returns the elements at indices of several dimensions."""
    indices = broadcast(*promoted(*[_from_front(i, tensor, a) for i, a in zip(indices, axes)]))
    moved = moveaxis(tensor, axes, tuple(range(len(axes))))
    found = tf.gather_nd(moved, tf.stack(indices, -1))
    steps = [after - before for before, after in zip(axes, axes[1:])]
    if steps != [1] * len(steps) or axes[0] < 0 <= axes[-1]:
        return found
    count = indices[0].shape.rank
    if count is None:
        raise NotImplementedError("Rank of the advanced indices must currently be known")
    first = positive_axis(axes[0], rank(tensor))
    return moveaxis(found, tuple(range(count)), tuple(first + i for i in range(count)))


def index(tensor: Tensor, key: Any) -> Tensor:
    """Implements tensor[key] with NumPy's rules.

    Args:
      tensor: A tensor.
      key: Integers, slices, None, an ellipsis, and integer or boolean tensors.

    Returns:
      A tensor.

    Raises:
      IndexError: The key has something else.
    """
    parts = [index for part in _parts(key) for index in _expand(part)]
    advanced = [p for p in parts if _is_advanced(p)]
    basic = tuple(slice(None) if _is_advanced(p) else p for p in parts)
    if not advanced:
        return indexing.index(tensor, basic)
    if not all(p is Ellipsis or _is_all(p) for p in basic):
        tensor = indexing.index(tensor, basic)
    axes = _dimensions(parts)
    if len(advanced) == 1:
        return tf.gather(tensor, _from_front(advanced[0], tensor, axes[0]), axis=axes[0])
    return _gather(tensor, advanced, axes)
