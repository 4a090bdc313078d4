# SPDX-License-Identifier: Apache-2.0
"""nn.py: keras.ops.nn: activations, normalization, encodings, losses and attention; and
the activations that Keras 3 adds to those of Keras 2."""

from __future__ import annotations

import math
from typing import Any

from situ._src.framework.keywords import unsupported
from situ._src.keras import context
from situ._src.keras3 import operands
from situ._src.keras3.dtypes import standardize_dtype
from situ._src.keras3.exports import alias, tf, unsupported_function
from situ._src.keras3.operands import floating, sizes, tensor
from situ._src.keras3.operation import operation

_op = operation("nn", "nn")


def _define(name, compute, doc):
    def function(x: Any):
        return compute(floating(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}\n\n    Args:\n      x: Tensor."
    return _op(function)


def _squareplus(x, b):
    return (x + tf.sqrt(tf.square(x) + tf.cast(b, x.dtype))) / 2


def _sparse_plus(x):
    middle = tf.square(x + 1) / 4
    return tf.where(x <= -1, tf.zeros_like(x), tf.where(x < 1, middle, x))


@_op
def relu(x: Any):
    """max(x, 0).

    Args:
      x: Tensor; integers keep their type.
    """
    return tf.nn.relu(tensor(x))


@_op
def relu6(x: Any):
    """min(max(x, 0), 6).

    Args:
      x: Tensor; integers keep their type.
    """
    return tf.nn.relu6(tensor(x))


sigmoid = _define("sigmoid", tf.sigmoid, "1 / (1 + exp(-x)).")
silu = _define("silu", lambda x: x * tf.sigmoid(x), "x * sigmoid(x).")
swish = _define("swish", lambda x: x * tf.sigmoid(x), "x * sigmoid(x).")
softplus = _define("softplus", tf.nn.softplus, "log(1 + exp(x)).")
softsign = _define("softsign", tf.nn.softsign, "x / (1 + |x|).")
selu = _define("selu", tf.nn.selu, "Scaled exponential linear unit.")
log_sigmoid = _define("log_sigmoid", tf.math.log_sigmoid, "log(sigmoid(x)).")
hard_sigmoid = _define("hard_sigmoid", lambda x: tf.nn.relu6(x + 3) / 6, "relu6(x + 3) / 6.")
hard_silu = _define("hard_silu", lambda x: x * tf.nn.relu6(x + 3) / 6, "x * hard_sigmoid(x).")
hard_swish = _define("hard_swish", lambda x: x * tf.nn.relu6(x + 3) / 6, "x * hard_sigmoid(x).")
hard_tanh = _define("hard_tanh", lambda x: tf.clip_by_value(x, -1, 1), "x limited to [-1, 1].")
tanh_shrink = _define("tanh_shrink", lambda x: x - tf.tanh(x), "x - tanh(x).")
sparse_plus = _define("sparse_plus", _sparse_plus, "0, (x + 1)**2 / 4 in (-1, 1), x.")
sparse_sigmoid = _define(
    "sparse_sigmoid",
    lambda x: tf.clip_by_value((x + 1) / 2, 0, 1),
    "(x + 1) / 2 limited to [0, 1].",
)


@_op
def elu(x: Any, alpha: Any = 1.0):
    """Exponential linear unit: x, or alpha * (exp(x) - 1) below 0.

    Args:
      x: Tensor.
      alpha: Scale below 0, where the result tends to -alpha.
    """
    x = floating(x)
    return tf.where(x > 0, x, alpha * tf.math.expm1(tf.minimum(x, 0)))


@_op
def celu(x: Any, alpha: Any = 1.0):
    """Continuously differentiable exponential linear unit.

    Args:
      x: Tensor.
      alpha: Scale of the result and of x below 0: alpha * (exp(x / alpha) - 1).
    """
    x = floating(x)
    return tf.maximum(x, 0) + alpha * tf.math.expm1(tf.minimum(x, 0) / alpha)


@_op
def gelu(x: Any, approximate: bool = True):
    """Gaussian error linear unit, by default approximated with tanh.

    Args:
      x: Tensor.
      approximate: Whether to approximate the normal distribution with tanh instead of erf.
    """
    return tf.nn.gelu(floating(x), approximate)


@_op
def glu(x: Any, axis: int = -1):
    """Gated linear unit: one half of an axis times the sigmoid of the other.

    Args:
      x: Tensor.
      axis: Axis to halve; default: the last.

    Returns:
      Tensor with half the size along the axis: the first half of x, gated by the second.

    Raises:
      ValueError: If the size of the axis is odd.
    """
    x = floating(x)
    if (x.shape.as_list()[axis] or 0) % 2:
        raise ValueError(
            f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}"
        )
    first, second = tf.split(x, 2, axis)
    return first * tf.sigmoid(second)


