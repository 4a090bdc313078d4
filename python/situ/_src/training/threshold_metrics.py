# SPDX-License-Identifier: Apache-2.0
"""threshold_metrics.py: tf.metrics over probability thresholds: auc, precision and recall at
thresholds,
sensitivity and specificity."""

from situ._src.framework.api import V1
from situ._src.framework.scopes import control_dependencies
from situ._src.ops import check_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, identity, op
from situ._src.ops.weights_broadcast_ops import broadcast_weights, matched
from situ._src.training.metrics import finish, local, metric, predictions_first
from situ._src.variables.variable_scope import variable_scope

_SMALL = 1e-6  # of areas
_EPSILON = 1e-7  # around thresholds, and in denominators
_OUTCOMES = {
    "true_positives": (True, True),
    "false_negatives": (True, False),
    "true_negatives": (False, False),
    "false_positives": (False, True),
}


def counts(labels, predictions, weights, thresholds, outcomes=tuple(_OUTCOMES)):
    """Returns (values, updates) of the weighted confusion counts at each threshold."""
    predictions = cast(convert_to_tensor(predictions), "float32")
    message = "predictions must be in [0, 1]"
    with control_dependencies(
        [
            check_ops.assert_greater_equal(predictions, 0.0, message=message),
            check_ops.assert_less_equal(predictions, 1.0, message=message),
        ]
    ):
        predictions = identity(predictions)
    labels, predictions, weights = matched(
        cast(convert_to_tensor(labels), "bool"), predictions, weights
    )
    share = (
        op("OnesLike", predictions)
        if weights is None
        else broadcast_weights(cast(weights, "float32"), predictions)
    )
    labels, share = op("Reshape", labels, [1, -1]), op("Reshape", share, [1, -1])
    above = op(
        "Greater",
        op("Reshape", predictions, [1, -1]),
        op("Reshape", constant(list(thresholds), "float32"), [-1, 1]),
    )
    values, updates = [], []
    for name in outcomes:
        hit = op(
            "LogicalAnd",
            *[
                x if wanted else op("LogicalNot", x)
                for x, wanted in zip((labels, above), _OUTCOMES[name])
            ],
        )
        kept = local(name, [len(thresholds)])
        values.append(kept.value())
        updates.append(kept.assign_add(op("Sum", cast(hit, "float32") * share, [1])))
    return values, updates


def _even_thresholds(count, last=1.0 + _EPSILON):
    return [-_EPSILON, *[(i + 1) / (count - 1) for i in range(count - 2)], last]


def _ends(x, n):
    """Returns x without its last element and without its first."""
    return op("Slice", x, [0], [n - 1]), op("Slice", x, [1], [n - 1])


def _interpolated(tp, fn, fp, n):
    """Computes the area under the PR curve, interpolating true positives linearly."""
    (tp0, tp1), (p0, p1), fn1 = _ends(tp, n), _ends(tp + fp, n), _ends(fn, n)[1]
    more = tp0 - tp1
    slope = op("DivNoNan", more, op("Maximum", p0 - p1, 0.0))
    start = tp1 - slope * p1
    both = op("LogicalAnd", op("Greater", p0, 0.0), op("Greater", p1, 0.0))
    quotient = op("SelectV2", both, op("DivNoNan", p0, op("Maximum", p1, 0.0)), op("OnesLike", p1))
    return op(
        "Sum",
        op("DivNoNan", slope * (more + start * op("Log", quotient)), op("Maximum", tp1 + fn1, 0.0)),
        [0],
    )


def _area(curve, method, tp, fn, tn, fp, n):
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(tp, fn, fp, n)
    y = (tp + _SMALL) / (tp + fn + _SMALL)
    x = fp / (fp + tn + _SMALL)
    if curve == "PR":
        x, y = y, (tp + _SMALL) / (tp + fp + _SMALL)
    (x0, x1), (y0, y1) = _ends(x, n), _ends(y, n)
    if method in ("trapezoidal", "careful_interpolation"):
        height = (y0 + y1) / 2.0
    elif method in ("minoring", "majoring"):
        height = op("Minimum" if method == "minoring" else "Maximum", y0, y1)
    else:
        raise ValueError(
            f"Invalid summation_method: {method} summation_method should be "
            "'trapezoidal', 'careful_interpolation', 'minoring', or 'majoring'."
        )
    return op("Sum", (x0 - x1) * height, [0])


