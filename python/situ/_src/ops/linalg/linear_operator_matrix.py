# SPDX-License-Identifier: Apache-2.0
"""linear_operator_matrix.py: linear operators that are given by the elements of a matrix: dense,
lower triangular, diagonal, tridiagonal, Householder reflections and permutations."""

from __future__ import annotations

import numpy

from situ._src.framework.api import export, named
from situ._src.framework.dtypes import as_dtype
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.linalg.linear_operator import (
    LinearOperator,
    broadcast_batches,
    check,
    conj,
    invalid,
    join_shapes,
    keep,
    multiply,
    no_assertion,
    product,
    real,
    shape_of,
    static,
)
from situ._src.ops.linalg.matrix_functions import join_diagonals, last_sizes, stack_diagonals

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, TensorLike

_TYPES = ("float16", "float32", "float64", "complex64", "complex128")


def _adjoint_if(x, condition):
    return named("linalg.adjoint")(x) if condition else x


def _scale_rows(factors, x):
    return op("ExpandDims", factors, -1) * x


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(LinearOperator):
    """A linear operator that is given by dense matrices.

    Args:
      matrix: A tensor of shape [..., m, n].
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator.
    """

    _parts = {"matrix": 2}

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = keep(matrix)
        if self._matrix.dtype.name not in _TYPES:
            allowed = [as_dtype(kind) for kind in _TYPES]
            raise TypeError(
                f"Argument `matrix` must have dtype in {allowed}. Received: {self._matrix.dtype}."
            )
        if self._matrix.shape.rank is not None and self._matrix.shape.rank < 2:
            raise ValueError(
                f"Argument `matrix` must have at least 2 dimensions. Received: {self._matrix}."
            )
        super().__init__(
            self._matrix.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip

    @property
    def matrix(self) -> Any:
        """The matrices."""
        return self._matrix

    def _shape(self):
        return self._matrix.shape

    def _shape_tensor(self):
        return shape_of(self._matrix)

    def _to_dense(self):
        return self._matrix


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperator):
    """A linear operator that is given by the lower triangles of matrices.

    Args:
      tril: A tensor of shape [..., n, n]; elements above the diagonal are ignored.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator.
    """

    _parts = {"tril": 2}

    def __init__(
        self,
        tril: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        self._tril = keep(tril)
        if self._tril.shape.rank is not None and self._tril.shape.rank < 2:
            raise ValueError(f"Argument tril must have at least 2 dimensions.  Found: {self._tril}")
        super().__init__(
            self._tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True,
            name,
        )  # fmt: skip

    @property
    def tril(self) -> Any:
        """The tensor that the operator was created with."""
        return self._tril

    def _shape(self):
        return self._tril.shape

    def _shape_tensor(self):
        return shape_of(self._tril)

    def _to_dense(self):
        return op("MatrixBandPart", self._tril, -1, 0)

    def _diag_part(self):
        return op("MatrixDiagPart", self._tril)

    def _assert_non_singular(self):
        size = named("math.abs")(self._diag_part())
        return check(
            "assert_positive", size, message="Singular operator:  Diagonal contained zero values."
        )

    def _linop_matmul(self, left, right):
        if isinstance(right, LinearOperatorLowerTriangular):
            return LinearOperatorLowerTriangular(
                multiply(left.to_dense(), right.to_dense()),
                is_non_singular=self._combined(left, right)["is_non_singular"],
                is_square=True,
            )
        return super()._linop_matmul(left, right)

    def _determinant(self):
        return product(self._diag_part())

    def _log_abs_determinant(self):
        logs = op("Log", named("math.abs")(self._diag_part()))
        return cast(op("Sum", logs, [-1]), self.dtype)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        rhs = _adjoint_if(rhs, adjoint_arg)
        return op("MatrixTriangularSolve", self._tril, rhs, lower=True, adjoint=adjoint)

    _eigvals = _diag_part


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperator):
    """A linear operator that is given by diagonals.

    Args:
      diag: A tensor of shape [..., n].
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator.
    """

    _parts = {"diag": 1}

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diag = keep(diag)
        if self._diag.shape.rank == 0:
            raise ValueError(f"Argument diag must have at least 1 dimension.  Found: {self._diag}")
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        super().__init__(
            self._diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True,
            name,
        )  # fmt: skip

    @property
    def diag(self) -> Any:
        """The diagonals."""
        return self._diag

    def _shape(self):
        return self._diag.shape.concatenate(self._diag.shape[-1:])

    def _shape_tensor(self):
        shape = shape_of(self._diag)
        return join_shapes(shape, shape[-1:])

    def _linop_adjoint(self):
        return LinearOperatorDiag(
            conj(self._diag), self.is_non_singular, self.is_self_adjoint, self.is_positive_definite
        )

    def _linop_cholesky(self):
        return LinearOperatorDiag(
            op("Sqrt", self._diag), is_self_adjoint=True, is_non_singular=True
        )

    def _linop_inverse(self):
        return LinearOperatorDiag(
            op("Reciprocal", self._diag),
            self.is_non_singular,
            self.is_self_adjoint,
            self.is_positive_definite,
        )

    def _scaled_by(self, other):
        multiplier = op("ExpandDims", other.multiplier, -1)
        hint = self._combined(self, other)["is_non_singular"]
        return LinearOperatorDiag(self._diag * multiplier, hint)

    def _linop_matmul(self, left, right):
        if isinstance(right, LinearOperatorDiag):
            hint = self._combined(left, right)["is_non_singular"]
            return LinearOperatorDiag(left.diag * right.diag, hint)
        if isinstance(right, named("linalg.LinearOperatorScaledIdentity")):
            return self._scaled_by(right)
        if isinstance(right, LinearOperatorLowerTriangular):
            hint = self._combined(left, right)["is_non_singular"]
            return LinearOperatorLowerTriangular(_scale_rows(left.diag, right.to_dense()), hint)
        return super()._linop_matmul(left, right)

    def _linop_solve(self, left, right):
        if isinstance(right, LinearOperatorDiag):
            return LinearOperatorDiag(right.diag / left.diag)
        return super()._linop_solve(left, right)

    def _assert_non_singular(self):
        return check(
            "assert_positive",
            named("math.abs")(self._diag),
            message="Singular operator:  Diagonal contained zero values.",
        )

    def _assert_positive_definite(self):
        text = "Operator is not positive definite"
        return check("assert_positive", real(self._diag), message=text)

    def _assert_self_adjoint(self):
        imaginary = named("math.imag")(self._diag)
        return check(
            "assert_equal",
            imaginary,
            op("ZerosLike", imaginary),
            message="This diagonal operator contained non-zero imaginary values.  "
            "Thus it was not self-adjoint.",
        )

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        factors = conj(self._diag) if adjoint else self._diag
        return _scale_rows(factors, _adjoint_if(x, adjoint_arg))

    def _matvec(self, x, adjoint=False):
        return (conj(self._diag) if adjoint else self._diag) * x

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        factors = conj(self._diag) if adjoint else self._diag
        return _adjoint_if(rhs, adjoint_arg) / op("ExpandDims", factors, -1)

    def _determinant(self):
        return product(self._diag)

    def _log_abs_determinant(self):
        logs = op("Log", named("math.abs")(self._diag))
        return cast(op("Sum", logs, [-1]), self.dtype)

    def _to_dense(self):
        return op("MatrixDiag", self._diag)

    def _diag_part(self):
        return self._diag

    def _add_to_tensor(self, x):
        x, dense = broadcast_batches(x, self._to_dense())
        return x + dense

    def _eigvals(self):
        return self._diag

    def _cond(self):
        size = named("math.abs")(self._diag)
        return op("Max", size, [-1]) / op("Min", size, [-1])


