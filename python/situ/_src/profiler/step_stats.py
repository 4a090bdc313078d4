# SPDX-License-Identifier: Apache-2.0
"""step_stats.py: what a traced run did, as RunMetadata has it, and as a Chrome trace: Timeline."""

from __future__ import annotations

import json
import time

from situ._src.framework import node_def
from situ._src.framework.keywords import unsupported
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


def constants(session, fetches, feeds, records):
    """Returns records of the constants that a run read. They take no time: their values are part
    of the compiled program."""
    now = min((r[6] for r in records), default=time.time_ns())
    places, known = session._places(), {r[0] for r in records}
    return [
        (o.name, o.type, places[o.name], None, 0, 0, now, now)
        for o in _live(fetches, feeds, session.graph)
        if o.type == "Const" and o.name in places and o.name not in known
    ]


def fill(stats, records, graph):
    """Puts the records of a trace into StepStats."""
    devices = {}
    for node, op, device, source, queue, size, start, end in records:
        if device not in devices:
            devices[device] = stats.dev_stats.add(device=device)
        devices[device].node_stats.add(
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


def partitions(session):
    """A GraphDef per device that has nodes."""
    places, parts = session._places(), {}
    for node in session.graph.as_graph_def().node:
        node.device = places.get(node.name, node.device)
        parts.setdefault(node.device, node_def.GraphDef()).node.append(node)
    return [parts[device] for device in sorted(parts)]


class Timeline:
    """Timeline(run_metadata.step_stats).generate_chrome_trace_format()"""

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

    def generate_chrome_trace_format(
        self, show_dataflow=True, show_memory=False, op_time="schedule"
    ):
        """Returns the trace as text that chrome://tracing reads.

        Args:
          show_dataflow: whether to draw arrows from nodes to nodes that read their outputs.
          show_memory: must be False.
          op_time: has no effect: an op has one time, on the device that it ran on.

        Raises:
          NotImplementedError: `show_memory` is true.
        """
        unsupported("Timeline.generate_chrome_trace_format", show_memory=(show_memory, False))
        del op_time  # an op has one time
        return json.dumps({"traceEvents": list(self._events(show_dataflow))}, indent=4)


def _parse(label):
    """(op, names of its inputs) of "name = Op(a, b)"."""
    call = label.partition(" = ")[2].partition(" #")[0]
    op, _, inputs = call.partition("(")
    return op, [i for i in inputs.rstrip(")").split(", ") if i]
