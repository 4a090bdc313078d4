# SPDX-License-Identifier: Apache-2.0
"""metrics_counts.py: confusion counts at thresholds, precision, recall, and sensitivity at
specificity (and similar metrics)."""

import numpy

from situ._src.keras import losses
from situ._src.keras.metrics import Metric, named, to_floatx
from situ._src.ops.array_ops import cast, convert_to_tensor, op

OUTCOMES = ("true_positives", "false_positives", "true_negatives", "false_negatives")
_LEAST = -1e10  # the score of a class that is not among the k best, and the threshold below all


def _checked(thresholds, default):
    """Returns the thresholds as a list; raises a ValueError if one is not in [0, 1]."""
    if thresholds is None:
        return [default]
    result = [float(t) for t in numpy.atleast_1d(numpy.asarray(thresholds, "float64"))]
    wrong = [t for t in result if not 0.0 <= t <= 1.0]
    if wrong:
        raise ValueError(f"Threshold values must be in [0, 1]. Received: {wrong}")
    return result


def _only_best(scores, k):
    """Keeps the scores of the k best classes and moves the others below every threshold."""
    best = op("TopKV2", scores, k)[1]
    classes = scores.shape.as_list()[-1]
    mask = op("Sum", op("OneHot", best, classes, 1.0, 0.0), [-2])
    return scores * mask + _LEAST * (1.0 - mask)


def spread_weight(y_true, sample_weight):
    """Broadcasts weights to the shape of the labels."""
    weight = op("ExpandDims", to_floatx(sample_weight), -1)
    weight = losses.squeeze_or_expand(y_true, weight, expand_rank_1=False)[1]
    return op("BroadcastTo", weight, op("Shape", y_true))


def prepared(y_true, y_pred, sample_weight, top_k=None, class_id=None):
    """Returns labels (0.0 or 1.0), scores and weights of one shape, of class_id or of all
    classes.
    """
    y_pred, y_true = losses.squeeze_or_expand(to_floatx(y_pred), to_floatx(y_true))
    if not y_true.shape.is_compatible_with(y_pred.shape):
        raise ValueError(f"Shapes {y_true.shape} and {y_pred.shape} are incompatible")
    if top_k is not None:
        y_pred = _only_best(y_pred, top_k)
    weight = to_floatx(1.0) if sample_weight is None else to_floatx(sample_weight)
    if class_id is not None:
        if y_pred.shape.rank == 1:
            raise ValueError(
                "When class_id is provided, y_pred must be a 2D array with shape "
                f"(num_samples, num_classes), found shape: {y_pred.shape}"
            )
        y_true, y_pred = y_true[..., class_id, None], y_pred[..., class_id, None]
    label = cast(cast(y_true, "bool"), "float32")
    return label, y_pred, spread_weight(y_pred, weight)


class Counts(Metric):
    """Base class of metrics that count outcomes at thresholds; NAMES are the counted outcomes."""

    NAMES: tuple[str, ...] = ()
    DEFAULT = 0.5

    def __init__(self, thresholds=None, name=None, dtype=None):
        super().__init__(name, dtype)
        self._scalar = not isinstance(thresholds, (list, tuple, numpy.ndarray))
        self.init_thresholds = thresholds
        self.thresholds = _checked(thresholds, self.DEFAULT)
        self.top_k = self.class_id = None
        self._make((len(self.thresholds),))

    def _make(self, shape):
        for name in self.NAMES:
            setattr(self, name, self.add_weight(name, shape))

    def update_state(self, y_true, y_pred, sample_weight=None):
        label, score, weight = (
            op("Reshape", t, [1, -1])
            for t in prepared(y_true, y_pred, sample_weight, self.top_k, self.class_id)
        )
        limits = convert_to_tensor(numpy.asarray(self.thresholds, "float32")[:, None])
        yes = cast(op("Greater", score, limits), "float32")
        parts = {
            "true_positives": lambda: yes * label,
            "false_positives": lambda: yes * (1.0 - label),
            "true_negatives": lambda: (1.0 - yes) * (1.0 - label),
            "false_negatives": lambda: (1.0 - yes) * label,
        }
        for name in self.NAMES:
            getattr(self, name).assign_add(op("Sum", parts[name]() * weight, [1]))

    def _one(self, value):
        return value[0] if len(self.thresholds) == 1 else value

    def get_config(self):
        return {**super().get_config(), "thresholds": self.init_thresholds}


_COUNT_DOC = """Weighted number of {}.

Args:
  thresholds: Predictions above a threshold are positive: a number or a list; default: 0.5.
  name: Name of the metric.
  dtype: Type of the state.

Raises:
  ValueError: If a threshold is not in [0, 1].
"""
_FRACTION_DOC = """{0}: `{1} / ({1} + {2})`.

Args:
  thresholds: Predictions above a threshold are positive: a number or a list; default: 0.5, or
    none with top_k.
  top_k: Only the k largest predictions of an example are positive.
  class_id: Only this class is counted.
  name: Name of the metric.
  dtype: Type of the state.

Raises:
  ValueError: If a threshold is not in [0, 1].
"""


def _count(class_name, name):
    def result(self):
        return self._one(getattr(self, name).value())

    return named(class_name)(
        type(
            class_name,
            (Counts,),
            {
                "NAMES": (name,),
                "result": result,
                "__doc__": _COUNT_DOC.format(name.replace("_", " ")),
            },
        )
    )


_count("TruePositives", "true_positives")
_count("FalsePositives", "false_positives")
_count("TrueNegatives", "true_negatives")
_count("FalseNegatives", "false_negatives")


