# SPDX-License-Identifier: Apache-2.0
"""pad_ops.py: tf.pad."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.ops.array_ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Tensor, TensorLike


@export("pad")
def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """Pads a tensor.

    Args:
      tensor: A tensor.
      paddings: A tensor of shape [rank, 2]: the number of elements to add before and after each
        dimension.
      mode: "CONSTANT", "REFLECT" or "SYMMETRIC". REFLECT mirrors without repeating the border,
        SYMMETRIC repeats it.
      constant_values: The value of added elements in mode CONSTANT.
      name: A name for the operation (optional).

    Returns:
      A tensor of the type of `tensor`.

    Raises:
      ValueError: If the mode is unknown.
    """
    if mode.upper() in ("REFLECT", "SYMMETRIC"):
        return op("MirrorPad", tensor, paddings, mode=mode.upper(), name=name)
    if mode.upper() != "CONSTANT":
        raise ValueError(
            "Value of argument `mode` expected to be one of 'CONSTANT', 'REFLECT' or 'SYMMETRIC'. "
            f"Received `mode` = {mode.upper()}"
        )
    if isinstance(constant_values, (int, float)) and constant_values == 0:
        return op("Pad", tensor, paddings, name=name)
    return op("PadV2", tensor, paddings, constant_values, name=name)


@export(v1="pad")
def pad_v1(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """Pads a tensor; see `tf.pad` of TensorFlow 2, which orders the arguments differently.

    Args:
      tensor: A tensor.
      paddings: A tensor of shape [rank, 2]: the number of elements to add before and after each
        dimension.
      mode: "CONSTANT", "REFLECT" or "SYMMETRIC". REFLECT mirrors without repeating the border,
        SYMMETRIC repeats it.
      name: A name for the operation (optional).
      constant_values: The value of added elements in mode CONSTANT.
    """
    return pad(tensor, paddings, mode, constant_values, name)
