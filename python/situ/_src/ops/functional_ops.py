# SPDX-License-Identifier: Apache-2.0
"""functional_ops.py: tf.map_fn, tf.vectorized_map, tf.scan, tf.foldl, tf.foldr: loops over the
first dimension."""

from __future__ import annotations

from situ._src.framework import nest
from situ._src.framework.api import OPS, export, named
from situ._src.framework.scopes import name_scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.tensor_array_ops import TensorArray
from situ._src.ops.while_loop import while_loop

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Callable, DTypeLike, TensorLike


class _Rows:
    """The slices along the first dimension of a structure of tensors, in TensorArrays."""

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
    """Stacks the arrays."""
    stacked = [a.stack() if back_prop else op("StopGradient", a.stack()) for a in arrays]
    for tensor in stacked:
        if static is not None and tensor.shape.ndims and hasattr(tensor, "graph"):
            tensor.set_shape([static] + [None] * (tensor.shape.ndims - 1))
    return stacked


def _arrays(types, count, infer_shape):
    return [TensorArray(t, count, clear_after_read=False, infer_shape=infer_shape) for t in types]


def loop(body, variables, count, start=0, name=None, back_prop=True):
    """Runs body(index, *variables) for each index from `start` to `count - 1`."""
    done = while_loop(
        lambda index, *_: OPS["Less"](index, count),
        lambda index, *rest: [index + 1] + list(body(index, *rest)),
        [convert_to_tensor(start, "int32")] + list(variables),
        return_same_structure=True,
        name=name,
        back_prop=back_prop,
    )
    return list(done)[1:]


def _types(signature, default):
    """Returns (flat dtypes, structure) of the results; by default those of the elements."""
    if signature is None:
        return default, None
    flat = [getattr(d, "dtype", d) for d in nest.flatten(signature)]
    return flat, signature


@export("map_fn")
def map_fn(
    fn: Callable[..., Any],
    elems: TensorLike,
    dtype: DTypeLike = None,
    parallel_iterations: TensorLike = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: TensorLike = None,
) -> Any:
    """Applies a function to each slice along the first dimension and stacks the results.

    Args:
      fn: A function of one slice, in the structure of `elems`.
      elems: A tensor, a ragged tensor or a nested structure of tensors.
      dtype: The types of the results, if they differ from those of `elems`.
      parallel_iterations: Ignored.
      back_prop: Whether the loop has a gradient.
      swap_memory: Ignored.
      infer_shape: Whether all results must have one shape.
      fn_output_signature: The name of `dtype` in TensorFlow 2.
      name: A name for the operation (optional).

    Returns:
      The stacked results in the structure that `fn` returns.

    Raises:
      ValueError: If `fn` returns another structure than `dtype`.
    """
    del parallel_iterations, swap_memory  # hints for speed and memory
    signature = dtype if fn_output_signature is None else fn_output_signature
    if any(hasattr(x, "_situ_tensors_") for x in nest.flatten([elems, signature])):
        from situ._src.ops import composite_map

        with name_scope(name, "map"):
            return composite_map.map_rows(fn, elems, signature, back_prop)
    with name_scope(name, "map"):
        rows = _Rows(elems)
        types, structure = _types(signature, rows.types)
        structure = elems if structure is None else structure

        def body(index, *arrays):
            result = nest.flatten(fn(rows.row(index)))
            if len(result) != len(arrays):
                raise ValueError(
                    f"tf.map_fn: fn returns {len(result)} values, but dtype has {len(arrays)}."
                )
            return [
                a.write(index, convert_to_tensor(r, a.dtype) if not hasattr(r, "dtype") else r)
                for a, r in zip(arrays, result)
            ]

        arrays = loop(body, _arrays(types, rows.count, infer_shape), rows.count)
        return nest.pack_sequence_as(structure, _results(arrays, rows.static, back_prop))


