# SPDX-License-Identifier: Apache-2.0
"""function_library.py: serializes the functions of a graph (branches, loop bodies) to JSON and
reads them back."""

from __future__ import annotations

import json

from situ._src.framework import branch_graph, import_graph_def, node_def


def written(graph):
    """Returns the functions of a graph as JSON data, by name."""
    return {
        name: {
            "nodes": json.loads(body._save(True)).get("node", []),
            "inputs": [t.name for t in inputs],
            "outputs": [t.name for t in outputs],
            "functions": written(body),
        }
        for name, (body, inputs, outputs) in graph.__dict__.get("_function_bodies", {}).items()
    }


def _outputs_by_name(operations, names):
    """Returns the tensors with names "operation:index"."""
    parts = [name.partition(":") for name in names]
    return [operations[name].outputs[int(index)] for name, _, index in parts]


def read(graph, functions):
    """Adds functions to a graph. Returns their new names by their old ones."""
    names = {}
    for name, entry in functions.items():
        body = branch_graph.BranchGraph(graph)
        with body.as_default():
            inner = read(body, entry["functions"])
            made = import_graph_def.import_nodes(
                node_def.from_json(entry["nodes"]).node, functions=inner
            )

            inputs = _outputs_by_name(made, entry["inputs"])
            outputs = _outputs_by_name(made, entry["outputs"])
        names[name] = branch_graph.add(graph, name.rpartition("_")[0], body, inputs, outputs)
    return names
