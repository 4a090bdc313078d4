# SPDX-License-Identifier: Apache-2.0
"""python.py: what calls from Python cost, beside NumPy and other systems, in turns in one process.

Usage: python.py [--quick] [--only PATTERN] [--peer torch|jax|tensorflow]
Without --peer: rows beside NumPy, and those with a limit in seconds. Prints one JSON object a row.
"""

import argparse
import fnmatch
import gc
import json
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
DATA = [[1.0, 2.0], [3.0, 4.0]]
NODES = 100000
LARGE = 1024  # rows and columns of a large matrix: 4 MiB


def burst(run, calls):
    """Seconds per call."""
    turns = range(calls)
    begin = time.perf_counter()
    for _ in turns:
        run()
    return (time.perf_counter() - begin) / calls


def alternate(runs, quick):
    """The best burst of each, in turns; bursts take about 2 ms."""
    calls = [max(1, int(0.002 / min(burst(run, 5) for _ in range(20)))) for run in runs]
    best = [float("inf")] * len(runs)
    gc.collect()
    gc.disable()
    for _ in range(30 if quick else 200):
        for i, run in enumerate(runs):
            best[i] = min(best[i], burst(run, calls[i]))
    gc.enable()
    return best


class Rows:
    """Prints the rows that are wanted."""

    def __init__(self, options):
        self.options = options

    def wants(self, name):
        only = self.options.only
        return not only or only in name or fnmatch.fnmatch(name, only)

    @staticmethod
    def put(name, what, unit, value, against, yardstick, target):
        ratio = value / yardstick
        print(
            json.dumps(
                {
                    "name": name,
                    "what": what,
                    "value": value,
                    "unit": unit,
                    "against": against,
                    "yardstick": yardstick,
                    "ratio": ratio,
                    "target": target,
                    "at_least": False,
                    "holds": ratio <= target * 1.1,
                }
            ),
            flush=True,
        )

    def compare(self, name, what, run, against, other, target):
        """situ's call beside another's."""
        if self.wants(name):
            value, yardstick = alternate([run, other], self.options.quick)
            self.put(name, what, "ns", value * 1e9, against, yardstick * 1e9, target)

    def limit(self, name, what, unit, scale, measure, limit):
        if self.wants(name):
            self.put(name, what, unit, measure() * scale, "limit", limit, 1)


def eager():
    """situ's calls by name, of 2x2 tensors, and of large ones."""
    import situ as tf

    a, b = tf.constant(DATA), tf.constant(DATA)
    function = tf.function(tf.add)

    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.reduce_sum(tf.matmul(a, b))
        return tape.gradient(y, a)

    large = tf.ones([LARGE, LARGE])
    return {
        "add": lambda: tf.add(a, b),
        "plus": lambda: a + b,
        "gradient": gradient,
        "large": lambda: tf.add(large, large),
        "matmul": lambda: tf.matmul(a, b),
        "relu": lambda: tf.nn.relu(a),
        "sum": lambda: tf.reduce_sum(a),
        "reshape": lambda: tf.reshape(a, [4]),
        "function": lambda: function(a, b),
    }


def beside_numpy(rows):
    import numpy as np

    ours = eager()
    a, b = np.array(DATA, "float32"), np.array(DATA, "float32")
    for name, what, other in (
        ("add", "tf.add of 2x2", lambda: np.add(a, b)),
        ("plus", "a + b of 2x2", lambda: a + b),
        ("matmul", "tf.matmul of 2x2", lambda: np.matmul(a, b)),
        ("sum", "tf.reduce_sum of 2x2", lambda: np.sum(a)),
        ("reshape", "tf.reshape of 2x2", lambda: np.reshape(a, [4])),
    ):
        rows.compare("python." + name, what, ours[name], "NumPy " + np.__version__, other, 1)


def runs(rows):
    """Sessions and graphs."""
    import numpy as np

    import situ.compat.v1 as tf

    with tf.Graph().as_default():
        nothing = tf.no_op()
        x = tf.placeholder(tf.float32, [2, 2])
        y = tf.add(x, x)
        session = tf.Session()
        array = np.array(DATA, "float32")
        assert session.run(y, {x: array}).tolist() == [[2, 4], [6, 8]]
        quick = rows.options.quick
        rows.limit(
            "python.no_op",
            "sess.run of a no-op",
            "us",
            1e6,
            lambda: alternate([lambda: session.run(nothing)], quick)[0],
            1,
        )
        rows.limit(
            "python.feed",
            "sess.run of an add, fed and fetched 2x2",
            "us",
            1e6,
            lambda: alternate([lambda: session.run(y, {x: array})], quick)[0],
            2.5,
        )

    def build():
        best = float("inf")
        for _ in range(3 if rows.options.quick else 7):
            with tf.Graph().as_default():
                first = value = tf.constant(DATA)
                gc.collect()
                begin = time.process_time()  # long enough to have to share the core
                for _ in range(NODES):
                    value = tf.add(value, first)
                best = min(best, time.process_time() - begin)
        return best

    rows.limit("python.build", f"build of {NODES:,} nodes", "s", 1, build, 0.1)


