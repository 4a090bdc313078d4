# SPDX-License-Identifier: Apache-2.0
"""contrib_layers.py: the layers of tf.contrib.layers and tf.contrib.slim, as functions."""
from situ._lib import control_flow, initializers, layers, layers_norm, nn_conv, nn_norm
from situ._lib import variable_scope as scopes
from situ._lib.api import export
from situ._lib.arg_scope import add_arg_scope
from situ._lib.array_ops import convert_to_tensor, op
from situ._lib.graph import GraphKeys, get_default_graph, scope as name_scope
from situ._lib.keywords import unsupported
from situ._lib.tensors import GraphTensor


def exported(*names):
    """A decorator: names below contrib.layers and contrib.slim of a function that takes arguments
    from an arg_scope."""
    def record(function):
        function = add_arg_scope(function)
        return export(v1=[p + n for n in names for p in ("contrib.layers.", "contrib.slim.")])(
            function)
    return record


def _relu(x):
    return op("Relu", x)


@export(v1=[p + n for n in ("xavier_initializer", "xavier_initializer_conv2d")
            for p in ("contrib.layers.", "contrib.slim.")])
def xavier_initializer(uniform=True, seed=None, dtype="float32"):
    return initializers.VarianceScaling(1.0, "fan_avg", "uniform" if uniform else
                                        "truncated_normal", seed, dtype)


@export(v1=("contrib.layers.variance_scaling_initializer",
            "contrib.slim.variance_scaling_initializer"))
def variance_scaling_initializer(factor=2.0, mode="FAN_IN", uniform=False, seed=None,
                                 dtype="float32"):
    return initializers.VarianceScaling(factor, mode.lower(), "uniform" if uniform else
                                        "truncated_normal", seed, dtype)


def collect(tensor, keys, alias=None):
    """Adds a value to collections: one name, a list of them, or none; its alias is the scope."""
    if keys and isinstance(tensor, GraphTensor):
        tensor.alias = alias or scopes.get_variable_scope().name
    for key in [keys] if isinstance(keys, str) else keys or ():
        get_default_graph().add_to_collection(key, tensor)
    return tensor


@exported("variable")
def variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True,
             collections=None, caching_device=None, device=None, partitioner=None,
             custom_getter=None, use_resource=None, synchronization=None, aggregation=None):
    """The variable of that name in the scope."""
    from situ._lib.scopes import device as placed
    keys = list(dict.fromkeys([*([collections] if isinstance(collections, str)
                                 else collections or ()), GraphKeys.GLOBAL_VARIABLES]))
    with placed(device or ""):
        kwargs = {k: v for k, v in (("partitioner", partitioner), ("custom_getter", custom_getter),
                                    ("use_resource", use_resource),
                                    ("caching_device", caching_device),
                                    ("synchronization", synchronization),
                                    ("aggregation", aggregation)) if v is not None}
        return scopes.get_variable(name, shape, dtype, initializer, regularizer, trainable, keys,
                                   **kwargs)


@exported("model_variable")
def model_variable(name, shape=None, dtype="float32", initializer=None, regularizer=None,
                   trainable=True, collections=None, caching_device=None, device=None,
                   partitioner=None, custom_getter=None, use_resource=None, synchronization=None,
                   aggregation=None):
    """The same, as a part of the model."""
    return variable(name, shape, dtype, initializer, regularizer, trainable,
                    [*([collections] if isinstance(collections, str) else collections or ()),
                     GraphKeys.MODEL_VARIABLES], caching_device, device, partitioner,
                    custom_getter, use_resource, synchronization, aggregation)


class _Weights:
    """The variables of a layer, in the collections that it was given."""

    def __init__(self, trainable, collections):
        self.trainable, self.collections = trainable, collections

    def make(self, name, shape, initializer, regularizer):
        keys = self.collections
        keys = keys.get(name) if isinstance(keys, dict) else keys
        return model_variable(name, shape, None, initializer, regularizer, self.trainable, keys)


def _finish(made, width, normalizer_fn, normalizer_params, biases_initializer, biases_regularizer,
            activation_fn, weights, data_format="NHWC"):
    """What comes behind the weights: normalisation or biases, then the activation."""
    if normalizer_fn is not None:
        made = normalizer_fn(made, **(normalizer_params or {}))
    elif biases_initializer is not None:
        biases = weights.make("biases", [width], biases_initializer, biases_regularizer)
        made = op("BiasAdd", made, biases, data_format=data_format)
    return activation_fn(made) if activation_fn is not None else made


