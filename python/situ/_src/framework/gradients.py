# SPDX-License-Identifier: Apache-2.0
"""gradients.py: symbolic gradients of graphs: tf.gradients, tf.hessians, tf.RegisterGradient and
gradient_override_map."""

from __future__ import annotations

import contextlib
import enum
import types

import _situ
from situ._src.framework import nest, style, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.indexed_slices import IndexedSlices, add
from situ._src.framework.keywords import with_order
from situ._src.framework.scopes import name_scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.runner import training_costs
from situ._src.variables.eager_variable import EagerVariable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@export("UnconnectedGradients")
class UnconnectedGradients(enum.Enum):
    """What tf.gradients and tapes return for sources that the target does not depend on: None or
    zeros."""

    NONE = "none"
    ZERO = "zero"


@export(v1="AggregationMethod")
class AggregationMethod:
    """How gradients of one tensor are added; situ always uses AddN."""

    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def flat(values) -> list:
    """Returns the leaves of a structure, or of the structures that a generator yields."""
    return nest.flatten(list(values) if isinstance(values, types.GeneratorType) else values)


def values_of(tensor):
    """Returns what is differentiated of a tensor: the values of a ragged or sparse tensor."""
    if hasattr(tensor, "with_flat_values"):
        return tensor.flat_values
    if hasattr(tensor, "dense_shape") and hasattr(tensor, "_situ_parts_"):
        return tensor.values
    return tensor


def like_source(source, gradient):
    """Returns a gradient as a tensor of the same kind as its source."""
    if gradient is None or values_of(source) is source:
        return gradient
    gradient = convert_to_tensor(gradient)
    if hasattr(source, "with_flat_values"):
        return source.with_flat_values(gradient)
    return source.with_values(gradient)


def expand_sources(sources, keep=()) -> list:
    """Returns what is differentiated of all sources: of a linear operator all its tensors, and
    sources of the types `keep` as they are."""
    expanded = []
    for source in sources:
        if hasattr(source, "_with_gradients"):
            expanded += source._situ_tensors_
        else:
            expanded.append(source if isinstance(source, keep) else values_of(source))
    return expanded


def join_gradients(sources, gradients, keep=()) -> list:
    """Returns the gradients of what `expand_sources` returned as values like the sources."""
    rest, joined = iter(gradients), []
    for source in sources:
        if hasattr(source, "_with_gradients"):
            joined.append(source._with_gradients([next(rest) for _ in source._situ_tensors_]))
        else:
            gradient = next(rest)
            joined.append(gradient if isinstance(source, keep) else like_source(source, gradient))
    return joined


def is_zero(unconnected) -> bool:
    """Returns whether unconnected gradients are zeros.

    Raises:
      ValueError: the argument is not a value of UnconnectedGradients.
    """
    try:
        return UnconnectedGradients(unconnected) is UnconnectedGradients.ZERO
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected!r}") from None


def source_in(graph, source):
    """Returns the tensor of a graph that represents a source, or None."""
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
    """Returns the tensors of a graph that represent a source; of a variable every tensor read from
    it."""
    first = source_in(graph, source)
    versions = (
        getattr(graph, "versions", {}).get(source._local_copy(), [])
        if isinstance(source, EagerVariable)
        else []
    )
    return [s for s in (first, *versions) if s is not None]


def _sum(parts):
    parts = [p for p in parts if p is not None]
    return add(parts) if parts else None


def _overrides(graph):
    """Returns the user-defined gradient functions of a graph and its branch graphs, by
    operation."""
    functions = {}
    for before, names in graph.__dict__.get("_override_maps", ()):
        _apply(graph, before, names)
    for operation, function in graph.__dict__.get("_gradients", {}).items():
        functions[operation] = _in_graph(graph, function)
    for inside in graph.__dict__.get("_branch_graphs", ()):
        functions.update(_overrides(inside))
    return functions


def _in_graph(graph, function):
    """Wraps a gradient function so that it adds its operations to `graph`."""
    if isinstance(function, tuple):
        return (_in_graph(graph, function[0]), *function[1:])

    def call(operation, grads):
        with graph.as_default():
            return [
                g if g is None or isinstance(g, _situ.GraphTensor) else convert_to_tensor(g)
                for g in flat(function(operation, grads))
            ]

    return call


