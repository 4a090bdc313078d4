# SPDX-License-Identifier: Apache-2.0
"""partitioned_variable.py: variables in parts along one axis: partitioners,
tf.PartitionedVariable."""

from __future__ import annotations

import functools
import inspect
import math

from situ._src.checkpoint import sliced_variables
from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.ops import init_ops
from situ._src.ops.array_ops import concat, convert_to_tensor, op


@export(v1="fixed_size_partitioner")
def fixed_size_partitioner(num_shards, axis=0):
    """So many parts of one axis, as far as it has so many elements."""

    def partition(shape, dtype=None):
        parts = [1] * len(shape)
        parts[axis] = min(num_shards, shape[axis])
        return parts

    return partition


def _fitting(shape, axis, most_bytes, bytes_each, max_shards):
    """How many parts of at most so many bytes."""
    rest = math.prod(n for i, n in enumerate(shape) if i != axis)
    rows = max(1, int(most_bytes // max(1, bytes_each * rest)))
    count = min(math.ceil(shape[axis] / rows), shape[axis])
    return min(count, max_shards) if max_shards else count


@export(v1="variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes, axis=0, bytes_per_string_element=16, max_shards=None
):
    """Parts of at most so many bytes."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("max_shard_bytes and bytes_per_string_element must be positive.")

    def partition(shape, dtype="float32"):
        kind = as_dtype(dtype)
        size = bytes_per_string_element if kind.name == "string" else kind.size
        parts = [1] * len(shape)
        sizes = [int(n) for n in shape]
        parts[axis] = max(1, _fitting(sizes, axis, max_shard_bytes, size, max_shards))
        return parts

    return partition


@export(v1="min_max_variable_partitioner")
def min_max_variable_partitioner(
    max_partitions=1, axis=0, min_slice_size=256 << 10, bytes_per_string_element=16
):
    """As many parts as there may be, none smaller than so many bytes."""

    def partition(shape, dtype="float32"):
        kind = as_dtype(dtype)
        size = bytes_per_string_element if kind.name == "string" else kind.size
        whole = math.prod(int(n) for n in shape) * size
        parts = [1] * len(shape)
        parts[axis] = max(1, min(shape[axis], max_partitions, math.ceil(whole / min_slice_size)))
        return parts

    return partition


class PartitionedVariable:
    """Variables that are the parts of one tensor along an axis."""

    def __init__(self, name, shape, dtype, variable_list, partitions):
        self.name, self._shape, self.dtype = name, tensor_shape.as_shape(shape), as_dtype(dtype)
        self._parts, self._partitions = list(variable_list), list(partitions)
        self._axis = next((i for i, n in enumerate(self._partitions) if n > 1), 0)

    shape = property(lambda s: s._shape)
    _partition_axes = property(lambda s: [s._axis])
    _variable_list = property(lambda s: s._parts)

    def get_shape(self):
        return self._shape

    def _get_variable_list(self):
        return self._parts

    def _get_partitions(self):
        return self._partitions

    def as_tensor(self):
        """The whole tensor."""
        if len(self._parts) == 1:
            return convert_to_tensor(self._parts[0])
        return concat([convert_to_tensor(p) for p in self._parts], self._axis)

    _situ_tensor_ = _as_graph_element = as_tensor

    def __iter__(self):
        return iter(self._parts)

    def __len__(self):
        return len(self._parts)

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Gives every part its own of the value."""
        sizes = [p.shape.as_list()[self._axis] for p in self._parts]
        values = op(
            "SplitV", convert_to_tensor(value, self.dtype), sizes, self._axis, num_split=len(sizes)
        )
        return [p.assign(v, use_locking) for p, v in zip(self._parts, values)]


export(v1="PartitionedVariable")(PartitionedVariable)
for _name in (
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "pow",
    "rpow",
    "neg",
    "matmul",
    "rmatmul",
    "getitem",
    "lt",
    "le",
    "gt",
    "ge",
):

    def _operator(self, *args, _word=f"__{_name}__"):
        return getattr(self.as_tensor(), _word)(*args)

    setattr(PartitionedVariable, f"__{_name}__", _operator)


class PartitionInfo:
    """What an initializer may know of the part that it makes."""

    def __init__(self, full_shape: list[int], var_offset: list[int]) -> None:
        self.full_shape, self.var_offset = full_shape, var_offset


def _knows_partitions(initializer) -> bool:
    call = initializer if inspect.isroutine(initializer) else type(initializer).__call__
    try:
        return "partition_info" in inspect.signature(call).parameters
    except (TypeError, ValueError):
        return False


def _slice_of(initializer, whole, dtype, starts, sizes):
    """What gives a part its first value: the part of a given one, or values of its own."""
    if initializer is None:
        initializer = init_ops.GlorotUniform() if dtype.is_floating else init_ops.Zeros()
    if isinstance(initializer, type):
        initializer = initializer()
    if callable(initializer):
        if not _knows_partitions(initializer):
            return initializer
        return functools.partial(initializer, partition_info=PartitionInfo(whole, starts))
    value = convert_to_tensor(initializer)
    return op("Slice", value, starts, sizes)


def get(make, name, partitioner, shape, dtype, initializer, kwargs):
    """The parts of a variable, made or found one by one; None where it has one alone."""
    sizes, kind = tensor_shape.as_shape(shape).as_list(), as_dtype(dtype or "float32").base_dtype
    counts = [int(n) for n in partitioner(shape=tensor_shape.as_shape(shape), dtype=kind)]
    if len(counts) != len(sizes):
        raise ValueError(
            f"Partitioner returned a partition list that does not match the "
            f"Variable's rank: {counts} vs. {tensor_shape.as_shape(shape)}"
        )
    if sum(n > 1 for n in counts) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {sizes}, partitioning: {counts}"
        )
    if not counts:
        return None
    axis = next((i for i, n in enumerate(counts) if n > 1), 0)
    small, more = divmod(sizes[axis], counts[axis])
    parts, start = [], 0
    for i in range(counts[axis]):
        here, own = [0] * len(sizes), list(sizes)
        here[axis], own[axis] = start, small + (i < more)
        first = _slice_of(initializer, sizes, kind, here, own)
        parts.append(
            make(f"{name}/part_{i}", own if callable(first) else None, kind, first, **kwargs)
        )
        parts[-1]._set_save_slice_info(sliced_variables.SaveSliceInfo(name, sizes, here, own))
        start += own[axis]
    return PartitionedVariable(name, sizes, kind, parts, counts)


@export(v1="create_partitioned_variables")
def create_partitioned_variables(
    shape,
    slicing,
    initializer,
    dtype="float32",
    trainable=True,
    collections=None,
    name=None,
    reuse=None,
):
    """The list of parts of a variable."""
    from situ._src.variables import variable_scope

    with variable_scope.variable_scope(name, "PartitionedVariable", reuse=reuse):
        return list(
            variable_scope.get_variable(
                "",
                shape,
                dtype,
                initializer,
                trainable=trainable,
                collections=collections,
                partitioner=lambda shape, dtype=None: slicing,
            )
        )
