# SPDX-License-Identifier: Apache-2.0
"""losses.py: tf.losses of TensorFlow 1: weighted losses, collected in the graph."""

from __future__ import annotations

from situ._src.framework import api
from situ._src.framework.api import OPS, V1, export
from situ._src.framework.graph import GraphKeys, get_default_graph, scope
from situ._src.framework.scopes import control_dependencies
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.math_ops import add_n
from situ._src.ops.weights_broadcast_ops import (
    assert_broadcastable,
    remove_squeezable_dimensions,
    squeeze_weights,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Axis, Tensor, TensorLike


class Reduction:
    """How weighted losses are reduced to one."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls):
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key):
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


V1["losses.Reduction"] = Reduction


def _sum(x):
    return op("Sum", x)


def _function(name, op_name):
    """Returns the function of tf.nn, or else that of the op."""
    return V1.get(name) or api.BOTH.get(name) or OPS[op_name]


@export(v1="losses.add_loss")
def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to the collection of losses.

    Args:
      loss: The loss, a scalar.
      loss_collection: The collection to which the loss is added.
    """
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


@export(v1="losses.get_losses")
def get_losses(scope: Any = None, loss_collection: str | None = GraphKeys.LOSSES) -> Tensor:
    """Returns the losses of the collection.

    Args:
      scope: The name scope of the operations, or of the losses to return (optional).
      loss_collection: The collection to which the loss is added.
    """
    return get_default_graph().get_collection(loss_collection, scope)


@export(v1="losses.get_regularization_losses")
def get_regularization_losses(scope: Any = None) -> Tensor:
    """Returns the regularization losses of the graph.

    Args:
      scope: The name scope of the operations, or of the losses to return (optional).
    """
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@export(v1="losses.get_regularization_loss")
def get_regularization_loss(
    scope: Any = None, name: str | None = "total_regularization_loss"
) -> Tensor:
    """Returns the sum of the regularization losses.

    Args:
      scope: The name scope of the operations, or of the losses to return (optional).
      name: A name for the operation (optional).
    """
    found = get_regularization_losses(scope)
    return add_n(found, name=name) if found else convert_to_tensor(0.0)


@export(v1="losses.get_total_loss")
def get_total_loss(
    add_regularization_losses: bool = True, name: str | None = "total_loss", scope: Any = None
) -> Tensor:
    """Returns the sum of all losses of the collection, and of the regularization losses.

    Args:
      add_regularization_losses: Whether to add the regularization losses.
      name: A name for the operation (optional).
      scope: The name scope of the operations, or of the losses to return (optional).
    """
    found = get_losses(scope)
    if add_regularization_losses:
        found = found + get_regularization_losses(scope)
    if not found:
        raise ValueError("No losses to sum: the collection is empty.")
    return add_n(found, name=name)


def _broadcast_weights(weights, losses):
    """Broadcasts weights to the shape of the losses."""
    return weights * op("OnesLike", losses)


def _count_nonzero_weights(losses, weights):
    """Counts the losses with a nonzero weight."""
    ones = _broadcast_weights(
        cast(op("NotEqual", weights, op("ZerosLike", weights)), losses.dtype), losses
    )
    return _sum(ones)


def _quotient(sums, count):
    return op("DivNoNan", sums, count, name="value")


def _reduced(losses, weights, reduction):
    """Returns the weighted losses, reduced."""
    weighted = losses * weights
    if reduction == Reduction.NONE:
        return weighted
    loss = _sum(weighted)
    if reduction == Reduction.MEAN:
        return _quotient(loss, _sum(_broadcast_weights(weights, losses)))
    if reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
        return _quotient(loss, _count_nonzero_weights(losses, weights))
    if reduction == Reduction.SUM_OVER_BATCH_SIZE:
        return _quotient(loss, cast(op("Size", losses), "float32"))
    return loss


@export(v1="losses.compute_weighted_loss")
def compute_weighted_loss(
    losses: Any,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str | None = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Multiplies losses by weights, reduces them and adds the result to the collection.

    Args:
      losses: A tensor of losses.
      weights: A scalar, or a tensor that broadcasts to `losses`.
      scope: A name scope.
      loss_collection: The collection, or None.
      reduction: A tf.losses.Reduction.

    Returns:
      A scalar, or a tensor of the shape of `losses` for Reduction.NONE.

    Raises:
      ValueError: If the weights do not broadcast.
    """
    Reduction.validate(reduction)
    with _scope(scope, "weighted_loss"):
        losses = convert_to_tensor(losses)
        kind = losses.dtype
        losses, weights = cast(losses, "float32"), cast(convert_to_tensor(weights), "float32")
        with control_dependencies(assert_broadcastable(weights, losses)):
            loss = _reduced(losses, weights, reduction)
        loss = cast(loss, kind)
        add_loss(loss, loss_collection)
        return loss


_scope = scope


def _pair(labels, predictions):
    if labels is None:
        raise ValueError("labels must not be None.")
    if predictions is None:
        raise ValueError("predictions must not be None.")
    predictions = cast(convert_to_tensor(predictions), "float32")
    labels = cast(convert_to_tensor(labels), "float32")
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


def _pairwise(name, more=None):
    """Decorates an element-wise loss of labels and predictions; `more` names another parameter."""
    order = ("weights", *([more] if more else []), "scope", "loss_collection", "reduction")

    def wrap(compute):
        @export(v1="losses." + name)
        def loss(labels, predictions, *args, **kwargs):
            if len(args) > len(order):
                raise TypeError(f"{name}() takes at most {len(order) + 2} arguments")
            kwargs.update(zip(order, args))
            given = {more: kwargs.pop(more)} if more in kwargs else {}
            with _scope(kwargs.pop("scope", None), name) as full:
                labels, predictions = _pair(labels, predictions)
                return compute_weighted_loss(
                    compute(labels, predictions, **given),
                    kwargs.pop("weights", 1.0),
                    full,
                    **kwargs,
                )

        loss.__name__, loss.__doc__ = name, compute.__doc__
        return loss

    return wrap


@_pairwise("mean_squared_error")
def mean_squared_error(labels, predictions):
    """Computes the weighted mean of `(predictions - labels) ** 2`.

    Args:
      labels: The labels.
      predictions: The predictions, of the same shape.
    """
    return op("SquaredDifference", predictions, labels)


@_pairwise("absolute_difference")
def absolute_difference(labels, predictions):
    """Computes the weighted mean of `|predictions - labels|`.

    Args:
      labels: The labels.
      predictions: The predictions, of the same shape.
    """
    return op("Abs", predictions - labels)


@_pairwise("log_loss", "epsilon")
def log_loss(labels, predictions, epsilon=1e-7):
    """Computes the weighted mean of the cross-entropy of probabilities.

    Args:
      labels: The labels.
      predictions: The predictions, of the same shape.
      epsilon: Added inside of logarithms.
    """
    return op("Neg", labels * op("Log", predictions + epsilon)) - (1.0 - labels) * op(
        "Log", 1.0 - predictions + epsilon
    )


@_pairwise("huber_loss", "delta")
def huber_loss(labels, predictions, delta=1.0):
    """Computes the weighted mean of a loss that is quadratic up to `delta` and linear above.

    Args:
      labels: The labels.
      predictions: The predictions, of the same shape.
      delta: Where the loss becomes linear.
    """
    error = op("Abs", predictions - labels)
    quadratic = op("Minimum", error, cast(delta, "float32"))
    return 0.5 * quadratic * quadratic + delta * (error - quadratic)


@export(v1="losses.mean_pairwise_squared_error")
def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """Computes the mean squared error of the differences of all pairs of elements of an example.

    Args:
      labels: The labels.
      predictions: The predictions, of the same shape.
      weights: Weights of the losses, which broadcast to them.
      scope: The name scope of the operations, or of the losses to return (optional).
      loss_collection: The collection to which the loss is added.
    """
    with _scope(scope, "mean_pairwise_squared_error"):
        labels, predictions = _pair(labels, predictions)
        apart = predictions - labels
        weights = cast(convert_to_tensor(weights), "float32")
        with control_dependencies(assert_broadcastable(weights, apart)):
            weights = op("Identity", weights)
        axes = op("Range", 1, op("Rank", apart), 1)
        count = op(
            "Sum",
            _broadcast_weights(cast(op("NotEqual", weights, 0.0), "float32"), apart),
            axes,
            True,
        )
        squares = op("DivNoNan", op("Sum", op("Square", apart), axes, True), count - 1.0)
        square = op("DivNoNan", op("Square", op("Sum", apart, axes, True)), count * (count - 1.0))
        loss = op("Sum", 2.0 * (squares - square) * weights, name="value")
        add_loss(loss, loss_collection)
        return loss


@export(v1="losses.hinge_loss")
def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str | None = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Computes the weighted mean of `max(0, 1 - logits * labels)`, with labels 0 and 1 mapped to
    -1 and 1.

    Args:
      labels: The labels.
      logits: The logits.
      weights: Weights of the losses, which broadcast to them.
      scope: The name scope of the operations, or of the losses to return (optional).
      loss_collection: The collection to which the loss is added.
      reduction: How the losses are reduced, see `tf.losses.Reduction`.
    """
    with _scope(scope, "hinge_loss") as full:
        labels, logits = _pair(labels, logits)
        losses = op("Relu", 1.0 - (2.0 * labels - 1.0) * logits)
        return compute_weighted_loss(losses, weights, full, loss_collection, reduction)


@export(v1="losses.cosine_distance")
def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: Axis = None,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str | None = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: TensorLike = None,
) -> Tensor:
    """Computes `1 - sum(labels * predictions)` along an axis.

    Args:
      labels: The labels.
      predictions: The predictions, of the same shape.
      axis: The axis.
      weights: Weights of the losses, which broadcast to them.
      scope: The name scope of the operations, or of the losses to return (optional).
      loss_collection: The collection to which the loss is added.
      reduction: How the losses are reduced, see `tf.losses.Reduction`.
      dim: A deprecated name of `axis`.
    """
    with _scope(scope, "cosine_distance_loss") as full:
        labels, predictions = _pair(labels, predictions)
        axis = dim if axis is None else axis
        losses = 1.0 - op("Sum", labels * predictions, axis, True)
        return compute_weighted_loss(losses, weights, full, loss_collection, reduction)


@export(v1="losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: Any = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str | None = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Computes the weighted sigmoid cross-entropy, with optional label smoothing.

    Args:
      multi_class_labels: The labels, from 0 to 1.
      logits: The logits.
      weights: Weights of the losses, which broadcast to them.
      label_smoothing: The part of the labels that is distributed evenly.
      scope: The name scope of the operations, or of the losses to return (optional).
      loss_collection: The collection to which the loss is added.
      reduction: How the losses are reduced, see `tf.losses.Reduction`.
    """
    with _scope(scope, "sigmoid_cross_entropy_loss") as full:
        logits = convert_to_tensor(logits)
        labels = cast(convert_to_tensor(multi_class_labels), logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = (
            op("Relu", logits)
            - logits * labels
            + op("Log1p", op("Exp", op("Neg", op("Abs", logits))))
        )
        return compute_weighted_loss(losses, weights, full, loss_collection, reduction)


@export(v1="losses.softmax_cross_entropy")
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: Any = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str | None = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Computes the weighted softmax cross-entropy with one-hot labels.

    Args:
      onehot_labels: One-hot labels.
      logits: The logits.
      weights: Weights of the losses, which broadcast to them.
      label_smoothing: The part of the labels that is distributed evenly.
      scope: The name scope of the operations, or of the losses to return (optional).
      loss_collection: The collection to which the loss is added.
      reduction: How the losses are reduced, see `tf.losses.Reduction`.
    """
    with _scope(scope, "softmax_cross_entropy_loss") as full:
        logits = convert_to_tensor(logits)
        labels = cast(convert_to_tensor(onehot_labels), logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = cast(labels.shape.as_list()[1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = op("StopGradient", labels)
        losses = _function(
            "nn.softmax_cross_entropy_with_logits_v2", "SoftmaxCrossEntropyWithLogits"
        )
        result = (
            losses(labels=labels, logits=logits, name="xentropy")
            if losses is not OPS["SoftmaxCrossEntropyWithLogits"]
            else losses(logits, labels)[0]
        )
        return compute_weighted_loss(result, weights, full, loss_collection, reduction)


@export(v1="losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: Any = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str | None = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Computes the weighted softmax cross-entropy with class indices.

    Args:
      labels: The labels.
      logits: The logits.
      weights: Weights of the losses, which broadcast to them.
      scope: The name scope of the operations, or of the losses to return (optional).
      loss_collection: The collection to which the loss is added.
      reduction: How the losses are reduced, see `tf.losses.Reduction`.
    """
    with _scope(scope, "sparse_softmax_cross_entropy_loss") as full:
        labels, logits = remove_squeezable_dimensions(labels, logits, 1)
        weights = squeeze_weights(weights, labels)
        row = OPS["SparseSoftmaxCrossEntropyWithLogits"]
        function = _function(
            "nn.sparse_softmax_cross_entropy_with_logits", "SparseSoftmaxCrossEntropyWithLogits"
        )
        losses = (
            row(logits, labels)[0]
            if function is row
            else function(labels=labels, logits=logits, name="xentropy")
        )
        return compute_weighted_loss(losses, weights, full, loss_collection, reduction)
