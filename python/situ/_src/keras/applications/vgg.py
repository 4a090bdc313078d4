# SPDX-License-Identifier: Apache-2.0
"""vgg.py: VGG16 and VGG19: blocks of 3x3 convolutions (Simonyan and Zisserman, 2014)."""

from __future__ import annotations

from typing import Any

from situ._src.keras.applications import common
from situ._src.keras.applications.common import layers, named


def _vgg(
    name,
    sizes,
    include_top,
    weights,
    input_tensor,
    input_shape,
    pooling,
    classes,
    classifier_activation,
):
    common.check(weights, include_top, classes)
    inputs = x = common.image_input(input_tensor, input_shape, 224, 32, include_top, weights)
    for block, (count, filters) in enumerate(zip(sizes, (64, 128, 256, 512, 512)), 1):
        for i in range(1, count + 1):
            x = layers().Conv2D(
                filters, 3, activation="relu", padding="same", name=f"block{block}_conv{i}"
            )(x)
        x = layers().MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
    if include_top:
        x = layers().Flatten(name="flatten")(x)
        x = layers().Dense(4096, activation="relu", name="fc1")(x)
        x = layers().Dense(4096, activation="relu", name="fc2")(x)
        x = layers().Dense(classes, activation=classifier_activation, name="predictions")(x)
    else:
        x = common.pooled(x, pooling)
    start = f"{name}_weights_tf_dim_ordering_tf_kernels"
    return common.finished(
        inputs, x, name, weights, (f"{start}.h5", f"{start}_notop.h5"), include_top
    )


@named("vgg16")
def VGG16(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
):
    """13 convolutions and 3 dense layers."""
    return _vgg(
        "vgg16",
        (2, 2, 3, 3, 3),
        include_top,
        weights,
        input_tensor,
        input_shape,
        pooling,
        classes,
        classifier_activation,
    )


@named("vgg19")
def VGG19(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
):
    """16 convolutions and 3 dense layers."""
    return _vgg(
        "vgg19",
        (2, 2, 4, 4, 4),
        include_top,
        weights,
        input_tensor,
        input_shape,
        pooling,
        classes,
        classifier_activation,
    )


common.preprocessing("caffe", "vgg16", "vgg19")
