# SPDX-License-Identifier: Apache-2.0
"""variable_scope.py: tf.variable_scope, tf.get_variable and tf.make_template: variables by
name, and their reuse."""

from __future__ import annotations

import contextlib
import functools

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph_scopes import ReusableScope
from situ._src.ops import init_ops
from situ._src.variables.synchronization import is_trainable
from situ._src.variables.synchronization import synchronization as as_mode
from situ._src.variables.variable import variable


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

    def __init__(
        self,
        reuse=False,
        name="",
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        name_scope="",
        dtype="float32",
        use_resource=None,
        constraint=None,
    ):
        self.reuse, self.name, self.initializer = reuse, name, initializer
        self.regularizer, self.original_name_scope = regularizer, name_scope
        self.dtype, self.caching_device = as_dtype(dtype), caching_device
        self.partitioner, self.custom_getter = partitioner, custom_getter
        self.use_resource, self.constraint = use_resource, constraint

    def reuse_variables(self):
        self.reuse = True

    def set_use_resource(self, use_resource):
        self.use_resource = use_resource

    def set_initializer(self, initializer):
        self.initializer = initializer

    def set_regularizer(self, regularizer):
        self.regularizer = regularizer

    def set_partitioner(self, partitioner):
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter):
        self.custom_getter = custom_getter

    def set_caching_device(self, caching_device):
        self.caching_device = caching_device

    def set_dtype(self, dtype):
        self.dtype = as_dtype(dtype)

    def global_variables(self):
        return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, self.name)

    def trainable_variables(self):
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, self.name)

    def get_variable(self, store, name, **kwargs):
        return get_variable(name, **kwargs)


export(v1="VariableScope")(VariableScope)


@export(v1="get_variable_scope")
def get_variable_scope():
    graph = get_default_graph()
    if not hasattr(graph, "_variable_scope"):
        graph._variable_scope = VariableScope()
    return graph._variable_scope


def _counts():
    """How often scopes were entered, by their names: default names go on from there."""
    return get_default_graph().__dict__.setdefault("_scope_counts", {})


@contextlib.contextmanager
def _entered(scope, again):
    """Inside of a scope; what an object is the scope of goes on where it was left (`again`)."""
    graph, before, counts = get_default_graph(), get_variable_scope(), _counts()
    graph._variable_scope = scope
    counts[scope.name] = counts.get(scope.name, 0) + 1
    saved = dict(counts) if again else None
    try:
        yield scope
    finally:
        for key in counts:
            if key.startswith(scope.name + "/"):
                counts[key] = 0
        if again:
            counts.clear()
            counts.update(saved)
        graph._variable_scope = before


def _unique(name):
    """The name of a scope that was asked for by default: name, name_1, ..."""
    here, counts = get_variable_scope().name, _counts()
    whole = f"{here}/{name}" if here else name
    if not counts.get(whole):
        return name
    n = 1
    while counts.get(f"{whole}_{n}"):
        n += 1
    return f"{name}_{n}"


def _inside(getter, outer):
    """A custom getter within the one of the scope around: each gets the next as its getter."""
    if getter is None or outer is None:
        return getter or outer

    def both(inner, *args, **kwargs):
        return getter(functools.partial(outer, inner), *args, **kwargs)

    return both


