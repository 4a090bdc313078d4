# SPDX-License-Identifier: Apache-2.0
"""test_strategy_threads.py: strategies, replica contexts and recorded reads belong to a thread."""

import os
import threading

os.environ["SITU_SIM_GPUS"] = "4"

import numpy as np
import pytest

import situ as tf

JOBS = [
    (["/gpu:0", "/gpu:1"], 0.001),
    (["/gpu:2", "/gpu:3"], 0.002),
    (["/gpu:0"], 0.003),
    (["/gpu:1", "/gpu:2", "/gpu:3"], 0.004),
]


def in_threads(function, jobs):
    """Calls a function for each job in a separate thread; returns the results."""
    results, problems = [None] * len(jobs), []

    def body(index):
        try:
            results[index] = function(*jobs[index])
        except BaseException as error:  # pylint: disable=broad-except
            problems.append(error)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    return results


def train(devices, scale, steps=8):
    """Trains a variable, eagerly and in a tf.function; returns losses and the variable."""
    strategy = tf.distribute.MirroredStrategy(devices)
    with strategy.scope():
        v = tf.Variable(tf.ones([3]) * scale)
        optimizer = tf.keras.optimizers.Adam(0.1)
    rows = np.arange(36, dtype="float32").reshape(12, 3) / 36
    data = tf.data.Dataset.from_tensor_slices(rows).batch(6).repeat()
    batches = iter(strategy.experimental_distribute_dataset(data))

    def step(x):
        context = tf.distribute.get_replica_context()
        assert tf.distribute.get_strategy() is strategy
        assert context.num_replicas_in_sync == len(devices)
        weight = 1.0 + tf.cast(context.replica_id_in_sync_group, tf.float32)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x * v - scale) ** 2) * weight
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])
        return loss

    def run(x):
        return strategy.reduce("sum", strategy.run(step, args=(x,)), axis=None)

    traced, losses = tf.function(run), []
    for i in range(steps):
        losses.append(float((traced if i % 2 else run)(next(batches))))
        assert not tf.distribute.has_strategy()
    return losses, v.numpy().tolist()


def test_strategies_train_independently():
    expected = [train(*job) for job in JOBS]
    assert np.all(np.isfinite([losses for losses, _ in expected]))
    for _ in range(2):
        assert in_threads(train, JOBS) == expected


def test_keras_models_of_several_strategies():
    def fit(devices, scale):
        strategy = tf.distribute.MirroredStrategy(devices)
        with strategy.scope():
            model = tf.keras.Sequential(
                [tf.keras.Input((3,)), tf.keras.layers.Dense(1, kernel_initializer="ones")]
            )
            model.compile(tf.keras.optimizers.SGD(scale), "mse")
        x = np.linspace(-1, 1, 36, dtype="float32").reshape(12, 3)
        history = model.fit(x, x[:, :1], batch_size=6, epochs=2, shuffle=False, verbose=0)
        return history.history["loss"], [w.tolist() for w in model.get_weights()]

    expected = [fit(*job) for job in JOBS]
    assert in_threads(fit, JOBS) == expected


def test_a_scope_is_not_seen_by_other_threads():
    strategy, seen = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"]), []

    def look():
        seen.append((tf.distribute.has_strategy(), type(tf.Variable(1.0)).__name__))

    with strategy.scope(), tf.device("/gpu:2"):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert tf.distribute.get_strategy() is strategy
    assert seen == [(False, type(tf.Variable(1.0)).__name__)]


def test_reads_of_other_threads_are_not_recorded():
    own, other = tf.Variable(2.0), tf.Variable(3.0)
    inside, done = threading.Event(), threading.Event()

    def read():
        inside.wait()
        other.read_value()
        done.set()

    @tf.custom_gradient
    def triple(x):
        inside.set()
        done.wait()
        y = x * own

        def gradient(dy, variables=None):
            assert variables == [own]
            return dy * own, [dy * x]

        return y, gradient

    thread = threading.Thread(target=read)
    thread.start()
    with tf.GradientTape() as tape:
        y = triple(tf.constant(5.0))
    thread.join()
    assert [float(y), float(tape.gradient(y, own))] == [10.0, 5.0]


@pytest.mark.parametrize("devices, scale", JOBS)
def test_one_after_another_gives_the_same(devices, scale):
    assert train(devices, scale) == train(devices, scale)
