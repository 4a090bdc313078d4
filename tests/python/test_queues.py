# SPDX-License-Identifier: Apache-2.0
"""test_queues.py: queues, readers, queue runners and functions of Python in graphs."""
import threading

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def _fresh():
    tf.reset_default_graph()


def _files(folder):
    names = []
    for i in range(3):
        path = folder / f"f{i}.bin"
        path.write_bytes(bytes([i] * 5 + [i + 10] * 5))
        names.append(str(path))
    return names


def test_files_become_batches(tmp_path):
    queue = tf.train.string_input_producer(_files(tmp_path), num_epochs=2, seed=1)
    key, value = tf.FixedLengthRecordReader(5).read(queue)
    x = tf.reshape(tf.decode_raw(value, tf.uint8), [5])
    batch, keys = tf.train.batch([tf.cast(x, tf.float32) * 2., key], 4, num_threads=2,
                                 allow_smaller_final_batch=True)
    assert batch.shape.as_list() == [None, 5]
    total = tf.reduce_sum(batch)
    seen = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient"):
            while not coord.should_stop():
                rows, names, whole = sess.run([batch, keys, total])
                assert whole == rows.sum() and len(names) == len(rows)
                seen += list(rows[:, 0])
        coord.request_stop()
        coord.join(threads)
    assert sorted(seen) == sorted(2 * [0., 2., 4., 20., 22., 24.])


def test_epochs_need_their_variable(tmp_path):
    queue = tf.train.string_input_producer(_files(tmp_path), num_epochs=1)
    name = queue.dequeue()
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(name)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value"):
            coord.request_stop()
            coord.join(threads)


def test_lines_and_whole_files(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("head\none\ntwo\n")
    names = tf.train.string_input_producer([str(path)], num_epochs=1, shuffle=False)
    more = tf.train.string_input_producer([str(path)], shuffle=False)
    line = tf.TextLineReader(skip_header_lines=1).read(names)[1]
    whole = tf.WholeFileReader().read(more)[1]
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        tf.train.start_queue_runners(sess)
        assert [sess.run(line), sess.run(line)] == [b"one", b"two"]
        assert sess.run(whole) == b"head\none\ntwo\n"
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(line)


def test_slices_and_shuffled_batches():
    rows = np.arange(20, dtype=np.float32).reshape(10, 2)
    labels = np.arange(10, dtype=np.int64)
    row, label = tf.train.slice_input_producer([rows, labels], shuffle=False)
    batch = tf.train.shuffle_batch([row, label], 5, capacity=40, min_after_dequeue=10, seed=3)
    assert batch[0].shape.as_list() == [5, 2]
    with tf.Session() as sess:
        coord = tf.train.Coordinator()
        tf.train.start_queue_runners(sess, coord)
        for _ in range(6):
            x, y = sess.run(batch)
            np.testing.assert_array_equal(x[:, 0], 2 * y)
        coord.request_stop()
        coord.join()


def test_the_order_of_chance_can_be_had_again(python):
    """SITU_SEED counts for queues, too."""
    text = """
        import situ.compat.v1 as tf
        queue = tf.RandomShuffleQueue(100, 0, tf.int32, shapes=[[]])
        with tf.Session() as sess:
            sess.run(queue.enqueue_many([list(range(50))]))
            print(sess.run(queue.dequeue_many(50)).tolist())
        """
    orders = [python(text, SITU_SEED=seed).out for seed in ("1", "1", "2")]
    assert orders[0] == orders[1] != orders[2] and orders[0].startswith("[")


def test_a_waiting_thread_ends_with_its_session():
    queue, begun = tf.FIFOQueue(1, [tf.float32]), threading.Event()
    with tf.control_dependencies([tf.py_func(lambda: begun.set() or True, [], tf.bool)]):
        take = queue.dequeue()
    sess, caught = tf.Session(), []

    def work():
        try:
            sess.run(take)
        except tf.errors.CancelledError as error:
            caught.append(str(error))
    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(300)
    sess.close()
    thread.join(300)
    assert not thread.is_alive() and "Dequeue operation was cancelled" in caught[0]


def test_padding_fills_up():
    queue = tf.PaddingFIFOQueue(10, [tf.int32], shapes=[[None]])
    x = tf.placeholder(tf.int32, [None])
    put, take = queue.enqueue([x]), queue.dequeue_many(2)
    with tf.Session() as sess:
        sess.run(put, {x: [1]})
        sess.run(put, {x: [2, 3]})
        assert sess.run(take).tolist() == [[1, 0], [2, 3]]


def test_functions_of_python():
    double = tf.py_func(lambda a: (a * 2).astype(np.float32), [tf.constant([1., 2.])], tf.float32)
    after = double + 1.
    wrong = tf.py_func(lambda: 1 / 0, [], tf.float32)
    with tf.Session() as sess:
        assert sess.run(after).tolist() == [3., 5.]
        with pytest.raises(tf.errors.UnknownError, match="division by zero"):
            sess.run(wrong)


def test_a_list_of_one_tensor_comes_back_as_a_tensor():
    with tf.Graph().as_default():
        one = tf.train.shuffle_batch([tf.constant([1., 2.])], 3, 10, 2)
        assert one.shape.as_list() == [3, 2]
        assert tf.train.batch([tf.constant(1)], 4).shape.as_list() == [4]
        assert tf.train.batch_join([[tf.constant(1)], [tf.constant(2)]], 4).shape.as_list() == [4]
        assert isinstance(tf.train.batch([tf.constant(1), tf.constant(2)], 4), list)
        assert list(tf.train.batch({"a": tf.constant(1)}, 4)) == ["a"]
        assert [r.name for r in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)][:2] == [
            "shuffle_batch/random_shuffle_queue", "batch/fifo_queue"]
        assert tf.get_collection(tf.GraphKeys.SUMMARIES)[0].name == \
            "shuffle_batch/fraction_over_2_of_8_full:0"


def test_no_files_are_an_error_and_not_an_endless_loop(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.train.string_input_producer(
            tf.train.match_filenames_once(str(tmp_path / "none-*")))
        sess.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(queue.dequeue())
        with pytest.raises(tf.errors.InvalidArgumentError, match="requires a non-null input"):
            coordinator.request_stop()
            coordinator.join(threads)
