# SPDX-License-Identifier: Apache-2.0
"""backend_math.py: operations of tf.keras.backend on numbers and shapes."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework.api import named as function
from situ._src.keras import activations
from situ._src.keras.backend import export_function, floatx, variable
from situ._src.keras.backend_ops import is_sparse, to_dense
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.ragged_tensor import RaggedTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, ShapeLike, Tensor, TensorLike


def _numeric(x):
    """A tensor; numbers for booleans."""
    x = convert_to_tensor(x)
    return cast(x, floatx()) if x.dtype.is_bool else x


def _reduction(name, what, public_name, convert=convert_to_tensor):
    def reduce(x: TensorLike, axis: Any = None, keepdims: bool = False) -> Tensor:
        return function(public_name)(convert(x), axis, keepdims)

    reduce.__name__ = name
    reduce.__doc__ = f"""Computes {what} over dimensions.

    Args:
      x: A tensor.
      axis: Dimension, or list of dimensions; default: all.
      keepdims: Whether to keep reduced dimensions with size 1.
    """
    export_function(reduce)


def _booleans(x):
    return cast(convert_to_tensor(x), "bool")


_reduction("sum", "the sum", "reduce_sum")
_reduction("mean", "the mean", "reduce_mean", _numeric)
_reduction("max", "the maximum", "reduce_max")
_reduction("min", "the minimum", "reduce_min")
_reduction("prod", "the product", "reduce_prod")
_reduction("any", "the logical or", "reduce_any", _booleans)
_reduction("all", "the logical and", "reduce_all", _booleans)
_reduction("var", "the variance", "math.reduce_variance", _numeric)
_reduction("std", "the standard deviation", "math.reduce_std", _numeric)
_reduction("logsumexp", "log(sum(exp(x)))", "reduce_logsumexp")


def _unary(name, what, op_name):
    def compute(x: TensorLike) -> Tensor:
        return op(op_name, convert_to_tensor(x))

    compute.__name__ = name
    compute.__doc__ = f"""Computes {what} of each element.

    Args:
      x: A tensor.
    """
    export_function(compute)


def _binary(name, what, op_name):
    def compute(x: TensorLike, y: TensorLike) -> Tensor:
        return op(op_name, convert_to_tensor(x), convert_to_tensor(y))

    compute.__name__ = name
    compute.__doc__ = f"""Computes {what} for each pair of elements.

    Args:
      x: A tensor.
      y: A tensor.
    """
    export_function(compute)


_unary("abs", "the absolute value", "Abs")
_unary("square", "the square", "Square")
_unary("sqrt", "the square root", "Sqrt")
_unary("exp", "the exponential function", "Exp")
_unary("log", "the natural logarithm", "Log")
_unary("round", "the nearest integer, the even one of two,", "Round")
_unary("sign", "the sign", "Sign")
_unary("sin", "the sine", "Sin")
_unary("cos", "the cosine", "Cos")
_unary("softsign", "x / (1 + abs(x))", "Softsign")
_unary("softplus", "log(1 + exp(x))", "Softplus")
_binary("maximum", "the larger number", "Maximum")
_binary("minimum", "the smaller number", "Minimum")
_binary("equal", "x == y", "Equal")
_binary("not_equal", "x != y", "NotEqual")
_binary("greater", "x > y", "Greater")
_binary("greater_equal", "x >= y", "GreaterEqual")
_binary("less", "x < y", "Less")
_binary("less_equal", "x <= y", "LessEqual")


@export_function
def pow(x: TensorLike, a: TensorLike) -> Tensor:
    """Computes x ** a for each element.

    Args:
      x: A tensor.
      a: The exponent.
    """
    return function("pow")(x, a)


@export_function
def clip(x: TensorLike, min_value: Any, max_value: Any) -> Tensor:
    """Limits the elements of a tensor.

    Args:
      x: A tensor.
      min_value: Lower limit; None: there is none.
      max_value: Upper limit; None: there is none. A smaller one than `min_value` counts as that.
    """
    numbers = (int, float)
    if isinstance(min_value, numbers) and isinstance(max_value, numbers):
        max_value = max(min_value, max_value)
    low = -numpy.inf if min_value is None else min_value
    high = numpy.inf if max_value is None else max_value
    return function("clip_by_value")(x, low, high)


@export_function
def argmax(x: TensorLike, axis: int = -1) -> Tensor:
    """Returns the index of the largest element along an axis.

    Args:
      x: A tensor.
      axis: The axis.
    """
    return function("argmax")(x, axis)


@export_function
def argmin(x: TensorLike, axis: int = -1) -> Tensor:
    """Returns the index of the smallest element along an axis.

    Args:
      x: A tensor.
      axis: The axis.
    """
    return function("argmin")(x, axis)


@export_function
def cumsum(x: TensorLike, axis: int = 0) -> Tensor:
    """Computes the cumulative sums along an axis.

    Args:
      x: A tensor.
      axis: The axis.
    """
    return function("cumsum")(x, axis)


@export_function
def cumprod(x: TensorLike, axis: int = 0) -> Tensor:
    """Computes the cumulative products along an axis.

    Args:
      x: A tensor.
      axis: The axis.
    """
    return function("math.cumprod")(x, axis)


@export_function
def l2_normalize(x: TensorLike, axis: Any = None) -> Tensor:
    """Scales vectors to length 1.

    Args:
      x: A tensor.
      axis: Dimensions of the vectors; default: all.
    """
    return function("nn.l2_normalize")(x, axis=axis)


@export_function
def dot(x: Any, y: Any) -> Any:
    """Multiplies tensors over the last dimension of x and the one before the last of y.

    Args:
      x: A tensor, dense or sparse.
      y: A tensor of rank 2 or more.
    """
    if is_sparse(x):
        return function("sparse.sparse_dense_matmul")(x, y)
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    if x.shape.rank == 2 and y.shape.rank == 2:
        return op("MatMul", x, y)
    return function("tensordot")(x, y, [[x.shape.rank - 1], [max(y.shape.rank - 2, 0)]])


# Shapes


@export_function
def shape(x: TensorLike) -> Tensor:
    """Returns the shape as a vector.

    Args:
      x: A tensor.
    """
    return op("Shape", convert_to_tensor(x))


@export_function
def reshape(x: TensorLike, shape: ShapeLike) -> Tensor:
    """Returns the elements in another shape.

    Args:
      x: A tensor.
      shape: The shape; one size may be -1.
    """
    return function("reshape")(x, shape)


@export_function
def transpose(x: TensorLike) -> Tensor:
    """Reverses the order of the dimensions.

    Args:
      x: A tensor.
    """
    return function("transpose")(x)


@export_function
def expand_dims(x: TensorLike, axis: int = -1) -> Tensor:
    """Inserts a dimension of size 1.

    Args:
      x: A tensor.
      axis: Its index in the result.
    """
    return function("expand_dims")(x, axis)


@export_function
def squeeze(x: TensorLike, axis: int) -> Tensor:
    """Removes a dimension of size 1.

    Args:
      x: A tensor.
      axis: Its index.
    """
    return function("squeeze")(x, [axis])


@export_function
def stack(x: Any, axis: int = 0) -> Tensor:
    """Joins tensors of the same shape along a new dimension.

    Args:
      x: List of tensors.
      axis: Index of the new dimension.
    """
    return function("stack")(x, axis)


@export_function
def concatenate(tensors: Any, axis: int = -1) -> Any:
    """Joins tensors along a dimension.

    Args:
      tensors: List of tensors; dense ones if they are not all sparse or all ragged.
      axis: The dimension.
    """
    tensors = [t if hasattr(t, "shape") else convert_to_tensor(t) for t in tensors]
    if axis < 0:
        rank = len(tensors[0].shape)
        axis = axis % rank if rank else 0
    if all(is_sparse(t) for t in tensors):
        return function("sparse.concat")(axis, tensors)
    if not all(isinstance(t, RaggedTensor) for t in tensors):
        tensors = [to_dense(t) for t in tensors]
    return function("concat")(tensors, axis)


@export_function
def tile(x: TensorLike, n: Any) -> Tensor:
    """Repeats a tensor along its dimensions.

    Args:
      x: A tensor.
      n: Number of copies for each dimension; a number for a vector.
    """
    return function("tile")(x, [n] if isinstance(n, int) else n)


@export_function
def gather(reference: TensorLike, indices: TensorLike) -> Tensor:
    """Returns slices of a tensor along its first dimension.

    Args:
      reference: A tensor.
      indices: Indices of the slices.
    """
    return function("gather")(reference, indices)


@export_function
def one_hot(indices: TensorLike, num_classes: int) -> Tensor:
    """Returns one-hot vectors along a new last dimension.

    Args:
      indices: Class indices.
      num_classes: Number of classes.
    """
    return function("one_hot")(indices, num_classes, axis=-1)


@export_function
def reverse(x: TensorLike, axes: Any) -> Tensor:
    """Reverses dimensions.

    Args:
      x: A tensor.
      axes: Dimension, or list of dimensions.
    """
    return function("reverse")(x, [axes] if isinstance(axes, int) else axes)


# Creation


def _filled(make: Callable, shape: ShapeLike, dtype: Any, name: str | None) -> Any:
    value = make(shape, dtype or floatx())
    known = value.shape.rank is not None and all(value.shape.as_list())
    return variable(value, dtype or floatx(), name) if known else value


@export_function
def zeros(shape: ShapeLike, dtype: Any = None, name: str | None = None) -> Any:
    """Creates a variable of zeros; a tensor if the shape has a size that is 0 or unknown.

    Args:
      shape: The shape.
      dtype: The type; default: `floatx()`.
      name: Name of the variable.
    """
    return _filled(function("zeros"), shape, dtype, name)


@export_function
def ones(shape: ShapeLike, dtype: Any = None, name: str | None = None) -> Any:
    """Creates a variable of ones; a tensor if the shape has a size that is 0 or unknown.

    Args:
      shape: The shape.
      dtype: The type; default: `floatx()`.
      name: Name of the variable.
    """
    return _filled(function("ones"), shape, dtype, name)


@export_function
def eye(size: int, dtype: Any = None, name: str | None = None) -> Any:
    """Creates a variable with an identity matrix.

    Args:
      size: Number of rows and columns.
      dtype: The type; default: `floatx()`.
      name: Name of the variable.
    """
    return variable(function("eye")(size, dtype=dtype or floatx()), dtype or floatx(), name)


@export_function
def zeros_like(x: TensorLike, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns zeros of the shape of a tensor.

    Args:
      x: A tensor.
      dtype: The type; default: that of x.
      name: A name for the operation.
    """
    return function("zeros_like")(x, dtype=dtype, name=name)


@export_function
def ones_like(x: TensorLike, dtype: Any = None, name: str | None = None) -> Tensor:
    """Returns ones of the shape of a tensor.

    Args:
      x: A tensor.
      dtype: The type; default: that of x.
      name: A name for the operation.
    """
    return function("ones_like")(x, dtype=dtype, name=name)


@export_function
def identity(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns a tensor with the same elements.

    Args:
      x: A tensor.
      name: A name for the operation.
    """
    return function("identity")(x, name=name)


@export_function
def stop_gradient(variables: Any) -> Any:
    """Returns tensors that count as constants for gradients.

    Args:
      variables: A tensor, or a list of tensors.
    """
    if isinstance(variables, (list, tuple)):
        return [op("StopGradient", convert_to_tensor(v)) for v in variables]
    return op("StopGradient", convert_to_tensor(variables))


for _function in (
    activations.relu,
    activations.elu,
    activations.softmax,
    activations.sigmoid,
    activations.tanh,
    activations.hard_sigmoid,
):
    export_function(_function)
