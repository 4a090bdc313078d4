# SPDX-License-Identifier: Apache-2.0
"""norm.py: moments, normalization and dropout of tf.nn."""

import _situ
from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.ops import random_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.nn.conv import layout


@export(v1="nn.moments")
def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    """(mean, variance) over axes."""
    keep = bool(keepdims if keep_dims is None else keep_dims)
    with scope(name, "moments"):
        x = convert_to_tensor(x)
        kind = x.dtype
        y = cast(x, "float32") if kind == "float16" else x
        mean = OPS["Mean"](y, axes, True, name="mean")
        squares = op("SquaredDifference", y, op("StopGradient", mean))
        variance = OPS["Mean"](squares, axes, True, name="variance")
        if not keep:
            axes = list(axes) if hasattr(axes, "__iter__") else [axes]
            rank = tensor_shape.as_shape(x.shape).ndims
            axes = axes if rank is None else [a % rank for a in axes]
            mean = op("Squeeze", mean, squeeze_dims=axes)
            variance = op("Squeeze", variance, squeeze_dims=axes)
        return (cast(mean, kind), cast(variance, kind)) if kind == "float16" else (mean, variance)


@export(v2="nn.moments")
def moments_v2(x, axes, shift=None, keepdims=False, name=None):
    """(mean, variance) over axes."""
    return moments(x, axes, shift, name, keepdims)


@export("nn.batch_normalization")
def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """scale * (x - mean) / sqrt(variance + variance_epsilon) + offset."""
    with scope(name, "batchnorm"):
        inverse = op("Rsqrt", variance + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        shift = op("Neg", mean * inverse) if offset is None else offset - mean * inverse
        x = convert_to_tensor(x)
        return x * cast(inverse, x.dtype) + cast(shift, x.dtype)


@export(v1="nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    t=None,
    m=None,
    v=None,
    beta=None,
    gamma=None,
    variance_epsilon=None,
    scale_after_normalization=None,
    name=None,
    input=None,
    mean=None,
    variance=None,
):
    """batch_normalization under its old name."""
    first = [a if b is None else b for a, b in ((t, input), (m, mean), (v, variance))]
    return batch_normalization(
        *first, beta, gamma if scale_after_normalization else None, variance_epsilon, name
    )


def along_channels(vector, rank, data_format):
    """A vector of channels, in a form that goes with images."""
    if layout(data_format) == "NHWC":
        return vector
    return op("Reshape", vector, [1, -1] + [1] * (rank - 2))


def is_fused(x, axis):
    """Whether one op normalises images along that axis of channels."""
    return (
        tensor_shape.as_shape(x.shape).ndims == 4
        and axis in (1, 3)
        and x.dtype.base_dtype.name in ("float32", "float16")
    )


def fused(x, scale, offset, mean, variance, epsilon, data_format, training, share=1.0, name=None):
    """(y, mean, variance): FusedBatchNormV3; mean and variance may be None in training."""
    given = [convert_to_tensor([] if v is None else v, "float32") for v in (mean, variance)]
    made = OPS["FusedBatchNormV3"](
        x,
        scale,
        offset,
        *given,
        epsilon=max(epsilon, 1.001e-5),
        exponential_avg_factor=share,
        data_format=data_format,
        is_training=bool(training),
        name=name,
    )
    return tuple(made[:3])


@export(v1="nn.fused_batch_norm")
def fused_batch_norm(
    x,
    scale,
    offset,
    mean=None,
    variance=None,
    epsilon=0.001,
    data_format="NHWC",
    is_training=True,
    name=None,
    exponential_avg_factor=1.0,
):
    """(y, mean, variance): images normalised channel by channel."""
    x = convert_to_tensor(x, name="input")
    if is_fused(x, 3):
        return fused(
            x,
            scale,
            offset,
            mean,
            variance,
            epsilon,
            layout(data_format),
            is_training,
            exponential_avg_factor,
            name,
        )
    with scope(name, "FusedBatchNorm"):
        rank = tensor_shape.as_shape(x.shape).ndims
        channel = rank - 1 if layout(data_format) == "NHWC" else 1
        if is_training:
            axes = [a for a in range(rank) if a != channel]
            mean, variance = moments(x, axes)
        mean, variance = convert_to_tensor(mean), convert_to_tensor(variance)
        parts = [
            along_channels(convert_to_tensor(v), rank, data_format)
            for v in (mean, variance, offset, scale)
        ]
        y = batch_normalization(x, *parts, max(epsilon, 1.001e-5))
        if is_training:
            count = cast(op("Size", x), "float32") / cast(op("Size", mean), "float32")
            more = op("Maximum", count - 1.0, convert_to_tensor(1.0))
            variance = variance * cast(count / more, variance.dtype)
        return y, mean, variance


@export("math.l2_normalize", "nn.l2_normalize", "linalg.l2_normalize")
def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """x over its length along axes."""
    with scope(name, "l2_normalize") as full:
        x = convert_to_tensor(x, name="x")
        squares = OPS["Sum"](op("Square", x), axis if dim is None else dim, True)
        inverse = op("Rsqrt", op("Maximum", squares, epsilon))
        return op("Mul", x, inverse, name=full)


def _noise_shape(x, noise_shape):
    if noise_shape is None:
        known = tensor_shape.as_shape(x.shape)
        return known.as_list() if known.is_fully_defined() else shape_op(x)
    known = tensor_shape.as_shape(x.shape).as_list() if not hasattr(noise_shape, "dtype") else None
    if known is None or len(known) != len(noise_shape):
        return noise_shape
    return [known[i] if n is None else n for i, n in enumerate(noise_shape)]


def _drop(x, rate, noise_shape, seed, name):
    with scope(name, "dropout") as full:
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled. "
                f"Got a {x.dtype} tensor instead."
            )
        if isinstance(rate, (int, float)):
            if not 0 <= rate < 1 and rate != 1:
                raise ValueError(
                    f"rate must be a scalar tensor or a float in the range [0, 1), got {rate}"
                )
            if rate == 0:
                return x
            if rate == 1:
                return op("ZerosLike", x)
            larger = op("Mul", x, convert_to_tensor(1 / (1 - rate), x.dtype))
        else:
            rate = cast(convert_to_tensor(rate), x.dtype)
            larger = op("RealDiv", x, 1 - rate)
        noise = random_ops.random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype)
        keep = op("GreaterEqual", noise, convert_to_tensor(rate, x.dtype))
        made = op("SelectV2", keep, larger, convert_to_tensor(0.0, x.dtype), name=full)
        if not _situ.executing_eagerly():
            made.set_shape(x.shape)  # a rate of unknown shape would hide it
        return made


