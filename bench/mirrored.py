# SPDX-License-Identifier: Apache-2.0
"""mirrored.py: what a second device costs under MirroredStrategy, beside TensorFlow, in turns.

Usage: mirrored.py [--quick] [--only PATTERN]. Needs the Python of .venv-bench.
situ trains on two simulated GPUs and on one of them, TensorFlow on two logical CPUs and on one,
each with the same global batch and network; a row compares the two ratios. Prints one JSON object a
row.
"""

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import time

import keras as own  # bench/keras.py
import networks

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["SITU_SIM_GPUS"] = "2"
os.environ["SITU_VISIBLE_DEVICES"] = "0,1"  # TensorFlow may hide all GPUs of the process
WORDS = {
    "mlp": "MirroredStrategy x2, 784-512-512-10: share that is kept",
    "cifar": "MirroredStrategy x2, CIFAR-10 network: share that is kept",
}


def tensorflow_loop(model, replicas):
    """STEPS steps of TensorFlow, in a tf.function, on so many logical CPUs."""
    import tensorflow as tf

    images, labels, values = networks.arrays(model)
    strategy = tf.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(replicas)])
    with strategy.scope():
        variables = [tf.Variable(value) for value in values]

    def update(strategy, grads):
        sums = strategy.extended.batch_reduce_to(
            tf.distribute.ReduceOp.SUM, list(zip(grads, variables))
        )
        for variable, total in zip(variables, sums):
            strategy.extended.update(
                variable, lambda v, g: v.assign_sub(networks.RATE * g), args=(total,)
            )

    def tower(x, y):
        with tf.GradientTape() as tape:
            logits = networks.graph_network(tf.compat.v1, model, x, variables)
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            loss = tf.reduce_sum(each) / networks.BATCH
        grads = tape.gradient(loss, variables)
        tf.distribute.get_replica_context().merge_call(update, args=(grads,))
        return loss

    @tf.function
    def step(x, y):
        return strategy.reduce("SUM", strategy.run(tower, args=(x, y)), axis=None)

    part = networks.BATCH // replicas

    def cut(array):
        return strategy.experimental_distribute_values_from_function(
            lambda c: tf.constant(array[c.replica_id_in_sync_group * part :][:part])
        )

    x, y = cut(images), cut(labels)

    def run():
        for _ in range(own.STEPS):
            loss = step(x, y)
        return float(loss)

    return run


def check(losses):
    for loss in losses[1:]:
        if abs(loss - losses[0]) > 1e-3 * abs(losses[0]):
            raise RuntimeError(f"losses differ: {losses}")


def measure(model, quick):
    import tensorflow as tf

    runs = [
        own.make_fit(model, ["/gpu:0", "/gpu:1"]),
        own.make_fit(model, ["/gpu:0"]),
        tensorflow_loop(model, 2),
        tensorflow_loop(model, 1),
    ]
    first = [run() for run in runs]
    check(first[2:])  # fit gives the mean of all steps
    check(first[:2])
    found = [[] for _ in runs]
    for _ in range((2 if quick else 5) if model == "cifar" else (5 if quick else 15)):
        for i, run in enumerate(runs):
            time.sleep(0.02)  # threads of the others stop looking for work
            found[i].append(own.burst(run)[0])
    two, one, their_two, their_one = map(min, found)
    mine, other = one / two, their_one / their_two
    print(
        json.dumps(
            {
                "name": f"mirrored.tensorflow.{model}",
                "what": WORDS[model],
                "value": mine,
                "unit": "",
                "against": f"TensorFlow {tf.__version__}",
                "yardstick": other,
                "ratio": mine / other,
                "target": 1,
                "at_least": True,
                "busy": os.getloadavg()[0] > os.cpu_count() + 1,
                "holds": mine / other >= 1 / 1.1,
                "note": f"steps/s on two and on one: {1 / two:.4g}, {1 / one:.4g}; TensorFlow's "
                f"{1 / their_two:.4g}, {1 / their_one:.4g}",
            }
        ),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    options = parser.parse_args()
    only = options.only
    wanted = [
        m
        for m in WORDS
        if not only
        or only in f"mirrored.tensorflow.{m}"
        or fnmatch.fnmatch(f"mirrored.tensorflow.{m}", only)
    ]
    if len(wanted) != 1:  # a process each: TensorFlow's collectives of two networks get mixed up
        for model in wanted:
            subprocess.run(
                [
                    sys.executable,
                    __file__,
                    "--only",
                    f"mirrored.tensorflow.{model}",
                    *["--quick"][: options.quick],
                ],
                check=True,
            )
        return
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    measure(wanted[0], options.quick)


if __name__ == "__main__":
    main()