@_op
def hard_shrink(x: Any, threshold: Any = 0.5):
    """x where |x| > threshold, otherwise 0.

    Args:
      x: Tensor.
      threshold: Absolute value up to which elements become 0.
    """
    x = floating(x)
    return tf.where(tf.abs(x) > threshold, x, tf.zeros_like(x))


@_op
def soft_shrink(x: Any, threshold: Any = 0.5):
    """x moved towards 0 by a threshold.

    Args:
      x: Tensor.
      threshold: Distance to move by; elements that are closer to 0 become 0.
    """
    x = floating(x)
    return tf.sign(x) * tf.maximum(tf.abs(x) - threshold, 0)


@_op
def threshold(x: Any, threshold: Any, default_value: Any):
    """x where it is above a threshold, otherwise a default value.

    Args:
      x: Tensor.
      threshold: Bound that elements must exceed to stay.
      default_value: Value of the other elements.
    """
    x = floating(x)
    return tf.where(x > threshold, x, tf.zeros_like(x) + tf.cast(default_value, x.dtype))


@_op
def leaky_relu(x: Any, negative_slope: Any = 0.2):
    """x, or negative_slope * x below 0.

    Args:
      x: Tensor.
      negative_slope: Slope below 0.
    """
    return tf.nn.leaky_relu(floating(x), negative_slope)


@_op
def squareplus(x: Any, b: Any = 4):
    """(x + sqrt(x**2 + b)) / 2.

    Args:
      x: Tensor.
      b: Width of the smooth bend at 0, where the result is sqrt(b) / 2.
    """
    return _squareplus(floating(x), b)


@_op
def softmax(x: Any, axis: Any = -1):
    """Softmax over an axis, several axes, or all (None).

    Args:
      x: Logits.
      axis: Axis, or list of axes, whose probabilities sum to 1; None: all axes.
    """
    return _over_axes(tf.nn.softmax, floating(x), axis)


@_op
def log_softmax(x: Any, axis: Any = -1):
    """Logarithm of the softmax over an axis, several axes, or all (None).

    Args:
      x: Logits.
      axis: Axis, or list of axes, whose probabilities sum to 1; None: all axes.
    """
    return _over_axes(tf.nn.log_softmax, floating(x), axis)


def _over_axes(compute, x, axis):
    if isinstance(axis, int):
        return compute(x, axis=axis)
    ndim = operands.rank(x)
    some = operands.axes(axis, ndim)
    order = [i for i in range(ndim) if i not in some] + some
    lengths = sizes(x)
    moved = tf.transpose(x, order)
    flat = tf.reshape(moved, [*[lengths[i] for i in order if i not in some], -1])
    result = tf.reshape(compute(flat, axis=-1), tf.shape(moved))
    return tf.transpose(result, [order.index(i) for i in range(ndim)])


@_op
def sparsemax(x: Any, axis: int = -1):
    """Projection on the probability simplex, which gives sparse probabilities.

    Args:
      x: Logits.
      axis: Axis whose probabilities sum to 1.
    """
    x = floating(x)
    last = operands.rank(x) - 1
    order = list(range(last + 1))
    order[axis], order[last] = order[last], order[axis]
    z = tf.transpose(x, order)
    ordered = tf.sort(z, axis=-1, direction="DESCENDING")
    sums = tf.cumsum(ordered, -1)
    count = tf.cast(tf.range(1, sizes(z)[-1] + 1), z.dtype)
    support = 1 + count * ordered > sums
    chosen = tf.reduce_sum(tf.cast(support, z.dtype), -1, keepdims=True)
    total = tf.reduce_sum(tf.where(support, ordered, tf.zeros_like(z)), -1, keepdims=True)
    return tf.transpose(tf.maximum(z - (total - 1) / chosen, 0), order)


# Normalization


