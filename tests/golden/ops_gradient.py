# SPDX-License-Identifier: Apache-2.0
"""ops_gradient.py: what NumPy makes of the ops that gradients are made of."""
import numpy as np


def broadcast_args(_, first, second):
    """The axes along which each shape is repeated."""
    rank = max(len(first), len(second))
    shapes = [[0] * (rank - len(s)) + [int(d) for d in s] for s in (first, second)]
    return [np.array([d for d in range(rank) if shape[d] in (0, 1)], np.int64) for shape in shapes]


def tile_grad(_, x, multiples):
    return tile_sum(_, x, [size // int(m) for size, m in zip(x.shape, multiples)])


def tile_sum(_, x, shape):
    """The sum of the copies, one dimension after the other."""
    for axis, size in enumerate(int(d) for d in shape):
        copies = x.shape[axis] // size if size else 0
        parts = np.reshape(x, x.shape[:axis] + (copies, size) + x.shape[axis + 1:])
        x = np.sum(parts, axis)
    return x


def strided_slice_grad(attrs, shape, begin, end, strides, dy):
    """Numbers all elements, slices the numbers, and writes there."""
    from ops import strided_slice
    result = np.zeros([int(d) for d in shape], dy.dtype)
    places = strided_slice(attrs, np.arange(result.size).reshape(result.shape), begin, end, strides)
    result.ravel()[places.ravel()] = dy.ravel()
    return result


GRADIENT = {
    "TileGrad": tile_grad, "TileSum": tile_sum, "StridedSliceGrad": strided_slice_grad,
    "InvertPermutation": lambda a, x: np.argsort(x),
    "LeakyReluGrad": lambda a, dy, x: np.where(x > 0, dy, a["alpha"] * dy),
    "BroadcastGradientArgs": broadcast_args,
    "InvGrad": lambda a, y, dy: -dy * y * y, "ReciprocalGrad": lambda a, y, dy: -dy * y * y,
    "SqrtGrad": lambda a, y, dy: dy * 0.5 / y, "RsqrtGrad": lambda a, y, dy: dy * -0.5 * y**3,
    "TanhGrad": lambda a, y, dy: dy * (1 - y * y), "SigmoidGrad": lambda a, y, dy: dy * y * (1 - y),
    "ReluGrad": lambda a, dy, x: np.where(x > 0, dy, 0),
    "Relu6Grad": lambda a, dy, x: np.where((x > 0) & (x < 6), dy, 0),
    "EluGrad": lambda a, dy, y: np.where(y < 0, dy * (y + 1), dy),
    "SeluGrad": lambda a, dy, y: dy * np.where(y < 0, y + 1.7580993408473766, 1.0507009873554805),
    "SoftplusGrad": lambda a, dy, x: dy / (1 + np.exp(-x)),
    "SoftsignGrad": lambda a, dy, x: dy / (1 + np.abs(x)) ** 2,
}
