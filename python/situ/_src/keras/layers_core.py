# SPDX-License-Identifier: Apache-2.0
"""layers_core.py: Dense, Embedding, Dropout, Lambda and the reshaping layers of tf.keras.layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import named as public
from situ._src.framework.keywords import unsupported
from situ._src.keras import (
    activations,
    constraints,
    context,
    initializers,
    nodes,
    regularizers,
    seed_generator,
)
from situ._src.keras.input_spec import InputSpec
from situ._src.keras.layer import Layer
from situ._src.keras.registry import LAYERS as KIND
from situ._src.keras.registry import custom, keras_export, serialize_keras_object
from situ._src.keras.seed_generator import SeedGenerator
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op, transpose
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.ragged_tensor import RaggedTensor
from situ._src.ops.sparse_ops import (
    SparseTensor,
    sparse_tensor_dense_matmul,
    sparse_tensor_to_dense,
)


def named(*names):
    """Registers a layer class and exports it under tf.keras.layers."""

    def record(cls):
        KIND.add(cls, *names)
        return keras_export(*["layers." + n for n in names])(cls)

    return record


KIND.add(Layer)


def serialize_attributes(layer, *names):
    """Returns the named attributes of a layer in the form that get_config returns."""
    return {n: serialize_keras_object(getattr(layer, n)) for n in names}


class Weighted(Layer):
    """Base class of layers with a kernel and, unless use_bias is False, a bias."""

    CONFIG_KEYS: tuple[str, ...] = (
        "use_bias",
        "activation",
        "kernel_initializer",
        "bias_initializer",
        "kernel_regularizer",
        "bias_regularizer",
        "activity_regularizer",
        "kernel_constraint",
        "bias_constraint",
    )

    def __init__(
        self,
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.activation, self.use_bias = activations.get(activation), use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.kernel = self.bias = None

    def make(self, shape, outputs):
        """Creates the kernel and the bias; `outputs` is the length of the bias."""
        self.kernel = self.add_weight(
            "kernel",
            shape,
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.add_bias(outputs)

    def add_bias(self, outputs):
        """Creates the bias, if the layer has one, and marks the layer as built."""
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [outputs],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def layout(self):
        """Returns the data format of BiasAdd."""
        return "NHWC"

    def bias_and_activation(self, made):
        """Adds the bias and applies the activation."""
        if self.use_bias:
            made = op("BiasAdd", made, self.bias, data_format=self.layout())
        return self.activation(made)

    def get_config(self):
        return {**super().get_config(), **serialize_attributes(self, *self.CONFIG_KEYS)}


@named("Dense")
class Dense(Weighted):
    """Fully connected layer: `activation(inputs @ kernel + bias)`.

    Inputs of a rank above 2 are multiplied along their last axis.

    Args:
      units: Size of the output, a positive integer.
      activation: Activation function, or its name; None applies none.
      use_bias: Whether the layer adds a bias.
      kernel_initializer: Initializer of the kernel.
      bias_initializer: Initializer of the bias.
      kernel_regularizer: Regularizer of the kernel.
      bias_regularizer: Regularizer of the bias.
      activity_regularizer: Regularizer of the output.
      kernel_constraint: Constraint applied to the kernel after each update.
      bias_constraint: Constraint applied to the bias after each update.
      **kwargs: Arguments of `Layer`, such as `name`, `dtype` and `input_shape`.

    Call arguments:
      inputs: Tensor of shape `(batch, ..., input_dim)`; input_dim must be static.

    Returns:
      Tensor of shape `(batch, ..., units)`.

    Raises:
      ValueError: If units is not positive, or the last dimension of the input is unknown.
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs,
    ) -> None:
        super().__init__(
            activation,
            use_bias,
            kernel_initializer,
            bias_initializer,
            kernel_regularizer,
            bias_regularizer,
            kernel_constraint,
            bias_constraint,
            activity_regularizer=activity_regularizer,
            **kwargs,
        )
        self.units = int(units)
        if self.units <= 0:
            raise ValueError(
                "Received an invalid value for `units`, expected a positive integer. "
                f"Received: units={units}"
            )
        self.supports_masking, self.input_spec = True, InputSpec(min_ndim=2)

    def build(self, input_shape):
        width = tensor_shape.as_shape(input_shape).as_list()[-1]
        if width is None:
            raise ValueError(
                "The last dimension of the inputs to a Dense layer should be defined. "
                f"Found None. Full input shape received: {input_shape}"
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: width})
        self.make([width, self.units], self.units)

    def _of_ragged(self, inputs):
        """Multiplies the flat values of a ragged tensor, whose last dimension is uniform."""
        if inputs.shape.as_list()[-1] is None:
            raise ValueError(
                "The last dimension of a RaggedTensor input to Dense cannot be None. Received: "
                f"inputs={inputs}"
            )
        if inputs.flat_values.shape.rank > 1:
            return inputs.with_flat_values(self.call(inputs.flat_values))
        return inputs.with_values(self.call(inputs.values))  # uniform rows, stored as ragged ones

    def call(self, inputs):
        if isinstance(inputs, RaggedTensor):
            return self._of_ragged(inputs)
        if inputs.dtype != self.kernel.dtype:
            inputs = cast(inputs, self.kernel.dtype.base_dtype)
        if isinstance(inputs, SparseTensor):
            if inputs.shape.rank == 2:
                product = sparse_tensor_dense_matmul(inputs, self.kernel)
                product.set_shape([inputs.shape.as_list()[0], self.units])
                return self.bias_and_activation(product)
            inputs = sparse_tensor_to_dense(inputs)
        known = inputs.shape.as_list()
        if len(known) == 2:
            return self.bias_and_activation(op("MatMul", inputs, self.kernel))
        outputs = op("MatMul", op("Reshape", inputs, [-1, known[-1]]), self.kernel)
        return op("Reshape", self.bias_and_activation(outputs), with_last(inputs, self.units))

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.as_shape(input_shape).as_list()
        return tensor_shape.TensorShape(sizes[:-1] + [self.units])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


