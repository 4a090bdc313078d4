# SPDX-License-Identifier: Apache-2.0
"""linear_operator.py: tf.linalg.LinearOperator, the base class of linear operators.

A subclass defines `_shape`, `_shape_tensor` and `_matmul` or `_to_dense`, and whatever its
structure makes faster than the dense matrix. Classes of other modules are found by name when
they are needed.
"""

from __future__ import annotations

import inspect

from situ._src.framework import errors
from situ._src.framework.api import export, named
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.module import Module
from situ._src.framework.tensor_shape import Dimension, TensorShape, as_shape
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.linalg.operator_parts import Parts

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, DTypeLike, Tensor, TensorLike


def keep(x: Any, dtype: Any = None) -> Any:
    """Returns a variable as it is, which the operator then reads whenever it is used, and anything
    else as a tensor."""
    return x if named("is_tensor")(x) and hasattr(x, "assign") else convert_to_tensor(x, dtype)


def adjoint(x: Any) -> Any:
    """Returns the conjugate transposes of matrices."""
    return named("linalg.adjoint")(x)


def conj(x: Any) -> Any:
    """Returns complex conjugates."""
    return named("math.conj")(x)


def real(x: Any) -> Any:
    """Returns real parts."""
    return named("math.real")(x)


def multiply(a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False) -> Any:
    """Multiplies matrices; batches are broadcast."""
    return op("BatchMatMulV2", a, b, adj_x=adjoint_a, adj_y=adjoint_b)


def product(x: Any) -> Any:
    """Multiplies the elements of vectors: complex ones, which Prod has not, by determinants."""
    if x.dtype.is_complex:
        return op("MatrixDeterminant", op("MatrixDiag", x))
    return op("Prod", x, [-1])


def shape_of(x: Any) -> Any:
    """Returns the shape of a tensor as a tensor."""
    return op("Shape", x)


def static(value: Any) -> Any:
    """Returns the value of a constant tensor as an array, or None."""
    return named("get_static_value")(value)


def join_shapes(*parts: Any) -> Any:
    """Concatenates vectors of sizes."""
    return op("ConcatV2", [convert_to_tensor(p, as_dtype("int32")) for p in parts], 0)


def broadcast_batches(*matrices: Any) -> list[Any]:
    """Broadcasts the batches of tensors of matrices to one shape."""
    shapes = [m.shape[:-2] for m in matrices]
    if all(s.is_fully_defined() for s in shapes):
        if all(s.as_list() == shapes[0].as_list() for s in shapes):
            return list(matrices)
    batch = shape_of(matrices[0])[:-2]
    for matrix in matrices[1:]:
        batch = named("broadcast_dynamic_shape")(batch, shape_of(matrix)[:-2])
    return [op("BroadcastTo", m, join_shapes(batch, shape_of(m)[-2:])) for m in matrices]


