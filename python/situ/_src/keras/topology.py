# SPDX-License-Identifier: Apache-2.0
"""topology.py: the layer calls between the inputs and outputs of a functional model."""

from situ._src.framework import nest
from situ._src.keras import context, nodes
from situ._src.keras.registry import serialize_keras_object, to_json_value
from situ._src.ops.array_ops import cast, op
from situ._src.ops.sparse_ops import SparseTensor, sparse_tensor_to_dense


class Topology:
    """Layers and their calls in topological order."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = inputs, outputs
        for tensor in nest.flatten(outputs):
            if not context.is_symbolic(tensor):
                raise ValueError(
                    "Output tensors of a Functional model must be the output of a "
                    "TensorFlow `Layer` (thus holding past layer metadata). Found: "
                    f"{tensor}"
                )
            nodes.ensure(tensor)
        for tensor in nest.flatten(inputs):
            if not context.is_symbolic(tensor):
                raise ValueError(
                    "Input tensors to a Functional model must come from `tf.keras."
                    f"Input`. Received: {tensor} (missing previous layer metadata)."
                )
        self.nodes, self.layers = self._sort()
        names = [layer.name for layer in self.layers]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(
                    f'The name "{name}" is used {names.count(name)} times in the '
                    "model. All layer names should be unique."
                )

    def _visit(self):
        """Returns the calls that the outputs depend on in post-order, and the index of each
        layer.
        """
        given = {id(t) for t in nest.flatten(self.inputs)}
        order, seen, index = [], set(), {}

        def visit(tensor):
            node = nodes.node_of(tensor)
            if id(node) in seen:
                return
            seen.add(id(node))
            index.setdefault(node.layer, len(index))
            if id(tensor) not in given:
                if not node.parents():
                    raise ValueError(
                        f"Graph disconnected: cannot obtain value for tensor {tensor} "
                        f'at layer "{node.layer.name}". The following previous layers '
                        "were accessed without issue: "
                        f"{[n.layer.name for n in order]}"
                    )
                for parent in node.parents():
                    nodes.ensure(parent)
                    visit(parent)
            order.append(node)

        for tensor in nest.flatten(self.outputs):
            visit(tensor)
        return order, index

    def _sort(self):
        order, index = self._visit()
        given = {id(t) for t in nest.flatten(self.inputs)}
        depths, layer_depths = {}, {}
        for node in reversed(order):
            depth = max(depths.get(id(node), 0), layer_depths.get(node.layer, 0))
            depths[id(node)] = layer_depths[node.layer] = depth
            if any(id(t) in given for t in nest.flatten(node.outputs)):
                continue
            for parent in node.parents():
                below = id(nodes.node_of(parent))
                depths[below] = max(depth + 1, depths.get(below, 0))
        for tensor in nest.flatten(self.inputs):
            node = nodes.node_of(tensor)
            if id(node) not in depths:
                depths[id(node)], layer_depths[node.layer], index[node.layer] = 0, 0, -1
                order.append(node)
        place = {id(n): i for i, n in enumerate(order)}
        run = sorted(order, key=lambda n: (-depths[id(n)], place[id(n)]))
        layers = sorted(layer_depths, key=lambda x: (-layer_depths[x], index[x]))
        return run, layers

    def run(self, inputs):
        """Repeats the calls with other inputs."""
        given = nest.flatten(self.inputs)
        flat = flat_inputs(inputs, given)
        values = {id(t): v for t, v in zip(given, flat)}
        for node in self.nodes:
            outputs = nest.flatten(node.outputs)
            if all(id(t) in values for t in outputs):
                continue
            for tensor, value in zip(outputs, nest.flatten(node.again(values))):
                values[id(tensor)] = value
        return nest.map_structure(lambda t: values[id(t)], self.outputs)

    # Configuration

    def _key(self, tensor, node_indices):
        layer, index, place = tensor._keras_history
        return [layer.name, node_indices[id(layer._inbound_nodes[index])], place]

    def _node_indices(self):
        """Returns the index of each call among those of its layer in this model."""
        counts, node_indices = {}, {}
        for node in sorted(self.nodes, key=lambda n: n.index):
            node_indices[id(node)] = counts.get(node.layer, 0)
            counts[node.layer] = node_indices[id(node)] + 1
        return node_indices

    def get_config(self):
        node_indices, layers = self._node_indices(), []
        mine = {id(n) for n in self.nodes}
        for layer in self.layers:
            calls = [n for n in layer._inbound_nodes if id(n) in mine and n.parents()]
            layers.append(
                {
                    "class_name": layer._registered_class(),
                    "config": to_json_value(layer.get_config()),
                    "name": layer.name,
                    "inbound_nodes": [self._call(n, node_indices) for n in calls],
                }
            )
        key = lambda t: self._key(t, node_indices)
        return {
            "layers": layers,
            "input_layers": nest_of(key, self.inputs),
            "output_layers": nest_of(key, self.outputs),
        }

    def _call(self, node, node_indices):
        """Returns a call as JSON: [[layer, node, tensor, kwargs], ...] if simple, else inputs,
        args, kwargs.
        """
        key = lambda t: (
            ["__tensor__", *self._key(t, node_indices)]
            if context.is_symbolic(t)
            else serialize_keras_object(t)
            if not hasattr(t, "tolist")
            else t.tolist()
        )
        simple = (
            context.is_symbolic(node.inputs)
            or isinstance(node.inputs, list)
            and all(context.is_symbolic(t) for t in node.inputs)
        )
        if (
            simple
            and not node.args
            and not any(context.is_symbolic(t) for t in nest.flatten(node.kwargs))
        ):
            flat = node.inputs if isinstance(node.inputs, list) else [node.inputs]
            kwargs = to_json_value(node.kwargs)
            return [[*self._key(t, node_indices), kwargs] for t in flat]
        return {
            "inputs": nest_of(key, node.inputs),
            "args": nest_of(key, list(node.args)),
            "kwargs": nest_of(key, node.kwargs),
        }


def nest_of(function, structure):
    """Maps a function over the leaves of a structure; tuples become lists, as in JSON."""
    if isinstance(structure, dict):
        return {k: nest_of(function, v) for k, v in structure.items()}
    if isinstance(structure, (list, tuple)):
        return [nest_of(function, v) for v in structure]
    return function(structure)


def flat_inputs(inputs, given):
    """Returns the inputs of a call in the order of the model's inputs; dictionaries by name."""
    if isinstance(inputs, dict):
        names = [t._keras_history[0].name for t in given]
        if all(n in inputs for n in names):
            inputs = [inputs[n] for n in names]
    flat = nest.flatten(inputs)
    if len(flat) != len(given):
        raise ValueError(
            f"Layer expects {len(given)} input(s), but it received {len(flat)} input "
            f"tensors. Inputs received: {inputs}"
        )
    result = []
    for value, tensor in zip(flat, given):
        if value is None and getattr(tensor, "_keras_optional", False):
            result.append(None)
            continue
        if isinstance(value, SparseTensor) and not isinstance(tensor, SparseTensor):
            value = sparse_tensor_to_dense(value)
        if value.dtype != tensor.dtype and not value.dtype.name == "string":
            value = cast(value, tensor.dtype)
        rank, wanted = value.shape.rank, tensor.shape.rank
        if hasattr(value, "_situ_tensors_"):
            rank = None
        if rank is not None and wanted is not None and rank != wanted:
            if rank == wanted - 1 and tensor.shape.as_list()[-1] == 1:
                value = op("ExpandDims", value, -1)
            elif rank == wanted + 1 and value.shape.as_list()[-1] == 1:
                value = op("Squeeze", value, [-1])
        result.append(value)
    return result


