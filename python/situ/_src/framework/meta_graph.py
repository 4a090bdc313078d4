# SPDX-License-Identifier: Apache-2.0
"""meta_graph.py: tf.train.export_meta_graph and import_meta_graph: MetaGraphDefs: a graph with its
functions, its saver and its collections, in files named .meta."""

from __future__ import annotations

import functools
import os
import re

import _situ
from situ._src.framework import function_library, import_graph_def, logs, op_def, versions
from situ._src.framework.api import OPS, V1, export
from situ._src.framework.collection_protos import proto_functions
from situ._src.framework.graph import Graph, GraphKeys, get_default_graph
from situ._src.framework.graph_scopes import prepend_name_scope, strip_name_scope
from situ._src.framework.keywords import unexpected, unsupported
from situ._src.framework.message_classes import DecodeError, ParseError, message_class
from situ._src.framework.node_def import GraphDef, NodeDef

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any

MetaGraphDef = message_class("tensorflow.MetaGraphDef")
SaverDef = message_class("tensorflow.SaverDef")
V1["MetaGraphDef"] = MetaGraphDef
_UNBOUND = "$unbound_inputs_"
_SAVER_OPS = ("SaveV2", "Save", "SaveSlices", "RestoreV2", "Restore", "RestoreSlice")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
)


# Nodes


def _scope_of(name):
    return name.lstrip("^").rpartition("/")[0]


def _other_saver_nodes(graph_def, saver_def):
    """Returns the names of the nodes in scopes of savers other than that of a SaverDef."""
    kept = {"/", None}
    if saver_def is not None:
        names = saver_def.save_tensor_name, saver_def.restore_op_name
        kept = {_scope_of(name.partition(":")[0]) + "/" for name in names}
    nodes = {n.name for n in graph_def.node if n.op in _SAVER_OPS}
    scopes = {_scope_of(name) + "/" for name in nodes} - kept
    return {n.name for n in graph_def.node if n.name.startswith(tuple(scopes))} if scopes else set()


def _is_included(item, export_scope, excluded):
    """Returns whether a node, or an object that has the name of one, is exported."""
    name = item if isinstance(item, str) else getattr(item, "name", None)
    if name is None:
        return True
    if excluded and name.partition(":")[0] in excluded:
        return False
    return not export_scope or name.startswith((_UNBOUND, export_scope))


def _scoped_node(node, export_scope, unbound):
    """Returns a copy of a node without the scope; inputs from other scopes are renamed and added
    to `unbound`."""
    made = NodeDef()
    made.CopyFrom(node)
    if not export_scope:
        return made
    made.name = strip_name_scope(node.name, export_scope)
    scope = export_scope.rstrip("/") + "/"
    for i, name in enumerate(node.input):
        if not name.lstrip("^").startswith(scope) and not name.startswith("^" + _UNBOUND):
            plain = name.lstrip("^")
            mark = "^" if name.startswith("^") else ""
            made.input[i] = mark + _UNBOUND + plain
            if mark + _UNBOUND + plain not in unbound:
                unbound.append(mark + _UNBOUND + plain)
        else:
            made.input[i] = strip_name_scope(name, export_scope)
    if "_class" in node.attr:
        groups = [g.decode() for g in node.attr["_class"].list.s]
        inside = [g for g in groups if g.startswith("loc:@" + scope)]
        made.attr["_class"].list.s[:] = [
            ("loc:@" + g[len("loc:@") + len(scope) :]).encode() for g in inside
        ]
        if not inside:
            del made.attr["_class"]
    return made


def _scoped_graph_def(graph_def, export_scope, excluded, clear_devices, unbound):
    made = GraphDef(versions=graph_def.versions, library=graph_def.library)
    for node in graph_def.node:
        if _is_included(node.name, export_scope, excluded):
            copy = _scoped_node(node, export_scope, unbound)
            if clear_devices:
                copy.device = ""
            made.node.append(copy)
    return made


