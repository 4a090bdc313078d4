# SPDX-License-Identifier: Apache-2.0
"""test_server_processes.py: the tasks of a cluster in several processes, without mpirun and under
it. The numbers are those of TensorFlow 2.21."""

import hmac
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading

import pytest
from conftest import PATIENCE, addresses, environment, start_process

HEAD = """
import json, os, sys
import numpy as np
import tensorflow as tf
jobs = json.loads(os.environ["JOBS"])
job, task = os.environ["TASK"].split(":") if "TASK" in os.environ else \\
    json.loads(os.environ["RANKS"])[int(os.environ["OMPI_COMM_WORLD_RANK"])].split(":")
task = int(task)
cluster = tf.train.ClusterSpec(jobs)

def replicas(task=0):
    return tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{task}",
                                                    cluster=cluster))
if job == "ps":
    tf.train.Server(cluster, job_name=job, task_index=task).join()
    raise SystemExit
server = tf.train.Server(cluster, job_name=job, task_index=task)
"""


class Processes:
    """A process for each task of a cluster, which run one program."""

    def __init__(self, folder, body, **counts):
        some = iter(addresses(sum(counts.values())))
        self.jobs = {job: [next(some) for _ in range(n)] for job, n in counts.items()}
        self.path = folder / "program.py"
        self.path.write_text(HEAD + textwrap.dedent(body))
        self.tasks = [f"{job}:{i}" for job, n in counts.items() for i in range(n)]
        self.started = {}

    def start(self, task, **env):
        self.started[task] = start_process(
            [sys.executable, "-m", "situ._src.runner.run", "--", str(self.path)],
            text=True,
            cwd=self.path.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(JOBS=json.dumps(self.jobs), TASK=task, **env),
        )
        return self.started[task]

    def outputs(self):
        """What each task prints; all must end well, the parameter servers by themselves."""
        for task in self.tasks:
            if task not in self.started:
                self.start(task)
        found = {}
        for task, process in self.started.items():
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, f"{task}: {err}"
            found[task] = out
        return found


TRAIN = """
    OPTIMIZERS = {"sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
                  "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
                  "adam": lambda: tf.train.AdamOptimizer(0.1),
                  "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9)}
    for name, optimizer in OPTIMIZERS.items():
        with tf.Graph().as_default():
            with replicas():
                step = tf.get_variable(name + "_step", initializer=np.int64(0), trainable=False)
                w = tf.get_variable(name, initializer=tf.constant([1.0, 2.0]))
                x = tf.placeholder(tf.float32, [2])
                loss = tf.reduce_sum((w * x - 3.0) ** 2)
                train = optimizer().minimize(loss, global_step=step)
            with tf.Session(server.target) as session:
                session.run(tf.global_variables_initializer())
                for _ in range(3):
                    session.run(train, {x: [1.0, 2.0]})
                value, steps = session.run([w, step])
                print(name, steps, " ".join(f"{v:.5f}" for v in value))
"""
TRAINED = """sgd 3 1.97600 1.50400
adagrad 3 1.22370 1.79134
adam 3 1.29938 1.70487
momentum 3 2.87600 1.03600
"""


def test_parameter_servers_train(tmp_path):
    assert Processes(tmp_path, TRAIN, ps=2, worker=1).outputs() == {
        "ps:0": "",
        "ps:1": "",
        "worker:0": TRAINED,
    }


def test_tasks_may_start_in_any_order(tmp_path):
    some = Processes(tmp_path, TRAIN, ps=1, worker=1)
    worker = some.start("worker:0")
    with pytest.raises(subprocess.TimeoutExpired):
        worker.wait(3)  # there is no parameter server yet
    assert some.outputs()["worker:0"] == TRAINED


