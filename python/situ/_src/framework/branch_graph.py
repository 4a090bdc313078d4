# SPDX-License-Identifier: Apache-2.0
"""branch_graph.py: BranchGraph, the function graph of a tf.cond branch or a tf.while_loop body:
values of outer graphs become its inputs."""

from __future__ import annotations

import contextlib
import itertools

import _situ
from situ._src.framework import nest, style
from situ._src.framework.api import OPS, export
from situ._src.framework.concrete_function import read_assigned_value
from situ._src.framework.graph import Graph
from situ._src.framework.resource_order import effects_of, note_uses
from situ._src.framework.tensor import constant_value
from situ._src.framework.type_spec import spec_of
from situ._src.ops.array_ops import convert_to_tensor

_function_ids = itertools.count()
_v2: dict = {"enabled": None}  # None: as the style of the program says


@export(v1="enable_control_flow_v2")
def enable_control_flow_v2() -> None:
    """Names the operations of tf.cond and tf.while_loop as TensorFlow 2 does from now on."""
    _v2["enabled"] = True


@export(v1="disable_control_flow_v2")
def disable_control_flow_v2() -> None:
    """Names the operations of tf.cond and tf.while_loop in graphs as TensorFlow 1 does from now
    on."""
    _v2["enabled"] = False


@export(v1="control_flow_v2_enabled")
def control_flow_v2_enabled() -> bool:
    """Returns whether the operations of tf.cond and tf.while_loop in graphs are named as TensorFlow
    2 does: they are If and While in all cases."""
    return not style.is_graph_program() if _v2["enabled"] is None else _v2["enabled"]


def uses_v2(graph):
    """Returns whether tf.cond and tf.while_loop in a graph are named as TensorFlow 2 does."""
    return control_flow_v2_enabled() or graph.building_function


def function_name(scope, kind):
    """Returns the name of a function without its number: "while_body" of the scope "while/"."""
    return f"{scope}{kind}".replace("/", "_")


def _variable_name(operation):
    """Returns the name by which errors call the variable of an operation."""
    return operation.get_attr("shared_name").decode() or operation.name


class BranchGraph(Graph):
    """A function graph inside of another graph. Values of the outer graph are captured as
    inputs."""

    def __init__(self, outer):
        super().__init__()
        self._outer, self.seed = outer, outer.seed
        self.root = getattr(outer, "root", outer)
        self._collections, self._variable_store = outer._collections, outer._variable_store
        self._variable_scopes = outer._variable_scopes
        self._scope, self._captures = outer._scope, True
        outer.__dict__.setdefault("_branch_graphs", []).append(self)
        self.captured, self.reads, self.writes, self.before = {}, {}, {}, []
        self.versions = {}
        self._orders_effects = self.building_function

    building_function = property(lambda s: s.root.building_function)
    is_control_flow_graph = True  # of a branch or a loop

    def _capture(self, tensor, name=None):
        """Returns the input for a value of an outer graph; a reference variable stays a
        reference."""
        if getattr(tensor, "graph", None) is not self._outer:
            tensor = self._outer._capture(tensor, name or "captured")
        return self._input(tensor.name, tensor)

    def _input(self, key, tensor):
        if key not in self.captured:
            with self.as_default(), self.control_dependencies(None):
                self.captured[key] = tensor, self._create_input(tensor)
        return self.captured[key][1]

    def _create_input(self, tensor):
        dtype = tensor.dtype.base_dtype
        if tensor.op.type == "VariableV2":
            with self.device(tensor.op.device or None):
                return OPS["VariableV2"](
                    shape=tensor.shape,
                    dtype=dtype,
                    shared_name=_variable_name(tensor.op),
                    name="captured",
                )
        if tensor.op.type == "VarHandleOp":
            with self.device(tensor.op.device or None):
                return OPS["VarHandleOp"](
                    shape=tensor.op.get_attr("shape"),
                    dtype=tensor.op.get_attr("dtype"),
                    shared_name=_variable_name(tensor.op),
                    name="captured",
                )
        if tensor.op.type == "Const" and not dtype.is_floating:  # it needs no gradient
            return convert_to_tensor(constant_value(tensor), dtype, "captured")
        return OPS["Placeholder"](dtype=dtype, shape=tensor.shape, name="captured")

    def inside(self, value):
        """Returns a value as a tensor of this graph."""
        tensor = convert_to_tensor(value)
        return tensor if getattr(tensor, "graph", None) is self else self._capture(tensor)

    def read_variable(self, variable):
        """Returns the value of an eager variable in this graph; each variable has one input."""
        if variable in self.writes:
            return read_assigned_value(self, variable)
        if variable not in self.reads:
            self.reads[variable] = self._input(variable, self._outer.read_variable(variable))
        return self.reads[variable]

    def write_variable(self, variable, value):
        self.writes[variable] = self.inside(value)

    @property
    def created(self):
        return self.root.created

    @created.setter
    def created(self, count):
        self.root.created = count

    def control_dependencies(self, control_inputs):
        if control_inputs is None:
            return super().control_dependencies(None)
        inner = []
        for item in control_inputs:
            op = getattr(item, "op", item)
            (inner if getattr(op, "graph", self) is self else self.before).append(item)
        return super().control_dependencies(inner)

    def effects(self):
        """Returns the operations of a traced function that run for their side effects."""
        if not self.building_function:
            return []
        return effects_of(self)


