# SPDX-License-Identifier: Apache-2.0
"""test_servers.py: tf.train.Server: the tasks of a cluster in one process. The numbers are those of
TensorFlow 2.21."""

import contextlib
import json
import os
import threading
import time

import numpy as np
import pytest
from conftest import addresses

import situ.compat.v1 as tf

OPTIMIZERS = {
    "sgd": (lambda: tf.train.GradientDescentOptimizer(0.1), [1.9760001, 1.504]),
    "adagrad": (lambda: tf.train.AdagradOptimizer(0.1), [1.2237034, 1.7913364]),
    "adam": (lambda: tf.train.AdamOptimizer(0.1), [1.2993755, 1.7048723]),
    "momentum": (lambda: tf.train.MomentumOptimizer(0.1, 0.9), [2.876, 1.036]),
}


class Cluster:
    """Parameter servers and workers in this process."""

    def __init__(self, n_ps, n_workers, config=None):
        some = addresses(n_ps + n_workers)
        jobs = {"ps": some[:n_ps], "worker": some[n_ps:]}
        self.spec = tf.train.ClusterSpec({job: tasks for job, tasks in jobs.items() if tasks})
        self.ps = [tf.train.Server(self.spec, "ps", i, config=config) for i in range(n_ps)]
        self.workers = [
            tf.train.Server(self.spec, job_name="worker", task_index=i, config=config)
            for i in range(n_workers)
        ]

    def session(self, worker=0, config=None):
        return tf.Session(self.workers[worker].target, config=config)

    def replicas(self, worker=0):
        return tf.device(
            tf.train.replica_device_setter(
                worker_device=f"/job:worker/task:{worker}", cluster=self.spec
            )
        )


@pytest.fixture(scope="module")
def cluster():
    return Cluster(2, 2)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_parameter_servers_train(graph, name):
    cluster, (optimizer, expected) = Cluster(2, 2), OPTIMIZERS[name]
    with cluster.replicas():
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", initializer=tf.constant([1.0, 2.0]))
        x = tf.placeholder(tf.float32, [2])
        train = optimizer().minimize(tf.reduce_sum((w * x - 3.0) ** 2), step)
    with cluster.session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train, {x: [1.0, 2.0]})
    with cluster.session(1) as session:  # another worker sees the same variables
        value, steps = session.run([w, step])
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert steps == 3


def test_a_server_does_not_wait_for_others():
    spec = tf.train.ClusterSpec(dict(zip(["ps", "worker", "chief"], [[a] for a in addresses(3)])))
    server = tf.train.Server(spec, "ps", 0)  # the others never come
    assert server.target == "grpc://" + spec.task_address("ps", 0)
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        assert session.run(tf.constant(3.0) * 2.0) == 6.0


def test_a_task_that_is_not_there(graph):
    some = addresses(2)
    server = tf.train.Server({"worker": some}, "worker", 0)
    with tf.device("/job:worker/task:1"):
        far = tf.constant(2.0) * 3.0
    with tf.Session(server.target) as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="task:1"):
            session.run(far, options=tf.RunOptions(timeout_in_ms=300))
        late = tf.train.Server({"worker": some}, "worker", 1)  # it comes after all
        assert session.run(far) == 6.0
    assert late.target != server.target


