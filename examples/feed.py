# SPDX-License-Identifier: Apache-2.0
"""feed.py: one graph, batches of different sizes."""

import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 3], name="x")
y = tf.matmul(x, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])

with tf.Session() as sess:
    print(sess.run(y, {x: [[1.0, 2.0, 3.0]]}))
    print(sess.run(y, {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}))
    try:
        sess.run(y, {x: [[1.0, 2.0]]})
    except ValueError as error:
        print(error)
