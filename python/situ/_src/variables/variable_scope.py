# SPDX-License-Identifier: Apache-2.0
"""variable_scope.py: tf.compat.v1.variable_scope and get_variable: the prefix and the default
options of variables by name."""

from __future__ import annotations

import contextlib
import functools

import _situ
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph_scopes import ReusableScope
from situ._src.framework.scopes import eager_scope, in_graph_of, name_scope
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.variables import variable_store
from situ._src.variables.variable_store import AUTO_REUSE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable, DTypeLike, ShapeLike, TensorLike


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

    def get_collection(self, name):
        """Returns the items of a collection whose names begin with the name of this scope."""
        return get_default_graph().get_collection(name, self.name + "/" if self.name else "")

    def global_variables(self):
        """Returns the global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def trainable_variables(self):
        """Returns the trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def local_variables(self):
        """Returns the local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(
        self,
        var_store,
        name,
        shape=None,
        dtype=None,
        initializer=None,
        regularizer=None,
        reuse=None,
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
        """Returns the variable with a name in this scope; creates it unless the scope reuses
        it.

        Args:
          var_store: ignored; the graph has one store of variables.
          name: the name in the scope.
          shape: the shape of a new variable.
          dtype: the type of a new variable.
          initializer: an initializer, a function without arguments, or a value.
          regularizer: a function of the variable whose result is added to REGULARIZATION_LOSSES.
          reuse: whether to reuse the variable; None for the option of the scope.
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
        del var_store  # a graph has one store of variables
        eager = _situ.current_graph() is None
        with name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                _check_type(initializer, as_dtype(dtype))
            return variable_store.get(
                f"{self.name}/{name}" if self.name else name,
                shape=shape,
                dtype=_either(dtype, self.dtype),
                initializer=_either(initializer, self.initializer),
                regularizer=_either(regularizer, self.regularizer),
                reuse=False if eager else _either(reuse, self.reuse),
                trainable=trainable,
                collections=collections,
                caching_device=_either(caching_device, self.caching_device),
                partitioner=_either(partitioner, self.partitioner),
                validate_shape=validate_shape,
                use_resource=True if eager else _either(use_resource, self.use_resource),
                custom_getter=_either(custom_getter, self.custom_getter),
                constraint=_either(constraint, self.constraint),
                synchronization=synchronization,
                aggregation=aggregation,
            )


def _either(value, default):
    """Returns a value, or the default if it is None."""
    return default if value is None else value


def _check_type(initializer, dtype):
    """Raises ValueError if a constant initializer does not have the explicit type."""
    found = convert_to_tensor(initializer).dtype.base_dtype
    if found != dtype.base_dtype:
        raise ValueError(f"Initializer type '{found}' and explicit dtype '{dtype}' don't match.")


export(v1="VariableScope")(VariableScope)


@export(v1="get_variable_scope")
def get_variable_scope() -> VariableScope:
    """Returns the current VariableScope."""
    graph = get_default_graph()
    if graph._variable_scope is None:
        graph._variable_scope = VariableScope()
    return graph._variable_scope


def _counts():
    """Returns how often each scope was entered, to make default names unique."""
    return get_default_graph()._scope_counts


def _push(scope, again):
    """Enters a scope. With `again`, for a scope object, the counts are restored at the end. Returns
    a function that leaves the scope."""
    graph, before, counts = get_default_graph(), get_variable_scope(), _counts()
    graph._variable_scope = scope
    counts[scope.name] = counts.get(scope.name, 0) + 1
    saved = dict(counts) if again else None

    def pop():
        for key in counts:
            if key.startswith(scope.name + "/"):
                counts[key] = 0
        if again:
            counts.clear()
            counts.update(saved)
        graph._variable_scope = before

    return pop


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


