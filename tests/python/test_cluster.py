# SPDX-License-Identifier: Apache-2.0
"""test_cluster.py: several processes: situ.mpi, MultiWorkerMirroredStrategy, graphs over tasks. The
processes are started by hand, or by mpirun where there is one."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import PATIENCE, addresses, start_process

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SITU = os.path.join(os.environ.get("SITU_BUILD", os.path.join(ROOT, "build")), "situ")
_count = [0]


def start(tmp_path, body, size, **env):
    """`size` processes that run a program; rank r of n is in RANK and SIZE."""
    _count[0] += 1
    path = tmp_path / f"program{_count[0]}.py"
    path.write_text(textwrap.dedent(body))
    found = []
    for rank in range(size):
        cluster = f"{rank}/{size}/pytest-{os.getpid()}-{_count[0]}"
        found.append(
            start_process(
                [sys.executable, "-m", "situ._src.runner.run", "--", str(path)],
                text=True,
                cwd=tmp_path,
                env={**os.environ, "SITU_CLUSTER": cluster, **env},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
    return found


def outputs(processes):
    """What each prints; all must end well."""
    found = []
    for process in processes:
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        found.append(out)
    return found


def run(tmp_path, body, size, **env):
    return outputs(start(tmp_path, body, size, **env))


def test_messages(tmp_path):
    body = """
        import numpy as np
        import tensorflow as tf
        import horovod.tensorflow as hvd
        hvd.init()
        r, n = hvd.rank(), hvd.size()
        print(hvd.allreduce(tf.constant([1.0, 2.0]) * (r + 1), op=hvd.Sum).numpy().tolist())
        print(hvd.allreduce(tf.constant(3.0 * r)).numpy())
        print(hvd.allgather(tf.constant([[r]] * (r + 1))).numpy().ravel().tolist())
        print(hvd.broadcast(tf.constant([r, 7]), 1).numpy().tolist())
        print(hvd.broadcast_object({"rank": r}, 2), len(hvd.allgather_object("x" * r)))
        half = hvd.allreduce(tf.constant(0.5), compression=hvd.Compression.fp16, op=hvd.Sum)
        print(half.numpy(), half.dtype.name)
        many = hvd.grouped_allreduce([tf.ones([i + 1]) for i in range(40)], op=hvd.Sum)
        print(all(m.numpy().tolist() == [3.0] * (i + 1) for i, m in enumerate(many)))

        @tf.function
        def double(x):
            return hvd.allreduce(x, op=hvd.Max) * 2
        print(double(tf.constant(r)).numpy())
    """
    texts = run(tmp_path, body, 3)
    assert texts[0] == texts[1] == texts[2]
    assert texts[0].splitlines() == [
        "[6.0, 12.0]",
        "3.0",
        "[0, 1, 1, 2, 2, 2]",
        "[1, 7]",
        "{'rank': 2} 3",
        "1.5 float32",
        "True",
        "4",
    ]


def test_names_in_graphs(tmp_path):
    body = """
        import tensorflow as tf
        import horovod.tensorflow as hvd
        hvd.init()
        hvd.allreduce(tf.constant([1.0, 2.0]), average=False, name="total")
        hvd.allgather(tf.constant([1.0]), name="all")
        hvd.broadcast(tf.constant([1.0]), 0, "first")
        graph = tf.get_default_graph()
        names = ["total:0", "all:0", "first:0"]
        print([v.tolist() for v in tf.Session().run([graph.get_tensor_by_name(n) for n in names])])
    """
    assert run(tmp_path, body, 2) == ["[[2.0, 4.0], [1.0, 1.0], [1.0]]\n"] * 2
    assert run(tmp_path, body, 1) == ["[[1.0, 2.0], [1.0], [1.0]]\n"]


def test_sparse_gradients_become_dense(tmp_path):
    body = """
        import tensorflow as tf
        import horovod.tensorflow as hvd
        hvd.init()
        w = tf.Variable([[1.0], [2.0]])
        for as_dense in (False, True):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.gather(w, [hvd.rank()]))
            tape = hvd.DistributedGradientTape(tape, sparse_as_dense=as_dense, op=hvd.Sum)
            found = tape.gradient(loss, w)
            print(type(found).__name__, tf.convert_to_tensor(found).numpy().ravel().tolist())
        optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(), sparse_as_dense=True)
        print(optimizer.name, hvd.DistributedOptimizer(tf.keras.optimizers.SGD(), "mine").name)
    """
    first, second = run(tmp_path, body, 2)
    assert first == second and first.splitlines() == [
        "IndexedSlices [1.0, 1.0]",
        "EagerTensor [1.0, 1.0]",
        "DistributedSGD mine",
    ]


def test_unsupported_arguments(tmp_path):
    body = """
        import tensorflow as tf
        import horovod.tensorflow as hvd
        x = tf.constant(1.0)
        tape = tf.GradientTape()
        for call in (
            lambda: hvd.init(comm=[0]),
            lambda: hvd.allreduce(x, process_set=1),
            lambda: hvd.grouped_allreduce([x], process_set=1),
            lambda: hvd.allgather(x, process_set=1),
            lambda: hvd.broadcast(x, 0, process_set=1),
            lambda: hvd.broadcast_object(1, process_set=1),
            lambda: hvd.allgather_object(1, process_set=1),
            lambda: hvd.barrier(process_set=1),
            lambda: hvd.broadcast_variables([], process_set=1),
            lambda: hvd.DistributedGradientTape(tape, persistent=True),
        ):
            try:
                call()
            except NotImplementedError as error:
                print(str(error).split("=")[0])
    """
    (text,) = run(tmp_path, body, 1)
    assert text.splitlines()[0] == "hvd.init: comm"
    assert [line.split(": ")[1] for line in text.splitlines()] == [
        "comm",
        *["process_set"] * 8,
        "persistent",
    ]


def test_distributed_optimizer_and_hook_in_graph_style(tmp_path):
    body = """
        import tensorflow as tf
        import horovod.tensorflow as hvd
        hvd.init()
        w = tf.get_variable("w", initializer=tf.constant([1.0 + hvd.rank()]))
        loss = tf.reduce_sum(w * (hvd.rank() + 1.0))
        step = tf.train.get_or_create_global_step()
        optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.5))
        train = optimizer.minimize(loss, step)
        hooks = [hvd.BroadcastGlobalVariablesHook(1), tf.train.StopAtStepHook(last_step=2)]
        with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
            while not session.should_stop():
                session.run(train)
                print(session.run(w) if not session.should_stop() else "")
    """
    texts = run(tmp_path, body, 2)
    assert texts[0] == texts[1]
    assert "1.25" in texts[0]  # begins as rank 1's 2, less 0.5 * mean(1, 2)


def test_a_job_goes_on_from_the_checkpoint_of_rank_0(tmp_path):
    body = """
        import os
        import tensorflow as tf
        import horovod.tensorflow as hvd
        hvd.init()
        w = tf.get_variable("w", initializer=tf.constant(0.0))
        step = tf.train.get_or_create_global_step()
        loss = w * -(1.0 + hvd.rank())
        train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(1.0)).minimize(
            loss, step)
        hooks = [hvd.BroadcastGlobalVariablesHook(0),
                 tf.train.StopAtStepHook(last_step=int(os.environ["LAST"]))]
        folder = "checkpoints" if hvd.rank() == 0 else None
        with tf.train.MonitoredTrainingSession(hooks=hooks, checkpoint_dir=folder) as session:
            print(session.run(w))
            while not session.should_stop():
                session.run(train)
    """
    assert run(tmp_path, body, 2, LAST="3") == ["0.0\n"] * 2
    assert run(tmp_path, body, 2, LAST="5") == ["4.5\n"] * 2  # three steps of 1.5


def test_tape(tmp_path):
    body = """
        import tensorflow as tf
        from situ import mpi
        mpi.init()
        w = tf.Variable(2.0 * mpi.rank())
        mpi.broadcast_variables([w], root_rank=0)
        with tf.GradientTape() as tape:
            loss = w * (mpi.rank() + 1)
        tape = mpi.DistributedGradientTape(tape)
        tf.keras.optimizers.SGD(1.0).apply_gradients([(tape.gradient(loss, w), w)])
        print(w.numpy())
    """
    assert run(tmp_path, body, 2) == ["-1.5\n", "-1.5\n"]


def test_a_strategy_over_processes_is_as_one_process(tmp_path):
    with open(os.path.join(ROOT, "examples", "multiworker.py"), encoding="utf-8") as file:
        body = file.read()
    alone = run(tmp_path, body, 1)[0].splitlines()
    for size in (2, 4):
        texts = run(tmp_path, body, size)
        lines = texts[0].splitlines()
        assert lines[0] == f"{size} replicas in {size} processes"
        assert lines[1:] == alone[1:] and lines[2].endswith("True")
        assert texts[1:] == [""] * (size - 1)


def test_a_training_loop_of_ones_own(tmp_path):
    body = """
        import numpy as np
        import tensorflow as tf
        from situ import mpi
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            w = tf.Variable(float(mpi.rank() + 1))
            optimizer = tf.keras.optimizers.SGD(0.1)
        data = strategy.experimental_make_numpy_dataset(np.float32([1, 2, 3, 4])).batch(4)

        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(w * x) / 4
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            return loss

        for x in strategy.experimental_distribute_dataset(data):
            total = strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(step, (x,)), axis=None)
        print(total.numpy(), round(float(w.numpy()), 4), strategy.num_replicas_in_sync)
    """
    assert run(tmp_path, body, 2, SITU_SIM_GPUS="2") == ["2.5 0.75 4\n"] * 2


def test_replicas_of_all_processes_gather(tmp_path):
    body = """
        import tensorflow as tf
        from situ import mpi
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        rank = mpi.rank()

        def replica():
            context = tf.distribute.get_replica_context()
            number = context.replica_id_in_sync_group
            x = tf.fill([number + 1, 1], 1.0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = context.all_gather(x, 0) * tf.reshape(tf.range(10.0), [10, 1])
            slices = tf.IndexedSlices(tf.ones([1]), [number], [4])
            return (context.all_gather(tf.fill([1, 2], number), 1), tape.gradient(y, x),
                    context.all_reduce("MEAN", slices))

        gathered, gradient, slices = strategy.run(replica)
        print(gathered.values[1].numpy().tolist(), gradient.values[1].numpy().ravel().tolist(),
              slices.values[0].indices.numpy().tolist(), slices.values[0].values.numpy().tolist())
        print(strategy.gather(gradient, 0).numpy().ravel().tolist())
    """
    whole, ones = "[[0, 0, 1, 1, 2, 2, 3, 3]]", "[0, 1, 2, 3] [0.25, 0.25, 0.25, 0.25]"
    last = str([4.0 * i for i in range(10)]) + "\n"
    assert run(tmp_path, body, 2, SITU_SIM_GPUS="2") == [
        f"{whole} [4.0, 8.0] {ones}\n" + last,
        f"{whole} [24.0, 28.0, 32.0, 36.0] {ones}\n" + last,
    ]


TASKS = """
    import numpy as np
    import tensorflow as tf
    from situ import mpi
    mpi.init()
    with tf.device("/job:worker/task:1"):
        w = tf.get_variable("w", initializer=tf.constant([[1.0, 2.0]]))
    x = tf.placeholder(tf.float32, [2, 1])
    with tf.device("/job:worker/replica:0/task:2/device:CPU:0"):
        y = tf.matmul(x, w)
    with tf.device("/job:worker/task:0"):
        total = tf.reduce_sum(y) + 1.0
    update = tf.assign_add(w, tf.ones([1, 2]) * total)
    with tf.device("/job:worker/task:1"):
        text = tf.string_join([tf.as_string(w), b"!"])
    with tf.device("/job:worker/task:2"), tf.control_dependencies([update]):
        after = tf.constant(5.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        print(session.run([y, total], {x: [[1.0], [10.0]]}))
        session.run(update, {x: [[1.0], [10.0]]})
        print(session.run(w))
        print(session.run(text).tolist())
        print(session.run(after, {x: [[1.0], [10.0]]}), session.run(w))
"""


def test_a_graph_over_tasks(tmp_path):
    texts = run(tmp_path, TASKS, 3)
    assert texts[0] == texts[1] == texts[2]
    assert "34.0" in texts[0] and "[[35. 36.]]" in texts[0]
    assert "[[b'35.000000!', b'36.000000!']]" in texts[0]
    assert "5.0 [[817. 818.]]" in texts[0]  # 71 * 11 + 1 more


def test_servers_of_a_cluster_spec(tmp_path):
    body = """
        import os
        import tensorflow as tf
        task = int(tf.situ_version and os.environ["TASK"])
        cluster = tf.train.ClusterSpec({"worker": os.environ["TASKS"].split()})
        server = tf.train.Server(cluster, job_name="worker", task_index=task)
        with tf.device("/job:worker/task:1"):
            a = tf.constant(3.0) * 2.0
        with tf.Session(server.target) as session:
            print(session.run(a + 1.0), cluster.num_tasks("worker"), server.target)
    """
    tasks, path = addresses(2), tmp_path / "server.py"
    path.write_text(textwrap.dedent(body))
    some = [
        start_process(
            [sys.executable, "-m", "situ._src.runner.run", "--", str(path)],
            text=True,
            env={**os.environ, "TASK": str(i), "TASKS": " ".join(tasks)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for i in range(2)
    ]
    assert outputs(some) == [f"7.0 2 grpc://{address}\n" for address in tasks]


def test_parameter_servers(tmp_path):
    """Each worker has a graph of its own; variables are on the servers."""
    body = """
        import os
        import tensorflow as tf
        from situ import mpi
        tasks = os.environ["TASKS"].split()
        cluster = tf.train.ClusterSpec({"ps": tasks[:2], "worker": tasks[2:]})
        job, task = os.environ["JOB"], int(os.environ["TASK"])
        server = tf.train.Server(cluster, job_name=job, task_index=task)
        if job == "ps":
            server.join()
        else:
            with tf.device(tf.train.replica_device_setter(
                    worker_device=f"/job:worker/task:{task}", cluster=cluster)):
                step = tf.train.get_or_create_global_step()
                w = tf.get_variable("w", initializer=tf.constant([5.0, 6.0]))
                b = tf.get_variable("b", initializer=tf.constant(0.0))
                x = tf.placeholder(tf.float32, [2])
                loss = tf.reduce_sum((w * x + b) ** 2)
                train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
            hooks = [tf.train.StopAtStepHook(last_step=40)]
            with tf.train.MonitoredTrainingSession(master=server.target, is_chief=task == 0,
                                                   hooks=hooks) as session:
                first = session.run(loss, {x: [1.0, 1.0]})  # the other may be done
                while not session.should_stop():
                    session.run([loss, train], {x: [1.0, 1.0]})
            with tf.Session(server.target) as session:  # gradients of the other may be old ones
                for _ in range(4000):
                    last, steps, _ = session.run([loss, step, train], {x: [1.0, 1.0]})
                    if last < 0.01:
                        break
            print(first <= 61.0, last < 0.01, steps >= 40)
    """
    tasks, path = addresses(4), tmp_path / "servers.py"
    path.write_text(textwrap.dedent(body))
    some = [
        start_process(
            [sys.executable, "-m", "situ._src.runner.run", "--", str(path)],
            text=True,
            env={**os.environ, "JOB": job, "TASK": str(i), "TASKS": " ".join(tasks)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for job in ("ps", "worker")
        for i in range(2)
    ]
    assert outputs(some) == ["", "", "True True True\n", "True True True\n"]


DEATH = """
    import os, time
    import tensorflow as tf
    from situ import mpi
    mpi.init()
    print(os.getpid(), flush=True)
    try:
        for i in range(100000):
            mpi.allreduce(tf.ones([1000]))
            time.sleep(0.01)
    except tf.errors.UnavailableError as error:
        print("LOST", error.message.splitlines()[0], flush=True)
        raise SystemExit(3)
"""


def test_a_rank_that_dies_ends_the_others(tmp_path):
    processes = start(tmp_path, DEATH, 3)
    for process in processes:
        process.stdout.readline()
    time.sleep(0.3)
    processes[1].send_signal(signal.SIGKILL)
    begin = time.monotonic()
    for process in (processes[0], processes[2]):
        out, _ = process.communicate(timeout=PATIENCE)
        assert "LOST" in out and "rank 1 is lost" in out and process.returncode == 3
    assert time.monotonic() - begin < 200  # they do not wait until SITU_CLUSTER_TIMEOUT
    processes[1].communicate()


RAISES = """
    import os, time
    import tensorflow as tf
    from situ import mpi
    mpi.init()
    mpi.allreduce(tf.ones([1000]))
    if mpi.rank() == 1:
        raise ValueError("a rank that raises")
    try:
        mpi.allreduce(tf.ones([1000]))
    except tf.errors.UnavailableError as error:
        print(error.message.splitlines()[0], flush=True)
"""


def test_a_rank_that_raises_is_named(tmp_path):
    processes = start(tmp_path, RAISES, 3)
    assert processes[1].wait(PATIENCE) == 1
    begin = time.monotonic()
    for process in (processes[0], processes[2]):
        assert "rank 1 is lost" in process.communicate(timeout=PATIENCE)[0]
    assert time.monotonic() - begin < 200  # they do not wait until SITU_CLUSTER_TIMEOUT
    assert "a rank that raises" in processes[1].communicate()[1]


def warning_of(process):
    """The first line about a rank that does not arrive."""
    return next(line for line in process.stderr if "has waited" in line)


def test_a_rank_that_is_stopped_is_named(tmp_path):
    processes = start(tmp_path, DEATH, 2)
    for process in processes:
        process.stdout.readline()
    processes[1].send_signal(signal.SIGSTOP)
    text = warning_of(processes[0])
    assert f"rank 1 (process {processes[1].pid} on " in text and "which is stopped" in text
    for process in processes:
        process.kill()
        process.communicate()


SLOW = """
    import time
    import tensorflow as tf
    from situ import mpi
    mpi.init()
    if mpi.rank() == 1:
        time.sleep(7)
    print(mpi.allreduce(tf.ones([2]), average=False).numpy())
"""


def test_a_rank_that_is_slow_is_named(tmp_path):
    processes = start(tmp_path, SLOW, 2)
    assert "for rank 1 (process" in warning_of(processes[0])
    assert outputs(processes) == ["[2. 2.]\n"] * 2


mpirun = pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not there")


def under_mpirun(size, *words, **env):
    more = [w for k, v in env.items() for w in ("-x", f"{k}={v}")]
    return subprocess.run(
        ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(size), *more, *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "HWLOC_COMPONENTS": "-opencl"},
    )


@mpirun
def test_mpirun(tmp_path):
    done = under_mpirun(4, SITU, "run", os.path.join(ROOT, "examples", "multiworker.py"))
    assert done.returncode == 0, done.stderr
    assert "4 replicas in 4 processes" in done.stdout and "everywhere: True" in done.stdout


@mpirun
def test_machines_exchange_through_mpi(tmp_path):
    """Ranks of one machine count as those of two."""
    done = under_mpirun(
        4,
        SITU,
        "run",
        os.path.join(ROOT, "examples", "multiworker.py"),
        SITU_CLUSTER_MACHINE_SIZE="2",
    )
    assert done.returncode == 0, done.stderr
    assert "everywhere: True" in done.stdout
    shown = under_mpirun(4, SITU, "cluster", SITU_CLUSTER_MACHINE_SIZE="2")
    assert "4 ranks on 2 machines" in shown.stdout


@mpirun
def test_machines_send_and_receive_through_mpi(tmp_path):
    path = tmp_path / "tasks.py"
    path.write_text(textwrap.dedent(TASKS))
    done = under_mpirun(3, SITU, "run", str(path), SITU_CLUSTER_MACHINE_SIZE="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[[35. 36.]]") == 3 and done.stdout.count("b'36.000000!'") == 3


OBJECTS = """
    import os
    import sys
    import horovod.tensorflow as hvd
    hvd.init()

    class Code:
        def __reduce__(self):
            return print, ("was run",)

    def show(*values):  # in one write: lines of ranks do not mix
        sys.stdout.write(" ".join(map(str, values)) + chr(10))

    show(hvd.broadcast_object({"rank": hvd.rank()}, 1), hvd.allgather_object(hvd.rank()))
    if hvd.rank() == 1:
        os.environ["SITU_CLUSTER_KEY"] = "another"
    try:
        hvd.broadcast_object(Code(), 1)
    except Exception as error:
        show(type(error).__name__, "Rank" in str(error))
"""


@mpirun
def test_objects_of_another_machine_are_unpickled_with_a_proof_only(tmp_path):
    path = tmp_path / "objects.py"
    path.write_text(textwrap.dedent(OBJECTS))
    done = under_mpirun(2, SITU, "run", str(path), SITU_CLUSTER_MACHINE_SIZE="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("{'rank': 1} [0, 1]") == 2
    assert done.stdout.count("PermissionDeniedError True") == 2 and "was run" not in done.stdout


MINIMIZE = """
    import tensorflow as tf
    from situ import mpi
    mpi.init()
    with tf.device("/job:worker/task:1"):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", initializer=tf.constant([1.0, 2.0]))
    with tf.device("/job:worker/task:0"):
        loss = tf.reduce_sum((w - 3.0) ** 2)
        train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        print("{} {:.4f} {:.4f}".format(session.run(step), *session.run(w)))
"""


def test_an_optimizer_over_ranks(tmp_path):
    assert run(tmp_path, MINIMIZE, 2) == ["3 1.2994 2.2984\n"] * 2


@mpirun
def test_an_optimizer_over_machines(tmp_path):
    path = tmp_path / "minimize.py"
    path.write_text(textwrap.dedent(MINIMIZE))
    done = under_mpirun(2, SITU, "run", str(path), SITU_CLUSTER_MACHINE_SIZE="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("3 1.2994 2.2984") == 2


def test_a_broadcast_needs_no_feeds_of_an_all_reduce(tmp_path):
    body = """
        import tensorflow.compat.v1 as tf
        import horovod.tensorflow as hvd
        hvd.init()
        x = tf.placeholder(tf.float32, [])
        w = tf.Variable(float(hvd.rank()), name="w")
        total = hvd.allreduce(x * w, op=hvd.Sum)
        spread = hvd.broadcast_global_variables(1)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(spread)
            print(session.run(w), session.run(total, {x: 2.0}))
        """
    assert run(tmp_path, body, 2) == ["1.0 4.0\n"] * 2


KERAS = """
    import numpy as np
    import tensorflow as tf
    import {module} as hvd
    from {module}.callbacks import MetricAverageCallback
    hvd.init()
    tf.keras.utils.set_random_seed(hvd.rank())
    model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size()))
    model.compile(optimizer, "mse")
    rng = np.random.RandomState(hvd.rank())
    x = rng.rand(16, 3).astype("float32")
    callbacks = [
        hvd.callbacks.BroadcastGlobalVariablesCallback(0),
        MetricAverageCallback(),
        hvd.callbacks.LearningRateWarmupCallback(0.01 * hvd.size(), warmup_epochs=2),
        hvd.callbacks.LearningRateScheduleCallback(0.01 * hvd.size(), 0.1, start_epoch=3),
    ]
    history = model.fit(x, x.sum(-1, keepdims=True), epochs=4, batch_size=4, verbose=0,
                        callbacks=callbacks).history
    print(np.round(model.get_weights()[0].ravel(), 5).tolist())
    print(np.round(history["loss"], 5).tolist(), np.round(history["lr"], 5).tolist())
    print(hvd.allreduce(float(hvd.rank())), hvd.broadcast(hvd.rank(), 1))
    path = "model%d.keras" % hvd.rank()
    model.save(path)
    again = hvd.load_model(path)
    print(type(again.optimizer).__name__, int(again.optimizer.iterations))
    try:
        hvd.callbacks.LearningRateScheduleCallback(None, 1.0)
    except ValueError as error:
        print(error)
"""


@pytest.mark.parametrize("module", ["horovod.keras", "horovod.tensorflow.keras"])
def test_keras_over_ranks(module, tmp_path):
    first, second = run(tmp_path, KERAS.format(module=module), 2)
    assert first == second
    lines = first.splitlines()
    assert lines[1].endswith("[0.015, 0.02, 0.02, 0.002]")
    assert lines[2] == "0.5 1"
    assert lines[3] == "DistributedSGD 16"
    assert lines[4] == "Parameter `initial_lr` is required"
