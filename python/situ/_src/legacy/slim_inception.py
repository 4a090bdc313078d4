# SPDX-License-Identifier: Apache-2.0
"""slim_inception.py: tf.contrib.slim.nets.inception: Inception V1 and V3 (Szegedy and others
2014, 2015), with the scopes, names of variables and end points that their checkpoints have.

A layer is a word: its scope, which ends in the size of its window, `:` and its width, `@` and its
window where the scope tells another one, `/2` for a stride, `~` for SAME padding. Layers side by
side are joined by `+`, the branches of a block stand between bars.
"""

from __future__ import annotations

import re
from typing import Any

from situ._src.framework.api import V1
from situ._src.legacy.slim_nets import args_of, layer, named
from situ._src.ops import init_ops
from situ._src.ops.array_ops import op
from situ._src.variables import variable_scope

_WORD = re.compile(r"(\w+_(\d+)x(\d+))(?::(\d+))?(?:@(\d+)x(\d+))?(/2)?(~)?$")


def _v1_block(a, b, c, d, second="Conv2d_0b_3x3"):
    return (
        f"Conv2d_0a_1x1:{a} | Conv2d_0a_1x1:{b[0]} Conv2d_0b_3x3:{b[1]} | "
        f"Conv2d_0a_1x1:{c[0]} {second}:{c[1]} | MaxPool_0a_3x3 Conv2d_0b_1x1:{d}"
    )


V1_PARTS = [
    "Conv2d_1a_7x7:64/2",
    "MaxPool_2a_3x3/2",
    "Conv2d_2b_1x1:64",
    "Conv2d_2c_3x3:192",
    "MaxPool_3a_3x3/2",
    ("Mixed_3b", _v1_block(64, (96, 128), (16, 32), 32)),
    ("Mixed_3c", _v1_block(128, (128, 192), (32, 96), 64)),
    "MaxPool_4a_3x3/2",
    ("Mixed_4b", _v1_block(192, (96, 208), (16, 48), 64)),
    ("Mixed_4c", _v1_block(160, (112, 224), (24, 64), 64)),
    ("Mixed_4d", _v1_block(128, (128, 256), (24, 64), 64)),
    ("Mixed_4e", _v1_block(112, (144, 288), (32, 64), 64)),
    ("Mixed_4f", _v1_block(256, (160, 320), (32, 128), 128)),
    "MaxPool_5a_2x2/2",
    ("Mixed_5b", _v1_block(256, (160, 320), (32, 128), 128, "Conv2d_0a_3x3")),
    ("Mixed_5c", _v1_block(384, (192, 384), (48, 128), 128)),
]


def _v3_small(last, first="Conv2d_0a_1x1", second="Conv2d_0b_5x5"):
    return (
        f"Conv2d_0a_1x1:64 | {first}:48 {second}:64 | "
        "Conv2d_0a_1x1:64 Conv2d_0b_3x3:96 Conv2d_0c_3x3:96 | "
        f"AvgPool_0a_3x3 Conv2d_0b_1x1:{last}"
    )


def _v3_long(n):
    return (
        f"Conv2d_0a_1x1:192 | Conv2d_0a_1x1:{n} Conv2d_0b_1x7:{n} Conv2d_0c_7x1:192 | "
        f"Conv2d_0a_1x1:{n} Conv2d_0b_7x1:{n} Conv2d_0c_1x7:{n} Conv2d_0d_7x1:{n} "
        "Conv2d_0e_1x7:192 | AvgPool_0a_3x3 Conv2d_0b_1x1:192"
    )


def _v3_wide(second):
    return (
        f"Conv2d_0a_1x1:320 | Conv2d_0a_1x1:384 Conv2d_0b_1x3:384+{second}:384 | "
        "Conv2d_0a_1x1:448 Conv2d_0b_3x3:384 Conv2d_0c_1x3:384+Conv2d_0d_3x1:384 | "
        "AvgPool_0a_3x3 Conv2d_0b_1x1:192"
    )


