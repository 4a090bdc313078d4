# SPDX-License-Identifier: Apache-2.0
"""switch_ops.py: switch and merge of tensorflow.python.ops.control_flow_ops, with_dependencies.

Both outputs of a switch hold the value, and everything behind them is computed; which of them is
alive, a merge finds out by walking back from its inputs."""
import collections

from situ._lib import control_flow
from situ._lib.api import export
from situ._lib.array_ops import constant, convert_to_tensor, op
from situ._lib.graph import get_default_graph, scope

MergeOutput = collections.namedtuple("Merge", ["output", "value_index"])


@export(v1=("python.ops.control_flow_ops.switch", "raw_ops.Switch"))
def switch(data, pred, dtype=None, name=None):
    """(data where pred is false, data where it is true)."""
    with scope(name, "Switch"):
        data, pred = convert_to_tensor(data, dtype), convert_to_tensor(pred)
        sides = op("Identity", data), op("Identity", data)
        alive = get_default_graph().__dict__.setdefault("_switched", {})
        for side, tensor in enumerate(sides):
            alive[tensor.op.name] = pred, bool(side)
        return sides


def _conditions(tensor):
    """(pred, side) of every switch that the tensor comes from."""
    alive = get_default_graph().__dict__.get("_switched", {})
    waiting, seen, found = [tensor.op], set(), {}
    while waiting:
        node = waiting.pop()
        if node.name in seen:
            continue
        seen.add(node.name)
        if node.name in alive:
            pred, side = alive[node.name]
            found[pred.name, side] = pred, side
            waiting.append(pred.op)
        waiting.extend(x.op for x in node.inputs)
    return list(found.values())


@export(v1=("python.ops.control_flow_ops.merge", "raw_ops.Merge"))
def merge(inputs, name=None):
    """(the input that is alive, its number)."""
    if any(x is None for x in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    with scope(name, "Merge"):
        inputs = [convert_to_tensor(x) for x in inputs]
        chosen, number = inputs[-1], constant(len(inputs) - 1)
        for i in range(len(inputs) - 2, -1, -1):
            truth = None
            for pred, side in _conditions(inputs[i]):
                here = pred if side else op("LogicalNot", pred)
                truth = here if truth is None else op("LogicalAnd", truth, here)
            if truth is None:
                chosen, number = inputs[i], constant(i)
                continue
            chosen, number = control_flow.cond(
                truth, lambda i=i: (op("Identity", inputs[i]), constant(i)),
                lambda c=chosen, n=number: (op("Identity", c), op("Identity", n)), strict=True)
        return MergeOutput(chosen, number)


@export(v1="python.ops.control_flow_ops.with_dependencies")
def with_dependencies(dependencies, output_tensor, name=None):
    """The tensor, once the dependencies have run."""
    from situ._lib.indexed_slices import IndexedSlices
    graph = get_default_graph()
    with scope(name, "control_dependency") as full, graph.control_dependencies(dependencies):
        if isinstance(output_tensor, IndexedSlices):
            return IndexedSlices(op("Identity", output_tensor.values, name=full),
                                 output_tensor.indices, output_tensor.dense_shape)
        return op("Identity", convert_to_tensor(output_tensor), name=full)
