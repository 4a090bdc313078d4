# SPDX-License-Identifier: Apache-2.0
"""densenet.py: DenseNet: each layer reads the outputs of all previous layers of its block (Huang
and others, 2016)."""

from __future__ import annotations

from typing import Any

from situ._src.keras.applications import common
from situ._src.keras.applications.common import layers, named


def _norm(x, name):
    x = layers().BatchNormalization(axis=common.axis(), epsilon=1.001e-5, name=name + "bn")(x)
    return layers().Activation("relu", name=name + "relu")(x)


def _conv_block(x, growth, name):
    result = _norm(x, name + "_0_")
    result = layers().Conv2D(4 * growth, 1, use_bias=False, name=name + "_1_conv")(result)
    result = _norm(result, name + "_1_")
    result = layers().Conv2D(growth, 3, padding="same", use_bias=False, name=name + "_2_conv")(
        result
    )
    return layers().Concatenate(axis=common.axis(), name=name + "_concat")([x, result])


def _transition(x, name):
    x = _norm(x, name + "_")
    width = int(x.shape[common.axis()]) // 2
    x = layers().Conv2D(width, 1, use_bias=False, name=name + "_conv")(x)
    return layers().AveragePooling2D(2, strides=2, name=name + "_pool")(x)


def _densenet(
    name,
    blocks,
    include_top,
    weights,
    input_tensor,
    input_shape,
    pooling,
    classes,
    classifier_activation,
):
    common.check(weights, include_top, classes)
    inputs = common.image_input(input_tensor, input_shape, 224, 32, include_top, weights)
    x = layers().ZeroPadding2D(((3, 3), (3, 3)))(inputs)
    x = layers().Conv2D(64, 7, strides=2, use_bias=False, name="conv1/conv")(x)
    x = layers().BatchNormalization(axis=common.axis(), epsilon=1.001e-5, name="conv1/bn")(x)
    x = layers().Activation("relu", name="conv1/relu")(x)
    x = layers().ZeroPadding2D(((1, 1), (1, 1)))(x)
    x = layers().MaxPooling2D(3, strides=2, name="pool1")(x)
    for number, count in enumerate(blocks, 2):
        for i in range(1, count + 1):
            x = _conv_block(x, 32, f"conv{number}_block{i}")
        if number < 5:
            x = _transition(x, f"pool{number}")
    x = layers().BatchNormalization(axis=common.axis(), epsilon=1.001e-5, name="bn")(x)
    x = layers().Activation("relu", name="relu")(x)
    if include_top:
        x = layers().GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers().Dense(classes, activation=classifier_activation, name="predictions")(x)
    elif pooling == "avg":
        x = layers().GlobalAveragePooling2D(name="avg_pool")(x)
    elif pooling == "max":
        x = layers().GlobalMaxPooling2D(name="max_pool")(x)
    start = f"{name}_weights_tf_dim_ordering_tf_kernels"
    return common.finished(
        inputs, x, name, weights, (f"{start}.h5", f"{start}_notop.h5"), include_top
    )


def _make(name, blocks):
    def network(
        include_top: bool = True,
        weights: Any = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = 1000,
        classifier_activation: Any = "softmax",
    ):
        return _densenet(
            name.lower(),
            blocks,
            include_top,
            weights,
            input_tensor,
            input_shape,
            pooling,
            classes,
            classifier_activation,
        )

    network.__name__, network.__qualname__ = name, name
    network.__doc__ = f"A dense network with blocks of {blocks} layers."
    return named("densenet")(network)


for _word, _blocks in (
    ("DenseNet121", (6, 12, 24, 16)),
    ("DenseNet169", (6, 12, 32, 32)),
    ("DenseNet201", (6, 12, 48, 32)),
):
    _make(_word, _blocks)
common.preprocessing("torch", "densenet")
