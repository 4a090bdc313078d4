# SPDX-License-Identifier: Apache-2.0
"""morphology.py: tf.nn grayscale dilation and erosion of images."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def _check_format(data_format: str) -> None:
    if data_format != "NHWC":
        raise ValueError(
            "`data_format` values other than 'NHWC' are not supported. "
            f"Received: data_format={data_format}"
        )


def _either(name: str, value: Any, old_name: str, old_value: Any) -> Any:
    """Returns the argument that is given under one of two names."""
    if value is not None and old_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{name}'.")
    return old_value if value is None else value


@export(v1="nn.dilation2d")
def dilation2d(
    input: TensorLike,
    filter: TensorLike = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: TensorLike = None,
    dilations: Any = None,
) -> Tensor:
    """Computes the grayscale dilation of images: the maximum of window plus filter.

    Args:
      input: Images of shape [batch, height, width, channels].
      filter: What is added under the window, of shape [height, width, channels].
      strides: The strides of the window, [1, rows, columns, 1].
      rates: The distances between elements of the window, [1, rows, columns, 1].
      padding: "SAME" or "VALID".
      name: A name for the operation (optional).
      filters: Another name of `filter`.
      dilations: Another name of `rates`.

    Returns:
      A tensor of the type of `input`.

    Raises:
      ValueError: If an argument is given under both names.
    """
    filter = _either("filters", filters, "filter", filter)
    rates = _either("dilations", dilations, "rates", rates)
    return op("Dilation2D", input, filter, strides=strides, rates=rates, padding=padding, name=name)


@export(v2="nn.dilation2d")
def dilation2d_v2(
    input: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str,
    dilations: Any,
    name: str | None = None,
) -> Tensor:
    """Computes the grayscale dilation of images: the maximum of window plus filter.

    Args:
      input: Images of shape [batch, height, width, channels].
      filters: What is added under the window, of shape [height, width, channels].
      strides: The strides of the window, [1, rows, columns, 1].
      padding: "SAME" or "VALID".
      data_format: "NHWC".
      dilations: The distances between elements of the window, [1, rows, columns, 1].
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `input`.

    Raises:
      ValueError: If `data_format` is not "NHWC".
    """
    _check_format(data_format)
    return dilation2d(input, filters, strides, dilations, padding, name)


@export(v1="nn.erosion2d")
def erosion2d(
    value: TensorLike,
    kernel: TensorLike,
    strides: Any,
    rates: Any,
    padding: Any,
    name: str | None = None,
) -> Tensor:
    """Computes the grayscale erosion of images: the minimum of window minus reversed kernel.

    Args:
      value: Images of shape [batch, height, width, channels].
      kernel: What is subtracted under the window, of shape [height, width, channels].
      strides: The strides of the window, [1, rows, columns, 1].
      rates: The distances between elements of the window, [1, rows, columns, 1].
      padding: "SAME" or "VALID".
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `value`.
    """
    with scope(name, "erosion2d") as name:
        negative = op("Neg", value)
        return op(
            "Neg",
            dilation2d(
                negative, op("ReverseV2", kernel, [0, 1]), strides, rates, padding, name=name
            ),
        )


@export(v2="nn.erosion2d")
def erosion2d_v2(
    value: TensorLike,
    filters: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str,
    dilations: Any,
    name: str | None = None,
) -> Tensor:
    """Computes the grayscale erosion of images: the minimum of window minus reversed filter.

    Args:
      value: Images of shape [batch, height, width, channels].
      filters: What is subtracted under the window, of shape [height, width, channels].
      strides: The strides of the window, [1, rows, columns, 1].
      padding: "SAME" or "VALID".
      data_format: "NHWC".
      dilations: The distances between elements of the window, [1, rows, columns, 1].
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `value`.

    Raises:
      ValueError: If `data_format` is not "NHWC".
    """
    _check_format(data_format)
    return erosion2d(value, filters, strides, dilations, padding, name)
