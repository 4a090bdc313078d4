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
    if rank == 5:
        from situ._lib.nn_volume import conv3d
        return conv3d(input, taps, strides, padding, data_format or "NDHWC", apart, name)
    if rank != 4:
        raise ValueError("situ convolves rows, images and volumes, but the filter has rank "
                         f"{rank}.")
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
    """The functions of a kind of pooling."""
    default = row
    doc = {"max": "The largest element of each window.", "avg": "The mean of each window."}[word]

    @export(v1=("nn." + word + "_pool", "nn." + word + "_pool2d"))
    def pool(value=None, ksize=None, strides=None, padding=None, data_format="NHWC", name=None,
             input=None):
        return _pool(row, input if value is None else value, ksize, strides, padding, data_format,
                     name, default)

    @export(v2="nn." + word + "_pool2d")
    def pool_2d(input, ksize, strides, padding, data_format=None, name=None):
        return _pool(row, input, ksize, strides, padding, data_format, name, default)

    @export(v2="nn." + word + "_pool")
    def pool_v2(input, ksize, strides, padding, data_format=None, name=None):
        input = convert_to_tensor(input)
        rank = shapes.as_shape(input.shape).ndims
        count = len(ksize) if hasattr(ksize, "__len__") else 1
        if rank == 3 and count in (1, 3):  # the op of images refuses what fits nothing
            return pool_1d(input, ksize, strides, padding, data_format or "NWC", name)
        if rank == 5 and count in (1, 3, 5):
            from situ._lib import nn_volume
            pool_3d = {"max": nn_volume.max_pool3d, "avg": nn_volume.avg_pool3d}[word]
            return pool_3d(input, ksize, strides, padding, data_format or "NDHWC", name)
        return pool_2d(input, ksize, strides, padding, data_format, name)

    @export("nn." + word + "_pool1d")
    def pool_1d(input, ksize, strides, padding, data_format="NWC", name=None):
        def one(number):
            if not hasattr(number, "__iter__"):
                return int(number)
            if len(number) not in (1, 3):
                raise ValueError("ksize and strides should be of length 1, 1 or 3 but was "
                                 f"{len(number)}")
            return int(max(number))
        with scope(name, word + "_pool1d"):
            planes = data_format == "NCW"
            axis, kind = (2, "NCHW") if planes else (1, "NHWC")
            wide = op("ExpandDims", convert_to_tensor(input), axis)
            made = _pool(row, wide, four([1, one(ksize)], kind), four([1, one(strides)], kind),
                         padding, kind, None, default)
            return op("Squeeze", made, squeeze_dims=[axis])
    pool.__doc__ = pool_v2.__doc__ = pool_2d.__doc__ = pool_1d.__doc__ = doc
    pool.__name__ = pool_v2.__name__ = word + "_pool"
    pool_1d.__name__, pool_2d.__name__ = word + "_pool1d", word + "_pool2d"
    export(v1="nn." + word + "_pool_v2")(pool_v2)
    return pool, pool_1d, pool_2d


max_pool, max_pool1d, max_pool2d = _pooling("max", "MaxPool")
avg_pool, avg_pool1d, avg_pool2d = _pooling("avg", "AvgPool")


def _argmax(input, ksize, strides, padding, data_format, output_dtype, include_batch_in_index,
            name):
    if data_format not in (None, "NHWC"):
        raise ValueError("Attr 'data_format' of 'MaxPoolWithArgmax' is not in the list of allowed "
                         f"values: \"NHWC\". Received: data_format={data_format}")
    return op("MaxPoolWithArgmax", input, ksize=four(ksize, "NHWC"), strides=four(strides, "NHWC"),
              padding=padding, Targmax=output_dtype, include_batch_in_index=include_batch_in_index,
              name=name)


@export(v1="nn.max_pool_with_argmax")
def max_pool_with_argmax(input, ksize, strides, padding, data_format="NHWC", Targmax=None,
                         name=None, output_dtype=None, include_batch_in_index=False):
    """The largest element of each window, and which element of its image it is."""
    return _argmax(input, ksize, strides, padding, data_format, output_dtype or Targmax or "int64",
                   include_batch_in_index, name)


@export(v2="nn.max_pool_with_argmax")
def max_pool_with_argmax_v2(input, ksize, strides, padding, data_format="NHWC",
                            output_dtype="int64", include_batch_in_index=False, name=None):
    return _argmax(input, ksize, strides, padding, data_format, output_dtype,
                   include_batch_in_index, name)


def _dilated(pooled, input, apart, padding, window):
    """Pools what is `apart` from each other: as neighbours of images that are cut up."""
    from situ._lib.rearranging import batch_to_space_nd, space_to_batch_nd
    if padding.upper() != "VALID":
        raise ValueError("pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. "
                         f"Received: padding={padding} and dilation_rate={apart}")
    sizes = op("Unpack", op("Shape", input), num=len(apart) + 2)[1:-1]
    short = [op("FloorMod", op("Neg", size), a) for size, a in zip(sizes, apart)]
    none = op("ZerosLike", short[0])
    margins = op("Pack", [op("Pack", [none, s]) for s in (none, *short, none)])
    nothing = [[0, 0]] * len(apart)  # what stands in the margins is cut off again
    made = pooled(space_to_batch_nd(op("Pad", input, margins), apart, nothing))
    made = batch_to_space_nd(made, apart, nothing)
    counts = [op("Sub", size, (w - 1) * a) for size, w, a in zip(sizes, window, apart)]
    ends = op("Unpack", op("Shape", made), num=len(apart) + 2)
    return op("Slice", made, [0] * (len(apart) + 2), op("Pack", [ends[0], *counts, ends[-1]]))


@export(v1="nn.pool")
def pool(input, window_shape, pooling_type, padding, dilation_rate=None, strides=None, name=None,
         data_format=None, dilations=None):
    """The largest element (MAX) or the mean (AVG) of windows on rows, images or volumes."""
    from situ._lib import nn_volume
    input, window = convert_to_tensor(input), [int(w) for w in window_shape]
    count = len(window)
    words = {"MAX": (max_pool1d, max_pool2d, nn_volume.max_pool3d),
             "AVG": (avg_pool1d, avg_pool2d, nn_volume.avg_pool3d)}
    if pooling_type not in words or not 1 <= count <= 3:
        raise ValueError(f"pooling_type is MAX or AVG, and windows have 1 to 3 sides, but they are "
                         f"{pooling_type} and {window_shape}.")
    apart = [int(d) for d in dilations or dilation_rate or [1] * count]
    steps = [int(s) for s in strides or [1] * count]
    first = bool(data_format) and data_format[1] == "C"
    if first:
        order = [0, *range(2, count + 2), 1]
        input = op("Transpose", input, order)

    def pooled(x):
        sides = window if count > 1 else window[0]
        return words[pooling_type][count - 1](x, sides, steps if count > 1 else steps[0], padding)
    with scope(name, pooling_type.lower() + "_pool"):
        if any(a > 1 for a in apart):
            if any(s > 1 for s in steps):
                raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1. "
                                 f"Received: strides={steps} and dilation_rate={apart}")
            made = _dilated(pooled, input, apart, padding, window)
        else:
            made = pooled(input)
        return op("Transpose", made, [0, count + 1, *range(1, count + 1)]) if first else made


@export(v2="nn.pool")
def pool_v2(input, window_shape, pooling_type, strides=None, padding="VALID", data_format=None,
            dilations=None, name=None):
    return pool(input, window_shape, pooling_type, padding, dilations, strides, name, data_format)
