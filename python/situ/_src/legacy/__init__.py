# SPDX-License-Identifier: Apache-2.0
"""__init__.py: TensorFlow 1: tf.contrib, slim, tf.layers, queues, readers, feature columns."""
