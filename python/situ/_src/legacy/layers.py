# SPDX-License-Identifier: Apache-2.0
"""layers.py: tf.layers: layers that create their variables in variable scopes, and their
functions."""

from __future__ import annotations

from typing import Callable

from situ._src.framework import tensor_shape
from situ._src.framework.api import V1, export
from situ._src.framework.graph import scope as name_scope
from situ._src.legacy.base_layer import (
    ZEROS,
    Layer,
    _Weighted,
    check_data_format,
    check_padding,
    known,
    window,
)
from situ._src.legacy.batch_normalization import BatchNormalization
from situ._src.ops import control_flow_ops
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.nn import conv, norm
from situ._src.ops.nn import conv3d as nn_conv3d
from situ._src.ops.nn import pool as nn_conv


class Dense(_Weighted):
    """Fully connected layer: `activation(inputs @ kernel + bias)`.

    Args:
      units: Size of the output.
      activation: Activation function; None applies none.
      use_bias: Whether the layer adds a bias.
      **kwargs: `kernel_initializer`, `bias_initializer`, `kernel_regularizer`, `bias_regularizer`,
        `activity_regularizer`, `kernel_constraint`, `bias_constraint`, `trainable`, `name` and
        `dtype`. The function also takes `reuse`: whether to use existing variables; the class has
        it as `_reuse`.

    Call arguments:
      inputs: Tensor of shape `(batch, ..., input_dim)`.

    Returns:
      Tensor of shape `(batch, ..., units)`.
    """

    def __init__(self, units, activation=None, use_bias=True, **kwargs):
        super().__init__(activation=activation, use_bias=use_bias, **kwargs)
        self.units = int(units)

    def compute_output_shape(self, input_shape):
        """Returns the shape of the output for that of the input.

        Raises:
          ValueError: the last dimension is unknown.
        """
        shape = tensor_shape.as_shape(input_shape).with_rank_at_least(2)
        if shape.as_list()[-1] is None:
            raise ValueError(
                f"The innermost dimension of input_shape must be defined, but saw: {input_shape}"
            )
        return tensor_shape.TensorShape([*shape.as_list()[:-1], self.units])

    def build(self, shape):
        width = known(shape.as_list()[-1], "The last dimension of the inputs to `Dense`")
        self.make([width, self.units], self.units)

    def call(self, inputs):
        rank = tensor_shape.as_shape(inputs.shape).ndims
        if rank == 2:
            return self.finish(op("MatMul", inputs, self.kernel))
        whole = tensor_shape.as_shape(inputs.shape)
        flat = op("Reshape", inputs, [-1, whole.as_list()[-1]])
        front = (
            whole.as_list()[:-1] + [self.units]
            if whole.is_fully_defined()
            else op(
                "ConcatV2",
                [
                    op("Slice", shape_op(inputs), [0], [rank - 1]),
                    convert_to_tensor([self.units], "int32"),
                ],
                0,
            )
        )
        return self.finish(op("Reshape", op("MatMul", flat, self.kernel), front))


class _Spatial(_Weighted):
    """Base class of layers that convolve images."""

    def __init__(
        self,
        filters,
        kernel_size,
        strides=(1, 1),
        padding="valid",
        data_format="channels_last",
        dilation_rate=(1, 1),
        activation=None,
        **kwargs,
    ):
        super().__init__(activation=activation, **kwargs)
        self.filters, self.kernel_size = int(filters), window(kernel_size, 2, "kernel_size")
        self.strides = window(strides, 2, "strides")
        self.dilation_rate = window(dilation_rate, 2, "dilation_rate")
        self.padding = check_padding(padding)
        self.data_format = conv.layout(check_data_format(data_format))

    def channels(self, shape):
        axis = 1 if self.data_format == "NCHW" else -1
        return known(shape.as_list()[axis], "The channel dimension of the inputs")


