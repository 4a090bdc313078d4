# SPDX-License-Identifier: Apache-2.0
"""data.py: files in the binary format of CIFAR-10, and a generator for machines without them.

A record is one byte, the label, and 3072 bytes, the image: 32 rows of 32 red values, then green,
then blue. The real dataset (cifar-10-binary.tar.gz, unpacked in the data folder) is taken where it
is. Otherwise files of the same names and form are made: each class is a shape, of any size,
color and place. cifar10.c makes the same bytes.
"""

import os

import numpy

FOLDER = "cifar-10-batches-bin"
TRAIN = [f"data_batch_{i}.bin" for i in range(1, 6)]
TEST = ["test_batch.bin"]
CLASSES, SIDE, RECORD = 10, 32, 1 + 32 * 32 * 3
PER_FILE = 1000  # records of a generated file


def draw(image, number, limit):
    """A number below the limit: a hash of the image's number and of which draw it is."""
    x = numpy.atleast_1d(numpy.asarray(image * 8192 + number, numpy.uint64))
    x = (x + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    x ^= x >> numpy.uint64(31)
    return (x >> numpy.uint64(32)).astype(numpy.int64) % limit


def shape_of(label, x, y, r):
    """Which pixels belong to the shape of a class: x and y count from its middle, r is its size."""
    a, b = abs(x), abs(y)
    far, near, round_ = numpy.maximum(a, b), numpy.minimum(a, b), a * a + b * b
    return [
        round_ < r * r,  # disc
        (round_ < r * r) & (100 * round_ > 36 * r * r),  # ring
        10 * far < 9 * r,  # square
        (10 * far < 9 * r) & (10 * far > 5 * r),  # frame
        (far <= r) & (10 * near < 3 * r),  # plus
        (far <= r) & (10 * abs(a - b) < 3 * r),  # cross
        (far <= r) & ((y + 60) // 3 % 2 == 0),  # lying stripes
        (far <= r) & ((x + 60) // 3 % 2 == 0),  # standing stripes
        (far <= r) & (((x + 60) // 4 + (y + 60) // 4) % 2 == 0),  # chequers
        (b <= r) & (2 * a <= y + r),  # triangle
    ][label]


def record(image):
    """The record of image number `image`, the same in every run."""
    label = int(draw(image, 0, CLASSES)[0])
    ys, xs = numpy.mgrid[0:SIDE, 0:SIDE]
    inside = shape_of(
        label, xs - 13 - draw(image, 1, 6), ys - 13 - draw(image, 2, 6), 7 + draw(image, 3, 4)
    )
    dark = 20 + draw(image, 4 + numpy.arange(3), 90)
    light = dark + 60 + draw(image, 7 + numpy.arange(3), 60)
    front, back = (light, dark) if draw(image, 10, 2)[0] else (dark, light)
    noise = draw(image, 16 + numpy.arange(3 * SIDE * SIDE), 41).reshape(3, SIDE, SIDE) - 20
    pixels = numpy.where(inside, front[:, None, None], back[:, None, None]) + noise
    return bytes([label]) + pixels.clip(0, 255).astype(numpy.uint8).tobytes()


def check(path):
    """A file that is empty or was cut off would be read without end, or without a word."""
    size = os.path.getsize(path)
    if size == 0 or size % RECORD:
        raise SystemExit(f"{path}: {size} bytes are no whole number of records of {RECORD}")


def files(data_dir, names, per_file=PER_FILE):
    """The paths of these files; those that are missing are made."""
    folder = os.path.join(data_dir, FOLDER)
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, name) for name in names]
    for path, name in zip(paths, names):
        if os.path.exists(path):
            check(path)
            continue
        first = (TRAIN + TEST).index(name) * PER_FILE
        aside = f"{path}.{os.getpid()}"
        with open(aside, "wb") as file:
            file.writelines(record(first + i) for i in range(per_file))
        os.replace(aside, path)
    return paths


def load(data_dir, names):
    """Everything in these files: images [n, 32, 32, 3] of bytes, and labels [n]."""
    records = numpy.concatenate(
        [numpy.fromfile(path, numpy.uint8).reshape(-1, RECORD) for path in files(data_dir, names)]
    )
    images = records[:, 1:].reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1)
    return numpy.ascontiguousarray(images), records[:, 0].astype(numpy.int32)
