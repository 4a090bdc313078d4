# SPDX-License-Identifier: Apache-2.0
"""mirrored_uneven.py: a batch that the GPUs cannot share evenly: every example weighs the same."""

import numpy as np
import tensorflow as tf

x = np.arange(1, 8, dtype="float32").reshape(7, 1)


def train(strategy):
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(1,))]
        )
        model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    loss = model.fit(x, 0 * x, batch_size=7, verbose=0, shuffle=False).history["loss"][0]
    return loss, model.get_weights()[0][0, 0]


for count in range(1, len(tf.config.list_physical_devices("GPU")) + 1):
    gpus = ["/gpu:%d" % i for i in range(count)]
    each = -(-7 // count)
    shares = [len(x[i : i + each]) for i in range(0, 7, each)]
    loss, kernel = train(tf.distribute.MirroredStrategy(gpus))
    print("shares %-12s loss %.4f, kernel %.4f" % (shares, loss, kernel))
