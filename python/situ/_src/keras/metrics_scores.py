# SPDX-License-Identifier: Apache-2.0
"""metrics_scores.py: F-scores (FBetaScore, F1Score), R2Score and correlations."""

from __future__ import annotations

from typing import Any

from situ._src.keras import losses
from situ._src.keras.losses import squeeze_or_expand
from situ._src.keras.metrics import MeanMetricWrapper, Metric, named, to_floatx
from situ._src.keras.registry import keras_export
from situ._src.ops.array_ops import cast, convert_to_tensor, op


def _matrices(metric, y_true, y_pred):
    """Returns both as tensors of rank 2 and equal shape; raises a ValueError otherwise."""
    y_true, y_pred = to_floatx(y_true), to_floatx(y_pred)
    if metric == "R2Score":  # a vector stands for a column
        y_true, y_pred = squeeze_or_expand(y_true, y_pred)
    if y_true.shape.rank != 2 or y_pred.shape.rank != 2:
        raise ValueError(
            f"{metric} expects 2D inputs with shape (batch_size, output_dim). "
            f"Received input shapes: y_pred.shape={y_pred.shape} and "
            f"y_true.shape={y_true.shape}."
        )
    if not y_true.shape.is_compatible_with(y_pred.shape):
        raise ValueError(f"{metric}: Shapes {y_true.shape} and {y_pred.shape} are incompatible")
    return y_true, y_pred


@named("FBetaScore", v2=False)
class FBetaScore(Metric):
    """F-beta score: harmonic mean of precision and recall, with recall weighted by beta."""

    def __init__(
        self,
        average=None,
        beta=1.0,
        threshold: Any = None,
        name: str | None = "fbeta_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(name, dtype)
        if average not in (None, "micro", "macro", "weighted"):
            raise ValueError(
                "Invalid `average` argument value. It should be one of: "
                f"{[None, 'micro', 'macro', 'weighted']}. Received: "
                f"average={average}"
            )
        if not isinstance(beta, float) or beta <= 0.0:
            raise ValueError(
                "Invalid `beta` argument value. It should be a Python float > 0. "
                f"Received: beta={beta}"
            )
        if threshold is not None and not (isinstance(threshold, float) and 0 < threshold <= 1):
            raise ValueError(
                "Invalid `threshold` argument value. It should be a Python float in "
                f"(0, 1]. Received: threshold={threshold}"
            )
        self.average, self.beta, self.threshold, self.hits = average, beta, threshold, None

    def _make(self, width):
        for name in ("hits", "found", "wanted"):
            setattr(self, name, self.add_weight(name, [width]))

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = _matrices("FBetaScore", y_true, y_pred)
        if self.hits is None:
            self._make(y_pred.shape.as_list()[-1])
        if self.threshold is None:
            most = op("Max", y_pred, [-1], keep_dims=True)
            yes = op(
                "LogicalAnd", op("Equal", y_pred, most), op("Greater", op("Abs", y_pred), 1e-12)
            )
        else:
            yes = op("Greater", y_pred, float(self.threshold))
        yes = cast(yes, "float32")
        share = (
            to_floatx(1.0)
            if sample_weight is None
            else op("ExpandDims", to_floatx(sample_weight), 1)
        )
        for variable, value in (
            (self.hits, yes * y_true),
            (self.found, yes),
            (self.wanted, y_true),
        ):
            variable.assign_add(op("Sum", value * share, [0]))

    def result(self):
        hits, results, wanted = (v.value() for v in (self.hits, self.found, self.wanted))
        if self.average == "micro":
            hits, results, wanted = (op("Sum", v, [0]) for v in (hits, results, wanted))
        square = self.beta**2
        score = op("DivNoNan", (1.0 + square) * hits, results + square * wanted)
        if self.average == "macro":
            return op("Mean", score, [0])
        if self.average == "weighted":
            return op("Sum", op("DivNoNan", score * wanted, op("Sum", wanted, [0])), [0])
        return score

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "average": self.average,
            "beta": self.beta,
            "threshold": self.threshold,
        }


