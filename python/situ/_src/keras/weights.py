# SPDX-License-Identifier: Apache-2.0
"""weights.py: creates the variables of layers, finds them in attributes, and moves them between
eager variables and variables of a session graph."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy

import _situ
from situ._src.framework import api, config, default_session, errors, tensor_shape
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import get_default_graph
from situ._src.framework.scopes import device, init_scope
from situ._src.keras import context
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.variables import variable as variables
from situ._src.variables.eager_variable import EagerVariable
from situ._src.variables.variable import Variable


def _first_gpu():
    """Returns the first GPU, where weights live unless a device scope is active; or None."""
    if _situ.current_device():
        return None
    return "/device:GPU:0" if config.list_logical_devices("GPU") else None


def in_session_graph():
    """Whether ops go to a graph that a session of the program runs."""
    graph = _situ.current_graph()
    return graph is not None and not graph.building_function


def create(name, shape, dtype, initializer, trainable, constraint=None, collections=None, **kwargs):
    """Creates a variable of a layer; collections are those of a session graph."""
    dtype = as_dtype(dtype).base_dtype
    sizes = tensor_shape.as_shape(shape).as_list()
    first = lambda: initializer(sizes, dtype=dtype)
    if in_session_graph():
        return variables.variable(
            first,
            trainable=trainable,
            collections=collections,
            name=name,
            dtype=dtype,
            constraint=constraint,
        )
    with context.eager(), init_scope():
        place = _first_gpu() if dtype.is_floating else None
        if place is None:
            return variables.variable(
                first, trainable=trainable, name=name, dtype=dtype, constraint=constraint, **kwargs
            )
        with device(place):
            return variables.variable(
                first, trainable=trainable, name=name, dtype=dtype, constraint=constraint, **kwargs
            )


def tracked(thing, wanted):
    """Returns the instances of a type in an object's attributes, including lists and
    dictionaries.
    """
    result, seen = [], set()

    def visit(value):
        if isinstance(value, wanted):
            if id(value) not in seen:
                seen.add(id(value))
                result.append(value)
        elif isinstance(value, dict):
            for part in value.values():
                visit(part)
        elif isinstance(value, (list, tuple)):
            for part in value:
                visit(part)

    for name, value in vars(thing).items():
        if name not in thing.UNTRACKED:
            visit(value)
    return result


def replace_variables(value, change):
    """Returns the value of an attribute with its variables replaced by `change`."""
    if isinstance(value, VARIABLE):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(replace_variables(v, change) for v in value)
    if type(value) is dict:
        return {k: replace_variables(v, change) for k, v in value.items()}
    return value


_NOT_REPLACED = (
    "_inbound_nodes",
    "_outbound_nodes",
    "_programs",
    "optimizer",
)  # where no layer reads


def _replace_in(things, is_right, make):
    """Replaces the variables of objects that are not `is_right` by `make(variable)`.

    Returns a dictionary from ids to (old variable, new variable).
    """
    result = {}

    def change(variable):
        if is_right(variable):
            return variable
        if id(variable) not in result:
            result[id(variable)] = variable, make(variable)
        return result[id(variable)][1]

    for obj in things:
        changed = {
            k: replace_variables(v, change) for k, v in vars(obj).items() if k not in _NOT_REPLACED
        }
        if result:
            vars(obj).update(changed)
    return result


def _is_eager(variable):
    return isinstance(variable, EagerVariable)


def _value_of(variable):
    """Returns the value of a graph variable in the current session, or its initial value."""
    session = default_session.current()
    if session is not None and session.graph is variable.graph:
        try:
            return session.run(variable)
        except errors.FailedPreconditionError:
            pass  # nobody has set it
    with api.V1["Session"](graph=variable.graph) as session:
        return session.run(variable.initial_value)


def to_eager(*things):
    """Replaces graph variables of optimizers, metrics or layers by eager variables of the same
    value.
    """

    def make(variable):
        first = _value_of(variable)
        with context.eager():
            return variables.variable(
                first,
                trainable=variable.trainable,
                dtype=variable.dtype.base_dtype,
                name=variable.name.split(":")[0],
            )

    return _replace_in(things, _is_eager, make)


@contextlib.contextmanager
def eager_values(layers: Any):
    """Context in which layers have eager variables; yields whether any were replaced."""
    before = [(layer, dict(vars(layer))) for layer in layers]
    try:
        yield bool(to_eager(*layers))
    finally:
        for layer, own in before:
            vars(layer).update(own)


def to_graph(layers):
    """Replaces eager variables of layers by variables of the default graph, which a session trains.

    The initial values are the current ones. Layers of compiled models keep their variables.
    """

    def make(variable):
        with context.eager():
            first = variable.numpy()
        with get_default_graph().name_scope(None):
            return variables.variable(
                lambda: convert_to_tensor(first),
                trainable=variable.trainable,
                dtype=variable.dtype.base_dtype,
                name=variable.name.split(":")[0],
                constraint=variable.constraint,
            )

    _replace_in(
        [x for x in layers if not getattr(x, "_stays_eager", False)],
        lambda variable: not _is_eager(variable),
        make,
    )


def log_assignments(variable, log):
    """Makes assign, assign_add and assign_sub of a variable append their ops to `log`."""

    def noting(method):
        def change(*args, **kwargs):
            log.append(method(*args, **kwargs))
            return log[-1]

        return change

    for name in ("assign", "assign_add", "assign_sub"):
        setattr(variable, name, noting(getattr(variable, name)))


def deduplicate(items):
    """Returns the items without duplicates, in order."""
    return list({id(i): i for i in items}.values())


def values(items):
    """Returns the values of variables as arrays."""
    items = list(items)
    if items and not isinstance(items[0], EagerVariable):
        from situ._src.keras.backend import get_session

        return list(get_session().run(items))
    with context.eager():
        return [numpy.asarray(v.numpy()) for v in items]


def assign(items, arrays, what):
    """Sets variables to the values of arrays of the same shapes."""
    items, arrays = list(items), list(arrays)
    if len(items) != len(arrays):
        raise ValueError(
            f"You called `set_weights(weights)` on {what} with a weight list of "
            f"length {len(arrays)}, but the layer was expecting {len(items)} weights. "
            f"Provided weights: {str(arrays)[:50]}..."
        )
    for variable, array in zip(items, arrays):
        array = numpy.asarray(array)
        if tuple(array.shape) != tuple(variable.shape.as_list()):
            raise ValueError(
                f"Layer {what} weight shape {variable.shape} is not compatible with "
                f"provided weight shape {array.shape}."
            )
    for variable, array in zip(items, arrays):
        if isinstance(variable, EagerVariable):
            with context.eager():
                variable.assign(numpy.asarray(array, variable.dtype.base_dtype.as_numpy_dtype))
        else:
            from situ._src.keras.backend import get_session

            variable.load(array, get_session())


VARIABLE = Variable
