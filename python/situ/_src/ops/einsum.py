# SPDX-License-Identifier: Apache-2.0
"""einsum.py: tf.einsum and tf.tensordot: pairwise contraction by transpose, reshape and
(batched) matmul."""

from __future__ import annotations

import numpy

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import dtype_of
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import constant, convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, Tensor, TensorLike


def _rank(tensor):
    return tensor_shape.as_shape(tensor.shape).rank


def _labels_of(equation, term, tensor):
    """Returns the labels of an operand; dimensions of '...' are numbered from the right."""
    front, dots, back = term.partition("...")
    if not dots:
        return list(term)
    rank = _rank(tensor)
    if rank is None:
        raise ValueError(
            f"tf.einsum: '...' needs operands of known rank, but '{tensor.name}' has none."
        )
    ellipsis_rank = rank - len(front) - len(back)
    if ellipsis_rank < 0:
        raise errors.invalid_argument(
            f"Expected input with rank at least {len(front) + len(back)} "
            f"for '{term}' of '{equation}', but got rank {rank} "
            "(op: 'Einsum')"
        )
    return [*front, *range(ellipsis_rank - 1, -1, -1), *back]


def _parse(equation, tensors):
    """Returns (labels of each operand, labels of the result)."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != len(tensors):
        raise ValueError(
            f"Expected {len(parts)} inputs for equation {equation}, got {len(tensors)}."
        )
    labels = [_labels_of(equation, p, t) for p, t in zip(parts, tensors)]
    dots = list(
        range(max((c for m in labels for c in m if isinstance(c, int)), default=-1), -1, -1)
    )
    if not arrow:
        once = sorted(c for c in set(left) - set(",.") if left.count(c) == 1)
        return labels, [*dots, *once]
    front, found, back = right.partition("...")
    result = [*front, *(dots if found else []), *back]
    for c in result:
        if not any(c in m for m in labels):
            raise errors.invalid_argument(
                f"'{equation}' (op: 'Einsum'): the result has the letter '{c}', which no input has"
            )
    if len(set(result)) != len(result):
        raise ValueError(
            f"tf.einsum: situ does not support repeated letters in the result: '{equation}'"
        )
    return labels, result


def _check_sizes(equation, tensors, parts):
    """Checks that a label has one size; only dimensions of '...' may be 1. Returns label ->
    size."""
    known = {}
    for i, (tensor, letters) in enumerate(zip(tensors, parts)):
        if _rank(tensor) is None:
            continue
        sizes = tensor_shape.as_shape(tensor.shape).as_list()
        if len(sizes) != len(letters):
            raise errors.invalid_argument(
                f"Expected input {i} of '{equation}' to have rank "
                f"{len(letters)} but got rank {len(sizes)} "
                "(op: 'Einsum')"
            )
        for axis, (c, n) in enumerate(zip(letters, sizes)):
            if n is None or isinstance(c, int) and n == 1:
                continue
            if known.setdefault(c, n) != n:
                raise errors.invalid_argument(
                    f"Expected dimension {known[c]} at axis {axis} of the input shaped "
                    f"{tensor.shape} but got dimension {n}: letter '{c}', input {i} of "
                    f"'{equation}' (op: 'Einsum')"
                )
    return known


def _normalize(tensor, letters, known):
    """Takes diagonals of repeated labels and squeezes dimensions of '...' that are broadcast."""
    while len(set(letters)) != len(letters):
        c = next(c for c in letters if letters.count(c) > 1)
        first = letters.index(c)
        second = letters.index(c, first + 1)
        rest = [i for i in range(len(letters)) if i not in (first, second)]
        tensor = op("MatrixDiagPart", op("Transpose", tensor, [*rest, first, second]))
        letters = [letters[i] for i in rest] + [c]
    if _rank(tensor) is not None:
        sizes = tensor_shape.as_shape(tensor.shape).as_list()
        squeezed = [
            i
            for i, (c, n) in enumerate(zip(letters, sizes))
            if isinstance(c, int) and n == 1 and known.get(c, 1) != 1
        ]
        if squeezed:
            tensor = op("Squeeze", tensor, squeeze_dims=squeezed)
            letters = [c for i, c in enumerate(letters) if i not in squeezed]
    return tensor, letters


def _sizes(tensor, letters):
    """Returns label -> size: an integer, or a tensor if it is unknown."""
    known = tensor_shape.as_shape(tensor.shape)
    sizes = [None] * len(letters) if known.rank is None else known.as_list()
    shape = op("Shape", tensor) if None in sizes else None
    return {c: shape[i] if sizes[i] is None else sizes[i] for i, c in enumerate(letters)}


def _contract(x, a, y, b, kept):
    """Multiplies two operands and sums over the labels that are not kept."""

    def drop(tensor, letters, other):
        summed = [i for i, c in enumerate(letters) if c not in other and c not in kept]
        if summed:
            tensor = OPS["Sum"](tensor, constant(summed, "int32"))
        return tensor, [c for i, c in enumerate(letters) if i not in summed]

    x, a = drop(x, a, b)
    y, b = drop(y, b, a)
    both = [c for c in a if c in b]
    batch = [c for c in both if c in kept]
    contracted = [c for c in both if c not in kept]
    left, right = [c for c in a if c not in b], [c for c in b if c not in a]
    sizes = {**_sizes(y, b), **_sizes(x, a)}

    def as_matrices(tensor, letters, order, parts):
        tensor = op("Transpose", tensor, [letters.index(c) for c in order])
        shape = [sizes[c] for c in parts[0]]
        for group in parts[1:]:
            total = 1
            for c in group:
                total *= sizes[c]
            shape.append(total)
        return op("Reshape", tensor, shape)

    x = as_matrices(x, a, batch + left + contracted, (batch, left, contracted))
    y = as_matrices(y, b, batch + contracted + right, (batch, contracted, right))
    result = op("BatchMatMulV2", x, y) if batch else op("MatMul", x, y)
    letters = batch + left + right
    return op("Reshape", result, [sizes[c] for c in letters]), letters


@export("einsum", "linalg.einsum")
def einsum(
    equation: TensorLike,
    *inputs: Any,
    name: str | None = None,
    optimize: str = "greedy",
    **kwargs: Any,
) -> Tensor:
    """Contracts tensors by the Einstein summation convention.

    Args:
      equation: A string such as "ij,jk->ik"; "..." stands for batch dimensions.
      *inputs: One tensor for each term of the equation.
      optimize: Ignored; operands are contracted from left to right.
      name: A name for the operation (optional).
      **kwargs: Rejected.

    Returns:
      A tensor.

    Raises:
      ValueError: If the equation does not fit the inputs.
    """
    del optimize  # the order of contractions changes the speed only
    if kwargs:
        raise TypeError(
            f"Invalid keyword arguments for this function: {', '.join(kwargs)}. "
            "Expected: name, optimize."
        )
    with scope(name, "einsum"):
        tensors = [convert_to_tensor(i) for i in inputs]
        parts, right = _parse(equation, tensors)
        known = _check_sizes(equation, tensors, parts)
        operands = [_normalize(t, p, known) for t, p in zip(tensors, parts)]
        tensors, parts = [t for t, _ in operands], [p for _, p in operands]
        x, a = tensors[0], parts[0]
        for i in range(1, len(tensors)):
            kept = set(right).union(*map(set, parts[i + 1 :]))
            x, a = _contract(x, a, tensors[i], parts[i], kept)
        summed = [i for i, c in enumerate(a) if c not in right]
        if summed:
            x = OPS["Sum"](x, constant(summed, "int32"))
            a = [c for c in a if c in right]
        order = [a.index(c) for c in right]
        return x if order == list(range(len(order))) else op("Transpose", x, order)


class _Factor:
    """A tensor of a tensordot as a matrix, and the sizes of the dimensions that stay: integers,
    None where unknown, or None if their number is unknown."""

    def __init__(self, x: Any, axes: Any, is_first: bool) -> None:
        rank = _rank(x)
        if rank is not None and isinstance(axes, (list, tuple)):
            axes = [a + rank if a < 0 else a for a in map(int, axes)]
            free = [i for i in range(rank) if i not in axes]
            sizes = tensor_shape.as_shape(x.shape).as_list()
            self.static: Any = [sizes[i] for i in free]
        else:
            whole = op("Rank", x)
            axes = convert_to_tensor(axes, "int32")
            axes = op("SelectV2", op("Less", axes, constant(0)), op("Add", axes, whole), axes)
            free = op("ListDiff", op("Range", constant(0), whole, constant(1)), axes)[0]
            self.static = None
        self.is_known = self.static is not None and None not in self.static
        if self.is_known and None not in sizes:
            self.free: Any = self.static
            count, total = numpy.prod([sizes[a] for a in axes]), numpy.prod(self.static)
            order = free + axes if is_first else axes + free
            form: Any = [int(total), int(count)] if is_first else [int(count), int(total)]
        else:
            free, axes = convert_to_tensor(free, "int32"), convert_to_tensor(axes, "int32")
            shape = op("Shape", x)
            self.free = op("GatherV2", shape, free, 0)
            total, count = op("Prod", self.free, 0), op("Prod", op("GatherV2", shape, axes, 0), 0)
            order = op("ConcatV2", [free, axes] if is_first else [axes, free], 0)
            form = op("Pack", [total, count] if is_first else [count, total])
        self.matrix = op("Reshape", op("Transpose", x, order), form)


def _tensordot_axes(a, axes):
    """Returns the dimensions of both tensors: lists, or tensors if they are not known."""
    if isinstance(axes, (int, numpy.integer)):
        rank = _rank(a)
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        if rank is None:
            whole = op("Rank", a)
            count = constant(int(axes))
            last = op("Range", op("Sub", whole, count), whole, constant(1))
            return last, list(range(axes))
        if axes > rank:
            raise ValueError(
                f"`axes` must not be larger than the number of dimensions of tensor {a}. "
                f"Received {axes}, vs tensor dimensions {rank}."
            )
        return list(range(rank - axes, rank)), list(range(axes))
    if not isinstance(axes, (list, tuple, numpy.ndarray)):
        axes = convert_to_tensor(axes, "int32")
        return axes[0], axes[1]
    if len(axes) != 2:
        raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
    first, second = (
        [one] if isinstance(one, (int, numpy.integer)) else _as_list(one) for one in axes
    )
    if isinstance(first, list) and isinstance(second, list) and len(first) != len(second):
        raise ValueError(
            f"Different number of contraction axes `a` and `b`, {len(first)} != {len(second)}."
        )
    return first, second


def _as_list(axes):
    return list(axes) if isinstance(axes, (list, tuple, numpy.ndarray)) else axes


@export("tensordot", "linalg.tensordot")
def tensordot(a: TensorLike, b: TensorLike, axes: Axis, name: str | None = None) -> Tensor:
    """Contracts two tensors over dimensions of both.

    Args:
      a: A tensor.
      b: A tensor of the type of `a`.
      axes: The number of last dimensions of `a` and first dimensions of `b`, or a pair of lists of
        dimensions; both may be tensors.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      ValueError: If axes or sizes do not match.
    """
    with scope(name, "Tensordot") as full:
        a = convert_to_tensor(a)
        b = convert_to_tensor(b, None if dtype_of(b) else a.dtype)
        first, second = _tensordot_axes(a, axes)
        left, right = _Factor(a, first, True), _Factor(b, second, False)
        product = op("MatMul", left.matrix, right.matrix)
        if isinstance(left.free, list) and isinstance(right.free, list):
            return op("Reshape", product, constant(left.free + right.free, "int32"), name=full)
        parts = [convert_to_tensor(f.free, "int32") for f in (left, right)]
        result = op("Reshape", product, op("ConcatV2", parts, 0), name=full)
        if left.static is not None and right.static is not None and hasattr(result, "graph"):
            result.set_shape(left.static + right.static)
        return result
