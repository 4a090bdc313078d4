# SPDX-License-Identifier: Apache-2.0
"""layers_conv.py: 1-D and 2-D convolution layers: plain, transposed, depthwise and separable."""

from __future__ import annotations

from typing import Any

from situ._src.framework import tensor_shape
from situ._src.framework.keywords import unsupported
from situ._src.keras import constraints, context, initializers, regularizers
from situ._src.keras.input_spec import InputSpec
from situ._src.keras.layers_core import Weighted, named, serialize_attributes
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.nn import conv


def normalize_tuple(value, rank, what):
    """Returns an int, or a sequence of `rank` ints, as a tuple of `rank` ints."""
    result = (int(value),) * rank if isinstance(value, int) else tuple(int(v) for v in value)
    if len(result) != rank:
        raise ValueError(
            f"The `{what}` argument must be a tuple of {rank} integers. Received: {value}"
        )
    return result


class _Conv(Weighted):
    """Base class of convolutions over `rank` spatial dimensions."""

    def __init__(
        self,
        rank,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format=None,
        dilation_rate=1,
        groups=1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.rank, self.filters, self.groups = rank, filters, groups
        self.kernel_size = normalize_tuple(kernel_size, rank, "kernel_size")
        self.strides = normalize_tuple(strides, rank, "strides")
        self.dilation_rate = normalize_tuple(dilation_rate, rank, "dilation_rate")
        self.padding = padding.lower()
        self.data_format = data_format or context.setting("format")
        self.input_spec = InputSpec(min_ndim=rank + 2)

    def is_channels_first(self):
        return self.data_format == "channels_first"

    def channels(self, input_shape):
        sizes = tensor_shape.as_shape(input_shape).as_list()
        result = sizes[1 if self.is_channels_first() else -1]
        if result is None:
            raise ValueError(
                "The channel dimension of the inputs should be defined. The "
                f"input_shape received is {input_shape}, where axis "
                f"{1 if self.is_channels_first() else -1} (0-based) is the channel dimension, "
                "which found to be `None`."
            )
        return result

    def build(self, input_shape):
        width = self.channels(input_shape) // self.groups
        self.make([*self.kernel_size, width, self.filters], self.filters)

    def layout(self):
        return "NCHW" if self.is_channels_first() else "NHWC"

    def convolve(self, inputs, kernel):
        return conv.conv2d(
            inputs,
            kernel,
            self.strides,
            self.padding.upper(),
            data_format=self.layout(),
            dilations=self.dilation_rate,
        )

    def convolution_op(self, inputs, kernel):
        """Convolves inputs with a kernel, without bias and activation. Subclasses may override it
        or call it with a kernel of their own.

        Args:
          inputs: The inputs of the layer.
          kernel: A kernel of the shape of `self.kernel`.

        Returns:
          The outputs.
        """
        if self.groups == 1:
            return self.convolve(inputs, kernel)
        axis = 1 if self.is_channels_first() else inputs.shape.rank - 1
        parts = op("Split", axis, inputs, num_split=self.groups)
        kernels = op("Split", self.rank + 1, kernel, num_split=self.groups)
        return op("ConcatV2", [self.convolve(p, k) for p, k in zip(parts, kernels)], axis)

    def call(self, inputs):
        return self.bias_and_activation(self.convolution_op(inputs, self.kernel))

    def get_config(self):
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
            "strides": self.strides,
            "padding": self.padding,
            "data_format": self.data_format,
            "dilation_rate": self.dilation_rate,
            "groups": self.groups,
        }