@export(v1="variable_scope")
class variable_scope(ReusableScope):
    """Names of variables made by get_variable begin with the scope's. It may be entered again, but
    not inside itself: the variables' scope is then the same, that of the operations a new one."""

    def __init__(
        self,
        name_or_scope=None,
        default_name=None,
        values=None,
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        reuse=None,
        dtype=None,
        use_resource=None,
        constraint=None,
        auxiliary_name_scope=True,
    ):
        super().__init__()
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        self._given, self._default = name_or_scope, default_name
        self._auxiliary, self._made = auxiliary_name_scope, None
        self._options = dict(
            reuse=reuse,
            initializer=initializer,
            regularizer=regularizer,
            dtype=dtype,
            caching_device=caching_device,
            partitioner=partitioner,
            custom_getter=custom_getter,
            use_resource=use_resource,
            constraint=constraint,
        )

    def _scope(self):
        """(the VariableScope, what its operations' scope is named after), as they are the first
        time."""
        given, outer = self._given, get_variable_scope()
        if isinstance(given, VariableScope):
            return _derived(given, given.name, **self._options), given.name.split("/")[-1]
        inner = _unique(self._default) if given is None else given
        whole = f"{outer.name}/{inner}" if outer.name else inner
        return _derived(outer, whole, **self._options), self._default if given is None else given

    def _enter(self):
        if self._exits:
            raise RuntimeError("Improper nesting of variable_scope.")
        graph, known = get_default_graph(), isinstance(self._given, VariableScope)
        first = self._made is None
        new, part = self._made = self._made or self._scope()
        names = (
            graph.name_scope(part)
            if self._auxiliary and part
            else contextlib.nullcontext(graph._scope if self._auxiliary else "")
        )
        with contextlib.ExitStack() as stack:
            full = stack.enter_context(names)
            stack.enter_context(_entered(new, known))
            if first:
                new.original_name_scope = (
                    self._given.original_name_scope if known else full if part else ""
                )
            return new, stack.pop_all().__exit__


def _derived(
    base,
    whole,
    reuse,
    initializer,
    regularizer,
    dtype,
    caching_device,
    partitioner,
    custom_getter,
    use_resource,
    constraint,
):
    """A VariableScope with what the base has where nothing is said."""
    return VariableScope(
        reuse or base.reuse,
        whole,
        initializer or base.initializer,
        regularizer or base.regularizer,
        caching_device or base.caching_device,
        partitioner or base.partitioner,
        _inside(custom_getter, base.custom_getter),
        dtype=dtype or base.dtype,
        use_resource=base.use_resource if use_resource is None else use_resource,
        constraint=constraint or base.constraint,
    )


@export(v1="variable_op_scope")
def variable_op_scope(values, name_or_scope, default_name=None, **kwargs):
    return variable_scope(name_or_scope, default_name, values, **kwargs)


def _check_found(found, whole, shape, dtype):
    if shape is not None and not found.shape.is_compatible_with(shape):
        raise ValueError(
            f"Trying to share variable {whole}, but specified shape "
            f"{tensor_shape.as_shape(shape)} and found shape {found.shape}."
        )
    if dtype is not None and found.dtype.base_dtype != as_dtype(dtype):
        raise ValueError(
            f"Trying to share variable {whole}, but specified dtype "
            f"{as_dtype(dtype).name} and found dtype {found.dtype.name}."
        )
    return found


def _takes_nothing(function):
    import inspect

    try:
        return not inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _first_value(whole, shape, dtype, initializer):
    if initializer is None:
        kind = init_ops.GlorotUniform() if dtype.is_floating else init_ops.Zeros()
    else:
        kind = initializer() if isinstance(initializer, type) else initializer
    if not callable(kind):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        return kind
    if shape is None and not hasattr(kind, "get_config") and _takes_nothing(kind):
        return kind
    if shape is None or not tensor_shape.as_shape(shape).is_fully_defined():
        raise ValueError(
            f"Shape of a new variable ({whole}) must be fully defined, but instead "
            f"was {tensor_shape.as_shape(shape)}."
        )
    sizes = tensor_shape.as_shape(shape).as_list()
    return lambda: kind(sizes, dtype=dtype)


@export(v1="get_variable")
def get_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=None,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    custom_getter=None,
    constraint=None,
    synchronization=None,
    aggregation=None,
):
    """The variable of that name in the scope: a new one, or (with reuse) the one that is there."""
    scope = get_variable_scope()
    whole = f"{scope.name}/{name}" if scope.name else name
    kwargs = dict(
        shape=shape,
        dtype=dtype,
        initializer=scope.initializer if initializer is None else initializer,
        regularizer=regularizer or scope.regularizer,
        reuse=True if scope.reuse is True else scope.reuse or False,
        trainable=is_trainable(trainable, as_mode(synchronization, name)),
        collections=collections,
        caching_device=caching_device or scope.caching_device,
        partitioner=partitioner or scope.partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        constraint=constraint or scope.constraint,
    )
    getter = _inside(custom_getter, scope.custom_getter)
    if getter is None:
        return _get(whole, **kwargs, synchronization=synchronization, aggregation=aggregation)
    kwargs["dtype"] = as_dtype(dtype or scope.dtype).base_dtype
    return getter(
        _get, name=whole, **kwargs, synchronization=synchronization, aggregation=aggregation
    )


