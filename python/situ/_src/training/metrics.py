# SPDX-License-Identifier: Apache-2.0
"""metrics.py: tf.metrics of graph style: a value, and an op that updates it with one more batch.

Means of values and errors, counts, precision and recall; class_metrics.py has those of
classes, threshold_metrics.py those over thresholds, top_k_metrics.py those of the k best classes.
"""

import inspect

import _situ
from situ._src.distribute.values import chosen
from situ._src.framework.api import V1
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.scopes import control_dependencies
from situ._src.ops import check_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, identity, op
from situ._src.ops.init_ops import Zeros
from situ._src.ops.weights_broadcast_ops import (
    broadcast_weights,
    match_weights,
    matched,
    remove_squeezable_dimensions,
)
from situ._src.variables.eager_variable import place
from situ._src.variables.synchronization import VariableAggregation, VariableSynchronization
from situ._src.variables.variable import variable
from situ._src.variables.variable_scope import variable_scope


def metric(function):
    """Decorator that exports a function under tf.metrics."""
    name, signature = function.__name__, inspect.signature(function)

    def checked(*args, **kwargs):
        if _situ.current_graph() is None:
            signature.bind(*args, **kwargs)  # reports wrong arguments before anything else
            raise RuntimeError(
                f"tf.metrics.{name} is not supported when eager execution is enabled."
            )
        return function(*args, **kwargs)

    checked.__name__, checked.__doc__ = name, function.__doc__
    checked.__signature__ = signature
    V1["metrics." + name] = checked
    return checked


def local(name, shape=(), dtype="float32"):
    """Creates a local variable of a metric."""
    return variable(
        lambda: Zeros()(list(shape), dtype=dtype),
        trainable=False,
        name=name,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.SUM,
    )


def ratio(top, bottom, name=None):
    """Computes top / bottom, 0 where bottom is not positive."""
    return op("DivNoNan", top, op("Maximum", bottom, cast(0, bottom.dtype)), name=name)


def finish(value, update, metrics_collections, updates_collections):
    """Returns (value, update) and adds them to the collections. All replicas of a strategy add to
    the same local variables, so they share one value."""
    graph = get_default_graph()
    if place.mode == "replica":
        value = place.run.merge(lambda _strategy, values: chosen(0, values), [value])
    for keys, tensor in ((metrics_collections, value), (updates_collections, update)):
        if keys:
            graph.add_to_collections(keys, tensor)
    return value, update


def _weighted(values, weights):
    """Returns (values as float, weights or None, weighted values)."""
    values = cast(convert_to_tensor(values), "float32")
    if weights is None:
        return values, None, values
    weights = broadcast_weights(cast(match_weights(weights, values), "float32"), values)
    return values, weights, values * weights


@metric
def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Computes the weighted mean of all values: (value, update op).

    Args:
      values: Tensor of values.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    with variable_scope(name, "mean"):
        total, count = local("total"), local("count")
        values, weights, product = _weighted(values, weights)
        size = cast(op("Size", values), "float32") if weights is None else op("Sum", weights)
        new_total = total.assign_add(op("Sum", product))
        with control_dependencies([product]):
            new_count = count.assign_add(size)
        return finish(
            ratio(total, count, "value"),
            ratio(new_total, new_count, "update_op"),
            metrics_collections,
            updates_collections,
        )