@_op
def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    axis: Any,
    offset: Any = None,
    scale: Any = None,
    epsilon: Any = 1e-3,
):
    """Normalizes with given means and variances.

    Args:
      x: Tensor.
      mean: Means along the axis.
      variance: Variances along the axis.
      axis: Axis of the features.
      offset: Added to the result.
      scale: Factor of the result.
      epsilon: Added to the variances.
    """
    x = floating(x)
    shape = [1] * operands.rank(x)
    shape[axis] = -1
    wide = lambda v: None if v is None else tf.reshape(tensor(v, x.dtype), shape)
    return tf.nn.batch_normalization(
        x, wide(mean), wide(variance), wide(offset), wide(scale), epsilon
    )


@_op
def moments(x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False):
    """Returns mean and variance over axes.

    Args:
      x: Tensor.
      axes: Axes.
      keepdims: Whether reduced axes stay, with size 1.
      synchronized: Only False is supported.
    """
    unsupported("ops.moments", synchronized=(synchronized, False))
    axes = [axes] if isinstance(axes, int) else list(axes)
    return tf.nn.moments(floating(x), axes, keepdims=keepdims)


@_op
def layer_normalization(
    x: Any, gamma: Any = None, beta: Any = None, axis: Any = -1, epsilon: Any = None, **kwargs: Any
):
    """Normalizes to mean 0 and variance 1 over axes.

    Args:
      x: Tensor.
      gamma: Factor of the result.
      beta: Added to the result.
      axis: Axis or axes.
      epsilon: Added to the variances; default: `keras.config.epsilon()`.
      **kwargs: `rms_scaling`, which must be False.
    """
    unsupported("ops.layer_normalization", **{k: (v, False) for k, v in kwargs.items()})
    x = floating(x)
    axes = operands.axes(axis, operands.rank(x))
    mean, variance = tf.nn.moments(x, axes, keepdims=True)
    y = (x - mean) * tf.math.rsqrt(variance + _epsilon(epsilon))
    y = y if gamma is None else y * _along(gamma, x, axes)
    return y if beta is None else y + _along(beta, x, axes)


def _along(value, x, axes):
    value = tensor(value, x.dtype)
    shape = [n if i in axes else 1 for i, n in enumerate(sizes(x))]
    return tf.reshape(value, shape) if operands.rank(value) != operands.rank(x) else value


def _epsilon(epsilon):
    return context.setting("epsilon") if epsilon is None else epsilon


@_op
def rms_normalization(x: Any, scale: Any = None, axis: Any = -1, epsilon: Any = None):
    """Divides by the root of the mean square over axes.

    Args:
      x: Tensor.
      scale: Factor of the result.
      axis: Axis or axes.
      epsilon: Added to the mean square; default: `keras.config.epsilon()`.
    """
    x = floating(x)
    axes = operands.axes(axis, operands.rank(x))
    y = x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), axes, keepdims=True) + _epsilon(epsilon))
    return y if scale is None else y * _along(scale, x, axes)


@_op
def normalize(x: Any, axis: int = -1, order: Any = 2, epsilon: Any = None):
    """Divides by the norm along an axis.

    Args:
      x: Tensor.
      axis: Axis.
      order: Order of the norm.
      epsilon: Smallest norm; default: `keras.config.epsilon()`.

    Raises:
      ValueError: If the order is not a positive integer.
    """
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"Argument `order` must be an int >= 1. Received: order={order}")
    x = floating(x)
    limit = tf.cast(_epsilon(epsilon), x.dtype)
    if order == 2:
        total = tf.reduce_sum(tf.square(x), axis, keepdims=True)
        return x * tf.math.rsqrt(tf.maximum(total, tf.square(limit)))
    norm = tf.pow(tf.reduce_sum(tf.pow(tf.abs(x), order), axis, keepdims=True), 1.0 / order)
    return x / tf.maximum(norm, limit)


# Encoding, losses and attention


@_op
def one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False):
    """Encodes class ids.

    Args:
      x: Integer tensor.
      num_classes: Number of classes.
      axis: Axis of the classes in the result.
      dtype: Type; default: `keras.config.floatx()`.
      sparse: Only False is supported.
    """
    unsupported("ops.one_hot", sparse=(sparse, False))
    x = tensor(x)
    x = x if x.dtype.name in ("int32", "int64", "uint8") else tf.cast(x, "int32")
    name = standardize_dtype(dtype)
    if name == "bool":
        return tf.one_hot(x, num_classes, on_value=True, off_value=False, axis=axis, dtype="bool")
    return tf.one_hot(x, num_classes, axis=axis, dtype=name)


