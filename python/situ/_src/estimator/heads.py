# SPDX-License-Identifier: Apache-2.0
"""heads.py: heads of canned estimators: from logits to losses, predictions and metrics."""

from situ._src.estimator.spec import EstimatorSpec, ModeKeys
from situ._src.framework import style
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.lookup_ops import key_indices
from situ._src.ops.nn import losses
from situ._src.training import metrics, threshold_metrics


class Head:
    """Base class of heads: example weights and the reduction of losses."""

    width = 1

    def __init__(self, weight_column=None, loss_reduction=None):
        self._weight_column = weight_column
        self._mean = (
            loss_reduction in ("sum_over_batch_size", "weighted_sum_over_batch_size")
            if loss_reduction is not None
            else not style.is_graph()
        )

    def _weights(self, features):
        if self._weight_column is None:
            return None
        key = getattr(self._weight_column, "key", self._weight_column)
        return op("Reshape", cast(convert_to_tensor(features[key]), "float32"), [-1, 1])

    def _reduce(self, losses, weights):
        with scope("weighted_loss"):
            weighted = losses if weights is None else losses * weights
            total = op("Sum", weighted, list(range(weighted.shape.ndims)))
        size = cast(op("Size", losses), "float32")
        mean = op("RealDiv", total, size, name="truediv")  # programs log it under that name
        return mean if self._mean else total

    def spec(self, features, mode, logits, labels, train):
        """Returns the EstimatorSpec; train(loss) returns the train_op."""
        with scope("head"):
            return self._spec(features, mode, logits, labels, train)

    def _spec(self, features, mode, logits, labels, train):
        with scope("predictions"):
            predictions = self.predictions(logits)
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions=predictions)
        if labels is None:
            raise ValueError(
                "You must provide a labels Tensor. Given: None. Suggested "
                "troubleshooting steps: Check that your data contain your label "
                "feature. Check that your input_fn properly parses and returns "
                "labels."
            )
        labels, weights = self.labels(convert_to_tensor(labels)), self._weights(features)
        losses = self.losses(labels, logits)
        loss = self._reduce(losses, weights)
        if mode == ModeKeys.EVAL:
            result = self.metrics(labels, predictions, losses, weights)
            return EstimatorSpec(mode, predictions, loss, eval_metric_ops=result)
        return EstimatorSpec(mode, predictions, loss, train_op=train(loss))

    @staticmethod
    def labels(labels):
        """Returns labels as a column."""
        return op("ExpandDims", labels, -1) if labels.shape.ndims == 1 else labels


def _to_class_ids(labels, vocabulary):
    """Converts string labels to class ids."""
    if vocabulary is None:
        if labels.dtype.name == "string":
            raise ValueError(
                "Labels dtype should be integer. Instead got <dtype: 'string'>. "
                "Set label_vocabulary for string labels."
            )
        return labels
    return key_indices(constant(list(vocabulary), "string"), len(vocabulary), labels)


def _classes(ids, vocabulary):
    return (
        op("AsString", ids)
        if vocabulary is None
        else op("GatherV2", constant(list(vocabulary), "string"), ids, 0)
    )


class Binary(Head):
    """Head of two classes, with one logit."""

    def __init__(self, vocabulary=None, **kwargs):
        super().__init__(**kwargs)
        self._vocabulary = vocabulary

    def labels(self, labels):
        return cast(super().labels(_to_class_ids(labels, self._vocabulary)), "float32")

    def losses(self, labels, logits):
        return losses.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def predictions(self, logits):
        logistic = op("Sigmoid", logits, name="logistic")
        both = op("ConcatV2", [op("ZerosLike", logits), logits], -1)
        ids = op("ExpandDims", op("ArgMax", both, -1), -1)
        return {
            "logits": logits,
            "logistic": logistic,
            "class_ids": ids,
            "probabilities": op("Softmax", both, name="probabilities"),
            "classes": _classes(ids, self._vocabulary),
        }

    def metrics(self, labels, predictions, losses, weights):
        share, ids = predictions["logistic"], predictions["class_ids"]
        baseline = metrics.mean(labels, weights)
        return {
            "average_loss": metrics.mean(losses, weights),
            "accuracy": metrics.accuracy(labels, ids, weights),
            "precision": metrics.precision(labels, ids, weights),
            "recall": metrics.recall(labels, ids, weights),
            "prediction/mean": metrics.mean(share, weights),
            "label/mean": baseline,
            "accuracy_baseline": tuple(op("Maximum", v, 1.0 - v) for v in baseline),
            "auc": threshold_metrics.auc(labels, share, weights),
            "auc_precision_recall": threshold_metrics.auc(
                labels, share, weights, curve="PR", summation_method="careful_interpolation"
            ),
        }


class Classes(Head):
    """Head of several classes, with one logit each."""

    def __init__(self, n_classes, vocabulary=None, **kwargs):
        super().__init__(**kwargs)
        self.width, self._vocabulary = n_classes, vocabulary

    def labels(self, labels):
        return cast(super().labels(_to_class_ids(labels, self._vocabulary)), "int64")

    def losses(self, labels, logits):
        loss = losses.sparse_softmax_cross_entropy_with_logits(
            labels=op("Reshape", labels, [-1]), logits=logits
        )
        return op("ExpandDims", loss, -1)

    def predictions(self, logits):
        ids = op("ExpandDims", op("ArgMax", logits, -1), -1)
        return {
            "logits": logits,
            "class_ids": ids,
            "probabilities": op("Softmax", logits, name="probabilities"),
            "classes": _classes(ids, self._vocabulary),
        }

    def metrics(self, labels, predictions, losses, weights):
        return {
            "average_loss": metrics.mean(losses, weights),
            "accuracy": metrics.accuracy(labels, predictions["class_ids"], weights),
        }


class Regression(Head):
    """Head of real-valued labels."""

    def __init__(self, label_dimension=1, **kwargs):
        super().__init__(**kwargs)
        self.width = label_dimension

    def labels(self, labels):
        return cast(super().labels(labels), "float32")

    def losses(self, labels, logits):
        if not labels.shape.is_compatible_with(logits.shape):
            raise ValueError(
                f"labels shape must be [D0, D1, ... DN, {self.width}]. labels shape: "
                f"{labels.shape}, logits shape: {logits.shape}"
            )
        return op("SquaredDifference", logits, labels)

    def predictions(self, logits):
        return {"predictions": logits}

    def metrics(self, labels, predictions, losses, weights):
        return {
            "average_loss": metrics.mean(losses, weights),
            "label/mean": metrics.mean(labels, weights),
            "prediction/mean": metrics.mean(predictions["predictions"], weights),
        }


def classifier(n_classes, label_vocabulary, **kwargs):
    """Returns the head for a number of classes."""
    if n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {n_classes}.")
    return (
        Binary(label_vocabulary, **kwargs)
        if n_classes == 2
        else Classes(n_classes, label_vocabulary, **kwargs)
    )
