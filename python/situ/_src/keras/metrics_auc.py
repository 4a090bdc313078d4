# SPDX-License-Identifier: Apache-2.0
"""metrics_auc.py: tf.keras.metrics.AUC: area under the ROC or precision-recall curve."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.keras.metrics import KIND, named, to_floatx
from situ._src.keras.metrics_counts import OUTCOMES, EvenCounts, prepared
from situ._src.ops.array_ops import convert_to_tensor, op

_EPSILON = 1e-7
_METHODS = ("interpolation", "majoring", "minoring")


def _choice(value, allowed, argument):
    """Returns the allowed value that equals `value`, ignoring case; enum members count by their
    value.
    """
    name = str(getattr(value, "value", value))
    for known in allowed:
        if name.lower() == known.lower():
            return known
    raise ValueError(
        f'Invalid `{argument}` argument value "{value}". Expected one of: {list(allowed)}'
    )


@named("AUC")
class AUC(EvenCounts):
    """Area under the ROC or precision-recall curve, approximated by counts at thresholds.

    Args:
      num_thresholds: Number of thresholds, at least 2.
      curve: "ROC", "PR" or "PRGAIN".
      summation_method: "interpolation", "minoring" or "majoring" Riemann sums.
      name: Name of the metric.
      dtype: Type of the state.
      thresholds: List of thresholds to use instead of evenly spaced ones.
      multi_label: Whether labels are independent: the result is the mean of their areas.
      num_labels: Number of labels with multi_label.
      label_weights: Weights of the labels.
      from_logits: Whether predictions are logits.

    Raises:
      ValueError: If an argument is invalid.
    """

    def __init__(
        self,
        num_thresholds=200,
        curve="ROC",
        summation_method="interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
        multi_label: bool = False,
        num_labels=None,
        label_weights=None,
        from_logits: bool = False,
    ) -> None:
        super().__init__(name, dtype)
        self.curve = _choice(curve, ("ROC", "PR", "PRGAIN"), "curve")
        self.summation_method = _choice(summation_method, _METHODS, "summation_method")
        self._even, self._from_logits = thresholds is None, from_logits
        if thresholds is None and num_thresholds <= 1:
            raise ValueError(
                "Argument `num_thresholds` must be an integer > 1. Received: "
                f"num_thresholds={num_thresholds}"
            )
        inner = (
            [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
            if thresholds is None
            else sorted(float(t) for t in thresholds)
        )
        self.thresholds = [-_EPSILON, *inner, 1.0 + _EPSILON]
        self.num_thresholds = len(self.thresholds)
        if num_labels and not multi_label:
            raise ValueError("`num_labels` is needed only when `multi_label` is True.")
        self.multi_label, self.num_labels = multi_label, num_labels
        self.label_weights = (
            None if label_weights is None else numpy.asarray(label_weights, "float32")
        )
        self.true_positives = None
        if not multi_label or num_labels:
            self._make((self.num_thresholds, num_labels) if multi_label else (self.num_thresholds,))

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = to_floatx(y_pred)
        if self.multi_label and y_pred.shape.rank != 2:
            raise ValueError(
                "`y_pred` must have rank 2 when `multi_label=True`. Found rank "
                f"{y_pred.shape.rank}. Full shape received for `y_pred`: "
                f"{y_pred.shape}"
            )
        if self.true_positives is None:
            self._make((self.num_thresholds, y_pred.shape.as_list()[1]))
        if self._from_logits:
            y_pred = op("Sigmoid", y_pred)
        label, score, weight = prepared(y_true, y_pred, sample_weight)
        if self.label_weights is not None and not self.multi_label:
            weight = weight * convert_to_tensor(self.label_weights)
        if self._even:
            self._add(label, score, weight, True, self.multi_label)
        else:
            self._compare(label, score, weight)

    def _compare(self, label, score, weight):
        """Counts outcomes at arbitrary thresholds."""
        if not self.multi_label:
            label, score, weight = (op("Reshape", t, [-1, 1]) for t in (label, score, weight))
        limits = convert_to_tensor(numpy.asarray(self.thresholds, "float32")[:, None, None])
        yes = op("Cast", op("Greater", op("ExpandDims", score, 0), limits), DstT="float32")
        parts = {
            "true_positives": yes * label,
            "false_positives": yes * (1.0 - label),
            "true_negatives": (1.0 - yes) * (1.0 - label),
            "false_negatives": (1.0 - yes) * label,
        }
        for name in OUTCOMES:
            value = op("Sum", parts[name] * weight, [1])
            getattr(self, name).assign_add(
                value if self.multi_label else op("Reshape", value, [-1])
            )

    def result(self):
        hit, miss = self.true_positives.value(), self.false_negatives.value()
        wrong, right = self.false_positives.value(), self.true_negatives.value()
        if self.curve == "PR" and self.summation_method == "interpolation":
            return self._joined(self._interpolated(hit, wrong, miss))
        x, y = self._points(hit, miss, wrong, right)
        n = self.num_thresholds
        heights = (
            (y[: n - 1] + y[1:]) / 2.0
            if self.summation_method == "interpolation"
            else op(
                "Minimum" if self.summation_method == "minoring" else "Maximum", y[: n - 1], y[1:]
            )
        )
        return self._joined((x[: n - 1] - x[1:]) * heights)

    def _points(self, hit, miss, wrong, right):
        recall = op("DivNoNan", hit, hit + miss)
        if self.curve == "ROC":
            return op("DivNoNan", wrong, wrong + right), recall
        if self.curve == "PR":
            return recall, op("DivNoNan", hit, hit + wrong)
        factor = op("DivNoNan", hit + miss, right + wrong)
        none = op("Equal", hit, 0.0)
        recall_gain = op(
            "Relu",
            op("SelectV2", none, op("ZerosLike", hit), 1.0 - factor * op("DivNoNan", miss, hit)),
        )
        return recall_gain, op(
            "SelectV2", none, op("OnesLike", hit), 1.0 - factor * op("DivNoNan", wrong, hit)
        )

    def _joined(self, areas):
        """Returns the sum over thresholds, averaged over labels."""
        if not self.multi_label:
            return op("Sum", areas)
        by_label = op("Sum", areas, [0])
        if self.label_weights is None:
            return op("Mean", by_label, [0])
        weights = convert_to_tensor(self.label_weights)
        return op("DivNoNan", op("Sum", by_label * weights), op("Sum", weights))

    def _interpolated(self, hit, wrong, miss):
        """Returns the areas between thresholds, with precision interpolated as in Davis and
        Goadrich.
        """
        n = self.num_thresholds
        d_hit = hit[: n - 1] - hit[1:]
        p = hit + wrong
        d_p = p[: n - 1] - p[1:]
        slope = op("DivNoNan", d_hit, op("Relu", d_p))
        cut = hit[1:] - slope * p[1:]
        safe = op(
            "SelectV2",
            op("LogicalAnd", op("Greater", p[: n - 1], 0.0), op("Greater", p[1:], 0.0)),
            op("DivNoNan", op("Relu", p[: n - 1]), op("Relu", p[1:])),
            op("OnesLike", p[1:]),
        )
        area = slope * (d_hit + cut * op("Log", safe))
        return op("DivNoNan", area, op("Relu", hit[1:] + miss[1:]))

    def get_config(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "dtype": self.dtype,
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "multi_label": self.multi_label,
            "num_labels": self.num_labels,
            "label_weights": None if self.label_weights is None else self.label_weights.tolist(),
            "from_logits": self._from_logits,
            **({} if self._even else {"thresholds": self.thresholds[1:-1]}),
        }


KIND.export("metrics")
