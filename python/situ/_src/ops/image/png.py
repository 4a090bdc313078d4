# SPDX-License-Identifier: Apache-2.0
"""png.py: encodes arrays as PNG files."""

import struct
import zlib

import numpy

_COLORS = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> PNG color type


def _chunk(kind, data):
    return (
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))
    )


def _paeth(left, above, corner):
    """Returns the predictor of the Paeth filter: the neighbor next to left + above - corner."""
    left, above, corner = (x.astype(numpy.int16) for x in (left, above, corner))
    estimate = left + above - corner
    far = [numpy.abs(estimate - x) for x in (left, above, corner)]
    nearest = numpy.where(far[1] <= far[2], above, corner)
    return numpy.where((far[0] <= far[1]) & (far[0] <= far[2]), left, nearest).astype(numpy.uint8)


def _filter(rows, step):
    """Returns rows of bytes behind the number of the PNG filter that makes them smallest; `step` is
    the number of bytes of a pixel."""
    above = numpy.zeros_like(rows)
    above[1:] = rows[:-1]
    left, corner = numpy.zeros_like(rows), numpy.zeros_like(rows)
    left[:, step:], corner[:, step:] = rows[:, :-step], above[:, :-step]
    mean = ((left.astype(numpy.uint16) + above) // 2).astype(numpy.uint8)
    filtered = [rows, rows - left, rows - above, rows - mean, rows - _paeth(left, above, corner)]
    sums = [numpy.abs(f.view(numpy.int8).astype(numpy.int32)).sum(axis=1) for f in filtered]
    best = numpy.argmin(sums, axis=0)
    result = numpy.empty((rows.shape[0], rows.shape[1] + 1), numpy.uint8)
    result[:, 0] = best
    result[:, 1:] = numpy.choose(best[:, None], filtered)
    return result


def encode(image: numpy.ndarray, compression: int = 6) -> bytes:
    """Encodes a uint8 or uint16 array [height, width, channels] as PNG; `compression` is the zlib
    level, -1 (default) to 9."""
    wide = image.dtype == numpy.uint16
    image = numpy.ascontiguousarray(image, ">u2" if wide else numpy.uint8)
    height, width, channels = image.shape
    if channels not in _COLORS:
        raise ValueError(f"An image has 1 to 4 channels, not {channels}.")
    bytes_per_pixel = channels * (1 + wide)
    rows = image.view(numpy.uint8).reshape(height, width * bytes_per_pixel)
    head = struct.pack(">IIBBBBB", width, height, 16 if wide else 8, _COLORS[channels], 0, 0, 0)
    data = zlib.compress(_filter(rows, bytes_per_pixel).tobytes(), compression)
    return b"".join(
        (b"\x89PNG\r\n\x1a\n", _chunk(b"IHDR", head), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
    )


def bytes_of(images, bad_color=(255, 0, 0, 255)):
    """Scales floating-point images to uint8 as TensorFlow's image summaries do: if a value is
    negative, 0
    maps to 128; pixels that are not finite get `bad_color`."""
    images = numpy.asarray(images)
    if images.dtype == numpy.uint8:
        return images
    result = numpy.zeros(images.shape, numpy.uint8)
    for image, out in zip(images.astype(numpy.float32), result):
        finite = numpy.isfinite(image).all(axis=-1)
        low = image[finite].min() if finite.any() else 0.0
        high = image[finite].max() if finite.any() else 0.0
        if low < 0:
            most = max(abs(low), abs(high))
            scale, offset = (0.0 if most < 1e-10 else 127.0 / most), 128.0
        else:
            scale, offset = (0.0 if high < 1e-10 else 255.0 / high), 0.0
        with numpy.errstate(invalid="ignore"):
            out[...] = numpy.clip(numpy.nan_to_num(image * scale + offset), 0, 255)
        out[~finite] = numpy.array(bad_color[: image.shape[-1]], numpy.uint8)
    return result
