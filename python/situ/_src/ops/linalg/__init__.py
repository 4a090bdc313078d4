# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.linalg beyond linalg_ops.py: functions of matrices and linear operators."""
