# SPDX-License-Identifier: Apache-2.0
"""einsum.py: sums of products of elements, written with letters of dimensions."""

from situ._src.framework import errors, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.dtypes import dtype_of
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import constant, convert_to_tensor, op


def _rank(tensor):
    return tensor_shape.as_shape(tensor.shape).rank


def _spread(equation, part, tensor):
    """The letters of an operand, with numbers from the right for the dimensions of '...'."""
    front, dots, back = part.partition("...")
    if not dots:
        return list(part)
    rank = _rank(tensor)
    if rank is None:
        raise ValueError(
            f"'...' of einsum needs the rank of its operands, and '{tensor.name}' has none."
        )
    more = rank - len(front) - len(back)
    if more < 0:
        raise errors.invalid_argument(
            f"Expected input with rank at least {len(front) + len(back)} "
            f"for '{part}' of '{equation}', but got rank {rank} "
            "(op: 'Einsum')"
        )
    return [*front, *range(more - 1, -1, -1), *back]


def _letters(equation, tensors):
    """(letters of each operand, letters of the result)"""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != len(tensors):
        raise ValueError(
            f"Expected {len(parts)} inputs for equation {equation}, got {len(tensors)}."
        )
    made = [_spread(equation, p, t) for p, t in zip(parts, tensors)]
    dots = list(range(max((c for m in made for c in m if isinstance(c, int)), default=-1), -1, -1))
    if not arrow:
        once = sorted(c for c in set(left) - set(",.") if left.count(c) == 1)
        return made, [*dots, *once]
    front, found, back = right.partition("...")
    result = [*front, *(dots if found else []), *back]
    for c in result:
        if not any(c in m for m in made):
            raise errors.invalid_argument(
                f"'{equation}' (op: 'Einsum'): the result has the letter '{c}', which no input has"
            )
    if len(set(result)) != len(result):
        raise ValueError(f"situ's einsum has each letter once in the result: '{equation}'")
    return made, result


def _check_sizes(equation, tensors, parts):
    """A letter means one size; only dimensions of '...' may be 1 instead."""
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


def _single(tensor, letters, known):
    """An operand with each letter once, and without dimensions of '...' that are spread."""
    while len(set(letters)) != len(letters):
        c = next(c for c in letters if letters.count(c) > 1)
        first = letters.index(c)
        second = letters.index(c, first + 1)
        rest = [i for i in range(len(letters)) if i not in (first, second)]
        tensor = op("MatrixDiagPart", op("Transpose", tensor, [*rest, first, second]))
        letters = [letters[i] for i in rest] + [c]
    if _rank(tensor) is not None:
        sizes = tensor_shape.as_shape(tensor.shape).as_list()
        gone = [
            i
            for i, (c, n) in enumerate(zip(letters, sizes))
            if isinstance(c, int) and n == 1 and known.get(c, 1) != 1
        ]
        if gone:
            tensor = op("Squeeze", tensor, squeeze_dims=gone)
            letters = [c for i, c in enumerate(letters) if i not in gone]
    return tensor, letters


def _sizes(tensor, letters):
    """The size of each letter: a number, or a tensor where only a run will know."""
    known = tensor_shape.as_shape(tensor.shape)
    sizes = [None] * len(letters) if known.rank is None else known.as_list()
    shape = op("Shape", tensor) if None in sizes else None
    return {c: shape[i] if sizes[i] is None else sizes[i] for i, c in enumerate(letters)}


def _pairwise(x, a, y, b, kept):
    """The product of two operands summed over letters that nobody keeps."""

    def drop(tensor, letters, other):
        gone = [i for i, c in enumerate(letters) if c not in other and c not in kept]
        if gone:
            tensor = OPS["Sum"](tensor, constant(gone, "int32"))
        return tensor, [c for i, c in enumerate(letters) if i not in gone]

    x, a = drop(x, a, b)
    y, b = drop(y, b, a)
    both = [c for c in a if c in b]
    batch = [c for c in both if c in kept]
    inside = [c for c in both if c not in kept]
    left, right = [c for c in a if c not in b], [c for c in b if c not in a]
    sizes = {**_sizes(y, b), **_sizes(x, a)}

    def form(tensor, letters, order, parts):
        tensor = op("Transpose", tensor, [letters.index(c) for c in order])
        shape = [sizes[c] for c in parts[0]]
        for group in parts[1:]:
            total = 1
            for c in group:
                total *= sizes[c]
            shape.append(total)
        return op("Reshape", tensor, shape)

    x = form(x, a, batch + left + inside, (batch, left, inside))
    y = form(y, b, batch + inside + right, (batch, inside, right))
    made = op("BatchMatMulV2", x, y) if batch else op("MatMul", x, y)
    letters = batch + left + right
    return op("Reshape", made, [sizes[c] for c in letters]), letters


@export("einsum", "linalg.einsum")
def einsum(equation, *inputs, name=None, optimize="greedy", **kwargs):
    """Sums of products of elements, as letters of dimensions say: 'ij,jk->ik'."""
    if kwargs:
        raise TypeError(
            f"Invalid keyword arguments for this function: {', '.join(kwargs)}. "
            "Expected: name, optimize."
        )
    with scope(name, "einsum"):
        tensors = [convert_to_tensor(i) for i in inputs]
        parts, right = _letters(equation, tensors)
        known = _check_sizes(equation, tensors, parts)
        tensors, parts = zip(*[_single(t, p, known) for t, p in zip(tensors, parts)])
        x, a = tensors[0], parts[0]
        for i in range(1, len(tensors)):
            kept = set(right).union(*map(set, parts[i + 1 :]))
            x, a = _pairwise(x, a, tensors[i], parts[i], kept)
        gone = [i for i, c in enumerate(a) if c not in right]
        if gone:
            x = OPS["Sum"](x, constant(gone, "int32"))
            a = [c for c in a if c in right]
        order = [a.index(c) for c in right]
        return x if order == list(range(len(order))) else op("Transpose", x, order)


@export("tensordot", "linalg.tensordot")
def tensordot(a, b, axes, name=None):
    """The product of two tensors summed over dimensions of both."""
    with scope(name, "Tensordot"):
        a = convert_to_tensor(a)
        b = convert_to_tensor(b, None if dtype_of(b) else a.dtype)
        ranks = [_rank(t) for t in (a, b)]
        if None in ranks:
            raise ValueError("situ has tensordot for tensors of known rank only.")
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
