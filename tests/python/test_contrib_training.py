# SPDX-License-Identifier: Apache-2.0
"""test_contrib_training.py: tf.contrib.training, legacy attention, modules of sources."""

import copy

import numpy
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def test_batches_of_like_lengths():
    number = tf.train.range_input_producer(14, num_epochs=1, shuffle=False).dequeue() % 7 + 1
    lengths, (rows,) = tf.contrib.training.bucket_by_sequence_length(
        number,
        [tf.fill([number], number)],
        4,
        [3, 5],
        dynamic_pad=True,
        allow_smaller_final_batch=True,
    )
    assert rows.shape.as_list() == [None, None]
    result = []
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                n, batch = session.run([lengths, rows])
                assert len({sum(k >= b for b in (3, 5)) for k in n}) == 1
                assert batch.shape == (len(n), max(n))
                result += n.tolist()
        coordinator.request_stop()
        coordinator.join(threads)
    assert sorted(result) == sorted(2 * [1, 2, 3, 4, 5, 6, 7])


def test_training_and_evaluation_of_checkpoints(tmp_path):
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    step, nothing = tf.train.get_or_create_global_step(), tf.no_op()
    train = tf.contrib.training.create_train_op(w * w, tf.train.GradientDescentOptimizer(0.25))
    loss = tf.contrib.training.train(
        train, str(tmp_path), hooks=[tf.train.StopAtStepHook(num_steps=3)]
    )
    assert abs(loss - 1 / 16) < 1e-6
    value = tf.contrib.training.evaluate_once(
        tf.train.latest_checkpoint(str(tmp_path)),
        eval_ops=nothing,
        final_ops=[w, step],
        hooks=[tf.contrib.training.StopAfterNEvalsHook(2)],
    )
    assert value[0] == 0.125 and value[1] == 3
    paths = tf.contrib.training.checkpoints_iterator(str(tmp_path), timeout=0)
    assert list(paths) == [tf.train.latest_checkpoint(str(tmp_path))]


def test_variables_go_where_the_least_is():
    place = tf.contrib.training.GreedyLoadBalancingStrategy(
        2, tf.contrib.training.byte_size_load_fn
    )
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_strategy=place)):
        devices = [tf.get_variable(n, [s]).device for n, s in (("a", 9), ("b", 2), ("c", 3))]
    assert devices == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:1"]


def words(steps, kind=tf.int32):
    return [tf.placeholder(kind, [None]) for _ in range(steps)]


def test_a_model_with_buckets_and_attention():
    seq2seq = tf.contrib.legacy_seq2seq
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(6) for _ in range(2)])
    read, write, weights = words(3), words(4), words(4, tf.float32)

    def model(x, y):
        return seq2seq.embedding_attention_seq2seq(x, y, copy.deepcopy(cell), 9, 8, 4)

    outputs, losses = seq2seq.model_with_buckets(
        read, write, write, weights, [(2, 2), (3, 4)], model
    )
    assert [len(o) for o in outputs] == [2, 4] and len(tf.trainable_variables()) == 28
    step = tf.train.AdamOptimizer(0.1).minimize(losses[1])
    fed = {**{p: [1, 2] for p in read + write}, **{p: [1.0, 1.0] for p in weights}}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(losses, fed)
        for _ in range(5):
            session.run(step, fed)
        assert session.run(losses[1], fed) < before[1]


def test_a_tensor_decides_what_is_fed():
    previous = tf.placeholder(tf.bool, [])
    read, write = words(2), words(3)
    outputs, state = tf.contrib.legacy_seq2seq.embedding_attention_seq2seq(
        read, write, tf.nn.rnn_cell.BasicLSTMCell(5), 9, 8, 4, feed_previous=previous
    )
    fed = {p: [1, 2] for p in read + write}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        a, b = [session.run(outputs + [state.h], {**fed, previous: v}) for v in (True, False)]
    assert numpy.allclose(a[0], b[0]) and a[-1].shape == (2, 5)


