# SPDX-License-Identifier: Apache-2.0
"""variable.py: tf.Variable, which creates an eager, reference or resource variable; graph-mode
assign functions and initializers."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading

import _situ
from situ._src.framework import style
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import ALL
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph_scopes import ReusableScope, colocation_named
from situ._src.ops.array_ops import convert_to_tensor, group, identity, op
from situ._src.variables import eager_variable
from situ._src.variables import synchronization as variable_modes
from situ._src.variables.graph_variable import GraphVariable, aggregated, collect
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.save_slice_info import SaveSliceInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, DTypeLike, ShapeLike, TensorLike


class RefVariable(GraphVariable):
    """A graph-mode variable by reference: a VariableV2, its Assign and its read."""

    def _make(self, graph, full, initial_value, dtype, shape):
        if callable(initial_value):
            with colocation_named(graph, full.rstrip("/")):
                with graph.name_scope("Initializer"), graph.device(None):
                    value = convert_to_tensor(initial_value(), dtype, "initial_value")
                self._make_ref(graph, full, value, shape)
        else:
            value = convert_to_tensor(initial_value, dtype, "initial_value")
            self._make_ref(graph, full, value, shape)
        self._initial_value = value
        self._initializer = op(
            "Assign", self._ref, value, validate_shape=self._validate_shape, name="Assign"
        ).op
        cached = self._caching_device
        with graph.colocate_with(self._ref.op) if cached is None else graph.device(cached):
            self._snapshot = op("Identity", self._ref, name="read")

    def _make_ref(self, graph, full, value, shape):
        if self._validate_shape and not value.shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {value}")
        shape = self._fixed_shape(value, shape)
        # Device functions look at the shape and type of the variable to be created.
        graph._pending_variable = {"shape": shape, "dtype": value.dtype}
        self._ref = op("VariableV2", shape=shape, dtype=value.dtype, name=full)

    name = property(lambda s: s._ref.name)
    op = property(lambda s: s._ref.op)
    shape = property(lambda s: s._ref.shape)
    device = property(lambda s: s._ref.device)
    dtype = property(lambda s: ALL[s._ref.dtype.as_datatype_enum + 100])

    def value(self):
        """Returns a tensor with the value."""
        return self._snapshot

    def read_value(self):
        """Returns a tensor with the value, read after the current control dependencies."""
        return identity(self._ref, name="read")

    def _situ_tensor_(self):
        return self._snapshot

    def _as_graph_element(self):
        return self._ref

    def _ref_(self):
        return self._ref

    @aggregated
    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Returns an operation that assigns a value and outputs the variable; without
        the output if `read_value` is false."""
        made = op("Assign", self._ref, value, use_locking=use_locking, name=name)
        return made if read_value else made.op

    @aggregated
    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        """Returns an operation that adds to the value and outputs the variable;
        without the output if `read_value` is false."""
        made = op("AssignAdd", self._ref, delta, use_locking=use_locking, name=name)
        return made if read_value else made.op

    @aggregated
    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        """Returns an operation that subtracts from the value and outputs the variable;
        without the output if `read_value` is false."""
        made = op("AssignSub", self._ref, delta, use_locking=use_locking, name=name)
        return made if read_value else made.op

    def count_up_to(self, limit):
        """Increments the variable until it reaches `limit`, then raises OutOfRangeError. Returns
        the old value."""
        return op("CountUpTo", self._ref, limit=limit)

    def sparse_read(self, indices, name=None):
        """Returns the slices along the first axis at `indices`."""
        return op("GatherV2", self._snapshot, indices, 0, name=name)

    def gather_nd(self, indices, name=None):
        """Returns the slices that the index tuples in the last axis of `indices` select."""
        return op("GatherNd", self._snapshot, indices, name=name)

    def _scatter(self, op_name, indices, updates, name):
        return op(
            op_name,
            self._ref,
            indices,
            convert_to_tensor(updates, self.dtype.base_dtype),
            name=name,
        )

    def _assign_part(self, parts, value, name):
        begin, end, strides, masks = parts
        return op("StridedSliceAssign", self._ref, begin, end, strides, value, name=name, **masks)

    def set_shape(self, shape):
        self._snapshot.set_shape(shape)


class _Strategies(threading.local):
    """The tf.distribute strategies whose scopes this thread has entered."""

    def __init__(self):
        self.stack = []


_strategies = _Strategies()


def strategy():
    """Returns the tf.distribute strategy of the current scope of this thread, or None."""
    return _strategies.stack[-1] if _strategies.stack else None


def swap_strategies(stack):
    """Replaces the strategies of this thread and returns them: a replica inherits those of the
    thread that runs it."""
    before, _strategies.stack = _strategies.stack, stack
    return before


def strategies():
    """Returns the strategies whose scopes this thread has entered, innermost last."""
    return list(_strategies.stack)