V3_PARTS = [
    "Conv2d_1a_3x3:32/2",
    "Conv2d_2a_3x3:32",
    "Conv2d_2b_3x3:64~",
    "MaxPool_3a_3x3/2",
    "Conv2d_3b_1x1:80",
    "Conv2d_4a_3x3:192",
    "MaxPool_5a_3x3/2",
    ("Mixed_5b", _v3_small(32)),
    ("Mixed_5c", _v3_small(64, "Conv2d_0b_1x1", "Conv_1_0c_5x5")),
    ("Mixed_5d", _v3_small(64)),
    (
        "Mixed_6a",
        "Conv2d_1a_1x1:384@3x3/2 | "
        "Conv2d_0a_1x1:64 Conv2d_0b_3x3:96 Conv2d_1a_1x1:96@3x3/2 | MaxPool_1a_3x3/2",
    ),
    ("Mixed_6b", _v3_long(128)),
    ("Mixed_6c", _v3_long(160)),
    ("Mixed_6d", _v3_long(160)),
    ("Mixed_6e", _v3_long(192)),
    (
        "Mixed_7a",
        "Conv2d_0a_1x1:192 Conv2d_1a_3x3:320/2 | Conv2d_0a_1x1:192 Conv2d_0b_1x7:192 "
        "Conv2d_0c_7x1:192 Conv2d_1a_3x3:192/2 | MaxPool_1a_3x3/2",
    ),
    ("Mixed_7b", _v3_wide("Conv2d_0b_3x1")),
    ("Mixed_7c", _v3_wide("Conv2d_0c_3x1")),
]


def _made(net, spec, depth, padding):
    """Builds the layer described by a string; parallel ones are concatenated."""
    parts = []
    for one in spec.split("+"):
        scope, *sizes, width, high, wide, half, same = _WORD.match(one).groups()
        window = [int(n) for n in ((high, wide) if high else sizes)]
        kwargs = {
            "stride": 2 if half else 1,
            "padding": "SAME" if same else padding,
            "scope": scope,
        }
        if width:
            parts.append(layer("conv2d")(net, depth(int(width)), window, **kwargs))
        else:
            pool = layer("max_pool2d" if scope.startswith("Max") else "avg_pool2d")
            parts.append(pool(net, window, **kwargs))
    return parts[0] if len(parts) == 1 else op("ConcatV2", parts, 3)


def _block(net, scope, branches, depth, halving):
    """Builds parallel branches; `halving` is the padding of layers with a stride."""
    result = []
    with variable_scope.variable_scope(scope):
        for i, branch in enumerate(branches.split("|")):
            with variable_scope.variable_scope(f"Branch_{i}"):
                part = net
                for spec in branch.split():
                    part = _made(part, spec, depth, halving if "/2" in spec else "SAME")
                result.append(part)
        return op("ConcatV2", result, 3, name="concat")


def _base(parts, inputs, final_endpoint, depth, padding):
    """Returns (net, end points) up to an end point."""
    end_points, net = {}, inputs
    for part in parts:
        name = _WORD.match(part).group(1) if isinstance(part, str) else part[0]
        net = (
            _made(net, part, depth, padding)
            if isinstance(part, str)
            else _block(net, *part, depth, padding)
        )
        end_points[name] = net
        if name == final_endpoint:
            return net, end_points
    raise ValueError(f"Unknown final endpoint {final_endpoint}. There are {list(end_points)}.")


def _depth(least, multiplier):
    if multiplier <= 0:
        raise ValueError(f"depth_multiplier is not greater than zero: {multiplier}.")
    return lambda width: max(int(width * multiplier), least)


def _window(net, most):
    """Returns a window size that is at most the image size."""
    return [
        side if known is None else min(known, side)
        for known, side in zip(net.shape.as_list()[1:3], most)
    ]


def _logits(net, num_classes, squeeze, scope, **kwargs):
    result = layer("conv2d")(
        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=scope, **kwargs
    )
    return op("Squeeze", result, [1, 2], name="SpatialSqueeze") if squeeze else result


