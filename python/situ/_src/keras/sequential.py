# SPDX-License-Identifier: Apache-2.0
"""sequential.py: tf.keras.Sequential: a model that is a stack of layers."""

from __future__ import annotations

from typing import Any

import _situ
from situ._src.framework import nest, tensor_shape
from situ._src.framework.module import Module
from situ._src.keras import context
from situ._src.keras.input_layer import Input, InputLayer
from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import Lambda
from situ._src.keras.model import Model
from situ._src.keras.registry import LAYERS as KIND
from situ._src.keras.registry import keras_export, to_json_value, unique

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import ShapeLike, TensorLike


@keras_export("Sequential", "models.Sequential")
class Sequential(Model):
    """A model that calls its layers one after the other.

    The model is built when the first layer knows its input shape (`tf.keras.Input`, `input_shape`),
    by build, or by the first call.

    Args:
      layers: List of layers.
      name: Name of the model.
    """

    def __init__(self, layers: Any = None, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(name=name or unique("sequential"), **kwargs)
        self._stack: list = []
        for layer in layers or []:
            self.add(layer)

    UNTRACKED = Model.UNTRACKED

    def _sub_layers(self):
        return [x for x in self._stack if not isinstance(x, InputLayer)]

    def add(self, layer: Any) -> None:
        """Appends a layer.

        Args:
          layer: Layer, or the symbolic tensor of `tf.keras.Input`.

        Raises:
          TypeError: If it is not a layer.
          ValueError: If another layer has the same name.
        """
        if context.is_symbolic(layer):
            layer = layer._keras_history[0]
        if not isinstance(layer, Layer):
            if callable(layer) and isinstance(layer, Module):
                layer = Lambda(layer)
            else:
                raise TypeError(
                    "The added layer must be an instance of class Layer. Received: "
                    f"layer={layer} of type {type(layer)}."
                )
        if any(layer.name == other.name and layer is not other for other in self._stack):
            raise ValueError(
                "All layers added to a Sequential model should have unique names. "
                f'Name "{layer.name}" is already the name of a layer in this model. '
                "Update the `name` argument to pass a unique name."
            )
        self._stack.append(layer)
        self._clear_programs()
        if self._topology is not None:
            self._join(self._topology.inputs, layer(nest.flatten(self._topology.outputs)[0]))
        elif len(self._stack) == 1:
            self._begin(layer)
        else:
            self.built = False

    def _begin(self, layer):
        """Starts the functional graph if the first layer knows its input shape."""
        if isinstance(layer, InputLayer):
            tensor = layer._inbound_nodes[0].outputs
            self._join(tensor, tensor)
        elif isinstance(layer, Model) and layer._topology is not None:
            first = layer.inputs[0]
            result = Input(
                batch_shape=first.shape.as_list(), dtype=first.dtype, name=layer.name + "_input"
            )
            self._join(result, layer(result))
        elif layer._batch_input_shape is not None:
            dtype = layer._dtype or "float32"
            result = Input(
                batch_shape=layer._batch_input_shape, dtype=dtype, name=layer.name + "_input"
            )
            self._join(result, layer(result))

    def pop(self) -> Any:
        """Removes and returns the last layer.

        Raises:
          TypeError: If there are no layers.
        """
        if not self._stack:
            raise TypeError("There are no layers in the model.")
        layer = self._stack.pop()
        self._clear_programs()
        layer._inbound_nodes.pop() if layer._inbound_nodes else None
        if self._topology is not None:
            self._topology, self.built = None, False
            rest, self._stack = self._stack, []
            first = next((x for x in rest if x._inbound_nodes), None)
            if first is not None and rest:
                begin = first._inbound_nodes[0].inputs
                begin = begin if context.is_symbolic(begin) else first._inbound_nodes[0].outputs
                self._stack = rest
                self._join(begin, rest[-1]._inbound_nodes[-1].outputs)
        return layer

    def build(self, input_shape: ShapeLike = None) -> None:
        """Creates the weights.

        Args:
          input_shape: Shape of the input with the batch dimension.
        """
        if self._topology is not None or input_shape is None or self.built:
            self.built = self._topology is not None or self.built
            return
        if (
            isinstance(input_shape, (list, dict))
            and nest.flatten(input_shape)
            and isinstance(nest.flatten(input_shape)[0], tensor_shape.TensorShape)
        ):
            return
        sizes = tensor_shape.as_shape(input_shape).as_list()
        if not context.call.depth:
            self._graph_for([None, *sizes[1:]] if sizes else sizes)

    def _graph_for(self, sizes, dtype=None):
        if self._topology is not None or not self._stack:
            return
        graph, before = _situ.swap_graph(None), context.call.depth
        context.call.depth = 0
        try:
            tensor = result = Input(
                batch_shape=sizes, dtype=dtype or self.dtype, name=self._stack[0].name + "_input"
            )
            with context.named(self.name):
                for layer in self._stack:
                    tensor = layer(tensor)
            if not isinstance(tensor, (list, tuple)):
                self._join(result, tensor)
        finally:
            context.call.depth = before
            _situ.swap_graph(graph)

    def _maybe_build(self, inputs):
        if not self.built and self._topology is None and hasattr(inputs, "shape"):
            sizes = tensor_shape.as_shape(inputs.shape).as_list()
            try:
                self._graph_for([None, *sizes[1:]], inputs.dtype)
            except Exception:  # such as of a layer that needs values: the first call builds the
                self._topology = None  # model, and raises the error if there still is one
        self.built = True

    def call(
        self, inputs: TensorLike, training: bool | None = None, mask: TensorLike = None
    ) -> Any:
        if self._topology is not None:
            return super().call(inputs, training, mask)
        with self._call_context(inputs, training, mask):
            for layer in self._stack:
                inputs = layer(inputs)
        return inputs

    def get_config(self) -> dict[str, Any]:
        stack = list(self._stack)
        if self._topology is not None and not isinstance(stack[0], InputLayer):
            stack.insert(0, self.inputs[0]._keras_history[0])
        return {
            "name": self.name,
            **({} if self.trainable else {"trainable": False}),
            "layers": [
                {"class_name": x._registered_class(), "config": to_json_value(x.get_config())}
                for x in stack
            ],
        }

    @classmethod
    def from_config(cls, config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
        config = {"layers": config} if isinstance(config, list) else config
        model = cls(name=config.get("name"))
        model._trainable = config.get("trainable", True)
        known: dict = {}  # a layer that occurs twice is one object
        for one in config["layers"]:
            name = one.get("config", {}).get("name") if isinstance(one, dict) else None
            layer = known.get(name) or KIND.deserialize(one, custom_objects)
            if name is not None:
                known[name] = layer
            model.add(layer)
        return model

    def predict_classes(self, x: Any, batch_size: int | None = 32, verbose: str | int = 0) -> Any:
        """Returns the predicted class of each example.

        Args:
          x: Inputs, as in predict.
          batch_size: Number of examples per step.
          verbose: 1: progress bar.
        """
        result = self.predict(x, batch_size, verbose)
        return result.argmax(-1) if result.shape[-1] > 1 else (result > 0.5).astype("int32")

    def predict_proba(self, x: Any, batch_size: int | None = 32, verbose: str | int = 0) -> Any:
        """Calls predict; its name in TensorFlow 1."""
        return self.predict(x, batch_size, verbose)


KIND.add(Sequential)
