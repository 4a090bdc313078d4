# SPDX-License-Identifier: Apache-2.0
"""slim_nets.py: tf.contrib.slim.nets: AlexNet, VGG, OverFeat and ResNets, with the scopes and
the names of variables that their checkpoints have."""

from __future__ import annotations

import collections
from typing import Any

from situ._src.framework.api import V1
from situ._src.framework.keywords import unsupported
from situ._src.legacy import arg_scope, slim
from situ._src.ops import init_ops
from situ._src.ops.array_ops import op
from situ._src.variables import variable_scope

PLACES = ("contrib.slim.nets.", "contrib.slim.python.slim.nets.")


def layer(name):
    return V1["contrib.layers." + name]


def named(module):
    def record(function):
        for place in PLACES:
            V1[f"{place}{module}.{function.__name__}"] = function
        return function

    return record


def args_of(functions, **kwargs):
    return arg_scope.arg_scope([layer(n) for n in functions], **kwargs)


def _squeeze(net, end_points, scope, wanted):
    if wanted:
        net = op("Squeeze", net, [1, 2], name=scope + "/squeezed")
        end_points[scope] = net
    return net


def _regularized(weight_decay, **more):
    """Returns the arg_scope of networks with weight decay."""
    kwargs = {
        "weights_regularizer": V1["contrib.layers.l2_regularizer"](weight_decay),
        "activation_fn": lambda x: op("Relu", x),
        **more,
    }
    return args_of(["conv2d", "fully_connected"], **kwargs)


# AlexNet, VGG, OverFeat: convolutions, then fully connected layers as convolutions


def _plain_scope(module, name):
    @named(module)
    def arg_scope(weight_decay=0.0005):
        with _regularized(
            weight_decay, biases_initializer=init_ops.Constant(0.1 if module == "alexnet" else 0.0)
        ):
            with args_of(["conv2d"], padding="SAME") as result:
                return result

    for place in PLACES:
        V1[f"{place}{module}.{name}"] = arg_scope


_plain_scope("alexnet", "alexnet_v2_arg_scope")
_plain_scope("vgg", "vgg_arg_scope")
_plain_scope("overfeat", "overfeat_arg_scope")


def _head(net, sizes, kernel, num_classes, training, keep, padding="VALID"):
    """fc6, fc7, fc8."""
    conv, dropout = layer("conv2d"), layer("dropout")
    net = conv(net, sizes[0], kernel, padding=padding, scope="fc6")
    net = dropout(net, keep, is_training=training, scope="dropout6")
    net = conv(net, sizes[1], [1, 1], scope="fc7")
    net = dropout(net, keep, is_training=training, scope="dropout7")
    return conv(
        net,
        num_classes,
        [1, 1],
        activation_fn=None,
        normalizer_fn=None,
        scope="fc8",
        biases_initializer=init_ops.Zeros,
    )


def _collected(scope, default, inputs, body, squeeze):
    with variable_scope.variable_scope(scope, default, [inputs]) as here:
        key = here.original_name_scope + "_end_points"
        with args_of(["conv2d", "fully_connected", "max_pool2d"], outputs_collections=[key]):
            net = body(inputs)
        points = slim.convert_collection_to_dict(key)
        return _squeeze(net, points, here.name + "/fc8", squeeze), points


@named("alexnet")
def alexnet_v2(
    inputs: Any,
    num_classes: int | None = 1000,
    is_training: Any = True,
    dropout_keep_prob=0.5,
    spatial_squeeze: bool = True,
    scope="alexnet_v2",
):
    """Returns (logits, end points) of AlexNet for images of 224 pixels.

    Args:
      inputs: Batch of images.
      num_classes: Number of classes.
      is_training: Whether the network is trained.
      dropout_keep_prob: Probability to keep an element.
      spatial_squeeze: Whether to remove dimensions of size 1.
      scope: Name of the variable scope.
    """

    def body(x):
        conv, pool = layer("conv2d"), layer("max_pool2d")
        x = conv(x, 64, [11, 11], 4, padding="VALID", scope="conv1")
        x = pool(x, [3, 3], 2, scope="pool1")
        x = pool(conv(x, 192, [5, 5], scope="conv2"), [3, 3], 2, scope="pool2")
        x = conv(x, 384, [3, 3], scope="conv3")
        x = conv(x, 384, [3, 3], scope="conv4")
        x = pool(conv(x, 256, [3, 3], scope="conv5"), [3, 3], 2, scope="pool5")
        with args_of(
            ["conv2d"],
            weights_initializer=init_ops.TruncatedNormal(0.0, 0.005),
            biases_initializer=init_ops.Constant(0.1),
        ):
            return _head(x, (4096, 4096), [5, 5], num_classes, is_training, dropout_keep_prob)

    return _collected(scope, "alexnet_v2", inputs, body, spatial_squeeze)


