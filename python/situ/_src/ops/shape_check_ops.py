# SPDX-License-Identifier: Apache-2.0
"""shape_check_ops.py: tf.debugging.assert_shapes: sizes of dimensions that tensors share."""

from __future__ import annotations

import _situ
from situ._src.framework.api import BOTH, export
from situ._src.framework.scopes import control_dependencies, name_scope
from situ._src.framework.tensor import GraphTensor
from situ._src.ops.array_ops import cast, convert_to_tensor, group, op
from situ._src.ops.check_ops import (
    Assert,
    as_checked,
    assert_rank,
    assert_rank_at_least,
    assert_rank_in,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, TensorLike


class _Expected:
    """A tensor with the sizes that its last (or all) dimensions shall have."""

    def __init__(self, tensor, sizes, prefix):
        self.tensor = as_checked(tensor)
        named = isinstance(self.tensor, GraphTensor)
        self.title = (
            self.tensor.name
            if named
            else f"shape={self.tensor.shape} dtype={self.tensor.dtype.name}"
        )
        if not hasattr(sizes, "__iter__"):
            raise ValueError(
                f"{prefix}Tensor {self.title}.  Specified shape must be an iterable.  "
                "An iterable has the attribute `__iter__` or `__getitem__`.  "
                f"Received specified shape: {sizes}"
            )
        sizes = tuple(sizes)
        for at, size in enumerate(sizes):
            if at and _any_rank(size):
                raise ValueError(
                    f"{prefix}Tensor {self.title} specified shape index {at}.  "
                    "Symbol `...` or `*` for a variable number of "
                    "unspecified dimensions is only allowed as the first entry"
                )
        self.innermost = bool(sizes) and _any_rank(sizes[0])
        self.sizes = sizes[1:] if self.innermost else sizes

    def rank_check(self, **options):
        """Returns an assertion about the rank, or None; a scalar is a vector of one element."""
        rank = len(self.sizes)
        if rank < 2:
            return None if self.innermost else assert_rank_in(self.tensor, [0, 1], **options)
        check = assert_rank_at_least if self.innermost else assert_rank
        return check(self.tensor, rank, **options)

    def size(self, at):
        """Returns the size of a dimension: an int if it is known, else a tensor."""
        tensor = self.tensor
        if tensor.shape.rank is not None:
            dims = tensor.shape.as_list() or [1]
            if dims[at] is not None:
                return dims[at]
        shape = BOTH["shape"](tensor)
        if tensor.shape.rank is None:  # a scalar counts as one element
            scalar = op("Equal", op("Size", shape), 0)
            missing = op("Reshape", cast(scalar, "int32"), [1])
            shape = op("ConcatV2", [shape, op("Fill", missing, 1)], 0)
        return op("GatherV2", shape, at if at >= 0 else op("Add", op("Size", shape), at), 0)


def _any_rank(size):
    return size is Ellipsis or isinstance(size, str) and size == "*"


def _any_size(size):
    return size is None or isinstance(size, str) and size == "."


def _as_int(size):
    """Returns a size as an int, or None for a symbol or a tensor."""
    if hasattr(size, "graph"):
        return None
    try:
        return int(size)
    except (TypeError, ValueError):
        return None


@export("debugging.assert_shapes")
def assert_shapes(
    shapes: TensorLike,
    data: TensorLike = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Asserts the shapes of tensors: what is known at once, the rest when the graph runs.

    Args:
      shapes: A dictionary or a list of pairs from tensors to shapes. Dimensions are integers or
        symbols; equal symbols stand for equal sizes, "." and None for any size. A first "*" or
        `...` stands for any number of dimensions. A scalar counts as a vector of one element.
      data: Tensors to print if an assertion fails when the graph runs; by default the shape.
      summarize: The number of elements to print of each tensor.
      message: A prefix of the error message.
      name: A name for the operation (optional).

    Returns:
      An operation with the assertions; None in eager mode.

    Raises:
      ValueError: If a known shape does not match.
    """
    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    prefix = f"{message}.  " if message else ""
    options = {"data": data, "summarize": summarize, "message": message}
    with name_scope(name, "assert_shapes"):
        expected = [_Expected(x, sizes, prefix) for x, sizes in pairs if sizes is not None]
        ranks = [check for e in expected if (check := e.rank_check(**options)) is not None]
        checks = list(_size_checks(expected, ranks, prefix, data, summarize))
        return group(*ranks, *checks) if _situ.current_graph() is not None else None


def _size_checks(expected, ranks, prefix, data, summarize):
    """Compares the sizes of dimensions and yields assertions on those that are not known yet."""
    found: dict = {}  # the size that each symbol stands for, and who says so
    for e in expected:
        for i, size in enumerate(e.sizes):
            if _any_size(size):
                continue
            at = i - len(e.sizes) if e.innermost else i
            with control_dependencies(ranks):
                actual = e.size(at)
            wanted, by = _as_int(size), "Specified explicitly"
            if wanted is None and size not in found:
                found[size] = actual, f"Specified by tensor {e.title} dimension {at}"
                continue
            if wanted is None:
                wanted, by = found[size]
            if isinstance(actual, int) and isinstance(wanted, int):
                if actual != wanted:
                    raise ValueError(
                        f"{prefix}{by}.  Tensor {e.title} dimension {at} must have size {wanted}."
                        f"  Received size {actual}, shape {e.tensor.shape}"
                    )
                continue
            shown = data or [
                prefix,
                by,
                f"Tensor {e.title} dimension",
                at,
                "must have size",
                wanted,
                "Received shape: ",
                BOTH["shape"](e.tensor),
            ]
            test = op("Equal", convert_to_tensor(actual), convert_to_tensor(wanted))
            yield Assert(test, shown, summarize)
