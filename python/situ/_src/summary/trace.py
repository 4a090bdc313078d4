# SPDX-License-Identifier: Apache-2.0
"""trace.py: tf.summary.trace_on, trace_export and graph: graphs of compiled functions in event
files, with profiles."""

from __future__ import annotations

import threading

import _situ
from situ._src.framework import concrete_function, logs, node_def
from situ._src.framework.api import export
from situ._src.framework.graph import Graph
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.profiler import profiler as profiles
from situ._src.profiler import run_metadata, trace_recorder
from situ._src.summary.protos import Event, Summary, SummaryMetadata, tensor_proto
from situ._src.summary.summary_ops_v2 import add_event, write_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

_STRING = 7
_lock = threading.Lock()
_state: dict = {"trace": None}


class _Trace:
    """The graphs and records between trace_on and trace_export."""

    def __init__(self, graph, profiler):
        self.graph, self.profiler, self.graphs = graph, profiler, []
        self.recording = trace_recorder.Recording() if profiler else None

    def add(self, graph):
        if all(
            graph is not g for g in self.graphs
        ):  # a function compiles its graph with and without a tape
            self.graphs.append(graph)

    def metadata(self):
        metadata = run_metadata.of_graphs([_graph_def(g) for g in self.graphs])
        if self.recording is not None:
            run_metadata.add_records(metadata, self.recording.end())
            self.recording = None
        return metadata

    def close(self):
        if self.recording is not None:
            self.recording.end()


def _graph_def(graph):
    return graph if isinstance(graph, node_def.GraphDef) else node_def.graph_def(graph)


def serialized(graph) -> bytes:
    """Returns a graph or GraphDef in binary form."""
    return _graph_def(graph).SerializeToString()


def _in_function():
    return _situ.current_graph() is not None


@export(v2="summary.trace_on")
def trace_on(
    graph: bool = True, profiler: bool = False, profiler_outdir: str | None = None
) -> None:
    """Starts to collect the graphs of functions that are compiled.

    Args:
      graph: whether to collect graphs.
      profiler: whether to record a profile, too.
      profiler_outdir: the directory of the profile; without it there is a warning and no profile.
    """
    if _in_function():
        in_function = _situ.current_graph().building_function
        where = "Cannot enable trace inside a tf.function."
        logs.warn(where if in_function else "Must enable trace in eager mode.")
        return
    with _lock:
        if _state["trace"] is not None:
            logs.warn("Trace already enabled")
            return
        if profiler and profiler_outdir is None:
            logs.warn("No `profiler_outdir` passed to trace_on(). Profiler won't be enabled.")
        if profiler and profiler_outdir is not None:
            profiles.start(profiler_outdir)
        _state["trace"] = trace = _Trace(graph, profiler and profiler_outdir is not None)
        if graph or profiler:
            concrete_function.compiled_graphs = trace.add


def _stop_trace():
    with _lock:
        trace, _state["trace"], concrete_function.compiled_graphs = _state["trace"], None, None
    return trace


@export(v2="summary.trace_off")
def trace_off() -> None:
    """Stops collecting and discards the graphs."""
    trace = _stop_trace()
    if trace is not None:
        trace.close()
        if trace.profiler:
            profiles.stop(save=False)


@export(v2="summary.trace_export")
def trace_export(name: str, step: Any = None, profiler_outdir: str | None = None) -> None:
    """Stops collecting and writes the graphs to the default writer.

    Args:
      name: the tag in TensorBoard.
      step: the step; by default that of tf.summary.experimental.set_step.
      profiler_outdir: ignored with a warning; pass it to trace_on.

    Raises:
      ValueError: trace_on was not called, or there is a writer but no step.
    """
    if _in_function():
        in_function = _situ.current_graph().building_function
        where = "Cannot export trace inside a tf.function."
        logs.warn(where if in_function else "Can only export trace while executing eagerly.")
        return
    if _state["trace"] is None:
        raise ValueError("Must enable trace before export through tf.summary.trace_on.")
    if profiler_outdir is not None:
        logs.warn(
            "Ignoring `profiler_outdir` passed to trace_export(). Please pass it to "
            "trace_on() instead."
        )
    trace = _stop_trace()
    if trace.graph and not trace.graphs:
        logs.warn(
            "tf.summary.trace_export('%s'): no function was compiled since trace_on; call "
            "trace_on before the first call of a tf.function.",
            name,
        )
    plugin = (
        "graph_run_metadata_graph" if trace.graph and not trace.profiler else "graph_run_metadata"
    )
    content = trace.metadata().SerializeToString()
    if trace.profiler:
        profiles.stop()
    metadata = SummaryMetadata()
    metadata.plugin_data.plugin_name, metadata.plugin_data.content = plugin, b"1"
    write_value(
        Summary.Value(
            tag=name, metadata=metadata, tensor=tensor_proto([content], _STRING, "string_val", [])
        ),
        step,
    )


@export(v2="summary.graph")
def graph(graph_data: Any) -> Any:
    """Writes a graph to the default writer.

    Args:
      graph_data: a tf.Graph or GraphDef.

    Returns:
      Whether the graph was written.

    Raises:
      ValueError: the argument is neither, or a graph is being built.
    """
    if _in_function():
        raise ValueError("graph() cannot be invoked inside a graph context.")
    if not isinstance(graph_data, (Graph, node_def.GraphDef)):
        raise ValueError(
            "Argument 'graph_data' is not tf.Graph or tf.compat.v1.GraphDef. Received "
            f"graph_data={graph_data} of type {type(graph_data).__name__}."
        )
    return convert_to_tensor(add_event(Event(graph_def=serialized(graph_data))))
