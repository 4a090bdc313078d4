# SPDX-License-Identifier: Apache-2.0
"""multiworker.py: one model, trained by several processes:

    mpirun -np 4 situ run examples/multiworker.py

Every process runs this program; of each batch it takes its part. The result is that of one process.
"""

import numpy as np
import tensorflow as tf

from situ import mpi

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(8, activation="tanh", input_shape=(3,)), tf.keras.layers.Dense(1)]
    )
    model.set_weights(
        [np.full(w.shape, 0.1 * (i + 1), "float32") for i, w in enumerate(model.get_weights())]
    )
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")

# 26 examples in batches of 8: the last one has 2, fewer than there may be processes.
x = np.linspace(-1, 1, 78, dtype="float32").reshape(26, 3)
y = x.sum(axis=1, keepdims=True) * 2 + 1
history = model.fit(x, y, batch_size=8, epochs=5, shuffle=False, verbose=0)

# Every process has the same weights, to the bit; rank 0 prints.
weights = np.concatenate([w.ravel() for w in model.get_weights()])
alike = mpi.allreduce(tf.constant(weights), op=mpi.Max).numpy() == weights
if mpi.rank() == 0:
    print(f"{strategy.num_replicas_in_sync} replicas in {mpi.size()} processes")
    print("loss of each epoch:", " ".join(f"{v:.4f}" for v in history.history["loss"]))
    print("weights are the same everywhere:", bool(alike.all()))
