# SPDX-License-Identifier: Apache-2.0
"""test_simulate.py: `situ simulate` finds the training step of a program, whatever its style, and
the gradients that replicas would reduce: one for each trained variable."""

import json
import re

import pytest

SIZES = (400 * 300 + 300 + 300 * 10 + 10) * 4  # bytes of a dense net 400 -> 300 -> 10

NET1 = """\
import numpy as np
import tensorflow as tf
def net(x):
    return tf.layers.dense(tf.layers.dense(x, 300, tf.nn.relu), 10)
x = tf.placeholder(tf.float32, [64, 400])
y = tf.placeholder(tf.int64, [64])
feed = {x: np.zeros([64, 400]), y: np.zeros([64])}
"""

GRAPH = (
    NET1
    + """
loss = tf.losses.sparse_softmax_cross_entropy(y, net(x))
train = tf.train.AdamOptimizer().minimize(loss, tf.train.get_or_create_global_step())
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(train, feed)
"""
)

TOWERS = (
    NET1
    + """
optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
towers = []
for i in range(2):
    with tf.device("/gpu:%d" % i), tf.variable_scope("net", reuse=i > 0):
        loss = tf.losses.sparse_softmax_cross_entropy(y[32 * i:32 * i + 32],
                                                      net(x[32 * i:32 * i + 32]))
        towers.append(optimizer.compute_gradients(loss, tf.trainable_variables()))
mean = [(tf.reduce_mean(tf.stack([g for g, _ in pairs]), 0), pairs[0][1]) for pairs in zip(*towers)]
with tf.device("/cpu:0"):
    train = optimizer.apply_gradients(mean)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(train, feed)
"""
)

NET2 = """\
import numpy as np
import tensorflow as tf
def make():
    return tf.keras.Sequential([tf.keras.layers.Dense(300, activation="relu"),
                                tf.keras.layers.Dense(10)])
x, y = np.zeros([192, 400], "float32"), np.zeros([192], "int64")
crossentropy = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(64)
"""

FIT = (
    NET2
    + """
model = make()
model.compile(tf.keras.optimizers.Adam(), crossentropy, metrics=["accuracy"])
model.fit(x, y, batch_size=64, epochs=2, verbose=0)
model.predict(x[:1], verbose=0)
"""
)

MIRRORED_FIT = (
    NET2
    + """
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = make()
    model.compile(tf.keras.optimizers.Adam(), crossentropy)
model.fit(data, epochs=2, verbose=0)
"""
)

MIRRORED_LOOP = (
    NET2
    + """
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model, optimizer = make(), tf.keras.optimizers.SGD(0.1, momentum=0.9)
def step(batch):
    images, labels = batch
    with tf.GradientTape() as tape:
        loss = crossentropy(labels, model(images, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables),
                                  model.trainable_variables))
    return loss
@tf.function
def train(batch):
    losses = strategy.run(step, args=(batch,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
for batch in strategy.experimental_distribute_dataset(data):
    train(batch)
"""
)

MIRRORED_GRAPH = """\
import numpy as np
import tensorflow as tf
def step(features, labels):
    logits = tf.layers.dense(tf.layers.dense(features, 300, tf.nn.relu), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    return loss
strategy = tf.distribute.MirroredStrategy()
def model_fn(features, labels, mode):
    loss = step(features, labels)
    train = tf.train.AdamOptimizer().minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)
def input_fn():
    x, y = np.zeros([192, 400], "float32"), np.zeros([192], "int64")
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(64)
config = tf.estimator.RunConfig(train_distribute=strategy)
tf.estimator.Estimator(model_fn, config=config).train(input_fn, steps=3)
"""

FUNCTION = (
    NET2
    + """
model, optimizer = make(), tf.keras.optimizers.Adam()
@tf.function
def train(images, labels):
    with tf.GradientTape() as tape:
        loss = crossentropy(labels, model(images))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
for images, labels in data:
    train(images, labels)
"""
)

