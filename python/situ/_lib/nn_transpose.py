# SPDX-License-Identifier: Apache-2.0
"""nn_transpose.py: transposes of convolutions of rows and volumes, and of any of them by rank."""
import numpy

from situ._lib import nn_conv, nn_volume, shapes
from situ._lib.api import export
from situ._lib.array_ops import convert_to_tensor, op, shape as shape_op
from situ._lib.graph import scope
from situ._lib.keywords import unsupported
from situ._lib.tensors import constant_value


def _list(values):
    """Sizes as a list, also those of a tensor."""
    if isinstance(values, shapes.TensorShape):
        return values.as_list()
    if isinstance(values, (list, tuple)):
        return list(values)
    known = constant_value(values)
    if known is not None:
        return [int(v) for v in known]
    return op("Unpack", values, num=shapes.as_shape(values.shape).as_list()[0])


def _placed(x, stride, before, depth):
    """Planes a stride apart, `before` planes of nothing in front, cut to a depth."""
    batch, have, *sides = x.shape.as_list()
    batch = shape_op(x)[0] if batch is None else batch
    if stride > 1:
        x = op("Pad", op("ExpandDims", x, 2), [[0, 0], [0, 0], [0, stride - 1]] + [[0, 0]] * 3)
        sizes = [batch, have * stride, *sides]
        x = op("Reshape", x, sizes if isinstance(batch, int) else
               op("Pack", [convert_to_tensor(s, "int32") for s in sizes]))
    cut, rest = max(0, -before), have * stride
    x = x[:, cut:cut + max(0, depth - max(0, before))]
    have = min(rest - cut, depth - max(0, before))
    return op("Pad", x, [[0, 0], [max(0, before), depth - have - max(0, before)]] + [[0, 0]] * 3)


@export(v1="nn.conv3d_transpose")
def conv3d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME",
                     data_format="NDHWC", name=None, input=None, filters=None, dilations=None):
    """The transpose of a convolution of volumes: its filter is [depth, height, width, channels
    out, channels in]."""
    if dilations is not None and numpy.max(dilations) != 1:
        unsupported("conv3d_transpose", dilations=(dilations, None))
    first = data_format in ("NCDHW", "channels_first")
    with scope(name, "conv3d_transpose"):
        taps = convert_to_tensor(filters if filter is None else filter)
        x = nn_volume.channels_last(input if value is None else value, first)
        sizes = _list(output_shape)
        batch, depth, *sides = sizes[:1] + sizes[2:] if first else sizes[:4]
        if not isinstance(depth, int):
            raise ValueError("The depth of the output of conv3d_transpose must be known.")
        (sd, *step), count = nn_volume.three(strides, first), taps.shape.as_list()
        _, before = nn_volume.count_windows(depth, count[0], sd, padding)
        planes, _ = nn_volume.as_planes(x)
        have = x.shape.as_list()[1]
        out = [batch * have, *sides, count[3]]
        out = out if all(isinstance(s, int) for s in out) else \
            op("Pack", [convert_to_tensor(s, "int32") for s in out])
        total = None
        for k in range(count[0]):
            part = nn_conv.conv2d_transpose(planes, taps[k], out, tuple(step), padding.upper())
            part = _placed(nn_volume.as_volume(part, batch, have), sd, k - before, depth)
            total = part if total is None else total + part
        return nn_volume.channels_back(total, first)


@export(v2="nn.conv3d_transpose")
def conv3d_transpose_v2(input, filters, output_shape, strides, padding="SAME",
                        data_format="NDHWC", dilations=None, name=None):
    return conv3d_transpose(input, filters, output_shape, strides, padding, data_format, name,
                            dilations=dilations)


@export("nn.conv1d_transpose")
def conv1d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NWC",
                     dilations=None, name=None):
    """The transpose of a convolution of rows: its filter is [width, channels out, channels in]."""
    planes = data_format in ("NCW", "NCHW", "channels_first")
    axis, kind = (2, "NCHW") if planes else (1, "NHWC")
    step, apart = (int(max(v)) if hasattr(v, "__iter__") else int(v or 1)
                   for v in (strides, dilations))
    with scope(name, "conv1d_transpose"):
        sizes = _list(output_shape)
        sizes.insert(axis, 1)
        sizes = sizes if all(isinstance(s, int) for s in sizes) else \
            op("Pack", [convert_to_tensor(s, "int32") for s in sizes])
        made = nn_conv.conv2d_transpose(
            op("ExpandDims", convert_to_tensor(input), axis),
            op("ExpandDims", convert_to_tensor(filters), 0), sizes,
            nn_conv.four([1, step], kind), padding, kind, dilations=nn_conv.four([1, apart], kind))
        return op("Squeeze", made, squeeze_dims=[axis])


@export("nn.conv_transpose")
def conv_transpose(input, filters, output_shape, strides, padding="SAME", data_format=None,
                   dilations=None, name=None):
    """The transpose of a convolution of rows, images or volumes, by the rank of the filter."""
    rank = shapes.as_shape(convert_to_tensor(filters).shape).ndims
    if rank not in (3, 4, 5):
        raise ValueError(f"a filter of rank 3, 4 or 5 is needed, not {rank}")
    function = {3: conv1d_transpose, 4: nn_conv.conv2d_transpose_v2, 5: conv3d_transpose_v2}[rank]
    kind = data_format or {3: "NWC", 4: "NHWC", 5: "NDHWC"}[rank]
    return function(input, filters, output_shape, strides, padding, kind, dilations=dilations,
                    name=name)
