# SPDX-License-Identifier: Apache-2.0
"""test_parameter_server_strategy.py: tf.distribute.ParameterServerStrategy and
tf.distribute.coordinator.ClusterCoordinator."""

import json
import sys

import numpy as np
import pytest
from conftest import PATIENCE, addresses, ended_processes, environment, start_process

import situ as tf


class Cluster:
    """Two workers and two parameter servers in this process."""

    def __init__(self):
        some = addresses(4)
        self.spec = tf.train.ClusterSpec({"worker": some[:2], "ps": some[2:]})
        jobs = [(job, index) for job in ("worker", "ps") for index in range(2)]
        self.servers = [tf.distribute.Server(self.spec, *task) for task in jobs]
        self.strategy = strategy_of(self.spec)
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(self.strategy)


def strategy_of(spec, partitioner=None):
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")
    return tf.distribute.ParameterServerStrategy(resolver, partitioner)


@pytest.fixture(scope="module")
def cluster():
    return Cluster()


def test_variables_are_on_parameter_servers(cluster):
    with cluster.strategy.scope():
        v, w = tf.Variable([1.0, 2.0], name="a"), tf.Variable(3, dtype=tf.int64)
    assert {v.device, w.device} == {f"/job:ps/replica:0/task:{i}/device:CPU:0" for i in (0, 1)}
    v.assign_add([1.0, 1.0])
    w.assign(7)
    assert v.numpy().tolist() == [2.0, 3.0] and int(w) == 7 and v.name == "a:0"
    assert (v * 2.0).numpy().tolist() == [4.0, 6.0]


def test_no_update_is_lost(cluster):
    strategy, coordinator = cluster.strategy, cluster.coordinator
    with strategy.scope():
        v, count = tf.Variable(5.0), tf.Variable(0, dtype=tf.int64)

    @tf.function
    def step(x):
        def replica(x):
            v.assign_sub(x)
            count.assign_add(1)
            return tf.distribute.get_replica_context().num_replicas_in_sync

        return strategy.run(replica, args=(x,))

    results = [coordinator.schedule(step, args=(tf.constant(0.5),)) for _ in range(50)]
    coordinator.join()
    assert coordinator.done() and (int(count), v.numpy()) == (50, -20.0)
    assert coordinator.fetch(results) == [1] * 50 and int(results[0].get()) == 1


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_a_model_trains(cluster, optimizer):
    strategy, coordinator = cluster.strategy, cluster.coordinator
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
        optimizer = getattr(tf.keras.optimizers, optimizer)(0.1)

    def dataset():
        x = np.random.RandomState(0).rand(16, 2).astype("float32")
        data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True)))
        return data.repeat().batch(8)

    iterator = iter(coordinator.create_per_worker_dataset(dataset))

    @tf.function
    def train(iterator):
        def replica(batch):
            x, y = batch
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            return loss

        return strategy.run(replica, args=(next(iterator),))

    losses = [coordinator.schedule(train, args=(iterator,)) for _ in range(60)]
    coordinator.join()
    losses = sorted(float(r.fetch()) for r in losses)
    assert losses[0] < 0.1 * losses[-1] and int(optimizer.iterations) == 60
    assert all("/job:ps/" in v.device for v in model.weights + optimizer.variables)


def test_errors_are_raised_once(cluster):
    coordinator = cluster.coordinator

    @tf.function
    def fails(x):
        return tf.debugging.check_numerics(x, "no number")

    result = coordinator.schedule(fails, args=(tf.constant(float("nan")),))
    with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
        result.fetch()
    with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
        coordinator.join()
    coordinator.join()
    other = tf.Variable(1.0, name="outside")
    coordinator.schedule(tf.function(lambda: other + 1.0))
    with pytest.raises(NotImplementedError, match="outside"):
        coordinator.join()


def test_what_can_be_scheduled(cluster):
    coordinator = cluster.coordinator
    with pytest.raises(TypeError, match="only accepts a `tf.function` or a concrete function"):
        coordinator.schedule(lambda: tf.constant(1.0))
    add = tf.function(lambda x, y: x + y)
    remote = coordinator.schedule(add, args=(tf.constant(1.0), 2.0))
    with pytest.raises(ValueError, match="RemoteValue` used as an input"):
        coordinator.schedule(add, args=(tf.constant(1.0), remote))
    concrete = add.get_concrete_function(tf.TensorSpec([]), tf.TensorSpec([]))
    assert coordinator.schedule(concrete, args=(tf.constant(1.0), tf.constant(4.0))).fetch() == 5.0
    assert remote.fetch() == 3.0


