# SPDX-License-Identifier: Apache-2.0
"""philox.py: tf.random.split: seeds derived from a seed, bit-compatible with TensorFlow
(Philox)."""

import numpy

from situ._src.framework.api import export
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.script_ops import py_func

_M = (0xD2511F53, 0xCD9E8D57)
_W = (0x9E3779B9, 0xBB67AE85)
_FIRST = (0x3EC8F720, 0x02461E29)  # the key that mixes a seed
_MASK = 0xFFFFFFFF


def philox(counter, key):
    """Four words of 32 bits of a counter of four and a key of two."""
    c, k = [int(v) for v in counter], [int(v) for v in key]
    for _ in range(10):
        first, second = c[0] * _M[0], c[2] * _M[1]
        c = [
            (second >> 32) ^ c[1] ^ k[0],
            second & _MASK,
            (first >> 32) ^ c[3] ^ k[1],
            first & _MASK,
        ]
        k = [(a + w) & _MASK for a, w in zip(k, _W)]
    return c


def words(seed, count):
    """So many words that a seed of two numbers gives."""
    parts = [int(s) & 0xFFFFFFFFFFFFFFFF for s in seed]
    mixed = philox([half for p in parts for half in (p & _MASK, p >> 32)], _FIRST)
    key, counter, found = mixed[:2], [0, 0, mixed[2], mixed[3]], []
    while len(found) < count:
        found += philox(counter, key)
        whole = sum(v << 32 * i for i, v in enumerate(counter)) + 1
        counter = [(whole >> 32 * i) & _MASK for i in range(4)]
    return found[:count]


@export("random.split", "random.experimental.stateless_split")
def split(seed, num=2, alg="auto_select"):
    """`num` seeds that depend on nothing but the seed: [num, 2]."""
    seed = convert_to_tensor(seed)
    wide = seed.dtype.name == "int64"

    def make(array):
        found = numpy.array(words(array, num * 2 * (2 if wide else 1)), "uint32")
        return found.view("int64" if wide else "int32").reshape(num, 2)

    made = py_func(make, [seed], seed.dtype)
    if hasattr(made, "set_shape"):
        made.set_shape([num, 2])
    return made
