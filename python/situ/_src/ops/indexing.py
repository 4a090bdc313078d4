# SPDX-License-Identifier: Apache-2.0
"""indexing.py: tensor[...]: NumPy's basic indexing as a StridedSlice."""

import _situ
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import beyond_int32, dtype_of
from situ._src.framework.graph import scope

_END = 0


def _check(part):
    """An index is a whole number, or a tensor that holds one."""
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
    """begin, end, strides and the bit masks of a key."""
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


def _row(tensor, parts):
    """tensor[i], where a loop tells i: a Gather, which is compiled once for all i; else None."""
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


def _known_shape(tensor, parts):
    """The shape of a part that tensors cut out, as far as it is known; None where nothing is."""
    sizes = tensor.shape.as_list() if tensor.shape.ndims is not None else None
    if sizes is None:
        return None
    used = sum(p is not None and p is not Ellipsis for p in parts)
    if not any(p is Ellipsis for p in parts):
        parts = (*parts, Ellipsis)
    made, at = [], 0
    for part in parts:
        if part is None:
            made.append(1)
        elif part is Ellipsis:
            rest = len(sizes) - used
            made += sizes[at : at + rest]
            at += rest
        else:
            if isinstance(part, slice):
                made.append(sizes[at] if _is_all(part) else None)
            at += 1
    return made


def _is_mask(part):
    dtype = dtype_of(part)
    return (
        dtype is not None
        and dtype.name == "bool"
        and getattr(part, "shape", ()) != ()
        and getattr(part.shape, "ndims", 1) != 0
    )


def index(tensor, key):
    if not isinstance(key, (int, slice, tuple)) and _is_mask(key):
        from situ._src.ops.unique_sort_ops import boolean_mask

        return boolean_mask(tensor, key)
    parts = key if isinstance(key, tuple) else (key,)
    if parts and (row := _row(tensor, parts)) is not None:
        return row
    made = _slice(tensor, key)
    if isinstance(made, _situ.GraphTensor) and made.shape.ndims is None:
        known = _known_shape(tensor, parts)
        if known is not None:
            made.set_shape(known)
    return made


def _wide(numbers):
    """Indices as a vector of int64."""
    if not any(dtype_of(n) is not None for n in numbers):
        return _situ.constant(numbers, "int64", "stack")
    return OPS["Pack"](
        [
            _situ.constant(n, "int64", "Const") if dtype_of(n) is None else OPS["Cast"](n, "int64")
            for n in numbers
        ]
    )


def parts(key, named=False):
    """Begin, end and strides of a key, of one type, and its masks; with the names that they have
    in graphs."""
    begin, end, strides, masks = _masks(key)
    numbers = (*begin, *end, *strides)
    kinds = {k.name for k in map(dtype_of, numbers) if k is not None}
    if "int64" in kinds or beyond_int32(*numbers):
        begin, end, strides = (_wide(part) for part in (begin, end, strides))
    elif named:
        begin = _situ.constant(begin, None, "stack")
        end = _situ.constant(end, None, "stack_1")
        strides = _situ.constant(strides, None, "stack_2")
    return begin, end, strides, masks


def _slice(tensor, key):
    with scope(None, "strided_slice") as full:
        here = _situ.current_graph()
        named = here is not None and getattr(tensor, "graph", here) is here
        begin, end, strides, masks = parts(key, named)
        return OPS["StridedSlice"](tensor, begin, end, strides, name=full, **masks)


def _ones(begin):
    """A 1 for each of the places; as numbers, if their count is known: then shapes are, too."""
    dtype = dtype_of(begin)
    if dtype is None:
        return [1] * len(begin)
    known = getattr(begin.shape, "as_list", lambda: list(begin.shape))
    if getattr(begin.shape, "rank", 1) is None or None in known():
        return OPS["OnesLike"](begin)
    return _situ.constant([1] * known()[0], dtype, "ones_like")


@export("strided_slice")
def strided_slice(
    input_,
    begin,
    end,
    strides=None,
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
    var=None,
    name=None,
):
    """A part of a tensor; the steps are 1 where none are given."""
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
