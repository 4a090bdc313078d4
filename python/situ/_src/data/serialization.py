# SPDX-License-Identifier: Apache-2.0
"""serialization.py: datasets as GraphDefs: a node per dataset and parameter, and a function of
the library per function of elements."""

from __future__ import annotations

import hashlib

import numpy

import _situ
from situ._src.data import native
from situ._src.framework import errors, function_library, node_def
from situ._src.framework.concrete_function import FuncGraph
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.import_graph_def import Budget
from situ._src.framework.tensor_proto import make_tensor_proto
from situ._src.framework.tensor_shape import as_shape

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any

_SUFFIX, _MOST_BYTES = "Dataset", 2**31 - 1


class NotSerializableError(Exception):
    """A dataset that depends on this process."""


class _Writer:
    """Writes datasets as nodes; each function gets the name of its dataset."""

    def __init__(self) -> None:
        self.graph_def, self._bytes = node_def.GraphDef(), 0
        self._names: dict[int, str] = {}

    def add(self, definition: Any) -> str:
        """Adds a dataset and what it depends on. Returns the name of its node."""
        if id(definition) in self._names:
            return self._names[id(definition)]
        if "generator" in definition.options:
            raise NotSerializableError("a dataset of a Python generator")
        inputs = [self.add(i) for i in definition.inputs] + [
            self._param(p) for p in definition.params
        ]
        inner = definition.options.get("inner")
        inner = None if inner is None else self.add(inner)
        name = self._names[id(definition)] = f"{definition.kind}_{len(self.graph_def.node)}"
        node = self.graph_def.node.add(name=name, op=definition.kind + _SUFFIX, input=inputs)
        if inner is not None:
            node.attr["inner"].s = inner.encode()
        for key, value in definition.options.items():
            if key != "inner" and value is not None:
                _set(node.attr[key], value)
        if definition.function is not None:
            self._add_function(f"function_{name}", *definition.function)
            node.attr["f"].func.name = f"function_{name}"
        return name

    def _param(self, value):
        name = f"param_{len(self.graph_def.node)}"
        if isinstance(value, int):
            self.graph_def.node.add(name=name, op="_Arg").attr["index"].i = value
            return name
        dtype = value.dtype.base_dtype
        if dtype.name in ("resource", "variant"):
            raise NotSerializableError("a dataset with a handle of a resource")
        array = value.numpy()
        self._bytes += getattr(array, "nbytes", len(array) if isinstance(array, bytes) else 0)
        if self._bytes > _MOST_BYTES:
            raise NotSerializableError("a dataset with tensors of more than 2 GB")
        node = self.graph_def.node.add(name=name, op="Const")
        node.attr["dtype"].type = dtype.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(make_tensor_proto(array, dtype))
        return name

    def _add_function(self, name, graph, inputs, outputs):
        library = self.graph_def.library
        function_library.write_one(graph, inputs, outputs, name, library.function.add())
        known = {f.signature.name for f in library.function}
        more = function_library.FunctionDefLibrary()
        function_library.write(graph, more)
        library.function.extend([f for f in more.function if f.signature.name not in known])


def _set(attr, value):
    """Sets the attribute of an option."""
    if isinstance(value, (bool, int, numpy.integer)):
        attr.i = int(value)
    elif isinstance(value, str):
        attr.s = value.encode()
    elif isinstance(value, (list, tuple)):
        attr.list.SetInParent()
        for shape in value:
            attr.list.shape.append(as_shape(shape).as_proto())
    else:
        attr.type = as_dtype(value).as_datatype_enum


def dumps(definition: Any) -> bytes:
    """Returns a dataset as the bytes of a GraphDef.

    Args:
      definition: its native.Definition.

    Raises:
      NotSerializableError: it depends on this process.
    """
    if definition.data is None:
        writer = _Writer()
        writer.add(definition)
        definition.data = writer.graph_def.SerializeToString()
    return definition.data


