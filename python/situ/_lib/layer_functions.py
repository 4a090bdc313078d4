# SPDX-License-Identifier: Apache-2.0
"""layer_functions.py: tf.layers.dense and its like, and tf.contrib.layers."""
from situ._lib import initializers, layers, nn_conv, nn_norm, variable_scope as scopes
from situ._lib.api import V1, export
from situ._lib.array_ops import convert_to_tensor, op
from situ._lib.graph import get_default_graph

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


# tf.contrib.layers

def _relu(x):
    return op("Relu", x)


@export(v1=("contrib.layers.xavier_initializer", "contrib.layers.xavier_initializer_conv2d"))
def xavier_initializer(uniform=True, seed=None, dtype="float32"):
    return initializers.VarianceScaling(1.0, "fan_avg", "uniform" if uniform else
                                        "truncated_normal", seed, dtype)


@export(v1="contrib.layers.variance_scaling_initializer")
def variance_scaling_initializer(factor=2.0, mode="FAN_IN", uniform=False, seed=None,
                                 dtype="float32"):
    return initializers.VarianceScaling(factor, mode.lower(), "uniform" if uniform else
                                        "truncated_normal", seed, dtype)


def _keep(tensor, outputs_collections):
    for key in ([outputs_collections] if isinstance(outputs_collections, str)
                else outputs_collections or ()):
        get_default_graph().add_to_collection(key, tensor)
    return tensor


def _finish(made, width, normalizer_fn, normalizer_params, biases_initializer, biases_regularizer,
            activation_fn, trainable, data_format="NHWC"):
    """What comes behind the weights: normalisation or biases, then the activation."""
    if normalizer_fn is not None:
        made = normalizer_fn(made, **(normalizer_params or {}))
    elif biases_initializer is not None:
        biases = scopes.get_variable("biases", [width], initializer=biases_initializer,
                                     regularizer=biases_regularizer, trainable=trainable)
        made = op("BiasAdd", made, biases, data_format=data_format)
    return activation_fn(made) if activation_fn is not None else made


@export(v1=("contrib.layers.fully_connected", "contrib.slim.fully_connected"))
def fully_connected(inputs, num_outputs, activation_fn=_relu, normalizer_fn=None,
                    normalizer_params=None, weights_initializer=None, weights_regularizer=None,
                    biases_initializer=initializers.Zeros, biases_regularizer=None, reuse=None,
                    variables_collections=None, outputs_collections=None, trainable=True,
                    scope=None):
    """activation_fn(inputs times a matrix, plus biases)."""
    with scopes.variable_scope(scope, "fully_connected", reuse=reuse):
        inputs = convert_to_tensor(inputs)
        width = inputs.shape.as_list()[-1]
        weights = scopes.get_variable("weights", [width, num_outputs],
                                      initializer=weights_initializer or xavier_initializer(),
                                      regularizer=weights_regularizer, trainable=trainable)
        made = op("MatMul", inputs if inputs.shape.ndims == 2 else
                  op("Reshape", inputs, [-1, width]), weights)
        if inputs.shape.ndims != 2:
            made = op("Reshape", made, inputs.shape.as_list()[:-1] + [num_outputs])
        made = _finish(made, num_outputs, normalizer_fn, normalizer_params, biases_initializer,
                       biases_regularizer, activation_fn, trainable)
        return _keep(made, outputs_collections)


@export(v1="contrib.layers.linear")
def linear(inputs, num_outputs, **words):
    """inputs times a matrix, plus biases."""
    return fully_connected(inputs, num_outputs, activation_fn=None, **words)


@export(v1=("contrib.layers.conv2d", "contrib.layers.convolution2d", "contrib.slim.conv2d"))
def contrib_conv2d(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None,
                   rate=1, activation_fn=_relu, normalizer_fn=None, normalizer_params=None,
                   weights_initializer=None, weights_regularizer=None,
                   biases_initializer=initializers.Zeros, biases_regularizer=None, reuse=None,
                   variables_collections=None, outputs_collections=None, trainable=True,
                   scope=None):
    """activation_fn(a convolution, plus biases)."""
    with scopes.variable_scope(scope, "Conv", reuse=reuse):
        inputs = convert_to_tensor(inputs)
        kind = nn_conv.layout(data_format)
        channels = inputs.shape.as_list()[1 if kind == "NCHW" else -1]
        shape = [*layers.pair(kernel_size), channels, num_outputs]
        weights = scopes.get_variable("weights", shape,
                                      initializer=weights_initializer or xavier_initializer(),
                                      regularizer=weights_regularizer, trainable=trainable)
        made = nn_conv.conv2d(inputs, weights, stride, padding, data_format=kind, dilations=rate)
        made = _finish(made, num_outputs, normalizer_fn, normalizer_params, biases_initializer,
                       biases_regularizer, activation_fn, trainable, kind)
        return _keep(made, outputs_collections)


def _contrib_pool(name, pool):
    @export(v1=("contrib.layers." + name, "contrib.slim." + name))
    def layer(inputs, kernel_size, stride=2, padding="VALID", data_format=None,
              outputs_collections=None, scope=None):
        made = pool(inputs, kernel_size, stride, padding, nn_conv.layout(data_format), scope)
        return _keep(made, outputs_collections)
    layer.__name__ = name


_contrib_pool("max_pool2d", nn_conv.max_pool)
_contrib_pool("avg_pool2d", nn_conv.avg_pool)


@export(v1=("contrib.layers.flatten", "contrib.slim.flatten"))
def contrib_flatten(inputs, outputs_collections=None, scope=None):
    """All dimensions but the first as one."""
    return _keep(layers.Flatten(name=scope or "Flatten")(inputs), outputs_collections)


@export(v1=("contrib.layers.dropout", "contrib.slim.dropout"))
def contrib_dropout(inputs, keep_prob=0.5, noise_shape=None, is_training=True,
                    outputs_collections=None, scope=None, seed=None):
    """Some elements made 0 while training."""
    inputs = convert_to_tensor(inputs)
    made = layers.choose(is_training, lambda: nn_norm.dropout(inputs, keep_prob, noise_shape, seed,
                                                              scope), lambda: inputs)
    return _keep(made, outputs_collections)


@export(v1=("contrib.layers.batch_norm", "contrib.slim.batch_norm"))
def batch_norm(inputs, decay=0.999, center=True, scale=False, epsilon=0.001, activation_fn=None,
               param_initializers=None, is_training=True, reuse=None, trainable=True,
               data_format="NHWC", fused=None, scope=None, **words):
    """Inputs normalised over all but the channels."""
    with scopes.variable_scope(scope, "BatchNorm", reuse=reuse) as here:
        layer = layers.BatchNormalization(
            1 if nn_conv.layout(data_format) == "NCHW" else -1, decay, epsilon, center, scale,
            trainable=trainable, _scope=here, _reuse=reuse)
        made = layer(inputs, training=is_training)
    return activation_fn(made) if activation_fn is not None else made