def _used_ops(graph_def):
    """Returns the sorted names of the ops that a graph and its functions use."""
    functions = {f.signature.name: f for f in graph_def.library.function}
    used = {n.op for n in graph_def.node}
    for function in functions.values():
        used.update(n.op for n in function.node_def)
    return sorted(op for op in used if op not in functions)


def _stripped_op_list(graph_def, out):
    for kind in _used_ops(graph_def):
        if kind in OPS:
            made = out.op.add()
            made.CopyFrom(op_def.op_def(kind))
            made.ClearField("summary")


def strip_default_attrs_of(meta_graph_def: Any) -> None:
    """Removes attributes with default values from the nodes of a MetaGraphDef."""
    for node in meta_graph_def.graph_def.node:
        op_def.strip_defaults(node)
    for function in meta_graph_def.graph_def.library.function:
        for node in function.node_def:
            op_def.strip_defaults(node)
    meta_graph_def.meta_info_def.stripped_default_attrs = True


# Collections


def _kind_of(item):
    if isinstance(item, (str, bytes)):
        return "bytes_list"
    if isinstance(item, int):
        return "int64_list"
    if type(item).__name__ == "Any" and hasattr(item, "type_url"):
        return "any_list"
    return "float_list" if isinstance(item, float) else "node_list"


def _fill_collection(made, key, items, export_scope):
    functions = proto_functions(key)
    if functions is not None:
        proto_type, to_proto, _ = functions
        made.bytes_list.SetInParent()
        for item in items:
            proto = to_proto(item, export_scope)
            if proto is not None:
                if not isinstance(proto, proto_type):
                    raise TypeError(f"{proto} is not a {proto_type.__name__}")
                made.bytes_list.value.append(proto.SerializeToString())
        return
    kind = _kind_of(items[0])
    getattr(made, kind).SetInParent()
    values = getattr(made, kind).value
    for item in items:
        if kind == "node_list":
            values.append(strip_name_scope(item.name, export_scope))
        elif kind == "bytes_list":
            values.append(item.encode() if isinstance(item, str) else item)
        elif kind == "any_list":
            values.add(type_url=item.type_url, value=item.value)
        else:
            values.append(item)


def _add_collection(meta_graph_def, key, items, export_scope, excluded):
    """Adds a collection; one that cannot be written is left out with a warning."""
    items = [i for i in items if _is_included(i, export_scope, excluded)]
    if not items:
        return
    made = message_class("tensorflow.CollectionDef")()
    try:
        _fill_collection(made, key, items, export_scope)
    except Exception as error:
        logs.warn(
            "Issue encountered when serializing %s.\nType is unsupported, or the types of the "
            "items don't match field type in CollectionDef. Note this is a warning and probably "
            "safe to ignore.\n%s",
            key,
            error,
        )
        return
    meta_graph_def.collection_def[key].CopyFrom(made)


# Export


def _checked(value, kind, name):
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name} must be of type {kind.__name__}. Received type: {type(value)}.")


def _versions(info):
    info.tensorflow_version = versions.VERSION
    info.tensorflow_git_version = versions.GIT_VERSION


