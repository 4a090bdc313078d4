# SPDX-License-Identifier: Apache-2.0
"""variables.py: what changes variables in place gives the same on every GPU as on the CPU: rows
that are scattered, steps of optimizers over whole variables and over some rows, batch norms.

Usage: situ run variables.py [NUMBER OF GPUS], which then have to be there. Nothing may leave its
device: placement is hard."""

import numpy as np
import tensorflow.compat.v1 as tf
from asked import count_gpus

ROWS = np.float32([[1, 2], [3, 4], [-5, 6], [7, 8]])
SCATTERS = (
    "scatter_update",
    "scatter_add",
    "scatter_sub",
    "scatter_mul",
    "scatter_div",
    "scatter_min",
    "scatter_max",
)
SCATTERS_ND = ("scatter_nd_update", "scatter_nd_add", "scatter_nd_sub")
OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(0.5),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1),
    "centered": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "proximal": lambda: tf.train.ProximalAdagradOptimizer(0.1),
}


def run(device, build, steps=1):
    """What `build` gives on a device, after so many runs of its first part."""
    with tf.Graph().as_default(), tf.device(device):
        train, fetch = build()
        config = tf.ConfigProto(allow_soft_placement=False)
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                session.run(train)
            return session.run(fetch)


def scatter(name, by_handle):
    """Some rows of a variable are changed, one of them twice where the order does not matter."""

    def build():
        v = tf.get_variable("v", initializer=ROWS, use_resource=by_handle)
        rows = [2, 0] if "update" in name else [2, 0, 2]
        updates = np.float32([[9, -2], [0.5, 4], [2, 8]])[: len(rows)]
        if "nd" in name:
            rows = [[row] for row in rows]
        return getattr(tf, name)(v, rows, updates), v

    return build


def train(make, by_handle):
    """Two variables: of one all is used, of the other some rows, one of them twice."""

    def build():
        whole = tf.get_variable("whole", initializer=ROWS, use_resource=by_handle)
        some = tf.get_variable("some", initializer=ROWS, use_resource=by_handle)
        taken = tf.nn.embedding_lookup(some, [3, 1, 3])
        loss = tf.reduce_sum(tf.square(taken)) + tf.reduce_sum(tf.square(whole - 1))
        return make().minimize(loss), (whole, some)

    return build


def normalize():
    """A step through batch normalisation while it is trained."""
    x = np.linspace(-2, 3, 2 * 3 * 3 * 4).astype(np.float32).reshape(2, 3, 3, 4)
    scale = tf.get_variable("scale", initializer=np.float32([1, 2, -1, 0.5]), use_resource=True)
    offset = tf.get_variable("offset", initializer=np.float32([0, 1, 2, 3]), use_resource=True)
    image = tf.get_variable("image", initializer=x * x, use_resource=True)
    y, mean, variance = tf.nn.fused_batch_norm(image, scale, offset)
    step = tf.train.GradientDescentOptimizer(0.05).minimize(tf.reduce_sum(y * y * x))
    return step, (scale, offset, image, mean, variance)


def cases():
    """Names and what to build."""
    for by_handle in (False, True):
        kind = "by handle" if by_handle else "by reference"
        for name in SCATTERS + SCATTERS_ND:
            yield f"{name} {kind}", scatter(name, by_handle)
        for name, make in OPTIMIZERS.items():
            yield f"{name} {kind}", train(make, by_handle)
    yield "fused_batch_norm", normalize


def main():
    gpus = count_gpus()
    count = 0
    for name, build in cases():
        want = run("/cpu:0", build, steps=3)
        for gpu in range(gpus):
            have = run(f"/gpu:{gpu}", build, steps=3)
            for a, b in zip(have, want):
                least = 2e-6 * max(1, np.abs(b).max())  # sums of large numbers may be small
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=least, err_msg=f"{name} on {gpu}")
        count += 1
    print(f"{count} ways to change variables agree on {gpus} GPUs")


main()
