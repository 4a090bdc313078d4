# SPDX-License-Identifier: Apache-2.0
"""tensor_shape.py: tf.TensorShape and tf.compat.v1.Dimension: static shapes, with None for unknown
sizes."""

from __future__ import annotations

import operator

import _situ
from situ._src.framework import style
from situ._src.framework.message_classes import message_class

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any


def _size(value):
    """Converts a dimension to an int, or None if it is unknown.

    Raises:
      TypeError: it is not an integer.
      ValueError: it is negative.
    """
    if value is None:
        return None
    try:
        size = operator.index(getattr(value, "value", value))
    except TypeError:
        raise TypeError(
            "Dimension value must be integer or None or have an __index__ method, got "
            f"value '{value!r}' with type '{type(value)!r}'"
        ) from None
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


def _arithmetic(function, is_reflected=False):
    def compute(self, other):
        try:
            pair = self.value, as_dimension(other).value
        except (TypeError, ValueError):
            return NotImplemented
        if is_reflected:
            pair = pair[::-1]
        return Dimension(None if None in pair else function(*pair))

    return compute


def _comparison(function):
    """Returns a comparison that is None if a size is unknown."""

    def compare(self, other):
        pair = self.value, as_dimension(other).value
        return None if None in pair else function(*pair)

    return compare


class Dimension:
    """The size of one dimension; `value` is None if it is unknown.

    Args:
      value: an integer, a Dimension, or None.
    """

    def __init__(self, value):
        self.value = value.value if isinstance(value, Dimension) else _size(value)

    def is_compatible_with(self, other) -> bool:
        """Returns whether the sizes are equal or one is unknown."""
        other = as_dimension(other)
        return self.value is None or other.value is None or self.value == other.value

    def assert_is_compatible_with(self, other):
        """Raises ValueError if both sizes are known and differ."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other) -> Dimension:
        """Returns the known one of two compatible sizes.

        Raises:
          ValueError: the sizes differ.
        """
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other.value if self.value is None else self.value)

    __add__ = __radd__ = _arithmetic(operator.add)
    __mul__ = __rmul__ = _arithmetic(operator.mul)
    __sub__, __rsub__ = _arithmetic(operator.sub), _arithmetic(operator.sub, True)
    __floordiv__, __rfloordiv__ = (
        _arithmetic(operator.floordiv),
        _arithmetic(operator.floordiv, True),
    )
    __mod__, __rmod__ = _arithmetic(operator.mod), _arithmetic(operator.mod, True)

    def __truediv__(self, other):
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and "
            f"'{type(other).__name__}', please use // instead"
        )

    def __rtruediv__(self, other):
        raise TypeError(
            f"unsupported operand type(s) for /: '{type(other).__name__}' and "
            "'Dimension', please use // instead"
        )

    def __eq__(self, other):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        return None if None in (self.value, other.value) else self.value == other.value

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal in (None, NotImplemented) else not equal

    def __hash__(self):
        return hash(self.value)

    __lt__, __gt__ = _comparison(operator.lt), _comparison(operator.gt)
    __le__, __ge__ = _comparison(operator.le), _comparison(operator.ge)

    def __int__(self):
        return self.value

    def __index__(self):
        return self.value

    def __bool__(self):
        return bool(self.value)

    def __repr__(self):
        return f"Dimension({self.value})"

    def __str__(self):
        return "?" if self.value is None else str(self.value)

    def __reduce__(self):
        return Dimension, (self.value,)


def as_dimension(value) -> Dimension:
    """Converts a value to a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


