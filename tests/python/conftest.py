# SPDX-License-Identifier: Apache-2.0
"""conftest.py: programs as a user runs them, for the tests of the Python package."""

import contextlib
import fcntl
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap

import numpy
import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("SITU_BUILD", os.path.join(ROOT, "build"))
PATIENCE = 1200  # seconds: ends what hangs, not what a busy machine does slowly
SEED = os.environ.setdefault("SITU_SEED", "1")  # another one: other weights, other orders
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in a shell's background: for tests of
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C, in children, too


def pytest_collection_modifyitems(items):
    """tf.test.TestCase.test_session creates a session: its name only looks like that of a test."""
    items[:] = [item for item in items if item.name != "test_session"]


def environment(**more):
    """The environment of the caller, without variables that select devices."""
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("SITU_") and k != "CUDA_VISIBLE_DEVICES"
    }
    env["SITU_OPENCL_DEVICES"] = "none"  # the same on machines with GPUs
    env["SITU_CUDA"] = "0"
    env["SITU_SEED"] = SEED
    env["HWLOC_COMPONENTS"] = "-opencl"  # mpirun needs no GPUs; PoCL aborts it where /sys is absent
    env.update(more)
    return env


def _own_ports():
    """A range of ports that belongs to this process while it lives: no other test is given them,
    and they lie below those that the kernel hands out."""
    folder = os.path.join(tempfile.gettempdir(), "situ-test-ports")
    os.makedirs(folder, exist_ok=True)
    for number in range(50):
        file = open(os.path.join(folder, str(number)), "w", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            continue
        first = 20000 + 200 * number
        for port in itertools.cycle(range(first, first + 200)):
            yield port, file  # the file is locked as long as somebody refers to it
    raise RuntimeError("50 processes have ports for tests already")


_ports = _own_ports()


def _is_free(port):
    """Whether a server can have a port: over TCP, and as the Unix socket that situ uses on one
    machine, which a process that outlived another test run may still have."""
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tcp.bind(("localhost", port))
            unix.bind(f"\0situ-{os.getuid()}-localhost:{port}")
        except OSError:
            return False
    return True


def addresses(count):
    """Returns addresses of this machine with free ports."""
    found = (f"localhost:{port}" for port, _ in _ports if _is_free(port))
    return list(itertools.islice(found, count))


# Has the kernel kill this process when its parent ends (PR_SET_PDEATHSIG), then runs a program.
_DIES_WITH_PARENT = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


def start_process(words, **kwargs):
    """Starts a process that ends when this one does, however this one ends."""
    before = [sys.executable, "-S", "-c", _DIES_WITH_PARENT, str(os.getpid())]
    return subprocess.Popen([*before, *words], **kwargs)


@contextlib.contextmanager
def ended_processes(started):
    """Context manager: at the end no process of a dictionary runs any more."""
    try:
        yield started
    finally:
        for process in started.values():
            process.kill()
            process.communicate()


@pytest.fixture(autouse=True)
def seeded():
    """What NumPy and Python draw is the same in every run, as SITU_SEED does it for situ."""
    numpy.random.seed(int(SEED))
    random.seed(int(SEED))


@pytest.fixture
def graph():
    """An empty graph, which is the default one."""
    import situ.compat.v1 as tf

    with tf.Graph().as_default() as made:
        yield made


def run_once(fetches, feeds=None, begin=False):
    """Evaluates fetches in a new session; begin: after initializing the variables."""
    import situ.compat.v1 as tf

    with tf.Session() as session:
        if begin:
            session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


class Result:
    """What a program printed and how it ended."""

    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr


@pytest.fixture
def python():
    """Runs a program in a new process: python(text, gpus=4) -> Result."""

    def run(text, gpus="0", words=(), **env):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(text), *words],
            env=environment(SITU_SIM_GPUS=str(gpus), **env),
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return Result(done)

    return run


@pytest.fixture
def situ(tmp_path):
    """Runs the command: situ('run', 'a.py', files={'a.py': text}) -> Result."""

    def run(*words, files=None, **env):
        for name, text in (files or {}).items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        done = subprocess.run(
            [os.path.join(BUILD, "situ"), *words],
            cwd=tmp_path,
            env=environment(**env),
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return Result(done)

    return run


@pytest.fixture
def shared():
    """The folder with the reference's cases; a test that needs it is skipped where it is absent."""
    folder = os.path.join(os.path.dirname(ROOT), "shared")
    if not os.path.isdir(folder):
        pytest.skip("no ../shared")
    return folder