@_op
def multi_hot(
    inputs: Any,
    num_classes: int | None = None,
    axis: int = -1,
    dtype: Any = None,
    sparse: bool = False,
    **kwargs: Any,
):
    """Encodes which class ids occur.

    Args:
      inputs: Integer tensor.
      num_classes: Number of classes.
      axis: Axis of the classes in the result.
      dtype: Type; default: `keras.config.floatx()`.
      sparse: Only False is supported.
      **kwargs: `num_tokens`, a former name of num_classes.
    """
    kwargs = dict(kwargs)
    num_classes = kwargs.pop("num_tokens", num_classes)
    if kwargs or num_classes is None:
        raise ValueError("Argument `num_classes` must be specified, and no other keyword.")
    x = tensor(inputs)
    hot = one_hot(x, num_classes, axis, dtype, sparse)
    return tf.reduce_max(hot, 1 if operands.rank(x) > 1 else 0)


def _clipped(output):
    limit = context.setting("epsilon")
    return tf.clip_by_value(output, limit, 1.0 - limit)


@_op
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False):
    """Element-wise binary cross-entropy.

    Args:
      target: Labels in [0, 1].
      output: Probabilities, or logits.
      from_logits: Whether output is logits.
    """
    output = floating(output)
    target = tensor(target, output.dtype)
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    output = _clipped(output)
    return -(target * tf.math.log(output) + (1 - target) * tf.math.log(1 - output))


@_op
def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1):
    """Cross-entropy of probabilities.

    Args:
      target: Probabilities of the classes.
      output: Predicted probabilities, or logits.
      from_logits: Whether output is logits.
      axis: Axis of the classes.
    """
    output = floating(output)
    target = tensor(target, output.dtype)
    if from_logits:
        return -tf.reduce_sum(target * tf.nn.log_softmax(output, axis=axis), axis)
    output = output / tf.reduce_sum(output, axis, keepdims=True)
    return -tf.reduce_sum(target * tf.math.log(_clipped(output)), axis)


@_op
def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
):
    """Cross-entropy of class ids; see categorical_crossentropy.

    Args:
      target: Class ids, of the shape of output without the axis of the classes; a last axis of
        size 1 is dropped if the ranks are equal.
      output: Predicted probabilities, or logits.
      from_logits: Whether output is logits.
      axis: Axis of the classes in output.
    """
    output, target = floating(output), tensor(target)
    if operands.rank(target) == operands.rank(output) and target.shape.as_list()[-1] == 1:
        target = tf.squeeze(target, [-1])
    logs = (
        tf.nn.log_softmax(output, axis=axis)
        if from_logits
        else tf.math.log(_clipped(output / tf.reduce_sum(output, axis, keepdims=True)))
    )
    hot = tf.one_hot(tf.cast(target, "int32"), sizes(output)[axis], axis=axis, dtype=output.dtype)
    return -tf.reduce_sum(hot * logs, axis)


@_op
def psnr(x1: Any, x2: Any, max_val: Any):
    """Peak signal-to-noise ratio of two tensors.

    Args:
      x1: Tensor.
      x2: Tensor.
      max_val: Largest possible value.
    """
    x1, x2 = operands.promoted_floating(x1, x2)
    mse = tf.reduce_mean(tf.square(x1 - x2))
    return (20 * tf.math.log(tf.cast(max_val, x1.dtype)) - 10 * tf.math.log(mse)) / math.log(10.0)


@_op
def ctc_loss(target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0):
    """Connectionist temporal classification loss.

    Args:
      target: Labels [batch, labels].
      output: Logits [batch, time, classes].
      target_length: Number of labels per example.
      output_length: Number of time steps per example.
      mask_index: The class of blanks.
    """
    output = floating(output)
    return tf.nn.ctc_loss(
        labels=tensor(target, "int32"),
        logits=output,
        label_length=tensor(target_length, "int32"),
        logit_length=tensor(output_length, "int32"),
        blank_index=mask_index,
        logits_time_major=False,
    )


