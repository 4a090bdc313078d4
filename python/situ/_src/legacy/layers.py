# SPDX-License-Identifier: Apache-2.0
"""layers.py: tf.layers: layers that create their variables in variable scopes, and their
functions."""

from __future__ import annotations

from typing import Callable

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import V1, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph import scope as name_scope
from situ._src.framework.scopes import colocate_with_variable
from situ._src.legacy.base_layer import ONES, ZEROS, Layer, _Weighted, choose, known, pair
from situ._src.ops import control_flow_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.nn import conv, norm
from situ._src.ops.nn import pool as nn_conv


class Dense(_Weighted):
    """activation(inputs times a matrix, plus a bias)."""

    def __init__(self, units, activation=None, use_bias=True, **kwargs):
        super().__init__(activation=activation, use_bias=use_bias, **kwargs)
        self.units = int(units)

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
    """A layer with windows on images."""

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
        self.filters, self.kernel_size = int(filters), pair(kernel_size)
        self.strides, self.dilation_rate = pair(strides), pair(dilation_rate)
        self.padding, self.data_format = padding.upper(), conv.layout(data_format)

    def channels(self, shape):
        axis = 1 if self.data_format == "NCHW" else -1
        return known(shape.as_list()[axis], "The channel dimension of the inputs")


class Conv2D(_Spatial):
    """A convolution of images, plus a bias."""

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
    """A convolution of rows, plus a bias."""

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
        self.filters, self.kernel_size = int(filters), pair(kernel_size)[0]
        self.strides, self.dilation_rate = strides, dilation_rate
        self.padding, self.data_format = padding.upper(), data_format

    def build(self, shape):
        width = known(
            shape.as_list()[1 if self.data_format == "channels_first" else -1],
            "The channel dimension of the inputs",
        )
        self.make([self.kernel_size, width, self.filters], self.filters)

    def call(self, inputs):
        result = conv.conv1d(
            inputs,
            self.kernel,
            self.strides,
            self.padding,
            data_format=self.data_format,
            dilations=self.dilation_rate,
        )
        if self.data_format != "channels_first":
            return self.finish(result)
        bias = op("Reshape", self.bias, [1, -1, 1]) if self.use_bias else None
        result = result if bias is None else result + bias
        return self.activation(result) if self.activation is not None else result


class Conv2DTranspose(_Spatial):
    """The transpose of a convolution, plus a bias."""

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
            more = max(self.kernel_size[i] - self.strides[i], 0) if self.padding == "VALID" else 0
            whole[i + 1] = whole[i + 1] * self.strides[i] + more
        out = [whole[0], self.filters, *whole[1:]] if planes else [*whole, self.filters]
        if not all(isinstance(s, int) for s in out):
            out = op("Pack", [convert_to_tensor(s, "int32") for s in out])
        result = conv.conv2d_transpose(
            inputs, self.kernel, out, self.strides, self.padding, self.data_format
        )
        return self.finish(result, self.data_format)


class _Pooling2D(Layer):
    pool: Callable

    def __init__(
        self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs
    ):
        super().__init__(name=name, **kwargs)
        self.pool_size, self.strides = pair(pool_size), pair(strides)
        self.padding, self.data_format = padding.upper(), conv.layout(data_format)

    def __call__(self, inputs):
        with name_scope(self._name, self.default_name()):
            return type(self).pool(
                inputs, self.pool_size, self.strides, self.padding, self.data_format
            )


class MaxPooling2D(_Pooling2D):
    pool = staticmethod(nn_conv.max_pool)


class AveragePooling2D(_Pooling2D):
    pool = staticmethod(nn_conv.avg_pool)


class Flatten(Layer):
    """All dimensions but the first as one."""

    def __call__(self, inputs):
        inputs = convert_to_tensor(inputs)
        with name_scope(self._name, "flatten"):
            return flat(inputs)


