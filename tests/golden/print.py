# SPDX-License-Identifier: Apache-2.0
"""print.py: writes print.txt, how NumPy prints arrays; tests/tensor/test_print.c compares with it.

Usage: python3 tests/golden/print.py > tests/golden/print.txt (NumPy 2.0 to 2.2: later ones print
large float16 and float32 in another way). A record is a line `TYPE SHAPE ELEMENTS` (elements as
the integers that hold their bits; `range` counts from 0), the lines of the text, and a line `.`.
"""
import numpy as np

TYPES = {"f4": "float", "f8": "double", "i4": "int32", "u1": "uint8", "i1": "int8", "i8": "int64",
         "?": "bool", "f2": "half"}
FLOATS = ("f4", "f8", "f2")


def record(array, elements=None):
    """One record; `elements` replaces the list of bits."""
    word = np.dtype(f"i{array.itemsize}")
    if elements is None:
        elements = ",".join(str(bits) for bits in array.view(word).ravel()) or "none"
    shape = ",".join(map(str, array.shape)) or "scalar"
    code = array.dtype.char if array.dtype.char == "?" else array.dtype.str[1:]
    print(TYPES[code], shape, elements)
    print(str(array))
    print(".")


def counted(code, *shape):
    """An array of 0, 1, 2, ... in that shape."""
    record(np.arange(np.prod(shape)).astype(code).reshape(shape), "range")


def fixed():
    """Arrays that show one rule each."""
    lists = (
        [22, 28], [[22, 28], [49, 64]], [0.1, 0.25, 3], [1e-4, 1], [9e-5, 1], [1e-4, 0.1001],
        [1000, 1], [1001, 1], [99999999, 50000000], [1e8, 1], [-1, 1], [-0.5, 1000], [0, 0],
        [-0.0, 0.0], [float("nan"), 1], [float("inf"), 1], [-float("inf"), 1], [float("nan")],
        [float("inf"), -float("inf")], [1e10, -float("inf"), float("nan")], [5e-324], [1 / 3],
        [1.7976931348623157e308, 1e-308], [0.5, 0.125, 12345.678], [2.0 ** -44], [3e10, 2.5e-10],
        [[1.5, -2], [300, 0.001]], [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [123456789.123456789],
        [0.1 + 0.2], [1e16], [1e22, 1e23], [16777217, 2 ** 24 - 1], [[[[1.25]]]], [8192, 65504])
    for code in FLOATS:
        for values in lists:
            record(np.array(values, code))
        for value in (0, 1, -1.5, 0.1, 1e-3, 1e-5, 9.999, 100, float("nan"), -float("inf"), 1 / 3):
            record(np.array(value, code))
    for value in (1e15, 1e16, 123456789.5, -1e300, 5e-324, 1e-4):
        record(np.array(value))
    for code in ("i4", "i8", "i1", "u1"):
        limits = np.iinfo(code)
        record(np.array([limits.min, limits.max, 0, 7], code))
        record(np.array([[1, 20], [100, 3]], code))
        record(np.array(limits.min, code))
    for values in (True, False, [True], [False], [True, False], [[True, True], [False, True]]):
        record(np.array(values))


def shapes():
    """Empty arrays, wrapped lines, summaries."""
    for shape in ((0,), (0, 3), (2, 0), (1,), (1, 1, 1)):
        counted("f4", *shape)
    for shape in ((40,), (3, 30), (1000,), (1001,), (7, 143), (6, 167), (2, 3, 200), (2000, 1),
                  (1, 1, 1, 1, 1100), (10, 10, 11), (501, 2)):
        counted("f4", *shape)
        counted("i4", *shape)
    counted("f8", 1001, 1)
    record((np.arange(60) % 3 == 0).reshape(2, 30))


def drawn():
    """Random ones."""
    source = np.random.RandomState(7)
    for code in FLOATS:
        for scale in (0.3, 1, 3, 9):
            for shape in ((2,), (3, 2), (13,), (2, 3, 2)):
                with np.errstate(over="ignore"):
                    values = np.exp(source.randn(*shape) * scale) * source.choice([-1, 1], shape)
                    record(values.astype(code))
        for _ in range(20):
            bits = source.bytes(3 * np.dtype(code).itemsize)
            record(np.frombuffer(bits, code))


if __name__ == "__main__":
    fixed()
    shapes()
    drawn()
