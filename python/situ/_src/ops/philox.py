# SPDX-License-Identifier: Apache-2.0
"""philox.py: tf.random.split: seeds derived from a seed, bit-compatible with TensorFlow
(Philox)."""

from __future__ import annotations

import numpy

from situ._src.framework.api import export
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.random_ops import check_algorithm
from situ._src.ops.script_ops import py_func

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Tensor, TensorLike

_M = (0xD2511F53, 0xCD9E8D57)
_W = (0x9E3779B9, 0xBB67AE85)
_FIRST = (0x3EC8F720, 0x02461E29)  # the key that scrambles a seed
_MASK = 0xFFFFFFFF


def philox(counter, key):
    """Returns the four 32-bit words of Philox-4x32-10 for a counter of four words and a key of
    two."""
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


def random_words(seed, count):
    """Returns `count` random 32-bit words for a seed of two integers."""
    parts = [int(s) & 0xFFFFFFFFFFFFFFFF for s in seed]
    mixed = philox([half for p in parts for half in (p & _MASK, p >> 32)], _FIRST)
    key, counter, result = mixed[:2], [0, 0, mixed[2], mixed[3]], []
    while len(result) < count:
        result += philox(counter, key)
        next_counter = sum(v << 32 * i for i, v in enumerate(counter)) + 1
        counter = [(next_counter >> 32 * i) & _MASK for i in range(4)]
    return result[:count]


@export("random.split", "random.experimental.stateless_split")
def split(seed: TensorLike, num: int | None = 2, alg: str = "auto_select") -> Tensor:
    """Derives new seeds from a seed.

    Args:
      seed: A tensor of shape [2], int32 or int64.
      num: The number of new seeds.
      alg: "auto_select" or "philox"; situ has no other algorithm.

    Returns:
      A tensor of shape [num, 2] and the type of `seed`.
    """
    check_algorithm(alg)
    seed = convert_to_tensor(seed)
    is_int64 = seed.dtype.name == "int64"

    def derive(array):
        words = numpy.array(random_words(array, num * 2 * (2 if is_int64 else 1)), "uint32")
        return words.view("int64" if is_int64 else "int32").reshape(num, 2)

    result = py_func(derive, [seed], seed.dtype)
    if hasattr(result, "set_shape"):
        result.set_shape([num, 2])
    return result
