# SPDX-License-Identifier: Apache-2.0
"""import_graph_def.py: tf.import_graph_def: adds the nodes of a GraphDef to the current graph."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy

import _situ
from situ._src.framework import dtypes, errors, import_loops, logs, node_def
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import get_default_graph
from situ._src.framework.graph_scopes import colocation_named
from situ._src.framework.import_tensor_arrays import Arrays
from situ._src.ops import control_flow_ops
from situ._src.ops.array_ops import convert_to_tensor

_NODE_BYTES = 1024  # memory of a node, about


class Budget:
    """Limits what a small GraphDef can expand to: a TensorProto may repeat its last element any
    number of times (see SITU_EXPANSION_LIMIT), and a function is read once per call. The limits are
    those of struct graphdef_budget in C.

    Args:
      message: the message that is read; large ones may expand to more.
    """

    def __init__(self, message: Any = None) -> None:
        self._message = message  # until its size is known
        self._bytes = _situ.expansion_limit(0)  # remaining bytes of repeated elements
        self._bodies = 10000  # remaining function bodies
        self._calls: list[str] = []  # functions that are being read

    def array(self, tensor: Any) -> numpy.ndarray:
        """Returns the array of a TensorProto.

        Raises:
          ResourceExhaustedError: the message has too many repeated elements.
          ValueError: type, shape and contents do not match.
        """
        try:
            array, self._bytes = _situ.tensor_proto_array(tensor, self._bytes)
        except errors.ResourceExhaustedError:
            if not self._raise():
                raise
            return self.array(tensor)
        return numpy.asarray(array, object if isinstance(array, bytes) else None)

    def _raise(self) -> bool:
        """Raises the limit to that of the size of the message. Returns whether it was lower."""
        if self._message is None:
            return False
        size, self._message = self._message.ByteSize(), None
        self._bytes += _situ.expansion_limit(size) - _situ.expansion_limit(0)
        return True

    def _spend_nodes(self, function: str, count: int) -> None:
        needed = count * _NODE_BYTES
        if needed > self._bytes and (not self._raise() or needed > self._bytes):
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"Function '{function}': calls of functions expand a GraphDef to too many nodes "
                "for its size. SITU_EXPANSION_LIMIT raises the limit.",
            )
        self._bytes -= needed

    @contextlib.contextmanager
    def reading(self, function: str, n_nodes: int):
        """A context that reads the body of a function.

        Raises:
          ValueError: functions are recursive, nested too deeply, or too many.
          ResourceExhaustedError: they have too many nodes.
        """
        if function in self._calls:
            raise ValueError(f"Function '{function}' calls itself, which is not supported.")
        if len(self._calls) == 100 or not self._bodies:
            raise ValueError(f"Function '{function}': too many nested calls of functions.")
        self._spend_nodes(function, n_nodes)
        self._bodies -= 1
        self._calls.append(function)
        try:
            yield
        finally:
            self._calls.pop()


# The field of a TensorProto that has the elements of a type.
VALUE_FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "float16": "half_val",
    "bfloat16": "half_val",
    "float8_e5m2": "float8_val",
    "float8_e4m3fn": "float8_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "string": "string_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    **dict.fromkeys(("int4", "uint4", "int8", "uint8", "int16", "uint16", "int32"), "int_val"),
}


def tensor_value(tensor: Any, budget: Budget | None = None) -> numpy.ndarray:
    """Returns the NumPy array of a TensorProto.

    Args:
      tensor: the TensorProto.
      budget: limits the bytes of repeated elements; by default that of the tensor alone.

    Raises:
      ResourceExhaustedError: the budget is exceeded.
      ValueError: type, shape and contents do not match.
    """
    return (Budget(tensor) if budget is None else budget).array(tensor)


def attr_value(attr: Any, budget: Budget | None = None) -> Any:
    """Returns the Python value of an AttrValue; a tensor is an array."""
    value = node_def.value_of(attr)
    return tensor_value(value, budget) if attr.WhichOneof("value") == "tensor" else value


def sorted_nodes(nodes: list) -> list:
    """Returns NodeDefs in topological order; otherwise their order does not change.

    Raises:
      ValueError: two nodes have the same name.
    """
    by_name: dict[str, Any] = {}
    done, out = set(), []
    for node in nodes:
        if by_name.setdefault(node.name, node) is not node:
            raise ValueError(f"Node '{node.name}' is not unique")
    for first in nodes:
        stack = [(first, iter(first.input))]
        waiting = {first.name}
        while stack:
            node, inputs = stack[-1]
            names = (i.lstrip("^").partition(":")[0] for i in inputs)
            after = import_loops.back_edges(node, by_name)
            name = next(
                (
                    n
                    for n in names
                    if n in by_name and n not in done and n not in waiting and n not in after
                ),
                None,
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
_SWITCH_MERGE = ("Switch", "Merge", "RefSwitch", "RefMerge")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")  # ops that call the function `f`


class Importer:
    """Adds nodes one by one. Inputs must come before the nodes that use them."""

    def __init__(self, graph, prefix, input_map, library=None, controls=()):
        self.graph, self.prefix, self.map, self.operations = graph, prefix, input_map or {}, {}
        self.library = library or ()  # function_library.Library: the functions of the GraphDef
        self._controls = list(controls)  # run before all nodes
        self.names: set[str] = set()  # of all nodes of the GraphDef
        self._budget = Budget() if library is None else library.budget
        self._arrays = Arrays()

    def tensor(self, text):
        name, _, index = text.partition(":")
        for key in (text, f"{name}:{index or 0}"):
            if key in self.map:
                return convert_to_tensor(self.map[key])
        if name not in self.operations:
            raise self._unknown(text)
        outputs = self.operations[name].outputs
        if not (index or "0").isdigit() or int(index or 0) >= len(outputs):
            raise ValueError(f"Input '{text}' of a node: '{name}' has {len(outputs)} outputs.")
        return outputs[int(index or 0)]

    def _unknown(self, text):
        """Returns the error of an input that is not a node before."""
        if text.lstrip("^").partition(":")[0] in self.names:
            return ValueError(f"Input '{text}' of a node depends on the node: nodes in a cycle")
        return ValueError(f"Unknown input node '{text}'")

    def _control_inputs(self, node):
        names = [i for i in node.input if i.startswith("^")]
        for name in names:
            if name[1:] not in self.operations:
                raise self._unknown(name)
        return [self.operations[name[1:]] for name in names]

    def scopes(self, stack, node, attrs):
        controls = self._control_inputs(node)
        controls = [getattr(c, "op", c) for c in controls] + self._controls
        stack.enter_context(self.graph.control_dependencies(None))
        if controls:
            stack.enter_context(self.graph.control_dependencies(controls))
        stack.enter_context(self.graph.device(None))
        if node.device:
            stack.enter_context(self.graph.device(node.device))
        for group in attrs.pop("_class", ()):
            group = group.decode() if isinstance(group, bytes) else group
            if not isinstance(group, str):
                raise ValueError(f"Attribute '_class' of node '{node.name}' has no strings.")
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
            controls = self._control_inputs(node)
            outputs, effects = self.library.inline(
                self.graph, self.library[name], inputs, full + "/", controls + self._controls
            )
            with self.graph.control_dependencies(effects):
                if not outputs:
                    return OPS["NoOp"](name=full + "/")
                return OPS["IdentityN"](outputs, name=full + "/")[0].op

    def inside(self, given):
        """Returns an importer of nodes of a function, for which some tensors are given."""
        inner = _BodyImporter(get_default_graph(), "", given)
        inner.library, inner._budget = self.library, self._budget
        inner._arrays = self._arrays
        return inner

    def has_op(self, node):
        """Returns whether the op of a node is known."""
        kind = _RENAMED.get(node.op, node.op)
        if Arrays.has(kind):
            return True
        return kind in OPS or kind in self.library or kind in _CALLS or kind in _SWITCH_MERGE

    def add(self, node):
        """Adds a node, or a loop.

        Raises:
          ValueError: the node is invalid.
        """
        try:
            if isinstance(node, import_loops.Loop):
                node.add(self)
            else:
                self._add(node)
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            text = f"attribute {error} is missing" if isinstance(error, KeyError) else str(error)
            if not text.startswith("Node '"):  # of a function that the node calls
                text = f"Node '{node.name}': {text}"
            raise ValueError(text) from error

    def _add(self, node):
        name = self._unique_name(self.prefix + node.name)
        inputs = [self.tensor(i) for i in node.input if not i.startswith("^")]
        called = node.attr["f"].func.name if node.op in _CALLS else node.op
        if called in self.library or node.op in _CALLS:
            self.operations[node.name] = self._call(node, called, inputs, name)
            return
        if node.op in _SWITCH_MERGE:
            self.operations[node.name] = self._switch_or_merge(node, inputs, name)
            return
        given = {k: v for k, v in node.attr.items() if v.WhichOneof("value")}
        attrs = {k: attr_value(v, self._budget) for k, v in given.items()}
        for key, value in attrs.items():
            if isinstance(value, _situ.Message):
                attrs[key] = self._function(node, value.name, inputs)
        kind = _RENAMED.get(node.op, node.op)
        if Arrays.has(kind):
            with contextlib.ExitStack() as stack:
                self.scopes(stack, node, attrs)
                made = self._arrays.add(kind, inputs, attrs, name + "/")
            self.operations[node.name] = _Outputs(made)
            return
        if kind not in OPS:
            raise ValueError(f"No op named {node.op} in defined operations.")
        with contextlib.ExitStack() as stack:
            self.scopes(stack, node, attrs)
            attrs = {k: v for k, v in attrs.items() if not k.startswith("_")}
            if kind == "DatasetConstant" and "dataset" in attrs:
                from situ._src.data import serialization

                result = serialization.read_constant(attrs["dataset"], name + "/")
            elif node.op == "Const":
                result = convert_to_tensor(attrs["value"], attrs["dtype"], name + "/")
            else:
                result = call_op(kind, inputs, attrs, name + "/")
        self.operations[node.name] = self._operation(result, name)

    def _switch_or_merge(self, node, inputs, name):
        """Adds a node of tf.cond of TensorFlow 1, see control_flow_ops.switch. Returns an object
        with its outputs."""
        with contextlib.ExitStack() as stack:
            self.scopes(stack, node, {})
            if node.op in ("Merge", "RefMerge"):
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


class _BodyImporter(Importer):
    """Adds the nodes of a loop body. Control inputs that are nodes of the frame itself order
    nothing there."""

    def _control_inputs(self, node):
        names = [i[1:] for i in node.input if i.startswith("^")]
        return [self.operations[name] for name in names if name in self.operations]


def _check_types(function, args, attrs):
    """Raises ValueError if an input has another type than the attribute of the node says."""
    index = 0
    for port, arg in zip(function.inputs, args):
        wanted = attrs.get(port["type"])
        for at, tensor in enumerate(arg if port["list"] else [arg]):
            dtype = wanted[at] if isinstance(wanted, list) and at < len(wanted) else wanted
            found = tensor.dtype.base_dtype
            is_known = isinstance(dtype, dtypes.DType) and found.name not in ("resource", "variant")
            # A handle has the type of its variable, and a list is the flow of a TensorArray.
            if is_known and dtype.base_dtype != found:
                raise ValueError(
                    f"Input {index} was passed {found.name} from {tensor.name} incompatible with "
                    f"expected {dtype.name}."
                )
            index += 1


def call_op(kind, inputs, attrs, name):
    """Calls an op with the flat inputs and the attributes of a node."""
    function = OPS[kind]
    try:
        args = node_def.group_inputs(function, inputs, attrs)
    except ValueError as error:
        raise ValueError(
            f"{error} specified for node '{(name or kind).rstrip('/')}' (op: '{kind}')."
        ) from None
    _check_types(function, args, attrs)
    names = {attr for _, attr, _ in function.parameters}
    return function(*args, name=name, **{k: v for k, v in attrs.items() if k in names})


def import_nodes(nodes, prefix="", input_map=None, library=None, lenient=False):
    """Adds NodeDefs. Returns the operations by their original names. If `lenient`, nodes
    that call unknown functions (gradients of loops), and those that depend on them, are skipped."""
    importer = Importer(get_default_graph(), prefix, input_map, library)
    importer.names = {node.name for node in nodes}
    skipped: dict[str, None] = {}
    for node in import_loops.grouped(nodes):
        names = dict.fromkeys(getattr(node, "names", None) or [node.name])
        if any(i.lstrip("^").partition(":")[0] in skipped for i in node.input):
            skipped.update(names)
            continue
        try:
            importer.add(node)
        except NotImplementedError:
            if not lenient:
                raise
            skipped.update(names)
    if skipped:
        logs.warn(
            "%d nodes that call unknown functions, or depend on such nodes, were not imported: %s",
            len(skipped),
            ", ".join(list(skipped)[:10]) + (", ..." if len(skipped) > 10 else ""),
        )
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


def _check_used(input_map, nodes):
    """Raises ValueError if no node has an output, or an input, that an `input_map` names."""
    known = {n.name for n in nodes}
    inputs = {i if ":" in i or i[:1] == "^" else i + ":0" for n in nodes for i in n.input}
    unused = [k for k in input_map if k not in inputs and k.lstrip("^").split(":")[0] not in known]
    if unused:
        raise ValueError(
            f"Attempted to map inputs that were not found in graph_def: [{', '.join(unused)}]"
        )


def _element_name(text):
    """Returns the name and the output index, or None, of an item of `return_elements`."""
    name, colon, index = text.partition(":")
    if colon and not index.isdigit():
        raise ValueError(
            f"Cannot convert {text!r} to a tensor name. Second component of the name following "
            f"the `:` should be an int. Got {index}."
        )
    return name, int(index) if colon else None


def _element(operations, name, index):
    """Returns the operation or tensor with a name of an item of `return_elements`."""
    if name not in operations:
        what = f"node '{name}'" if index is None else f"tensor '{name}:{index}'"
        raise ValueError(f"Requested return {what} not found in graph def")
    if index is None:
        return operations[name]
    outputs = operations[name].outputs
    if index >= len(outputs):
        raise ValueError(
            f"Invalid return output {index} of node '{name}', which has {len(outputs)} output(s)"
        )
    return outputs[index]


def _checked_elements(return_elements):
    """Returns the (name, index) pairs of `return_elements`, or None."""
    if return_elements is None:
        return None
    if not all(isinstance(e, (str, bytes)) for e in return_elements):
        raise TypeError(
            f"Argument `return_elements` must be a list of strings. Obtained {return_elements}."
        )
    return [_element_name(e.decode() if isinstance(e, bytes) else e) for e in return_elements]


def _checked_input_map(input_map, prefix):
    """Returns `input_map` with the names of tensors as keys."""
    if input_map is None:
        return {}
    if not isinstance(input_map, dict):
        raise TypeError(
            f"Argument `input_map` must be a dictionary. Obtained {type(input_map).__name__}"
        )
    if not all(isinstance(key, (str, bytes)) for key in input_map):
        raise TypeError(
            f"All keys for argument `input_map` must be strings. Obtained keys: {list(input_map)}"
        )
    if not prefix and not all(isinstance(v, _situ.Tensor) for v in input_map.values()):
        raise ValueError(
            "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor "
            "values. Try calling tf.convert_to_tensor() on `input_map` values before calling "
            "tf.import_graph_def()."
        )
    names = {(k.decode() if isinstance(k, bytes) else k): v for k, v in input_map.items()}
    return {k if ":" in k else k + ":0": v for k, v in names.items()}


def _check_versions(versions):
    """Raises ValueError if a GraphDef is too old or too new."""
    from situ._src.framework.versions import (
        GRAPH_DEF_VERSION,
        GRAPH_DEF_VERSION_MIN_PRODUCER,
        VERSION,
    )

    if versions.producer < GRAPH_DEF_VERSION_MIN_PRODUCER:
        raise ValueError(
            f"GraphDef producer version {versions.producer} below min producer "
            f"{GRAPH_DEF_VERSION_MIN_PRODUCER} supported by TensorFlow {VERSION}.  Please "
            "regenerate your graph."
        )
    if versions.min_consumer > GRAPH_DEF_VERSION:
        raise ValueError(
            f"GraphDef min consumer version {versions.min_consumer} above current version "
            f"{GRAPH_DEF_VERSION} for TensorFlow {VERSION}.  Please upgrade TensorFlow."
        )
    if GRAPH_DEF_VERSION in versions.bad_consumers:
        raise ValueError(
            f"GraphDef disallows consumer version {GRAPH_DEF_VERSION}.  Please upgrade TensorFlow: "
            "this version is likely buggy."
        )


@export("graph_util.import_graph_def", "import_graph_def", v1="import_graph_def")
def import_graph_def(
    graph_def: Any,
    input_map: dict | None = None,
    return_elements: Any = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
    validate_colocation_constraints: bool = True,
) -> list | None:
    """Imports the nodes of a GraphDef into the current graph.

    Args:
      graph_def: a GraphDef.
      input_map: maps names of tensors of `graph_def` to tensors that replace them, or to values
        that are converted in the scope `name`.
      return_elements: names of operations and tensors of `graph_def` to return.
      name: the name scope of the nodes; "import" if it is None.
      op_dict: has no effect, as in TensorFlow.
      producer_op_list: has no effect: attributes that an op does not have are ignored.
      validate_colocation_constraints: whether it is an error if a node shall be colocated with a
        node that `graph_def` does not have.

    Returns:
      A list of operations and tensors for `return_elements`, or None.

    Raises:
      ResourceExhaustedError: TensorProtos repeat their last elements too often.
      TypeError: `graph_def` is not a GraphDef, `input_map` no dictionary of names, or
        `return_elements` no list of names.
      ValueError: a node is invalid, a name in `input_map` or `return_elements` is not found, or
        the GraphDef is of a version that cannot be read.
    """
    del op_dict  # TensorFlow ignores it, too
    del producer_op_list  # attributes that an op does not have are ignored
    from situ._src.framework import function_library

    if not isinstance(graph_def, node_def.GraphDef):
        raise TypeError("Argument `graph_def` must be a GraphDef proto.")
    graph = get_default_graph()
    prefix = "import" if name is None else name
    input_map, elements = _checked_input_map(input_map, prefix), _checked_elements(return_elements)
    _check_versions(graph_def.versions)
    nodes = sorted_nodes(graph_def.node)
    if validate_colocation_constraints:
        _check_colocation(nodes, input_map)
    _check_used(input_map, nodes)
    library = function_library.Library(graph_def.library, graph_def)
    if prefix:
        with graph.name_scope(prefix) as full:
            operations = import_nodes(nodes, full, input_map, library)
    else:
        operations = import_nodes(nodes, "", input_map, library)
    if elements is None:
        return None
    return [_element(operations, name, index) for name, index in elements]
