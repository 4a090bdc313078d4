# SPDX-License-Identifier: Apache-2.0
"""test_nn_arguments.py: rates of dropout and batch sizes of averaged losses."""

import pytest

import situ as tf

v1 = tf.compat.v1
X = [[1.0, 2.0], [3.0, 4.0]]


def stateless(x, rate):
    return tf.nn.experimental.stateless_dropout(x, rate, seed=[1, 2])


def of_keep_prob(x, rate):
    return v1.nn.dropout(x, keep_prob=rate)


@pytest.mark.parametrize("dropout", [tf.nn.dropout, stateless, of_keep_prob])
def test_rates_of_dropout(dropout):
    for rate in (-1.0, 1.1, [0.0, 1.0], tf.zeros([], tf.float64), tf.zeros([2])):
        with pytest.raises(ValueError):
            dropout(X, rate)
    with tf.Graph().as_default():
        for kind, shape in (("float64", None), ("float32", [2])):
            with pytest.raises(ValueError):
                dropout(tf.constant(X), v1.placeholder(kind, shape))
    for rate in (tf.constant(0.5), tf.Variable(0.5), 0.5):
        values = dropout(X, rate).numpy().ravel().tolist()
        assert all(value in (0, 2 * whole) for value, whole in zip(values, (1, 2, 3, 4)))


def test_sizes_of_batches():
    losses = [1.0, 2.0, 3.0]
    for size, kind, message in (
        ([10], ValueError, "global_batch_size must be scalar"),
        (10.0, TypeError, "global_batch_size must be an integer"),
        (-1, tf.errors.InvalidArgumentError, "global_batch_size must be non-negative"),
    ):
        with pytest.raises(kind, match=message):
            tf.nn.compute_average_loss(losses, global_batch_size=size)
    assert tf.nn.compute_average_loss(losses, global_batch_size=0).numpy() == 0
    assert tf.nn.compute_average_loss([1, 2, 3], global_batch_size=tf.constant(2)).numpy() == 3
    assert tf.nn.compute_average_loss(losses).numpy() == 2
    assert tf.nn.compute_average_loss(X).numpy() == 5  # of a batch of 2


def test_a_size_that_is_computed():
    @tf.function
    def average(size):
        return tf.nn.compute_average_loss([1.0, 2.0], global_batch_size=size)

    assert average(tf.constant(3)).numpy() == 1 and average(tf.constant(0)).numpy() == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be non-negative"):
        average(tf.constant(-3))


def test_weights_of_losses():
    losses = [1.0, 2.0, 3.0]
    for weights in ([1.0, 0.0, 2.0], [[1.0], [0.0], [2.0]]):
        found = tf.nn.compute_average_loss(losses, weights, 7)
        assert found.numpy() == 1
    assert tf.nn.compute_average_loss(X, [1.0, 0.0]).numpy() == 1.5


def test_ranks_of_losses():
    message = "Expected a tensor with at least rank 1"
    with pytest.raises(ValueError, match=message):
        tf.nn.compute_average_loss(2.0)
    with tf.Graph().as_default(), v1.Session() as session:
        losses = v1.placeholder("float32")
        average = tf.nn.compute_average_loss(losses)
        assert session.run(average, {losses: [1, 3]}) == 2
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(average, {losses: 2})


def test_average_of_losses_outside_of_replicas():
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        with pytest.raises(RuntimeError, match="in cross replica context"):
            tf.nn.compute_average_loss([1.0])
        assert tf.nn.compute_average_loss([4.0], global_batch_size=2).numpy() == 2


@pytest.mark.parametrize("pool", [tf.nn.max_pool, tf.nn.avg_pool, v1.nn.max_pool_v2])
def test_ranks_of_pooled_tensors(pool):
    for rank in (2, 6):
        with pytest.raises(ValueError, match=f"must be 3, 4 or 5.*of rank {rank}"):
            pool(tf.ones([2] * rank), 2, 2, "SAME")
    assert pool(tf.ones([1, 4, 4, 1]), 2, 2, "SAME").shape == [1, 2, 2, 1]


def test_shapes_of_transposed_convolutions():
    for shape in ([2, 3], [2, 3, 4, 2, 5, 1], tf.constant([1, 2])):
        with pytest.raises(ValueError, match="must be of length 3, 4 or 5.*of length"):
            tf.nn.conv_transpose(None, 2, shape, 1)
    with pytest.raises(ValueError, match="must be a tensor or sized collection"):
        tf.nn.conv_transpose(None, None, None, None)
    x, kernel = tf.ones([1, 3, 1]), tf.ones([2, 1, 1])
    for shape in ([1, 6, 1], tf.constant([1, 6, 1])):
        assert tf.nn.conv_transpose(x, kernel, shape, 2).shape == [1, 6, 1]
