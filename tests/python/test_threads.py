# SPDX-License-Identifier: Apache-2.0
"""test_threads.py: several threads, Ctrl-C, and runs that leave no threads or memory."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def chain(steps, side=256):
    """A long run: a chain of many matrix products."""
    x = tf.placeholder(tf.float32, [side, side])
    y = x
    for _ in range(steps):
        y = tf.matmul(y, x)
    return x, y, np.zeros([side, side], "float32")


def test_threads_share_a_session():
    x = tf.placeholder(tf.float32, [None])
    total = tf.reduce_sum(x * x)
    sess, wrong = tf.Session(), []

    def work(number):
        for size in range(1, 60):
            value = np.full(size, float(number), "float32")
            if sess.run(total, {x: value}) != number * number * size:
                wrong.append((number, size))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_thread_adds_nodes_while_others_run_the_graph(graph):
    """A run sees the nodes that were there when it began, and no error of a node that failed."""
    x = tf.placeholder(tf.float32, [])
    y = x * 2.0
    sess, finished, problems = tf.Session(), threading.Event(), []

    def build():
        with graph.as_default():
            for i in range(600):
                z = tf.add(x, float(i))
                if i % 20 == 0 and sess.run(z, {x: 1.0}) != 1.0 + i:
                    problems.append(i)
                with pytest.raises(ValueError):
                    tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))
                if i % 100 == 0:
                    slope = tf.gradients(y, x)[0]
                    branch = tf.cond(x > 0.0, lambda: x + 1.0, lambda: x - 1.0)
                    if sess.run([slope, branch], {x: 1.0}) != [2.0, 2.0]:
                        problems.append("gradient")

    def run():
        while not finished.is_set():
            if sess.run(y, {x: 3.0}) != 6.0:
                problems.append("run")
            with tf.Session(graph=graph) as another:
                another.run(y, {x: 3.0})
            if not graph.as_graph_def().node:
                problems.append("export")

    def guarded(body):
        try:
            body()
        except BaseException as error:  # pylint: disable=broad-except
            problems.append(error)
            raise

    threads = [threading.Thread(target=guarded, args=(run,)) for _ in range(3)]
    builder = threading.Thread(target=guarded, args=(build,))
    for thread in [builder, *threads]:
        thread.start()
    builder.join()
    finished.set()
    for thread in threads:
        thread.join()
    assert not problems


def test_the_lock_is_released_while_a_run_is_under_way():
    x, y, value = chain(400)
    sess = tf.Session()
    sess.run(y, {x: value})

    def count():
        """Counts how often this thread runs while another one is in a run."""
        done, counted = threading.Event(), 0

        def run():
            sess.run(y, {x: value})
            done.set()

        thread = threading.Thread(target=run)
        thread.start()
        while not done.is_set():
            counted += 1
            time.sleep(0.001)
        thread.join()
        return counted

    assert any(count() > 3 for _ in range(20))  # others may keep the cores for the time of a run


def interrupt_soon():
    threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


def test_ctrl_c_ends_a_run():
    x, y, value = chain(5000, side=2048)  # many minutes
    z = tf.reduce_sum(x)
    sess = tf.Session()
    assert sess.run(z, {x: value}) == 0
    begin = time.time()
    with pytest.raises(KeyboardInterrupt):
        interrupt_soon()
        while True:
            sess.run(y, {x: value})
    assert time.time() - begin < 200
    assert sess.run(z, {x: value + 1}) == 2048 * 2048


def test_another_handler_of_signals():
    x, y, value = chain(5000, side=2048)
    sess = tf.Session()

    class Enough(Exception):
        pass

    def handle(number, frame):
        raise Enough

    before = signal.signal(signal.SIGINT, handle)
    try:
        with pytest.raises(Enough):
            interrupt_soon()
            while True:
                sess.run(y, {x: value})
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_on_a_gpu(python):
    result = python(
        """
        import os, signal, threading, time
        import numpy as np
        import situ.compat.v1 as tf
        with tf.device('/gpu:0'):
            x = tf.placeholder(tf.float32, [2048, 2048])
            y = x
            for _ in range(3000):
                y = tf.matmul(y, x)
            z = tf.reduce_sum(x)
        sess, value = tf.Session(), np.ones([2048, 2048], 'float32')
        begin = time.time()
        try:
            threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            while True:
                sess.run(y, {x: value})
        except KeyboardInterrupt:
            print('stopped', time.time() - begin < 200, int(sess.run(z, {x: value})))
        """,
        gpus=1,
    )
    assert result.out == "stopped True 4194304\n", result.err


STEPS = """
    import ctypes, gc, resource, sys, tracemalloc
    import numpy as np
    import situ{part} as tf
    {build}
    ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # no huge pages: they come when the system likes
    def memory():
        gc.collect()
        with open('/proc/self/statm') as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    def references():
        return [sys.getrefcount(o) for o in (None, True, False, (), tf.float32, type(step()))]
    for _ in range(2000):
        step()
    before, counts = memory(), references()
    tracemalloc.start()
    first = tracemalloc.get_traced_memory()[0]
    for _ in range({steps}):
        step()
    gc.collect()
    last = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    for _ in range({steps}):
        step()
    after, now = memory(), references()
    assert after - before < 4 << 20, (before, after)
    assert last - first < 64 << 10, (first, last)
    assert all(abs(a - b) < 500 for a, b in zip(counts, now)), (counts, now)
    """

SESSION = """x = tf.placeholder(tf.float32, [2, 2])
    y, names = x + 1, {'a': [x * 2]}
    names['b'] = (y, y.op)
    sess, value = tf.Session(), np.ones([2, 2], 'float32')
    def step():
        sess.run(names, {x: [[1, 2], [3, 4]]})
        try:
            sess.run(y, {x: [1.]})
        except ValueError:
            pass
        return sess.run(y, {x: value})"""

EAGER = """a, v = tf.constant([[1., 2.]]), tf.Variable([[0., 0.]])
    f = tf.function(lambda x: (x + v) * 2)
    def step():
        v.assign_add(a)
        try:
            tf.matmul(a, a)
        except tf.errors.InvalidArgumentError:
            pass
        f(a).numpy()
        return (a + 1) @ [[1.], [2.]]"""


@pytest.mark.parametrize("part, build", [(".compat.v1", SESSION), ("", EAGER)])
def test_steps_leave_nothing_behind(python, part, build):
    result = python(STEPS.format(part=part, build=build, steps=25000))
    assert result.err == "" and result.code == 0


def test_a_hundred_thousand_steps(python):
    build = """x = tf.placeholder(tf.float32, [2, 2])
    y = x + 1
    sess, value = tf.Session(), np.ones([2, 2], 'float32')
    def step():
        return sess.run(y, {x: value})"""
    result = python(STEPS.format(part=".compat.v1", build=build, steps=50000))
    assert result.err == "" and result.code == 0


def test_sessions_and_graphs_are_freed(python):
    result = python("""
        import ctypes, gc, resource
        import numpy as np
        import situ.compat.v1 as tf
        ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # no huge pages
        def one():
            with tf.Graph().as_default():
                x = tf.placeholder(tf.float32, [1000])
                y = x
                for _ in range(50):
                    y = y + np.ones(1000, 'float32')
                with tf.Session() as sess:
                    sess.run(y, {x: np.zeros(1000, 'float32')})
        def memory():
            gc.collect()
            with open('/proc/self/statm') as file:
                return int(file.read().split()[1]) * resource.getpagesize()
        for _ in range(20):
            one()
        before = memory()
        for _ in range(100):
            one()
        assert memory() - before < 8 << 20, memory() - before
        """)
    assert result.err == "" and result.code == 0
