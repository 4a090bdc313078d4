# SPDX-License-Identifier: Apache-2.0
"""indexing.py: tensor[...]: NumPy's basic indexing as a StridedSlice."""

from __future__ import annotations

import _situ
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import beyond_int32, dtype_of
from situ._src.framework.graph import scope
from situ._src.framework.keywords import unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def _check(part):
    """Returns an index; TypeError unless it is an integer or an integer tensor."""
    dtype = dtype_of(part)
    if (
        not isinstance(part, bool)
        and (isinstance(part, int) or hasattr(part, "__index__"))
        and dtype is None
        or dtype is not None
        and dtype.is_integer
    ):
        return part
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
        f"tf.int32/tf.int64 tensors are valid indices, got {part!r}"
    )


def _masks(key):
    """Returns (begin, end, strides, bit masks) of a key."""
    begin, end, strides = [], [], []
    masks = dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
    for i, part in enumerate(key if isinstance(key, tuple) else (key,)):
        bit = 1 << i
        first, last, step = 0, 0, 1
        if part is Ellipsis:
            masks["ellipsis_mask"] |= bit
        elif part is None:
            masks["new_axis_mask"] |= bit
        elif isinstance(part, slice):
            first = 0 if part.start is None else _check(part.start)
            last = 0 if part.stop is None else _check(part.stop)
            step = 1 if part.step is None else _check(part.step)
            masks["begin_mask"] |= bit if part.start is None else 0
            masks["end_mask"] |= bit if part.stop is None else 0
        else:
            first, last = _check(part), part + 1
            masks["shrink_axis_mask"] |= bit
        begin.append(first)
        end.append(last)
        strides.append(step)
    return begin, end, strides, masks


def _is_all(part):
    return isinstance(part, slice) and part == slice(None)


def _gather_row(tensor, parts):
    """Returns tensor[i] as a Gather if a loop computes i: it is compiled once for all i.
    Otherwise None."""
    graph, first = _situ.current_graph(), parts[0]
    if (
        graph is None
        or not graph._captures
        or not isinstance(first, _situ.GraphTensor)
        or not all(_is_all(p) for p in parts[1:])
        or first.shape.ndims != 0
        or tensor.shape.ndims is None
        or len(parts) > tensor.shape.ndims
    ):
        return None
    _check(first)
    with scope(None, "strided_slice"):
        size = tensor.shape.as_list()[0]
        size = OPS["Shape"](tensor, out_type=first.dtype)[0] if size is None else size
        at = OPS["SelectV2"](OPS["Less"](first, 0), OPS["Add"](first, size), first)
        return OPS["GatherV2"](tensor, at, 0)


def _static_shape(tensor, parts):
    """Returns the static shape of a slice with tensor bounds, or None if the rank is unknown."""
    sizes = tensor.shape.as_list() if tensor.shape.ndims is not None else None
    if sizes is None:
        return None
    used = sum(p is not None and p is not Ellipsis for p in parts)
    if not any(p is Ellipsis for p in parts):
        parts = (*parts, Ellipsis)
    result, at = [], 0
    for part in parts:
        if part is None:
            result.append(1)
        elif part is Ellipsis:
            rest = len(sizes) - used
            result += sizes[at : at + rest]
            at += rest
        else:
            if isinstance(part, slice):
                result.append(sizes[at] if _is_all(part) else None)
            at += 1
    return result


def _is_mask(part):
    dtype = dtype_of(part)
    return (
        dtype is not None
        and dtype.name == "bool"
        and getattr(part, "shape", ()) != ()
        and getattr(part.shape, "ndims", 1) != 0
    )


def index(tensor, key):
    """Implements tensor[key]."""
    if not isinstance(key, (int, slice, tuple)) and _is_mask(key):
        from situ._src.ops.unique_sort_ops import boolean_mask

        return boolean_mask(tensor, key)
    key = tuple(key) if isinstance(key, list) else key
    parts = key if isinstance(key, tuple) else (key,)
    if parts and (row := _gather_row(tensor, parts)) is not None:
        return row
    result = _slice(tensor, key)
    if isinstance(result, _situ.GraphTensor) and result.shape.ndims is None:
        known = _static_shape(tensor, parts)
        if known is not None:
            result.set_shape(known)
    return result


def _to_int64(numbers):
    """Packs indices into an int64 vector."""
    if not any(dtype_of(n) is not None for n in numbers):
        return _situ.constant(numbers, "int64", "stack")
    return OPS["Pack"](
        [
            _situ.constant(n, "int64", "Const") if dtype_of(n) is None else OPS["Cast"](n, "int64")
            for n in numbers
        ]
    )


def parts(key, named=False):
    """Returns (begin, end, strides, masks) of a key in one integer type; `named` gives the
    constants
    TensorFlow's node names."""
    begin, end, strides, masks = _masks(key)
    numbers = (*begin, *end, *strides)
    kinds = {k.name for k in map(dtype_of, numbers) if k is not None}
    if "int64" in kinds or beyond_int32(*numbers):
        begin, end, strides = (_to_int64(part) for part in (begin, end, strides))
    elif named:
        begin = _situ.constant(begin, None, "stack")
        end = _situ.constant(end, None, "stack_1")
        strides = _situ.constant(strides, None, "stack_2")
    return begin, end, strides, masks


def _slice(tensor, key):
    with scope(None, "strided_slice") as full:
        graph = _situ.current_graph()
        named = graph is not None and getattr(tensor, "graph", graph) is graph
        begin, end, strides, masks = parts(key, named)
        return OPS["StridedSlice"](tensor, begin, end, strides, name=full, **masks)


def _ones(begin):
    """Returns ones for strides; a constant if the number of indices is known, so that shapes
    are, too."""
    dtype = dtype_of(begin)
    if dtype is None:
        return [1] * len(begin)
    known = getattr(begin.shape, "as_list", lambda: list(begin.shape))
    if getattr(begin.shape, "rank", 1) is None or None in known():
        return OPS["OnesLike"](begin)
    return _situ.constant([1] * known()[0], dtype, "ones_like")


@export("strided_slice")
def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: Any = None,
    begin_mask: TensorLike = 0,
    end_mask: TensorLike = 0,
    ellipsis_mask: TensorLike = 0,
    new_axis_mask: TensorLike = 0,
    shrink_axis_mask: TensorLike = 0,
    var: TensorLike = None,
    name: str | None = None,
) -> Tensor:
    """Extracts a strided slice of a tensor, like `tensor[begin:end:strides]`.

    Args:
      input_: A tensor.
      begin: The first index in each dimension.
      end: The end of the range in each dimension, excluded.
      strides: The step in each dimension, 1 by default.
      begin_mask: Bit i ignores `begin[i]`.
      end_mask: Bit i ignores `end[i]`.
      ellipsis_mask: Bit i makes entry i an ellipsis.
      new_axis_mask: Bit i makes entry i a new dimension of size 1.
      shrink_axis_mask: Bit i removes the dimension and takes index `begin[i]`.
      var: Must be None. To assign to a slice of a variable, use `variable[...].assign(value)`.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input_`.
    """
    unsupported("tf.strided_slice", var=(var, None))
    if strides is None:
        strides = _ones(begin)
    return OPS["StridedSlice"](
        input_,
        begin,
        end,
        strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )


_situ.hook("index", index)
