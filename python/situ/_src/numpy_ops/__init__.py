# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.experimental.numpy: functions of NumPy that compute with tensors."""
