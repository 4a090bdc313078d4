# SPDX-License-Identifier: Apache-2.0
"""word2vec.py: a step of word2vec: gradients of rows, beside the same made whole and TensorFlow.

Usage: word2vec.py [--quick] [--only PATTERN] [--peer tensorflow]
50,000 words of 128 numbers, a batch of 128 pairs, 64 other words, gradient descent. Without a peer
the yardstick is a step of situ that applies all of each gradient. Losses must agree. Prints one
JSON object a row.
"""

import argparse
import fnmatch
import json
import os
import sys

import numpy as np
import training

WORDS, WIDTH, BATCH, OTHERS, RATE = 50000, 128, 128, 64, 0.5


def make(tf, whole=False):
    """A function of one step, and the loss as a function."""
    random = np.random.RandomState(0)
    table = random.uniform(-1, 1, (WORDS, WIDTH)).astype(np.float32)
    weights = (random.randn(WORDS, WIDTH) * WIDTH**-0.5).astype(np.float32)
    centers, targets, others = [random.randint(0, WORDS, n) for n in (BATCH, BATCH, OTHERS)]
    with tf.Graph().as_default():
        words, weights = tf.Variable(table), tf.Variable(weights)
        biases = tf.Variable(tf.zeros([WORDS]))
        ids, labels = tf.placeholder(tf.int32, [BATCH]), tf.placeholder(tf.int64, [BATCH, 1])
        sampled = (tf.constant(others, tf.int64), tf.fill([BATCH, 1], 0.01), tf.fill([OTHERS], 0.1))
        loss = tf.reduce_mean(
            tf.nn.nce_loss(
                weights=weights,
                biases=biases,
                labels=labels,
                inputs=tf.nn.embedding_lookup(words, ids),
                num_sampled=OTHERS,
                num_classes=WORDS,
                sampled_values=sampled,
            )
        )
        optimizer = tf.train.GradientDescentOptimizer(RATE)
        pairs = optimizer.compute_gradients(loss)
        if whole:
            pairs = [(tf.convert_to_tensor(g), v) for g, v in pairs]
        step = optimizer.apply_gradients(pairs)
        threads = os.cpu_count()
        session = tf.Session(
            config=tf.ConfigProto(
                intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
            )
        )
        session.run(tf.global_variables_initializer())
    feeds = {ids: centers, labels: targets.reshape(-1, 1)}
    return lambda: session.run(step, feeds), lambda: float(session.run(loss, feeds))


def compare(name, against, other, target, quick):
    import situ.compat.v1 as tf

    steps, losses = zip(make(tf), other())
    for step in steps:
        for _ in range(training.CHECKED):
            step()
    training.check([loss() for loss in losses])
    (mine, cpu), (best, their_cpu) = training.alternate(steps, quick)
    print(
        json.dumps(
            {
                "name": name,
                "what": "step of word2vec, 50000 words of 128 numbers, batch 128",
                "value": 1 / mine,
                "unit": "steps/s",
                "against": against,
                "yardstick": 1 / best,
                "ratio": best / mine,
                "target": target,
                "at_least": True,
                "busy": os.getloadavg()[0] > os.cpu_count() + 1,
                "holds": best / mine >= target / 1.1,
                "note": f"processor time of a step: {cpu * 1e3:.3f} ms, {against}: "
                f"{their_cpu * 1e3:.3f} ms",
            }
        ),
        flush=True,
    )


def whole():
    import situ.compat.v1 as tf

    return make(tf, whole=True)


def tensorflow():
    import tensorflow

    tensorflow.compat.v1.disable_eager_execution()
    return make(tensorflow.compat.v1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--peer", choices=["tensorflow"])
    options = parser.parse_args()
    name = "word2vec.tensorflow" if options.peer else "word2vec.whole"
    if options.only and options.only not in name and not fnmatch.fnmatch(name, options.only):
        return
    try:
        if options.peer:
            compare(name, "TensorFlow", tensorflow, 1, options.quick)
        else:
            compare(name, "whole gradients", whole, 5, options.quick)
    except ImportError as error:
        print(json.dumps({"name": name, "what": "", "skipped": f"{error}: run make bench-peers"}))


if __name__ == "__main__":
    sys.exit(main())