@metric
def auc(
    labels,
    predictions,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    curve="ROC",
    name=None,
    summation_method="trapezoidal",
    thresholds=None,
):
    """Computes the area under the ROC or PR curve: (value, update op).

    Args:
      labels: The labels.
      predictions: The predictions.
      weights: Weights of the values, which broadcast to them.
      num_thresholds: Number of thresholds.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      curve: "ROC" or "PR".
      name: A name for the operation (optional).
      summation_method: "trapezoidal", "careful_interpolation", "minoring" or "majoring".
      thresholds: List of thresholds.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"Curve must be either ROC or PR. Curve {curve} is unknown.")
    points = (
        _even_thresholds(num_thresholds)
        if thresholds is None
        else [-_EPSILON, *sorted(thresholds), 1.0 + _EPSILON]
    )
    n = len(points)
    with variable_scope(name, "auc"):
        values, updates = counts(labels, predictions, weights, points)
        return finish(
            identity(_area(curve, summation_method, *values, n), name="value"),
            identity(_area(curve, summation_method, *updates, n), name="update_op"),
            metrics_collections,
            updates_collections,
        )


def _at_thresholds(name, scope_name, outcomes, compute):
    def at_thresholds(
        labels,
        predictions,
        thresholds,
        weights=None,
        metrics_collections=None,
        updates_collections=None,
        name=None,
    ):
        with variable_scope(name, scope_name):
            values, updates = counts(labels, predictions, weights, list(thresholds), outcomes)
            return finish(
                identity(compute(*values), name="value"),
                identity(compute(*updates), name="update_op"),
                metrics_collections,
                updates_collections,
            )

    at_thresholds.__name__ = name
    at_thresholds.__doc__ = (
        f"{name.split('_at_')[0].replace('_', ' ').capitalize()} at each threshold."
    )
    return metric(at_thresholds)


for _name in _OUTCOMES:
    _at_thresholds(_name + "_at_thresholds", _name, (_name,), lambda count: count)
for _name, _other in (("precision", "false_positives"), ("recall", "false_negatives")):
    _made = _at_thresholds(
        _name + "_at_thresholds",
        _name + "_at_thresholds",
        ("true_positives", _other),
        lambda hits, misses: hits / (_EPSILON + hits + misses),
    )
    V1[f"contrib.metrics.streaming_{_name}_at_thresholds"] = predictions_first(_made)


def _part(hits, misses, index):
    hits, misses = op("GatherV2", hits, index, 0), op("GatherV2", misses, index, 0)
    return hits / (hits + misses + _EPSILON)


def _check_range(word, value):
    if value < 0 or value > 1:
        raise ValueError(f"`{word}` must be in the range [0, 1]. Currently, `{word}` is {value}.")


@metric
def sensitivity_at_specificity(
    labels,
    predictions,
    specificity,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the sensitivity at the threshold with the specificity nearest to a given one.

    Args:
      labels: The labels.
      predictions: The predictions.
      specificity: The specificity.
      weights: Weights of the values, which broadcast to them.
      num_thresholds: Number of thresholds.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    _check_range("specificity", specificity)

    def compute(tp, fn, tn, fp):
        far = op("Abs", tn / (tn + fp + _EPSILON) - specificity)
        return _part(tp, fn, op("ArgMin", far, 0))

    with variable_scope(name, "sensitivity_at_specificity"):
        values, updates = counts(labels, predictions, weights, _even_thresholds(num_thresholds))
        return finish(
            identity(compute(*values), name="value"),
            identity(compute(*updates), name="update_op"),
            metrics_collections,
            updates_collections,
        )


@metric
def specificity_at_sensitivity(
    labels,
    predictions,
    sensitivity,
    weights=None,
    num_thresholds=200,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the specificity at the last threshold with the sensitivity nearest to a given
    one.

    Args:
      labels: The labels.
      predictions: The predictions.
      sensitivity: The sensitivity.
      weights: Weights of the values, which broadcast to them.
      num_thresholds: Number of thresholds.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    _check_range("sensitivity", sensitivity)

    def compute(tp, fn, tn, fp):
        far = op("Abs", tp / (tp + fn + _EPSILON) - sensitivity)
        nearest = cast(op("Equal", far, op("Min", far, [0])), "int64")
        return _part(tn, fp, op("ArgMax", op("Cumsum", nearest, 0), 0))

    with variable_scope(name, "specificity_at_sensitivity"):
        points = _even_thresholds(num_thresholds, 1.0 - _EPSILON)
        values, updates = counts(labels, predictions, weights, points)
        return finish(
            identity(compute(*values), name="value"),
            identity(compute(*updates), name="update_op"),
            metrics_collections,
            updates_collections,
        )


V1["contrib.metrics.streaming_auc"] = predictions_first(auc)