@metric
def mean_tensor(
    values, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """Computes the element-wise weighted mean of all batches: (value, update op).

    Args:
      values: Tensor of values.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    with variable_scope(name, "mean"):
        values, weights, product = _weighted(values, weights)
        shape = values.shape.as_list()
        total, count = local("total_tensor", shape), local("count_tensor", shape)
        new_total = total.assign_add(product)
        with control_dependencies([product]):
            new_count = count.assign_add(op("OnesLike", values) if weights is None else weights)
        return finish(
            ratio(total, count, "value"),
            ratio(new_total, new_count, "update_op"),
            metrics_collections,
            updates_collections,
        )


@metric
def percentage_below(
    values, threshold, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """Computes the fraction of values below a threshold: (value, update op).

    Args:
      values: Tensor of values.
      threshold: The threshold.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    values = convert_to_tensor(values)
    below = cast(op("Less", values, cast(convert_to_tensor(threshold), values.dtype)), "float32")
    return mean(
        below,
        weights,
        metrics_collections,
        updates_collections,
        name or "percentage_below_threshold",
    )


@metric
def accuracy(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """Computes how often predictions equal labels: (value, update op).

    Args:
      labels: The labels.
      predictions: The predictions.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    labels, predictions, weights = matched(labels, predictions, weights)
    right = cast(op("Equal", cast(predictions, labels.dtype), labels), "float32")
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


def _same_type(labels, predictions):
    """Converts labels and predictions to one dtype."""
    kinds = [labels.dtype, predictions.dtype]
    if kinds[0] == kinds[1]:
        return labels, predictions
    kind = predictions.dtype if predictions.dtype.is_floating else labels.dtype
    kind = kind if kind.is_floating else "float32"
    return cast(labels, kind), cast(predictions, kind)


@metric
def mean_squared_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The mean of (labels - predictions) squared.

    Args:
      labels: The labels.
      predictions: The predictions.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    labels, predictions, weights = matched(labels, predictions, weights)
    apart = op("SquaredDifference", *_same_type(labels, predictions))
    return mean(
        apart, weights, metrics_collections, updates_collections, name or "mean_squared_error"
    )


@metric
def mean_absolute_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The mean of |predictions - labels|.

    Args:
      labels: The labels.
      predictions: The predictions.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    labels, predictions, weights = matched(labels, predictions, weights)
    labels, predictions = _same_type(labels, predictions)
    return mean(
        op("Abs", predictions - labels),
        weights,
        metrics_collections,
        updates_collections,
        name or "mean_absolute_error",
    )


@metric
def root_mean_squared_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The square root of the mean of (labels - predictions) squared.

    Args:
      labels: The labels.
      predictions: The predictions.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    value, update = mean_squared_error(
        labels, predictions, weights, None, None, name or "root_mean_squared_error"
    )
    return finish(op("Sqrt", value), op("Sqrt", update), metrics_collections, updates_collections)


@metric
def mean_relative_error(
    labels,
    predictions,
    normalizer,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """The mean of |labels - predictions| / normalizer, 0 where the normalizer is 0.

    Args:
      labels: The labels.
      predictions: The predictions.
      normalizer: Tensor to divide by.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    labels, predictions, weights = matched(labels, predictions, weights)
    labels, predictions = _same_type(labels, predictions)
    normalizer = cast(convert_to_tensor(normalizer), predictions.dtype)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    relative = op("DivNoNan", op("Abs", labels - predictions), normalizer)
    return mean(
        relative, weights, metrics_collections, updates_collections, name or "mean_relative_error"
    )


@metric
def mean_cosine_distance(
    labels,
    predictions,
    dim,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """1 - the mean of the products of labels and predictions, summed along a dimension.

    Args:
      labels: The labels.
      predictions: The predictions.
      dim: Dimension of the vectors.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    labels, predictions, weights = matched(labels, predictions, weights)
    labels, predictions = _same_type(labels, predictions)
    products = op("Sum", predictions * labels, [dim], True)
    value, update = mean(products, weights, None, None, name or "mean_cosine_distance")
    return finish(1.0 - value, 1.0 - update, metrics_collections, updates_collections)


def _count(labels, predictions, weights, outcome):
    """Returns (value, update op) of the weighted number of examples with an outcome."""
    hit = op(
        "LogicalAnd",
        *[
            x if wanted else op("LogicalNot", x)
            for x, wanted in zip((labels, predictions), outcome)
        ],
    )
    values = cast(hit, "float32")
    if weights is not None:
        rank = values.shape.ndims
        rank = op("Rank", values) if rank is None else rank
        checks = [check_ops.assert_rank_in(weights, (0, rank))]
        with control_dependencies([c for c in checks if c is not None]):
            values = values * cast(weights, "float32")
    count = local("count")
    return count.value(), count.assign_add(op("Sum", values))


def _booleans(labels, predictions, weights):
    return matched(
        cast(convert_to_tensor(labels), "bool"),
        cast(convert_to_tensor(predictions), "bool"),
        weights,
    )


def _counter(name, outcome):
    def count(
        labels,
        predictions,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with variable_scope(name, count.__name__):
            value, update = _count(*_booleans(labels, predictions, weights), outcome)
            return finish(
                identity(value, name="value"),
                identity(update, name="update_op"),
                metrics_collections,
                updates_collections,
            )

    count.__name__ = name
    count.__doc__ = f"The weighted number of {name.replace('_', ' ')}."
    return metric(count)


true_positives = _counter("true_positives", (True, True))
false_positives = _counter("false_positives", (False, True))
false_negatives = _counter("false_negatives", (True, False))
true_negatives = _counter("true_negatives", (False, False))


def _true_positive_ratio(name, other):
    """Defines a metric: true positives / (true positives + another count)."""

    def share(
        labels,
        predictions,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with variable_scope(name, share.__name__):
            hits, new_hits = true_positives(labels, predictions, weights)
            misses, new_misses = other(labels, predictions, weights)
            return finish(
                ratio(hits, hits + misses, "value"),
                ratio(new_hits, new_hits + new_misses, "update_op"),
                metrics_collections,
                updates_collections,
            )

    share.__name__ = name
    share.__doc__ = f"The {name} of all batches."
    return metric(share)


precision = _true_positive_ratio("precision", false_positives)
recall = _true_positive_ratio("recall", false_negatives)


def predictions_first(function):
    """Returns a metric whose predictions come before the labels, as in tf.contrib.metrics."""

    def streaming(predictions, labels, *args, **kwargs):
        return function(labels, predictions, *args, **kwargs)

    streaming.__doc__ = function.__doc__
    return streaming


def _contrib_accuracy(predictions, labels, weights=None, name=None):
    """Computes the accuracy of one batch."""
    predictions.shape.assert_is_compatible_with(labels.shape)
    right = cast(op("Equal", predictions, labels), "float32")
    if weights is None:
        return op("Mean", right, name=name)
    right = right * cast(convert_to_tensor(weights), "float32")
    count = op("Sum", op("OnesLike", right) * cast(convert_to_tensor(weights), "float32"))
    return op("DivNoNan", op("Sum", right), count, name=name)


for _function in (
    accuracy,
    mean_squared_error,
    mean_absolute_error,
    root_mean_squared_error,
    mean_relative_error,
    mean_cosine_distance,
    true_positives,
    false_positives,
    false_negatives,
    true_negatives,
    precision,
    recall,
):
    V1["contrib.metrics.streaming_" + _function.__name__] = predictions_first(_function)
V1["contrib.metrics.streaming_mean"] = mean
V1["contrib.metrics.streaming_mean_tensor"] = mean_tensor
V1["contrib.metrics.streaming_percentage_less"] = percentage_below
V1["contrib.metrics.accuracy"] = _contrib_accuracy
