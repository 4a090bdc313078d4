# SPDX-License-Identifier: Apache-2.0
"""ragged_broadcast.py: broadcasting of ragged and dense tensors with each other and to a shape.

The dimensions of two shapes are compared from the outermost on, each as a row partition of the
slices of the one before. An index per slice of the result names the slice of an operand that it
repeats; only dimensions whose size is always 1 are repeated, as in NumPy.
"""

from __future__ import annotations

from situ._src.ops.array_ops import concat, constant, op
from situ._src.ops.dynamic_ragged_shape import DynamicRaggedShape
from situ._src.ops.ragged_tensor import RaggedTensor, is_ragged, to_ragged
from situ._src.ops.row_partition import RowPartition, check, constant_value, with_checks

_TEXT = "Cannot broadcast ragged shapes whose row lengths differ"


def _either(a, b):
    """Returns `a or b` of bools that may be scalars."""
    if a is True or b is True:
        return True
    if a is False or b is False:
        return b if a is False else a
    return op("LogicalOr", a, b)


def _select(condition, x, y):
    """Returns `x if condition else y` for a bool that may be a scalar."""
    if isinstance(condition, bool):
        return x if condition else y
    return op("SelectV2", condition, x, y)


def _is_single(rows):
    """Returns whether all rows have one value: a bool, or a scalar if it is not known yet."""
    if not rows.is_uniform():
        return False
    known = rows.static_uniform_row_length
    if known is not None:
        return known == 1
    return op("Equal", rows.uniform_row_length(), constant(1, rows.dtype))


class _Operand:
    """A shape while its dimensions are visited.

    Attributes:
      shape: the shape.
      index: the slice of the shape for each slice of the result, in the current dimension.
    """

    def __init__(self, shape, rank):
        kind = shape.dtype
        one = RowPartition.from_uniform_row_length(1, nrows=1, dtype=kind)
        self.shape, self.index = shape, constant([0], kind)
        self._layers = [one] * (rank - shape.rank)
        if shape.rank:
            count = shape._size(0)
            self._layers.append(RowPartition.from_uniform_row_length(count, nrows=1, dtype=kind))
            self._rest = iter(shape.row_partitions)
        self._next = 0

    def layer(self):
        """Returns the row partition of the next dimension."""
        at, self._next = self._next, self._next + 1
        if at < len(self._layers):
            return self._layers[at]
        known = next(self._rest, None)
        if known is not None:
            return known
        axis = at - len(self._layers) + 1  # a dimension of the flat values
        count = self.shape._num_slices_in_dimension(axis - 1)
        return RowPartition.from_uniform_row_length(
            self.shape._size(axis), nrows=count, dtype=self.shape.dtype
        )

    def advance(self, rows, single, target):
        """Finds the slices of the next dimension from its partition in the result."""
        before = op("GatherV2", self.index, target.value_rowids(), 0)
        starts = op("GatherV2", rows.row_starts(), before, 0)
        offsets = target.offsets_in_rows()
        self.index = _select(single, starts, starts + offsets)

    def lengths(self, rows):
        """Returns the row lengths of a partition for each slice of the result."""
        return op("GatherV2", rows.row_lengths(), self.index, 0)


def _check_sizes(condition):
    """Returns a check that sizes fit."""
    return [] if condition is True else check(condition, _TEXT)


def _meet(a, b):
    """Returns the partition of the next dimension of the result of two operands."""
    x, y = a.layer(), b.layer()
    single_x, single_y = _is_single(x), _is_single(y)
    checks = []
    if x.is_uniform() and y.is_uniform():
        m, n = x.uniform_row_length(), y.uniform_row_length()
        if single_x is not True and single_y is not True:
            same = _either(_either(single_x, single_y), op("Equal", m, n))
            checks = _check_sizes(same)
        size = _select(single_x, n, m)
        count = op("Size", a.index, out_type=x.dtype)
        rows = RowPartition.from_uniform_row_length(with_checks(checks, size), nrows=count)
    else:
        m, n = a.lengths(x), b.lengths(y)
        if single_x is not True and single_y is not True:
            checks = _check_sizes(_either(_either(single_x, single_y), op("Equal", m, n)))
        lengths = with_checks(checks, _select(single_x, n, m))
        rows = RowPartition.from_row_lengths(lengths, validate=False)
    a.advance(x, single_x, rows)
    b.advance(y, single_y, rows)
    return rows


