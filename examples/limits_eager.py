# SPDX-License-Identifier: Apache-2.0
"""limits_eager.py: a bound in MiB, and one GPU as two."""

import tensorflow as tf

gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.set_logical_device_configuration(
    gpu,
    [
        tf.config.LogicalDeviceConfiguration(memory_limit=1024),
        tf.config.LogicalDeviceConfiguration(memory_limit=2048),
    ],
)

for device in tf.config.list_logical_devices("GPU"):
    info = tf.config.experimental.get_memory_info(device.name)
    print(device.name, "limit", info["limit"] >> 20, "MiB")
