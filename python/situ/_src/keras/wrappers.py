# SPDX-License-Identifier: Apache-2.0
"""wrappers.py: layers that wrap layers: TimeDistributed, Bidirectional, SpectralNormalization,
Pipeline."""

from __future__ import annotations

from typing import Any

from situ._src.framework import nest, tensor_shape
from situ._src.keras import context, mixed_precision
from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import named
from situ._src.keras.registry import LAYERS, serialize_keras_object
from situ._src.ops import init_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.ragged_tensor import RaggedTensor


@named("Wrapper")
class Wrapper(Layer):
    """Base class of layers that wrap a layer.

    Args:
      layer: The wrapped layer.
    """

    def __init__(self, layer: Any, **kwargs) -> None:
        self.layer = layer
        super().__init__(**kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: Any):
        config = dict(config)
        layer = LAYERS.deserialize(config.pop("layer"))
        if isinstance(config.get("backward_layer"), dict):
            config["backward_layer"] = LAYERS.deserialize(config["backward_layer"])
        return cls(layer, **config)


@named("TimeDistributed")
class TimeDistributed(Wrapper):
    """Applies a layer to every time step.

    Args:
      layer: The layer; all steps share its weights.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, ...)`.
      training: Passed to the layer if it has such a parameter.
      mask: Mask of shape `(batch, steps, ...)`, passed to the layer, step by step, if it has such a
        parameter.
    """

    def __init__(self, layer: Any, **kwargs) -> None:
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def call(self, inputs, training=None, mask=None):
        if isinstance(inputs, RaggedTensor):
            return self._of_ragged(inputs, training)
        known = inputs.shape.as_list()
        sizes = [-1 if d is None else d for d in known]
        flat = op("Reshape", inputs, [-1, *sizes[2:]])
        kwargs = {"training": training} if "training" in self.layer._signature() else {}
        if mask is not None and "mask" in self.layer._signature():
            kwargs["mask"] = op("Reshape", mask, [-1, *mask.shape.as_list()[2:]])
        result = self.layer(flat, **kwargs)
        inner = result.shape.as_list()[1:]
        if known[0] is None and known[1] is None:
            front = op("Slice", op("Shape", inputs), [0], [2])
            shape = op("ConcatV2", [front, convert_to_tensor(inner, "int32")], 0)
            return op("Reshape", result, shape)
        return op("Reshape", result, [sizes[0], sizes[1], *inner])

    def _of_ragged(self, inputs, training):
        """Calls the layer on the values of the rows of a ragged tensor."""
        kwargs = {"training": training} if "training" in self.layer._signature() else {}
        result = self.layer(inputs.values, **kwargs)
        return nest.map_structure(inputs.with_values, result)


@named("Bidirectional")
class Bidirectional(Wrapper):
    """Runs a recurrent layer forward and a copy of it backward.

    Args:
      layer: The recurrent layer.
      merge_mode: How the outputs are combined: "concat", "sum", "mul", "ave" or None (a list).
      weights: Initial values of the weights.
      backward_layer: Layer of the backward direction; default: a copy with go_backwards inverted.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, features)`.
      training: Passed to both layers.
      mask: Mask of shape `(batch, steps)`.
      initial_state: States of the forward layer, then those of the backward layer.
      constants: Constants of the cells of both layers.

    Raises:
      ValueError: If merge_mode is unknown.
    """

    def __init__(
        self, layer: Any, merge_mode="concat", weights=None, backward_layer=None, **kwargs
    ) -> None:
        super().__init__(layer, weights=weights, **kwargs)
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError(
                f"Invalid merge mode. Received: {merge_mode}. Merge mode should be "
                'one of {"sum", "mul", "ave", "concat", None}'
            )
        self.merge_mode = merge_mode
        self.forward_layer = self._copy(layer, layer.go_backwards, "forward_")
        self.backward_layer = (
            backward_layer
            if backward_layer is not None
            else self._copy(layer, not layer.go_backwards, "backward_")
        )
        self._own_backward = backward_layer is not None
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self.supports_masking = True
        del self.layer
        self._wrapped = serialize_keras_object(layer)
        if layer._batch_input_shape is not None:
            self._batch_input_shape = layer._batch_input_shape

    @staticmethod
    def _copy(layer, backwards, prefix):
        config = layer.get_config()
        config["go_backwards"] = backwards
        config["name"] = prefix + layer.name
        return type(layer).from_config(config)

    def build(self, input_shape):
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        for layer in (self.forward_layer, self.backward_layer):
            if not layer.built and tensor_shape.as_shape(shape).rank is not None:
                with context.layer_call(layer, None):
                    layer.build(shape)
        self.built = True

    def __call__(self, inputs, initial_state=None, constants=None, **kwargs):
        if isinstance(inputs, (list, tuple)) and initial_state is None and len(inputs) > 1:
            inputs, initial_state = inputs[0], list(inputs[1:])
        if initial_state is not None:
            kwargs["initial_state"] = list(nest.flatten(initial_state))
        if constants is not None:
            kwargs["constants"] = list(nest.flatten(constants))
        return super().__call__(inputs, **kwargs)

    def call(self, inputs, training=None, mask=None, initial_state=None, constants=None):
        first = second = None
        if initial_state is not None:
            half = len(initial_state) // 2
            first, second = initial_state[:half], initial_state[half:]
        kwargs = {"training": training}
        if mask is not None:
            kwargs["mask"] = mask
        if constants is not None:
            kwargs["constants"] = constants
        forward = self.forward_layer(inputs, initial_state=first, **kwargs)
        backward = self.backward_layer(inputs, initial_state=second, **kwargs)
        states = []
        if self.return_state:
            states = [*forward[1:], *backward[1:]]
            forward, backward = forward[0], backward[0]
        if self.return_sequences:
            backward = op("ReverseV2", backward, [1])
        result = self._merged(forward, backward)
        if not self.return_state:
            return result
        return [*result, *states] if isinstance(result, list) else [result, *states]

    def _merged(self, forward, backward):
        if self.merge_mode == "concat":
            return op("ConcatV2", [forward, backward], -1)
        if self.merge_mode == "sum":
            return forward + backward
        if self.merge_mode == "ave":
            return (forward + backward) / 2.0
        return forward * backward if self.merge_mode == "mul" else [forward, backward]

    def compute_mask(self, inputs, mask=None):
        mask = nest.flatten(mask)[0] if mask is not None else None
        return mask if self.return_sequences else None

    def get_config(self) -> dict[str, Any]:
        config = {**Layer.get_config(self), "merge_mode": self.merge_mode, "layer": self._wrapped}
        if self._own_backward:
            config["backward_layer"] = serialize_keras_object(self.backward_layer)
        return config


