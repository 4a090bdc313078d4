# SPDX-License-Identifier: Apache-2.0
"""test_metrics.py: tf.metrics and tf.losses of graph style: shapes of labels, predictions and
weights, classes without examples, thresholds, the k best classes. Expected values are
TensorFlow's."""

import numpy
import pytest

import situ.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")
LABELS = numpy.array([1, 0, 1, 1, 0, 1])
PREDICTIONS = numpy.array([1, 0, 0, 1, 1, 1])
WEIGHTS = numpy.array([5.0, 1.0, 0.5, 2.0, 0.5, 1.0], "float32")


def updated(metric, times=1):
    """(what the update gives, the value afterwards)."""
    value, update = metric
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        for _ in range(times):
            last = session.run(update)
        return last, session.run(value)


def value_of(metric, times=1):
    return updated(metric, times)[1]


def unknown(array):
    """A tensor whose rank is not known while the graph is built."""
    return tf.placeholder_with_default(tf.constant(array), shape=None)


@pytest.mark.parametrize("make", [tf.constant, unknown])
@pytest.mark.parametrize("labels", [(6,), (6, 1)])
@pytest.mark.parametrize("predictions", [(6,), (6, 1)])
@pytest.mark.parametrize("weights", [(6,), (6, 1)])
def test_a_last_dimension_of_1_makes_no_difference(make, labels, predictions, weights):
    found = value_of(
        tf.metrics.accuracy(
            make(LABELS.reshape(labels)),
            make(PREDICTIONS.reshape(predictions)),
            make(WEIGHTS.reshape(weights)),
        )
    )
    assert found == pytest.approx(0.9)
    found = value_of(
        tf.metrics.mean_absolute_error(
            make(LABELS.reshape(labels)),
            make(PREDICTIONS.reshape(predictions)),
            make(WEIGHTS.reshape(weights)),
        )
    )
    assert found == pytest.approx(0.1)


