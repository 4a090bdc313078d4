# SPDX-License-Identifier: Apache-2.0
"""growth.py: memory growth: a GPU whose memory is reserved as it is needed."""

import tensorflow as tf


def show(when):
    info = tf.config.experimental.get_memory_info("GPU:0")
    print(
        f"{when}: reserved {info['reserved'] / 2**20:.0f} MiB, "
        f"limit {info['limit'] / 2**30:.2f} GiB"
    )


config = tf.ConfigProto()
config.gpu_options.allow_growth = True
x = tf.placeholder(tf.float32, [None, None])
with tf.Session(config=config) as sess:
    for n in (16, 4096):
        sess.run(tf.matmul(x, x), {x: [[1.0] * n] * n})
        show(f"{n} by {n}")
