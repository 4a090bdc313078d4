# SPDX-License-Identifier: Apache-2.0
"""nn_conv.py: convolutions and pooling of tf.nn, in both styles' forms."""
from situ._lib import shapes
from situ._lib.api import export
from situ._lib.array_ops import convert_to_tensor, op
from situ._lib.graph import scope


def four(value, data_format, default=1):
    """A number, one for each of two dimensions, or all four, as a list of four."""
    value = default if value is None else value
    sizes = [int(v) for v in value] if hasattr(value, "__iter__") else [int(value)]
    if len(sizes) == 4:
        return sizes
    if len(sizes) == 1:
        sizes = sizes * 2
    if len(sizes) != 2:
        raise ValueError(f"Expected 1, 2 or 4 numbers, but received {value}.")
    return [1, 1, *sizes] if _planes(data_format) else [1, *sizes, 1]


def _planes(data_format):
    return bool(data_format) and str(data_format)[1] == "C"


def layout(data_format):
    return "NHWC" if data_format in (None, "", "channels_last") else \
        "NCHW" if data_format == "channels_first" else data_format


def _padding(padding):
    """The attributes for a word, or for a list of pairs."""
    if isinstance(padding, str):
        return {"padding": padding.upper()}
    flat = [int(p) for pair in padding for p in pair]
    if len(flat) != 8:
        raise ValueError("When padding is a list, it must be a list of 4 pairs. Received: "
                         f"padding={padding}")
    return {"padding": "EXPLICIT", "explicit_paddings": flat}


def _conv(row, *inputs, strides, padding, data_format, dilations, name):
    kind = layout(data_format)
    return op(row, *inputs, strides=four(strides, kind), data_format=kind,
              dilations=four(dilations, kind), name=name, **_padding(padding))


@export(v1="nn.conv2d")
def conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True,
           data_format="NHWC", dilations=None, name=None, filters=None):
    """The convolution of images with a filter [height, width, channels in, channels out]."""
    return _conv("Conv2D", input, filters if filter is None else filter, strides=strides,
                 padding=padding, data_format=data_format, dilations=dilations, name=name)


@export(v2="nn.conv2d")
def conv2d_v2(input, filters, strides, padding, data_format="NHWC", dilations=None, name=None):
    """The convolution of images with a filter [height, width, channels in, channels out]."""
    return conv2d(input, filters, strides, padding, True, data_format, dilations, name)


@export(v1="nn.conv2d_backprop_input")
def conv2d_backprop_input(input_sizes, filter=None, out_backprop=None, strides=None, padding=None,
                          use_cudnn_on_gpu=True, data_format="NHWC", dilations=None, name=None,
                          filters=None):
    return _conv("Conv2DBackpropInput", input_sizes, filters if filter is None else filter,
                 out_backprop, strides=strides, padding=padding, data_format=data_format,
                 dilations=dilations, name=name)


@export(v1="nn.conv2d_backprop_filter")
def conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding,
                           use_cudnn_on_gpu=True, data_format="NHWC", dilations=None, name=None):
    return _conv("Conv2DBackpropFilter", input, filter_sizes, out_backprop, strides=strides,
                 padding=padding, data_format=data_format, dilations=dilations, name=name)


@export(v1="nn.conv2d_transpose")
def conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME",
                     data_format="NHWC", name=None, input=None, filters=None, dilations=None):
    """The transpose of a convolution: its filter is [height, width, channels out, channels in]."""
    with scope(name, "conv2d_transpose") as full:
        return _conv("Conv2DBackpropInput", output_shape, filters if filter is None else filter,
                     input if value is None else value, strides=strides, padding=padding,
                     data_format=data_format, dilations=dilations, name=full)


@export(v2="nn.conv2d_transpose")
def conv2d_transpose_v2(input, filters, output_shape, strides, padding="SAME", data_format="NHWC",
                        dilations=None, name=None):
    return conv2d_transpose(input, filters, output_shape, strides, padding, data_format, name,
                            dilations=dilations)


@export(v1="nn.conv1d")
def conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None,
           data_format=None, name=None, input=None, dilations=None):
    """The convolution of rows [batch, width, channels] with [width, channels in, channels out]."""
    def one(number):
        return int(number[0] if len(number) == 1 else max(number)) \
            if hasattr(number, "__iter__") else int(number or 1)
    with scope(name, "conv1d"):
        planes = data_format in ("NCW", "NCHW", "channels_first")
        axis, kind = (2, "NCHW") if planes else (1, "NHWC")
        wide = op("ExpandDims", convert_to_tensor(input if value is None else value), axis)
        taps = op("ExpandDims", convert_to_tensor(filters), 0)
        made = conv2d(wide, taps, four([1, one(stride)], kind), padding, True, kind,
                      four([1, one(dilations)], kind))
        return op("Squeeze", made, squeeze_dims=[axis])


