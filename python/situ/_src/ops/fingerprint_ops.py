# SPDX-License-Identifier: Apache-2.0
"""fingerprint_ops.py: tf.fingerprint."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.ops.array_ops import convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


@export("fingerprint")
def fingerprint(
    data: TensorLike, method: TensorLike = "farmhash64", name: str | None = None
) -> Tensor:
    """Hashes the slices of a tensor along its first dimension.

    Args:
      data: A tensor of at least one dimension.
      method: The hash function: "farmhash64".
      name: A name for the operation (optional).

    Returns:
      A uint8 tensor of shape [slices, 8]: the bytes of the hashes.
    """
    return op("Fingerprint", data, convert_to_tensor(method, "string"), name=name)
