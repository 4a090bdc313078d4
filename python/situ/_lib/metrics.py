# SPDX-License-Identifier: Apache-2.0
"""metrics.py: tf.metrics of graph style: a value, and an operation that takes one more batch in."""
from situ._lib.api import V1
from situ._lib.array_ops import cast, convert_to_tensor, identity, op
from situ._lib.graph import GraphKeys, get_default_graph
from situ._lib.initializers import Zeros
from situ._lib.scopes import control_dependencies
from situ._lib.variable_scope import variable_scope
from situ._lib.variables import variable


def _sum(x):
    return op("Sum", x)


def local(name, shape=()):
    """A variable of a metric."""
    return variable(lambda: Zeros()(list(shape), dtype="float32"), trainable=False, name=name,
                    collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES])


def _ratio(top, bottom):
    return op("DivNoNan", top, bottom)


def _done(value, update, metrics_collections, updates_collections):
    graph = get_default_graph()
    for keys, thing in ((metrics_collections, value), (updates_collections, update)):
        if keys:
            graph.add_to_collections(keys, thing)
    return value, update


def _masked(values, weights):
    """The values times their weights, and the sum of weights."""
    values = cast(convert_to_tensor(values), "float32")
    if weights is None:
        return values, cast(op("Size", values), "float32")
    weights = cast(convert_to_tensor(weights), "float32")
    weights = weights * op("OnesLike", values)
    return values * weights, _sum(weights)


def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None,
         finish=None):
    """The mean of all values of all batches."""
    with variable_scope(name, "mean"):
        total, count = local("total"), local("count")
        values, size = _masked(values, weights)
        new_total = total.assign_add(_sum(values))
        with control_dependencies([values]):
            new_count = count.assign_add(size)
        value, update = _ratio(total, count), _ratio(new_total, new_count)
        if finish is not None:
            value, update = finish(value), finish(update)
        value, update = identity(value, name="value"), identity(update, name="update_op")
        return _done(value, update, metrics_collections, updates_collections)


def _like(labels, predictions):
    """Predictions and labels in one shape: a last dimension of 1 goes."""
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    p, n = predictions.shape.ndims, labels.shape.ndims
    if p is not None and n is not None and p != n:
        if p == n + 1:
            predictions = op("Squeeze", predictions, [-1])
        elif n == p + 1:
            labels = op("Squeeze", labels, [-1])
    return labels, predictions


def accuracy(labels, predictions, weights=None, metrics_collections=None,
             updates_collections=None, name=None):
    """How often predictions are the labels."""
    labels, predictions = _like(labels, predictions)
    predictions.shape.assert_is_compatible_with(labels.shape)
    right = cast(op("Equal", predictions, cast(labels, predictions.dtype)), "float32")
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


def _error(name, make, finish=None):
    def metric(labels, predictions, weights=None, metrics_collections=None,
               updates_collections=None, name_=None, **words):
        labels, predictions = _like(labels, predictions)
        labels, predictions = cast(labels, "float32"), cast(predictions, "float32")
        return mean(make(labels, predictions), weights, metrics_collections, updates_collections,
                    words.get("name") or name, finish)
    metric.__name__ = name
    return metric


mean_squared_error = _error("mean_squared_error", lambda a, b: op("SquaredDifference", b, a))
mean_absolute_error = _error("mean_absolute_error", lambda a, b: op("Abs", b - a))
root_mean_squared_error = _error("root_mean_squared_error",
                                 lambda a, b: op("SquaredDifference", b, a),
                                 lambda x: op("Sqrt", x))


def _counted(name, want_label, want_prediction):
    """How many examples have such a label and such a prediction."""
    def metric(labels, predictions, weights=None, metrics_collections=None,
               updates_collections=None, **words):
        with variable_scope(words.get("name"), name):
            count = local("count")
            labels, predictions = _like(labels, predictions)
            hit = op("LogicalAnd", op("Equal", cast(labels, "bool"), want_label),
                     op("Equal", cast(predictions, "bool"), want_prediction))
            values, _ = _masked(hit, weights)
            update = count.assign_add(_sum(values))
            return _done(identity(count.value(), name="value"), identity(update, name="update_op"),
                         metrics_collections, updates_collections)
    metric.__name__ = name
    return metric


true_positives = _counted("true_positives", True, True)
false_positives = _counted("false_positives", False, True)
false_negatives = _counted("false_negatives", True, False)
true_negatives = _counted("true_negatives", False, False)


def _fraction(name, other):
    def metric(labels, predictions, weights=None, metrics_collections=None,
               updates_collections=None, **words):
        with variable_scope(words.get("name"), name):
            good, good_update = true_positives(labels, predictions, weights)
            bad, bad_update = other(labels, predictions, weights)
            value = identity(_ratio(good, good + bad), name="value")
            update = identity(_ratio(good_update, good_update + bad_update), name="update_op")
            return _done(value, update, metrics_collections, updates_collections)
    metric.__name__ = name
    return metric


precision = _fraction("precision", false_positives)
recall = _fraction("recall", false_negatives)


def mean_tensor(values, weights=None, metrics_collections=None, updates_collections=None,
                name=None):
    """The mean of all batches, element by element."""
    with variable_scope(name, "mean"):
        values = cast(convert_to_tensor(values), "float32")
        shape = values.shape.as_list()
        total, count = local("total_tensor", shape), local("count_tensor", shape)
        share = op("OnesLike", values) if weights is None else \
            op("OnesLike", values) * cast(convert_to_tensor(weights), "float32")
        new_total, new_count = total.assign_add(values * share), count.assign_add(share)
        return _done(identity(_ratio(total, count), name="value"),
                     identity(_ratio(new_total, new_count), name="update_op"),
                     metrics_collections, updates_collections)


def percentage_below(values, threshold, weights=None, **words):
    values = convert_to_tensor(values)
    return mean(cast(op("Less", values, cast(threshold, values.dtype)), "float32"), weights,
                name=words.get("name") or "percentage_below_threshold")


for _made in (mean, accuracy, mean_squared_error, mean_absolute_error, root_mean_squared_error,
              true_positives, false_positives, false_negatives, true_negatives, precision, recall,
              mean_tensor, percentage_below):
    V1["metrics." + _made.__name__] = _made
for _name, _made in (("streaming_accuracy", lambda predictions, labels, *a, **k: accuracy(
        labels, predictions, *a, **k)), ("streaming_mean", mean)):
    V1["contrib.metrics." + _name] = _made
V1["contrib.metrics.accuracy"] = lambda predictions, labels, weights=None, name=None: \
    op("Mean", cast(op("Equal", *_like(labels, predictions)), "float32"))
