# SPDX-License-Identifier: Apache-2.0
"""linear_operator_compose.py: linear operators made of others: products, Kronecker products,
adjoints, inverses and low-rank updates."""

from __future__ import annotations

import functools
import operator as python_operator

from situ._src.framework.api import export, named
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import cast, op
from situ._src.ops.linalg.linear_operator import (
    LinearOperator,
    adjoint,
    conj,
    invalid,
    join_shapes,
    keep,
    merge_batch,
    merge_batch_tensor,
    multiply,
    product,
    same_dtype,
    shape_of,
    solve_broadcast,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, TensorLike


def _adjoint_if(x, condition):
    return adjoint(x) if condition else x


def _total(values):
    return functools.reduce(python_operator.add, values)


@export("linalg.LinearOperatorComposition")
class LinearOperatorComposition(LinearOperator):
    """The product of linear operators.

    Args:
      operators: The factors, from left to right.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator; default: the names of the factors.
    """

    _parts = {"operators": 0}

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        operators = list(operators)
        if not operators:
            raise ValueError(f"Expected a non-empty list of operators. Found: {operators}")
        kind = same_dtype(operators, "Expected all operators to have the same dtype.  Found ")
        if all(o.is_non_singular for o in operators):
            if is_non_singular is False:
                raise ValueError(
                    "The composition of non-singular operators is always non-singular."
                )
            is_non_singular = True
        if self._is_gram(operators):  # A A^H
            if is_self_adjoint is False:
                raise ValueError(
                    "The composition was determined to be self-adjoint but user provided incorrect "
                    "`False` hint."
                )
            is_self_adjoint = True
            if is_square is False:
                raise ValueError(
                    "The composition was determined have the form A @ A.H, hence it must be "
                    "square. The user provided an incorrect `False` hint."
                )
            is_square = True
            if is_non_singular:
                if is_positive_definite is False:
                    raise ValueError(
                        "The composition was determined to be non-singular and have the form "
                        "A @ A.H, hence it must be positive-definite. The user provided an "
                        "incorrect `False` hint."
                    )
                is_positive_definite = True
        self._operators = operators
        name = "_o_".join(o.name for o in operators) if name is None else name
        super().__init__(
            kind, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
        )  # fmt: skip

    @staticmethod
    def _is_gram(operators):
        if len(operators) != 2:
            return False
        left, right = operators
        kind = named("linalg.LinearOperatorAdjoint")
        return (isinstance(right, kind) and right.operator is left) or (
            isinstance(left, kind) and left.operator is right
        )

    @property
    def operators(self) -> list[Any]:
        """The factors."""
        return self._operators

    def _shape(self):
        first, last = self._operators[0], self._operators[-1]
        for left, right in zip(self._operators, self._operators[1:]):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)
        batch = merge_batch(*self._operators)
        return batch.concatenate([first.range_dimension.value, last.domain_dimension.value])

    def _shape_tensor(self):
        first, last = self._operators[0], self._operators[-1]
        batch = merge_batch_tensor(*self._operators)
        return join_shapes(batch, [first.range_dimension_tensor(), last.domain_dimension_tensor()])

    def _linop_cholesky(self):
        gram = self._is_gram(self._operators)
        triangular = named("linalg.LinearOperatorLowerTriangular")
        if gram and isinstance(self._operators[0], triangular):
            return self._operators[0]
        return super()._linop_cholesky()

    def _assert_non_singular(self):
        if all(o.is_square for o in self._operators):
            checks = [o.assert_non_singular() for o in self._operators]
            return named("group")(*[c for c in checks if c is not None])
        return super()._assert_non_singular()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        order = self._operators if adjoint else self._operators[::-1]
        result = order[0].matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for factor in order[1:]:
            result = factor.matmul(result, adjoint=adjoint)
        return result

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        order = self._operators[::-1] if adjoint else self._operators
        result = order[0].solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for factor in order[1:]:
            result = factor.solve(result, adjoint=adjoint)
        return result

    def _determinant(self):
        if not all(o.is_square for o in self._operators):
            return super()._determinant()
        return functools.reduce(python_operator.mul, [o.determinant() for o in self._operators])

    def _log_abs_determinant(self):
        if not all(o.is_square for o in self._operators):
            return super()._log_abs_determinant()
        return _total([o.log_abs_determinant() for o in self._operators])


