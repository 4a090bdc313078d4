# SPDX-License-Identifier: Apache-2.0
"""test_host_ops_on_gpus.py: ops that run on the host and that TensorFlow registers for GPUs with
their tensors in host memory: a program may request a GPU for them, without soft placement."""

import re

import pytest

BEGIN = """
import situ.compat.v1 as tf
tf.disable_v2_behavior()
def place(make):
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        result = make()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            print(session.run(result))
"""

PROGRAMS = {
    "assertion": (
        """
def make():
    assertion = tf.raw_ops.Assert(condition=tf.constant(True), data=[tf.constant(1.0)])
    with tf.control_dependencies([assertion]):
        return tf.constant(2.0) * 1.0
""",
        "2.0",
    ),
    "queue": (
        """
def make():
    queue = tf.FIFOQueue(3, tf.float32)
    with tf.control_dependencies([queue.enqueue(4.0)]):
        element = queue.dequeue()
    with tf.control_dependencies([element]):
        return element + 1.0, queue.size()
""",
        "(np.float32(5.0), np.int32(0))",
    ),
    "one_shot_iterator": (
        """
def make():
    return tf.data.make_one_shot_iterator(tf.data.Dataset.range(3).skip(1)).get_next() + 1
""",
        "2",
    ),
    "initializable_iterator": (
        """
def make():
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensors(3.0))
    with tf.control_dependencies([iterator.initializer]):
        return iterator.get_next() * 2.0
""",
        "6.0",
    ),
    "unique": (
        """
def make():
    values, indices = tf.unique(tf.constant([1, 2, 2]))
    return values * 2, indices
""",
        "(array([2, 4], dtype=int32), array([0, 1, 1], dtype=int32))",
    ),
    "mutex": (
        """
def make():
    section = tf.CriticalSection()
    return section.execute(lambda: tf.constant(1.0) + 1.0)
""",
        "2.0",
    ),
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_gpu_may_be_requested(python, name):
    body, expected = PROGRAMS[name]
    assert python(BEGIN + body + "place(make)", gpus="1").out.strip() == expected


def test_iterators_and_queues_are_on_the_cpu_by_default(situ):
    program = """
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
element = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()
queue = tf.FIFOQueue(3, tf.int64, name="queue")
enqueue = queue.enqueue(element)
with tf.Session() as session:
    session.run(enqueue)
"""
    result = situ("run", "--gpus", "1", "--log-placement", "a.py", files={"a.py": program})
    assert result.code == 0, result.err
    logged = re.findall(r"^(\S+): .*device:(\w+:\d)$", result.out + result.err, re.M)
    for node in ("IteratorGetNext", "queue", "queue_enqueue"):
        assert (node, "CPU:0") in logged


def test_strings_have_no_gpu_kernels(python):
    program = """
try:
    place(lambda: tf.unique(tf.constant(["a", "b"]))[0])
except tf.errors.InvalidArgumentError as error:
    print("no supported kernel for GPU devices" in str(error))
"""
    assert python(BEGIN + program, gpus="1").out.strip() == "True"
