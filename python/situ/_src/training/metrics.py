# SPDX-License-Identifier: Apache-2.0
"""metrics.py: tf.metrics of graph style: a value, and an op that updates it with one more batch.

Means of values and errors, counts, precision and recall; class_metrics.py has those of
classes, threshold_metrics.py those over thresholds, top_k_metrics.py those of the k best classes.
"""

import inspect

import _situ
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
from situ._src.variables.variable import variable
from situ._src.variables.variable_scope import variable_scope


def metric(function):
    """A decorator: a function of tf.metrics, by its own name."""
    name, signature = function.__name__, inspect.signature(function)

    def checked(*args, **kwargs):
        if _situ.current_graph() is None:
            signature.bind(*args, **kwargs)  # a wrong argument is the first error
            raise RuntimeError(
                f"tf.metrics.{name} is not supported when eager execution is enabled."
            )
        return function(*args, **kwargs)

    checked.__name__, checked.__doc__ = name, function.__doc__
    checked.__signature__ = signature
    V1["metrics." + name] = checked
    return checked


def local(name, shape=(), dtype="float32"):
    """A variable of a metric."""
    return variable(
        lambda: Zeros()(list(shape), dtype=dtype),
        trainable=False,
        name=name,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
    )


def ratio(top, bottom, name=None):
    """top / bottom, and 0 where bottom is not above 0."""
    return op("DivNoNan", top, op("Maximum", bottom, cast(0, bottom.dtype)), name=name)


def done(value, update, metrics_collections, updates_collections):
    """The pair that a metric returns, kept in collections."""
    graph = get_default_graph()
    for keys, tensor in ((metrics_collections, value), (updates_collections, update)):
        if keys:
            graph.add_to_collections(keys, tensor)
    return value, update


def _weighted(values, weights):
    """The values as floats, the weight of each (None without weights), and their product."""
    values = cast(convert_to_tensor(values), "float32")
    if weights is None:
        return values, None, values
    weights = broadcast_weights(cast(match_weights(weights, values), "float32"), values)
    return values, weights, values * weights


@metric
def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """The weighted mean of all values of all batches."""
    with variable_scope(name, "mean"):
        total, count = local("total"), local("count")
        values, weights, product = _weighted(values, weights)
        size = cast(op("Size", values), "float32") if weights is None else op("Sum", weights)
        new_total = total.assign_add(op("Sum", product))
        with control_dependencies([product]):
            new_count = count.assign_add(size)
        return done(
            ratio(total, count, "value"),
            ratio(new_total, new_count, "update_op"),
            metrics_collections,
            updates_collections,
        )


@metric
def mean_tensor(
    values, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The weighted mean of all batches, element by element."""
    with variable_scope(name, "mean"):
        values, weights, product = _weighted(values, weights)
        shape = values.shape.as_list()
        total, count = local("total_tensor", shape), local("count_tensor", shape)
        new_total = total.assign_add(product)
        with control_dependencies([product]):
            new_count = count.assign_add(op("OnesLike", values) if weights is None else weights)
        return done(
            ratio(total, count, "value"),
            ratio(new_total, new_count, "update_op"),
            metrics_collections,
            updates_collections,
        )


@metric
def percentage_below(
    values, threshold, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The share of values that are below a threshold."""
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
    """How often predictions are the labels."""
    labels, predictions, weights = matched(labels, predictions, weights)
    right = cast(op("Equal", cast(predictions, labels.dtype), labels), "float32")
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


# Errors


def _same_type(labels, predictions):
    """Both in one type: NumPy arrays and lists come in whichever they have."""
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
    """The mean of (labels - predictions) squared."""
    labels, predictions, weights = matched(labels, predictions, weights)
    apart = op("SquaredDifference", *_same_type(labels, predictions))
    return mean(
        apart, weights, metrics_collections, updates_collections, name or "mean_squared_error"
    )


@metric
def mean_absolute_error(
    labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
):
    """The mean of |predictions - labels|."""
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
    """The square root of the mean of (labels - predictions) squared."""
    value, update = mean_squared_error(
        labels, predictions, weights, None, None, name or "root_mean_squared_error"
    )
    return done(op("Sqrt", value), op("Sqrt", update), metrics_collections, updates_collections)


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
    """The mean of |labels - predictions| / normalizer, 0 where the normalizer is 0."""
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
    """1 - the mean of the products of labels and predictions, summed along a dimension."""
    labels, predictions, weights = matched(labels, predictions, weights)
    labels, predictions = _same_type(labels, predictions)
    products = op("Sum", predictions * labels, [dim], True)
    value, update = mean(products, weights, None, None, name or "mean_cosine_distance")
    return done(1.0 - value, 1.0 - update, metrics_collections, updates_collections)


# Counts of outcomes


def _count(labels, predictions, weights, outcome):
    """(value, update) of how often labels and predictions are (label, prediction) of outcome."""
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
            return done(
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


def _share_of_hits(name, other):
    """true positives / (true positives + another count)."""

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
            return done(
                ratio(hits, hits + misses, "value"),
                ratio(new_hits, new_hits + new_misses, "update_op"),
                metrics_collections,
                updates_collections,
            )

    share.__name__ = name
    share.__doc__ = f"The {name} of all batches."
    return metric(share)


precision = _share_of_hits("precision", false_positives)
recall = _share_of_hits("recall", false_negatives)


# tf.contrib.metrics: predictions come first


def turned(function):
    """The same metric with predictions in front of labels, as tf.contrib.metrics has it."""

    def streaming(predictions, labels, *args, **kwargs):
        return function(labels, predictions, *args, **kwargs)

    streaming.__doc__ = function.__doc__
    return streaming


def _contrib_accuracy(predictions, labels, weights=None, name=None):
    """How often predictions are the labels, in this batch."""
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
    V1["contrib.metrics.streaming_" + _function.__name__] = turned(_function)
V1["contrib.metrics.streaming_mean"] = mean
V1["contrib.metrics.streaming_mean_tensor"] = mean_tensor
V1["contrib.metrics.streaming_percentage_less"] = percentage_below
V1["contrib.metrics.accuracy"] = _contrib_accuracy
