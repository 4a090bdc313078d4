# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.keras.applications: well-known networks for images, as functional models."""
