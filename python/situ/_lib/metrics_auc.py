# SPDX-License-Identifier: Apache-2.0
"""metrics_auc.py: tf.metrics.auc: the area under a curve over thresholds."""
from situ._lib.api import export
from situ._lib.array_ops import cast, constant, convert_to_tensor, identity, op
from situ._lib.metrics import _done, local
from situ._lib.variable_scope import variable_scope

_SMALL = 1e-6


def _counts(labels, predictions, weights, thresholds):
    """For each threshold: how much is right or wrong, above or below it; (values, updates)."""
    labels = cast(op("Reshape", convert_to_tensor(labels), [1, -1]), "bool")
    predictions = op("Reshape", cast(convert_to_tensor(predictions), "float32"), [1, -1])
    above = op("Greater", predictions, op("Reshape", constant(thresholds), [-1, 1]))
    share = op("OnesLike", predictions)
    if weights is not None:
        share = share * op("Reshape", cast(convert_to_tensor(weights), "float32"), [1, -1])
    values, updates = [], []
    for name, hit in (("true_positives", op("LogicalAnd", above, labels)),
                      ("false_negatives", op("LogicalAnd", op("LogicalNot", above), labels)),
                      ("true_negatives", op("LogicalNot", op("LogicalOr", above, labels))),
                      ("false_positives", op("LogicalAnd", above, op("LogicalNot", labels)))):
        kept = local(name, [len(thresholds)])
        values.append(kept.value())
        updates.append(kept.assign_add(op("Sum", cast(hit, "float32") * share, [1])))
    return values, updates


def _ends(x, n):
    """x without its last, and without its first."""
    return op("Slice", x, [0], [n - 1]), op("Slice", x, [1], [n - 1])


def _careful(tp, fn, fp, n):
    """The area under precision over recall, with true positives linear between thresholds."""
    (tp0, tp1), (p0, p1), fn1 = _ends(tp, n), _ends(tp + fp, n), _ends(fn, n)[1]
    more = tp0 - tp1
    slope = op("DivNoNan", more, op("Maximum", p0 - p1, 0.0))
    start = tp1 - slope * p1
    both = op("LogicalAnd", op("Greater", p0, 0.0), op("Greater", p1, 0.0))
    ratio = op("SelectV2", both, op("DivNoNan", p0, op("Maximum", p1, 0.0)), op("OnesLike", p1))
    return op("Sum", op("DivNoNan", slope * (more + start * op("Log", ratio)),
                        op("Maximum", tp1 + fn1, 0.0)), [0])


def _area(curve, method, tp, fn, tn, fp, n):
    if method == "careful_interpolation":
        return _careful(tp, fn, fp, n)
    y = (tp + _SMALL) / (tp + fn + _SMALL)
    x = fp / (fp + tn + _SMALL)
    if curve == "PR":
        x, y = y, (tp + _SMALL) / (tp + fp + _SMALL)
    (x0, x1), (y0, y1) = _ends(x, n), _ends(y, n)
    height = {"trapezoidal": lambda: (y0 + y1) / 2.0, "minoring": lambda: op("Minimum", y0, y1),
              "majoring": lambda: op("Maximum", y0, y1)}
    if method not in height:
        raise ValueError(f"Invalid summation_method: {method}")
    return op("Sum", (x0 - x1) * height[method](), [0])


@export(v1="metrics.auc")
def auc(labels, predictions, weights=None, num_thresholds=200, metrics_collections=None,
        updates_collections=None, curve="ROC", name=None, summation_method="trapezoidal"):
    """The area under the ROC or PR curve of all batches."""
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    n = num_thresholds
    with variable_scope(name, "auc"):
        steps = [(i + 1) / (n - 1) for i in range(n - 2)]
        values, updates = _counts(labels, predictions, weights, [-1e-7, *steps, 1.0 + 1e-7])
        return _done(identity(_area(curve, summation_method, *values, n), name="value"),
                     identity(_area(curve, summation_method, *updates, n), name="update_op"),
                     metrics_collections, updates_collections)
