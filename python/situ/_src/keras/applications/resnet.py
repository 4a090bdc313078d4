# SPDX-License-Identifier: Apache-2.0
"""resnet.py: residual networks (He and others, 2015; with the activation before, 2016)."""

from __future__ import annotations

from typing import Any

from situ._src.keras.applications import common
from situ._src.keras.applications.common import layers, named


def _norm(x, name):
    return layers().BatchNormalization(axis=common.axis(), epsilon=1.001e-5, name=name)(x)


def _relu(x, name):
    return layers().Activation("relu", name=name)(x)


def _block1(x, filters, stride, has_shortcut, name):
    """Builds a residual block with the activation after the addition (version 1)."""
    before = x
    if has_shortcut:
        before = layers().Conv2D(4 * filters, 1, strides=stride, name=name + "_0_conv")(x)
        before = _norm(before, name + "_0_bn")
    x = layers().Conv2D(filters, 1, strides=stride, name=name + "_1_conv")(x)
    x = _relu(_norm(x, name + "_1_bn"), name + "_1_relu")
    x = layers().Conv2D(filters, 3, padding="same", name=name + "_2_conv")(x)
    x = _relu(_norm(x, name + "_2_bn"), name + "_2_relu")
    x = _norm(layers().Conv2D(4 * filters, 1, name=name + "_3_conv")(x), name + "_3_bn")
    return _relu(layers().Add(name=name + "_add")([before, x]), name + "_out")


def _block2(x, filters, stride, has_shortcut, name):
    """Builds a residual block with the activation before the convolutions (version 2)."""
    ready = _relu(_norm(x, name + "_preact_bn"), name + "_preact_relu")
    if has_shortcut:
        before = layers().Conv2D(4 * filters, 1, strides=stride, name=name + "_0_conv")(ready)
    else:
        before = layers().MaxPooling2D(1, strides=stride)(x) if stride > 1 else x
    x = layers().Conv2D(filters, 1, strides=1, use_bias=False, name=name + "_1_conv")(ready)
    x = _relu(_norm(x, name + "_1_bn"), name + "_1_relu")
    x = layers().ZeroPadding2D(((1, 1), (1, 1)), name=name + "_2_pad")(x)
    x = layers().Conv2D(filters, 3, strides=stride, use_bias=False, name=name + "_2_conv")(x)
    x = _relu(_norm(x, name + "_2_bn"), name + "_2_relu")
    x = layers().Conv2D(4 * filters, 1, name=name + "_3_conv")(x)
    return layers().Add(name=name + "_out")([before, x])


def _stacks1(x, counts):
    for stack, (count, filters) in enumerate(zip(counts, (64, 128, 256, 512)), 2):
        for i in range(1, count + 1):
            x = _block1(
                x, filters, 2 if i == 1 and stack > 2 else 1, i == 1, f"conv{stack}_block{i}"
            )
    return x


def _stacks2(x, counts):
    for stack, (count, filters) in enumerate(zip(counts, (64, 128, 256, 512)), 2):
        for i in range(1, count + 1):
            x = _block2(
                x, filters, 2 if i == count and stack < 5 else 1, i == 1, f"conv{stack}_block{i}"
            )
    return x


def _resnet(
    name,
    counts,
    early,
    include_top,
    weights,
    input_tensor,
    input_shape,
    pooling,
    classes,
    classifier_activation,
):
    """Builds a ResNet; `early`: blocks of version 2."""
    common.check(weights, include_top, classes)
    inputs = common.image_input(input_tensor, input_shape, 224, 32, include_top, weights)
    x = layers().ZeroPadding2D(((3, 3), (3, 3)), name="conv1_pad")(inputs)
    x = layers().Conv2D(64, 7, strides=2, name="conv1_conv")(x)
    if not early:
        x = _relu(_norm(x, "conv1_bn"), "conv1_relu")
    x = layers().ZeroPadding2D(((1, 1), (1, 1)), name="pool1_pad")(x)
    x = layers().MaxPooling2D(3, strides=2, name="pool1_pool")(x)
    x = (_stacks2 if early else _stacks1)(x, counts)
    if early:
        x = _relu(_norm(x, "post_bn"), "post_relu")
    if include_top:
        x = layers().GlobalAveragePooling2D(name="avg_pool")(x)
        x = layers().Dense(classes, activation=classifier_activation, name="predictions")(x)
    else:
        x = _pooled(x, pooling)
    start = f"{name}_weights_tf_dim_ordering_tf_kernels"
    return common.finished(
        inputs, x, name, weights, (f"{start}.h5", f"{start}_notop.h5"), include_top
    )


def _pooled(x, pooling):
    if pooling == "avg":
        return layers().GlobalAveragePooling2D(name="avg_pool")(x)
    return layers().GlobalMaxPooling2D(name="max_pool")(x) if pooling == "max" else x


def _make(class_name, counts, early):
    name = class_name.lower()

    def network(
        include_top: bool = True,
        weights: Any = "imagenet",
        input_tensor: Any = None,
        input_shape: Any = None,
        pooling: str | None = None,
        classes: int = 1000,
        classifier_activation: Any = "softmax",
    ):
        return _resnet(
            name,
            counts,
            early,
            include_top,
            weights,
            input_tensor,
            input_shape,
            pooling,
            classes,
            classifier_activation,
        )

    network.__name__, network.__qualname__ = class_name, class_name
    network.__doc__ = f"A residual network of {sum(counts) * 3 + 2} layers."
    families = ["resnet_v2"] if early else ["resnet"]
    return named(*families, *(["resnet50"] if class_name == "ResNet50" else []))(network)


for _word, _counts in (
    ("ResNet50", (3, 4, 6, 3)),
    ("ResNet101", (3, 4, 23, 3)),
    ("ResNet152", (3, 8, 36, 3)),
):
    _make(_word, _counts, False)
    _make(_word + "V2", _counts, True)
common.preprocessing("caffe", "resnet", "resnet50")
common.preprocessing("tf", "resnet_v2")