@exported("fully_connected")
def fully_connected(inputs, num_outputs, activation_fn=_relu, normalizer_fn=None,
                    normalizer_params=None, weights_initializer=None, weights_regularizer=None,
                    biases_initializer=initializers.Zeros, biases_regularizer=None, reuse=None,
                    variables_collections=None, outputs_collections=None, trainable=True,
                    scope=None):
    """activation_fn(inputs times a matrix, plus biases)."""
    with scopes.variable_scope(scope, "fully_connected", reuse=reuse):
        inputs, own = convert_to_tensor(inputs), _Weights(trainable, variables_collections)
        width = inputs.shape.as_list()[-1]
        if width is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found "
                             "`None`.")
        weights = own.make("weights", [width, num_outputs],
                           weights_initializer or xavier_initializer(), weights_regularizer)
        layer = layers.Dense(num_outputs, use_bias=False)
        layer.kernel = weights
        made = layer.call(inputs)
        made = _finish(made, num_outputs, normalizer_fn, normalizer_params, biases_initializer,
                       biases_regularizer, activation_fn, own)
        return collect(made, outputs_collections)


@exported("relu")
def relu(inputs, num_outputs, **words):
    return fully_connected(inputs, num_outputs, activation_fn=_relu, **words)


@exported("linear")
def linear(inputs, num_outputs, **words):
    """inputs times a matrix, plus biases."""
    return fully_connected(inputs, num_outputs, activation_fn=None, **words)


