# SPDX-License-Identifier: Apache-2.0
"""linalg_ops.py: svd, qr, eigenvalues, least squares, pseudo-inverses, orthogonal initial
values; expm and determinants, by NumPy on the host (only determinants have a gradient);
linear operators."""

import math

import numpy

from situ._src.framework.api import export, named
from situ._src.framework.custom_gradient import custom_gradient
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op, zeros
from situ._src.ops.init_ops import Initializer
from situ._src.ops.script_ops import on_host


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
        limit = (small * max(a.shape.as_list()[-2:]) if rcond is None else rcond) * op(
            "Max", s, [-1], keep_dims=True
        )
        inverse = op("SelectV2", op("Greater", s, limit), op("Reciprocal", s), op("ZerosLike", s))
        return op("BatchMatMul", v * op("ExpandDims", inverse, -2), _turned(u))


@export("linalg.matrix_rank")
def matrix_rank(a, tol=None, validate_args=False, name=None):
    """How many singular values are not 0."""
    a = convert_to_tensor(a)
    s = svd(a, compute_uv=False)
    small = 2.2e-16 if a.dtype.name == "float64" else 1.2e-7
    limit = (
        small * max(a.shape.as_list()[-2:]) * op("Max", s, [-1], keep_dims=True)
        if tol is None
        else tol
    )
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


def _host(function, matrix, shapes):
    """Results of a function of matrices, as many as shapes, in their type."""
    kind = matrix.dtype
    return on_host(
        lambda array: [numpy.asarray(m, kind.as_numpy_dtype, order="C") for m in function(array)],
        [matrix],
        [kind] * len(shapes),
        shapes,
    )


def _sizes(x):
    """Of matrices the sizes of all dimensions; None if not even their number is known."""
    return x.shape.as_list() if x.shape.rank is not None else None


@export("linalg.expm")
def expm(input, name=None):
    """exp of matrices: a series after halving often enough."""

    def call(a):
        norm = float(numpy.abs(a).sum(-1).max()) if a.size else 0.0
        halved = max(0, int(numpy.ceil(numpy.log2(norm))) + 1) if norm > 0 else 0
        a = a.astype("float64") / 2.0**halved
        total = term = numpy.broadcast_to(numpy.eye(a.shape[-1]), a.shape)
        for k in range(1, 20):
            term = term @ a / k
            total = total + term
        for _ in range(halved):
            total = total @ total
        return [total]

    matrix = convert_to_tensor(input)
    return _host(call, matrix, [_sizes(matrix)])[0]


@export("linalg.slogdet")
def slogdet(input, name=None):
    """Sign and logarithm of the absolute value of determinants."""
    matrix = convert_to_tensor(input)
    sizes = _sizes(matrix)

    @custom_gradient
    def call(x):
        def back(_, grad):
            return grad[..., None, None] * named("linalg.matrix_transpose")(op("MatrixInverse", x))

        return tuple(_host(numpy.linalg.slogdet, x, [sizes and sizes[:-2]] * 2)), back

    return call(matrix)


@export("linalg.normalize")
def normalize(tensor, ord="euclidean", axis=None, name=None):
    """The tensor divided by its norm, and the norm."""
    tensor = convert_to_tensor(tensor)
    norm = named("norm")(tensor, ord, axis, keepdims=True)
    return tensor / norm, norm


# Matrices as operators


@export("linalg.LinearOperatorFullMatrix")
class LinearOperatorFullMatrix:
    """A matrix that is applied to others."""

    def __init__(
        self,
        matrix,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name=None,
    ):
        self._matrix = convert_to_tensor(matrix)

    dtype = property(lambda s: s._matrix.dtype)
    shape = property(lambda s: s.to_dense().shape)

    def to_dense(self, name=None):
        return self._matrix

    def matmul(self, x, adjoint=False, adjoint_arg=False, name=None):
        return named("matmul")(self.to_dense(), x, transpose_a=adjoint, transpose_b=adjoint_arg)

    __matmul__ = matmul

    def matvec(self, x, adjoint=False, name=None):
        return op(
            "Squeeze",
            self.matmul(op("ExpandDims", convert_to_tensor(x), -1), adjoint),
            squeeze_dims=[-1],
        )

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name=None):
        return op("MatrixSolve", self.to_dense(), rhs, adjoint=adjoint)

    def diag_part(self, name=None):
        return op("MatrixDiagPart", self.to_dense())

    def determinant(self, name=None):
        return named("linalg.det")(self.to_dense())

    def trace(self, name=None):
        return op("Sum", self.diag_part(), [-1])


@export("linalg.LinearOperatorLowerTriangular")
class LinearOperatorLowerTriangular(LinearOperatorFullMatrix):
    """The lower triangle of a matrix."""

    def to_dense(self, name=None):
        return op("MatrixBandPart", self._matrix, -1, 0)

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name=None):
        return op("MatrixTriangularSolve", self.to_dense(), rhs, lower=True, adjoint=adjoint)


@export("linalg.LinearOperatorDiag")
class LinearOperatorDiag(LinearOperatorFullMatrix):
    """A matrix that has a diagonal only."""

    def to_dense(self, name=None):
        return op("MatrixDiag", self._matrix)
