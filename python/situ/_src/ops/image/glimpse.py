# SPDX-License-Identifier: Apache-2.0
"""glimpse.py: tf.image.extract_glimpse."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.ops.array_ops import op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike


@export(v1="image.extract_glimpse")
def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """Cuts a window out of each image; pixels outside of the image are noise.

    Args:
      input: Images of shape [batch, height, width, channels], float32.
      size: The height and width of the windows.
      offsets: The center of each window, [batch, 2]: row and column.
      centered: Whether offsets are relative to the center of the image, else to its corner.
      normalized: Whether offsets are relative to the size of the image, else pixels.
      uniform_noise: As in TensorFlow, the noise is uniform either way.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [batch, *size, channels].
    """
    return op(
        "ExtractGlimpse",
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=uniform_noise,
        name=name,
    )


@export(v2="image.extract_glimpse")
def extract_glimpse_v2(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Tensor:
    """Cuts a window out of each image; pixels outside of the image are noise.

    Args:
      input: Images of shape [batch, height, width, channels], float32.
      size: The height and width of the windows.
      offsets: The center of each window if `normalized` and `centered`, else its corner,
        [batch, 2]: row and column.
      centered: Whether offsets are relative to the center of the image, else to its corner.
      normalized: Whether offsets are relative to the size of the image, else pixels.
      noise: "uniform", "gaussian" or "zero".
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [batch, *size, channels].
    """
    return op(
        "ExtractGlimpseV2",
        input,
        size,
        offsets,
        centered=centered,
        normalized=normalized,
        uniform_noise=False,
        noise=noise,
        name=name,
    )
