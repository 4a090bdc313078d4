# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.signal."""
