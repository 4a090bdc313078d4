# SPDX-License-Identifier: Apache-2.0
"""pool.py: max and average pooling of tf.nn in one to three dimensions."""

from __future__ import annotations

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.nn import conv, conv3d
from situ._src.ops.space_to_batch_ops import batch_to_space_nd, space_to_batch_nd

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def _pool(op_name, value, ksize, strides, padding, data_format, name, default):
    kind = conv.layout(data_format)
    return op(
        op_name,
        value,
        ksize=conv.expand_2d(ksize, kind),
        strides=conv.expand_2d(strides, kind),
        data_format=kind,
        name=name or default,
        **conv._padding(padding),
    )


_DOC = """Computes the {} of windows of the input.

    Args:
      input: A tensor of shape [batch, spatial dimensions, channels], or with channels first.
      ksize: The size of the window, an integer or a list.
      strides: The stride of the window, an integer or a list.
      padding: "SAME", "VALID" or a list of pairs of explicit paddings.
      data_format: A string such as "NHWC" or "NCHW".
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of the input.
    """


def _pooling(kind, row):
    """Defines and exports the functions of max or average pooling."""
    default = row
    doc = _DOC.format("maximum" if kind == "max" else "average")

    @export(v1=("nn." + kind + "_pool", "nn." + kind + "_pool2d"))
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

    @export(v2="nn." + kind + "_pool2d")
    def pool_2d(
        input: TensorLike,
        ksize: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = None,
        name: str | None = None,
    ):
        return _pool(row, input, ksize, strides, padding, data_format, name, default)

    @export(v2="nn." + kind + "_pool")
    def pool_v2(
        input: TensorLike,
        ksize: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = None,
        name: str | None = None,
    ):
        input = convert_to_tensor(input)
        rank = tensor_shape.as_shape(input.shape).ndims
        if rank not in (None, 3, 4, 5):
            raise ValueError(
                "`input.shape.rank` must be 3, 4 or 5. "
                f"Received: input.shape={input.shape} of rank {rank}."
            )
        count = len(ksize) if hasattr(ksize, "__len__") else 1
        if rank == 3 and count in (1, 3):  # the 2-D op reports any other combination
            return pool_1d(input, ksize, strides, padding, data_format or "NWC", name)
        if rank == 5 and count in (1, 3, 5):
            pool_3d = {"max": max_pool3d, "avg": avg_pool3d}[kind]
            return pool_3d(input, ksize, strides, padding, data_format or "NDHWC", name)
        return pool_2d(input, ksize, strides, padding, data_format, name)

    @export("nn." + kind + "_pool1d")
    def pool_1d(
        input: TensorLike,
        ksize: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = "NWC",
        name: str | None = None,
    ):
        def to_int(number):
            if not hasattr(number, "__iter__"):
                return int(number)
            if len(number) not in (1, 3):
                raise ValueError(
                    f"ksize and strides should be of length 1, 1 or 3 but was {len(number)}"
                )
            return int(max(number))

        with scope(name, kind + "_pool1d"):
            channels_first = data_format == "NCW"
            axis, layout = (2, "NCHW") if channels_first else (1, "NHWC")
            images = op("ExpandDims", convert_to_tensor(input), axis)
            result = _pool(
                row,
                images,
                conv.expand_2d([1, to_int(ksize)], layout),
                conv.expand_2d([1, to_int(strides)], layout),
                padding,
                layout,
                None,
                default,
            )
            return op("Squeeze", result, squeeze_dims=[axis])

    pool.__doc__ = pool_v2.__doc__ = pool_2d.__doc__ = pool_1d.__doc__ = doc
    pool.__name__ = pool_v2.__name__ = kind + "_pool"
    pool_1d.__name__, pool_2d.__name__ = kind + "_pool1d", kind + "_pool2d"
    export(v1="nn." + kind + "_pool_v2")(pool_v2)
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
        ksize=conv.expand_2d(ksize, "NHWC"),
        strides=conv.expand_2d(strides, "NHWC"),
        padding=padding,
        Targmax=output_dtype,
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


