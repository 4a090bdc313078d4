# SPDX-License-Identifier: Apache-2.0
"""variable_scope.py: tf.compat.v1.variable_scope, get_variable and make_template: variables by
name, and their reuse."""

from __future__ import annotations

import contextlib
import functools

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph_scopes import ReusableScope
from situ._src.framework.scopes import in_graph_of
from situ._src.ops import init_ops
from situ._src.variables.synchronization import is_trainable
from situ._src.variables.synchronization import synchronization as as_mode
from situ._src.variables.variable import variable


class _Auto:
    """The value of tf.compat.v1.AUTO_REUSE: creates a variable the first time and reuses it
    later."""

    def __repr__(self):
        return "_ReuseMode.AUTO_REUSE"

    def __bool__(self):
        return True


AUTO_REUSE = _Auto()
export(v1="AUTO_REUSE")(AUTO_REUSE)


class VariableScope:
    """The options of get_variable in a scope: name, reuse, initializer, regularizer, ..."""

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
        """Reuses variables in this scope."""
        self.reuse = True

    def set_use_resource(self, use_resource):
        """Sets whether variables are resource variables."""
        self.use_resource = use_resource

    def set_initializer(self, initializer):
        """Sets the default initializer."""
        self.initializer = initializer

    def set_regularizer(self, regularizer):
        """Sets the default regularizer."""
        self.regularizer = regularizer

    def set_partitioner(self, partitioner):
        """Sets the default partitioner."""
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter):
        """Sets the custom getter."""
        self.custom_getter = custom_getter

    def set_caching_device(self, caching_device):
        """Sets the device that caches values."""
        self.caching_device = caching_device

    def set_dtype(self, dtype):
        """Sets the default type."""
        self.dtype = as_dtype(dtype)

    def global_variables(self):
        """Returns the global variables of this scope."""
        return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, self.name)

    def trainable_variables(self):
        """Returns the trainable variables of this scope."""
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, self.name)

    def get_variable(self, store, name, **kwargs):
        """Returns the variable with a name in the current scope; creates it unless the scope reuses
        it.

        Args:
          store: ignored; the graph has one store of variables.
          name: the name in the scope.
          shape: the shape of a new variable.
          dtype: the type of a new variable.
          initializer: an initializer, a function without arguments, or a value.
          regularizer: a function of the variable whose result is added to REGULARIZATION_LOSSES.
          trainable: whether optimizers update the variable.
          collections: the collections of the variable; by default GLOBAL_VARIABLES.
          caching_device: a device that caches the value.
          partitioner: a function of shape and dtype that returns the numbers of partitions.
          validate_shape: whether the initial value must have a known shape.
          use_resource: whether to create a resource variable.
          custom_getter: a function that wraps the creation.
          constraint: a function that optimizers apply after an update.
          synchronization: a tf.VariableSynchronization.
          aggregation: a tf.VariableAggregation.

        Returns:
          The variable, or a PartitionedVariable.

        Raises:
          ValueError: the variable exists and is not reused, or the reverse, or the shape is not
            fully defined.
        """
        del store  # a graph has one store of variables
        return get_variable(name, **kwargs)


export(v1="VariableScope")(VariableScope)


@export(v1="get_variable_scope")
def get_variable_scope() -> VariableScope:
    """Returns the current VariableScope."""
    graph = get_default_graph()
    if not hasattr(graph, "_variable_scope"):
        graph._variable_scope = VariableScope()
    return graph._variable_scope


def _counts():
    """Returns how often each scope was entered, to make default names unique."""
    return get_default_graph().__dict__.setdefault("_scope_counts", {})


@contextlib.contextmanager
def _entered(scope, again):
    """Enters a scope. With `again`, for a scope object, the counts are restored at the end."""
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
    """Returns a unique default name of a scope: name, name_1, ..."""
    here, counts = get_variable_scope().name, _counts()
    full_name = f"{here}/{name}" if here else name
    if not counts.get(full_name):
        return name
    n = 1
    while counts.get(f"{full_name}_{n}"):
        n += 1
    return f"{name}_{n}"


def _compose_getters(getter, outer):
    """Composes a custom getter with that of the outer scope: each gets the next one as its
    getter."""
    if getter is None or outer is None:
        return getter or outer

    def both(inner, *args, **kwargs):
        return getter(functools.partial(outer, inner), *args, **kwargs)

    return both