def test_workers_in_threads():
    """Each has its own graph; every step counts."""
    cluster, workers, steps = Cluster(1, 3), [], 50

    def work(index):
        with tf.Graph().as_default():
            with cluster.replicas(index):
                step = tf.train.get_or_create_global_step()
                w = tf.get_variable("w", initializer=tf.zeros([3]))
                train = tf.train.GradientDescentOptimizer(1.0).minimize(
                    -(index + 1.0) * tf.reduce_sum(w), step
                )
            with tf.train.MonitoredTrainingSession(
                master=cluster.workers[index].target, is_chief=index == 0
            ) as session:
                for _ in range(steps):
                    session.run(train)
            workers.append((index, w.name, step.name))

    server = threading.Thread(target=cluster.ps[0].join, daemon=True)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in [server, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(workers) == 3 and server.is_alive()
    with tf.Graph().as_default():
        with cluster.replicas():
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", initializer=tf.zeros([3]))
        with cluster.session() as session:
            assert session.run(step) == 3 * steps
            assert session.run(w).tolist() == [steps * (1 + 2 + 3)] * 3


def test_control_dependencies_over_tasks(graph, cluster):
    with tf.device("/job:ps/task:0"):
        a = tf.get_variable("chain_a", initializer=1.0)
    with tf.device("/job:ps/task:1"):
        b = tf.get_variable("chain_b", initializer=1.0)
    with tf.device("/job:worker/task:1"):
        with tf.control_dependencies([tf.assign(a, 5.0)]):
            second = tf.assign(b, a.read_value() * 2.0)
            with tf.control_dependencies([second]):
                third = tf.assign(a, 7.0)
                read = b.read_value() + 1.0
    with cluster.session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([third, read]) == [7.0, 11.0]
        assert session.run([a, b]) == [7.0, 10.0]


def test_a_group_over_tasks(graph, cluster):
    variables = []
    for task in ("/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0", "/job:worker/task:1"):
        with tf.device(task):
            variables.append(tf.get_variable(f"group_{len(variables)}", initializer=0.0))
    every = tf.group(*[v.assign_add(i + 1.0) for i, v in enumerate(variables)])
    with tf.control_dependencies([every]):
        value = tf.constant(3.0)
    with cluster.session(1) as session:
        session.run(tf.global_variables_initializer())
        session.run(every)
        assert session.run(value) == 3.0
        assert session.run(variables) == [2.0, 4.0, 6.0, 8.0]


def test_variables_of_one_name_on_several_tasks(cluster):
    for index in range(2):
        with tf.Graph().as_default():
            with tf.device(f"/job:worker/task:{index}"):
                v = tf.get_variable("twin", initializer=float(index))
            with cluster.session(index) as session:
                session.run(v.initializer)
                session.run(v.assign_add(10.0))
    with tf.Graph().as_default():
        v = tf.get_variable("twin", initializer=0.0)  # of the task that the session is at
        with cluster.session(1) as session:
            assert session.run(v) == 11.0
    with tf.Graph().as_default():
        v = tf.get_variable("twin", initializer=[0.0, 1.0])
        with (
            cluster.session(1) as session,
            pytest.raises(tf.errors.InvalidArgumentError, match="twin"),
        ):
            session.run(v.initializer)


def test_branches_loops_and_summaries_over_tasks(graph, cluster):
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("branch", initializer=1.0)
    p = tf.placeholder(tf.bool, [])
    with tf.device("/job:worker/task:0"):
        x = tf.cond(p, lambda: tf.assign_add(v, 1.0) + 0.0, lambda: v * 10.0)
        loop = tf.while_loop(lambda i: i < 5.0, lambda i: i + v, [0.0])
        tf.summary.scalar("v", v)
    summary = tf.summary.merge_all()
    with cluster.session() as session:
        session.run(v.initializer)
        assert session.run(x, {p: True}) == 2.0 and session.run(x, {p: False}) == 20.0
        assert session.run([v, loop]) == [2.0, 6.0]
        found = tf.Summary.FromString(session.run(summary)).value[0]
        assert (found.tag, found.simple_value) == ("v", 2.0)


def test_gradients_of_branches_and_loops(graph, cluster):
    with cluster.replicas(1):
        w = tf.get_variable("loop_w", initializer=2.0)
        y = tf.cond(tf.constant(True), lambda: w * w, lambda: w)
        z = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * w), [tf.constant(0), y])[1]
        train = tf.train.GradientDescentOptimizer(0.001).minimize(z)
    with cluster.session(1) as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run([w, z]), [1.92, 26.091923], rtol=1e-6)


def test_synchronous_replicas():
    """Two gradients from any worker make a step."""
    cluster, built = Cluster(1, 2), {}

    def work(index):
        with tf.Graph().as_default() as graph:
            with cluster.replicas(index):
                step = tf.train.get_or_create_global_step()
                w = tf.get_variable("w", initializer=1.0)
                optimizer = tf.train.SyncReplicasOptimizer(
                    tf.train.GradientDescentOptimizer(0.5),
                    replicas_to_aggregate=2,
                    total_num_replicas=2,
                )
                train = optimizer.minimize(w * 3.0, global_step=step)
            hook = optimizer.make_session_run_hook(index == 0)
            with tf.train.MonitoredTrainingSession(
                master=cluster.workers[index].target,
                is_chief=index == 0,
                hooks=[hook, tf.train.StopAtStepHook(last_step=4)],
            ) as session:
                # As in TensorFlow a worker that has read an old step waits for a gradient of the
                # other one, which may have stopped.
                options = tf.RunOptions(timeout_in_ms=15000)
                with contextlib.suppress(tf.errors.DeadlineExceededError):
                    while not session.should_stop():
                        session.run(train, options=options)
            built[index] = graph, [w, step]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, (graph, values) in built.items():  # now that no worker is within a step
        with tf.Session(cluster.workers[index].target, graph) as session:
            w, step = session.run(values)
            assert step >= 4 and w == 1.0 - 1.5 * step
    assert len(built) == 2


