# SPDX-License-Identifier: Apache-2.0
"""linear_operator_block.py: block diagonal and block lower triangular linear operators."""

from __future__ import annotations

import functools
import operator as python_operator

from situ._src.framework.api import export, named
from situ._src.ops.array_ops import constant, op
from situ._src.ops.linalg.linear_operator import (
    LinearOperator,
    broadcast_batches,
    join_shapes,
    merge_batch,
    merge_batch_tensor,
    same_dtype,
    shape_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


def _sum(values):
    return functools.reduce(python_operator.add, values)


def _sizes(operators, name):
    """Returns the static sum of a size of operators, or None."""
    sizes = [getattr(o, name).value for o in operators]
    return None if None in sizes else sum(sizes)


class _Blocks(LinearOperator):
    """What block operators share: products and systems with a list of blocks in place of a matrix.

    `_diagonal` is the list of diagonal blocks.
    """

    _diagonal: list[Any]

    def _all_blocks(self):
        return self._diagonal

    def _shape(self):
        batch = merge_batch(*self._all_blocks())
        rows = _sizes(self._diagonal, "range_dimension")
        return batch.concatenate([rows, _sizes(self._diagonal, "domain_dimension")])

    def _shape_tensor(self):
        rows = _sum([o.range_dimension_tensor() for o in self._diagonal])
        columns = _sum([o.domain_dimension_tensor() for o in self._diagonal])
        return join_shapes(merge_batch_tensor(*self._all_blocks()), [rows, columns])

    def _split(self, x, rows):
        """Splits a tensor into one block per diagonal block, by the sizes of rows or columns."""
        name = "range_dimension" if rows else "domain_dimension"
        begin, parts = 0, []
        for block in self._diagonal:
            size = getattr(block, name).value
            size = getattr(block, name + "_tensor")() if size is None else size
            parts.append(x[..., begin : begin + size, :])
            begin = begin + size
        return parts

    @staticmethod
    def _is_blocks(x):
        return isinstance(x, (list, tuple)) and len(x) and all(hasattr(b, "shape") for b in x)

    def _run(self, x, rows, adjoint_arg, function, vectors=False):
        """Calls a function of blocks for a tensor or a list of blocks; returns the same kind."""
        if self._is_blocks(x):
            blocks = [op("ExpandDims", b, -1) if vectors else b for b in x]
            blocks = [named("linalg.adjoint")(b) for b in blocks] if adjoint_arg else blocks
            results = function(blocks)
            return [op("Squeeze", r, squeeze_dims=[-1]) for r in results] if vectors else results
        x = named("linalg.adjoint")(x) if adjoint_arg else x
        return op("ConcatV2", broadcast_batches(*function(self._split(x, rows))), -2)

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Multiplies this operator by matrices, by a list of blocks of them, or by an operator."""
        if not self._is_blocks(x):
            return super().matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg, name=name)
        with self._scope(name):
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """Multiplies this operator by vectors, or by a list of blocks of them."""
        if not self._is_blocks(x):
            return super().matvec(x, adjoint=adjoint, name=name)
        with self._scope(name):
            return self._run(x, adjoint, False, lambda b: self._multiply(b, adjoint), True)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Solves the linear systems of this operator, also for a list of blocks."""
        if not self._is_blocks(rhs):
            return super().solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg, name=name)
        with self._scope(name):
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """Solves the linear systems of this operator for vectors or a list of blocks of them."""
        if not self._is_blocks(rhs):
            return super().solvevec(rhs, adjoint=adjoint, name=name)
        with self._scope(name):
            return self._run(rhs, not adjoint, False, lambda b: self._divide(b, adjoint), True)

    def _multiply(self, blocks, adjoint):
        raise NotImplementedError

    def _divide(self, blocks, adjoint):
        raise NotImplementedError

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._run(x, adjoint, adjoint_arg, lambda b: self._multiply(b, adjoint))

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._run(rhs, not adjoint, adjoint_arg, lambda b: self._divide(b, adjoint))

    def _determinant(self):
        return functools.reduce(python_operator.mul, [o.determinant() for o in self._diagonal])

    def _log_abs_determinant(self):
        return _sum([o.log_abs_determinant() for o in self._diagonal])

    def _join_vectors(self, vectors):
        columns = broadcast_batches(*[op("ExpandDims", v, -1) for v in vectors])
        return op("Squeeze", op("ConcatV2", columns, -2), squeeze_dims=[-1])

    def _need_square_blocks(self, method):
        if not all(o.is_square for o in self._diagonal):
            raise NotImplementedError(
                f"`{method}` not implemented for an operator whose blocks are not square."
            )

    def _diag_part(self):
        self._need_square_blocks("diag_part")
        return self._join_vectors([o.diag_part() for o in self._diagonal])

    def _trace(self):
        self._need_square_blocks("trace")
        return _sum([o.trace() for o in self._diagonal])

    def _eigvals(self):
        self._need_square_blocks("eigvals")
        return self._join_vectors([o.eigvals() for o in self._diagonal])

    def _checked(self, method):
        checks = [getattr(o, method)() for o in self._diagonal]
        return named("group")(*[c for c in checks if c is not None])

    def _assert_non_singular(self):
        return self._checked("assert_non_singular")


