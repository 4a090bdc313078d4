# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.profiler, and traces of what ran where and when."""