def fingerprint(definition: Any) -> int:
    """Returns a 64-bit number that is the same for equal datasets.

    Args:
      definition: the native.Definition of a dataset.

    Raises:
      InvalidArgumentError: the dataset depends on this process.
    """
    try:
        data = dumps(definition)
    except NotSerializableError as error:
        raise errors.InvalidArgumentError(
            None, None, f"There is no fingerprint of {error}."
        ) from error
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")


class _Reader:
    """Reads the datasets of a GraphDef."""

    def __init__(self, graph_def: Any) -> None:
        self._nodes = {n.name: n for n in graph_def.node}
        self._budget = Budget(graph_def)
        self._library = function_library.Library(graph_def.library, graph_def)
        self._made: dict[str, Any] = {}

    def read(self, name: str) -> Any:
        """Returns the dataset, tensor or index of an argument of a node."""
        if name not in self._made:
            if name not in self._nodes:
                raise ValueError(f"Unknown input node '{name}' of a dataset.")
            node = self._nodes.pop(name)  # a node of a cycle is unknown
            self._made[name] = self._read(node)
        return self._made[name]

    def _read(self, node):
        if node.op == "_Arg":
            return int(node.attr["index"].i)
        if node.op == "Const":
            array = self._budget.array(node.attr["value"].tensor)
            return _situ.host(array, as_dtype(node.attr["dtype"].type))
        parts = [self.read(i) for i in node.input]
        inputs = [p for p in parts if isinstance(p, native.Definition)]
        params = [p for p in parts if not isinstance(p, native.Definition)]
        options = {k: _option(k, v) for k, v in node.attr.items() if k not in ("f", "inner")}
        if node.attr["inner"].s:
            options["inner"] = self.read(node.attr["inner"].s.decode())
        function = self._function(node.attr["f"].func.name) if node.attr["f"].func.name else None
        kind = node.op[: -len(_SUFFIX)] if node.op.endswith(_SUFFIX) else node.op
        return native.Definition(kind, inputs, params, options, function)

    def _function(self, name):
        if name not in self._library:
            raise ValueError(f"Function '{name}' of a dataset is not in the library.")
        definition, graph = self._library[name], FuncGraph(name)
        with graph.as_default(), graph.device("/device:CPU:0"):
            inputs = function_library.placeholders(definition)
            outputs, _ = self._library.inline(graph, definition, inputs, "")
        return graph, tuple(inputs), tuple(outputs)


def _option(key, attr):
    if key == "shapes":
        return [as_shape(s) for s in attr.list.shape]
    if key == "type":
        return as_dtype(attr.type)
    return attr.s.decode() if attr.WhichOneof("value") == "s" else int(attr.i)


def loads(data: bytes) -> Any:
    """Returns the definition of the dataset that `dumps` wrote.

    Raises:
      ValueError: the bytes are not those of a dataset.
    """
    graph_def = node_def.GraphDef()
    graph_def.ParseFromString(data)
    definition = _Reader(graph_def).read(graph_def.node[-1].name) if graph_def.node else None
    if not isinstance(definition, native.Definition):
        raise ValueError("The last node of the GraphDef is not a dataset.")
    definition.data = data
    return definition


def write_constants(graph: Any, graph_def: Any) -> None:
    """Writes the datasets of DatasetConstant nodes of a graph into its GraphDef. Those that depend
    on this process keep a handle, which cannot be read.

    Args:
      graph: the graph.
      graph_def: its GraphDef.
    """
    datasets = graph.__dict__.get("_datasets", {})
    for node in graph_def.node:
        if node.op == "DatasetConstant" and node.name in datasets:
            try:
                data = dumps(datasets[node.name])
            except NotSerializableError:
                continue
            del node.attr["value"]
            node.attr["dataset"].s = data


def read_constant(data: bytes, name: str) -> Any:
    """Adds the node of a dataset that `write_constants` wrote to the current graph."""
    return native.constant(loads(data), name)
