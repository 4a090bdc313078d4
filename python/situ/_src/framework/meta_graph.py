# SPDX-License-Identifier: Apache-2.0
"""meta_graph.py: tf.train.export_meta_graph and import_meta_graph: a graph with its variables,
functions and collections in a JSON file (.meta)."""

from __future__ import annotations

import json
import os

import _situ
from situ._src.checkpoint import safetensors, sliced_variables
from situ._src.framework import import_graph_def, node_def
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.keywords import unexpected, unsupported
from situ._src.framework.tensor_shape import as_shape
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.save_slice_info import SaveSliceInfo
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
    """The contents of a meta graph file."""

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
    """Returns a collection item as JSON data, or None if it cannot be serialized."""
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


def write(path, graph, saver=None, collection_list=None, graph_def=None, clear_devices=False):
    """Returns the MetaGraphDef of a graph, and writes it if there is a path."""
    from situ._src.framework import function_library

    nodes = json.loads(graph._save(True) if graph_def is None else graph_def._to_json())
    if clear_devices:
        for node in nodes.get("node", ()):
            node.pop("device", None)
    data = {
        "format": _FORMAT,
        "graph": nodes,
        "functions": function_library.written(graph),
        "variables": _variables(graph),
        "collections": _collections(graph, collection_list),
        "saver": saver.as_saver_def() if hasattr(saver, "as_saver_def") else saver,
    }
    if path:
        _situ.replace_file(os.fspath(path), json.dumps(data).encode())
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
    """Exports a graph with its variables and collections, in situ's own format.

    Args:
      filename: the file to write, or None.
      meta_info_def: not supported.
      graph_def: the GraphDef to export; by default that of `graph`.
      saver_def: what `as_saver_def` of a tf.compat.v1.train.Saver returned, or None.
      collection_list: the keys of the collections to export; None for all.
      as_text: has no effect: the file is text, in JSON form.
      graph: the graph; the default graph if it is None.
      export_scope: not supported.
      clear_devices: whether to remove the devices of nodes.
      clear_extraneous_savers: has no effect: savers are not part of a graph.
      strip_default_attrs: has no effect: attributes with default values are added when the graph
        is imported.
      save_debug_info: not supported.

    Returns:
      A MetaGraphDef of the whole graph.

    Raises:
      TypeError: an argument is unknown.
    """
    for keyword in kwargs:
        raise unexpected("export_meta_graph", keyword, export_meta_graph)
    del as_text  # the file is text, in JSON form
    del clear_extraneous_savers  # savers are not part of a graph
    del strip_default_attrs  # importing a graph adds the defaults again
    unsupported(
        "tf.train.export_meta_graph",
        meta_info_def=(meta_info_def, None),
        export_scope=(export_scope or None, None),
        save_debug_info=(save_debug_info, False),
    )
    graph = graph or get_default_graph()
    return write(filename, graph, saver_def, collection_list, graph_def, clear_devices)


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
        raise safetensors.loss(source, at, "this is not a meta graph that situ wrote") from None
    return data


def _create_variable(graph, operations, entry):
    """Creates a variable object for imported nodes."""

    def op(name):
        return operations[name.split(":")[0]]

    node = operations[entry["name"]]
    kind = ResourceVariable if node.type == "VarHandleOp" else RefVariable
    new = kind.__new__(kind)
    new.trainable, new.constraint, new._graph = entry["trainable"], None, graph
    if kind is ResourceVariable:
        new._handle, new.dtype = node.outputs[0], as_dtype(node.get_attr("dtype"))
        new.shape = as_shape(node.get_attr("shape"))
    else:
        new._ref = node.outputs[0]
    new._initializer = operations[entry["initializer"]]
    new._snapshot = op(entry["snapshot"]).outputs[0]
    new._initial_value = op(entry["initial_value"]).outputs[0]
    if entry.get("slice"):
        new._set_save_slice_info(SaveSliceInfo(**entry["slice"]))
    return new


def _find_variables(graph, operations, entries, prefix):
    """Returns the variables of an imported graph by name. A variable of the graph with the same
    name takes precedence, as in TensorFlow."""
    old = {
        v.op.name: v
        for key in _VARIABLES
        for v in graph.get_collection(key)
        if isinstance(v, (RefVariable, ResourceVariable))
    }
    return {
        e["name"]: old[prefix + e["name"]]
        if prefix + e["name"] in old
        else _create_variable(graph, operations, e)
        for e in entries
    }


@export(v1="train.import_meta_graph")
def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs):
    """Imports a graph that export_meta_graph or a tf.compat.v1.train.Saver wrote.

    Args:
      meta_graph_or_file: a MetaGraphDef, or the path of a .meta file.
      clear_devices: whether to remove the devices of nodes.
      import_scope: a prefix of the names of nodes.
      **kwargs: passed to the tf.compat.v1.train.Saver.

    Returns:
      A tf.compat.v1.train.Saver for the variables, or None if there are none.

    Raises:
      OSError: the file does not exist.
      DataLossError: the file is damaged.
    """
    from situ._src.checkpoint.saver import Saver

    data, graph = _read(meta_graph_or_file), get_default_graph()
    nodes = node_def.from_json(data["graph"].get("node", [])).node
    if clear_devices:
        for node in nodes:
            node.device = ""
    prefix = import_scope + "/" if import_scope else ""
    from situ._src.framework import function_library

    functions = function_library.read(graph, data.get("functions", {}))
    operations = import_graph_def.import_nodes(nodes, prefix, functions=functions, lenient=True)
    variables = _find_variables(graph, operations, data["variables"], prefix)
    known = {id(v) for v in variables.values()}
    for key, items in data["collections"].items():
        for item in items:
            ((kind, value),) = item.items()
            if kind in ("tensor", "operation") and value.partition(":")[0] not in operations:
                continue  # it depends on gradients of loops, which were skipped
            if kind == "variable":
                value = variables[value]
            elif kind == "tensor":
                name, _, index = value.partition(":")
                value = operations[name].outputs[int(index)]
            elif kind == "operation":
                value = operations[value]
            existing = graph.get_collection(key)
            if id(value) not in known or all(v is not value for v in existing):
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
