# SPDX-License-Identifier: Apache-2.0
"""norm.py: moments, batch normalization, l2_normalize and dropout of tf.nn."""

from __future__ import annotations

import _situ
from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import dtype_of
from situ._src.framework.graph import scope
from situ._src.framework.keywords import with_order
from situ._src.ops import random_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.composite_dispatch import ragged_version
from situ._src.ops.constant_op import is_tensor
from situ._src.ops.nn.conv import layout

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, Tensor, TensorLike


@export(v1="nn.moments")
def moments(
    x: TensorLike,
    axes: Axis,
    shift: TensorLike = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes the mean and variance over axes.

    Args:
      x: A floating-point tensor.
      axes: The dimensions to reduce.
      shift: Ignored; the mean is subtracted before squaring.
      keep_dims: Whether reduced dimensions are kept with size 1.
      keepdims: The name of `keep_dims` in TensorFlow 2.
      name: A name for the operation (optional).

    Returns:
      A pair (mean, variance).
    """
    del shift  # TensorFlow does not read it either
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
def moments_v2(
    x: TensorLike,
    axes: Axis,
    shift: TensorLike = None,
    keepdims: bool | None = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes the mean and variance over axes.

    Args:
      x: A floating-point tensor.
      axes: The dimensions to reduce.
      shift: Ignored; the mean is subtracted before squaring.
      keepdims: Whether reduced dimensions are kept with size 1.
      name: A name for the operation (optional).

    Returns:
      A pair (mean, variance).
    """
    return moments(x, axes, shift, name, keepdims)


@export("nn.batch_normalization")
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike,
    scale: TensorLike,
    variance_epsilon: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Computes `scale * (x - mean) / sqrt(variance + variance_epsilon) + offset`.

    Args:
      x: A tensor.
      mean: A tensor that broadcasts with `x`.
      variance: A tensor that broadcasts with `x`.
      offset: A tensor to add, or None.
      scale: A tensor to multiply with, or None.
      variance_epsilon: A small number that avoids division by 0.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `x`.
    """
    with scope(name, "batchnorm"):
        inverse = op("Rsqrt", variance + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        shift = op("Neg", mean * inverse) if offset is None else offset - mean * inverse
        x = convert_to_tensor(x)
        return x * cast(inverse, x.dtype) + cast(shift, x.dtype)


@export(v1="nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    t: TensorLike = None,
    m: TensorLike = None,
    v: TensorLike = None,
    beta: TensorLike = None,
    gamma: TensorLike = None,
    variance_epsilon: TensorLike = None,
    scale_after_normalization: TensorLike = None,
    name: str | None = None,
    input: TensorLike = None,
    mean: TensorLike = None,
    variance: TensorLike = None,
) -> Tensor:
    """Normalizes a batch; the old name of `tf.nn.batch_normalization`.

    Args:
      t: A deprecated name of `input`.
      m: A deprecated name of `mean`.
      v: A deprecated name of `variance`.
      beta: The offset of each channel.
      gamma: The scale of each channel.
      variance_epsilon: A number added to the variance.
      scale_after_normalization: Whether to multiply by `gamma`.
      name: A name for the operation (optional).
      input: A tensor [batch, height, width, channels].
      mean: The mean of each channel.
      variance: The variance of each channel.
    """
    first = [a if b is None else b for a, b in ((t, input), (m, mean), (v, variance))]
    return batch_normalization(
        *first, beta, gamma if scale_after_normalization else None, variance_epsilon, name
    )


@export(v2="nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization_v2(
    input: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    variance_epsilon: TensorLike,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """Normalizes a batch; the old name of `tf.nn.batch_normalization`.

    Args:
      input: A tensor [batch, height, width, channels].
      mean: The mean of each channel.
      variance: The variance of each channel.
      beta: The offset of each channel.
      gamma: The scale of each channel.
      variance_epsilon: A number added to the variance.
      scale_after_normalization: Whether to multiply by `gamma`.
      name: A name for the operation (optional).
    """
    scale = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, scale, variance_epsilon, name)


def is_fused(x, axis):
    """Returns whether FusedBatchNormV3 supports this tensor and channel axis."""
    return (
        tensor_shape.as_shape(x.shape).ndims == 4
        and axis in (1, 3)
        and x.dtype.base_dtype.name in ("float32", "float16")
    )


def fused(x, scale, offset, mean, variance, epsilon, data_format, training, share=1.0, name=None):
    """Returns (y, mean, variance) of FusedBatchNormV3; mean and variance may be None in
    training."""
    statistics = [convert_to_tensor([] if v is None else v, "float32") for v in (mean, variance)]
    result = OPS["FusedBatchNormV3"](
        x,
        scale,
        offset,
        *statistics,
        epsilon=max(epsilon, 1.001e-5),
        exponential_avg_factor=share,
        data_format=data_format,
        is_training=bool(training),
        name=name,
    )
    return tuple(result[:3])


@export(v1="nn.fused_batch_norm")
def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike = None,
    variance: TensorLike = None,
    epsilon: TensorLike = 0.001,
    data_format: str | None = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: TensorLike = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalizes a batch of images channel by channel.

    Args:
      x: A tensor of rank 4 or 5, of type float32, float16 or bfloat16.
      scale: A vector with one element per channel.
      offset: A vector with one element per channel.
      mean: The mean to use if not training.
      variance: The variance to use if not training.
      epsilon: A small number that is added to the variance.
      data_format: "NHWC" or "NCHW"; "NDHWC" or "NCDHW" for rank 5.
      is_training: Whether to use the statistics of the batch.
      exponential_avg_factor: The weight of the batch in the returned statistics.
      name: A name for the operation (optional).

    Returns:
      A triple (normalized batch, mean, variance).
    """
    x = convert_to_tensor(x, name="input")
    order = layout(data_format)
    if tensor_shape.as_shape(x.shape).ndims == 5:
        order = {"NHWC": "NDHWC", "NCHW": "NCDHW"}.get(order, order)
    return fused(
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon,
        order,
        is_training,
        exponential_avg_factor,
        name,
    )


@export("math.l2_normalize", "nn.l2_normalize", "linalg.l2_normalize")
def l2_normalize(
    x: TensorLike,
    axis: Axis = None,
    epsilon: TensorLike = 1e-12,
    name: str | None = None,
    dim: TensorLike = None,
) -> Tensor:
    """Normalizes a tensor along axes to length 1.

    Args:
      x: A tensor.
      axis: The dimensions of a vector; all by default.
      epsilon: The lower bound of the squared norm.
      dim: The name of `axis` in old programs.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `x`.
    """
    with scope(name, "l2_normalize") as full:
        x = convert_to_tensor(x, name="x")
        squares = OPS["Sum"](op("Square", x), axis if dim is None else dim, True)
        inverse = op("Rsqrt", op("Maximum", squares, epsilon))
        return op("Mul", x, inverse, name=full)


def _stateful_sampler(seed):
    return lambda shape, dtype: random_ops.random_uniform(shape, seed=seed, dtype=dtype)


def _noise_shape(x, noise_shape):
    if noise_shape is None:
        known = tensor_shape.as_shape(x.shape)
        return known.as_list() if known.is_fully_defined() else shape_op(x)
    known = tensor_shape.as_shape(x.shape).as_list() if not hasattr(noise_shape, "dtype") else None
    if known is None or len(known) != len(noise_shape):
        return noise_shape
    return [known[i] if n is None else n for i, n in enumerate(noise_shape)]


def _checked_rate(rate, dtype):
    """Returns a rate that is no number if it is a scalar tensor of a type."""
    if not is_tensor(rate):
        raise ValueError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate}")
    tensor_shape.as_shape(rate.shape).assert_has_rank(0)
    if dtype_of(rate) != dtype:
        raise ValueError(
            "`x.dtype` must be compatible with `rate.dtype`. "
            f"Received: x.dtype={dtype} and rate.dtype={rate.dtype}"
        )
    return convert_to_tensor(rate)


