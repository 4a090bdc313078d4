# SPDX-License-Identifier: Apache-2.0
"""model.py: tf.keras.Model: functional models (from inputs to outputs) and subclasses with call."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from situ._src.framework import nest, style, tensor_shape
from situ._src.framework.keywords import unsupported
from situ._src.keras import context, nodes, weights
from situ._src.keras.layer import Layer
from situ._src.keras.metrics import Metric
from situ._src.keras.registry import LAYERS as KIND
from situ._src.keras.registry import keras_export, reading_config, to_json_value, unique
from situ._src.keras.saving import Saving
from situ._src.keras.summary import print_summary
from situ._src.keras.topology import Topology, rebuild
from situ._src.keras.training import Training
from situ._src.variables import variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, ShapeLike, TensorLike


@keras_export("Model", "models.Model", "models.Functional")
class Model(Training, Saving, Layer):
    """A layer with training methods, made of layers.

    `Model(inputs, outputs)` makes a functional model of the layers between symbolic tensors of
    `tf.keras.Input` and their results. A subclass creates its layers in `__init__` and implements
    `call`.

    Args:
      inputs: Symbolic tensor, or a list or dictionary of them.
      outputs: Symbolic tensors that were computed from the inputs.
      name: Name of the model.
      trainable: Whether the weights are trained.
      dtype: Type of the weights, or a dtype policy.
    """

    _is_model = True
    _topology = _with_added = None  # the second: with tensors of add_loss and add_metric

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        inputs, outputs = kwargs.pop("inputs", None), kwargs.pop("outputs", None)
        if (
            args
            and inputs is None
            and (isinstance(args[0], (list, tuple, dict)) or context.is_symbolic(args[0]))
        ):
            inputs, args = args[0], args[1:]
            if args and outputs is None:
                outputs, args = args[0], args[1:]
        if args and isinstance(args[0], str):  # Keras passes over other things, such as self
            kwargs.setdefault("name", args[0])
        if "input" in kwargs:
            inputs, outputs = kwargs.pop("input"), kwargs.pop("output", outputs)
        name = kwargs.get("name")
        if name is None and type(self) is Model:
            kwargs["name"] = unique("model")
        super().__init__(**kwargs)
        self._prepare_training()
        self._added_losses: list = []
        self._added_values: list = []
        self._added_metrics: list = []
        self._strategy = variable.strategy()
        if inputs is not None:
            self._join(inputs, outputs)

    def _join(self, inputs, outputs):
        """Makes this a functional model of the layers between inputs and outputs."""
        inputs = list(inputs) if isinstance(inputs, tuple) else inputs
        outputs = list(outputs) if isinstance(outputs, tuple) else outputs
        one = lambda some: (
            some[0]
            if isinstance(some, list)
            and len(some) == 1
            and not isinstance(some[0], (list, tuple, dict))
            else some
        )
        inputs, outputs = one(inputs), one(outputs)  # a list of one tensor is that tensor
        self._topology = Topology(inputs, outputs)
        self.built, self.supports_masking = True, True

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses to that of training.

        Args:
          losses: Tensor, function without arguments that returns one, or a list of them. Symbolic
            tensors are computed in every call of a functional model; other models drop them.
          inputs: Has no effect, as in TensorFlow 2.
        """
        del inputs  # the losses of TensorFlow 2 do not depend on it
        self._add([t for t in nest.flatten(losses) if context.is_symbolic(t)], [])
        super().add_loss([t for t in nest.flatten(losses) if not context.is_symbolic(t)])

    def add_metric(
        self,
        value: TensorLike,
        name: str | None = None,
        aggregation: Any = None,
        inputs: Any = None,
    ) -> None:
        """Adds the mean of a value to the metrics.

        Args:
          value: Tensor; a symbolic one is computed in every call of a functional model.
          name: Name of the metric; default: "mean".
          aggregation: "mean", or None, which is the same.
          inputs: Has no effect, as in TensorFlow 2.

        Raises:
          ValueError: If aggregation is something else.
        """
        super().add_metric(value, name, aggregation, inputs)
        if context.is_symbolic(value) and self._topology is not None:
            self._add([], [value])
            self._added_metrics.append(self._metrics[-1])

    def _add(self, losses, values):
        if not losses and not values or self._topology is None:
            return
        self._added_losses, self._added_values = (
            self._added_losses + losses,
            self._added_values + values,
        )
        self._with_added = Topology(
            self._topology.inputs, [self._topology.outputs, self._added_losses, self._added_values]
        )
        self._clear_programs()

    # Layers, weights and losses

    UNTRACKED = Layer.UNTRACKED + (
        "_topology",
        "_with_added",
        "_added_losses",
        "_added_values",
        "_added_metrics",
        "_programs",
        "_flat_outputs",
        "_callbacks",
    )

    def _sub_layers(self):
        if self._topology is not None:
            known = list((self._with_added or self._topology).layers)
            own = [x for x in super()._sub_layers() if x not in known]
            return known + [x for x in own if not _is_metric(x)]
        return [x for x in super()._sub_layers() if not _is_metric(x)]

    @property
    def layers(self) -> Any:
        """Layers of the model, without metrics."""
        return self._sub_layers()

    @property
    def weights(self) -> Any:
        return weights.deduplicate(
            [*[v for s in self._sub_layers() for v in s.weights], *self._own()]
        )

    inputs = property(lambda s: None if s._topology is None else nest.flatten(s._topology.inputs))
    outputs = property(lambda s: None if s._topology is None else nest.flatten(s._topology.outputs))

    @property
    def input(self) -> Any:
        """Symbolic inputs of a functional model."""
        if self._topology is None:
            raise AttributeError(f"Layer {self.name} is not connected, no input to return.")
        return _single(self._topology.inputs)

    @property
    def output(self) -> Any:
        """Symbolic outputs of a functional model."""
        if self._topology is None:
            raise AttributeError(f"Layer {self.name} has no inbound nodes.")
        return _single(self._topology.outputs)

    @property
    def input_shape(self) -> Any:
        """Shapes of the inputs, as tuples."""
        return nest.map_structure(lambda t: tuple(t.shape.as_list()), self.input)

    @property
    def output_shape(self) -> Any:
        """Shapes of the outputs, as tuples."""
        return nest.map_structure(lambda t: tuple(t.shape.as_list()), self.output)

    @property
    def input_names(self) -> list:
        return [t._keras_history[0].name for t in self.inputs or []]

    @property
    def output_names(self) -> Any:
        if self._topology is None:
            return self.__dict__.get("_flat_outputs")
        names = []
        for tensor in self.outputs:
            name = tensor._keras_history[0].name
            while name in names:
                name += "_1"
            names.append(name)
        return names

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Returns a layer by name or by index.

        Args:
          name: Name of the layer.
          index: Index in `layers`; takes precedence over name.

        Returns:
          The layer.

        Raises:
          ValueError: If there is no such layer.
        """
        if index is not None:
            if index >= len(self.layers):
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has "
                    f"{len(self.layers)} layers."
                )
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(
            f"No such layer: {name}. Existing layers are: {[x.name for x in self.layers]}."
        )

    # Calls

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the weights of a subclass by calling it on symbolic tensors.

        Args:
          input_shape: Shape with the batch dimension; a list or dictionary for several inputs.
        """
        if self._topology is not None or self.built:
            self.built = True
            return
        if context.call.depth:  # the enclosing call creates them
            return
        graph = context.KerasGraph()
        is_list = (
            isinstance(input_shape, list)
            and input_shape
            and isinstance(input_shape[0], (list, tuple, tensor_shape.TensorShape))
        )
        make = lambda s: nodes.placeholder(graph, tensor_shape.as_shape(s), self.dtype)
        inputs = (
            [make(s) for s in input_shape]
            if is_list
            else {k: make(s) for k, s in input_shape.items()}
            if isinstance(input_shape, dict)
            else make(input_shape)
        )
        with graph.as_default():
            self._run(inputs, (), {})
        self.built = True

    def call(
        self, inputs: TensorLike, training: bool | None = None, mask: TensorLike = None
    ) -> Any:
        """Computes the outputs; subclasses override it.

        Args:
          inputs: Tensor, or a list or dictionary of tensors.
          training: Whether the model is being trained; a functional model passes it on to all
            layers.
          mask: Masks of the inputs, in their structure; default: those that the inputs carry.

        Returns:
          Tensor, or a list or dictionary of tensors.
        """
        if self._topology is None:
            raise NotImplementedError(
                "Unimplemented `tf.keras.Model.call()`: if you intend to "
                "create a `Model` with the Functional API, please provide "
                "`inputs` and `outputs` arguments. Otherwise, subclass "
                "`Model` with an overridden `call()` method."
            )
        with self._call_context(inputs, training, mask), context.named():
            if self._with_added is None:
                return self._topology.run(inputs)
            outputs, losses, values = self._with_added.run(inputs)
        self._losses += losses
        for metric, value in zip(self._added_metrics, values):
            metric.update_state(value)
        return outputs

    @contextlib.contextmanager
    def _call_context(self, inputs, training, mask):
        """Context in which layers see the arguments training and mask of call."""
        if mask is not None:
            for tensor, one in zip(nest.flatten(inputs), nest.flatten(mask)):
                context.set_mask(tensor, one)
        before = context.call.training
        context.call.training = before if training is None else training
        try:
            yield
        finally:
            context.call.training = before

    def compute_mask(self, inputs: TensorLike, mask: TensorLike = None) -> None:
        return None

    def _cast(self, inputs):
        return inputs if self._topology is not None else super()._cast(inputs)

    # Descriptions

    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Callable | None = None,
        expand_nested: bool = False,
        show_trainable: bool = False,
        layer_range: Any = None,
    ) -> None:
        """Prints a table of the layers, their output shapes and their numbers of parameters.

        Args:
          line_length: Width of the table.
          positions: Positions of the columns, absolute or as fractions of the width.
          print_fn: Function that prints a line; default: print.
          expand_nested: Whether to list the layers of nested models.
          show_trainable: Whether to show which layers are trainable.
          layer_range: Names, or regular expressions for them, of the first and the last layer to
            list; default: all layers.

        Raises:
          ValueError: If the model is not built, or layer_range matches no layer.
        """
        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling "
                "`build()` or by calling the model on a batch of data."
            )
        print_summary(
            self, line_length, positions, print_fn, expand_nested, show_trainable, layer_range
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the configuration of the model as a dictionary."""
        if self._topology is None or type(self) is not Model:
            if type(self).__init__ is not Model.__init__:
                return {"name": self.name}
        if self._topology is None:
            raise NotImplementedError(
                f"Model {type(self).__name__} cannot be saved because it is "
                "a subclassed model without get_config(): save its weights."
            )
        return {"name": self.name, "trainable": self.trainable, **self._topology.get_config()}

    @classmethod
    def from_config(cls, config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
        """Creates a model from the result of get_config; its weights are new."""
        if "layers" not in config or "input_layers" not in config:
            return cls(**config)
        make = lambda one: KIND.deserialize(one, custom_objects)
        inputs, outputs, _ = rebuild(config, make)
        return cls(
            inputs=inputs,
            outputs=outputs,
            name=config.get("name"),
            trainable=config.get("trainable", True),
        )

    def to_json(self, **kwargs: Any) -> str:
        """Returns the architecture as JSON for model_from_json; `kwargs` go to json.dumps."""
        return json.dumps(
            {
                "class_name": self._registered_class(),
                "config": to_json_value(self.get_config()),
                "keras_version": style.VERSIONS["v2"],
                "backend": "tensorflow",
            },
            **kwargs,
        )

    @property
    def state_updates(self) -> list:
        return []

    @property
    def stateful_layers(self) -> list:
        return [x for x in self._flat_layers() if getattr(x, "stateful", False)]

    def reset_states(self) -> None:
        """Resets the states of stateful layers."""
        for layer in self._flat_layers()[1:]:
            if getattr(layer, "stateful", False) and hasattr(layer, "reset_states"):
                layer.reset_states()

    def __repr__(self):
        return f"<keras.{type(self).__name__} name={self.name}>"


def _is_metric(layer):
    return isinstance(layer, Metric)


def _single(structure):
    return structure[0] if isinstance(structure, list) and len(structure) == 1 else structure


KIND.add(Model, "Model", "Functional")


@keras_export("models.clone_model")
def clone_model(
    model: Any, input_tensors: Any = None, clone_function: Callable | None = None
) -> Any:
    """Creates a model with the same layers and new weights.

    Args:
      model: The model to copy.
      input_tensors: Only None is supported.
      clone_function: Function from a layer to its copy; for Sequential models only.

    Returns:
      The new model, not compiled.

    Raises:
      NotImplementedError: If input_tensors is set, or clone_function with another model.
    """
    unsupported("clone_model", input_tensors=(input_tensors, None))
    if clone_function is None:
        return type(model).from_config(model.get_config())
    if type(model).__name__ != "Sequential":
        unsupported("clone_model of a functional model", clone_function=(clone_function, None))
    first = model.layers[0]._batch_input_shape if model.layers else None
    result = type(model)([clone_function(layer) for layer in model.layers], name=model.name)
    if model.built and first is not None:
        result.build(first)
    return result


@keras_export("models.model_from_json")
def model_from_json(json_string: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Creates a model from the result of to_json; its weights are new.

    Args:
      json_string: The JSON.
      custom_objects: Dictionary from names to classes and functions of the program.

    Returns:
      The model, not compiled.
    """
    config = json.loads(json_string)
    return model_from_config(config, custom_objects)


@keras_export("models.model_from_config")
def model_from_config(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Creates a model from a dictionary with `class_name` and `config`.

    Args:
      config: The dictionary.
      custom_objects: Dictionary from names to classes and functions of the program.
    """
    with reading_config():
        return KIND.deserialize(config, custom_objects)


@keras_export("layers.deserialize")
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Creates a layer from the result of serialize.

    Args:
      config: The dictionary.
      custom_objects: Dictionary from names to classes and functions of the program.
    """
    return KIND.deserialize(config, custom_objects)


@keras_export("layers.serialize")
def serialize(layer: Any) -> dict:
    """Returns the class name and the configuration of a layer as a dictionary.

    Args:
      layer: The layer.
    """
    return {"class_name": layer._registered_class(), "config": to_json_value(layer.get_config())}
