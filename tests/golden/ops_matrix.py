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


def bands(attrs, k, rows, cols):
    """The row, the place and the matrix elements of each diagonal k[0] to k[-1] of a matrix."""
    above, below = attrs.get("align", "LEFT_LEFT").split("_")
    low, high = int(k.ravel()[0]), int(k.ravel()[-1])
    longest = max(len(np.diagonal(np.empty((rows, cols)), d)) for d in range(low, high + 1))
    for d in range(high, low - 1, -1):
        r = np.arange(max(0, -d), max(0, min(rows, cols - d)))
        right = "RIGHT" == above and (d > 0 or below == above) or "RIGHT" == below and d < 0
        yield high - d, np.arange(len(r)) + (longest - len(r) if right else 0), r, r + d, longest


def band_of(k, diagonal):
    """Diagonals as [..., number, length]."""
    return diagonal if k.ravel()[0] < k.ravel()[-1] else diagonal[..., None, :]


def matrix_diag_bands(attrs, d, k, rows, cols, padding):
    low, high = int(k.ravel()[0]), int(k.ravel()[-1])
    d = band_of(k, d)
    least_rows, least_cols = d.shape[-1] - min(high, 0), d.shape[-1] + max(low, 0)
    if rows == cols == -1:
        rows = cols = max(least_rows, least_cols)
    rows, cols = int(max(rows, least_rows)), int(max(cols, least_cols))
    made = np.full(d.shape[:-2] + (rows, cols), padding, d.dtype)
    for at, along, r, c, _ in bands(attrs, k, rows, cols):
        made[..., r, c] = d[..., at, along]
    return made


def diag_part_bands(attrs, x, k, padding):
    rows, cols = x.shape[-2:]
    found = list(bands(attrs, k, rows, cols))
    made = np.full(x.shape[:-2] + (len(found), found[0][-1]), padding, x.dtype)
    for at, along, r, c, _ in found:
        made[..., at, along] = x[..., r, c]
    return made if len(found) > 1 else made[..., 0, :]


def set_diag_bands(attrs, x, d, k):
    made, d = x.copy(), band_of(k, d)
    for at, along, r, c, _ in bands(attrs, k, *x.shape[-2:]):
        made[..., r, c] = d[..., at, along]
    return made


def einsum(attrs, *inputs):
    """Also with repeated letters in the result: diagonals among zeros."""
    left, right = attrs["equation"].split("->")
    once = "".join(dict.fromkeys(right.replace("...", ""))) + ("..." if "..." in right else "")
    if len(once) == len(right):
        return np.einsum(attrs["equation"], *inputs)
    dense = np.einsum(f"{left}->{once}", *inputs)
    size = dict(zip(once, dense.shape))
    made = np.zeros([size[c] for c in right], dense.dtype)
    for at in np.ndindex(dense.shape):
        made[tuple(at[once.index(c)] for c in right)] = dense[at]
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
    "MatrixDiagV2": matrix_diag_bands, "MatrixDiagV3": matrix_diag_bands,
    "MatrixDiagPartV2": diag_part_bands, "MatrixDiagPartV3": diag_part_bands,
    "MatrixSetDiagV2": set_diag_bands, "MatrixSetDiagV3": set_diag_bands,
    "Einsum": einsum,
    "MatrixTriangularSolve": triangular, "Cholesky": lambda a, x: np.linalg.cholesky(x),
}
