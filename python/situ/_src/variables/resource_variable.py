# SPDX-License-Identifier: Apache-2.0
"""resource_variable.py: ResourceVariable: graph-mode variables by handle. A value that was read
does not change when the variable is assigned."""

from __future__ import annotations

import functools

from situ._src.framework import tensor_shape
from situ._src.framework.graph import get_default_graph
from situ._src.framework.graph_scopes import colocation_named
from situ._src.ops.array_ops import convert_to_tensor, identity, op
from situ._src.variables.graph_variable import GraphVariable, aggregated


class ResourceVariable(GraphVariable):
    """A variable of a graph: a VarHandleOp, its AssignVariableOp and a ReadVariableOp per use."""

    _situ_reads_ = True  # an op reads it in its own name scope

    def _make(self, graph, full, initial_value, dtype, shape):
        with colocation_named(graph, full.rstrip("/")):
            with graph.name_scope("Initializer"), graph.device(None):
                value = convert_to_tensor(
                    initial_value() if callable(initial_value) else initial_value,
                    dtype,
                    "initial_value",
                )
            self._initial_value, self.dtype = value, value.dtype.base_dtype
            self.shape = tensor_shape.as_shape(self._fixed_shape(value, shape))
            # Device functions look at the shape and type of the variable to be created.
            graph._pending_variable = {"shape": self.shape, "dtype": self.dtype}
            self._handle = op(
                "VarHandleOp",
                dtype=self.dtype,
                shape=self.shape,
                shared_name=full.rstrip("/"),
                name=full,
            )
        graph.__dict__.setdefault("_handles", {})[self._handle.op] = self
        with graph.name_scope("IsInitialized"):
            self._is_initialized = op("VarIsInitializedOp", self._handle)
        with graph.colocate_with(None, True), graph.device(self._handle.device):
            self._initializer = op("AssignVariableOp", self._handle, value, name="Assign")
        with graph.name_scope("Read"):
            with graph.device(self._handle.device):
                self._snapshot = op("ReadVariableOp", self._handle, dtype=self.dtype)
            if self._caching_device is not None:
                with graph.colocate_with(None, True), graph.device(self._caching_device):
                    self._cached = identity(self._snapshot)

    _cached = None  # the value on the caching device

    name = property(lambda s: s._handle.name)
    op = property(lambda s: s._handle.op)
    handle = property(lambda s: s._handle)
    device = property(lambda s: s._handle.device)
    create = property(lambda s: s._initializer)

    def is_initialized(self, name=None):
        """Returns a boolean tensor: whether the variable has a value."""
        return op("VarIsInitializedOp", self._handle, name=name)

    def _read(self):
        """Reads the value after the control dependencies of the current scope."""
        if self._caching_device is None:
            return op("ReadVariableOp", self._handle, dtype=self.dtype)
        graph = get_default_graph()
        with graph.colocate_with(None, True), graph.device(self._caching_device):
            return op("ReadVariableOp", self._handle, dtype=self.dtype)

    def value(self):
        """Returns a tensor with the value."""
        return self._situ_tensor_()

    def read_value(self):
        """Returns a tensor with the value, read after the current control dependencies."""
        with get_default_graph().name_scope("Read"):
            value = self._read()
        return identity(value)

    def sparse_read(self, indices, name=None):
        """Returns the slices along the first axis at `indices`."""
        with get_default_graph().name_scope(name or "Gather") as full:
            return op("ResourceGather", self._handle, indices, dtype=self.dtype, name=full)

    def gather_nd(self, indices, name=None):
        """Returns the slices that the index tuples in the last axis of `indices` select."""
        return op("GatherNd", self._situ_tensor_(), indices, name=name)

    def _situ_tensor_(self):
        if self._cached is not None:
            return self._cached
        graph = get_default_graph()
        if graph.building_function:
            return self._snapshot
        with graph.colocate_with(None, True):  # read on its own device
            return self._read()

    def _as_graph_element(self):
        return self._snapshot

    def _changed(self, change, read_value):
        return Changed(self, getattr(change, "op", change)) if read_value else change

    def _fitting(self, value):
        value = convert_to_tensor(value, self.dtype)
        self.shape.assert_is_compatible_with(value.shape)
        return value

    @aggregated
    def assign(self, value, use_locking=None, name=None, read_value=True):
        """Assigns a value.

        Returns:
          The variable after the assignment, or the operation if `read_value` is false.
        """
        del use_locking  # TensorFlow ignores it, too
        return self._changed(
            op("AssignVariableOp", self._handle, self._fitting(value), name=name), read_value
        )

    @aggregated
    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        """Adds to the value.

        Returns:
          The variable after the assignment, or the operation if `read_value` is false.
        """
        del use_locking  # TensorFlow ignores it, too
        return self._changed(
            op("AssignAddVariableOp", self._handle, self._fitting(delta), name=name), read_value
        )

    @aggregated
    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        """Subtracts from the value.

        Returns:
          The variable after the assignment, or the operation if `read_value` is false.
        """
        del use_locking  # TensorFlow ignores it, too
        return self._changed(
            op("AssignSubVariableOp", self._handle, self._fitting(delta), name=name), read_value
        )

    def _assign_part(self, parts, value, name):
        begin, end, strides, masks = parts
        made = op(
            "ResourceStridedSliceAssign",
            self._handle,
            begin,
            end,
            strides,
            value,
            name=name,
            **masks,
        )
        return self._changed(made, True)

    def _scatter(self, op_name, indices, updates, name):
        updates = convert_to_tensor(updates, self.dtype)
        return self._changed(
            op("Resource" + op_name, self._handle, indices, updates, name=name), True
        )

    def count_up_to(self, limit):
        """Increments the variable until it reaches `limit`, then raises OutOfRangeError. Returns
        the old value."""
        return op("ResourceCountUpTo", self._handle, limit=limit, T=self.dtype)

    def set_shape(self, shape):
        self.shape.assert_is_compatible_with(shape)


class Changed(ResourceVariable):
    """A variable after an assignment: reads run after the assignment."""

    def __init__(self, variable, change):  # creates a read only
        self.__dict__.update(variable.__dict__)
        self._change, self._caching_device, self._cached = change, None, None
        graph = get_default_graph()
        self._snapshot = self._initial_value if graph.building_function else self._read()

    op = property(lambda s: s._change)

    def _read(self):
        with get_default_graph().control_dependencies([self._change]):
            return super()._read()


def _after(method):
    """Returns a method of ResourceVariable whose ops run after the assignment."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        with get_default_graph().control_dependencies([self._change]):
            return method(self, *args, **kwargs)

    return call


for _name in (
    "assign",
    "assign_add",
    "assign_sub",
    "_assign_part",
    "_scatter",
    "sparse_read",
    "count_up_to",
):
    setattr(Changed, _name, _after(getattr(ResourceVariable, _name)))
