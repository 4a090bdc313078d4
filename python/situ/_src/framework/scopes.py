# SPDX-License-Identifier: Apache-2.0
"""scopes.py: tf.device, tf.name_scope, tf.control_dependencies, tf.init_scope and the collection
functions, in both styles."""

from __future__ import annotations

import contextlib
import threading

import _situ
from situ._src.framework import api, style
from situ._src.framework.api import export
from situ._src.framework.device_spec import DeviceSpec
from situ._src.framework.device_types import LogicalDevice
from situ._src.framework.graph import get_default_graph, scope
from situ._src.framework.graph_scopes import ReusableScope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike

_HOST = DeviceSpec("localhost", 0, 0, "CPU", 0)


class EagerDevice(ReusableScope):
    """A device scope of eager operations."""

    def __init__(self, device: object) -> None:
        super().__init__()
        self._device = device

    def _enter(self):
        device = self._device
        if isinstance(device, DeviceSpec):
            device = device.to_string()
        if device is not None and not isinstance(device, str):
            raise ValueError(f"Expecting a string device name. Got {type(device)}({device})")
        before = _situ.swap_device("")
        try:
            _situ.swap_device(_nested(before, device))
        except BaseException:
            _situ.swap_device(before)
            raise
        stack = _device_scopes()
        stack.append(self)
        depth = len(stack)

        def leave(*_error):
            if len(stack) != depth or stack[-1] is not self:
                raise RuntimeError("Exiting device scope without proper scope nesting")
            stack.pop()
            _situ.swap_device(before)

        return None, leave


def _nested(outer, device):
    """Returns the name of a device merged into that of the outer scope."""
    if device is None:
        return ""
    if device == "":
        return outer
    spec = DeviceSpec.from_string(device)
    around = DeviceSpec.from_string(outer) if outer else _HOST
    return around.make_merged_spec(spec).to_string()


class Device(ReusableScope):
    """What tf.device returns. Entering it opens a scope of the graph that is being built, or of
    eager operations."""

    def __init__(self, name: object) -> None:
        super().__init__()
        self._name = name

    def _enter(self):
        made = get_default_graph().device(self._name) if _is_building() else EagerDevice(self._name)
        return made.__enter__(), made.__exit__


def _is_building():
    return _situ.current_graph() is not None


@export("device")
def device(device_name_or_function: Any = None, device_name: str | None = None) -> Any:
    """Returns a context manager that requests a device for operations.

    Args:
      device_name_or_function: a device name, a tf.DeviceSpec, a tf.config.LogicalDevice, None for
        no device, or, in graphs, a function of the operation.
      device_name: the same, under the name of TensorFlow 2.

    Returns:
      A context manager.

    Raises:
      RuntimeError: a function was passed while eager execution is enabled.
    """
    name = device_name if device_name is not None else device_name_or_function
    if isinstance(name, LogicalDevice):
        name = name.name
    if callable(name) and not isinstance(name, DeviceSpec) and not _is_building():
        raise RuntimeError("tf.device does not support functions when eager execution is enabled.")
    return Device(name)


class name_scope(ReusableScope):
    """A context manager that prefixes the names of operations.

    Args:
      name: the name of the scope; None uses `default_name`.
      default_name: the name if `name` is None.
      values: tensors, operations or variables; the scope is one of their graph. By default it is
        one of the current graph.

    Raises:
      TypeError: `default_name` is not a string.
      ValueError: the values belong to different graphs.
    """

    def __init__(self, name, default_name=None, values=None):
        super().__init__()
        if default_name is not None and not isinstance(default_name, str):
            raise TypeError("`default_name` type should be a str")
        self._name = default_name if name is None else name
        self.name, self._values = self._name, values

    def _enter(self):
        if _situ.current_graph() is None:
            full = _joined(self._name)
            _scopes().append(full)
            return full, lambda *_error: _scopes().pop() and None
        with contextlib.ExitStack() as stack:
            stack.enter_context(in_graph_of(self._values))
            return stack.enter_context(scope(self._name)), stack.pop_all().__exit__


def in_graph_of(values):
    """Returns a context manager that enters the graph of the values of a scope, if it is not the
    current one.

    Raises:
      ValueError: the values belong to different graphs.
    """
    here = _situ.current_graph()
    if not values or here is None or here.building_function or here._captures:
        return contextlib.nullcontext()  # a function or branch captures tensors of other graphs
    first, graph = None, here
    for value in values:
        found = getattr(value, "graph", None)
        if found is None or found.building_function or found._captures:
            continue
        if first is None:
            first, graph = value, found
        elif found is not graph:
            raise ValueError(f"{value} must be from the same graph as {first}.")
    return contextlib.nullcontext() if graph is here else graph.as_default()


_eager = threading.local()


