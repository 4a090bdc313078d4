# SPDX-License-Identifier: Apache-2.0
"""test_estimator_processes.py: tf.estimator.train_and_evaluate in the tasks of a cluster that
TF_CONFIG names."""

import json
import subprocess
import sys
import textwrap

import pytest
from conftest import PATIENCE, addresses, environment, start_process

PROGRAM = """
import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)

def model_fn(features, labels, mode):
    y = tf.layers.dense(features["x"], 1, name="layer")
    loss = tf.reduce_mean(tf.square(y - labels))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

def input_fn():
    x = np.random.RandomState(0).rand(64, 2).astype("float32")
    data = tf.data.Dataset.from_tensor_slices(({"x": x}, x.sum(1, keepdims=True)))
    return data.repeat().batch(16)

config = tf.estimator.RunConfig("model", save_checkpoints_steps=50)
estimator = tf.estimator.Estimator(model_fn, config=config)
found = tf.estimator.train_and_evaluate(
    estimator, tf.estimator.TrainSpec(input_fn, max_steps=100),
    tf.estimator.EvalSpec(input_fn, steps=2, start_delay_secs=0, throttle_secs=1))
if config.task_type in ("evaluator", "master"):
    print(found[0]["loss"] < 0.5, found[0]["global_step"] >= 100)
elif config.is_chief:
    print(found, [name for name, _ in tf.train.list_variables("model")],
          tf.train.load_variable("model", "global_step") >= 100)
"""
VARIABLES = "['global_step', 'layer/bias', 'layer/kernel']"


@pytest.mark.parametrize("chief", ["chief", "master"])
def test_every_task_does_its_part(tmp_path, chief):
    """Chief and worker train variables of two parameter servers; checkpoints are evaluated by a
    task of its own, or by the master."""
    some = addresses(4)
    cluster = {chief: some[:1], "worker": some[1:2], "ps": some[2:]}
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    tasks = ["ps:0", "ps:1", "worker:0", f"{chief}:0"] + ["evaluator:0"] * (chief == "chief")
    started = {}
    for task in tasks:
        job, index = task.split(":")
        given = json.dumps({"cluster": cluster, "task": {"type": job, "index": int(index)}})
        started[task] = start_process(
            [sys.executable, "-m", "situ._src.runner.run", "--", str(program)],
            text=True,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(TF_CONFIG=given),
        )
    found = {}
    for task, process in started.items():
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, f"{task}: {err}"
        found[task] = out
    trained = f"None {VARIABLES} True\n" if chief == "chief" else "True True\n"
    expected = {"ps:0": "", "ps:1": "", "worker:0": "", f"{chief}:0": trained}
    assert found == {**expected, **({"evaluator:0": "True True\n"} if chief == "chief" else {})}


@pytest.mark.parametrize(
    "task, expected",
    [
        ("chief:0", ("grpc://c:1", True, 2, 3, 0)),
        ("worker:1", ("grpc://w:2", False, 2, 3, 2)),
        ("ps:1", ("grpc://p:2", False, 2, 3, 4)),
        ("evaluator:0", ("", False, 0, 0, None)),
    ],
)
def test_run_config_of_a_task(monkeypatch, task, expected):
    import situ.compat.v1 as tf

    job, index = task.split(":")
    cluster = {"chief": ["c:1"], "worker": ["w:1", "w:2"], "ps": ["p:1", "p:2"]}
    given = {"cluster": cluster, "task": {"type": job, "index": int(index)}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(given))
    config = tf.estimator.RunConfig()
    assert expected == (
        config.master,
        config.is_chief,
        config.num_ps_replicas,
        config.num_worker_replicas,
        config.global_id_in_cluster,
    )
    assert config.evaluation_master == ""
