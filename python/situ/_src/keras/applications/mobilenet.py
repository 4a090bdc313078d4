# SPDX-License-Identifier: Apache-2.0
"""mobilenet.py: MobileNet and MobileNetV2: convolutions by channel, for small machines (Howard
and others, 2017; Sandler and others, 2018)."""

from __future__ import annotations

from typing import Any

from situ._src.keras import context
from situ._src.keras.applications import common
from situ._src.keras.applications.common import layers, named


def _rows(inputs, default=224):
    """The size in the name of the network."""
    size = inputs.shape.as_list()[2 if context.setting("format") == "channels_first" else 1]
    return default if size not in (96, 128, 160, 192, 224) else size


def _shown_rows(input_shape, inputs):
    """As TensorFlow names it: the size of the input, or 224 where it is free."""
    size = inputs.shape.as_list()[2 if context.setting("format") == "channels_first" else 1]
    return 224 if input_shape is None or size is None else size


def correct_pad(x, size):
    """Returns the padding with which a "valid" window of stride 2 equals a "same" one."""
    first = context.setting("format") == "channels_first"
    shape = x.shape.as_list()[2:4] if first else x.shape.as_list()[1:3]
    less = [1 if n is None else 1 - n % 2 for n in shape]
    return tuple((size // 2 - k, size // 2) for k in less)


def _depthwise(x, filters, alpha, multiplier, stride, number):
    def norm(x, name):
        x = layers().BatchNormalization(axis=common.axis(), name=name + "_bn")(x)
        return layers().ReLU(6.0, name=name + "_relu")(x)

    if stride > 1:
        x = layers().ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{number}")(x)
    x = layers().DepthwiseConv2D(
        3,
        padding="same" if stride == 1 else "valid",
        strides=stride,
        depth_multiplier=multiplier,
        use_bias=False,
        name=f"conv_dw_{number}",
    )(x)
    x = norm(x, f"conv_dw_{number}")
    x = layers().Conv2D(
        int(filters * alpha), 1, padding="same", use_bias=False, name=f"conv_pw_{number}"
    )(x)
    return norm(x, f"conv_pw_{number}")


@named("mobilenet")
def MobileNet(
    input_shape: Any = None,
    alpha: float = 1.0,
    depth_multiplier: int = 1,
    dropout: float | None = 1e-3,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
):
    """13 blocks of a convolution by channel and one of channels."""
    common.check(weights, include_top, classes)
    inputs = common.image_input(input_tensor, input_shape, 224, 32, include_top)
    x = layers().Conv2D(
        int(32 * alpha), 3, padding="same", use_bias=False, strides=2, name="conv1"
    )(inputs)
    x = layers().BatchNormalization(axis=common.axis(), name="conv1_bn")(x)
    x = layers().ReLU(6.0, name="conv1_relu")(x)
    widths = (64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024)
    for number, width in enumerate(widths, 1):
        stride = 2 if number in (2, 4, 6, 12) else 1
        x = _depthwise(x, width, alpha, depth_multiplier, stride, number)
    if include_top:
        x = layers().GlobalAveragePooling2D(keepdims=True)(x)
        x = layers().Dropout(dropout, name="dropout")(x)
        x = layers().Conv2D(classes, 1, padding="same", name="conv_preds")(x)
        x = layers().Reshape((classes,), name="reshape_2")(x)
        x = layers().Activation(classifier_activation, name="predictions")(x)
    else:
        x = common.pooled(x, pooling)
    rows = _shown_rows(input_shape, inputs)
    text = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0"}.get(alpha, "2_5")
    start = f"mobilenet_{text}_{_rows(inputs)}_tf"
    return common.finished(
        inputs,
        x,
        f"mobilenet_{alpha:0.2f}_{rows}",
        weights,
        (f"{start}.h5", f"{start}_no_top.h5"),
        include_top,
    )


def divisible(value, by=8):
    """The nearest multiple, but not much less."""
    result = max(by, int(value + by / 2) // by * by)
    return result + by if result < 0.9 * value else result


def _inverted(x, expansion, stride, alpha, filters, number):
    width, before = int(x.shape[common.axis()]), x
    out = divisible(int(filters * alpha))
    prefix = f"block_{number}_" if number else "expanded_conv_"

    def norm(x, name):
        return layers().BatchNormalization(
            axis=common.axis(), epsilon=1e-3, momentum=0.999, name=prefix + name
        )(x)

    if number:
        x = layers().Conv2D(
            expansion * width, 1, padding="same", use_bias=False, name=prefix + "expand"
        )(x)
        x = layers().ReLU(6.0, name=prefix + "expand_relu")(norm(x, "expand_BN"))
    if stride == 2:
        x = layers().ZeroPadding2D(correct_pad(x, 3), name=prefix + "pad")(x)
    x = layers().DepthwiseConv2D(
        3,
        strides=stride,
        use_bias=False,
        name=prefix + "depthwise",
        padding="same" if stride == 1 else "valid",
    )(x)
    x = layers().ReLU(6.0, name=prefix + "depthwise_relu")(norm(x, "depthwise_BN"))
    x = layers().Conv2D(out, 1, padding="same", use_bias=False, name=prefix + "project")(x)
    x = norm(x, "project_BN")
    return layers().Add(name=prefix + "add")([before, x]) if width == out and stride == 1 else x


@named("mobilenet_v2")
def MobileNetV2(
    input_shape: Any = None,
    alpha: float = 1.0,
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
):
    """17 blocks that widen, convolve by channel, and narrow again."""
    common.check(weights, include_top, classes)
    inputs = common.image_input(input_tensor, input_shape, 224, 32, include_top)
    x = layers().Conv2D(
        divisible(32 * alpha), 3, strides=2, padding="same", use_bias=False, name="Conv1"
    )(inputs)
    x = layers().BatchNormalization(
        axis=common.axis(), epsilon=1e-3, momentum=0.999, name="bn_Conv1"
    )(x)
    x = layers().ReLU(6.0, name="Conv1_relu")(x)
    number = 0
    for filters, count, stride, expansion in (
        (16, 1, 1, 1),
        (24, 2, 2, 6),
        (32, 3, 2, 6),
        (64, 4, 2, 6),
        (96, 3, 1, 6),
        (160, 3, 2, 6),
        (320, 1, 1, 6),
    ):
        for i in range(count):
            x = _inverted(x, expansion, stride if i == 0 else 1, alpha, filters, number)
            number += 1
    last = divisible(1280 * alpha) if alpha > 1.0 else 1280
    x = layers().Conv2D(last, 1, use_bias=False, name="Conv_1")(x)
    x = layers().BatchNormalization(
        axis=common.axis(), epsilon=1e-3, momentum=0.999, name="Conv_1_bn"
    )(x)
    x = layers().ReLU(6.0, name="out_relu")(x)
    if include_top:
        x = layers().GlobalAveragePooling2D()(x)
        x = layers().Dense(classes, activation=classifier_activation, name="predictions")(x)
    else:
        x = common.pooled(x, pooling)
    rows = _shown_rows(input_shape, inputs)
    start = f"mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{float(alpha)}_{_rows(inputs)}"
    return common.finished(
        inputs,
        x,
        f"mobilenetv2_{alpha:0.2f}_{rows}",
        weights,
        (f"{start}.h5", f"{start}_no_top.h5"),
        include_top,
    )


common.preprocessing("tf", "mobilenet", "mobilenet_v2")
