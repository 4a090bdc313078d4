# SPDX-License-Identifier: Apache-2.0
"""einsum.py: tf.einsum and tf.tensordot: pairwise contraction by transpose, reshape and
(batched) matmul."""

from __future__ import annotations

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


@export("tensordot", "linalg.tensordot")
def tensordot(a: TensorLike, b: TensorLike, axes: Axis, name: str | None = None) -> Tensor:
    """Contracts two tensors over dimensions of both.

    Args:
      a: A tensor.
      b: A tensor of the type of `a`.
      axes: The number of last dimensions of `a` and first dimensions of `b`, or a pair of lists of
        dimensions.
      name: A name for the operation (optional).

    Returns:
      A tensor.

    Raises:
      ValueError: If a rank is unknown or sizes do not match.
    """
    with scope(name, "Tensordot"):
        a = convert_to_tensor(a)
        b = convert_to_tensor(b, None if dtype_of(b) else a.dtype)
        ranks = [_rank(t) for t in (a, b)]
        if None in ranks:
            raise ValueError("tf.tensordot: situ needs tensors of known rank.")
        if isinstance(axes, int):
            axes = list(range(ranks[0] - axes, ranks[0])), list(range(axes))
        first, second = (
            [int(v) % r for v in ([one] if isinstance(one, int) else one)]
            for one, r in zip(axes, ranks)
        )
        letters = "abcdefghijklmnopqrstuvwxyz"
        left, right = list(letters[: ranks[0]]), list(letters[ranks[0] : sum(ranks)])
        for i, k in zip(first, second):
            right[k] = left[i]
        result = [c for i, c in enumerate(left) if i not in first] + [
            c for i, c in enumerate(right) if i not in second
        ]
        return einsum(f"{''.join(left)},{''.join(right)}->{''.join(result)}", a, b)
