# SPDX-License-Identifier: Apache-2.0
"""indexing.py: tensor[...]: NumPy's basic indexing as a StridedSlice."""
import _situ
from situ._lib.api import OPS, export
from situ._lib.dtypes import dtype_of
from situ._lib.graph import scope

_END = 0


def _check(part):
    """An index is a whole number, or a tensor that holds one."""
    dtype = dtype_of(part)
    if not isinstance(part, bool) and (isinstance(part, int) or hasattr(part, "__index__")) and \
            dtype is None or dtype is not None and dtype.is_integer:
        return part
    raise TypeError("Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
                    f"tf.int32/tf.int64 tensors are valid indices, got {part!r}")


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


def index(tensor, key):
    begin, end, strides, masks = _masks(key)
    with scope(None, "strided_slice") as full:
        if _situ.current_graph() is not None:
            begin = _situ.constant(begin, None, "stack")
            end = _situ.constant(end, None, "stack_1")
            strides = _situ.constant(strides, None, "stack_2")
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
def strided_slice(input_, begin, end, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0,
                  new_axis_mask=0, shrink_axis_mask=0, var=None, name=None):
    """A part of a tensor; the steps are 1 where none are given."""
    if strides is None:
        strides = _ones(begin)
    return OPS["StridedSlice"](input_, begin, end, strides, begin_mask=begin_mask,
                               end_mask=end_mask, ellipsis_mask=ellipsis_mask,
                               new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask,
                               name=name)


_situ.hook("index", index)