EAGER = (
    NET2
    + """
model, optimizer = make(), tf.keras.optimizers.Adam()
for images, labels in data:
    with tf.GradientTape() as tape:
        loss = crossentropy(labels, model(images))
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""
)

BY_HAND = """\
import tensorflow as tf
variables = [tf.Variable(tf.random.normal(s)) for s in ([400, 300], [300], [300, 10], [10])]
slots = [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables]
x = tf.zeros([64, 400])
@tf.function
def train():
    with tf.GradientTape() as tape:
        w, b, u, c = variables
        loss = tf.reduce_sum(tf.nn.relu(x @ w + b) @ u + c)
    for v, s, g in zip(variables, slots, tape.gradient(loss, variables)):
        s.assign(0.9 * s + g)
        v.assign_sub(0.1 * s)
for _ in range(4):
    train()
"""

IN_A_LOOP = (
    NET2
    + """
model, optimizer = make(), tf.keras.optimizers.SGD(0.1)
@tf.function
def epoch():
    for images, labels in data:
        with tf.GradientTape() as tape:
            loss = crossentropy(labels, model(images))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
epoch()
epoch()
"""
)

READ_VALUES = (
    NET1
    + """
loss = tf.losses.sparse_softmax_cross_entropy(y, net(x))
variables = tf.trainable_variables()
gradients = tf.gradients(loss, [v.value() for v in variables])
train = [v.assign_sub(0.1 * g) for v, g in zip(variables, gradients)]
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(train, feed)
"""
)

HOROVOD = (
    """\
import horovod.tensorflow as hvd
"""
    + NET1
    + """
hvd.init()
loss = tf.losses.sparse_softmax_cross_entropy(y, net(x))
optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer())
train = optimizer.minimize(loss)
with tf.Session() as session:
    session.run([tf.global_variables_initializer(), hvd.broadcast_global_variables(0)])
    for _ in range(3):
        session.run(train, feed)
"""
)

PROGRAMS = {
    "graph": GRAPH,
    "towers": TOWERS,
    "fit": FIT,
    "mirrored fit": MIRRORED_FIT,
    "mirrored loop": MIRRORED_LOOP,
    "mirrored estimator": MIRRORED_GRAPH,
    "function": FUNCTION,
    "eager": EAGER,
    "by hand": BY_HAND,
    "Horovod": HOROVOD,
    "in a loop": IN_A_LOOP,
    "values": READ_VALUES,
}


def simulate(situ, text, *words):
    done = situ(
        "simulate", "--gpus", "8", "--nodes", "128", *words, "train.py", files={"train.py": text}
    )
    assert done.code == 0, done.err
    return done


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_as_large_as_what_is_trained(situ, name):
    found = json.loads(simulate(situ, PROGRAMS[name], "--json").out)
    assert found["gradient_bytes"] == SIZES
    assert found["memory_bytes"] > SIZES
    # the forward and the backward pass of 64 images (32 on each tower), whatever else is done
    least = 2 * 64 * (2 * 400 * 300 + 3 * 300 * 10) / (2 if name == "towers" else 1)
    assert least < found["flops"] < 1.5 * least


def test_a_thousand_gpus_are_not_free(situ):
    text = simulate(situ, MIRRORED_LOOP, "--link", "pcie,eth10").out
    assert "gradients 481.7KiB" in text
    line = re.search(r"(?m)^ +1024 +128 .*", text).group()
    assert float(line.split()[-2]) < 95


def test_the_initializer_is_not_the_step(situ):
    """The initial values take more time than a step, and more than all steps together."""
    text = """
    import tensorflow as tf
    big = tf.Variable(tf.random_normal([2000, 2000]) @ tf.random_normal([2000, 2000]))
    w = tf.Variable(tf.zeros([100]))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(w * w), var_list=[w])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
    """
    assert json.loads(simulate(situ, text, "--json").out)["gradient_bytes"] == 400


def test_an_input_pipeline_is_not_the_step(situ):
    text = """
    import tensorflow as tf
    data = tf.data.Dataset.range(20).map(lambda i: tf.ones([500, 500]) @ tf.ones([500, 500]))
    w = tf.Variable(tf.zeros([100]))
    @tf.function
    def train(image):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w) * image[0, 0]
        w.assign_sub(0.1 * tape.gradient(loss, w))
    for image in data:
        train(image)
    """
    assert json.loads(simulate(situ, text, "--json").out)["gradient_bytes"] == 400


@pytest.mark.parametrize("optimizer", ["GradientDescentOptimizer(0.1)", "AdamOptimizer()"])
def test_slices_count_by_their_rows(situ, optimizer):
    text = f"""
    import numpy as np
    import tensorflow as tf
    i = tf.placeholder(tf.int32, [None])
    table = tf.get_variable("table", [10000, 16])
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, i))
    train = tf.train.{optimizer}.minimize(loss, name="train")
    tf.train.write_graph(tf.get_default_graph(), ".", "graph.pbtxt")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(train, {{i: np.arange(50)}})
    """
    rows = 50 * (16 * 4 + 4)
    assert json.loads(simulate(situ, text, "--json").out)["gradient_bytes"] == rows
    done = situ(
        "simulate",
        "graph.pbtxt",
        "--gpus",
        "8",
        "--fetch",
        "train",
        "--feed",
        "Placeholder=50",
        "--json",
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["gradient_bytes"] == rows


def test_a_graph_from_a_file(situ):
    saved = GRAPH.replace(
        "with tf.Session()",
        'tf.train.write_graph(tf.get_default_graph(), ".", "graph.pbtxt")\nwith tf.Session()',
    )
    by_script = json.loads(simulate(situ, saved, "--json").out)
    done = situ("simulate", "graph.pbtxt", "--gpus", "8", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["gradient_bytes"] == by_script["gradient_bytes"] == SIZES


def test_the_work_of_loops_belongs_to_the_step(situ):
    """A body of a loop is a program of its own, which runs inside the step."""
    text = """
    import tensorflow as tf
    w = tf.Variable(tf.eye(100))
    i, product = tf.while_loop(lambda i, m: i < 10, lambda i, m: (i + 1, m @ w),
                               [0, tf.ones([100, 100])])
    train = tf.train.GradientDescentOptimizer(1e-9).minimize(tf.reduce_sum(product))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
    """
    found = json.loads(simulate(situ, text, "--json").out)
    assert found["gradient_bytes"] == 40000
    assert found["flops"] > 3 * 10 * 2 * 100**3 * 0.9


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\nprint(tf.ones([3]) + 1)\n",
        NET2 + "make().predict(x, verbose=0)\n",
        NET1 + "logits = net(x)\nwith tf.Session() as s:\n"
        "    s.run(tf.global_variables_initializer())\n"
        "    s.run(logits, feed)\n",
    ],
)
def test_a_program_that_trains_nothing_is_an_error(situ, text):
    done = situ("simulate", "--gpus", "8", "a.py", files={"a.py": text})
    assert (done.code, done.out) == (1, "")
    assert "no training step" in done.err and "tf.GradientTape" in done.err
    done = situ("simulate", "--gpus", "8", "--gradients", "1MB", "a.py")
    if "net" in text or "make" in text:
        assert done.code == 0 and "gradients 976.6KiB" in done.out


def test_errors_at_the_end_are_not_lost(situ):
    text = (
        FUNCTION
        + """