def create(
    graph: Any,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: list | None = None,
    meta_info_def: Any = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
) -> Any:
    """Returns the MetaGraphDef of a graph; see `export_meta_graph`."""
    _checked(graph, Graph, "graph")
    _checked(meta_info_def, MetaGraphDef.MetaInfoDef, "meta_info_def")
    _checked(graph_def, GraphDef, "graph_def")
    _checked(saver_def, SaverDef, "saver_def")
    made, excluded = MetaGraphDef(), set()
    graph_def = graph.as_graph_def(add_shapes=True) if graph_def is None else graph_def
    if clear_extraneous_savers:
        excluded = _other_saver_nodes(graph_def, saver_def)
    if export_scope or clear_extraneous_savers or clear_devices:
        unbound: list[str] = []
        graph_def = _scoped_graph_def(graph_def, export_scope, excluded, clear_devices, unbound)
        graph.clear_collection("unbound_inputs")
        for name in unbound:
            graph.add_to_collection("unbound_inputs", name)
    if meta_info_def is not None:
        made.meta_info_def.CopyFrom(meta_info_def)
    _versions(made.meta_info_def)
    made.graph_def.CopyFrom(graph_def)
    if not made.meta_info_def.stripped_op_list.op:
        _stripped_op_list(made.graph_def, made.meta_info_def.stripped_op_list)
    if strip_default_attrs:
        strip_default_attrs_of(made)
    if saver_def is not None:
        made.saver_def.CopyFrom(saver_def)
    keys = graph.get_all_collection_keys() if collection_list is None else collection_list
    for key in keys:
        if clear_extraneous_savers and key == GraphKeys.SAVERS:
            items = [] if saver_def is None else [saver_def]
            made_def = made.collection_def[key].bytes_list
            made_def.value.extend(s.SerializeToString() for s in items)
            continue
        _add_collection(made, key, graph.get_collection(key), export_scope, excluded)
    return made


def write(path: Any, meta_graph_def: Any, as_text: bool = False) -> None:
    """Writes a MetaGraphDef to a file, in binary or text format."""
    data = str(meta_graph_def).encode() if as_text else meta_graph_def.SerializeToString()
    folder = os.path.dirname(os.fspath(path))
    if folder:
        os.makedirs(folder, exist_ok=True)
    _situ.replace_file(os.fspath(path), data)


def _check_graph_mode():
    if _situ.executing_eagerly():
        raise RuntimeError(
            "Exporting/importing meta graphs is not supported when eager execution is enabled. No "
            "graph exists when eager execution is enabled."
        )


@export(v1="train.export_meta_graph")
def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: list[str] | None = None,
    as_text: bool = False,
    graph: Any = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """Exports a graph with its functions and collections.

    Args:
      filename: the file to write, or None.
      meta_info_def: a MetaInfoDef to include.
      graph_def: the GraphDef to export; by default that of `graph`.
      saver_def: a SaverDef, or None.
      collection_list: the keys of the collections to export; None for all.
      as_text: whether to write the text format instead of the binary one.
      graph: the graph; the default graph if it is None.
      export_scope: exports only the nodes of this name scope, and removes it from their names.
      clear_devices: whether to remove the devices of nodes.
      clear_extraneous_savers: whether to remove the nodes and the SaverDefs of all savers other
        than that of `saver_def`.
      strip_default_attrs: whether to remove attributes with default values from nodes.
      save_debug_info: not supported.
      **kwargs: rejected.

    Returns:
      A MetaGraphDef.

    Raises:
      RuntimeError: eager execution is enabled.
      TypeError: an argument is unknown or of the wrong type.
    """
    for keyword in kwargs:
        raise unexpected("export_meta_graph", keyword, export_meta_graph)
    _check_graph_mode()
    unsupported("tf.train.export_meta_graph", save_debug_info=(save_debug_info, False))
    made = create(
        graph or get_default_graph(),
        graph_def,
        saver_def,
        collection_list,
        meta_info_def,
        export_scope,
        clear_devices,
        clear_extraneous_savers,
        strip_default_attrs,
    )
    if filename:
        write(filename, made, as_text)
    return made


# Import


