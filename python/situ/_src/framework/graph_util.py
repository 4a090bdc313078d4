# SPDX-License-Identifier: Apache-2.0
"""graph_util.py: tf.graph_util: subgraphs, freezing of variables, and tf.io.write_graph."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy

import _situ
from situ._src.framework import style
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import Graph
from situ._src.framework.node_def import GraphDef, NodeDef
from situ._src.framework.tensor_proto import make_proto

VARIABLES = ("VariableV2", "Variable", "VarHandleOp")


def _exported(name):
    return export(v1=("graph_util." + name, "python.framework.graph_util." + name))


def _input_nodes(node):
    return [i.lstrip("^").partition(":")[0] for i in node.input]


@_exported("extract_sub_graph")
def extract_sub_graph(graph_def: Any, dest_nodes: list) -> Any:
    """Returns the part of a graph that some nodes depend on.

    Args:
      graph_def: a GraphDef.
      dest_nodes: a list of names of nodes.

    Returns:
      A GraphDef with the nodes in their order.

    Raises:
      TypeError: `dest_nodes` is a string.
      AssertionError: a node does not exist.
    """
    if isinstance(dest_nodes, str):
        if style.is_graph():
            raise TypeError("dest_nodes must be a list.")
        raise TypeError(
            f"dest_nodes must be an iterable of strings, but got type {type(dest_nodes)}."
        )
    by_name = {n.name: n for n in graph_def.node}
    for name in dest_nodes:
        if name not in by_name:
            raise AssertionError(f"{name} is not in graph")
    needed: set[str] = set()
    pending = list(dest_nodes)
    while pending:
        name = pending.pop()
        if name not in needed and name in by_name:
            needed.add(name)
            pending += _input_nodes(by_name[name])
    return _with_nodes(graph_def, [n for n in graph_def.node if n.name in needed])


def _with_nodes(graph_def, nodes):
    """Returns a GraphDef with these nodes, and the versions and functions of another."""
    return GraphDef(node=nodes, versions=graph_def.versions, library=graph_def.library)


def _constant(name, array, device):
    kind = as_dtype("string" if array.dtype.kind in "OSU" else array.dtype)
    node = NodeDef(name=name, op="Const", device=device)
    node.attr["dtype"].type = kind.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(make_proto(array, kind))
    return node


@_exported("convert_variables_to_constants")
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Any,
    variable_names_whitelist: Any = None,
    variable_names_blacklist: Any = None,
) -> Any:
    """Replaces the variables of a graph by constants with their current values.

    Args:
      sess: the session that has the values.
      input_graph_def: a GraphDef.
      output_node_names: the nodes to keep, with all that they depend on.
      variable_names_whitelist: names of the variables to convert; None for all.
      variable_names_blacklist: names of variables to leave.

    Returns:
      A GraphDef.
    """
    part = extract_sub_graph(input_graph_def, list(output_node_names))
    chosen = [
        n.name
        for n in part.node
        if n.op in VARIABLES
        and (variable_names_whitelist is None or n.name in variable_names_whitelist)
        and n.name not in (variable_names_blacklist or ())
    ]
    handles = {n.name for n in part.node if n.op == "VarHandleOp"}
    reads: dict = {}
    for node in input_graph_def.node:
        if node.op == "ReadVariableOp" and _input_nodes(node)[0] in handles:
            reads.setdefault(_input_nodes(node)[0], node.name + ":0")
    fetches = {name: reads[name] if name in handles else name + ":0" for name in chosen}
    return frozen(part, sess.run(fetches) if fetches else {})


def frozen(graph_def, values):
    """Replaces the variables of a GraphDef that `values` has by constants, also where functions
    use them. Returns it."""
    handles = {}  # names of nodes and arguments that were handles -> the type of the value
    for node in graph_def.node:
        if node.name in values:
            array = numpy.asarray(values[node.name])
            is_handle = node.op == "VarHandleOp"
            node.CopyFrom(_constant(node.name, array, node.device))
            if is_handle:
                handles[node.name] = node.attr["dtype"].type
    functions = {f.signature.name: f for f in graph_def.library.function}
    _freeze_uses(graph_def.node, handles, functions)
    return graph_def


_RESOURCE = 20  # DT_RESOURCE
_FORWARDING = ("Identity", "Switch", "Enter", "Exit", "NextIteration")
_TYPE_LISTS = {
    "If": ("Tin", 1),
    "StatelessIf": ("Tin", 1),
    "While": ("T", 0),
    "StatelessWhile": ("T", 0),
    "PartitionedCall": ("Tin", 0),
    "StatefulPartitionedCall": ("Tin", 0),
}


def _freeze_uses(nodes, handles, functions, in_function=False):
    """Changes nodes that use handles so that they use the values."""
    changed = True
    while changed:
        before = len(handles)
        for node in list(nodes):
            source = _input_nodes(node)[0] if node.input else None
            if node.op in _TYPE_LISTS:
                _freeze_call(node, handles, functions)
            elif source not in handles or node.name in handles:
                continue
            elif node.op in _FORWARDING:
                node.attr["T"].type = handles[node.name] = handles[source]
            elif node.op == "ReadVariableOp":
                node.op = "Identity"
                node.attr.clear()
                node.attr["T"].type = handles[source]
            elif node.op == "ResourceGather":
                _freeze_gather(nodes, node, handles[source], in_function)
        changed = len(handles) > before


def _freeze_gather(nodes, node, kind, in_function):
    indices = node.attr["Tindices"].type
    batch_dims = node.attr["batch_dims"].i
    axis = nodes.add()
    axis.CopyFrom(_constant(node.name + "/axis", numpy.int32(0), node.device))
    node.op = "GatherV2"
    node.attr.clear()
    node.input.append(axis.name + (":output:0" if in_function else ""))
    node.attr["Tparams"].type, node.attr["Tindices"].type = kind, indices
    node.attr["Taxis"].type = axis.attr["dtype"].type
    node.attr["batch_dims"].i = batch_dims


def _freeze_call(node, handles, functions):
    """Changes the types of the arguments of a call, and the functions that it calls."""
    name, first = _TYPE_LISTS[node.op]
    types = node.attr[name].list.type
    kinds = {}
    sources = [i for i in node.input if not i.startswith("^")][first:]
    for i, text in enumerate(sources):
        source = text.partition(":")[0]
        if source in handles and types[i] == _RESOURCE:
            types[i] = kinds[i] = handles[source]
    called = [a.func.name for a in node.attr.values() if a.WhichOneof("value") == "func"]
    for function in (functions[n] for n in called if kinds and n in functions):
        inside = {}
        for i, kind in kinds.items():
            function.signature.input_arg[i].type = kind
            inside[function.signature.input_arg[i].name] = kind
        _freeze_uses(function.node_def, inside, functions, True)
        for argument in function.signature.output_arg:
            source = function.ret[argument.name].partition(":")[0]
            if source in inside and argument.type == _RESOURCE:
                argument.type = inside[source]


@_exported("remove_training_nodes")
def remove_training_nodes(input_graph: Any, protected_nodes: list | None = None) -> Any:
    """Removes nodes that only training needs: CheckNumerics, and Identity and StopGradient without
    control edges with which no node is colocated.

    Args:
      input_graph: a GraphDef.
      protected_nodes: names of nodes to keep.

    Returns:
      A GraphDef.
    """
    kept = set(protected_nodes or ())
    checks = {n.name for n in input_graph.node if n.op == "CheckNumerics" and n.name not in kept}
    nodes = [_copy(n) for n in input_graph.node if n.name not in checks]
    for node in nodes:
        node.input[:] = [i for i in node.input if i.lstrip("^") not in checks]
    controls = {i[1:] for n in nodes for i in n.input if i.startswith("^")}
    colocated = {
        re.sub("^loc:@", "", group.decode())
        for n in nodes
        if "_class" in n.attr
        for group in n.attr["_class"].list.s
    }
    spliced = {
        n.name: n.input[0]
        for n in nodes
        if n.op in ("Identity", "StopGradient")
        and n.name not in kept | controls | colocated
        and not any(i.startswith("^") for i in n.input)
    }
    nodes = [n for n in nodes if n.name not in spliced]
    for node in nodes:
        node.input[:] = [_followed(i, spliced) for i in node.input]
    made = GraphDef(node=nodes)
    if input_graph.library.function:
        made.library.CopyFrom(input_graph.library)
    return made


def _copy(node):
    made = NodeDef()
    made.CopyFrom(node)
    return made


def _followed(name, replaced):
    """Returns the input that a chain of removed nodes reads."""
    while name.lstrip("^") in replaced:
        name = replaced[name.lstrip("^")]
    return name


@export("io.write_graph", v1=("train.write_graph", "python.framework.graph_io.write_graph"))
def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a graph to a file.

    Args:
      graph_or_graph_def: a tf.Graph or a GraphDef.
      logdir: the directory; it is created.
      name: the name of the file.
      as_text: whether to write the text format instead of the binary one.

    Returns:
      The path of the file.
    """
    graph_def = (
        graph_or_graph_def.as_graph_def()
        if isinstance(graph_or_graph_def, Graph)
        else graph_or_graph_def
    )
    os.makedirs(logdir or ".", exist_ok=True)
    path = os.path.join(logdir, name)
    _situ.replace_file(path, str(graph_def).encode() if as_text else graph_def.SerializeToString())
    return path
