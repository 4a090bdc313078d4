# SPDX-License-Identifier: Apache-2.0
"""contrib_layers.py: tf.contrib.layers and the layers of tf.contrib.slim, as functions."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph import scope as name_scope
from situ._src.framework.scopes import device as placed
from situ._src.framework.tensor import GraphTensor
from situ._src.legacy import base_layer, layers
from situ._src.legacy.arg_scope import add_arg_scope
from situ._src.ops import control_flow_ops, init_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.nn import conv, norm, pool
from situ._src.variables import variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, TensorLike


def exported(*names):
    """Decorator: exports a function under contrib.layers and contrib.slim, with arguments of
    arg_scope.
    """

    def record(function):
        function = add_arg_scope(function)
        return export(v1=[p + n for n in names for p in ("contrib.layers.", "contrib.slim.")])(
            function
        )

    return record


def _relu(x):
    return op("Relu", x)


@export(
    v1=[
        p + n
        for n in ("xavier_initializer", "xavier_initializer_conv2d")
        for p in ("contrib.layers.", "contrib.slim.")
    ]
)
def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: Any = "float32"
) -> Any:
    """Returns the Xavier (Glorot) initializer.

    Args:
      uniform: Whether to draw from a uniform instead of a truncated normal distribution.
      seed: Seed of the random numbers.
      dtype: Type of the values.
    """
    return init_ops.VarianceScaling(
        1.0, "fan_avg", "uniform" if uniform else "truncated_normal", seed, dtype
    )


@export(
    v1=("contrib.layers.variance_scaling_initializer", "contrib.slim.variance_scaling_initializer")
)
def variance_scaling_initializer(
    factor: Any = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = "float32",
) -> Any:
    """Returns an initializer whose variance is factor divided by the fan of the weights.

    Args:
      factor: Numerator of the variance.
      mode: "FAN_IN", "FAN_OUT" or "FAN_AVG".
      uniform: Whether to draw from a uniform instead of a truncated normal distribution.
      seed: Seed of the random numbers.
      dtype: Type of the values.
    """
    return init_ops.VarianceScaling(
        factor, mode.lower(), "uniform" if uniform else "truncated_normal", seed, dtype
    )


def collect(tensor, keys, alias=None):
    """Adds a tensor to collections: one name, a list, or None; sets its alias."""
    if keys and isinstance(tensor, GraphTensor):
        tensor.alias = alias or variable_scope.get_variable_scope().name
    for key in [keys] if isinstance(keys, str) else keys or ():
        get_default_graph().add_to_collection(key, tensor)
    return tensor


@exported("variable")
def variable(
    name: str | None,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Callable | None = None,
    trainable: bool = True,
    collections: list[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Callable | None = None,
    custom_getter: Callable | None = None,
    use_resource: bool | None = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """Gets or creates a variable of the current scope; arguments as in tf.get_variable, and
    device.

    Args:
      name: A name for the operation (optional).
      shape: Shape.
      dtype: Type of the values.
      initializer: Initializer of the variable.
      regularizer: Regularizer, whose value is added to the regularization losses.
      trainable: Whether the variables are trained.
      collections: Keys of the collections of the variable.
      caching_device: Has no effect: each read returns the current value.
      device: Device of the variable, or function of it.
      partitioner: Function that partitions the variable.
      custom_getter: Function that wraps get_variable.
      use_resource: Whether to create a resource variable.
      synchronization: A tf.VariableSynchronization.
      aggregation: A tf.VariableAggregation.
    """

    keys = list(
        dict.fromkeys(
            [
                *([collections] if isinstance(collections, str) else collections or ()),
                GraphKeys.GLOBAL_VARIABLES,
            ]
        )
    )
    with placed(device or ""):
        kwargs = {
            k: v
            for k, v in (
                ("partitioner", partitioner),
                ("custom_getter", custom_getter),
                ("use_resource", use_resource),
                ("caching_device", caching_device),
                ("synchronization", synchronization),
                ("aggregation", aggregation),
            )
            if v is not None
        }
        return variable_scope.get_variable(
            name, shape, dtype, initializer, regularizer, trainable, keys, **kwargs
        )


@exported("model_variable")
def model_variable(
    name: str | None,
    shape: Any = None,
    dtype: Any = "float32",
    initializer: Any = None,
    regularizer: Callable | None = None,
    trainable: bool = True,
    collections: list[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Callable | None = None,
    custom_getter: Callable | None = None,
    use_resource: bool | None = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """Gets or creates a variable and adds it to MODEL_VARIABLES; arguments as in variable.

    Args:
      name: A name for the operation (optional).
      shape: Shape.
      dtype: Type of the values.
      initializer: Initializer of the variable.
      regularizer: Regularizer, whose value is added to the regularization losses.
      trainable: Whether the variables are trained.
      collections: Keys of the collections of the variable.
      caching_device: Has no effect: each read returns the current value.
      device: Device of the variable, or function of it.
      partitioner: Function that partitions the variable.
      custom_getter: Function that wraps get_variable.
      use_resource: Whether to create a resource variable.
      synchronization: A tf.VariableSynchronization.
      aggregation: A tf.VariableAggregation.
    """
    return variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        trainable,
        [
            *([collections] if isinstance(collections, str) else collections or ()),
            GraphKeys.MODEL_VARIABLES,
        ],
        caching_device,
        device,
        partitioner,
        custom_getter,
        use_resource,
        synchronization,
        aggregation,
    )


class _Weights:
    """Creates the variables of a layer in the given collections."""

    def __init__(self, trainable, collections):
        self.trainable, self.collections = trainable, collections

    def make(self, name, shape, initializer, regularizer):
        keys = self.collections
        keys = keys.get(name) if isinstance(keys, dict) else keys
        return model_variable(name, shape, None, initializer, regularizer, self.trainable, keys)


def _finish(
    made,
    width,
    normalizer_fn,
    normalizer_params,
    biases_initializer,
    biases_regularizer,
    activation_fn,
    weights,
    data_format="NHWC",
):
    """Applies the normalizer or adds biases, then applies the activation."""
    if normalizer_fn is not None:
        made = normalizer_fn(made, **(normalizer_params or {}))
    elif biases_initializer is not None:
        biases = weights.make("biases", [width], biases_initializer, biases_regularizer)
        made = op("BiasAdd", made, biases, data_format=data_format)
    return activation_fn(made) if activation_fn is not None else made


@exported("fully_connected")
def fully_connected(
    inputs: Any,
    num_outputs: int | None,
    activation_fn: Callable | None = _relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = None,
    weights_regularizer: Callable | None = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Callable | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: str | list[str] | None = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Fully connected layer: `activation_fn(inputs @ weights + biases)`.

    Args:
      inputs: Tensor of rank 2 or more.
      num_outputs: Size of the output.
      activation_fn: Activation function; default: relu; None applies none.
      normalizer_fn: Normalization instead of biases, such as batch_norm.
      normalizer_params: Dictionary of its arguments.
      weights_initializer: Initializer of the weights; default: xavier_initializer().
      weights_regularizer: Regularizer of the weights.
      biases_initializer: Initializer of the biases; None: no biases.
      biases_regularizer: Regularizer of the biases.
      reuse: Whether to use existing variables.
      variables_collections: Collections of the variables, or a dictionary of them by name:
        "weights", "biases".
      outputs_collections: Collections of the output.
      trainable: Whether the variables are trained.
      scope: Name of the variable scope.

    Returns:
      Tensor of the shape of the inputs with num_outputs as last size.
    """
    with variable_scope.variable_scope(scope, "fully_connected", reuse=reuse):
        inputs, own = convert_to_tensor(inputs), _Weights(trainable, variables_collections)
        width = inputs.shape.as_list()[-1]
        if width is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`."
            )
        weights = own.make(
            "weights",
            [width, num_outputs],
            weights_initializer or xavier_initializer(),
            weights_regularizer,
        )
        layer = layers.Dense(num_outputs, use_bias=False)
        layer.kernel = weights
        result = layer.call(inputs)
        result = _finish(
            result,
            num_outputs,
            normalizer_fn,
            normalizer_params,
            biases_initializer,
            biases_regularizer,
            activation_fn,
            own,
        )
        return collect(result, outputs_collections)


@exported("relu")
def relu(inputs: Any, num_outputs: int | None, **kwargs: Any) -> Any:
    """fully_connected with relu.

    Args:
      inputs: Tensor of rank 2 or more.
      num_outputs: Size of the output.
      **kwargs: Further arguments of fully_connected.
    """
    return fully_connected(inputs, num_outputs, activation_fn=_relu, **kwargs)


@exported("linear")
def linear(inputs: Any, num_outputs: int | None, **kwargs: Any) -> Any:
    """fully_connected without an activation.

    Args:
      inputs: Tensor of rank 2 or more.
      num_outputs: Size of the output.
      **kwargs: Further arguments of fully_connected.
    """
    return fully_connected(inputs, num_outputs, activation_fn=None, **kwargs)


@exported("conv2d", "convolution2d", "convolution")
def conv2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    stride: int = 1,
    padding: Any = "SAME",
    data_format: str | None = None,
    rate: float = 1,
    activation_fn: Callable | None = _relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = None,
    weights_regularizer: Callable | None = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Callable | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: str | list[str] | None = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """2-D convolution: `activation_fn(conv2d(inputs, weights) + biases)`.

    Args:
      inputs: Tensor of shape `(batch, height, width, channels)`, or as data_format says.
      num_outputs: Number of output channels.
      kernel_size: Height and width of the kernel; one int for both.
      stride: Stride; one int for both dimensions.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW"; None: "NHWC".
      rate: Dilation rate.
      activation_fn: Activation function; default: relu; None applies none.
      normalizer_fn: Normalization instead of biases, such as batch_norm.
      normalizer_params: Dictionary of its arguments.
      weights_initializer: Initializer of the weights; default: xavier_initializer().
      weights_regularizer: Regularizer of the weights.
      biases_initializer: Initializer of the biases; None: no biases.
      biases_regularizer: Regularizer of the biases.
      reuse: Whether to use existing variables.
      variables_collections: Collections of the variables, or a dictionary of them by name:
        "weights", "biases".
      outputs_collections: Collections of the output.
      trainable: Whether the variables are trained.
      scope: Name of the variable scope.
    """
    with variable_scope.variable_scope(scope, "Conv", reuse=reuse):
        inputs, own = convert_to_tensor(inputs), _Weights(trainable, variables_collections)
        kind = conv.layout(data_format)
        channels = inputs.shape.as_list()[1 if kind == "NCHW" else -1]
        weights = own.make(
            "weights",
            [*base_layer.pair(kernel_size), channels, num_outputs],
            weights_initializer or xavier_initializer(),
            weights_regularizer,
        )
        result = conv.conv2d(inputs, weights, stride, padding, data_format=kind, dilations=rate)
        result = _finish(
            result,
            num_outputs,
            normalizer_fn,
            normalizer_params,
            biases_initializer,
            biases_regularizer,
            activation_fn,
            own,
            kind,
        )
        return collect(result, outputs_collections)


@exported("conv2d_transpose", "convolution2d_transpose")
def conv2d_transpose(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    stride: int = 1,
    padding: Any = "SAME",
    data_format: str | None = None,
    activation_fn: Callable | None = _relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = None,
    weights_regularizer: Callable | None = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Callable | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: str | list[str] | None = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Transposed 2-D convolution; arguments as in conv2d, without rate.

    Args:
      inputs: Tensor of rank 2 or more.
      num_outputs: Size of the output.
      kernel_size: Height and width of the kernel; one int for both.
      stride: Stride; one int for both dimensions.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW"; None: "NHWC".
      activation_fn: Activation function; default: relu; None applies none.
      normalizer_fn: Normalization instead of biases, such as batch_norm.
      normalizer_params: Dictionary of its arguments.
      weights_initializer: Initializer of the weights; default: xavier_initializer().
      weights_regularizer: Regularizer of the weights.
      biases_initializer: Initializer of the biases; None: no biases.
      biases_regularizer: Regularizer of the biases.
      reuse: Whether to use existing variables.
      variables_collections: Collections of the variables, or a dictionary of them by name:
        "weights", "biases".
      outputs_collections: Collections of the output.
      trainable: Whether the variables are trained.
      scope: Name of the variable scope.
    """
    with variable_scope.variable_scope(scope, "Conv2d_transpose", reuse=reuse):
        inputs, own = convert_to_tensor(inputs), _Weights(trainable, variables_collections)
        kind = conv.layout(data_format)
        layer = layers.Conv2DTranspose(
            num_outputs, kernel_size, stride, padding, data_format, use_bias=False
        )
        channels = layer.channels(inputs.shape)
        layer.kernel = own.make(
            "weights",
            [*base_layer.pair(kernel_size), num_outputs, channels],
            weights_initializer or xavier_initializer(),
            weights_regularizer,
        )
        result = _finish(
            layer.call(inputs),
            num_outputs,
            normalizer_fn,
            normalizer_params,
            biases_initializer,
            biases_regularizer,
            activation_fn,
            own,
            kind,
        )
        return collect(result, outputs_collections)


@exported("separable_conv2d", "separable_convolution2d")
def separable_conv2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: int = 1,
    padding: Any = "SAME",
    data_format: str | None = None,
    rate: float = 1,
    activation_fn: Callable | None = _relu,
    normalizer_fn: Callable | None = None,
    normalizer_params: dict[str, Any] | None = None,
    weights_initializer: Any = None,
    pointwise_initializer: Any = None,
    weights_regularizer: Callable | None = None,
    biases_initializer: Any = init_ops.Zeros,
    biases_regularizer: Callable | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: str | list[str] | None = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Depthwise 2-D convolution followed by a 1 x 1 convolution, unless num_outputs is None.

    Arguments as in conv2d, and depth_multiplier, the number of channels per input channel, and
    pointwise_initializer, by default weights_initializer. weights_regularizer is of both kernels.

    Args:
      inputs: Tensor of rank 2 or more.
      num_outputs: Size of the output.
      kernel_size: Height and width of the kernel; one int for both.
      depth_multiplier: Number of depthwise output channels per input channel.
      stride: Stride; one int for both dimensions.
      padding: "SAME" or "VALID".
      data_format: "NHWC" or "NCHW"; None: "NHWC".
      rate: Dilation rate.
      activation_fn: Activation function; default: relu; None applies none.
      normalizer_fn: Normalization instead of biases, such as batch_norm.
      normalizer_params: Dictionary of its arguments.
      weights_initializer: Initializer of the weights; default: xavier_initializer().
      pointwise_initializer: Initializer of the 1 x 1 kernel.
      weights_regularizer: Regularizer of the weights.
      biases_initializer: Initializer of the biases; None: no biases.
      biases_regularizer: Regularizer of the biases.
      reuse: Whether to use existing variables.
      variables_collections: Collections of the variables, or a dictionary of them by name:
        "weights", "biases".
      outputs_collections: Collections of the output.
      trainable: Whether the variables are trained.
      scope: Name of the variable scope.
    """
    with variable_scope.variable_scope(scope, "SeparableConv2d", reuse=reuse):
        inputs, own = convert_to_tensor(inputs), _Weights(trainable, variables_collections)
        kind = conv.layout(data_format)
        channels = inputs.shape.as_list()[1 if kind == "NCHW" else -1]
        first = weights_initializer or xavier_initializer()
        depthwise = own.make(
            "depthwise_weights",
            [*base_layer.pair(kernel_size), channels, depth_multiplier],
            first,
            weights_regularizer,
        )
        down, right = base_layer.pair(stride)
        steps = [1, 1, down, right] if kind == "NCHW" else [1, down, right, 1]
        result = conv.depthwise_conv2d(
            inputs, depthwise, steps, padding, base_layer.pair(rate), data_format=kind
        )
        if num_outputs is not None:
            pointwise = own.make(
                "pointwise_weights",
                [1, 1, channels * depth_multiplier, num_outputs],
                pointwise_initializer or first,
                weights_regularizer,
            )
            result = conv.conv2d(result, pointwise, 1, "VALID", data_format=kind)
        width = channels * depth_multiplier if num_outputs is None else num_outputs
        result = _finish(
            result,
            width,
            normalizer_fn,
            normalizer_params,
            biases_initializer,
            biases_regularizer,
            activation_fn,
            own,
            kind,
        )
        return collect(result, outputs_collections)


def _pool(name, scope_name, pool):
    @exported(name)
    def layer(
        inputs,
        kernel_size,
        stride=2,
        padding="VALID",
        data_format=None,
        outputs_collections=None,
        scope=None,
    ):
        """Pools images over 2-D windows; arguments as in conv2d."""
        with name_scope(scope, scope_name) as full:
            result = pool(
                inputs,
                kernel_size,
                stride,
                padding,
                conv.layout(data_format),
                full + name[:3].title() + "Pool",
            )
        return collect(result, outputs_collections, full.rstrip("/"))

    layer.__name__ = name


_pool("max_pool2d", "MaxPool2D", pool.max_pool)
_pool("avg_pool2d", "AvgPool2D", pool.avg_pool)


@exported("flatten")
def flatten(
    inputs: Any, outputs_collections: str | list[str] | None = None, scope: Any = None
) -> Any:
    """Flattens all dimensions but the batch.

    Args:
      inputs: Tensor.
      outputs_collections: Collections of the output.
      scope: Name scope of the ops.
    """
    result = layers.Flatten(name=scope or "Flatten")(inputs)
    return collect(result, outputs_collections, result.op.name.rpartition("/")[0])


@exported("dropout")
def dropout(
    inputs: Any,
    keep_prob: TensorLike = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: str | list[str] | None = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """Keeps elements with probability keep_prob during training, scaled by its inverse.

    Args:
      inputs: Tensor.
      keep_prob: Probability of keeping an element.
      noise_shape: Shape of the dropout mask, broadcast to the input.
      is_training: Whether to drop elements: a bool or a boolean tensor.
      outputs_collections: Collections of the output.
      scope: Name of the variable scope, and of the ops.
      seed: Seed of the random numbers.
    """
    inputs = convert_to_tensor(inputs)
    with variable_scope.variable_scope(scope, "Dropout"):
        result = control_flow_ops.smart_cond(
            is_training,
            lambda: norm.dropout(inputs, keep_prob, noise_shape, seed),
            lambda: op("Identity", inputs),
        )
    return collect(result, outputs_collections)


@exported("repeat")
def repeat(inputs: Any, repetitions: Any, layer: Any, *args: Any, **kwargs: Any) -> Any:
    """Applies a layer several times, in the scopes scope/scope_1, scope/scope_2, ...

    Args:
      inputs: Tensor.
      repetitions: Number of times.
      layer: Layer function.
      *args, **kwargs: Its arguments.
    """
    scope = kwargs.pop("scope", None)
    with variable_scope.variable_scope(scope, "Repeat"):
        result = convert_to_tensor(inputs)
        scope = scope or getattr(layer, "__name__", None) or layer.func.__name__
        for i in range(repetitions):
            result = layer(result, *args, scope=f"{scope}_{i + 1}", **kwargs)
        return result


@exported("stack")
def stack(inputs: Any, layer: Any, stack_args: Any, **kwargs: Any) -> Any:
    """Applies a layer several times, each time with the next arguments of stack_args.

    Args:
      inputs: Tensor.
      layer: Layer function.
      stack_args: List of arguments, one entry per call.
      **kwargs: Arguments of all calls.
    """
    scope = kwargs.pop("scope", None)
    with variable_scope.variable_scope(scope, "Stack"):
        result = convert_to_tensor(inputs)
        scope = scope or getattr(layer, "__name__", None) or layer.func.__name__
        for i, args in enumerate(stack_args):
            args = args if isinstance(args, (list, tuple)) else [args]
            result = layer(result, *args, scope=f"{scope}_{i + 1}", **kwargs)
        return result


@exported("softmax")
def softmax(logits: TensorLike, scope: Any = None) -> Any:
    """Softmax over the last dimension.

    Args:
      logits: The logits.
      scope: Name of the variable scope.
    """
    with variable_scope.variable_scope(scope, "softmax"):
        return op("Softmax", convert_to_tensor(logits))


@exported("bias_add")
def bias_add(
    inputs: Any,
    activation_fn: Callable | None = None,
    initializer: Any = init_ops.Zeros,
    regularizer: Callable | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: str | list[str] | None = None,
    trainable: bool = True,
    data_format: str | None = "NHWC",
    scope: Any = None,
) -> Any:
    """Adds biases: `activation_fn(inputs + biases)`; arguments as in fully_connected.

    Args:
      inputs: Tensor of rank 2 or more.
      activation_fn: Activation function; default: relu; None applies none.
      initializer: Initializer of the biases.
      regularizer: Regularizer of the biases.
      reuse: Whether to use existing variables.
      variables_collections: Collections of the variables, or a dictionary of them by name:
        "weights", "biases".
      outputs_collections: Collections of the output.
      trainable: Whether the variables are trained.
      data_format: "NHWC" or "NCHW"; None: "NHWC".
      scope: Name of the variable scope.
    """
    with variable_scope.variable_scope(scope, "BiasAdd", reuse=reuse):
        inputs = convert_to_tensor(inputs)
        width = inputs.shape.as_list()[1 if data_format == "NCHW" else -1]
        biases = model_variable(
            "biases", [width], None, initializer, regularizer, trainable, variables_collections
        )
        result = op("BiasAdd", inputs, biases, data_format=data_format)
        return collect(
            result if activation_fn is None else activation_fn(result), outputs_collections
        )


@exported("one_hot_encoding")
def one_hot_encoding(
    labels: TensorLike,
    num_classes: int | None,
    on_value: TensorLike = 1.0,
    off_value: TensorLike = 0.0,
    outputs_collections: str | list[str] | None = None,
    scope: Any = None,
) -> Any:
    """Converts class ids to one-hot vectors.

    Args:
      labels: Tensor of class ids.
      num_classes: Number of classes.
      on_value: The value at the class id.
      off_value: The value elsewhere.
      outputs_collections: Collections of the output.
      scope: Name of the variable scope.
    """
    one_hot = BOTH.get("one_hot") or V1["one_hot"]
    with name_scope(scope, "OneHotEncoding"):
        labels = convert_to_tensor(labels)
        labels = cast(labels, "int64") if labels.dtype == "int32" else labels
        return collect(one_hot(labels, num_classes, on_value, off_value), outputs_collections)


@exported("embed_sequence")
def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: Any = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Callable | None = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> Any:
    """Looks up embeddings of ids in a table.

    Args:
      ids: Integer tensor.
      vocab_size: Number of rows of the table.
      embed_dim: Size of each row.
      unique: Whether to look up each id once; the result is the same.
      initializer, regularizer, trainable, scope, reuse: Of the table, as in fully_connected.
    """
    del unique  # saves lookups of equal ids and does not change the embeddings
    with variable_scope.variable_scope(scope, "EmbedSequence", reuse=reuse):
        table = model_variable(
            "embeddings", [vocab_size, embed_dim], "float32", initializer, regularizer, trainable
        )
        return (BOTH.get("nn.embedding_lookup") or V1["nn.embedding_lookup"])(table, ids)