def with_last(tensor, size):
    """Returns the shape of a tensor with its last size replaced; static where possible."""
    known = tensor.shape.as_list()[:-1]
    if known.count(None) <= 1:
        return [-1 if d is None else d for d in known] + [size]
    front = op("Slice", shape_op(tensor), [0], [len(known)])
    return op("ConcatV2", [front, convert_to_tensor([size], "int32")], 0)


def batch_and(tensor, sizes):
    """Returns the shape `[batch size of tensor, *sizes]`; static where possible."""
    first = tensor.shape.as_list()[0]
    if all(s is not None and s >= 0 for s in sizes):
        return [-1 if first is None else first, *sizes]
    if first is not None:
        return [first, *[-1 if s is None else s for s in sizes]]
    front = op("Slice", shape_op(tensor), [0], [1])
    return op("ConcatV2", [front, convert_to_tensor(list(sizes), "int32")], 0)


@named("Activation")
class Activation(Layer):
    """Applies an activation function element by element.

    Args:
      activation: Activation function, or its name, such as "relu".

    Call arguments:
      inputs: Tensor of any shape.

    Returns:
      Tensor of the shape of the input.
    """

    _is_elementwise = True

    def __init__(self, activation: Any, **kwargs) -> None:
        super().__init__(**kwargs)
        self.activation, self.supports_masking = activations.get(activation), True

    def call(self, inputs):
        return self.activation(inputs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **serialize_attributes(self, "activation")}


@named("Dropout")
class Dropout(Layer):
    """Sets elements to 0 with probability `rate` during training.

    The remaining elements are scaled by `1 / (1 - rate)`, which keeps the expected sum. Outside of
    training the layer returns its input.

    Args:
      rate: Fraction of the elements to drop, between 0 and 1.
      noise_shape: Shape of the dropout mask, broadcast to the input; for example
        `(None, 1, features)` uses one mask for all time steps. None is the size of the input.
      seed: Seed of the random numbers.

    Call arguments:
      inputs: Tensor of any rank.
      training: Whether to drop elements.

    Raises:
      ValueError: If rate is not between 0 and 1.
    """

    _is_elementwise = True

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
            raise ValueError(
                f"Invalid value {rate} received for `rate`, expected a value between 0 and 1."
            )
        self.rate, self.noise_shape, self.seed, self.supports_masking = (
            rate,
            noise_shape,
            seed,
            True,
        )
        if rate:
            self.seed_generator = SeedGenerator(seed)

    def shape_of_noise(self, inputs: Any):
        """Returns the shape of the dropout mask; None in noise_shape is the size of the input."""
        if self.noise_shape is None or None not in tuple(self.noise_shape):
            return self.noise_shape
        sizes = shape_op(inputs)
        return [sizes[i] if n is None else n for i, n in enumerate(self.noise_shape)]

    def call(self, inputs, training=None):
        if not training or not self.rate:
            return op("Identity", inputs)
        noise_shape = self.shape_of_noise(inputs)
        return seed_generator.dropout(inputs, self.rate, noise_shape, self.seed_generator)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "rate": self.rate,
            "noise_shape": self.noise_shape,
            "seed": self.seed,
        }