from situ._src.runner import training_costs
def broken():
    raise RuntimeError("no such luck")
training_costs._variables = broken
"""
    )
    done = situ("simulate", "--gpus", "8", "a.py", files={"a.py": text})
    assert (done.code, done.out) == (1, "") and "RuntimeError: no such luck" in done.err


def test_a_script_that_fails_says_why(situ):
    done = situ("simulate", "--gpus", "8", "a.py", files={"a.py": "raise ValueError('oh dear')\n"})
    assert (done.code, done.out) == (1, "")
    assert "oh dear" in done.err and "a.py failed" in done.err


def test_options_stand_before_or_behind_the_script(situ):
    check = "import sys\nassert sys.argv[1:] == ['--steps', '3', '--gpus', '1'], sys.argv\n"
    files = {"train.py": check + BY_HAND}
    before = situ(
        "simulate",
        "--gpus",
        "8",
        "--nodes",
        "16",
        "--json",
        "train.py",
        "--",
        "--steps",
        "3",
        "--gpus",
        "1",
        files=files,
    )
    behind = situ(
        "simulate",
        "train.py",
        "--gpus",
        "8",
        "--nodes",
        "16",
        "--json",
        "--",
        "--steps",
        "3",
        "--gpus",
        "1",
    )
    assert before.code == behind.code == 0, behind.err
    assert before.out == behind.out
    one = situ("simulate", "train.py", "--json", "--", "--steps", "3", "--gpus", "1")
    assert json.loads(one.out)["algorithms"][0]["communication_ns"] == 0
    assert json.loads(behind.out)["algorithms"][0]["communication_ns"] > 0


GAN = """\
import sys
import tensorflow as tf
def make(*units):
    return tf.keras.Sequential([tf.keras.layers.Dense(n) for n in units])
