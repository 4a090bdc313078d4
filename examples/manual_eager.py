# SPDX-License-Identifier: Apache-2.0
"""manual_eager.py: tensors placed by hand: they are copied where they are needed."""

import tensorflow as tf

tf.debugging.set_log_device_placement(True)

with tf.device("/cpu:0"):
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name="a")
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name="b")
c = tf.matmul(a, b)
print(c)
print(a.device)
print(c.device)
