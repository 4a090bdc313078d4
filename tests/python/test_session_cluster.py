# SPDX-License-Identifier: Apache-2.0
"""test_session_cluster.py: sessions that bring a cluster in ConfigProto.cluster_def."""

import pytest

import situ.compat.v1 as tf

TRACE = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)


def server(**device_count):
    config = tf.ConfigProto(device_count=device_count) if device_count else None
    return tf.train.Server.create_local_server(config=config)


def config_of(servers, job="worker", **options):
    config = tf.ConfigProto(**options)
    tasks = config.cluster_def.job.add(name=job).tasks
    for index, one in enumerate(servers):
        tasks[index] = one.target[len("grpc://") :]
    return config


def test_devices_have_the_names_of_the_cluster(graph):
    servers = [server(), server()]
    with tf.device("/job:renamed/task:1/cpu:0"):
        far = tf.random.uniform([], name="far")
    with tf.device("/job:renamed/task:0"):
        near = tf.add(far, 1.0, name="near")
    run = tf.RunMetadata()
    with tf.Session(servers[0].target, config=config_of(servers, "renamed")) as session:
        assert 1 <= session.run(near, options=TRACE, run_metadata=run) < 2
        names = [f"/job:renamed/replica:0/task:{i}/device:CPU:0" for i in (0, 1)]
        assert [d.name for d in session.list_devices()] == names
    found = {n.node_name: d.device for d in run.step_stats.dev_stats for n in d.node_stats}
    assert (found["near"], found["far"]) == tuple(names)


def test_a_server_without_such_a_config_names_its_own_cluster(graph):
    workers, _ = tf.test.create_local_cluster(2, 1)
    with tf.device("/job:worker/task:1"):
        far = tf.random.uniform([], name="far")
    run = tf.RunMetadata()
    with tf.Session(workers[0].target) as session:
        session.run(far, options=TRACE, run_metadata=run)
    assert "/job:worker/replica:0/task:1/device:CPU:0" in [
        d.device for d in run.step_stats.dev_stats
    ]


@pytest.mark.parametrize("shared", [False, True])
def test_state_is_shared_only_on_request(graph, shared):
    one = server()
    config = config_of([one])
    config.experimental.share_session_state_in_clusterspec_propagation = shared
    kept = tf.Variable(3.0)
    first, second = (tf.Session(one.target, config=config) for _ in range(2))
    first.run(kept.initializer)
    first.run(kept.assign_add(1.0))
    if shared:
        assert second.run(kept) == 4
    else:
        with pytest.raises(tf.errors.FailedPreconditionError):
            second.run(kept)
        second.run(kept.initializer)
        assert (first.run(kept), second.run(kept)) == (4, 3)


def test_the_devices_are_those_of_the_server(graph):
    servers = [server(CPU=2), server(CPU=2)]
    with tf.device("/job:worker/task:1/cpu:1"):
        far = tf.constant(3.0) * 2.0
    with tf.device("/job:worker/task:0/cpu:1"):
        total = far + 1.0
    with tf.Session(servers[0].target, config=config_of(servers)) as session:
        assert session.run(total) == 7


def test_the_target_is_a_task_of_the_cluster(graph):
    servers = [server(), server()]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not find a task"):
        tf.Session(servers[0].target, config=config_of(servers[1:]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="multiple matching tasks"):
        tf.Session(servers[0].target, config=config_of(servers[:1] * 2))


def test_tasks_that_are_missing(graph):
    servers = [server()]
    with tf.device("/job:worker/task:1"):
        far = tf.constant(1.0)
    with tf.Session(servers[0].target, config=config_of(servers)) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="/job:worker/task:1"):
            session.run(far)