alexnet_v2.default_image_size = 224


def _vgg(name, depths):
    def net(
        inputs,
        num_classes=1000,
        is_training=True,
        dropout_keep_prob=0.5,
        spatial_squeeze=True,
        scope=name,
        fc_conv_padding="VALID",
        reuse=None,
        global_pool=False,
    ):
        """(logits, end points) of a VGG net for images of 224 pixels."""

        def body(x):
            for i, (count, width) in enumerate(zip(depths, (64, 128, 256, 512, 512)), 1):
                x = layer("repeat")(x, count, layer("conv2d"), width, [3, 3], scope=f"conv{i}")
                x = layer("max_pool2d")(x, [2, 2], scope=f"pool{i}")
            return _head(
                x,
                (4096, 4096),
                [7, 7],
                num_classes,
                is_training,
                dropout_keep_prob,
                fc_conv_padding,
            )

        unsupported(name, global_pool=(global_pool, False))
        with variable_scope.variable_scope(variable_scope.get_variable_scope(), reuse=reuse):
            return _collected(scope, name, inputs, body, spatial_squeeze)

    net.__name__, net.default_image_size = name, 224
    return named("vgg")(net)


_vgg("vgg_a", (1, 1, 2, 2, 2))
for _short, _net in (
    ("vgg_d", _vgg("vgg_16", (2, 2, 3, 3, 3))),
    ("vgg_e", _vgg("vgg_19", (2, 2, 4, 4, 4))),
):
    for _place in PLACES:
        V1[f"{_place}vgg.{_short}"] = _net


@named("overfeat")
def overfeat(
    inputs: Any,
    num_classes: int | None = 1000,
    is_training: Any = True,
    dropout_keep_prob=0.5,
    spatial_squeeze: bool = True,
    scope="overfeat",
):
    """Returns (logits, end points) of OverFeat for images of 231 pixels.

    Args:
      inputs: Batch of images.
      num_classes: Number of classes.
      is_training: Whether the network is trained.
      dropout_keep_prob: Probability to keep an element.
      spatial_squeeze: Whether to remove dimensions of size 1.
      scope: Name of the variable scope.
    """

    def body(x):
        conv, pool = layer("conv2d"), layer("max_pool2d")
        x = pool(conv(x, 64, [11, 11], 4, padding="VALID", scope="conv1"), [2, 2], scope="pool1")
        x = pool(conv(x, 256, [5, 5], padding="VALID", scope="conv2"), [2, 2], scope="pool2")
        x = conv(conv(x, 512, [3, 3], scope="conv3"), 1024, [3, 3], scope="conv4")
        x = pool(conv(x, 1024, [3, 3], scope="conv5"), [2, 2], scope="pool5")
        return _head(x, (3072, 4096), [6, 6], num_classes, is_training, dropout_keep_prob)

    return _collected(scope, "overfeat", inputs, body, spatial_squeeze)


overfeat.default_image_size = 231


# ResNets


Block = collections.namedtuple("Block", ["scope", "unit_fn", "args"])
for _place in PLACES:
    V1[_place + "resnet_utils.Block"] = Block


@named("resnet_utils")
def subsample(inputs: Any, factor: Any, scope=None):
    """Subsamples an image by a factor.

    Args:
      inputs: Batch of images.
      factor: The factor.
      scope: Name of the variable scope.
    """
    if factor == 1:
        return inputs
    return layer("max_pool2d")(inputs, [1, 1], stride=factor, scope=scope)


