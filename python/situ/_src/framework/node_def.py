# SPDX-License-Identifier: Apache-2.0
"""node_def.py: tf.NodeDef, AttrValue and GraphDef over the JSON and text forms that the engine
writes."""

from __future__ import annotations

import json

import _situ
from situ._src.framework import dtypes, tensor_shape


class NodeDef:
    """A node of a GraphDef: name, op, input, device and attr."""

    def __init__(self, name, op, inputs=(), device="", text="", attr=None):
        self.name, self.op, self.input, self.device = name, op, list(inputs), device
        self._text, self.attr = text, attr or {}

    def __str__(self):
        return self._text


def blocks(text):
    """Yields the lines of each `node { ... }` block of a GraphDef in text format, without
    indentation."""
    block = None
    for line in text.splitlines():
        if line == "node {":
            block = []
        elif line == "}" and block is not None:
            yield block
            block = None
        elif block is not None:
            block.append(line[2:])


def block_name(block):
    """Returns the name of the node in a block."""
    return next(json.loads(line[6:]) for line in block if line.startswith("name: "))


def node_text(operation):
    """Returns the text format of an operation's node."""
    (block,) = blocks(operation._save(False))
    return "\n".join(block) + "\n"


def value_of(attr):
    """Converts an attribute in GraphDef's JSON form to its Python value."""
    ((kind, value),) = attr.items()
    if kind == "type":
        return dtypes.as_dtype(value[3:].lower() if value.startswith("DT_") else value)
    if kind == "i":
        return int(value)
    if kind == "s":
        import base64

        return base64.b64decode(value)
    if kind == "shape":
        if value.get("unknownRank"):
            return tensor_shape.TensorShape(None)
        sizes = [int(d.get("size", 0)) for d in value.get("dim", [])]
        return tensor_shape.TensorShape([None if n < 0 else n for n in sizes])
    if kind == "list":
        return [value_of({k: v}) for k, items in value.items() for v in items]
    return value


def group_inputs(function, inputs, attrs):
    """Groups the inputs of a node by the parameters of its op: a tensor or a list each.

    Args:
      function: the function of the op.
      inputs: the tensors, in one list.
      attrs: {name: Python value} of the attributes.

    Returns:
      The list of arguments.

    Raises:
      ValueError: The op takes another number of inputs.
    """
    ports, args, at = function.inputs, [], 0
    for port in ports:
        count = 1
        if port["list"]:
            count = int(attrs[port["count"]]) if port["count"] else len(attrs[port["type"]])
            args.append(inputs[at : at + max(count, 0)])
        elif at < len(inputs):
            args.append(inputs[at])
        at += count
    if at != len(inputs):
        wanted = " ".join(f"{port['name']}:{port['type']}" for port in ports)
        raise ValueError(f"NodeDef expected inputs '{wanted}' do not match {len(inputs)} inputs")
    return args


class AttrValue:
    """An attribute of a NodeDef, with the field of its kind: type, i, f, s, b, shape or list."""

    EMPTY = {"type": 0, "i": 0, "f": 0.0, "s": b"", "b": False}

    def __init__(self, attr):
        self._attr = attr

    def WhichOneof(self, group):
        """Returns the kind of the value."""
        del group  # a value has one group of fields
        return next(iter(self._attr), None)

    def HasField(self, name):
        """Returns whether the value is of this kind."""
        return name in self._attr

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._attr:
            return self.EMPTY.get(name)
        value = value_of({name: self._attr[name]})
        return value.as_datatype_enum if name == "type" else value

    def __repr__(self):
        return f"AttrValue({self._attr!r})"


def node_def(operation) -> NodeDef:
    """Returns the NodeDef of an operation."""
    node = json.loads(operation._save(True))
    attrs = {name: AttrValue(value) for name, value in node.get("attr", {}).items()}
    return NodeDef(
        operation.name,
        operation.type,
        node.get("input", ()),
        operation.device,
        node_text(operation),
        attrs,
    )


def get_attr(operation, name: str):
    """Returns the value of an attribute of an operation.

    Args:
      operation: a tf.Operation.
      name: the name of the attribute.

    Raises:
      ValueError: the operation has no such attribute.
    """
    attrs = json.loads(operation._save(True)).get("attr", {})
    if name not in attrs:
        raise ValueError(f"No attr named '{name}' in {operation.name}")
    return value_of(attrs[name])


class GraphDef:
    """A graph as a protocol message: a list of NodeDefs."""

    def __init__(self, graph=None):
        self._text = graph._save(False) if graph is not None else ""
        self._nodes = graph._save(True) if graph is not None else "{}"
        self.node = []
        if graph is not None:
            texts = {block_name(b): "\n".join(b) + "\n" for b in blocks(self._text)}
            self.node = [
                NodeDef(o.name, o.type, [t.name for t in o.inputs], o.device, texts.get(o.name, ""))
                for o in graph.get_operations()
            ]

    @classmethod
    def _from_nodes(cls, nodes):
        """Creates a GraphDef from nodes in JSON form."""
        made = cls()
        made._set_nodes(nodes)
        return made

    def _set_nodes(self, nodes):
        self._nodes = json.dumps({"node": nodes})
        self.node = [
            NodeDef(
                n["name"],
                n["op"],
                n.get("input", ()),
                n.get("device", ""),
                "",
                {k: AttrValue(v) for k, v in n.get("attr", {}).items()},
            )
            for n in nodes
        ]
        self._text = "".join(
            f"node {{\n  name: {json.dumps(n['name'])}\n  op: {json.dumps(n['op'])}\n}}\n"
            for n in nodes
        )

    def __str__(self):
        return self._text

    def _json(self):
        """Returns the nodes as JSON, with the current devices of the NodeDefs."""
        data = json.loads(self._nodes)
        devices = {n.name: n.device for n in self.node}
        for node in data.get("node", ()):
            node["device"] = devices.get(node["name"], "")
        return json.dumps(data)

    def ParseFromString(self, serialized: bytes) -> int:
        """Replaces the nodes by those of a binary GraphDef (.pb). Returns its size.

        Raises:
          ValueError: the data is malformed.
        """
        from situ._src.framework import graph_def_reader

        self._set_nodes(graph_def_reader.parse(serialized)["node"])
        return len(serialized)

    MergeFromString = ParseFromString

    @classmethod
    def FromString(cls, serialized):
        """Returns the GraphDef of binary data."""
        made = cls()
        made.ParseFromString(serialized)
        return made

    def CopyFrom(self, other):
        """Replaces the nodes by those of another GraphDef."""
        self._set_nodes(json.loads(other._json()).get("node", []))

    def SerializeToString(self) -> bytes:
        """Returns the graph in binary form, as in a .pb file."""
        from situ._src.framework import graph_def_writer

        return graph_def_writer.serialize(self._json())

    def ByteSize(self) -> int:
        """Returns the size of the binary form."""
        return len(self.SerializeToString())


_situ.hook("node_def", node_text)
