# SPDX-License-Identifier: Apache-2.0
"""programs.py: Python programs in which the Nth operation fails; faults.py starts this.

A program is a function of a folder that returns numbers. Each fault runs in a forked child: the
program must return the usual numbers or raise an error of the expected types; then, in the same
process and without the fault, it must return the usual numbers, and the files that it had written
before must be whole.

Prints "run ok", "run error" or "problem ..." per fault, and a line per program.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any, Callable

import numpy as np

PATIENCE = 120  # seconds
GPU = "Simulated=256MiB"
KINDS = ("memory", "file", "thread", "device-memory", "device-lost")
PROGRAMS: dict[str, Callable[[str], Any]] = {}


def program(function: Callable[[str], Any]) -> Callable[[str], Any]:
    """Adds a function to PROGRAMS."""
    PROGRAMS[function.__name__] = function
    return function


@program
def session(folder: str) -> Any:
    """A graph with gradients, branches, loops and two devices."""
    import situ.compat.v1 as tf

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 4])
        w = tf.Variable(tf.ones([4, 3]))
        with tf.device("/gpu:0"):
            y = tf.nn.relu(tf.matmul(x, w))
        z = tf.cond(tf.reduce_sum(y) > 0, lambda: y * 2.0, lambda: y)
        _, total = tf.while_loop(
            lambda i, t: i < 3, lambda i, t: (i + 1, t + tf.reduce_sum(z)), [0, 0.0]
        )
        update = w.assign_sub(0.1 * tf.gradients(total, w)[0])
        queue = tf.FIFOQueue(4, tf.float32)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run([queue.enqueue(3.0), queue.enqueue(4.0)])
            results = [sess.run(queue.dequeue())]
            for n in (2, 3):
                results.append(sess.run([total, update], {x: np.ones([n, 4], "float32")}))
    return results


@program
def eager(folder: str) -> Any:
    """Eager calls, tapes, a tf.function and a Python function."""
    import situ as tf

    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    @tf.function
    def step(x: Any) -> Any:
        if tf.reduce_sum(x) > 0:
            x = x * 2.0
        return tf.matmul(x, v)

    with tf.GradientTape() as tape:
        y = tf.reduce_sum(step(tf.ones([3, 2])) ** 2.0) + tf.reduce_mean(v)
    gradient = tape.gradient(y, v)
    v.assign_sub(0.1 * gradient)
    halved = tf.py_function(lambda a: a.numpy() / 2, [v], tf.float32)
    texts = tf.strings.join([tf.strings.as_string(tf.range(3)), ["a", "b", "c"]])
    with tf.device("/gpu:0"):
        product = tf.linalg.matmul(v, v)
    return [y.numpy(), gradient.numpy(), halved.numpy(), texts.numpy(), product.numpy()]


@program
def training(folder: str) -> Any:
    """Training with a checkpoint at the end; the one before stays whole."""
    import situ as tf

    tf.random.set_seed(1)
    weights = tf.Variable(tf.ones([4, 2]), name="weights")
    optimizer = tf.keras.optimizers.Adam(0.1)
    checkpoint = tf.train.Checkpoint(weights=weights, optimizer=optimizer)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    x = tf.reshape(tf.range(12.0), [3, 4])
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.matmul(x, weights) - 1.0) ** 2.0)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    manager.save()
    return [loss.numpy(), weights.numpy()]


def training_check(folder: str) -> None:
    """The newest checkpoint can be read."""
    import situ as tf

    weights = tf.Variable(tf.zeros([4, 2]), name="weights")
    newest = tf.train.latest_checkpoint(folder)
    assert newest, "no checkpoint"
    tf.train.Checkpoint(weights=weights).read(newest).expect_partial()
    assert np.any(weights.numpy()), "a checkpoint without values"


@program
def saver(folder: str) -> Any:
    """A tf.train.Saver of TensorFlow 1 with summaries."""
    import situ.compat.v1 as tf

    with tf.Graph().as_default():
        v = tf.Variable(tf.ones([8]), name="v")
        step = v.assign_add(tf.ones([8]))
        tf.summary.scalar("first", v[0])
        merged = tf.summary.merge_all()
        with tf.Session() as sess, tf.summary.FileWriter(folder) as writer:
            sess.run(tf.global_variables_initializer())
            sess.run(step)
            writer.add_summary(sess.run(merged), 1)
            path = tf.train.Saver().save(sess, os.path.join(folder, "model"), global_step=1)
            sess.run(step)
            tf.train.Saver().restore(sess, path)
            return sess.run(v)


def saver_check(folder: str) -> None:
    """The newest checkpoint can be read."""
    import situ.compat.v1 as tf

    newest = tf.train.latest_checkpoint(folder)
    assert newest, "no checkpoint"
    assert np.all(tf.train.load_checkpoint(newest).get_tensor("v") == 2), "other values"


@program
def pipeline(folder: str) -> Any:
    """Records, parallel maps, shuffling and prefetching."""
    import situ as tf

    path = os.path.join(folder, "records")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(20):
            writer.write(str(i).encode())
    data = tf.data.TFRecordDataset(path)
    data = data.map(lambda s: tf.strings.to_number(s), num_parallel_calls=2)
    data = data.shuffle(5, seed=1).batch(4).prefetch(2)
    numbers = sorted(float(n) for batch in data for n in batch.numpy())
    ranges = tf.data.Dataset.range(6).interleave(
        lambda i: tf.data.Dataset.from_tensors(i).repeat(2), cycle_length=2, num_parallel_calls=2
    )
    values = tf.data.Dataset.from_generator(lambda: iter([1, 2, 3]), output_types=tf.int32)
    return [numbers, sorted(int(i) for i in ranges), [int(v) for v in values]]


@program
def saved_model(folder: str) -> Any:
    """A SavedModel is written and loaded."""
    import situ as tf

    module = tf.Module()
    module.v = tf.Variable([[1.0, 2.0]])

    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.float32)])
    def call(x: Any) -> Any:
        return tf.matmul(x, module.v)

    module.call = call
    path = os.path.join(folder, "model")
    tf.saved_model.save(module, path)
    return tf.saved_model.load(path).call(tf.ones([3, 1])).numpy()


CHECKS = {"training": training_check, "saver": saver_check}


# ---- Faults ----


class Faults:
    """The library of interpose.c in this process."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(None)
        self.library.situ_fault_arm.argtypes = [ctypes.c_int, ctypes.c_uint64, ctypes.c_bool]
        self.library.situ_fault_count.restype = ctypes.c_uint64
        self.library.situ_fault_fired.restype = ctypes.c_bool

    def arm(self, kind: str, at: int, later: bool) -> None:
        """Operation `at` fails, counted from now, and all later ones if `later`."""
        self.library.situ_fault_arm(KINDS.index(kind), at, later)

    def disarm(self) -> None:
        """Nothing fails from now on; the counters are 0."""
        self.library.situ_fault_arm(0, 0, False)

    def counts(self) -> list[int]:
        """The number of operations of each kind since the last call of arm."""
        return [self.library.situ_fault_count(kind) for kind in range(3)]


