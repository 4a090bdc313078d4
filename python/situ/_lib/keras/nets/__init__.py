# SPDX-License-Identifier: Apache-2.0
"""__init__.py: tf.keras.applications: well-known networks for images, as functional models."""
from situ._lib.keras.nets import densenet, efficientnet, inception, mobilenet, resnet, vgg, xception

PARTS = [densenet, efficientnet, inception, mobilenet, resnet, vgg, xception]
