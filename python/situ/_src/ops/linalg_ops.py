# SPDX-License-Identifier: Apache-2.0
"""linalg_ops.py: tf.linalg: svd, qr, eigh, lstsq, pinv, linear operators and the orthogonal
initializer;
expm and slogdet, which NumPy computes on the host (expm has no gradient)."""

from __future__ import annotations

import math

import numpy

from situ._src.framework.api import export, named
from situ._src.framework.custom_gradient import custom_gradient
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op, zeros
from situ._src.ops.init_ops import Initializer
from situ._src.ops.script_ops import on_host

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, DTypeLike, ShapeLike, Tensor, TensorLike


@export("linalg.qr", v1="qr")
def qr(
    input: TensorLike, full_matrices: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Computes the QR decomposition of matrices.

    Args:
      input: A tensor of shape [..., m, n].
      full_matrices: Whether `q` is square.
      name: A name for the operation (optional).

    Returns:
      A pair (q, r): orthogonal columns and an upper triangular matrix.
    """
    return tuple(op("Qr", input, full_matrices=full_matrices, name=name))


@export("linalg.svd", v1="svd")
def svd(
    tensor: TensorLike,
    full_matrices: bool = False,
    compute_uv: bool = True,
    name: str | None = None,
) -> Any:
    """Computes the singular value decomposition: `tensor = u @ diag(s) @ transpose(v)`.

    Args:
      tensor: A tensor of shape [..., m, n].
      full_matrices: Whether `u` and `v` are square.
      compute_uv: Whether singular vectors are computed.
      name: A name for the operation (optional).

    Returns:
      A triple (s, u, v) with `s` in descending order; `s` alone without `compute_uv`.
    """
    s, u, v = op("Svd", tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (s, u, v) if compute_uv else s


@export("linalg.eigh", v1="self_adjoint_eig")
def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes (eigenvalues in ascending order, eigenvectors as columns) of symmetric matrices."""
    return tuple(op("SelfAdjointEigV2", tensor, compute_v=True, name=name))


@export("linalg.eigvalsh", v1="self_adjoint_eigvals")
def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Computes the eigenvalues of symmetric matrices, in ascending order."""
    return op("SelfAdjointEigV2", tensor, compute_v=True, name=name)[0]


def _transpose(x):
    rank = convert_to_tensor(x).shape.rank
    return op("Transpose", x, [*range(rank - 2), rank - 1, rank - 2])


def _matrix(a):
    """Returns a tensor of matrices; ValueError if its static rank is less than 2."""
    a = convert_to_tensor(a)
    if a.shape.rank is not None and a.shape.rank < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {a.shape.rank}).")
    return a


@export("linalg.lstsq", v1="matrix_solve_ls")
def lstsq(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: TensorLike = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """Solves linear least-squares problems.

    Args:
      matrix: A tensor of shape [..., m, n].
      rhs: A tensor of shape [..., m, k].
      l2_regularizer: The weight of the squared norm of the solution.
      fast: Whether to solve the normal equations. If false, the solution of the smallest norm is
        computed with a singular value decomposition; `l2_regularizer` has no effect then, as in
        TensorFlow.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [..., n, k].
    """
    with scope(name, "matrix_solve_ls"):
        matrix, rhs = convert_to_tensor(matrix), convert_to_tensor(rhs)
        if not fast:
            return op("BatchMatMul", pinv(matrix), rhs)
        rows, columns = matrix.shape.as_list()[-2:]
        transposed = _transpose(matrix)
        wide = rows is not None and columns is not None and rows < columns
        gram = (
            op("BatchMatMul", matrix, transposed) if wide else op("BatchMatMul", transposed, matrix)
        )
        size = op("Shape", gram)[-1]
        more = convert_to_tensor(l2_regularizer, matrix.dtype)
        gram = gram + op("MatrixDiag", op("Fill", op("Reshape", size, [1]), more))
        if wide:
            return op("BatchMatMul", transposed, op("MatrixSolve", gram, rhs))
        return op("MatrixSolve", gram, op("BatchMatMul", transposed, rhs))


@export("linalg.pinv")
def pinv(
    a: TensorLike, rcond: TensorLike = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Computes the Moore-Penrose pseudo-inverse; singular values up to `rcond` times the largest
    count as 0."""
    del validate_args  # the rank must be known and is always checked
    with scope(name, "pinv"):
        a = _matrix(a)
        s, u, v = svd(a)
        small = 1e-15 * 10 if a.dtype.name == "float64" else 1.2e-7 * 10
        limit = (small * max(a.shape.as_list()[-2:]) if rcond is None else rcond) * op(
            "Max", s, [-1], keep_dims=True
        )
        inverse = op("SelectV2", op("Greater", s, limit), op("Reciprocal", s), op("ZerosLike", s))
        return op("BatchMatMul", v * op("ExpandDims", inverse, -2), _transpose(u))


@export("linalg.matrix_rank")
def matrix_rank(
    a: TensorLike, tol: TensorLike = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Counts the singular values above `tol`."""
    del validate_args  # the rank must be known and is always checked
    with scope(name, "matrix_rank"):
        a = _matrix(a)
        s = svd(a, compute_uv=False)
        small = 2.2e-16 if a.dtype.name == "float64" else 1.2e-7
        limit = (
            small * max(a.shape.as_list()[-2:]) * op("Max", s, [-1], keep_dims=True)
            if tol is None
            else tol
        )
        return op("Sum", cast(op("Greater", s, limit), "int32"), [-1])


@export("linalg.cholesky_solve", v1="cholesky_solve")
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solves `A x = rhs` given the Cholesky factor `chol` of A."""
    with scope(name, "cholesky_solve"):
        half = op("MatrixTriangularSolve", chol, rhs, adjoint=False, lower=True)
        return op("MatrixTriangularSolve", chol, half, adjoint=True, lower=True)


@export("linalg.adjoint")
def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Transposes the last two dimensions and conjugates complex elements."""
    with scope(name, "adjoint"):
        matrix = _transpose(convert_to_tensor(matrix))
        return op("Conj", matrix) if matrix.dtype.is_complex else matrix


@export(v1=("orthogonal_initializer", "initializers.orthogonal"))
class Orthogonal(Initializer):
    """An initializer that returns a matrix with orthogonal rows or columns."""

    def __init__(self, gain=1.0, seed=None, dtype="float32"):
        super().__init__(dtype)
        self.gain, self.seed = gain, seed

    _HAS_PARTITIONS = False

    def make(self, shape: ShapeLike, dtype: DTypeLike) -> Any:
        shape, kind = list(shape), as_dtype(dtype)
        if not kind.is_floating:
            raise ValueError(
                f"Argument `dtype` is expected to be floating point. Received: {kind}."
            )
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        flat = [max(rows, columns), min(rows, columns)]
        q, r = qr(self._draw("normal", flat, 0.0, 1.0, dtype))
        q = q * op("Sign", op("MatrixDiagPart", r))
        q = _transpose(q) if rows < columns else q
        return constant(self.gain, dtype) * op("Reshape", q, shape)


@export(v1="contrib.framework.zero_initializer")
def zero_initializer(
    ref: TensorLike, use_locking: bool = True, name: str | None = "zero_initializer"
) -> Any:
    """Returns an operation that assigns zeros to a variable."""
    del use_locking  # TensorFlow does not read it either
    with scope(name, "zero_initializer"):
        return ref.assign(zeros(ref.shape, ref.dtype.base_dtype))


def _host(function, matrix, shapes):
    """Calls a NumPy function of matrices on the host; results have the given shapes and their
    dtype."""
    kind = matrix.dtype
    return on_host(
        lambda array: [numpy.asarray(m, kind.as_numpy_dtype, order="C") for m in function(array)],
        [matrix],
        [kind] * len(shapes),
        shapes,
    )


def _sizes(x):
    """Returns the static shape as a list, or None if the rank is unknown."""
    return x.shape.as_list() if x.shape.rank is not None else None


@export("linalg.expm")
def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the exponential of matrices by scaling, a Taylor series and repeated squaring."""

    with scope(name, "matrix_exponential"):

        def call(a):
            norm = float(numpy.abs(a).sum(-1).max()) if a.size else 0.0
            squarings = max(0, int(numpy.ceil(numpy.log2(norm))) + 1) if norm > 0 else 0
            a = a.astype("float64") / 2.0**squarings
            total = term = numpy.broadcast_to(numpy.eye(a.shape[-1]), a.shape)
            for k in range(1, 20):
                term = term @ a / k
                total = total + term
            for _ in range(squarings):
                total = total @ total
            return [total]

        matrix = convert_to_tensor(input)
        return _host(call, matrix, [_sizes(matrix)])[0]


@export("linalg.slogdet")
def slogdet(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes the sign and the logarithm of the absolute value of determinants."""
    with scope(name, "slogdet"):
        matrix = convert_to_tensor(input)
        sizes = _sizes(matrix)

        @custom_gradient
        def call(x):
            def back(_, grad):
                return grad[..., None, None] * named("linalg.matrix_transpose")(
                    op("MatrixInverse", x)
                )

            return tuple(_host(numpy.linalg.slogdet, x, [sizes and sizes[:-2]] * 2)), back

        return call(matrix)


@export("linalg.normalize")
def normalize(
    tensor: TensorLike, ord: str = "euclidean", axis: Axis = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Divides a tensor by its norm along axes; returns (normalized tensor, norm)."""
    with scope(name, "normalize"):
        tensor = convert_to_tensor(tensor)
        norm = named("norm")(tensor, ord, axis, keepdims=True)
        return tensor / norm, norm


class _LinearOperator:
    """What linear operators share: the hints of their properties and the methods.

    `_matrix` is the tensor that the operator was created with.
    """

    def __init__(self, matrix, non_singular, self_adjoint, positive_definite, square, name):
        if positive_definite:
            if non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            non_singular = True
        for hint, kind in ((non_singular, "non-singular"), (self_adjoint, "self-adjoint")):
            if hint and square is False:
                raise ValueError(f"A {kind} matrix is always square.")
        self._matrix, self._name = convert_to_tensor(matrix), name or type(self).__name__
        self._square = True if non_singular or self_adjoint else square
        self.is_non_singular, self.is_self_adjoint = non_singular, self_adjoint
        self.is_positive_definite = positive_definite

    dtype = property(lambda s: s._matrix.dtype)
    name = property(lambda s: s._name)
    shape = property(lambda s: s.to_dense().shape)

    @property
    def is_square(self) -> bool | None:
        """Whether the matrix is square, by its static shape or the hint; None if unknown."""
        sizes = self._matrix.shape.as_list()[-2:] if self._square is None else [None]
        return self._square if None in sizes else sizes[0] == sizes[1]

    def _scope(self, name):
        return scope(f"{self._name}/{name}")

    def _dense(self):
        return self._matrix

    def to_dense(self, name: str = "to_dense") -> Any:
        """Returns the matrix."""
        with self._scope(name):
            return self._dense()

    def matmul(
        self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """Multiplies a matrix by this operator."""
        with self._scope(name):
            return named("matmul")(self._dense(), x, transpose_a=adjoint, transpose_b=adjoint_arg)

    __matmul__ = matmul

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Any:
        """Multiplies a vector by this operator."""
        with self._scope(name):
            column = op("ExpandDims", convert_to_tensor(x), -1)
            product = named("matmul")(self._dense(), column, transpose_a=adjoint)
            return op("Squeeze", product, squeeze_dims=[-1])

    def _solve(self, rhs, adjoint):
        return op("MatrixSolve", self._dense(), rhs, adjoint=adjoint)

    def solve(
        self, rhs: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Solves the linear system of this operator.

        Args:
          rhs: A tensor [..., rows, columns] of right-hand sides.
          adjoint: Whether to solve the system of the adjoint matrix.
          adjoint_arg: Whether `rhs` is transposed before.
          name: A name for the operation (optional).

        Raises:
          NotImplementedError: If the matrix is not square, or a hint says that it is singular.
        """
        hints = {"be singular": self.is_non_singular, "not be square": self.is_square}
        for expected, hint in hints.items():
            if hint is False:
                raise NotImplementedError(
                    f"Exact solve not implemented for an operator that is expected to {expected}."
                )
        with self._scope(name):
            rhs = convert_to_tensor(rhs)
            return self._solve(_transpose(rhs) if adjoint_arg else rhs, adjoint)

    def diag_part(self, name: str = "diag_part") -> Any:
        """Returns the diagonal."""
        with self._scope(name):
            return op("MatrixDiagPart", self._dense())

    def determinant(self, name: str = "det") -> Any:
        """Computes the determinant."""
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )
        with self._scope(name):
            return named("linalg.det")(self._dense())

    def trace(self, name: str = "trace") -> Any:
        """Computes the sum of the diagonal."""
        with self._scope(name):
            return op("Sum", op("MatrixDiagPart", self._dense()), [-1])


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix(_LinearOperator):
    """A linear operator that is given by a dense matrix."""

    def __init__(
        self,
        matrix,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorFullMatrix",
    ):
        super().__init__(
            matrix, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(_LinearOperator):
    """A linear operator that is given by the lower triangle of a matrix."""

    def __init__(
        self,
        tril,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorLowerTriangular",
    ):
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        super().__init__(tril, is_non_singular, is_self_adjoint, is_positive_definite, True, name)

    def _dense(self):
        return op("MatrixBandPart", self._matrix, -1, 0)

    def _solve(self, rhs, adjoint):
        return op("MatrixTriangularSolve", self._dense(), rhs, lower=True, adjoint=adjoint)


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(_LinearOperator):
    """A linear operator that is given by a diagonal."""

    def __init__(
        self,
        diag,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name="LinearOperatorDiag",
    ):
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        if is_self_adjoint is False:
            raise ValueError("A real diagonal operator is always self adjoint.")
        super().__init__(diag, is_non_singular, True, is_positive_definite, True, name)

    def _dense(self):
        return op("MatrixDiag", self._matrix)
