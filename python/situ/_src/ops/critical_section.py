# SPDX-License-Identifier: Apache-2.0
"""critical_section.py: tf.CriticalSection: functions that run one at a time, under a mutex."""

from __future__ import annotations

import collections
import contextlib
import threading

import _situ
from situ._src.framework import branch_graph, nest
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import get_default_graph
from situ._src.framework.scopes import control_dependencies, init_scope, name_scope
from situ._src.framework.tensor import GraphTensor
from situ._src.ops.array_ops import group, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any

CRITICAL_SECTIONS = "critical_sections"
CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"
_Execution = collections.namedtuple(
    "_Execution", ("op", "handle", "resources", "exclusive_resource_access")
)
_running = threading.local()  # the sections whose functions are being called by this thread


def _identity(value):
    if type(value).__name__ == "TensorArray":
        return value.identity()
    if hasattr(value, "node_def"):  # an operation
        return group(value)
    return None if value is None else op("Identity", value)


@export("CriticalSection")
class CriticalSection:
    """Executes functions one at a time, so that nothing sees their work half done.

    Args:
      name: A name for the mutex (optional).
      shared_name: Sections of one shared name exclude each other; by default the name.
      critical_section_def: Not supported.
      import_scope: Not supported.

    Raises:
      ValueError: If `critical_section_def` is given.
    """

    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ):
        if critical_section_def is not None or import_scope is not None:
            raise ValueError("Argument `critical_section_def` is not supported.")
        with name_scope(name, "CriticalSection") as full, init_scope():
            shared = full if shared_name is None else shared_name
            self._handle = op("MutexV2", shared_name=shared, name=full)
        self._signature = (shared or id(self._handle), getattr(self._handle, "device", ""))
        self._shared_name = shared
        if _situ.current_graph() is not None:
            get_default_graph().add_to_collection(CRITICAL_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the mutex operation."""
        return self._handle.op.name

    def execute(
        self, fn: Any, exclusive_resource_access: bool = True, name: str | None = None
    ) -> Any:
        """Calls a function while no other function of the critical section runs.

        Args:
          fn: A function without arguments that returns tensors.
          exclusive_resource_access: Whether no other critical section may use the variables and
            other resources that `fn` uses.
          name: A name for the operation (optional).

        Returns:
          What `fn` returns.

        Raises:
          ValueError: If `fn` executes the same critical section, which would wait for itself, or
            uses resources to which another section has exclusive access.
        """
        with name_scope(name, "critical_section_execute"), self._entered():
            if _situ.current_graph() is None:
                return self._execute_eagerly(fn)
            # The lock is taken after all that the function uses is computed: an operation that
            # waits for the same mutex must not be computed under the lock.
            traced, _ = branch_graph.trace(get_default_graph(), lambda _: fn())
            captured = [tensor for tensor, _ in traced.captured.values()]
            resources = {v.name: v for v in (*traced.reads, *traced.writes)}
            resources.update((x.name, x) for x in captured if x.dtype.name == "resource")
            self._check_resources(resources, exclusive_resource_access)
            with control_dependencies(captured):
                lock = op("MutexLock", self._handle)
            with control_dependencies([lock]):
                result = fn()
            flat = [_identity(x) for x in nest.flatten(result)]
            with control_dependencies([x for x in flat if x is not None] or [lock]):
                released = OPS["ConsumeMutexLock"](lock)
            with control_dependencies([released]):
                outputs = nest.pack_sequence_as(result, [_identity(x) for x in flat])
            entry = _Execution(
                lock.op, self._handle, list(resources.values()), exclusive_resource_access
            )
            get_default_graph().add_to_collection(CRITICAL_SECTION_EXECUTIONS, entry)
            return outputs

    def _execute_eagerly(self, fn):
        lock = op("MutexLock", self._handle)
        try:
            return nest.map_structure(_identity, fn())
        finally:
            OPS["ConsumeMutexLock"](lock)

    @contextlib.contextmanager
    def _entered(self):
        stack = _running.__dict__.setdefault("stack", [])
        if self._signature in stack:
            raise ValueError(
                f"Attempting to lock a CriticalSection (signature={self._signature}) in which"
                " we are already running. This is illegal and may cause deadlocks."
            )
        stack.append(self._signature)
        try:
            yield
        finally:
            stack.pop()

    def _is_own(self, handle):
        """Returns whether a handle is that of a mutex of the same shared name."""
        if handle is self._handle or not isinstance(handle, GraphTensor):
            return handle is self._handle
        node = handle.op
        name = self._shared_name.encode() if self._shared_name else None
        return node.type == "MutexV2" and node.get_attr("shared_name") == name

    def _check_resources(self, resources, exclusive):
        """Raises ValueError if another section has or would lose exclusive access."""
        for entry in get_default_graph().get_collection(CRITICAL_SECTION_EXECUTIONS):
            if self._is_own(entry.handle):
                continue
            if not (exclusive or entry.exclusive_resource_access):
                continue
            shared = [x for x in entry.resources if x.name in resources]
            if shared:
                raise ValueError(
                    f"This execution would access resources: {shared}. Either this lock "
                    f"(CriticalSection: {self._handle}) or lock '{entry}' "
                    f"(CriticalSection: {entry.handle}) requested exclusive resource "
                    "access of this resource. Did you mean to call execute with "
                    "keyword argument exclusive_resource_access=False?"
                )
