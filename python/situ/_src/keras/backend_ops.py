# SPDX-License-Identifier: Apache-2.0
"""backend_ops.py: operations of tf.keras.backend: neural networks, losses, random numbers."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework.api import export
from situ._src.framework.api import named as function
from situ._src.keras import losses
from situ._src.keras.backend import export_function, floatx
from situ._src.keras.context import setting
from situ._src.keras.registry import keras_export
from situ._src.ops import array_ops, random_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.nn import conv, ctc
from situ._src.ops.nn import pool as nn_conv
from situ._src.ops.sparse_ops import SparseTensor, sparse_tensor_to_dense

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Axis, Callable, Structure, TensorLike


@export_function
def cast_(x: Any, dtype: Any) -> Any:
    """Converts a tensor to another type.

    Args:
      x: A tensor.
      dtype: The type.
    """
    return cast(convert_to_tensor(x), dtype)


@export_function
def permute_dimensions(x: Any, pattern: TensorLike) -> Any:
    """Permutes the dimensions of a tensor.

    Args:
      x: A tensor.
      pattern: For each dimension of the result, the dimension of x that it comes from.
    """
    return array_ops.transpose(x, pattern)


@export_function
def flatten(x: Any) -> Any:
    """Reshapes a tensor to a vector.

    Args:
      x: A tensor.
    """
    return op("Reshape", x, [-1])


@export_function
def batch_flatten(x: Any) -> Any:
    """Reshapes a tensor to a matrix: the first dimension remains.

    Args:
      x: A tensor whose sizes are known except for the first.
    """
    return op("Reshape", x, [-1, int(numpy.prod(x.shape.as_list()[1:]))])


@export_function
def dropout(x: Any, level: Any, noise_shape: Any = None, seed: int | None = None) -> Any:
    """Sets elements to 0 at random and scales the others.

    Args:
      x: A tensor.
      level: Fraction of the elements to drop.
      noise_shape: Shape of the mask, which is broadcast to x.
      seed: Seed of the random numbers.
    """
    return function("nn.dropout")(x, rate=level, noise_shape=noise_shape, seed=seed)


@export_function
def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: Any = -1
) -> Any:
    """Returns the cross-entropy of each example.

    Args:
      target: One-hot labels.
      output: Probabilities, or logits.
      from_logits: Whether output holds logits rather than probabilities.
      axis: The class dimension.
    """
    return losses.categorical_crossentropy(target, output, from_logits, axis=axis)


@export_function
def sparse_categorical_crossentropy(
    target: Any,
    output: Any,
    from_logits: bool = False,
    axis: Any = -1,
    ignore_class: int | None = None,
) -> Any:
    """Returns the cross-entropy of each example.

    Args:
      target: Class indices.
      output: Probabilities, or logits.
      from_logits: Whether output holds logits rather than probabilities.
      axis: The class dimension.
      ignore_class: Class whose examples do not count.
    """
    return losses.sparse_categorical_crossentropy(target, output, from_logits, ignore_class, axis)


@export_function
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Returns the binary cross-entropy of each element.

    Args:
      target: Labels, 0 or 1.
      output: Probabilities, or logits.
      from_logits: Whether output holds logits rather than probabilities.
    """
    if from_logits:
        return function("nn.sigmoid_cross_entropy_with_logits")(labels=target, logits=output)
    output = op("ClipByValue", output, cast(1e-7, output.dtype), cast(1 - 1e-7, output.dtype))
    return -(target * op("Log", output) + (1.0 - target) * op("Log", 1.0 - output))


@export_function
def random_normal(
    shape: Any,
    mean: TensorLike = 0.0,
    stddev: float = 1.0,
    dtype: Any = None,
    seed: int | None = None,
) -> Any:
    """Draws random numbers from a normal distribution.

    Args:
      shape: Shape of the result.
      mean: Mean of the distribution.
      stddev: Standard deviation of the distribution.
      dtype: Type of the result; default: `floatx()`.
      seed: Seed of the random numbers.
    """
    return random_ops.random_normal(shape, mean, stddev, dtype or floatx(), seed=seed)