@export(v1="variable_scope")
class variable_scope(ReusableScope):
    """A context manager that prefixes and configures variables of get_variable.

    It may be entered repeatedly, but not recursively.

    Args:
      name_or_scope: the name, or a VariableScope to enter again.
      default_name: the name if `name_or_scope` is None; it is made unique.
      values: tensors, operations or variables; the scope is one of their graph.
      initializer: the default initializer.
      regularizer: the default regularizer.
      caching_device: a device that caches the values.
      partitioner: the default partitioner.
      custom_getter: a function that wraps get_variable.
      reuse: True to reuse variables, tf.compat.v1.AUTO_REUSE to create missing ones, None to
        inherit.
      dtype: the default type.
      use_resource: whether to create resource variables.
      constraint: the default constraint.
      auxiliary_name_scope: whether to open a name scope, too.

    Raises:
      TypeError: there is no name.
    """

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
        self._name_or_scope, self._default = name_or_scope, default_name
        self._auxiliary, self._made, self._values = auxiliary_name_scope, None, values
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
        """Returns the VariableScope and the name of the name scope, when first entered."""
        given, outer = self._name_or_scope, get_variable_scope()
        if isinstance(given, VariableScope):
            return _derived(given, given.name, **self._options), given.name.split("/")[-1]
        inner = _unique(self._default) if given is None else given
        full_name = f"{outer.name}/{inner}" if outer.name else inner
        return _derived(
            outer, full_name, **self._options
        ), self._default if given is None else given

    def _enter(self):
        if self._exits:
            raise RuntimeError("Improper nesting of variable_scope.")
        with contextlib.ExitStack() as stack:
            stack.enter_context(in_graph_of(self._values))
            return self._enter_graph(stack), stack.pop_all().__exit__

    def _enter_graph(self, stack):
        graph, known = get_default_graph(), isinstance(self._name_or_scope, VariableScope)
        first = self._made is None
        new, part = self._made = self._made or self._scope()
        names = (
            graph.name_scope(part)
            if self._auxiliary and part
            else contextlib.nullcontext(graph._scope if self._auxiliary else "")
        )
        full = stack.enter_context(names)
        stack.enter_context(_entered(new, known))
        if first:
            new.original_name_scope = (
                self._name_or_scope.original_name_scope if known else full if part else ""
            )
        return new


def _derived(
    base,
    full_name,
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
    """Returns a VariableScope that inherits options from `base`."""
    return VariableScope(
        reuse or base.reuse,
        full_name,
        initializer or base.initializer,
        regularizer or base.regularizer,
        caching_device or base.caching_device,
        partitioner or base.partitioner,
        _compose_getters(custom_getter, base.custom_getter),
        dtype=dtype or base.dtype,
        use_resource=base.use_resource if use_resource is None else use_resource,
        constraint=constraint or base.constraint,
    )


@export(v1="variable_op_scope")
def variable_op_scope(values, name_or_scope, default_name=None, **kwargs):
    """Deprecated form of tf.compat.v1.variable_scope."""
    return variable_scope(name_or_scope, default_name, values, **kwargs)


def _check_existing(existing, full_name, shape, dtype):
    if shape is not None and not existing.shape.is_compatible_with(shape):
        raise ValueError(
            f"Trying to share variable {full_name}, but specified shape "
            f"{tensor_shape.as_shape(shape)} and found shape {existing.shape}."
        )
    if dtype is not None and existing.dtype.base_dtype != as_dtype(dtype):
        raise ValueError(
            f"Trying to share variable {full_name}, but specified dtype "
            f"{as_dtype(dtype).name} and found dtype {existing.dtype.name}."
        )
    return existing


def _has_no_parameters(function):
    import inspect

    try:
        return not inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _initial_value(full_name, shape, dtype, initializer):
    if initializer is None:
        kind = init_ops.GlorotUniform() if dtype.is_floating else init_ops.Zeros()
    else:
        kind = initializer() if isinstance(initializer, type) else initializer
    if not callable(kind):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        return kind
    if shape is None and not hasattr(kind, "get_config") and _has_no_parameters(kind):
        return kind
    if shape is None or not tensor_shape.as_shape(shape).is_fully_defined():
        raise ValueError(
            f"Shape of a new variable ({full_name}) must be fully defined, but instead "
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
    full_name = f"{scope.name}/{name}" if scope.name else name
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
    getter = _compose_getters(custom_getter, scope.custom_getter)
    if getter is None:
        return _get(full_name, **kwargs, synchronization=synchronization, aggregation=aggregation)
    kwargs["dtype"] = as_dtype(dtype or scope.dtype).base_dtype
    return getter(
        _get, name=full_name, **kwargs, synchronization=synchronization, aggregation=aggregation
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
    """Returns the variable with a full name, existing or new."""
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
                validate_shape=validate_shape,
            ),
        )
        if parts is not None:
            return parts
    existing = graph._variable_store.get(name)
    if existing is not None:
        if not reuse:
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set "
                "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
            )
        return _check_existing(existing, name, shape, dtype)
    if reuse and reuse is not AUTO_REUSE:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with "
            "tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )
    explicit, dtype = dtype is not None, as_dtype(dtype or scope.dtype).base_dtype
    value = _initial_value(name, shape, dtype, initializer)
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
            validate_shape=validate_shape,
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
    """As get_variable, for a variable that is neither saved nor trained.

    Args:
      name: the name in the scope.
      *args: as for get_variable.
      **kwargs: as for get_variable.
    """
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
    """Wraps a function so that all calls share the variables of the first one.

    Args:
      name_: the name of the variable scope.
      func_: the function.
      create_scope_now_: whether to open the scope now instead of at the first call.
      unique_name_: a name of the scope that is not made unique.
      custom_getter_: a custom getter for the scope.
      **kwargs: keyword arguments for all calls.

    Returns:
      A callable.
    """
    return _Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)


class _Template:
    """The callable that make_template returns."""

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
                return self._call(args, kwargs)
        with variable_scope(self._scope, reuse=True if self._made else None):
            return self._call(args, kwargs)

    def _call(self, args, kwargs):
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
