# SPDX-License-Identifier: Apache-2.0
"""test_decode_image.py: images are decoded and encoded as TensorFlow does; malicious files."""

import itertools
import os
import struct
import subprocess
import sys
import time
import zlib

import jpeg_cases
import numpy as np
import pytest
from conftest import PATIENCE

import situ as tf

Invalid = tf.errors.InvalidArgumentError


def _result(function, *args, **kwargs):
    """Shape and checksum of an image, or None for InvalidArgumentError."""
    try:
        image = function(*args, **kwargs).numpy()
    except Invalid:
        return None
    return list(image.shape), zlib.crc32(image.tobytes())


@pytest.mark.parametrize("name,kwargs,expected", jpeg_cases.DECODED)
def test_jpeg(name, kwargs, expected):
    assert _result(tf.io.decode_jpeg, jpeg_cases.FILES[name], **kwargs) == expected


@pytest.mark.parametrize("name,kwargs,expected", jpeg_cases.TRUNCATED)
def test_truncated_jpeg(name, kwargs, expected):
    data = jpeg_cases.FILES[name]
    assert _result(tf.io.decode_jpeg, data[: len(data) * 9 // 10], **kwargs) == expected


@pytest.mark.parametrize("name,window,expected", jpeg_cases.CROPPED)
def test_cropped_jpeg(name, window, expected):
    assert _result(tf.io.decode_and_crop_jpeg, jpeg_cases.FILES[name], window) == expected


@pytest.mark.parametrize(
    "kwargs,message",
    [
        ({"channels": 2}, "`channels` must be 0, 1, 3 or 4 but got 2"),
        ({"channels": 4}, "JPEG does not support 4 channels"),
        ({"ratio": 3}, "ratio must be 1, 2, 4, or 8, got 3"),
        ({"dct_method": "FLOAT"}, "dct_method must be one of"),
    ],
)
def test_jpeg_attributes_that_cannot_be(kwargs, message):
    with pytest.raises(Invalid, match=message):
        tf.io.decode_jpeg(jpeg_cases.FILES["gray"], **kwargs)


def test_jpeg_that_cannot_be():
    with pytest.raises(Invalid, match="Input is empty"):
        tf.io.decode_jpeg(b"")
    with pytest.raises(Invalid, match="Unknown image file format"):
        tf.io.decode_jpeg(b"no image at all")
    with pytest.raises(Invalid, match="Invalid JPEG data or crop window"):
        tf.io.decode_jpeg(b"\xff\xd8\xff\xe0")
    with pytest.raises(Invalid, match="Invalid JPEG data"):
        tf.io.extract_jpeg_shape(b"\xff\xd8\xff\xe0")
    with pytest.raises(Invalid):
        tf.io.decode_jpeg(jpeg_cases.FILES["cmyk"], channels=1)
    with pytest.raises(Invalid, match="`contents` must be scalar"):
        tf.io.decode_jpeg([jpeg_cases.FILES["gray"]])


# A JPEG file from its parts


def _segment(marker, data):
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


_TABLES = _segment(0xDB, b"\0" + bytes([1]) * 64) + b"".join(
    # one code of one bit: a difference of 0, the end of a block
    _segment(0xC4, bytes([kind, 1]) + bytes(15) + b"\0")
    for kind in (0x00, 0x10)
)


def _jpeg(height, width, sampling, data=b"\0" * 8, frame=0xC0, scans=1, spectrum=(0, 63, 0)):
    """A file whose blocks are all gray: one component for each of the sampling factors."""
    n = len(sampling)
    head = struct.pack(">BHHB", 8, height, width, n) + b"".join(
        bytes([i + 1, s, 0]) for i, s in enumerate(sampling)
    )
    scan = bytes([n]) + b"".join(bytes([i + 1, 0]) for i in range(n)) + bytes(spectrum)
    return (
        b"\xff\xd8"
        + _TABLES
        + _segment(frame, head)
        + (_segment(0xDA, scan) + data) * scans
        + b"\xff\xd9"
    )


def test_sampling_factors_that_do_not_divide_each_other():
    for sampling in (
        (0x43, 0x32, 0x11),
        (0x32, 0x43, 0x21),
        (0x41, 0x31, 0x31),
        (0x13, 0x12, 0x11),
    ):
        data = _jpeg(200, 200, sampling)
        assert len(data) < 200
        with pytest.raises(Invalid):
            tf.io.decode_jpeg(data)
        with pytest.raises(Invalid):
            tf.io.decode_jpeg(data, try_recover_truncated=True)


def test_every_sampling_is_decoded_or_refused():
    factors = [h << 4 | v for h, v in itertools.product(range(1, 5), repeat=2)]
    for first, second in itertools.product(factors, repeat=2):
        data = _jpeg(70, 50, (first, second, 0x11), b"\0" * 400)
        found = _result(tf.io.decode_jpeg, data)
        assert found is None or found[0] == [70, 50, 3]


def test_sizes_are_refused_before_memory_is_taken():
    start = time.monotonic()
    with pytest.raises(Invalid, match="too large"):
        tf.io.decode_jpeg(_jpeg(65000, 65000, (0x11, 0x11, 0x11)))
    with pytest.raises(Invalid, match="PNG size too large for int: 30000 by 30000"):
        tf.io.decode_png(_png(8, 6, [bytes(50)], 30000, 30000))
    with pytest.raises(Invalid, match="too little for 20000 by 20000 pixels"):
        tf.io.decode_png(_png(8, 6, [bytes(50)], 20000, 20000))
    assert time.monotonic() - start < 60


def test_number_of_scans_is_limited():
    data = _jpeg(512, 512, (0x11,), b"\0", frame=0xC2, scans=2000, spectrum=(0, 0, 0))
    with pytest.raises(Invalid, match="more than 500 scans"):
        tf.io.decode_jpeg(data, try_recover_truncated=True)


def test_jpeg_shape_comes_from_the_header():
    for name, data in jpeg_cases.FILES.items():
        channels = {"gray": 1, "cmyk": 4}.get(name, 3)
        end = data.index(b"\xff\xda") + 20  # behind the first start of a scan
        shape = tf.io.extract_jpeg_shape(data[:end])
        assert shape.dtype == tf.int32 and shape.numpy().tolist() == [19, 25, channels]
        assert tf.image.extract_jpeg_shape(data, output_type=tf.int64).dtype == tf.int64
    large = _jpeg(65000, 65000, (0x11, 0x11, 0x11))  # decode_jpeg refuses it
    assert tf.io.extract_jpeg_shape(large).numpy().tolist() == [65000, 65000, 3]


# Encoding


def _image(height=20, width=24):
    return (np.arange(height * width * 3).reshape(height, width, 3) * 7 % 256).astype("uint8")


def test_encode_jpeg_attributes():
    image = _image()
    plain = tf.io.encode_jpeg(image).numpy()
    assert plain[:20] == b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x01\x01\x2c\x01\x2c\x00\x00"
    assert len(tf.io.encode_jpeg(image, quality=10).numpy()) < len(plain)
    assert len(tf.io.encode_jpeg(image, optimize_size=True).numpy()) < len(plain)
    assert b"\xff\xc2" in tf.io.encode_jpeg(image, progressive=True).numpy()
    head = plain.index(b"\xff\xc0")
    assert plain[head + 11] == 0x22
    full = tf.io.encode_jpeg(image, chroma_downsampling=False).numpy()
    assert full[full.index(b"\xff\xc0") + 11] == 0x11
    dense = tf.io.encode_jpeg(image, density_unit="cm", x_density=72, y_density=99).numpy()
    assert dense[13:18] == b"\x02" + struct.pack(">HH", 72, 99)
    noted = tf.io.encode_jpeg(image, xmp_metadata="<x>note</x>").numpy()
    assert b"http://ns.adobe.com/xap/1.0/\0<x>note</x>" in noted
    for kwargs in (
        {"quality": 101},
        {"quality": -1},
        {"format": "grayscale"},
        {"format": "bgr"},
        {"density_unit": "km"},
    ):
        with pytest.raises(Invalid):
            tf.io.encode_jpeg(image, **kwargs)
    for wrong in (image[0], image[..., :2]):
        with pytest.raises(Invalid):
            tf.io.encode_jpeg(wrong)


def test_jpeg_quality_as_tensorflow():
    image = _image()
    found = [
        int(tf.image.stateless_random_jpeg_quality(image, 10, 90, (i, 3)).numpy().astype(int).sum())
        for i in range(4)
    ]
    assert found == [182356, 182454, 184201, 182414]
    low = tf.image.adjust_jpeg_quality(image, 5).numpy().astype(int)
    high = tf.image.adjust_jpeg_quality(image, 100).numpy().astype(int)
    assert abs(low - image).mean() > abs(high - image).mean()
    real = tf.image.adjust_jpeg_quality(tf.constant(image / np.float32(255)), 75)
    assert real.dtype == tf.float32 and real.shape == [20, 24, 3]
    with pytest.raises(ValueError, match="must be less than"):
        tf.image.random_jpeg_quality(image, 50, 50)
    with pytest.raises(ValueError, match="between 0 and 100"):
        tf.image.random_jpeg_quality(image, 50, 101)


def test_encode_png_attributes():
    image = _image()
    sizes = [len(tf.io.encode_png(image, compression=level).numpy()) for level in (0, 1, 9)]
    assert sizes[0] > 20 * 24 * 3 and sizes[0] > sizes[1] >= sizes[2]
    files = tf.io.encode_png(np.stack([image, 255 - image]))
    assert files.shape == [2]
    assert np.array_equal(tf.io.decode_png(files[1]).numpy(), 255 - image)
    with pytest.raises(Invalid, match="compression should be in"):
        tf.io.encode_png(image, compression=10)
    with pytest.raises(Invalid, match="uint8, uint16"):
        tf.io.encode_png(image.astype("float32"))
    with pytest.raises(Invalid, match="1, 2, 3, or 4 channels"):
        tf.io.encode_png(np.zeros((2, 2, 5), "uint8"))


# PNG


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(depth, color, lines, width, height, *chunks):
    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", head)
        + b"".join(chunks)
        + _chunk(b"IDAT", zlib.compress(b"".join(b"\0" + line for line in lines)))
        + _chunk(b"IEND", b"")
    )


WIDE = np.array(
    [[[0, 1, 255], [256, 257, 511]], [[32768, 40000, 65280], [65534, 65535, 12345]]], "uint16"
)


def test_png_of_16_bits_keeps_all_of_them():
    data = tf.io.encode_png(WIDE)
    image = tf.io.decode_png(data, dtype=tf.uint16)
    assert image.dtype == tf.uint16 and np.array_equal(image.numpy(), WIDE)
    assert np.array_equal(tf.io.decode_image(data, dtype=tf.uint16).numpy(), WIDE)
    assert np.array_equal(tf.io.decode_png(data).numpy(), WIDE >> 8)
    assert np.array_equal(tf.io.decode_png(data, 4, tf.uint16).numpy()[..., 3], [[65535] * 2] * 2)
    real = tf.io.decode_image(data, dtype=tf.float32).numpy()
    assert np.array_equal(real, WIDE.astype("float32") * np.float32(1 / 65535))
    gray = tf.io.decode_png(data, channels=1, dtype=tf.uint16).numpy()
    assert gray[..., 0].tolist() == [[30, 286], [40721, 59469]]


def test_png_of_8_bits_fills_16():
    image = np.array([[[0, 1, 127], [128, 254, 255]]], "uint8")
    data = tf.io.encode_png(image)
    assert np.array_equal(tf.io.decode_png(data, dtype=tf.uint16).numpy(), image * np.uint16(257))
    assert np.array_equal(tf.io.decode_image(data, dtype="uint16").numpy(), image * np.uint16(257))
    real = tf.io.decode_image(data, dtype=tf.float32).numpy()
    np.testing.assert_allclose(real, image / 255, rtol=1e-6)
    assert tf.io.decode_image(data, dtype=tf.float64).dtype == tf.float64


def test_other_formats_scale_to_16_bits_by_256():
    gray = jpeg_cases.FILES["gray"]
    pixels = tf.io.decode_jpeg(gray).numpy()
    wide = tf.io.decode_image(gray, dtype=tf.uint16).numpy()
    assert np.array_equal(wide, pixels * np.uint16(256))
    real = tf.io.decode_image(gray, dtype=tf.float32).numpy()
    assert np.array_equal(real, pixels.astype("float32") * np.float32(1 / 255))


def test_png_dtype_is_checked():
    with pytest.raises((Invalid, TypeError)):
        tf.io.decode_png(tf.io.encode_png(WIDE), dtype=tf.float32)


def test_png_of_few_bits_and_palettes():
    bits = _png(1, 0, [b"\xa0"], 4, 1)
    assert tf.io.decode_png(bits).numpy().ravel().tolist() == [255, 0, 255, 0]
    assert tf.io.decode_png(bits, dtype=tf.uint16).numpy().ravel().tolist() == [65535, 0, 65535, 0]
    colors = _chunk(b"PLTE", bytes([1, 2, 3, 40, 50, 60]))
    plain = _png(8, 3, [b"\0\1"], 2, 1, colors)
    assert tf.io.decode_png(plain).numpy().tolist() == [[[1, 2, 3], [40, 50, 60]]]
    clear = _png(8, 3, [b"\0\1"], 2, 1, colors, _chunk(b"tRNS", bytes([7])))
    assert tf.io.decode_png(clear).numpy().tolist() == [[[1, 2, 3, 7], [40, 50, 60, 255]]]
    assert tf.io.decode_png(clear, channels=3).numpy().tolist() == [[[1, 2, 3], [40, 50, 60]]]


def test_ops_take_the_formats_of_tensorflow():
    bitmap = (
        b"BM"
        + struct.pack("<IHHIIiiHHI", 58, 0, 0, 54, 40, 1, 1, 1, 24, 0)
        + bytes(20)
        + bytes([3, 2, 1, 0])
    )
    assert tf.io.decode_image(bitmap).numpy().tolist() == [[[1, 2, 3]]]
    assert tf.io.decode_bmp(bitmap, channels=4).numpy().tolist() == [[[1, 2, 3, 255]]]
    for decode in (tf.io.decode_png, tf.io.decode_jpeg):
        with pytest.raises(Invalid, match="Trying to decode BMP format using a wrong op"):
            decode(bitmap)
    png = tf.io.encode_png(_image(3, 4))
    assert np.array_equal(tf.io.decode_jpeg(png).numpy(), _image(3, 4))
    assert tf.io.decode_png(jpeg_cases.FILES["gray"]).shape == [19, 25, 1]
    with pytest.raises(Invalid, match="can run on JPEG only, but detected PNG"):
        tf.io.decode_and_crop_jpeg(png, [0, 0, 1, 1])
    with pytest.raises(Invalid, match="using DecodeBmp op"):
        tf.io.decode_bmp(png)
    with pytest.raises(Invalid, match="differ by 2"):
        tf.io.decode_bmp(bitmap + b"\0\0")
    with pytest.raises(tf.errors.UnimplementedError, match="tf.io.decode_gif"):
        tf.io.decode_image(b"GIF89a" + bytes(20))


def test_graphs_of_images():
    @tf.function
    def decode(data):
        return (
            tf.io.decode_png(data, dtype=tf.uint16),
            tf.io.extract_jpeg_shape(jpeg_cases.FILES["4:2:0"]),
            tf.io.encode_jpeg(tf.io.decode_png(data)),
        )

    image, shape, file = decode(tf.io.encode_png(WIDE))
    assert np.array_equal(image.numpy(), WIDE) and shape.numpy().tolist() == [19, 25, 3]
    assert tf.io.is_jpeg(file).numpy()


DECODE = """
import sys
import situ as tf
try:
    tf.io.decode_image(bytes.fromhex(sys.argv[1]))
except tf.errors.UnimplementedError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "data,library,package",
    [
        (b"\x89PNG\r\n\x1a\n", "libpng16.so.16", "libpng16-16"),
        (b"\xff\xd8\xff\xe0", "libjpeg.so.62", "libjpeg62-turbo"),
    ],
)
def test_error_without_the_library_says_what_to_install(tmp_path, data, library, package):
    for name in ("libpng16.so.16", "libpng16.so", "libjpeg.so.62", "libjpeg.so.8", "libjpeg.so"):
        (tmp_path / name).write_bytes(b"")  # found before the real one, and no library
    done = subprocess.run(
        [sys.executable, "-c", DECODE, data.hex()],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    if package != "libpng16-16" and "libjpeg.so.8" in done.stdout:  # as Ubuntu has it
        library, package = "libjpeg.so.8", "libjpeg-turbo8"
    assert f"needs {library}, which could not be loaded" in done.stdout
    assert f"apt install {package})" in done.stdout