class Conv2D(_Spatial):
    """2-D convolution: `activation(conv2d(inputs, kernel) + bias)`.

    Args:
      filters: Number of output channels.
      kernel_size: Height and width of the kernel; one int for both.
      strides: Strides; one int for both dimensions.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between kernel elements.
      activation: Activation function; None applies none.
      **kwargs: `use_bias`, and the others as in `Dense`.

    Call arguments:
      inputs: Tensor of shape `(batch, height, width, channels)`, or
        `(batch, channels, height, width)` for "channels_first".
    """

    def build(self, shape):
        self.make([*self.kernel_size, self.channels(shape), self.filters], self.filters)

    def call(self, inputs):
        result = conv.conv2d(
            inputs,
            self.kernel,
            self.strides,
            self.padding,
            data_format=self.data_format,
            dilations=self.dilation_rate,
        )
        return self.finish(result, self.data_format)


class Conv1D(_Weighted):
    """1-D convolution: `activation(conv1d(inputs, kernel) + bias)`.

    Args:
      filters: Number of output channels.
      kernel_size: Length of the kernel.
      strides: Stride.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between kernel elements.
      activation: Activation function; None applies none.
      **kwargs: `use_bias`, and the others as in `Dense`.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, channels)`, or `(batch, channels, steps)` for
        "channels_first".
    """

    def __init__(
        self,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format="channels_last",
        dilation_rate=1,
        activation=None,
        **kwargs,
    ):
        super().__init__(activation=activation, **kwargs)
        self.filters, self.kernel_size = int(filters), window(kernel_size, 1, "kernel_size")
        self.strides = window(strides, 1, "strides")
        self.dilation_rate = window(dilation_rate, 1, "dilation_rate")
        self.padding, self.data_format = check_padding(padding), check_data_format(data_format)

    def build(self, shape):
        width = known(
            shape.as_list()[1 if self.data_format == "channels_first" else -1],
            "The channel dimension of the inputs",
        )
        self.make([*self.kernel_size, width, self.filters], self.filters)

    def call(self, inputs):
        result = conv.conv1d(
            inputs,
            self.kernel,
            self.strides[0],
            self.padding,
            data_format=self.data_format,
            dilations=self.dilation_rate[0],
        )
        if self.data_format != "channels_first":
            return self.finish(result)
        bias = op("Reshape", self.bias, [1, -1, 1]) if self.use_bias else None
        result = result if bias is None else result + bias
        return self.activation(result) if self.activation is not None else result


class Conv2DTranspose(_Spatial):
    """Transposed 2-D convolution; arguments as in `Conv2D`."""

    def build(self, shape):
        self.make([*self.kernel_size, self.filters, self.channels(shape)], self.filters)

    def call(self, inputs):
        planes = self.data_format == "NCHW"
        rows, cols = (2, 3) if planes else (1, 2)
        sizes = tensor_shape.as_shape(inputs.shape).as_list()
        whole = [sizes[0], sizes[rows], sizes[cols]]
        if None in whole:
            have = op("Unpack", shape_op(inputs), num=4)
            whole = [
                have[0] if whole[0] is None else whole[0],
                have[rows] if whole[1] is None else whole[1],
                have[cols] if whole[2] is None else whole[2],
            ]
        for i in range(2):
            taps = (self.kernel_size[i] - 1) * self.dilation_rate[i] + 1
            more = max(taps - self.strides[i], 0) if self.padding == "VALID" else 0
            whole[i + 1] = whole[i + 1] * self.strides[i] + more
        out = [whole[0], self.filters, *whole[1:]] if planes else [*whole, self.filters]
        if not all(isinstance(s, int) for s in out):
            out = op("Pack", [convert_to_tensor(s, "int32") for s in out])
        result = conv.conv2d_transpose(
            inputs,
            self.kernel,
            out,
            self.strides,
            self.padding,
            self.data_format,
            dilations=self.dilation_rate,
        )
        return self.finish(result, self.data_format)


