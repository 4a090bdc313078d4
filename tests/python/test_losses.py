# SPDX-License-Identifier: Apache-2.0
"""test_losses.py: tf.losses and tf.metrics of graph style, regularizers, collections."""

import numpy as np
import pytest

import situ.compat.v1 as tf

LABELS = np.array([[1.0, 0.0], [0.0, 1.0]], "f")
LOGITS = np.array([[2.0, -1.0], [0.5, 0.25]], "f")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def _run(tensor):
    with tf.Session() as sess:
        return sess.run(tensor)


def _entropies():
    return -np.log(np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True))[[0, 1], [0, 1]]


@pytest.mark.parametrize(
    "name,want",
    [
        ("mean_squared_error", np.mean((LABELS - LOGITS) ** 2)),
        ("absolute_difference", np.mean(np.abs(LABELS - LOGITS))),
        (
            "huber_loss",
            np.mean(
                np.where(
                    np.abs(LABELS - LOGITS) < 1,
                    (LABELS - LOGITS) ** 2 / 2,
                    np.abs(LABELS - LOGITS) - 0.5,
                )
            ),
        ),
    ],
)
def test_losses_of_pairs(name, want):
    loss = getattr(tf.losses, name)(LABELS, LOGITS)
    assert tf.losses.get_losses() == [loss]
    np.testing.assert_allclose(_run(loss), want, rtol=1e-6)


def test_cross_entropies():
    dense = tf.losses.softmax_cross_entropy(LABELS, LOGITS)
    sparse = tf.losses.sparse_softmax_cross_entropy([0, 1], LOGITS)
    each = tf.losses.sigmoid_cross_entropy(LABELS, LOGITS)
    total = tf.losses.get_total_loss()
    probability = 1 / (1 + np.exp(-LOGITS))
    want = -np.mean(np.where(LABELS == 1, np.log(probability), np.log(1 - probability)))
    have = _run([dense, sparse, each, total])
    np.testing.assert_allclose(have[:3], [np.mean(_entropies())] * 2 + [want], rtol=1e-5)
    assert have[3] == pytest.approx(sum(have[:3]))


def test_weights_and_reductions():
    losses = tf.constant([1.0, 2.0, 3.0])
    kinds = tf.losses.Reduction
    made = [
        tf.losses.compute_weighted_loss(losses, [0.0, 2.0, 1.0], reduction=k)
        for k in (
            kinds.NONE,
            kinds.SUM,
            kinds.MEAN,
            kinds.SUM_OVER_BATCH_SIZE,
            kinds.SUM_BY_NONZERO_WEIGHTS,
        )
    ]
    each, *rest = _run(made)
    assert each.tolist() == [0, 4, 3]
    np.testing.assert_allclose(rest, [7, 7 / 3, 7 / 3, 3.5], rtol=1e-6)
    assert _run(tf.losses.compute_weighted_loss(losses, 0.0)) == 0
    with pytest.raises(ValueError, match="weights can not be broadcast"):
        tf.losses.compute_weighted_loss(losses, [1.0, 2.0])


def test_regularization():
    scale = tf.contrib.layers.l2_regularizer(0.5)
    tf.get_variable("w", initializer=np.array([1.0, 3.0], "f"), regularizer=scale)
    with tf.variable_scope("a", regularizer=scale):
        tf.get_variable("v", initializer=np.array([2.0], "f"))
    tf.losses.add_loss(tf.constant(1.0))
    found = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert found == tf.losses.get_regularization_losses() and len(found) == 2
    total = tf.losses.get_total_loss()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(total) == pytest.approx(1 + 2.5 + 1)


def test_metrics():
    labels, predictions = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
    value, update = tf.metrics.accuracy(labels, predictions)
    mean, mean_update = tf.metrics.mean(tf.cast(labels, tf.float32), name="m")
    precision, precision_update = tf.metrics.precision(labels, predictions)
    assert [v.name for v in tf.local_variables()][:2] == ["accuracy/total:0", "accuracy/count:0"]
    assert value.name == "accuracy/value:0" and tf.global_variables() == []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        for have, want in (([1, 1, 0], [1, 0, 0]), ([1], [1])):
            sess.run([update, mean_update, precision_update], {labels: want, predictions: have})
        assert sess.run(value) == pytest.approx(0.75)
        assert sess.run(mean) == pytest.approx(0.5)
        assert sess.run(precision) == pytest.approx(2 / 3)


def test_collections():
    a = tf.get_variable("a", [1])
    b = tf.get_variable("b", [1], trainable=False)
    c = tf.get_variable("c", [1], collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    with tf.variable_scope("s"):
        d = tf.get_variable("d", [1], collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
    assert tf.trainable_variables() == [a, d] and tf.global_variables() == [a, b, d]
    assert tf.local_variables() == [c] and tf.get_collection("mine") == [d]
    assert tf.trainable_variables("s") == [d]
    assert tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="s") == [d]
    assert tf.get_variable_scope().global_variables() == [a, b, d]


def test_use_before_initialization():
    v = tf.Variable([1.0], name="v")
    w = tf.Variable(v.initialized_value() * 2.0, name="w")
    with tf.Session() as sess:
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value v"
        ):
            sess.run(v + 1.0)
        sess.run(tf.global_variables_initializer())
        assert sess.run(w) == 2
