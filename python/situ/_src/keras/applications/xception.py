# SPDX-License-Identifier: Apache-2.0
"""xception.py: Xception: separable convolutions with residual connections (Chollet, 2016)."""

from __future__ import annotations

from typing import Any

from situ._src.keras.applications import common
from situ._src.keras.applications.common import layers, named


def _norm(x, name=None):
    return layers().BatchNormalization(axis=common.axis(), name=name)(x)


def _separable(x, filters, name):
    x = layers().SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return _norm(x, name + "_bn")


def _relu(x, name):
    return layers().Activation("relu", name=name)(x)


def _shrinking(x, widths, number):
    """A block that halves the image; the short way is a convolution."""
    start = f"block{number}_sepconv"
    before = layers().Conv2D(widths[1], 1, strides=2, padding="same", use_bias=False)(x)
    before = _norm(before)
    if number > 2:
        x = _relu(x, start + "1_act")
    x = _separable(x, widths[0], start + "1")
    x = _separable(_relu(x, start + "2_act"), widths[1], start + "2")
    x = layers().MaxPooling2D(3, strides=2, padding="same", name=f"block{number}_pool")(x)
    return layers().Add()([x, before])


@named("xception")
def Xception(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
):
    """36 convolutions in 14 blocks."""
    common.check(weights, include_top, classes)
    inputs = common.image_input(input_tensor, input_shape, 299, 71, include_top, weights)
    x = layers().Conv2D(32, 3, strides=2, use_bias=False, name="block1_conv1")(inputs)
    x = _relu(_norm(x, "block1_conv1_bn"), "block1_conv1_act")
    x = layers().Conv2D(64, 3, use_bias=False, name="block1_conv2")(x)
    x = _relu(_norm(x, "block1_conv2_bn"), "block1_conv2_act")
    for number, width in ((2, 128), (3, 256), (4, 728)):
        x = _shrinking(x, (width, width), number)
    for number in range(5, 13):
        before = x
        for i in (1, 2, 3):
            x = _relu(x, f"block{number}_sepconv{i}_act")
            x = _separable(x, 728, f"block{number}_sepconv{i}")
        x = layers().Add()([x, before])
    x = _shrinking(x, (728, 1024), 13)
    for i, width in ((1, 1536), (2, 2048)):
        x = _relu(_separable(x, width, f"block14_sepconv{i}"), f"block14_sepconv{i}_act")
    if include_top:
        x = layers().GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers().Dense(classes, activation=classifier_activation, name="predictions")(x)
    else:
        x = common.pooled(x, pooling)
    start = "xception_weights_tf_dim_ordering_tf_kernels"
    return common.finished(
        inputs, x, "xception", weights, (f"{start}.h5", f"{start}_notop.h5"), include_top
    )


common.preprocessing("tf", "xception")
