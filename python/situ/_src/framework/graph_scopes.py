# SPDX-License-Identifier: Apache-2.0
"""graph_scopes.py: the context managers of tf.Graph: device, control_dependencies, colocate_with.
They may be entered repeatedly and recursively."""

from __future__ import annotations

import contextlib
import re
import threading

import _situ
from situ._src.framework import api, device_spec
from situ._src.framework.device_spec import DeviceSpec

TYPE_CHECKING = False  # typing is not imported at run time: it costs start-up time
if TYPE_CHECKING:
    from typing import Any


class OpenScopes:
    """The open scopes of a graph: devices, control inputs and the name that operations outside of
    colocation scopes are colocated with."""

    def __init__(self) -> None:
        self.devices: list[Any] = []
        self.controls: list[Any] = []
        self.colocation_name: str | None = None


class ThreadScopes(threading.local):
    """The open scopes of each thread, which at first are those that all threads had."""

    def __init__(self, shared: OpenScopes) -> None:
        self.devices, self.controls = list(shared.devices), list(shared.controls)
        self.colocation_name = shared.colocation_name


def open_scope(name: str) -> property:
    """Returns the property of a graph for a member of its open scopes."""
    return property(
        lambda graph: getattr(graph._open, name),
        lambda graph, value: setattr(graph._open, name, value),
    )


class ReusableScope(contextlib.ContextDecorator):
    """A context manager that may be entered several times. `_enter` returns the value of
    `__enter__` and the function that exits the scope."""

    def __init__(self) -> None:
        self._exits: list[Any] = []

    def __enter__(self) -> Any:
        value, leave = self._enter()
        self._exits.append(leave)
        return value

    def __exit__(self, *error: Any) -> Any:
        return self._exits.pop()(*error)

    def _enter(self) -> tuple[Any, Any]:
        raise NotImplementedError


class DeviceScope(ReusableScope):
    """Requests a device: a name, a DeviceSpec, a function, or None for no device."""

    def __init__(self, graph: Any, device: Any) -> None:
        super().__init__()
        self._graph, self._device = graph, device

    def _enter(self) -> tuple[None, Any]:
        graph, device = self._graph, self._device
        if (
            device is not None
            and not callable(device)
            and not isinstance(device, (str, DeviceSpec))
        ):
            raise TypeError(
                f"device must be a str, a DeviceSpec, a function or None, not {device!r}"
            )
        is_function = callable(device)
        name = "" if is_function else None if device is None else device_spec.to_engine_name(device)
        graph._push_device(name)
        graph._devices.append(device)
        graph._functions += is_function
        depth = len(graph._devices)

        def leave(*_error: Any) -> None:
            stack = graph._devices
            if len(stack) != depth or stack[-1] is not device:
                raise RuntimeError("Exiting device scope without proper scope nesting.")
            graph._functions -= is_function
            stack.pop()
            graph._pop_device()

        return None, leave


def merged_device(levels: list[Any], op: Any) -> str:
    """Returns the device that a stack of device scopes requests for an operation. Outer scopes fill
    in fields that inner ones leave open. A function sees the result so far as `op.device`; its
    return value replaces it."""
    for level in reversed(levels):
        if level is None:
            break
        if callable(level):
            result = level(op)
            if isinstance(result, DeviceSpec):
                result = result.to_string()
            elif isinstance(result, bytes):
                result = result.decode()
            if not isinstance(result, str):
                raise TypeError(f"Expected binary or unicode string, got {result!r}")
            op.device = result
        elif level != "":
            outer = level if isinstance(level, DeviceSpec) else DeviceSpec.from_string(level)
            op.device = outer.make_merged_spec(DeviceSpec.from_string(op.device)).to_string()
    return op.device


class ControlScope(ReusableScope):
    """Adds control inputs to new operations; None hides the outer scopes."""

    def __init__(self, graph: Any, inputs: Any) -> None:
        super().__init__()
        self._graph = graph
        self._inputs = None if inputs is None else [self._operation(i) for i in inputs]

    def _operation(self, item: Any) -> Any:
        if getattr(item, "op", item) is None:  # a variable that a traced function assigns
            item = item._situ_tensor_()
        return self._graph.as_graph_element(getattr(item, "op", item), allow_tensor=False)

    def _enter(self) -> tuple[None, Any]:
        graph, hidden = self._graph, []
        if self._inputs is None:
            hidden, graph._controls = graph._controls, []
            for _ in hidden:
                graph._pop_control()
        entry = self._inputs or []
        graph._controls.append(entry)
        graph._push_control(entry)

        def leave(*_error: Any) -> None:
            graph._pop_control()
            graph._controls.pop()
            for level in hidden:
                graph._push_control(level)
                graph._controls.append(level)

        return None, leave


class ColocationScope(ReusableScope):
    """Places operations with another one and on its requested device, hiding outer device scopes;
    with ignore_existing also outer colocation scopes."""

    def __init__(self, graph: Any, op: Any, ignore_existing: bool) -> None:
        super().__init__()
        if op is None and not ignore_existing:
            raise ValueError(
                "Trying to reset colocation (op is None) but ignore_existing is not True"
            )
        self._graph, self._ignore = graph, ignore_existing
        self._op = None if op is None else self._operation(op)

    def _operation(self, op: Any) -> Any:
        found = getattr(op, "handle", op)  # of a variable: the op of its handle
        if not isinstance(found, _situ.Operation) and not hasattr(found, "op"):
            found = api.named("convert_to_tensor")(found)
        return self._graph.as_graph_element(getattr(found, "op", found), allow_tensor=False)

    def _enter(self) -> tuple[None, Any]:
        graph = self._graph
        devices, graph._devices = graph._devices, []
        if self._ignore:
            graph._push_no_colocation()
        if self._op is not None:
            graph._push_colocation(self._op)

        def leave(*_error: Any) -> None:
            for _ in range(self._ignore + (self._op is not None)):
                graph._pop_colocation()
            graph._devices = devices

        return None, leave


@contextlib.contextmanager
def colocation_named(graph: Any, name: str):
    """Places operations outside of colocation scopes with the operation of that name, which need
    not exist yet, without a requested device."""
    before = graph._colocation_name
    graph._colocation_name = name
    graph._name_colocation(name)
    try:
        yield
    finally:
        graph._colocation_name = before
        graph._name_colocation(before)


containers: list = []  # (graph, name) of the container scopes that are open


@contextlib.contextmanager
def in_container(graph, name):
    """Creates the resources of a graph in a container."""
    entry = graph, name
    containers.append(entry)
    try:
        yield
    finally:
        containers.remove(entry)


def with_container(function, kwargs):
    """Adds the container of the current graph to the arguments of an op that creates a resource."""
    here = _situ.current_graph() or _situ.get_default_graph()
    name = next((name for graph, name in reversed(containers) if graph is here), "")
    if not name or all(attr != "container" for _, attr, _ in function.parameters):
        return kwargs
    return {"container": name, **kwargs}


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """Returns a name without a name scope; "^" and "loc:@" before the scope stay."""
    if not export_scope:
        return name
    scope = export_scope.rstrip("/")
    return re.sub(rf"^(\^?|loc:@){re.escape(scope)}[/]+", r"\1", name, count=1)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """Returns a name below a name scope; "^" and "loc:@" stay in front."""
    if not import_scope:
        return name
    scope = import_scope.rstrip("/")
    mark = next((m for m in ("loc:@", "^") if name.startswith(m)), "")
    return f"{mark}{scope}/{name[len(mark) :]}"
