# SPDX-License-Identifier: Apache-2.0
"""step_stats.py: traced runs as RunMetadata, and as Chrome traces (Timeline)."""

from __future__ import annotations

import collections
import json
import time

from situ._src.framework import node_def
from situ._src.framework.message_classes import message_class

StepStats = message_class("tensorflow.StepStats")
RunMetadata = message_class("tensorflow.RunMetadata")


def _label(graph, node, op, source, size):
    if source is not None:
        return f"{node} = Copy({node}) # {size} bytes from {source}"
    found = graph._find(node)
    inputs = ", ".join(t.op.name for t in found.inputs) if found is not None else ""
    return f"{node} = {op}({inputs})"


def _live(fetches, feeds, graph):
    """Yields the operations that a run needs."""
    cut = {graph.as_graph_element(f, allow_operation=False).name for f in feeds}
    seen, waiting = set(), [graph.as_graph_element(f) for f in fetches]
    while waiting:
        item = waiting.pop()
        operation = getattr(item, "op", item)
        if item.name in cut or operation.name in seen:
            continue
        seen.add(operation.name)
        yield operation
        waiting += [*operation.inputs, *operation.control_inputs]


def on_devices(records, places):
    """Returns the records of a trace with the device that each operation is placed on: all CPU
    devices share one queue."""
    return [r if r[3] is not None else (*r[:2], places.get(r[0], r[2]), *r[3:]) for r in records]


def unrecorded(session, fetches, feeds, records):
    """Returns records of the operations of a run that execute nothing: constants, whose values are
    part of the compiled program, and those whose outputs share memory with their inputs, such as
    variables and their reads."""
    now = min((r[6] for r in records), default=time.time_ns())
    places, known = session._places(), {r[0] for r in records}
    return [
        (o.name, o.type, places[o.name], None, 0, 0, now, now)
        for o in _live(fetches, feeds, session.graph)
        if o.name in places and o.name not in known
    ]