@_op
def ctc_decode(
    inputs: Any,
    sequence_lengths: Any,
    strategy: str = "greedy",
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
    mask_index: int = 0,
):
    """Decodes the output of a model trained with ctc_loss.

    Args:
      inputs: Logits [batch, time, classes].
      sequence_lengths: Number of time steps per example.
      strategy: Only "greedy" is supported.
      beam_width: Of the beam search.
      top_paths: Of the beam search.
      merge_repeated: Whether repeated classes are one.
      mask_index: The class of blanks.

    Returns:
      (class ids [1, batch, time] with -1 at the end, negative sums of logits [batch, 1]).

    Raises:
      ValueError: If the strategy is unknown.
    """
    if strategy not in ("greedy", "beam_search"):
        raise ValueError(
            "Invalid strategy. Supported values are 'greedy' and 'beam_search'. "
            f"Received: {strategy}"
        )
    unsupported("ops.ctc_decode", strategy=(strategy, "greedy"))
    del beam_width, top_paths  # of the beam search
    x, lengths = floating(inputs), tensor(sequence_lengths, "int32")
    steps = sizes(x)[1]
    ids = tf.argmax(x, -1, output_type=tf.int32)
    valid = tf.range(steps)[None, :] < lengths[:, None]
    best = tf.where(valid, tf.reduce_max(x, -1), tf.zeros_like(x[..., 0]))
    kept = valid & tf.not_equal(ids, mask_index)
    if merge_repeated:
        before = tf.concat([tf.fill([sizes(x)[0], 1], -1), ids[:, :-1]], 1)
        kept = kept & tf.not_equal(ids, before)
    order = tf.argsort(tf.cast(tf.logical_not(kept), "int32"), axis=-1, stable=True)
    moved = tf.gather(tf.where(kept, ids, -1), order, batch_dims=1)
    return moved[None], -tf.reduce_sum(best, 1, keepdims=True)


@_op
def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: Any = None,
    is_causal: bool = False,
    flash_attention: Any = None,
    attn_logits_soft_cap: Any = None,
):
    """Scaled dot-product attention of [batch, time, heads, size].

    Args:
      query: Tensor.
      key: Tensor; may have fewer heads, of which each is shared.
      value: Tensor.
      bias: Added to the logits.
      mask: Bool tensor: which positions are attended to.
      scale: Factor of the logits; default: 1 / sqrt(size).
      is_causal: Whether later positions are masked.
      flash_attention: Only None and False are supported.
      attn_logits_soft_cap: Only None is supported, as in Keras' TensorFlow backend.
    """
    unsupported(
        "ops.dot_product_attention",
        flash_attention=(bool(flash_attention), False),
        attn_logits_soft_cap=(attn_logits_soft_cap, None),
    )
    query, key, value = operands.promoted_floating(query, key, value)
    shared = query.shape.as_list()[2] // key.shape.as_list()[2]
    if shared > 1:
        key, value = tf.repeat(key, shared, 2), tf.repeat(value, shared, 2)
    scale = 1.0 / math.sqrt(query.shape.as_list()[-1]) if scale is None else scale
    logits = tf.einsum("BTNH,BSNH->BNTS", query, key) * tf.cast(scale, query.dtype)
    logits = logits if bias is None else logits + tensor(bias, logits.dtype)
    if is_causal:
        steps, others = sizes(logits)[-2:]
        causal = tf.range(steps)[:, None] >= tf.range(others)[None, :]
        mask = causal if mask is None else tf.cast(tensor(mask), "bool") & causal
    if mask is not None:
        logits = tf.where(
            tf.cast(tensor(mask), "bool"), logits, tf.cast(0.7 * logits.dtype.min, logits.dtype)
        )
    return tf.einsum("BNTS,BSNH->BTNH", tf.nn.softmax(logits), value)


for _function in (
    *(celu, glu, hard_shrink, hard_silu, hard_swish, hard_tanh, log_sigmoid, soft_shrink),
    *(sparse_plus, sparse_sigmoid, sparsemax, squareplus, tanh_shrink, threshold),
    *(hard_sigmoid, leaky_relu),
):
    alias(_function, "activations." + _function.__name__)
for _name in ("fold", "unfold"):
    for _place in ("ops.", "ops.nn."):
        unsupported_function(_place + _name, "it is not implemented yet.")
unsupported_function("ops.rearrange", "it is not implemented yet.")
unsupported_function("ops.linalg.jvp", "forward-mode derivatives are not implemented.")
