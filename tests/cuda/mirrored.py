# SPDX-License-Identifier: Apache-2.0
"""mirrored.py: a Keras model on two CUDA devices whose gradients NCCL adds: NCCL is used, and the
model is the same as where situ adds itself.

Usage: situ run mirrored.py. CUDA and NCCL are what the environment shows: the stand-ins."""

import ctypes
import sys

import numpy as np
import tensorflow as tf

count = ctypes.CDLL("libnccl.so.2").standin_sums
x = np.linspace(-1, 1, 22).astype("float32").reshape(22, 1)


def train(ops):
    """The weights on each device after some steps, the last of an epoch with fewer examples."""
    strategy = tf.distribute.MirroredStrategy(cross_device_ops=ops)
    with strategy.scope():
        model = tf.keras.Sequential(
            [
                tf.keras.layers.Dense(
                    4,
                    activation="tanh",
                    input_shape=(1,),
                    kernel_initializer=tf.keras.initializers.Constant(0.5),
                ),
                tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.Constant(0.25)),
            ]
        )
        model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.1))
    model.fit(x, 3 * x + 1, batch_size=8, epochs=3, verbose=0, shuffle=False)
    return [[copy.numpy() for copy in weight.values] for weight in model.weights]


def main():
    devices = tf.config.list_physical_devices("GPU")
    own = train(None)
    if count() or len(devices) != 2:
        sys.exit(f"NCCL was used without being asked for, or there are not two GPUs: {devices}")
    nccl = train(tf.distribute.NcclAllReduce())
    steps, variables = 9, len(nccl)
    if not steps <= count() <= steps * variables:  # one for each variable, or for many at once
        sys.exit(f"NCCL made {count()} sums in {steps} steps")
    for ours, theirs in zip(own, nccl):
        if not np.array_equal(theirs[0], theirs[1]):
            sys.exit(f"The devices do not agree: {theirs}")
        if np.abs(ours[0] - theirs[0]).max() > 1e-5:
            sys.exit(f"NCCL and situ do not agree: {ours[0]} and {theirs[0]}")
    print(f"{count()} sums by NCCL, {variables} variables agree")


main()
