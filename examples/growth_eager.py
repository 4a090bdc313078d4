# SPDX-License-Identifier: Apache-2.0
"""growth_eager.py: memory growth: a GPU whose memory is reserved as it is needed."""

import tensorflow as tf


def show(when):
    info = tf.config.experimental.get_memory_info("GPU:0")
    print(
        f"{when}: reserved {info['reserved'] / 2**20:.0f} MiB, "
        f"limit {info['limit'] / 2**30:.2f} GiB"
    )


for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
for n in (16, 4096):
    x = tf.ones([n, n])
    tf.matmul(x, x)
    show(f"{n} by {n}")