@exported("conv2d", "convolution2d", "convolution")
def conv2d(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1,
           activation_fn=_relu, normalizer_fn=None, normalizer_params=None,
           weights_initializer=None, weights_regularizer=None,
           biases_initializer=initializers.Zeros, biases_regularizer=None, reuse=None,
           variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """activation_fn(a convolution, plus biases)."""
    with scopes.variable_scope(scope, "Conv", reuse=reuse):
        inputs, own = convert_to_tensor(inputs), _Weights(trainable, variables_collections)
        kind = nn_conv.layout(data_format)
        channels = inputs.shape.as_list()[1 if kind == "NCHW" else -1]
        weights = own.make("weights", [*layers.pair(kernel_size), channels, num_outputs],
                           weights_initializer or xavier_initializer(), weights_regularizer)
        made = nn_conv.conv2d(inputs, weights, stride, padding, data_format=kind, dilations=rate)
        made = _finish(made, num_outputs, normalizer_fn, normalizer_params, biases_initializer,
                       biases_regularizer, activation_fn, own, kind)
        return collect(made, outputs_collections)


@exported("conv2d_transpose", "convolution2d_transpose")
def conv2d_transpose(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None,
                     activation_fn=_relu, normalizer_fn=None, normalizer_params=None,
                     weights_initializer=None, weights_regularizer=None,
                     biases_initializer=initializers.Zeros, biases_regularizer=None, reuse=None,
                     variables_collections=None, outputs_collections=None, trainable=True,
                     scope=None):
    """activation_fn(the transpose of a convolution, plus biases)."""
    with scopes.variable_scope(scope, "Conv2d_transpose", reuse=reuse):
        inputs, own = convert_to_tensor(inputs), _Weights(trainable, variables_collections)
        kind = nn_conv.layout(data_format)
        layer = layers.Conv2DTranspose(num_outputs, kernel_size, stride, padding, data_format,
                                       use_bias=False)
        channels = layer.channels(inputs.shape)
        layer.kernel = own.make("weights", [*layers.pair(kernel_size), num_outputs, channels],
                                weights_initializer or xavier_initializer(), weights_regularizer)
        made = _finish(layer.call(inputs), num_outputs, normalizer_fn, normalizer_params,
                       biases_initializer, biases_regularizer, activation_fn, own, kind)
        return collect(made, outputs_collections)


@exported("separable_conv2d", "separable_convolution2d")
def separable_conv2d(inputs, num_outputs, kernel_size, depth_multiplier=1, stride=1,
                     padding="SAME", data_format=None, rate=1, activation_fn=_relu,
                     normalizer_fn=None, normalizer_params=None, weights_initializer=None,
                     pointwise_initializer=None, weights_regularizer=None,
                     biases_initializer=initializers.Zeros, biases_regularizer=None, reuse=None,
                     variables_collections=None, outputs_collections=None, trainable=True,
                     scope=None):
    """A convolution of each channel, then of the channels (not, if num_outputs is None)."""
    with scopes.variable_scope(scope, "SeparableConv2d", reuse=reuse):
        inputs, own = convert_to_tensor(inputs), _Weights(trainable, variables_collections)
        kind = nn_conv.layout(data_format)
        channels = inputs.shape.as_list()[1 if kind == "NCHW" else -1]
        first = weights_initializer or xavier_initializer()
        depthwise = own.make("depthwise_weights",
                             [*layers.pair(kernel_size), channels, depth_multiplier], first,
                             weights_regularizer)
        down, right = layers.pair(stride)
        steps = [1, 1, down, right] if kind == "NCHW" else [1, down, right, 1]
        made = nn_conv.depthwise_conv2d(inputs, depthwise, steps, padding, layers.pair(rate),
                                        data_format=kind)
        if num_outputs is not None:
            pointwise = own.make("pointwise_weights",
                                 [1, 1, channels * depth_multiplier, num_outputs],
                                 pointwise_initializer or first, weights_regularizer)
            made = nn_conv.conv2d(made, pointwise, 1, "VALID", data_format=kind)
        width = channels * depth_multiplier if num_outputs is None else num_outputs
        made = _finish(made, width, normalizer_fn, normalizer_params, biases_initializer,
                       biases_regularizer, activation_fn, own, kind)
        return collect(made, outputs_collections)


def _pool(name, scope_name, pool):
    @exported(name)
    def layer(inputs, kernel_size, stride=2, padding="VALID", data_format=None,
              outputs_collections=None, scope=None):
        with name_scope(scope, scope_name) as full:
            made = pool(inputs, kernel_size, stride, padding, nn_conv.layout(data_format),
                        full + name[:3].title() + "Pool")
        return collect(made, outputs_collections, full.rstrip("/"))
    layer.__name__ = name


_pool("max_pool2d", "MaxPool2D", nn_conv.max_pool)
_pool("avg_pool2d", "AvgPool2D", nn_conv.avg_pool)


@exported("flatten")
def flatten(inputs, outputs_collections=None, scope=None):
    """All dimensions but the first as one."""
    made = layers.Flatten(name=scope or "Flatten")(inputs)
    return collect(made, outputs_collections, made.op.name.rpartition("/")[0])


@exported("dropout")
def dropout(inputs, keep_prob=0.5, noise_shape=None, is_training=True, outputs_collections=None,
            scope=None, seed=None):
    """Some elements made 0 while training."""
    inputs = convert_to_tensor(inputs)
    with scopes.variable_scope(scope, "Dropout"):
        made = control_flow.smart_cond(
            is_training, lambda: nn_norm.dropout(inputs, keep_prob, noise_shape, seed),
            lambda: op("Identity", inputs))
    return collect(made, outputs_collections)


@exported("batch_norm")
def batch_norm(inputs, decay=0.999, center=True, scale=False, epsilon=0.001, activation_fn=None,
               param_initializers=None, param_regularizers=None,
               updates_collections=GraphKeys.UPDATE_OPS, is_training=True, reuse=None,
               variables_collections=None, outputs_collections=None, trainable=True,
               batch_weights=None, fused=None, data_format="NHWC", zero_debias_moving_mean=False,
               scope=None, renorm=False, renorm_clipping=None, renorm_decay=0.99, adjustment=None):
    """Inputs normalised over all but the channels; the averages are updated by what is put into a
    collection, or at once (None)."""
    unsupported("batch_norm", batch_weights=(batch_weights, None), renorm=(renorm, False),
                zero_debias_moving_mean=(zero_debias_moving_mean, False),
                adjustment=(adjustment, None))
    from situ._lib.scopes import control_dependencies
    first = {name + "_initializer": made for name, made in (param_initializers or {}).items()}
    first.update({name + "_regularizer": made for name, made in (param_regularizers or {}).items()})
    with scopes.variable_scope(scope, "BatchNorm", reuse=reuse) as here:
        layer = layers_norm.BatchNormalization(
            1 if nn_conv.layout(data_format) == "NCHW" else -1, decay, epsilon, center, scale,
            trainable=trainable, _scope=here, _reuse=reuse, **first)
        kept = list(get_default_graph().get_collection_ref(GraphKeys.UPDATE_OPS))
        made = layer(inputs, training=is_training)
        updates = [getattr(u, "op", u) for u in layer.updates]
        if updates_collections != GraphKeys.UPDATE_OPS:
            get_default_graph().get_collection_ref(GraphKeys.UPDATE_OPS)[:] = kept
            for update in updates:
                collect(update, updates_collections)
        if updates_collections is None and updates:
            with control_dependencies(updates):
                made = op("Identity", made)
    for weight in layer.variables:
        keys = variables_collections.get(weight.op.name.rsplit("/", 1)[-1]) \
            if isinstance(variables_collections, dict) else variables_collections
        for key in (*([keys] if isinstance(keys, str) else keys or ()), GraphKeys.MODEL_VARIABLES):
            if weight not in get_default_graph().get_collection_ref(key):  # as with reuse
                collect(weight, key)
    made = activation_fn(made) if activation_fn is not None else made
    return collect(made, outputs_collections)