def test_two_workers_count_every_step(tmp_path):
    body = """
        with replicas(task):
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", initializer=tf.zeros([4]))
            ended = tf.get_variable("ended", initializer=0.0, trainable=False)
            train = tf.train.GradientDescentOptimizer(1.0).minimize(
                -(task + 1.0) * tf.reduce_sum(w), global_step=step)
            end = ended.assign_add(1.0)
        with tf.train.MonitoredTrainingSession(master=server.target,
                                               is_chief=task == 0) as session:
            for _ in range(30):
                session.run(train)
            session.run(end)
            while session.run(ended) < 2.0:
                pass
            print(session.run(step), session.run(w).tolist())
    """
    texts = Processes(tmp_path, body, ps=2, worker=2).outputs()
    assert texts["worker:0"] == texts["worker:1"] == "60 [90.0, 90.0, 90.0, 90.0]\n"


def test_order_over_processes(tmp_path):
    body = """
        with tf.device("/job:ps/task:0"):
            a = tf.get_variable("a", initializer=1.0)
        with tf.device("/job:ps/task:1"):
            b = tf.get_variable("b", initializer=1.0)
        with tf.device("/job:worker/task:0"):
            with tf.control_dependencies([tf.assign(a, 5.0)]):
                second = tf.assign(b, a.read_value() * 2.0)
                with tf.control_dependencies([second]):
                    third = tf.assign(a, 7.0)
                    read = b.read_value() + 1.0
            with tf.control_dependencies([tf.group(tf.assign_add(a, 1.0), tf.assign_add(b, 1.0))]):
                both = tf.constant(3.0)
                nothing = tf.no_op()
        with tf.Session(server.target) as session:
            session.run(tf.global_variables_initializer())
            print(session.run([third, read]), session.run([a, b]))
            print(session.run(both), session.run(nothing), session.run([a, b]))
            print(session.run({"a": a, "more": (both, "b:0")}, {both: 9.0}))
    """
    texts = Processes(tmp_path, body, ps=2, worker=1).outputs()
    assert (
        texts["worker:0"].replace("np.float32", "").replace("(", "").replace(")", "")
        == "[7.0, 11.0] [7.0, 10.0]\n3.0 None [9.0, 12.0]\n{'a': 9.0, 'more': 9.0, 12.0}\n"
    )


def test_what_a_graph_has_beside_nodes(tmp_path):
    """Branches, loops, their gradients, datasets, functions of Python, summaries, strings."""
    body = """
        with replicas():
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", initializer=2.0)
            y = tf.cond(tf.constant(True), lambda: w * w, lambda: w)
            z = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * w),
                              [tf.constant(0), y])[1]
            train = tf.train.GradientDescentOptimizer(0.001).minimize(z, global_step=step)
            tf.summary.scalar("z", z)
            batch = tf.data.Dataset.range(4).map(lambda x: x * 10).batch(
                2).make_one_shot_iterator().get_next()
            total = tf.get_variable("total", initializer=np.int64(0), trainable=False)
            count = tf.assign_add(total, tf.reduce_sum(tf.py_func(lambda x: x + 1, [batch],
                                                                  tf.int64)))
            grown = tf.cond(total > 0, lambda: tf.assign_add(total, 1000), lambda: total + 0)
        with tf.device("/job:ps/task:0"):
            text = tf.string_join([tf.as_string(total), b"!"])
        with tf.Session(server.target) as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            print(*[f"{v:.4f}" for v in session.run([w, z])])
            print(session.run(count), session.run(count), session.run(text + "?"))
            try:
                session.run(count)
            except tf.errors.OutOfRangeError as error:
                print(error.op.type)
            print(session.run(grown), session.run(total))
            print(tf.Summary.FromString(session.run(tf.summary.merge_all())).value[0].tag)
    """
    texts = Processes(tmp_path, body, ps=1, worker=1).outputs()
    assert texts["worker:0"].splitlines() == [
        "1.9200 26.0919",
        "12 64 b'64!?'",
        "IteratorGetNext",
        "1064 1064",
        "z",
    ]