def solve_broadcast(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    """Solves linear systems; batches are broadcast."""
    matrix, rhs = broadcast_batches(matrix, rhs)
    return op("MatrixSolve", matrix, rhs, adjoint=adjoint)


def merge_batch(*operators: Any) -> Any:
    """Returns the static shape of the broadcast batches of operators."""
    batch = operators[0].batch_shape
    for operator in operators[1:]:
        batch = named("broadcast_static_shape")(batch, operator.batch_shape)
    return batch


def merge_batch_tensor(*operators: Any) -> Any:
    """Returns the shape of the broadcast batches of operators as a tensor."""
    batch = operators[0].batch_shape_tensor()
    for operator in operators[1:]:
        batch = named("broadcast_dynamic_shape")(batch, operator.batch_shape_tensor())
    return batch


def check(assertion: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls tf.debugging.assert_...; eager assertions return None."""
    return named(f"debugging.{assertion}")(*args, **kwargs)


def same_dtype(operators: Any, text: str) -> Any:
    """Returns the type that operators share; TypeError if they differ."""
    kinds = {operator.dtype for operator in operators}
    if len(kinds) > 1:
        names = "   ".join(f"{o.name} {o.dtype}" for o in operators)
        raise TypeError(f"{text}{names}")
    return operators[0].dtype


def no_assertion(name: str) -> Any:
    """Returns an operation that asserts nothing."""
    return named("no_op")(name=name)


@export("linalg.LinearOperator")
class LinearOperator(Parts, Module):
    """The base class of linear operators: batches of matrices with a structure.

    Args:
      dtype: The type of the elements.
      graph_parents: Tensors that the operator depends on; for compatibility.
      is_non_singular: Whether the matrices are expected to be non-singular; None if unknown.
      is_self_adjoint: Whether they are expected to be self-adjoint.
      is_positive_definite: Whether they are expected to be positive definite: x^H A x has a
        positive real part for all x that are not 0.
      is_square: Whether they are expected to be square.
      name: A name for the operator.
      parameters: The value of the property of this name; default: the arguments of the
        constructor.

    Raises:
      ValueError: The hints contradict each other.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Records the arguments of the constructor, whatever the class is."""
        self = super().__new__(cls)
        try:
            bound = inspect.signature(cls).bind(*args, **kwargs)
        except TypeError:  # __init__ raises it, with the name of the class
            return self
        bound.apply_defaults()
        self._parameters = dict(bound.arguments)
        return self

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: Any = None,
    ) -> None:
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise ValueError("A non-singular matrix is always square.")
            is_square = True
        if is_self_adjoint:
            if is_square is False:
                raise ValueError("A self-adjoint matrix is always square.")
            is_square = True
        for i, tensor in enumerate(graph_parents or []):
            if tensor is None or not hasattr(tensor, "dtype"):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {tensor}.")
        self._graph_parents = list(graph_parents or [])
        self._dtype = as_dtype(dtype).base_dtype if dtype else dtype
        self._square_hint = is_square
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite = is_positive_definite
        if parameters is not None:
            self._parameters = dict(parameters)
        self._name = name or type(self).__name__

    def __repr__(self) -> str:
        return f"<situ {type(self).__name__} name={self.name!r} shape={self.shape}>"

    def _scope(self, name):
        return scope(f"{self._name}/{name}" if name else self._name)

    # Properties.

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return dict(self._parameters)

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name of the operator."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the operator was created with."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether the matrices are expected to be non-singular."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether the matrices are expected to be self-adjoint."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether the matrices are expected to be positive definite."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether the matrices are square, by the hint or their static shape."""
        square = self.domain_dimension == self.range_dimension
        if self._square_hint is False and square:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return square if self._square_hint is None else self._square_hint

    def _shape(self):
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self):
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The static shape of the matrices, [..., m, n]."""
        return as_shape(self._shape())

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Returns the shape of the matrices as a tensor."""
        with self._scope(name):
            if self.shape.is_fully_defined():
                return constant(self.shape.as_list(), "int32")
            return self._shape_tensor()

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape without the last two dimensions."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Returns the shape without the last two dimensions as a tensor."""
        with self._scope(name):
            if self.batch_shape.is_fully_defined():
                return constant(self.batch_shape.as_list(), "int32")
            return self.shape_tensor()[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The static rank."""
        return self.shape.rank

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Returns the rank as a tensor."""
        with self._scope(name):
            rank = self.tensor_rank
            return op("Size", self.shape_tensor()) if rank is None else constant(rank, "int32")

    @property
    def domain_dimension(self) -> Any:
        """The number of columns."""
        return Dimension(None) if self.shape.rank is None else self.shape.dims[-1]

    @property
    def range_dimension(self) -> Any:
        """The number of rows."""
        return Dimension(None) if self.shape.rank is None else self.shape.dims[-2]

    def _size_tensor(self, axis):
        shape = self.shape
        size = None if shape.rank is None else shape.as_list()[axis]
        return self.shape_tensor()[axis] if size is None else constant(size, "int32")

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """Returns the number of columns as a tensor."""
        with self._scope(name):
            return self._size_tensor(-1)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """Returns the number of rows as a tensor."""
        with self._scope(name):
            return self._size_tensor(-2)

    # Assertions.

    def _can_use_cholesky(self):
        return self.is_self_adjoint and self.is_positive_definite

    def _assert_non_singular(self):
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        values = named("linalg.svd")(self.to_dense(), compute_uv=False)
        condition = op("Max", values, [-1]) / op("Min", values, [-1])
        wide = self.dtype.name in ("float64", "complex128")
        epsilon = 2.220446049250313e-16 if wide else 1.1920928955078125e-07
        sizes = op("Maximum", self.range_dimension_tensor(), self.domain_dimension_tensor())
        largest = op("Maximum", cast(sizes, values.dtype), constant(100.0, values.dtype))
        limit = constant(1.0, values.dtype) / (largest * constant(epsilon, values.dtype))
        return check(
            "assert_less", condition, limit, message="Singular matrix up to precision epsilon."
        )

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """Returns an operation that asserts that the matrices are non-singular."""
        with self._scope(name):
            return self._assert_non_singular()

    def _assert_positive_definite(self):
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        diagonal = real(op("MatrixDiagPart", op("Cholesky", self.to_dense())))
        return check("assert_positive", diagonal, message="Matrix was not positive definite.")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """Returns an operation that asserts that the matrices are positive definite."""
        with self._scope(name):
            return self._assert_positive_definite()

    def _assert_self_adjoint(self):
        dense = self.to_dense()
        return check(
            "assert_equal", dense, adjoint(dense), message="Matrix was not equal to its adjoint."
        )

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """Returns an operation that asserts that the matrices are self-adjoint."""
        with self._scope(name):
            return self._assert_self_adjoint()

    # Products.

    def _tensor(self, x, self_axis, x_axis):
        """Converts an argument and checks its type and static shape."""
        x = convert_to_tensor(x)
        if x.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype}.  Found: {x.dtype} in tensor {x}"
            )
        if self.shape.rank is not None and x.shape.rank is not None:
            self.shape.dims[self_axis].assert_is_compatible_with(x.shape.as_list()[x_axis])
        return x

    def _check_operators(self, left, right, argument):
        if left.domain_dimension.value is None or right.range_dimension.value is None:
            return
        if left.domain_dimension.value != right.range_dimension.value:
            raise ValueError(
                f"Operators are incompatible. Expected `{argument}` to have dimension "
                f"{left.domain_dimension} but got {right.range_dimension}."
            )

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return multiply(self._to_dense(), x, adjoint, adjoint_arg)

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Multiplies this operator by matrices or by another operator.

        Args:
          x: A tensor of shape [..., n, k], or a `LinearOperator`.
          adjoint: Whether to multiply by the adjoint of this operator.
          adjoint_arg: Whether to multiply the adjoint of `x`.
          name: A name for the operation.

        Returns:
          A tensor of shape [..., m, k], or a `LinearOperator`.
        """
        if isinstance(x, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = x.adjoint() if adjoint_arg else x
            self._check_operators(left, right, "x")
            with self._scope(name):
                return left._linop_matmul(left, right)
        with self._scope(name):
            x = self._tensor(x, -2 if adjoint else -1, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def _combined(self, left, right):
        """Returns the hints of a product of operators."""
        square = True if left.is_square and right.is_square else None
        if square is None and (left.is_square is False) != (right.is_square is False):
            square = False
        non_singular = True if left.is_non_singular and right.is_non_singular else None
        if left.is_non_singular is False or right.is_non_singular is False:
            non_singular = False
        hints = {"is_square": square, "is_non_singular": non_singular if square else None}
        if square is False:
            hints.update(is_non_singular=False, is_self_adjoint=False, is_positive_definite=False)
        return hints

    def _linop_matmul(self, left, right):
        if isinstance(right, named("linalg.LinearOperatorIdentity")):
            return left
        if isinstance(right, named("linalg.LinearOperatorZeros")):
            if not right.is_square or not left.is_square:
                raise ValueError(
                    "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` "
                    "not supported at this time."
                )
            return right
        composition = named("linalg.LinearOperatorComposition")
        return composition([left, right], **self._combined(left, right))

    def _matvec(self, x, adjoint=False):
        product = self.matmul(op("ExpandDims", x, -1), adjoint=adjoint)
        return op("Squeeze", product, squeeze_dims=[-1])

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Any:
        """Multiplies this operator (or its adjoint) by vectors [..., n]."""
        with self._scope(name):
            return self._matvec(self._tensor(x, -2 if adjoint else -1, -1), adjoint=adjoint)

    # Determinants and systems.

    def _need_square(self):
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )

    def _determinant(self):
        if self._can_use_cholesky():
            return op("Exp", self.log_abs_determinant())
        return op("MatrixDeterminant", self.to_dense())

    def determinant(self, name: str = "det") -> Any:
        """Computes the determinants."""
        self._need_square()
        with self._scope(name):
            return self._determinant()

    def _log_abs_determinant(self):
        if self._can_use_cholesky():
            diagonal = op("MatrixDiagPart", op("Cholesky", self.to_dense()))
            return constant(2, self.dtype) * op("Sum", op("Log", diagonal), [-1])
        return op("LogMatrixDeterminant", self.to_dense())[1]

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        """Computes the logarithms of the absolute values of the determinants."""
        self._need_square()
        with self._scope(name):
            return self._log_abs_determinant()

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        if self.is_square is False:
            raise NotImplementedError("Solve is not yet implemented for non-square operators.")
        rhs = named("linalg.adjoint")(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            factor, rhs = broadcast_batches(op("Cholesky", self.to_dense()), rhs)
            return named("linalg.cholesky_solve")(factor, rhs)
        return solve_broadcast(self.to_dense(), rhs, adjoint)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Solves the linear systems of this operator.

        Args:
          rhs: A tensor of shape [..., m, k] of right-hand sides, or a `LinearOperator`.
          adjoint: Whether to solve the systems of the adjoint matrices.
          adjoint_arg: Whether `rhs` is replaced by its adjoint before.
          name: A name for the operation.

        Returns:
          A tensor of shape [..., n, k], or a `LinearOperator`.

        Raises:
          NotImplementedError: A hint says that the matrices are singular or not square.
        """
        hints = {"be singular": self.is_non_singular, "not be square": self.is_square}
        for expected, hint in hints.items():
            if hint is False:
                raise NotImplementedError(
                    f"Exact solve not implemented for an operator that is expected to {expected}."
                )
        if isinstance(rhs, LinearOperator):
            left = self.adjoint() if adjoint else self
            right = rhs.adjoint() if adjoint_arg else rhs
            self._check_operators(left, right, "rhs")
            with self._scope(name):
                return left._linop_solve(left, right)
        with self._scope(name):
            rhs = self._tensor(rhs, -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _linop_solve(self, left, right):
        if isinstance(right, named("linalg.LinearOperatorIdentity")):
            return left.inverse()
        inverse = named("linalg.LinearOperatorInversion")(left)
        composition = named("linalg.LinearOperatorComposition")
        return composition([inverse, right], **self._combined(left, right))

    def _solvevec(self, rhs, adjoint=False):
        solution = self.solve(op("ExpandDims", rhs, -1), adjoint=adjoint)
        return op("Squeeze", solution, squeeze_dims=[-1])

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Any:
        """Solves the linear systems of this operator (or of its adjoint) for vectors [..., m]."""
        with self._scope(name):
            return self._solvevec(self._tensor(rhs, -1 if adjoint else -2, -1), adjoint=adjoint)

    # Other operators.

    def _hints(self):
        return {
            "is_non_singular": self.is_non_singular,
            "is_self_adjoint": self.is_self_adjoint,
            "is_positive_definite": self.is_positive_definite,
            "is_square": self.is_square,
        }

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Returns the adjoint operator."""
        if self.is_self_adjoint is True:
            return self
        with self._scope(name):
            return self._linop_adjoint()

    H = property(adjoint, None)

    def _linop_adjoint(self):
        return named("linalg.LinearOperatorAdjoint")(self, **self._hints())

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Returns the inverse operator.

        Raises:
          ValueError: A hint says that the matrices are singular or not square.
        """
        hints = {"non square": self.is_square, "singular": self.is_non_singular}
        for word, hint in hints.items():
            if hint is False:
                raise ValueError(
                    f"Cannot take the Inverse: This operator represents a {word} matrix."
                )
        with self._scope(name):
            return self._linop_inverse()

    def _linop_inverse(self):
        return named("linalg.LinearOperatorInversion")(self, **self._hints())

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Returns the Cholesky factor of a self-adjoint positive definite operator.

        Raises:
          ValueError: The hints do not say that it is one.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint "
                "matrix."
            )
        with self._scope(name):
            return self._linop_cholesky()

    def _linop_cholesky(self):
        return named("linalg.LinearOperatorLowerTriangular")(
            op("Cholesky", self.to_dense()),
            is_non_singular=True,
            is_self_adjoint=False,
            is_square=True,
        )

    # Elements.

    def _to_dense(self):
        ones = op(
            "Fill",
            join_shapes(self.batch_shape_tensor(), [self.domain_dimension_tensor()]),
            constant(1, self.dtype),
        )
        return self.matmul(op("MatrixDiag", ones))

    def to_dense(self, name: str = "to_dense") -> Any:
        """Returns the matrices as a tensor."""
        with self._scope(name):
            dense = convert_to_tensor(self._to_dense())
            dense.set_shape(self.shape)
            return dense

    def _diag_part(self):
        return op("MatrixDiagPart", self.to_dense())

    def diag_part(self, name: str = "diag_part") -> Any:
        """Returns the diagonals."""
        with self._scope(name):
            return convert_to_tensor(self._diag_part())

    def _trace(self):
        return op("Sum", self.diag_part(), [-1])

    def trace(self, name: str = "trace") -> Any:
        """Computes the sums of the diagonals."""
        with self._scope(name):
            return self._trace()

    def _add_to_tensor(self, x):
        return self.to_dense() + x

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Any:
        """Adds the matrices to a tensor of matrices."""
        with self._scope(name):
            return self._add_to_tensor(self._tensor(x, -1, -1))

    def _eigvals(self):
        return named("linalg.eigvalsh")(self.to_dense())

    def eigvals(self, name: str = "eigvals") -> Any:
        """Computes the eigenvalues of a self-adjoint operator."""
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        with self._scope(name):
            return self._eigvals()

    def _cond(self):
        if self.is_self_adjoint:
            values = named("math.abs")(self._eigvals())
        else:
            values = named("linalg.svd")(self.to_dense(), compute_uv=False)
        return op("Max", values, [-1]) / op("Min", values, [-1])

    def cond(self, name: str = "cond") -> Any:
        """Computes the condition numbers: the largest over the smallest singular value."""
        with self._scope(name):
            return self._cond()


def invalid(message: str) -> errors.OpError:
    """Returns the error of an assertion that can never hold."""
    return errors.InvalidArgumentError(None, None, message)
