# SPDX-License-Identifier: Apache-2.0
"""ops_norm.py: batch normalisation and its gradient, for ops.py."""
import numpy as np


def channels(attrs, x):
    """The axes of everything but the channels, and the form of a vector of channels."""
    axis = 1 if attrs.get("data_format", "NHWC")[1] == "C" else x.ndim - 1
    return (tuple(d for d in range(x.ndim) if d != axis),
            [-1 if d == axis else 1 for d in range(x.ndim)])


def is_training(attrs):
    return attrs.get("is_training", True) in (True, 1, "true")


def norm(extra):
    def function(attrs, x, scale, offset, mean, variance):
        axes, form = channels(attrs, x)
        count = x.size // scale.size
        out_mean, out_variance = mean, variance
        if is_training(attrs):
            share = float(attrs.get("exponential_avg_factor", 1))
            own = (x.mean(axes), x.var(axes)) if count else (0 * scale, 0 * scale)
            wide = own[1] * (count / (count - 1) if count > 1 else 1)
            out_mean = own[0] if share == 1 else (1 - share) * mean + share * own[0]
            out_variance = wide if share == 1 else (1 - share) * variance + share * wide
            mean, variance = own
        root = np.sqrt(variance + float(attrs.get("epsilon", 1e-4)))
        y = (x - mean.reshape(form)) / root.reshape(form) * scale.reshape(form)
        return [y + offset.reshape(form), out_mean, out_variance, mean, variance] + \
            [np.zeros(0)] * extra
    return function


def norm_grad(attrs, dy, x, scale, mean, variance, *rest):
    axes, form = channels(attrs, x)
    inverse = 1 / np.sqrt(variance + float(attrs.get("epsilon", 1e-4))).reshape(form)
    distance = x - mean.reshape(form)
    total, product = dy.sum(axes), (dy * distance).sum(axes)
    inner = dy
    if is_training(attrs):
        count = x.size // scale.size
        inner = dy - total.reshape(form) / count - \
            distance * inverse ** 2 * product.reshape(form) / count
    return [scale.reshape(form) * inverse * inner, product * inverse.ravel(), total, np.zeros(0),
            np.zeros(0)]


def norm_global(attrs, t, m, v, beta, gamma):
    scale = gamma if attrs["scale_after_normalization"] else 1
    return (t - m) / np.sqrt(v + float(attrs["variance_epsilon"])) * scale + beta


def norm_global_grad(attrs, t, m, v, gamma, dy):
    inverse = 1 / np.sqrt(v + float(attrs["variance_epsilon"]))
    scale = gamma if attrs["scale_after_normalization"] else 1
    total, product = dy.sum((0, 1, 2)), (dy * (t - m)).sum((0, 1, 2))
    dg = product * inverse if attrs["scale_after_normalization"] else 0 * v
    return [dy * inverse * scale, -total * scale * inverse, -0.5 * product * scale * inverse ** 3,
            total, dg]


NORM = {"BatchNormWithGlobalNormalization": norm_global,
        "BatchNormWithGlobalNormalizationGrad": norm_global_grad,
        "FusedBatchNorm": norm(0), "FusedBatchNormV2": norm(0), "FusedBatchNormV3": norm(1),
        "FusedBatchNormGrad": norm_grad, "FusedBatchNormGradV2": norm_grad,
        "FusedBatchNormGradV3": norm_grad}
