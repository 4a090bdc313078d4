# SPDX-License-Identifier: Apache-2.0
"""pool.py: max and average pooling of tf.nn in one to three dimensions."""

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.nn import conv


def _pool(row, value, ksize, strides, padding, data_format, name, default):
    kind = conv.layout(data_format)
    return op(
        row,
        value,
        ksize=conv.four(ksize, kind),
        strides=conv.four(strides, kind),
        data_format=kind,
        name=name or default,
        **conv._padding(padding),
    )


def _pooling(word, row):
    """The functions of a kind of pooling."""
    default = row
    doc = {"max": "The largest element of each window.", "avg": "The mean of each window."}[word]

    @export(v1=("nn." + word + "_pool", "nn." + word + "_pool2d"))
    def pool(
        value=None,
        ksize=None,
        strides=None,
        padding=None,
        data_format="NHWC",
        name=None,
        input=None,
    ):
        return _pool(
            row,
            input if value is None else value,
            ksize,
            strides,
            padding,
            data_format,
            name,
            default,
        )

    @export(v2="nn." + word + "_pool2d")
    def pool_2d(input, ksize, strides, padding, data_format=None, name=None):
        return _pool(row, input, ksize, strides, padding, data_format, name, default)

    @export(v2="nn." + word + "_pool")
    def pool_v2(input, ksize, strides, padding, data_format=None, name=None):
        input = convert_to_tensor(input)
        rank = tensor_shape.as_shape(input.shape).ndims
        count = len(ksize) if hasattr(ksize, "__len__") else 1
        if rank == 3 and count in (1, 3):  # the op of images refuses what fits nothing
            return pool_1d(input, ksize, strides, padding, data_format or "NWC", name)
        if rank == 5 and count in (1, 3, 5):
            pool_3d = {"max": max_pool3d, "avg": avg_pool3d}[word]
            return pool_3d(input, ksize, strides, padding, data_format or "NDHWC", name)
        return pool_2d(input, ksize, strides, padding, data_format, name)

    @export("nn." + word + "_pool1d")
    def pool_1d(input, ksize, strides, padding, data_format="NWC", name=None):
        def one(number):
            if not hasattr(number, "__iter__"):
                return int(number)
            if len(number) not in (1, 3):
                raise ValueError(
                    f"ksize and strides should be of length 1, 1 or 3 but was {len(number)}"
                )
            return int(max(number))

        with scope(name, word + "_pool1d"):
            planes = data_format == "NCW"
            axis, kind = (2, "NCHW") if planes else (1, "NHWC")
            wide = op("ExpandDims", convert_to_tensor(input), axis)
            made = _pool(
                row,
                wide,
                conv.four([1, one(ksize)], kind),
                conv.four([1, one(strides)], kind),
                padding,
                kind,
                None,
                default,
            )
            return op("Squeeze", made, squeeze_dims=[axis])

    pool.__doc__ = pool_v2.__doc__ = pool_2d.__doc__ = pool_1d.__doc__ = doc
    pool.__name__ = pool_v2.__name__ = word + "_pool"
    pool_1d.__name__, pool_2d.__name__ = word + "_pool1d", word + "_pool2d"
    export(v1="nn." + word + "_pool_v2")(pool_v2)
    return pool, pool_1d, pool_2d


max_pool, max_pool1d, max_pool2d = _pooling("max", "MaxPool")
avg_pool, avg_pool1d, avg_pool2d = _pooling("avg", "AvgPool")


