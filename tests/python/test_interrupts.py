# SPDX-License-Identifier: Apache-2.0
"""test_interrupts.py: Ctrl-C ends any computation within a second, eagerly and in a session."""

import pytest

# Expressions of inputs, and of an op that takes them several seconds or more.
STRINGS = "tf.fill([3_000_000], 'abc def ghi jkl')"
SQUARE = "uniform(2500, 2500)"
POSITIVE = "tf.eye(5000) * 5000.0 + uniform(5000, 5000)"
SPARSE = (
    "tf.random.uniform([6_000_000, 2], maxval=10**6, dtype=tf.int64)",
    "tf.ones([6_000_000])",
    "tf.constant([10**6, 10**6], tf.int64)",
)
CASES = {
    "regex_replace": ((STRINGS,), "tf.strings.regex_replace(x, '[a-e]+ (d.*)', 'x')"),
    "regex_full_match": ((STRINGS,), "tf.strings.regex_full_match(x, '.*(abc|def)+.*x')"),
    "as_string": (("tf.range(10_000_000, dtype=tf.float32)",), "tf.strings.as_string(x)"),
    "unicode_transcode": ((STRINGS,), "tf.strings.unicode_transcode(x, 'UTF-8', 'UTF-32-BE')"),
    "decode_csv": (
        ("tf.fill([3_000_000], '1,2.5,abc')",),
        "tf.io.decode_csv(x, [[0], [0.0], ['']])[2]",
    ),
    "parse_example": (
        ("tf.fill([6_000_000], '')",),
        "tf.io.parse_example(x, {'a': tf.io.FixedLenFeature([], tf.float32, 0.0)})['a']",
    ),
    "svd": ((SQUARE,), "tf.linalg.svd(x)[0]"),
    "qr": ((SQUARE,), "tf.linalg.qr(x)[0]"),
    "eigh": (("uniform(3000, 3000)",), "tf.linalg.eigh(x)[0]"),
    "eig": (("uniform(1200, 1200)",), "tf.linalg.eig(x)[0]"),
    "sqrtm": (("uniform(900, 900)",), "tf.linalg.sqrtm(x)"),
    "lu": (("uniform(4000, 4000)",), "tf.linalg.lu(x)[0]"),
    "cholesky": ((POSITIVE,), "tf.linalg.cholesky(x)"),
    "solve": ((SQUARE,), "tf.linalg.inv(x)"),
    "det": (("uniform(4000, 4000)",), "tf.linalg.det(x)"),
    "triangular_solve": (
        ("uniform(4000, 4000)", "uniform(4000, 1000)"),
        "tf.linalg.triangular_solve(x, y)",
    ),
    "lstsq": (("uniform(4000, 2000)", "uniform(4000, 4)"), "tf.linalg.lstsq(x, y)"),
    "sort": (("uniform(30_000_000)",), "tf.sort(x)"),
    "argsort": (("uniform(30_000_000)",), "tf.argsort(x)"),
    "unique": (("tf.cast(uniform(10_000_000) * 1e7, tf.int32)",), "tf.unique(x)[0]"),
    "fft": (("tf.cast(uniform(10_000_019), tf.complex64)",), "tf.signal.fft(x)"),
    "matmul": (("uniform(9000, 9000)",), "tf.matmul(x, x)"),
    "conv2d": (
        ("uniform(32, 256, 256, 64)", "uniform(7, 7, 64, 64)"),
        "tf.nn.conv2d(x, y, 1, 'SAME')",
    ),
    "depthwise_conv2d": (
        ("uniform(8, 500, 500, 32)", "uniform(15, 15, 32, 2)"),
        "tf.nn.depthwise_conv2d(x, y, [1] * 4, 'SAME')",
    ),
    "edit_distance": (
        ("tf.reshape(tf.range(1, 40001), [1, -1])",),
        "tf.edit_distance(tf.sparse.from_dense(x), tf.sparse.from_dense(x + 1))",
    ),
    "sparse_reorder": (
        SPARSE,
        "tf.raw_ops.SparseReorder(input_indices=x, input_values=y, input_shape=z)[1]",
    ),
    "set_union": (("tf.cast(uniform(1000, 5000) * 1e6, tf.int32)",), "tf.sets.union(x, x).values"),
    "candidate_sampler": (
        ("tf.zeros([1, 1], tf.int64)",),
        "tf.random.uniform_candidate_sampler(x, 1, 200_000, True, 10**9)[0]",
    ),
    "index_shuffle": (
        ("tf.range(10_000_000)",),
        "tf.random.experimental.index_shuffle(x, [1, 2], 20_000_000)",
    ),
}

# Starts an op, sends SIGINT, and prints the processor and the real time that it ran on.
PROGRAM = """
    import os, resource, signal, sys, threading, time
    import numpy  # now: an interrupted import cannot be repeated
    import situ as tf
    tf1 = tf.compat.v1
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have ignored it

    def uniform(*shape):
        return tf.random.uniform(shape)

    def used():
        return time.process_time(), time.monotonic()

    def interrupt(run):
        sent, ended = [], threading.Event()

        def send():
            if not ended.wait(0.3):
                sent.append(used())
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=send)
        try:
            thread.start()
            run()
            ended.set()
            thread.join()
            print(0, 0)  # it ended before the signal: the machine is fast
        except KeyboardInterrupt:
            print(*(b - a for a, b in zip(sent[0], used())))

    inputs, text, device = eval(sys.argv[1]), sys.argv[2], sys.argv[3]
    with tf.device(device):
        values = [eval(one) for one in inputs]
        for value in values:
            value.shape
        op = eval("lambda x, y=None, z=None: " + text)
        interrupt(lambda: op(*values))
        values = [value.numpy() for value in values]
    with tf1.Graph().as_default(), tf.device(device):
        fed = [tf1.placeholder(tf.as_dtype(v.dtype), v.shape) for v in values]
        out = op(*fed)
        session = tf1.Session()
        interrupt(lambda: session.run(out.op, dict(zip(fed, values))))
        print(session.run(tf.constant(3.0) * 2.0))  # it remains usable
"""


def check(python, name, device, gpus):
    inputs, op = CASES[name]
    result = python(PROGRAM, gpus=gpus, words=(repr(inputs), op, device))
    lines = result.out.split("\n")
    assert len(lines) > 2 and lines[2] == "6.0", result.out + result.err
    for line in lines[:2]:
        processor, real = map(float, line.split())
        assert processor < 1 or real < 1  # others may use the processors, too


@pytest.mark.parametrize("name", CASES)
def test_an_op_ends_within_a_second(python, name):
    check(python, name, "/cpu:0", 0)


@pytest.mark.parametrize("name", ["matmul", "sort", "cholesky"])
def test_a_kernel_of_a_simulated_gpu_ends_within_a_second(python, name):
    check(python, name, "/gpu:0", 1)