def test_checkpoints_and_hooks(tmp_path):
    body = """
        with replicas(task):
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", initializer=[1.0, 1.0])
            loss = tf.reduce_sum(tf.square(w - 3.0))
            train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
            tf.summary.scalar("loss", loss)
        hooks = [tf.train.StopAtStepHook(last_step=5)]
        with tf.train.MonitoredTrainingSession(
                master=server.target, is_chief=True, checkpoint_dir="model", hooks=hooks,
                save_summaries_steps=2) as session:
            while not session.should_stop():
                print(f"{session.run([loss, train])[0]:.4f}")
        print(*[f"{v:.4f}" for v in tf.train.load_variable("model", "w")])
        print(any("events" in name for name in os.listdir("model")))
    """
    texts = Processes(tmp_path, body, ps=2, worker=1).outputs()
    assert texts["worker:0"].split() == [
        "8.0000",
        "7.2200",
        "6.4812",
        "5.7842",
        "5.1296",
        "1.4970",
        "1.4970",
        "True",
    ]


SYNCHRONOUS = """
        with replicas(task):
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", initializer=1.0)
            v = tf.get_variable("v", initializer=[2.0, 2.0])
            optimizer = tf.train.SyncReplicasOptimizer(
                tf.train.GradientDescentOptimizer(0.5), replicas_to_aggregate=2,
                total_num_replicas=2)
            train = optimizer.minimize(w * 3.0 + tf.reduce_sum(v), global_step=step)
        hooks = [optimizer.make_session_run_hook(task == 0),
                 tf.train.StopAtStepHook(last_step=4)]
        with tf.train.MonitoredTrainingSession(master=server.target, is_chief=task == 0,
                                               hooks=hooks) as session:
            # As in TensorFlow a worker that has read an old step waits for a gradient of the other
            # one, which may have stopped.
            options = tf.RunOptions(timeout_in_ms=30000)
            try:
                while not session.should_stop():
                    session.run(train, options=options)
            except tf.errors.DeadlineExceededError:
                pass
        with tf.Session(server.target) as session:
            import time
            for _ in range(1000):  # the other worker may be within a step
                value, other, steps = session.run([w, v, step])
                if value == 1.0 - 1.5 * steps:
                    break
                time.sleep(0.05)
            print(value == 1.0 - 1.5 * steps, steps >= 4, set(other) == {2.0 - 0.5 * steps})
"""


def test_synchronous_replicas(tmp_path):
    """The variables are on two parameter servers."""
    texts = Processes(tmp_path, SYNCHRONOUS, ps=2, worker=2).outputs()
    assert texts["worker:0"] == texts["worker:1"] == "True True True\n"


def test_a_worker_of_another_process(tmp_path):
    """One session uses the devices of both workers; the other one only joins."""
    body = """
        if task == 1:
            server.join()
            raise SystemExit
        with tf.device("/job:worker/task:1"):
            v = tf.get_variable("v", initializer=2.0)
            y = v * 3.0
            texts = tf.identity(tf.constant([b"a", b"bc"]))
        with tf.Session(server.target) as session:
            session.run(v.initializer)
            print(session.run([y + 1.0, v.assign_add(1.0)])[0], session.run(y),
                  session.run(texts).tolist())
            try:
                session.run(tf.check_numerics(tf.log(y - 100.0), "too small"))
            except tf.errors.InvalidArgumentError as error:
                print("too small" in error.message, error.op.type)
            with tf.device("/job:worker/task:1"):
                element = tf.FIFOQueue(1, tf.float32).dequeue()
            try:
                session.run(element + y, options=tf.RunOptions(timeout_in_ms=300))
            except tf.errors.DeadlineExceededError:
                print("late")
            print(session.run(y))
        with tf.Session(f"grpc://{cluster.task_address('worker', 1)}") as session:
            print(session.run(v), [d.name for d in session.list_devices()][0])
    """
    texts = Processes(tmp_path, body, worker=2).outputs()
    assert texts["worker:0"].splitlines() == [
        "7.0 9.0 [b'a', b'bc']",
        "True CheckNumerics",
        "late",
        "9.0",
        "3.0 /job:worker/replica:0/task:1/device:CPU:0",
    ]


