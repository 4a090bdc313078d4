# SPDX-License-Identifier: Apache-2.0
"""volume_patches.py: tf.extract_volume_patches."""

from __future__ import annotations

import itertools

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def _check(ksizes: Any, strides: Any) -> None:
    for name, sizes in (("ksizes", ksizes), ("strides", strides)):
        if len(sizes) != 5 or sizes[0] != 1 or sizes[4] != 1:
            raise ValueError(
                f"ExtractVolumePatches requires the attribute `{name}` to contain 5 values, of "
                f"which the first and the last are 1, but got: {list(sizes)}"
            )


@export("extract_volume_patches")
def extract_volume_patches(
    input: TensorLike,
    ksizes: Any,
    strides: Any,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Extracts patches of volumes and puts them into the last dimension of the output.

    Args:
      input: A tensor of shape [batch, planes, rows, columns, depth].
      ksizes: The size of a patch in each dimension: [1, planes, rows, columns, 1].
      strides: The distance of the patches in each dimension: [1, planes, rows, columns, 1].
      padding: "SAME" or "VALID".
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [batch, planes, rows, columns, size of a patch * depth].

    Raises:
      ValueError: If an argument is not valid, or if the size of the volumes is not known.
    """
    _check(ksizes, strides)
    if padding not in ("SAME", "VALID"):
        raise ValueError(
            f"Value for attr 'padding' of \"{padding}\" is not in the list of allowed values: "
            '"SAME", "VALID"'
        )
    with scope(name, "ExtractVolumePatches"):
        tensor = convert_to_tensor(input)
        sizes = tensor_shape.as_shape(tensor.shape).as_list()[1:4]
        if None in sizes:
            raise ValueError("tf.extract_volume_patches needs volumes of known size.")
        counts = [
            -(-size // stride) if padding == "SAME" else max((size - k) // stride + 1, 0)
            for size, k, stride in zip(sizes, ksizes[1:4], strides[1:4])
        ]
        if padding == "SAME":
            tensor = _pad(tensor, sizes, counts, ksizes[1:4], strides[1:4])
        last = [(count - 1) * stride for count, stride in zip(counts, strides[1:4])]
        parts = []
        for place in itertools.product(*(range(k) for k in ksizes[1:4])):
            end = [0, *(at + far + 1 for at, far in zip(place, last)), 0]
            parts.append(
                op(
                    "StridedSlice",
                    tensor,
                    [0, *place, 0],
                    end,
                    list(strides),
                    begin_mask=17,
                    end_mask=17,
                )
            )
        return parts[0] if len(parts) == 1 else op("ConcatV2", parts, 4)


def _pad(tensor, sizes, counts, ksizes, strides):
    """Zeros on both sides, as many as the patches need."""
    rows = [[0, 0]]
    for size, count, k, stride in zip(sizes, counts, ksizes, strides):
        needed = max((count - 1) * stride + k - size, 0)
        rows.append([needed // 2, needed - needed // 2])
    return op("Pad", tensor, [*rows, [0, 0]])