def _late(run, **kwargs):
    begin = time.monotonic()
    with pytest.raises(tf.errors.DeadlineExceededError):
        run(**kwargs)
    return time.monotonic() - begin


def test_operations_that_take_too_long(graph):
    quick = tf.ConfigProto(operation_timeout_in_ms=200)
    cluster, hasty = Cluster(1, 1), Cluster(1, 1, config=quick)
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, tf.float32)
    element = queue.dequeue()
    with hasty.session() as session:  # the option of the server
        assert _late(lambda: session.run(element)) < 100.0
    with hasty.session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert _late(lambda: session.run(element)) < 100.0
    with cluster.session(config=quick) as session:
        assert _late(lambda: session.run(element)) < 100.0
    with cluster.session() as session:
        _late(lambda: session.run(element, options=tf.RunOptions(timeout_in_ms=200)))
        session.run(queue.enqueue(4.0))
    with cluster.session() as session:  # a queue is its task's, not the session's
        assert session.run(element) == 4.0


def test_a_session_may_have_variables_of_its_own(graph, cluster):
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("own", initializer=1.0)
    with cluster.session() as session:
        session.run(v.initializer)
    alone = tf.ConfigProto(isolate_session_state=True)
    with cluster.session(config=alone) as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(v)
    with cluster.session(1) as session:
        assert session.run(v) == 1.0


def test_reset(graph):
    cluster = Cluster(1, 1)
    with tf.device("/job:ps/task:0"):
        with tf.container("kept"):
            kept = tf.Variable(2.0)
        v = tf.get_variable("v", initializer=1.0)
    with cluster.session() as session:
        session.run([v.initializer, kept.initializer])
    tf.Session.reset(cluster.workers[0].target, ["another"])
    with cluster.session() as session:
        assert session.run([v, kept]) == [1.0, 2.0]
    tf.Session.reset(cluster.workers[0].target, ["kept"])
    with cluster.session() as session:
        assert session.run(v) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(kept)
    earlier = cluster.session()
    tf.Session.reset(cluster.workers[0].target)
    with pytest.raises(tf.errors.AbortedError, match="is not found"):
        earlier.run(v)
    with cluster.session() as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(v)


@pytest.mark.parametrize("device", ["/job:evaluator/task:0", "/job:worker/task:7"])
def test_a_task_that_the_cluster_does_not_have(graph, cluster, device):
    with tf.device(device):
        x = tf.constant(1.0) + 1.0
    with (
        cluster.session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="available devices are"),
    ):
        session.run(x)


def test_devices_of_all_tasks(cluster):
    with tf.Graph().as_default(), cluster.session() as session:
        names = [d.name for d in session.list_devices() if d.device_type == "CPU"]
    assert names == [
        f"/job:{job}/replica:0/task:{i}/device:CPU:0"
        for job, i in [("worker", 0), ("ps", 0), ("ps", 1), ("worker", 1)]
    ]


def test_a_local_cluster(graph):
    workers, servers = tf.test.create_local_cluster(num_workers=2, num_ps=2)
    assert len({s.target for s in workers + servers}) == 4
    with tf.device("/job:ps/task:1"):
        v = tf.get_variable("v", initializer=4.0)
    with tf.device("/job:worker/task:1"):
        twice = v * 2.0
    sessions = [tf.Session(worker.target) for worker in workers]
    sessions[0].run(v.initializer)
    assert sessions[1].run(twice) == 8.0
    alone, none = tf.test.create_local_cluster(1, 0)
    assert len(alone) == 1 and none == []


def test_a_local_server(graph):
    first, second = [tf.train.Server.create_local_server() for _ in range(2)]
    assert first.target != second.target and first.target.startswith("grpc://localhost:")
    v = tf.get_variable("v", initializer=4.0)
    with tf.Session(first.target) as session:
        session.run(v.initializer)
    with tf.Session(first.target) as session:
        assert session.run(v) == 4.0
    with tf.Session(second.target) as session, pytest.raises(tf.errors.FailedPreconditionError):
        session.run(v)


def test_the_job_of_a_local_server(graph):
    with tf.device("/job:local"):
        v = tf.get_variable("v", initializer=4.0)
    with tf.Session(tf.train.Server.create_local_server().target) as session:
        assert session.run(v.initializer) is None
        assert session.list_devices()[0].name == "/job:local/replica:0/task:0/device:CPU:0"