def test_a_branch_over_two_processes_says_so(tmp_path):
    body = """
        with tf.device("/job:ps/task:0"):
            a = tf.get_variable("a", initializer=1.0)
        with tf.device("/job:ps/task:1"):
            b = tf.get_variable("b", initializer=1.0)
        both = tf.cond(tf.constant(True), lambda: tf.assign_add(a, 1.0) + tf.assign_add(b, 1.0),
                       lambda: 0.0)
        with tf.Session(server.target) as session:
            session.run(tf.global_variables_initializer())
            try:
                session.run(both)
            except tf.errors.UnimplementedError as error:
                print(error.message)
    """
    texts = Processes(tmp_path, body, ps=2, worker=1).outputs()
    assert "different processes" in texts["worker:0"] and "(a, b)" in texts["worker:0"]


def test_a_parameter_server_that_dies(tmp_path):
    body = """
        with replicas():
            w = tf.get_variable("w", initializer=1.0)
            train = w.assign_add(1.0)
            blocked = tf.FIFOQueue(1, tf.float32).dequeue() + w
        with tf.Session(server.target) as session:
            session.run(w.initializer)
            print(session.run(train), flush=True)
            try:
                session.run(blocked)
            except tf.errors.UnavailableError as error:
                print(error.message)
    """
    some = Processes(tmp_path, body, ps=1, worker=1)
    server, worker = some.start("ps:0"), some.start("worker:0")
    assert worker.stdout.readline() == "2.0\n"
    server.send_signal(signal.SIGKILL)
    out, err = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0, err
    assert "/job:ps/replica:0/task:0" in out and "is lost" in out
    server.communicate()


