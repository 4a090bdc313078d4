# SPDX-License-Identifier: Apache-2.0
"""summary.py: the table of a model's layers that Model.summary prints."""

import re

import numpy

from situ._src.framework import nest
from situ._src.keras.input_layer import InputLayer

_BREAKS = ("),", "},", "],", "',")


def _is_chain(model):
    """Whether every layer is called once, on the output of the previous one."""
    topology = model._topology
    if topology is None:
        return True
    calls = [n.layer for n in topology.nodes]
    return (
        len(nest.flatten(topology.inputs)) == 1
        and len(set(map(id, calls))) == len(calls)
        and all(len(n.parents()) <= 1 for n in topology.nodes)
        and all(
            sum(1 for m in topology.nodes for t in m.parents() if t._keras_history[0] is n.layer)
            <= 1
            for n in topology.nodes
        )
    )


def _row(fields, positions, level=0):
    """Returns the lines of a table row; cells that are too long are wrapped."""
    left, lines = [str(f) for f in fields], []
    while any(left):
        line = ""
        for i, text in enumerate(left):
            start = positions[i - 1] if i else 0
            space = 2 if i != len(positions) - 1 else 0
            cut = positions[i] - start - space
            part = text[:cut]
            ends = [part.find(x) + len(x) for x in _BREAKS if part.find(x) >= 0]
            if ends:
                cut = min(ends)
                part = part[:cut]
            line += ("|" * level + " " if not i else "") + part + " " * space
            left[i] = text[cut:]
            line += " " * (positions[i] - len(line) - level)
        lines.append(line + "|" * level)
    return lines


def _shape_text(layer):
    try:
        result = layer.output_shape
    except AttributeError:
        return "?"
    if isinstance(layer, InputLayer):
        return [result]
    return result


def _params(layer):
    return layer.count_params() if layer.built else 0


def _memory(variables):
    size = float(sum(numpy.prod(v.shape.as_list()) * v.dtype.size for v in variables))
    for unit in ("Byte", "KB", "MB", "GB"):
        if size < 1024 or unit == "GB":
            return f"{size:.2f} {unit}"
        size /= 1024
    return ""


def count(variables):
    return int(sum(numpy.prod(v.shape.as_list()) for v in variables))


def _connections(model, layer):
    topology = model._topology
    mine = {id(n) for n in topology.nodes}
    result = []
    for node in layer._inbound_nodes:
        if id(node) in mine:
            for tensor in node.parents():
                source, index, place = tensor._keras_history
                result.append(f"{source.name}[{index}][{place}]")
    return result


def _in_range(layers, layer_range):
    """Returns the layers from the first to the last whose names match a pair of expressions."""
    if layer_range is None:
        return layers
    if len(layer_range) != 2 or not all(isinstance(name, str) for name in layer_range):
        raise ValueError(
            "layer_range must be a list or tuple of length 2 with strings only. Received: "
            f"{layer_range}"
        )
    ends = [[i for i, x in enumerate(layers) if re.match(n, x.name)] for n in layer_range]
    if not all(ends):
        raise ValueError(
            f"Passed layer_names do not match the layer names in the model. Received: {layer_range}"
        )
    if min(ends[0]) > max(ends[1]):
        return layers[min(ends[1]) : max(ends[0]) + 1]
    return layers[min(ends[0]) : max(ends[1]) + 1]


def print_summary(
    model,
    line_length=None,
    positions=None,
    print_fn=None,
    expand_nested=False,
    show_trainable=False,
    layer_range=None,
):
    """Prints the table of Model.summary."""
    say = print_fn or print
    chain = _is_chain(model)
    if chain:
        line_length, positions = line_length or 65, positions or [0.45, 0.85, 1.0]
    else:
        line_length, positions = line_length or 98, positions or [0.33, 0.55, 0.67, 1.0]
    positions = [int(line_length * p) for p in positions] if positions[-1] <= 1 else positions
    titles = ["Layer (type)", "Output Shape", "Param #"] + ([] if chain else ["Connected to"])
    if show_trainable:
        positions = [*positions, positions[-1] + 12]
        line_length += 12
        titles.append("Trainable")
    say(f'Model: "{model.name}"')
    say("_" * line_length)
    for line in _row(titles, positions):
        say(line)
    say("=" * line_length)

    def show(layer, owner, level):
        fields = [f"{layer.name} ({type(layer).__name__})", _shape_text(layer), _params(layer)]
        if not chain:
            fields.append(_connections(owner, layer) if owner._topology is not None else "")
        if show_trainable:
            fields.append("Y" if layer.trainable else "N")
        for line in _row(fields, positions, level):
            say(line)
        if expand_nested and getattr(layer, "_is_model", False):
            for inner in layer.layers:
                show(inner, layer, level + 1)
        say("|" * level + " " * (line_length - 2 * level) + "|" * level)

    for layer in _in_range(model.layers, layer_range):
        show(layer, model, 0)
    say("=" * line_length)
    trained = [v for v in model.weights if any(v is t for t in model.trainable_weights)]
    still = [v for v in model.weights if not any(v is t for t in trained)]
    for title, some in (("Total", model.weights), ("Trainable", trained), ("Non-trainable", still)):
        say(f"{title} params: {count(some)} ({_memory(some)})")
    say("_" * line_length)