def _from_library(found):
    """Converts a gradient of the C library: a tensor, None, or the components of IndexedSlices."""
    return IndexedSlices(*found) if isinstance(found, tuple) else found


def _of_equal_rank(grad, y):
    """Reshapes the gradient of a single element, such as one of shape [1] of a scalar."""
    own, shape = (tensor_shape.as_shape(t.shape) for t in (grad, y))
    is_number = own.num_elements() == shape.num_elements() == 1
    if not is_number or own.ndims == shape.ndims:
        return grad
    return op("Reshape", grad, shape.as_list())


def gradients_of(
    graph, ys, sources, grad_ys, name, colocate=False, stop=(), zero=False, gate=False
):
    """Adds the gradients of tensors to their graph.

    Args:
      graph: the graph of `ys`.
      ys: the tensors to differentiate.
      sources: a list of tensors for each source; their gradients are added.
      grad_ys: the gradients of `ys`; None for ones.
      name: the name scope.
      colocate: whether to place gradients on the devices of their operations.
      stop: tensors that are treated as constants.
      zero: whether unconnected gradients are zeros.
      gate: whether the gradients of an operation's inputs wait for each other.

    Returns:
      A list of gradients, None where a source is not connected.
    """
    present = tuple(s for some in sources for s in some)
    stop = (*stop, *[v for some in getattr(graph, "versions", {}).values() for v in some])
    with graph.as_default(), name_scope(name, "gradients") as scope:
        grad_ys = tuple(
            None if g is None else _of_equal_rank(convert_to_tensor(g, y.dtype), y)
            for g, y in zip(grad_ys or [None] * len(ys), ys)
        )
        with graph._apply_device_functions():
            found = iter(
                _situ.gradients(
                    graph,
                    tuple(ys),
                    present,
                    grad_ys,
                    tuple(stop),
                    scope,
                    not colocate,
                    zero,
                    gate,
                    _overrides(graph),
                )
            )
        return [_sum([_from_library(next(found)) for _ in some]) for some in sources]


def graph_gradients(
    graph, ys, xs, grad_ys=None, name="gradients", colocate=False, stop=(), zero=False, gate=False
):
    """Returns the gradients of tensors of a graph with respect to tensors or variables; None where
    unconnected."""
    grads = gradients_of(
        graph, ys, [sources_in(graph, x) for x in xs], grad_ys, name, colocate, stop, zero, gate
    )
    if training_costs.wanted:
        training_costs.note_graph(graph, xs, grads)
    if not zero:
        return grads
    with graph.as_default(), name_scope(name, "gradients"):
        return [
            op("ZerosLike", convert_to_tensor(x)) if g is None else g for g, x in zip(grads, xs)
        ]


def _check_complex(ys, grads):
    """Raises TypeError for complex ys without a gradient."""
    for i, y in enumerate(ys):
        if y.dtype.is_complex and (grads is None or grads[i] is None):
            shown = repr(y.dtype) if style.is_graph_program() else y.dtype.name
            raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {shown})")


@export(v1="gradients")
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> Any:
    """Adds symbolic gradients of the sum of `ys` with respect to each of `xs` to the graph.

    Args:
      ys: a tensor, or a list of tensors.
      xs: a tensor or variable, or a list of them.
      grad_ys: the gradient of each `y`; ones if it is None.
      name: the name scope of the gradient operations.
      colocate_gradients_with_ops: whether to place gradients on the devices of their operations.
      gate_gradients: whether the gradients of the inputs of an operation are used only after all
        of them have been computed.
      aggregation_method: a tf.AggregationMethod; it is checked, but has no effect.
      stop_gradients: tensors to treat as constants.
      unconnected_gradients: a tf.UnconnectedGradients.

    Returns:
      A list with a tensor (or tf.IndexedSlices) for each of `xs`; None where no `y` depends on it,
      unless `unconnected_gradients` is ZERO.

    Raises:
      RuntimeError: eager execution is enabled.
      ValueError: `aggregation_method` or the length of `grad_ys` is invalid, or a tensor belongs to
        another graph.
    """
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
    ys = ys if isinstance(ys, (list, tuple)) else [ys]
    ys = [convert_to_tensor(values_of(y)) for y in ys]
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
    _check_complex(ys, grads)
    grads = None if grads is None else [values_of(g) for g in grads]
    stop = flat([] if stop_gradients is None else stop_gradients)
    stop = [source_in(graph, values_of(s)) for s in stop]
    sources = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    found = graph_gradients(
        graph,
        ys,
        expand_sources(sources),
        grads,
        name,
        colocate_gradients_with_ops,
        stop,
        is_zero(unconnected_gradients),
        bool(gate_gradients),
    )
    return join_gradients(sources, found)


