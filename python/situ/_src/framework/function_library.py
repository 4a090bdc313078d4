# SPDX-License-Identifier: Apache-2.0
"""function_library.py: FunctionDefLibrary: writes the functions of a graph (branches, loop bodies)
as FunctionDefs, and reads them back."""

from __future__ import annotations

import re

from situ._src.framework import branch_graph, import_graph_def, node_def
from situ._src.framework.api import OPS
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.message_classes import message_class
from situ._src.framework.tensor_shape import as_shape

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any

FunctionDef = message_class("tensorflow.FunctionDef")
FunctionDefLibrary = message_class("tensorflow.FunctionDefLibrary")


def _argument_names(tensors):
    """Returns a name per tensor as in OpDefs: of lower-case letters, digits and underscores."""
    names: list[str] = []
    for tensor in tensors:
        name = re.sub("[^a-z0-9]", "_", tensor.op.name.lower()).lstrip("_0123456789") or "arg"
        count = 0
        while (name if not count else f"{name}_{count}") in names:
            count += 1
        names.append(name if not count else f"{name}_{count}")
    return names


def _port_sizes(kind, attrs):
    """Yields (name, number of tensors) of the outputs of a node."""
    for port in OPS[kind].outputs:
        size = 1
        if port["list"]:
            counted = attrs[port["count"] or port["type"]]
            size = counted.i if port["count"] else len(counted.list.type)
        yield port["name"], size


def _port_of(kind, attrs, index):
    """Returns "port:index in the port" of an output of a node."""
    for name, size in _port_sizes(kind, attrs):
        if index < size:
            return f"{name}:{index}"
        index -= size
    raise ValueError(f"Op {kind} has no output {index}.")


def _needed(nodes, outputs):
    """Returns the names of the nodes that outputs depend on, in their order. A body that was
    differentiated has those of its gradient, too."""
    needed, pending = set(), list(outputs)
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending += [i.lstrip("^").partition(":")[0] for i in nodes[name].input]
    return [name for name in nodes if name in needed]


class _Writer:
    """Writes the body of one function."""

    def __init__(self, body, inputs, outputs):
        self._body, self._inputs, self._outputs = body, inputs, outputs
        self._arguments = dict(zip((t.op.name for t in inputs), _argument_names(inputs)))
        nodes = {n.name: n for n in node_def.graph_def(body).node}
        self._nodes = {name: nodes[name] for name in _needed(nodes, [t.op.name for t in outputs])}

    def _reference(self, text):
        """Returns the name of an input of a node in the form of FunctionDefs."""
        name, _, index = text.lstrip("^").partition(":")
        if name in self._arguments:
            return text[: len(text) - len(text.lstrip("^"))] + self._arguments[name]
        if text.startswith("^"):
            return text
        node = self._nodes[name]
        return f"{name}:{_port_of(node.op, node.attr, int(index or 0))}"

    def _add_signature(self, made):
        for i, (tensor, name) in enumerate(zip(self._inputs, self._arguments.values())):
            argument = made.signature.input_arg.add(name=name)
            argument.type = tensor.dtype.base_dtype.as_datatype_enum
            argument.is_ref = tensor.op.type == "VariableV2"
            shapes = made.arg_attr[i].attr["_output_shapes"].list
            shapes.shape.append(as_shape(tensor.shape).as_proto())
        for tensor, name in zip(self._outputs, _argument_names(self._outputs)):
            kind = tensor.dtype.base_dtype.as_datatype_enum
            made.signature.output_arg.add(name=name, type=kind)
            made.ret[name] = self._reference(tensor.name)

    def write(self, name, made):
        """Fills a FunctionDef."""
        made.signature.name = name
        self._add_signature(made)
        for node in self._nodes.values():
            if node.name in self._arguments:
                continue
            copy = made.node_def.add()
            copy.CopyFrom(node)
            copy.input[:] = [self._reference(i) for i in node.input]
        made.signature.is_stateful = branch_graph.is_stateful(self._body)


def write(graph: Any, library: Any) -> None:
    """Adds the functions of a graph, and those that they call, to a FunctionDefLibrary, sorted by
    name."""
    found, pending = {}, [graph]
    while pending:
        bodies = pending.pop().__dict__.get("_function_bodies", {})
        found.update(bodies)
        pending += [body for body, _, _ in bodies.values()]
    for name, (body, inputs, outputs) in sorted(found.items(), key=lambda item: item[0]):
        write_one(body, inputs, outputs, name, library.function.add())


def write_one(graph: Any, inputs: Any, outputs: Any, name: str, made: Any) -> None:
    """Fills a FunctionDef.

    Args:
      graph: the graph of the function.
      inputs: the placeholders of its arguments.
      outputs: its results.
      name: its name.
      made: the FunctionDef.
    """
    _Writer(graph, inputs, outputs).write(name, made)


def dumps(graph: Any) -> bytes:
    """Returns the functions of a graph in binary format."""
    library = FunctionDefLibrary()
    write(graph, library)
    return library.SerializeToString()


def loads(data: bytes) -> Library:
    """Returns the library of functions in binary format."""
    library = FunctionDefLibrary()
    library.ParseFromString(data)
    return Library(library)


