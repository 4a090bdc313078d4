# SPDX-License-Identifier: Apache-2.0
"""decompose_ops.py: tf.svd, tf.qr, tf.self_adjoint_eig and what they are used for: least squares,
inverses of any matrices, orthogonal first values."""
import math

from situ._lib.api import export
from situ._lib.array_ops import cast, constant, convert_to_tensor, op, zeros
from situ._lib.graph import scope
from situ._lib.initializers import Initializer


@export("linalg.qr", v1="qr")
def qr(input, full_matrices=False, name=None):
    """(q, r): orthogonal columns times an upper triangle."""
    return tuple(op("Qr", input, full_matrices=full_matrices, name=name))


@export("linalg.svd", v1="svd")
def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """Singular values, the largest first, and vectors: tensor = u diag(s) transpose(v)."""
    s, u, v = op("Svd", tensor, compute_uv=compute_uv, full_matrices=full_matrices, name=name)
    return (s, u, v) if compute_uv else s


@export("linalg.eigh", v1="self_adjoint_eig")
def self_adjoint_eig(tensor, name=None):
    """Eigenvalues of symmetric matrices, the smallest first, and vectors as columns."""
    return tuple(op("SelfAdjointEigV2", tensor, compute_v=True, name=name))


@export("linalg.eigvalsh", v1="self_adjoint_eigvals")
def self_adjoint_eigvals(tensor, name=None):
    return op("SelfAdjointEigV2", tensor, compute_v=True, name=name)[0]


def _turned(x):
    rank = convert_to_tensor(x).shape.rank
    return op("Transpose", x, [*range(rank - 2), rank - 1, rank - 2])


@export("linalg.lstsq", v1="matrix_solve_ls")
def lstsq(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """The solution of least squares."""
    with scope(name, "matrix_solve_ls"):
        matrix, rhs = convert_to_tensor(matrix), convert_to_tensor(rhs)
        rows, columns = matrix.shape.as_list()[-2:]
        turned = _turned(matrix)
        wide = rows is not None and columns is not None and rows < columns
        gram = op("BatchMatMul", matrix, turned) if wide else op("BatchMatMul", turned, matrix)
        size = op("Shape", gram)[-1]
        more = convert_to_tensor(l2_regularizer, matrix.dtype)
        gram = gram + op("MatrixDiag", op("Fill", op("Reshape", size, [1]), more))
        if wide:
            return op("BatchMatMul", turned, op("MatrixSolve", gram, rhs))
        return op("MatrixSolve", gram, op("BatchMatMul", turned, rhs))


@export("linalg.pinv")
def pinv(a, rcond=None, validate_args=False, name=None):
    """The inverse of Moore and Penrose."""
    with scope(name, "pinv"):
        a = convert_to_tensor(a)
        s, u, v = svd(a)
        small = 1e-15 * 10 if a.dtype.name == "float64" else 1.2e-7 * 10
        limit = (small * max(a.shape.as_list()[-2:]) if rcond is None else rcond) * \
            op("Max", s, [-1], keep_dims=True)
        inverse = op("SelectV2", op("Greater", s, limit), op("Reciprocal", s), op("ZerosLike", s))
        return op("BatchMatMul", v * op("ExpandDims", inverse, -2), _turned(u))


@export("linalg.matrix_rank")
def matrix_rank(a, tol=None, validate_args=False, name=None):
    """How many singular values are not 0."""
    a = convert_to_tensor(a)
    s = svd(a, compute_uv=False)
    small = 2.2e-16 if a.dtype.name == "float64" else 1.2e-7
    limit = small * max(a.shape.as_list()[-2:]) * op("Max", s, [-1], keep_dims=True) \
        if tol is None else tol
    return op("Sum", cast(op("Greater", s, limit), "int32"), [-1])


@export("linalg.cholesky_solve", v1="cholesky_solve")
def cholesky_solve(chol, rhs, name=None):
    """The solution for a matrix that is given by its Cholesky factor."""
    with scope(name, "cholesky_solve"):
        half = op("MatrixTriangularSolve", chol, rhs, adjoint=False, lower=True)
        return op("MatrixTriangularSolve", chol, half, adjoint=True, lower=True)


@export("linalg.adjoint")
def adjoint(matrix, name=None):
    return _turned(convert_to_tensor(matrix))


@export(v1=("orthogonal_initializer", "initializers.orthogonal"))
class Orthogonal(Initializer):
    """A matrix whose rows or columns are orthogonal."""

    def __init__(self, gain=1.0, seed=None, dtype="float32"):
        super().__init__(dtype)
        self.gain, self.seed = gain, seed

    def make(self, shape, dtype):
        shape = list(shape)
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        flat = [max(rows, columns), min(rows, columns)]
        q, r = qr(self._draw("normal", flat, 0.0, 1.0, dtype))
        q = q * op("Sign", op("MatrixDiagPart", r))
        q = _turned(q) if rows < columns else q
        return constant(self.gain, dtype) * op("Reshape", q, shape)


@export(v1="contrib.framework.zero_initializer")
def zero_initializer(ref, use_locking=True, name="zero_initializer"):
    """An operation that makes a variable 0."""
    return ref.assign(zeros(ref.shape, ref.dtype.base_dtype))
