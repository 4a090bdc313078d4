# SPDX-License-Identifier: Apache-2.0
"""spec_fields.py: comparison of the fields of TypeSpecs: nested tuples, lists and dictionaries of
shapes, types, TypeSpecs, arrays and other values."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from situ._src.framework.dtypes import DType
from situ._src.framework.tensor_shape import TensorShape

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from collections.abc import Sequence
    from typing import Any


class NoSupertype(Exception):
    """There is no common supertype."""


def _is_spec(value):
    return hasattr(type(value), "most_specific_common_supertype") and not isinstance(
        value, (TensorShape, DType)
    )


def _is_array(value):
    return hasattr(value, "tolist") and hasattr(value, "ndim")


def _same_kind(a, b):
    """Returns whether two fields have one type; named tuples of equal names and fields have."""
    if type(a) is type(b):
        return True
    fields = getattr(a, "_fields", None)
    same_name = type(a).__name__ == type(b).__name__
    return fields is not None and same_name and fields == getattr(b, "_fields", None)


def hashable(value: Any) -> Any:
    """Returns a field in a form that has a hash; fields that are equal have equal forms."""
    if isinstance(value, (tuple, list)):
        return tuple(map(hashable, value))
    if isinstance(value, Mapping):
        return tuple((k, hashable(v)) for k, v in value.items())
    if _is_array(value):
        return value.shape, hashable(value.tolist())
    return value


def equal(a: Any, b: Any) -> bool:
    """Returns whether two fields are equal; shapes of equal unknown sizes are."""
    if not _same_kind(a, b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, TensorShape):
        return repr(a) == repr(b)
    if _is_array(a):
        return a.shape == b.shape and a.tolist() == b.tolist()
    return bool(a == b)


def compatible(a: Any, b: Any) -> bool:
    """Returns whether fields of two specs may describe the same value."""
    if _is_spec(a):
        return a.is_compatible_with(b)
    if not _same_kind(a, b):
        return False
    if isinstance(a, (TensorShape, DType)):
        return a.is_compatible_with(b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(compatible, a, b))
    if isinstance(a, Mapping):
        return sorted(a) == sorted(b) and all(compatible(a[k], b[k]) for k in a)
    return equal(a, b)


def _rebuild(a, items):
    """Returns a tuple or list of the type of another."""
    return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)


def supertype(a: Any, others: Sequence) -> Any:
    """Returns the narrowest field that includes those of all specs.

    Args:
      a: A field of a spec.
      others: The fields of other specs.

    Raises:
      NoSupertype: There is none.
    """
    if not all(_same_kind(a, b) for b in others):
        raise NoSupertype
    if _is_spec(a):
        found = a.most_specific_common_supertype(others)
        if found is None:
            raise NoSupertype
        return found
    if isinstance(a, TensorShape):
        return functools.reduce(lambda x, y: x.most_specific_compatible_shape(y), others, a)
    if isinstance(a, (tuple, list)):
        if any(len(b) != len(a) for b in others):
            raise NoSupertype
        return _rebuild(a, [supertype(x, list(rest)) for x, *rest in zip(a, *others)])
    if isinstance(a, Mapping):
        if any(set(b) != set(a) for b in others):
            raise NoSupertype
        pairs = [(k, supertype(a[k], [b[k] for b in others])) for k in a]
        return type(a)(pairs)  # type: ignore[call-arg]
    if not all(equal(a, b) for b in others):
        raise NoSupertype
    return a
