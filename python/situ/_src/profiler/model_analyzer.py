# SPDX-License-Identifier: Apache-2.0
"""model_analyzer.py: tf.profiler of TensorFlow 1: parameters, float operations and times of a
graph."""

from __future__ import annotations

import sys

import _situ
from situ._src.framework import errors
from situ._src.framework.api import V1, export
from situ._src.framework.graph import get_default_graph
from situ._src.framework.message_classes import message_class
from situ._src.profiler import report, step_stats, views
from situ._src.profiler.node_stats import add_times, read_graph, read_step
from situ._src.profiler.option_builder import FIELDS, ProfileOptionBuilder, as_text, complete

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

V1["profiler.GraphNodeProto"] = GraphNodeProto = message_class("tensorflow.tfprof.GraphNodeProto")
V1["profiler.MultiGraphNodeProto"] = MultiGraphNodeProto = message_class(
    "tensorflow.tfprof.MultiGraphNodeProto"
)
V1["profiler.OpLogProto"] = OpLogProto = message_class("tensorflow.tfprof.OpLogProto")
OpLogEntry = message_class("tensorflow.tfprof.OpLogEntry")


def _filled(kind, node):
    """Returns a message with those numbers of a node that its type has."""
    numbers = {"total_definition_count": node.definitions}
    for field in FIELDS.values():
        numbers[field], numbers["total_" + field] = node.own[field], node.total[field]
    known = kind.DESCRIPTOR.fields_by_name
    return kind(name=node.name, **{k: v for k, v in numbers.items() if k in known})


def _tree_message(root):
    made = _filled(GraphNodeProto, root)
    stack = [(root, made)]
    while stack:
        node, message = stack.pop()
        message.devices.extend(sorted(node.devices))
        for child in node.children:
            message.children.append(_filled(GraphNodeProto, child))
            stack.append((child, message.children[-1]))
    return made


def _ops_message(root, shown):
    made = message = _filled(MultiGraphNodeProto, root)
    for node in shown:
        message.children.append(_filled(MultiGraphNodeProto, node))
        message = message.children[0]
        message.graph_nodes.extend(_filled(GraphNodeProto, _alone(m)) for m in node.members)
    return made


def _alone(node):
    node.total = dict(node.own)
    return node


def _timeline(path, steps, step):
    """Writes the trace of a step where chrome://tracing finds it."""
    if step not in steps:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"A timeline is of one step, and there is no step {step}: choose one of "
            f"{sorted(steps) or 'those that add_step is given'} with with_step.",
        )
    text = step_stats.Timeline(steps[step].step_stats).generate_chrome_trace_format()
    _situ.replace_file(f"{path}_{step}", text.encode())


def _write(options, report):
    """Writes a report to the output that the options select."""
    where, _, more = options["output"].partition(":")
    if where == "stdout":
        sys.stdout.write(
            "\n=========================Options=============================\n"
            + as_text(options)
            + "\n==================Model Analysis Report======================\n"
            + report
            + "\n======================End of Report==========================\n"
        )
        sys.stdout.flush()
    elif where == "file":
        _situ.replace_file(more.partition("=")[2], report.encode())
    elif where != "none":
        raise errors.InvalidArgumentError(
            None,
            None,
            f"situ cannot write a profile as {options['output']!r}: it knows stdout, "
            "file:outfile=PATH, timeline:outfile=PATH and none.",
        )


def _show(graph, steps, log, view, options):
    """Prints a view of a graph and returns it as a message; steps: number -> RunMetadata."""
    if view == "code":
        raise errors.UnimplementedError(
            None,
            None,
            "cmd='code': situ does not keep which line of a program made an "
            "operation; cmd='scope' shows them by name, tf.name_scope gives names.",
        )
    if view not in report.VIEWS:
        raise errors.InvalidArgumentError(
            None, None, f"unknown cmd: {view}; a profile has the views {', '.join(report.VIEWS)}."
        )
    options = complete(options)
    if options["output"].startswith("timeline:"):
        step = options["step"] if options["step"] >= 0 or len(steps) != 1 else next(iter(steps))
        _timeline(options["output"].partition("=")[2], steps, step)
        options["output"] = "none"
    nodes = read_graph(graph, log, "float_ops" not in options["select"])
    add_times(nodes, graph, {k: read_step(v) for k, v in steps.items()}, options["step"])
    if view == "op":
        root, shown = views.show_ops(nodes, options)
        _write(options, report.about(view, options) + report.ops(root, shown, options))
        return _ops_message(root, shown)
    tree = views.scope_tree(nodes) if view == "scope" else views.graph_tree(nodes)
    root = views.show_tree(tree, options, view == "scope")
    _write(options, report.about(view, options) + report.tree(root, options))
    return _tree_message(root)


@export(
    "python.profiler.model_analyzer.profile",
    v1=("profiler.profile", "contrib.tfprof.model_analyzer.profile"),
)
def profile(
    graph: Any = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Any = None,
) -> Any:
    """Prints the parameters and float operations of a graph, and the times and memory of a
    traced run; returns them as a message: total_parameters, total_float_ops, children.

    Args:
      graph: The graph; the default graph if it is None.
      run_meta: RunMetadata of a traced step.
      op_log: OpLogProto with types of operations.
      cmd: View: "scope", "graph", "op" or "code".
      options: The options.
    """
    if options is None:
        options = ProfileOptionBuilder.trainable_variables_parameter()
    return _show(
        get_default_graph() if graph is None else graph,
        {} if run_meta is None else {0: run_meta},
        op_log,
        cmd,
        options,
    )


@export(v1="contrib.tfprof.model_analyzer.print_model_analysis")
def print_model_analysis(
    graph: Any,
    run_meta: Any = None,
    op_log: Any = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Any = None,
) -> Any:
    """Profiles a graph: the name of tf.profiler.profile in the first versions.

    Args:
      graph: The graph; the default graph if it is None.
      run_meta: RunMetadata of a traced step.
      op_log: OpLogProto with types of operations.
      tfprof_cmd: View: "scope", "graph", "op" or "code".
      tfprof_options: The options.
    """
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)


@export(
    "python.profiler.model_analyzer.Profiler",
    v1=("profiler.Profiler", "contrib.tfprof.model_analyzer.Profiler"),
)
class Profiler:
    """Profiles of a graph over several traced steps."""

    _steps: dict

    def __init__(self, graph: Any = None, op_log: Any = None):
        self._graph = get_default_graph() if graph is None else graph
        self._log, self._steps = op_log, {}

    def add_step(self, step: Any, run_meta: Any) -> None:
        """Adds the RunMetadata of a step."""
        self._steps[int(step)] = run_meta

    def _profile(self, view, options):
        return _show(self._graph, self._steps, self._log, view, options)

    def profile_name_scope(self, options: Any) -> Any:
        """Profiles by name scope."""
        return self._profile("scope", options)

    def profile_graph(self, options: Any) -> Any:
        """Profiles by the dependencies of operations."""
        return self._profile("graph", options)

    def profile_operations(self, options: Any) -> Any:
        """Profiles by op."""
        return self._profile("op", options)

    def profile_python(self, options: Any) -> Any:
        """Raises an error: situ does not record the source lines of operations."""
        return self._profile("code", options)