def flat(inputs):
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
    """Some elements made 0 while training."""

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
    """A convolution of volumes, plus a bias."""

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
        self.filters, self.kernel_size = int(filters), conv.three(kernel_size, False)
        self.strides = conv.three(strides, False)
        self.dilation_rate = conv.three(dilation_rate, False)
        self.padding, self.data_format = padding.upper(), data_format

    def channels(self, shape):
        return known(
            shape.as_list()[1 if _first(self.data_format) else -1],
            "The channel dimension of the inputs",
        )

    def build(self, shape):
        self.make([*self.kernel_size, self.channels(shape), self.filters], self.filters)

    def call(self, inputs):
        return self.add_bias(
            conv.conv3d(
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
    """The transpose of a convolution of volumes, plus a bias."""

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
            conv.conv3d_transpose(
                inputs, self.kernel, out, self.strides, self.padding, "NCDHW" if first else "NDHWC"
            )
        )


class SeparableConv2D(_Weighted):
    """A convolution of each channel for itself, then one over the channels of each pixel."""

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
        self.filters, self.kernel_size = int(filters), self.sides(kernel_size)
        self.strides, self.dilation_rate = pair(strides), pair(dilation_rate)
        self.padding, self.data_format = padding.upper(), conv.layout(data_format)
        self.depth_multiplier = depth_multiplier
        self.deep = depthwise_initializer, depthwise_regularizer, depthwise_constraint
        self.flat = pointwise_initializer, pointwise_regularizer, pointwise_constraint

    @staticmethod
    def sides(kernel_size):
        return pair(kernel_size)

    def build(self, shape):
        width = known(
            shape.as_list()[1 if self.data_format == "NCHW" else -1],
            "The channel dimension of the inputs",
        )
        wide = width * self.depth_multiplier
        self.depthwise_kernel = self.weight(
            "depthwise_kernel", [*self.kernel_size, width, self.depth_multiplier], self.deep
        )
        self.pointwise_kernel = self.weight(
            "pointwise_kernel", [1] * len(self.kernel_size) + [wide, self.filters], self.flat
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

    def weight(self, name, shape, given):
        first, regularizer, constraint = given
        return self.add_weight(name, shape, first, regularizer, constraint=constraint)

    def call(self, inputs):
        result = conv.separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            conv.four(self.strides, self.data_format),
            self.padding,
            self.dilation_rate,
            data_format=self.data_format,
        )
        return self.finish(result, self.data_format)


class SeparableConv1D(SeparableConv2D):
    """The same, of rows."""

    @staticmethod
    def sides(kernel_size):
        return pair(kernel_size)[:1]

    def call(self, inputs):
        axis = 2 if self.data_format == "NCHW" else 1
        step, apart = self.strides[-1], self.dilation_rate[-1]
        result = conv.separable_conv2d(
            op("ExpandDims", inputs, axis),
            op("ExpandDims", self.depthwise_kernel, 0),
            op("ExpandDims", self.pointwise_kernel, 0),
            conv.four((step, step), self.data_format),
            self.padding,
            (1, apart),
            data_format=self.data_format,
        )
        if self.use_bias:
            result = op("BiasAdd", result, self.bias, data_format=self.data_format)
        result = op("Squeeze", result, squeeze_dims=[axis])
        return self.activation(result) if self.activation is not None else result


class _Pooling(Layer):
    """The largest number, or the mean, of windows of rows or volumes."""

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


class BatchNormalization(Layer):
    """Inputs normalised over all but the channels: by their own moments while training, by moving
    averages of them else. The averages are updated by what is in UPDATE_OPS."""

    def __init__(
        self,
        axis=-1,
        momentum=0.99,
        epsilon=1e-3,
        center=True,
        scale=True,
        beta_initializer=ZEROS,
        gamma_initializer=ONES,
        moving_mean_initializer=ZEROS,
        moving_variance_initializer=ONES,
        beta_regularizer=None,
        gamma_regularizer=None,
        beta_constraint=None,
        gamma_constraint=None,
        renorm=False,
        fused=None,
        renorm_clipping=None,
        renorm_momentum=0.99,
        virtual_batch_size=None,
        adjustment=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise ValueError("situ has no renorm, virtual_batch_size or adjustment.")
        self.axis, self.momentum, self.epsilon = axis, momentum, epsilon
        self.parts = {}
        if scale:
            self.parts["gamma"] = gamma_initializer, gamma_regularizer, gamma_constraint, True
        if center:
            self.parts["beta"] = beta_initializer, beta_regularizer, beta_constraint, True
        self.parts["moving_mean"] = moving_mean_initializer, None, None, False
        self.parts["moving_variance"] = moving_variance_initializer, None, None, False

    def build(self, shape):
        axis = self.axis[0] if isinstance(self.axis, (list, tuple)) else self.axis
        self.axis = axis % shape.ndims
        width = known(shape.as_list()[self.axis], "The normalised dimension")
        kind = "float32" if self.dtype == as_dtype("float16") else self.dtype
        for name, (first, regularizer, constraint, trainable) in self.parts.items():
            result = self.add_weight(name, [width], first, regularizer, trainable, constraint, kind)
            setattr(self, name, result)
        self.built = True

    def _update(self, average, value, training):
        with name_scope(None, "AssignMovingAvg") as full:
            rate = choose(
                training,
                lambda: convert_to_tensor(1.0 - self.momentum, name="decay"),
                lambda: convert_to_tensor(0.0),
            )
            rate = cast(rate, average.dtype.base_dtype)
            with colocate_with_variable(average):
                less = (convert_to_tensor(average) - value) * rate
                return average.assign_sub(less, name=full)

    def _fused(self, inputs, training):
        """(y, mean, variance) of images, by one op."""
        width = self.moving_mean.shape.as_list()
        gamma, beta = (
            convert_to_tensor(getattr(self, n))
            if hasattr(self, n)
            else convert_to_tensor(numpy.full(width, first, "float32"))
            for n, first in (("gamma", 1.0), ("beta", 0.0))
        )
        given = (None, None) if training else (self.moving_mean, self.moving_variance)
        return norm.fused(
            inputs,
            gamma,
            beta,
            *given,
            self.epsilon,
            "NCHW" if self.axis == 1 else "NHWC",
            training,
        )

    def _keep(self, mean, variance, training):
        """Moves the averages: what runs with UPDATE_OPS."""
        self.updates = [
            self._update(self.moving_mean, mean, training),
            self._update(self.moving_variance, variance, training),
        ]
        for update in self.updates:
            get_default_graph().add_to_collection(
                GraphKeys.UPDATE_OPS, getattr(update, "op", update)
            )

    def call(self, inputs, training=False):
        rank = tensor_shape.as_shape(inputs.shape).ndims
        if norm.is_fused(inputs, self.axis) and self.moving_mean.dtype.base_dtype == "float32":
            y, mean, variance = control_flow_ops.smart_cond(
                training, lambda: self._fused(inputs, True), lambda: self._fused(inputs, False)
            )
            if training is not False:
                self._keep(mean, variance, training)
            return y
        form = [-1 if a == self.axis else 1 for a in range(rank)]
        mean, variance = (
            convert_to_tensor(self.moving_mean),
            convert_to_tensor(self.moving_variance),
        )
        if training is not False:
            axes = [a for a in range(rank) if a != self.axis]
            own_mean, own_variance = norm.moments(cast(inputs, mean.dtype), axes)
            self._keep(own_mean, own_variance, training)
            old_mean, old_variance = mean, variance
            mean = choose(training, lambda: own_mean, lambda: old_mean)
            variance = choose(training, lambda: own_variance, lambda: old_variance)
        values = [mean, variance, getattr(self, "beta", None), getattr(self, "gamma", None)]
        if self.axis != rank - 1:
            values = [v if v is None else op("Reshape", v, form) for v in values]
        return norm.batch_normalization(inputs, *values, self.epsilon)


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
    """A function that makes a layer and calls it: its arguments are the layer's, in order."""

    def layer(inputs, *args, reuse=None, **kwargs):
        kwargs.update(zip(positional, args))
        given = {keyword: kwargs.pop(keyword) for keyword in calls if keyword in kwargs}
        if reuse is not None:
            kwargs["_reuse"] = reuse
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
