# SPDX-License-Identifier: Apache-2.0
"""linalg_further.py: exp and determinants of matrices, by NumPy on the host (only determinants have
a gradient); tensors of length 1, matrices as operators."""
import numpy

from situ._lib.api import export, named
from situ._lib.array_ops import convert_to_tensor, op
from situ._lib.readers import on_host
from situ._lib.custom_gradient import custom_gradient


def _host(function, matrix, shapes):
    """Results of a function of matrices, as many as shapes, in their type."""
    kind = matrix.dtype
    return on_host(lambda array: [numpy.asarray(m, kind.as_numpy_dtype, order="C")
                                  for m in function(array)], [matrix], [kind] * len(shapes), shapes)


def _sizes(x):
    """Of matrices the sizes of all dimensions; None if not even their number is known."""
    return x.shape.as_list() if x.shape.rank is not None else None


@export("linalg.expm")
def expm(input, name=None):
    """exp of matrices: a series after halving often enough."""
    def call(a):
        norm = float(numpy.abs(a).sum(-1).max()) if a.size else 0.0
        halved = max(0, int(numpy.ceil(numpy.log2(norm))) + 1) if norm > 0 else 0
        a = a.astype("float64") / 2.0 ** halved
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

    def __init__(self, matrix, is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=None, name=None):
        self._matrix = convert_to_tensor(matrix)

    dtype = property(lambda s: s._matrix.dtype)
    shape = property(lambda s: s.to_dense().shape)

    def to_dense(self, name=None):
        return self._matrix

    def matmul(self, x, adjoint=False, adjoint_arg=False, name=None):
        return named("matmul")(self.to_dense(), x, transpose_a=adjoint, transpose_b=adjoint_arg)

    __matmul__ = matmul

    def matvec(self, x, adjoint=False, name=None):
        return op("Squeeze", self.matmul(op("ExpandDims", convert_to_tensor(x), -1), adjoint),
                  squeeze_dims=[-1])

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
