# SPDX-License-Identifier: Apache-2.0
"""mirrored.py: a Keras model on all GPUs: each trains with its part of every batch."""

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
print("replicas:", strategy.num_replicas_in_sync)

with strategy.scope():
    inputs = tf.keras.layers.Input(shape=(1,))
    predictions = tf.keras.layers.Dense(1, kernel_initializer="zeros")(inputs)
    model = tf.keras.models.Model(inputs=inputs, outputs=predictions)
    model.compile(loss="mse", optimizer=tf.train.GradientDescentOptimizer(learning_rate=0.2))

for copy in model.weights[0].values:
    print(copy.name, copy.device)

x = np.linspace(-1, 1, 64).astype("float32").reshape(64, 1)
history = model.fit(x, 3 * x + 1, batch_size=16, epochs=20, verbose=0, shuffle=False)
print("loss: %.4f, then %.4f" % (history.history["loss"][0], history.history["loss"][-1]))
kernel, bias = model.get_weights()
print("3 x + 1 was found as %.2f x + %.2f" % (kernel[0, 0], bias[0]))
