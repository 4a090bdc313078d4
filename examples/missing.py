# SPDX-License-Identifier: Apache-2.0
"""missing.py: a GPU that is not there."""

import tensorflow as tf

with tf.device("/gpu:2"):
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name="a")
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name="b")
    c = tf.matmul(a, b)

sess = tf.Session()
try:
    sess.run(c)
except tf.errors.InvalidArgumentError as error:
    print(error.message)
