# SPDX-License-Identifier: Apache-2.0
"""test_layers_graph.py: names, seeds and branches of layers and losses in graph style; the numbers
are TensorFlow's for the same seeds."""

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as result:
        yield result


def test_dropout_of_a_rate_without_a_shape_keeps_the_shape():
    x = tf.placeholder(tf.float32, [None, 4])
    assert tf.nn.dropout(x, tf.placeholder(tf.float32)).shape.as_list() == [None, 4]
    assert tf.nn.dropout(x, rate=tf.placeholder("float")).shape.as_list() == [None, 4]


def test_dropped_elements_are_no_negative_zeros():
    with tf.Session() as sess:
        got = sess.run(tf.nn.dropout(-tf.ones([100]), 0.5, seed=1))
    assert set(got) == {-2.0, 0.0} and not np.signbit(got[got == 0]).any()


@pytest.mark.parametrize(
    "function",
    [
        lambda x, t: tf.layers.dropout(x, 0.5, training=t),
        lambda x, t: tf.contrib.layers.dropout(x, 0.5, is_training=t),
    ],
)
def test_dropout_draws_numbers_only_while_training(function):
    tf.set_random_seed(4)
    training = tf.placeholder(tf.bool, [])
    y = function(tf.ones([8]), training)
    with tf.Session() as one, tf.Session() as other:
        for _ in range(3):
            want = one.run(y, {training: True})
            assert (other.run(y, {training: False}) == 1).all()
            assert (other.run(y, {training: True}) == want).all()


def test_random_ops_in_branches_and_loops_count_with_their_graph(graph):
    tf.set_random_seed(5)
    choice = tf.placeholder(tf.bool, [])
    a = tf.cond(choice, lambda: tf.random_uniform([]), lambda: tf.random_uniform([]))
    tf.while_loop(lambda i: i < 3, lambda i: i + tf.random_uniform([]), [a])
    last = tf.random_uniform([])
    result = [o.get_attr("seed2") for o in graph.get_operations() if o.type == "RandomUniform"]
    assert result == [3]
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(last), 0.2886784, rtol=1e-6)


def test_layers_have_tensorflows_names():
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    tf.layers.conv2d_transpose(x, 4, 3)
    y = tf.layers.batch_normalization(x, training=True)
    tf.layers.dense(tf.layers.flatten(y), 2, kernel_regularizer=tf.nn.l2_loss)
    assert [v.op.name for v in tf.global_variables()][:3] == [
        "conv2d_transpose/kernel",
        "conv2d_transpose/bias",
        "batch_normalization/gamma",
    ]
    assert [o.name for o in tf.get_collection(tf.GraphKeys.UPDATE_OPS)] == [
        "batch_normalization/AssignMovingAvg",
        "batch_normalization/AssignMovingAvg_1",
    ]
    assert [o.op.name for o in tf.losses.get_regularization_losses()] == [
        "dense/kernel/Regularizer/L2Loss"
    ]


def test_averages_are_the_same_whether_training_is_known_or_fed():
    images = np.random.RandomState(0).rand(2, 3, 3, 2).astype("f")
    fed = tf.placeholder(tf.bool)
    with tf.variable_scope("known"):
        one = tf.layers.batch_normalization(tf.constant(images), training=True)
    with tf.variable_scope("fed"):
        other = tf.layers.batch_normalization(tf.constant(images), training=fed)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        a, b, _ = sess.run([one, other, updates], {fed: True})
        np.testing.assert_allclose(a, b, rtol=1e-5)
        a, b = (
            sess.run(f"{name}/batch_normalization/moving_variance:0") for name in ("known", "fed")
        )
        np.testing.assert_allclose(a, b, rtol=1e-6)
        assert not np.allclose(a, 1)
        before = sess.run("fed/batch_normalization/moving_mean:0")
        sess.run(updates[2:], {fed: False})
        assert (sess.run("fed/batch_normalization/moving_mean:0") == before).all()


