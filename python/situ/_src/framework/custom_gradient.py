# SPDX-License-Identifier: Apache-2.0
"""custom_gradient.py: tf.custom_gradient, eagerly and in graphs, including gradients of the
variables that the function reads."""

from __future__ import annotations

import functools
import inspect

import _situ
from situ._src.autograph import conversion
from situ._src.framework import nest
from situ._src.framework.api import export
from situ._src.framework.gradients import flat, like_source, override, values_of
from situ._src.ops.array_ops import convert_to_tensor, is_tensor, op
from situ._src.variables import eager_variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


def _takes_variables(gradient):
    try:
        found = inspect.signature(gradient).parameters
    except (TypeError, ValueError):
        return False
    return "variables" in found or any(p.kind is p.VAR_KEYWORD for p in found.values())


def _check(gradient, variables):
    """Raises TypeError if the function reads variables that its gradient function does not
    accept."""
    if variables and not _takes_variables(gradient):
        raise TypeError(
            "@tf.custom_gradient grad_fn must accept keyword argument 'variables', "
            f"since function uses variables: {variables}"
        )


def _call(gradient, grads, variables, count):
    """Returns the gradients of `count` arguments, followed by those of the variables."""
    if variables:
        of_arguments, of_variables = gradient(*grads, variables=variables)
        of_variables = flat(of_variables)
        if len(of_variables) != len(variables):
            raise ValueError(
                "Must return gradient for each variable from @custom_gradient grad_fn."
            )
    else:
        of_arguments, of_variables = gradient(*grads), []
    made = [values_of(g) for g in flat(of_arguments)]
    if len(made) != count:
        raise ValueError(
            f"custom_gradient function expected to return {count} gradients, but returned "
            f"{len(made)} instead."
        )
    return made + of_variables


def _is_composite(value):
    return hasattr(value, "with_flat_values") or hasattr(value, "_situ_parts_")


def _is_number(value):
    """Returns whether a tensor can be made of a value; other objects, such as the `self` of a
    method, have no gradients."""
    return (
        is_tensor(value)
        or hasattr(value, "_situ_tensor_")
        or hasattr(value, "__array__")
        or isinstance(value, (bool, int, float, complex, str, bytes))
    )


def _convert(args, convert):
    """Converts the leaves of arguments to tensors. Returns (arguments, tensors with gradients)."""

    def leaf(value):
        if _is_composite(value):
            return nest.map_structure(convert, value, expand_composites=True)
        return convert(value) if _is_number(value) else value

    args = nest.map_structure(leaf, args)
    leaves = [x for x in nest.flatten(args) if _is_composite(x) or is_tensor(x)]
    return args, [values_of(x) for x in leaves]


def _given(grads, outputs, leaves):
    """Returns the gradients of results: zeros for None, and composite as the results are."""
    return [
        like_source(leaf, op("ZerosLike", o) if g is None else g)
        for g, o, leaf in zip(grads, outputs, leaves)
    ]


def _call_and_record_reads(function, args, kwargs):
    """Calls the function. Returns its result, the gradient function and the trainable variables
    that it read."""
    reads = []
    eager_variable.reads.listeners.append(reads)
    try:
        result, gradient = function(*args, **kwargs)
    finally:
        eager_variable.reads.listeners.remove(reads)
    variables = list(dict.fromkeys(v for v in reads if v.trainable))
    _check(gradient, variables)
    return result, gradient, variables


def _eager(function, args, kwargs):
    args, tensors = _convert(args, convert_to_tensor)
    if not _situ.tape_count():
        return function(*args, **kwargs)[0]
    result, gradient, variables = _call_and_record_reads(
        function, args, kwargs
    )  # recorded, for higher-order gradients
    leaves = flat(result)
    count = _situ.tape_pause()
    try:
        outputs = [op("Identity", convert_to_tensor(values_of(r))) for r in leaves]
    finally:
        _situ.tape_resume(count)
    read = [v._situ_tensor_() for v in variables]

    def back(grads):
        owners = [v._owner or v for v in variables]
        made = _call(gradient, _given(grads, outputs, leaves), owners, len(tensors))
        return [None if g is None else convert_to_tensor(g) for g in made]

    _situ.tape_function([*tensors, *read], outputs, back)
    return nest.pack_sequence_as(result, list(map(like_source, leaves, outputs)))