class TensorShape:
    """The static shape of a tensor.

    Args:
      dims: a list of sizes with None for unknown ones, a shape, a TensorShapeProto, or None for
        unknown rank.
    """

    __slots__ = ("_dims",)

    def __init__(self, dims):
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, _situ.Message):
            sizes = (None if d.size < 0 else d.size for d in dims.dim)
            self._dims = None if dims.unknown_rank else tuple(sizes)
        else:
            if (
                isinstance(dims, Dimension)
                or hasattr(dims, "__index__")
                and not hasattr(dims, "__len__")
            ):
                dims = [dims]
            self._dims = tuple(d.value if isinstance(d, Dimension) else _size(d) for d in dims)

    rank = property(lambda s: None if s._dims is None else len(s._dims))
    ndims = rank
    dims = property(lambda s: None if s._dims is None else [Dimension(d) for d in s._dims])

    def as_list(self) -> list:
        """Returns the sizes as a list, None for unknown ones.

        Raises:
          ValueError: the rank is unknown.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> Any:
        """Returns the shape as a TensorShapeProto."""
        made = message_class("tensorflow.TensorShapeProto")(unknown_rank=self._dims is None)
        for size in self._dims or ():
            made.dim.add(size=-1 if size is None else size)
        return made

    def num_elements(self) -> int | None:
        """Returns the number of elements, or None if it is unknown."""
        if not self.is_fully_defined():
            return None
        count = 1
        for d in self._dims:
            count *= d
        return count

    def is_fully_defined(self) -> bool:
        """Returns whether all sizes are known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self):
        """Raises ValueError if a size is unknown."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other) -> bool:
        """Returns whether a fully defined shape can match both shapes."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims)
        )

    def assert_is_compatible_with(self, other):
        """Raises ValueError if the shapes are not compatible."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def assert_has_rank(self, rank):
        """Raises ValueError if the rank is known and differs."""
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other):
        """Raises ValueError if both ranks are known and differ."""
        other = TensorShape(other)
        if None not in (self.rank, other.rank) and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def with_rank_at_least(self, rank):
        """Returns the shape itself.

        Raises:
          ValueError: it has fewer dimensions than `rank`.
        """
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank):
        """Returns the shape itself.

        Raises:
          ValueError: it has more dimensions than `rank`.
        """
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def is_subtype_of(self, other):
        """Returns whether every shape that matches this one matches the other."""
        if not isinstance(other, TensorShape):
            return False
        if other._dims is None:
            return True
        return self.rank == other.rank and all(
            b is None or a == b for a, b in zip(self._dims, other._dims)
        )

    def merge_with(self, other) -> TensorShape:
        """Returns the shape with the known sizes of both.

        Raises:
          ValueError: the shapes are not compatible.
        """
        other = TensorShape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if self._dims is None or other._dims is None:
            return other if self._dims is None else self
        return TensorShape([b if a is None else a for a, b in zip(self._dims, other._dims)])

    def most_specific_compatible_shape(self, other) -> TensorShape:
        """Returns the shape in which sizes that differ are unknown."""
        other = TensorShape(other)
        if self.rank is None or self.rank != other.rank:
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self._dims, other._dims)])

    def most_specific_common_supertype(self, others) -> TensorShape | None:
        """Returns the most specific shape that this one and all others match; None if one of the
        others is not a TensorShape."""
        if any(not isinstance(other, TensorShape) for other in others):
            return None
        result = self
        for other in others:
            result = result.most_specific_compatible_shape(other)
        return result

    def concatenate(self, other) -> TensorShape:
        """Returns the dimensions of both shapes, one after the other."""
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def with_rank(self, rank: int) -> TensorShape:
        """Returns the shape with a known rank.

        Raises:
          ValueError: it has another rank.
        """
        return self.merge_with([None] * rank)

    def __len__(self):
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self):
        return self._dims is not None

    def __iter__(self):
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims if style.is_graph() else self._dims)

    def __getitem__(self, key):
        if isinstance(key, slice):
            return TensorShape(_unknown_slice(key) if self._dims is None else self._dims[key])
        value = None if self._dims is None else self._dims[key]
        return Dimension(value) if style.is_graph() else value

    def __add__(self, other):
        return self.concatenate(other)

    def __radd__(self, other):
        return TensorShape(other).concatenate(self)

    def __eq__(self, other):
        try:
            return self._dims == TensorShape(other)._dims
        except TypeError:
            return NotImplemented

    def __hash__(self):
        return hash(self._dims)

    def __repr__(self):
        if self._dims is None:
            return "TensorShape(None)"
        return f"TensorShape({self.dims if style.is_graph() else list(self._dims)})"

    def __str__(self):
        if self._dims is None:
            return "<unknown>"
        unknown = "?" if style.is_graph() else "None"
        sizes = [unknown if d is None else str(d) for d in self._dims]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __reduce__(self):
        return TensorShape, (self.dims,)


def _unknown_slice(key):
    """Returns the sizes of a slice of a shape of unknown rank: None if their number is unknown."""
    if key.step not in (None, 1):
        raise ValueError("Steps are not yet handled")
    start = key.start or 0
    if key.stop is None or start < 0 or key.stop < 0:
        return None
    return [None] * max(key.stop - start, 0)


_situ.hook("shape", TensorShape)


def as_shape(value) -> TensorShape:
    """Converts a value to a TensorShape."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def dimension_value(dimension):
    """Returns the int (or None) of a Dimension; other values unchanged.

    Args:
      dimension: a Dimension, an int, or None.
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension
