# SPDX-License-Identifier: Apache-2.0
"""metrics_counts.py: metrics of counts: precision, recall, AUC, mean intersection over union."""
import numpy

from situ._lib.array_ops import cast, convert_to_tensor, op
from situ._lib.keras import losses
from situ._lib.keras.loss_classes import weighted
from situ._lib.keras.metrics import KIND, Metric, gauge, named


def _flat(x):
    return op("Reshape", x, [-1])


class _Counts(Metric):
    """Counts of right and wrong answers at each of some thresholds."""
    NAMES = ()

    def __init__(self, thresholds=None, name=None, dtype=None):
        super().__init__(name, dtype)
        self._scalar = not isinstance(thresholds, (list, tuple, numpy.ndarray))
        self.init_thresholds = thresholds
        self.thresholds = [0.5 if thresholds is None else thresholds] if self._scalar else \
            [float(t) for t in thresholds]
        for word in self.NAMES:
            setattr(self, word, self.add_weight(word, (len(self.thresholds),)))

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = losses.squeezed(y_true, y_pred)
        y_true, y_pred = gauge(y_true), gauge(y_pred)
        share = _flat(weighted(op("OnesLike", y_pred), sample_weight))
        label = op("ExpandDims", cast(cast(_flat(y_true), "bool"), "float32") , 0)
        limits = convert_to_tensor(numpy.asarray(self.thresholds, "float32")[:, None])
        yes = cast(op("Greater", op("ExpandDims", _flat(y_pred), 0), limits), "float32")
        share = op("ExpandDims", share, 0)
        parts = {"true_positives": lambda: yes * label, "false_positives":
                 lambda: yes * (1.0 - label), "true_negatives":
                 lambda: (1.0 - yes) * (1.0 - label), "false_negatives":
                 lambda: (1.0 - yes) * label}
        for word in self.NAMES:
            getattr(self, word).assign_add(op("Sum", parts[word]() * share, [1]))

    def _one(self, value):
        return value[0] if self._scalar else value

    def get_config(self):
        return {**super().get_config(), "thresholds": self.init_thresholds}


def _count(class_name, word):
    def result(self):
        return self._one(getattr(self, word).value())
    return named(class_name)(type(class_name, (_Counts,), {
        "NAMES": (word,), "result": result, "__doc__": "How many " + word.replace("_", " ")}))


_count("TruePositives", "true_positives")
_count("FalsePositives", "false_positives")
_count("TrueNegatives", "true_negatives")
_count("FalseNegatives", "false_negatives")


def _fraction(class_name, first, second):
    def init(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):
        _Counts.__init__(self, thresholds, name, dtype)
        self.class_id = class_id

    def update_state(self, y_true, y_pred, sample_weight=None):
        if self.class_id is not None:
            y_true = convert_to_tensor(y_true)[..., self.class_id]
            y_pred = convert_to_tensor(y_pred)[..., self.class_id]
        _Counts.update_state(self, y_true, y_pred, sample_weight)

    def result(self):
        top, rest = getattr(self, first).value(), getattr(self, second).value()
        return self._one(op("DivNoNan", top, top + rest))
    return named(class_name)(type(class_name, (_Counts,), {
        "NAMES": (first, second), "__init__": init, "update_state": update_state,
        "result": result, "__doc__": f"{first} among {first} and {second}."}))


Precision = _fraction("Precision", "true_positives", "false_positives")
Recall = _fraction("Recall", "true_positives", "false_negatives")


@named("AUC")
class AUC(_Counts):
    """The area under the curve of true over false positives (ROC), or precision over recall."""
    NAMES = ("true_positives", "true_negatives", "false_positives", "false_negatives")

    def __init__(self, num_thresholds=200, curve="ROC", summation_method="interpolation", name=None,
                 dtype=None, thresholds=None, multi_label=False, num_labels=None,
                 label_weights=None, from_logits=False):
        inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)] \
            if thresholds is None else sorted(thresholds)
        super().__init__([-1e-7, *inner, 1.0 + 1e-7], name, dtype)
        self.curve, self.summation_method, self._from_logits = curve, summation_method, from_logits
        self.num_thresholds = len(self.thresholds)

    def update_state(self, y_true, y_pred, sample_weight=None):
        if self._from_logits:
            y_pred = op("Sigmoid", convert_to_tensor(y_pred))
        super().update_state(y_true, y_pred, sample_weight)

    def result(self):
        hit, miss = self.true_positives.value(), self.false_negatives.value()
        wrong, right = self.false_positives.value(), self.true_negatives.value()
        n = self.num_thresholds
        recall = op("DivNoNan", hit, hit + miss)
        if self.curve == "PR":
            return self._pr(hit, wrong, miss, n)
        x, y = op("DivNoNan", wrong, wrong + right), recall
        heights = (y[:n - 1] + y[1:]) / 2.0 if self.summation_method == "interpolation" else \
            op("Minimum" if self.summation_method == "minoring" else "Maximum", y[:n - 1], y[1:])
        return op("Sum", (x[:n - 1] - x[1:]) * heights)

    @staticmethod
    def _pr(hit, wrong, miss, n):
        """The area between neighbours with precision interpolated as Davis and Goadrich do."""
        d_hit = hit[:n - 1] - hit[1:]
        p = hit + wrong
        d_p = p[:n - 1] - p[1:]
        slope = op("DivNoNan", d_hit, op("Relu", d_p))
        cut = hit[1:] - slope * p[1:]
        safe = op("SelectV2", op("LogicalAnd", op("Greater", p[:n - 1], 0.0),
                                 op("Greater", p[1:], 0.0)),
                  op("DivNoNan", op("Relu", p[:n - 1]), op("Relu", p[1:])),
                  op("OnesLike", p[1:]))
        area = slope * (d_hit + cut * op("Log", safe))
        return op("Sum", op("DivNoNan", area, op("Relu", hit[1:] + miss[1:])))

    def get_config(self):
        return {"name": self.name, "dtype": self.dtype, "num_thresholds": self.num_thresholds,
                "curve": self.curve, "summation_method": self.summation_method}


@named("MeanIoU")
class MeanIoU(Metric):
    """The mean over classes of true positives over all that are in label or prediction."""

    def __init__(self, num_classes, name=None, dtype=None):
        super().__init__(name, dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight("total_confusion_matrix", (num_classes, num_classes))

    def update_state(self, y_true, y_pred, sample_weight=None):
        labels, found = (_flat(cast(convert_to_tensor(t), "int64")) for t in (y_true, y_pred))
        n = self.num_classes
        share = op("OnesLike", cast(labels, "float32"))
        if sample_weight is not None:
            share = share * _flat(gauge(sample_weight))
        table = op("UnsortedSegmentSum", share, labels * n + found, n * n)
        self.total_cm.assign_add(op("Reshape", table, [n, n]))

    def result(self):
        table = self.total_cm.value()
        n = self.num_classes
        hit = op("DiagPart", table)
        either = op("Sum", table, [0]) + op("Sum", table, [1]) - hit
        seen = cast(op("NotEqual", either, 0.0), "float32")
        return op("DivNoNan", op("Sum", op("DivNoNan", hit, either), [0]), op("Sum", seen, [0])) \
            if n else hit

    def get_config(self):
        return {**super().get_config(), "num_classes": self.num_classes}


KIND.export("metrics")