def step(trained, loss):
    optimizer = tf.keras.optimizers.SGD(0.1)
    def run(x, z):
        with tf.GradientTape() as tape:
            value = loss(x, z)
        variables = trained.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(value, variables), variables))
    return run if "eager" in sys.argv else tf.function(run)
generator, critic = make(30, 40), make(20, 1)
g = step(generator, lambda x, z: -tf.reduce_mean(critic(generator(z))))
c = step(critic, lambda x, z: tf.reduce_mean(critic(generator(z))) - tf.reduce_mean(critic(x)))
x, z = tf.zeros([64, 40]), tf.zeros([64, 10])
"""
GAN_LOOP = (
    GAN
    + """
for _ in range(int(sys.argv[1])):
    for _ in range(int(sys.argv[2])):
        c(x, z)
    g(x, z)
"""
)
GAN_PHASES = (
    GAN
    + """
for _ in range(5):
    c(x, z)
for _ in range(3):
    g(x, z)
"""
)
GAN_GRAPH = """\
import sys
import tensorflow as tf
def net(x, scope, *units):
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        for i, n in enumerate(units):
            x = tf.layers.dense(x, n, name=str(i))
        return x
x, z = tf.zeros([64, 40]), tf.zeros([64, 10])
fake = net(net(z, "g", 30, 40), "c", 20, 1)
steps = [tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=tf.trainable_variables(s))
         for s, loss in (("c", tf.reduce_mean(fake - net(x, "c", 20, 1))),
                         ("g", -tf.reduce_mean(fake)))]
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(int(sys.argv[1])):
        for _ in range(int(sys.argv[2])):
            session.run(steps[0])
        session.run(steps[1])
"""
GENERATOR, CRITIC = (10 * 30 + 30 + 30 * 40 + 40) * 4, (40 * 20 + 20 + 20 + 1) * 4


def simulated(situ, text, *words):
    result = situ(
        "simulate",
        "train.py",
        "--gpus",
        "8",
        "--json",
        "--",
        *map(str, words),
        files={"train.py": text},
    )
    assert result.code == 0, result.err
    return json.loads(result.out)


@pytest.mark.parametrize(
    "text, words",
    [(GAN_LOOP, []), (GAN_LOOP, ["eager"]), (GAN_GRAPH, [])],
    ids=["function", "eager", "graph"],
)
@pytest.mark.parametrize("iterations, critics", [(1, 1), (3, 1), (8, 1), (3, 5)])
def test_an_iteration_is_all_training_steps_that_run_in_turns(
    situ, text, words, iterations, critics
):
    found = simulated(situ, text, iterations, critics, *words)
    assert found["gradient_bytes"] == GENERATOR + critics * CRITIC
    assert sorted(s["runs"] for s in found["steps"]) == sorted([iterations, critics * iterations])
    assert all(s["counted"] for s in found["steps"])
    if not words:  # the work of both
        kernels = sum(s["kernels"] * s["runs"] for s in found["steps"]) / iterations
        result = situ("simulate", "train.py", "--", str(iterations), str(critics))
        assert f"an iteration of {kernels:.0f} kernels" in result.out
        assert f"  {critics} x a training step of " in result.out


@pytest.mark.parametrize("words", [[], ["eager"]])
def test_steps_of_another_phase_are_not_counted_but_listed(situ, words):
    found = simulated(situ, GAN_PHASES, *words)
    counted = [s for s in found["steps"] if s["counted"]]
    assert len(found["steps"]) == 2 and len(counted) == 1
    assert found["gradient_bytes"] == counted[0]["gradient_bytes"] in (GENERATOR, CRITIC)
    result = situ("simulate", "train.py", "--", *words)
    assert "  not counted: a training step" in result.out
    assert "it does not alternate with the others" in result.out


def test_a_smaller_last_batch_is_the_same_step(situ):
    text = FIT.replace("batch_size=64", "batch_size=80")
    found = simulated(situ, text)
    assert found["gradient_bytes"] == SIZES
    assert [s["counted"] for s in found["steps"]] == [True, False]
    assert "it trains the same variables" in situ("simulate", "train.py").out