@named("Conv2D", "Convolution2D")
class Conv2D(_Conv):
    """2-D convolution of images: `activation(conv2d(inputs, kernel) + bias)`.

    Args:
      filters: Number of output channels.
      kernel_size: Height and width of the kernel; one int for both.
      strides: Strides along height and width; one int for both.
      padding: "valid" (none) or "same" (zero padding; with stride 1 the output has the input's
        size).
      data_format: "channels_last" (NHWC) or "channels_first" (NCHW); default:
        `tf.keras.backend.image_data_format()`.
      dilation_rate: Distance between kernel elements; one int for both dimensions.
      groups: Number of groups that the channels are split into; each is convolved separately.
      activation: Activation function, or its name.
      use_bias: Whether the layer adds a bias.
      **kwargs: `kernel_initializer`, `bias_initializer`, `kernel_regularizer`, `bias_regularizer`,
        `activity_regularizer`, `kernel_constraint`, `bias_constraint`, and arguments of `Layer`.

    Call arguments:
      inputs: Tensor of shape `(batch, height, width, channels)`, or `(batch, channels, height,
        width)` with "channels_first".

    Returns:
      Tensor of rank 4 with `filters` channels.

    Raises:
      ValueError: If the number of channels is unknown, or a tuple has the wrong length.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        **kwargs,
    ) -> None:
        super().__init__(
            2,
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            groups,
            activation=activation,
            use_bias=use_bias,
            **kwargs,
        )


@named("Conv1D", "Convolution1D")
class Conv1D(_Conv):
    """1-D convolution of sequences: `activation(conv1d(inputs, kernel) + bias)`.

    Args:
      filters: Number of output channels.
      kernel_size: Length of the kernel.
      strides: Stride.
      padding: "valid", "same" or "causal"; with "causal", output t depends on inputs up to t only.
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between kernel elements.
      groups: Number of groups that the channels are split into.
      activation: Activation function, or its name.
      use_bias: Whether the layer adds a bias.
      **kwargs: Initializers, regularizers and constraints as in `Conv2D`, and arguments of `Layer`.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, channels)`.

    Returns:
      Tensor of shape `(batch, new_steps, filters)`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: Any = 1,
        groups: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        **kwargs,
    ) -> None:
        super().__init__(
            1,
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            groups,
            activation=activation,
            use_bias=use_bias,
            **kwargs,
        )

    def convolve(self, inputs: Any, kernel):
        axis = 2 if self.is_channels_first() else 1
        padding = self.padding
        if padding == "causal":
            left = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            pads = [[0, 0], [0, 0], [0, 0]]
            pads[axis] = [left, 0]
            inputs, padding = op("Pad", inputs, pads), "valid"
        plane = op("ExpandDims", inputs, axis)
        outputs = conv.conv2d(
            plane,
            op("ExpandDims", kernel, 0),
            (1, *self.strides),
            padding.upper(),
            data_format=self.layout(),
            dilations=(1, *self.dilation_rate),
        )
        return op("Squeeze", outputs, [axis])

    def bias_and_activation(self, made):
        if self.use_bias:
            made = made + (
                op("Reshape", self.bias, [1, -1, 1])
                if self.is_channels_first()
                else convert_to_tensor(self.bias)
            )
        return self.activation(made)


class _Transposed(_Conv):
    """Base class of transposed convolutions: the gradient of a convolution with respect to its
    input.
    """

    def __init__(
        self,
        rank,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        output_padding=None,
        data_format=None,
        dilation_rate=1,
        groups=1,  # in configurations of Keras 2
        **kwargs,
    ):
        unsupported(type(self).__name__, groups=(groups, 1))
        super().__init__(
            rank, filters, kernel_size, strides, padding, data_format, dilation_rate, **kwargs
        )
        self.output_padding = (
            None
            if output_padding is None
            else normalize_tuple(output_padding, rank, "output_padding")
        )

    def build(self, input_shape):
        self.make([*self.kernel_size, self.filters, self.channels(input_shape)], self.filters)

    def length(self, size, i):
        """The length of the output along dimension i."""
        kernel = (self.kernel_size[i] - 1) * self.dilation_rate[i] + 1
        stride = self.strides[i]
        if self.output_padding is None:
            return (
                size * stride if self.padding == "same" else size * stride + max(kernel - stride, 0)
            )
        pad = kernel // 2 if self.padding == "same" else 0
        return (size - 1) * stride + kernel - 2 * pad + self.output_padding[i]

    def image(self, inputs, kernel, first):
        known, sizes = inputs.shape.as_list(), None
        at = (2, 3) if first else (1, 2)
        batch = known[0]
        if batch is None or None in [known[a] for a in at]:
            sizes = shape_op(inputs)
            batch = sizes[0]
        lengths = self.lengths(known, sizes, at)
        shape = [batch, self.filters, *lengths] if first else [batch, *lengths, self.filters]
        if sizes is not None:
            shape = op("Pack", [convert_to_tensor(s, "int32") for s in shape])
        outputs = conv.conv2d_transpose_v2(
            inputs,
            kernel,
            shape,
            self.window(self.strides),
            self.padding.upper(),
            "NCHW" if first else "NHWC",
            self.window(self.dilation_rate),
        )
        if sizes is not None and all(isinstance(n, int) for n in lengths):
            known = [self.filters, *lengths] if first else [*lengths, self.filters]
            outputs = op("Reshape", outputs, [-1, *known])  # makes the shape static
        return outputs

    def lengths(self, known, sizes, at):
        return [
            self.length(known[a] if known[a] is not None else sizes[a], i) for i, a in enumerate(at)
        ]

    def window(self, sizes):
        """Returns strides or dilations for height and width."""
        return sizes

    def call(self, inputs):
        return self.bias_and_activation(self.image(inputs, self.kernel, self.is_channels_first()))

    def get_config(self):
        config = super().get_config()
        config.pop("groups")
        return {**config, "output_padding": self.output_padding}


@named("Conv2DTranspose", "Convolution2DTranspose")
class Conv2DTranspose(_Transposed):
    """Transposed 2-D convolution, which maps from the output shape of a convolution to its input
    shape.

    Args:
      filters: Number of output channels.
      kernel_size: Height and width of the kernel; one int for both.
      strides: Strides along height and width: the upsampling factors.
      padding: "valid" or "same".
      output_padding: Extra size of the output along each dimension; None infers the output shape.
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between kernel elements.
      activation: Activation function, or its name.
      use_bias: Whether the layer adds a bias.
      **kwargs: Initializers, regularizers and constraints as in `Conv2D`, and arguments of `Layer`.

    Call arguments:
      inputs: Tensor of shape `(batch, height, width, channels)`.

    Returns:
      Tensor of rank 4 with `filters` channels.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        output_padding=None,
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        **kwargs,
    ) -> None:
        super().__init__(
            2,
            filters,
            kernel_size,
            strides,
            padding,
            output_padding,
            data_format,
            dilation_rate,
            activation=activation,
            use_bias=use_bias,
            **kwargs,
        )


@named("Conv1DTranspose", "Convolution1DTranspose")
class Conv1DTranspose(_Transposed):
    """Transposed 1-D convolution.

    Args:
      filters: Number of output channels.
      kernel_size: Length of the kernel.
      strides: Stride: the upsampling factor.
      padding: "valid" or "same".
      output_padding: Extra length of the output; None infers the output shape.
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between kernel elements.
      activation: Activation function, or its name.
      use_bias: Whether the layer adds a bias.
      **kwargs: Initializers, regularizers and constraints as in `Conv2D`, and arguments of `Layer`.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, channels)`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        output_padding=None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        **kwargs,
    ) -> None:
        super().__init__(
            1,
            filters,
            kernel_size,
            strides,
            padding,
            output_padding,
            data_format,
            dilation_rate,
            activation=activation,
            use_bias=use_bias,
            **kwargs,
        )

    def lengths(self, known, sizes, at):
        size = known[at[1]] if known[at[1]] is not None else sizes[at[1]]
        return [1, self.length(size, 0)]

    def window(self, sizes):
        return (1, *sizes)

    def call(self, inputs):
        first = self.is_channels_first()
        axis = 2 if first else 1
        outputs = self.image(
            op("ExpandDims", inputs, axis), op("ExpandDims", self.kernel, 0), first
        )
        if self.use_bias:
            outputs = op("BiasAdd", outputs, self.bias, data_format=self.layout())
        return self.activation(op("Squeeze", outputs, [axis]))


