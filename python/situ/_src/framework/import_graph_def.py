# SPDX-License-Identifier: Apache-2.0
"""import_graph_def.py: tf.import_graph_def: adds the nodes of a GraphDef to the current graph."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy

import _situ
from situ._src.framework import bfloat16, dtypes, node_def
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import get_default_graph
from situ._src.framework.graph_scopes import colocation_named
from situ._src.ops.array_ops import convert_to_tensor


def _lists(tensor):
    """Yields the fields of a TensorProto that have values."""
    for field, values in tensor.ListFields():
        if field.is_repeated:
            yield field.name, values


def tensor_value(tensor: Any) -> numpy.ndarray:
    """Returns the NumPy array of a TensorProto.

    Raises:
      ValueError: shape and contents do not match.
    """
    dtype = dtypes.as_dtype(tensor.dtype or 1)
    kind = numpy.dtype(object) if dtype.name == "string" else numpy.dtype(dtype.as_numpy_dtype)
    shape = [d.size for d in tensor.tensor_shape.dim]
    if min(shape, default=0) < 0:
        raise ValueError(f"Shape {shape} of a TensorProto has a negative dimension.")
    if tensor.tensor_content:
        data = tensor.tensor_content
        if len(data) != dtype.size * math.prod(shape):
            raise ValueError(
                f"A TensorProto of shape {shape} and type {dtype.name} has "
                f"{len(data)} bytes of tensor_content."
            )
        if dtype.name == "bfloat16":
            return bfloat16.floats_of(numpy.frombuffer(data, numpy.uint16)).reshape(shape)
        return numpy.frombuffer(data, kind).reshape(shape)
    key, items = next(_lists(tensor), (None, ()))
    if key == "half_val" and dtype.name == "bfloat16":
        items = bfloat16.floats_of(numpy.array(list(items), numpy.uint16))
    elif key in ("scomplex_val", "dcomplex_val"):
        items = numpy.array(list(items), dtype.real_dtype.as_numpy_dtype).view(kind)
    elif key == "half_val":
        items = numpy.array(list(items), numpy.uint16).view(numpy.float16)
    array = numpy.array(list(items), kind)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    if array.size < count:  # the last element is repeated
        last = array[-1:] if array.size else numpy.zeros(1, kind)
        array = numpy.concatenate([array, numpy.repeat(last, count - array.size)])
    return array.reshape(shape)


def attr_value(attr: Any) -> Any:
    """Returns the Python value of an AttrValue; a tensor is an array."""
    value = node_def.value_of(attr)
    return tensor_value(value) if attr.WhichOneof("value") == "tensor" else value


def sorted_nodes(nodes: list) -> list:
    """Returns NodeDefs in topological order; otherwise their order does not change."""
    by_name, done, out = {n.name: n for n in nodes}, set(), []
    for first in nodes:
        stack = [(first, iter(first.input))]
        waiting = {first.name}
        while stack:
            node, inputs = stack[-1]
            names = (i.lstrip("^").partition(":")[0] for i in inputs)
            name = next(
                (n for n in names if n in by_name and n not in done and n not in waiting), None
            )
            if node.name not in done and name is not None:
                stack.append((by_name[name], iter(by_name[name].input)))
                waiting.add(name)
                continue
            stack.pop()
            if node.name not in done:
                done.add(node.name)
                out.append(node)
    return out


class _Outputs:
    """The outputs of a node that became several operations."""

    def __init__(self, outputs):
        self.outputs = list(outputs)
        self.op = self.outputs[0].op


_RENAMED = {"Variable": "VariableV2"}
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")  # ops that call the function `f`


class Importer:
    """Adds nodes one by one. Inputs must come before the nodes that use them."""

    def __init__(self, graph, prefix, input_map, library=None, controls=()):
        self.graph, self.prefix, self.map, self.operations = graph, prefix, input_map or {}, {}
        self.library = library or ()  # function_library.Library: the functions of the GraphDef
        self._controls = list(controls)  # run before all nodes
        self.names: set[str] = set()  # of all nodes of the GraphDef

    def tensor(self, text):
        name, _, index = text.partition(":")
        for key in (text, f"{name}:{index or 0}"):
            if key in self.map:
                return convert_to_tensor(self.map[key])
        if name not in self.operations:
            raise ValueError(f"Input '{text}' of a node must come before it.")
        outputs = self.operations[name].outputs
        if not (index or "0").isdigit() or int(index or 0) >= len(outputs):
            raise ValueError(f"Input '{text}' of a node: '{name}' has {len(outputs)} outputs.")
        return outputs[int(index or 0)]

    def scopes(self, stack, node, attrs):
        controls = [self.operations[i[1:]] for i in node.input if i.startswith("^")]
        controls = [getattr(c, "op", c) for c in controls] + self._controls
        stack.enter_context(self.graph.control_dependencies(None))
        if controls:
            stack.enter_context(self.graph.control_dependencies(controls))
        stack.enter_context(self.graph.device(None))
        if node.device:
            stack.enter_context(self.graph.device(node.device))
        for group in attrs.pop("_class", ()):
            group = group.decode() if isinstance(group, bytes) else group
            if group.startswith("loc:@") and group[5:] in self.operations:
                stack.enter_context(self.graph.colocate_with(self.operations[group[5:]]))
            elif group.startswith("loc:@") and group[5:] in self.names:
                stack.enter_context(colocation_named(self.graph, self.prefix + group[5:]))

    def _unique_name(self, name):
        """Returns the name, or name_1, name_2, ... if the graph has it already."""
        operations, count = name, 0
        while True:
            try:
                self.graph.get_operation_by_name(operations)
            except KeyError:
                return operations
            count += 1
            operations = f"{name}_{count}"

    def _function(self, node, name, inputs):
        """Returns the name in the graph of a function that a node calls."""
        if name not in self.library:
            raise NotImplementedError(
                f"{node.op} '{node.name}' calls the function '{name}', which is not part of the "
                "GraphDef: those of gradients of loops and branches are not written."
            )
        arity = len(self.library[name].signature.input_arg)
        return self.library.define(self.graph, name, inputs[len(inputs) - arity :])

    def _call(self, node, name, inputs, full):
        """Adds the nodes of a function that a node calls. Returns the operation of its results."""
        if name not in self.library:
            raise ValueError(f"Function '{name}' of node '{node.name}' is not in the library.")
        with contextlib.ExitStack() as stack:
            self.scopes(stack, node, {})
            controls = [self.operations[i[1:]] for i in node.input if i.startswith("^")]
            outputs, effects = self.library.inline(
                self.graph, self.library[name], inputs, full + "/", controls + self._controls
            )
            with self.graph.control_dependencies(effects):
                if not outputs:
                    return OPS["NoOp"](name=full + "/")
                return OPS["IdentityN"](outputs, name=full + "/")[0].op

    def add(self, node):
        """Adds a node."""
        name = self._unique_name(self.prefix + node.name)
        inputs = [self.tensor(i) for i in node.input if not i.startswith("^")]
        called = node.attr["f"].func.name if node.op in _CALLS else node.op
        if called in self.library or node.op in _CALLS:
            self.operations[node.name] = self._call(node, called, inputs, name)
            return
        if node.op in ("Switch", "Merge"):
            self.operations[node.name] = self._switch_or_merge(node, inputs, name)
            return
        attrs = {k: attr_value(v) for k, v in node.attr.items() if v.WhichOneof("value")}
        for key, value in attrs.items():
            if isinstance(value, _situ.Message):
                attrs[key] = self._function(node, value.name, inputs)
        kind = _RENAMED.get(node.op, node.op)
        if kind not in OPS:
            raise ValueError(f"No op named {node.op} in defined operations.")
        with contextlib.ExitStack() as stack:
            self.scopes(stack, node, attrs)
            attrs = {k: v for k, v in attrs.items() if not k.startswith("_")}
            if node.op == "Const":
                result = convert_to_tensor(attrs["value"], attrs["dtype"], name + "/")
            else:
                result = call_op(kind, inputs, attrs, name + "/")
        self.operations[node.name] = self._operation(result, name)

    def _switch_or_merge(self, node, inputs, name):
        """Adds a node of tf.cond of TensorFlow 1, see control_flow_ops.switch. Returns an object
        with its outputs."""
        from situ._src.ops import control_flow_ops

        with contextlib.ExitStack() as stack:
            self.scopes(stack, node, {})
            if node.op == "Merge":
                return _Outputs(control_flow_ops.merge(inputs, name + "/"))
            return _Outputs(control_flow_ops.switch(*inputs, name=name + "/"))

    def _operation(self, result, name):
        """Returns the operation of the result of an op function."""
        first = result[0] if isinstance(result, (list, tuple)) and result else result
        if hasattr(first, "outputs"):
            return first
        if first is not None and not isinstance(first, (list, tuple)):
            return first.op
        return self.graph.get_operation_by_name(name)


def call_op(kind, inputs, attrs, name):
    """Calls an op with the flat inputs and the attributes of a node."""
    function = OPS[kind]
    try:
        args = node_def.group_inputs(function, inputs, attrs)
    except ValueError as error:
        raise ValueError(
            f"{error} specified for node '{(name or kind).rstrip('/')}' (op: '{kind}')."
        ) from None
    names = {attr for _, attr, _ in function.parameters}
    return function(*args, name=name, **{k: v for k, v in attrs.items() if k in names})


def import_nodes(nodes, prefix="", input_map=None, library=None, lenient=False):
    """Adds NodeDefs. Returns the operations by their original names. If `lenient`, nodes
    that call unknown functions (gradients of loops), and those that depend on them, are skipped."""
    importer = Importer(get_default_graph(), prefix, input_map, library)
    importer.names = {node.name for node in nodes}
    skipped = set()
    for node in nodes:
        if any(i.lstrip("^").partition(":")[0] in skipped for i in node.input):
            skipped.add(node.name)
            continue
        try:
            importer.add(node)
        except NotImplementedError:
            if not lenient:
                raise
            skipped.add(node.name)
    return importer.operations


def _check_colocation(nodes, input_map):
    known = {n.name for n in nodes} | {key.partition(":")[0] for key in input_map}
    for node in nodes:
        groups = node.attr["_class"].list.s if "_class" in node.attr else ()
        for group in (g.decode() for g in groups):
            if group.startswith("loc:@") and group[5:] not in known:
                raise ValueError(
                    f"Node '{node.name}' expects to be colocated with unknown node '{group[5:]}'"
                )


@export("graph_util.import_graph_def", "import_graph_def", v1="import_graph_def")
def import_graph_def(
    graph_def,
    input_map=None,
    return_elements=None,
    name=None,
    op_dict=None,
    producer_op_list=None,
    validate_colocation_constraints=True,
):
    """Imports the nodes of a GraphDef into the current graph.

    Args:
      graph_def: a GraphDef.
      input_map: maps names of tensors of `graph_def` to tensors that replace them.
      return_elements: names of operations and tensors of `graph_def` to return.
      name: the name scope of the nodes; "import" if it is None.
      op_dict: has no effect, as in TensorFlow.
      producer_op_list: has no effect: attributes that an op does not have are ignored.
      validate_colocation_constraints: whether it is an error if a node shall be colocated with a
        node that `graph_def` does not have.

    Returns:
      A list of operations and tensors for `return_elements`, or None.

    Raises:
      ValueError: a node is invalid, or an element is not found.
    """
    del op_dict  # TensorFlow ignores it, too
    del producer_op_list  # attributes that an op does not have are ignored
    from situ._src.framework import function_library

    graph = get_default_graph()
    prefix = "import" if name is None else name
    input_map = {k if ":" in k else k + ":0": v for k, v in (input_map or {}).items()}
    nodes = sorted_nodes(graph_def.node)
    if validate_colocation_constraints:
        _check_colocation(nodes, input_map)
    library = function_library.Library(graph_def.library)
    if prefix:
        with graph.name_scope(prefix) as full:
            operations = import_nodes(nodes, full, input_map, library)
    else:
        operations = import_nodes(nodes, "", input_map, library)
    if return_elements is None:
        return None
    elements = []
    for element in return_elements:
        op_name, _, index = element.partition(":")
        if op_name not in operations:
            raise ValueError(f"Requested return_element '{element}' not found in graph_def.")
        elements.append(operations[op_name].outputs[int(index)] if index else operations[op_name])
    return elements
