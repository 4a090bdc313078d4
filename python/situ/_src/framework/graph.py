# SPDX-License-Identifier: Apache-2.0
"""graph.py: tf.Graph: name, device and control dependency scopes, collections, and lookup of
operations and tensors by name."""

from __future__ import annotations

import contextlib
import re
import threading

import _situ
from situ._src.framework import graph_scopes, keywords, node_def, style
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.message_classes import message_class
from situ._src.framework.tensor_shape import TensorShape, as_shape

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from collections.abc import Callable
    from typing import Any


class GraphKeys:
    """Names of the standard collections of a graph."""

    GLOBAL_VARIABLES = "variables"
    VARIABLES = GLOBAL_VARIABLES
    LOCAL_VARIABLES = "local_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    MODEL_VARIABLES = "model_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    SUMMARIES = "summaries"
    LOSSES = "losses"
    REGULARIZATION_LOSSES = "regularization_losses"
    UPDATE_OPS = "update_ops"
    QUEUE_RUNNERS = "queue_runners"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    TRAIN_OP = "train_op"
    GLOBAL_STEP = "global_step"
    ACTIVATIONS = "activations"
    WEIGHTS = "weights"
    BIASES = "biases"
    SAVERS = "savers"
    SAVEABLE_OBJECTS = "saveable_objects"
    SUMMARY_OP = "summary_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    TABLE_INITIALIZERS = "table_initializer"
    METRIC_VARIABLES = "metric_variables"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    CONCATENATED_VARIABLES = "concatenated_variables"
    ASSET_FILEPATHS = "asset_filepaths"
    EVAL_STEP = "eval_step"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    UNBOUND_INPUTS = "unbound_inputs"


class _PendingOutput:
    """The output of a variable op that is about to be added."""

    def __init__(self, name, op, shape, dtype):
        self.name, self.op, self.shape, self.dtype = name, op, shape, dtype

    def get_shape(self):
        return self.shape


class _PendingOperation:
    """An operation that is about to be added, as device functions see it."""

    def __init__(self, graph, type_, name, inputs):
        self.graph, self.type, self.name = graph, type_, name
        self.inputs, self.device, self.outputs = inputs or (), "", ()
        if type_ not in ("VariableV2", "VarHandleOp"):
            return
        variable = graph.__dict__.get("_pending_variable")
        if variable and type_ == "VarHandleOp":  # the output is a scalar handle
            variable = dict(shape=TensorShape([]), dtype=as_dtype("resource"))
        if variable:
            self.outputs = (_PendingOutput(name + ":0", self, **variable),)

    @property
    def node_def(self):
        inputs = [i.name for i in self.inputs]
        return node_def.NodeDef(name=self.name, op=self.type, input=inputs, device=self.device)

    def get_attr(self, name):
        """Returns the shape or dtype of a variable that is about to be added."""
        known = self.graph.__dict__.get("_pending_variable") or {}
        if name not in known:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        return known[name]


class _VariableScopes(threading.local):
    """The current variable scope of a thread and how often each scope was entered."""

    def __init__(self):
        self.scope, self.counts = None, {}


