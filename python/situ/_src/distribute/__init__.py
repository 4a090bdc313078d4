# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.distribute: replicas of a computation on several devices."""
