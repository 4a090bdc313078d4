# SPDX-License-Identifier: Apache-2.0
"""tf.experimental.numpy: functions of NumPy that compute with tensors."""
