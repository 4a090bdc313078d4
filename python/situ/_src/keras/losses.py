# SPDX-License-Identifier: Apache-2.0
"""losses.py: the loss functions of tf.keras.losses; each returns one value per example."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import export
from situ._src.framework.api import named as function
from situ._src.keras.context import set_mask
from situ._src.keras.registry import Registry
from situ._src.ops.array_ops import cast, convert_to_tensor, op

KIND = Registry("loss function", {})
EPSILON = 1e-7
_PARAMETER_DOCS = {
    "from_logits": "Whether predictions are logits rather than probabilities.",
    "label_smoothing": "Between 0 and 1; moves that much of the labels to a uniform distribution.",
    "axis": "The axis or axes that the function reduces.",
    "apply_class_balancing": "Whether to weight the classes by alpha and 1 - alpha.",
    "alpha": "Weight of the classes, or of false negatives (Tversky).",
    "beta": "Weight of false positives.",
    "gamma": "Focusing parameter; 0 gives the plain cross-entropy.",
    "ignore_class": "A class id whose examples are left out.",
    "delta": "The error at which the loss becomes linear.",
    "threshold": "Predictions above it are class 1.",
    "k": "Number of predictions to look at.",
    "from_sorted_ids": "Whether predictions are class ids, the best first, rather than scores.",
    "reduction": '"auto", "sum_over_batch_size" (both the mean), "sum" or "none".',
    "name": "Name of the object.",
    "dtype": "Type of the computation of a loss, or of the state of a metric.",
}


def class_doc(function, defaults, call_arguments, summary="{}"):
    """Returns the doc string of the loss or metric class of a function."""
    first = (function.__doc__ or function.__name__).split("\n")[0]
    lines = [summary.format(first), "", "Args:"]
    lines += [f"  {name}: {_PARAMETER_DOCS[name]}" for name in defaults]
    return "\n".join([*lines, "", "Call arguments:", *call_arguments, ""])


def named(*names, metric=True):
    """Registers a loss function and exports it under tf.keras.losses and, unless metric is False,
    tf.keras.metrics.
    """

    def record(thing):
        KIND.add(thing, *names)
        places = ["keras.losses.", "python.keras.losses."] + (
            ["keras.metrics.", "python.keras.metrics."] if metric else []
        )
        export(*[p + n for p in places for n in names])(thing)
        export(
            v2=["losses." + n for n in names] + (["metrics." + n for n in names] if metric else [])
        )(thing)
        return thing

    return record


def mean_last(x):
    """Returns the mean over the last axis."""
    return op("Mean", x, [-1])


def cast_labels(y_true, y_pred):
    """Returns (labels cast to the type of the predictions, predictions)."""
    y_pred = convert_to_tensor(y_pred)
    y_true = convert_to_tensor(y_true)
    return cast(y_true, y_pred.dtype), y_pred


def squeeze_or_expand(x, y, expand_rank_1=True):
    """Makes the ranks of two tensors equal where they differ by a last dimension of size 1.

    A tensor of rank 1 is expanded (if expand_rank_1), otherwise the larger tensor is squeezed.
    """
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    ranks = x.shape.rank, y.shape.rank
    if None in ranks or abs(ranks[0] - ranks[1]) != 1:
        return x, y
    large, small = (x, y) if ranks[0] > ranks[1] else (y, x)
    if large.shape.as_list()[-1] == 1:
        if small.shape.rank == 1 and expand_rank_1:
            small = op("ExpandDims", small, -1)
        else:
            large = op("Squeeze", large, [-1])
    return (large, small) if ranks[0] > ranks[1] else (small, large)


def match_labels(y_true, y_pred):
    """Returns (labels, predictions) with the labels cast and reshaped to match the predictions."""
    return squeeze_or_expand(*cast_labels(y_true, y_pred))


def _shapes_differ(y_true, y_pred, text, last=""):
    """Returns the ValueError for incompatible shapes of labels and predictions."""
    return ValueError(
        f"{text} Received: target.shape={y_true.shape}, output.shape={y_pred.shape}{last}"
    )


def check_shapes(y_true, y_pred):
    """Raises a ValueError if the labels of a cross-entropy cannot have the shape of the
    predictions.
    """
    if None in (y_true.shape.rank, y_pred.shape.rank):
        return
    if not y_true.shape.is_compatible_with(y_pred.shape):
        quantity = "shape" if y_true.shape.rank == y_pred.shape.rank else "rank (ndim)"
        raise _shapes_differ(
            y_true,
            y_pred,
            f"Arguments `target` and `output` must have the same {quantity}.",
            f". Shapes {y_true.shape} and {y_pred.shape} are incompatible",
        )


def _check_classes(y_true, y_pred):
    """Raises a ValueError if class ids do not have the shape of the predictions without the last
    axis.
    """
    if None in (y_true.shape.rank, y_pred.shape.rank):
        return
    if y_pred.shape.rank < 1 or y_true.shape.rank != y_pred.shape.rank - 1:
        raise _shapes_differ(
            y_true, y_pred, "Argument `output` must have rank (ndim) `target.ndim - 1`."
        )
    if not y_true.shape.is_compatible_with(y_pred.shape[:-1]):
        raise _shapes_differ(
            y_true,
            y_pred,
            "Arguments `target` and `output` must have the same shape up until the last dimension.",
        )


@named("mean_squared_error", "mse", "MSE")
def mean_squared_error(y_true: Any, y_pred: Any):
    """Mean squared error: `mean(square(y_true - y_pred), axis=-1)`.

    Args:
      y_true: Labels, of shape `(batch, ..., n)`.
      y_pred: Predictions, of the same shape.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = match_labels(y_true, y_pred)
    return mean_last(op("SquaredDifference", y_pred, y_true))