def rebuild(config, make):
    """Returns (inputs, outputs, layers) of a configuration; `make` creates a layer."""
    layers, result, waiting = {}, {}, []
    for one in config["layers"]:
        layer = layers[one["name"]] = make(one)
        if layer._inbound_nodes and not one["inbound_nodes"]:
            result[one["name"], 0] = layer._inbound_nodes[-1].outputs
        name = one["name"]  # a layer whose configuration has no name gets another one
        waiting += [(layer, name, i, call) for i, call in enumerate(one["inbound_nodes"])]

    def tensor(name, node, place):
        return nest.flatten(result[name, node])[place]

    while waiting:
        left = []
        for layer, name, i, call in waiting:
            try:
                inputs, args, kwargs = _arguments(call, tensor)
            except KeyError:
                left.append((layer, name, i, call))
                continue
            result[name, i] = layer(inputs, *args, **kwargs)
        if len(left) == len(waiting):
            raise ValueError(
                "The configuration of the model has calls whose inputs no layer "
                f"makes: {[x[0].name for x in left]}"
            )
        waiting = left

    def read(part):
        if isinstance(part, dict):
            return {k: read(v) for k, v in part.items()}
        return tensor(*part) if part and isinstance(part[0], str) else [read(p) for p in part]

    return read(config["input_layers"]), read(config["output_layers"]), layers


def _arguments(call, tensor):
    if isinstance(call, dict):

        def read(part):
            if isinstance(part, list) and part and part[0] == "__tensor__":
                return tensor(*part[1:])
            if isinstance(part, list):
                return [read(p) for p in part]
            return {k: read(v) for k, v in part.items()} if isinstance(part, dict) else part

        return read(call["inputs"]), read(call["args"]), read(call["kwargs"])
    flat = [tensor(*part[:3]) for part in call]
    return flat[0] if len(flat) == 1 else flat, (), call[0][3] if len(call[0]) > 3 else {}