def test_sources_of_contrib_are_found(situ):
    program = """
        from tensorflow.contrib.framework.python.ops import variables
        from tensorflow.contrib.rnn.python.ops.core_rnn_cell import _linear
        from tensorflow.core.example import example_pb2
        import tensorflow as tf
        print(variables.get_variables_to_restore(), _linear(tf.ones([1, 2]), 3, True).shape)
        example_pb2.Example()
        """
    assert situ("run", "a.py", files={"a.py": program}).out == "[] (1, 3)\n"
    assert situ("run", "--check", "a.py", files={"a.py": program}).out.startswith("0 names")


def test_names_and_arguments_of_queues():
    bucket = tf.contrib.training.bucket
    bucket([tf.constant(1.0)], tf.constant(0), 2, 2, shared_name="ours")
    queues = [o for o in tf.get_default_graph().get_operations() if o.type == "FIFOQueueV2"]
    assert [o.get_attr("shared_name") for o in queues] == [b"ours_0", b"ours_1", b"ours"]
    queue = tf.FIFOQueue(2, ["float32"])
    enqueue = [queue.enqueue(1.0)]
    for types in ((), [tf.errors.OutOfRangeError], (ValueError,)):
        with pytest.raises(TypeError, match="must be a tuple of tf.error types"):
            tf.train.QueueRunner(queue, enqueue, queue_closed_exception_types=types)


def test_names_of_legacy_losses():
    logits, targets, weights = [tf.zeros([2, 3])], [tf.zeros([2], tf.int32)], [tf.ones([2])]
    loss = tf.contrib.legacy_seq2seq.sequence_loss(logits, targets, weights, name="cost")
    assert loss.op.name.startswith("cost/")


def test_reverse_of_a_vocabulary():
    kind = tf.contrib.learn.preprocessing.CategoricalVocabulary
    words = kind(support_reverse=False)
    words.add("a")
    with pytest.raises(ValueError, match="support_reverse"):
        words.reverse(1)
    assert kind().reverse(0) == "<UNK>"


def test_reuse_of_wrappers():
    cell = tf.nn.rnn_cell.GRUCell(2)
    for reuse, share in ((None, False), (True, True)):
        with tf.variable_scope("first", reuse=tf.AUTO_REUSE if share else None):
            wrapper = tf.contrib.rnn.InputProjectionWrapper(cell, 2, reuse=reuse)
            wrapper(tf.zeros([1, 3]), tf.zeros([1, 2]))
    assert len(tf.global_variables()) == 6
    for kind, args in (("InputProjectionWrapper", (2,)), ("EmbeddingWrapper", (4, 3))):
        wrapper = getattr(tf.contrib.rnn, kind)(tf.nn.rnn_cell.GRUCell(2), *args, reuse=True)
        with tf.variable_scope("none"), pytest.raises(ValueError, match="does not exist"):
            wrapper(tf.zeros([1, 3], tf.int32 if args[1:] else tf.float32), tf.zeros([1, 2]))


def test_initializers_of_cudnn_layers():
    ones = tf.ones_initializer()
    layer = tf.contrib.cudnn_rnn.CudnnLSTM(
        1, 2, kernel_initializer=tf.constant_initializer(0.25), bias_initializer=ones
    )
    layer(tf.zeros([3, 1, 5]), scope="mine")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        kernel, bias = sess.run(layer.variables)
    assert kernel.shape == (7, 8) and (kernel == 0.25).all()
    assert (bias == 2.0).all()  # cuDNN adds a bias of the input and one of the state
    assert all(v.op.name.startswith("mine/") for v in layer.variables)
    for kind in ("CudnnGRU", "CudnnRNNTanh"):
        layer = getattr(tf.contrib.cudnn_rnn, kind)(1, 2, kernel_initializer=ones)
        layer(tf.zeros([3, 1, 5]))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            assert all((sess.run(v) == 1).all() for v in layer.variables if "kernel" in v.name)
    with pytest.raises(NotImplementedError, match="input_mode='skip_input'"):
        tf.contrib.cudnn_rnn.CudnnLSTM(1, 2, input_mode="skip_input")