export(v2="gradients")(
    with_order(
        gradients,
        "ys",
        "xs",
        "grad_ys",
        "name",
        "gate_gradients",
        "aggregation_method",
        "stop_gradients",
        "unconnected_gradients",
    )
)


@export("hessians")
def hessians(
    ys: Any,
    xs: Any,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    name: str | None = "hessians",
    colocate_gradients_with_ops: bool = False,
) -> Any:
    """Adds the Hessians of the sum of `ys` with respect to each of `xs` to the graph.

    Args:
      ys: a tensor, or a list of tensors.
      xs: a tensor, or a list of tensors, of fully defined shapes.
      gate_gradients: as for tf.gradients.
      aggregation_method: as for tf.gradients.
      name: the name scope of the first gradients.
      colocate_gradients_with_ops: as for tf.gradients.

    Returns:
      A list with a tensor of shape `x.shape + x.shape` for each `x`.
    """
    options = {
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
    }
    result = []
    for x in list(xs) if isinstance(xs, (list, tuple)) else [xs]:
        first = convert_to_tensor(gradients(ys, x, name=name, **options)[0])
        sizes = [int(d) for d in x.shape]
        flat_gradient = op("Reshape", first, [-1])
        count = 1
        for size in sizes:
            count *= size
        rows = [
            convert_to_tensor(gradients(flat_gradient[i], x, unconnected_gradients="zero")[0])
            for i in range(count)
        ]
        result.append(op("Reshape", op("Pack", rows), sizes + sizes))
    return result


export(v1="hessians")(
    with_order(
        hessians,
        "ys",
        "xs",
        "name",
        "colocate_gradients_with_ops",
        "gate_gradients",
        "aggregation_method",
    )
)


# User-defined gradients

_registered: dict = {}


@export("RegisterGradient")
class RegisterGradient:
    """A decorator that registers a gradient function.

    Args:
      op_type: the name for tf.Graph.gradient_override_map. The decorated function takes the
        operation and a gradient for each output, and returns a gradient for each input.
    """

    def __init__(self, op_type: str):
        self._name = op_type

    def __call__(self, function):
        if self._name in _registered:
            raise KeyError(f"Registering two gradient with name '{self._name}'!")
        _registered[self._name] = function
        return function


@export("NotDifferentiable", v1="NoGradient")
def not_differentiable(op_type: str) -> None:
    """Registers that an op has no gradient.

    Args:
      op_type: the name of the op.
    """
    _registered[op_type] = lambda operation, *_grads: [None] * len(operation.inputs)


def override(operation, function):
    """Sets the gradient function of an operation: function(operation, gradients) -> gradients."""
    operation.graph.__dict__.setdefault("_gradients", {})[operation] = function


def _gradients_as_type(name, operation, grads):
    """Returns the gradients that an operation would have if it were of another type."""
    if name not in OPS:
        raise LookupError(f"gradient registry has no entry for: {name}")
    inputs = list(operation.inputs)
    made = flat(OPS[name](*inputs))
    return graph_gradients(operation.graph, made, inputs, grads)


def _registered_gradient(name):
    """Returns a gradient function that looks up the registered one when it is called."""

    def compute(operation, grads):
        given = [op("ZerosLike", o) if g is None else g for g, o in zip(grads, operation.outputs)]
        if name not in _registered:
            return _gradients_as_type(name, operation, given)
        return flat(_registered[name](operation, *given))

    return compute


def _apply(graph, before, names):
    """Sets the gradient functions of operations from index `before` on that have none."""
    functions = graph.__dict__.setdefault("_gradients", {})
    for operation in graph.get_operations()[before:]:
        if operation.type in names and operation not in functions:
            functions[operation] = _registered_gradient(names[operation.type])


@contextlib.contextmanager
def override_map(graph, names):
    """Implements tf.Graph.gradient_override_map; the innermost map takes precedence."""
    maps = graph.__dict__.setdefault("_override_maps", [])
    entry = len(graph.get_operations()), dict(names)
    maps.insert(0, entry)
    try:
        yield
    finally:
        maps.remove(entry)
        _apply(graph, *entry)
