# SPDX-License-Identifier: Apache-2.0
"""layer_functions.py: tf.layers.dense and its like."""
from situ._lib import layers
from situ._lib.api import V1, export

for _class in (layers.Dense, layers.Conv1D, layers.Conv2D, layers.Conv2DTranspose,
               layers.MaxPooling2D, layers.AveragePooling2D, layers.Flatten, layers.Dropout,
               layers.BatchNormalization):
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
max_pooling2d = _function("max_pooling2d", layers.MaxPooling2D, "pool_size", "strides", "padding",
                          "data_format", "name")
average_pooling2d = _function("average_pooling2d", layers.AveragePooling2D, "pool_size", "strides",
                              "padding", "data_format", "name")
flatten = _function("flatten", layers.Flatten, "name")
dropout = _function("dropout", layers.Dropout, "rate", "noise_shape", "seed", "training", "name",
                    calls=("training",))
batch_normalization = _function(
    "batch_normalization", layers.BatchNormalization, "axis", "momentum", "epsilon", "center",
    "scale", "beta_initializer", "gamma_initializer", "moving_mean_initializer",
    "moving_variance_initializer", "beta_regularizer", "gamma_regularizer", "beta_constraint",
    "gamma_constraint", "training", "trainable", "name", calls=("training",))
