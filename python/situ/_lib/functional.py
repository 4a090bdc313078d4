# SPDX-License-Identifier: Apache-2.0
"""functional.py: tf.map_fn, tf.scan, tf.foldl, tf.foldr: loops over the first dimension."""
import _situ
from situ._lib.api import OPS, export
from situ._lib.array_ops import concat, convert_to_tensor
from situ._lib.control_flow import _leaves, _pack, while_loop
from situ._lib.scopes import name_scope
from situ._lib.shapes import TensorShape


def _rows(elems):
    flat = [convert_to_tensor(e) for e in _leaves(elems)]
    count = flat[0].shape[0]
    count = getattr(count, "value", count)
    return flat, OPS["Shape"](flat[0])[0] if count is None else count


def _row(elems, flat, index):
    return _pack(elems, [OPS["GatherV2"](f, index, 0) for f in flat])


def _some(shape):
    """The shape of some elements of a shape."""
    return TensorShape(None) if shape.ndims is None else TensorShape([None] + shape.as_list())


def _append(stacks, values):
    return [concat([s, OPS["ExpandDims"](v, 0)], 0) for s, v in zip(stacks, values)]


def _loop_rows(step, flat, count, carried, reverse, name):
    """step(index, carried) -> (carried, results) for every row; carried and the results, stacked.
    The first row is done before the loop: it tells the types and shapes of the results."""
    first = (count - 1) if reverse else 0
    carried, results = step(convert_to_tensor(first, "int32"), carried)
    stacks = [OPS["ExpandDims"](r, 0) for r in results]
    n = len(carried)

    def body(index, *values):
        at = (count - 1) - index if reverse else index
        new, made = step(at, list(values[:n]))
        return [index + 1] + list(new) + _append(values[n:], made)
    start = [convert_to_tensor(1, "int32")] + list(carried) + stacks
    if _situ.current_graph() is None:
        while int(start[0]) < int(count):
            start = body(*start)
    else:
        shapes = [start[0].shape] + [c.shape for c in carried] + \
            [_some(r.shape) for r in results]
        start = while_loop(lambda index, *_: OPS["Less"](index, count), body, start,
                           shape_invariants=shapes, name=name, return_same_structure=True)
    return list(start[1:1 + n]), list(start[1 + n:])


@export("map_fn")
def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False,
           infer_shape=True, name=None, fn_output_signature=None):
    """fn of every row, stacked."""
    form = []
    with name_scope(name, "map"):
        flat, count = _rows(elems)

        def step(index, carried):
            result = fn(_row(elems, flat, index))
            form[:] = [result]
            return carried, [convert_to_tensor(r) for r in _leaves(result)]
        _, stacks = _loop_rows(step, flat, count, [], False, "while")
    return _pack(form[0], stacks)


@export("scan")
def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False,
         infer_shape=True, reverse=False, name=None):
    """fn(what it gave before, row) for every row, stacked."""
    with name_scope(name, "scan"):
        flat, count = _rows(elems)
        form = initializer if initializer is not None else elems
        if initializer is None:
            return _scan_from_first(fn, elems, flat, count, reverse)
        start = [convert_to_tensor(x) for x in _leaves(initializer)]

        def step(index, carried):
            result = fn(_pack(form, carried), _row(elems, flat, index))
            values = [convert_to_tensor(r) for r in _leaves(result)]
            return values, values
        _, stacks = _loop_rows(step, flat, count, start, reverse, "while")
    return _pack(form, stacks)


def _scan_from_first(fn, elems, flat, count, reverse):
    order = [OPS["ReverseV2"](f, [0]) for f in flat] if reverse else flat
    first = [OPS["GatherV2"](f, 0, 0) for f in order]
    rest = [OPS["Slice"](f, [1] + [0] * (f.shape.ndims - 1), [-1] * f.shape.ndims) for f in order]
    stacks = scan(fn, _pack(elems, rest), _pack(elems, first))
    whole = [concat([OPS["ExpandDims"](a, 0), b], 0) for a, b in zip(first, _leaves(stacks))]
    if reverse:
        whole = [OPS["ReverseV2"](w, [0]) for w in whole]
    return _pack(elems, whole)


def _fold(fn, elems, initializer, reverse, name):
    with name_scope(name, "foldr" if reverse else "foldl"):
        flat, count = _rows(elems)
        if reverse:
            flat = [OPS["ReverseV2"](f, [0]) for f in flat]
        at = 0
        if initializer is None:
            initializer, at = _row(elems, flat, 0), 1
        start = [convert_to_tensor(x) for x in _leaves(initializer)]

        def body(index, *carried):
            result = fn(_pack(initializer, list(carried)), _row(elems, flat, index))
            return [index + 1] + [convert_to_tensor(r) for r in _leaves(result)]
        done = while_loop(lambda index, *_: OPS["Less"](index, count), body,
                          [convert_to_tensor(at, "int32")] + start, return_same_structure=True)
    return _pack(initializer, list(done)[1:])


@export("foldl")
def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False,
          name=None):
    """fn(what it gave before, row), from the first row to the last."""
    return _fold(fn, elems, initializer, False, name)


@export("foldr")
def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False,
          name=None):
    """The same from the last row to the first."""
    return _fold(fn, elems, initializer, True, name)
