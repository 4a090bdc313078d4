# SPDX-License-Identifier: Apache-2.0
"""one_gpu_eager.py: the third GPU of a machine."""

import tensorflow as tf

tf.debugging.set_log_device_placement(True)

with tf.device("/gpu:2"):
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name="a")
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name="b")
    c = tf.matmul(a, b)
print(c)
