# SPDX-License-Identifier: Apache-2.0
"""run_metadata.py: RunMetadata as TensorBoard reads it: times of nodes, and graphs of functions."""

from __future__ import annotations

from typing import Any

from situ._src.profiler.step_stats import RunMetadata


def of_graphs(graphs: list) -> Any:
    """Returns the metadata of functions with these GraphDefs."""
    made = RunMetadata()
    for graph in graphs:
        made.function_graphs.add(
            partition_graphs=[graph], pre_optimization_graph=graph, post_optimization_graph=graph
        )
    return made


def add_records(made: Any, rows: list) -> None:
    """Adds what a recording has seen to step_stats."""
    devices: dict[str, Any] = {}
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