class Library:
    """The functions of a GraphDef by name; each is added to a graph when a node first calls it."""

    def __init__(self, library: Any = None, graph_def: Any = None) -> None:
        functions = () if library is None else library.function
        self._functions = {f.signature.name: f for f in functions}
        self.budget = import_graph_def.Budget(graph_def)
        self._names: dict = {}  # (graph, name in the library) -> name in the graph

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def __getitem__(self, name: str) -> Any:
        return self._functions[name]

    def define(self, graph: Any, name: str, operands: list) -> str:
        """Adds a function to a graph, once. Returns its name there.

        Args:
          graph: the graph that calls it.
          name: the name in the library.
          operands: the tensors of the first call: handles of variables among them are known.
        """
        if (graph, name) not in self._names:
            body = branch_graph.BranchGraph(graph)
            definition = self._functions[name]
            with body.as_default(), body.control_dependencies(None):
                inputs = _create_inputs(definition, operands)
                outputs, effects = self.inline(body, definition, inputs, "")
            if effects:
                body.__dict__.setdefault("_effects", []).extend(effects)
            self._names[graph, name] = branch_graph.add(graph, name, body, inputs, outputs, True)
        return self._names[graph, name]

    def inline(
        self, graph: Any, definition: Any, operands: list, prefix: str, controls: Any = ()
    ) -> tuple:
        """Adds the nodes of a function to a graph. Returns its results and control outputs.

        Raises:
          ValueError: the function is invalid, recursive, or called with other arguments.
        """
        _check_operands(definition, operands)
        with self.budget.reading(definition.signature.name, len(definition.node_def)):
            return self._inline(graph, definition, operands, prefix, controls)

    def _inline(self, graph, definition, operands, prefix, controls):
        names = [a.name for a in definition.signature.input_arg]
        mapped = {name + ":0": tensor for name, tensor in zip(names, operands)}
        importer = import_graph_def.Importer(graph, prefix, mapped, self, controls)
        importer.operations.update({n: t.op for n, t in zip(names, operands)})
        nodes = {n.name: n for n in definition.node_def}
        importer.names = set(nodes)
        plain = [_plain_node(node, nodes, mapped) for node in definition.node_def]
        for node in import_graph_def.sorted_nodes(plain):
            importer.add(node)
        outputs = []
        for argument in definition.signature.output_arg:
            if argument.name not in definition.ret:
                raise ValueError(f"Return {argument.name} missing.")
            returned = _plain_reference(definition.ret[argument.name], nodes, mapped)
            outputs.append(importer.tensor(returned))
        missing = [n for n in definition.control_ret.values() if n not in importer.operations]
        if missing:
            raise ValueError(f"Control output '{missing[0]}' is not found.")
        return outputs, [importer.operations[n] for n in definition.control_ret.values()]


def _check_operands(definition, operands):
    """Raises ValueError if the operands of a call do not match the signature of a function."""
    name, arguments = definition.signature.name, definition.signature.input_arg
    if len(arguments) != len(operands):
        raise ValueError(
            f"Function '{name}' takes {len(arguments)} inputs, but was passed {len(operands)}."
        )
    for i, (argument, operand) in enumerate(zip(arguments, operands)):
        wanted = as_dtype(argument.type).base_dtype if argument.type else None
        found = operand.dtype.base_dtype
        if wanted is not None and wanted != found and not argument.is_ref:
            raise ValueError(
                f"Input {i} of function '{name}' was passed {found.name} from {operand.name} "
                f"incompatible with expected {wanted.name}."
            )


def _input_shape(definition, i):
    """Returns the shape of an argument, None if it is not known."""
    if i in definition.arg_attr and "_output_shapes" in definition.arg_attr[i].attr:
        return as_shape(definition.arg_attr[i].attr["_output_shapes"].list.shape[0])
    return None


def placeholders(definition: Any) -> list:
    """Adds a placeholder per argument of a FunctionDef to the current graph. Returns them."""
    return [
        OPS["Placeholder"](
            dtype=as_dtype(argument.type),
            shape=_input_shape(definition, i),
            name=argument.name + "/",
        )
        for i, argument in enumerate(definition.signature.input_arg)
    ]


def _create_inputs(definition, operands):
    """Creates the inputs of a function body."""
    inputs = []
    for i, (argument, operand) in enumerate(zip(definition.signature.input_arg, operands)):
        if operand.op.type in ("VariableV2", "VarHandleOp"):
            options = {k: operand.op.get_attr(k) for k in ("shape", "dtype")}
            inputs.append(OPS[operand.op.type](**options, name=argument.name + "/"))
        else:
            dtype, shape = operand.dtype.base_dtype, _input_shape(definition, i)
            inputs.append(OPS["Placeholder"](dtype=dtype, shape=shape, name=argument.name + "/"))
    return inputs


def _plain_reference(text, nodes, mapped):
    """Returns an input of the form "node:port:index" as "node:index"."""
    if text.startswith("^") or text + ":0" in mapped:
        return text
    name, _, rest = text.partition(":")
    port, _, index = rest.partition(":")
    if name not in nodes or port.isdigit() or not port:
        return text
    if not (index or "0").isdigit():
        raise ValueError(f"'{text}' is not an output of a node.")
    start, node = 0, nodes[name]
    for known, size in _port_sizes(node.op, node.attr) if node.op in OPS else ():
        if known == port:
            return f"{name}:{start + int(index or 0)}"
        start += size
    return f"{name}:{int(index or 0)}"


def _plain_node(node, nodes, mapped):
    """Returns a copy of a node of a FunctionDef with inputs as in a GraphDef."""
    copy = node_def.NodeDef()
    copy.CopyFrom(node)
    copy.input[:] = [_plain_reference(i, nodes, mapped) for i in node.input]
    return copy