class Graph(_situ.Graph):
    """A dataflow graph of tf.Operation nodes, connected by tf.Tensor edges.

    Operations are added to the current default graph (`with graph.as_default():`) and are never
    removed. A tf.compat.v1.Session runs a graph. Several threads may add operations.
    """

    def __init__(self):
        self._collections = {}
        self._open: Any = graph_scopes.OpenScopes()
        self.seed: int | None = None
        self._session = None
        self._variable_store, self._variable_scopes = {}, _VariableScopes()
        self._assigned_by_function = None

    @property
    def finalized(self) -> bool:
        """Whether the graph is read-only."""
        return self._finalized

    @property
    def _variable_scope(self):
        """The variable scope of this thread; None if none was entered."""
        return self._variable_scopes.scope

    @_variable_scope.setter
    def _variable_scope(self, scope):
        self._variable_scopes.scope = scope

    @property
    def _scope_counts(self):
        """How often this thread entered each variable scope."""
        return self._variable_scopes.counts

    @_scope_counts.setter
    def _scope_counts(self, counts):
        self._variable_scopes.counts = counts

    def switch_to_thread_local(self) -> None:
        """Separates the device, control dependency and colocation scopes of threads.

        By default, operations of all threads are in the scopes that any thread opens, except for
        name scopes, which belong to a thread. After this call each thread starts with the scopes
        that are open now and opens and closes its own. It cannot be undone.
        """
        if not isinstance(self._open, graph_scopes.ThreadScopes):
            self._open = graph_scopes.ThreadScopes(self._open)
            self._use_thread_scopes()

    building_function = False
    _devices = graph_scopes.open_scope("devices")
    _controls = graph_scopes.open_scope("controls")
    _colocation_name = graph_scopes.open_scope("colocation_name")
    _scope: str  # of the extension

    @property
    def graph_def_versions(self):
        """The versions of the GraphDef of this graph, as a VersionDef."""

        return message_class("tensorflow.VersionDef")(producer=134)

    def finalize(self) -> None:
        """Makes the graph read-only: adding an operation raises an error."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        """Makes the graph writable again; sessions see operations that are added then."""
        self._finalized = False

    def gradient_override_map(self, op_type_map: dict):
        """Returns a context manager that replaces gradient functions of new operations.

        Args:
          op_type_map: maps op types to names that tf.RegisterGradient registered.
        """
        from situ._src.framework.gradients import override_map

        return override_map(self, op_type_map)

    def as_graph_element(self, obj, allow_tensor: bool = True, allow_operation: bool = True):
        """Returns the tensor or operation of this graph that an object refers to.

        Args:
          obj: a tensor, an operation, a name, or an object with a method `_as_graph_element`.
          allow_tensor: whether `obj` may refer to a tensor.
          allow_operation: whether `obj` may refer to an operation.

        Returns:
          The tf.Tensor or tf.Operation.

        Raises:
          TypeError: `obj` has an unsupported type.
          ValueError: `obj` belongs to another graph, or the name has the wrong form.
          KeyError: the graph has no element with this name.
        """
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, (str, bytes)):
            return self._by_name(
                obj if isinstance(obj, str) else obj.decode(), allow_tensor, allow_operation
            )
        if (
            isinstance(obj, _situ.GraphTensor)
            and allow_tensor
            or isinstance(obj, _situ.Operation)
            and allow_operation
        ):
            if obj.graph is not self:
                raise ValueError(f"{obj} is not an element of this graph.")
            return obj
        types = (
            "Tensor or Operation"
            if allow_tensor and allow_operation
            else "Tensor"
            if allow_tensor
            else "Operation"
        )
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {types}.")

    def _by_name(self, name, allow_tensor, allow_operation):
        if ":" in name and allow_tensor:
            op_name, _, index = name.rpartition(":")
            if not index.isdigit():
                raise ValueError(
                    f"The name {name!r} looks a like a Tensor name, but is not a "
                    "valid one. Tensor names must be of the form "
                    '"<op_name>:<output_index>".'
                )
            op = self._find(op_name)
            if op is None:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The "
                    f"operation, {op_name!r}, does not exist in the graph."
                )
            if int(index) >= len(op.outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The "
                    f"operation, {op_name!r}, exists but only has {len(op.outputs)} "
                    "outputs."
                )
            return op.outputs[int(index)]
        if not allow_operation:
            known = self._find(name) is not None
            raise ValueError(
                f"The name {name!r} "
                + (
                    "refers to an Operation, not a Tensor. Tensor names must be of the form "
                    '"<op_name>:<output_index>".'
                    if known
                    else "looks like an (invalid) Operation name, not a Tensor. Tensor names must "
                    'be of the form "<op_name>:<output_index>".'
                )
            )
        if ":" in name:
            raise ValueError(f"The name {name!r} appears to refer to a Tensor, not a Operation.")
        op = self._find(name)
        if op is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return op

    def get_operation_by_name(self, name: str):
        """Returns the operation with a name.

        Args:
          name: the name of the operation, with its scopes: "layer/MatMul".

        Returns:
          The tf.Operation.

        Raises:
          TypeError: `name` is not a string.
          ValueError: `name` is the name of a tensor.
          KeyError: the graph has no operation with this name.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False)

    def get_tensor_by_name(self, name: str):
        """Returns the tensor with a name.

        Args:
          name: operation and output index: "layer/MatMul:0".

        Returns:
          The tf.Tensor.

        Raises:
          TypeError: `name` is not a string.
          ValueError: `name` does not have the form "operation:index".
          KeyError: the graph has no tensor with this name.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_operation=False)

    # Called by sessions

    def _fetched(self, fetch):
        try:
            return self.as_graph_element(fetch)
        except TypeError as e:
            if fetch is None:
                raise TypeError("Fetch argument None has invalid type <class 'NoneType'>") from None
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch)!r}, must be "
                f"a string or Tensor. ({e})"
            ) from None
        except (ValueError, KeyError) as e:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({e})"
            ) from None

    def _fed(self, key):
        try:
            return self.as_graph_element(key, allow_operation=False)
        except Exception as e:
            raise TypeError(
                "Cannot interpret feed_dict key as Tensor: " + str(e.args[0] if e.args else e)
            ) from None

    def _flat_feeds(self, feeds):
        """Returns the feeds with each tensor of a nested key mapped to its part of the value."""
        from situ._src.framework import nest

        return nest.flatten_dict_items(feeds)

    def _feedable(self, tensor, value):
        import numpy

        if isinstance(value, _situ.GraphTensor):
            raise TypeError(
                "The value of a feed cannot be a tf.Tensor object. Acceptable feed "
                "values include Python scalars, strings, lists, numpy ndarrays, or "
                "TensorHandles."
            )
        return numpy.asarray(value, dtype=tensor.dtype.as_numpy_dtype)

    def _capture(self, tensor, name):
        """Returns an eager tensor as a tensor of this graph, here a constant."""
        return self._constant(tensor, None, name)

    def create_op(self, op_type: str, inputs, *args, **kwargs):
        """Adds an operation by the name of its op; see create_op.py for the arguments."""
        from situ._src.framework import create_op

        return create_op.create_op(self, op_type, inputs, *args, **kwargs)

    _create_op_internal = create_op

    def is_feedable(self, tensor) -> bool:
        """Returns True: every tensor can be fed."""
        del tensor  # there is no prevent_feeding
        return True

    def is_fetchable(self, tensor) -> bool:
        """Returns True: every tensor and operation can be fetched."""
        del tensor  # there is no prevent_fetching
        return True

    # Scopes

    @contextlib.contextmanager
    def as_default(self):
        """Returns a context manager that makes this the default graph of the thread."""
        before = _situ.swap_graph(self)
        try:
            yield self
        finally:
            if _situ.current_graph() is not self:
                raise AssertionError(f"Nesting violated for default stack of {type(self)} objects")
            _situ.swap_graph(before)

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns a name that is unique in the graph, below the current name scope, and reserves
        it. `mark_as_used=False` is not supported."""
        keywords.unsupported("tf.Graph.unique_name", mark_as_used=(mark_as_used, True))
        return self._unique(self._scope, name)

    def get_name_scope(self) -> str:
        """Returns the current name scope without the final slash."""
        return self._scope[:-1]

    @contextlib.contextmanager
    def name_scope(self, name: str | None):
        """Returns a context manager that prefixes names of operations.

        Args:
          name: appended to the current scope and made unique; a name with a final slash is used as
            it is; None or "" leaves all scopes.

        Returns:
          A context manager that yields the scope with a final slash.

        Raises:
          ValueError: `name` has characters that are not allowed.
        """
        before = self._scope
        if isinstance(name, bytes):
            name = name.decode()
        if not name:
            new = ""
        elif name.endswith("/"):
            new = name
        else:
            if (
                not re.fullmatch(r"[A-Za-z0-9_.\-/]*", name)
                or not before
                and not re.match(r"[A-Za-z0-9.]", name)
            ):
                raise ValueError(f"'{name}' is not a valid scope name")
            new = self._unique(before, name) + "/"
        self._scope = new
        try:
            yield new
        finally:
            self._scope = before

    def device(self, device_name_or_function):
        """Returns a context manager that requests a device for new operations.

        Args:
          device_name_or_function: a device name, a tf.DeviceSpec, a function of the operation that
            returns one of them, or None for no device, whatever outer scopes request.
        """
        return graph_scopes.DeviceScope(self, device_name_or_function)

    def _device_of(self, op):
        """Returns the device that the device scopes request for an operation."""
        return graph_scopes.merged_device(self._devices, op)

    @contextlib.contextmanager
    def _apply_device_functions(self):
        """Applies device functions to operations that the C library adds in this scope, when it
        ends; operations in colocation scopes are excluded."""
        if not self._functions:
            yield
            return
        first, before, self._assigned_by_function = self.version, self._assigned_by_function, set()
        try:
            yield
            for op in self.get_operations()[first:]:
                if op.name not in self._assigned_by_function and op.colocation_groups() == [
                    b"loc:@" + op.name.encode()
                ]:
                    op._ask_device(
                        self._device_of(_PendingOperation(self, op.type, op.name, op.inputs))
                    )
        finally:
            self._assigned_by_function = before

    def control_dependencies(self, control_inputs):
        """Returns a context manager: new operations run after `control_inputs`.

        Args:
          control_inputs: a list of operations and tensors, or None to leave all outer scopes.
        """
        return graph_scopes.ControlScope(self, control_inputs)

    def colocate_with(self, op, ignore_existing: bool = False):
        """Returns a context manager that places new operations on the device of `op`.

        Args:
          op: an operation or tensor; None, with `ignore_existing`, for no colocation.
          ignore_existing: whether to leave the outer colocation scopes.
        """
        return graph_scopes.ColocationScope(self, op, bool(ignore_existing))

    @contextlib.contextmanager
    def container(self, name: str):
        """Returns a context manager: variables, queues, iterators and other resources that are
        created in it belong to a container, which tf.compat.v1.Session.reset can clear."""
        with graph_scopes.in_container(self, name):
            yield name

    # Collections

    def add_to_collection(self, name: str, value) -> None:
        """Appends a value to a collection."""
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value) -> None:
        """Appends a value to each of several collections."""
        for name in (names,) if isinstance(names, str) else set(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: str) -> list:
        """Returns the list of a collection itself; changes to it change the collection."""
        self._add_late_variables(name)
        return self._collections.setdefault(name, [])

    def get_collection(self, name: str, scope: str | None = None) -> list:
        """Returns a copy of a collection.

        Args:
          name: the key of the collection, such as tf.GraphKeys.LOSSES.
          scope: a regular expression; only items whose names match it are returned.

        Returns:
          A list, empty if nothing was added.
        """
        self._add_late_variables(name)
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        return [i for i in items if hasattr(i, "name") and re.match(scope, i.name)]

    def on_variables_read(self, add: Callable[[], None]) -> None:
        """Calls a function once, before the collections of variables are read the next time.

        Keras keeps the weights of its layers outside of graphs until a program asks for them.
        """
        self.__dict__.setdefault("_late_variables", []).append(add)

    def _add_late_variables(self, name: str) -> None:
        late = self.__dict__.get("_late_variables")
        if not late or name not in ("variables", "trainable_variables", "model_variables"):
            return
        if self.finalized:
            return
        self.__dict__["_late_variables"] = []
        for add in late:
            add()

    def get_all_collection_keys(self) -> list[str]:
        """Returns the keys of all collections."""
        return [k for k in self._collections if isinstance(k, str)]

    collections = property(get_all_collection_keys)

    def clear_collection(self, name: str) -> None:
        """Removes all values of a collection."""
        self._collections.pop(name, None)

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """Returns the graph as a GraphDef.

        Args:
          from_version: the version of the graph after which the nodes were added; by default all
            nodes are written.
          add_shapes: whether each node gets an attribute `_output_shapes`.
        """
        made = node_def.graph_def(self)
        if from_version is not None:
            del made.node[:from_version]
        for node in made.node if add_shapes else ():
            shapes = node.attr["_output_shapes"].list
            shapes.SetInParent()
            for output in self.get_operation_by_name(node.name).outputs:
                shapes.shape.append(as_shape(output.shape).as_proto())
        if "_function_bodies" in self.__dict__:
            from situ._src.framework import function_library

            function_library.write(self, made.library)
        return made


def device_function(graph, type_, name, inputs):
    """Called by the extension for each new operation in a scope with device functions."""
    if graph._assigned_by_function is not None:
        graph._assigned_by_function.add(name)
    return graph._device_of(_PendingOperation(graph, type_, name, inputs))


_situ.hook("device_function", device_function)
_situ.set_default_graph(Graph())


def get_default_graph():
    """Returns the default graph of the current thread.

    Returns:
      The innermost graph entered by `as_default`, else the global default graph.
    """
    style.note_default_graph()
    return _situ.get_default_graph()


def reset_default_graph() -> None:
    """Replaces the global default graph by an empty one.

    Raises:
      AssertionError: called inside of `graph.as_default()`.
    """
    if _situ.swap_graph(before := _situ.swap_graph(None)) or before is not None:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you "
            "need a cleared graph, exit the nesting and create a new graph."
        )
    _situ.set_default_graph(Graph())
    style.forget_default_graph()


@contextlib.contextmanager
def scope(name, default=None):
    """Enters a name scope of the graph that is being built; in eager mode yields the name only."""
    graph = _situ.current_graph()
    if graph is None:
        yield name
        return
    with graph.name_scope(name if name is not None else default) as full:
        yield full
