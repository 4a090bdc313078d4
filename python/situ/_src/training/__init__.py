# SPDX-License-Identifier: Apache-2.0
"""__init__.py: optimizers, sessions with hooks, losses and metrics of TensorFlow 1."""