@pytest.mark.parametrize(
    "weights, expected", [(2.0, 0.5), ([[1.0], [0.0]], 1.0 / 3), ([[1.0, 0.0, 1.0]], 0.5)]
)
def test_weights_are_broadcast_to_the_values(weights, expected):
    values = tf.constant([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    assert value_of(tf.metrics.mean(values, tf.constant(weights))) == pytest.approx(expected)


@pytest.mark.parametrize("shape", [(3,), (3, 2), (4,), (2, 3, 2), (1, 1, 1, 1)])
def test_weights_that_do_not_fit_are_refused(shape):
    values = tf.zeros([2, 3])
    with pytest.raises(ValueError, match="weights can not be broadcast to values|Can not squeeze"):
        tf.metrics.mean(values, tf.ones(shape))


def test_weights_of_unknown_shape_are_checked_in_the_run():
    mean = tf.metrics.mean(
        unknown(numpy.zeros([2, 3], "float32")), unknown(numpy.ones([1, 1, 1, 1], "float32"))
    )
    with pytest.raises(tf.errors.InvalidArgumentError):
        value_of(mean)


def test_counts_need_weights_of_their_rank():
    with pytest.raises(ValueError, match="must have rank in"):
        tf.metrics.true_positives(LABELS, PREDICTIONS, tf.ones([1, 1, 6]))
    assert value_of(tf.metrics.true_positives(LABELS, PREDICTIONS, WEIGHTS)) == 8.0
    assert value_of(tf.metrics.recall(LABELS, PREDICTIONS, WEIGHTS[:, None])) == pytest.approx(
        8 / 8.5
    )


def test_labels_and_predictions_must_have_one_shape():
    for name in ("accuracy", "mean_squared_error", "precision", "auc"):
        with pytest.raises(ValueError, match="incompatible"):
            getattr(tf.metrics, name)(tf.zeros([6]), tf.zeros([5]))


def test_cosine_distance_of_equal_directions_is_0():
    unit = numpy.array([[0.6, 0.8], [1.0, 0.0]], "float32")
    assert value_of(tf.metrics.mean_cosine_distance(unit, unit, 1)) == pytest.approx(0, abs=1e-6)
    weights = tf.constant([[1.0], [3.0]])
    last, value = updated(tf.metrics.mean_cosine_distance(unit, -unit, 1, weights))
    assert last == value == pytest.approx(2.0)


def test_classes_without_examples_count_in_the_mean_per_class_accuracy():
    labels, predictions = tf.constant([0, 0, 1, 1]), tf.constant([0, 1, 1, 1])
    last, value = updated(tf.metrics.mean_per_class_accuracy(labels, predictions, 5))
    assert value == pytest.approx(0.3)
    assert last.tolist() == [0.5, 1.0, 0.0, 0.0, 0.0]
    weights = tf.constant([3.0, 1.0, 1.0, 1.0])
    found = tf.metrics.mean_per_class_accuracy(labels, predictions, 2, weights)
    assert value_of(found) == pytest.approx(0.875)


def test_classes_without_examples_do_not_count_in_the_mean_iou():
    last, value = updated(
        tf.metrics.mean_iou(
            tf.constant([0, 0, 1, 1]),
            tf.constant([0, 1, 1, 1]),
            4,
            tf.constant([1.0, 0.0, 2.0, 1.0]),
        )
    )
    assert value == pytest.approx(1.0) and last.dtype == "float64"
    with pytest.raises(ValueError, match="incompatible"):
        tf.metrics.mean_iou(tf.constant([0, 1]), tf.constant([0, 1]), 2, tf.constant(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of bound"):
        value_of(tf.metrics.mean_iou(tf.constant([0, 5]), tf.constant([0, 1]), 3))


def test_metrics_of_nothing_are_0():
    none = tf.zeros([0], tf.int64)
    for metric in (
        tf.metrics.mean(tf.zeros([0])),
        tf.metrics.accuracy(none, none),
        tf.metrics.mean_iou(none, none, 3),
        tf.metrics.precision(none, none),
        tf.metrics.mean_per_class_accuracy(none, none, 3),
    ):
        assert value_of(metric) == 0.0


def test_auc():
    labels, chances = [0, 0, 1, 1], tf.constant([0.1, 0.4, 0.35, 0.8])
    assert value_of(tf.metrics.auc(labels, chances)) == pytest.approx(0.75, abs=1e-4)
    found = tf.metrics.auc(labels, chances, thresholds=[0.7, 0.2, 0.5], summation_method="minoring")
    assert value_of(found) == pytest.approx(0.75, abs=1e-4)
    found = tf.metrics.auc(labels, chances, tf.constant([[1.0], [0.0], [1.0], [1.0]]))
    assert value_of(found) == pytest.approx(1.0, abs=1e-4)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
        value_of(tf.metrics.auc(labels, tf.constant([0.0, 1.5, 0.0, 0.0])))


def test_values_at_thresholds():
    labels, chances = [0, 0, 1, 1], tf.constant([0.1, 0.4, 0.35, 0.8])
    found = tf.metrics.precision_at_thresholds(labels, chances, [0.0, 0.3, 0.9])
    assert value_of(found).tolist() == pytest.approx([0.5, 2 / 3, 0.0])
    found = tf.metrics.sensitivity_at_specificity(labels, chances, 0.5)
    assert value_of(found) == pytest.approx(1.0)
    found = tf.metrics.specificity_at_sensitivity(labels, chances, 0.9)
    assert value_of(found) == pytest.approx(0.5)


def test_the_best_classes_are_sets():
    scores = tf.constant([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
    labels = tf.constant([[3, 3], [1, 2]], tf.int64)  # the first example has one label
    assert value_of(tf.metrics.recall_at_k(labels, scores, 2)) == pytest.approx(2 / 3)
    assert value_of(tf.metrics.precision_at_k(labels, scores, 2)) == 0.5
    assert value_of(tf.metrics.recall_at_k(labels, scores, 2, class_id=1)) == 1.0
    assert numpy.isnan(value_of(tf.metrics.recall_at_k(labels, scores, 2, class_id=0)))
    weighted = tf.metrics.recall_at_k(labels, scores, 2, weights=tf.constant([1.0, 0.0]))
    assert value_of(weighted) == 1.0
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        tf.metrics.recall_at_k(labels, scores, 2, weights=tf.ones([2, 1]))
    assert value_of(tf.metrics.average_precision_at_k(labels[:, :1], scores, 2)) == pytest.approx(
        0.75
    )


def test_labels_of_the_best_classes_may_be_sparse():
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([3, 7, 0], tf.int64), [2, 2])
    scores = tf.constant([[0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.4]])
    assert value_of(tf.metrics.recall_at_k(labels, scores, 1)) == pytest.approx(1 / 3)
    assert value_of(tf.metrics.precision_at_top_k(labels, tf.constant([[3], [0]]))) == 1.0


def test_collections_get_the_value_and_the_update():
    value, update = tf.metrics.mean_cosine_distance(
        [[1.0]], [[1.0]], 1, metrics_collections=["m"], updates_collections=["u"]
    )
    assert tf.get_collection("m") == [value] and tf.get_collection("u") == [update]


def test_confusion_matrix():
    with tf.Session() as session:
        found = session.run(
            tf.confusion_matrix(
                [0, 1, 1], [0, 1, 0], 3, tf.float32, None, tf.constant([1.0, 2.0, 0.5])
            )
        )
        assert found.tolist() == [[1, 0, 0], [0.5, 2, 0], [0, 0, 0]]
        with pytest.raises(ValueError, match="incompatible"):
            tf.confusion_matrix([0, 1, 1], [0, 1, 0], weights=tf.ones([2]))
        for labels, text in ([-1, 0], "negative"), ([0, 3], "out of bound"):
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=text):
                session.run(tf.confusion_matrix(tf.constant(labels), tf.constant([0, 0]), 2))


def test_losses_check_shapes_and_weights():
    with pytest.raises(ValueError, match="incompatible"):
        tf.losses.sigmoid_cross_entropy(tf.zeros([4]), tf.zeros([4, 3]))
    with tf.Session() as session:
        logits, labels = tf.constant([[0.0, 0.0], [0.0, 0.0]]), tf.constant([[0], [1]])
        found = tf.losses.sparse_softmax_cross_entropy(labels, logits, tf.constant([[1.0], [3.0]]))
        assert session.run(found) == pytest.approx(2 * numpy.log(2))