def test_losses_are_called_value():
    a, b = tf.constant([[1.0, 3.0, 2.0], [0.0, 1.0, 5.0]]), tf.zeros([2, 3])
    result = [
        tf.losses.mean_squared_error(b, a),
        tf.losses.softmax_cross_entropy(b, a),
        tf.losses.sparse_softmax_cross_entropy([0, 1], a),
        tf.losses.huber_loss(b, a, 1.0, 0.5, "mine"),
    ]
    assert [t.op.name for t in result] == [
        "mean_squared_error/value",
        "softmax_cross_entropy_loss/value",
        "sparse_softmax_cross_entropy_loss/value",
        "mine/value",
    ]
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(result[0]), 40 / 6, rtol=1e-6)
        np.testing.assert_allclose(sess.run(result[3]), (0.5 * 12 - 5 * 0.125) / 6, rtol=1e-6)


def test_mean_pairwise_squared_error():
    rng = np.random.RandomState(0)
    a, b = rng.rand(4, 3).astype("f"), rng.rand(4, 3).astype("f")
    weights = np.array([[1.0], [0.0], [2.0], [0.5]], "f")
    with tf.Session() as sess:
        got = sess.run(
            [
                tf.losses.mean_pairwise_squared_error(a, b),
                tf.losses.mean_pairwise_squared_error(a, b, weights),
            ]
        )
    np.testing.assert_allclose(got, [0.93936217, 0.60972095], rtol=1e-5)


@pytest.mark.parametrize("fused,average", [(None, 1.5), (True, 1.5), (False, 1.0)])
@pytest.mark.parametrize("contrib", [False, True])
def test_fused_batch_norm_has_the_unbiased_variance(fused, average, contrib):
    x = tf.constant([[[[1.0]]], [[[3.0]]]])
    if contrib:
        from situ._src.framework.api import V1

        V1["contrib.layers.batch_norm"](x, decay=0.5, fused=fused, scope="bn")
    else:
        tf.layers.batch_normalization(x, momentum=0.5, fused=fused, training=True, name="bn")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        found = {v.op.name: sess.run(v).tolist() for v in tf.global_variables()}
    assert found["bn/moving_variance"] == [average] and found["bn/moving_mean"] == [1.0]


def test_fused_batch_norm_needs_images():
    with pytest.raises(ValueError, match="fused=True only support 4D"):
        tf.layers.batch_normalization(tf.zeros([2, 3]), fused=True)
    with pytest.raises(ValueError, match="only support axis"):
        tf.layers.batch_normalization(tf.zeros([2, 3, 3, 2]), axis=2, fused=True)
    for given in ({"renorm": True}, {"virtual_batch_size": 2}, {"adjustment": len}):
        with pytest.raises(NotImplementedError, match=next(iter(given))):
            tf.layers.BatchNormalization(**given)


def test_batch_normalization_over_several_axes():
    x = np.arange(24, dtype="f").reshape(4, 2, 3) ** 1.5
    layer = tf.layers.BatchNormalization([1, 2], momentum=0.5)
    y = layer(tf.constant(x), training=True)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found, _ = sess.run([y, layer.updates])
        averages = sess.run([layer.moving_mean, layer.moving_variance, layer.gamma])
    np.testing.assert_allclose(
        found, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3), rtol=1e-4, atol=1e-5
    )
    assert [a.shape for a in averages] == [(1, 2, 3)] * 3
    np.testing.assert_allclose(averages[1], 0.5 + 0.5 * x.var(0)[None], rtol=1e-4)


def test_dilation_rate_of_transposed_convolutions():
    x, ones = tf.constant([[[[2.0], [3.0]]]]), tf.ones_initializer()
    y = tf.layers.Conv2DTranspose(1, 2, dilation_rate=2, kernel_initializer=ones)(x)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(y)[0, ..., 0].tolist() == [[2, 3, 2, 3], [0, 0, 0, 0], [2, 3, 2, 3]]
    with pytest.raises(NotImplementedError, match="dilations"):
        tf.layers.Conv3DTranspose(1, 2, dilation_rate=2)(tf.zeros([1, 2, 2, 2, 1]))


def test_scope_of_a_layer_call():
    layer = tf.layers.Dense(1)
    layer(tf.zeros([1, 2]), scope="here")
    assert [v.op.name for v in layer.variables] == ["here/kernel", "here/bias"]