@named("DepthwiseConv2D")
class DepthwiseConv2D(_Conv):
    """2-D convolution of each channel with its own kernels.

    Args:
      kernel_size: Height and width of the kernel; one int for both.
      strides: Strides along height and width.
      padding: "valid" or "same".
      depth_multiplier: Number of output channels per input channel.
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between kernel elements.
      activation: Activation function, or its name.
      use_bias: Whether the layer adds a bias.
      depthwise_initializer: Initializer of the kernel.
      depthwise_regularizer: Regularizer of the kernel.
      depthwise_constraint: Constraint applied to the kernel after each update.
      **kwargs: `bias_initializer`, `bias_regularizer`, `bias_constraint`, and arguments of `Layer`.
        `kernel_initializer`, `kernel_regularizer` and `kernel_constraint` have no effect, as in
        Keras 2, whose configurations have them: there is no such kernel.

    Call arguments:
      inputs: Tensor of shape `(batch, height, width, channels)`.

    Returns:
      Tensor of rank 4 with `channels * depth_multiplier` channels.
    """

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        depth_multiplier=1,
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer="glorot_uniform",
        *,
        depthwise_regularizer=None,
        depthwise_constraint=None,
        groups=1,  # in configurations of Keras 2
        **kwargs,
    ) -> None:
        unsupported(type(self).__name__, groups=(groups, 1))
        super().__init__(
            2,
            None,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation=activation,
            use_bias=use_bias,
            **{"kernel_initializer": "zeros", **kwargs},  # it has no effect and draws no seed
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)

    def make_depthwise(self, width: int):
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            [*self.kernel_size, width, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )

    def build(self, input_shape):
        width = self.channels(input_shape)
        self.make_depthwise(width)
        self.add_bias(width * self.depth_multiplier)

    def strided(self, stride):
        """Returns strides for all four dimensions."""
        return [1, 1, *stride] if self.is_channels_first() else [1, *stride, 1]

    def call(self, inputs):
        outputs = conv.depthwise_conv2d(
            inputs,
            self.depthwise_kernel,
            self.strided(self.strides),
            self.padding.upper(),
            self.dilation_rate,
            data_format=self.layout(),
        )
        return self.bias_and_activation(outputs)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for name in (
            "filters",
            "kernel_initializer",
            "kernel_regularizer",
            "kernel_constraint",
            "groups",
        ):
            config.pop(name)
        return {
            **config,
            "depth_multiplier": self.depth_multiplier,
            **serialize_attributes(
                self, "depthwise_initializer", "depthwise_regularizer", "depthwise_constraint"
            ),
        }


