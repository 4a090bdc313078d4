# SPDX-License-Identifier: Apache-2.0
"""partitioned_variable.py: partitioners and tf.compat.v1.PartitionedVariable: variables that are
split along one axis."""

from __future__ import annotations

import functools
import inspect
import math

import _situ
from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.scopes import control_dependencies, name_scope
from situ._src.ops import init_ops
from situ._src.ops.array_ops import concat, convert_to_tensor, identity, op
from situ._src.variables.save_slice_info import SaveSliceInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Axis, DTypeLike, ShapeLike


@export(v1="fixed_size_partitioner")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Any:
    """Returns a partitioner with a fixed number of shards.

    Args:
      num_shards: the number; at most the size of the axis.
      axis: the axis to split.
    """

    def partition(shape, dtype=None):
        sizes = tensor_shape.as_shape(shape).as_list()
        parts = [1] * len(sizes)
        parts[axis] = min(num_shards, sizes[axis])
        return parts

    return partition


def _shard_count(shape, axis, most_bytes, bytes_each, max_shards):
    """Returns the number of shards of at most `most_bytes` each."""
    rest = math.prod(n for i, n in enumerate(shape) if i != axis)
    rows = max(1, int(most_bytes // max(1, bytes_each * rest)))
    count = min(math.ceil(shape[axis] / rows), shape[axis])
    return min(count, max_shards) if max_shards else count


def _check_positive(name, value):
    if value < 1:
        raise ValueError(f"{name} must be positive, but got: {value}")


@export(v1="variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: Axis = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Any:
    """Returns a partitioner with shards of limited size.

    Args:
      max_shard_bytes: the maximum size of a shard.
      axis: the axis to split.
      bytes_per_string_element: the assumed size of a string.
      max_shards: the maximum number of shards.

    Raises:
      ValueError: a size is not positive.
    """
    _check_positive("max_shard_bytes", max_shard_bytes)
    _check_positive("bytes_per_string_element", bytes_per_string_element)
    if max_shards:
        _check_positive("max_shards", max_shards)

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
    max_partitions: int = 1,
    axis: Axis = 0,
    min_slice_size: Any = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Any:
    """Returns a partitioner with as many shards as possible.

    Args:
      max_partitions: the maximum number of shards.
      axis: the axis to split; None for the longest one.
      min_slice_size: the minimum size of a shard in bytes.
      bytes_per_string_element: the assumed size of a string.

    Raises:
      ValueError: a size is not positive.
    """
    _check_positive("max_partitions", max_partitions)
    _check_positive("min_slice_size", min_slice_size)
    _check_positive("bytes_per_string_element", bytes_per_string_element)

    def partition(shape, dtype="float32"):
        kind = as_dtype(dtype)
        size = bytes_per_string_element if kind.name == "string" else kind.size
        sizes = tensor_shape.as_shape(shape).as_list()
        whole, parts = math.prod(sizes) * size, [1] * len(sizes)
        split = max(range(len(sizes)), key=sizes.__getitem__) if axis is None else axis
        parts[split] = max(1, min(sizes[split], max_partitions, math.ceil(whole / min_slice_size)))
        return parts

    return partition


class PartitionedVariable:
    """A list of variables that are slices of one tensor along an axis.

    Args:
      name: the name of the whole.
      shape: the shape of the whole tensor.
      dtype: the type.
      variable_list: the variables, in the order of their offsets.
      partitions: the numbers of partitions of each axis.

    Raises:
      TypeError: `variable_list` or `partitions` is not a list.
      ValueError: there are no variables, or a number of partitions is not positive.
    """

    def __init__(self, name, shape, dtype, variable_list, partitions):
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(p >= 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        _check_slices(name, variable_list)
        self._name, self._shape, self._dtype = name, tensor_shape.as_shape(shape), as_dtype(dtype)
        self._variable_list, self._partitions = list(variable_list), list(partitions)

    name = property(lambda s: s._name)
    dtype = property(lambda s: s._dtype)
    shape = property(lambda s: s._shape)

    @property
    def distribute_strategy(self):
        """The strategy that created the variables; None."""
        return None

    def get_shape(self):
        """Returns the shape of the whole tensor."""
        return self._shape

    def _get_variable_list(self):
        return self._variable_list

    def _get_partitions(self):
        return self._partitions

    def _partition_axes(self):
        """Returns the axes with several partitions; the first axis if there is none."""
        return [i for i, n in enumerate(self._partitions) if n > 1] or [0]

    def _axis(self):
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(
                f"Cannot concatenate along more than one dimension: {axes}.  Multi-axis partition "
                "concat is not supported"
            )
        return axes[0]

    def as_tensor(self):
        """Returns the concatenated slices."""
        parts = [convert_to_tensor(p) for p in self._variable_list]
        with control_dependencies(None):
            whole = parts[0]
            if len(parts) > 1:
                with name_scope(self._name + "/ConcatPartitions/"):
                    whole = concat(parts, self._axis())
            with name_scope(None):
                return identity(whole, name=self._name)

    _situ_tensor_ = _as_graph_element = as_tensor

    def __iter__(self):
        return iter(self._variable_list)

    def __len__(self):
        return len(self._variable_list)

    def _update(self, method, value, use_locking, name, read_value):
        """Calls a method of each variable with its slice of a value."""
        parts = self._variable_list
        if not isinstance(value, list) or not all(hasattr(v, "shape") for v in value):
            axis = self._axis()
            sizes = [p.shape.as_list()[axis] for p in parts]
            value = convert_to_tensor(value, self._dtype)
            value = op("SplitV", value, sizes, axis, num_split=len(sizes))
        elif len(value) != len(parts):
            raise ValueError(f"Expected a list of {len(parts)} values, not {len(value)}.")
        return [getattr(p, method)(v, use_locking, name, read_value) for p, v in zip(parts, value)]

    def assign(self, value, use_locking=False, name=None, read_value=True):
        """Assigns the slices of a value, or a list of tensors, to the variables.

        Returns:
          A list: the variables after the assignments, or the operations if `read_value` is
          false. `name` is the name of each operation."""
        return self._update("assign", value, use_locking, name, read_value)

    def assign_add(self, value, use_locking=False, name=None, read_value=True):
        """Adds the slices of a value to the variables. Returns a list as `assign` does."""
        return self._update("assign_add", value, use_locking, name, read_value)

    def assign_sub(self, value, use_locking=False, name=None, read_value=True):
        """Subtracts the slices of a value from the variables. Returns a list as `assign` does."""
        return self._update("assign_sub", value, use_locking, name, read_value)


def _check_slices(name, variables):
    """Raises ValueError unless the variables are slices of the tensor with a name."""
    for part in variables:
        known = getattr(part, "_save_slice_info", None)
        if known is None:
            raise ValueError(f"{part!r} is missing its _save_slice_info.")
        if known.full_name != name:
            raise ValueError(
                f"{part!r}'s _save_slice_info.full_name={known.full_name!r} does not match name "
                f"{name!r}."
            )


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
    is_tensor = isinstance(initializer, _situ.Tensor)
    value = convert_to_tensor(initializer, None if is_tensor else dtype)
    return op("Slice", value, starts, sizes)


def call_partitioner(partitioner, shape, dtype) -> list[int]:
    """Returns the numbers of partitions along each axis of a new variable.

    Raises:
      ValueError: the shape is not known, or the result is invalid.
    """
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if shape.rank < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    counts = partitioner(shape=shape, dtype=dtype)
    if not isinstance(counts, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {counts}")
    counts = [int(n) for n in counts]
    if len(counts) != shape.rank:
        raise ValueError(
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{counts} vs. {shape}"
        )
    if any(n < 1 for n in counts):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {counts}")
    if sum(n > 1 for n in counts) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {counts}"
        )
    return counts


def create(make, name, counts, shape, dtype, initializer, options):
    """Returns a new PartitionedVariable whose slices `make` creates."""
    sizes = shape.as_list()
    axis = next((i for i, n in enumerate(counts) if n > 1), 0)
    shard_size, remainder = divmod(sizes[axis], counts[axis])
    parts, start = [], 0
    for i in range(counts[axis]):
        offsets, shard_shape = [0] * len(sizes), list(sizes)
        offsets[axis], shard_shape[axis] = start, shard_size + (i < remainder)
        with name_scope(f"{name}/part_{i}/PartitionedInitializer"):
            value = _slice_of(initializer, sizes, dtype, offsets, shard_shape)
        if isinstance(initializer, _situ.Tensor):
            dtype = value.dtype.base_dtype
        part = make(
            f"{name}/part_{i}", shard_shape if callable(value) else None, dtype, value, **options
        )
        part._set_save_slice_info(SaveSliceInfo(name, sizes, offsets, shard_shape))
        parts.append(part)
        start += shard_shape[axis]
    return PartitionedVariable(name, sizes, dtype, parts, counts)


@export(v1="create_partitioned_variables")
def create_partitioned_variables(
    shape: ShapeLike,
    slicing: Any,
    initializer: Any,
    dtype: DTypeLike = "float32",
    trainable: bool = True,
    collections: list[str] | None = None,
    name: str | None = None,
    reuse: bool | None = None,
) -> list:
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

    Raises:
      ValueError: `shape` and `slicing` do not fit.
    """
    from situ._src.variables import variable_scope, variable_store

    if len(shape) != len(slicing):
        raise ValueError(
            "The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: "
            f"{shape}, slicing: {slicing}"
        )
    if len(shape) < 1:
        raise ValueError(
            "A partitioned Variable must have rank at least 1: shape: "
            f"{tensor_shape.as_shape(shape)}"
        )
    with variable_scope.variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        with name_scope(None):
            made = variable_store.get_partitioned(
                scope.name,
                lambda shape, dtype=None: slicing,
                shape,
                dtype,
                initializer,
                reuse=scope.reuse,
                regularizer=scope.regularizer,
                trainable=trainable,
                collections=collections,
                caching_device=scope.caching_device,
                validate_shape=True,
                use_resource=scope.use_resource,
                constraint=scope.constraint,
                synchronization=None,
                aggregation=None,
            )
    return list(made)