def test_what_a_server_says_of_itself():
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.25))
    server = tf.train.Server.create_local_server(config=config, start=False)
    told = server.server_def
    assert (told.job_name, told.task_index, told.protocol) == ("local", 0, "grpc")
    assert told.default_session_config.gpu_options.per_process_gpu_memory_fraction == 0.25
    again = tf.train.Server(told, start=False)
    assert again.server_def.cluster.job[0].tasks[0] == "localhost:0"
    spec = tf.train.ClusterSpec({"ps": ["a:1"], "worker": {1: "b:2"}})
    assert tf.train.ClusterSpec(spec.as_cluster_def()) == spec
    with pytest.raises(ValueError, match="job_name"):
        tf.train.Server(spec, start=False)
    with pytest.raises(ValueError, match="task_index"):
        tf.train.Server({"worker": ["a:1", "b:1"]}, start=False)


def test_an_address_has_one_server(cluster):
    with pytest.raises(tf.errors.UnknownError, match="Could not start"):
        tf.train.Server(cluster.spec, "worker", 0)


def test_variables_are_saved_and_restored(graph, cluster, tmp_path):
    with tf.device("/job:ps/task:0"):
        a = tf.get_variable("saved_a", initializer=1.0)
    with tf.device("/job:ps/task:1"):
        b = tf.get_variable("saved_b", initializer=2.0)
    saver = tf.train.Saver()
    with cluster.session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        session.run([a.assign(9.0), b.assign(9.0)])
        saver.restore(session, path)
        assert session.run([a, b]) == [1.0, 2.0]


def test_an_interactive_session(graph, cluster):
    with tf.device("/job:ps/task:1"):
        v = tf.get_variable("interactive", initializer=3.0)
    session = tf.InteractiveSession(cluster.workers[0].target)
    session.run(v.initializer)
    assert v.eval() == 3.0 and session.graph is graph
    session.close()


def test_a_resource_variable_takes_the_shape_that_another_session_assigns():
    target = tf.train.Server.create_local_server().target

    def opened(shape, value):
        with tf.Graph().as_default() as graph:
            v = tf.get_variable(
                "reshaped", shape, use_resource=True, initializer=tf.constant_initializer(value)
            )
            read = v.read_value()
        return tf.Session(target, graph=graph), v, read

    (a, va, ra), (b, vb, rb) = opened([2], 1.0), opened([3], 5.0)
    a.run(va.initializer)
    b.run(vb.initializer)
    assert b.run(rb).tolist() == [5, 5, 5]
    with pytest.raises(tf.errors.InvalidArgumentError, match="another graph assigned"):
        a.run(ra)
    a.run(va.initializer)
    assert a.run(ra).tolist() == [1, 1]


SPEC = {"worker": ["a:1", "b:2"]}


def test_simple_resolver():
    make, spec = tf.distribute.cluster_resolver.SimpleClusterResolver, tf.train.ClusterSpec(SPEC)
    plain = make(spec)
    assert (plain.environment, plain.rpc_layer, plain.num_accelerators()) == ("", None, {})
    assert plain.master() == "" and plain.master("worker", 0) == "a:1"
    assert plain.master("worker", 0, rpc_layer="x") == "x://a:1"
    full = make(spec, "m", "worker", 1, "google", {"GPU": 3}, "grpc")
    assert (full.environment, full.rpc_layer, full.task_id) == ("google", "grpc", 1)
    assert full.master() == "grpc://m" and full.master("worker", 1, "x") == "x://b:2"
    assert full.num_accelerators("worker", 0) == {"GPU": 3}
    with pytest.raises(TypeError, match="cluster_spec must be a"):
        make(SPEC)


def test_resolver_of_the_environment(monkeypatch):
    make = tf.distribute.cluster_resolver.TFConfigClusterResolver
    config = {"cluster": SPEC, "task": {"type": "worker", "index": 1}, "rpc_layer": "zz"}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    assert make().master() == "zz://b:2" and make().master("worker", 0, "x") == "x://a:1"
    assert make().environment is None and make().num_accelerators() == {}
    named = make(task_id=0, rpc_layer="grpc", environment="e")
    assert named.master() == "grpc://a:1" and named.environment == "e"
    monkeypatch.setenv("TF_CONFIG", json.dumps({**config, "session_master": "s"}))
    assert make().master() == "s"
    monkeypatch.setenv("TF_CONFIG", "{}")
    assert make().master() == ""


