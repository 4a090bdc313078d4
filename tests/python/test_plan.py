# SPDX-License-Identifier: Apache-2.0
"""test_plan.py: `situ plan` predicts the memory of a session on each device: it runs with a
limit of the predicted peak, and fails with less."""

import json

import pytest

# A program builds its graph, `fetch` and `feeds` (shapes by placeholder); as it is told, it saves
# the graph or runs the initializers and two steps.
FRAME = """\
import sys
import numpy as np
import tensorflow as tf
soft, feeds = False, {{}}
{body}
init = tf.global_variables_initializer()
if sys.argv[1] == "save":
    tf.train.write_graph(tf.get_default_graph(), ".", "graph.pbtxt")
else:
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=soft)) as session:
        session.run(init)
        for _ in range(2):
            session.run(fetch, {{k: np.zeros(s, k.dtype.as_numpy_dtype) for k, s in feeds.items()}})
    print("it ran")
"""

ADAM = """
x = tf.placeholder(tf.float32, [None, 200], name="x")
y = tf.placeholder(tf.int64, [None], name="y")
feeds = {x: [33, 200], y: [33]}
hidden = tf.layers.dense(x, 150, tf.nn.relu)
loss = tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(hidden, 10))
fetch = tf.train.AdamOptimizer().minimize(loss, name="step")
"""

RESOURCE = """
tf.enable_resource_variables()
x = tf.placeholder(tf.float32, [None, 200], name="x")
feeds = {x: [50, 200]}
w = tf.get_variable("w", [200, 300])
b = tf.get_variable("b", [300], initializer=tf.zeros_initializer())
loss = tf.reduce_sum(tf.square(tf.matmul(x, w) + b))
fetch = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="step")
"""

CONVOLUTION = """
x = tf.placeholder(tf.float32, [8, 28, 28, 3], name="x")
feeds = {x: [8, 28, 28, 3]}
h = tf.layers.conv2d(x, 16, 5, activation=tf.nn.relu)
h = tf.layers.max_pooling2d(h, 2, 2)
h = tf.layers.conv2d(h, 32, 3, activation=tf.nn.relu)
loss = tf.reduce_mean(tf.layers.dense(tf.layers.flatten(h), 1))
fetch = tf.train.RMSPropOptimizer(0.01).minimize(loss, name="step")
"""

BIG_VARIABLE = """
i = tf.placeholder(tf.int32, [4], name="i")
feeds = {i: [4]}
table = tf.Variable(tf.random_normal([20000, 64]), name="table")
fetch = tf.reduce_sum(tf.gather(table, i), name="step")
"""

NOT_IN_THE_STEP = """
x = tf.placeholder(tf.float32, [10, 10], name="x")
feeds = {x: [10, 10]}
unused = tf.Variable(tf.zeros([1000, 100]), name="unused")
w = tf.Variable(tf.ones([10, 10]))
fetch = tf.matmul(x, w, name="step")
"""

LARGE_STEP = """
x = tf.placeholder(tf.float32, [500, 10], name="x")
feeds = {x: [500, 10]}
w = tf.Variable(tf.ones([10, 10]))
h = tf.matmul(x, w)
fetch = tf.reduce_sum(tf.matmul(h, h, transpose_b=True) + 1., name="step")
"""

CONSTANTS = """
fetch = tf.reduce_sum(tf.matmul(tf.constant(np.ones([300, 100], np.float32)),
                                tf.fill([100, 77], 2.)), name="step")
"""

TWO_GPUS = """
x = tf.placeholder(tf.float32, [60, 40], name="x")
feeds = {x: [60, 40]}
with tf.device("/gpu:0"):
    a = tf.Variable(tf.ones([40, 500]))
    h = tf.matmul(x, a)
with tf.device("/gpu:1"):
    b = tf.Variable(tf.ones([500, 3]))
    loss = tf.reduce_sum(tf.square(tf.matmul(h, b)))
fetch = tf.train.AdagradOptimizer(0.1).minimize(
    loss, name="step", colocate_gradients_with_ops=True)
"""

SOFT = """
soft = True
with tf.device("/gpu:7"):
    w = tf.Variable(tf.ones([300, 300]))
    n = tf.Variable([1, 2, 3])
    fetch = tf.reduce_sum(tf.matmul(w, w), name="step") + tf.cast(tf.reduce_sum(n), tf.float32)
fetch = tf.identity(fetch, name="all")
"""

RANDOM = """
w = tf.Variable(tf.truncated_normal([64, 64], stddev=0.1))
fetch = tf.reduce_sum(tf.nn.dropout(tf.matmul(w, tf.random_uniform([64, 500])), 0.5), name="step")
"""

