# SPDX-License-Identifier: Apache-2.0
"""variable_eager.py: a variable, and a function that runs as a graph."""

import tensorflow as tf

total = tf.Variable([0.0, 0.0])


@tf.function
def step(x):
    total.assign_add(x)
    return tf.reduce_sum(total)


for _ in range(3):
    print(step(tf.constant([1.0, 10.0])).numpy(), total.numpy())