def _common_partitions(a, b):
    """Returns the number of row partitions of the result of two shapes."""
    m, n = (s.num_row_partitions + max(0, o.rank - s.rank) for s, o in ((a, b), (b, a)))
    if not a.num_row_partitions or not b.num_row_partitions:
        return n if b.num_row_partitions else m if a.num_row_partitions else 0
    return max(m, n)


def _same_type(a, b):
    """Returns two shapes of one type."""
    if a.dtype == b.dtype:
        return a, b
    if a.row_partitions and b.row_partitions:
        raise ValueError("Dtypes don't match")
    kind = a.dtype if a.row_partitions else b.dtype if b.row_partitions else "int64"
    return a.with_dtype(kind), b.with_dtype(kind)


def broadcast_shapes(a, b):
    """Returns the shape that two shapes broadcast to, and for each of them the index of its slices
    in the flat values of the result.

    Raises:
      InvalidArgumentError: the shapes are known to be incompatible.
      ValueError: their types differ, or a rank is unknown.
    """
    a, b = _same_type(a, b)
    if a.rank is None or b.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    rank, count = max(a.rank, b.rank), _common_partitions(a, b)
    if not count:
        sizes = _dense_shape(a.inner_shape, b.inner_shape)
        return DynamicRaggedShape._from_inner_shape(sizes), None, None
    left, right = _Operand(a, rank), _Operand(b, rank)
    partitions = [_meet(left, right) for _ in range(count + 1)][1:]
    inner = rank - count - 1
    tails = [s.inner_shape[max(s.inner_rank - inner, 0) :] for s in (a, b)]
    shape = DynamicRaggedShape.from_row_partitions(partitions)
    if inner:
        sizes = concat([shape.inner_shape, _dense_shape(*tails)], 0)
        shape = DynamicRaggedShape(partitions, sizes)
    return shape, left.index, right.index


def _dense_shape(x, y):
    """Returns the shape that two shapes of known rank broadcast to; checks that they do."""
    m, n = (v.shape.as_list()[0] for v in (x, y))
    one = constant(1, x.dtype)
    x, y = (
        concat([op("Fill", [max(m, n) - k], one), v], 0) if k < max(m, n) else v
        for v, k in ((x, m), (y, n))
    )
    single = op("Equal", x, one)
    fits = op("LogicalOr", op("LogicalOr", single, op("Equal", y, one)), op("Equal", x, y))
    return with_checks(check(fits, _TEXT), op("SelectV2", single, y, x))


def broadcast_dynamic_shape(shape_x, shape_y):
    """Returns the DynamicRaggedShape that two shapes broadcast to, one of which may be a vector."""
    shapes = [
        s if isinstance(s, DynamicRaggedShape) else DynamicRaggedShape([], s)
        for s in (shape_x, shape_y)
    ]
    return broadcast_shapes(*shapes)[0]


def _repeated(value, source, target, index):
    """Returns the flat values of a tensor for a target shape; sizes of 1 in their inner dimensions
    are not repeated."""
    flat = value.flat_values if is_ragged(value) else value
    rank = target.inner_rank
    if source.rank == 0:
        return flat
    if rank > source.rank:  # the dimensions that are partitioned are those of one value
        if source.num_row_partitions:
            flat = op("Reshape", flat, source._alt_inner_shape(source.rank))
        return flat
    if source.inner_rank != rank:
        flat = op("Reshape", flat, source._alt_inner_shape(rank))
    return flat if index is None else op("GatherV2", flat, index, 0)


def broadcast_to(value, shape):
    """Broadcasts a ragged or dense tensor to a DynamicRaggedShape.

    Args:
      value: the tensor.
      shape: the shape.

    Raises:
      InvalidArgumentError: the tensor is known not to broadcast to the shape.
      ValueError: types differ, or a rank is unknown or too large.
    """
    value = to_ragged(value)
    if isinstance(value, RaggedTensor) and not shape.num_row_partitions:
        shape = shape.with_dtype(value.row_splits.dtype)
    source = DynamicRaggedShape.from_tensor(
        value, None if isinstance(value, RaggedTensor) else shape.dtype
    )
    if source.dtype != shape.dtype:
        raise ValueError("Cannot coerce row_splits.dtype")
    if source.rank is None or shape.rank is None:
        raise ValueError("Rank of source and target must be statically known")
    if source.rank > shape.rank:
        raise ValueError("Cannot broadcast to a shape with smaller rank")
    index = None
    if source.rank and shape.inner_rank <= source.rank:
        index = _index_in(source, shape)
    flat = _repeated(value, source, shape, index)
    flat = op("BroadcastTo", flat, shape.inner_shape)
    return shape._add_row_partitions(flat)


