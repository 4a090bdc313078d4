# SPDX-License-Identifier: Apache-2.0
"""branches.py: functions of a graph: what tf.cond and tf.while_loop trace their arguments into."""
import contextlib
import itertools

from situ._lib.api import OPS
from situ._lib.array_ops import convert_to_tensor
from situ._lib.graph import Graph

_numbers = itertools.count()


class BranchGraph(Graph):
    """A graph inside of another: values of the outer one become inputs by themselves."""
    building_function = True

    def __init__(self, outer):
        super().__init__()
        self._outer, self.seed = outer, outer.seed
        self._collections, self._variable_store = outer._collections, outer._variable_store
        self.captured, self.writes, self.before = {}, {}, []

    def _capture(self, tensor, name=None):
        """The input that stands for a value of the outer graph; a reference stays one."""
        if getattr(tensor, "graph", None) is not self._outer:
            capture = getattr(self._outer, "_capture")
            tensor = capture(tensor, name or "captured")
        key = id(tensor)
        if key not in self.captured:
            self.captured[key] = (tensor, self._input(tensor))
        return self.captured[key][1]

    def _input(self, tensor):
        with self.as_default(), self.control_dependencies(None):
            if tensor.op.type == "VariableV2":
                with self.device(tensor.op.device or None):
                    return OPS["VariableV2"](shape=tensor.shape, dtype=tensor.dtype.base_dtype,
                                             name="captured")
            return OPS["Placeholder"](dtype=tensor.dtype.base_dtype, shape=tensor.shape,
                                      name="captured")

    def inside(self, value):
        """A value of any kind as one of this graph."""
        tensor = convert_to_tensor(value)
        return tensor if getattr(tensor, "graph", None) is self else self._capture(tensor)

    def read_variable(self, variable):
        if variable in self.writes:
            return self.writes[variable]
        return self._capture(self._outer.read_variable(variable))

    def write_variable(self, variable, value):
        self.writes[variable] = convert_to_tensor(value)

    def control_dependencies(self, control_inputs):
        if control_inputs is None:
            return super().control_dependencies(None)
        mine = []
        for thing in control_inputs:
            op = getattr(thing, "op", thing)
            (mine if getattr(op, "graph", self) is self else self.before).append(thing)
        return super().control_dependencies(mine)

    def effects(self):
        """Operations without outputs, which nobody would run for their value."""
        return [o for o in self.get_operations() if not o.outputs and o.type != "NoOp"]


def trace(outer, function, *args):
    """The graph of a function that was called with these values inside; and what it returned."""
    graph = BranchGraph(outer)
    with contextlib.ExitStack() as stack:
        stack.enter_context(graph.as_default())
        for device in getattr(outer, "_devices", ()):
            stack.enter_context(graph.device(device))
        return graph, function(graph, *args)


def add(outer, name, graph, inputs, outputs):
    """Gives a function to the outer graph; its name."""
    name = f"{name}_{next(_numbers)}"
    outer._add_function(name, graph, list(inputs), list(outputs))
    return name


def join_captures(graphs):
    """Lets all graphs have the same captured values, in the same order; the outer ones."""
    outers = {}
    for graph in graphs:
        for key, (tensor, _) in graph.captured.items():
            outers.setdefault(key, tensor)
    for graph in graphs:
        for tensor in outers.values():
            graph._capture(tensor)
    return list(outers.values())


def inner(graph, outers):
    return [graph.captured[id(t)][1] for t in outers]


def with_effects(graph, outputs):
    """Outputs that come after the operations that nobody reads."""
    effects = graph.effects()
    if not effects:
        return outputs
    with graph.as_default(), graph.control_dependencies(effects):
        return [OPS["Identity"](x) for x in outputs]

