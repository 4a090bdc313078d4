# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.profiler: execution traces and model analysis."""
