# SPDX-License-Identifier: Apache-2.0
"""activations.py: tf.keras.activations: functions of what a layer has computed."""

from situ._src.framework.api import export
from situ._src.framework.api import named as function
from situ._src.keras.registry import Registry, keras_export
from situ._src.ops.array_ops import cast, convert_to_tensor, op

KIND = Registry("activation function", {})


def _export_function(thing):
    KIND.add(thing)
    return keras_export("activations." + thing.__name__)(thing)


@_export_function
def linear(x):
    return x


@_export_function
def relu(x, alpha=0.0, max_value=None, threshold=0.0, negative_slope=None):
    """max(x, 0), with a slope below, a limit and a threshold."""
    x = convert_to_tensor(x)
    alpha = alpha if negative_slope is None else negative_slope
    if not threshold:
        if not alpha:
            if max_value == 6:
                return op("Relu6", x)
            y = op("Relu", x)
        else:
            y = op("LeakyRelu", x, alpha=float(alpha))
    else:
        above = cast(op("Greater", x, cast(threshold, x.dtype)), x.dtype)
        y = x * above + (x - threshold) * alpha * (1.0 - above)
    return y if max_value is None else op("Minimum", y, cast(max_value, x.dtype))


def _row(name, row):
    def activation(x):
        return op(row, convert_to_tensor(x))

    activation.__name__ = name
    return _export_function(activation)


sigmoid, tanh = _row("sigmoid", "Sigmoid"), _row("tanh", "Tanh")
softplus, softsign = _row("softplus", "Softplus"), _row("softsign", "Softsign")
selu, exponential = _row("selu", "Selu"), _row("exponential", "Exp")
relu6 = _row("relu6", "Relu6")


@_export_function
def elu(x, alpha=1.0):
    y = op("Elu", convert_to_tensor(x))
    return y if alpha == 1 else op("SelectV2", op("Greater", x, cast(0, x.dtype)), y, y * alpha)


@_export_function
def softmax(x, axis=-1):
    return function("nn.softmax")(x, axis=axis)


@_export_function
def log_softmax(x, axis=-1):
    return function("nn.log_softmax")(x, axis=axis)


@_export_function
def swish(x):
    """x * sigmoid(x)."""
    return x * op("Sigmoid", convert_to_tensor(x))


silu = KIND.add(swish, "silu")
keras_export("activations.silu")(swish)


@export(v2="nn.gelu")
@_export_function
def gelu(x, approximate=False, name=None):
    """x times the share of normal numbers below x."""
    x = convert_to_tensor(x)
    if approximate:
        inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1.0 + op("Tanh", inner))
    return 0.5 * x * (1.0 + op("Erf", x / 1.4142135623730951))


@_export_function
def mish(x):
    return x * op("Tanh", op("Softplus", convert_to_tensor(x)))


@_export_function
def hard_sigmoid(x):
    """0.2 * x + 0.5 between 0 and 1."""
    x = convert_to_tensor(x)
    line = 0.2 * x + 0.5
    return op("ClipByValue", line, cast(0.0, x.dtype), cast(1.0, x.dtype))


@_export_function
def leaky_relu(x, alpha=0.2):
    return op("LeakyRelu", convert_to_tensor(x), alpha=float(alpha))


def get(identifier):
    """A function by its name; None is linear."""
    return linear if identifier is None else KIND.get(identifier)


keras_export("activations.get")(get)
keras_export("activations.serialize")(KIND.serialize)
keras_export("activations.deserialize")(KIND.deserialize)