def _argmax(
    input, ksize, strides, padding, data_format, output_dtype, include_batch_in_index, name
):
    if data_format not in (None, "NHWC"):
        raise ValueError(
            "Attr 'data_format' of 'MaxPoolWithArgmax' is not in the list of allowed "
            f'values: "NHWC". Received: data_format={data_format}'
        )
    return op(
        "MaxPoolWithArgmax",
        input,
        ksize=conv.four(ksize, "NHWC"),
        strides=conv.four(strides, "NHWC"),
        padding=padding,
        Targmax=output_dtype,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


@export(v1="nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input,
    ksize,
    strides,
    padding,
    data_format="NHWC",
    Targmax=None,
    name=None,
    output_dtype=None,
    include_batch_in_index=False,
):
    """The largest element of each window, and which element of its image it is."""
    return _argmax(
        input,
        ksize,
        strides,
        padding,
        data_format,
        output_dtype or Targmax or "int64",
        include_batch_in_index,
        name,
    )


@export(v2="nn.max_pool_with_argmax")
def max_pool_with_argmax_v2(
    input,
    ksize,
    strides,
    padding,
    data_format="NHWC",
    output_dtype="int64",
    include_batch_in_index=False,
    name=None,
):
    return _argmax(
        input, ksize, strides, padding, data_format, output_dtype, include_batch_in_index, name
    )


def _dilated(pooled, input, apart, padding, window):
    """Pools what is `apart` from each other: as neighbours of images that are cut up."""
    from situ._src.ops.space_to_batch_ops import batch_to_space_nd, space_to_batch_nd

    if padding.upper() != "VALID":
        raise ValueError(
            "pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. "
            f"Received: padding={padding} and dilation_rate={apart}"
        )
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
def pool(
    input,
    window_shape,
    pooling_type,
    padding,
    dilation_rate=None,
    strides=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """The largest element (MAX) or the mean (AVG) of windows on rows, images or volumes."""
    input, window = convert_to_tensor(input), [int(w) for w in window_shape]
    count = len(window)
    words = {
        "MAX": (max_pool1d, max_pool2d, max_pool3d),
        "AVG": (avg_pool1d, avg_pool2d, avg_pool3d),
    }
    if pooling_type not in words or not 1 <= count <= 3:
        raise ValueError(
            f"pooling_type is MAX or AVG, and windows have 1 to 3 sides, but they are "
            f"{pooling_type} and {window_shape}."
        )
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
                raise ValueError(
                    "strides > 1 not supported in conjunction with dilation_rate > 1. "
                    f"Received: strides={steps} and dilation_rate={apart}"
                )
            made = _dilated(pooled, input, apart, padding, window)
        else:
            made = pooled(input)
        return op("Transpose", made, [0, count + 1, *range(1, count + 1)]) if first else made


@export(v2="nn.pool")
def pool_v2(
    input,
    window_shape,
    pooling_type,
    strides=None,
    padding="VALID",
    data_format=None,
    dilations=None,
    name=None,
):
    return pool(input, window_shape, pooling_type, padding, dilations, strides, name, data_format)


def _pool3d(input, ksize, strides, padding, data_format, pool, join):
    first = conv._is_first(data_format)
    x = conv.channels_last(input, first)
    depth, (size, *window), (sd, *step) = (
        conv._depth(x),
        conv.three(ksize, first),
        conv.three(strides, first),
    )
    count, before = conv.count_windows(depth, size, sd, padding)
    planes, batch = conv.as_planes(x)
    flat = pool(planes, tuple(window), tuple(step), padding.upper(), "NHWC")
    x = conv.as_volume(flat, batch, depth)
    made = []
    for i in range(count):
        low, high = max(0, i * sd - before), min(depth, i * sd - before + size)
        made.append(join(x[:, low:high]))
    return conv.channels_back(op("Pack", made, axis=1), first)


@export("nn.max_pool3d")
def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The largest number of each box of a volume."""
    return _pool3d(
        input, ksize, strides, padding, data_format, max_pool, lambda x: op("Max", x, [1])
    )


@export("nn.avg_pool3d")
def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The mean of each box of a volume; what lies outside does not count."""
    return _pool3d(
        input, ksize, strides, padding, data_format, avg_pool, lambda x: op("Mean", x, [1])
    )
