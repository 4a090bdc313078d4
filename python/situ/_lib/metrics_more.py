# SPDX-License-Identifier: Apache-2.0
"""metrics_more.py: tf.metrics that fewer programs use: of classes, of the best k, at thresholds;
tf.contrib.metrics with predictions in front."""
from situ._lib import metrics, metrics_auc
from situ._lib.api import BOTH, V1, export
from situ._lib.array_ops import cast, constant, convert_to_tensor, identity, op
from situ._lib.metrics import _done, _ratio, local
from situ._lib.searching import confusion_matrix
from situ._lib.variable_scope import variable_scope


def _confusion(labels, predictions, classes, weights):
    """A table of counts that grows: (the variable's value, after one more batch)."""
    table = local("total_confusion_matrix", [classes, classes])
    flat = [op("Reshape", cast(convert_to_tensor(x), "int64"), [-1]) for x in
            (labels, predictions)]
    weights = None if weights is None else op("Reshape", cast(convert_to_tensor(weights),
                                                              "float32"), [-1])
    now = confusion_matrix(*flat, num_classes=classes, dtype="float32", weights=weights)
    return table.value(), table.assign_add(now)


def _mean_over_present(parts, whole):
    """The mean of parts / whole where whole is not 0."""
    there = cast(op("Greater", whole, 0.0), "float32")
    return _ratio(op("Sum", _ratio(parts, whole), [0]), op("Sum", there, [0]))


@export(v1="metrics.mean_iou")
def mean_iou(labels, predictions, num_classes, weights=None, metrics_collections=None,
             updates_collections=None, name=None):
    """The mean over classes of what labels and predictions have in common."""
    def value(table):
        right = op("DiagPart", table)
        return _mean_over_present(right, op("Sum", table, [0]) + op("Sum", table, [1]) - right)
    with variable_scope(name, "mean_iou"):
        before, after = _confusion(labels, predictions, num_classes, weights)
        return _done(identity(value(before), name="mean_iou"), after, metrics_collections,
                     updates_collections)


@export(v1="metrics.mean_per_class_accuracy")
def mean_per_class_accuracy(labels, predictions, num_classes, weights=None,
                            metrics_collections=None, updates_collections=None, name=None):
    """The mean over classes of how often their examples are found."""
    with variable_scope(name, "mean_accuracy"):
        before, after = _confusion(labels, predictions, num_classes, weights)
        value = _mean_over_present(op("DiagPart", before), op("Sum", before, [1]))
        return _done(identity(value, name="mean_accuracy"), after, metrics_collections,
                     updates_collections)


def _found(labels, places, class_id):
    """[batch, labels]: whether a label is among the places [batch, k] of an example."""
    labels = cast(convert_to_tensor(labels), "int64")
    if labels.shape.ndims == places.shape.ndims - 1:
        labels = op("ExpandDims", labels, -1)
    same = op("Equal", op("ExpandDims", labels, -1), op("ExpandDims", places, -2))
    mine = op("OnesLike", labels) if class_id is None else cast(op(
        "Equal", labels, constant(class_id, "int64")), "int64")
    return cast(op("Any", same, [-1]), "float32") * cast(mine, "float32"), cast(mine, "float32")


def _best(predictions, k):
    return cast(op("TopKV2", convert_to_tensor(predictions), constant(k))[1], "int64")


def _weigh(values, weights):
    """The sum of values [batch, ...], each example by its weight."""
    sums = op("Sum", values, [-1])
    if weights is None:
        return op("Sum", sums)
    return op("Sum", sums * op("Reshape", cast(convert_to_tensor(weights), "float32"), [-1]))


def _share(name, good, whole, metrics_collections, updates_collections):
    first, second = local("good"), local("whole")
    value = _ratio(first, second)
    update = _ratio(first.assign_add(good), second.assign_add(whole))
    return _done(identity(value, name="value"), identity(update, name="update_op"),
                 metrics_collections, updates_collections)


@export(v1="metrics.recall_at_k")
def recall_at_k(labels, predictions, k, class_id=None, weights=None, metrics_collections=None,
                updates_collections=None, name=None):
    """How many labels are among the k best predictions."""
    return recall_at_top_k(labels, _best(predictions, k), k, class_id, weights,
                           metrics_collections, updates_collections, name)


