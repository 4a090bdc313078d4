# SPDX-License-Identifier: Apache-2.0
"""metrics_further.py: metrics of overlaps (IoU) and of precision and recall together (F1)."""
from situ._lib.array_ops import cast, convert_to_tensor, op
from situ._lib.keras.metrics import Metric, gauge, named
from situ._lib.keras.metrics_counts import MeanIoU


@named("IoU", v2=False)
class IoU(MeanIoU):
    """The mean overlap of some classes."""

    def __init__(self, num_classes, target_class_ids, name=None, dtype=None, **words):
        super().__init__(num_classes, name, dtype)
        self.target_class_ids = list(target_class_ids)

    def result(self):
        table = self.total_cm.value()
        hit = op("DiagPart", table)
        either = op("Sum", table, [0]) + op("Sum", table, [1]) - hit
        pick = lambda v: op("GatherV2", v, convert_to_tensor(self.target_class_ids), 0)
        hit, either = pick(hit), pick(either)
        seen = cast(op("NotEqual", either, 0.0), "float32")
        return op("DivNoNan", op("Sum", op("DivNoNan", hit, either), [0]), op("Sum", seen, [0]))

    def get_config(self):
        return {**super().get_config(), "target_class_ids": self.target_class_ids}


@named("BinaryIoU", v2=False)
class BinaryIoU(IoU):
    """The mean overlap of no and yes, where predictions above a threshold are yes."""

    def __init__(self, target_class_ids=(0, 1), threshold=0.5, name=None, dtype=None):
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = convert_to_tensor(y_pred)
        yes = cast(op("GreaterEqual", y_pred, cast(self.threshold, y_pred.dtype)), "int64")
        super().update_state(y_true, yes, sample_weight)

    def get_config(self):
        config = super().get_config()
        config.pop("num_classes")
        return {**config, "threshold": self.threshold}


class _OneHot:
    """Labels, and often predictions, are rows with the class at the largest place."""

    def update_state(self, y_true, y_pred, sample_weight=None):
        largest = lambda t: op("ArgMax", gauge(t), -1)
        super().update_state(largest(y_true), largest(y_pred), sample_weight)


@named("OneHotIoU", v2=False)
class OneHotIoU(_OneHot, IoU):
    """The mean overlap of some classes, of rows with one 1."""


@named("OneHotMeanIoU", v2=False)
class OneHotMeanIoU(_OneHot, MeanIoU):
    """The mean overlap of all classes, of rows with one 1."""


@named("FBetaScore", v2=False)
class FBetaScore(Metric):
    """Precision and recall in one number, recall counting beta times as much."""

    def __init__(self, average=None, beta=1.0, threshold=None, name="fbeta_score", dtype=None):
        super().__init__(name, dtype)
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError("Invalid `average` argument value. It should be one of: "
                             f"{[None, 'micro', 'macro', 'weighted']}. Received: "
                             f"average={average}")
        self.average, self.beta, self.threshold, self.hits = average, beta, threshold, None

    def _make(self, width):
        for word in ("hits", "found", "wanted"):
            setattr(self, word, self.add_weight(word, [width]))

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = gauge(y_true), gauge(y_pred)
        if self.hits is None:
            self._make(y_pred.shape.as_list()[-1])
        if self.threshold is None:
            most = op("Max", y_pred, [-1], keep_dims=True)
            yes = op("LogicalAnd", op("Equal", y_pred, most),
                     op("Greater", op("Abs", y_pred), 1e-12))
        else:
            yes = op("Greater", y_pred, float(self.threshold))
        yes = cast(yes, "float32")
        if sample_weight is not None:
            share = op("Reshape", gauge(sample_weight), [-1, 1])
            yes, y_true = yes * share, y_true * share
        for variable, value in ((self.hits, yes * y_true), (self.found, yes),
                                (self.wanted, y_true)):
            variable.assign_add(op("Sum", value, [0]))

    def result(self):
        hits, found, wanted = (v.value() for v in (self.hits, self.found, self.wanted))
        if self.average == "micro":
            hits, found, wanted = (op("Sum", v, [0]) for v in (hits, found, wanted))
        square = self.beta ** 2
        score = op("DivNoNan", (1.0 + square) * hits, found + square * wanted)
        if self.average == "macro":
            return op("Mean", score, [0])
        if self.average == "weighted":
            return op("Sum", op("DivNoNan", score * wanted, op("Sum", wanted, [0])), [0])
        return score

    def get_config(self):
        return {**super().get_config(), "average": self.average, "beta": self.beta,
                "threshold": self.threshold}


@named("F1Score", v2=False)
class F1Score(FBetaScore):
    """The harmonic mean of precision and recall."""

    def __init__(self, average=None, threshold=None, name="f1_score", dtype=None):
        super().__init__(average, 1.0, threshold, name, dtype)

    def get_config(self):
        config = super().get_config()
        config.pop("beta")
        return config


@named("R2Score", v2=False)
class R2Score(Metric):
    """How much of the variance of labels predictions explain."""

    def __init__(self, class_aggregation="uniform_average", num_regressors=0, name="r2_score",
                 dtype=None):
        super().__init__(name, dtype)
        self.class_aggregation, self.num_regressors = class_aggregation, num_regressors
        self.squares = None

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = gauge(y_true), gauge(y_pred)
        if self.squares is None:
            width = y_true.shape.as_list()[-1]
            for word in ("squares", "total", "residual", "count"):
                setattr(self, word, self.add_weight(word, [width]))
        share = op("OnesLike", y_true)
        if sample_weight is not None:
            share = share * op("Reshape", gauge(sample_weight), [-1, 1])
        for variable, value in ((self.squares, y_true * y_true), (self.total, y_true),
                                (self.residual, op("SquaredDifference", y_true, y_pred)),
                                (self.count, op("OnesLike", y_true))):
            variable.assign_add(op("Sum", value * share, [0]))

    def result(self):
        squares, total, residual, count = (v.value() for v in (
            self.squares, self.total, self.residual, self.count))
        spread = squares - op("DivNoNan", total * total, count)
        score = 1.0 - op("DivNoNan", residual, spread)
        if self.class_aggregation == "uniform_average":
            return op("Mean", score, [0])
        if self.class_aggregation == "variance_weighted_average":
            return op("DivNoNan", op("Sum", score * spread, [0]), op("Sum", spread, [0]))
        return score

    def get_config(self):
        return {**super().get_config(), "class_aggregation": self.class_aggregation,
                "num_regressors": self.num_regressors}
