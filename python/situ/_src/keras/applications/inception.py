# SPDX-License-Identifier: Apache-2.0
"""inception.py: InceptionV3 and InceptionResNetV2: windows of several sizes side by side
(Szegedy and others, 2015 and 2016)."""

from __future__ import annotations

from typing import Any

from situ._src.keras.applications import common
from situ._src.keras.applications.common import layers, named
from situ._src.keras.layer import Layer
from situ._src.keras.registry import register_keras_serializable


def _conv(
    x, filters, size, strides=1, padding="same", activation="relu", use_bias=False, name=None
):
    x = layers().Conv2D(
        filters, size, strides=strides, padding=padding, use_bias=use_bias, name=name
    )(x)
    if not use_bias:
        x = layers().BatchNormalization(
            axis=common.axis(), scale=False, name=name and name + "_bn"
        )(x)
    if activation is not None:
        x = layers().Activation(activation, name=name and name + "_ac")(x)
    return x


def _chain(x, *steps):
    """Convolutions one after the other: (filters, size) or (filters, size, strides, padding)."""
    for step in steps:
        x = _conv(x, *step)
    return x


def _joined(parts, name=None):
    return layers().Concatenate(axis=common.axis(), name=name)(parts)


def _mean(x):
    return layers().AveragePooling2D(3, strides=1, padding="same")(x)


def _most(x):
    return layers().MaxPooling2D(3, strides=2)(x)


SHRINK = (3, 2, "valid")


def _stem(x):
    x = _most(_chain(x, (32, *SHRINK), (32, 3, 1, "valid"), (64, 3)))
    return _most(_chain(x, (80, 1, 1, "valid"), (192, 3, 1, "valid")))


def _wide(x, number):
    """A block of the last stage of InceptionV3."""
    one = _conv(x, 320, 1)
    three = _conv(x, 384, 1)
    three = _joined([_conv(three, 384, (1, 3)), _conv(three, 384, (3, 1))], f"mixed9_{number}")
    double = _chain(x, (448, 1), (384, 3))
    double = _joined([_conv(double, 384, (1, 3)), _conv(double, 384, (3, 1))])
    pool = _conv(_mean(x), 192, 1)
    return _joined([one, three, double, pool], f"mixed{9 + number}")


def _long(x, width, number):
    """A block of the middle stage of InceptionV3."""
    one = _conv(x, 192, 1)
    seven = _chain(x, (width, 1), (width, (1, 7)), (192, (7, 1)))
    double = _chain(x, (width, 1), (width, (7, 1)), (width, (1, 7)), (width, (7, 1)), (192, (1, 7)))
    pool = _conv(_mean(x), 192, 1)
    return _joined([one, seven, double, pool], f"mixed{number}")


def _top(x, include_top, pooling, classes, classifier_activation):
    if not include_top:
        return common.pooled(x, pooling)
    x = layers().GlobalAveragePooling2D(name="avg_pool")(x)
    return layers().Dense(classes, activation=classifier_activation, name="predictions")(x)


@named("inception_v3")
def InceptionV3(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
):
    """Eleven mixed blocks."""
    common.check(weights, include_top, classes)
    inputs = common.image_input(input_tensor, input_shape, 299, 75, include_top, weights)
    x = _stem(inputs)
    for number, width in enumerate((32, 64, 64)):
        one = _conv(x, 64, 1)
        five = _chain(x, (48, 1), (64, 5))
        double = _chain(x, (64, 1), (96, 3), (96, 3))
        pool = _conv(_mean(x), width, 1)
        x = _joined([one, five, double, pool], f"mixed{number}")
    x = _joined(
        [_conv(x, 384, *SHRINK), _chain(x, (64, 1), (96, 3), (96, *SHRINK)), _most(x)], "mixed3"
    )
    for number, width in enumerate((128, 160, 160, 192), 4):
        x = _long(x, width, number)
    three = _chain(x, (192, 1), (320, *SHRINK))
    seven = _chain(x, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, *SHRINK))
    x = _joined([three, seven, _most(x)], "mixed8")
    x = _wide(_wide(x, 0), 1)
    x = _top(x, include_top, pooling, classes, classifier_activation)
    start = "inception_v3_weights_tf_dim_ordering_tf_kernels"
    return common.finished(
        inputs, x, "inception_v3", weights, (f"{start}.h5", f"{start}_notop.h5"), include_top
    )


@register_keras_serializable("Keras")
class CustomScaleLayer(Layer):
    """The first of two tensors plus a part of the second."""

    def __init__(self, scale, **kwargs) -> None:
        super().__init__(**kwargs)
        self.scale = scale

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "scale": self.scale}

    def call(self, inputs):
        return inputs[0] + inputs[1] * self.scale


_BLOCKS = {
    "block35": ([(32, 1)], [(32, 1), (32, 3)], [(32, 1), (48, 3), (64, 3)]),
    "block17": ([(192, 1)], [(128, 1), (160, (1, 7)), (192, (7, 1))]),
    "block8": ([(192, 1)], [(192, 1), (224, (1, 3)), (256, (3, 1))]),
}


def _residual(x, scale, kind, number, activation="relu"):
    name = f"{kind}_{number}"
    mixed = _joined([_chain(x, *steps) for steps in _BLOCKS[kind]], name + "_mixed")
    up = _conv(
        mixed, int(x.shape[common.axis()]), 1, activation=None, use_bias=True, name=name + "_conv"
    )
    x = CustomScaleLayer(scale)([x, up])
    return x if activation is None else layers().Activation(activation, name=name + "_ac")(x)


@named("inception_resnet_v2")
def InceptionResNetV2(
    include_top: bool = True,
    weights: Any = "imagenet",
    input_tensor: Any = None,
    input_shape: Any = None,
    pooling: str | None = None,
    classes: int = 1000,
    classifier_activation: Any = "softmax",
):
    """Builds mixed blocks with residual connections."""
    common.check(weights, include_top, classes)
    inputs = common.image_input(input_tensor, input_shape, 299, 75, include_top, weights)
    x = _stem(inputs)
    x = _joined(
        [
            _conv(x, 96, 1),
            _chain(x, (48, 1), (64, 5)),
            _chain(x, (64, 1), (96, 3), (96, 3)),
            _conv(_mean(x), 64, 1),
        ],
        "mixed_5b",
    )
    for i in range(1, 11):
        x = _residual(x, 0.17, "block35", i)
    x = _joined(
        [_conv(x, 384, *SHRINK), _chain(x, (256, 1), (256, 3), (384, *SHRINK)), _most(x)],
        "mixed_6a",
    )
    for i in range(1, 21):
        x = _residual(x, 0.1, "block17", i)
    x = _joined(
        [
            _chain(x, (256, 1), (384, *SHRINK)),
            _chain(x, (256, 1), (288, *SHRINK)),
            _chain(x, (256, 1), (288, 3), (320, *SHRINK)),
            _most(x),
        ],
        "mixed_7a",
    )
    for i in range(1, 10):
        x = _residual(x, 0.2, "block8", i)
    x = _residual(x, 1.0, "block8", 10, None)
    x = _conv(x, 1536, 1, name="conv_7b")
    x = _top(x, include_top, pooling, classes, classifier_activation)
    start = "inception_resnet_v2_weights_tf_dim_ordering_tf_kernels"
    return common.finished(
        inputs, x, "inception_resnet_v2", weights, (f"{start}.h5", f"{start}_notop.h5"), include_top
    )


common.preprocessing("tf", "inception_v3", "inception_resnet_v2")
