# SPDX-License-Identifier: Apache-2.0
"""test_queue_deadlocks.py: steps whose ops wait for each other through a queue; priority queues."""

import os
import signal
import threading

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def _fresh():
    tf.reset_default_graph()


@pytest.mark.parametrize("first", ["enqueue", "dequeue"])
def test_a_step_takes_what_it_gives(first):
    queue = tf.FIFOQueue(3, tf.float32, shapes=[[]])
    x = tf.placeholder(tf.float32, [])
    names = [first, *{"enqueue", "dequeue"} - {first}]
    result = {n: queue.enqueue(x) if n == "enqueue" else queue.dequeue() * 2 for n in names}
    with tf.Session() as sess:
        for value in (3.0, 4.0):
            assert sess.run([result["dequeue"], result["enqueue"]], {x: value})[0] == 2 * value
        assert sess.run(queue.size()) == 0


def test_batches_meet():
    queue = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[2], []])
    rows = queue.dequeue_many(3)
    put = queue.enqueue_many([np.arange(6).reshape(3, 2), ["a", "b", "c"]])
    with tf.Session() as sess:
        (numbers, texts), _ = sess.run([rows, put])
    assert numbers.tolist() == [[0, 1], [2, 3], [4, 5]] and texts.tolist() == [b"a", b"b", b"c"]


def test_room_is_made_by_the_same_step():
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put, take = queue.enqueue(7), queue.dequeue()
    with tf.Session() as sess:
        sess.run(queue.enqueue(5))
        assert sess.run([put, take])[1] == 5
        assert sess.run(take) == 7


def test_way_round_through_other_queues():
    """The first op waits, through kernels, for a value that the last one enqueues."""
    one, two = [tf.FIFOQueue(2, tf.float32, shapes=[[2]]) for _ in range(2)]
    last = tf.reduce_sum(one.dequeue())
    middle = two.dequeue()
    put = one.enqueue(tf.nn.relu(middle) * 3)
    with tf.Session() as sess:
        sess.run(two.enqueue([[1.0, -1.0]]))
        assert sess.run([last, put])[0] == 3.0


def test_shapes_known_at_run_time():
    queue = tf.FIFOQueue(2, tf.float32)
    total = tf.reduce_sum(queue.dequeue()) + 1
    put = queue.enqueue(tf.ones([tf.placeholder_with_default(4, [])]))
    with tf.Session() as sess:
        assert sess.run([total, put])[0] == 5.0


def test_steps_on_a_gpu_meet(python):
    done = python(
        """
        import situ.compat.v1 as tf
        queue = tf.FIFOQueue(2, tf.float32, shapes=[[2, 2]])
        with tf.device("/gpu:0"):
            y = tf.matmul(queue.dequeue(), tf.ones([2, 2]))
        with tf.device("/gpu:1"):
            put = queue.enqueue(tf.ones([2, 2]) * 3)
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
            for _ in range(3):
                print(sess.run([y, put])[0].sum())
        """,
        gpus=2,
    )
    assert done.out.split() == ["24.0"] * 3, done.err


def _locked():
    """A step in which each waits for the other for ever."""
    one, two = [tf.FIFOQueue(2, tf.float32, shapes=[[]]) for _ in range(2)]
    return one, [two.enqueue(one.dequeue()), one.enqueue(two.dequeue())]


def _once_begun(step, action):
    """The step and an op that tells when it runs; a thread does something then."""
    begun = threading.Event()
    thread = threading.Thread(target=lambda: begun.wait(300) and action(), daemon=True)
    thread.start()
    return [*step, tf.py_func(lambda: begun.set() or True, [], tf.bool)], thread


def test_dead_locks_end_in_time():
    one, step = _locked()
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=150)) as sess:
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(step)
        patient = tf.RunOptions(timeout_in_ms=300000)
        sess.run(one.enqueue(1.0), options=patient)
        sess.run(step, options=patient)
        assert sess.run(one.size(), options=patient) == 1


def test_dead_locks_are_interrupted():
    one, step = _locked()
    with tf.Session() as sess:
        with pytest.raises(KeyboardInterrupt):
            step, thread = _once_begun(step, lambda: os.kill(os.getpid(), signal.SIGINT))
            sess.run(step)
        thread.join()
        assert sess.run(one.size()) == 0


def test_other_threads_help():
    one, step = _locked()
    put = one.enqueue(1.0)
    with tf.Session() as sess:
        step, thread = _once_begun(step, lambda: sess.run(put))
        sess.run(step)
        thread.join()
        assert sess.run(one.size()) == 1


def test_closed_sessions_let_go():
    _, step = _locked()
    sess = tf.Session()
    step, thread = _once_begun(step, sess.close)
    with pytest.raises(tf.errors.CancelledError):
        sess.run(step)
    thread.join()


def test_smallest_first():
    queue = tf.PriorityQueue(10, [tf.string, tf.float32], shapes=[[], [1]])
    assert [t.name for t in queue.dtypes] == ["int64", "string", "float32"]
    put = queue.enqueue_many(
        [np.array([5, -1, 3, 3], "q"), ["e", "a", "c", "d"], np.arange(4, dtype="f").reshape(4, 1)]
    )
    with tf.Session() as sess:
        sess.run(put)
        number, text, more = sess.run(queue.dequeue())
        assert (number, text, more.tolist()) == (-1, b"a", [1.0])
        sess.run(queue.enqueue([np.int64(4), "x", [9.0]]))
        numbers, texts, _ = sess.run(queue.dequeue_many(3))
        assert numbers.tolist() == [3, 3, 4] and texts.tolist() == [b"c", b"d", b"x"]
        sess.run(queue.close())
        with pytest.raises(tf.errors.OutOfRangeError, match="PriorityQueue '.*' is closed and has"):
            sess.run(queue.dequeue_many(2))
        assert sess.run(queue.dequeue())[0] == 5


def test_priorities_are_whole_numbers():
    queue = tf.PriorityQueue(2, tf.float32)
    with pytest.raises((TypeError, ValueError)):
        queue.enqueue([0.5, 1.0])
