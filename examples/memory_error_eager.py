# SPDX-License-Identifier: Apache-2.0
"""memory_error_eager.py: too little memory: what the error says, and that the program goes on."""

import tensorflow as tf

x = tf.ones([4096, 4096])
try:
    y = x + 1.0
except tf.errors.ResourceExhaustedError as error:
    print(error.message)
del x
print("after that:", (tf.ones([2, 2]) + 1.0).numpy().sum())
