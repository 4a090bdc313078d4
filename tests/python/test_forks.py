# SPDX-License-Identifier: Apache-2.0
"""test_forks.py: children forked while other threads run: they work, or get a clear error."""

import pytest

PROGRAM = """
    import os, random, signal, threading, time
    import numpy as np
    import situ as tf
    v1 = tf.compat.v1
    stop, graph = threading.Event(), tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, 64])
        y = tf.reduce_sum(tf.matmul(x, x, transpose_b=True))
        session = v1.Session(graph=graph)
    v = tf.Variable(tf.ones([8]))
    traced = tf.function(lambda a: tf.reduce_sum(a * v))

    def gradient():
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(v * v)
        return float(tf.reduce_sum(tape.gradient(total, v)))

    def elements(n):
        data = tf.data.Dataset.range(n).map(lambda a: a * 2, num_parallel_calls=2)
        return sum(int(i) for i in data.prefetch(2))

    def build():  # the next run places all nodes
        with graph.as_default():
            tf.add(x, 1.0)
        time.sleep(0.05)

    def large():
        return float(tf.matmul(tf.ones([300, 300]), tf.ones([300, 300]))[0, 0])

    def run(n=3):
        return float(session.run(y, {x: np.ones([n, 64], 'float32')}))

    def activity(function):
        while not stop.wait(0.002):
            function()

    works = [lambda: run(random.randrange(1, 50)), gradient, lambda: elements(50), build,
             lambda: (traced(tf.ones([8])), large(), tf.constant(np.ones(random.randrange(99))))]
    for work in works:
        work()  # imports modules: a child that is forked during an import waits for its lock
    threads = [threading.Thread(target=activity, args=(w,)) for w in works]
    for thread in threads:
        thread.start()

    def result(function):
        try:
            return function()
        except tf.errors.FailedPreconditionError as error:
            assert 'before this process was forked' in str(error), error
            return None

    def child():
        signal.alarm(300)  # ends what hangs
        build()
        found = [result(f) for f in (gradient, run, lambda: elements(10), large)]
        found.append(result(lambda: float(traced(tf.ones([8])))))
        os._exit(0 if all(f in (None, e) for f, e in zip(found, EXPECTED)) else 1)

    EXPECTED, codes = [16.0, 576.0, 90, 300.0, 8.0], []
    for _ in range(COUNT):
        time.sleep(random.random() * 0.01)
        pid = os.fork()
        if not pid:
            child()
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    stop.set()
    for thread in threads:
        thread.join()
    print(set(codes), len(codes))
    """


@pytest.mark.parametrize("gpus, count", [(0, 150), (1, 30)])
def test_children_of_a_busy_process(python, gpus, count):
    result = python(PROGRAM.replace("COUNT", str(count)), gpus=gpus)
    assert result.out == f"{{0}} {count}\n", result.err
