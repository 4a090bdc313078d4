# SPDX-License-Identifier: Apache-2.0
"""partitioned_variable.py: partitioners and tf.compat.v1.PartitionedVariable: variables that are
split along one axis."""

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
def fixed_size_partitioner(num_shards: int, axis: int = 0):
    """Returns a partitioner with a fixed number of shards.

    Args:
      num_shards: the number; at most the size of the axis.
      axis: the axis to split.
    """

    def partition(shape, dtype=None):
        parts = [1] * len(shape)
        parts[axis] = min(num_shards, shape[axis])
        return parts

    return partition


def _shard_count(shape, axis, most_bytes, bytes_each, max_shards):
    """Returns the number of shards of at most `most_bytes` each."""
    rest = math.prod(n for i, n in enumerate(shape) if i != axis)
    rows = max(1, int(most_bytes // max(1, bytes_each * rest)))
    count = min(math.ceil(shape[axis] / rows), shape[axis])
    return min(count, max_shards) if max_shards else count


@export(v1="variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes, axis=0, bytes_per_string_element=16, max_shards=None
):
    """Returns a partitioner with shards of limited size.

    Args:
      max_shard_bytes: the maximum size of a shard.
      axis: the axis to split.
      bytes_per_string_element: the assumed size of a string.
      max_shards: the maximum number of shards.

    Raises:
      ValueError: a size is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("max_shard_bytes and bytes_per_string_element must be positive.")

    def partition(shape, dtype="float32"):
        kind = as_dtype(dtype)
        size = bytes_per_string_element if kind.name == "string" else kind.size
        parts = [1] * len(shape)
        sizes = [int(n) for n in shape]
        parts[axis] = max(1, _shard_count(sizes, axis, max_shard_bytes, size, max_shards))
        return parts

    return partition


@export(v1="min_max_variable_partitioner")
def min_max_variable_partitioner(
    max_partitions=1, axis=0, min_slice_size=256 << 10, bytes_per_string_element=16
):
    """Returns a partitioner with as many shards as possible.

    Args:
      max_partitions: the maximum number of shards.
      axis: the axis to split.
      min_slice_size: the minimum size of a shard in bytes.
      bytes_per_string_element: the assumed size of a string.
    """

    def partition(shape, dtype="float32"):
        kind = as_dtype(dtype)
        size = bytes_per_string_element if kind.name == "string" else kind.size
        whole = math.prod(int(n) for n in shape) * size
        parts = [1] * len(shape)
        parts[axis] = max(1, min(shape[axis], max_partitions, math.ceil(whole / min_slice_size)))
        return parts

    return partition


class PartitionedVariable:
    """A list of variables that are slices of one tensor along an axis."""

    def __init__(self, name, shape, dtype, variable_list, partitions):
        self.name, self._shape, self.dtype = name, tensor_shape.as_shape(shape), as_dtype(dtype)
        self._parts, self._partitions = list(variable_list), list(partitions)
        self._axis = next((i for i, n in enumerate(self._partitions) if n > 1), 0)

    shape = property(lambda s: s._shape)
    _partition_axes = property(lambda s: [s._axis])
    _variable_list = property(lambda s: s._parts)

    def get_shape(self):
        """Returns the shape of the whole tensor."""
        return self._shape

    def _get_variable_list(self):
        return self._parts

    def _get_partitions(self):
        return self._partitions

    def as_tensor(self):
        """Returns the concatenated slices."""
        if len(self._parts) == 1:
            return convert_to_tensor(self._parts[0])
        return concat([convert_to_tensor(p) for p in self._parts], self._axis)

    _situ_tensor_ = _as_graph_element = as_tensor

    def __iter__(self):
        return iter(self._parts)

    def __len__(self):
        return len(self._parts)

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Assigns the slices of a value to the variables.

        Returns:
          A list: the variables after the assignments, or the operations if `read_value` is
          false. `name` is the name of each operation."""
        sizes = [p.shape.as_list()[self._axis] for p in self._parts]
        values = op(
            "SplitV", convert_to_tensor(value, self.dtype), sizes, self._axis, num_split=len(sizes)
        )
        return [p.assign(v, use_locking, name, read_value) for p, v in zip(self._parts, values)]


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
    """The shape of the whole tensor and the offset of a slice, for initializers."""

    def __init__(self, full_shape: list[int], var_offset: list[int]) -> None:
        self.full_shape, self.var_offset = full_shape, var_offset


def _knows_partitions(initializer) -> bool:
    call = initializer if inspect.isroutine(initializer) else type(initializer).__call__
    try:
        return "partition_info" in inspect.signature(call).parameters
    except (TypeError, ValueError):
        return False


def _slice_of(initializer, whole, dtype, starts, sizes):
    """Returns the initializer of a slice: a slice of a value, or a function."""
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
    """Returns a PartitionedVariable whose slices `make` creates or finds; None for a scalar."""
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
    shard_size, remainder = divmod(sizes[axis], counts[axis])
    parts, start = [], 0
    for i in range(counts[axis]):
        offsets, shard_shape = [0] * len(sizes), list(sizes)
        offsets[axis], shard_shape[axis] = start, shard_size + (i < remainder)
        shard_initializer = _slice_of(initializer, sizes, kind, offsets, shard_shape)
        parts.append(
            make(
                f"{name}/part_{i}",
                shard_shape if callable(shard_initializer) else None,
                kind,
                shard_initializer,
                **kwargs,
            )
        )
        parts[-1]._set_save_slice_info(
            sliced_variables.SaveSliceInfo(name, sizes, offsets, shard_shape)
        )
        start += shard_shape[axis]
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
    """Creates the slices of a variable.

    Args:
      shape: the shape of the whole tensor.
      slicing: the number of partitions of each axis.
      initializer: an initializer or a value.
      dtype: the type.
      trainable: whether optimizers update the variables.
      collections: the collections of the variables.
      name: the name of the variable scope.
      reuse: whether to reuse variables.

    Returns:
      A list of variables.
    """
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