class _Pooling2D(Layer):
    """Pooling over 2-D windows.

    Args:
      pool_size: Height and width of the window; one int for both.
      strides: Strides; one int for both dimensions.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      name: Name scope of the op.

    Call arguments:
      inputs: Tensor of shape `(batch, height, width, channels)`, or
        `(batch, channels, height, width)` for "channels_first".
    """

    pool: Callable

    def __init__(
        self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs
    ):
        super().__init__(name=name, **kwargs)
        self.pool_size = window(pool_size, 2, "pool_size")
        self.strides = window(strides, 2, "strides")
        self.padding = check_padding(padding)
        self.data_format = conv.layout(check_data_format(data_format))

    def __call__(self, inputs):
        with name_scope(self._name, self.default_name()):
            return type(self).pool(
                inputs, self.pool_size, self.strides, self.padding, self.data_format
            )


class MaxPooling2D(_Pooling2D):
    """2-D max pooling: `(pool_size, strides, padding, data_format, name)`."""

    pool = staticmethod(nn_conv.max_pool)


class AveragePooling2D(_Pooling2D):
    """2-D average pooling: `(pool_size, strides, padding, data_format, name)`."""

    pool = staticmethod(nn_conv.avg_pool)


class Flatten(Layer):
    """Flattens all dimensions but the batch.

    Args:
      data_format: "channels_last", or "channels_first": channels become the last dimension before
        the tensor is flattened.
      **kwargs: `name`, `trainable` and `dtype`.
    """

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = check_data_format(data_format or "channels_last")

    def compute_output_shape(self, input_shape):
        """Returns the shape of the output for that of the input."""
        shape = tensor_shape.as_shape(input_shape)
        if shape.rank is None:
            return tensor_shape.TensorShape([None, None])
        return tensor_shape.TensorShape([shape.as_list()[0], shape[1:].num_elements()])

    def __call__(self, inputs):
        inputs = convert_to_tensor(inputs)
        with name_scope(self._name, "flatten"):
            rank = inputs.shape.ndims
            if self.data_format == "channels_first" and rank is not None and rank > 1:
                inputs = op("Transpose", inputs, [0, *range(2, rank), 1])
            result = flat(inputs)
            result.set_shape(self.compute_output_shape(inputs.shape))
            return result


def flat(inputs):
    """Flattens all dimensions but the first."""
    sizes = tensor_shape.as_shape(inputs.shape).as_list()
    if None not in sizes[1:]:
        width = 1
        for size in sizes[1:]:
            width *= size
        if sizes[0] is None or width:
            return op("Reshape", inputs, [-1, width])
        return op("Reshape", inputs, [sizes[0], width])
    first = op("StridedSlice", shape_op(inputs), [0], [1], [1], shrink_axis_mask=1)
    return op("Reshape", inputs, op("Pack", [first, convert_to_tensor(-1, "int32")]))


class Dropout(Layer):
    """Sets elements to 0 with probability `rate` during training and scales the others.

    Args:
      rate: Fraction of the elements to drop.
      noise_shape: Shape of the dropout mask, broadcast to the input.
      seed: Seed of the random numbers.
      name: Name scope of the ops.

    Call arguments:
      inputs: Tensor.
      training: Whether to drop elements: a bool or a boolean tensor; False by default.
    """

    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def __call__(self, inputs, training=False):
        inputs = convert_to_tensor(inputs)
        with name_scope(self._name, "dropout"):
            return control_flow_ops.smart_cond(
                training,
                lambda: norm.dropout(
                    inputs, rate=self.rate, noise_shape=self.noise_shape, seed=self.seed
                ),
                lambda: op("Identity", inputs),
            )


def _first(data_format):
    return data_format == "channels_first"


