# SPDX-License-Identifier: Apache-2.0
"""functional_ops.py: tf.map_fn, tf.vectorized_map, tf.scan, tf.foldl, tf.foldr: loops over the
first dimension."""

from situ._src.framework import nest
from situ._src.framework.api import BOTH, OPS, export, named
from situ._src.framework.scopes import name_scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.tensor_array_ops import TensorArray
from situ._src.ops.while_loop import while_loop


class _Rows:
    """The rows of a structure of tensors, as arrays."""

    def __init__(self, elems):
        self.structure = elems
        flat = [convert_to_tensor(e) for e in nest.flatten(elems)]
        if not flat:
            raise ValueError("elems must be a Tensor or (possibly nested) sequence of Tensors.")
        for f in flat:
            if f.shape.ndims == 0:
                raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
        self.types = [f.dtype.base_dtype for f in flat]
        known = [f.shape.as_list()[0] for f in flat if f.shape.ndims]
        self.static = next((n for n in known if n is not None), None)
        self.count = (
            OPS["Shape"](flat[0])[0]
            if self.static is None
            else convert_to_tensor(self.static, "int32")
        )
        self._arrays = [
            TensorArray(f.dtype, self.count, clear_after_read=False).unstack(f) for f in flat
        ]

    def row(self, index):
        return nest.pack_sequence_as(self.structure, [a.read(index) for a in self._arrays])


def _results(arrays, static, back_prop):
    """The arrays stacked."""
    stacked = [a.stack() if back_prop else op("StopGradient", a.stack()) for a in arrays]
    for tensor in stacked:
        if static is not None and tensor.shape.ndims and hasattr(tensor, "graph"):
            tensor.set_shape([static] + [None] * (tensor.shape.ndims - 1))
    return stacked


def _arrays(types, count):
    return [TensorArray(t, count, clear_after_read=False) for t in types]


def _loop(body, variables, count, start=0, name=None, back_prop=True):
    """body(index, *variables) for index = start, ... count - 1."""
    done = while_loop(
        lambda index, *_: OPS["Less"](index, count),
        lambda index, *rest: [index + 1] + list(body(index, *rest)),
        [convert_to_tensor(start, "int32")] + list(variables),
        return_same_structure=True,
        name=name,
        back_prop=back_prop,
    )
    return list(done)[1:]


def _types(given, default):
    """The types of results: given in their structure, or those of the elements."""
    if given is None:
        return default, None
    flat = [getattr(d, "dtype", d) for d in nest.flatten(given)]
    return flat, given


@export("map_fn")
def map_fn(
    fn,
    elems,
    dtype=None,
    parallel_iterations=None,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    name=None,
    fn_output_signature=None,
):
    """fn of every row, stacked."""
    if hasattr(elems, "with_flat_values"):
        made = [convert_to_tensor(fn(row)) for row in elems]
        return op("Pack", made) if made[0].shape.rank == 0 else BOTH["ragged.stack"](made)
    with name_scope(name, "map"):
        rows = _Rows(elems)
        types, structure = _types(
            dtype if fn_output_signature is None else fn_output_signature, rows.types
        )
        structure = elems if structure is None else structure

        def body(index, *arrays):
            result = nest.flatten(fn(rows.row(index)))
            if len(result) != len(arrays):
                raise ValueError(f"fn gives {len(result)} values, but dtype says {len(arrays)}.")
            return [
                a.write(index, convert_to_tensor(r, a.dtype) if not hasattr(r, "dtype") else r)
                for a, r in zip(arrays, result)
            ]

        arrays = _loop(body, _arrays(types, rows.count), rows.count)
        return nest.pack_sequence_as(structure, _results(arrays, rows.static, back_prop))


def _fold(fn, elems, initializer, reverse, keep, back_prop):
    """The last of what fn gave; with `keep` all of it, stacked."""
    rows = _Rows(elems)
    last = rows.count - 1

    def at(index):
        return last - index if reverse else index

    form = elems if initializer is None else initializer
    carried = rows.row(at(convert_to_tensor(0, "int32"))) if initializer is None else initializer
    carried = [convert_to_tensor(x) for x in nest.flatten(carried)]
    n, start = len(carried), int(initializer is None)
    arrays = _arrays([c.dtype for c in carried], rows.count) if keep else []
    if start:
        arrays = [a.write(at(convert_to_tensor(0, "int32")), c) for a, c in zip(arrays, carried)]

    def body(index, *values):
        result = fn(nest.pack_sequence_as(form, list(values[:n])), rows.row(at(index)))
        new = [
            r if hasattr(r, "dtype") else convert_to_tensor(r, c.dtype)
            for r, c in zip(nest.flatten(result), carried)
        ]
        return new + [a.write(at(index), r) for a, r in zip(values[n:], new)]

    done = _loop(body, carried + arrays, rows.count, start, back_prop=back_prop)
    return nest.pack_sequence_as(
        form, _results(done[n:], rows.static, back_prop) if keep else done[:n]
    )


@export("scan")
def scan(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    reverse=False,
    name=None,
):
    """fn(what it gave before, row) for every row, stacked."""
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "scan"):
        return _fold(fn, elems, initializer, reverse, True, back_prop)


@export("foldl")
def foldl(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
):
    """fn(what it gave before, row), from the first row to the last."""
    with name_scope(name, "foldl"):
        return _fold(fn, elems, initializer, False, False, back_prop)


@export("foldr")
def foldr(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
):
    """The same from the last row to the first."""
    with name_scope(name, "foldr"):
        return _fold(fn, elems, initializer, True, False, back_prop)


@export("vectorized_map")
def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    """A function of each element; here it is tf.map_fn, in one graph."""
    count = convert_to_tensor(nest.flatten(elems)[0]).shape.as_list()[0]
    if count is None:
        return named("map_fn")(fn, elems)
    parts = [op("Unpack", convert_to_tensor(e), num=count, axis=0) for e in nest.flatten(elems)]
    made = [fn(nest.pack_sequence_as(elems, [p[i] for p in parts])) for i in range(count)]
    flat = [nest.flatten(m) for m in made]
    stacked = [op("Pack", [f[i] for f in flat], axis=0) for i in range(len(flat[0]))]
    return nest.pack_sequence_as(made[0], stacked)