def _small(deviation):
    return init_ops.TruncatedNormal(0.0, deviation)


def _named(module):
    """Under the name of its own file, and with all other Inceptions."""
    return lambda function: named("inception")(named(module)(function))


def _finished(net, end_points, num_classes, keep, squeeze, drop, last):
    """Applies dropout and the logits layer after the last pooling; without classes returns the
    input.
    """
    net = end_points["PreLogits"] = layer("dropout")(net, keep_prob=keep, scope=drop)
    return _logits(net, num_classes, squeeze, last) if num_classes else net


def _predicted(logits, end_points, prediction_fn):
    end_points["Logits"] = logits
    end_points["Predictions"] = (prediction_fn or layer("softmax"))(logits, scope="Predictions")
    return logits, end_points


# Inception V1


@_named("inception_v1")
def inception_v1_base(inputs: Any, final_endpoint="Mixed_5c", scope="InceptionV1"):
    """Returns (net, end points) of Inception V1 without the last layers.

    Args:
      inputs: Batch of images.
      final_endpoint: Name of the last layer.
      scope: Name of the variable scope.
    """
    with (
        variable_scope.variable_scope(scope, "InceptionV1", [inputs]),
        args_of(["conv2d", "fully_connected"], weights_initializer=_small(0.01)),
    ):
        return _base(V1_PARTS, inputs, final_endpoint, int, "SAME")


@_named("inception_v1")
def inception_v1(
    inputs: Any,
    num_classes: int | None = 1000,
    is_training: Any = True,
    dropout_keep_prob=0.8,
    prediction_fn=None,
    spatial_squeeze: bool = True,
    reuse: bool | None = None,
    scope="InceptionV1",
):
    """Returns (logits, end points) of Inception V1 for images of 224 pixels.

    Args:
      inputs: Batch of images.
      num_classes: Number of classes.
      is_training: Whether the network is trained.
      dropout_keep_prob: Probability to keep an element.
      prediction_fn: Function of the logits.
      spatial_squeeze: Whether to remove dimensions of size 1.
      reuse: Whether to use existing variables.
      scope: Name of the variable scope.
    """
    with (
        variable_scope.variable_scope(
            scope, "InceptionV1", [inputs, num_classes], reuse=reuse
        ) as here,
        args_of(["batch_norm", "dropout"], is_training=is_training),
    ):
        net, points = inception_v1_base(inputs, scope=here)
        with variable_scope.variable_scope("Logits"):
            net = layer("avg_pool2d")(net, [7, 7], stride=1, scope="AvgPool_0a_7x7")
            net = _finished(
                net,
                points,
                num_classes,
                dropout_keep_prob,
                spatial_squeeze,
                "Dropout_0b",
                "Conv2d_0c_1x1",
            )
        return _predicted(net, points, prediction_fn) if num_classes else (net, points)


inception_v1.default_image_size = 224


# Inception V3


@_named("inception_v3")
def inception_v3_base(
    inputs: Any, final_endpoint="Mixed_7c", min_depth=16, depth_multiplier=1.0, scope=None
):
    """Returns (net, end points) of Inception V3 without the last layers.

    Args:
      inputs: Batch of images.
      final_endpoint: Name of the last layer.
      min_depth: Least number of channels.
      depth_multiplier: Factor of the numbers of channels.
      scope: Name of the variable scope.
    """
    depth = _depth(min_depth, depth_multiplier)
    with variable_scope.variable_scope(scope, "InceptionV3", [inputs]):
        return _base(V3_PARTS, inputs, final_endpoint, depth, "VALID")