@named("resnet_utils")
def conv2d_same(
    inputs: Any, num_outputs: int | None, kernel_size: Any, stride, rate: float = 1, scope=None
):
    """Convolution with explicit padding that does not depend on the size of the image.

    Args:
      inputs: Batch of images.
      num_outputs: Number of output channels.
      kernel_size: Size of the kernel.
      stride: The stride.
      rate: Dilation rate.
      scope: Name of the variable scope.
    """
    conv = layer("conv2d")
    if stride == 1:
        return conv(
            inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope
        )
    whole = kernel_size + (kernel_size - 1) * (rate - 1) - 1
    before = whole // 2
    padded = op("Pad", inputs, [[0, 0], [before, whole - before], [before, whole - before], [0, 0]])
    return conv(
        padded, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope
    )


@named("resnet_utils")
def resnet_arg_scope(
    weight_decay: float | None = 0.0001,
    batch_norm_decay=0.997,
    batch_norm_epsilon=1e-5,
    batch_norm_scale: bool = True,
    activation_fn=None,
    use_batch_norm: bool = True,
    batch_norm_updates_collections="update_ops",
    is_training: Any = None,
):
    """Returns the arg_scope of ResNets.

    Args:
      weight_decay: Factor of the L2 regularizer.
      batch_norm_decay: Decay of the moving averages.
      batch_norm_epsilon: Added to the variance.
      batch_norm_scale: Whether to multiply by gamma.
      activation_fn: Activation function.
      use_batch_norm: Whether to normalize batches.
      batch_norm_updates_collections: Collection of the update operations.
      is_training: Whether the network is trained.
    """
    if isinstance(weight_decay, bool):  # is_training came first in older releases
        is_training, weight_decay = weight_decay, 0.0001
    norm = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": batch_norm_updates_collections,
    }
    if is_training is not None:
        norm["is_training"] = is_training
    with args_of(
        ["conv2d"],
        weights_regularizer=V1["contrib.layers.l2_regularizer"](weight_decay),
        weights_initializer=V1["contrib.layers.variance_scaling_initializer"](),
        activation_fn=activation_fn or (lambda x: op("Relu", x)),
        normalizer_fn=layer("batch_norm") if use_batch_norm else None,
        normalizer_params=norm if use_batch_norm else {},
    ):
        with args_of(["batch_norm"], **norm):
            with args_of(["max_pool2d"], padding="SAME") as result:
                return result


for _place in PLACES:
    for _module in ("resnet_v1", "resnet_v2"):
        V1[f"{_place}{_module}.resnet_arg_scope"] = resnet_arg_scope


def _relu(x):
    return op("Relu", x)


def _middle(x, narrow, stride, rate):
    conv = layer("conv2d")
    x = conv(x, narrow, [1, 1], stride=1, scope="conv1")
    return conv2d_same(x, narrow, 3, stride, rate=rate, scope="conv2")


