# SPDX-License-Identifier: Apache-2.0
"""sharded_variable.py: tf.distribute.experimental.partitioners, and variables that are divided
along their first dimension between parameter servers."""

from __future__ import annotations

import itertools

from situ._src.framework.api import export
from situ._src.ops.array_ops import concat, convert_to_tensor
from situ._src.variables import partitioned_variable
from situ._src.variables.eager_variable import Operators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@export("distribute.experimental.partitioners.Partitioner")
class Partitioner:
    """Returns the number of shards of each dimension of a variable."""

    def __call__(self, shape, dtype, axis=0):
        raise NotImplementedError


@export("distribute.experimental.partitioners.FixedShardsPartitioner")
class FixedShardsPartitioner(Partitioner):
    """A fixed number of shards.

    Args:
      num_shards: the number; at most the size of the dimension.
    """

    def __init__(self, num_shards: int):
        self._num_shards = num_shards

    def __call__(self, shape, dtype, axis=0):
        return partitioned_variable.fixed_size_partitioner(self._num_shards, axis)(shape, dtype)


@export("distribute.experimental.partitioners.MinSizePartitioner")
class MinSizePartitioner(Partitioner):
    """Shards that have a minimum size.

    Args:
      min_shard_bytes: the minimum size of a shard.
      max_shards: the maximum number of shards.
      bytes_per_string: the size of a string.

    Raises:
      ValueError: an argument is not positive.
    """

    def __init__(
        self, min_shard_bytes: Any = 256 << 10, max_shards: int = 1, bytes_per_string: int = 16
    ):
        for name, value in (
            ("min_shard_bytes", min_shard_bytes),
            ("max_shards", max_shards),
            ("bytes_per_string", bytes_per_string),
        ):
            if value < 1:
                raise ValueError(f"Argument `{name}` must be positive. Received: {value}")
        self._min_bytes, self._max_shards, self._string = (
            min_shard_bytes,
            max_shards,
            bytes_per_string,
        )

    def __call__(self, shape, dtype, axis=0):
        return partitioned_variable.min_max_variable_partitioner(
            max_partitions=self._max_shards,
            axis=axis,
            min_slice_size=self._min_bytes,
            bytes_per_string_element=self._string,
        )(shape, dtype)


@export("distribute.experimental.partitioners.MaxSizePartitioner")
class MaxSizePartitioner(Partitioner):
    """Shards that have a maximum size.

    Args:
      max_shard_bytes: the maximum size of a shard.
      max_shards: the maximum number of shards, which takes precedence; None: no limit.
      bytes_per_string: the size of a string.

    Raises:
      ValueError: an argument is not positive.
    """

    def __init__(
        self, max_shard_bytes: int, max_shards: int | None = None, bytes_per_string: int = 16
    ):
        if max_shard_bytes < 1:
            raise ValueError(
                f"Argument `max_shard_bytes` must be positive. Received {max_shard_bytes}"
            )
        if max_shards is not None and max_shards < 1:
            raise ValueError(f"Argument `max_shards` must be positive. Received {max_shards}")
        self._arguments = max_shard_bytes, bytes_per_string, max_shards

    def __call__(self, shape, dtype, axis=0):
        most, string, shards = self._arguments
        return partitioned_variable.variable_axis_size_partitioner(most, axis, string, shards)(
            shape, dtype
        )


def sizes_of(total, count):
    """Returns the sizes of `count` shards; the first ones are larger by one where it must be."""
    return [total // count + (i < total % count) for i in range(count)]


class ShardedVariable(Operators):
    """A variable whose rows are divided between several variables (`variables`). Reads concatenate
    them.

    Args:
      variables: the shards.
      name: the name.
    """

    def __init__(self, variables, name):
        self._variables, self.name = list(variables), name + ":0"
        first, *_ = self._variables
        self.dtype, self.trainable = first.dtype, first.trainable
        ends = list(itertools.accumulate(v.shape[0] for v in self._variables))
        for variable, start, end in zip(self._variables, [0, *ends], ends):
            variable.rows_of = self, start, end
        rows = ends[-1]
        self.shape = first.shape[1:]
        self.shape = type(first.shape)([rows, *self.shape.as_list()])

    variables = property(lambda s: s._variables)
    _situ_parts_of_variable_ = variables

    def _situ_tensor_(self):
        return concat([v._situ_tensor_() for v in self._variables], 0)

    def value(self):
        return self._situ_tensor_()

    read_value = value

    def numpy(self):
        return self._situ_tensor_().numpy()

    def __array__(self, dtype=None, copy=None):
        del copy  # the shards are concatenated
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def _each(self, method, value):
        value = convert_to_tensor(value, self.dtype)
        ends = list(itertools.accumulate(v.shape[0] for v in self._variables))
        for variable, start, end in zip(self._variables, [0, *ends], ends):
            getattr(variable, method)(value[start:end])
        return self

    def assign(self, value, use_locking=None, name=None, read_value=True):
        """Assigns a value; all arguments but the first have no effect."""
        del use_locking, name, read_value  # as for eager variables
        return self._each("assign", value)

    def assign_add(self, delta, use_locking=False, name=None, read_value=True):
        """Adds a value; all arguments but the first have no effect."""
        del use_locking, name, read_value  # as for eager variables
        return self._each("assign_add", delta)

    def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
        """Subtracts a value; all arguments but the first have no effect."""
        del use_locking, name, read_value  # as for eager variables
        return self._each("assign_sub", delta)

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<ShardedVariable '{self.name}' shape={self.shape} shards={len(self._variables)}>"