def simulate(kind: str, at: int) -> None:
    """Sets the simulated GPU, which fails at operation `at` if `kind` is one of its faults."""
    option = {"device-memory": ";fail_alloc=", "device-lost": ";lost_after="}.get(kind)
    os.environ["SITU_SIM_GPUS"] = GPU + (f"{option}{at}" if option and at else "")


def in_child(function: Callable[[], Any]) -> tuple[int, Any]:
    """Runs a function in a forked child; returns its exit status and its result."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(reader)
        signal.alarm(PATIENCE)
        code = 1
        try:
            with os.fdopen(writer, "wb") as file:
                pickle.dump(function(), file)
            code = 0
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc()
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        data = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return status, pickle.loads(data) if status == 0 else None


def same(a: Any, b: Any) -> bool:
    """Compares results of a program."""
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(np.all(np.asarray(a) == np.asarray(b)))


class Case:
    """A program with a kind of fault."""

    def __init__(self, name: str, kind: str, warm: bool, later: bool) -> None:
        self.name, self.kind, self.warm, self.later = name, kind, warm, later
        self.run, self.check = PROGRAMS[name], CHECKS.get(name)
        self.faults = Faults()

    def once(self, expected: Any, at: int) -> str:
        """In a child: returns "ok", "error" or what is wrong."""
        folder = os.environ["SITU_FAULT_FOLDER"]
        simulate(self.kind, at)
        if self.warm:
            self.run(folder)
        if self.kind in KINDS[:3]:
            self.faults.arm(self.kind, at, self.later)
        outcome = self.attempt(folder, expected)
        self.faults.disarm()
        return outcome if outcome not in ("ok", "error") else self.again(folder, expected, outcome)

    def attempt(self, folder: str, expected: Any) -> str:
        """The run with the fault."""
        import situ as tf

        errors = (tf.errors.OpError, MemoryError, OSError)
        try:
            result = self.run(folder)
        except errors:
            return "error"
        except Exception as error:  # pylint: disable=broad-except
            traceback.print_exc()
            return f"raises {type(error).__name__}: {error}"
        return "ok" if same(result, expected) else f"returns {result}, not {expected}"

    def again(self, folder: str, expected: Any, outcome: str) -> str:
        """What was there before is whole, and the next run works."""
        import situ as tf

        if self.kind == "device-lost":  # for good: a new process works
            simulate("", 0)
            return outcome
        try:
            if self.check:
                self.check(folder)
            result = self.run(folder)
        except tf.errors.ResourceExhaustedError as error:
            if "was injected" not in str(error):
                return f"then raises {error}"
            return self.again(folder, expected, "error")  # this run had the fault
        except Exception as error:  # pylint: disable=broad-except
            traceback.print_exc()
            return f"then raises {type(error).__name__}: {error}"
        return outcome if same(result, expected) else f"then returns {result}, not {expected}"

    def operations(self, expected: Any) -> int:
        """How many operations of the kind a run makes."""
        folder = os.environ["SITU_FAULT_FOLDER"]
        if self.kind not in KINDS[:3]:
            return 40

        def count() -> int:
            simulate("", 0)
            if self.warm:
                self.run(folder)
            self.faults.disarm()
            self.run(folder)
            return self.faults.counts()[KINDS.index(self.kind)]

        return int(in_child(count)[1] or 0)


def prepare(name: str) -> Any:
    """Imports what the program imports, so that children need not; returns its result."""
    folder = os.environ["SITU_FAULT_FOLDER"]
    os.makedirs(folder, exist_ok=True)

    def first() -> tuple[list[str], Any]:
        simulate("", 0)
        result = PROGRAMS[name](folder)
        if name in CHECKS:
            CHECKS[name](folder)
        return list(sys.modules), result

    status, value = in_child(first)
    if status:
        raise SystemExit(f"{name} fails without a fault")
    for module in value[0]:
        if module.startswith("situ"):
            importlib.import_module(module)
    shutil.move(folder, folder + ".before")  # what each run finds: files of a run before
    os.makedirs(folder)
    return value[1]


def run_case(case: Case, expected: Any, options: argparse.Namespace) -> None:
    """Runs a program once per fault."""
    import faults

    folder = os.environ["SITU_FAULT_FOLDER"]
    count = case.operations(expected)
    chosen = faults.numbers(count, options.short or case.later)
    begin = time.monotonic()
    for at in chosen if options.at is None else [options.at]:
        shutil.rmtree(folder)
        shutil.copytree(folder + ".before", folder)
        status, outcome = in_child(lambda at=at: case.once(expected, at))
        if status == -signal.SIGALRM:
            outcome = "hangs"
        elif status:
            outcome = f"ends with {status}"
        label = f"{case.kind}:{at}{'+' * case.later}{' warm' * case.warm}"
        print(f"run {outcome}" if outcome in ("ok", "error") else f"problem {label}: {outcome}")
    seconds = time.monotonic() - begin
    label = f"{case.kind}{' from there on' * case.later}{', warm' * case.warm}"
    print(f"{label}: {len(chosen)} faults of {count}, {seconds:.0f} s", flush=True)


def main() -> None:
    """Runs one program with all faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("name", choices=sorted(PROGRAMS))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--at", type=int)
    parser.add_argument("--warm", action="store_true", help="only after a first run")
    options = parser.parse_args()
    expected = prepare(options.name)
    for kind in KINDS if not options.kind else [options.kind]:
        both = [False, True] if kind in KINDS[:3] else [False]  # device faults count from the start
        for warm in [True] if options.warm else both:
            for later in both:
                run_case(Case(options.name, kind, warm, later), expected, options)


if __name__ == "__main__":
    if "SITU_FAULT_FOLDER" in os.environ:
        main()
    else:  # interpose.c reads it when it is loaded
        shared = "/dev/shm" if os.path.isdir("/dev/shm") else None  # fsync costs nothing there
        with tempfile.TemporaryDirectory(dir=shared) as parent:
            os.environ["SITU_FAULT_FOLDER"] = os.path.join(parent, "files")
            sys.exit(subprocess.run([sys.executable, *sys.argv], check=False).returncode)
