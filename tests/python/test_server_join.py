# SPDX-License-Identifier: Apache-2.0
"""test_server_join.py: when Server.join returns, for tasks in separate processes."""

import json
import os
import signal
import sys
import threading
import time

import pytest
from conftest import PATIENCE, addresses, ended_processes, environment, start_process

from situ._src.cluster import links, task_states

PROGRAM = """
import json, os, sys
import situ.compat.v1 as tf
jobs, job, index, role = json.loads(sys.argv[1])
server = tf.train.Server(tf.train.ClusterSpec(jobs), job, index)
print("started", flush=True)
if role == "join":
    server.join()
elif role == "wait":
    sys.stdin.readline()
elif role == "fail":
    sys.stdin.readline()
    raise ValueError("a program that fails")
print("over", flush=True)
"""


class Tasks(dict):
    """The processes of a cluster by task; start returns when the server of a task is there."""

    def __init__(self, timeout="", **counts):
        super().__init__()
        some = iter(addresses(sum(counts.values())))
        self.jobs = {job: [next(some) for _ in range(n)] for job, n in counts.items()}
        self._env = environment(SITU_CLUSTER_TIMEOUT=timeout)

    def start(self, job, index, role="join"):
        given = json.dumps([self.jobs, job, index, role])
        self[job, index] = start_process(
            [sys.executable, "-c", PROGRAM, given],
            env=self._env,
            text=True,
            stdin=-1,
            stdout=-1,
            stderr=-1,
        )
        assert self[job, index].stdout.readline() == "started\n"

    def end(self, job, index):
        """Ends a task in the role "wait" or "fail"."""
        self[job, index].stdin.write("\n")
        self[job, index].stdin.flush()

    def kill(self, job, index):
        assert self.all_run()  # the others have seen it
        self[job, index].send_signal(signal.SIGKILL)
        self[job, index].wait()

    def all_run(self, seconds=1.0):
        """Whether no process ends within some time."""
        time.sleep(seconds)
        return all(process.poll() is None for process in self.values())

    def all_end(self):
        return [process.wait(PATIENCE) for process in self.values()]


def test_parameter_servers_wait_for_all_programs():
    with ended_processes(Tasks(ps=2, worker=2)) as tasks:
        tasks.start("ps", 0), tasks.start("ps", 1)
        tasks.start("worker", 0, "wait")
        tasks.end("worker", 0)
        assert tasks.pop(("worker", 0)).wait(PATIENCE) == 0
        assert tasks.all_run()  # a worker has not started yet
        tasks.start("worker", 1, "wait")
        assert tasks.all_run()
        tasks.end("worker", 1)
        assert tasks.all_end() == [0, 0, 0]


def test_a_worker_in_join_that_is_killed_ends_nobody():
    with ended_processes(Tasks(ps=1, worker=2, chief=1)) as tasks:
        tasks.start("ps", 0), tasks.start("worker", 0), tasks.start("worker", 1)
        tasks.start("chief", 0, "wait")
        tasks.kill("worker", 0)
        del tasks["worker", 0]
        assert tasks.all_run()
        tasks.start("worker", 0)
        assert tasks.all_run()
        tasks.end("chief", 0)
        assert tasks.all_end() == [0, 0, 0, 0]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_servers_in_join_stay_without_a_program(end):
    """As in TensorFlow: the program may be a session of a process that is not a task."""
    with ended_processes(Tasks(ps=1, worker=2)) as tasks:
        tasks.start("ps", 0), tasks.start("worker", 0), tasks.start("worker", 1)
        assert tasks.all_run(0.5)
        tasks["worker", 0].send_signal(end)
        assert tasks.pop(("worker", 0)).wait(PATIENCE) != 0
        assert tasks.all_run()


def test_a_program_that_fails_has_ended():
    with ended_processes(Tasks(ps=1, worker=1)) as tasks:
        tasks.start("ps", 0), tasks.start("worker", 0, "fail")
        tasks.end("worker", 0)
        assert tasks.all_end() == [0, 1]


def test_a_program_that_is_killed_may_start_again():
    with ended_processes(Tasks(ps=1, worker=1)) as tasks:
        tasks.start("ps", 0), tasks.start("worker", 0, "wait")
        tasks.kill("worker", 0)
        del tasks["worker", 0]
        assert tasks.all_run(2.0)
        tasks.start("worker", 0, "wait")
        assert tasks.all_run()
        tasks.end("worker", 0)
        assert tasks.all_end() == [0, 0]


def test_a_program_that_does_not_start_again_has_ended():
    with ended_processes(Tasks("1", ps=1, worker=1)) as tasks:
        tasks.start("ps", 0), tasks.start("worker", 0, "wait")
        tasks.kill("worker", 0)
        assert tasks["ps", 0].wait(PATIENCE) == 0


def test_an_evaluator_is_not_awaited():
    with ended_processes(Tasks(ps=1, chief=1, evaluator=1)) as tasks:
        tasks.start("ps", 0), tasks.start("chief", 0, "wait")
        tasks.end("chief", 0)
        assert tasks.all_end() == [0, 0]


class _Link:
    """A link that records messages; `answer` is called when it is asked for its part."""

    def __init__(self, answer=lambda: None):
        self.run, self.sent_cuts, self.sent, self._answer = None, set(), [], answer

    def send(self, kind, *_):
        self.sent.append(kind)
        if kind == "run":
            self._answer()


class _Cut:
    @staticmethod
    def for_place(place):
        return place


def test_a_tensor_does_not_arrive_before_its_run():
    """The first server sends a tensor to the second one, which is not yet asked for its part."""
    threads = []

    def answer():
        threads.append(threading.Thread(target=run.route, args=("second", "key", 1)))
        threads[0].start()
        time.sleep(0.2)

    some = {"first": _Link(answer), "second": _Link()}
    run = links.Run(some, None, 0)
    run.start(0, _Cut(), None, {})
    threads[0].join()
    assert some["second"].sent == ["run", "tensor"]


def test_states_of_a_server():
    announcer, sent = task_states.Announcer(), []

    class Channel:
        @staticmethod
        def send(*message):
            sent.append(message[1])

    announcer.watched_by(Channel())
    announcer.end()
    assert sent == [task_states.RUNNING, task_states.ENDED]
    joined = task_states.Announcer()
    joined.set(task_states.JOINED)
    joined.end()
    assert joined.state == task_states.JOINED


def test_processes_of_a_killed_test_run_end():
    """start_process of conftest: nothing that a test starts outlives its process."""
    some = Tasks(ps=1)
    inner = "import sys, conftest as c; p = c.start_process(sys.argv[1:]); p.wait()"
    given = json.dumps([some.jobs, "ps", 0, "join"])
    outer = start_process(
        [sys.executable, "-c", inner, sys.executable, "-c", PROGRAM, given],
        env=environment(PYTHONPATH=os.path.dirname(__file__)),
        stdout=-1,
        text=True,
    )
    assert outer.stdout.readline() == "started\n"
    outer.kill()
    assert outer.stdout.read() == ""  # the server, which has the other end, has ended
    outer.wait()
    with ended_processes(some):
        some.start("ps", 0)  # its address is free again
