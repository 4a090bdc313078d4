# SPDX-License-Identifier: Apache-2.0
"""test_weights_broadcast.py: weights that do not fit the values of a loss: errors when the graph is
built, and assertions that run before the ops whose shapes do not match."""

import numpy
import pytest

import situ.compat.v1 as tf

VALUES = numpy.ones((3, 2, 4), "float32")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


@pytest.mark.parametrize("shape", [(2,), (3,), (3, 2), (3, 1), (2, 2, 2, 2), (1, 1), (3, 2, 3)])
def test_errors_of_static_and_dynamic_shapes(shape):
    weights = numpy.ones(shape, "float32")
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        tf.losses.compute_weighted_loss(VALUES, weights)
    fed = tf.placeholder(tf.float32)
    loss = tf.losses.compute_weighted_loss(VALUES, fed)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast"):
            session.run(loss, {fed: weights})


@pytest.mark.parametrize("shape", [(), (1, 1, 1), (3, 1, 4), (3, 2, 4)])
def test_weights_that_fit(shape):
    fed, values = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    loss = tf.losses.compute_weighted_loss(values, fed)
    pairs = tf.losses.mean_pairwise_squared_error(values, 2 * values, fed)
    with tf.Session() as session:
        feeds = {fed: numpy.full(shape, 2.0), values: VALUES}
        assert session.run(loss, feeds) == 2.0
        assert session.run(pairs, feeds) == 0.0


def test_weights_of_class_indices_are_squeezed():
    labels, weights = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, [[0.0, 0.0], [0.0, 0.0]], weights)
    with tf.Session() as session:
        found = session.run(loss, {labels: [[0], [1]], weights: [[1.0], [1.0]]})
    assert found == pytest.approx(numpy.log(2))


def test_class_indices_have_the_shape_of_the_logits():
    with pytest.raises(ValueError, match="Shape mismatch"):
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=[[0.0, 1.0]])
    with pytest.raises(ValueError, match="cannot be a scalar"):
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=0, logits=1.0)


def test_an_assertion_runs_before_an_op_whose_shapes_do_not_match():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    same = tf.Assert(tf.equal(tf.size(x), tf.size(y)), ["sizes differ"])
    with tf.control_dependencies([same]):
        z = tf.matmul(x, y) + 1.0
    with tf.Session() as session:
        feeds = {x: [[1.0]], y: [[1.0], [2.0]]}
        with pytest.raises(tf.errors.InvalidArgumentError, match="sizes differ"):
            session.run(z, feeds)
        with pytest.raises(tf.errors.InvalidArgumentError, match="[Mm]atrix size|shape"):
            session.run(z, {x: [[1.0, 2.0]], y: [[1.0, 2.0]]})
        assert session.run(z, {x: [[1.0]], y: [[2.0]]}) == [[3.0]]
