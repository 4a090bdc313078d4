# SPDX-License-Identifier: Apache-2.0
"""nodes.py: records the calls of layers on symbolic tensors, which functional models repeat."""

from __future__ import annotations

import contextlib
import json
import re

import _situ
from situ._src.framework import nest, style, tensor_shape
from situ._src.framework import node_def as nodedef
from situ._src.framework.api import OPS
from situ._src.framework.config import function_options
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import get_default_graph
from situ._src.framework.scopes import control_dependencies, device
from situ._src.framework.type_spec import spec_of
from situ._src.keras import context, weights
from situ._src.keras.registry import unique
from situ._src.ops.array_ops import op


def placeholder(graph, shape, dtype, name=None):
    with graph.as_default():
        return op("Placeholder", dtype=as_dtype(dtype), shape=shape, name=name)


def placeholder_of(graph, spec, name=None):
    """Returns a symbolic tensor of a TypeSpec: a tensor or a composite tensor."""
    if not hasattr(spec, "_situ_tensors_"):
        return placeholder(graph, spec.shape, spec.dtype, name)
    with graph.as_default():
        return spec._situ_from_tensors_(
            [placeholder_of(graph, part, name) for part in spec._situ_tensors_]
        )


_placed: list = []  # devices of `placed` that were entered


@contextlib.contextmanager
def placed(name: str | None):
    """Layers that are called in it run on a device, wherever their model is called."""
    _placed.append(name)
    try:
        yield
    finally:
        _placed.pop()


def _places():
    """Returns the device scopes of a call, the outermost first. In graph style the scopes of the
    program count; in eager style they apply to computations, not to models."""
    result = (
        [d for d in get_default_graph()._devices if not callable(d)] if style.is_graph() else []
    )
    return result + _placed[-1:]


def _is_placed():
    """Whether whoever calls a model says where it runs: that counts for all of it."""
    graph = _situ.current_graph()
    return bool(_situ.current_device()) if graph is None else any(graph._devices)


class Node:
    """A call of a layer: its arguments and results."""

    def __init__(self, layer, inputs, args, kwargs, outputs):
        self.layer, self.inputs, self.args, self.kwargs = layer, inputs, args, kwargs
        self.outputs, self.places = outputs, _places()
        self.index = len(layer._inbound_nodes)
        layer._inbound_nodes.append(self)
        for i, tensor in enumerate(nest.flatten(outputs)):
            tensor._keras_history = (layer, self.index, i)
            for k, part in enumerate(getattr(tensor, "_situ_tensors_", ())):
                if not hasattr(part, "_keras_history") and not hasattr(part, "_keras_component"):
                    part._keras_component = tensor, k
        for parent in self.parents():
            parent._keras_history[0]._outbound_nodes.append(self)

    def parents(self):
        """The symbolic tensors that it was given."""
        return [
            t for t in nest.flatten((self.inputs, self.args, self.kwargs)) if context.is_symbolic(t)
        ]

    def again(self, values):
        """The same call with other tensors: values by the symbolic one's id."""

        def value(t):
            return values[id(t)] if context.is_symbolic(t) else t

        inputs, args, kwargs = nest.map_structure(value, (self.inputs, self.args, self.kwargs))
        with contextlib.ExitStack() as devices:
            for place in self.places if not _is_placed() else ():
                devices.enter_context(device(place))
            return self.layer(inputs, *args, **kwargs)

    # Names that programs use

    outbound_layer = property(lambda s: s.layer)
    input_tensors = property(lambda s: s.inputs)
    output_tensors = property(lambda s: s.outputs)

    @property
    def inbound_layers(self):
        result = [t._keras_history[0] for t in self.parents()]
        return result[0] if len(result) == 1 else result


def node_of(tensor):
    layer, index, _ = tensor._keras_history
    return layer._inbound_nodes[index]


def record(layer, inputs, args, kwargs):
    """Calls a layer on symbolic tensors."""
    for tensor in nest.flatten((inputs, args, kwargs)):
        if context.is_symbolic(tensor):
            ensure(tensor)
    leaves = nest.flatten((inputs, args, kwargs))
    graph = next(context.graph_of(t) for t in leaves if context.is_symbolic(t))
    _list_weights(layer)
    device = _situ.swap_device("")
    before = context.call.names
    try:
        with graph.as_default(), context.named(*before):
            layer._clear_losses()
            outputs = layer._run(inputs, args, kwargs)
            given = {id(t) for t in nest.flatten((inputs, args, kwargs))}
            outputs = nest.map_structure(lambda t: _own(t, given), outputs)
    finally:
        _situ.swap_device(device)
    Node(layer, inputs, args, kwargs, outputs)
    return outputs


def _list_weights(layer):
    """In graph style, lists the weights of a layer in the collections of the program's graph:
    when the program reads them, they become variables of that graph."""
    outer = get_default_graph() if style.is_graph() else None
    if outer is None or outer.building_function:
        return

    def add():
        if any(isinstance(v, weights.EagerVariable) for v in layer.weights):
            with outer.as_default(), control_dependencies(None):
                weights.to_graph(layer._flat_layers())

    outer.on_variables_read(add)