IMPORT = """
import time
begin = time.process_time()
import situ
seconds = time.process_time() - begin
peak = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(seconds, int(peak[0]) / 1024)
"""


def imports(rows):
    """A new process each time: seconds of import, and megabytes of the process."""
    if not (rows.wants("python.import") or rows.wants("python.memory")):
        return
    # Installed packages have their byte code; a shell that forbids to write it compiles each time.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        environment["PYTHONPYCACHEPREFIX"] = folder
        for _ in range(5 if rows.options.quick else 15):
            done = subprocess.run(
                [sys.executable, "-c", IMPORT], capture_output=True, check=True, env=environment
            )
            found.append([float(word) for word in done.stdout.split()])
    seconds, megabytes = map(min, zip(*found))
    rows.limit("python.import", "import situ", "s", 1, lambda: seconds, 0.05)
    rows.limit(
        "python.memory", "peak of a process that imports situ", "MB", 1, lambda: megabytes, 20
    )


def beside_torch(rows):
    import torch

    torch.set_num_threads(1)
    ours, against = eager(), "PyTorch " + torch.__version__
    a, b = torch.tensor(DATA), torch.tensor(DATA)
    for name, other in (
        ("add", lambda: torch.add(a, b)),
        ("plus", lambda: a + b),
        ("matmul", lambda: torch.matmul(a, b)),
        ("relu", lambda: torch.relu(a)),
        ("sum", lambda: torch.sum(a)),
        ("reshape", lambda: torch.reshape(a, [4])),
    ):
        rows.compare(f"python.torch.{name}", f"{name} of 2x2", ours[name], against, other, 0.2)
    leaf = torch.tensor(DATA, requires_grad=True)
    rows.compare(
        "python.torch.gradient",
        "gradient of the sum of a matmul of 2x2",
        ours["gradient"],
        against,
        lambda: torch.autograd.grad(torch.sum(torch.matmul(leaf, b)), leaf),
        0.1,
    )
    torch.set_num_threads(os.cpu_count())
    large = torch.ones([LARGE, LARGE])
    rows.compare(
        "python.torch.large",
        f"add of {LARGE}x{LARGE}",
        ours["large"],
        against,
        lambda: torch.add(large, large),
        0.9,
    )


def beside_jax(rows):
    import jax
    import jax.numpy as jnp

    a, b = jnp.array(DATA), jnp.array(DATA)
    compiled = jax.jit(jnp.add)
    rows.compare(
        "python.jax.function",
        "call of a tf.function of one add",
        eager()["function"],
        "JAX jit " + jax.__version__,
        lambda: compiled(a, b),
        0.2,
    )


def beside_tensorflow(rows):
    import tensorflow as tf

    ours, against = eager(), "TensorFlow " + tf.__version__
    a, b = tf.constant(DATA), tf.constant(DATA)
    function = tf.function(tf.add)
    for name, other in (
        ("add", lambda: tf.add(a, b)),
        ("plus", lambda: a + b),
        ("matmul", lambda: tf.matmul(a, b)),
        ("sum", lambda: tf.reduce_sum(a)),
        ("function", lambda: function(a, b)),
    ):
        rows.compare(
            f"python.tensorflow.{name}", f"{name} of 2x2", ours[name], against, other, 0.02
        )


PEERS = {
    "torch": (beside_torch, "add plus matmul relu sum reshape gradient large"),
    "jax": (beside_jax, "function"),
    "tensorflow": (beside_tensorflow, "add plus matmul sum function"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--peer", choices=PEERS)
    options = parser.parse_args()
    rows = Rows(options)
    if not options.peer:
        beside_numpy(rows)
        runs(rows)
        imports(rows)
        return
    run, names = PEERS[options.peer]
    if not any(rows.wants(f"python.{options.peer}.{name}") for name in names.split()):
        return
    try:
        __import__(options.peer)
    except ImportError:
        print(
            json.dumps(
                {
                    "name": f"python.{options.peer}",
                    "what": "",
                    "skipped": f"no {options.peer} here: run make bench-peers",
                }
            )
        )
        return
    run(rows)


if __name__ == "__main__":
    main()