def _drop(x, rate, noise_shape, sampler, name, default="dropout"):
    """Drops elements; `sampler(shape, dtype)` returns uniform numbers."""
    with scope(name, default) as full:
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
            scaled = op("Mul", x, convert_to_tensor(1 / (1 - rate), x.dtype))
        else:
            rate = _checked_rate(rate, x.dtype)
            scaled = op("RealDiv", x, 1 - rate)
        noise = sampler(_noise_shape(x, noise_shape), x.dtype)
        keep = op("GreaterEqual", noise, convert_to_tensor(rate, x.dtype))
        result = op("SelectV2", keep, scaled, convert_to_tensor(0.0, x.dtype), name=full)
        if not _situ.executing_eagerly():
            result.set_shape(x.shape)  # unknown otherwise if the shape of the rate is
        return result


@export(v1="nn.dropout")
@ragged_version("ragged_math", "dropout_v1")
def dropout(
    x: TensorLike,
    keep_prob: TensorLike = None,
    noise_shape: TensorLike = None,
    seed: int | None = None,
    name: str | None = None,
    rate: TensorLike = None,
) -> Tensor:
    """Sets elements to 0 at random and scales the others so that the expected sum stays the same.

    Args:
      x: A floating-point tensor.
      keep_prob: The probability that an element is kept.
      noise_shape: The shape of the random mask, which broadcasts with `x`.
      seed: The seed of the random numbers.
      rate: The probability that an element is dropped, 1 - `keep_prob`.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `x`.

    Raises:
      ValueError: If `x` is not floating point, the probability is out of range, or both or none
        are given.
    """
    if keep_prob is not None and rate is not None:
        raise ValueError("Only one of `keep_prob` and `rate` can be given.")
    if keep_prob is None and rate is None:
        raise ValueError("You must provide a rate to dropout.")
    if rate is None:
        if isinstance(keep_prob, (int, float)) and not 0 < keep_prob <= 1:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob}"
            )
        try:
            rate = 1 - keep_prob
        except TypeError:
            raise ValueError(
                f"`keep_prob` must be a floating point number or Tensor. Received: {keep_prob}"
            ) from None
    return _drop(x, rate, noise_shape, _stateful_sampler(seed), name)