def _zeros(like, rows, columns):
    """Returns zeros [..., rows, columns] with the batch of a tensor."""
    shape = join_shapes(shape_of(like)[:-2], [rows, columns])
    return op("Fill", shape, constant(0, like.dtype))


@export("linalg.LinearOperatorBlockDiag")
class LinearOperatorBlockDiag(_Blocks):
    """Linear operators as the diagonal blocks of one.

    Args:
      operators: The diagonal blocks.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator; default: the names of the blocks.
    """

    _parts = {"operators": 0}

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        operators = list(operators)
        if not operators:
            raise ValueError(f"Expected a non-empty list of operators. Found: {operators}")
        kind = same_dtype(operators, "Expected all operators to have the same dtype.  Found ")
        hints = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        words = {"is_positive_definite": "positive definite"}
        for key, hint in hints.items():
            if all(getattr(o, key) for o in operators):
                if hint is False:
                    word = words.get(key, key[3:].replace("_", "-"))
                    raise ValueError(f"The direct sum of {word} operators is always {word}.")
                hints[key] = True
        if not all(o.is_square for o in operators):
            is_square = None if is_square is True else is_square
            if any(o.is_square is False for o in operators):
                is_square = None
        self._diagonal = operators
        name = "_ds_".join(o.name for o in operators) if name is None else name
        super().__init__(kind, None, is_square=is_square, name=name, **hints)

    @property
    def operators(self) -> list[Any]:
        """The diagonal blocks."""
        return self._diagonal

    def _each(self, method):
        return LinearOperatorBlockDiag([getattr(o, method)() for o in self._diagonal])

    def _linop_adjoint(self):
        return LinearOperatorBlockDiag(
            [o.adjoint() for o in self._diagonal],
            self.is_non_singular,
            self.is_self_adjoint,
            self.is_positive_definite,
            self._square_hint,
        )

    def _linop_cholesky(self):
        return self._each("cholesky")

    def _linop_inverse(self):
        return self._each("inverse")

    def _pairs(self, right, text):
        if len(self._diagonal) != len(right.operators):
            raise ValueError(f"Can not efficiently {text} when number of blocks differ.")
        return zip(self._diagonal, right.operators)

    def _linop_matmul(self, left, right):
        if isinstance(right, LinearOperatorBlockDiag):
            pairs = self._pairs(right, "multiply two `LinearOperatorBlockDiag`s together")
            return LinearOperatorBlockDiag([a.matmul(b) for a, b in pairs], is_square=None)
        return super()._linop_matmul(left, right)

    def _linop_solve(self, left, right):
        if isinstance(right, LinearOperatorBlockDiag):
            pairs = self._pairs(right, "solve `LinearOperatorBlockDiag`")
            return LinearOperatorBlockDiag([a.solve(b) for a, b in pairs])
        return super()._linop_solve(left, right)

    def _multiply(self, blocks, adjoint):
        return [o.matmul(b, adjoint=adjoint) for o, b in zip(self._diagonal, blocks)]

    def _divide(self, blocks, adjoint):
        return [o.solve(b, adjoint=adjoint) for o, b in zip(self._diagonal, blocks)]

    def _to_dense(self):
        blocks = broadcast_batches(*[o.to_dense() for o in self._diagonal])
        rows = []
        for i, block in enumerate(blocks):
            height = self._diagonal[i].range_dimension_tensor()
            row = [
                block if i == j else _zeros(block, height, other.domain_dimension_tensor())
                for j, other in enumerate(self._diagonal)
            ]
            rows.append(op("ConcatV2", row, -1))
        return op("ConcatV2", rows, -2)

    def _assert_self_adjoint(self):
        return self._checked("assert_self_adjoint")

    def _assert_positive_definite(self):
        return self._checked("assert_positive_definite")