@named("F1Score", v2=False)
class F1Score(FBetaScore):
    """F1 score: harmonic mean of precision and recall."""

    def __init__(
        self, average=None, threshold: Any = None, name: str | None = "f1_score", dtype: Any = None
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("beta")
        return config


@named("R2Score", v2=False)
class R2Score(Metric):
    """Coefficient of determination: the explained fraction of the variance of the labels."""

    def __init__(
        self,
        class_aggregation="uniform_average",
        num_regressors=0,
        name: str | None = "r2_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(name, dtype)
        allowed = (None, "uniform_average", "variance_weighted_average")
        if class_aggregation not in allowed:
            raise ValueError(
                "Invalid value for argument `class_aggregation`. Expected one of "
                f"{allowed}. Received: class_aggregation={class_aggregation}"
            )
        if num_regressors < 0:
            raise ValueError(
                "Invalid value for argument `num_regressors`. Expected a value >= 0. "
                f"Received: num_regressors={num_regressors}"
            )
        self.class_aggregation, self.num_regressors = class_aggregation, num_regressors
        self.squares, self.num_samples = None, self.add_weight("num_samples")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = _matrices("R2Score", y_true, y_pred)
        if self.squares is None:
            width = y_true.shape.as_list()[-1]
            for name in ("squares", "total", "residual", "count"):
                setattr(self, name, self.add_weight(name, [width]))
        share = op("OnesLike", y_true)
        if sample_weight is not None:
            weight = to_floatx(sample_weight)
            share = share * (op("ExpandDims", weight, 1) if weight.shape.rank == 1 else weight)
        self.num_samples.assign_add(cast(op("Size", y_true), "float32"))
        for variable, value in (
            (self.squares, y_true * y_true),
            (self.total, y_true),
            (self.residual, op("SquaredDifference", y_true, y_pred)),
            (self.count, op("OnesLike", y_true)),
        ):
            variable.assign_add(op("Sum", value * share, [0]))

    def result(self):
        squares, total, residual, count = (
            v.value() for v in (self.squares, self.total, self.residual, self.count)
        )
        spread = squares - total * (total / count)
        score = 1.0 - residual / spread
        score = op("SelectV2", op("IsInf", score), op("ZerosLike", score), score)
        if self.class_aggregation == "uniform_average":
            score = op("Mean", score, [0])
        elif self.class_aggregation == "variance_weighted_average":
            score = op("DivNoNan", op("Sum", score * spread, [0]), op("Sum", spread, [0]))
        if not self.num_regressors:
            return score
        count = self.num_samples.value()
        rest = count - float(self.num_regressors) - 1.0  # not above 0: the score is not adjusted
        adjusted = 1.0 - op("DivNoNan", (1.0 - score) * (count - 1.0), rest)
        return op("SelectV2", op("Greater", rest, 0.0), adjusted, score)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "class_aggregation": self.class_aggregation,
            "num_regressors": self.num_regressors,
        }


def _centered(y_true, y_pred, axis):
    """Returns labels and predictions as tensors, and their means."""
    y_pred = convert_to_tensor(y_pred)
    y_true = cast(y_true, y_pred.dtype)
    y_true, y_pred = losses.squeeze_or_expand(y_true, y_pred)
    axes = [axis] if isinstance(axis, int) else list(axis)
    means = [op("Mean", t, axes, keep_dims=True) for t in (y_true, y_pred)]
    return y_true, y_pred, *means, axes


@keras_export("metrics.pearson_correlation")
def pearson_correlation(y_true: Any, y_pred: Any, axis: Any = -1) -> Any:
    """Returns the Pearson correlation of labels and predictions.

    Args:
      y_true: Labels.
      y_pred: Predictions.
      axis: Axis or axes of the observations.
    """
    y_true, y_pred, *means, axes = _centered(y_true, y_pred, axis)
    parts = [t - mean for t, mean in zip((y_true, y_pred), means)]
    scaled = [
        part / op("Sqrt", op("Mean", op("Square", part), axes, keep_dims=True)) for part in parts
    ]
    return op("Mean", scaled[0] * scaled[1], axes)


@keras_export("metrics.concordance_correlation")
def concordance_correlation(y_true: Any, y_pred: Any, axis: Any = -1) -> Any:
    """Returns the concordance correlation of labels and predictions.

    Args:
      y_true: Labels.
      y_pred: Predictions.
      axis: Axis or axes of the observations.
    """
    y_true, y_pred, *means, axes = _centered(y_true, y_pred, axis)
    spreads = [
        op("Mean", op("SquaredDifference", t, mean), axes, keep_dims=True)
        for t, mean in zip((y_true, y_pred), means)
    ]
    shared = (y_true - means[1]) * (y_pred - means[1])
    total = spreads[0] + spreads[1] + op("SquaredDifference", *means) + losses.EPSILON
    return op("Mean", shared * 2.0 / total, axes)


@named("PearsonCorrelation", v2=False)
class PearsonCorrelation(MeanMetricWrapper):
    """Mean of the Pearson correlations of labels and predictions.

    Args:
      name: Name of the metric.
      dtype: Type of the state.
      axis: Axis or axes of the observations.
    """

    def __init__(
        self, name: str | None = "pearson_correlation", dtype: Any = None, axis: Any = -1
    ) -> None:
        super().__init__(pearson_correlation, name, dtype, axis=axis)
        self.axis = axis


@named("ConcordanceCorrelation", v2=False)
class ConcordanceCorrelation(MeanMetricWrapper):
    """Mean of the concordance correlations of labels and predictions.

    Args:
      name: Name of the metric.
      dtype: Type of the state.
      axis: Axis or axes of the observations.
    """

    def __init__(
        self, name: str | None = "concordance_correlation", dtype: Any = None, axis: Any = -1
    ) -> None:
        super().__init__(concordance_correlation, name, dtype, axis=axis)
        self.axis = axis