def _compose_getters(own, outer):
    """Composes a custom getter with that of the outer scope: each gets the next one as its
    getter."""
    if own is None or outer is None:
        return outer if own is None else own

    def both(getter, *args, **kwargs):
        return own(functools.partial(outer, getter), *args, **kwargs)

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
      TypeError: there is no name, or an argument has a wrong type.
      ValueError: `reuse` has another value.
    """

    def __init__(
        self,
        name_or_scope: Any = None,
        default_name: Any = None,
        values: TensorLike = None,
        initializer: Any = None,
        regularizer: Callable | None = None,
        caching_device: Any = None,
        partitioner: Callable | None = None,
        custom_getter: Callable | None = None,
        reuse: bool | None = None,
        dtype: DTypeLike = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ):
        super().__init__()
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (True, False, None, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                "The auxiliary_name_scope must be `True` or `False`, while get "
                f"{auxiliary_name_scope}"
            )
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
        given = self._name_or_scope
        if given is not None and not isinstance(given, (str, VariableScope)):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        if given is None and self._options["reuse"]:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        if self._exits:
            raise RuntimeError("Improper nesting of variable_scope.")
        with contextlib.ExitStack() as stack:
            stack.enter_context(in_graph_of(self._values))
            new, pop = self._enter_graph(stack)
            kept = stack.pop_all()

        def leave(*error):
            if get_variable_scope() is not new:
                raise RuntimeError("Improper nesting of variable_scope.")
            pop()
            return kept.__exit__(*error)

        return new, leave

    def __exit__(self, *error):
        result = self._exits[-1](*error)
        self._exits.pop()
        return result

    def _enter_graph(self, stack):
        known = isinstance(self._name_or_scope, VariableScope)
        first = self._made is None
        new, part = self._made = self._made or self._scope()
        full = ""
        if not self._auxiliary:
            full = stack.enter_context(name_scope(_current_name_scope()))
        elif part:
            full = stack.enter_context(name_scope(part))
        if first:
            new.original_name_scope = self._name_or_scope.original_name_scope if known else full
        return new, _push(new, known)


def _current_name_scope() -> str:
    """Returns the name scope with a final slash, to enter it again."""
    return eager_scope() if _situ.current_graph() is None else get_default_graph()._scope


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
        _either(initializer, base.initializer),
        _either(regularizer, base.regularizer),
        _either(caching_device, base.caching_device),
        _either(partitioner, base.partitioner),
        _compose_getters(custom_getter, base.custom_getter),
        dtype=_either(dtype, base.dtype),
        use_resource=_either(use_resource, base.use_resource),
        constraint=constraint,
    )


@export(v1="variable_op_scope")
def variable_op_scope(
    values: TensorLike, name_or_scope: Any, default_name: Any = None, **kwargs: Any
) -> Any:
    """Deprecated form of tf.compat.v1.variable_scope.

    Args:
      values: tensors, operations or variables; the scope is one of their graph.
      name_or_scope: the name, or a VariableScope to enter again.
      default_name: the name if `name_or_scope` is None; it is made unique.
      **kwargs: Arguments of variable_scope.
    """
    return variable_scope(name_or_scope, default_name, values, **kwargs)


@export(v1="get_variable")
def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike = None,
    initializer: Any = None,
    regularizer: Callable | None = None,
    trainable: bool | None = None,
    collections: list[str] | None = None,
    caching_device: Any = None,
    partitioner: Callable | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable | None = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """Returns the variable of that name in the scope, which is created or (with reuse) exists.

    Args:
      name: the name in the scope.
      shape: the shape of a new variable.
      dtype: the type; by default that of the scope, or float32.
      initializer: the initializer; by default that of the scope, or the Glorot uniform one.
      regularizer: the regularizer; by default that of the scope.
      trainable: whether optimizers update the variable.
      collections: the collections of the variable; by default GLOBAL_VARIABLES.
      caching_device: a device that caches the values.
      partitioner: the partitioner; by default that of the scope.
      validate_shape: whether the initial value must have a known shape.
      use_resource: whether to create resource variables.
      custom_getter: a function that wraps get_variable.
      constraint: a function that optimizers apply to the value after an update.
      synchronization: a tf.VariableSynchronization.
      aggregation: a tf.VariableAggregation.
    """
    return get_variable_scope().get_variable(
        None,
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=collections,
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@export(v1="get_local_variable")
def get_local_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike = None,
    initializer: Any = None,
    regularizer: Callable | None = None,
    trainable: bool | None = None,
    collections: list[str] | None = None,
    caching_device: Any = None,
    partitioner: Callable | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable | None = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """As get_variable, for a variable that is neither saved nor trained; `trainable` has no
    effect.

    Args:
      name: the name in the scope.
      shape: the shape of a new variable.
      dtype: the type; by default that of the scope, or float32.
      initializer: the initializer; by default that of the scope, or the Glorot uniform one.
      regularizer: the regularizer; by default that of the scope.
      trainable: whether optimizers update the variable.
      collections: the collections of the variable; LOCAL_VARIABLES is added.
      caching_device: a device that caches the values.
      partitioner: the partitioner; by default that of the scope.
      validate_shape: whether the initial value must have a known shape.
      use_resource: whether to create resource variables.
      custom_getter: a function that wraps get_variable.
      constraint: a function that optimizers apply to the value after an update.
      synchronization: a tf.VariableSynchronization.
      aggregation: a tf.VariableAggregation.
    """
    del trainable  # local variables are not trainable
    return get_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=False,
        collections=[*(collections or []), GraphKeys.LOCAL_VARIABLES],
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )
