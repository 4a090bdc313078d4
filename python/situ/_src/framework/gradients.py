# SPDX-License-Identifier: Apache-2.0
"""gradients.py: gradients of graphs: tf.gradients, tf.hessians, gradients that programs define."""

from __future__ import annotations

import collections.abc
import contextlib
import enum
import types

import _situ
from situ._src.framework.api import OPS, export
from situ._src.framework.indexed_slices import IndexedSlices, add, is_slices
from situ._src.framework.scopes import name_scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.runner import training_costs
from situ._src.variables.eager_variable import EagerVariable


@export("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """What stands for the gradient of something that the target does not depend on."""

    NONE = "none"
    ZERO = "zero"


@export(v1="AggregationMethod")
class AggregationMethod:
    """How gradients that meet are added: always by one AddN."""

    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def flat(values):
    """A list of a single value, or of the values of lists and dicts."""
    if isinstance(values, dict):
        return [v for key in sorted(values) for v in flat(values[key])]
    if isinstance(values, (list, tuple, collections.abc.ValuesView, types.GeneratorType)):
        return [v for item in values for v in flat(item)]
    return [values]


def like(structure, values):
    """Values one after the other in the structure of another."""
    values = iter(values)

    def fill(part):
        if isinstance(part, dict):
            found = {key: fill(part[key]) for key in sorted(part)}
            return {key: found[key] for key in part}
        if isinstance(part, tuple) and hasattr(part, "_fields"):
            return type(part)(*[fill(p) for p in part])
        return (
            type(part)(fill(p) for p in part) if isinstance(part, (list, tuple)) else next(values)
        )

    return fill(structure)


def is_zero(unconnected):
    return UnconnectedGradients(unconnected) is UnconnectedGradients.ZERO


def source_in(graph, source):
    """The tensor of a graph that a source is; None if the graph has none."""
    if isinstance(source, EagerVariable):
        return getattr(graph, "reads", {}).get(source._local_copy())
    if isinstance(source, _situ.EagerTensor):
        if graph._captures:
            return graph._capture(source)
        return getattr(graph, "captured", {}).get(id(source), (None, None))[1]
    source = getattr(source, "_handle", source)  # of a variable that has one
    convert = getattr(source, "_as_graph_element", None)
    if graph._captures and (convert is not None or source.graph is not graph):
        return graph.inside(source)
    return source if convert is None else convert()


def sources_in(graph, source):
    """The tensors of a graph that a source is: of a variable all that were read of it."""
    first = source_in(graph, source)
    more = (
        getattr(graph, "versions", {}).get(source._local_copy(), [])
        if isinstance(source, EagerVariable)
        else []
    )
    return [s for s in (first, *more) if s is not None]


def _sum(parts):
    parts = [p for p in parts if p is not None]
    return add(parts) if parts else None


def _overrides(graph):
    """Gradients that programs define, of a graph and those inside it."""
    found = {}
    for before, names in graph.__dict__.get("_override_maps", ()):
        _apply(graph, before, names)
    for operation, function in graph.__dict__.get("_gradients", {}).items():
        found[operation] = _within(graph, function)
    for inside in graph.__dict__.get("_branch_graphs", ()):
        found.update(_overrides(inside))
    return found


def _within(graph, function):
    """The function with its operations in that graph, wherever it is called."""
    if isinstance(function, tuple):
        return (_within(graph, function[0]), *function[1:])

    def call(operation, grads):
        with graph.as_default():
            return [
                convert_to_tensor(g) if is_slices(g) else g
                for g in flat(function(operation, grads))
            ]

    return call


def _gradient(found):
    """A gradient as the library gives it: a tensor, None, or the parts of slices."""
    return IndexedSlices(*found) if isinstance(found, tuple) else found


def gradients_of(
    graph, ys, sources, arriving, name, colocate=False, stop=(), zero=False, gate=False
):
    """Gradients of tensors of a graph for sources, each of which is a list of tensors that count
    together; None where there is none."""
    present = tuple(s for some in sources for s in some)
    stop = (*stop, *[v for some in getattr(graph, "versions", {}).values() for v in some])
    with graph.as_default(), name_scope(name, "gradients") as scope:
        arriving = tuple(
            None if g is None else convert_to_tensor(g, y.dtype)
            for g, y in zip(arriving or [None] * len(ys), ys)
        )
        with graph._apply_device_functions():
            found = iter(
                _situ.gradients(
                    graph,
                    tuple(ys),
                    present,
                    arriving,
                    tuple(stop),
                    scope,
                    not colocate,
                    zero,
                    gate,
                    _overrides(graph),
                )
            )
        return [_sum([_gradient(next(found)) for _ in some]) for some in sources]


def graph_gradients(
    graph, ys, xs, grad_ys=None, name="gradients", colocate=False, stop=(), zero=False, gate=False
):
    """Gradients of tensors of a graph; None where there is none."""
    made = gradients_of(
        graph, ys, [sources_in(graph, x) for x in xs], grad_ys, name, colocate, stop, zero, gate
    )
    if training_costs.wanted:
        training_costs.note_graph(graph, xs, made)
    if not zero:
        return made
    with graph.as_default(), name_scope(name, "gradients"):
        return [op("ZerosLike", convert_to_tensor(x)) if g is None else g for g, x in zip(made, xs)]


@export(v1="gradients", v2="gradients")
def gradients(
    ys,
    xs,
    grad_ys=None,
    name="gradients",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
    stop_gradients=None,
    unconnected_gradients=UnconnectedGradients.NONE,
):
    """The gradients of the sum of all ys with respect to each x; None where no y depends on it."""
    graph = _situ.current_graph()
    if graph is None:
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use "
            "tf.GradientTape instead."
        )
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(
            f"Invalid `aggregation_method` specified {aggregation_method}. Accepted "
            "values are [0, 1, 2]."
        )
    many, several = isinstance(xs, (list, tuple)), isinstance(ys, (list, tuple))
    ys = [convert_to_tensor(y) for y in (ys if several else [ys])]
    grads = (
        None
        if grad_ys is None
        else list(grad_ys)
        if isinstance(grad_ys, (list, tuple))
        else [grad_ys]
    )
    if grads is not None and len(grads) != len(ys):
        raise ValueError(f"Passed {len(grads)} grad_ys for {len(ys)} ys")
    for y in ys:
        if y.graph is not graph:
            raise ValueError(f"{y} is not from the graph that is being built.")
    stop = [source_in(graph, s) for s in flat([] if stop_gradients is None else stop_gradients)]
    return graph_gradients(
        graph,
        ys,
        list(xs) if many else [xs],
        grads,
        name,
        colocate_gradients_with_ops,
        stop,
        is_zero(unconnected_gradients),
        bool(gate_gradients),
    )


@export("hessians")
def hessians(
    ys,
    xs,
    gate_gradients=False,
    aggregation_method=None,
    name="hessians",
    colocate_gradients_with_ops=False,
):
    """The second derivatives of the sum of ys with respect to each x, whose shape is known."""
    found = []
    for x in list(xs) if isinstance(xs, (list, tuple)) else [xs]:
        first = convert_to_tensor(gradients(ys, x, name=name)[0])
        sizes = [int(d) for d in x.shape]
        row = op("Reshape", first, [-1])
        count = 1
        for size in sizes:
            count *= size
        rows = [
            convert_to_tensor(gradients(row[i], x, unconnected_gradients="zero")[0])
            for i in range(count)
        ]
        found.append(op("Reshape", op("Pack", rows), sizes + sizes))
    return found


# Gradients that programs define

_registered: dict = {}


@export("RegisterGradient")
class RegisterGradient:
    """A decorator: the function (operation, *gradients) is the gradient of that name."""

    def __init__(self, op_type):
        self._name = op_type

    def __call__(self, function):
        if self._name in _registered:
            raise KeyError(f"Registering two gradient with name '{self._name}'!")
        _registered[self._name] = function
        return function


@export("NotDifferentiable", v1="NoGradient")
def not_differentiable(op_type):
    _registered[op_type] = lambda operation, *_grads: [None] * len(operation.inputs)


def override(operation, function):
    """Sets the gradient of an operation: function(operation, gradients) -> gradients."""
    operation.graph.__dict__.setdefault("_gradients", {})[operation] = function


def _as_if(name, operation, grads):
    """The gradients that an operation would have if it were of another type."""
    if name not in OPS:
        raise LookupError(f"gradient registry has no entry for: {name}")
    inputs = list(operation.inputs)
    made = flat(OPS[name](*inputs))
    return graph_gradients(operation.graph, made, inputs, grads)


def _by_name(name):
    def compute(operation, grads):
        given = [op("ZerosLike", o) if g is None else g for g, o in zip(grads, operation.outputs)]
        if name not in _registered:
            return _as_if(name, operation, given)
        return flat(_registered[name](operation, *given))

    return compute


def _apply(graph, before, names):
    """Sets the gradients of operations that have none of their own."""
    have = graph.__dict__.setdefault("_gradients", {})
    for operation in graph.get_operations()[before:]:
        if operation.type in names and operation not in have:
            have[operation] = _by_name(names[operation.type])


@contextlib.contextmanager
def override_map(graph, names):
    """Operations added in this scope have the registered gradients that the map names; of several
    maps the innermost counts."""
    maps = graph.__dict__.setdefault("_override_maps", [])
    entry = len(graph.get_operations()), dict(names)
    maps.insert(0, entry)
    try:
        yield
    finally:
        maps.remove(entry)
        _apply(graph, *entry)
