# SPDX-License-Identifier: Apache-2.0
"""run_metadata.py: RunMetadata as TensorBoard reads it: times of nodes, and graphs of functions."""

from __future__ import annotations

from situ._src.framework.protobuf_wire import Proto
from situ._src.framework.protos import Parts


class _NodeStats(Proto):
    FIELDS = {
        "node_name": "",
        "all_start_micros": 0,
        "op_start_rel_micros": 0,
        "op_end_rel_micros": 0,
        "all_end_rel_micros": 0,
        "timeline_label": "",
        "scheduled_micros": 0,
        "thread_id": 0,
    }
    WIRE = {
        "node_name": (1, "text"),
        "all_start_micros": (2, "int"),
        "op_start_rel_micros": (3, "int"),
        "op_end_rel_micros": (4, "int"),
        "all_end_rel_micros": (5, "int"),
        "timeline_label": (8, "text"),
        "scheduled_micros": (9, "int"),
        "thread_id": (10, "int"),
    }


class _ManyNodes(Parts):
    kind = _NodeStats


class _DeviceStats(Proto):
    FIELDS = {"device": "", "node_stats": _ManyNodes()}
    WIRE = {"device": (1, "text"), "node_stats": (2, _NodeStats)}


class _ManyDevices(Parts):
    kind = _DeviceStats


class _StepStats(Proto):
    FIELDS = {"dev_stats": _ManyDevices()}
    WIRE = {"dev_stats": (1, _DeviceStats)}


class _FunctionGraphs(Proto):
    FIELDS = {"partition_graphs": [], "pre_optimization_graph": b"", "post_optimization_graph": b""}
    WIRE = {
        "partition_graphs": (1, "bytes"),
        "pre_optimization_graph": (2, "bytes"),
        "post_optimization_graph": (3, "bytes"),
    }


class _ManyGraphs(Parts):
    kind = _FunctionGraphs


class WireMetadata(Proto):
    """RunMetadata with the numbers of its fields. Graphs are serialized GraphDefs."""

    FIELDS = {"step_stats": _StepStats, "partition_graphs": [], "function_graphs": _ManyGraphs()}
    WIRE = {
        "step_stats": (1, _StepStats),
        "partition_graphs": (3, "bytes"),
        "function_graphs": (4, _FunctionGraphs),
    }


def of_graphs(graphs: list) -> WireMetadata:
    """The metadata of functions with these serialized GraphDefs."""
    made = WireMetadata()
    for graph in graphs:
        made.function_graphs.add(
            partition_graphs=[graph], pre_optimization_graph=graph, post_optimization_graph=graph
        )
    return made


def of_message(metadata) -> bytes:
    """A tf.RunMetadata, serialized."""
    made = WireMetadata()
    for device in metadata.step_stats.dev_stats:
        stats = made.step_stats.dev_stats.add(device=device.device)
        for node in device.node_stats:
            stats.node_stats.add(**{name: getattr(node, name) for name in _NodeStats.FIELDS})
    return made.SerializeToString()


def add_records(made: WireMetadata, rows: list) -> None:
    """Adds what a recording has seen to step_stats."""
    devices = {}
    for node, op, device, source, queue, size, start, end in rows:
        if device not in devices:
            devices[device] = made.step_stats.dev_stats.add(device=device)
        micros = (end - start) // 1000
        label = f"{node} = {op}()" if source is None else f"{node} = Copy({node}) # {size} bytes"
        devices[device].node_stats.add(
            node_name=node,
            all_start_micros=start // 1000,
            op_end_rel_micros=micros,
            all_end_rel_micros=max(micros, 1),
            scheduled_micros=start // 1000,
            thread_id=queue,
            timeline_label=label,
        )
