# SPDX-License-Identifier: Apache-2.0
"""linalg_ops.py: tf.linalg: svd, qr, eig, eigh, lstsq, pinv, and the orthogonal initializer."""

from __future__ import annotations

import math

from situ._src.framework.api import export, named
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op, zeros
from situ._src.ops.init_ops import Initializer

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
    """Computes the singular value decomposition: `tensor = u @ diag(s) @ adjoint(v)`.

    Args:
      tensor: A tensor of shape [..., m, n].
      full_matrices: Whether `u` and `v` are square.
      compute_uv: Whether singular vectors are computed.
      name: A name for the operation (optional).

    Returns:
      A triple (s, u, v) with `s` in descending order; `s` alone without `compute_uv`.
    """
    s, u, v = op("Svd", tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (_real(s), u, v) if compute_uv else _real(s)


def _real(x):
    return named("math.real")(x)


@export("linalg.eigh", v1="self_adjoint_eig")
def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes (eigenvalues in ascending order, eigenvectors as columns) of Hermitian matrices.

    Args:
      tensor: A tensor [..., n, n].
      name: A name for the operation (optional).
    """
    return tuple(op("SelfAdjointEigV2", tensor, compute_v=True, name=name))


@export("linalg.eigvalsh", v1="self_adjoint_eigvals")
def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Computes the eigenvalues of Hermitian matrices, in ascending order.

    Args:
      tensor: A tensor [..., n, n].
      name: A name for the operation (optional).
    """
    return op("SelfAdjointEigV2", tensor, compute_v=False, name=name)[0]


def _eig(tensor, vectors, name):
    tensor = convert_to_tensor(tensor)
    wide = tensor.dtype.name in ("float64", "complex128")
    kind = as_dtype("complex128" if wide else "complex64")
    return op("Eig", tensor, compute_v=vectors, Tout=kind, name=name)


@export(v2=("linalg.eig", "eig"))
def eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Computes (eigenvalues, eigenvectors as columns) of square matrices, as complex numbers.

    Args:
      tensor: A tensor [..., n, n].
      name: A name for the operation (optional).
    """
    e, v = _eig(tensor, True, name)
    return e, v


@export(v2=("linalg.eigvals", "eigvals"))
def eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Computes the eigenvalues of square matrices, as complex numbers.

    Args:
      tensor: A tensor [..., n, n].
      name: A name for the operation (optional).
    """
    return _eig(tensor, False, name)[0]


def _transpose(x):
    return named("linalg.matrix_transpose")(x)


def _matrix(a, validate_args):
    """Returns a tensor of matrices of floating-point numbers."""
    a = convert_to_tensor(a)
    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    if a.shape.rank is None:
        if validate_args:
            check = named("debugging.assert_rank_at_least")(
                a, 2, message="Input `a` must have at least 2 dimensions."
            )
            with named("control_dependencies")([] if check is None else [check]):
                return op("Identity", a)
    elif a.shape.rank < 2:
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
    matrix = convert_to_tensor(matrix)
    rhs = convert_to_tensor(rhs, matrix.dtype)
    l2_regularizer = convert_to_tensor(l2_regularizer, as_dtype("float64"))
    return op("MatrixSolveLs", matrix, rhs, l2_regularizer, fast=fast, name=name)


def _epsilon(kind):
    wide = kind.name in ("float64", "complex128")
    return 2.220446049250313e-16 if wide else 1.1920928955078125e-07


def _largest_side(a):
    """Returns max(rows, columns) of matrices as a number, or as a tensor if it is unknown."""
    sizes = a.shape.as_list()[-2:] if a.shape.rank is not None else [None]
    if None not in sizes:
        return float(max(sizes))
    side = op("Max", op("Shape", a)[-2:], [0])
    return cast(side, a.dtype.real_dtype)


@export("linalg.pinv")
def pinv(
    a: TensorLike, rcond: TensorLike = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Computes the Moore-Penrose pseudo-inverse; singular values up to `rcond` times the largest
    count as 0.

    Args:
      a: A tensor [..., rows, columns].
      rcond: The relative tolerance; by default it depends on the type.
      validate_args: Whether to check the arguments when the operation runs.
      name: A name for the operation (optional).
    """
    with scope(name, "pinv"):
        a = _matrix(a, validate_args)
        if rcond is None:
            rcond = 10.0 * _epsilon(a.dtype) * _largest_side(a)
        rcond = convert_to_tensor(rcond, a.dtype.real_dtype)
        s, u, v = svd(a)
        cutoff = op("ExpandDims", rcond * op("Max", s, [-1]), -1)
        large = op("SelectV2", op("Greater", s, cutoff), s, constant(math.inf, s.dtype))
        scaled = v / cast(op("ExpandDims", large, -2), v.dtype)
        inverse = op("BatchMatMulV2", scaled, u, adj_y=True)
        if a.shape.rank is not None:
            sizes = a.shape.as_list()
            inverse.set_shape([*sizes[:-2], sizes[-1], sizes[-2]])
        return inverse


@export("linalg.matrix_rank")
def matrix_rank(
    a: TensorLike, tol: TensorLike = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Counts the singular values above `tol`.

    Args:
      a: A tensor [..., rows, columns].
      tol: The tolerance; by default relative to the largest singular value.
      validate_args: Whether to check the arguments when the operation runs.
      name: A name for the operation (optional).
    """
    with scope(name, "matrix_rank"):
        a = _matrix(a, validate_args)
        s = svd(a, compute_uv=False)
        if tol is None:
            tol = _epsilon(a.dtype) * _largest_side(a) * op("Max", s, [-1], keep_dims=True)
        return op("Sum", cast(op("Greater", s, tol), "int32"), [-1])


@export("linalg.cholesky_solve", v1="cholesky_solve")
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solves `A x = rhs` given the Cholesky factor `chol` of A.

    Args:
      chol: A tensor [..., n, n], the lower triangular factors.
      rhs: A tensor [..., n, k].
      name: A name for the operation (optional).
    """
    with scope(name, "cholesky_solve"):
        half = op("MatrixTriangularSolve", chol, rhs, adjoint=False, lower=True)
        return op("MatrixTriangularSolve", chol, half, adjoint=True, lower=True)


@export("linalg.adjoint")
def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Transposes the last two dimensions and conjugates complex elements.

    Args:
      matrix: A tensor [..., rows, columns].
      name: A name for the operation (optional).
    """
    with scope(name, "adjoint"):
        matrix = _transpose(convert_to_tensor(matrix))
        return op("Conj", matrix) if matrix.dtype.is_complex else matrix


@export(v1=("orthogonal_initializer", "initializers.orthogonal"))
class Orthogonal(Initializer):
    """An initializer that returns a matrix with orthogonal rows or columns."""

    _IS_FLOATING = True

    def __init__(
        self, gain: TensorLike = 1.0, seed: int | None = None, dtype: DTypeLike = "float32"
    ):
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
    """Returns an operation that assigns zeros to a variable.

    Args:
      ref: The variable.
      use_locking: Has no effect: assignments are atomic.
      name: A name for the operation (optional).
    """
    del use_locking  # TensorFlow does not read it either
    with scope(name, "zero_initializer"):
        return ref.assign(zeros(ref.shape, ref.dtype.base_dtype))


@export("linalg.normalize")
def normalize(
    tensor: TensorLike, ord: str = "euclidean", axis: Axis = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Divides a tensor by its norm along axes; returns (normalized tensor, norm).

    Args:
      tensor: A tensor.
      ord: The norm, see `tf.norm`.
      axis: The axis or axes of the norm; by default all.
      name: A name for the operation (optional).
    """
    with scope(name, "normalize"):
        tensor = convert_to_tensor(tensor)
        norm = named("norm")(tensor, ord, axis, keepdims=True)
        return tensor / cast(norm, tensor.dtype), norm