def test_tasks_of_the_environment_may_have_indices(monkeypatch):
    config = {
        "cluster": {"7": ["p:1"], "worker": {"1": "b:2", "3": "d:4"}},
        "task": {"type": 7, "index": "0"},
    }
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    assert resolver.cluster_spec().as_dict() == {"7": ["p:1"], "worker": {1: "b:2", 3: "d:4"}}
    assert (resolver.task_type, resolver.task_id) == ("7", 0)


def test_union_of_resolvers():
    simple = tf.distribute.cluster_resolver.SimpleClusterResolver
    union = tf.distribute.cluster_resolver.UnionResolver
    make = lambda jobs, **kwargs: simple(tf.train.ClusterSpec(jobs), **kwargs)
    first = make(SPEC, master="m", task_type="worker", task_id=1, rpc_layer="grpc")
    both = union(first, make({"worker": ["c:3"], "ps": ["p:1"]}))
    spec = both.cluster_spec().as_dict()
    assert spec == {"worker": ["a:1", "b:2", "c:3"], "ps": ["p:1"]}
    assert (both.task_type, both.task_id, both.rpc_layer) == ("worker", 1, "grpc")
    assert both.master() == "grpc://m" and both.master("ps", 0) == "grpc://p:1"
    other = union(first, task_type="ps", task_id=0, rpc_layer="x")
    assert (other.task_type, other.task_id, other.rpc_layer) == ("ps", 0, "x")
    sparse = union(first, make({"worker": {4: "e:5"}}))
    assert sparse.cluster_spec().as_dict()["worker"] == {0: "a:1", 1: "b:2", 4: "e:5"}
    with pytest.raises(KeyError, match="Duplicate keys"):
        union(first, make({"worker": {1: "e:5"}})).cluster_spec()
    with pytest.raises(ValueError, match="At least one"):
        union()
    with pytest.raises(TypeError, match="sub-class"):
        union(first, SPEC)


def slurm_step(monkeypatch, **values):
    for name, value in values.items():
        monkeypatch.setenv(f"SLURM_{name}", str(value))


def test_cluster_of_a_slurm_step(monkeypatch):
    make = tf.distribute.cluster_resolver.SlurmClusterResolver
    monkeypatch.delenv("SLURM_PROCID", raising=False)
    with pytest.raises(RuntimeError, match="SLURM_PROCID not found"):
        make()
    nodes = "t[02-03],x7"
    slurm_step(monkeypatch, PROCID=3, STEP_NUM_TASKS=5, STEP_NODELIST=nodes)
    slurm_step(monkeypatch, STEP_TASKS_PER_NODE="2(x2),1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    resolver = make({"ps": 1, "worker": 4}, port_base=10)
    assert resolver.get_task_info() == (None, None) and resolver.master() == ""
    spec = resolver.cluster_spec().as_dict()
    assert spec == {"ps": ["t02:10"], "worker": ["t02:11", "t03:10", "t03:11", "x7:10"]}
    assert resolver.get_task_info() == ("worker", 2)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert resolver.num_accelerators() == {"GPU": 2}
    assert resolver.master() == "grpc://t03:11" and resolver.master("ps", 0, "x") == "x://t02:10"


def test_slurm_steps_that_do_not_suffice(monkeypatch):
    make = tf.distribute.cluster_resolver.SlurmClusterResolver
    slurm_step(monkeypatch, PROCID=0, STEP_NUM_TASKS=2, STEP_NODELIST="a,b")
    with pytest.raises(RuntimeError, match="Requested 3 tasks but only 2 were assigned"):
        make({"worker": 3}, tasks_per_node=1, gpus_per_node=1)
    with pytest.raises(RuntimeError, match="more GPUs per node"):
        make(tasks_per_node=1, gpus_per_node=1, gpus_per_task=2)
    for nodes in ("a[1", "a[1-]", "a,,b", "a]", "a[x]", ""):
        slurm_step(monkeypatch, STEP_NODELIST=nodes)
        with pytest.raises(ValueError, match="Invalid hostlist"):
            make(tasks_per_node=1, gpus_per_node=0)
    slurm_step(monkeypatch, STEP_NODELIST="a", STEP_TASKS_PER_NODE="2(y)")
    with pytest.raises(ValueError, match="Invalid tasks-per-node"):
        make(gpus_per_node=0)


def test_the_address_of_a_server_has_a_port():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse port"):
        tf.train.Server({"local": ["localhost"]}, job_name="local", task_index=0)


def test_a_reset_waits_for_a_limited_time():
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with pytest.raises(tf.errors.DeadlineExceededError):
        tf.Session.reset("grpc://localhost:1", ["a"], config=config)
