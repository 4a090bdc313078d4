# SPDX-License-Identifier: Apache-2.0
"""node_stats.py: the statistics of each operation in a profile: shapes, float operations, times."""

from __future__ import annotations

import sys

from situ._src.framework import dtypes, tensor_shape
from situ._src.profiler.flops import Unknown, flops
from situ._src.profiler.option_builder import FIELDS, TRAINABLE

ROOT, SCOPE = "_TFProfRoot", "_kTFScopeParent"  # names as TensorFlow's reports have them


class Node:
    """A node of a profile. `own` and `total` map fields to numbers; `vague`: the output bytes of
    the node or of one below it are not known."""

    def __init__(self, name, op=SCOPE, shape=None, inputs=(), reads=()):
        self.name, self.op, self.types, self.shape = name, op, {op}, shape
        self.inputs, self.reads = inputs, reads  # tensors; names of the operations it waits for
        self.own, self.total = dict.fromkeys(FIELDS.values(), 0), {}
        self.devices, self.members = set(), []  # members: of an op, in the view of ops
        self.account = self.vague = False
        self.children, self.depth, self.definitions = [], 0, 1


def _shape(operation):
    """Returns the attribute `shape` of variables and placeholders: a list with -1 for unknown
    sizes."""
    try:
        shape = operation.get_attr("shape")
    except ValueError:
        return None
    shape = tensor_shape.as_shape(shape)
    if shape.ndims is None:
        return None
    return [-1 if d is None else d for d in shape.as_list()] or [1]


def _bytes(operation):
    """Returns the bytes of the outputs, None if a shape is not known."""
    total = 0
    for tensor in operation.outputs:
        count = tensor_shape.as_shape(tensor.shape).num_elements()
        if count is None:
            return None
        total += count * (getattr(dtypes.as_dtype(tensor.dtype), "size", 0) or 0)
    return total


def _product(sizes):
    count = 1
    for size in sizes or [0]:
        count *= size
    return count if min(sizes or [0]) >= 0 else 0


def read_graph(graph, log, quiet):
    """Returns the nodes of all operations by name; `log` is an OpLogProto, or None."""
    nodes, open_shapes = {}, 0
    for operation in graph.get_operations():
        shape = _shape(operation)
        inputs = list(operation.inputs)
        reads = [o.name for o in (*(t.op for t in inputs), *operation.control_inputs)]
        node = nodes[operation.name] = Node(operation.name, operation.type, shape, inputs, reads)
        node.own["parameters"] = _product(shape)
        try:
            node.own["float_ops"] = flops(operation)
        except Unknown:
            open_shapes += 1
        if operation.device:
            node.types.add(operation.device.lower())
    for variable in graph.get_collection("trainable_variables"):
        if variable.op.name in nodes:
            nodes[variable.op.name].types.add(TRAINABLE)
    for entry in log.log_entries if log is not None else ():
        if entry.name in nodes:
            nodes[entry.name].types.update(entry.types)
            nodes[entry.name].own["float_ops"] = (
                entry.float_ops or nodes[entry.name].own["float_ops"]
            )
    if open_shapes and not quiet:
        sys.stderr.write(
            f"{open_shapes} ops no flops stats due to incomplete shapes: give "
            "placeholders all their dimensions.\n"
        )
    return nodes


def read_step(run_meta):
    """Returns a dictionary from names to [(device, nanoseconds, op)] of a traced step."""
    done = {}
    for device in run_meta.step_stats.dev_stats:
        for stat in device.node_stats:
            op = stat.timeline_label.partition(" = ")[2].partition("(")[0]
            done.setdefault(stat.node_name, []).append(
                (device.device.lower(), stat.all_end_rel_nanos, op)
            )
    return done


def add_times(nodes, graph, steps, step):
    """Adds the times of a step to the nodes; step -1: the mean of all steps."""
    chosen = list(steps.values()) if step < 0 else [steps[step]] if step in steps else []
    for name in dict.fromkeys(name for done in chosen for name in done):
        ran = [done[name] for done in chosen if name in done]
        work = [piece for pieces in ran for piece in pieces]
        node = nodes.setdefault(name, Node(name, work[0][2]))
        node.devices.update(device for device, _, _ in work)
        node.types.update(node.devices)
        node.own["run_count"] = 1
        for field, wanted in (("cpu_exec_micros", "cpu"), ("accelerator_exec_micros", "")):
            nanos = sum(n for device, n, _ in work if ("device:cpu" in device) == (wanted == "cpu"))
            node.own[field] = max(1, round(nanos / len(ran) / 1000)) if nanos else 0
            node.own["exec_micros"] += node.own[field]
        operation = graph._find(name)
        size = _bytes(operation) if operation is not None else None
        node.vague = size is None
        node.own["requested_bytes"] = node.own["output_bytes"] = size or 0