@export(v1="metrics.recall_at_top_k")
def recall_at_top_k(labels, predictions_idx, k=None, class_id=None, weights=None,
                    metrics_collections=None, updates_collections=None, name=None):
    with variable_scope(name, "recall_at_k"):
        hit, there = _found(labels, cast(convert_to_tensor(predictions_idx), "int64"), class_id)
        return _share("recall", _weigh(hit, weights), _weigh(there, weights),
                      metrics_collections, updates_collections)


@export(v1=("metrics.precision_at_k", "metrics.sparse_precision_at_k"))
def precision_at_k(labels, predictions, k, class_id=None, weights=None, metrics_collections=None,
                   updates_collections=None, name=None):
    """How many of the k best predictions are labels."""
    with variable_scope(name, "precision_at_k"):
        places = _best(predictions, k)
        labels = cast(convert_to_tensor(labels), "int64")
        labels = op("ExpandDims", labels, -1) if labels.shape.ndims == 1 else labels
        hit, mine = _found(places, labels, class_id)
        return _share("precision", _weigh(hit, weights), _weigh(mine, weights),
                      metrics_collections, updates_collections)


def _at_thresholds(name, value):
    def metric(labels, predictions, thresholds, weights=None, metrics_collections=None,
               updates_collections=None, **words):
        with variable_scope(words.get("name"), name):
            values, updates = metrics_auc._counts(labels, predictions, weights, list(thresholds))
            return _done(identity(value(*values), name="value"),
                         identity(value(*updates), name="update_op"), metrics_collections,
                         updates_collections)
    V1["metrics." + name] = metric


_at_thresholds("precision_at_thresholds", lambda tp, fn, tn, fp: _ratio(tp, tp + fp + 1e-7))
_at_thresholds("recall_at_thresholds", lambda tp, fn, tn, fp: _ratio(tp, tp + fn + 1e-7))
_at_thresholds("true_positives_at_thresholds", lambda tp, fn, tn, fp: tp)
_at_thresholds("false_negatives_at_thresholds", lambda tp, fn, tn, fp: fn)
_at_thresholds("true_negatives_at_thresholds", lambda tp, fn, tn, fp: tn)
_at_thresholds("false_positives_at_thresholds", lambda tp, fn, tn, fp: fp)


@export(v1="metrics.mean_relative_error")
def mean_relative_error(labels, predictions, normalizer, weights=None, metrics_collections=None,
                        updates_collections=None, name=None):
    """The mean of |labels - predictions| / normalizer."""
    labels, predictions = metrics._like(labels, predictions)
    far = op("Abs", cast(labels, "float32") - cast(predictions, "float32"))
    return metrics.mean(op("DivNoNan", far, cast(convert_to_tensor(normalizer), "float32")),
                        weights, metrics_collections, updates_collections,
                        name or "mean_relative_error")


@export(v1="metrics.mean_cosine_distance")
def mean_cosine_distance(labels, predictions, dim, weights=None, metrics_collections=None,
                         updates_collections=None, name=None):
    """The mean of 1 - labels * predictions, summed along a dimension."""
    labels, predictions = metrics._like(labels, predictions)
    far = 1.0 - op("Sum", cast(labels, "float32") * cast(predictions, "float32"), [dim])
    return metrics.mean(far, weights, metrics_collections, updates_collections,
                        name or "mean_cosine_distance")


def _turned(function):
    """The same with predictions in front, as tf.contrib.metrics has it."""
    def metric(predictions, labels, *args, **words):
        return function(labels, predictions, *args, **words)
    metric.__doc__ = function.__doc__
    return metric


for _name in ("mean_squared_error", "mean_absolute_error", "root_mean_squared_error", "auc",
              "precision", "recall", "true_positives", "true_negatives", "false_positives",
              "false_negatives", "mean_iou", "recall_at_k", "precision_at_thresholds",
              "recall_at_thresholds", "mean_relative_error", "mean_cosine_distance"):
    V1["contrib.metrics.streaming_" + _name] = _turned(V1["metrics." + _name])
for _name, _old in (("sparse_recall_at_k", "recall_at_k"),
                    ("sparse_precision_at_k", "precision_at_k")):
    V1["contrib.metrics.streaming_" + _name] = _turned(V1["metrics." + _old])
V1["contrib.metrics.streaming_mean_tensor"] = metrics.mean_tensor
V1["contrib.metrics.streaming_percentage_less"] = metrics.percentage_below
V1["contrib.metrics.confusion_matrix"] = BOTH.get("math.confusion_matrix") or confusion_matrix