class Conv3D(_Weighted):
    """3-D convolution of volumes `(batch, depth, height, width, channels)`; arguments as in
    `Conv2D`.
    """

    def __init__(
        self,
        filters,
        kernel_size,
        strides=(1, 1, 1),
        padding="valid",
        data_format="channels_last",
        dilation_rate=(1, 1, 1),
        activation=None,
        **kwargs,
    ):
        super().__init__(activation=activation, **kwargs)
        self.filters, self.kernel_size = int(filters), window(kernel_size, 3, "kernel_size")
        self.strides = window(strides, 3, "strides")
        self.dilation_rate = window(dilation_rate, 3, "dilation_rate")
        self.padding, self.data_format = check_padding(padding), check_data_format(data_format)

    def channels(self, shape):
        return known(
            shape.as_list()[1 if _first(self.data_format) else -1],
            "The channel dimension of the inputs",
        )

    def build(self, shape):
        self.make([*self.kernel_size, self.channels(shape), self.filters], self.filters)

    def call(self, inputs):
        return self.add_bias(
            nn_conv3d.conv3d(
                inputs,
                self.kernel,
                self.strides,
                self.padding,
                self.data_format,
                self.dilation_rate,
            )
        )

    def add_bias(self, made):
        if not _first(self.data_format):
            return self.finish(made)
        if self.use_bias:
            made = made + op("Reshape", self.bias, [1, -1, 1, 1, 1])
        return self.activation(made) if self.activation is not None else made


class Conv3DTranspose(Conv3D):
    """Transposed 3-D convolution; arguments as in `Conv3D`, but `dilation_rate` must be 1."""

    def build(self, shape):
        self.make([*self.kernel_size, self.filters, self.channels(shape)], self.filters)

    def call(self, inputs):
        first = _first(self.data_format)
        sizes = tensor_shape.as_shape(inputs.shape).as_list()
        have = None if None not in sizes else op("Unpack", shape_op(inputs), num=5)
        sizes = [have[i] if s is None else s for i, s in enumerate(sizes)]
        sides = []
        for size, taps, stride in zip(
            sizes[2:] if first else sizes[1:4], self.kernel_size, self.strides
        ):
            more = max(taps - stride, 0) if self.padding == "VALID" else 0
            sides.append(size * stride + more)
        out = [sizes[0], self.filters, *sides] if first else [sizes[0], *sides, self.filters]
        return self.add_bias(
            nn_conv3d.conv3d_transpose(
                inputs,
                self.kernel,
                out,
                self.strides,
                self.padding,
                "NCDHW" if first else "NDHWC",
                dilations=self.dilation_rate,
            )
        )


class SeparableConv2D(_Weighted):
    """Depthwise 2-D convolution followed by a 1 x 1 convolution that mixes the channels.

    Args:
      filters: Number of output channels.
      kernel_size: Height and width of the depthwise kernel.
      strides: Strides.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between elements of the depthwise kernel.
      depth_multiplier: Number of depthwise output channels per input channel.
      activation: Activation function; None applies none.
      use_bias: Whether the layer adds a bias.

    Initializers, regularizers and constraints of `depthwise_`, `pointwise_` and `bias_` follow,
    with `activity_regularizer`; `trainable`, `name` and `reuse` as in `Dense`.
    """

    RANK = 2

    def __init__(
        self,
        filters,
        kernel_size,
        strides=(1, 1),
        padding="valid",
        data_format="channels_last",
        dilation_rate=(1, 1),
        depth_multiplier=1,
        activation=None,
        use_bias=True,
        depthwise_initializer=None,
        pointwise_initializer=None,
        bias_initializer=ZEROS,
        depthwise_regularizer=None,
        pointwise_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        depthwise_constraint=None,
        pointwise_constraint=None,
        bias_constraint=None,
        **kwargs,
    ):
        super().__init__(
            activation,
            use_bias,
            None,
            bias_initializer,
            None,
            bias_regularizer,
            None,
            bias_constraint,
            activity_regularizer=activity_regularizer,
            **kwargs,
        )
        self.filters = int(filters)
        self.kernel_size = window(kernel_size, self.RANK, "kernel_size")
        self.strides = window(strides, self.RANK, "strides")
        self.dilation_rate = window(dilation_rate, self.RANK, "dilation_rate")
        self.padding = check_padding(padding)
        self.data_format = conv.layout(check_data_format(data_format))
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = depthwise_initializer
        self.depthwise_regularizer = depthwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_initializer = pointwise_initializer
        self.pointwise_regularizer = pointwise_regularizer
        self.pointwise_constraint = pointwise_constraint

    def build(self, shape):
        width = known(
            shape.as_list()[1 if self.data_format == "NCHW" else -1],
            "The channel dimension of the inputs",
        )
        wide = width * self.depth_multiplier
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            [*self.kernel_size, width, self.depth_multiplier],
            self.depthwise_initializer,
            self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            [1] * len(self.kernel_size) + [wide, self.filters],
            self.pointwise_initializer,
            self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.filters],
                self.bias_initializer,
                self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def call(self, inputs):
        result = conv.separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            conv.expand_2d(self.strides, self.data_format),
            self.padding,
            self.dilation_rate,
            data_format=self.data_format,
        )
        return self.finish(result, self.data_format)


