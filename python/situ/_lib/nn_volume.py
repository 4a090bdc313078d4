# SPDX-License-Identifier: Apache-2.0
"""nn_volume.py: convolution and pooling in three dimensions: what the planes of a volume give in
two, added or compared along the depth. Gradients follow from those of the planes."""
from situ._lib import nn_conv
from situ._lib.api import export
from situ._lib.array_ops import convert_to_tensor, op, shape as shape_op


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
        sizes = [s if d is None else d for d, s in
                 zip(known[2:], op("Unpack", shape_op(x), num=5)[2:])]
    return op("Reshape", x, _list([-1, *sizes])), batch


def _list(values):
    if all(isinstance(v, int) for v in values):
        return values
    return op("Pack", [convert_to_tensor(v, "int32") for v in values])


def as_volume(planes, batch, depth):
    known = planes.shape.as_list()
    sizes = known[1:]
    if None in sizes:
        have = op("Unpack", shape_op(planes), num=4)[1:]
        sizes = [h if k is None else k for k, h in zip(sizes, have)]
    made = op("Reshape", planes, _list([batch, depth, *sizes]))
    made.set_shape([batch if isinstance(batch, int) else None, depth, *known[1:]]) if \
        hasattr(made, "set_shape") else None
    return made


def _every(x, start, count, stride):
    """`count` planes from one on, a stride apart."""
    return x[:, start:start + (count - 1) * stride + 1:stride]


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
        part = nn_conv.conv2d(planes, filters[k], tuple(strides), padding.upper(),
                              data_format="NHWC", dilations=tuple(dilations))
        total = part if total is None else total + part
    return channels_back(as_volume(total, batch, count), first)


@export(v1="nn.conv3d")
def conv3d_v1(input, filter=None, strides=None, padding=None, data_format="NDHWC",
              dilations=(1, 1, 1, 1, 1), name=None, filters=None):
    """A convolution of volumes [batch, depth, height, width, channels]."""
    return conv3d(input, filter if filters is None else filters, strides, padding, data_format,
                  dilations, name)


def _pool(input, ksize, strides, padding, data_format, pool, join):
    first = _is_first(data_format)
    x = channels_last(input, first)
    depth, (size, *window), (sd, *step) = _depth(x), three(ksize, first), three(strides, first)
    count, before = count_windows(depth, size, sd, padding)
    planes, batch = as_planes(x)
    flat = pool(planes, tuple(window), tuple(step), padding.upper(), "NHWC")
    x = as_volume(flat, batch, depth)
    made = []
    for i in range(count):
        low, high = max(0, i * sd - before), min(depth, i * sd - before + size)
        made.append(join(x[:, low:high]))
    return channels_back(op("Pack", made, axis=1), first)


@export("nn.max_pool3d")
def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The largest number of each box of a volume."""
    return _pool(input, ksize, strides, padding, data_format, nn_conv.max_pool,
                 lambda x: op("Max", x, [1]))


@export("nn.avg_pool3d")
def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """The mean of each box of a volume; what lies outside does not count."""
    return _pool(input, ksize, strides, padding, data_format, nn_conv.avg_pool,
                 lambda x: op("Mean", x, [1]))