@export(v1="nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    Targmax: TensorLike = None,
    name: str | None = None,
    output_dtype: TensorLike = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """Computes max pooling and the index of each maximum.

    Args:
      input: A tensor of shape [batch, height, width, channels].
      ksize: The size of the window, one, two or four integers.
      strides: The stride of the window, one, two or four integers.
      padding: "SAME" or "VALID".
      data_format: Must be "NHWC".
      Targmax: The name of `output_dtype` in TensorFlow 1.
      output_dtype: The type of the indices, int32 or int64.
      include_batch_in_index: Whether indices count from the start of the batch, not of the image.
      name: A name for the operation (optional).

    Returns:
      A pair: the maxima, and their indices into the flattened image.
    """
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
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    output_dtype: str = "int64",
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes max pooling and the index of each maximum in its flattened image.

    Args:
      input: A tensor of shape [batch, height, width, channels].
      ksize: The size of the window, one, two or four integers.
      strides: The stride of the window, one, two or four integers.
      padding: "SAME" or "VALID".
      data_format: Must be "NHWC".
      output_dtype: The type of the indices, int32 or int64.
      include_batch_in_index: Whether indices count from the start of the batch, not of the image.
      name: A name for the operation (optional).
    """
    return _argmax(
        input, ksize, strides, padding, data_format, output_dtype, include_batch_in_index, name
    )


def _dilated(pooled, input, dilation, padding, window):
    """Pools with dilation: space_to_batch turns elements `apart` from each other into
    neighbors."""
    if padding.upper() != "VALID":
        raise ValueError(
            "pooling with 'SAME' padding is not implemented for `dilation_rate` > 1. "
            f"Received: padding={padding} and dilation_rate={dilation}"
        )
    sizes = op("Unpack", op("Shape", input), num=len(dilation) + 2)[1:-1]
    missing = [op("FloorMod", op("Neg", size), a) for size, a in zip(sizes, dilation)]
    zero = op("ZerosLike", missing[0])
    paddings = op("Pack", [op("Pack", [zero, s]) for s in (zero, *missing, zero)])
    no_crops = [[0, 0]] * len(dilation)  # results that depend on padding are cut off below
    result = pooled(space_to_batch_nd(op("Pad", input, paddings), dilation, no_crops))
    result = batch_to_space_nd(result, dilation, no_crops)
    counts = [op("Sub", size, (w - 1) * a) for size, w, a in zip(sizes, window, dilation)]
    ends = op("Unpack", op("Shape", result), num=len(dilation) + 2)
    return op("Slice", result, [0] * (len(dilation) + 2), op("Pack", [ends[0], *counts, ends[-1]]))


@export(v1="nn.pool")
def pool(
    input: TensorLike,
    window_shape: TensorLike,
    pooling_type: TensorLike,
    padding: Any,
    dilation_rate: TensorLike = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Computes max or average pooling over one to three spatial dimensions.

    Args:
      input: A tensor of shape [batch, spatial dimensions, channels], or with channels first.
      window_shape: A list with the size of the window in each spatial dimension.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID".
      dilation_rate: The name of `dilations` in TensorFlow 1.
      strides: A list of strides, 1 by default.
      data_format: A string such as "NHWC" or "NCHW".
      dilations: A list of dilations, 1 by default.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      ValueError: If the type is unknown, or dilations are combined with strides or with "SAME".
    """
    input, window = convert_to_tensor(input), [int(w) for w in window_shape]
    count = len(window)
    functions = {
        "MAX": (max_pool1d, max_pool2d, max_pool3d),
        "AVG": (avg_pool1d, avg_pool2d, avg_pool3d),
    }
    if pooling_type not in functions or not 1 <= count <= 3:
        raise ValueError(
            "tf.nn.pool: pooling_type must be MAX or AVG and window_shape must have 1 to 3 "
            f"elements, but they are {pooling_type} and {window_shape}."
        )
    dilation = [int(d) for d in dilations or dilation_rate or [1] * count]
    steps = [int(s) for s in strides or [1] * count]
    first = data_format is not None and data_format[1:2] == "C"
    if first:
        order = [0, *range(2, count + 2), 1]
        input = op("Transpose", input, order)

    def pooled(x):
        sides = window if count > 1 else window[0]
        return functions[pooling_type][count - 1](
            x, sides, steps if count > 1 else steps[0], padding
        )

    with scope(name, pooling_type.lower() + "_pool"):
        if any(a > 1 for a in dilation):
            if any(s > 1 for s in steps):
                raise ValueError(
                    "strides > 1 not supported in conjunction with dilation_rate > 1. "
                    f"Received: strides={steps} and dilation_rate={dilation}"
                )
            result = _dilated(pooled, input, dilation, padding, window)
        else:
            result = pooled(input)
        return op("Transpose", result, [0, count + 1, *range(1, count + 1)]) if first else result


@export(v2="nn.pool")
def pool_v2(
    input: TensorLike,
    window_shape: TensorLike,
    pooling_type: TensorLike,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Computes max or average pooling over one to three spatial dimensions; see
    `tf.compat.v1.nn.pool`.

    Args:
      input: A tensor of one to three spatial dimensions.
      window_shape: A list with the size of the window in each spatial dimension.
      pooling_type: "MAX" or "AVG".
      strides: The stride in each spatial dimension.
      padding: "SAME" or "VALID".
      data_format: The layout, such as "NHWC" or "NCHW"; channels last by default.
      dilations: A list of dilations, 1 by default.
      name: A name for the operation (optional).
    """
    return pool(input, window_shape, pooling_type, padding, dilations, strides, name, data_format)


def _pool3d(input, ksize, strides, padding, data_format, pool, reduce):
    """Pools each plane in 2-D, then reduces windows along the depth with `join`."""
    first = conv3d._is_first(data_format)
    x = conv3d.channels_last(input, first)
    depth, (size, *window), (sd, *step) = (
        conv3d._depth(x),
        conv3d.expand_3d(ksize, first),
        conv3d.expand_3d(strides, first),
    )
    count, before = conv3d.count_windows(depth, size, sd, padding)
    planes, batch = conv3d.merge_batch_and_depth(x)
    flat = pool(planes, tuple(window), tuple(step), padding.upper(), "NHWC")
    x = conv3d.split_batch_and_depth(flat, batch, depth)
    result = []
    for i in range(count):
        low, high = max(0, i * sd - before), min(depth, i * sd - before + size)
        result.append(reduce(x[:, low:high]))
    return conv3d.restore_channels(op("Pack", result, axis=1), first)


@export("nn.max_pool3d")
def max_pool3d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Computes 3-D max pooling.

    Args:
      input: A tensor of shape [batch, depth, height, width, channels], or NCDHW.
      ksize: The size of the window, one, three or five integers.
      strides: The stride of the window, one, three or five integers.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input`.
    """
    with scope(name, "MaxPool3D"):
        return _pool3d(
            input, ksize, strides, padding, data_format, max_pool, lambda x: op("Max", x, [1])
        )


@export("nn.avg_pool3d")
def avg_pool3d(
    input: TensorLike,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Computes 3-D average pooling. Padding does not count in the average.

    Args:
      input: A tensor of shape [batch, depth, height, width, channels], or NCDHW.
      ksize: The size of the window, one, three or five integers.
      strides: The stride of the window, one, three or five integers.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input`.
    """
    with scope(name, "AvgPool3D"):
        return _pool3d(
            input, ksize, strides, padding, data_format, avg_pool, lambda x: op("Mean", x, [1])
        )