class SeparableConv1D(SeparableConv2D):
    """Separable 1-D convolution of sequences; arguments as in `SeparableConv2D`."""

    RANK = 1

    def __init__(self, filters, kernel_size, strides=1, *args, dilation_rate=1, **kwargs):
        kwargs["dilation_rate"] = dilation_rate
        super().__init__(filters, kernel_size, strides, *args, **kwargs)

    def call(self, inputs):
        axis = 2 if self.data_format == "NCHW" else 1
        step, apart = self.strides[-1], self.dilation_rate[-1]
        result = conv.separable_conv2d(
            op("ExpandDims", inputs, axis),
            op("ExpandDims", self.depthwise_kernel, 0),
            op("ExpandDims", self.pointwise_kernel, 0),
            conv.expand_2d((step, step), self.data_format),
            self.padding,
            (1, apart),
            data_format=self.data_format,
        )
        if self.use_bias:
            result = op("BiasAdd", result, self.bias, data_format=self.data_format)
        result = op("Squeeze", result, squeeze_dims=[axis])
        return self.activation(result) if self.activation is not None else result


class _Pooling(Layer):
    """Max or average pooling over 1-D or 3-D windows.

    Args:
      pool_size: Size of the window.
      strides: Strides.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      name: Name scope of the op.
    """

    pool, formats = None, ()

    def __init__(
        self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs
    ):
        super().__init__(name=name, **kwargs)
        self.pool_size, self.strides, self.padding = pool_size, strides, padding.upper()
        self.data_format = self.formats[_first(data_format)]

    def __call__(self, inputs):
        with name_scope(self._name, self.default_name()):
            return type(self).pool(
                convert_to_tensor(inputs),
                self.pool_size,
                self.strides,
                self.padding,
                self.data_format,
            )


def _pooling(name, pool, *formats):
    return type(
        name,
        (_Pooling,),
        {"pool": staticmethod(pool), "formats": formats, "__doc__": _Pooling.__doc__},
    )


MaxPooling1D = _pooling("MaxPooling1D", nn_conv.max_pool1d, "NWC", "NCW")
AveragePooling1D = _pooling("AveragePooling1D", nn_conv.avg_pool1d, "NWC", "NCW")
MaxPooling3D = _pooling("MaxPooling3D", nn_conv.max_pool3d, "NDHWC", "NCDHW")
AveragePooling3D = _pooling("AveragePooling3D", nn_conv.avg_pool3d, "NDHWC", "NCDHW")


for _class in (
    Dense,
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    MaxPooling2D,
    AveragePooling2D,
    Flatten,
    Dropout,
    BatchNormalization,
    Conv3D,
    Conv3DTranspose,
    SeparableConv1D,
    SeparableConv2D,
    MaxPooling1D,
    MaxPooling3D,
    AveragePooling1D,
    AveragePooling3D,
):
    V1["layers." + _class.__name__] = _class