@named("mean_absolute_error", "mae", "MAE")
def mean_absolute_error(y_true: Any, y_pred: Any):
    """Mean absolute error: `mean(abs(y_true - y_pred), axis=-1)`.

    Args:
      y_true: Labels, of shape `(batch, ..., n)`.
      y_pred: Predictions, of the same shape.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = match_labels(y_true, y_pred)
    return mean_last(op("Abs", y_pred - y_true))


@named("mean_absolute_percentage_error", "mape", "MAPE")
def mean_absolute_percentage_error(y_true: Any, y_pred: Any):
    """Mean absolute percentage error: `100 * mean(abs((y_true - y_pred) / y_true), axis=-1)`.

    Args:
      y_true: Labels, of shape `(batch, ..., n)`.
      y_pred: Predictions, of the same shape.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = match_labels(y_true, y_pred)
    size = op("Maximum", op("Abs", y_true), cast(EPSILON, y_true.dtype))
    return 100.0 * mean_last(op("Abs", (y_true - y_pred) / size))


@named("mean_squared_logarithmic_error", "msle", "MSLE")
def mean_squared_logarithmic_error(y_true: Any, y_pred: Any):
    """Mean squared logarithmic error: `mean(square(log(y_true + 1) - log(y_pred + 1)), axis=-1)`.

    Args:
      y_true: Labels, of shape `(batch, ..., n)`.
      y_pred: Predictions, of the same shape.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = match_labels(y_true, y_pred)
    small = cast(EPSILON, y_pred.dtype)
    first = op("Log", op("Maximum", y_pred, small) + 1.0)
    second = op("Log", op("Maximum", y_true, small) + 1.0)
    return mean_last(op("SquaredDifference", first, second))


def _to_signs(y_true):
    """Converts labels in {0, 1} to {-1, 1}; other labels stay."""
    zero, one = (
        op("Equal", y_true, cast(0, y_true.dtype)),
        op("Equal", y_true, cast(1, y_true.dtype)),
    )
    binary = op("All", op("LogicalOr", zero, one), list(range(y_true.shape.rank)))
    return op("SelectV2", binary, 2.0 * y_true - 1.0, y_true)


@named("hinge")
def hinge(y_true: Any, y_pred: Any):
    """Hinge loss: `mean(maximum(1 - y_true * y_pred, 0), axis=-1)`.

    Args:
      y_true: Labels: -1 and 1, or 0 and 1, which are converted.
      y_pred: Predictions, of the same shape.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    return mean_last(op("Relu", 1.0 - _to_signs(y_true) * y_pred))