@export("linalg.LinearOperatorTridiag")
class LinearOperatorTridiag(LinearOperator):
    """A linear operator that is given by three diagonals.

    Args:
      diagonals: The diagonals, as in `tf.linalg.tridiagonal_solve`.
      diagonals_format: "compact", "sequence" or "matrix".
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator.
    """

    _parts = {"diagonals": 2}

    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = "compact",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        if diagonals_format == "sequence":
            self._diagonals: Any = [convert_to_tensor(d) for d in diagonals]
            kind = self._diagonals[0].dtype
        elif diagonals_format in ("compact", "matrix"):
            self._diagonals = keep(diagonals)
            kind = self._diagonals.dtype
        else:
            raise ValueError(
                "Argument `diagonals_format` must be one of compact, matrix, or sequence. "
                f"Received : {diagonals_format}."
            )
        super().__init__(
            kind, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
        )  # fmt: skip
        self._diagonals_format = diagonals_format

    def _part_depths(self):
        return {"diagonals": 1 if self._diagonals_format == "sequence" else 2}

    @property
    def diagonals(self) -> Any:
        """The diagonals that the operator was created with."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """The format of the diagonals."""
        return self._diagonals_format

    def _shape(self):
        if self._diagonals_format == "matrix":
            return self._diagonals.shape
        if self._diagonals_format == "sequence":
            shape = self._diagonals[1].shape
            return shape.concatenate(last_sizes(shape, 1))
        shape = self._diagonals.shape
        return shape[:-2].concatenate(last_sizes(shape, 1) * 2)

    def _shape_tensor(self):
        if self._diagonals_format == "matrix":
            return shape_of(self._diagonals)
        compact = self._diagonals_format == "compact"
        shape = shape_of(self._diagonals if compact else self._diagonals[1])
        return join_shapes(shape[:-2] if compact else shape[:-1], shape[-1:], shape[-1:])

    def _compact(self, adjoint=False):
        diagonals = stack_diagonals(self._diagonals, self._diagonals_format)
        if not adjoint:
            return diagonals
        diagonals = conj(diagonals)
        above, middle, below = (diagonals[..., i, :] for i in range(3))
        zero = op("ZerosLike", middle[..., :1])
        above, below = (
            op("ConcatV2", [below[..., 1:], zero], -1),
            op("ConcatV2", [zero, above[..., :-1]], -1),
        )
        return join_diagonals(above, middle, below)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        diagonals = self._compact(adjoint)
        diagonals, x = broadcast_batches(diagonals, _adjoint_if(x, adjoint_arg))
        return named("linalg.tridiagonal_matmul")(diagonals, x)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        diagonals, rhs = broadcast_batches(self._compact(adjoint), _adjoint_if(rhs, adjoint_arg))
        return op("TridiagonalSolve", diagonals, rhs)

    def _diag_part(self):
        return self._compact()[..., 1, :]

    def _to_dense(self):
        return named("linalg.diag")(self._compact(), k=(-1, 1), align="LEFT_RIGHT")


@export("linalg.LinearOperatorHouseholder")
class LinearOperatorHouseholder(LinearOperator):
    """Householder reflections I - 2 v v^H / |v|^2 as a linear operator.

    Args:
      reflection_axis: The vectors v, a tensor of shape [..., n].
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator.
    """

    _parts = {"reflection_axis": 1}

    def __init__(
        self,
        reflection_axis: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        self._axis = keep(reflection_axis)
        if self._axis.shape.rank == 0:
            raise ValueError(
                f"Argument reflection_axis must have at least 1 dimension.  Found: {self._axis}"
            )
        if is_self_adjoint is False:
            raise ValueError("A Householder operator is always self adjoint.")
        if is_positive_definite is True:
            raise ValueError("A Householder operator is always non-positive definite.")
        if is_square is False:
            raise ValueError("A Householder operator is always square.")
        super().__init__(self._axis.dtype, None, is_non_singular, True, False, True, name)

    @property
    def reflection_axis(self) -> Any:
        """The vectors of the reflections."""
        return self._axis

    def _shape(self):
        return self._axis.shape.concatenate(self._axis.shape[-1:])

    def _shape_tensor(self):
        shape = shape_of(self._axis)
        return join_shapes(shape, shape[-1:])

    def _unit(self):
        size = op("Sqrt", op("Sum", self._axis * conj(self._axis), [-1], keep_dims=True))
        return self._axis / size

    def _assert_non_singular(self):
        return no_assertion("assert_non_singular")

    def _assert_positive_definite(self):
        raise invalid("Householder operators are always non-positive definite.")

    def _assert_self_adjoint(self):
        return no_assertion("assert_self_adjoint")

    def _linop_adjoint(self):
        return self

    def _linop_inverse(self):
        return self

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        del adjoint  # reflections are self-adjoint
        x = _adjoint_if(x, adjoint_arg)
        unit = op("ExpandDims", self._unit(), -1)
        return x - constant(2, self.dtype) * multiply(unit, multiply(unit, x, True))

    _solve = _matmul

    def _to_dense(self):
        unit = op("ExpandDims", self._unit(), -1)
        ones = op("OnesLike", self._axis)
        outer = multiply(unit, unit, False, True)
        return op("MatrixDiag", ones) - constant(2, self.dtype) * outer

    def _diag_part(self):
        unit = self._unit()
        return constant(1, self.dtype) - constant(2, self.dtype) * unit * conj(unit)

    def _trace(self):
        size = cast(self.domain_dimension_tensor(), self.dtype)
        return op("Fill", self.batch_shape_tensor(), size - constant(2, self.dtype))

    def _determinant(self):
        return op("Fill", self.batch_shape_tensor(), constant(-1, self.dtype))

    def _log_abs_determinant(self):
        return op("Fill", self.batch_shape_tensor(), constant(0, self.dtype))

    def _eigvals(self):
        ones = op("OnesLike", self._axis)
        return op("ConcatV2", [-ones[..., :1], ones[..., 1:]], -1)

    def _cond(self):
        return op("Fill", self.batch_shape_tensor(), constant(1, self.dtype))


@export("linalg.LinearOperatorPermutation")
class LinearOperatorPermutation(LinearOperator):
    """Permutations as a linear operator: row i of the product is row perm[i] of the argument.

    Args:
      perm: A tensor of integers of shape [..., n].
      dtype: The type of the elements of matrices.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      name: A name for the operator.
    """

    _parts = {"perm": 1}

    def __init__(
        self,
        perm: TensorLike,
        dtype: DTypeLike = "float32",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        if is_non_singular is False:
            raise ValueError(
                "A Permutation operator is always non-singular. Expected argument "
                f"`is_non_singular` to be True. Received: {is_non_singular}."
            )
        if is_square is False:
            raise ValueError(
                "A Permutation operator is always square. Expected argument `is_square` to be "
                f"True. Received: {is_square}."
            )
        self._perm = convert_to_tensor(perm)
        self._check_perm()
        super().__init__(dtype, None, True, is_self_adjoint, is_positive_definite, True, name)

    def _check_perm(self):
        perm = self._perm
        if perm.shape.rank == 0:
            raise ValueError(f"Argument `perm` must have at least 1 dimension. Received: {perm}.")
        if not perm.dtype.is_integer:
            raise TypeError(f"Argument `perm` must be integer dtype. Received: {perm}.")
        known = static(perm)
        if known is None:
            return
        if not numpy.all(numpy.sort(known, axis=-1) == numpy.arange(known.shape[-1])):
            raise ValueError(
                "Argument `perm` must be a vector of unique integers from 0 to "
                f"{known.shape[-1] - 1}."
            )

    @property
    def perm(self) -> Any:
        """The permutations."""
        return self._perm

    def _shape(self):
        return self._perm.shape.concatenate(self._perm.shape[-1:])

    def _shape_tensor(self):
        shape = shape_of(self._perm)
        return join_shapes(shape, shape[-1:])

    def _assert_non_singular(self):
        return no_assertion("assert_non_singular")

    def _to_dense(self):
        return op(
            "OneHot",
            self._perm,
            self.domain_dimension_tensor(),
            constant(1, self.dtype),
            constant(0, self.dtype),
        )

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return multiply(self._to_dense(), x, adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, not adjoint, adjoint_arg)

    def _log_abs_determinant(self):
        return op("Fill", self.batch_shape_tensor(), constant(0, self.dtype))

    def _cond(self):
        return op("Fill", self.batch_shape_tensor(), constant(1, self.dtype))
