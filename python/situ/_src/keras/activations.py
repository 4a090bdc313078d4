# SPDX-License-Identifier: Apache-2.0
"""activations.py: tf.keras.activations: element-wise activation functions and softmax."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import export
from situ._src.framework.api import named as function
from situ._src.framework.graph import scope
from situ._src.keras.registry import Registry, keras_export
from situ._src.ops.array_ops import cast, convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Tensor, TensorLike

KIND = Registry("activation function", {})


def _export_function(thing):
    """Registers and exports an activation function."""
    KIND.add(thing)
    return keras_export("activations." + thing.__name__)(thing)


@_export_function
def linear(x: Any) -> Tensor:
    """Returns x.

    Args:
      x: A tensor.
    """
    return x


@_export_function
def relu(
    x: Any,
    alpha: TensorLike = 0.0,
    max_value: float | None = None,
    threshold: Any = 0.0,
    negative_slope: Any = None,
) -> Tensor:
    """Rectified linear unit: `max(x, 0)`, with an optional slope, limit and threshold.

    Args:
      x: Tensor.
      alpha: Slope below the threshold.
      max_value: Upper limit of the output; None: no limit.
      threshold: Inputs below it are treated as negative.
      negative_slope: Name of alpha in Keras 3.

    Returns:
      Tensor of the shape of x.
    """
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


def _op_activation(name, op_name, doc):
    """Defines the activation function of an op."""

    def activation(x: TensorLike) -> Tensor:
        return op(op_name, convert_to_tensor(x))

    activation.__name__, activation.__doc__ = name, f"{doc}\n\n    Args:\n      x: A tensor.\n    "
    return _export_function(activation)


sigmoid = _op_activation("sigmoid", "Sigmoid", "Sigmoid: `1 / (1 + exp(-x))`.")
tanh = _op_activation("tanh", "Tanh", "Hyperbolic tangent.")
softplus = _op_activation("softplus", "Softplus", "Softplus: `log(exp(x) + 1)`.")
softsign = _op_activation("softsign", "Softsign", "Softsign: `x / (abs(x) + 1)`.")
selu = _op_activation("selu", "Selu", "Scaled exponential linear unit.")
exponential = _op_activation("exponential", "Exp", "Exponential: `exp(x)`.")
relu6 = _op_activation("relu6", "Relu6", "Rectified linear unit with the upper limit 6.")


@_export_function
def elu(x: Any, alpha: TensorLike = 1.0) -> Tensor:
    """Exponential linear unit: `x` for positive inputs, `alpha * (exp(x) - 1)` otherwise.

    Args:
      x: Tensor.
      alpha: Scale of the negative part.
    """
    y = op("Elu", convert_to_tensor(x))
    return y if alpha == 1 else op("SelectV2", op("Greater", x, cast(0, x.dtype)), y, y * alpha)


@_export_function
def softmax(x: Any, axis: Any = -1) -> Tensor:
    """Softmax: `exp(x) / sum(exp(x))` along an axis.

    Args:
      x: Tensor of logits.
      axis: The axis that sums to 1.
    """
    return function("nn.softmax")(x, axis=axis)


@_export_function
def log_softmax(x: Any, axis: Any = -1) -> Tensor:
    """Logarithm of softmax along an axis.

    Args:
      x: Tensor of logits.
      axis: The axis.
    """
    return function("nn.log_softmax")(x, axis=axis)


@_export_function
def swish(x: Any) -> Tensor:
    """Swish (SiLU): `x * sigmoid(x)`.

    Args:
      x: A tensor.
    """
    return x * op("Sigmoid", convert_to_tensor(x))


silu = KIND.add(swish, "silu")
keras_export("activations.silu")(swish)


@_export_function
def gelu(x: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """Gaussian error linear unit: `x * P(X <= x)` for a standard normal X.

    Args:
      x: Tensor.
      approximate: Whether to use the approximation with tanh.
      name: Name scope of the ops.
    """
    with scope(name, "Gelu"):
        x = convert_to_tensor(x)
        if approximate:
            inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
            return 0.5 * x * (1.0 + op("Tanh", inner))
        return 0.5 * x * (1.0 + op("Erf", x / 1.4142135623730951))


@export(v2="nn.gelu")
def nn_gelu(features: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """Gaussian error linear unit; see `tf.keras.activations.gelu`.

    Args:
      features: A tensor.
      approximate: Whether to use the approximation with tanh.
      name: A name for the operation (optional).
    """
    return gelu(features, approximate, name)


@_export_function
def mish(x: Any) -> Tensor:
    """Mish: `x * tanh(softplus(x))`.

    Args:
      x: A tensor.
    """
    return x * op("Tanh", op("Softplus", convert_to_tensor(x)))


@_export_function
def hard_sigmoid(x: Any) -> Tensor:
    """`0.2 * x + 0.5`, clipped to [0, 1].

    Args:
      x: A tensor.
    """
    x = convert_to_tensor(x)
    line = 0.2 * x + 0.5
    return op("ClipByValue", line, cast(0.0, x.dtype), cast(1.0, x.dtype))


@_export_function
def leaky_relu(x: Any, alpha: TensorLike = 0.2) -> Tensor:
    """`x` for positive inputs, `alpha * x` otherwise.

    Args:
      x: Tensor.
      alpha: Slope for negative inputs.
    """
    return op("LeakyRelu", convert_to_tensor(x), alpha=float(alpha))


def get(identifier: Any) -> Any:
    """Returns an activation function.

    Args:
      identifier: A name, a dictionary with `class_name` and `config`, or a callable object, which
        is returned; None gives `linear`.

    Raises:
      ValueError: If the name is unknown.
    """
    return linear if identifier is None else KIND.get(identifier)


keras_export("activations.get")(get)
keras_export("activations.serialize")(KIND.serialize)
keras_export("activations.deserialize")(KIND.deserialize)