def _fold(fn, elems, initializer, reverse, keep, back_prop, infer_shape=True):
    """Returns the last result of fn; with `keep`, all results stacked."""
    rows = _Rows(elems)
    last = rows.count - 1

    def at(index):
        return last - index if reverse else index

    form = elems if initializer is None else initializer
    carried = rows.row(at(convert_to_tensor(0, "int32"))) if initializer is None else initializer
    carried = [convert_to_tensor(x) for x in nest.flatten(carried)]
    n, start = len(carried), int(initializer is None)
    arrays = _arrays([c.dtype for c in carried], rows.count, infer_shape) if keep else []
    if start:
        arrays = [a.write(at(convert_to_tensor(0, "int32")), c) for a, c in zip(arrays, carried)]

    def body(index, *values):
        result = fn(nest.pack_sequence_as(form, list(values[:n])), rows.row(at(index)))
        nest.assert_same_structure(form, result)
        new = [
            r if hasattr(r, "dtype") else convert_to_tensor(r, c.dtype)
            for r, c in zip(nest.flatten(result), carried)
        ]
        return new + [a.write(at(index), r) for a, r in zip(values[n:], new)]

    done = loop(body, carried + arrays, rows.count, start, back_prop=back_prop)
    return nest.pack_sequence_as(
        form, _results(done[n:], rows.static, back_prop) if keep else done[:n]
    )


@export("scan")
def scan(
    fn: Callable[..., Any],
    elems: TensorLike,
    initializer: Any = None,
    parallel_iterations: TensorLike = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Applies a function to the previous result and each slice, and stacks the results.

    Args:
      fn: A function (previous result, slice).
      elems: A tensor or a nested structure of tensors.
      initializer: The first previous result; by default the first slice.
      parallel_iterations: Ignored.
      back_prop: Whether the loop has a gradient.
      swap_memory: Ignored.
      infer_shape: Whether all results must have one shape.
      reverse: Whether to begin with the last slice.
      name: A name for the operation (optional).

    Returns:
      The stacked results.

    Raises:
      TypeError: If `fn` is not callable.
    """
    del parallel_iterations, swap_memory  # hints for speed and memory
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "scan"):
        return _fold(fn, elems, initializer, reverse, True, back_prop, infer_shape)


@export("foldl")
def foldl(
    fn: Callable[..., Any],
    elems: TensorLike,
    initializer: Any = None,
    parallel_iterations: TensorLike = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Applies a function to the previous result and each slice, from the first to the last.

    Args:
      fn: A function (previous result, slice).
      elems: A tensor or a nested structure of tensors.
      initializer: The first previous result; by default the first slice.
      parallel_iterations: Ignored.
      back_prop: Whether the loop has a gradient; ignored in eager mode.
      swap_memory: Ignored.
      name: A name for the operation (optional).

    Returns:
      The last result.
    """
    del parallel_iterations, swap_memory  # hints for speed and memory
    with name_scope(name, "foldl"):
        return _fold(fn, elems, initializer, False, False, back_prop)


@export("foldr")
def foldr(
    fn: Callable[..., Any],
    elems: TensorLike,
    initializer: Any = None,
    parallel_iterations: TensorLike = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Applies a function to the previous result and each slice, from the last to the first; see
    `tf.foldl`.

    Args:
      fn: A function (previous result, slice).
      elems: A tensor, a ragged tensor or a nested structure of tensors.
      initializer: The first previous result; by default the last slice.
      parallel_iterations: Ignored.
      back_prop: Whether the loop has a gradient.
      swap_memory: Ignored.
      name: A name for the operation (optional).
    """
    del parallel_iterations, swap_memory  # hints for speed and memory
    with name_scope(name, "foldr"):
        return _fold(fn, elems, initializer, True, False, back_prop)


@export("vectorized_map")
def vectorized_map(
    fn: Callable[..., Any],
    elems: TensorLike,
    fallback_to_while_loop: bool = True,
    warn: bool = True,
) -> Any:
    """Applies a function to each slice along the first dimension, like `tf.map_fn` with the loop
    unrolled if the size is known. No op lacks a vectorized form: `fallback_to_while_loop`
    and `warn` have no effect.

    Args:
      fn: A function of one slice, in the structure of `elems`.
      elems: A tensor, a ragged tensor or a nested structure of tensors.
      fallback_to_while_loop: Has no effect: a loop is used.
      warn: Has no effect: nothing is logged.
    """
    del fallback_to_while_loop, warn  # no op lacks a vectorized form to fall back from
    count = convert_to_tensor(nest.flatten(elems)[0]).shape.as_list()[0]
    if count is None:
        return named("map_fn")(fn, elems)
    parts = [op("Unpack", convert_to_tensor(e), num=count, axis=0) for e in nest.flatten(elems)]
    result = [fn(nest.pack_sequence_as(elems, [p[i] for p in parts])) for i in range(count)]
    flat = [nest.flatten(m) for m in result]
    stacked = [op("Pack", [f[i] for f in flat], axis=0) for i in range(len(flat[0]))]
    return nest.pack_sequence_as(result[0], stacked)