def _index_in(source, target):
    """Returns the slice of a shape for each flat value of a target shape."""
    operand, whole = _Operand(source, target.rank), _Operand(target, target.rank)
    for _ in range(target.num_row_partitions + 1):
        rows, goal = operand.layer(), whole.layer()
        single = _is_single(rows)
        if single is not True:
            same = op("Equal", operand.lengths(rows), goal.row_lengths())
            checks = _check_sizes(_either(single, same))
            operand.index = with_checks(checks, operand.index)
        operand.advance(rows, single, goal)
    return operand.index


def _identical(x, y):
    """Returns whether two ragged tensors are known to have the same rows."""
    pairs = list(zip(x.nested_row_splits, y.nested_row_splits))
    if x.ragged_rank == y.ragged_rank and all(a is b for a, b in pairs):
        return True
    ranks = {t.flat_values.shape.rank for t in (x, y)}
    if x.ragged_rank != y.ragged_rank or len(ranks) > 1 or None in ranks:
        return False
    for a, b in pairs:
        if a is b:
            continue
        known = constant_value(a), constant_value(b)
        if known[0] is None or known[1] is None:
            return False
        if known[0].shape != known[1].shape or (known[0] != known[1]).any():
            return False
    return True


def _reaches_rows(x, y):
    """Returns whether a dense operand has dimensions that the other one partitions."""
    rank = x.flat_values.shape.rank
    if y.shape.rank == 0:
        return False
    return rank is None or y.shape.rank is None or rank <= y.shape.rank


def broadcast_operands(x, y):
    """Returns two operands, at least one of them ragged, as flat values that a binary op can
    broadcast, and the shape of the result; the shape is a ragged tensor if the result has its rows.
    """
    both = isinstance(x, RaggedTensor) and isinstance(y, RaggedTensor)
    if both and _identical(x, y):
        return x.flat_values, y.flat_values, x
    if not both:
        ragged, dense = (x, y) if isinstance(x, RaggedTensor) else (y, x)
        if not _reaches_rows(ragged, dense):
            return [v.flat_values if v is ragged else v for v in (x, y)] + [ragged]
    shapes = [DynamicRaggedShape.from_tensor(v) for v in (x, y)]
    a, b = _same_type(*shapes)
    shape, left, right = broadcast_shapes(a, b)
    return _repeated(x, a, shape, left), _repeated(y, b, shape, right), shape


def with_rows(flat_values, shape):
    """Returns the result of an op on the operands of `broadcast_operands`."""
    if isinstance(shape, RaggedTensor):
        return shape.with_flat_values(flat_values)
    return shape._add_row_partitions(flat_values, validate=True)


# Functions whose shape argument may be a DynamicRaggedShape


def reshape(tensor, shape, name=None):
    """Gives the elements of a ragged or dense tensor a shape.

    Args:
      tensor: the tensor; of a ragged tensor, the values count.
      shape: a DynamicRaggedShape or a vector.
      name: a name for the operation (optional).
    """
    tensor = to_ragged(tensor)
    flat = tensor.flat_values if isinstance(tensor, RaggedTensor) else tensor
    if not isinstance(shape, DynamicRaggedShape):
        return op("Reshape", flat, shape, name=name)
    return shape._add_row_partitions(op("Reshape", flat, shape.inner_shape, name=name))


def fill(dims, value, name=None):
    """Returns a tensor of a DynamicRaggedShape with one value.

    Args:
      dims: the shape.
      value: a scalar.
      name: a name for the operation (optional).
    """
    return dims._add_row_partitions(op("Fill", dims.inner_shape, value, name=name))


def ragged_shape(input, out_type="int32", name=None):
    """Returns the DynamicRaggedShape of a ragged tensor.

    Args:
      input: the tensor.
      out_type: the type of the shape.
      name: a name for the operation (optional).
    """
    del name  # a shape is not one operation
    return DynamicRaggedShape.from_tensor(input, out_type)
