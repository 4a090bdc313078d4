# SPDX-License-Identifier: Apache-2.0
"""variable.py: a variable stays from run to run, on its device."""

import tensorflow as tf

with tf.device("/gpu:0"):
    total = tf.Variable([0.0, 0.0], name="total")
add = tf.assign_add(total, [1.0, 10.0])

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(3):
        print(sess.run(add))
