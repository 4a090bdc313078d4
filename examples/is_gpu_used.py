# SPDX-License-Identifier: Apache-2.0
"""is_gpu_used.py: is my GPU used? Three ways to know."""

import tensorflow as tf

print(len(tf.config.list_physical_devices("GPU")), "GPUs, available:", tf.test.is_gpu_available())

x = tf.ones([1000, 1000])
y = tf.matmul(x, x)
print("computed on", y.device)
for gpu in tf.config.list_logical_devices("GPU"):
    peak = tf.config.experimental.get_memory_info(gpu.name)["peak"]
    print(gpu.name, "was used" if peak else "was idle")
