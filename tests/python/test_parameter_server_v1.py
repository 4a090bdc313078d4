# SPDX-License-Identifier: Apache-2.0
"""test_parameter_server_v1.py: tf.compat.v1.distribute.experimental.ParameterServerStrategy, and
in-graph replication: one client builds towers for several workers."""

import json
import sys
import textwrap

import numpy as np
import pytest
from conftest import PATIENCE, addresses, ended_processes, environment, start_process

import situ.compat.v1 as tf

DATA = np.random.RandomState(0).rand(64, 3).astype("float32")
LABELS = DATA @ np.array([[1.0], [2.0], [3.0]], "float32")


def test_variables_are_on_parameter_servers():
    workers, _ = tf.test.create_local_cluster(2, 2)
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(workers[0].server_def.cluster), task_type="worker", task_id=1
    )
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    assert strategy.num_replicas_in_sync == 1
    with tf.Graph().as_default(), strategy.scope():
        assert tf.distribute.get_strategy() is strategy
        v, w = tf.get_variable("v", initializer=1.0), tf.get_variable("w", initializer=2.0)

        def step():
            return v.assign_add(w)

        done = strategy.experimental_run_v2(step)
        assert [v.device, w.device] == ["/job:ps/task:0", "/job:ps/task:1"]
        with tf.Session(workers[1].target) as session:
            session.run(tf.global_variables_initializer())
            session.run(done)
        with tf.Session(workers[0].target) as session:
            assert session.run(v) == 3.0


def test_one_worker_without_a_cluster(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    strategy = tf.distribute.experimental.ParameterServerStrategy()
    with tf.Graph().as_default(), strategy.scope():
        v = tf.get_variable("v", initializer=1.0)
        with tf.Session() as session:
            session.run(v.initializer)
            assert session.run(strategy.experimental_run_v2(lambda: v + 1.0)) == 2.0


def towers(cluster, feeds):
    """Returns the training step of two workers, their losses and the variables."""
    features, labels = (tf.split(f, 2) for f in feeds)
    optimizer, losses, gradients = tf.train.GradientDescentOptimizer(0.3), [], []
    with tf.device("/job:ps/task:0"):
        step = tf.train.get_or_create_global_step()
    for i in range(2):
        worker = f"/job:worker/task:{i}"
        with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=worker)):
            with tf.variable_scope("model", reuse=i > 0):
                w = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
                b = tf.get_variable("b", [1])
            with tf.name_scope(f"tower_{i}"):
                losses.append(tf.reduce_mean((tf.matmul(features[i], w) + b - labels[i]) ** 2))
                gradients.append(optimizer.compute_gradients(losses[-1]))
    mean = [(tf.add_n([g for g, _ in some]) / 2, some[0][1]) for some in zip(*gradients)]
    tf.summary.scalar("loss", tf.add_n(losses))
    return optimizer.apply_gradients(mean, global_step=step), losses, [w, b, step]


SERVER = """
import json, sys
import situ.compat.v1 as tf
jobs, job, index = json.loads(sys.argv[1])
tf.train.Server(tf.train.ClusterSpec(jobs), job, index).join()
"""


@pytest.mark.parametrize("processes", [False, True])
def test_one_client_trains_towers_of_all_workers(processes):
    some = addresses(4)
    jobs = {"worker": some[:2], "ps": some[2:]}
    cluster, tasks = tf.train.ClusterSpec(jobs), {}
    for job, index in [(job, i) for job in jobs for i in range(2)]:
        given = [sys.executable, "-c", SERVER, json.dumps([jobs, job, index])]
        tasks[job, index] = (
            start_process(given, env=environment())
            if processes
            else tf.train.Server(cluster, job, index)
        )
    with ended_processes(tasks if processes else {}), tf.Graph().as_default():
        feeds = tf.placeholder(tf.float32, [64, 3]), tf.placeholder(tf.float32, [64, 1])
        train, losses, (w, b, step) = towers(cluster, feeds)
        assert [v.device for v in (w, b)] == ["/job:ps/task:0", "/job:ps/task:1"]
        summaries = tf.summary.merge_all()
        with tf.Session(f"grpc://{some[0]}") as session:
            session.run(tf.global_variables_initializer())
            for _ in range(300):
                session.run(train, dict(zip(feeds, (DATA, LABELS))))
            last, text = session.run([losses, summaries], dict(zip(feeds, (DATA, LABELS))))
            assert max(last) < 1e-3 and session.run(step) == 300
            np.testing.assert_allclose(session.run(w).ravel(), [1.0, 2.0, 3.0], atol=0.1)
            assert tf.Summary.FromString(text).value[0].tag == "loss"


ESTIMATOR = """
import numpy as np
import tensorflow as tf
tf.logging.set_verbosity(tf.logging.ERROR)

def model_fn(features, labels, mode):
    y = tf.layers.dense(features["x"], 1, name="layer")
    loss = tf.reduce_mean(tf.square(y - labels))
    train = tf.train.GradientDescentOptimizer(0.3).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

def input_fn():
    x = np.random.RandomState(0).rand(64, 2).astype("float32")
    data = tf.data.Dataset.from_tensor_slices(({"x": x}, x.sum(1, keepdims=True)))
    return data.repeat().batch(16)

strategy = tf.distribute.experimental.ParameterServerStrategy()
config = tf.estimator.RunConfig("model", train_distribute=strategy)
estimator = tf.estimator.Estimator(model_fn, config=config)
tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(input_fn, max_steps=400),
                                tf.estimator.EvalSpec(input_fn, steps=2, start_delay_secs=0))
if config.is_chief:
    print(tf.train.load_variable("model", "global_step") >= 400,
          abs(tf.train.load_variable("model", "layer/kernel") - 1.0).max() < 0.5)
"""


def test_an_estimator_trains_on_parameter_servers(tmp_path):
    some, program = addresses(3), tmp_path / "program.py"
    program.write_text(textwrap.dedent(ESTIMATOR))
    jobs = {"chief": some[:1], "worker": some[1:2], "ps": some[2:]}
    tasks = {}
    for job in jobs:
        given = {"cluster": jobs, "task": {"type": job, "index": 0}}
        tasks[job] = start_process(
            [sys.executable, "-m", "situ._src.runner.run", "--", str(program)],
            env=environment(TF_CONFIG=json.dumps(given)),
            cwd=tmp_path,
            text=True,
            stdout=-1,
            stderr=-1,
        )
    with ended_processes(tasks):
        for job, process in tasks.items():
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
            assert out == ("True True\n" if job == "chief" else "")
