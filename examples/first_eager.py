# SPDX-License-Identifier: Apache-2.0
"""first_eager.py: a product of two matrices, and where it runs: at once."""

import tensorflow as tf

tf.debugging.set_log_device_placement(True)

a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name="a")
b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name="b")
print(tf.matmul(a, b))
