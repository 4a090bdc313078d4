# SPDX-License-Identifier: Apache-2.0
"""variable_scope.py: tf.variable_scope and tf.get_variable: variables by name, and their reuse."""
import contextlib

from situ._lib import initializers, shapes
from situ._lib.api import export
from situ._lib.dtypes import as_dtype
from situ._lib.graph import GraphKeys, get_default_graph
from situ._lib.variables import variable


class _Auto:
    """Makes a variable the first time, and finds it later."""

    def __repr__(self):
        return "_ReuseMode.AUTO_REUSE"

    def __bool__(self):
        return True


AUTO_REUSE = _Auto()
export(v1="AUTO_REUSE")(AUTO_REUSE)


class VariableScope:
    """What get_variable knows of where it is called."""

    def __init__(self, reuse=False, name="", initializer=None, regularizer=None,
                 name_scope="", dtype="float32", use_resource=None):
        self.reuse, self.name, self.initializer = reuse, name, initializer
        self.regularizer, self.original_name_scope = regularizer, name_scope
        self.dtype, self.caching_device, self.partitioner = as_dtype(dtype), None, None
        self.use_resource = use_resource

    def reuse_variables(self):
        self.reuse = True

    def set_use_resource(self, use_resource):
        self.use_resource = use_resource

    def set_initializer(self, initializer):
        self.initializer = initializer

    def global_variables(self):
        return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, self.name)

    def trainable_variables(self):
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, self.name)

    def get_variable(self, store, name, **words):
        return get_variable(name, **words)


export(v1="VariableScope")(VariableScope)


@export(v1="get_variable_scope")
def get_variable_scope():
    graph = get_default_graph()
    if not hasattr(graph, "_variable_scope"):
        graph._variable_scope = VariableScope()
    return graph._variable_scope


@contextlib.contextmanager
def _entered(scope):
    graph = get_default_graph()
    before = get_variable_scope()
    graph._variable_scope = scope
    counts = graph.__dict__.setdefault("_scope_counts", {})
    saved = {k: v for k, v in counts.items() if k.startswith(scope.name + "/")}
    for key in saved:
        del counts[key]
    try:
        yield scope
    finally:
        counts.update(saved)
        graph._variable_scope = before


def _unique(name):
    """The name of a scope that was asked for by default: name, name_1, ..."""
    graph, here = get_default_graph(), get_variable_scope().name
    counts = graph.__dict__.setdefault("_scope_counts", {})
    whole = f"{here}/{name}" if here else name
    n = counts.get(whole, 0)
    counts[whole] = n + 1
    return f"{name}_{n}" if n else name


@export(v1="variable_scope")
@contextlib.contextmanager
def variable_scope(name_or_scope=None, default_name=None, values=None, initializer=None,
                   regularizer=None, caching_device=None, partitioner=None, custom_getter=None,
                   reuse=None, dtype=None, use_resource=None, constraint=None,
                   auxiliary_name_scope=True):
    """Names of variables made by get_variable begin with the scope's."""
    if name_or_scope is None and default_name is None:
        raise TypeError("If default_name is None then name_or_scope is required")
    graph, outer = get_default_graph(), get_variable_scope()
    if isinstance(name_or_scope, VariableScope):
        whole, part = name_or_scope.name, name_or_scope.name.split("/")[-1]
        base = name_or_scope
    else:
        part = name_or_scope if name_or_scope is not None else _unique(default_name)
        whole, base = (f"{outer.name}/{part}" if outer.name else part), outer
        if name_or_scope is not None:
            graph.__dict__.setdefault("_scope_counts", {}).setdefault(whole, 1)
    new = VariableScope(reuse if reuse is not None else outer.reuse or
                        (base.reuse if base is not outer else False), whole,
                        initializer or base.initializer, regularizer or base.regularizer,
                        dtype=dtype or base.dtype,
                        use_resource=base.use_resource if use_resource is None else use_resource)
    names = graph.name_scope(part) if auxiliary_name_scope else contextlib.nullcontext("")
    with names as full, _entered(new):
        new.original_name_scope = full
        yield new


@export(v1="variable_op_scope")
def variable_op_scope(values, name_or_scope, default_name=None, **words):
    return variable_scope(name_or_scope, default_name, values, **words)


def _check_found(found, whole, shape, dtype):
    if shape is not None and not found.shape.is_compatible_with(shape):
        raise ValueError(f"Trying to share variable {whole}, but specified shape "
                         f"{shapes.as_shape(shape)} and found shape {found.shape}.")
    if dtype is not None and found.dtype.base_dtype != as_dtype(dtype):
        raise ValueError(f"Trying to share variable {whole}, but specified dtype "
                         f"{as_dtype(dtype).name} and found dtype {found.dtype.name}.")
    return found


def _first_value(whole, shape, dtype, initializer):
    if initializer is None:
        kind = initializers.GlorotUniform() if dtype.is_floating else initializers.Zeros()
    else:
        kind = initializer() if isinstance(initializer, type) else initializer
    if not callable(kind):
        return kind
    if shape is None or not shapes.as_shape(shape).is_fully_defined():
        raise ValueError(f"Shape of a new variable ({whole}) must be fully defined, but instead "
                         f"was {shapes.as_shape(shape)}.")
    sizes = shapes.as_shape(shape).as_list()
    return lambda: kind(sizes, dtype=dtype)


@export(v1="get_variable")
def get_variable(name, shape=None, dtype=None, initializer=None, regularizer=None,
                 trainable=True, collections=None, caching_device=None, partitioner=None,
                 validate_shape=True, use_resource=None, custom_getter=None, constraint=None,
                 synchronization=None, aggregation=None):
    """The variable of that name in the scope: a new one, or (with reuse) the one that is there."""
    graph, scope = get_default_graph(), get_variable_scope()
    whole = f"{scope.name}/{name}" if scope.name else name
    found = graph._variable_store.get(whole)
    if found is not None:
        if not scope.reuse:
            raise ValueError(f"Variable {whole} already exists, disallowed. Did you mean to set "
                             "reuse=True or reuse=tf.AUTO_REUSE in VarScope?")
        return _check_found(found, whole, shape, dtype)
    if scope.reuse and scope.reuse is not AUTO_REUSE:
        raise ValueError(f"Variable {whole} does not exist, or was not created with "
                         "tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE in VarScope?")
    explicit, dtype = dtype is not None, as_dtype(dtype or scope.dtype).base_dtype
    value = _first_value(whole, shape, dtype,
                         scope.initializer if initializer is None else initializer)
    before, graph._scope = graph._scope, ""
    try:
        made = variable(value, trainable=trainable, collections=collections, name=whole,
                        dtype=dtype if callable(value) or explicit else None,
                        constraint=constraint, use_resource=use_resource)
    finally:
        graph._scope = before
    graph._variable_store[whole] = made
    regularizer = regularizer or scope.regularizer
    if regularizer is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(made))
    return made