def _spatial(rank):
    """Defines SpatialDropout1D, 2D or 3D."""

    @named(f"SpatialDropout{rank}D")
    class SpatialDropout(Dropout):
        """Drops whole channels during training, for inputs whose neighbors are correlated.

        Args:
          rate: Fraction of the channels to drop, between 0 and 1.
          data_format: "channels_last" (default) or "channels_first"; not of SpatialDropout1D.
          seed: Seed of the random numbers.
          noise_shape: Only None is supported; the mask covers whole channels.

        Call arguments:
          inputs: Tensor with channels as the last dimension, or as the second.
          training: Whether to drop channels.
        """

        def _init_1d(self, rate, seed=None, noise_shape=None, **kwargs):
            self._set(rate, None, seed, noise_shape, kwargs)

        def _init_nd(self, rate, data_format=None, seed=None, noise_shape=None, **kwargs):
            self._set(rate, data_format, seed, noise_shape, kwargs)

        __init__ = _init_1d if rank == 1 else _init_nd

        def _set(self, rate, data_format, seed, noise_shape, kwargs):
            unsupported(f"SpatialDropout{rank}D", noise_shape=(noise_shape, None))
            Dropout.__init__(self, rate, seed=seed, **kwargs)
            self.data_format = data_format or context.setting("format")

        def shape_of_noise(self, inputs):
            sizes = shape_op(inputs)
            if self.data_format == "channels_first":
                return [sizes[0], sizes[1], *[1] * rank]
            return [sizes[0], *[1] * rank, sizes[rank + 1]]

        def get_config(self):
            config = super().get_config()
            del config["noise_shape"]
            return config if rank == 1 else {**config, "data_format": self.data_format}

    SpatialDropout.__name__ = f"SpatialDropout{rank}D"
    return SpatialDropout


for _rank in (1, 2, 3):
    _spatial(_rank)


@named("Flatten")
class Flatten(Layer):
    """Flattens all dimensions but the batch.

    Args:
      data_format: "channels_last" or "channels_first"; the output has the same order for both.

    Call arguments:
      inputs: Tensor of shape `(batch, ...)`.

    Returns:
      Tensor of shape `(batch, n)`.
    """

    def __init__(self, data_format: str | None = None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.data_format = data_format or context.setting("format")

    def call(self, inputs):
        known = inputs.shape.as_list()
        if self.data_format == "channels_first" and len(known) > 2:
            inputs = transpose(inputs, [0, *range(2, len(known)), 1])
        if None in known[1:]:
            return op("Reshape", inputs, batch_and(inputs, [-1]))
        return op("Reshape", inputs, batch_and(inputs, [int(numpy.prod(known[1:]))]))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "data_format": self.data_format}


@named("Reshape")
class Reshape(Layer):
    """Reshapes each example.

    Args:
      target_shape: Shape without the batch dimension; one size may be -1.

    Call arguments:
      inputs: Tensor of shape `(batch, ...)`.

    Returns:
      Tensor of shape `(batch, *target_shape)`.
    """

    def __init__(self, target_shape: Sequence[int], **kwargs) -> None:
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs):
        known = inputs.shape.as_list()[1:]
        sizes = list(self.target_shape)
        if -1 in sizes and None not in known:
            rest = -int(numpy.prod(sizes))
            sizes[sizes.index(-1)] = int(numpy.prod(known)) // max(rest, 1)
        return op("Reshape", inputs, batch_and(inputs, sizes))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "target_shape": self.target_shape}


@named("Permute")
class Permute(Layer):
    """Permutes the dimensions of each example.

    Args:
      dims: Permutation of the dimensions without the batch; the indices begin at 1, so that
        `(2, 1)` swaps the first two dimensions of each example.
    """

    def __init__(self, dims: Sequence[int], **kwargs) -> None:
        super().__init__(**kwargs)
        self.dims = tuple(dims)

    def call(self, inputs):
        return transpose(inputs, (0, *self.dims))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "dims": self.dims}


