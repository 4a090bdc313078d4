# SPDX-License-Identifier: Apache-2.0
"""fraction.py: a bound for the memory of every GPU, as a part of it."""

import tensorflow as tf

options = tf.GPUOptions(per_process_gpu_memory_fraction=0.4)
with tf.Session(config=tf.ConfigProto(gpu_options=options)) as sess:
    sess.run(tf.constant(1.0) + 1.0)
    info = tf.config.experimental.get_memory_info("GPU:0")
    print(f"limit {info['limit'] / 2**30:.1f} GiB, reserved {info['reserved'] / 2**30:.1f} GiB")