@named("squared_hinge")
def squared_hinge(y_true: Any, y_pred: Any):
    """Squared hinge loss: `mean(square(maximum(1 - y_true * y_pred, 0)), axis=-1)`.

    Args:
      y_true: Labels: -1 and 1, or 0 and 1, which are converted.
      y_pred: Predictions, of the same shape.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    return mean_last(op("Square", op("Relu", 1.0 - _to_signs(y_true) * y_pred)))


@named("categorical_hinge")
def categorical_hinge(y_true: Any, y_pred: Any):
    """Categorical hinge loss: `maximum(1 + largest wrong score - right score, 0)`.

    Args:
      y_true: One-hot labels, of shape `(batch, ..., classes)`.
      y_pred: Predictions, of the same shape.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    right = op("Sum", y_true * y_pred, [-1])
    wrong = op("Max", (1.0 - y_true) * y_pred, [-1])
    return op("Relu", wrong - right + 1.0)


@named("huber", "huber_loss")
def huber(y_true: Any, y_pred: Any, delta: Any = 1.0):
    """Huber loss: quadratic for errors up to delta, linear above.

    Args:
      y_true: Labels, of shape `(batch, ..., n)`.
      y_pred: Predictions, of the same shape.
      delta: The error at which the loss becomes linear.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = match_labels(y_true, y_pred)
    error = op("Abs", y_pred - y_true)
    near = op("LessEqual", error, cast(delta, error.dtype))
    return mean_last(
        op("SelectV2", near, 0.5 * op("Square", error), delta * error - 0.5 * delta * delta)
    )


@named("log_cosh", "logcosh")
def log_cosh(y_true: Any, y_pred: Any):
    """Mean of the logarithm of the hyperbolic cosine of the error.

    Args:
      y_true: Labels, of shape `(batch, ..., n)`.
      y_pred: Predictions, of the same shape.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = match_labels(y_true, y_pred)
    x = y_pred - y_true
    return mean_last(x + op("Softplus", -2.0 * x) - 0.6931471805599453)


@named("poisson")
def poisson(y_true: Any, y_pred: Any):
    """Poisson loss: `mean(y_pred - y_true * log(y_pred), axis=-1)`.

    Args:
      y_true: Labels, of shape `(batch, ..., n)`.
      y_pred: Predictions, of the same shape.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    return mean_last(y_pred - y_true * op("Log", y_pred + EPSILON))


@named("kl_divergence", "kullback_leibler_divergence", "kld", "KLD")
def kl_divergence(y_true: Any, y_pred: Any):
    """Kullback-Leibler divergence: `sum(y_true * log(y_true / y_pred), axis=-1)`.

    Args:
      y_true: Probabilities, of shape `(batch, ..., n)`.
      y_pred: Predicted probabilities, of the same shape.

    Returns:
      Tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    y_true, y_pred = _clip(y_true, 1.0), _clip(y_pred, 1.0)
    return op("Sum", y_true * op("Log", y_true / y_pred), [-1])


@named("cosine_similarity", "cosine_proximity", "cosine", metric=True)
def cosine_similarity(y_true: Any, y_pred: Any, axis: Any = -1):
    """Negative cosine similarity of labels and predictions: -1 for equal directions.

    Args:
      y_true: Labels.
      y_pred: Predictions, of the same shape.
      axis: The axis of the vectors.

    Returns:
      Tensor without that axis.
    """
    y_true, y_pred = match_labels(y_true, y_pred)
    unit = function("nn.l2_normalize")
    return -op("Sum", unit(y_true, axis=axis) * unit(y_pred, axis=axis), [axis])


def _clip(x, top=None):
    """Clips x to [EPSILON, top]; top is 1 - EPSILON by default."""
    high = 1.0 - EPSILON if top is None else top
    return op("ClipByValue", x, cast(EPSILON, x.dtype), cast(high, x.dtype))


def _logits_of(y_pred, row):
    """Returns the input of the softmax or sigmoid op that computed y_pred, or None.

    The gradient of the loss of logits is numerically better than that of probabilities.
    """
    if hasattr(y_pred, "op") and hasattr(y_pred, "graph") and y_pred.op.type == row:
        return y_pred.op.inputs[0]
    return None


def _smooth_labels(y_true, smoothing, classes):
    """Mixes labels with a uniform distribution over the classes."""
    return y_true if not smoothing else y_true * (1.0 - smoothing) + smoothing / classes


