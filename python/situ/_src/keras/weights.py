# SPDX-License-Identifier: Apache-2.0
"""weights.py: the variables of layers: where they are made, what an object holds of them."""

import contextlib

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
    """Weights live on the first GPU where there is one and no scope says otherwise."""
    if _situ.current_device():
        return None
    return "/device:GPU:0" if config.list_logical_devices("GPU") else None


def is_plain_graph():
    """Whether ops go to a graph of a program's own, whose variables are a session's."""
    graph = _situ.current_graph()
    return graph is not None and not graph.building_function


def create(name, shape, dtype, initializer, trainable, constraint=None, **words):
    """A variable of a layer, with its first value."""
    dtype = as_dtype(dtype).base_dtype
    sizes = tensor_shape.as_shape(shape).as_list()
    first = lambda: initializer(sizes, dtype=dtype)
    if is_plain_graph():
        return variables.variable(
            first, trainable=trainable, name=name, dtype=dtype, constraint=constraint
        )
    with context.eager(), init_scope():
        place = _first_gpu() if dtype.is_floating else None
        if place is None:
            return variables.variable(
                first, trainable=trainable, name=name, dtype=dtype, constraint=constraint, **words
            )
        with device(place):
            return variables.variable(
                first, trainable=trainable, name=name, dtype=dtype, constraint=constraint, **words
            )


def held(thing, wanted):
    """What an object holds of a type, attribute by attribute, also in lists and dicts."""
    found, seen = [], set()

    def visit(value):
        if isinstance(value, wanted):
            if id(value) not in seen:
                seen.add(id(value))
                found.append(value)
        elif isinstance(value, dict):
            for part in value.values():
                visit(part)
        elif isinstance(value, (list, tuple)):
            for part in value:
                visit(part)

    for name, value in vars(thing).items():
        if name not in thing.UNTRACKED:
            visit(value)
    return found


def replaced(value, change):
    """The value of an attribute with other variables, also in lists and dicts."""
    if isinstance(value, VARIABLE):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(replaced(v, change) for v in value)
    if type(value) is dict:
        return {k: replaced(v, change) for k, v in value.items()}
    return value


KEPT = ("_inbound_nodes", "_outbound_nodes", "_programs", "optimizer")  # where no layer reads


def _exchange(things, is_right, make):
    """Puts other variables in the place of those that are not right, the same one everywhere."""
    made = {}

    def change(variable):
        if is_right(variable):
            return variable
        if id(variable) not in made:
            made[id(variable)] = variable, make(variable)
        return made[id(variable)][1]

    for thing in things:
        changed = {k: replaced(v, change) for k, v in vars(thing).items() if k not in KEPT}
        if made:
            vars(thing).update(changed)
    return made


def _is_own(variable):
    return isinstance(variable, EagerVariable)


def _value_of(variable):
    """What a variable of a graph is in the session of this place, or what it begins with."""
    session = default_session.current()
    if session is not None and session.graph is variable.graph:
        try:
            return session.run(variable)
        except errors.CLASSES[9]:
            pass  # nobody has set it
    with api.V1["Session"](graph=variable.graph) as session:
        return session.run(variable.initial_value)


def take_home(*things):
    """What optimizers, metrics or layers have made as variables of a graph becomes values of their
    own: a model that was compiled with them has such, in graph style, too."""

    def make(variable):
        first = _value_of(variable)
        with context.eager():
            return variables.variable(
                first,
                trainable=variable.trainable,
                dtype=variable.dtype.base_dtype,
                name=variable.name.split(":")[0],
            )

    return _exchange(things, _is_own, make)


@contextlib.contextmanager
def at_home(layers):
    """In it, layers have what the variables that they lent are now; whether there are such."""
    before = [(layer, dict(vars(layer))) for layer in layers]
    try:
        yield bool(take_home(*layers))
    finally:
        for layer, own in before:
            vars(layer).update(own)


def lend(layers):
    """Layers with values of their own get variables of the program's graph, which begin with these:
    a session trains them. Those of a model that was compiled stay as they are."""

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

    _exchange(
        [x for x in layers if not getattr(x, "_stays_home", False)],
        lambda variable: not _is_own(variable),
        make,
    )


def note_changes(variable, log):
    """Lists the operations of a graph that will change a variable."""

    def noting(method):
        def change(*args, **words):
            log.append(method(*args, **words))
            return log[-1]

        return change

    for name in ("assign", "assign_add", "assign_sub"):
        setattr(variable, name, noting(getattr(variable, name)))


def once(items):
    """Each item once, in order."""
    return list({id(i): i for i in items}.values())


def values(items):
    """The values of variables as arrays."""
    items = list(items)
    if items and not isinstance(items[0], EagerVariable):
        from situ._src.keras.backend import get_session

        return list(get_session().run(items))
    with context.eager():
        return [numpy.asarray(v.numpy()) for v in items]


def assign(items, arrays, what):
    """Gives variables the values of arrays, each of its shape."""
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
