# SPDX-License-Identifier: Apache-2.0
"""import_graph_def.py: adds the nodes of a GraphDef to the current graph: tf.import_graph_def."""

from __future__ import annotations

import base64
import contextlib
import json
import math

import numpy

from situ._src.framework import dtypes, node_def
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import get_default_graph
from situ._src.ops.array_ops import convert_to_tensor

_LISTS = (
    "floatVal",
    "doubleVal",
    "intVal",
    "int64Val",
    "boolVal",
    "halfVal",
    "stringVal",
    "uint32Val",
    "uint64Val",
)


def _type(word):
    return dtypes.as_dtype(word[3:].lower())


def tensor_value(tensor):
    """The array of a TensorProto in JSON."""
    dtype = _type(tensor.get("dtype", "DT_FLOAT"))
    kind = numpy.dtype(object) if dtype.name == "string" else numpy.dtype(dtype.as_numpy_dtype)
    shape = [int(d.get("size", 0)) for d in tensor.get("tensorShape", {}).get("dim", ())]
    if min(shape, default=0) < 0:
        raise ValueError(f"Shape {shape} of a TensorProto has a negative dimension.")
    if tensor.get("tensorContent"):
        data = base64.b64decode(tensor["tensorContent"])
        if len(data) != kind.itemsize * math.prod(shape):
            raise ValueError(
                f"A TensorProto of shape {shape} and type {dtype.name} has "
                f"{len(data)} bytes of tensor_content."
            )
        return numpy.frombuffer(data, kind).reshape(shape)
    key = next((k for k in _LISTS if k in tensor), None)
    items = tensor.get(key, []) if key else []
    if key == "stringVal":
        items = [base64.b64decode(i) for i in items]
    elif key == "halfVal":
        items = numpy.array(items, numpy.uint16).view(numpy.float16)
    elif key in ("int64Val", "uint64Val"):
        items = [int(i) for i in items]
    array = numpy.array(list(items), kind)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    if array.size < count:  # the last element stands for the rest
        last = array[-1:] if array.size else numpy.zeros(1, kind)
        array = numpy.concatenate([array, numpy.repeat(last, count - array.size)])
    return array.reshape(shape)


def attr_value(attr):
    ((kind, value),) = attr.items()
    return tensor_value(value) if kind == "tensor" else node_def.value_of(attr)


