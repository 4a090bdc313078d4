# SPDX-License-Identifier: Apache-2.0
"""codecs.py: tf.io and tf.image: decode and encode JPEG, PNG, GIF and BMP images."""

from __future__ import annotations

import io
import itertools

import numpy

from situ._src.framework import errors, expansion
from situ._src.framework.api import OPS, export, named
from situ._src.framework.dtypes import as_dtype
from situ._src.keras.image_utils import pillow
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.image.png import encode
from situ._src.ops.script_ops import on_host, py_func

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, TensorLike


@export("image.decode_image", "io.decode_image")
def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = "uint8",
    name: str | None = None,
    expand_animations: bool = True,
) -> Any:
    """Decodes a JPEG, PNG or BMP image.

    Args:
      contents: a scalar string tensor, the bytes of the file.
      channels: 1, 3 or 4; 0 or None for as many as the file has.
      dtype: the type of the result. Integers of 16 bits keep all bits of a PNG file; floating
        point values are between 0 and 1.
      name: a name for the op.
      expand_animations: GIF is not supported here (tf.io.decode_gif decodes it), so images have
        three dimensions either way.

    Returns:
      A tensor of shape [height, width, channels].
    """
    dtype = as_dtype(dtype)
    decoded = dtype if dtype.name in ("uint8", "uint16", "float32") else as_dtype("uint16")
    image = OPS["DecodeImage"](
        contents,
        channels=channels or 0,
        dtype=decoded,
        expand_animations=expand_animations,
        name=name or "decode_image",
    )
    return image if decoded == dtype else named("image.convert_image_dtype")(image, dtype)


@export("io.is_jpeg", "image.is_jpeg")
def is_jpeg(contents: TensorLike, name: str | None = None) -> Any:
    """Returns whether strings begin with the signature of JPEG files.

    Args:
      contents: a scalar string tensor, the bytes of the file.
      name: a name for the op.
    """
    return named("math.equal")(named("strings.substr")(contents, 0, 3), b"\xff\xd8\xff", name=name)


@export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> Any:
    """Encodes an image as JPEG of some quality (0 to 100) and decodes it again.

    Args:
      image: a tensor [height, width, channels] with 1 or 3 channels; floating point values are
        between 0 and 1.
      jpeg_quality: an int or an int32 scalar tensor.
      dct_method: how it is decoded, as of tf.io.decode_jpeg.
      name: a name for the op.

    Returns:
      The image after that, of the same type and shape.
    """
    image = convert_to_tensor(image)
    kind, convert = image.dtype, named("image.convert_image_dtype")
    channels = image.shape.as_list()[-1] or 0
    file = op(
        "EncodeJpegVariableQuality",
        convert(image, "uint8", saturate=True),
        convert_to_tensor(jpeg_quality, "int32"),
    )
    result = op("DecodeJpeg", file, channels=channels, dct_method=dct_method, name=name)
    return convert(result, kind, saturate=True)


def _check_qualities(least: int, most: int) -> None:
    if not (0 <= least <= 100 and 0 <= most <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if least >= most:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")


@export("image.random_jpeg_quality")
def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Any:
    """Encodes an image as JPEG of a random quality, at least min_jpeg_quality and less than
    max_jpeg_quality, and decodes it again.

    Args:
      image: a tensor [height, width, channels] with 1 or 3 channels; floating point values are
        between 0 and 1.
      min_jpeg_quality: Lowest quality, from 0.
      max_jpeg_quality: Limit of the quality, up to 100; excluded.
      seed: Seed of the quality.
    """
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    quality = named("random.uniform")([], min_jpeg_quality, max_jpeg_quality, "int32", seed)
    return adjust_jpeg_quality(image, quality)


@export("image.stateless_random_jpeg_quality")
def stateless_random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None
) -> Any:
    """Encodes an image as JPEG of a random quality that `seed` determines, and decodes it again.

    Args:
      image: a tensor [height, width, channels] with 1 or 3 channels; floating point values are
        between 0 and 1.
      min_jpeg_quality: Lowest quality, from 0.
      max_jpeg_quality: Limit of the quality, up to 100; excluded.
      seed: Seed of the quality.
    """
    _check_qualities(min_jpeg_quality, max_jpeg_quality)
    quality = named("random.stateless_uniform")(
        [], seed, min_jpeg_quality, max_jpeg_quality, "int32"
    )
    return adjust_jpeg_quality(image, quality)


def _gif_frames(contents: bytes) -> numpy.ndarray:
    """Returns the frames of a GIF file [frames, height, width, 3]."""
    file = pillow().open(io.BytesIO(contents), formats=["GIF"])
    allowed, frames = expansion.limit(len(contents)), []
    for k in itertools.count():
        try:
            file.seek(k)
        except EOFError:
            break
        if (k + 1) * file.width * file.height * 6 > allowed:  # frames, and the stack of them
            raise expansion.exceeded("A GIF file", allowed)
        frames.append(numpy.asarray(file.convert("RGB")))
    return numpy.stack(frames)


@export("io.decode_gif", "image.decode_gif")
def decode_gif(contents: TensorLike, name: str | None = None) -> Any:
    """Decodes a GIF file to a uint8 tensor [frames, height, width, 3] (requires Pillow).

    Args:
      contents: a scalar string tensor, the bytes of the file.
      name: a name for the op.
    """

    def call(data):
        contents = numpy.asarray(data, object).item()
        try:
            return [_gif_frames(contents)]
        except errors.OpError:
            raise
        except Exception as error:  # Pillow raises many types of errors
            raise errors.InvalidArgumentError(None, None, f"Invalid GIF data: {error}") from None

    return on_host(call, [contents], ["uint8"], [[None, None, None, 3]], name)[0]


@export("io.encode_png", "image.encode_png")
def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Any:
    """Encodes images as PNG files.

    Args:
      image: a tensor of uint8 or uint16 and shape [..., height, width, channels], with 1 (gray),
        2 (gray, alpha), 3 (RGB) or 4 (RGBA) channels.
      compression: zlib's level, 0 (none) to 9 (best), or -1 for its default.
      name: a name for the op.

    Returns:
      A string tensor with one file for each image: a scalar for an image of three dimensions.
    """

    def encode_batch(array):
        if array.shape[-1] not in (1, 2, 3, 4):
            raise errors.InvalidArgumentError(
                None, None, f"image must have 1, 2, 3, or 4 channels, got {array.shape[-1]}"
            )
        if not all(array.shape[-3:]):
            raise errors.InternalError(None, None, "PNG encoding failed: the image is empty")
        if not array.size:
            return numpy.zeros(array.shape[:-3], object)
        files = [encode(one, compression) for one in array.reshape((-1,) + array.shape[-3:])]
        return numpy.array(files, object).reshape(array.shape[:-3])

    image = convert_to_tensor(image)
    if image.dtype.name not in ("uint8", "uint16"):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Value for attr 'T' of {image.dtype.name} is not in the list of allowed "
            "values: uint8, uint16",
        )
    if not -1 <= compression <= 9:
        raise errors.InvalidArgumentError(
            None, None, f"compression should be in [-1,9], got {compression}"
        )
    rank = image.shape.rank
    if rank is not None and rank < 3:
        raise errors.InvalidArgumentError(
            None, None, f"image must have at least 3 dimensions, got {rank}"
        )
    result = py_func(encode_batch, [image], "string", name=name)
    if rank is not None and hasattr(result, "set_shape"):
        result.set_shape(image.shape.as_list()[:-3])
    return result