def _own(tensor, given):
    """Returns a tensor of the layer: a copy if it is an input or the output of another layer."""
    if id(tensor) not in given and not hasattr(tensor, "_keras_history"):
        return tensor
    mask = context.get_mask(tensor)
    copy = _copy(tensor)
    if mask is not None:
        context.set_mask(copy, mask)
    return copy


def _copy(value):
    """Returns a copy of a tensor, or of a composite tensor with the same static shape."""
    if not hasattr(value, "_situ_tensors_"):
        return op("Identity", value)
    return spec_of(value)._situ_from_tensors_([op("Identity", p) for p in value._situ_tensors_])


# Ops on symbolic tensors outside of layers: each becomes a layer.


def depends(tensor, known=None):
    """Whether a tensor depends on a symbolic input."""
    known = {} if known is None else known
    stack = [tensor]
    while stack:
        t = stack[-1]
        if id(t) in known:
            stack.pop()
        elif hasattr(t, "_keras_history") or hasattr(t, "_keras_component"):
            known[id(t)] = True
            stack.pop()
        elif hasattr(t, "_keras_original"):
            known[id(t)] = depends(t._keras_original)
            stack.pop()
        else:
            open_ = [i for i in t.op.inputs if id(i) not in known]
            if open_:
                stack.extend(open_)
                continue
            known[id(t)] = any(known[id(i)] for i in t.op.inputs)
            stack.pop()
    return known[id(tensor)]


def _original(tensor):
    """Returns the tensor of another graph that a placeholder stands for, or else the tensor."""
    return getattr(tensor, "_keras_original", tensor)


def ensure(tensor):
    """Wraps the ops that computed a tensor in layers, so that it has a Keras history."""
    if hasattr(tensor, "_keras_history"):
        return
    if hasattr(tensor, "_situ_tensors_"):
        _ensure_composite(tensor)
        return
    if hasattr(tensor, "_keras_component"):
        _ensure_component(tensor)
        return
    if not depends(tensor):
        raise ValueError(
            f"Graph disconnected: cannot obtain value for tensor {tensor} that does "
            "not come from `tf.keras.Input`."
        )
    operation = tensor.op
    parents = [_original(t) for t in operation.inputs if depends(t)]
    for parent in parents:
        ensure(parent)
    if hasattr(tensor, "_keras_history"):
        return
    layer, inputs = op_layer(operation), parents
    outputs = list(operation.outputs)
    Node(
        layer,
        inputs if len(inputs) > 1 else inputs[0],
        (),
        {},
        outputs if len(outputs) > 1 else outputs[0],
    )


def _ensure_component(tensor):
    """Makes a component of a symbolic composite tensor the output of a layer."""
    from situ._src.keras.op_layer import CompositeComponent

    composite, index = tensor._keras_component
    Node(CompositeComponent(index), composite, (), {}, tensor)


def _ensure_composite(value):
    """Makes a composite tensor of symbolic components the output of a layer."""
    from situ._src.keras.op_layer import CompositeFromComponents

    parts = value._situ_tensors_
    symbolic = [part for part in parts if depends(part)]
    for part in symbolic:
        ensure(part)
    constants = {i: constant_of(part) for i, part in enumerate(parts) if not depends(part)}
    Node(CompositeFromComponents(spec_of(value), constants), symbolic, (), {}, value)


def constant_of(tensor):
    """Returns the value of a tensor that depends on no input: a variable or a tensor."""
    graph = tensor.graph
    for variable, read in graph.reads.items():
        if read is tensor:
            return variable
    for outside, inside in graph.captured.values():
        if inside is tensor:
            return outside
    captured = [c for c in graph.captured.values() if not context.is_symbolic(c[0])]
    reads = list(graph.reads.items())
    trace = _situ.Trace(
        graph,
        function_options(),
        "constant",
        0,
        (),
        tuple(i for _, i in captured),
        tuple(o for o, _ in captured),
        tuple(r for _, r in reads),
        tuple(v for v, _ in reads),
        (tensor,),
        (),
        (),
        (),
    )
    return trace.run([])


def op_layer(operation):
    from situ._src.keras.op_layer import TensorFlowOpLayer

    attrs = json.loads(operation._save(True)).get("attr", {})
    inputs = enumerate(operation.inputs)
    constants = {i: constant_of(_original(t)) for i, t in inputs if not depends(t)}
    name = re.sub(r"_\d+$", "", operation.name.replace("/", "_"))  # unique in its graph only
    return TensorFlowOpLayer(
        {"op": operation.type, "attr": attrs}, constants, name=unique(f"tf_op_layer_{name}")
    )


def call_op(node_def, inputs):
    """Calls an op by its NodeDef with all its inputs in one list."""
    function = OPS[node_def["op"]]
    attrs = {
        name: nodedef.value_of(nodedef.attr_from_json(value))
        for name, value in node_def["attr"].items()
    }
    args = nodedef.group_inputs(function, inputs, attrs)
    kwargs = {
        name: _attribute(attrs[source])
        for name, source, _ in function.parameters[len(args) :]
        if source in attrs
    }
    return function(*args, **kwargs)


def _attribute(value):
    if isinstance(value, bytes):
        return value.decode()
    return [_attribute(v) for v in value] if isinstance(value, list) else value


def sizes_of(tensor):
    return tuple(tensor_shape.as_shape(tensor.shape).as_list())