@export("linalg.LinearOperatorAdjoint")
class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of a linear operator.

    Args:
      operator: The operator.
      is_non_singular: A hint, as the others; see `LinearOperator`. Default: that of `operator`.
      name: A name for the operator; default: that of `operator` with "_adjoint".
    """

    _parts = {"operator": 0}

    def __init__(
        self,
        operator: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operator = operator
        hints = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
            "is_square": is_square,
        }
        for key, hint in hints.items():
            own = getattr(operator, key)
            if own is not None and hint is not None and own != hint:
                raise ValueError(f"The hint {key}={hint} contradicts that of the operator, {own}.")
            hints[key] = own if hint is None else hint
        name = operator.name + "_adjoint" if name is None else name
        super().__init__(operator.dtype, None, name=name, **hints)

    @property
    def operator(self) -> Any:
        """The operator before taking the adjoint."""
        return self._operator

    def _shape(self):
        shape = self._operator.shape
        if shape.rank is None:
            return TensorShape(None)
        sizes = shape.as_list()
        return TensorShape([*sizes[:-2], sizes[-1], sizes[-2]])

    def _shape_tensor(self):
        shape = self._operator.shape_tensor()
        return join_shapes(shape[:-2], [shape[-1], shape[-2]])

    def _linop_adjoint(self):
        return self._operator

    def _assert_non_singular(self):
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self):
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self):
        return self._operator.assert_self_adjoint()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x, adjoint=False):
        return self._operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs, adjoint=False):
        return self._operator.solvevec(rhs, adjoint=not adjoint)

    def _determinant(self):
        return conj(self._operator.determinant())

    def _log_abs_determinant(self):
        return self._operator.log_abs_determinant()

    def _trace(self):
        return conj(self._operator.trace())

    def _to_dense(self):
        return adjoint(self._operator.to_dense())

    def _eigvals(self):
        return conj(self._operator.eigvals())

    def _cond(self):
        return self._operator.cond()


@export("linalg.LinearOperatorInversion")
class LinearOperatorInversion(LinearOperator):
    """The inverse of a linear operator.

    Args:
      operator: The operator.
      is_non_singular: A hint, as the others; see `LinearOperator`. Default: that of `operator`.
      name: A name for the operator; default: that of `operator` with "_inv".
    """

    _parts = {"operator": 0}

    def __init__(
        self,
        operator: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        for key, hint in (("is_non_singular", is_non_singular), ("is_square", is_square)):
            own = getattr(operator, key)
            if own is False or hint is False:
                raise ValueError(
                    f"Argument `{key}` or argument `operator` must have supplied hint `{key}` "
                    f"equal to `True` or `None`. Found `operator.{key}`: {own}, `{key}`: {hint}."
                )
        self._operator = operator
        own_adjoint, own_definite = operator.is_self_adjoint, operator.is_positive_definite
        super().__init__(
            operator.dtype,
            None,
            True,
            own_adjoint if is_self_adjoint is None else is_self_adjoint,
            own_definite if is_positive_definite is None else is_positive_definite,
            True,
            operator.name + "_inv" if name is None else name,
        )

    @property
    def operator(self) -> Any:
        """The operator before inversion."""
        return self._operator

    def _shape(self):
        return self._operator.shape

    def _shape_tensor(self):
        return self._operator.shape_tensor()

    def _linop_inverse(self):
        return self._operator

    def _linop_solve(self, left, right):
        return left.operator.matmul(right)

    def _assert_non_singular(self):
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self):
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self):
        return self._operator.assert_self_adjoint()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self):
        return op("Reciprocal", self._operator.determinant())

    def _log_abs_determinant(self):
        return -self._operator.log_abs_determinant()

    def _eigvals(self):
        return op("Reciprocal", self._operator.eigvals())

    def _cond(self):
        return self._operator.cond()


@export("linalg.LinearOperatorKronecker")
class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of linear operators.

    Args:
      operators: The factors.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator; default: the names of the factors.
    """

    _parts = {"operators": 0}

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        operators = list(operators)
        if not operators:
            raise ValueError(
                f"Argument `operators` must be a list of >=1 operators. Received: {operators}."
            )
        kind = same_dtype(
            operators, "Expected every operation in argument `operators` to have the same dtype. "
            "Received ",
        )  # fmt: skip
        hints = {
            "is_non_singular": is_non_singular,
            "is_self_adjoint": is_self_adjoint,
            "is_positive_definite": is_positive_definite,
        }
        for key, hint in hints.items():
            if all(getattr(o, key) for o in operators):
                if hint is False:
                    word = key[3:].replace("_", "-")
                    raise ValueError(
                        f"The Kronecker product of {word} operators is always {word}. Expected "
                        f"argument `{key}` to be True. Received: {hint}."
                    )
                hints[key] = True
        self._operators = operators
        name = "_x_".join(o.name for o in operators) if name is None else name
        super().__init__(kind, None, is_square=is_square, name=name, **hints)

    @property
    def operators(self) -> list[Any]:
        """The factors."""
        return self._operators

    def _sizes(self, kind):
        values = [getattr(o, kind).value for o in self._operators]
        return None if None in values else functools.reduce(python_operator.mul, values)

    def _shape(self):
        sizes = [self._sizes("range_dimension"), self._sizes("domain_dimension")]
        return merge_batch(*self._operators).concatenate(sizes)

    def _shape_tensor(self):
        rows = functools.reduce(
            python_operator.mul, [o.range_dimension_tensor() for o in self._operators]
        )
        columns = functools.reduce(
            python_operator.mul, [o.domain_dimension_tensor() for o in self._operators]
        )
        return join_shapes(merge_batch_tensor(*self._operators), [rows, columns])

    def _each(self, method):
        return LinearOperatorKronecker([getattr(o, method)() for o in self._operators])

    def _linop_adjoint(self):
        return self._each("adjoint")

    def _linop_cholesky(self):
        return self._each("cholesky")

    def _linop_inverse(self):
        return self._each("inverse")

    def _to_dense(self):
        dense = self._operators[0].to_dense()
        for factor in self._operators[1:]:
            right = factor.to_dense()
            left = op("ExpandDims", op("ExpandDims", dense, -1), -3)
            product = left * op("ExpandDims", op("ExpandDims", right, -2), -4)
            shape = shape_of(product)
            sizes = [shape[-4] * shape[-3], shape[-2] * shape[-1]]
            dense = op("Reshape", product, join_shapes(shape[:-4], sizes))
        return dense

    def _apply(self, x, method, adjoint, adjoint_arg):
        """Applies each factor to its own axis of x, [..., n1 * n2 * ..., k]."""
        x = _adjoint_if(x, adjoint_arg)
        if x.shape.rank is None or self.shape.rank is None:
            dense = self._to_dense()
            return (
                multiply(dense, x, adjoint)
                if method == "matmul"
                else solve_broadcast(dense, x, adjoint)
            )
        front = max(x.shape.rank, self.shape.rank) - 2
        order = [*range(front), front + 1, front, front + 2]
        batch = named("broadcast_dynamic_shape")(self.batch_shape_tensor(), shape_of(x)[:-2])
        x = op("BroadcastTo", x, join_shapes(batch, shape_of(x)[-2:]))
        sides = shape_of(x)[-1:]
        for factor in self._operators:
            # The axis of the factor comes first, and moves behind the others.
            takes_rows = (method == "solve") != adjoint
            size = (
                factor.range_dimension_tensor() if takes_rows else factor.domain_dimension_tensor()
            )
            x = op("Reshape", x, join_shapes(batch, [size], [-1]))
            x = getattr(factor, method)(x, adjoint=adjoint)
            rows = shape_of(x)[-2:-1]
            x = op("Reshape", x, join_shapes(batch, rows, [-1], sides))
            x = op("Transpose", x, order)
            x = op("Reshape", x, join_shapes(batch, [-1], sides))
        return x

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._apply(x, "matmul", adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._apply(rhs, "solve", adjoint, adjoint_arg)

    def _powers(self):
        """Returns how often the determinant of each factor is multiplied."""
        total = self.domain_dimension_tensor()
        return [
            cast(op("FloorDiv", total, o.domain_dimension_tensor()), self.dtype)
            for o in self._operators
        ]

    def _square_factors(self):
        return all(o.is_square for o in self._operators)

    def _determinant(self):
        if not self._square_factors():
            return super()._determinant()
        terms = [op("Pow", o.determinant(), p) for o, p in zip(self._operators, self._powers())]
        return functools.reduce(python_operator.mul, terms)

    def _log_abs_determinant(self):
        if not self._square_factors():
            return super()._log_abs_determinant()
        return _total(
            [o.log_abs_determinant() * p for o, p in zip(self._operators, self._powers())]
        )

    def _trace(self):
        if not self._square_factors():
            return super()._trace()
        return functools.reduce(python_operator.mul, [o.trace() for o in self._operators])

    def _outer(self, vectors):
        result = vectors[0]
        for vector in vectors[1:]:
            product = op("ExpandDims", result, -1) * op("ExpandDims", vector, -2)
            result = op("Reshape", product, join_shapes(shape_of(product)[:-2], [-1]))
        return result

    def _diag_part(self):
        if not self._square_factors():
            return super()._diag_part()
        return self._outer([o.diag_part() for o in self._operators])

    def _eigvals(self):
        return self._outer([o.eigvals() for o in self._operators])

    def _checked(self, method):
        if not self._square_factors():
            raise invalid(
                "All Kronecker factors must be square for the product to be invertible. Expected "
                "hint `is_square` to be True for every operator in argument `operators`."
            )
        checks = [getattr(o, method)() for o in self._operators]
        return named("group")(*[c for c in checks if c is not None])

    def _assert_non_singular(self):
        return self._checked("assert_non_singular")

    def _assert_self_adjoint(self):
        return self._checked("assert_self_adjoint")


@export("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(LinearOperator):
    """A linear operator plus a product of low rank: L + U D V^H.

    Args:
      base_operator: The operator L.
      u: A tensor of shape [..., m, k].
      diag_update: The diagonal of D, a tensor of shape [..., k]; default: ones.
      v: A tensor of shape [..., n, k]; default `u`.
      is_diag_update_positive: Whether `diag_update` is expected to be positive.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator.
    """

    _parts = {"base_operator": 0, "u": 2, "diag_update": 1, "v": 2}

    def __init__(
        self,
        base_operator: Any,
        u: TensorLike,
        diag_update: TensorLike | None = None,
        v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        kind = base_operator.dtype
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError(
                    "Default diagonal is the identity, which is positive.  However, user set "
                    "'is_diag_update_positive' to False."
                )
            is_diag_update_positive = True
        self._base, self._is_diag_update_positive = base_operator, is_diag_update_positive
        self._u = keep(u, kind)
        self._v = self._u if v is None else keep(v, kind)
        self._diag_update = None if diag_update is None else keep(diag_update, kind)
        self._symmetric = v is None
        if v is None and base_operator.is_self_adjoint and self._real_diagonal():
            if is_self_adjoint is False:
                raise ValueError(
                    "A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is "
                    "self-adjoint, this must be a self-adjoint operator."
                )
            is_self_adjoint = True
        definite = v is None and is_diag_update_positive and base_operator.is_positive_definite
        if definite and base_operator.is_self_adjoint:
            if is_positive_definite is False or is_self_adjoint is False:
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            is_positive_definite = is_self_adjoint = True
        super().__init__(
            kind, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
        )  # fmt: skip

    def _real_diagonal(self):
        return self._diag_update is None or not self._diag_update.dtype.is_complex

    @property
    def u(self) -> Any:
        """The left factor U."""
        return self._u

    @property
    def v(self) -> Any:
        """The right factor V."""
        return self._v

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether the diagonal of D is expected to be positive."""
        return self._is_diag_update_positive

    @property
    def diag_update(self) -> Any:
        """The diagonal of D, or None."""
        return self._diag_update

    @property
    def diag_operator(self) -> Any:
        """D as an operator."""
        if self._diag_update is None:
            size = shape_of(self._u)[-1]
            return named("linalg.LinearOperatorIdentity")(size, dtype=self.dtype)
        return named("linalg.LinearOperatorDiag")(
            self._diag_update, is_positive_definite=self._is_diag_update_positive
        )

    @property
    def base_operator(self) -> Any:
        """The operator L."""
        return self._base

    def _shape(self):
        batch = named("broadcast_static_shape")(self._base.batch_shape, self._u.shape[:-2])
        batch = named("broadcast_static_shape")(batch, self._v.shape[:-2])
        return batch.concatenate(self._base.shape[-2:])

    def _shape_tensor(self):
        broadcast = named("broadcast_dynamic_shape")
        batch = broadcast(self._base.batch_shape_tensor(), shape_of(self._u)[:-2])
        batch = broadcast(batch, shape_of(self._v)[:-2])
        return join_shapes(batch, self._base.shape_tensor()[-2:])

    def _scaled(self, x, adjoint=False):
        """D x or D^H x."""
        if self._diag_update is None:
            return x
        diagonal = conj(self._diag_update) if adjoint else self._diag_update
        return op("ExpandDims", diagonal, -1) * x

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        base = self._base.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = self._scaled(multiply(right, x, True, adjoint_arg), adjoint)
        return base + multiply(left, inner)

    def _to_dense(self):
        update = multiply(self._u, self._scaled(adjoint(self._v)))
        return self._base.to_dense() + update

    def _diag_part(self):
        update = self._u * conj(self._v)
        if self._diag_update is not None:
            update = update * op("ExpandDims", self._diag_update, -2)
        return self._base.diag_part() + op("Sum", update, [-1])

    def _capacitance(self):
        """D^-1 + V^H L^-1 U."""
        inner = multiply(self._v, self._base.solve(self._u), True)
        if self._diag_update is None:
            diagonal = op("OnesLike", op("MatrixDiagPart", inner))
        else:
            diagonal = op("Reciprocal", self._diag_update)
        return inner + op("MatrixDiag", diagonal)

    def _determinant(self):
        result = op("MatrixDeterminant", self._capacitance()) * self._base.determinant()
        if self._diag_update is not None:
            result = result * product(self._diag_update)
        return result

    def _log_abs_determinant(self):
        result = op("LogMatrixDeterminant", self._capacitance())[1]
        result = result + self._base.log_abs_determinant()
        if self._diag_update is not None:
            result = result + self.diag_operator.log_abs_determinant()
        return result

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        if self._base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular "
                "LinearOperator."
            )
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        first = self._base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = multiply(right, first, True)
        solved = solve_broadcast(self._capacitance(), inner, adjoint)
        return first - self._base.solve(multiply(left, solved), adjoint=adjoint)