@contextlib.contextmanager
def outside():
    """Enters the outermost graph, with the name scope of the current one."""
    graph = _situ.current_graph()
    root = getattr(graph, "root", graph)
    if root is graph:
        yield graph
        return
    before, root._scope = root._scope, graph._scope
    try:
        with root.as_default(), root.control_dependencies(None):
            yield root
    finally:
        root._scope = before


def trace(outer, function):
    """Traces `function(graph)` in a new branch graph. Returns the graph and the function's
    result."""
    graph = BranchGraph(outer)
    with contextlib.ExitStack() as stack:
        stack.enter_context(graph.as_default())
        for device in getattr(outer, "_devices", ()):
            stack.enter_context(graph.device(device))
        return graph, function(graph)


def add(outer, name, graph, inputs, outputs, keeps_name=False):
    """Adds a function to the outer graph. Returns its unique name: `name` with a number, or without
    one if it `keeps_name` and the name is not in use."""
    names = getattr(outer, "root", outer).__dict__.setdefault("_function_names", set())
    if not keeps_name or name in names:
        name = f"{name}_{next(_function_ids)}"
    names.add(name)
    outer._add_function(name, graph, list(inputs), list(outputs))
    outer.__dict__.setdefault("_function_bodies", {})[name] = graph, list(inputs), list(outputs)
    return name


def is_stateful(graph):
    """Returns whether an operation of a graph is stateful: reads or changes what outlives a run, or
    is random."""
    if getattr(graph, "reads", None) or getattr(graph, "writes", None):
        return True
    return any(
        OPS[kind].definition["stateful"] for kind in {o.type for o in graph.get_operations()}
    )


def unify_captures(graphs):
    """Gives all graphs the same captured values in the same order. Returns {key: outer value}."""
    outers = {key: tensor for graph in graphs for key, (tensor, _) in graph.captured.items()}
    for graph in graphs:
        for key, tensor in outers.items():
            graph._input(key, tensor)
    return outers


def inner(graph, keys):
    """Returns the inputs of a graph for captured values."""
    return [graph.captured[key][1] for key in keys]


def drop_constants(outers, graphs):
    """Returns the captures without those that all functions contain as constants."""
    return {
        key: tensor
        for key, tensor in outers.items()
        if any(g.captured[key][1].op.type != "Const" for g in graphs)
    }


def order_after_effects(graph, outputs):
    """Returns the outputs, ordered after the side effects of the graph of a function."""
    effects = effects_of(graph) if graph.building_function else []
    if not effects:
        return outputs
    with graph.as_default(), graph.control_dependencies(effects):
        return [OPS["Identity"](x) for x in outputs]


def note_effects(outer, graphs, operation):
    """Marks an operation as a side effect of the outer graph if one of its functions has any."""
    note_uses(outer, graphs, operation)
    if any(graph.effects() for graph in graphs):
        outer._last_effect = operation


# Nested structures, in which a TensorArray is represented by its flow tensor


def tensor_of(leaf, convert=convert_to_tensor):
    """Returns the tensor of a leaf; of a TensorArray its flow."""
    return convert(leaf._flow() if hasattr(leaf, "_flow") else leaf)


def pack(structure, values):
    """Packs tensors into a structure; where that has a TensorArray, into a copy of it."""
    filled = [
        old._with_flow(new) if hasattr(old, "_with_flow") else new
        for old, new in zip(nest.flatten(structure, True), values)
    ]
    return nest.pack_sequence_as(structure, filled, True)


def shapes_of(leaf):
    """Returns the shapes that the tensors of a leaf keep in a loop: of a composite tensor those of
    its spec, since the number of its values may change."""
    if not hasattr(type(leaf), "_situ_tensors_"):
        return [tensor_of(leaf).shape]
    if hasattr(leaf, "nested_row_splits") or hasattr(leaf, "dense_shape"):
        return [part.shape for part in spec_of(leaf)._situ_tensors_]
    return [part.shape for part in leaf._situ_tensors_]
