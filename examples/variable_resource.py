# SPDX-License-Identifier: Apache-2.0
"""variable_resource.py: what was read of a variable by its handle does not change afterwards."""

import tensorflow as tf

total = tf.get_variable("total", initializer=[0.0, 0.0], use_resource=True)
before = total.value()
with tf.control_dependencies([before]):
    add = total.assign_add([1.0, 10.0])
with tf.control_dependencies([add]):
    after = total.value()

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(2):
        print(*sess.run([before, after]))
