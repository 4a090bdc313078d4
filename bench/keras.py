# SPDX-License-Identifier: Apache-2.0
"""keras.py: what fit costs beside a bare step of training, and two devices beside one, in turns.

Usage: keras.py [--quick] [--only PATTERN] [--row NAME]
Every row runs in a process of its own, with the devices that it needs. Prints one JSON object a
row; the note tells the processor time of a step, which does not depend so much on what else the
machine does.
"""

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import time

import networks

STEPS = 20  # of a call of fit
ROWS = {  # name -> (what, against, at least, simulated GPUs)
    "keras.fit.mlp": ("Keras fit of 784-512-512-10, batch 128", "session.run of the step", 0.95, 0),
    "mirrored.mlp": ("MirroredStrategy on 2 simulated GPUs, 784-512-512-10", "one of them", 0.9, 2),
    "mirrored.cifar": (
        "MirroredStrategy on 2 simulated GPUs, CIFAR-10 network",
        "one of them",
        0.95,
        2,
    ),
}


def layers(tf, model):
    keras = tf.keras.layers

    def lrn():
        return keras.Lambda(lambda x: tf.nn.lrn(x, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75))

    front = []
    if model == "cifar":
        pool = [keras.MaxPooling2D(3, 2, padding="same") for _ in range(2)]
        conv = [keras.Conv2D(64, 5, padding="same", activation="relu") for _ in range(2)]
        front = [conv[0], pool[0], lrn(), conv[1], lrn(), pool[1], keras.Flatten()]
    wide, narrow = (384, 192) if model == "cifar" else (512, 512)
    return front + [
        keras.Dense(wide, activation="relu"),
        keras.Dense(narrow, activation="relu"),
        keras.Dense(10),
    ]


def make_fit(model, devices=None):
    """A function that calls fit for STEPS steps; all begin with the same weights."""
    import contextlib

    import numpy as np

    import situ as tf

    images, labels, values = networks.arrays(model)
    strategy = tf.distribute.MirroredStrategy(devices) if devices else None
    with strategy.scope() if strategy else contextlib.nullcontext():
        net = tf.keras.Sequential([tf.keras.Input(images.shape[1:]), *layers(tf, model)])
        net.compile(
            tf.keras.optimizers.SGD(networks.RATE),
            tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
    net.set_weights(values)
    x, y = np.concatenate([images] * STEPS), np.concatenate([labels] * STEPS)
    return lambda: net.fit(x, y, batch_size=networks.BATCH, verbose=0, shuffle=False).history[
        "loss"
    ][-1]


def make_bare(model):
    """The step of a session, STEPS times."""
    import situ.compat.v1 as v1
    from situ._src.framework import style

    style.use("v1")
    step, loss = networks.make_graph(v1, model)
    style.use("v2")

    def run():
        for _ in range(STEPS):
            step()

    run.loss = loss
    return run


def burst(run):
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return (time.perf_counter() - wall) / STEPS, (time.process_time() - cpu) / STEPS


def measure(name, quick):
    what, against, target, _ = ROWS[name]
    model = name.rsplit(".", 1)[1]
    if name.startswith("keras"):
        runs = [make_fit(model), make_bare(model)]
    else:
        runs = [make_fit(model, ["/gpu:0", "/gpu:1"]), make_fit(model, ["/gpu:0"])]
        first = [run() for run in runs]
        if abs(first[0] - first[1]) > 1e-3 * abs(first[1]):
            raise RuntimeError(f"losses differ: {first}")
    found = [[], []]
    for _ in range(3 if quick else 15):
        for i, run in enumerate(runs):
            time.sleep(0.02)
            found[i].append(burst(run))
    (wall, cpu), (other, other_cpu) = [tuple(map(min, zip(*some))) for some in found]
    ratio = other / wall
    print(
        json.dumps(
            {
                "name": name,
                "what": what,
                "value": 1 / wall,
                "unit": "steps/s",
                "against": against,
                "yardstick": 1 / other,
                "ratio": ratio,
                "target": target,
                "at_least": True,
                "busy": os.getloadavg()[0] > os.cpu_count() + 1,
                "holds": ratio >= target / 1.1,
                "note": f"processor time of a step: {cpu * 1e3:.2f} ms, "
                f"the other's {other_cpu * 1e3:.2f} ms",
            }
        ),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--row", choices=ROWS)
    options = parser.parse_args()
    if options.row:
        measure(options.row, options.quick)
        return
    for name, (*_, gpus) in ROWS.items():
        only = options.only
        if only and only not in name and not fnmatch.fnmatch(name, only):
            continue
        command = [sys.executable, __file__, "--row", name] + ["--quick"] * options.quick
        subprocess.run(command, check=True, env={**os.environ, "SITU_SIM_GPUS": str(gpus)})


if __name__ == "__main__":
    main()