def _fraction(class_name, first, second):
    def init(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):
        self.DEFAULT = 0.5 if top_k is None else _LEAST
        Counts.__init__(self, thresholds, name, dtype)
        self.top_k, self.class_id = top_k, class_id

    def result(self):
        top, rest = getattr(self, first).value(), getattr(self, second).value()
        return self._one(op("DivNoNan", top, top + rest))

    def get_config(self):
        return {**Counts.get_config(self), "top_k": self.top_k, "class_id": self.class_id}

    return named(class_name)(
        type(
            class_name,
            (Counts,),
            {
                "NAMES": (first, second),
                "__init__": init,
                "result": result,
                "get_config": get_config,
                "__doc__": _FRACTION_DOC.format(class_name, first, second),
            },
        )
    )


Precision = _fraction("Precision", "true_positives", "false_positives")
Recall = _fraction("Recall", "true_positives", "false_negatives")


# Even thresholds


def even_counts(label, score, weight, count, below_zero):
    """Counts at `count` evenly spaced thresholds in [0, 1].

    Args:
      label, score, weight: Tensors of shape [examples, labels]; scores are clipped to [0, 1].
      count: Number of thresholds.
      below_zero: Whether the first threshold is below 0, so that a score of 0 is above it.

    Returns:
      True positives, false positives [count, labels]; the sums of true and of false labels.
    """
    labels = op("Shape", score)[1]
    score = op("ClipByValue", score, 0.0, 1.0)
    bucket = (
        cast(op("Ceil", score * float(count - 1)) - 1.0, "int32")
        if count > 1
        else cast(op("Greater", score, 0.5), "int32") - 1
    )  # the one threshold is 0.5
    valid = op("OnesLike", score) if below_zero else cast(op("GreaterEqual", bucket, 0), "float32")
    place = op("Relu", bucket) * labels + op("Range", 0, labels, 1)
    result = []
    for mine in (label * weight, (1.0 - label) * weight):
        sums = op(
            "UnsortedSegmentSum",
            op("Reshape", mine * valid, [-1]),
            op("Reshape", place, [-1]),
            labels * count,
        )
        result.append(
            op("Cumsum", op("Reshape", sums, op("Pack", [count, labels])), 0, reverse=True)
        )
    return (*result, op("Sum", label * weight, [0]), op("Sum", (1.0 - label) * weight, [0]))


class EvenCounts(Metric):
    """Base class of metrics with all four counts at evenly spaced thresholds, per label or in
    total.
    """

    def _make(self, shape):
        for name in OUTCOMES:
            setattr(self, name, self.add_weight(name, shape))

    def _add(self, label, score, weight, below_zero, by_label=False):
        if not by_label:
            label, score, weight = (op("Reshape", t, [-1, 1]) for t in (label, score, weight))
        hit, wrong, true, false = even_counts(
            label, score, weight, len(self.thresholds), below_zero
        )
        for variable, value in (
            (self.true_positives, hit),
            (self.false_positives, wrong),
            (self.true_negatives, false - wrong),
            (self.false_negatives, true - hit),
        ):
            variable.assign_add(value if by_label else op("Reshape", value, [-1]))


class _AtConstraint(EvenCounts):
    """The largest value of one ratio at thresholds where another one is large enough."""

    WANTED = GIVEN = None  # pairs of counts: first / (first + second)
    WORD = ""

    def __init__(self, value, num_thresholds=200, class_id=None, name=None, dtype=None):
        super().__init__(name, dtype)
        if not 0 <= value <= 1:
            raise ValueError(
                f"Argument `{self.WORD}` must be in the range [0, 1]. Received: {self.WORD}={value}"
            )
        if num_thresholds <= 0:
            raise ValueError(
                "Argument `num_thresholds` must be an integer > 0. Received: "
                f"num_thresholds={num_thresholds}"
            )
        self.value, self.class_id, self.num_thresholds = value, class_id, num_thresholds
        setattr(self, self.WORD, value)
        self.thresholds = (
            [0.5]
            if num_thresholds == 1
            else [i / (num_thresholds - 1) for i in range(num_thresholds)]
        )
        self._make((num_thresholds,))

    def update_state(self, y_true, y_pred, sample_weight=None):
        label, score, weight = prepared(y_true, y_pred, sample_weight, None, self.class_id)
        self._add(label, score, weight, False)

    def _ratio(self, pair):
        first, second = (getattr(self, name).value() for name in pair)
        return op("DivNoNan", first, first + second)

    def result(self):
        fine = op("GreaterEqual", self._ratio(self.GIVEN), float(self.value))
        wanted = self._ratio(self.WANTED)
        return op("Max", op("SelectV2", fine, wanted, op("ZerosLike", wanted)), [0])

    def get_config(self):
        return {
            **super().get_config(),
            "num_thresholds": self.num_thresholds,
            self.WORD: self.value,
            "class_id": self.class_id,
        }


_RATIOS = {
    "sensitivity": ("true_positives", "false_negatives"),
    "specificity": ("true_negatives", "false_positives"),
    "precision": ("true_positives", "false_positives"),
    "recall": ("true_positives", "false_negatives"),
}


def _at(wanted, given):
    def init(self, *args, **kwargs):
        if given in kwargs:
            args = (kwargs.pop(given), *args)
        _AtConstraint.__init__(self, *args, **kwargs)

    name = f"{wanted.title()}At{given.title()}"
    return named(name)(
        type(
            name,
            (_AtConstraint,),
            {
                "__init__": init,
                "WANTED": _RATIOS[wanted],
                "GIVEN": _RATIOS[given],
                "WORD": given,
                "__doc__": f"The best {wanted} where {given} is at least a value.",
            },
        )
    )


_at("sensitivity", "specificity")
_at("specificity", "sensitivity")
_at("precision", "recall")
_at("recall", "precision")