def _graph(function, args, kwargs):
    """Wraps the results in one identity op whose gradient leads to the arguments and variables."""
    graph = _situ.current_graph()
    inside = getattr(graph, "inside", convert_to_tensor)  # of a branch or loop: captured
    args, tensors = _convert(args, inside)
    before = len(graph.get_operations())
    result, gradient, variables = _call_and_record_reads(conversion.convert(function), args, kwargs)
    if not graph.building_function:
        variables += [v for v in read_since(graph, before) if v not in variables]
        _check(gradient, variables)
    leaves = flat(result)
    inner = [convert_to_tensor(values_of(r)) for r in leaves]
    outputs = [op("Identity", inner[0])] if len(inner) == 1 else list(op("IdentityN", inner))

    def back(operation, grads):
        owners = [getattr(v, "_owner", None) or v for v in variables]
        return _call(gradient, _given(grads, outputs, leaves), owners, len(tensors))

    behind = [
        graph.read_variable(v) if isinstance(v, eager_variable.EagerVariable) else inside(v.handle)
        for v in variables
    ]
    override(outputs[0].op, (back, (*tensors, *behind)))
    return nest.pack_sequence_as(result, list(map(like_source, leaves, outputs)))


def with_gradient(sources, values, back):
    """Returns `values` with a gradient with respect to `sources`: back(gradients of values)."""
    graph = _situ.current_graph()
    if graph is None and not _situ.tape_count():
        return list(values)
    if graph is not None:
        outputs = list(op("IdentityN", list(values)))
        override(outputs[0].op, (lambda operation, grads: back(grads), tuple(sources)))
        return outputs
    count = _situ.tape_pause()
    try:
        outputs = [op("Identity", v) for v in values]
    finally:
        _situ.tape_resume(count)
    _situ.tape_function(list(sources), outputs, back)
    return outputs


def _handles(graph):
    """Returns {handle operation: variable}; branch graphs have operations that represent outer
    handles."""
    known = dict(graph.__dict__.get("_handles", {}))
    if hasattr(graph, "captured"):
        outer = _handles(graph._outer)
        known.update(
            (inner.op, outer[source.op])
            for source, inner in graph.captured.values()
            if source.op in outer
        )
    return known


def read_since(graph, before):
    """Returns the trainable resource variables that operations from index `before` on read."""
    known, found = _handles(graph), {}
    for operation in graph.get_operations()[before:]:
        if operation.type == "VarHandleOp":
            continue
        for given in operation.inputs:
            variable = known.get(given.op) if given.dtype.name == "resource" else None
            if variable is not None and variable.trainable:
                found[variable] = None
    return list(found)


@export("custom_gradient")
def custom_gradient(f: Any = None) -> Any:
    """Decorates a function that defines its own gradient.

    Args:
      f: a function that returns `(result, grad_fn)`. `grad_fn` takes a gradient for each result and
        returns one for each argument; if `f` reads variables, it takes a keyword `variables` and
        returns `(argument gradients, variable gradients)`.

    Returns:
      A function that returns `result`, or a decorator if `f` is None.

    Raises:
      TypeError: when called, if `f` reads variables that `grad_fn` does not accept.
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        run = _eager if _situ.current_graph() is None else _graph
        return run(f, args, kwargs)

    return decorated


@export("recompute_grad")
def recompute_grad(f: Any) -> Any:
    """Returns a function that calls `f`: situ keeps forward results instead of recomputing them.

    Args:
      f: the function; it is the attribute `__wrapped__` of the result.
    """

    @functools.wraps(f, updated=())
    def call(*args, **kwargs):
        return f(*args, **kwargs)

    return call


@export("grad_pass_through")
def grad_pass_through(f: Any) -> Any:
    """Returns `f` with the gradient of the identity. Variables that `f` reads have no gradients.

    Args:
      f: a function of tensors.
    """

    @custom_gradient
    def call(*args, **kwargs):
        def back(*grads, variables=None):
            return (grads, [None] * len(variables)) if variables else grads

        return f(*args, **kwargs), back

    return call
