# SPDX-License-Identifier: Apache-2.0
"""test_slim.py: tf.contrib.slim: arguments by scope, layers, variables, losses, the loop."""

import os

import numpy
import pytest

import situ.compat.v1 as tf

slim = tf.contrib.slim


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def names(variables):
    return [v.op.name for v in variables]


def test_arguments_come_from_the_scope():
    images = tf.ones([2, 8, 8, 3])
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        activation_fn=None,
        weights_initializer=tf.ones_initializer(),
    ) as outer:
        with slim.arg_scope([slim.conv2d], padding="VALID"):
            small = slim.conv2d(images, 4, [3, 3], scope="a")
        large = slim.conv2d(images, 4, 3, scope="b")
    with slim.arg_scope(outer):
        flat = slim.fully_connected(slim.flatten(large), 2, biases_initializer=None, scope="c")
    assert small.shape.as_list() == [2, 6, 6, 4] and large.shape.as_list() == [2, 8, 8, 4]
    assert names(tf.global_variables()) == [
        "a/weights",
        "a/biases",
        "b/weights",
        "b/biases",
        "c/weights",
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(small)[0, 0, 0, 0] == 27
        assert session.run(flat).shape == (2, 2)
    with pytest.raises(ValueError, match="is not decorated with @add_arg_scope"):
        with slim.arg_scope([tf.nn.relu], a=1):
            pass


def test_own_functions_take_arguments_from_a_scope():
    @slim.add_arg_scope
    def layer(x, factor=1, shift=0):
        return x * factor + shift

    with slim.arg_scope([layer], factor=3):
        assert layer(2) == 6 and layer(2, shift=1) == 7 and layer(2, factor=1) == 2
    assert layer(2) == 2


def test_repeat_stack_and_other_layers():
    images = tf.ones([1, 8, 8, 2])
    net = slim.repeat(images, 2, slim.conv2d, 4, [3, 3], scope="conv1")
    net = slim.max_pool2d(net, [2, 2], scope="pool")
    net = slim.separable_conv2d(net, 6, [3, 3], 1, scope="sep")
    net = slim.conv2d_transpose(net, 3, [2, 2], stride=2, scope="up")
    assert net.shape.as_list() == [1, 8, 8, 3]
    net = slim.stack(slim.flatten(net), slim.fully_connected, [5, 4], scope="fc")
    net = slim.dropout(net, 0.5, is_training=False, scope="drop")
    assert names(slim.get_variables("conv1")) == [
        "conv1/conv1_1/weights",
        "conv1/conv1_1/biases",
        "conv1/conv1_2/weights",
        "conv1/conv1_2/biases",
    ]
    assert names(slim.get_model_variables("sep")) == [
        "sep/depthwise_weights",
        "sep/pointwise_weights",
        "sep/biases",
    ]
    assert names(slim.get_variables("fc")) == [
        "fc/fc_1/weights",
        "fc/fc_1/biases",
        "fc/fc_2/weights",
        "fc/fc_2/biases",
    ]
    assert len(slim.get_variables(suffix="biases")) == 6
    assert names(slim.get_variables_to_restore(include=["up"], exclude=["up/biases"])) == [
        "up/weights"
    ]
    assert names([slim.get_unique_variable("up/weights")]) == ["up/weights"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(net).shape == (1, 4)


@pytest.mark.parametrize("where, count", [(tf.GraphKeys.UPDATE_OPS, 2), (None, 0)])
def test_batch_norm_updates(where, count):
    x = tf.placeholder(tf.float32, [4, 2])
    result = slim.batch_norm(x, decay=0.5, updates_collections=where, scope="bn")
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == count
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(
            [result] + tf.get_collection(tf.GraphKeys.UPDATE_OPS), {x: numpy.full([4, 2], 6)}
        )
        assert session.run("bn/moving_mean:0").tolist() == [3, 3]


def test_losses_take_predictions_first():
    logits, labels = tf.constant([[1.0, 3.0]]), tf.constant([[0.0, 1.0]])
    mine = slim.losses.softmax_cross_entropy(logits, labels)
    slim.fully_connected(
        logits,
        1,
        weights_regularizer=slim.l2_regularizer(0.5),
        weights_initializer=tf.ones_initializer(),
        scope="fc",
    )
    total = slim.losses.get_total_loss()
    other = tf.losses.softmax_cross_entropy(labels, logits, loss_collection=None)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        a, b, c = session.run([mine, total, other])
    assert a == c and b == pytest.approx(a + 0.5 * 0.5 * 2)


def test_prefetch_queue():
    queue = slim.prefetch_queue.prefetch_queue([tf.constant([1, 2]), tf.constant(3.0)], capacity=2)
    pair = queue.dequeue()
    assert pair[0].shape.as_list() == [2]
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        for _ in range(4):
            a, b = session.run(pair)
            assert (a.tolist(), b) == ([1, 2], 3)
        coord.request_stop()
        coord.join(threads)


def test_the_loop_trains_saves_and_goes_on(tmp_path):
    def build():
        x = tf.constant([[1.0], [2.0], [3.0]])
        result = slim.fully_connected(x, 1, activation_fn=None, scope="line")
        loss = slim.losses.mean_squared_error(result, x * 2)
        return slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.05))

    folder = str(tmp_path)
    loss = slim.learning.train(
        build(), folder, number_of_steps=300, log_every_n_steps=150, save_summaries_secs=1
    )
    assert loss < 0.05
    assert tf.train.latest_checkpoint(folder).endswith("model.ckpt-300")
    tf.reset_default_graph()
    again = slim.learning.train(build(), folder, number_of_steps=500, log_every_n_steps=0)
    assert again <= loss and os.path.exists(folder + "/model.ckpt-500.index")
    tf.reset_default_graph()
    build()
    slope = tf.reduce_sum(slim.get_unique_variable("line/weights"))
    value = slim.evaluation.evaluate_once("", tf.train.latest_checkpoint(folder), final_op=slope)
    assert value == pytest.approx(2, abs=0.2)