@named("RepeatVector")
class RepeatVector(Layer):
    """Repeats each row n times: `(batch, features)` becomes `(batch, n, features)`.

    Args:
      n: Number of repetitions.
    """

    def __init__(self, n: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.n = n

    def call(self, inputs):
        return op("Tile", op("ExpandDims", inputs, 1), [1, self.n, 1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "n": self.n}


@named("Lambda")
class Lambda(Layer):
    """Wraps a function of tensors as a layer.

    Args:
      function: Function of the input tensor. It may have parameters `mask` and `training`.
      output_shape: Shape of the output without the batch dimension, or a function from the shape of
        the input to that of the output, for compute_output_shape; default: it is inferred. Shapes
        of symbolic outputs are inferred in any case.
      mask: Mask of the output, or a function of (inputs, mask).
      arguments: Dictionary of further keyword arguments of the function.

    Variables that the function reads are not weights of the layer. Loading a saved model needs the
    function in `custom_objects`, because files do not contain code.
    """

    def __init__(
        self, function, output_shape=None, mask: Any = None, arguments=None, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        self.function, self.arguments, self.mask = function, arguments or {}, mask
        self._output_shape = output_shape

    def call(self, inputs, mask=None, training=None):
        kwargs = dict(self.arguments)
        names = getattr(getattr(self.function, "__code__", None), "co_varnames", ())
        if "mask" in names[1:]:
            kwargs["mask"] = mask
        if "training" in names[1:]:
            kwargs["training"] = training
        return context.autograph(self.function)(inputs, **kwargs)

    def compute_output_shape(self, input_shape):
        if self._output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self._output_shape):
            return tensor_shape.as_shape(self._output_shape(input_shape))
        first = input_shape[0] if isinstance(input_shape, list) else input_shape
        batch = first[0] if isinstance(first, (tuple, tensor_shape.TensorShape)) else first
        return tensor_shape.TensorShape([batch, *self._output_shape])

    def compute_mask(self, inputs, mask=None):
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "function": serialize_keras_object(self.function),
            "arguments": self.arguments,
        }

    @classmethod
    def from_config(cls, config: Any, custom_objects: dict[str, Any] | None = None):
        config = dict(config)
        name = config["function"]
        config["function"] = custom(name, custom_objects) if isinstance(name, str) else name
        if config["function"] is not None and not callable(config["function"]):
            raise ValueError(
                "A Lambda layer was saved with the code of its function. Code of a "
                "file is not run, whatever safe_mode says: give a function by its "
                "name and by custom_objects."
            )
        if config["function"] is None:
            raise ValueError(
                f"The function '{name}' of a Lambda layer is not part of a saved "
                "model: give it by custom_objects."
            )
        return cls(**config)


@named("Masking")
class Masking(Layer):
    """Masks time steps in which every feature equals mask_value.

    Later layers that support masking skip these steps.

    Args:
      mask_value: The value that marks a step to skip.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, features)`.
    """

    def __init__(self, mask_value=0.0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.mask_value, self.supports_masking = mask_value, True

    def _kept(self, inputs, keep):
        """Returns whether each step has a feature other than mask_value."""
        other = op("NotEqual", inputs, cast(self.mask_value, inputs.dtype))
        return op("Any", other, [-1], keep_dims=keep)

    def call(self, inputs):
        return inputs * cast(self._kept(inputs, True), inputs.dtype)

    def compute_mask(self, inputs, mask=None):
        return self._kept(inputs, False)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "mask_value": self.mask_value}


@named("Embedding")
class Embedding(Layer):
    """Maps integer indices to rows of a trainable matrix.

    Args:
      input_dim: Size of the vocabulary: the largest index + 1.
      output_dim: Size of each embedding vector.
      embeddings_initializer: Initializer of the matrix.
      embeddings_regularizer: Regularizer of the matrix.
      activity_regularizer: Regularizer of the output.
      embeddings_constraint: Constraint applied to the matrix after each update.
      mask_zero: Whether index 0 is padding that later layers mask.
      input_length: Length of the input sequences, if it is constant.
      sparse: Whether a sparse input gives a sparse output of the stored elements.

    Call arguments:
      inputs: Integer tensor of shape `(batch, ...)`; it may be ragged or sparse.

    Returns:
      Tensor of shape `(batch, ..., output_dim)`.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer="uniform",
        embeddings_regularizer=None,
        activity_regularizer: Any = None,
        embeddings_constraint=None,
        mask_zero: bool = False,
        input_length: Any = None,
        sparse: bool = False,
        **kwargs,
    ) -> None:
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            kwargs["input_shape"] = (input_length,)
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.input_dim, self.output_dim, self.sparse = input_dim, output_dim, sparse
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.embeddings_regularizer = regularizers.get(embeddings_regularizer)
        self.embeddings_constraint = constraints.get(embeddings_constraint)
        self.mask_zero, self.input_length, self.supports_masking = (
            mask_zero,
            input_length,
            mask_zero,
        )

    def build(self, input_shape=None):
        self.embeddings = self.add_weight(
            "embeddings",
            [self.input_dim, self.output_dim],
            initializer=self.embeddings_initializer,
            regularizer=self.embeddings_regularizer,
            constraint=self.embeddings_constraint,
        )
        self.built = True

    def compute_mask(self, inputs, mask=None):
        if not self.mask_zero or isinstance(inputs, SparseTensor):
            return None
        return public("not_equal")(inputs, cast(0, inputs.dtype))

    def call(self, inputs):
        if inputs.dtype.name not in ("int32", "int64"):
            inputs = cast(inputs, "int32")
        if isinstance(inputs, RaggedTensor):
            return inputs.with_flat_values(op("GatherV2", self.embeddings, inputs.flat_values, 0))
        if isinstance(inputs, SparseTensor):
            return self._of_sparse(inputs)
        return op("GatherV2", self.embeddings, inputs, 0)

    def _of_sparse(self, inputs):
        """Looks up a sparse tensor, whose missing elements are index 0; with `sparse` only the
        stored elements, which gives a sparse tensor."""
        if not self.sparse:
            return op("GatherV2", self.embeddings, sparse_tensor_to_dense(inputs), 0)
        found = op("Reshape", op("GatherV2", self.embeddings, inputs.values, 0), [-1])
        size = self.output_dim
        count = op("Shape", inputs.values)[0]
        places = public("tile")(public("range")(size, dtype="int64"), op("ExpandDims", count, 0))
        rows = public("repeat")(inputs.indices, size, axis=0)
        result = SparseTensor(
            concat([rows, op("ExpandDims", places, -1)], 1),
            found,
            concat([inputs.dense_shape, convert_to_tensor([size], "int64")], 0),
        )
        known = inputs.shape
        result._static = None if known.rank is None else [*known.as_list(), size]
        return result

    def _cast(self, inputs):
        return inputs

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            "mask_zero": self.mask_zero,
            "input_length": self.input_length,
            **({"sparse": True} if self.sparse else {}),
            **serialize_attributes(
                self, "embeddings_initializer", "embeddings_regularizer", "embeddings_constraint"
            ),
        }


@named("ActivityRegularization")
class ActivityRegularization(Layer):
    """Returns its input and adds a penalty on it to the loss.

    Args:
      l1: Factor of the sum of absolute values.
      l2: Factor of the sum of squares.
    """

    def __init__(self, l1=0.0, l2=0.0, **kwargs) -> None:
        super().__init__(activity_regularizer=regularizers.L1L2(l1, l2), **kwargs)
        self.l1, self.l2, self.supports_masking = l1, l2, True

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "l1": self.l1, "l2": self.l2}


sizes_of = nodes.sizes_of


@named("Identity")
class Identity(Layer):
    """Returns its input."""

    def call(self, inputs):
        return op("Identity", inputs)


@named("AlphaDropout")
class AlphaDropout(Layer):
    """Dropout that preserves the mean and the variance of the output of selu.

    Args:
      rate: Fraction of the elements to drop.
      noise_shape: Shape of the dropout mask, broadcast to the input.
      seed: Seed of the random numbers.

    Call arguments:
      inputs: Tensor of any rank.
      training: Whether to drop elements.
    """

    _is_elementwise = True

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed, self.supports_masking = (
            rate,
            noise_shape,
            seed,
            True,
        )
        if rate:
            self.seed_generator = SeedGenerator(seed)

    def call(self, inputs, training=None):
        if not training or not 0 < self.rate < 1:
            return op("Identity", inputs)
        low = -1.7580993408473766
        shape = self.noise_shape or shape_op(inputs)
        kept = cast(
            op(
                "GreaterEqual",
                seed_generator.uniform(shape, "float32", self.seed_generator),
                constant(float(self.rate)),
            ),
            inputs.dtype,
        )
        a = ((1 - self.rate) * (1 + self.rate * low**2)) ** -0.5
        return a * (inputs * kept + low * (1.0 - kept)) - a * low * self.rate

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "rate": self.rate,
            "noise_shape": self.noise_shape,
            "seed": self.seed,
        }
