# SPDX-License-Identifier: Apache-2.0
"""test_programs.py: calls of TensorFlow 1 programs that no other test covers."""

import pytest

import situ.compat.v1 as tf


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, feed)


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def test_strided_slice_steps_by_one_unless_told():
    x = tf.constant([3, 4, 5, 6])
    part = tf.strided_slice(x, [1], [3])
    assert part.op.name == "StridedSlice" and part.shape.as_list() == [2]
    assert run(part).tolist() == [4, 5]
    assert run(tf.strided_slice(x, [3], [0], [-2])).tolist() == [6, 4]


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_short_integers(dtype):
    import numpy

    a, b = tf.placeholder(dtype), tf.placeholder(dtype)
    feed = {a: numpy.array([300, 7], dtype), b: [100, 3]}
    total, product, quotient, sum_, high, real = run(
        [a + b, a * b, a // b, tf.reduce_sum(a), tf.maximum(a, b), tf.cast(a, tf.float32) / 2], feed
    )
    assert total.dtype == dtype and total.tolist() == [400, 10]
    assert product.tolist() == [30000, 21] and quotient.tolist() == [3, 2]
    assert sum_ == 307 and high.tolist() == [300, 7] and real.tolist() == [150, 3.5]
    assert run(tf.cast([1.9, -1.0], dtype)).tolist() == [1, -1 if dtype == "int16" else 65535]
    assert run(tf.as_string(tf.constant([2, 500], dtype))).tolist() == [b"2", b"500"]
    kept = tf.Variable(tf.constant([1, 2], dtype))
    assert run(tf.stack([tf.gather(kept, [1, 0]), kept + 1])).tolist() == [[2, 1], [2, 3]]
    assert run(tf.decode_raw([b"\x01\x02"], dtype)).tolist() == [[513]]
    copy = tf.Graph()
    with copy.as_default():
        tf.import_graph_def(tf.get_default_graph().as_graph_def(), name="")
        tf.constant([1, 500], dtype, name="c")
        again = tf.Graph()
    with again.as_default():
        tf.import_graph_def(copy.as_graph_def(), name="")
        assert tf.Session().run("c:0").tolist() == [1, 500]


def test_variables_of_a_dict_are_trained():
    weights = {"a": tf.Variable(2.0), "b": tf.Variable(3.0)}
    step = tf.train.GradientDescentOptimizer(0.5).minimize(
        weights["a"] * weights["b"], var_list=weights.values()
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(weights) == {"a": 0.5, "b": 2.0}


def test_hooks_have_their_names_among_estimators():
    assert tf.estimator.LoggingTensorHook is tf.train.LoggingTensorHook


def test_layers_keep_their_shape_whatever_the_truth_value_is():
    x, training = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.bool, None)
    made = tf.layers.dropout(
        tf.layers.batch_normalization(x, training=training), 0.5, training=training
    )
    assert made.shape.as_list() == [None, 3]
    assert tf.layers.dense(made, 2).shape.as_list() == [None, 2]
    assert run(made, {x: [[1, 2, 3]], training: False}).shape == (1, 3)


def test_one_size_is_a_shape():
    import numpy

    for size in (3, numpy.int64(3), tf.constant(3)):
        assert run(tf.zeros(size)).tolist() == [0, 0, 0]
        assert run(tf.ones(size, tf.int32)).tolist() == [1, 1, 1]


def test_sparse_to_dense_takes_one_value_for_all_places():
    places = tf.stack([tf.range(3), tf.constant([2, 0, 1])], 1)
    assert run(tf.sparse_to_dense(places, [3, 3], 1.0, 0.0)).tolist() == [
        [0, 0, 1],
        [1, 0, 0],
        [0, 1, 0],
    ]
    assert run(tf.sparse_to_dense([1, 3], [4], 5)).tolist() == [0, 5, 0, 5]


def test_labels_may_be_whole_numbers():
    logits = tf.constant([[1.0, 3.0]])
    whole, real = [
        tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=tf.constant([[0, 1]], kind))
        for kind in ("int32", "float32")
    ]
    a, b = run([whole, real])
    assert a == b


def test_the_graph_of_a_pipeline_is_written_for_tensorboard(tmp_path):
    import numpy

    data = tf.data.Dataset.from_tensor_slices(numpy.arange(4.0)).shuffle(10).batch(2)
    for iterator in (data.make_initializable_iterator(), data.make_one_shot_iterator()):
        iterator.get_next()
    tf.summary.FileWriter(str(tmp_path), tf.get_default_graph()).close()
    assert [f for f in tmp_path.iterdir() if "tfevents" in f.name]
    tf.get_default_graph().as_graph_def().SerializeToString()


def test_floor_div():
    assert run(tf.floor_div(tf.constant([7, -7]), 2)).tolist() == [3, -4]


def test_moving_averages_inside_of_a_branch():
    x, train = tf.placeholder(tf.float32, [4, 2]), tf.placeholder(tf.bool, [])
    mean, _ = tf.nn.moments(x, [0])
    ema = tf.train.ExponentialMovingAverage(decay=0.5)

    def update():
        with tf.control_dependencies([ema.apply([mean])]):
            return tf.identity(mean)

    used = tf.cond(train, update, lambda: ema.average(mean))
    assert [v.op.name for v in tf.global_variables()][
        0
    ] == "moments/Squeeze/ExponentialMovingAverage"
    data = [[0, 1], [2, 3], [4, 5], [6, 7]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(used, {x: data, train: True}).tolist() == [3, 4]
        assert session.run(used, {x: [[9, 9]] * 4, train: False}).tolist() == [1.5, 2]
