# SPDX-License-Identifier: Apache-2.0
"""missing_eager.py: a GPU that is not there."""

import tensorflow as tf

try:
    with tf.device("/gpu:2"):
        tf.constant([1.0, 2.0])
except RuntimeError as error:
    print(error)
