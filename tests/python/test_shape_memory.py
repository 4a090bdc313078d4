# SPDX-License-Identifier: Apache-2.0
"""test_shape_memory.py: memory does not grow with the number of different shapes."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

LIMIT = 450 << 20  # 150 programs with blocks of 4 MB would need 600 MB
PROGRAMS = {
    "session": """
import situ.compat.v1 as tf
tf.disable_eager_execution()
x = tf.placeholder(tf.float32, [None])
y = tf.reduce_sum(tf.nn.relu(x * 2 + 1))
session = tf.Session()
def step(array):
    return session.run(y, {x: array})
""",
    "eager": """
import situ as tf
def step(array):
    return tf.reduce_sum(tf.nn.relu(tf.constant(array) * 2 + 1))
""",
    "tape": """
import situ as tf
v = tf.Variable(1.0)
def step(array):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.relu(array * v * 2 + 1) * (array * v))
    return tape.gradient(y, v)
""",
    "function": """
import situ as tf
@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def step(x):
    return tf.reduce_sum(tf.nn.relu(x * 2 + 1) * x)
""",
    "traces": """
import situ as tf
@tf.function
def traced(x):
    return tf.reduce_sum(tf.nn.relu(x * 2 + 1) * x)
def step(array):
    return traced(tf.constant(array))
""",
    "branches": """
import situ as tf
@tf.function
def traced(x):
    y = tf.nn.relu(x * 2 + 1)
    return tf.reduce_sum(tf.cond(y[0] > 0, lambda: tf.sqrt(y * x) + x, lambda: y))
def step(array):
    return traced(tf.constant(array))
""",
}
LOOP = """
import numpy
for i in range(150):
    step(numpy.ones(1_000_000 + i, numpy.float32))
print("done")
"""


def limit_memory():
    """Bounds the data segment, which on Linux includes private anonymous mappings."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_many_shapes(name):
    run = subprocess.run(
        [sys.executable, "-c", PROGRAMS[name] + LOOP],
        capture_output=True,
        check=False,
        text=True,
        preexec_fn=limit_memory,
    )
    assert run.stdout == "done\n", run.stderr


SMALL = """
import numpy
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
step(numpy.ones(10, numpy.float32))
one = resident()
for i in range(NUMBER):
    step(numpy.ones(10 + i, numpy.float32))
assert resident() < 2 * one + (4 << 8), (one, resident())
print("done")
"""


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_many_small_shapes(name):
    """The programs themselves are evicted, too: many of them need less memory than the process had
    after the first one."""
    number = {"session": 20000, "function": 4000, "eager": 6000, "tape": 2000}.get(name, 600)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAMS[name] + SMALL.replace("NUMBER", str(number))],
        capture_output=True,
        check=False,
        text=True,
    )
    assert run.stdout == "done\n", run.stderr