def under_mpirun(some, machine):
    """What the tasks of a cluster print that mpirun starts, `machine` of them on each machine."""
    given = {
        "JOBS": json.dumps(some.jobs),
        "RANKS": json.dumps(some.tasks),
        "SITU_CLUSTER_MACHINE_SIZE": machine,
    }
    words = [w for name, value in given.items() for w in ("-x", f"{name}={value}")]
    count = ["-np", str(len(some.tasks))]
    program = [sys.executable, "-m", "situ._src.runner.run", "--", str(some.path)]
    done = subprocess.run(
        ["mpirun", "--allow-run-as-root", "--oversubscribe", *count, *words, *program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment(),
        cwd=os.fspath(some.path.parent),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not there")
@pytest.mark.parametrize("machine", ["4", "1"])
def test_parameter_servers_under_mpirun(tmp_path, machine):
    """On one machine, and with each rank on a machine of its own."""
    assert under_mpirun(Processes(tmp_path, TRAIN, worker=1, ps=2), machine) == TRAINED


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not there")
@pytest.mark.parametrize("machine", ["4", "1"])
def test_synchronous_replicas_under_mpirun(tmp_path, machine):
    some = Processes(tmp_path, SYNCHRONOUS, worker=2, ps=2)
    assert under_mpirun(some, machine) == "True True True\n" * 2


def test_a_worker_that_starts_again(tmp_path):
    """The second worker is killed within a step; a new one continues with the same variables."""
    body = """
        with replicas(task):
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", initializer=0.0)
            train = tf.train.GradientDescentOptimizer(1.0).minimize(-w, global_step=step)
            ended = tf.get_variable("ended", initializer=0.0, trainable=False)
            end = ended.assign_add(1.0)
        with tf.train.MonitoredTrainingSession(master=server.target,
                                               is_chief=task == 0) as session:
            if task == 0:
                while session.run(ended) < 1.0:
                    session.run(train)
            elif "AGAIN" not in os.environ:
                while True:
                    print(session.run([train, step])[1], flush=True)
            else:
                first = session.run(step)
                for _ in range(10):
                    session.run(train)
                print(first > 0, session.run(step) >= first + 10)
                session.run(end)
        if task == 0:
            with tf.Session(server.target) as session:
                print(session.run(w) == session.run(step))
    """
    some = Processes(tmp_path, body, ps=1, worker=2)
    some.start("ps:0"), some.start("worker:0")
    first = some.start("worker:1")
    for _ in range(3):
        assert first.stdout.readline()
    first.send_signal(signal.SIGKILL)
    first.communicate()
    some.start("worker:1", AGAIN="1")
    texts = some.outputs()
    assert texts == {"ps:0": "", "worker:0": "True\n", "worker:1": "True True\n"}


def test_servers_over_tcp_need_the_same_key(monkeypatch):
    from situ._src.cluster import channel

    (address,) = addresses(1)
    monkeypatch.setenv("SITU_CLUSTER_KEY", "secret")
    unix, tcp = channel.listen(address)
    unix.close()  # as on another machine
    found = []

    def accept():
        for _ in range(2):
            try:
                found.append(channel.Channel(tcp.accept()[0], accepted=True).receive())
            except OSError as error:
                found.append(str(error))

    server = threading.Thread(target=accept)
    server.start()
    connected = channel.connect(address)
    connected.send("hello", [1, 2])
    client, key = socket.create_connection(("localhost", int(address.split(":")[1]))), b"other"
    nonce = client.recv(32)
    client.sendall(os.urandom(32) + hmac.new(key, b"client" + nonce, "sha256").digest())
    server.join()
    client.close(), connected.close(), tcp.close()
    assert found[0] == ("hello", [1, 2]) and "SITU_CLUSTER_KEY" in found[1]


def as_other_user(function):
    """Calls a function in a child process of another user; returns its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgid(65534), os.setuid(65534)
            function()
        finally:
            os._exit(0)
    return pid


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")
def test_nothing_is_read_from_processes_of_other_users():
    from situ._src.cluster import channel

    name, server = addresses(2)
    (listening,) = channel.listen(server)
    socket_name = channel._socket_name(server)

    def connect():
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(socket_name)
            one.recv(1)

    child = as_other_user(connect)
    with pytest.raises(ConnectionRefusedError, match="another user"):
        channel.Channel(listening.accept()[0], accepted=True)
    os.waitpid(child, 0)
    listening.close()

    ready, tell = os.pipe()
    squatted = channel._socket_name(name)

    def squat():
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(squatted)
            one.listen()
            os.write(tell, b"1")
            one.accept()[0].recv(1)

    child = as_other_user(squat)
    assert os.read(ready, 1) == b"1"
    with pytest.raises(ConnectionRefusedError, match="another user"):
        channel.connect(name)
    os.waitpid(child, 0)
    os.close(ready), os.close(tell)


CLUSTER_DEF = """
    if task == 1:
        server.join()
        raise SystemExit
    config = tf.ConfigProto()
    names = config.cluster_def.job.add(name="renamed").tasks
    for i, address in enumerate(jobs["worker"]):
        names[i] = address
    with tf.device("/job:renamed/task:1"):
        w = tf.Variable(2.0, name="w")
    step = tf.assign_add(w, 1.0)
    sessions = [tf.Session(server.target, config=config) for _ in range(2)]
    for session in sessions:
        session.run(w.initializer)
    sessions[0].run(step)
    print([float(session.run(w)) for session in sessions],
          [d.name[:24] for d in sessions[0].list_devices()])
"""


def test_a_session_brings_its_cluster(tmp_path):
    out = Processes(tmp_path, CLUSTER_DEF, worker=2).outputs()["worker:0"]
    assert out == "[3.0, 2.0] ['/job:renamed/replica:0/t', '/job:renamed/replica:0/t']\n"
