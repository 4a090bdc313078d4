# SPDX-License-Identifier: Apache-2.0
"""soak.py: runs several kinds of programs in several threads for a long time (make soak).

Each activity checks its results. Every few seconds the resident memory, the threads and the open
files of the process are recorded. After a first part in which caches fill, none of them may grow:
the median of the last quarter is compared with that of the second quarter.

Usage: soak.py [--minutes M]
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import tempfile
import threading
import time
import traceback
from typing import Any, Callable, NamedTuple

GPU = "Simulated=512MiB"
os.environ.setdefault("SITU_SIM_GPUS", f"{GPU},{GPU};fail_alloc=400")
os.environ.setdefault("SITU_GPU_MEMORY", "growth")

import numpy as np  # noqa: E402

import situ as tf  # noqa: E402

INTERVAL = 5.0  # seconds between samples
ALLOWED_GROWTH = {"memory": 0.10, "threads": 0.0, "files": 0.0}  # of the earlier median
ALLOWED_BYTES = 16 << 20  # memory may grow by this in any case


class Sample(NamedTuple):
    """What the process uses."""

    memory: int
    threads: int
    files: int


def take_sample() -> Sample:
    """Measures the process."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[1])
    return Sample(
        pages * os.sysconf("SC_PAGESIZE"),
        len(os.listdir("/proc/self/task")),
        len(os.listdir("/proc/self/fd")),
    )


# ---- Activities: each is one round, and raises if a result is wrong ----


def check(condition: Any, text: str) -> None:
    """Raises if a result is wrong."""
    if not condition:
        raise AssertionError(text)


