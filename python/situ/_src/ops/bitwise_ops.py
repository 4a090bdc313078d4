# SPDX-License-Identifier: Apache-2.0
"""bitwise_ops.py: functions of the bits of integers that are composed of other ops."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


@export("raw_ops.PopulationCount")
def population_count(x: TensorLike, name: str | None = None) -> Tensor:
    """Counts the bits of integers that are 1.

    Args:
      x: A tensor of integers.
      name: A name for the operation (optional).

    Returns:
      A tensor of uint8.

    Raises:
      TypeError: the elements are not integers.
    """
    with scope(name, "PopulationCount"):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(
                f"Value passed to parameter 'x' has DataType {x.dtype.name} not in list of allowed "
                "values: int8, int16, int32, int64, uint8, uint16, uint32, uint64"
            )
        count = op("ZerosLike", x)
        one = constant(1, x.dtype)
        for bit in range(8 * x.dtype.size):
            shifted = op("RightShift", x, constant(bit, x.dtype))
            count = op("AddV2", count, op("BitwiseAnd", shifted, one))
        return cast(count, "uint8")
