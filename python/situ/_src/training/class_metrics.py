# SPDX-License-Identifier: Apache-2.0
"""class_metrics.py: tf.metrics that count by class: mean_iou, mean_per_class_accuracy."""

from situ._src.framework.api import V1
from situ._src.ops.array_ops import cast, convert_to_tensor, identity, op
from situ._src.ops.unique_sort_ops import confusion_matrix
from situ._src.training.metrics import finish, local, metric, predictions_first, ratio
from situ._src.variables.variable_scope import variable_scope


def _flat(tensor, dtype):
    """Flattens a tensor; a scalar stays a scalar."""
    tensor = cast(convert_to_tensor(tensor), dtype)
    return tensor if tensor.shape.ndims == 0 else op("Reshape", tensor, [-1])


@metric
def mean_iou(
    labels,
    predictions,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the mean intersection over union of all classes.

    Args:
      labels: The labels.
      predictions: The predictions.
      num_classes: Number of classes.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """

    def value(table):
        right = op("DiagPart", table)
        union = op("Sum", table, [0]) + op("Sum", table, [1]) - right
        present = op("Sum", cast(op("NotEqual", union, cast(0, union.dtype)), union.dtype))
        return cast(op("DivNoNan", op("Sum", ratio(right, union)), present), "float32")

    with variable_scope(name, "mean_iou"):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        table = local("total_confusion_matrix", [num_classes, num_classes], "float64")
        labels, predictions = _flat(labels, "int64"), _flat(predictions, "int64")
        weights = None if weights is None else _flat(weights, "float64")
        batch = confusion_matrix(
            labels, predictions, num_classes=num_classes, dtype="float64", weights=weights
        )
        return finish(
            identity(value(table.value()), name="mean_iou"),
            table.assign_add(batch),
            metrics_collections,
            updates_collections,
        )


@metric
def mean_per_class_accuracy(
    labels,
    predictions,
    num_classes,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the mean of the per-class accuracies, including classes without examples.

    Args:
      labels: The labels.
      predictions: The predictions.
      num_classes: Number of classes.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    with variable_scope(name, "mean_accuracy"):
        labels, predictions = _flat(labels, "int64"), _flat(predictions, "int64")
        predictions.shape.assert_is_compatible_with(labels.shape)
        total, count = local("total", [num_classes]), local("count", [num_classes])
        right = cast(op("Equal", predictions, labels), "float32")
        ones = op("OnesLike", right)
        if weights is not None:
            weights = _flat(weights, "float32")
            right, ones = right * weights, ones * weights
        add = lambda values: op("UnsortedSegmentSum", values, labels, num_classes)
        new_total, new_count = total.assign_add(add(ones)), count.assign_add(add(right))
        value = op("Mean", ratio(count, total), [0], name="mean_accuracy")
        return finish(
            value,
            ratio(new_count, new_total, "update_op"),
            metrics_collections,
            updates_collections,
        )


V1["contrib.metrics.streaming_mean_iou"] = predictions_first(mean_iou)
V1["contrib.metrics.confusion_matrix"] = V1["confusion_matrix"]
