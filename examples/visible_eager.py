# SPDX-License-Identifier: Apache-2.0
"""visible_eager.py: which GPUs a program sees, chosen by itself."""

import tensorflow as tf

gpus = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(gpus[2:], "GPU")

print(len(gpus), "GPUs in the machine")
for device in tf.config.list_logical_devices("GPU"):
    print(device.name)
