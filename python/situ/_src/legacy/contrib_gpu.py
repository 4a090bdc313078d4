# SPDX-License-Identifier: Apache-2.0
"""contrib_gpu.py: tf.contrib for several GPUs: all-reduce (nccl), memory
statistics, and the scopes of compilers."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import numpy

from situ._src.framework import config
from situ._src.framework.api import V1, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.scopes import device
from situ._src.ops import script_ops
from situ._src.ops.array_ops import convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import TensorLike


def _all(join, name):
    def reduce(tensors):
        """Returns the sum of tensors on the device of each of them."""
        tensors = [convert_to_tensor(t) for t in tensors]
        if not tensors:
            raise ValueError("Must pass >0 tensors to all reduce operations")
        for tensor in tensors:
            if not tensor.device:
                raise ValueError(f"Device assignment required for nccl collective ops: {tensor}")
        with scope(None, name):
            result = []
            for tensor in tensors:
                with device(tensor.device):
                    result.append(join(tensors))
            return result

    return reduce


def _pairwise(row):
    def join(tensors):
        result = tensors[0]
        for other in tensors[1:]:
            result = op(row, result, other)
        return result

    return join


for _word, _join in (
    ("sum", lambda ts: op("AddN", ts)),
    ("prod", _pairwise("Mul")),
    ("min", _pairwise("Minimum")),
    ("max", _pairwise("Maximum")),
):
    V1["contrib.nccl.all_" + _word] = V1["python.ops.nccl_ops.all_" + _word] = _all(
        _join, "NcclAll" + _word.capitalize()
    )


@export(v1=("contrib.nccl.reduce_sum", "python.ops.nccl_ops.reduce_sum"))
def reduce_sum(tensors: Any) -> Any:
    """Returns the sum of tensors of several devices, on the device of the scope.

    Args:
      tensors: List of tensors of the same shape.
    """
    return op("AddN", [convert_to_tensor(t) for t in tensors])


@export(v1=("contrib.nccl.broadcast", "python.ops.nccl_ops.broadcast"))
def broadcast(tensor: TensorLike) -> Any:
    """Returns the tensor; copies to other devices are inserted where it is read.

    Args:
      tensor: A tensor.
    """
    return op("Identity", convert_to_tensor(tensor))


def _memory(key, name):
    def ask():
        """Returns the bytes of memory of the device of the scope."""
        chosen = str(op("NoOp").device or "/device:CPU:0").upper()

        def read():
            number, kind = chosen.rpartition(":")[2], "GPU" if "GPU" in chosen else "CPU"
            info = config.get_memory_info(f"{kind}:{number if number.isdigit() else 0}")
            return numpy.int64(info.get(key) or 0)

        with device("/cpu:0"):
            result = script_ops.py_func(read, [], as_dtype("int64"), name=name)
        result.set_shape([])
        return result

    return ask


for _name, _word in (("BytesInUse", "current"), ("MaxBytesInUse", "peak"), ("BytesLimit", "limit")):
    V1["contrib.memory_stats." + _name] = _memory(_word, _name)


@export(v1="contrib.compiler.jit.experimental_jit_scope")
@contextlib.contextmanager
def experimental_jit_scope(
    compile_ops: bool = True, separate_compiled_gradients: bool = False
) -> Any:
    """Does nothing, whatever the arguments: whether graphs are compiled does not depend on it.

    Args:
      compile_ops: Has no effect.
      separate_compiled_gradients: Has no effect.
    """
    del compile_ops, separate_compiled_gradients  # hints for a compiler, not for results
    yield


V1["contrib.compiler.xla.compile"] = lambda computation, inputs=None: computation(*(inputs or []))


# The algorithms of tensorflow.python.distribute.all_reduce: each tensor is replaced by the sum, on
# its device


def _everywhere(input_tensors, join, change, lists):
    tensors = [convert_to_tensor(t) for t in input_tensors]
    result = []
    for tensor in tensors:
        with device(tensor.device):
            whole = join(tensors) if lists else functools.reduce(join, tensors)
            result.append(whole if change is None else change(whole))
    return result


def _way(name, join_at, lists=False):
    """A function whose argument number join_at says how two tensors (a list) become one."""

    def build(
        input_tensors,
        *args,
        red_op=None,
        un_op=None,
        gather_devices=None,
        num_workers=None,
        num_subchunks=None,
        gpu_perm=None,
        subdiv_offsets=None,
    ):
        rest = list(args)  # where and in how many parts TensorFlow adds makes no difference here
        join = red_op if red_op is not None else rest[join_at]
        change = un_op if un_op is not None else (rest + [None] * 9)[join_at + 1]
        return _everywhere(input_tensors, join, change, lists)

    build.__name__ = name
    for place in (
        "python.distribute.all_reduce.",
        "python.distribute.v1.all_reduce.",
        "contrib.all_reduce.",
        "contrib.all_reduce.python.all_reduce.",
    ):
        V1[place + name] = build


_way("build_nccl_all_reduce", 0)
_way("build_recursive_hd_all_reduce", 0)
_way("build_shuffle_all_reduce", 1, True)
_way("build_ring_all_reduce", 3)
