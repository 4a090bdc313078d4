# SPDX-License-Identifier: Apache-2.0
"""ops_matrix.py: ops on matrices, in NumPy, for ops.py."""
import numpy as np


def matrix_diag(_, d):
    return d[..., None] * np.eye(d.shape[-1], dtype=d.dtype)


def diag(_, d):
    made = np.diag(d.ravel())
    return made.reshape(d.shape * 2)


def diag_part(_, x):
    half = x.shape[:x.ndim // 2]
    n = int(np.prod(half))
    return np.diagonal(x.reshape(n, n)).reshape(half)


def set_diag(_, x, d):
    made = x.copy()
    for k in range(d.shape[-1]):
        made[..., k, k] = d[..., k]
    return made


def band(_, x, lower, upper):
    r, c = np.indices(x.shape[-2:])
    kept = ((lower < 0) | (r - c <= lower)) & ((upper < 0) | (c - r <= upper))
    return np.where(kept, x, np.zeros_like(x))


def inverse(attrs, x):
    return np.linalg.inv(np.conj(np.swapaxes(x, -1, -2)) if attrs["adjoint"] else x)


def solve(attrs, a, b):
    return np.linalg.solve(np.conj(np.swapaxes(a, -1, -2)) if attrs["adjoint"] else a, b)


def triangular(attrs, a, b):
    return solve(attrs, np.tril(a) if attrs["lower"] else np.triu(a), b)


MATRIX = {
    "Diag": diag, "DiagPart": diag_part, "MatrixDiag": matrix_diag,
    "MatrixDiagPart": lambda a, x: np.diagonal(x, axis1=-2, axis2=-1),
    "MatrixSetDiag": set_diag, "MatrixBandPart": band, "MatrixInverse": inverse,
    "MatrixDeterminant": lambda a, x: np.linalg.det(x), "MatrixSolve": solve,
    "MatrixTriangularSolve": triangular, "Cholesky": lambda a, x: np.linalg.cholesky(x),
}