def test_scheduled_functions_are_traced_once_per_value(cluster):
    traced = []

    @tf.function
    def step(x, y, z):
        traced.append(y)
        return x * y + z[0]

    calls = [(tf.constant(2.0), float(f"{y}.5"), [y]) for y in (1, 2, 1, 2)]
    results = [cluster.coordinator.schedule(step, args=args) for args in calls]
    assert [float(r.fetch()) for r in results] == [4.0, 7.0, 4.0, 7.0]
    assert sorted(traced) == [1.5, 2.5]


@pytest.mark.parametrize(
    "change, own, error",
    [
        ({"ps": []}, {}, "at least one ps"),
        ({"worker": []}, {}, "at least one worker"),
        ({"chief": ["localhost:3", "localhost:4"]}, {}, "at most one 'chief'"),
        ({"evaluator": ["localhost:3", "localhost:4"]}, {}, "at most one 'evaluator'"),
        ({"other": ["localhost:3"]}, {}, "Disallowed task type"),
        ({}, {"task_type": "other"}, "Unrecognized task_type: other"),
        ({}, {"task_type": "chief"}, "'chief' not found"),
        ({}, {"task_type": "worker", "task_id": 1}, "`task_id` 1 exceeds"),
    ],
)
def test_clusters_are_checked(change, own, error):
    jobs = {"worker": ["localhost:1"], "ps": ["localhost:2"], **change}
    jobs = {job: tasks for job, tasks in jobs.items() if tasks}
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(jobs), **own
    )
    with pytest.raises(ValueError, match=error):
        tf.distribute.ParameterServerStrategy(resolver)


def test_what_cannot_be():
    with pytest.raises(ValueError, match="ParameterServerStrategy"):
        tf.distribute.coordinator.ClusterCoordinator(tf.distribute.OneDeviceStrategy("/cpu:0"))


def test_partitioners_divide_variables():
    partitioners = tf.distribute.experimental.partitioners
    assert partitioners.FixedShardsPartitioner(2)(tf.TensorShape([5, 3]), tf.float32) == [2, 1]
    assert partitioners.MinSizePartitioner(8, 4)(tf.TensorShape([5, 1]), tf.float32) == [3, 1]
    assert partitioners.MaxSizePartitioner(8)(tf.TensorShape([5, 1]), tf.float32) == [3, 1]
    with pytest.raises(ValueError, match="must be positive"):
        partitioners.MinSizePartitioner(0)


def test_a_divided_variable(cluster):
    strategy = strategy_of(
        cluster.spec, tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        v, scalar = tf.Variable([[1.0], [2.0], [3.0]], name="v"), tf.Variable(1.0)
        layer = tf.keras.layers.Embedding(6, 2)
        layer.build(())
    assert [tuple(p.shape) for p in v.variables] == [(2, 1), (1, 1)] and tuple(v.shape) == (3, 1)
    assert [p.name for p in v.variables] == ["v/part_0:0", "v/part_1:0"] and v.name == "v:0"
    assert len({p.device for p in v.variables}) == 2 and "/job:ps/" in scalar.device
    assert [tuple(w.shape) for w in layer.weights] == [(3, 2), (3, 2)]

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v)
        for p, g in zip(v.variables, tape.gradient(loss, v.variables)):
            p.assign_sub(0.5 * g)
        return loss

    assert coordinator.schedule(step).fetch() == 14.0
    assert v.numpy().tolist() == [[0.0], [0.0], [0.0]]
    v.assign([[4.0], [5.0], [6.0]])
    v.assign_add([[1.0], [1.0], [1.0]])
    assert (v + 1.0).numpy().tolist() == [[6.0], [7.0], [8.0]]


class Scaled(tf.Module):
    def __init__(self):
        self.rows = tf.Variable([[1.0], [2.0], [3.0]], name="rows")
        self.factor = tf.Variable(2.0)

    @tf.function
    def __call__(self):
        return self.rows * self.factor


def test_a_divided_variable_is_saved_as_a_whole(cluster, tmp_path):
    partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    strategy = strategy_of(cluster.spec, partitioner)
    with strategy.scope():
        module, alone = Scaled(), tf.Variable([4.0, 5.0, 6.0])
        module()
    tf.saved_model.save(module, tmp_path / "module")
    tf.saved_model.save(alone, tmp_path / "alone")
    loaded = tf.saved_model.load(tmp_path / "module")
    assert loaded.rows.shape == [3, 1]
    assert loaded().numpy().tolist() == [[2], [4], [6]]
    loaded.rows.assign([[5.0], [6.0], [7.0]])
    assert loaded().numpy().tolist() == [[10], [12], [14]]
    assert tf.saved_model.load(tmp_path / "alone").numpy().tolist() == [4, 5, 6]
    with strategy.scope():
        divided = tf.saved_model.load(tmp_path / "alone")
        again = tf.saved_model.load(tmp_path / "module")
    assert [v.numpy().tolist() for v in divided.variables] == [[4, 5], [6]]
    with pytest.raises(ValueError, match="run a loaded non-Keras model"):
        again()


