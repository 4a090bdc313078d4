# SPDX-License-Identifier: Apache-2.0
"""model_visualization.py: tf.keras.utils.plot_model and model_to_dot: a model as a drawing of
Graphviz."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import sys
from typing import Any

import _situ
from situ._src.framework import errors, nest
from situ._src.keras.registry import keras_export

_NOT_BUILT = (
    "This model has not yet been built. Build the model first by calling `build()` or by "
    "calling the model on a batch of data."
)
_NO_GRAPHVIZ = (
    "You must install graphviz (see instructions at "
    "https://graphviz.gitlab.io/download/) for `plot_model` to work."
)


class Dot(str):
    """A Graphviz graph with the methods of pydot.Dot that programs use."""

    def to_string(self) -> str:
        return str(self)

    def create(self, prog: str = "dot", format: str = "ps") -> bytes:
        """Returns the rendered graph; runs the program `dot`."""
        result = shutil.which(prog)
        if result is None:
            raise ImportError(_NO_GRAPHVIZ)
        done = subprocess.run(
            [result, f"-T{format}"], input=self.encode(), capture_output=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{prog} failed: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def write(self, path, prog: str = "dot", format: str = "raw") -> bool:
        """Writes the graph to a file; "raw" and "dot" write the DOT source."""
        data = self.encode() if format in ("raw", "dot") else self.create(prog, format)
        with errors.as_os_errors():
            _situ.replace_file(path, data)
        return True


def _shape(tensors):
    flat = [
        str(tuple(t.shape.as_list())) if t.shape.rank is not None else "?"
        for t in nest.flatten(tensors)
        if hasattr(t, "shape")
    ]
    return flat[0] if len(flat) == 1 else f"[{', '.join(flat)}]"


def _cells(layer, options):
    """Returns the table cells below the name of a layer."""
    cells = []
    activation = getattr(layer, "activation", None)
    if options["show_layer_activations"] and activation is not None:
        name = getattr(activation, "__name__", None) or type(activation).__name__
        cells.append(f"Activation: {name}")
    nodes = layer._inbound_nodes
    if options["show_shapes"] and nodes:
        cells += [
            f"Input shape: {_shape(nodes[0].inputs)}",
            f"Output shape: {_shape(nodes[0].outputs)}",
        ]
    if options["show_dtype"]:
        cells.append(f"Output dtype: {layer.dtype}")
    if options["show_trainable"] and layer.weights:
        cells.append("Trainable" if layer.trainable else "Non-trainable")
    return cells


def _label(layer, options):
    kind = type(layer).__name__
    head = (
        f"<b>{html.escape(layer.name)}</b> ({kind})"
        if options["show_layer_names"]
        else f"<b>{kind}</b>"
    )
    cells = "".join(f"<tr><td>{html.escape(c)}</td></tr>" for c in _cells(layer, options))
    return (
        f'<<table border="0" cellborder="1" cellspacing="0"><tr><td>{head}</td></tr>'
        f"{cells}</table>>"
    )


def _is_graph(layer):
    """Whether a layer is a model with symbolic inputs and outputs."""
    return (
        layer._is_model
        and bool(getattr(layer, "layers", ()))
        and any(x._inbound_nodes for x in layer.layers)
    )


class _Drawing:
    """The DOT lines of a model: its layers and their edges."""

    def __init__(self, options):
        self._options, self.lines, self._edges = options, [], set()

    def add(self, model, indent="  "):
        for layer in model.layers:
            if self._options["expand_nested"] and _is_graph(layer):
                self.lines.append(f'{indent}subgraph "cluster_{layer.name}" {{')
                self.lines.append(f'{indent}  label="{layer.name}";')
                self.add(layer, indent + "  ")
                self.lines.append(indent + "}")
            else:
                self.lines.append(
                    f"{indent}{self._name(layer)} [label={_label(layer, self._options)}];"
                )
        self._add_edges(model, indent)

    @staticmethod
    def _name(layer):
        return f'"{id(layer)}"'

    def _ends(self, layer, last):
        """The layer that an edge leads to: of a model that is expanded its first or last one."""
        while self._options["expand_nested"] and _is_graph(layer):
            layer = layer.layers[-1 if last else 0]
        return layer

    def _add_edges(self, model, indent):
        known = {id(x) for x in model.layers}
        for layer in model.layers:
            for node in layer._inbound_nodes:
                for tensor in node.parents():
                    source = tensor._keras_history[0]
                    if id(source) in known:
                        self._add_edge(source, layer, indent)
        if not self._edges and type(model).__name__ == "Sequential":
            for source, layer in zip(model.layers, model.layers[1:]):
                self._add_edge(source, layer, indent)

    def _add_edge(self, source, layer, indent):
        ends = self._name(self._ends(source, True)), self._name(self._ends(layer, False))
        if ends not in self._edges:
            self._edges.add(ends)
            self.lines.append(f"{indent}{ends[0]} -> {ends[1]};")


def _check(model, kwargs):
    if not model.built:
        raise ValueError(_NOT_BUILT)
    if kwargs.pop("layer_range", None) is not None:
        raise ValueError("Argument `layer_range` is no longer supported.")
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments: {kwargs}")


@keras_export("utils.model_to_dot")
def model_to_dot(
    model: Any,
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 200,
    subgraph: bool = False,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
    **kwargs: Any,
) -> Dot:
    """A model in the language of Graphviz.

    Args:
      model: a model that is built.
      show_shapes, show_dtype, show_layer_names, show_layer_activations, show_trainable: what is
        said of each layer.
      rankdir: "TB": from top to bottom; "LR": from left to right.
      expand_nested: whether models within the model are drawn as clusters.
      dpi: the resolution of images; None: that of Graphviz.
      subgraph: whether a cluster is made, to be part of another drawing.
      **kwargs: old names of arguments.

    Returns:
      The text, with methods `write` and `create`.
    """
    _check(model, kwargs)
    drawing = _Drawing(
        {
            "show_shapes": show_shapes,
            "show_dtype": show_dtype,
            "show_layer_names": show_layer_names,
            "expand_nested": expand_nested,
            "show_layer_activations": show_layer_activations,
            "show_trainable": show_trainable,
        }
    )
    if _is_graph(model):
        drawing.add(model)
    else:
        drawing.lines.append(f"  {drawing._name(model)} [label={_label(model, drawing._options)}];")
    head = (
        [f'subgraph "cluster_{model.name}" {{']
        if subgraph
        else ["digraph {", f"  rankdir={rankdir};", *([f"  dpi={dpi};"] if dpi else [])]
    )
    return Dot(
        "\n".join([*head, "  node [shape=none, fontname=Helvetica];", *drawing.lines, "}"]) + "\n"
    )


@keras_export("utils.plot_model")
def plot_model(
    model: Any,
    to_file: str = "model.png",
    show_shapes: bool = False,
    show_dtype: bool = False,
    show_layer_names: bool = False,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 200,
    show_layer_activations: bool = False,
    show_trainable: bool = False,
    **kwargs: Any,
) -> Any:
    """Draws a model to a file; its suffix is the format: png, svg, pdf or dot, for example.

    The program `dot` of Graphviz makes images; "dot" files need none.

    Args:
      model: a model that is built.
      to_file: Path of the file.
      show_shapes: whether to show the shapes of layers.
      show_dtype: whether to show their types.
      show_layer_names: whether to show their names.
      rankdir: "TB": from top to bottom; "LR": from left to right.
      expand_nested: whether models within the model are drawn as clusters.
      dpi: the resolution of images; None: that of Graphviz.
      show_layer_activations: whether to show their activation functions.
      show_trainable: whether to show if they are trained.
      **kwargs: Old names of arguments.

    Returns:
      In a notebook the image, else None.

    Raises:
      ImportError: the program `dot` is not installed.
      ValueError: the model is not built.
    """
    to_file = os.fspath(to_file)
    dot = model_to_dot(
        model,
        show_shapes=show_shapes,
        show_dtype=show_dtype,
        show_layer_names=show_layer_names,
        rankdir=rankdir,
        expand_nested=expand_nested,
        dpi=dpi,
        show_layer_activations=show_layer_activations,
        show_trainable=show_trainable,
        **kwargs,
    )
    suffix = os.path.splitext(to_file)[1][1:].lower()
    if not suffix:
        suffix, to_file = "png", to_file + ".png"
    if suffix != "dot" and shutil.which("dot") is None:
        if "IPython.core.magics.namespace" in sys.modules:  # a notebook goes on without the image
            print(_NO_GRAPHVIZ)
            return None
        raise ImportError(_NO_GRAPHVIZ)
    dot.write(to_file, format=suffix)
    return _displayed(to_file, suffix)


def _displayed(path, suffix):
    """Returns the image object for a notebook."""
    if "IPython" not in sys.modules or suffix in ("pdf", "dot"):
        return None
    try:
        from IPython import display
    except ImportError:
        return None
    return display.SVG(filename=path) if suffix == "svg" else display.Image(filename=path)