@export_function
def random_uniform(
    shape: Any,
    minval: TensorLike = 0.0,
    maxval: TensorLike = 1.0,
    dtype: Any = None,
    seed: int | None = None,
) -> Any:
    """Draws uniform random numbers.

    Args:
      shape: Shape of the result.
      minval: Lower bound.
      maxval: Upper bound, excluded.
      dtype: Type of the result; default: `floatx()`.
      seed: Seed of the random numbers.
    """
    return random_ops.random_uniform(shape, minval, maxval, dtype or floatx(), seed=seed)


@export_function
def arange(start: TensorLike, stop: TensorLike = None, step: Any = 1, dtype: Any = "int32") -> Any:
    """Returns the numbers from a start to a limit, excluded.

    Args:
      start: The first number; the limit if there is no other argument.
      stop: The limit.
      step: Difference of two numbers.
      dtype: Type of the result.
    """
    first, last = (0, start) if stop is None else (start, stop)
    return cast(function("range")(first, last, step), dtype)


@export_function
def repeat(x: Any, n: int) -> Any:
    """Repeats each row of a matrix as the steps of a sequence.

    Args:
      x: Matrix [batch, features].
      n: Number of steps.

    Returns:
      A tensor [batch, n, features].
    """
    return function("tile")(op("ExpandDims", x, 1), [1, n, 1])


@export_function
def repeat_elements(x: Any, rep: Any, axis: Any) -> Any:
    """Repeats each slice along an axis, as `np.repeat` does.

    Args:
      x: A tensor.
      rep: Number of repetitions.
      axis: The axis.
    """
    return function("repeat")(x, rep, axis=axis)


@export_function
def batch_dot(x: Any, y: Any, axes: Axis = None) -> Any:
    """Multiplies the tensors of each example, over one dimension of each.

    Args:
      x: Tensor [batch, ...].
      y: Tensor [batch, ...].
      axes: Dimension of both, or a pair; default: the last of x and the one before the last of y.
    """
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    ranks = x.shape.rank, y.shape.rank
    if axes is None:
        axes = (ranks[0] - 1, ranks[1] - 1 if ranks[1] == 2 else ranks[1] - 2)
    axes = (axes, axes) if isinstance(axes, int) else tuple(axes)
    first, second = (a % r for a, r in zip(axes, ranks))
    letters = "abcdefghijklmnopqrstuvwxyz"
    left = list(letters[: ranks[0]])
    right = ["a", *letters[ranks[0] : ranks[0] + ranks[1] - 1]]
    right[second] = left[first]
    out = [c for i, c in enumerate(left) if i != first] + [
        c for i, c in enumerate(right) if i not in (0, second)
    ]
    result = function("einsum")(f"{''.join(left)},{''.join(right)}->{''.join(out)}", x, y)
    return op("ExpandDims", result, 1) if len(out) == 1 else result


@export_function
def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Any:
    """Adds a bias to the channels of a tensor.

    Args:
      x: A tensor.
      bias: Vector with a number per channel.
      data_format: "channels_last" or "channels_first"; default: `image_data_format()`.
    """
    first = (data_format or setting("format")) == "channels_first"
    if first and x.shape.rank > 2:
        return x + op("Reshape", bias, [1, -1] + [1] * (x.shape.rank - 2))
    return x + bias


def _layout(data_format):
    return "NCHW" if (data_format or setting("format")) == "channels_first" else "NHWC"


@export_function
def conv2d(
    x: Any,
    kernel: TensorLike,
    strides: Any = (1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Any:
    """Convolves images.

    Args:
      x: A tensor.
      kernel: Tensor [*spatial, input channels, output channels].
      strides: Distance between windows.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; default: `image_data_format()`.
      dilation_rate: Distance between kernel elements.
    """
    return conv.conv2d(
        x,
        kernel,
        strides,
        padding.upper(),
        data_format=_layout(data_format),
        dilations=dilation_rate,
    )


@export_function
def conv1d(
    x: Any,
    kernel: TensorLike,
    strides: Any = 1,
    padding: Any = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Any:
    """Convolves sequences.

    Args:
      x: A tensor.
      kernel: Tensor [*spatial, input channels, output channels].
      strides: Distance between windows.
      padding: "valid", "same" or "causal".
      data_format: "channels_last" or "channels_first"; default: `image_data_format()`.
      dilation_rate: Distance between kernel elements.
    """
    first = _layout(data_format) == "NCHW"
    x = op("Transpose", x, [0, 2, 1]) if first else x
    if padding == "causal":
        left = dilation_rate * (kernel.shape.as_list()[0] - 1)
        x, padding = op("Pad", x, [[0, 0], [left, 0], [0, 0]]), "valid"
    result = function("nn.conv1d")(x, kernel, strides, padding.upper(), dilations=dilation_rate)
    return op("Transpose", result, [0, 2, 1]) if first else result


@export_function
def pool2d(
    x: Any,
    pool_size: Any,
    strides: Any = (1, 1),
    padding: Any = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:
    """Pools images.

    Args:
      x: A tensor.
      pool_size: Height and width of the windows.
      strides: Distance between windows.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; default: `image_data_format()`.
      pool_mode: "max" or "avg".
    """
    pool = nn_conv.max_pool if pool_mode == "max" else nn_conv.avg_pool
    return pool(x, pool_size, strides, padding.upper(), _layout(data_format))


@export_function
def temporal_padding(x: Any, padding: Any = (1, 1)) -> Any:
    """Pads sequences [batch, steps, features] with zeros.

    Args:
      x: A tensor.
      padding: Number of steps to add before and after.
    """
    return op("Pad", x, [[0, 0], list(padding), [0, 0]])


@export_function
def spatial_2d_padding(
    x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Pads images with zeros.

    Args:
      x: A tensor.
      padding: Number of rows to add before and after, and of columns.
      data_format: "channels_last" or "channels_first"; default: `image_data_format()`.
    """
    pads = [list(p) for p in padding]
    return op(
        "Pad",
        x,
        [[0, 0], [0, 0], *pads] if _layout(data_format) == "NCHW" else [[0, 0], *pads, [0, 0]],
    )


@export_function
def resize_images(
    x: Any,
    height_factor: float,
    width_factor: float,
    data_format: str | None,
    interpolation: str = "nearest",
) -> Any:
    """Resizes images by whole factors.

    Args:
      x: A tensor.
      height_factor: Factor of the height.
      width_factor: Factor of the width.
      data_format: "channels_last" or "channels_first".
      interpolation: Method of `tf.image.resize`.
    """
    first = data_format == "channels_first"
    x = op("Transpose", x, [0, 2, 3, 1]) if first else x
    sizes = [
        n if n is not None else shape_op(x)[1 + i] for i, n in enumerate(x.shape.as_list()[1:3])
    ]
    result = function("image.resize")(
        x, [sizes[0] * height_factor, sizes[1] * width_factor], interpolation
    )
    return op("Transpose", result, [0, 3, 1, 2]) if first else result


@export_function
def in_top_k(predictions: TensorLike, targets: TensorLike, k: int) -> Any:
    """Returns whether the target is among the k largest predictions, for each example.

    Args:
      predictions: Tensor [batch, classes].
      targets: Class indices.
      k: Number of predictions.
    """
    return function("math.in_top_k")(targets, predictions, k)


@export_function
def map_fn(fn: Callable, elems: Structure, name: str | None = None, dtype: Any = None) -> Any:
    """Applies a function to the slices of tensors along their first dimension.

    Args:
      fn: Function of a slice.
      elems: Tensor or structure of tensors.
      name: A name for the operations.
      dtype: Type of the result, if it differs.
    """
    return function("map_fn")(fn, elems, dtype=dtype, name=name)


@export_function
def foldl(fn: Callable, elems: Structure, initializer: Any = None, name: str | None = None) -> Any:
    """Combines the slices of tensors from the first to the last.

    Args:
      fn: Function of the previous result and a slice.
      elems: Tensor or structure of tensors.
      initializer: First result; default: the first slice.
      name: A name for the operations.
    """
    return function("foldl")(fn, elems, initializer=initializer, name=name)


@export_function
def foldr(fn: Callable, elems: Structure, initializer: Any = None, name: str | None = None) -> Any:
    """Combines the slices of tensors from the last to the first.

    Args:
      fn: Function of the previous result and a slice.
      elems: Tensor or structure of tensors.
      initializer: First result; default: the last slice.
      name: A name for the operations.
    """
    return function("foldr")(fn, elems, initializer=initializer, name=name)


@export_function
def truncated_normal(
    shape: Any,
    mean: TensorLike = 0.0,
    stddev: float = 1.0,
    dtype: Any = None,
    seed: int | None = None,
) -> Any:
    """Draws random numbers from a normal distribution, within two standard deviations.

    Args:
      shape: Shape of the result.
      mean: Mean of the distribution.
      stddev: Standard deviation of the distribution.
      dtype: Type of the result; default: `floatx()`.
      seed: Seed of the random numbers.
    """
    return function("random.truncated_normal")(shape, mean, stddev, dtype or setting("float"), seed)


@export_function
def random_bernoulli(shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None) -> Any:
    """Draws random numbers 1, with a probability, and 0.

    Args:
      shape: Shape of the result.
      p: Probability of 1.
      dtype: Type of the result; default: `floatx()`.
      seed: Seed of the random numbers.
    """
    drawn = function("random.uniform")(shape, seed=seed)
    return cast(op("LessEqual", drawn, convert_to_tensor(float(p))), dtype or setting("float"))


keras_export("backend.random_binomial")(random_bernoulli)


@export_function
def is_sparse(tensor: TensorLike) -> bool:
    """Returns whether a tensor is sparse.

    Args:
      tensor: A tensor.
    """
    return isinstance(tensor, SparseTensor)


@export_function
def to_dense(tensor: TensorLike) -> Any:
    """Converts a sparse tensor to a dense one; returns others unchanged.

    Args:
      tensor: A tensor.
    """
    return function("sparse.to_dense")(tensor) if is_sparse(tensor) else tensor


def _flat(lengths):
    return op("Reshape", cast(lengths, "int32"), [-1])


def _by_time(shares):
    """Logits [time, batch, classes] of probabilities [batch, time, classes]."""
    return op("Log", op("Transpose", convert_to_tensor(shares), [1, 0, 2]) + 1e-7)


@export("keras.backend.ctc_batch_cost")
def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: TensorLike) -> Any:
    """Returns the CTC loss of each example.

    Args:
      y_true: Labels [batch, most labels].
      y_pred: Probabilities [batch, time, classes].
      input_length: Number of steps of each example, [batch, 1].
      label_length: Number of labels of each example, [batch, 1].

    Returns:
      A tensor [batch, 1].
    """
    labels = ctc_label_dense_to_sparse(cast(y_true, "int32"), _flat(label_length))
    return op("ExpandDims", ctc.ctc_loss(labels, _by_time(y_pred), _flat(input_length)), 1)


@export("keras.backend.ctc_decode")
def ctc_decode(
    y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> Any:
    """Decodes probabilities with CTC.

    Args:
      y_pred: Probabilities [batch, time, classes].
      input_length: Number of steps of each example.
      greedy: Take the best class of each step, instead of a beam search.
      beam_width: Number of candidates of the beam search.
      top_paths: Number of sequences to return.

    Returns:
      A list of label tensors, filled with -1, and the scores.
    """
    logits, lengths = _by_time(y_pred), _flat(input_length)
    if greedy:
        result, scores = ctc.ctc_greedy_decoder(logits, lengths)
    else:
        result, scores = ctc.ctc_beam_search_decoder_v2(logits, lengths, beam_width, top_paths)
    wide = op("Shape", y_pred, out_type="int64")[:2]
    return [
        sparse_tensor_to_dense(SparseTensor(f.indices, f.values, wide), -1) for f in result
    ], scores


@export("keras.backend.ctc_label_dense_to_sparse")
def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: Any) -> Any:
    """Returns labels as a sparse tensor.

    Args:
      labels: Tensor [batch, most labels].
      label_lengths: Number of labels of each example.
    """
    return ctc.sparse(labels, cast(label_lengths, "int32"))
