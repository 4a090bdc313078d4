# SPDX-License-Identifier: Apache-2.0
"""reductions.py: how values of several processes become one."""

from situ._src.ops.array_ops import cast

Average, Sum, Min, Max, Product = "mean", "sum", "min", "max", "product"
Adasum = "adasum"


def word_of(op, average):
    """Returns the reduction selected by Horovod's two arguments."""
    if op is not None and average is not None:
        raise ValueError("The op parameter supersedes average. Please provide only one of them.")
    if op == Adasum:
        raise NotImplementedError("Adasum is not supported: use Average or Sum.")
    if op is None:
        return Average if average is None or average else Sum
    return op


class _None:
    """Tensors travel as they are."""

    @staticmethod
    def compress(tensor):
        return tensor, None

    @staticmethod
    def decompress(tensor, dtype):
        del dtype  # nothing was compressed
        return tensor


class _Half(_None):
    """Tensors travel in half precision."""

    @staticmethod
    def compress(tensor):
        return (
            (cast(tensor, "float16"), tensor.dtype) if tensor.dtype.is_floating else (tensor, None)
        )

    @staticmethod
    def decompress(tensor, dtype):
        return tensor if dtype is None else cast(tensor, dtype)


class Compression:
    """Compression of gradients for communication."""

    none, fp16 = _None, _Half
