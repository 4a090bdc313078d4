# SPDX-License-Identifier: Apache-2.0
"""towers_eager.py: the same computation on two GPUs, the sum on the CPU."""

import tensorflow as tf

tf.debugging.set_log_device_placement(True)

results = []
for device in ["/gpu:2", "/gpu:3"]:
    with tf.device(device):
        a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
        b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
        results.append(tf.matmul(a, b))
with tf.device("/cpu:0"):
    total = tf.add_n(results)
print(total)