def _function(name, kind, *positional, calls=()):
    """Defines the function of a layer, which creates and calls it.

    `positional` are the names of its positional parameters, `calls` those that the call takes.
    """

    def layer(inputs, *args, reuse=None, **kwargs):
        kwargs.update(zip(positional, args))
        given = {keyword: kwargs.pop(keyword) for keyword in calls if keyword in kwargs}
        if reuse is not None:
            kwargs["_reuse"] = reuse
        if kwargs.get("name"):
            kwargs["_scope"] = kwargs["name"]
        return kind(**kwargs)(inputs, **given)

    layer.__name__, layer.__doc__ = name, kind.__doc__
    export(v1="layers." + name)(layer)
    return layer


_WINDOW = (
    "filters",
    "kernel_size",
    "strides",
    "padding",
    "data_format",
    "dilation_rate",
    "activation",
    "use_bias",
    "kernel_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "bias_regularizer",
    "activity_regularizer",
    "kernel_constraint",
    "bias_constraint",
    "trainable",
    "name",
)
dense = _function(
    "dense",
    Dense,
    "units",
    "activation",
    "use_bias",
    "kernel_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "bias_regularizer",
    "activity_regularizer",
    "kernel_constraint",
    "bias_constraint",
    "trainable",
    "name",
)
conv2d = _function("conv2d", Conv2D, *_WINDOW)
conv1d = _function("conv1d", Conv1D, *_WINDOW)
conv2d_transpose = _function(
    "conv2d_transpose", Conv2DTranspose, *[w for w in _WINDOW if w != "dilation_rate"]
)
conv3d = _function("conv3d", Conv3D, *_WINDOW)
conv3d_transpose = _function(
    "conv3d_transpose", Conv3DTranspose, *[w for w in _WINDOW if w != "dilation_rate"]
)
_APART = (
    "filters",
    "kernel_size",
    "strides",
    "padding",
    "data_format",
    "dilation_rate",
    "depth_multiplier",
    "activation",
    "use_bias",
    "depthwise_initializer",
    "pointwise_initializer",
    "bias_initializer",
    "depthwise_regularizer",
    "pointwise_regularizer",
    "bias_regularizer",
    "activity_regularizer",
    "depthwise_constraint",
    "pointwise_constraint",
    "bias_constraint",
    "trainable",
    "name",
)
separable_conv1d = _function("separable_conv1d", SeparableConv1D, *_APART)
separable_conv2d = _function("separable_conv2d", SeparableConv2D, *_APART)
for _name in ("max_pooling1d", "max_pooling3d", "average_pooling1d", "average_pooling3d"):
    _kind = globals()[
        "".join(w.title() for w in _name.split("_")).replace("1d", "1D").replace("3d", "3D")
    ]
    _function(_name, _kind, "pool_size", "strides", "padding", "data_format", "name")
max_pooling2d = _function(
    "max_pooling2d", MaxPooling2D, "pool_size", "strides", "padding", "data_format", "name"
)
average_pooling2d = _function(
    "average_pooling2d", AveragePooling2D, "pool_size", "strides", "padding", "data_format", "name"
)
flatten = _function("flatten", Flatten, "name")
dropout = _function(
    "dropout", Dropout, "rate", "noise_shape", "seed", "training", "name", calls=("training",)
)
batch_normalization = _function(
    "batch_normalization",
    BatchNormalization,
    "axis",
    "momentum",
    "epsilon",
    "center",
    "scale",
    "beta_initializer",
    "gamma_initializer",
    "moving_mean_initializer",
    "moving_variance_initializer",
    "beta_regularizer",
    "gamma_regularizer",
    "beta_constraint",
    "gamma_constraint",
    "training",
    "trainable",
    "name",
    calls=("training",),
)