def test_cosine_distance_of_contrib_takes_an_axis_before_weights():
    predictions, labels = tf.constant([[1.0, 0], [0, 1]]), tf.constant([[1.0, 0], [1, 0]])
    with tf.Session() as session:
        for loss in (tf.contrib.losses.cosine_distance, slim.losses.cosine_distance):
            found = [
                loss(predictions, labels, dim=1),
                loss(predictions, labels, 1, 2.0),
                loss(predictions, labels, axis=1, weights=0.5),
            ]
            assert session.run(found) == [0.5, 1.0, 0.25]


def _line():
    x = tf.constant([[1.0], [2.0]])
    result = slim.fully_connected(x, 1, activation_fn=None, scope="line")
    return slim.losses.mean_squared_error(result, x * 2)


def _tags(sess):
    merged = tf.summary.merge_all()
    values = tf.Summary.FromString(sess.run(merged)).value if merged is not None else ()
    return sorted(v.tag for v in values)


def test_traces_of_training(tmp_path):
    train = slim.learning.create_train_op(_line(), tf.train.GradientDescentOptimizer(0.05))
    slim.learning.train(train, str(tmp_path), number_of_steps=6, trace_every_n_steps=3)
    traces = sorted(p.name for p in tmp_path.glob("tf_trace-*.json"))
    assert len(traces) == 2  # the steps that begin at 0 and 3
    assert "traceEvents" in (tmp_path / traces[0]).read_text()


def test_workers_wait_for_a_step(monkeypatch):
    with tf.device("/cpu:0"):  # workers need variables with devices
        train = slim.learning.create_train_op(_line(), tf.train.GradientDescentOptimizer(0.05))
    more = tf.assign_add(tf.train.get_global_step(), 2)
    init, waits, sessions = tf.global_variables_initializer(), [], []

    def wrapper(sess):  # does what the chief would
        sess.run(init)
        sessions.append(sess)
        return sess

    def sleep(seconds):
        waits.append(seconds)
        sessions[0].run(more)

    monkeypatch.setattr("situ._src.legacy.slim.time.sleep", sleep)
    slim.learning.train(
        train,
        None,
        number_of_steps=9,
        is_chief=False,
        ready_op=None,
        startup_delay_steps=5,
        session_wrapper=wrapper,
    )
    assert waits == [1, 1, 1]


def test_summaries_of_an_evaluation(tmp_path):
    tf.summary.scalar("loss", _line())
    tf.train.get_or_create_global_step()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    once = slim.evaluation.evaluate_once
    once("", path, logdir=str(tmp_path / "none"), summary_op=None)
    once("", path, logdir=str(tmp_path / "all"))
    assert not (tmp_path / "none").exists()
    (file,) = (tmp_path / "all").iterdir()
    events = [v.tag for e in tf.train.summary_iterator(str(file)) for v in e.summary.value]
    assert events == ["loss"]


def test_summaries_and_factors_of_gradients():
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    for factors in ({"line/weights": 0.0}, None):
        tf.reset_default_graph()
        train = slim.learning.create_train_op(
            _line(), optimizer, summarize_gradients=True, gradient_multipliers=factors
        )
        weights = slim.get_unique_variable("line/weights")
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            assert "summarize_grads/line/weights/gradient_norm" in _tags(sess)
            before = sess.run(weights)
            sess.run(train)
            assert (before == sess.run(weights)).all() == bool(factors)


def test_summaries_of_optimize_loss():
    def tags(summaries, **kwargs):
        tf.reset_default_graph()
        tf.contrib.layers.optimize_loss(
            _line(), None, 0.1, "SGD", summaries=summaries, name="o", **kwargs
        )
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            return _tags(sess)

    assert tags([]) == [] and tags(["loss"]) == ["o/loss"]
    assert tags(None) == ["o/global_norm/gradient_norm", "o/learning_rate", "o/loss"]
    assert tags(["global_gradient_norm"], clip_gradients=1.0) == [
        "o/global_norm/clipped_gradient_norm",
        "o/global_norm/gradient_norm",
    ]
    found = tags(["gradients", "gradient_norm"])
    assert found == [
        f"o/{what}/line/{name}_0"
        for what in ("gradient_norm", "gradients")
        for name in ("biases", "weights")
    ]
    with pytest.raises(ValueError, match="Summaries should be one of"):
        tags(["dance"])


def test_scopes_of_regularizers():
    w = tf.ones([2])
    both = tf.contrib.layers.l1_l2_regularizer(0.5, 0.5)
    assert both(w).op.name == "l1_l2_regularizer"
    assert tf.contrib.layers.sum_regularizer([both], scope="mine")(w).op.name == "mine"
