# SPDX-License-Identifier: Apache-2.0
"""quantization_ops.py: tf.quantization.quantize_and_dequantize and its version 2. The fake_quant
functions are ops."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.ops.array_ops import convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


@export("quantization.quantize_and_dequantize", v1="quantize_and_dequantize")
def quantize_and_dequantize(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Rounds numbers to those that integers can represent; the gradient passes through.

    Args:
      input: A floating-point tensor.
      input_min: The least number of the range; a vector with `axis`.
      input_max: The greatest number of the range.
      signed_input: Whether the integers are signed.
      num_bits: The number of bits of the integers.
      range_given: Whether to use `input_min` and `input_max`, instead of the range of `input`.
      round_mode: "HALF_TO_EVEN" or "HALF_UP".
      name: A name for the operation (optional).
      narrow_range: Whether to leave out the least integer.
      axis: The axis with a range per slice; by default there is one range.

    Returns:
      A tensor of the shape and type of `input`.
    """
    return _call(
        "QuantizeAndDequantizeV2",
        (input, input_min, input_max),
        axis,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        name=name,
    )


@export("quantization.quantize_and_dequantize_v2")
def quantize_and_dequantize_v2(
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Rounds numbers to those that integers can represent; the gradient is 0 outside of the range.
    See `tf.quantization.quantize_and_dequantize` for the arguments.

    Args:
      input: A floating-point tensor.
      input_min: The least number of the range; a vector with `axis`.
      input_max: The greatest number of the range.
      signed_input: Whether the integers are signed.
      num_bits: The number of bits of the integers.
      range_given: Whether to use `input_min` and `input_max`, instead of the range of `input`.
      round_mode: "HALF_TO_EVEN" or "HALF_UP".
      name: A name for the operation (optional).
      narrow_range: Whether to leave out the least integer.
      axis: The axis with a range per slice; by default there is one range.
    """
    return _call(
        "QuantizeAndDequantizeV4",
        (input, input_min, input_max),
        axis,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        name=name,
    )


def _call(op_name, inputs, axis, **attrs):
    """Calls an op; an axis counts from the end if it is negative."""
    tensor = convert_to_tensor(inputs[0], name="input")
    low, high = (convert_to_tensor(value, tensor.dtype) for value in inputs[1:])
    if axis is None:
        axis = -1
    elif axis < 0:
        if tensor.shape.rank is None:
            raise ValueError("input should have known rank to use negative axis.")
        axis %= tensor.shape.rank
    return op(op_name, tensor, low, high, axis=axis, **attrs)
