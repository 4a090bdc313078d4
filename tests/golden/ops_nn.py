# SPDX-License-Identifier: Apache-2.0
"""ops_nn.py: what NumPy makes of the ops for neural networks, for ops.py."""
import itertools

import numpy as np


def log_softmax(x):
    shifted = x - np.max(x, -1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), -1, keepdims=True))


def cross_entropy(_, logits, labels):
    shape = np.broadcast_shapes(logits.shape, labels.shape)
    logits, labels = np.broadcast_to(logits, shape), np.broadcast_to(labels, shape)
    if not logits.size:
        return [np.zeros(shape[:1]), np.zeros(shape)]
    return [-np.sum(labels * log_softmax(logits), -1), np.exp(log_softmax(logits)) - labels]


def sparse_cross_entropy(_, logits, labels):
    return cross_entropy(_, logits, np.eye(logits.shape[1])[labels])


def bias_add_grad(attrs, dy):
    axis = 1 if attrs["data_format"] == "NCHW" else dy.ndim - 1
    return np.sum(dy, tuple(d for d in range(dy.ndim) if d != axis))


class Window:
    """Windows on NHWC images: which pixels each of them sees."""

    def __init__(self, attrs, images, size):
        axes = (2, 3) if attrs["data_format"] == "NCHW" else (1, 2)
        self.size = size
        self.strides = [attrs["strides"][a] for a in axes]
        self.apart = [attrs.get("dilations", [1] * 4)[a] for a in axes]
        self.count, self.before = [], []
        for d, axis in enumerate(axes):
            length, stride = images[d], self.strides[d]
            reach = (size[d] - 1) * self.apart[d] + 1
            if attrs["padding"] == "SAME":
                count = -(-length // stride)
                before = max(0, (count - 1) * stride + reach - length) // 2
            else:
                given = attrs.get("explicit_paddings") or [0] * 8
                before = given[2 * axis]
                count = (length + before + given[2 * axis + 1] - reach) // stride + 1
            self.count.append(count)
            self.before.append(before)
        self.images = images

    def pixels(self):
        """Pairs of a result's pixel and the pixels of its window, with their places in it."""
        for result in itertools.product(*map(range, self.count)):
            inside = []
            for place in itertools.product(*map(range, self.size)):
                at = tuple(r * s - b + p * a for r, s, b, p, a in
                           zip(result, self.strides, self.before, place, self.apart))
                if all(0 <= i < n for i, n in zip(at, self.images)):
                    inside.append((place, at))
            yield result, inside


def last(attrs, x):
    """Images with the channels last."""
    return np.moveaxis(x, 1, -1) if attrs["data_format"] == "NCHW" else x


def back(attrs, x):
    return np.moveaxis(x, -1, 1) if attrs["data_format"] == "NCHW" else x


def pool_window(attrs, shape):
    size = attrs["ksize"][2:] if attrs["data_format"] == "NCHW" else attrs["ksize"][1:3]
    return Window(attrs, shape[1:3], size)


def pool(function):
    def run(attrs, x):
        x = last(attrs, x)
        window = pool_window(attrs, x.shape)
        y = np.zeros((x.shape[0], *window.count, x.shape[3]), x.dtype)
        for result, inside in window.pixels():
            y[(slice(None), *result)] = function([x[(slice(None), *at)] for _, at in inside], 0)
        return back(attrs, y)
    return run


def winners(attrs, x):
    """(result, the first largest element of its window), both as places in images."""
    for result, inside in pool_window(attrs, x.shape).pixels():
        for n, c in np.ndindex(x.shape[0], x.shape[3]):
            best = max(inside, key=lambda entry: x[(n, *entry[1], c)])[1]
            yield (n, *result, c), (n, *best, c)


def max_pool_grad(attrs, x, y, dy):
    x, dy = last(attrs, x), last(attrs, dy)
    dx = np.zeros_like(x)
    for result, best in winners(attrs, x):
        dx[best] += dy[result]
    return back(attrs, dx)


def max_pool_argmax(attrs, x):
    attrs = {**attrs, "data_format": "NHWC", "explicit_paddings": []}
    y = pool(np.max)(attrs, x)
    places = np.zeros(y.shape, np.int64)
    shape = x.shape if attrs["include_batch_in_index"] else (1, *x.shape[1:])
    for result, best in winners(attrs, x):
        places[result] = np.ravel_multi_index((best[0] if shape[0] > 1 else 0, *best[1:]), shape)
    return [y, places]


def max_pool_grad_grad(attrs, x, y, dx):
    x, dx, dy = last(attrs, x), last(attrs, dx), np.zeros_like(last(attrs, y))
    for result, best in winners(attrs, x):
        dy[result] = dx[best]
    return back(attrs, dy)


def sized(function):
    """The form of a pooling function whose last two inputs are the windows and their strides."""
    def run(attrs, *inputs):
        *tensors, size, strides = inputs
        numbers = {"ksize": [int(k) for k in size], "strides": [int(k) for k in strides]}
        return function({**attrs, **numbers, "explicit_paddings": []}, *tensors)
    return run


def avg_pool_grad(attrs, shape, dy):
    dx = last(attrs, np.zeros(tuple(shape)))
    for result, inside in pool_window(attrs, dx.shape).pixels():
        for _, at in inside:
            dx[(slice(None), *at)] += last(attrs, dy)[(slice(None), *result)] / len(inside)
    return back(attrs, dx)


def neighbors(attrs, x):
    """Sums over the channels around each one."""
    radius, channels = attrs["depth_radius"], x.shape[-1]
    around = [x[..., max(0, c - radius):c + radius + 1].sum(-1) for c in range(channels)]
    return np.stack(around, -1)


def lrn(attrs, x):
    return x * (attrs["bias"] + attrs["alpha"] * neighbors(attrs, x * x)) ** -attrs["beta"]


def lrn_grad(attrs, dy, x, y):
    scale = attrs["bias"] + attrs["alpha"] * neighbors(attrs, x * x)
    factor = -2 * attrs["alpha"] * attrs["beta"]
    return dy * scale ** -attrs["beta"] + factor * x * neighbors(attrs, dy * y / scale)


def conv_taps(attrs, shape, filter_shape):
    """Results, pixels and taps that belong together."""
    for result, inside in Window(attrs, shape[1:3], filter_shape[:2]).pixels():
        for tap, at in inside:
            yield (slice(None), *result), (slice(None), *at), tap


def grouped(filters, channels):
    """A filter for every channel: [kh, kw, channels, out], with zeros where none is."""
    kh, kw, seen, out = filters.shape
    groups, wide = channels // seen, np.zeros((kh, kw, channels, out))
    for g in range(groups):
        outs = slice(g * out // groups, (g + 1) * out // groups)
        wide[:, :, g * seen:(g + 1) * seen, outs] = filters[:, :, :, outs]
    return wide


def conv(attrs, x, filters):
    x = last(attrs, x)
    window = Window(attrs, x.shape[1:3], filters.shape[:2])
    filters = grouped(filters, x.shape[3])
    y = np.zeros((x.shape[0], *window.count, filters.shape[3]))
    for result, at, tap in conv_taps(attrs, x.shape, filters.shape):
        y[result] += x[at] @ filters[tap]
    return back(attrs, y)


def conv_images(attrs, shape, filters, dy):
    dx, dy = last(attrs, np.zeros(tuple(shape))), last(attrs, dy)
    filters = grouped(filters, dx.shape[3])
    for result, at, tap in conv_taps(attrs, dx.shape, filters.shape):
        dx[at] += dy[result] @ filters[tap].T
    return back(attrs, dx)


def conv_filter(attrs, x, shape, dy):
    x, dy = last(attrs, x), last(attrs, dy)
    channels, seen, out = x.shape[3], int(shape[2]), int(shape[3])
    df = np.zeros((*shape[:2], channels, out))
    for result, at, tap in conv_taps(attrs, x.shape, df.shape):
        df[tap] += x[at].T @ dy[result]
    groups = channels // seen
    return np.concatenate([df[:, :, g * seen:(g + 1) * seen, g * out // groups:
                              (g + 1) * out // groups] for g in range(groups)], 3)


def flat(filters):
    """A depthwise filter as one in groups of one channel."""
    return filters.reshape(*filters.shape[:2], 1, -1)


def depthwise_filter(attrs, x, shape, dy):
    kh, kw, channels, each = (int(d) for d in shape)
    return conv_filter(attrs, x, (kh, kw, 1, channels * each), dy).reshape(shape)


def top_k(attrs, x, k=None):
    k = int(attrs["k"] if k is None else k)
    order = np.argsort(-x, -1, kind="stable")[..., :k]
    return [np.take_along_axis(x, order, -1), order]


def in_top_k(attrs, x, targets, k=None):
    k = int(attrs["k"] if k is None else k)
    made = [0 <= t < x.shape[1] and np.sum(row > row[t]) < k for row, t in zip(x, targets)]
    return np.array(made, bool)


def dilation_winners(attrs, x, filters):
    """The window of Dilation2D; and per result and channel the pixel and the place in the filter
    of the largest sum, with the sum."""
    attrs = dict(attrs, data_format="NHWC", dilations=attrs["rates"])
    window = Window(attrs, x.shape[1:3], filters.shape[:2])
    found = []
    for result, inside in window.pixels():
        for n, c in np.ndindex(x.shape[0], x.shape[3]):
            sums = [x[(n, *at, c)] + filters[(*place, c)] for place, at in inside]
            best = int(np.argmax(sums))
            place, at = inside[best]
            found.append(((n, *result, c), (n, *at, c), (*place, c), sums[best]))
    return window, found


def dilation(attrs, x, filters):
    window, found = dilation_winners(attrs, x, filters)
    y = np.zeros((x.shape[0], *window.count, x.shape[3]), x.dtype)
    for result, _, _, largest in found:
        y[result] = largest
    return y


def dilation_gradient(which):
    """The gradient of input `which`: images or filter."""
    def gradient(attrs, x, filters, dy):
        dx = np.zeros((x, filters)[which].shape, x.dtype)
        for result, pixel, place, _ in dilation_winners(attrs, x, filters)[1]:
            dx[(pixel, place)[which]] += dy[result]
        return dx
    return gradient


NN = {
    "TopK": top_k, "TopKV2": top_k, "InTopK": in_top_k, "InTopKV2": in_top_k,
    "Conv2D": conv, "Conv2DBackpropInput": conv_images, "Conv2DBackpropFilter": conv_filter,
    "DepthwiseConv2dNative": lambda a, x, f: conv(a, x, flat(f)),
    "DepthwiseConv2dNativeBackpropInput": lambda a, s, f, dy: conv_images(a, s, flat(f), dy),
    "DepthwiseConv2dNativeBackpropFilter": depthwise_filter,
    "SoftmaxCrossEntropyWithLogits": cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": sparse_cross_entropy, "BiasAddGrad": bias_add_grad,
    "MaxPool": pool(np.max), "AvgPool": pool(np.mean), "MaxPoolGrad": max_pool_grad,
    "MaxPoolV2": sized(pool(np.max)), "MaxPoolGradV2": sized(max_pool_grad),
    "MaxPoolGradGradV2": sized(max_pool_grad_grad),
    "MaxPoolGradGrad": max_pool_grad_grad, "MaxPoolWithArgmax": max_pool_argmax,
    "Dilation2D": dilation, "Dilation2DBackpropInput": dilation_gradient(0),
    "Dilation2DBackpropFilter": dilation_gradient(1),
    "AvgPoolGrad": avg_pool_grad, "LRN": lrn, "LRNGrad": lrn_grad,
}
