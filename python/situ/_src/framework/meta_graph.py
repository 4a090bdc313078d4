# SPDX-License-Identifier: Apache-2.0
"""meta_graph.py: a graph with its collections in a file: export_meta_graph, import_meta_graph."""

from __future__ import annotations

import json
import os

import _situ
from situ._src.checkpoint import safetensors, sliced_variables
from situ._src.framework import import_graph_def
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.keywords import unexpected
from situ._src.framework.tensor_shape import as_shape
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.variable import RefVariable, Variable

_FORMAT = "situ meta graph"
_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
)


class MetaGraphDef:
    """What a file of a meta graph holds."""

    def __init__(self, data):
        self._data = data

    collection_def = property(lambda s: s._data["collections"])

    @property
    def signature_def(self):
        """The signatures of a saved model, by name."""
        from situ._src.saved_model import builder

        return builder.signatures(self._data.get("signatures", {}))

    def __str__(self):
        return json.dumps(self._data, indent=1)


def _item(value):
    """A member of a collection as data, or None where it cannot be one."""
    if isinstance(value, Variable) and hasattr(value, "initializer"):
        return {"variable": value.op.name}
    if isinstance(value, _situ.GraphTensor):
        return {"tensor": value.name}
    if isinstance(value, _situ.Operation):
        return {"operation": value.name}
    if isinstance(value, (str, int, float)):
        return {"value": value}
    return None


def _collections(graph, only):
    found = {}
    for key in graph.get_all_collection_keys():
        items = [_item(v) for v in graph.get_collection(key)]
        if (only is None or key in only) and None not in items:
            found[key] = items
    return found


def _variables(graph):
    known = {
        v.op.name: v
        for key in _VARIABLES
        for v in graph.get_collection(key)
        if isinstance(v, (RefVariable, ResourceVariable))
    }
    return [
        {
            "name": name,
            "initializer": v.initializer.name,
            "snapshot": v._snapshot.name,
            "initial_value": v.initial_value.name,
            "trainable": v.trainable,
            "slice": sliced_variables.info(v) and vars(sliced_variables.info(v)),
        }
        for name, v in known.items()
    ]


def write(path, graph, saver=None, collection_list=None):
    """Writes a graph; without a path only gives it."""
    from situ._src.framework import function_library

    data = {
        "format": _FORMAT,
        "graph": json.loads(graph._save(True)),
        "functions": function_library.written(graph),
        "variables": _variables(graph),
        "collections": _collections(graph, collection_list),
        "saver": saver.as_saver_def() if saver is not None else None,
    }
    if path:
        safetensors.replace(os.fspath(path), [json.dumps(data).encode()])
    return MetaGraphDef(data)


@export(v1="train.export_meta_graph")
def export_meta_graph(
    filename=None,
    meta_info_def=None,
    graph_def=None,
    saver_def=None,
    collection_list=None,
    as_text=False,
    graph=None,
    export_scope=None,
    clear_devices=False,
    clear_extraneous_savers=False,
    strip_default_attrs=False,
    save_debug_info=False,
    **kwargs,
):
    for keyword in kwargs:
        raise unexpected("export_meta_graph", keyword, export_meta_graph)
    """Writes the graph and its collections."""
    return write(filename, graph or get_default_graph(), None, collection_list)


def _read(source):
    if isinstance(source, MetaGraphDef):
        return source._data
    try:
        with open(source, "rb") as file:
            text = file.read()
    except FileNotFoundError:
        raise OSError(f"File {source} does not exist.") from None
    try:
        data = json.loads(text)
        if data["format"] != _FORMAT:
            raise KeyError("format")
    except (ValueError, KeyError, TypeError) as error:
        at = getattr(error, "pos", 0)
        raise safetensors.loss(source, at, "this is no graph that situ wrote") from None
    return data


def _rebuilt(graph, made, entry):
    """A variable over nodes that were imported."""

    def op(name):
        return made[name.split(":")[0]]

    node = made[entry["name"]]
    kind = ResourceVariable if node.type == "VarHandleOp" else RefVariable
    new = kind.__new__(kind)
    new.trainable, new.constraint, new._graph = entry["trainable"], None, graph
    if kind is ResourceVariable:
        new._handle, new.dtype = node.outputs[0], as_dtype(node.get_attr("dtype"))
        new.shape = as_shape(node.get_attr("shape"))
    else:
        new._ref = node.outputs[0]
    new._initializer = made[entry["initializer"]]
    new._snapshot = op(entry["snapshot"]).outputs[0]
    new._initial_value = op(entry["initial_value"]).outputs[0]
    if entry.get("slice"):
        new._set_save_slice_info(sliced_variables.SaveSliceInfo(**entry["slice"]))
    return new


def _found(graph, made, entries, prefix):
    """The variables of a saved graph; where the graph has one of the name, it is meant, as in
    TensorFlow, which looks nodes up by their names."""
    old = {
        v.op.name: v
        for key in _VARIABLES
        for v in graph.get_collection(key)
        if isinstance(v, (RefVariable, ResourceVariable))
    }
    return {
        e["name"]: old[prefix + e["name"]]
        if prefix + e["name"] in old
        else _rebuilt(graph, made, e)
        for e in entries
    }


@export(v1="train.import_meta_graph")
def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs):
    """Adds a saved graph to the current one; gives a Saver for its variables, or None."""
    from situ._src.checkpoint.saver import Saver

    data, graph = _read(meta_graph_or_file), get_default_graph()
    nodes = data["graph"].get("node", [])
    if clear_devices:
        nodes = [{k: v for k, v in n.items() if k != "device"} for n in nodes]
    prefix = import_scope + "/" if import_scope else ""
    from situ._src.framework import function_library

    functions = function_library.read(graph, data.get("functions", {}))
    made = import_graph_def.import_nodes(nodes, prefix, functions=functions, lenient=True)
    variables = _found(graph, made, data["variables"], prefix)
    known = {id(v) for v in variables.values()}
    for key, items in data["collections"].items():
        for item in items:
            ((kind, value),) = item.items()
            if kind in ("tensor", "operation") and value.partition(":")[0] not in made:
                continue  # it hangs on gradients of loops
            if kind == "variable":
                value = variables[value]
            elif kind == "tensor":
                name, _, index = value.partition(":")
                value = made[name].outputs[int(index)]
            elif kind == "operation":
                value = made[value]
            there = graph.get_collection(key)
            if id(value) not in known or all(v is not value for v in there):
                graph.add_to_collection(key, value)
    for name, variable in variables.items():
        graph._variable_store.setdefault(prefix + name, variable)
    saver = data.get("saver")
    if saver is not None:
        named = {
            k: [variables[name] for name in ([n] if isinstance(n, str) else n)]
            for k, n in saver["variables"].items()
        }
        return Saver(named, max_to_keep=saver["max_to_keep"], **kwargs)
    return Saver(**kwargs) if variables else None
