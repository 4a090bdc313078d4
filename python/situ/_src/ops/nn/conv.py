# SPDX-License-Identifier: Apache-2.0
"""conv.py: tf.nn convolutions in one to three dimensions, transposed, depthwise and separable.

A 3-D convolution is the sum of 2-D ones along the depth; its gradient follows from theirs."""

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.framework.keywords import unsupported
from situ._src.framework.tensor import constant_value
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op


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
    return (
        "NHWC"
        if data_format in (None, "", "channels_last")
        else "NCHW"
        if data_format == "channels_first"
        else data_format
    )


def _padding(padding):
    """The attributes for a word, or for a list of pairs."""
    if isinstance(padding, str):
        return {"padding": padding.upper()}
    flat = [int(p) for pair in padding for p in pair]
    if len(flat) != 8:
        raise ValueError(
            f"When padding is a list, it must be a list of 4 pairs. Received: padding={padding}"
        )
    return {"padding": "EXPLICIT", "explicit_paddings": flat}


def _conv(row, *inputs, strides, padding, data_format, dilations, name):
    kind = layout(data_format)
    return op(
        row,
        *inputs,
        strides=four(strides, kind),
        data_format=kind,
        dilations=four(dilations, kind),
        name=name,
        **_padding(padding),
    )


@export(v1="nn.conv2d")
def conv2d(
    input,
    filter=None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=None,
    name=None,
    filters=None,
):
    """The convolution of images with a filter [height, width, channels in, channels out]."""
    return _conv(
        "Conv2D",
        input,
        filters if filter is None else filter,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export(v2="nn.conv2d")
def conv2d_v2(input, filters, strides, padding, data_format="NHWC", dilations=None, name=None):
    """The convolution of images with a filter [height, width, channels in, channels out]."""
    return conv2d(input, filters, strides, padding, True, data_format, dilations, name)


@export(v1="nn.conv2d_backprop_input")
def conv2d_backprop_input(
    input_sizes,
    filter=None,
    out_backprop=None,
    strides=None,
    padding=None,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=None,
    name=None,
    filters=None,
):
    return _conv(
        "Conv2DBackpropInput",
        input_sizes,
        filters if filter is None else filter,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export(v1="nn.conv2d_backprop_filter")
def conv2d_backprop_filter(
    input,
    filter_sizes,
    out_backprop,
    strides,
    padding,
    use_cudnn_on_gpu=True,
    data_format="NHWC",
    dilations=None,
    name=None,
):
    return _conv(
        "Conv2DBackpropFilter",
        input,
        filter_sizes,
        out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export(v1="nn.conv2d_transpose")
def conv2d_transpose(
    value=None,
    filter=None,
    output_shape=None,
    strides=None,
    padding="SAME",
    data_format="NHWC",
    name=None,
    input=None,
    filters=None,
    dilations=None,
):
    """The transpose of a convolution: its filter is [height, width, channels out, channels in]."""
    with scope(name, "conv2d_transpose") as full:
        return _conv(
            "Conv2DBackpropInput",
            output_shape,
            filters if filter is None else filter,
            input if value is None else value,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilations=dilations,
            name=full,
        )


@export(v2="nn.conv2d_transpose")
def conv2d_transpose_v2(
    input,
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format="NHWC",
    dilations=None,
    name=None,
):
    return conv2d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )


@export(v1="nn.conv1d")
def conv1d(
    value=None,
    filters=None,
    stride=None,
    padding=None,
    use_cudnn_on_gpu=None,
    data_format=None,
    name=None,
    input=None,
    dilations=None,
):
    """The convolution of rows [batch, width, channels] with [width, channels in, channels out]."""

    def one(number):
        return (
            int(number[0] if len(number) == 1 else max(number))
            if hasattr(number, "__iter__")
            else int(number or 1)
        )

    with scope(name, "conv1d"):
        planes = data_format in ("NCW", "NCHW", "channels_first")
        axis, kind = (2, "NCHW") if planes else (1, "NHWC")
        wide = op("ExpandDims", convert_to_tensor(input if value is None else value), axis)
        taps = op("ExpandDims", convert_to_tensor(filters), 0)
        made = conv2d(
            wide,
            taps,
            four([1, one(stride)], kind),
            padding,
            True,
            kind,
            four([1, one(dilations)], kind),
        )
        return op("Squeeze", made, squeeze_dims=[axis])


@export(v2="nn.conv1d")
def conv1d_v2(input, filters, stride, padding, data_format="NWC", dilations=None, name=None):
    return conv1d(input, filters, stride, padding, None, data_format, name, None, dilations)


@export(v1="nn.depthwise_conv2d_native")
def depthwise_conv2d_native(
    input, filter, strides, padding, data_format="NHWC", dilations=None, name=None
):
    return _conv(
        "DepthwiseConv2dNative",
        input,
        filter,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=dilations,
        name=name,
    )


@export(v1="nn.depthwise_conv2d")
def depthwise_conv2d(
    input,
    filter=None,
    strides=None,
    padding=None,
    rate=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """The convolution of each channel with filters of its own."""
    return depthwise_conv2d_native(
        input,
        filter,
        strides,
        padding,
        data_format,
        rate if dilations is None else dilations,
        name or "depthwise",
    )


@export(v2="nn.depthwise_conv2d")
def depthwise_conv2d_v2(
    input, filter, strides, padding, data_format=None, dilations=None, name=None
):
    return depthwise_conv2d(input, filter, strides, padding, dilations, name, data_format)


@export(v1="nn.separable_conv2d")
def separable_conv2d(
    input,
    depthwise_filter,
    pointwise_filter,
    strides,
    padding,
    rate=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """A depthwise convolution, then one with a filter of one tap."""
    with scope(name, "separable_conv2d") as full:
        deep = depthwise_conv2d(
            input,
            depthwise_filter,
            strides,
            padding,
            rate if dilations is None else dilations,
            data_format=data_format,
        )
        return conv2d(deep, pointwise_filter, 1, "VALID", data_format=data_format, name=full)


@export(v2="nn.separable_conv2d")
def separable_conv2d_v2(
    input,
    depthwise_filter,
    pointwise_filter,
    strides,
    padding,
    data_format=None,
    dilations=None,
    name=None,
):
    return separable_conv2d(
        input, depthwise_filter, pointwise_filter, strides, padding, dilations, name, data_format
    )


@export(v1="nn.atrous_conv2d")
def atrous_conv2d(value, filters, rate, padding, name=None):
    return conv2d(value, filters, 1, padding, dilations=rate, name=name)


@export(v1="nn.convolution")
def convolution(
    input,
    filter=None,
    padding="VALID",
    strides=None,
    dilation_rate=None,
    name=None,
    data_format=None,
    filters=None,
    dilations=None,
):
    """The convolution of rows or images, by their rank."""
    taps = convert_to_tensor(filters if filter is None else filter)
    apart = dilation_rate if dilations is None else dilations
    rank = tensor_shape.as_shape(taps.shape).ndims
    if rank == 3:
        return conv1d(input, taps, strides, padding, None, data_format, name, None, apart)
    if rank == 5:
        return conv3d(input, taps, strides, padding, data_format or "NDHWC", apart, name)
    if rank != 4:
        raise ValueError(
            f"situ convolves rows, images and volumes, but the filter has rank {rank}."
        )
    return conv2d(input, taps, strides, padding, True, data_format, apart, name)


@export(v2="nn.convolution")
def convolution_v2(
    input, filters, strides=None, padding="VALID", data_format=None, dilations=None, name=None
):
    return convolution(input, filters, padding, strides, dilations, name, data_format)


def _list(values):
    """Sizes as a list, also those of a tensor."""
    if isinstance(values, tensor_shape.TensorShape):
        return values.as_list()
    if isinstance(values, (list, tuple)):
        return list(values)
    known = constant_value(values)
    if known is not None:
        return [int(v) for v in known]
    return op("Unpack", values, num=tensor_shape.as_shape(values.shape).as_list()[0])


def _placed(x, stride, before, depth):
    """Planes a stride apart, `before` planes of nothing in front, cut to a depth."""
    batch, have, *sides = x.shape.as_list()
    batch = shape_op(x)[0] if batch is None else batch
    if stride > 1:
        x = op("Pad", op("ExpandDims", x, 2), [[0, 0], [0, 0], [0, stride - 1]] + [[0, 0]] * 3)
        sizes = [batch, have * stride, *sides]
        x = op(
            "Reshape",
            x,
            sizes
            if isinstance(batch, int)
            else op("Pack", [convert_to_tensor(s, "int32") for s in sizes]),
        )
    cut, rest = max(0, -before), have * stride
    x = x[:, cut : cut + max(0, depth - max(0, before))]
    have = min(rest - cut, depth - max(0, before))
    return op("Pad", x, [[0, 0], [max(0, before), depth - have - max(0, before)]] + [[0, 0]] * 3)


@export(v1="nn.conv3d_transpose")
def conv3d_transpose(
    value=None,
    filter=None,
    output_shape=None,
    strides=None,
    padding="SAME",
    data_format="NDHWC",
    name=None,
    input=None,
    filters=None,
    dilations=None,
):
    """The transpose of a convolution of volumes: its filter is [depth, height, width, channels
    out, channels in]."""
    if dilations is not None and numpy.max(dilations) != 1:
        unsupported("conv3d_transpose", dilations=(dilations, None))
    first = data_format in ("NCDHW", "channels_first")
    with scope(name, "conv3d_transpose"):
        taps = convert_to_tensor(filters if filter is None else filter)
        x = channels_last(input if value is None else value, first)
        sizes = _list(output_shape)
        batch, depth, *sides = sizes[:1] + sizes[2:] if first else sizes[:4]
        if not isinstance(depth, int):
            raise ValueError("The depth of the output of conv3d_transpose must be known.")
        (sd, *step), count = three(strides, first), taps.shape.as_list()
        _, before = count_windows(depth, count[0], sd, padding)
        planes, _ = as_planes(x)
        have = x.shape.as_list()[1]
        out = [batch * have, *sides, count[3]]
        out = (
            out
            if all(isinstance(s, int) for s in out)
            else op("Pack", [convert_to_tensor(s, "int32") for s in out])
        )
        total = None
        for k in range(count[0]):
            part = conv2d_transpose(planes, taps[k], out, tuple(step), padding.upper())
            part = _placed(as_volume(part, batch, have), sd, k - before, depth)
            total = part if total is None else total + part
        return channels_back(total, first)


@export(v2="nn.conv3d_transpose")
def conv3d_transpose_v2(
    input,
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format="NDHWC",
    dilations=None,
    name=None,
):
    return conv3d_transpose(
        input, filters, output_shape, strides, padding, data_format, name, dilations=dilations
    )


@export("nn.conv1d_transpose")
def conv1d_transpose(
    input,
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format="NWC",
    dilations=None,
    name=None,
):
    """The transpose of a convolution of rows: its filter is [width, channels out, channels in]."""
    planes = data_format in ("NCW", "NCHW", "channels_first")
    axis, kind = (2, "NCHW") if planes else (1, "NHWC")
    step, apart = (
        int(max(v)) if hasattr(v, "__iter__") else int(v or 1) for v in (strides, dilations)
    )
    with scope(name, "conv1d_transpose"):
        sizes = _list(output_shape)
        sizes.insert(axis, 1)
        sizes = (
            sizes
            if all(isinstance(s, int) for s in sizes)
            else op("Pack", [convert_to_tensor(s, "int32") for s in sizes])
        )
        made = conv2d_transpose(
            op("ExpandDims", convert_to_tensor(input), axis),
            op("ExpandDims", convert_to_tensor(filters), 0),
            sizes,
            four([1, step], kind),
            padding,
            kind,
            dilations=four([1, apart], kind),
        )
        return op("Squeeze", made, squeeze_dims=[axis])


@export("nn.conv_transpose")
def conv_transpose(
    input,
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format=None,
    dilations=None,
    name=None,
):
    """The transpose of a convolution of rows, images or volumes, by the rank of the filter."""
    rank = tensor_shape.as_shape(convert_to_tensor(filters).shape).ndims
    if rank not in (3, 4, 5):
        raise ValueError(f"a filter of rank 3, 4 or 5 is needed, not {rank}")
    function = {3: conv1d_transpose, 4: conv2d_transpose_v2, 5: conv3d_transpose_v2}[rank]
    kind = data_format or {3: "NWC", 4: "NHWC", 5: "NDHWC"}[rank]
    return function(
        input, filters, output_shape, strides, padding, kind, dilations=dilations, name=name
    )


def three(value, first):
    """The numbers of depth, height and width: of one number, of three, or of all five."""
    if value is None:
        return 1, 1, 1
    if isinstance(value, int):
        return (value,) * 3
    value = [int(v) for v in value]
    if len(value) == 1:
        return tuple(value) * 3
    if len(value) == 5:
        return tuple(value[2:] if first else value[1:4])
    if len(value) != 3:
        raise ValueError(f"1, 3 or 5 numbers are needed for the sides of a volume, not {value}")
    return tuple(value)


def _is_first(data_format):
    return data_format in ("NCDHW", "channels_first")


def channels_last(x, first):
    """The volume with its channels last."""
    return op("Transpose", x, [0, 2, 3, 4, 1]) if first else convert_to_tensor(x)


def channels_back(x, first):
    return op("Transpose", x, [0, 4, 1, 2, 3]) if first else x


def _depth(x):
    depth = x.shape.as_list()[1] if x.shape.ndims == 5 else None
    if depth is None:
        raise ValueError(f"The depth of a volume must be known, and it must have rank 5: {x.shape}")
    return depth


def count_windows(depth, size, stride, padding):
    """How many windows there are along the depth, and how many planes of nothing before it."""
    if padding.upper() == "VALID":
        return max(0, (depth - size) // stride + 1), 0
    count = -(-depth // stride)
    return count, max(0, (count - 1) * stride + size - depth) // 2


def as_planes(x):
    """[batch * depth, height, width, channels], and the two numbers."""
    known = x.shape.as_list()
    batch = known[0] if known[0] is not None else shape_op(x)[0]
    sizes = [-1 if d is None else d for d in known[2:]]
    if sizes.count(-1):
        sizes = [
            s if d is None else d for d, s in zip(known[2:], op("Unpack", shape_op(x), num=5)[2:])
        ]
    return op("Reshape", x, _depth_list([-1, *sizes])), batch


def _depth_list(values):
    if all(isinstance(v, int) for v in values):
        return values
    return op("Pack", [convert_to_tensor(v, "int32") for v in values])


def as_volume(planes, batch, depth):
    known = planes.shape.as_list()
    sizes = known[1:]
    if None in sizes:
        have = op("Unpack", shape_op(planes), num=4)[1:]
        sizes = [h if k is None else k for k, h in zip(sizes, have)]
    made = op("Reshape", planes, _depth_list([batch, depth, *sizes]))
    made.set_shape([batch if isinstance(batch, int) else None, depth, *known[1:]]) if hasattr(
        made, "set_shape"
    ) else None
    return made


def _every(x, start, count, stride):
    """`count` planes from one on, a stride apart."""
    return x[:, start : start + (count - 1) * stride + 1 : stride]


def _padded(x, depth, before, needed):
    after = max(0, needed - depth - before)
    if not before and not after:
        return x
    return op("Pad", x, [[0, 0], [before, after], [0, 0], [0, 0], [0, 0]])


@export(v2="nn.conv3d")
def conv3d(input, filters, strides, padding, data_format="NDHWC", dilations=None, name=None):
    """A convolution of volumes [batch, depth, height, width, channels]."""
    first, filters = _is_first(data_format), convert_to_tensor(filters)
    x = channels_last(input, first)
    depth, (sd, *strides) = _depth(x), three(strides, first)
    dd, *dilations = three(dilations, first)
    size = filters.shape.as_list()[0]
    count, before = count_windows(depth, (size - 1) * dd + 1, sd, padding)
    x = _padded(x, depth, before, (count - 1) * sd + (size - 1) * dd + 1)
    total = None
    for k in range(size):
        planes, batch = as_planes(_every(x, k * dd, count, sd))
        part = conv2d(
            planes,
            filters[k],
            tuple(strides),
            padding.upper(),
            data_format="NHWC",
            dilations=tuple(dilations),
        )
        total = part if total is None else total + part
    return channels_back(as_volume(total, batch, count), first)


@export(v1="nn.conv3d")
def conv3d_v1(
    input,
    filter=None,
    strides=None,
    padding=None,
    data_format="NDHWC",
    dilations=(1, 1, 1, 1, 1),
    name=None,
    filters=None,
):
    """A convolution of volumes [batch, depth, height, width, channels]."""
    return conv3d(
        input,
        filter if filters is None else filters,
        strides,
        padding,
        data_format,
        dilations,
        name,
    )
