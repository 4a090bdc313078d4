# SPDX-License-Identifier: Apache-2.0
"""layers_more.py: tf.layers of rows and volumes, and convolutions channel by channel."""
from situ._lib import nn_conv, nn_transpose, nn_volume, shapes
from situ._lib.array_ops import convert_to_tensor, op, shape as shape_op
from situ._lib.graph import scope as name_scope
from situ._lib.layers import ZEROS, Layer, _Weighted, known, pair


def _first(data_format):
    return data_format == "channels_first"


class Conv3D(_Weighted):
    """A convolution of volumes, plus a bias."""

    def __init__(self, filters, kernel_size, strides=(1, 1, 1), padding="valid",
                 data_format="channels_last", dilation_rate=(1, 1, 1), activation=None, **words):
        super().__init__(activation=activation, **words)
        self.filters, self.kernel_size = int(filters), nn_volume.three(kernel_size, False)
        self.strides = nn_volume.three(strides, False)
        self.dilation_rate = nn_volume.three(dilation_rate, False)
        self.padding, self.data_format = padding.upper(), data_format

    def channels(self, shape):
        return known(shape.as_list()[1 if _first(self.data_format) else -1],
                     "The channel dimension of the inputs")

    def build(self, shape):
        self.make([*self.kernel_size, self.channels(shape), self.filters], self.filters)

    def call(self, inputs):
        return self.add_bias(nn_volume.conv3d(inputs, self.kernel, self.strides, self.padding,
                                              self.data_format, self.dilation_rate))

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
        sizes = shapes.as_shape(inputs.shape).as_list()
        have = None if None not in sizes else op("Unpack", shape_op(inputs), num=5)
        sizes = [have[i] if s is None else s for i, s in enumerate(sizes)]
        sides = []
        for size, taps, stride in zip(sizes[2:] if first else sizes[1:4], self.kernel_size,
                                      self.strides):
            more = max(taps - stride, 0) if self.padding == "VALID" else 0
            sides.append(size * stride + more)
        out = [sizes[0], self.filters, *sides] if first else [sizes[0], *sides, self.filters]
        return self.add_bias(nn_transpose.conv3d_transpose(
            inputs, self.kernel, out, self.strides, self.padding,
            "NCDHW" if first else "NDHWC"))


class SeparableConv2D(_Weighted):
    """A convolution of each channel for itself, then one over the channels of each pixel."""

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid",
                 data_format="channels_last", dilation_rate=(1, 1), depth_multiplier=1,
                 activation=None, use_bias=True, depthwise_initializer=None,
                 pointwise_initializer=None, bias_initializer=ZEROS, depthwise_regularizer=None,
                 pointwise_regularizer=None, bias_regularizer=None, activity_regularizer=None,
                 depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None,
                 **words):
        super().__init__(activation, use_bias, None, bias_initializer, None, bias_regularizer,
                         None, bias_constraint, activity_regularizer=activity_regularizer, **words)
        self.filters, self.kernel_size = int(filters), self.sides(kernel_size)
        self.strides, self.dilation_rate = pair(strides), pair(dilation_rate)
        self.padding, self.data_format = padding.upper(), nn_conv.layout(data_format)
        self.depth_multiplier = depth_multiplier
        self.deep = depthwise_initializer, depthwise_regularizer, depthwise_constraint
        self.flat = pointwise_initializer, pointwise_regularizer, pointwise_constraint

    @staticmethod
    def sides(kernel_size):
        return pair(kernel_size)

    def build(self, shape):
        width = known(shape.as_list()[1 if self.data_format == "NCHW" else -1],
                      "The channel dimension of the inputs")
        wide = width * self.depth_multiplier
        self.depthwise_kernel = self.weight(
            "depthwise_kernel", [*self.kernel_size, width, self.depth_multiplier], self.deep)
        self.pointwise_kernel = self.weight(
            "pointwise_kernel", [1] * len(self.kernel_size) + [wide, self.filters], self.flat)
        if self.use_bias:
            self.bias = self.add_weight("bias", [self.filters], self.bias_initializer,
                                        self.bias_regularizer, constraint=self.bias_constraint)
        self.built = True

    def weight(self, name, shape, given):
        first, regularizer, constraint = given
        return self.add_weight(name, shape, first, regularizer, constraint=constraint)

    def call(self, inputs):
        made = nn_conv.separable_conv2d(
            inputs, self.depthwise_kernel, self.pointwise_kernel,
            nn_conv.four(self.strides, self.data_format), self.padding, self.dilation_rate,
            data_format=self.data_format)
        return self.finish(made, self.data_format)


class SeparableConv1D(SeparableConv2D):
    """The same, of rows."""

    @staticmethod
    def sides(kernel_size):
        return pair(kernel_size)[:1]

    def call(self, inputs):
        axis = 2 if self.data_format == "NCHW" else 1
        step, apart = self.strides[-1], self.dilation_rate[-1]
        made = nn_conv.separable_conv2d(
            op("ExpandDims", inputs, axis), op("ExpandDims", self.depthwise_kernel, 0),
            op("ExpandDims", self.pointwise_kernel, 0),
            nn_conv.four((step, step), self.data_format), self.padding, (1, apart),
            data_format=self.data_format)
        if self.use_bias:
            made = op("BiasAdd", made, self.bias, data_format=self.data_format)
        made = op("Squeeze", made, squeeze_dims=[axis])
        return self.activation(made) if self.activation is not None else made


class _Pooling(Layer):
    """The largest number, or the mean, of windows of rows or volumes."""
    pool, formats = None, ()

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last",
                 name=None, **words):
        super().__init__(name=name, **words)
        self.pool_size, self.strides, self.padding = pool_size, strides, padding.upper()
        self.data_format = self.formats[_first(data_format)]

    def __call__(self, inputs):
        with name_scope(self._name, self.default_name()):
            return type(self).pool(convert_to_tensor(inputs), self.pool_size, self.strides,
                                   self.padding, self.data_format)

    apply = __call__


def _pooling(name, pool, *formats):
    return type(name, (_Pooling,), {"pool": staticmethod(pool), "formats": formats,
                                    "__doc__": _Pooling.__doc__})


MaxPooling1D = _pooling("MaxPooling1D", nn_conv.max_pool1d, "NWC", "NCW")
AveragePooling1D = _pooling("AveragePooling1D", nn_conv.avg_pool1d, "NWC", "NCW")
MaxPooling3D = _pooling("MaxPooling3D", nn_volume.max_pool3d, "NDHWC", "NCDHW")
AveragePooling3D = _pooling("AveragePooling3D", nn_volume.avg_pool3d, "NDHWC", "NCDHW")
