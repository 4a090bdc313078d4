# SPDX-License-Identifier: Apache-2.0
"""layer_functions.py: tf.layers.dense and its like."""
from situ._lib import layers, layers_more as more, layers_norm
from situ._lib.api import V1, export

for _class in (layers.Dense, layers.Conv1D, layers.Conv2D, layers.Conv2DTranspose,
               layers.MaxPooling2D, layers.AveragePooling2D, layers.Flatten, layers.Dropout,
               layers_norm.BatchNormalization, more.Conv3D, more.Conv3DTranspose,
               more.SeparableConv1D, more.SeparableConv2D, more.MaxPooling1D, more.MaxPooling3D,
               more.AveragePooling1D, more.AveragePooling3D):
    V1["layers." + _class.__name__] = _class


def _function(name, kind, *positional, calls=()):
    """A function that makes a layer and calls it: its arguments are the layer's, in order."""
    def layer(inputs, *args, reuse=None, **words):
        words.update(zip(positional, args))
        given = {word: words.pop(word) for word in calls if word in words}
        if reuse is not None:
            words["_reuse"] = reuse
        return kind(**words)(inputs, **given)
    layer.__name__, layer.__doc__ = name, kind.__doc__
    export(v1="layers." + name)(layer)
    return layer


_WINDOW = ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate",
           "activation", "use_bias", "kernel_initializer", "bias_initializer",
           "kernel_regularizer", "bias_regularizer", "activity_regularizer",
           "kernel_constraint", "bias_constraint", "trainable", "name")
dense = _function("dense", layers.Dense, "units", "activation", "use_bias", "kernel_initializer",
                  "bias_initializer", "kernel_regularizer", "bias_regularizer",
                  "activity_regularizer", "kernel_constraint", "bias_constraint", "trainable",
                  "name")
conv2d = _function("conv2d", layers.Conv2D, *_WINDOW)
conv1d = _function("conv1d", layers.Conv1D, *_WINDOW)
conv2d_transpose = _function(
    "conv2d_transpose", layers.Conv2DTranspose, *[w for w in _WINDOW if w != "dilation_rate"])
conv3d = _function("conv3d", more.Conv3D, *_WINDOW)
conv3d_transpose = _function(
    "conv3d_transpose", more.Conv3DTranspose, *[w for w in _WINDOW if w != "dilation_rate"])
_APART = ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate",
          "depth_multiplier", "activation", "use_bias", "depthwise_initializer",
          "pointwise_initializer", "bias_initializer", "depthwise_regularizer",
          "pointwise_regularizer", "bias_regularizer", "activity_regularizer",
          "depthwise_constraint", "pointwise_constraint", "bias_constraint", "trainable", "name")
separable_conv1d = _function("separable_conv1d", more.SeparableConv1D, *_APART)
separable_conv2d = _function("separable_conv2d", more.SeparableConv2D, *_APART)
for _name in ("max_pooling1d", "max_pooling3d", "average_pooling1d", "average_pooling3d"):
    _kind = getattr(more, "".join(w.title() for w in _name.split("_")).replace("1d", "1D")
                    .replace("3d", "3D"))
    _function(_name, _kind, "pool_size", "strides", "padding", "data_format", "name")
max_pooling2d = _function("max_pooling2d", layers.MaxPooling2D, "pool_size", "strides", "padding",
                          "data_format", "name")
average_pooling2d = _function("average_pooling2d", layers.AveragePooling2D, "pool_size", "strides",
                              "padding", "data_format", "name")
flatten = _function("flatten", layers.Flatten, "name")
dropout = _function("dropout", layers.Dropout, "rate", "noise_shape", "seed", "training", "name",
                    calls=("training",))
batch_normalization = _function(
    "batch_normalization", layers_norm.BatchNormalization, "axis", "momentum", "epsilon", "center",
    "scale", "beta_initializer", "gamma_initializer", "moving_mean_initializer",
    "moving_variance_initializer", "beta_regularizer", "gamma_regularizer", "beta_constraint",
    "gamma_constraint", "training", "trainable", "name", calls=("training",))
