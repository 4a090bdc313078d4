# SPDX-License-Identifier: Apache-2.0
"""scans.py: running sums and products along lines that are longer than a work-group, and across
columns, are NumPy's on every GPU.

Usage: situ run scans.py [NUMBER OF GPUS], which then have to be there."""

import itertools

import numpy as np
import tensorflow.compat.v1 as tf
from asked import count_gpus

SHAPES = [
    ((1000,), 0),
    ((3, 257), 1),
    ((600, 3), 0),
    ((2, 300, 40), 1),
    ((5, 1, 7), 1),
    ((0, 4), 0),
]


def numbers(shape, kind):
    """Odd integers, whose products never become 0 however they wrap; reals near 1."""
    whole = np.arange(np.prod(shape), dtype=np.int64).reshape(shape) * 7919 % 41
    return (2 * whole - 41).astype(kind) if kind != np.float32 else np.float32(0.99 + whole * 5e-4)


def expected(x, axis, product, exclusive, reverse):
    """What it should be, by NumPy, in the type of x or, for reals, exactly."""
    lines = np.flip(x, axis) if reverse else x
    wide = lines.astype(np.float64) if x.dtype == np.float32 else lines
    done = (np.cumprod if product else np.cumsum)(wide, axis=axis, dtype=wide.dtype)
    if exclusive:
        done = np.roll(done, 1, axis)
        first = tuple(slice(0, 1) if d == axis else slice(None) for d in range(x.ndim))
        done[first] = 1 if product else 0
    return np.flip(done, axis) if reverse else done


def main():
    gpus = count_gpus()
    count = 0
    with tf.Session() as session:
        for (shape, axis), kind, product, exclusive, reverse, gpu in itertools.product(
            SHAPES,
            (np.int32, np.int64, np.float32),
            (0, 1),
            (False, True),
            (False, True),
            range(gpus),
        ):
            x = numbers(shape, kind)
            with tf.device(f"/gpu:{gpu}"):
                scan = tf.math.cumprod if product else tf.math.cumsum
                have = session.run(scan(tf.constant(x), axis, exclusive=exclusive, reverse=reverse))
            np.testing.assert_allclose(
                have,
                expected(x, axis, product, exclusive, reverse),
                rtol=1e-4 if kind == np.float32 else 0,
                err_msg=f"{shape} {kind} {product} {exclusive} {reverse}",
            )
            count += 1
    print(f"{count} running sums and products are right on {gpus} GPUs")


main()