@export("linalg.LinearOperatorBlockLowerTriangular")
class LinearOperatorBlockLowerTriangular(_Blocks):
    """Linear operators as the blocks of a lower triangle.

    Args:
      operators: A list of rows of blocks; row i has i + 1 operators, the last one square.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator.
    """

    _parts = {"operators": 0}

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        rows = [list(row) for row in operators]
        if not rows:
            raise ValueError(
                f"Argument `operators` must be a list of >=1 operators. Received: {operators}."
            )
        self._rows = rows
        self._diagonal = [row[-1] for row in rows if row]
        self._check_rows()
        kind = rows[0][0].dtype
        for i, row in enumerate(rows):
            for block in row:
                if block.dtype != kind:
                    names = [f"{b.name} {b.dtype}" for b in row]
                    raise TypeError(
                        "Expected all operators to have the same dtype.  Found "
                        f"{names} in row {i} and {kind} in row 0."
                    )
        is_non_singular = self._check_non_singular(is_non_singular)
        self._check_square(is_square)
        super().__init__(
            kind,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    def _check_rows(self):
        rows = self._rows
        for i, row in enumerate(rows):
            if len(row) != i + 1:
                raise ValueError(
                    f"Argument `operators[{i}]` must contain `{i + 1}` blocks. Received: "
                    f"{len(row)} blocks."
                )
        for i, row in enumerate(rows):
            for j, block in enumerate(row[:-1]):
                above, right = rows[i - 1][j], row[j + 1]
                if not block.domain_dimension.is_compatible_with(above.domain_dimension):
                    raise ValueError(
                        f"Argument `operators[{i}][{j}].domain_dimension` "
                        f"({block.domain_dimension}) must be the same as "
                        f"`operators[{i - 1}][{j}].domain_dimension` ({above.domain_dimension})."
                    )
                if not block.range_dimension.is_compatible_with(right.range_dimension):
                    raise ValueError(
                        f"Argument `operators[{i}][{j}].range_dimension` ({block.range_dimension}) "
                        f"must be the same as `operators[{i}][{j + 1}].range_dimension` "
                        f"({right.range_dimension})."
                    )

    def _check_non_singular(self, hint):
        text = "Expected argument `is_non_singular` to be True. Received: "
        if all(o.is_non_singular for o in self._diagonal):
            if hint is False:
                raise ValueError(
                    "A blockwise lower-triangular operator with non-singular operators on the main "
                    f"diagonal is always non-singular. {text}{hint}."
                )
            return True
        if any(o.is_non_singular is False for o in self._diagonal):
            if hint is True:
                raise ValueError(
                    "A blockwise lower-triangular operator with a singular operator on the main "
                    f"diagonal is always singular. {text}{hint}."
                )
            return False
        return hint

    def _check_square(self, hint):
        if hint is False:
            raise ValueError(
                "`LinearOperatorBlockLowerTriangular` must be square. Expected argument "
                f"`is_square` to be True. Received: {hint}."
            )
        for i, block in enumerate(self._diagonal):
            if block.is_square is False:
                raise ValueError(
                    "Matrices on the diagonal (the final elements of each row-partition in the "
                    f"`operators` list) must be square. Expected argument `operators[{i}]"
                    f"[-1].is_square` to be True. Received: {block.is_square}."
                )

    @property
    def operators(self) -> list[Any]:
        """The rows of blocks."""
        return self._rows

    def _all_blocks(self):
        return [block for row in self._rows for block in row]

    def _multiply(self, blocks, adjoint):
        count = len(self._rows)
        if adjoint:
            return [
                _sum([self._rows[i][j].matmul(blocks[i], adjoint=True) for i in range(j, count)])
                for j in range(count)
            ]
        return [_sum([block.matmul(b) for block, b in zip(row, blocks)]) for row in self._rows]

    def _divide(self, blocks, adjoint):
        count = len(self._rows)
        solved: dict[int, Any] = {}
        for i in reversed(range(count)) if adjoint else range(count):
            rest = blocks[i]
            for j, done in solved.items():
                block = self._rows[j][i] if adjoint else self._rows[i][j]
                rest = rest - block.matmul(done, adjoint=adjoint)
            solved[i] = self._diagonal[i].solve(rest, adjoint=adjoint)
        return [solved[i] for i in range(count)]

    def _linop_inverse(self):
        return named("linalg.LinearOperatorInversion")(self)

    def _to_dense(self):
        # The batches of blocks are those of the operator; zeros of its shape broadcast them.
        batch = op(
            "Fill",
            join_shapes(merge_batch_tensor(*self._all_blocks()), [1, 1]),
            constant(0, self.dtype),
        )
        rows = [self._dense_row(i, batch) for i in range(len(self._rows))]
        return op("ConcatV2", rows, -2)

    def _dense_row(self, i, batch):
        parts = [block.to_dense() + batch for block in self._rows[i]]
        height = self._diagonal[i].range_dimension_tensor()
        later = self._diagonal[i + 1 :]
        zeros = [_zeros(parts[0], height, o.domain_dimension_tensor()) for o in later]
        return op("ConcatV2", [*parts, *zeros], -1)