def _auxiliary(net, num_classes, depth, squeeze):
    """Returns the auxiliary logits of the middle of the network."""
    conv = layer("conv2d")
    with variable_scope.variable_scope("AuxLogits"):
        net = layer("avg_pool2d")(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = conv(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        window = _window(net, [5, 5])
        net = conv(
            net,
            depth(768),
            window,
            weights_initializer=_small(0.01),
            padding="VALID",
            scope="Conv2d_2a_{}x{}".format(*window),
        )
        return _logits(
            net, num_classes, squeeze, "Conv2d_2b_1x1", weights_initializer=_small(0.001)
        )


@_named("inception_v3")
def inception_v3(
    inputs: Any,
    num_classes: int | None = 1000,
    is_training: Any = True,
    dropout_keep_prob=0.8,
    min_depth=16,
    depth_multiplier=1.0,
    prediction_fn=None,
    spatial_squeeze: bool = True,
    reuse: bool | None = None,
    create_aux_logits: bool = True,
    scope="InceptionV3",
):
    """Returns (logits, end points) of Inception V3 for images of 299 pixels.

    Args:
      inputs: Batch of images.
      num_classes: Number of classes.
      is_training: Whether the network is trained.
      dropout_keep_prob: Probability to keep an element.
      min_depth: Least number of channels.
      depth_multiplier: Factor of the numbers of channels.
      prediction_fn: Function of the logits.
      spatial_squeeze: Whether to remove dimensions of size 1.
      reuse: Whether to use existing variables.
      create_aux_logits: Whether to add auxiliary logits.
      scope: Name of the variable scope.
    """
    depth = _depth(min_depth, depth_multiplier)
    with (
        variable_scope.variable_scope(
            scope, "InceptionV3", [inputs, num_classes], reuse=reuse
        ) as here,
        args_of(["batch_norm", "dropout"], is_training=is_training),
    ):
        net, points = inception_v3_base(
            inputs, min_depth=min_depth, scope=here, depth_multiplier=depth_multiplier
        )
        if create_aux_logits and num_classes:
            points["AuxLogits"] = _auxiliary(
                points["Mixed_6e"], num_classes, depth, spatial_squeeze
            )
        with variable_scope.variable_scope("Logits"):
            window = _window(net, [8, 8])
            net = layer("avg_pool2d")(
                net, window, stride=2, padding="VALID", scope="AvgPool_1a_{}x{}".format(*window)
            )
            net = _finished(
                net,
                points,
                num_classes,
                dropout_keep_prob,
                spatial_squeeze,
                "Dropout_1b",
                "Conv2d_1c_1x1",
            )
        return _predicted(net, points, prediction_fn) if num_classes else (net, points)


inception_v3.default_image_size = 299


# What their layers have in common


def _arg_scope(module):
    def scope(
        weight_decay=0.00004,
        use_batch_norm=True,
        batch_norm_var_collection="moving_vars",
        batch_norm_decay=0.9997,
        batch_norm_epsilon=0.001,
        updates_collections="update_ops",
        use_fused_batchnorm=True,
        activation_fn=None,
        batch_norm_scale=False,
        batch_norm_updates_collections=None,
    ):
        """A penalty on weights, batch normalization, and first values for relu."""
        moving = [batch_norm_var_collection]
        norm = {
            "decay": batch_norm_decay,
            "epsilon": batch_norm_epsilon,
            "updates_collections": batch_norm_updates_collections or updates_collections,
            "scale": batch_norm_scale,
            "fused": use_fused_batchnorm,
            "variables_collections": {
                "beta": None,
                "gamma": None,
                "moving_mean": moving,
                "moving_variance": moving,
            },
        }
        with args_of(
            ["conv2d", "fully_connected"],
            weights_regularizer=V1["contrib.layers.l2_regularizer"](weight_decay),
        ):
            with args_of(
                ["conv2d"],
                activation_fn=activation_fn or (lambda x: op("Relu", x)),
                weights_initializer=V1["contrib.layers.variance_scaling_initializer"](),
                normalizer_fn=layer("batch_norm") if use_batch_norm else None,
                normalizer_params=norm if use_batch_norm else {},
            ) as result:
                return result

    scope.__name__ = module + "_arg_scope"
    return _named(module)(scope)


for _module in ("inception_v1", "inception_v3"):
    _arg_scope(_module)