def _scopes():
    """Returns the stack of eager name scopes of this thread: "a/", "a/b/"."""
    if not hasattr(_eager, "scopes"):
        _eager.scopes = []
    return _eager.scopes


def _device_scopes():
    """Returns the stack of eager device scopes of this thread."""
    if not hasattr(_eager, "devices"):
        _eager.devices = []
    return _eager.devices


def eager_scope() -> str:
    """Returns the prefix of names of variables and summaries outside of graphs."""
    return _scopes()[-1] if _scopes() else ""


def _joined(name):
    if not name:
        return ""
    return name if name.endswith("/") else f"{eager_scope()}{name}/"


export("name_scope")(name_scope)


@export(v1="op_scope")
def op_scope(values: TensorLike, name: str, default_name: Any = None) -> Any:
    """Deprecated form of tf.name_scope.

    Args:
      values: tensors, operations or variables; the scope is one of their graph.
      name: the name of the scope.
      default_name: the name if `name` is None.
    """
    return name_scope(name, default_name, values)


@export("control_dependencies")
def control_dependencies(control_inputs: Any) -> Any:
    """Returns a context manager: operations in it run after `control_inputs`.

    Args:
      control_inputs: a list of operations and tensors, or None to leave outer scopes. No effect
        eagerly.
    """
    if not _is_building():
        return contextlib.nullcontext()
    return get_default_graph().control_dependencies(control_inputs)


@export(v1=("colocate_with",))
def colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """Returns a context manager that places operations on the device of `op`.

    Args:
      op: an operation, tensor, variable, or value that converts to a tensor; None, with
        `ignore_existing`, for no colocation.
      ignore_existing: whether to leave outer colocation scopes.

    Raises:
      ValueError: `op` is None, but `ignore_existing` is False; or it is an eager tensor, while a
        graph is being built.
    """
    if not _is_building():
        return contextlib.nullcontext() if op is None else EagerDevice(_device_of(op))
    here = get_default_graph()
    if isinstance(op, _situ.EagerTensor):
        if here.building_function:
            return here.device(op.device)
        raise ValueError(
            "Encountered an Eager-defined Tensor during graph construction, but a function was not "
            "being built."
        )
    if getattr(op, "graph", here) is not here and hasattr(here, "root"):
        return contextlib.nullcontext()  # a branch cannot refer to outer operations
    return here.colocate_with(op, ignore_existing)


def _device_of(value):
    """Returns the device of an eager tensor or variable, or of a value that converts to one."""
    if not hasattr(value, "device"):
        value = api.named("convert_to_tensor")(value)
    return value.device


def colocate_with_variable(variable):
    """Places operations on the device of a variable; no effect for eager variables and None."""
    op = getattr(variable, "op", None)
    return (
        contextlib.nullcontext()
        if op is None
        else colocate_with(getattr(getattr(variable, "handle", None), "op", op))
    )


@export("init_scope")
@contextlib.contextmanager
def init_scope() -> Any:
    """Returns a context manager that leaves traced functions, branches of tf.cond and control
    dependencies.

    Use it to create variables. A graph that the program has entered itself stays the current one.
    """
    here = get_default_graph() if style.is_graph() else _situ.current_graph()
    root = getattr(here, "root", here)
    if style.is_graph() or root is not None and not root.building_function:
        with root.as_default(), root.control_dependencies(None):
            before, root._scope = root._scope, here._scope
            try:
                yield
            finally:
                root._scope = before
        return
    before = _situ.swap_graph(None)
    try:
        yield
    finally:
        _situ.swap_graph(before)


@export(v1="container")
def container(container_name: str) -> Any:
    """Returns a context manager: variables, queues, iterators and other resources that are created
    in it belong to a container, which tf.compat.v1.Session.reset can clear.

    Args:
      container_name: the name of the container.
    """
    return get_default_graph().container(container_name)


@export(v1="add_to_collection")
def add_to_collection(name: str, value: TensorLike) -> None:
    """Appends a value to a collection of the default graph.

    Args:
      name: the key of the collection.
      value: the value.
    """
    get_default_graph().add_to_collection(name, value)


@export(v1="add_to_collections")
def add_to_collections(names: Any, value: TensorLike) -> None:
    """Appends a value to several collections of the default graph.

    Args:
      names: the keys.
      value: the value.
    """
    get_default_graph().add_to_collections(names, value)


@export(v1="get_collection")
def get_collection(key: str, scope: str | None = None) -> list:
    """Returns a copy of a collection of the default graph.

    Args:
      key: the key of the collection.
      scope: a regular expression that names of items must match, or None.
    """
    return get_default_graph().get_collection(key, scope)


@export(v1="get_collection_ref")
def get_collection_ref(key: str) -> list:
    """Returns the list of a collection of the default graph itself.

    Args:
      key: the key of the collection.
    """
    return get_default_graph().get_collection_ref(key)
