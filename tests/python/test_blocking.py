# SPDX-License-Identifier: Apache-2.0
"""test_blocking.py: blocking operations release other threads, and can be cancelled."""

import os
import threading

import situ as tf

PATIENCE = 600
tf1 = tf.compat.v1


def in_thread(function):
    """Starts a thread and stores its exception in `error`."""

    def guarded():
        try:
            thread.result = function()
        except BaseException as error:  # pylint: disable=broad-except
            thread.error = error

    thread = threading.Thread(target=guarded, daemon=True)
    thread.error = thread.result = None
    thread.start()
    return thread


def finish(thread):
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return thread


def queue_of(capacity=2):
    return tf.queue.FIFOQueue(capacity, [tf.float32], shapes=[[]])


def test_an_eager_dequeue_waits_for_another_thread():
    queue = queue_of()
    consumer = in_thread(queue.dequeue)
    assert not consumer.error
    queue.enqueue(5.0)  # would never be reached if the consumer kept the interpreter's lock
    assert float(finish(consumer).result) == 5.0
    producer = in_thread(lambda: queue.enqueue(6.0))
    assert float(queue.dequeue()) == 6.0
    assert finish(producer).error is None


def test_producers_and_consumers_share_an_eager_queue():
    queue, n = queue_of(3), 60
    producers = [in_thread(lambda: [queue.enqueue(1.0) for _ in range(n)]) for _ in range(3)]
    consumers = [in_thread(lambda: sum(float(queue.dequeue()) for _ in range(n))) for _ in range(3)]
    assert [finish(thread).error for thread in producers] == [None] * 3
    assert [finish(thread).result for thread in consumers] == [float(n)] * 3


def test_closing_a_queue_ends_who_waits_for_it():
    queue = queue_of()
    consumer = in_thread(queue.dequeue)
    many = in_thread(lambda: queue.dequeue_many(2))
    queue.close()
    for thread in consumer, many:
        assert isinstance(finish(thread).error, tf.errors.OutOfRangeError)
        assert "is closed and has insufficient elements" in str(thread.error)
    full = queue_of(1)
    full.enqueue(1.0)
    producer = in_thread(lambda: full.enqueue(2.0))
    full.close(cancel_pending_enqueues=True)
    assert isinstance(finish(producer).error, tf.errors.CancelledError)


def test_a_function_that_waits_lets_others_run():
    queue = queue_of()

    @tf.function
    def take():
        return queue.dequeue() * 2.0

    consumer = in_thread(take)
    queue.enqueue(4.0)
    assert float(finish(consumer).result) == 8.0


def test_reading_a_pipe_lets_others_run(tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    reader = in_thread(lambda: tf.io.read_file(path).numpy())
    with open(path, "wb") as stream:
        stream.write(b"text")
    assert finish(reader).result == b"text"


def test_closing_a_session_ends_its_runs():
    with tf1.Graph().as_default():
        queue = tf1.FIFOQueue(2, [tf.float32])
        taken = queue.dequeue()
        session = tf1.Session()
        session.run(queue.size())
        begun = threading.Event()

        def run():
            begun.set()
            session.run(taken)

        consumer = in_thread(run)
        assert begun.wait(PATIENCE)
        closer = in_thread(session.close)
        finish(closer)
        error = finish(consumer).error
        assert isinstance(error, (tf.errors.CancelledError, RuntimeError))


INTERRUPTED = """
    import os, signal, threading, time
    import situ as tf
    tf1 = tf.compat.v1

    queue = tf.queue.FIFOQueue(1, [tf.float32], shapes=[[]])
    full = tf.queue.FIFOQueue(1, [tf.float32], shapes=[[]])
    full.enqueue(1.0)
    graph = tf1.Graph()
    with graph.as_default():
        taken = tf1.FIFOQueue(1, [tf.float32]).dequeue()
    session = tf1.Session(graph=graph)

    @tf.function
    def take():
        return queue.dequeue()

    def interrupt(stop):
        while not stop.wait(0.2):  # until the program says that it has seen one
            os.kill(os.getpid(), signal.SIGINT)

    def asleep(x):
        time.sleep(600)
        return x

    def elements():
        yield asleep(1)

    with graph.as_default():
        slow = tf1.py_func(asleep, [tf.constant(1)], tf.int32)
    data, large = tf.data.Dataset, tf.ones([12000, 12000])  # a product takes minutes
    for wait in (
        queue.dequeue,
        take,
        lambda: full.enqueue(2.0),
        lambda: session.run(taken),
        lambda: list(data.from_generator(elements, tf.int32)),
        lambda: list(data.from_generator(elements, tf.int32).prefetch(2)),
        lambda: list(data.range(2).map(lambda x: tf.py_function(asleep, [x], tf.int64), 2)),
        lambda: list(data.range(2).map(lambda x: tf.py_function(asleep, [x], tf.int64))),
        lambda: tf.py_function(asleep, [1], tf.int32),
        tf.function(lambda: tf.numpy_function(asleep, [1], tf.int64)),
        lambda: session.run(slow),
        lambda: data.range(10**12).reduce(tf.constant(0, tf.int64), lambda a, b: a + b),
        lambda: list(data.range(10**12).filter(lambda x: x < 0)),
        lambda: list(data.range(10**12).filter(lambda x: x < 0).prefetch(2)),
        lambda: tf.matmul(large, large),
    ):
        stop = threading.Event()
        thread = threading.Thread(target=interrupt, args=(stop,))
        try:
            try:
                thread.start()
                wait()
                print("nothing to wait for")
            except KeyboardInterrupt:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                print("interrupted")
        finally:
            stop.set()
            thread.join()
            signal.signal(signal.SIGINT, signal.default_int_handler)
    full.close()
    print(float(full.dequeue()))
"""


def test_an_interrupt_ends_what_waits(python):
    result = python(INTERRUPTED)
    assert result.out.split("\n")[:16] == ["interrupted"] * 15 + ["1.0"], result.err
    assert result.code == 0