class StrategyScope(ReusableScope):
    """A scope in which a strategy creates the variables; None has no effect."""

    def __init__(self, strategy):
        super().__init__()
        self._strategy = strategy

    def _enter(self):
        if self._strategy is not None:
            _strategies.stack.append(self._strategy)
        return self._strategy, self._leave

    def _leave(self, *_error):
        if self._strategy is not None:
            _strategies.stack.pop()


strategy_scope = StrategyScope


# The default kind of graph-mode variables; None: as the style of the program says.
_defaults: dict = {"resource": None}


@export(v1="enable_resource_variables")
def enable_resource_variables() -> None:
    """Creates graph-mode variables by handle from now on (resource variables)."""
    _defaults["resource"] = True


@export(v1="disable_resource_variables")
def disable_resource_variables() -> None:
    """Creates graph-mode variables by reference from now on."""
    _defaults["resource"] = False


@export(v1="resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Returns whether graph-mode variables are resource variables."""
    chosen = _defaults["resource"]
    return style.has_resource_variables() if chosen is None else chosen


def create_graph_variable(graph, args, kwargs):
    """Creates a resource or reference variable, as the call, the variable scope or the program
    selects."""
    choice = kwargs.get("use_resource")
    if choice is None:
        choice = getattr(graph._variable_scope, "use_resource", None)
    if choice is None:
        choice = resource_variables_enabled()
    return (ResourceVariable if choice else RefVariable)(*args, **kwargs)


_creators = threading.local()  # .stack: the creators of variables and the graphs of their scopes


def _creator_stack():
    if not hasattr(_creators, "stack"):
        _creators.stack = []
    return _creators.stack


@export("variable_creator_scope")
@contextlib.contextmanager
def variable_creator_scope(variable_creator: Any) -> Any:
    """Returns a context manager in which a function creates the variables.

    Args:
      variable_creator: a function of `next_creator` and the keyword arguments of tf.Variable.
        `next_creator(**kwargs)` creates the variable, or calls the function of the outer scope.
    """
    stack = _creator_stack()
    stack.append((_situ.current_graph(), variable_creator))
    try:
        yield
    finally:
        stack.pop()


def _applies(scope_graph, graph):
    """Returns whether a creator scope applies in a graph: of the same one, and in functions."""
    if graph is None or scope_graph is graph:
        return scope_graph is graph
    return graph.building_function or graph._captures


def variable(*args, **kwargs):
    """Creates a variable with the functions of the variable creator scopes."""
    if kwargs.get("variable_def") is not None and not _situ.executing_eagerly():
        if args or kwargs.get("initial_value") is not None:
            raise ValueError("variable_def and initial_value are mutually exclusive.")
        return Variable.from_proto(kwargs["variable_def"], kwargs.get("import_scope"))
    graph = _situ.current_graph()
    creators = [made for where, made in _creator_stack() if _applies(where, graph)]
    if not creators:
        return _create(*args, **kwargs)
    create = _create
    for creator in creators:
        create = functools.partial(creator, create)
    return create(**_creator_arguments(graph, args, kwargs))


def _creator_arguments(graph, args, kwargs):
    """Returns the arguments of a variable by name, with those that have default values."""
    is_eager = graph is None or graph.building_function
    kind = eager_variable.EagerVariable if is_eager else GraphVariable
    bound = inspect.signature(kind).bind(*args, **kwargs)
    bound.apply_defaults()
    options, name = dict(bound.arguments), kwargs.get("name")
    options["synchronization"] = variable_modes.synchronization(options["synchronization"], name)
    options["aggregation"] = variable_modes.aggregation(options["aggregation"], name)
    return options


def _create(*args, **kwargs):
    """Creates the kind of variable that the context needs: of a strategy, of the graph, or
    eager."""
    graph = _situ.current_graph()
    if strategy():
        made = strategy().make_variable(graph, args, kwargs)
        if made is not None:
            return made
    if graph is None or graph.building_function:
        if graph is not None:
            graph.created += 1
        made = eager_variable.EagerVariable(*args, **kwargs)
        if graph is not None:
            collect(graph, made, kwargs.get("collections"))
        return made
    if graph._captures:  # a branch or loop: the variable belongs to the outer graph
        from situ._src.framework.branch_graph import outside

        with outside():
            return create_graph_variable(graph, args, kwargs)
    return create_graph_variable(graph, args, kwargs)


_KINDS = (RefVariable, ResourceVariable, eager_variable.EagerVariable)


class _VariableType(type):
    def __call__(cls, *args, **kwargs):
        return variable(*args, **kwargs)

    def __instancecheck__(cls, thing):
        return isinstance(thing, _KINDS)

    def __subclasscheck__(cls, other):
        return issubclass(other, _KINDS)


@export("Variable", v1="VariableV1")
class Variable(metaclass=_VariableType):
    """A variable: mutable state that is shared between calls and steps.

    Args:
      initial_value: a value that converts to a tensor, or a function that returns one.
      trainable: whether optimizers update the variable; True by default, False for
        ON_READ.
      name: the name.
      dtype: the type; by default that of the initial value.
      constraint: a function that optimizers apply to the value after an update.
      synchronization: a tf.VariableSynchronization.
      aggregation: a tf.VariableAggregation.
      caching_device: in graphs, a device that reads the variable once for all uses there.
      collections: in graphs, the collections of the variable; by default GLOBAL_VARIABLES.
      use_resource: in graphs, whether to create a resource variable.
      shape: the static shape; by default that of the initial value. A less specific shape lets
        assignments change the shape; in graphs that is not supported yet.
      validate_shape: False lets a reference variable be initialized with a value of unknown shape
        if `shape` is given.

    `variable_def` is a VariableDef of a variable whose nodes are in the default graph, below the
    name scope `import_scope`; no other argument has an effect then. `expected_shape` has no effect,
    as in TensorFlow.

    Raises:
      ValueError: there is no initial value, or its shape is not compatible with `shape`.
    """

    trainable: Any

    SaveSliceInfo = SaveSliceInfo

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Any:
        """Returns the variable of a VariableDef whose nodes are in the default graph.

        Args:
          variable_def: a VariableDef.
          import_scope: the name scope of the nodes.
        """
        from situ._src.variables import variable_def as definition

        return definition.from_proto(RefVariable, variable_def, import_scope)


@export("raw_ops.Variable")
def raw_variable(
    shape: ShapeLike,
    dtype: DTypeLike,
    container: str = "",
    shared_name: str = "",
    name: str | None = None,
) -> Any:
    """Creates a reference variable: the former name of the op VariableV2.

    Args:
      shape: the shape.
      dtype: the type.
      container: the container of the variable.
      shared_name: the name under which sessions share it.
      name: a name for the operation.
    """
    options = dict(container=container, shared_name=shared_name, name=name or "Variable")
    return op("VariableV2", shape=shape, dtype=dtype, **options)


_ASSIGN_OPS = {"assign": "Assign", "assign_add": "AssignAdd", "assign_sub": "AssignSub"}


def _assign_by(method, ref, value, use_locking, name):
    call = getattr(ref, method, None) or functools.partial(OPS[_ASSIGN_OPS[method]], ref)
    locking = {} if use_locking is None else {"use_locking": bool(use_locking)}
    return call(value, name=name, **locking)


@export(v1="assign")
def assign(
    ref: TensorLike,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Assigns a value to a variable.

    Args:
      ref: the variable.
      value: the value.
      validate_shape: False lets the value of a reference variable have an unknown shape; at run
        time it must have the shape of the variable.
      use_locking: whether the assignment of a reference variable is locked.
      name: a name for the operation.

    Returns:
      The variable after the assignment.
    """
    if validate_shape is False and hasattr(ref, "_ref"):
        locked = bool(use_locking)
        return op("Assign", ref._ref, value, validate_shape=False, use_locking=locked, name=name)
    return _assign_by("assign", ref, value, use_locking, name)


def _export_update(method):
    @export(v1=method)
    def update(
        ref: Any, value: TensorLike, use_locking: bool | None = None, name: str | None = None
    ) -> Any:
        return _assign_by(method, ref, value, use_locking, name)

    update.__name__ = method
    update.__doc__ = f"""Updates a variable by a value: `variable.{method}(value)`.

    Args:
      ref: the variable.
      value: the value.
      use_locking: whether the update of a reference variable is locked.
      name: a name for the operation.

    Returns:
      The variable after the update.
    """
    return update


assign_add, assign_sub = _export_update("assign_add"), _export_update("assign_sub")


def _collection_getter(key, *names):
    @export(v1=names)
    def get(scope: str | None = None) -> list:
        return get_default_graph().get_collection(key, scope)

    get.__name__ = names[0]
    get.__doc__ = f"""Returns the variables of the collection "{key}".

    Args:
      scope: a regular expression that matches the start of the names of the variables to return.
    """
    return get


global_variables = _collection_getter(
    GraphKeys.GLOBAL_VARIABLES, "global_variables", "all_variables"
)
local_variables = _collection_getter(GraphKeys.LOCAL_VARIABLES, "local_variables")
trainable_variables = _collection_getter(GraphKeys.TRAINABLE_VARIABLES, "trainable_variables")
model_variables = _collection_getter(GraphKeys.MODEL_VARIABLES, "model_variables")


@export(v1=("variables_initializer", "initialize_variables", "initializers.variables"))
def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """Returns an operation that initializes variables.

    Args:
      var_list: the variables.
      name: a name for the operation.
    """
    if var_list and not _situ.executing_eagerly():
        return group(*[v.initializer for v in var_list], name=name)
    return group(name=name)


@export(
    v1=("global_variables_initializer", "initialize_all_variables", "initializers.global_variables")
)
def global_variables_initializer() -> Any:
    """Returns an operation that initializes all global variables."""
    return variables_initializer(global_variables())


@export(v1=("local_variables_initializer", "initialize_local_variables"))
def local_variables_initializer() -> Any:
    """Returns an operation that initializes all local variables."""
    return variables_initializer(local_variables())