def session(round_: int, folder: str) -> None:
    """A new graph and session with changing shapes."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 8])
        w = v1.get_variable("w", [8, 4], initializer=v1.ones_initializer())
        with tf.device(f"/gpu:{round_ % 2}"):
            y = tf.reduce_sum(tf.matmul(x, w))
        gradient = v1.gradients(y, w)[0]
        with v1.Session() as sess:
            sess.run(v1.global_variables_initializer())
            for n in range(1, 20):
                rows = n * (1 + round_ % 13)
                total, slope = sess.run([y, gradient], {x: np.ones([rows, 8], "float32")})
                check(total == 32 * rows and np.all(slope == rows), f"session: {total}, {rows}")


def eager(round_: int, folder: str) -> None:
    """Eager calls with new shapes, and tapes."""
    for n in range(1, 40):
        size = n + 40 * (round_ % 50)
        v = tf.Variable(tf.ones([size]))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v * 3.0)
        gradient = tape.gradient(y, v)
        check(float(y) == 3 * size, f"eager: {float(y)}, not {3 * size}")
        check(np.all(gradient.numpy() == 6), "eager: a wrong gradient")


def traced(round_: int, folder: str) -> None:
    """Traces a new function, with a branch and a loop."""

    @tf.function
    def power(x: Any, n: Any) -> Any:
        total = tf.ones_like(x)
        for _ in tf.range(n):
            total = total * x
        return total if n > 0 else x

    for n in range(1, 6):
        result = power(tf.fill([n], 2.0), tf.constant(3)).numpy()
        check(np.all(result == 8) and result.shape == (n,), f"function: {result}")


def pipeline(round_: int, folder: str) -> None:
    """Records that are written and read by several threads; some iterators end early."""
    path = os.path.join(folder, f"records-{threading.get_ident()}")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(200):
            writer.write(str(i).encode())
    data = tf.data.TFRecordDataset(path).map(tf.strings.to_number, num_parallel_calls=2)
    data = data.shuffle(50).batch(16).prefetch(2)
    check(sum(float(tf.reduce_sum(batch)) for batch in data) == 19900, "pipeline: another sum")
    next(iter(data))
    squares = tf.data.Dataset.from_generator(lambda: (i * i for i in range(20)), tf.int32)
    check([int(i) for i in squares.take(5)] == [0, 1, 4, 9, 16], "pipeline: other squares")


def training(round_: int, folder: str) -> None:
    """Trains a Keras model, saves and restores it."""
    inputs = np.linspace(-1, 1, 64, dtype="float32").reshape(32, 2)
    targets = inputs.sum(axis=1, keepdims=True)
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    history = model.fit(inputs, targets, batch_size=8 + round_ % 8, epochs=3, verbose=0)
    losses = history.history["loss"]
    check(losses[-1] < losses[0] + 1e-3, f"training: losses {losses}")
    checkpoint = tf.train.Checkpoint(model=model)
    manager = tf.train.CheckpointManager(
        checkpoint, os.path.join(folder, f"model-{threading.get_ident()}"), max_to_keep=2
    )
    before = [v.numpy() for v in model.weights]
    path = manager.save()
    for v in model.weights:
        v.assign(tf.zeros_like(v))
    checkpoint.restore(path)
    same = all(np.array_equal(v.numpy(), b) for v, b in zip(model.weights, before))
    check(same, "training: the checkpoint has other values")


def faults(round_: int, folder: str) -> None:
    """Asks a GPU for more memory than it has, and reads files that do not exist."""
    try:
        with tf.device("/gpu:0"):
            tf.zeros([1 << 20, 1 << 10]).numpy()
        check(False, "faults: 4 GiB fit into 512 MiB")
    except tf.errors.ResourceExhaustedError:
        pass
    try:
        tf.io.read_file(os.path.join(folder, "missing"))
        check(False, "faults: read a file that does not exist")
    except tf.errors.NotFoundError:
        pass
    time.sleep(0.2)


ACTIVITIES: list[Callable[[int, str], None]] = [session, eager, traced, pipeline, training, faults]


class Runner:
    """Runs the activities, each in a thread of its own."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.rounds = dict.fromkeys((a.__name__ for a in ACTIVITIES), 0)
        self.injected = 0
        self.problems: list[str] = []

    def run(self, activity: Callable[[int, str], None], folder: str) -> None:
        """Repeats one activity. Errors that were injected are counted, others end the test."""
        while not self.stop.is_set():
            try:
                activity(self.rounds[activity.__name__], folder)
            except tf.errors.ResourceExhaustedError as error:
                if "was injected" not in str(error):
                    self.fail(activity, error)
                self.injected += 1
            except BaseException as error:  # pylint: disable=broad-except
                self.fail(activity, error)
            self.rounds[activity.__name__] += 1

    def fail(self, activity: Callable[[int, str], None], error: BaseException) -> None:
        """Notes a problem and ends all threads."""
        traceback.print_exc()
        self.problems.append(f"{activity.__name__}: {type(error).__name__}: {error}")
        self.stop.set()

    def watch(self, seconds: float, folder: str) -> list[Sample]:
        """Runs everything for some time; returns the samples."""
        threads = [threading.Thread(target=self.run, args=(a, folder)) for a in ACTIVITIES]
        for thread in threads:
            thread.start()
        begin, samples = time.monotonic(), []
        shown = begin
        while time.monotonic() - begin < seconds and not self.stop.wait(INTERVAL):
            samples.append(take_sample())
            if time.monotonic() - shown >= 30:
                shown = time.monotonic()
                self.show(shown - begin, samples[-1])
        self.stop.set()
        for thread in threads:
            thread.join(120)
            if thread.is_alive():
                self.problems.append("a thread does not end")
        return samples

    def show(self, seconds: float, sample: Sample) -> None:
        """Prints a line of progress."""
        rounds = ", ".join(f"{n} {name}" for name, n in self.rounds.items())
        print(
            f"{seconds / 60:5.1f} min: {sample.memory >> 20} MiB, {sample.threads} threads, "
            f"{sample.files} files; {rounds}; {self.injected} injected",
            flush=True,
        )


def growth(samples: list[Sample]) -> list[str]:
    """What grew between the second and the last quarter of the time."""
    found, quarter = [], len(samples) // 4
    if not quarter:
        return ["too short: there are fewer than four samples"]
    for index, name in enumerate(Sample._fields):
        early = statistics.median(s[index] for s in samples[quarter : 2 * quarter])
        late = statistics.median(s[index] for s in samples[-quarter:])
        print(f"{name}: median {early:.0f} in the second quarter, {late:.0f} in the last")
        allowed = early * (1 + ALLOWED_GROWTH[name])
        if name == "memory":
            allowed = max(allowed, early + ALLOWED_BYTES)
        if name != "memory":
            allowed += 4  # pipelines start and end all the time
        if late > allowed:
            found.append(f"{name} grew from {early:.0f} to {late:.0f}")
    return found


def main() -> int:
    """Runs the test; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    options = parser.parse_args()
    runner = Runner()
    with tempfile.TemporaryDirectory() as folder:
        samples = runner.watch(options.minutes * 60, folder)
    problems = runner.problems + ([] if runner.problems else growth(samples))
    for problem in problems:
        print(f"PROBLEM {problem}")
    idle = [name for name, n in runner.rounds.items() if not n]
    if idle and not problems:
        print(f"never finished: {', '.join(idle)}")
    print(f"{sum(runner.rounds.values())} rounds in {options.minutes:g} minutes: ", end="")
    print(f"{len(problems)} problems" if problems or idle else "passed")
    return 1 if problems or idle else 0


if __name__ == "__main__":
    sys.exit(main())