def read(source: Any) -> Any:
    """Returns a MetaGraphDef, or reads one from a file in binary or text format.

    Raises:
      OSError: the file does not exist, or cannot be parsed.
    """
    if isinstance(source, MetaGraphDef):
        return source
    try:
        with open(source, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise OSError(f"File {source} does not exist.") from None
    made = MetaGraphDef()
    try:
        made.ParseFromString(data)
        return made
    except DecodeError:
        made.Clear()
    try:
        made._merge_text(data.decode())
    except (ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Cannot parse file {source}: {error}.") from None
    return made


def _check_unbound(meta_graph_def, name, input_map):
    if not name or name not in meta_graph_def.collection_def:
        return
    values = [v.decode() for v in meta_graph_def.collection_def[name].bytes_list.value]
    if values and sorted(values) != sorted(input_map or ()):
        missing = ",".join(v for v in values if v not in (input_map or ()))
        raise ValueError(
            f"Graph contains unbound inputs: {missing}. Must provide these inputs through "
            "input_map."
        )


def _readers(graph, key, collection, scope, known):
    """Yields a function per item of a CollectionDef that returns the item."""
    kind = collection.WhichOneof("kind")
    functions = proto_functions(key)

    def parse(data):
        proto_type, _, from_proto = functions
        if key not in _VARIABLES or data not in known:
            proto = proto_type()
            proto.ParseFromString(data)
            known[data] = from_proto(proto, scope)
        return known[data]

    def find(name):
        return graph.as_graph_element(prepend_name_scope(name, scope))

    for value in getattr(collection, kind).value:
        if functions is not None and kind == "bytes_list":
            yield functools.partial(parse, value)
        elif kind == "node_list":
            yield functools.partial(find, value)
        else:
            yield functools.partial(lambda item: item, value)


def _same_variable(graph, key, item):
    """Returns the variable of a collection that has the name of another one, or that one."""
    if key not in _VARIABLES:
        return item
    return next((v for v in graph.get_collection(key) if v.name == item.name), item)


def _restore_collections(graph, meta_graph_def, scope, skip, predicate):
    known: dict = {}
    keys = sorted(meta_graph_def.collection_def)
    keys.sort(key=lambda k: k != GraphKeys.TRAINABLE_VARIABLES)
    for key in keys:
        collection = meta_graph_def.collection_def[key]
        if key == skip or not predicate(key):
            continue
        if collection.WhichOneof("kind") is None:
            logs.error("Cannot identify data type for collection %s. Skipping.", key)
            continue
        for item in _readers(graph, key, collection, scope, known):
            try:
                item = _same_variable(graph, key, item())
            except KeyError as error:  # its nodes were skipped
                logs.warn("An item of the collection %s was not restored: %s", key, error)
                continue
            if key not in _VARIABLES or all(v is not item for v in graph.get_collection(key)):
                graph.add_to_collection(key, item)


def import_into(
    graph: Any,
    meta_graph_def: Any,
    import_scope: str | None = None,
    clear_devices: bool = False,
    input_map: dict | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Any = lambda key: True,
) -> tuple:
    """Adds the nodes and collections of a MetaGraphDef to a graph. Returns the imported global
    variables by their names without the scope, and the scope."""
    _check_unbound(meta_graph_def, unbound_inputs_col_name, input_map)
    nodes = import_graph_def.sorted_nodes(meta_graph_def.graph_def.node)
    if clear_devices:
        for node in nodes:
            node.device = ""
    library = function_library.Library(meta_graph_def.graph_def.library, meta_graph_def.graph_def)
    mapped = {k if ":" in k else k + ":0": v for k, v in (input_map or {}).items()}
    with graph.as_default():
        if import_scope:
            with graph.name_scope(import_scope) as scope:
                import_graph_def.import_nodes(nodes, scope, mapped, library, lenient=True)
        else:
            scope = graph._scope
            import_graph_def.import_nodes(nodes, scope, mapped, library, lenient=True)
        _restore_collections(
            graph, meta_graph_def, scope, unbound_inputs_col_name, restore_collections_predicate
        )
        variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, re.escape(scope))
    for variable in variables:
        if hasattr(variable, "op"):
            graph._variable_store.setdefault(variable.op.name, variable)
    return {strip_name_scope(v.name, scope): v for v in variables}, scope


@export(v1="train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Any:
    """Imports a graph that export_meta_graph or a tf.compat.v1.train.Saver wrote.

    Args:
      meta_graph_or_file: a MetaGraphDef, or the path of a .meta file.
      clear_devices: whether to remove the devices of nodes.
      import_scope: a name scope for the nodes.
      **kwargs: `graph`, the graph, by default the default graph; `input_map`, tensors by the names
        of those in the MetaGraphDef that they replace; `unbound_inputs_col_name` and
        `restore_collections_predicate`, a function of the key of a collection.

    Returns:
      A tf.compat.v1.train.Saver for the variables, or None if there are none.

    Raises:
      OSError: the file does not exist, or cannot be parsed.
      RuntimeError: eager execution is enabled.
      ValueError: inputs from other scopes are not in `input_map`.
    """
    from situ._src.checkpoint.saver import Saver

    _check_graph_mode()
    for keyword in kwargs:
        if keyword not in (
            "graph",
            "input_map",
            "unbound_inputs_col_name",
            "restore_collections_predicate",
        ):
            raise unexpected("import_meta_graph", keyword, import_meta_graph)
    meta_graph_def = read(meta_graph_or_file)
    graph = kwargs.pop("graph", None) or get_default_graph()
    variables, scope = import_into(graph, meta_graph_def, import_scope, clear_devices, **kwargs)
    with graph.as_default():
        if meta_graph_def.HasField("saver_def"):
            return Saver(saver_def=meta_graph_def.saver_def, name=scope)
        if variables or graph.get_collection(GraphKeys.SAVEABLE_OBJECTS):
            return Saver()
    logs.info("Saver not created because there are no variables in the graph to restore")
    return None


# The functions of tensorflow.python.framework.meta_graph


def _exported(name):
    return export("python.framework.meta_graph." + name)


_exported("read_meta_graph_file")(read)


@_exported("strip_graph_default_valued_attrs")
def strip_graph_default_valued_attrs(meta_graph_def: Any) -> None:
    """Removes attributes with default values from the nodes of a MetaGraphDef.

    Args:
      meta_graph_def: the MetaGraphDef.
    """
    strip_default_attrs_of(meta_graph_def)


@_exported("ops_used_by_graph_def")
def ops_used_by_graph_def(graph_def: Any) -> list[str]:
    """Returns the names of the ops that a graph and its functions use.

    Args:
      graph_def: The GraphDef.
    """
    return _used_ops(graph_def)


@_exported("stripped_op_list_for_graph")
def stripped_op_list_for_graph(graph_def: Any) -> Any:
    """Returns the OpList of the ops that a graph and its functions use.

    Args:
      graph_def: The GraphDef.
    """
    made = message_class("tensorflow.OpList")()
    _stripped_op_list(graph_def, made)
    return made


@_exported("add_collection_def")
def add_collection_def(
    meta_graph_def: Any,
    key: str,
    graph: Any = None,
    export_scope: str | None = None,
    exclude_nodes: Any = None,
    override_contents: Any = None,
) -> None:
    """Adds a collection of a graph to a MetaGraphDef.

    Args:
      meta_graph_def: the MetaGraphDef.
      key: the key of the collection.
      graph: the graph; the default graph if it is None.
      export_scope: the name scope to remove.
      exclude_nodes: the names of nodes to leave out.
      override_contents: the items, instead of those of the collection.
    """
    _checked(graph, Graph, "graph")
    if not isinstance(key, (str, bytes)):
        logs.warn(
            "Only collections with string type keys will be serialized. This key has %s", type(key)
        )
        return
    items = override_contents or (graph or get_default_graph()).get_collection(key)
    _add_collection(meta_graph_def, key, items, export_scope, exclude_nodes)


@_exported("create_meta_graph_def")
def create_meta_graph_def(
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: list[str] | None = None,
    graph: Any = None,
    export_scope: str | None = None,
    exclude_nodes: Any = None,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
) -> Any:
    """Returns the MetaGraphDef of a graph, see `tf.compat.v1.train.export_meta_graph`.

    Args:
      meta_info_def: a MetaInfoDef to include.
      graph_def: the GraphDef to export; by default that of `graph`.
      saver_def: a SaverDef, or None.
      collection_list: the keys of the collections to export; None for all.
      graph: the graph; the default graph if it is None.
      export_scope: exports only the nodes of this name scope, and removes it from their names.
      exclude_nodes: the names of nodes to leave out.
      clear_extraneous_savers: whether to remove the nodes and the SaverDefs of all savers other
        than that of `saver_def`.
      strip_default_attrs: whether to remove attributes with default values from nodes.
    """
    unsupported("create_meta_graph_def", exclude_nodes=(exclude_nodes, None))
    return create(
        graph or get_default_graph(),
        graph_def,
        saver_def,
        collection_list,
        meta_info_def,
        export_scope,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
    )


@_exported("export_scoped_meta_graph")
def export_scoped_meta_graph(
    filename: str | None = None,
    graph_def: Any = None,
    graph: Any = None,
    export_scope: str | None = None,
    as_text: bool = False,
    **kwargs: Any,
) -> Any:
    """Exports a name scope of a graph. Returns the MetaGraphDef, and the global variables by their
    names without the scope; see `tf.compat.v1.train.export_meta_graph`.

    Args:
      filename: the file to write, or None.
      graph_def: the GraphDef to export; by default that of `graph`.
      graph: the graph; the default graph if it is None.
      export_scope: exports only the nodes of this name scope, and removes it from their names.
      as_text: whether to write the text format instead of the binary one.
      **kwargs: further arguments of `export_meta_graph`.
    """
    graph = graph or get_default_graph()
    name = kwargs.pop("unbound_inputs_col_name", "unbound_inputs")
    unsupported("export_scoped_meta_graph", unbound_inputs_col_name=(name, "unbound_inputs"))
    with graph.as_default():
        made = export_meta_graph(
            filename,
            graph_def=graph_def,
            graph=graph,
            export_scope=export_scope,
            as_text=as_text,
            **kwargs,
        )
    variables = graph.get_collection(GraphKeys.GLOBAL_VARIABLES, export_scope)
    return made, {strip_name_scope(v.name, export_scope): v for v in variables}


@_exported("import_scoped_meta_graph")
def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Any = None,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Any:
    """Imports a MetaGraphDef. Returns the imported global variables by their names without the
    scope; see `tf.compat.v1.train.import_meta_graph`.

    Args:
      meta_graph_or_file: a MetaGraphDef, or the path of a .meta file.
      clear_devices: whether to remove the devices of nodes.
      graph: the graph; the default graph if it is None.
      import_scope: a name scope for the nodes.
      **kwargs: further arguments of `import_meta_graph`.
    """
    graph = graph or get_default_graph()
    return import_into(graph, read(meta_graph_or_file), import_scope, clear_devices, **kwargs)[0]


@_exported("copy_scoped_meta_graph")
def copy_scoped_meta_graph(
    from_scope: Any, to_scope: Any, from_graph: Any = None, to_graph: Any = None
) -> Any:
    """Copies a name scope of a graph. Returns the copied global variables by their names without
    the scope.

    Args:
      from_scope: The scope to copy.
      to_scope: The scope of the copy.
      from_graph: Its graph; default: the current one.
      to_graph: Graph of the copy; default: the current one.

    Raises:
      ValueError: both scopes are the same one.
    """
    from_graph, to_graph = from_graph or get_default_graph(), to_graph or get_default_graph()
    if from_graph is to_graph and from_scope == to_scope:
        raise ValueError(
            "'from_scope' and 'to_scope' need to be different when performing copy in the same "
            f"graph. Received: 'from_graph': {from_graph}, 'to_graph': {to_graph}, 'from_scope': "
            f"{from_scope}, 'to_scope': {to_scope}."
        )
    made, _ = export_scoped_meta_graph(export_scope=from_scope, graph=from_graph)
    return import_scoped_meta_graph(made, graph=to_graph, import_scope=to_scope)