def test_fit_runs_on_workers(cluster):
    strategy = cluster.strategy
    x = np.random.RandomState(0).rand(32, 4).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(8)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("adam", "mse", metrics=["mae"], steps_per_execution=5)
    model.optimizer.learning_rate = 0.05
    found = model.fit(data, epochs=4, steps_per_epoch=10, verbose=0).history
    assert found["loss"][-1] < 0.5 * found["loss"][0] and len(found["mae"]) == 4
    assert all("/job:ps/" in v.device for v in model.weights)
    assert int(model.optimizer.iterations) == 40
    before = model.evaluate(data, steps=4, verbose=0)[0]
    creator = tf.keras.utils.experimental.DatasetCreator(lambda context: data)
    with pytest.raises(ValueError, match="steps_per_epoch"):
        model.fit(creator, verbose=0)
    model.fit(creator, epochs=5, steps_per_epoch=10, verbose=0)
    assert model.evaluate(data, steps=4, verbose=0)[0] < before
    assert model.predict(x).shape == (32, 1)


SERVER = """
import json, os, sys
import situ as tf
task = json.loads(sys.argv[1])
tf.distribute.Server(tf.train.ClusterSpec(task["jobs"]), task["job"], task["index"]).join()
"""


def start(jobs, job, index):
    given = json.dumps({"jobs": jobs, "job": job, "index": index})
    return start_process([sys.executable, "-c", SERVER, given], env=environment())


def test_tasks_in_other_processes_and_a_worker_that_is_lost():
    some = addresses(3)
    jobs = {"worker": some[:2], "ps": some[2:]}
    tasks = {(job, i): start(jobs, job, i) for job in jobs for i in range(len(jobs[job]))}
    with ended_processes(tasks):
        strategy = strategy_of(tf.train.ClusterSpec(jobs))
        with strategy.scope():
            count = tf.Variable(0, dtype=tf.int64)
        coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        step = tf.function(lambda: count.assign_add(1).read_value())
        for _ in range(20):
            coordinator.schedule(step)
        coordinator.join()
        assert int(count) == 20
        tasks["worker", 0].kill()
        tasks["worker", 0].wait()
        for _ in range(20):
            coordinator.schedule(step)
        tasks["worker", 0] = start(jobs, "worker", 0)
        coordinator.join()
        assert int(count) >= 40


PROGRAM = """
import os, sys
import numpy as np
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if resolver.task_type in ("worker", "ps"):
    server = tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type,
                                  task_index=resolver.task_id, protocol="grpc", start=True)
    server.join()
    raise SystemExit
strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
x = np.random.RandomState(0).rand(32, 4).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(8)

class Wait(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs):
        if epoch == 0:
            print("epoch", flush=True)
            sys.stdin.readline()

history = model.fit(data, epochs=4, steps_per_epoch=10, callbacks=[Wait()], verbose=0).history
losses = history["loss"]
print(losses[-1] < 0.5 * losses[0], int(model.optimizer.iterations) >= 40)
"""


def test_fit_continues_without_a_worker_that_is_killed(tmp_path):
    """The tasks of TF_CONFIG: the others end with the chief."""
    some, program = addresses(4), tmp_path / "program.py"
    program.write_text(PROGRAM)
    jobs = {"chief": some[:1], "worker": some[1:3], "ps": some[3:]}

    def begin(job, index):
        given = {"cluster": jobs, "task": {"type": job, "index": index}}
        return start_process(
            [sys.executable, "-m", "situ._src.runner.run", "--", str(program)],
            env=environment(TF_CONFIG=json.dumps(given)),
            text=True,
            stdin=-1,
            stdout=-1,
            stderr=-1,
        )

    tasks = {(job, i): begin(job, i) for job in jobs for i in range(len(jobs[job]))}
    with ended_processes(tasks):
        chief = tasks["chief", 0]
        assert chief.stdout.readline() == "epoch\n", chief.stderr.read()
        tasks["worker", 0].kill()
        tasks["worker", 0].wait()
        chief.stdin.write("\n")
        chief.stdin.flush()
        assert chief.stdout.readline() == "True True\n"
        assert [tasks[t].wait(PATIENCE) for t in tasks if t != ("worker", 0)] == [0, 0, 0]