def fill(stats, records, graph):
    """Puts the records of a trace into StepStats."""
    devices = {}
    for node, op, device, source, queue, size, start, end in records:
        if device not in devices:
            devices[device] = stats.dev_stats.add(device=device)
        stats_of_node = devices[device].node_stats.add(
            node_name=node,
            all_start_micros=start // 1000,
            all_start_nanos=start,
            op_end_rel_micros=(end - start) // 1000,
            op_end_rel_nanos=end - start,
            all_end_rel_micros=max((end - start) // 1000, 1),
            all_end_rel_nanos=end - start,
            scheduled_micros=start // 1000,
            scheduled_nanos=start,
            thread_id=queue,
            timeline_label=_label(graph, node, op, source, size),
        )
        if source is None:
            _fill_outputs(stats_of_node, graph._find(node), device)


def _allocator(device):
    """Returns TensorFlow's name of the allocator of a device: "cpu", "GPU_0_bfc"."""
    kind, _, index = device.rpartition("device:")[2].partition(":")
    return "cpu" if kind == "CPU" else f"{kind}_{index}_bfc"


def _fill_outputs(stats, operation, device):
    """Describes the outputs of an operation, as far as their shapes are known."""
    for slot, output in enumerate(operation.outputs if operation is not None else ()):
        if not output.shape.is_fully_defined() or not output.dtype.size:
            continue
        size = output.shape.num_elements() * output.dtype.size
        description = stats.output.add(slot=slot).tensor_description
        description.dtype = output.dtype.base_dtype.as_datatype_enum
        description.shape.CopyFrom(output.shape.as_proto())
        description.allocation_description.requested_bytes = size
        description.allocation_description.allocated_bytes = size
        description.allocation_description.allocator_name = _allocator(device)


def fill_costs(costs, records, graph):
    """Puts the records of a trace into a CostGraphDef, a node per operation."""
    ids = {}
    for node, _op, device, _source, _queue, _size, start, end in records:
        found = graph._find(node)
        if found is None or node in ids:
            continue
        ids[node] = len(ids)
        cost = costs.node.add(
            name=node, device=device, id=ids[node], compute_cost=(end - start) // 1000
        )
        for output in found.outputs:
            shape = output.shape
            size = shape.num_elements() if shape.is_fully_defined() else 0
            cost.output_info.add(
                size=size * output.dtype.size,
                dtype=output.dtype.base_dtype.as_datatype_enum,
                shape=shape.as_proto(),
            )
    for cost in costs.node:
        for tensor in graph._find(cost.name).inputs:
            if tensor.op.name in ids:
                cost.input_info.add(
                    preceding_node=ids[tensor.op.name], preceding_port=tensor.value_index
                )


def partitions(session):
    """Returns a GraphDef per device with nodes."""
    places, parts = session._places(), {}
    for node in session.graph.as_graph_def().node:
        node.device = places.get(node.name, node.device)
        parts.setdefault(node.device, node_def.GraphDef()).node.append(node)
    return [parts[device] for device in sorted(parts)]


class AllocationMaximum(
    collections.namedtuple("AllocationMaximum", ("timestamp", "num_bytes", "tensors"))
):
    """The time of the largest allocation of an allocator, its bytes and its tensors."""


class StepStatsAnalysis(
    collections.namedtuple("StepStatsAnalysis", ("chrome_trace", "allocator_maximums"))
):
    """A trace in Chrome's format, and an AllocationMaximum per allocator."""


class _ChromeTrace:
    """The events of a trace."""

    def __init__(self, events):
        self._events = events

    def format_to_string(self, pretty=False):
        """Returns the trace as text that chrome://tracing reads.

        Args:
          pretty: whether to write a line per value.
        """
        return json.dumps({"traceEvents": self._events}, indent=4 if pretty else None)


class Timeline:
    """Converts step_stats to a Chrome trace:
    Timeline(run_metadata.step_stats).generate_chrome_trace_format()."""

    def __init__(self, step_stats, graph=None):
        del graph  # the labels of step_stats have the inputs of nodes
        self._stats = step_stats

    def _events(self, show_dataflow):
        flow, made = 0, {}
        for pid, device in enumerate(self._stats.dev_stats):
            yield {
                "name": "process_name",
                "ph": "M",
                "pid": pid,
                "args": {"name": device.device + " Compute"},
            }
            for node in device.node_stats:
                op, inputs = _parse(node.timeline_label)
                start = node.all_start_nanos / 1000
                args = {"name": node.node_name, "op": op}
                args.update((f"input{i}", name) for i, name in enumerate(inputs))
                yield {
                    "ph": "X",
                    "cat": "Op",
                    "name": op,
                    "pid": pid,
                    "tid": node.thread_id,
                    "ts": start,
                    "dur": node.all_end_rel_nanos / 1000,
                    "args": args,
                }
                for name in inputs if show_dataflow else ():
                    if name not in made:
                        continue
                    at, begin = made[name], {"cat": "DataFlow", "name": name, "id": flow}
                    yield {"ph": "s", "pid": at[0], "tid": at[1], "ts": at[2], **begin}
                    yield {"ph": "t", "pid": pid, "tid": node.thread_id, "ts": start, **begin}
                    flow += 1
                made[node.node_name] = pid, node.thread_id, start + node.all_end_rel_nanos / 1000

    def _allocations(self):
        """Returns [(time, bytes, tensor)] per allocator, sorted by time. A tensor lives until the
        last node that reads it ends."""
        made, last = {}, {}
        for device in self._stats.dev_stats:
            for node in device.node_stats:
                end = node.all_start_micros + node.all_end_rel_micros
                for output in node.output:
                    name = f"{node.node_name}:{output.slot}" if output.slot else node.node_name
                    memory = output.tensor_description.allocation_description
                    made[name] = node.all_start_micros, memory
                    last[name] = max(end, last.get(name, end))
                for name in _parse(node.timeline_label)[1]:
                    last[name] = max(end, last.get(name, end))
        changes = {}
        for name, (start, memory) in made.items():
            of = changes.setdefault(memory.allocator_name, [])
            of += [(start, memory.requested_bytes, name)]
            of += [(last[name], -memory.requested_bytes, name)]
        return {allocator: sorted(found) for allocator, found in changes.items()}

    def _memory(self, pid, show_memory):
        """Returns events of the allocated bytes over time, and the maximum per allocator."""
        events, maximums = [], {}
        for allocator, changes in self._allocations().items():
            total, live = 0, set()
            maximums[allocator] = AllocationMaximum(0, 0, set())
            for time_, size, name in changes:
                total += size
                (live.add if size > 0 else live.discard)(name)
                if total > maximums[allocator].num_bytes:
                    maximums[allocator] = AllocationMaximum(time_, total, set(live))
                events.append(
                    {
                        "ph": "C",
                        "cat": "Memory",
                        "name": allocator,
                        "pid": pid,
                        "ts": time_,
                        "args": {allocator: total},
                    }
                )
        return events if show_memory else [], maximums

    def analyze_step_stats(self, show_dataflow=True, show_memory=True, op_time="schedule"):
        """Returns the trace and the memory that the tensors of the step need.

        Args:
          show_dataflow: whether to draw arrows from nodes to nodes that read their outputs.
          show_memory: whether to show the allocated bytes over time.
          op_time: has no effect: an op has one time, on the device that it ran on.

        Returns:
          A StepStatsAnalysis.
        """
        del op_time  # an op has one time
        memory, maximums = self._memory(len(self._stats.dev_stats), show_memory)
        return StepStatsAnalysis(_ChromeTrace([*self._events(show_dataflow), *memory]), maximums)

    def generate_chrome_trace_format(
        self, show_dataflow=True, show_memory=False, op_time="schedule"
    ):
        """Returns the trace as text that chrome://tracing reads.

        Args:
          show_dataflow: whether to draw arrows from nodes to nodes that read their outputs.
          show_memory: whether to show the allocated bytes over time.
          op_time: has no effect: an op has one time, on the device that it ran on.
        """
        found = self.analyze_step_stats(show_dataflow, show_memory, op_time)
        return found.chrome_trace.format_to_string(pretty=True)


def _parse(label):
    """Parses "name = Op(a, b)" to (op, names of its inputs)."""
    call = label.partition(" = ")[2].partition(" #")[0]
    op, _, inputs = call.partition("(")
    return op, [i for i in inputs.rstrip(")").split(", ") if i]