@named("SeparableConv2D", "SeparableConvolution2D")
class SeparableConv2D(DepthwiseConv2D):
    """Depthwise 2-D convolution followed by a 1 x 1 convolution that mixes the channels.

    Args:
      filters: Number of output channels.
      kernel_size: Height and width of the depthwise kernel; one int for both.
      strides: Strides along height and width.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between elements of the depthwise kernel.
      depth_multiplier: Number of depthwise output channels per input channel.
      activation: Activation function, or its name.
      use_bias: Whether the layer adds a bias.
      depthwise_initializer: Initializer of the depthwise kernel.
      pointwise_initializer: Initializer of the 1 x 1 kernel.
      pointwise_regularizer: Regularizer of the 1 x 1 kernel.
      pointwise_constraint: Constraint applied to the 1 x 1 kernel after each update.
      **kwargs: Further arguments of `DepthwiseConv2D`.

    Call arguments:
      inputs: Tensor of shape `(batch, height, width, channels)`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        depth_multiplier=1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer="glorot_uniform",
        pointwise_initializer="glorot_uniform",
        *,
        pointwise_regularizer=None,
        pointwise_constraint=None,
        **kwargs,
    ) -> None:
        super().__init__(
            kernel_size,
            strides,
            padding,
            depth_multiplier,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            depthwise_initializer,
            **kwargs,
        )
        self.filters = filters
        self.pointwise_initializer = initializers.get(pointwise_initializer)
        self.pointwise_regularizer = regularizers.get(pointwise_regularizer)
        self.pointwise_constraint = constraints.get(pointwise_constraint)

    def build(self, input_shape):
        width = self.channels(input_shape)
        self.make_depthwise(width)
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            [1, 1, width * self.depth_multiplier, self.filters],
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        self.add_bias(self.filters)

    def call(self, inputs):
        outputs = conv.separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            self.strided(self.strides),
            self.padding.upper(),
            self.dilation_rate,
            data_format=self.layout(),
        )
        return self.bias_and_activation(outputs)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filters": self.filters,
            **serialize_attributes(
                self, "pointwise_initializer", "pointwise_regularizer", "pointwise_constraint"
            ),
        }


class _OfRows:
    """Adapts a 2-D layer to sequences, which become images of height 1."""

    @property
    def depthwise_kernel(self):
        return op("ExpandDims", self._kernels["depthwise_kernel"], 0)

    @depthwise_kernel.setter
    def depthwise_kernel(self, weight):
        self.__dict__.setdefault("_kernels", {})["depthwise_kernel"] = weight

    @property
    def pointwise_kernel(self):
        return op("ExpandDims", self._kernels["pointwise_kernel"], 0)

    @pointwise_kernel.setter
    def pointwise_kernel(self, weight):
        self.__dict__.setdefault("_kernels", {})["pointwise_kernel"] = weight

    def add_weight(self, name=None, shape=None, *args, **kwargs):
        """Creates 1-D kernels; the properties add the dimension of size 1."""
        return super().add_weight(name, shape[1:] if len(shape) == 4 else shape, *args, **kwargs)

    def build(self, input_shape):
        sizes = tensor_shape.as_shape(input_shape).as_list()
        sizes.insert(2 if self.is_channels_first() else 1, 1)
        super().build(sizes)

    def call(self, inputs):
        axis = 2 if self.is_channels_first() else 1
        if self._causal:
            left = self.dilation_rate[1] * (self.kernel_size[1] - 1)
            pads = [[0, 0], [0, 0], [0, 0]]
            pads[axis] = [left, 0]
            inputs = op("Pad", inputs, pads)
        outputs = super().call(op("ExpandDims", inputs, axis))
        return op("Squeeze", outputs, squeeze_dims=[axis])

    def get_config(self):
        config = super().get_config()
        for name in ("kernel_size", "strides", "dilation_rate"):
            config[name] = (config[name][1],)
        return {**config, "padding": "causal" if self._causal else config["padding"]}


def _pair(value):
    return (1, normalize_tuple(value, 1, "kernel_size")[0])


@named("SeparableConv1D", "SeparableConvolution1D")
class SeparableConv1D(_OfRows, SeparableConv2D):
    """Depthwise 1-D convolution followed by a pointwise convolution that mixes the channels.

    Args:
      filters: Number of output channels.
      kernel_size: Length of the depthwise kernel.
      strides: Stride.
      padding: "valid", "same" or "causal".
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between kernel elements.
      depth_multiplier: Number of depthwise output channels per input channel.
      **kwargs: Further arguments of `SeparableConv2D`.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, channels)`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier=1,
        **kwargs,
    ) -> None:
        self._causal = padding == "causal"
        step = normalize_tuple(strides, 1, "strides")[0]
        super().__init__(
            filters,
            _pair(kernel_size),
            (step, step),
            "valid" if self._causal else padding,
            data_format,
            _pair(dilation_rate),
            depth_multiplier,
            **kwargs,
        )
        self.input_spec = InputSpec(min_ndim=3)


@named("DepthwiseConv1D")
class DepthwiseConv1D(_OfRows, DepthwiseConv2D):
    """1-D convolution of each channel with its own kernels.

    Args:
      kernel_size: Length of the kernel.
      strides: Stride.
      padding: "valid", "same" or "causal".
      depth_multiplier: Number of output channels per input channel.
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between kernel elements.
      **kwargs: Further arguments of `DepthwiseConv2D`.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, channels)`.
    """

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = "valid",
        depth_multiplier=1,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        **kwargs,
    ) -> None:
        self._causal = padding == "causal"
        step = normalize_tuple(strides, 1, "strides")[0]
        super().__init__(
            _pair(kernel_size),
            (step, step),
            "valid" if self._causal else padding,
            depth_multiplier,
            data_format,
            _pair(dilation_rate),
            **kwargs,
        )
        self.input_spec = InputSpec(min_ndim=3)
