# SPDX-License-Identifier: Apache-2.0
"""efficientnet.py: EfficientNet B0 to B7: depth, width and size grow together (Tan, 2019)."""

from __future__ import annotations

import math
from typing import Any

from situ._src.keras.applications import common
from situ._src.keras.applications.common import layers, named
from situ._src.keras.applications.mobilenet import correct_pad, divisible

# Size of the window, blocks, width, expansion, stride.
_STAGES = (
    (3, 1, 16, 1, 1),
    (3, 2, 24, 6, 2),
    (5, 2, 40, 6, 2),
    (3, 3, 80, 6, 2),
    (5, 3, 112, 6, 1),
    (5, 4, 192, 6, 2),
    (3, 1, 320, 6, 1),
)
_START = {
    "class_name": "VarianceScaling",
    "config": {"scale": 2.0, "mode": "fan_out", "distribution": "truncated_normal"},
}
_LAST = {
    "class_name": "VarianceScaling",
    "config": {"scale": 1.0 / 3.0, "mode": "fan_out", "distribution": "uniform"},
}
_DEVIATION = [0.229, 0.224, 0.225]


def _norm(x, activation, name, act_name):
    x = layers().BatchNormalization(axis=common.axis(), name=name)(x)
    return x if activation is None else layers().Activation(activation, name=act_name)(x)


def _excited(x, activation, width, squeeze_or_expand, name):
    """Channels weighted by what they are on the whole."""
    shape = (width, 1, 1) if common.axis() == 1 else (1, 1, width)
    part = layers().GlobalAveragePooling2D(name=name + "se_squeeze")(x)
    part = layers().Reshape(shape, name=name + "se_reshape")(part)
    part = layers().Conv2D(
        squeeze_or_expand,
        1,
        padding="same",
        activation=activation,
        kernel_initializer=_START,
        name=name + "se_reduce",
    )(part)
    part = layers().Conv2D(
        width,
        1,
        padding="same",
        activation="sigmoid",
        kernel_initializer=_START,
        name=name + "se_expand",
    )(part)
    return layers().Multiply(name=name + "se_excite")([x, part])


def _block(x, activation, drop, name, size, out, expansion, stride):
    """A block that widens, convolves by channel, weighs channels, and narrows again."""
    before, width = x, int(x.shape[common.axis()])
    wide = width * expansion
    if expansion != 1:
        x = layers().Conv2D(
            wide,
            1,
            padding="same",
            use_bias=False,
            kernel_initializer=_START,
            name=name + "expand_conv",
        )(x)
        x = _norm(x, activation, name + "expand_bn", name + "expand_activation")
    if stride == 2:
        x = layers().ZeroPadding2D(correct_pad(x, size), name=name + "dwconv_pad")(x)
    x = layers().DepthwiseConv2D(
        size,
        strides=stride,
        use_bias=False,
        name=name + "dwconv",
        padding="valid" if stride == 2 else "same",
        depthwise_initializer=_START,
    )(x)
    x = _norm(x, activation, name + "bn", name + "activation")
    x = _excited(x, activation, wide, max(1, int(width * 0.25)), name)
    x = layers().Conv2D(
        out,
        1,
        padding="same",
        use_bias=False,
        kernel_initializer=_START,
        name=name + "project_conv",
    )(x)
    x = _norm(x, None, name + "project_bn", None)
    if stride != 1 or width != out:
        return x
    if drop > 0:
        x = layers().Dropout(drop, noise_shape=(None, 1, 1, 1), name=name + "drop")(x)
    return layers().Add(name=name + "add")([x, before])


def _efficientnet(
    name,
    width,
    depth,
    default,
    dropout,
    include_top,
    weights,
    input_tensor,
    input_shape,
    pooling,
    classes,
    activation="swish",
    classifier_activation="softmax",
):
    common.check(weights, include_top, classes)
    inputs = common.image_input(input_tensor, input_shape, default, 32, include_top, weights)
    x = layers().Rescaling(1.0 / 255.0)(inputs)
    x = layers().Normalization(axis=common.axis())(x)
    if weights == "imagenet":
        x = layers().Rescaling([1.0 / math.sqrt(v) for v in _DEVIATION])(x)
    x = layers().ZeroPadding2D(correct_pad(x, 3), name="stem_conv_pad")(x)
    x = layers().Conv2D(
        divisible(32 * width),
        3,
        strides=2,
        use_bias=False,
        kernel_initializer=_START,
        name="stem_conv",
    )(x)
    x = _norm(x, activation, "stem_bn", "stem_activation")
    total = float(sum(math.ceil(s[1] * depth) for s in _STAGES))
    done = 0
    for stage, (size, count, out, expansion, stride) in enumerate(_STAGES, 1):
        for i in range(math.ceil(count * depth)):
            x = _block(
                x,
                activation,
                0.2 * done / total,
                f"block{stage}{chr(97 + i)}_",
                size,
                divisible(out * width),
                expansion,
                stride if i == 0 else 1,
            )
            done += 1
    x = layers().Conv2D(
        divisible(1280 * width),
        1,
        padding="same",
        use_bias=False,
        kernel_initializer=_START,
        name="top_conv",
    )(x)
    x = _norm(x, activation, "top_bn", "top_activation")
    if include_top:
        x = layers().GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers().Dropout(dropout, name="top_dropout")(x)
        x = layers().Dense(
            classes, activation=classifier_activation, kernel_initializer=_LAST, name="predictions"
        )(x)
    elif pooling == "avg":
        x = layers().GlobalAveragePooling2D(name="avg_pool")(x)
    elif pooling == "max":
        x = layers().GlobalMaxPooling2D(name="max_pool")(x)
    return common.finished(
        inputs, x, name, weights, (f"{name}.h5", f"{name}_notop.h5"), include_top
    )


def _make(name, width, depth, size, dropout):
    def network(
        include_top: bool = True,
        weights: Any = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = 1000,
        classifier_activation: Any = "softmax",
    ):
        return _efficientnet(
            name.lower(),
            width,
            depth,
            size,
            dropout,
            include_top,
            weights,
            input_tensor,
            input_shape,
            pooling,
            classes,
            classifier_activation=classifier_activation,
        )

    network.__name__, network.__qualname__ = name, name
    network.__doc__ = f"EfficientNet for images of {size} x {size}; it scales them itself."
    return named("efficientnet")(network)


for _row in (
    ("EfficientNetB0", 1.0, 1.0, 224, 0.2),
    ("EfficientNetB1", 1.0, 1.1, 240, 0.2),
    ("EfficientNetB2", 1.1, 1.2, 260, 0.3),
    ("EfficientNetB3", 1.2, 1.4, 300, 0.3),
    ("EfficientNetB4", 1.4, 1.8, 380, 0.4),
    ("EfficientNetB5", 1.6, 2.2, 456, 0.4),
    ("EfficientNetB6", 1.8, 2.6, 528, 0.5),
    ("EfficientNetB7", 2.0, 3.1, 600, 0.5),
):
    _make(*_row)
common.preprocessing(None, "efficientnet")
