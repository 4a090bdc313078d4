# SPDX-License-Identifier: Apache-2.0
"""test_keras_metrics.py: metrics of Keras: shapes, weights, thresholds, the k best classes, one
class, several labels. Expected values are TensorFlow's."""

import numpy
import pytest

import situ as tf

M = tf.keras.metrics
Y = numpy.array([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]], "float32")
P = numpy.array([[0.8, 0.3, 0.1], [0.4, 0.6, 0.2], [0.3, 0.9, 0.5], [0.1, 0.7, 0.6]], "float32")


def value(metric, *calls):
    for y, p, *weight in calls:
        metric.update_state(y, p, sample_weight=weight[0] if weight else None)
    return metric.result().numpy()


@pytest.mark.parametrize(
    "weights, expected",
    [
        ([1.0, 0.0, 1.0, 0.0], 5 / 6),
        ([[1.0], [0.0], [1.0], [0.0]], 5 / 6),
        (2.0, 0.75),
        (numpy.ones((4, 3)), 0.75),
    ],
)
def test_weights_of_accuracies(weights, expected):
    assert value(M.BinaryAccuracy(), (Y, P, weights)) == pytest.approx(expected)


@pytest.mark.parametrize(
    "name",
    ["BinaryAccuracy", "CategoricalAccuracy", "Precision", "AUC", "MeanSquaredError", "Mean"],
)
@pytest.mark.parametrize("shape", [(2,), (3, 1), (4, 3, 2), (4, 3, 1, 1)])
def test_weights_that_do_not_fit_are_refused(name, shape):
    metric = getattr(M, name)()
    data = (P,) if name == "Mean" else (Y, P)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        metric.update_state(*data, sample_weight=numpy.ones(shape, "float32"))


@pytest.mark.parametrize(
    "name",
    [
        "Precision",
        "Recall",
        "AUC",
        "TruePositives",
        "CategoricalCrossentropy",
        "BinaryCrossentropy",
    ],
)
def test_labels_have_the_shape_of_predictions(name):
    with pytest.raises(ValueError):
        getattr(M, name)().update_state(Y[:, :2], P)


def test_the_k_best_classes_and_one_class():
    assert value(M.Precision(top_k=1), (Y, P)) == pytest.approx(0.75)
    assert value(M.Recall(top_k=2), (Y, P)) == pytest.approx(4 / 6)
    assert value(M.Precision(class_id=1), (Y, P)) == pytest.approx(2 / 3)
    assert value(M.Recall(class_id=2, thresholds=0.15), (Y, P, [1.0, 1.0, 0.0, 3.0])) == 1.0
    with pytest.raises(ValueError, match="When class_id is provided"):
        M.Precision(class_id=0).update_state(Y[:, 0], P[:, 0])


def test_thresholds():
    assert value(M.Precision(thresholds=[0.2, 0.65]), (Y, P)).tolist() == pytest.approx(
        [5 / 9, 2 / 3]
    )
    assert value(M.TrueNegatives(thresholds=[0.2, 0.65]), (Y, P)).tolist() == [2.0, 5.0]
    with pytest.raises(ValueError, match=r"Threshold values must be in \[0, 1\]"):
        M.Precision(thresholds=1.5)


def test_auc():
    y, p = [0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9]
    assert value(M.AUC(num_thresholds=3), (y, p)) == pytest.approx(0.75)
    assert value(M.AUC(num_thresholds=3), (y, p, [1.0, 0.0, 0.0, 1.0])) == pytest.approx(1.0)
    logits = numpy.log(numpy.clip(p, 1e-3, 1) / (1 - numpy.clip(p, 1e-3, 1) + 1e-9))
    assert value(M.AUC(from_logits=True), (y, logits)) == pytest.approx(0.75)
    by_label = value(M.AUC(multi_label=True, num_labels=3), (Y, P))
    each = [value(M.AUC(), (Y[:, i], P[:, i])) for i in range(3)]
    assert by_label == pytest.approx(numpy.mean(each))
    weighted = value(M.AUC(multi_label=True, label_weights=[1.0, 0.0, 3.0]), (Y, P))
    assert weighted == pytest.approx((each[0] + 3 * each[2]) / 4)
    for wrong in (
        {"curve": "X"},
        {"summation_method": "X"},
        {"num_labels": 2},
        {"num_thresholds": 1},
    ):
        with pytest.raises(ValueError):
            M.AUC(**wrong)


def test_values_at_a_constraint():
    y, p = [0, 0, 0, 1, 1], [0.0, 0.3, 0.8, 0.3, 0.8]
    assert value(M.SensitivityAtSpecificity(0.5), (y, p)) == pytest.approx(0.5)
    assert value(M.SpecificityAtSensitivity(0.5), (y, p)) == pytest.approx(2 / 3)
    assert value(M.PrecisionAtRecall(0.5), (y, p)) == pytest.approx(0.5)
    assert value(M.RecallAtPrecision(precision=0.5, num_thresholds=1), (y, p)) == 0.5
    with pytest.raises(ValueError, match=r"must be in the range \[0, 1\]"):
        M.RecallAtPrecision(2.0)


def test_overlaps():
    y, p = numpy.array([[0, 0], [1, 1]]), numpy.array([[0, 1], [1, 1]])
    assert value(M.MeanIoU(3), (y, p)) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert value(M.MeanIoU(2, ignore_class=0), (y, p)) == pytest.approx(1.0)
    assert value(M.IoU(2, [0]), (y, p, [[1.0, 0.0], [1.0, 1.0]])) == pytest.approx(1.0)
    one_hot = numpy.eye(2, dtype="float32")
    assert value(M.OneHotIoU(2, [1]), (one_hot[y], one_hot[p])) == pytest.approx(2 / 3)
    assert value(M.MeanIoU(2, sparse_y_pred=False), (y, one_hot[p])) == pytest.approx(7 / 12)
    assert value(M.MeanIoU(2), ([0, 5], [0, 1])) == 1.0  # an id that is no class
    with pytest.raises(ValueError, match="out of range"):
        M.IoU(2, [2])


def test_scores():
    weights = [1.0, 0.0, 2.0, 1.0]
    assert value(M.F1Score(threshold=0.5), (Y, P, weights)).tolist() == pytest.approx(
        [0.5, 0.8, 1.0]
    )
    plain = value(M.R2Score(), (Y, P))
    count = Y.size
    assert value(M.R2Score(num_regressors=2), (Y, P)) == pytest.approx(
        1 - (1 - plain) * (count - 1) / (count - 3)
    )
    with pytest.raises(ValueError, match="expects 2D inputs"):
        M.F1Score().update_state(Y[:, 0], P[:, 0])


def test_sorted_class_ids():
    best = numpy.argsort(-P, 1)
    result = M.sparse_top_k_categorical_accuracy([1, 1, 2, 0], best, k=2, from_sorted_ids=True)
    assert result.numpy().tolist() == [1.0, 1.0, 1.0, 0.0]
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        M.TopKCategoricalAccuracy().update_state(Y[0], P[0])


def test_a_mean_of_tensors_keeps_its_shape():
    metric = M.MeanTensor()
    metric.update_state([1.0, 3.0], sample_weight=[1.0, 0.0])
    metric.update_state([3.0, 5.0])
    assert metric.result().numpy().tolist() == [2.0, 5.0]
    with pytest.raises(ValueError, match="must always have the same shape"):
        metric.update_state([[1.0, 2.0]])