class _Importer:
    """Adds nodes one by one; inputs come before their users."""

    def __init__(self, graph, prefix, input_map, functions=None):
        self.graph, self.prefix, self.map, self.made = graph, prefix, input_map or {}, {}
        self.functions = functions or {}  # names of functions here, by those in the file

    def tensor(self, text):
        name, _, index = text.partition(":")
        for key in (text, f"{name}:{index or 0}"):
            if key in self.map:
                return convert_to_tensor(self.map[key])
        if name not in self.made:
            raise ValueError(f"Input '{text}' of a node does not come before it.")
        outputs = self.made[name].outputs
        if not (index or "0").isdigit() or int(index or 0) >= len(outputs):
            raise ValueError(f"Input '{text}' of a node: '{name}' has {len(outputs)} outputs.")
        return outputs[int(index or 0)]

    def scopes(self, stack, node, attrs):
        controls = [self.made[i[1:]] for i in node.get("input", ()) if i.startswith("^")]
        stack.enter_context(self.graph.control_dependencies(None))
        if controls:
            stack.enter_context(self.graph.control_dependencies(controls))
        stack.enter_context(self.graph.device(None))
        if node.get("device"):
            stack.enter_context(self.graph.device(node["device"]))
        for group in attrs.pop("_class", ()):
            group = group.decode() if isinstance(group, bytes) else group
            if group.startswith("loc:@") and group[5:] in self.made:
                stack.enter_context(self.graph.colocate_with(self.made[group[5:]]))

    def _free(self, name):
        """The name, or name_1, name_2, ... where the graph has it already."""
        made, count = name, 0
        while True:
            try:
                self.graph.get_operation_by_name(made)
            except KeyError:
                return made
            count += 1
            made = f"{name}_{count}"

    def _function(self, node, name):
        if name not in self.functions:
            raise NotImplementedError(
                f"{node['op']} '{node['name']}' calls a function (a branch, or the body of a "
                "loop) that does not come with its graph: GraphDefs, and graphs over several "
                "tasks, have no functions. A checkpoint with its .meta file has them."
            )
        return self.functions[name]

    def add(self, node):
        name = self._free(self.prefix + node["name"])
        attrs = {k: attr_value(v) for k, v in node.get("attr", {}).items()}
        inputs = [self.tensor(i) for i in node.get("input", ()) if not i.startswith("^")]
        for key, value in attrs.items():
            if isinstance(value, dict):
                attrs[key] = self._function(node, value.get("name"))
        if node["op"] not in OPS:
            raise ValueError(f"No op named {node['op']} in defined operations.")
        with contextlib.ExitStack() as stack:
            self.scopes(stack, node, attrs)
            attrs = {k: v for k, v in attrs.items() if not k.startswith("_")}
            if node["op"] == "Const":
                result = convert_to_tensor(attrs["value"], attrs["dtype"], name + "/")
            else:
                result = self.call(node["op"], inputs, attrs, name + "/")
        first = result[0] if isinstance(result, (list, tuple)) and result else result
        self.made[node["name"]] = (
            first
            if hasattr(first, "outputs")
            else first.op
            if first is not None and first != []
            else self.graph.get_operation_by_name(name)
        )

    @staticmethod
    def call(kind, inputs, attrs, name):
        function, args, at = OPS[kind], [], 0
        for word in (function.row["inputs"] or "").split():
            type_name = word.partition(":")[2]
            types = attrs.get(type_name)
            if "*" in type_name or isinstance(types, (list, tuple)):
                count = int(attrs[type_name.partition("*")[0]]) if "*" in type_name else len(types)
                args.append(inputs[at : at + count] if count >= 0 else [])
                at += count
            else:
                args.append(inputs[at] if at < len(inputs) else None)
                at += 1
        if at != len(inputs):
            raise ValueError(
                f"NodeDef expected inputs '{function.row['inputs']}' do not match "
                f"{len(inputs)} inputs specified for node '{name.rstrip('/')}' (op: "
                f"'{kind}')."
            )
        meant = {m for _, m, _ in function.parameters}
        return function(*args, name=name, **{k: v for k, v in attrs.items() if k in meant})


def import_nodes(nodes, prefix="", input_map=None, functions=None, lenient=False):
    """Adds nodes of a GraphDef (JSON); gives the operations by the names they had. Leniently:
    without those that call functions that are not there (gradients of loops), and what follows."""
    importer = _Importer(get_default_graph(), prefix, input_map, functions)
    gone = set()
    for node in nodes:
        if any(i.lstrip("^").partition(":")[0] in gone for i in node.get("input", ())):
            gone.add(node["name"])
            continue
        try:
            importer.add(node)
        except NotImplementedError:
            if not lenient:
                raise
            gone.add(node["name"])
    return importer.made


@export("graph_util.import_graph_def", v1="import_graph_def")
def import_graph_def(
    graph_def,
    input_map=None,
    return_elements=None,
    name=None,
    op_dict=None,
    producer_op_list=None,
    validate_colocation_constraints=True,
):
    """Adds a graph to the current one, below a scope; gives the elements asked for."""
    graph = get_default_graph()
    prefix = "import" if name is None else name
    input_map = {k if ":" in k else k + ":0": v for k, v in (input_map or {}).items()}
    nodes = json.loads(graph_def._json()).get("node", [])
    if prefix:
        with graph.name_scope(prefix) as full:
            made = import_nodes(nodes, full, input_map)
    else:
        made = import_nodes(nodes, "", input_map)
    if return_elements is None:
        return None
    found = []
    for element in return_elements:
        op_name, _, index = element.partition(":")
        if op_name not in made:
            raise ValueError(f"Requested return_element '{element}' not found in graph_def.")
        found.append(made[op_name].outputs[int(index)] if index else made[op_name])
    return found