@named("SpectralNormalization")
class SpectralNormalization(Wrapper):
    """Divides the kernel of a layer by its largest singular value in each step of training.

    Args:
      layer: Layer with a kernel or embeddings.
      power_iterations: Number of iterations that estimate the singular value.
      **kwargs: Arguments of `Layer`.

    Call arguments:
      inputs: Inputs of the layer.
      training: Whether to normalize the kernel.

    Raises:
      ValueError: If power_iterations is not positive, or the layer has no kernel.
    """

    def __init__(self, layer: Any, power_iterations: int = 1, **kwargs) -> None:
        super().__init__(layer, **kwargs)
        if power_iterations <= 0:
            raise ValueError(
                "`power_iterations` should be greater than zero. Received: "
                f"`power_iterations={power_iterations}`"
            )
        self.power_iterations = power_iterations

    def build(self, input_shape):
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        name = next((n for n in ("kernel", "embeddings") if hasattr(self.layer, n)), None)
        if name is None:
            raise ValueError(
                f"{type(self.layer).__name__} object has no attribute 'kernel' nor 'embeddings'"
            )
        self.kernel = getattr(self.layer, name)
        self.vector_u = self.add_weight(
            "vector_u",
            [1, self.kernel.shape.as_list()[-1]],
            initializer=init_ops.TruncatedNormal(stddev=0.02),
            trainable=False,
        )
        self.built = True

    def call(self, inputs, training=None):
        if training:
            self._normalize()
        result = self.layer(inputs)
        return cast(result, inputs.dtype) if inputs.dtype.is_floating else result

    def _normalize(self):
        """Normalizes the kernel, unless it is 0."""
        with mixed_precision.reading_as(None):
            kernel, u = convert_to_tensor(self.kernel), convert_to_tensor(self.vector_u)
            flat = op("Reshape", kernel, [-1])
            is_zero = op("All", op("Equal", flat, op("ZerosLike", flat)), [0])
            matrix, before, v = op("Reshape", kernel, [-1, kernel.shape.as_list()[-1]]), u, None
            for _ in range(self.power_iterations):
                v = _unit(op("MatMul", u, matrix, transpose_b=True))
                u = _unit(op("MatMul", v, matrix))
            sigma = op("MatMul", op("MatMul", v, matrix), u, transpose_b=True)
            made = kernel / op("Reshape", sigma, [1] * kernel.shape.rank)
            self.vector_u.assign(op("SelectV2", is_zero, before, u))
            self.kernel.assign(op("SelectV2", is_zero, kernel, made))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "power_iterations": self.power_iterations}


def _unit(x):
    """Divides by the L2 norm."""
    squares = op("Sum", op("Square", x), [0, 1], keep_dims=True)
    return x * op("Rsqrt", op("Maximum", squares, convert_to_tensor(1e-12, x.dtype)))


@named("Pipeline")
class Pipeline(Layer):
    """Calls layers one after another, such as those that preprocess images.

    Args:
      layers: List of layers.
      name: Name of the layer.

    Call arguments:
      inputs: Inputs of the first layer.
      training: Passed to the layers that have such a parameter.
    """

    def __init__(self, layers: Any, name: str | None = None, **kwargs) -> None:
        super().__init__(name=name, **kwargs)
        self._pipeline_layers = list(layers)

    layers = property(lambda s: s._pipeline_layers)

    def _cast(self, inputs):
        return inputs

    def call(self, inputs, training=True, mask=None):
        for layer in self._pipeline_layers:
            known = layer._signature()
            kwargs = {"training": training} if "training" in known else {}
            if mask is not None and "mask" in known:
                kwargs["mask"] = mask
            inputs = layer(inputs, **kwargs)
        return inputs

    def get_config(self) -> dict[str, Any]:
        layers = [serialize_keras_object(layer) for layer in self._pipeline_layers]
        return {**super().get_config(), "layers": layers}

    @classmethod
    def from_config(cls, config: Any):
        config = dict(config)
        layers = [LAYERS.deserialize(layer) for layer in config.pop("layers")]
        return cls(layers, **config)
