# SPDX-License-Identifier: Apache-2.0
"""linear_operator_identity.py: the identity, its multiples, and zeros as linear operators."""

from __future__ import annotations

from situ._src.framework.api import export, named
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.tensor_shape import TensorShape
from situ._src.ops.array_ops import constant, convert_to_tensor, op
from situ._src.ops.linalg.linear_operator import (
    LinearOperator,
    check,
    conj,
    invalid,
    join_shapes,
    keep,
    no_assertion,
    product,
    shape_of,
    static,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, TensorLike


def _size(value, name):
    """Converts and checks a number of rows or columns; returns it as a tensor and statically."""
    tensor = convert_to_tensor(value)
    if not tensor.dtype.is_integer:
        raise TypeError(f"Argument {name} must be integer type.  Found: {tensor}")
    known = static(tensor)
    if known is None:
        return tensor, None
    if known.ndim != 0:
        raise ValueError(f"Argument {name} must be a 0-D Tensor.  Found: {known}")
    if known < 0:
        raise ValueError(f"Argument {name} must be non-negative.  Found: {known}")
    return tensor, int(known)


def _batch(value):
    """Converts and checks a shape of a batch; returns it as a tensor and statically."""
    if value is None:
        return constant([], "int32"), []
    if isinstance(value, TensorShape):
        value = value.as_list()
    is_empty = isinstance(value, (list, tuple)) and not value
    tensor = convert_to_tensor(value, as_dtype("int32")) if is_empty else None
    tensor = convert_to_tensor(value) if tensor is None else tensor
    if not tensor.dtype.is_integer:
        raise TypeError(f"Argument batch_shape must be integer type.  Found: {tensor}")
    known = static(tensor)
    if known is None:
        return tensor, None
    if known.ndim != 1:
        raise ValueError(f"Argument batch_shape must be a 1-D Tensor.  Found: {known}")
    if (known < 0).any():
        raise ValueError(f"Argument batch_shape must be non-negative.  Found:{known}")
    return tensor, [int(size) for size in known]


class _Sized(LinearOperator):
    """An operator that is given by sizes: of rows, columns and batch."""

    _columns_tensor: Any
    _rows_tensor: Any

    def _set_sizes(self, num_rows, num_columns, batch_shape):
        self._rows_tensor, self._rows = _size(num_rows, "num_rows")
        if num_columns is None:
            self._columns_tensor, self._columns = self._rows_tensor, self._rows
        else:
            self._columns_tensor, self._columns = _size(num_columns, "num_columns")
        self._batch_tensor, self._batch = _batch(batch_shape)

    def _shape(self):
        if self._batch is None:
            return TensorShape(None)
        return TensorShape([*self._batch, self._rows, self._columns])

    def _shape_tensor(self):
        return join_shapes(self._batch_tensor, [self._rows_tensor, self._columns_tensor])

    def _broadcast(self, x):
        """Broadcasts a tensor of matrices to the batch of this operator."""
        if self._batch == []:
            return x
        batch = named("broadcast_dynamic_shape")(self.batch_shape_tensor(), shape_of(x)[:-2])
        result = op("BroadcastTo", x, join_shapes(batch, shape_of(x)[-2:]))
        shape = TensorShape(x.shape)
        if shape.ndims is not None and hasattr(result, "set_shape"):
            batch_shape = named("broadcast_static_shape")(self.batch_shape, shape[:-2])
            result.set_shape(batch_shape + shape[-2:])
        return result

    def _filled(self, value, dimensions):
        shape = self.batch_shape_tensor()
        if dimensions:
            least = op("Minimum", self.range_dimension_tensor(), self.domain_dimension_tensor())
            shape = join_shapes(shape, [least])
        return op("Fill", shape, constant(value, self.dtype))


@export("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(_Sized):
    """The identity as a linear operator.

    Args:
      num_rows: The number of rows.
      batch_shape: The shape of the batch; default: none.
      dtype: The type of the elements; default float32.
      is_non_singular: Must not be False, as the other hints.
      assert_proper_shapes: Accepted for compatibility: shapes are always checked.
      name: A name for the operator.
    """

    _size_parts = ("num_rows", "batch_shape")

    def __init__(
        self,
        num_rows: TensorLike,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool = True,
        is_self_adjoint: bool = True,
        is_positive_definite: bool = True,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        del assert_proper_shapes  # shapes are always checked
        hints = {
            "self adjoint": is_self_adjoint,
            "non-singular": is_non_singular,
            "positive-definite": is_positive_definite,
            "square": is_square,
        }
        for word, hint in hints.items():
            if not hint:
                raise ValueError(f"An identity operator is always {word}.")
        super().__init__(dtype or "float32", None, True, True, True, True, name=name)
        self._set_sizes(num_rows, None, batch_shape)

    def _linop_adjoint(self):
        return self

    def _linop_cholesky(self):
        return LinearOperatorIdentity(
            self._rows_tensor if self._rows is None else self._rows,
            self._batch_tensor if self._batch is None else self._batch,
            self.dtype,
        )

    def _linop_inverse(self):
        return self

    def _linop_matmul(self, left, right):
        del left  # the identity
        return right

    def _linop_solve(self, left, right):
        del left  # the identity
        return right

    def _assert_non_singular(self):
        return no_assertion("assert_non_singular")

    def _assert_positive_definite(self):
        return no_assertion("assert_positive_definite")

    def _assert_self_adjoint(self):
        return no_assertion("assert_self_adjoint")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        del adjoint  # the identity is self-adjoint
        return self._broadcast(named("linalg.adjoint")(x) if adjoint_arg else x)

    _solve = _matmul

    def _to_dense(self):
        return op("MatrixDiag", self._diag_part())

    def _diag_part(self):
        return self._filled(1, True)

    def _determinant(self):
        return self._filled(1, False)

    def _log_abs_determinant(self):
        return self._filled(0, False)

    def _eigvals(self):
        return self._filled(1, True)

    def _cond(self):
        return self._filled(1, False)

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Any:
        """Adds the matrices to a tensor of matrices."""
        with self._scope(name):
            mat = self._broadcast(self._tensor(mat, -1, -1))
            diagonal = op("MatrixDiagPart", mat) + constant(1, self.dtype)
            return op("MatrixSetDiag", mat, diagonal)


@export("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(LinearOperator):
    """Multiples of the identity as a linear operator.

    Args:
      num_rows: The number of rows.
      multiplier: A tensor with the shape of the batch.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      assert_proper_shapes: Accepted for compatibility: shapes are always checked.
      name: A name for the operator.
    """

    _parts = {"multiplier": 0}
    _size_parts = ("num_rows",)

    def __init__(
        self,
        num_rows: TensorLike,
        multiplier: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        del assert_proper_shapes  # shapes are always checked
        self._multiplier = keep(multiplier)
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        super().__init__(
            self._multiplier.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip
        self._rows_tensor, self._rows = _size(num_rows, "num_rows")

    @property
    def multiplier(self) -> Any:
        """The multiples."""
        return self._multiplier

    def _shape(self):
        return self.multiplier.shape.concatenate([self._rows, self._rows])

    def _shape_tensor(self):
        return join_shapes(shape_of(self.multiplier), [self._rows_tensor, self._rows_tensor])

    def _scaled(self, multiplier, non_singular=None, definite=None):
        size = self._rows_tensor if self._rows is None else self._rows
        return LinearOperatorScaledIdentity(
            size, multiplier, non_singular, self.is_self_adjoint, definite
        )

    def _linop_adjoint(self):
        return self._scaled(conj(self.multiplier), self.is_non_singular, self.is_positive_definite)

    def _linop_cholesky(self):
        return self._scaled(op("Sqrt", self.multiplier), True, None)

    def _linop_inverse(self):
        return self._scaled(
            op("Reciprocal", self.multiplier), self.is_non_singular, self.is_positive_definite
        )

    def _linop_matmul(self, left, right):
        if isinstance(right, LinearOperatorScaledIdentity):
            hints = self._combined(left, right)
            return self._scaled(left.multiplier * right.multiplier, hints["is_non_singular"])
        if isinstance(right, named("linalg.LinearOperatorDiag")):
            return right._scaled_by(self)
        return super()._linop_matmul(left, right)

    def _linop_solve(self, left, right):
        if isinstance(right, LinearOperatorScaledIdentity):
            return self._scaled(right.multiplier / left.multiplier, self.is_non_singular)
        return super()._linop_solve(left, right)

    def _matrix_multiplier(self, adjoint=False):
        value = conj(self.multiplier) if adjoint else self.multiplier
        return op("ExpandDims", op("ExpandDims", value, -1), -1)

    def _assert_non_singular(self):
        return check(
            "assert_positive",
            named("math.abs")(self.multiplier),
            message="LinearOperator was singular",
        )

    def _assert_positive_definite(self):
        return check(
            "assert_positive",
            named("math.real")(self.multiplier),
            message="LinearOperator was not positive definite.",
        )

    def _assert_self_adjoint(self):
        imaginary = named("math.imag")(self.multiplier)
        return check(
            "assert_equal",
            imaginary,
            op("ZerosLike", imaginary),
            message="LinearOperator was not self-adjoint",
        )

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = named("linalg.adjoint")(x) if adjoint_arg else x
        return x * self._matrix_multiplier(adjoint)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        rhs = named("linalg.adjoint")(rhs) if adjoint_arg else rhs
        return rhs / self._matrix_multiplier(adjoint)

    def _to_dense(self):
        return op("MatrixDiag", self._diag_part())

    def _diag_part(self):
        ones = op(
            "Fill", op("Reshape", self.range_dimension_tensor(), [1]), constant(1, self.dtype)
        )
        return op("ExpandDims", self.multiplier, -1) * ones

    def _determinant(self):
        return product(self._diag_part())

    def _log_abs_determinant(self):
        logs = op("Log", named("math.abs")(self._diag_part()))
        return named("cast")(op("Sum", logs, [-1]), self.dtype)

    _eigvals = _diag_part

    def _cond(self):
        return op("OnesLike", self.multiplier)

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Any:
        """Adds the matrices to a tensor of matrices."""
        with self._scope(name):
            return self._to_dense() + self._tensor(mat, -1, -1)


@export("linalg.LinearOperatorZeros")
class LinearOperatorZeros(_Sized):
    """Zeros as a linear operator.

    Args:
      num_rows: The number of rows.
      num_columns: The number of columns; default: that of rows.
      batch_shape: The shape of the batch; default: none.
      dtype: The type of the elements; default float32.
      is_non_singular: A hint, as the others; see `LinearOperator`.
      assert_proper_shapes: Accepted for compatibility: shapes are always checked.
      name: A name for the operator.
    """

    _size_parts = ("num_rows", "num_columns", "batch_shape")

    def __init__(
        self,
        num_rows: TensorLike,
        num_columns: TensorLike | None = None,
        batch_shape: Any = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool = False,
        is_self_adjoint: bool = True,
        is_positive_definite: bool = False,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        del assert_proper_shapes  # shapes are always checked
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        super().__init__(dtype or "float32", None, False, is_self_adjoint, False, is_square, name)
        self._set_sizes(num_rows, num_columns, batch_shape)
        if is_square and None not in (self._rows, self._columns) and self._rows != self._columns:
            raise ValueError(
                f"LinearOperatorZeros initialized as is_square=True, but got "
                f"num_rows({self._rows}) != num_columns({self._columns})"
            )

    def _assert_non_singular(self):
        raise invalid("Zero operators are always non-invertible.")

    def _assert_positive_definite(self):
        raise invalid("Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self):
        return no_assertion("assert_self_adjoint")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = named("linalg.adjoint")(x) if adjoint_arg else x
        rows = self.domain_dimension_tensor() if adjoint else self.range_dimension_tensor()
        batch = named("broadcast_dynamic_shape")(self.batch_shape_tensor(), shape_of(x)[:-2])
        zeros = op("Fill", join_shapes(batch, [rows], shape_of(x)[-1:]), constant(0, self.dtype))
        if hasattr(zeros, "graph") and x.shape.rank is not None and self.shape.rank is not None:
            known = named("broadcast_static_shape")(self.batch_shape, x.shape[:-2]).as_list()
            size = self.shape.as_list()[-1 if adjoint else -2]
            zeros.set_shape([*known, size, x.shape.as_list()[-1]])
        return zeros

    def _linop_matmul(self, left, right):
        if not left.is_square or not right.is_square:
            raise ValueError(
                "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not "
                "supported at this time."
            )
        return left

    def _to_dense(self):
        return op("Fill", self._shape_tensor(), constant(0, self.dtype))

    def _determinant(self):
        return self._filled(0, False)

    _trace = _determinant

    def _diag_part(self):
        return self._filled(0, True)

    _eigvals = _diag_part

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Any:
        """Returns a tensor of matrices, to which zeros are added."""
        with self._scope(name):
            return self._broadcast(self._tensor(mat, -1, -1))
