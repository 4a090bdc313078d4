# SPDX-License-Identifier: Apache-2.0
"""ops_random.py: Philox 4x32-10 and its distributions in plain Python, for ops.py."""
import math

import numpy as np

MASK = 0xFFFFFFFF


def philox(counter, key):
    """Four words from a counter of four words and a key of two."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(10):
        left, right = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = ((right >> 32) ^ b ^ k0) & MASK, right & MASK, \
            ((left >> 32) ^ d ^ k1) & MASK, left & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return a, b, c, d


def block(attrs, number):
    """Block `number` of the generator that the seeds begin."""
    seed, seed2 = attrs["seed"] % (1 << 64), attrs["seed2"] % (1 << 64)
    return philox((number & MASK, number >> 32, seed2 & MASK, seed2 >> 32),
                  (seed & MASK, seed >> 32))


def units(attrs, words):
    """The uniform numbers of a block."""
    if attrs["dtype"] == "float64":
        return [((words[i] & 0xFFFFF) << 32 | words[i + 1]) / 2.0 ** 52 for i in (0, 2)]
    return [(word & 0x7FFFFF) / 2.0 ** 23 for word in words]


def normals(attrs, words):
    """Box and Muller: pairs of uniform numbers become pairs of normal ones."""
    made = []
    u = units(attrs, words)
    for first, second in zip(u[::2], u[1::2]):
        radius = math.sqrt(-2 * math.log(max(first, 1e-7)))
        made += [radius * math.sin(2 * math.pi * second), radius * math.cos(2 * math.pi * second)]
    return made


def collect(shape, blocks):
    """The numbers of the blocks, as many as the shape needs."""
    count, made = math.prod(int(d) for d in shape), []
    for numbers in blocks:
        if len(made) >= count:
            break
        made += numbers
    return np.array(made[:count]).reshape([int(d) for d in shape])


def forever():
    number = 0
    while True:
        yield number
        number += 1


def uniform(attrs, shape):
    if attrs["dtype"] == "float16":
        digits = lambda n: [(word & 0x3FF) / 1024.0 for word in block(attrs, n)]
    else:
        digits = lambda n: units(attrs, block(attrs, n))
    return collect(shape, map(digits, forever()))


def normal(attrs, shape):
    return collect(shape, (normals(attrs, block(attrs, n)) for n in forever()))


def truncated(attrs, shape):
    """Each group of outputs takes from a stretch of blocks of its own."""
    group = 2 if attrs["dtype"] == "float64" else 4

    def take(index):
        made, number = [], index * group * 256 // 4
        while len(made) < group:
            made += [v for v in normals(attrs, block(attrs, number)) if abs(v) < 2]
            number += 1
        return made[:group]
    return collect(shape, map(take, forever()))


def integers(attrs, shape, low, high):
    def words(n):
        w = block(attrs, n)
        return [w[0] | w[1] << 32, w[2] | w[3] << 32] if attrs["Tout"] == "int64" else list(w)
    return collect(shape, ([int(low) + w % int(high - low) for w in words(n)] for n in forever()))


RANDOM = {"RandomUniform": uniform, "RandomStandardNormal": normal, "TruncatedNormal": truncated,
          "RandomUniformInt": integers}
