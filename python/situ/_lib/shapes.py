# SPDX-License-Identifier: Apache-2.0
"""shapes.py: TensorShape and Dimension."""
import operator

import _situ
from situ._lib import style


class Dimension:
    """A size that may be unknown (None)."""

    def __init__(self, value):
        if isinstance(value, Dimension):
            value = value.value
        self.value = None if value is None else int(value)
        if self.value is not None and self.value < 0:
            raise ValueError(f"Dimension {self.value} must be >= 0")

    def is_compatible_with(self, other):
        other = Dimension(other)
        return self.value is None or other.value is None or self.value == other.value

    def merge_with(self, other):
        other = Dimension(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")
        return Dimension(other.value if self.value is None else self.value)

    def _with(self, other, f):
        other = Dimension(other)
        return Dimension(None if None in (self.value, other.value) else f(self.value, other.value))

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    def __floordiv__(self, other):
        return self._with(other, lambda a, b: a // b)

    def __mod__(self, other):
        return self._with(other, lambda a, b: a % b)

    __radd__, __rmul__ = __add__, __mul__

    def __rfloordiv__(self, other):
        return Dimension(other) // self

    def __rmod__(self, other):
        return Dimension(other) % self

    def __rsub__(self, other):
        return Dimension(other) - self

    def __eq__(self, other):
        value = other.value if isinstance(other, Dimension) else other
        return None if self.value is None or value is None else self.value == value

    def __ne__(self, other):
        equal = self == other
        return None if equal is None else not equal

    def __hash__(self):
        return hash(self.value)

    def _compared(self, other, f):
        """None where one of them is unknown."""
        other = Dimension(other)
        return None if None in (self.value, other.value) else f(self.value, other.value)

    def __lt__(self, other):
        return self._compared(other, operator.lt)

    def __gt__(self, other):
        return self._compared(other, operator.gt)

    def __le__(self, other):
        return self._compared(other, operator.le)

    def __ge__(self, other):
        return self._compared(other, operator.ge)

    def __int__(self):
        return self.value

    def __index__(self):
        return self.value

    def __repr__(self):
        return f"Dimension({self.value})"

    def __str__(self):
        return "?" if self.value is None else str(self.value)


class TensorShape:
    """The shape of a tensor, as far as it is known."""

    __slots__ = ("_dims",)

    def __init__(self, dims):
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        else:
            if isinstance(dims, (int, Dimension)):
                dims = [dims]
            self._dims = tuple(d.value if isinstance(d, Dimension) else
                               None if d is None or int(d) == -1 else int(d) for d in dims)

    rank = property(lambda s: None if s._dims is None else len(s._dims))
    ndims = rank
    dims = property(lambda s: None if s._dims is None else [Dimension(d) for d in s._dims])

    def as_list(self):
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self):
        if not self.is_fully_defined():
            return None
        count = 1
        for d in self._dims:
            count *= d
        return count

    def is_fully_defined(self):
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self):
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other):
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims))

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def assert_has_rank(self, rank):
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def merge_with(self, other):
        other = TensorShape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if self._dims is None or other._dims is None:
            return other if self._dims is None else self
        return TensorShape([b if a is None else a for a, b in zip(self._dims, other._dims)])

    def most_specific_compatible_shape(self, other):
        """The shape of both: what differs is unknown."""
        other = TensorShape(other)
        if self.rank is None or self.rank != other.rank:
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self._dims, other._dims)])

    def concatenate(self, other):
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def with_rank(self, rank):
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
            return TensorShape(None if self._dims is None else self._dims[key])
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
        words = [unknown if d is None else str(d) for d in self._dims]
        return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"

    def __reduce__(self):
        return TensorShape, (self._dims,)


_situ.hook("shape", TensorShape)


def as_shape(value):
    return value if isinstance(value, TensorShape) else TensorShape(value)


def dimension_value(dimension):
    return dimension.value if isinstance(dimension, Dimension) else dimension