@named("categorical_crossentropy")
def categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: Any = -1,
):
    """Cross-entropy of one-hot labels and predicted probabilities.

    Args:
      y_true: One-hot labels, of shape `(batch, ..., classes)`.
      y_pred: Predicted probabilities or logits, of the same shape.
      from_logits: Whether y_pred holds logits rather than probabilities.
      label_smoothing: Between 0 and 1; moves that much of the labels to a uniform distribution.
      axis: The axis of the classes.

    Returns:
      Tensor without the axis of the classes.

    Raises:
      ValueError: If the shapes are incompatible.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    check_shapes(y_true, y_pred)
    y_true = _smooth_labels(y_true, label_smoothing, y_true.shape.as_list()[-1])
    logits = y_pred if from_logits else _logits_of(y_pred, "Softmax")
    if logits is not None and (from_logits or axis in (-1, y_pred.shape.rank - 1)):
        return function("nn.softmax_cross_entropy_with_logits")(
            labels=y_true, logits=logits, axis=axis
        )
    share = _clip(y_pred / op("Sum", y_pred, [axis], keep_dims=True))
    return -op("Sum", y_true * op("Log", share), [axis])


@named("sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    ignore_class: int | None = None,
    axis: Any = -1,
):
    """Cross-entropy of integer class ids and predicted probabilities.

    Args:
      y_true: Class ids, of shape `(batch, ...)` or `(batch, ..., 1)`.
      y_pred: Predicted probabilities or logits, of shape `(batch, ..., classes)`.
      from_logits: Whether y_pred holds logits rather than probabilities.
      ignore_class: A class id whose examples have no loss and do not count in the mean.
      axis: The axis of the classes; only the last one is supported.

    Returns:
      Tensor of shape `(batch, ...)`.

    Raises:
      ValueError: If the shapes are incompatible, or axis is not the last one.
    """
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if axis not in (-1, (y_pred.shape.rank or 0) - 1):
        raise ValueError(f"Only axis=-1 is currently supported. Received: axis={axis}")
    if (
        y_true.shape.rank == y_pred.shape.rank
        and y_true.shape.rank
        and y_true.shape.as_list()[-1] == 1
    ):
        y_true = op("Squeeze", y_true, [-1])
    _check_classes(y_true, y_pred)
    labels = y_true if y_true.dtype.name in ("int32", "int64") else cast(y_true, "int64")
    logits = y_pred if from_logits else _logits_of(y_pred, "Softmax")
    if logits is None:
        logits = op("Log", _clip(y_pred))
    kept = None
    if ignore_class is not None:
        kept = op("NotEqual", labels, cast(ignore_class, labels.dtype))
        labels = op("SelectV2", kept, labels, op("ZerosLike", labels))
    loss = function("nn.sparse_softmax_cross_entropy_with_logits")(labels=labels, logits=logits)
    if kept is None:
        return loss
    loss = op("SelectV2", kept, loss, op("ZerosLike", loss))
    set_mask(loss, kept)  # a mean is that of the other classes
    return loss


@named("binary_crossentropy")
def binary_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: Any = -1,
):
    """Cross-entropy of binary labels and predicted probabilities, averaged over an axis.

    Args:
      y_true: Labels, 0 or 1.
      y_pred: Predicted probabilities or logits, of the same shape.
      from_logits: Whether y_pred holds logits rather than probabilities.
      label_smoothing: Between 0 and 1; moves labels towards 0.5.
      axis: The axis of the mean.

    Returns:
      Tensor without that axis.

    Raises:
      ValueError: If the shapes are incompatible.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    check_shapes(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    logits = y_pred if from_logits else _logits_of(y_pred, "Sigmoid")
    if logits is not None:
        each = function("nn.sigmoid_cross_entropy_with_logits")(labels=y_true, logits=logits)
    else:
        y_pred = _clip(y_pred)
        each = -(y_true * op("Log", y_pred) + (1.0 - y_true) * op("Log", 1.0 - y_pred))
    return op("Mean", each, [axis])


@named("binary_focal_crossentropy")
def binary_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: Any = -1,
):
    """Binary cross-entropy weighted by `(1 - p) ** gamma`, where p is the probability of the label.

    Args:
      y_true: Labels, 0 or 1.
      y_pred: Predicted probabilities or logits, of the same shape.
      apply_class_balancing: Whether to weight the classes by alpha and 1 - alpha.
      alpha: Weight of class 1.
      gamma: Focusing parameter; 0 gives the plain cross-entropy.
      from_logits: Whether y_pred holds logits rather than probabilities.
      label_smoothing: Between 0 and 1; moves labels towards 0.5.
      axis: The axis of the mean.

    Returns:
      Tensor without that axis.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    check_shapes(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    y_pred = op("Sigmoid", y_pred) if from_logits else y_pred
    share = _clip(y_pred)
    each = -(y_true * op("Log", share) + (1.0 - y_true) * op("Log", 1.0 - share))
    right = y_true * y_pred + (1.0 - y_true) * (1.0 - y_pred)
    each = op("Pow", 1.0 - right, cast(gamma, each.dtype)) * each
    if apply_class_balancing:
        each = (y_true * alpha + (1.0 - y_true) * (1.0 - alpha)) * each
    return op("Mean", each, [axis])


@named("categorical_focal_crossentropy")
def categorical_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: Any = -1,
):
    """Categorical cross-entropy weighted by `alpha * (1 - p) ** gamma`.

    Args:
      y_true: One-hot labels, of shape `(batch, ..., classes)`.
      y_pred: Predicted probabilities or logits, of the same shape.
      alpha: Weight of each class: a number, or one per class.
      gamma: Focusing parameter; 0 gives the plain cross-entropy.
      from_logits: Whether y_pred holds logits rather than probabilities.
      label_smoothing: Between 0 and 1; moves that much of the labels to a uniform distribution.
      axis: The axis of the classes.

    Returns:
      Tensor without the axis of the classes.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    y_true = _smooth_labels(y_true, label_smoothing, y_true.shape.as_list()[-1])
    if from_logits:
        y_pred = function("nn.softmax")(y_pred, axis=axis)
    share = _clip(y_pred / op("Sum", y_pred, [axis], keep_dims=True))
    factor = op("Pow", 1.0 - share, cast(gamma, share.dtype)) * cast(alpha, share.dtype)
    return op("Sum", factor * -y_true * op("Log", share), [axis])


def _sum_over(x, axis):
    return op("Sum", x) if axis is None else op("Sum", x, axis)


@named("dice", metric=False)
def dice(y_true: Any, y_pred: Any, axis: Any = None):
    """Dice loss: `1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred))`.

    Args:
      y_true: Labels.
      y_pred: Predictions, of the same shape.
      axis: The axes to sum over; None: all.

    Returns:
      Tensor without these axes.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    shared = _sum_over(y_true * y_pred, axis)
    return 1.0 - 2.0 * shared / (_sum_over(y_true, axis) + _sum_over(y_pred, axis) + EPSILON)


@named("tversky", metric=False)
def tversky(y_true: Any, y_pred: Any, alpha: float = 0.5, beta: float = 0.5, axis: Any = None):
    """Tversky loss: 1 - the Tversky index, a Dice loss that weights both kinds of errors.

    Args:
      y_true: Labels.
      y_pred: Predictions, of the same shape.
      alpha: Weight of false negatives.
      beta: Weight of false positives.
      axis: The axes to sum over; None: all.

    Returns:
      Tensor without these axes.
    """
    y_true, y_pred = cast_labels(y_true, y_pred)
    shared = _sum_over(y_true * y_pred, axis)
    only_true = _sum_over((1.0 - y_pred) * y_true, axis)
    only_pred = _sum_over(y_pred * (1.0 - y_true), axis)
    return 1.0 - shared / (shared + only_true * alpha + only_pred * beta + EPSILON)


def _pair_masks(labels, others, is_diagonal_removed):
    """Returns the masks of pairs of equal and of different labels."""
    labels, others = (op("Reshape", cast(x, "int32"), [-1]) for x in (labels, others))
    same = op("Equal", op("ExpandDims", labels, 1), op("ExpandDims", others, 0))
    different = op("LogicalNot", same)
    if is_diagonal_removed:
        rows, columns = op("Shape", labels)[0], op("Shape", others)[0]
        eye = function("eye")(rows, columns, dtype="bool")
        same = op("LogicalAnd", same, op("LogicalNot", eye))
    return same, different


@named("circle", metric=False)
def circle(
    y_true: Any,
    y_pred: Any,
    ref_labels: Any = None,
    ref_embeddings: Any = None,
    remove_diagonal: bool = True,
    gamma: Any = 80,
    margin: Any = 0.4,
):
    """Circle loss of embeddings of length 1: small distances within a class, large ones between
    classes. Examples with a loss of 0 are masked.

    Args:
      y_true: Integer labels.
      y_pred: Embeddings.
      ref_labels: Labels of the embeddings to compare with; default: y_true.
      ref_embeddings: Embeddings to compare with; default: y_pred.
      remove_diagonal: Whether an embedding is not compared with that of the same index.
      gamma: Scale of the loss.
      margin: Relaxation factor.

    Returns:
      Tensor with one value per example.
    """
    y_pred = convert_to_tensor(y_pred)
    others = y_pred if ref_embeddings is None else convert_to_tensor(ref_embeddings, y_pred.dtype)
    labels = y_true if ref_labels is None else ref_labels
    distances = 1.0 - op("MatMul", y_pred, others, transpose_b=True)
    distances = op("Maximum", distances, convert_to_tensor(0.0, distances.dtype))
    same, different = _pair_masks(y_true, labels, remove_diagonal)
    zero, least = (convert_to_tensor(v, distances.dtype) for v in (0.0, float("-inf")))
    near = op("Maximum", distances + margin, zero) * (distances - margin) * gamma
    far = op("Maximum", (1.0 + margin) - distances, zero) * ((1.0 - margin) - distances) * gamma
    parts = [
        function("reduce_logsumexp")(op("SelectV2", mask, value, least), axis=1)
        for mask, value in ((same, near), (different, far))
    ]
    result = op("Softplus", parts[0] + parts[1])
    set_mask(result, result > 0.0)
    return result


@named("categorical_generalized_cross_entropy", metric=False)
def categorical_generalized_cross_entropy(y_true: Any, y_pred: Any, q: Any):
    """Generalized cross entropy, `(1 - p ** q) / q` with the probability p of the true class, which
    noisy labels disturb less.

    Args:
      y_true: Class ids.
      y_pred: Probabilities of the classes.
      q: Between 0, cross entropy, and 1, absolute error.

    Returns:
      Tensor with one value per example.
    """
    y_pred = convert_to_tensor(y_pred)
    classes = op("Shape", y_pred)[y_pred.shape.rank - 1]
    hot = function("one_hot")(cast(y_true, "int32"), classes, dtype=y_pred.dtype)
    chosen = op("Sum", y_pred * hot, [-1])
    return (1.0 - op("Pow", chosen, convert_to_tensor(q, y_pred.dtype))) / q


@named("ctc", metric=False)
def ctc(y_true: Any, y_pred: Any):
    """Connectionist temporal classification: the loss of unaligned sequences of labels.

    Args:
      y_true: Labels of shape `(batch, length)`, with 0 as padding.
      y_pred: Scores of shape `(batch, steps, classes)`; class 0 is the blank.

    Returns:
      Tensor with one value per example.

    Raises:
      ValueError: If the ranks are wrong.
    """
    y_true, y_pred = cast(y_true, "int32"), convert_to_tensor(y_pred)
    if y_true.shape.rank != 2:
        raise ValueError(
            "Targets `y_true` must be a tensor of shape `(batch_size, max_length)` in integer "
            f"format. Received: y_true.shape={y_true.shape}"
        )
    if y_pred.shape.rank != 3:
        raise ValueError(
            "Logits `y_pred` must be a tensor of shape `(batch_size, max_length, num_classes)`. "
            f"Received: y_pred.shape={y_pred.shape}"
        )
    sizes = op("Shape", y_pred)
    lengths = op("Sum", cast(op("NotEqual", y_true, convert_to_tensor(0)), "int32"), [-1])
    steps = op("Fill", sizes[:1], sizes[1])
    return function("keras3.ops.ctc_loss")(y_true, y_pred, lengths, steps, mask_index=0)


KIND.export("losses")