def bottleneck_v1(x, depth, narrow, stride, rate=1):
    """Bottleneck unit with normalization after convolutions."""
    conv, width = layer("conv2d"), x.shape.as_list()[3]
    with variable_scope.variable_scope(None, "bottleneck_v1"):
        past = (
            subsample(x, stride, "shortcut")
            if depth == width
            else conv(x, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut")
        )
        result = _middle(x, narrow, stride, rate)
        result = conv(result, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        return _relu(past + result)


def bottleneck_v2(x, depth, narrow, stride, rate=1):
    """Bottleneck unit with normalization before convolutions (pre-activation)."""
    conv, width = layer("conv2d"), x.shape.as_list()[3]
    plain = {"normalizer_fn": None, "activation_fn": None}
    with variable_scope.variable_scope(None, "bottleneck_v2"):
        first = layer("batch_norm")(x, activation_fn=_relu, scope="preact")
        past = (
            subsample(x, stride, "shortcut")
            if depth == width
            else conv(first, depth, [1, 1], stride=stride, scope="shortcut", **plain)
        )
        result = _middle(first, narrow, stride, rate)
        return past + conv(result, depth, [1, 1], stride=1, scope="conv3", **plain)


def _blocks(x, blocks, output_stride):
    """Builds all units; beyond output_stride, strides are replaced by dilation."""
    now, rate = 1, 1
    for block in blocks:
        with variable_scope.variable_scope(block.scope, "block"):
            for i, unit in enumerate(block.args, 1):
                depth, narrow, stride = (
                    unit
                    if isinstance(unit, tuple)
                    else (unit["depth"], unit["depth_bottleneck"], unit["stride"])
                )
                with variable_scope.variable_scope(f"unit_{i}"):
                    if output_stride is not None and now == output_stride:
                        x = block.unit_fn(x, depth, narrow, 1, rate)
                        rate *= stride
                    else:
                        x = block.unit_fn(x, depth, narrow, stride, 1)
                        now *= stride
    return x


def _resnet(version, unit):
    def resnet(
        inputs,
        blocks,
        num_classes=None,
        is_training=True,
        global_pool=True,
        output_stride=None,
        include_root_block=True,
        spatial_squeeze=False,
        reuse=None,
        scope=None,
    ):
        """(logits or features, end points) of blocks of units."""
        conv = layer("conv2d")
        with variable_scope.variable_scope(scope, version, [inputs], reuse=reuse) as here:
            key = here.original_name_scope + "_end_points"
            with (
                args_of(["conv2d", "max_pool2d"], outputs_collections=[key]),
                args_of(["batch_norm"], is_training=is_training),
            ):
                net = inputs
                if include_root_block:
                    output_stride = None if output_stride is None else output_stride // 4
                    plain = (
                        {"activation_fn": None, "normalizer_fn": None}
                        if version == "resnet_v2"
                        else {}
                    )
                    with args_of(["conv2d"], **plain):
                        net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                    net = layer("max_pool2d")(net, [3, 3], stride=2, scope="pool1")
                net = _blocks(net, blocks, output_stride)
                if version == "resnet_v2":
                    net = layer("batch_norm")(net, activation_fn=_relu, scope="postnorm")
                if global_pool:
                    net = op("Mean", net, [1, 2], keep_dims=True, name="pool5")
                if num_classes:
                    net = conv(
                        net,
                        num_classes,
                        [1, 1],
                        activation_fn=None,
                        normalizer_fn=None,
                        scope="logits",
                    )
                points = slim.convert_collection_to_dict(key)
                if num_classes:
                    if spatial_squeeze:
                        net = op("Squeeze", net, [1, 2], name="SpatialSqueeze")
                    points["predictions"] = layer("softmax")(net, scope="predictions")
                return net, points

    resnet.__name__, resnet.default_image_size = version, 224
    named(version)(resnet)
    for place in PLACES:
        V1[f"{place}{version}.bottleneck"] = unit

    def sized(layers, counts):
        def net(
            inputs,
            num_classes=None,
            is_training=True,
            global_pool=True,
            output_stride=None,
            spatial_squeeze=False,
            reuse=None,
            scope=f"{version}_{layers}",
        ):
            blocks = []
            for i, (count, narrow) in enumerate(zip(counts, (64, 128, 256, 512)), 1):
                last = 1 if i == 4 else 2
                blocks.append(
                    Block(
                        f"block{i}",
                        unit,
                        [(4 * narrow, narrow, 1)] * (count - 1) + [(4 * narrow, narrow, last)],
                    )
                )
            return resnet(
                inputs,
                blocks,
                num_classes,
                is_training,
                global_pool,
                output_stride,
                True,
                spatial_squeeze,
                reuse,
                scope,
            )

        net.__name__, net.default_image_size = f"{version}_{layers}", 224
        named(version)(net)

    sized(50, (3, 4, 6, 3))
    sized(101, (3, 4, 23, 3))
    sized(152, (3, 8, 36, 3))
    sized(200, (3, 24, 36, 3))


_resnet("resnet_v1", bottleneck_v1)
_resnet("resnet_v2", bottleneck_v2)