PROGRAMS = {
    "Adam": (ADAM, "step", 1),
    "resource": (RESOURCE, "step", 1),
    "convolution": (CONVOLUTION, "step", 1),
    "big": (BIG_VARIABLE, "step", 1),
    "unused": (NOT_IN_THE_STEP, "step", 1),
    "step": (LARGE_STEP, "step", 1),
    "constants": (CONSTANTS, "step", 1),
    "two": (TWO_GPUS, "step", 2),
    "soft": (SOFT, "all", 1),
    "random": (RANDOM, "step", 1),
}
FEEDS = {ADAM: ("--feed", "x=33x200", "--feed", "y=33"), RESOURCE: ("--feed", "x=50x200")}


def save(situ, body):
    """Writes the program p.py, and its graph into graph.pbtxt."""
    saved = situ("run", "p.py", "save", files={"p.py": FRAME.format(body=body)})
    assert saved.code == 0, saved.err
    return FEEDS.get(body, ())


def plan(situ, gpus, *words, **env):
    """Returns the output of situ plan --json."""
    done = situ("plan", "graph.pbtxt", "--gpus", str(gpus), "--json", "--soft", *words, **env)
    assert done.code == 0, done.err
    return json.loads(done.out)


def runs(situ, gpus, limit):
    """Whether the program runs with that limit on each GPU."""
    done = situ("run", "--gpus", str(gpus), "p.py", "run", SITU_GPU_MEMORY=limit)
    assert (done.code == 0) == ("it ran" in done.out), done.err
    assert done.code == 0 or "OOM when allocating" in done.err, done.err
    return done.code == 0


def check(situ, name, how=""):
    """A session runs with the predicted peak, and not with less; the plan says so."""
    body, fetch, gpus = PROGRAMS[name]
    words = ("--fetch", fetch, *save(situ, body))
    found = plan(situ, gpus, *words, SITU_GPU_MEMORY="limit=4GiB" + how)
    peaks = [d["peak_bytes"] for d in found["devices"] if "GPU" in d["device"]]
    assert found["fits"] and len(peaks) == gpus
    peak = max(peaks)
    assert runs(situ, gpus, f"limit={peak}{how}")
    assert not runs(situ, gpus, f"limit={peak - 256}{how}")
    for limit in (peak, peak - 1):
        again = plan(situ, gpus, *words, SITU_GPU_MEMORY=f"limit={limit}{how}")
        assert again["fits"] == (limit == peak)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_session_runs_with_the_peak_and_not_with_less(situ, name):
    check(situ, name)


@pytest.mark.parametrize("name", ["Adam", "two"])
def test_the_same_where_memory_grows(situ, name):
    check(situ, name, ",growth")


@pytest.mark.parametrize("name", ["Adam", "convolution", "big"])
def test_without_fetches_the_initializers_are_no_part_of_the_step(situ, name):
    body, fetch, gpus = PROGRAMS[name]
    words = save(situ, body)
    found, ends = (
        plan(situ, gpus, *words, *more)["devices"][-1] for more in (("--fetch", fetch), ())
    )
    assert found["device"] == ends["device"] and "GPU" in found["device"]
    assert found["variable_bytes"] == ends["variable_bytes"]
    assert found["initializer_bytes"] == ends["initializer_bytes"]


def test_variables_count_and_are_shown(situ):
    save(situ, BIG_VARIABLE)
    device = plan(situ, 1, "--fetch", "step")["devices"][-1]
    table = 20000 * 64 * 4
    assert table <= device["variable_bytes"] < table + 4096
    assert device["initializer_bytes"] >= table and device["step_bytes"] < table / 10
    assert device["peak_bytes"] >= 2 * table
    text = situ("plan", "graph.pbtxt", "--gpus", "1", SITU_GPU_MEMORY="limit=6MiB").out
    assert "It does not fit on /device:GPU:0" in text
    assert "variable initializers need more memory of /device:GPU:0 than a step: 4.88MiB" in text
    assert "It fits." in situ("plan", "graph.pbtxt", "--gpus", "1", "--fetch", "step").out


def test_the_initializers_alone_can_be_planned(situ):
    words = save(situ, ADAM)
    device = plan(situ, 1, "--fetch", "init", *words)["devices"][-1]
    assert device["initializer_bytes"] == 0 and device["step_bytes"] > 0
    situ("devices", files={"p.py": FRAME.format(body=ADAM).replace("range(2)", "range(0)")})
    assert runs(situ, 1, f"limit={device['peak_bytes']}")
    assert not runs(situ, 1, f"limit={device['peak_bytes'] - 256}")
