# SPDX-License-Identifier: Apache-2.0
"""graph_util.py: parts of graphs, variables as constants, graphs in files (tf.graph_util)."""

from __future__ import annotations

import base64
import json
import os

import numpy

from situ._src.framework.api import export
from situ._src.framework.graph import Graph
from situ._src.framework.node_def import GraphDef

VARIABLES = ("VariableV2", "Variable", "VarHandleOp")


def _exported(name):
    return export(v1=("graph_util." + name, "python.framework.graph_util." + name))


def _sources(node):
    return [i.lstrip("^").partition(":")[0] for i in node.get("input", ())]


@_exported("extract_sub_graph")
def extract_sub_graph(graph_def, dest_nodes):
    """What some nodes need, in the order that it has."""
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = json.loads(graph_def._json()).get("node", [])
    by_name = {n["name"]: n for n in nodes}
    for name in dest_nodes:
        if name not in by_name:
            raise AssertionError(f"{name} is not in graph")
    wanted, waiting = set(), list(dest_nodes)
    while waiting:
        name = waiting.pop()
        if name not in wanted and name in by_name:
            wanted.add(name)
            waiting += _sources(by_name[name])
    return GraphDef._of([n for n in nodes if n["name"] in wanted])


def _constant(name, array, device):
    from situ._src.framework.dtypes import as_dtype

    kind = as_dtype("string" if array.dtype.kind in "OSU" else array.dtype)
    tensor = {
        "dtype": "DT_" + kind.name.upper(),
        "tensorShape": {"dim": [{"size": str(d)} for d in array.shape]},
    }
    if kind.name == "string":
        tensor["stringVal"] = [base64.b64encode(v).decode() for v in array.ravel().tolist()]
    else:
        tensor["tensorContent"] = base64.b64encode(array.tobytes()).decode()
    return {
        "name": name,
        "op": "Const",
        "input": [],
        "device": device,
        "attr": {"dtype": {"type": tensor["dtype"]}, "value": {"tensor": tensor}},
    }


@_exported("convert_variables_to_constants")
def convert_variables_to_constants(
    sess,
    input_graph_def,
    output_node_names,
    variable_names_whitelist=None,
    variable_names_blacklist=None,
):
    """What outputs need, with the values that variables have now in their places."""
    part = extract_sub_graph(input_graph_def, list(output_node_names))
    nodes = json.loads(part._json())["node"]
    chosen = [
        n["name"]
        for n in nodes
        if n["op"] in VARIABLES
        and (variable_names_whitelist is None or n["name"] in variable_names_whitelist)
        and n["name"] not in (variable_names_blacklist or ())
    ]
    reads = {n["name"]: _sources(n)[0] for n in nodes if n["op"] == "ReadVariableOp"}
    fetches = {name: name + ":0" for name in chosen if name not in reads.values()}
    fetches.update({source: read + ":0" for read, source in reads.items() if source in chosen})
    return frozen(nodes, sess.run(fetches) if fetches else {})


def frozen(nodes, values):
    """A graph of nodes with values in the places of variables."""
    made = []
    for node in nodes:
        if node["name"] in values:
            node = _constant(
                node["name"], numpy.asarray(values[node["name"]]), node.get("device", "")
            )
        elif node["op"] == "ReadVariableOp" and _sources(node)[0] in values:
            node = dict(node, op="Identity", attr={"T": node["attr"]["dtype"]})
        made.append(node)
    return GraphDef._of(made)


@_exported("remove_training_nodes")
def remove_training_nodes(input_graph, protected_nodes=None):
    """Without nodes that only training needs: checks of numbers."""
    nodes = json.loads(input_graph._json()).get("node", [])
    gone = {
        n["name"]: n["input"][0]
        for n in nodes
        if n["op"] == "CheckNumerics" and n["name"] not in (protected_nodes or ())
    }
    for node in nodes:
        node["input"] = [gone.get(i, i) for i in node.get("input", ())]
    return GraphDef._of([n for n in nodes if n["name"] not in gone])


@export("io.write_graph", v1=("train.write_graph", "python.framework.graph_io.write_graph"))
def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes a graph to a file; gives the path."""
    graph_def = (
        graph_or_graph_def.as_graph_def()
        if isinstance(graph_or_graph_def, Graph)
        else graph_or_graph_def
    )
    os.makedirs(logdir or ".", exist_ok=True)
    path = os.path.join(logdir, name)
    with open(path, "wb") as file:
        file.write(str(graph_def).encode() if as_text else graph_def.SerializeToString())
    return path