@export(v1="nn.dropout")
def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """x with some elements made 0 and the others larger, so that the sum stays about the same."""
    if keep_prob is not None and rate is not None:
        raise ValueError("Only one of `keep_prob` and `rate` can be given.")
    if keep_prob is None and rate is None:
        raise ValueError("You must provide a rate to dropout.")
    if rate is None:
        if isinstance(keep_prob, (int, float)) and not 0 < keep_prob <= 1:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob}"
            )
        rate = 1 - keep_prob
    return _drop(x, rate, noise_shape, seed, name)


@export(v2="nn.dropout")
def dropout_v2(x, rate, noise_shape=None, seed=None, name=None):
    """x with some elements made 0 and the others larger, so that the sum stays about the same."""
    return _drop(x, rate, noise_shape, seed, name)


@export(v1="nn.xw_plus_b")
def xw_plus_b(x, weights, biases, name=None):
    with scope(name, "xw_plus_b") as full:
        return op("BiasAdd", op("MatMul", x, weights), biases, name=full)


@export(v1="nn.relu_layer")
def relu_layer(x, weights, biases, name=None):
    with scope(name, "relu_layer") as full:
        return op("Relu", op("BiasAdd", op("MatMul", x, weights), biases), name=full)


@export("nn.crelu")
def crelu(features, axis=-1, name=None):
    with scope(name, "CRelu") as full:
        features = convert_to_tensor(features)
        both = op("ConcatV2", [features, op("Neg", features)], axis)
        return op("Relu", both, name=full)


@export("nn.swish", "nn.silu")
def swish(features, beta=1.0, name=None):
    with scope(name, "swish"):
        features = convert_to_tensor(features)
        return features * op("Sigmoid", features * beta)


@export("nn.weighted_moments", v1="nn.weighted_moments")
def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    """Mean and variance of elements that count as often as their weights say."""
    keep = bool(keep_dims or keepdims)
    with scope(name, "weighted_moments"):
        x = convert_to_tensor(x)
        weights = cast(convert_to_tensor(frequency_weights), x.dtype) * op("OnesLike", x)
        axes = axes if isinstance(axes, (list, tuple)) else [axes]
        total = op("Sum", weights, axes, keep_dims=True)
        mean = op("DivNoNan", op("Sum", weights * x, axes, keep_dims=True), total)
        spread = op(
            "DivNoNan",
            op("Sum", weights * op("SquaredDifference", x, mean), axes, keep_dims=True),
            total,
        )
        return (mean, spread) if keep else (op("Squeeze", mean, axes), op("Squeeze", spread, axes))


@export("nn.sufficient_statistics", v1="nn.sufficient_statistics")
def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """Count, sum, sum of squares, shift: what moments follow from."""
    keep = bool(keep_dims or keepdims)
    with scope(name, "sufficient_statistics"):
        x, axes = convert_to_tensor(x), list(axes)
        sizes = op("GatherV2", op("Shape", x), op("FloorMod", axes, op("Rank", x)), 0)
        count = cast(op("Prod", sizes, [0]), x.dtype)
        moved = x if shift is None else x - shift
        return (
            count,
            op("Sum", moved, axes, keep_dims=keep),
            op("Sum", op("Square", moved), axes, keep_dims=keep),
            shift,
        )


@export("nn.normalize_moments", v1="nn.normalize_moments")
def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """Mean and variance of sufficient statistics."""
    with scope(name, "normalize"):
        moved = mean_ss / counts
        mean = moved if shift is None else moved + shift
        return mean, variance_ss / counts - op("Square", moved)