def _get(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    reuse=None,
    trainable=True,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    constraint=None,
    synchronization=None,
    aggregation=None,
):
    """The variable of a full name: found, or made."""
    graph, scope = get_default_graph(), get_variable_scope()
    if partitioner is not None and shape is not None:
        from situ._src.variables import partitioned_variable

        parts = partitioned_variable.get(
            _get,
            name,
            partitioner,
            shape,
            dtype,
            initializer,
            dict(
                regularizer=regularizer,
                reuse=reuse,
                trainable=trainable,
                collections=collections,
                use_resource=use_resource,
                constraint=constraint,
                caching_device=caching_device,
            ),
        )
        if parts is not None:
            return parts
    found = graph._variable_store.get(name)
    if found is not None:
        if not reuse:
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set "
                "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
            )
        return _check_found(found, name, shape, dtype)
    if reuse and reuse is not AUTO_REUSE:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with "
            "tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )
    explicit, dtype = dtype is not None, as_dtype(dtype or scope.dtype).base_dtype
    value = _first_value(name, shape, dtype, initializer)
    before, graph._scope = graph._scope, ""
    try:
        made = variable(
            value,
            trainable=trainable,
            collections=collections,
            name=name,
            dtype=dtype if callable(value) or explicit else None,
            constraint=constraint,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
            caching_device=caching_device,
        )
    finally:
        graph._scope = before
    graph._variable_store[name] = made
    if regularizer is not None:
        with graph.name_scope(name + "/Regularizer/"):
            loss = regularizer(made)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


@export(v1="get_local_variable")
def get_local_variable(name, *args, **kwargs):
    """As get_variable, of a variable that is not saved and not trained."""
    keys = kwargs.pop("collections", None)
    kwargs["collections"] = [*(keys or []), GraphKeys.LOCAL_VARIABLES]
    kwargs["trainable"] = False
    return get_variable(name, *args, **kwargs)


@export(
    "make_template", v1=("contrib.eager.make_template", "contrib.eager.python.tfe.make_template")
)
def make_template(
    name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, **kwargs
):
    """A function that makes its variables when it is first called, and uses them later."""
    return _Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)


class _Template:
    """What make_template gives."""

    def __init__(self, name, function, now, unique_name, getter, kwargs):
        self._function = functools.partial(function, **kwargs) if kwargs else function
        self._name, self._unique, self._getter = name, unique_name, getter
        self.__name__ = name
        self._scope = self._made = None
        if now:
            with self._enter() as here:
                self._scope = here

    def _enter(self):
        if self._unique:
            return variable_scope(self._unique, custom_getter=self._getter)
        return variable_scope(None, self._name, custom_getter=self._getter)

    def __call__(self, *args, **kwargs):
        if self._scope is None:
            with self._enter() as here:
                self._scope = here
                return self._call(here, args, kwargs)
        with variable_scope(self._scope, reuse=True if self._made else None) as here:
            return self._call(here, args, kwargs)

    def _call(self, here, args, kwargs):
        result = self._function(*args, **kwargs)
        if not self._made:
            self._made = bool(self._scope.global_variables())
        return result

    variable_scope = property(lambda s: s._scope)
    variable_scope_name = property(lambda s: s._scope.name if s._scope else None)
    global_variables = property(lambda s: s._scope.global_variables() if s._scope else [])
    trainable_variables = property(lambda s: s._scope.trainable_variables() if s._scope else [])
    variables = weights = global_variables
    trainable_weights = trainable_variables