@export(v2="nn.dropout")
@ragged_version("ragged_math", "dropout_v2")
def dropout_v2(
    x: TensorLike,
    rate: TensorLike,
    noise_shape: TensorLike = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sets elements to 0 at random and scales the others so that the expected sum stays the same.

    Args:
      x: A floating-point tensor.
      rate: The probability that an element is dropped.
      noise_shape: The shape of the random mask, which broadcasts with `x`.
      seed: The seed of the random numbers.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `x`.

    Raises:
      ValueError: If `x` is not floating point or the rate is out of range.
    """
    return _drop(x, rate, noise_shape, _stateful_sampler(seed), name)


@export(v2="nn.experimental.stateless_dropout")
@ragged_version("ragged_math", "stateless_dropout")
def stateless_dropout(
    x: TensorLike,
    rate: TensorLike,
    seed: TensorLike,
    rng_alg: str | None = "auto_select",
    noise_shape: TensorLike = None,
    name: str | None = None,
) -> Tensor:
    """Sets elements to 0; which ones depends on the arguments alone. See `tf.nn.dropout`.

    Args:
      x: A floating-point tensor.
      rate: The probability that an element is dropped.
      seed: A tensor of shape [2], int32 or int64.
      rng_alg: "auto_select" or "philox".
      noise_shape: The shape of the random mask, which broadcasts with `x`.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `x`.

    Raises:
      ValueError: If `x` is not floating point or the rate is out of range.
    """

    def sampler(shape, dtype):
        alg = "auto_select" if rng_alg is None else rng_alg
        return random_ops.stateless_uniform(shape, seed, dtype=dtype, alg=alg)

    return _drop(x, rate, noise_shape, sampler, name, "stateless_dropout")


@export(v2="nn.experimental.general_dropout")
def general_dropout(
    x: TensorLike,
    rate: TensorLike,
    uniform_sampler: Any,
    noise_shape: TensorLike = None,
    name: str | None = None,
) -> Tensor:
    """Sets elements to 0 where the numbers of a sampler are below the rate. See `tf.nn.dropout`.

    Args:
      x: A floating-point tensor.
      rate: The probability that an element is dropped.
      uniform_sampler: A function of `shape` and `dtype` that returns uniform numbers in [0, 1).
      noise_shape: The shape of the random mask, which broadcasts with `x`.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `x`.

    Raises:
      ValueError: If `x` is not floating point or the rate is out of range.
    """

    def sampler(shape, dtype):
        return uniform_sampler(shape=shape, dtype=dtype)

    return _drop(x, rate, noise_shape, sampler, name, "general_dropout")


@export(v1="nn.xw_plus_b")
def xw_plus_b(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> Tensor:
    """Computes `matmul(x, weights) + biases`.

    Args:
      x: A tensor.
      weights: A matrix.
      biases: A vector.
      name: A name for the operation (optional).
    """
    with scope(name, "xw_plus_b") as full:
        return op("BiasAdd", op("MatMul", x, weights), biases, name=full)


@export(v1="nn.relu_layer")
def relu_layer(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> Tensor:
    """Computes `relu(matmul(x, weights) + biases)`.

    Args:
      x: A tensor.
      weights: A matrix.
      biases: A vector.
      name: A name for the operation (optional).
    """
    with scope(name, "relu_layer") as full:
        return op("Relu", op("BiasAdd", op("MatMul", x, weights), biases), name=full)


@export("nn.crelu")
def crelu(features: TensorLike, axis: Axis = -1, name: str | None = None) -> Tensor:
    """Concatenates `relu(features)` and `relu(-features)` along `axis`.

    Args:
      features: A tensor.
      axis: The axis; by default the last one.
      name: A name for the operation (optional).
    """
    with scope(name, "CRelu") as full:
        features = convert_to_tensor(features)
        both = op("ConcatV2", [features, op("Neg", features)], axis, name=full)
        return op("Relu", both)


export(v1="nn.crelu")(with_order(crelu, "features", "name", "axis"))


@export("nn.swish", "nn.silu")
def swish(features: TensorLike, beta: TensorLike = 1.0, name: str | None = None) -> Tensor:
    """Computes `features * sigmoid(beta * features)`.

    Args:
      features: A tensor.
      beta: The offset of each channel.
      name: A name for the operation (optional).
    """
    with scope(name, "swish"):
        features = convert_to_tensor(features)
        return features * op("Sigmoid", features * beta)


@export("nn.weighted_moments", v1="nn.weighted_moments")
def weighted_moments(
    x: TensorLike,
    axes: Axis,
    frequency_weights: TensorLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes the mean and variance over axes, each element weighted by `frequency_weights`.

    Args:
      x: A tensor.
      axes: The axes.
      frequency_weights: Weights that broadcast to `x`.
      name: A name for the operation (optional).
      keep_dims: A deprecated name of `keepdims`.
      keepdims: Whether reduced dimensions stay with size 1.
    """
    keep = bool(keep_dims or keepdims)
    with scope(name, "weighted_moments"):
        x = convert_to_tensor(x)
        weights = cast(convert_to_tensor(frequency_weights), x.dtype) * op("OnesLike", x)
        axes = axes if isinstance(axes, (list, tuple)) else [axes]
        total = op("Sum", weights, axes, keep_dims=True)
        mean = op("DivNoNan", op("Sum", weights * x, axes, keep_dims=True), total)
        variance = op(
            "DivNoNan",
            op("Sum", weights * op("SquaredDifference", x, mean), axes, keep_dims=True),
            total,
        )
        return (
            (mean, variance) if keep else (op("Squeeze", mean, axes), op("Squeeze", variance, axes))
        )


export(v2="nn.weighted_moments")(
    with_order(weighted_moments, "x", "axes", "frequency_weights", "keepdims", "name")
)


@export("nn.sufficient_statistics", v1="nn.sufficient_statistics")
def sufficient_statistics(
    x: TensorLike,
    axes: Axis,
    shift: TensorLike = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Any, ...]:
    """Returns (count, sum, sum of squares, shift), from which `tf.nn.normalize_moments` computes
    moments.

    Args:
      x: A tensor.
      axes: The axes.
      shift: A value close to the mean, for precision (optional).
      keep_dims: A deprecated name of `keepdims`.
      name: A name for the operation (optional).
      keepdims: Whether reduced dimensions stay with size 1.
    """
    keep = bool(keep_dims or keepdims)
    with scope(name, "sufficient_statistics"):
        x, axes = convert_to_tensor(x), list(axes)
        sizes = op("GatherV2", op("Shape", x), op("FloorMod", axes, op("Rank", x)), 0)
        count = cast(op("Prod", sizes, [0]), x.dtype)
        shift = None if shift is None else convert_to_tensor(shift, x.dtype, "shift")
        shifted = x if shift is None else x - shift
        return (
            count,
            op("Sum", shifted, axes, keep_dims=keep, name="mean_ss"),
            op("Sum", op("Square", shifted), axes, keep_dims=keep, name="var_ss"),
            shift,
        )


@export("nn.normalize_moments", v1="nn.normalize_moments")
def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes the mean and variance from sufficient statistics.

    Args:
      counts: The number of elements.
      mean_ss: The sum of the elements, after the shift.
      variance_ss: The sum of their squares, after the shift.
      shift: A value close to the mean, for precision (optional).
      name: A name for the operation (optional).
    """
    with scope(name, "normalize"):
        shifted_mean = mean_ss / counts
        mean = shifted_mean if shift is None else shifted_mean + shift
        return mean, variance_ss / counts - op("Square", shifted_mean)
