# SPDX-License-Identifier: Apache-2.0
"""first_function.py: a product of two matrices in a tf.function, and where its nodes run."""

import tensorflow as tf

tf.debugging.set_log_device_placement(True)


@tf.function
def product(a, b):
    return tf.matmul(a, b) + 1.0


a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
print(product(a, b))
print(product(b, a).shape)