@export(v2="nn.conv1d")
def conv1d_v2(input, filters, stride, padding, data_format="NWC", dilations=None, name=None):
    return conv1d(input, filters, stride, padding, None, data_format, name, None, dilations)


@export(v1="nn.depthwise_conv2d_native")
def depthwise_conv2d_native(input, filter, strides, padding, data_format="NHWC", dilations=None,
                            name=None):
    return _conv("DepthwiseConv2dNative", input, filter, strides=strides, padding=padding,
                 data_format=data_format, dilations=dilations, name=name)


@export(v1="nn.depthwise_conv2d")
def depthwise_conv2d(input, filter=None, strides=None, padding=None, rate=None, name=None,
                     data_format=None, dilations=None):
    """The convolution of each channel with filters of its own."""
    return depthwise_conv2d_native(input, filter, strides, padding, data_format,
                                   rate if dilations is None else dilations, name or "depthwise")


@export(v2="nn.depthwise_conv2d")
def depthwise_conv2d_v2(input, filter, strides, padding, data_format=None, dilations=None,
                        name=None):
    return depthwise_conv2d(input, filter, strides, padding, dilations, name, data_format)


@export(v1="nn.separable_conv2d")
def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, rate=None,
                     name=None, data_format=None, dilations=None):
    """A depthwise convolution, then one with a filter of one tap."""
    with scope(name, "separable_conv2d") as full:
        deep = depthwise_conv2d(input, depthwise_filter, strides, padding,
                                rate if dilations is None else dilations,
                                data_format=data_format)
        return conv2d(deep, pointwise_filter, 1, "VALID", data_format=data_format, name=full)


@export(v2="nn.separable_conv2d")
def separable_conv2d_v2(input, depthwise_filter, pointwise_filter, strides, padding,
                        data_format=None, dilations=None, name=None):
    return separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, dilations,
                            name, data_format)


@export(v1="nn.atrous_conv2d")
def atrous_conv2d(value, filters, rate, padding, name=None):
    return conv2d(value, filters, 1, padding, dilations=rate, name=name)


@export(v1="nn.convolution")
def convolution(input, filter=None, padding="VALID", strides=None, dilation_rate=None, name=None,
                data_format=None, filters=None, dilations=None):
    """The convolution of rows or images, by their rank."""
    taps = convert_to_tensor(filters if filter is None else filter)
    apart = dilation_rate if dilations is None else dilations
    rank = shapes.as_shape(taps.shape).ndims
    if rank == 3:
        return conv1d(input, taps, strides, padding, None, data_format, name, None, apart)
    if rank != 4:
        raise ValueError(f"situ convolves rows and images, but the filter has rank {rank}.")
    return conv2d(input, taps, strides, padding, True, data_format, apart, name)


@export(v2="nn.convolution")
def convolution_v2(input, filters, strides=None, padding="VALID", data_format=None, dilations=None,
                   name=None):
    return convolution(input, filters, padding, strides, dilations, name, data_format)


def _pool(row, value, ksize, strides, padding, data_format, name, default):
    kind = layout(data_format)
    return op(row, value, ksize=four(ksize, kind), strides=four(strides, kind), data_format=kind,
              name=name or default, **_padding(padding))


def _pooling(word, row):
    """The four functions of a kind of pooling."""
    default = row
    doc = {"max": "The largest element of each window.", "avg": "The mean of each window."}[word]

    @export(v1=("nn." + word + "_pool", "nn." + word + "_pool2d"))
    def pool(value=None, ksize=None, strides=None, padding=None, data_format="NHWC", name=None,
             input=None):
        return _pool(row, input if value is None else value, ksize, strides, padding, data_format,
                     name, default)

    @export(v2=("nn." + word + "_pool", "nn." + word + "_pool2d"))
    def pool_v2(input, ksize, strides, padding, data_format=None, name=None):
        return _pool(row, input, ksize, strides, padding, data_format, name, default)

    @export("nn." + word + "_pool1d")
    def pool_1d(input, ksize, strides, padding, data_format="NWC", name=None):
        def one(number):
            return int(max(number)) if hasattr(number, "__iter__") else int(number)
        with scope(name, word + "_pool1d"):
            planes = data_format == "NCW"
            axis, kind = (2, "NCHW") if planes else (1, "NHWC")
            wide = op("ExpandDims", convert_to_tensor(input), axis)
            made = _pool(row, wide, four([1, one(ksize)], kind), four([1, one(strides)], kind),
                         padding, kind, None, default)
            return op("Squeeze", made, squeeze_dims=[axis])
    pool.__doc__ = pool_v2.__doc__ = pool_1d.__doc__ = doc
    pool.__name__ = pool_v2.__name__ = word + "_pool"
    pool_1d.__name__ = word + "_pool1d"
    return pool


max_pool = _pooling("max", "MaxPool")
avg_pool = _pooling("avg", "AvgPool")
