# SPDX-License-Identifier: Apache-2.0
"""matrix_functions.py: the matrix exponential, solutions by LU decompositions, tridiagonal and
banded matrices, and the conjugate gradient method."""

from __future__ import annotations

import collections
import math

from situ._src.framework.api import export, named
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike

_SINGLE = ("float16", "float32", "complex64")


def _matmul(a, b, **kwargs):
    return op("BatchMatMulV2", a, b, **kwargs)


def _pade(matrix, degree):
    """Returns the odd and the even part of the numerator of a Pade approximant of exp."""
    coefficients = [
        math.factorial(2 * degree - k)
        // (math.factorial(k) * math.factorial(degree - k))
        * math.factorial(degree)
        for k in range(degree + 1)
    ]
    scale = coefficients[degree]
    weights = [c / scale for c in coefficients]
    ones = op("OnesLike", op("MatrixDiagPart", matrix))
    power = op("MatrixDiag", ones)  # of the square
    square = _matmul(matrix, matrix)
    odd = even = None
    for k in range(0, degree + 1, 2):
        if k:
            power = _matmul(power, square)
        even_term = power * constant(weights[k], matrix.dtype)
        even = even_term if even is None else even + even_term
        if k + 1 <= degree:
            odd_term = power * constant(weights[k + 1], matrix.dtype)
            odd = odd_term if odd is None else odd + odd_term
    return _matmul(matrix, odd), even


@export("linalg.expm")
def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the exponential of square matrices by scaling, a Pade approximant and squaring.

    Args:
      input: A tensor of shape [..., n, n].
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape and type of `input`.

    Raises:
      ValueError: The type is not supported.
    """
    with scope(name, "matrix_exponential"):
        matrix = convert_to_tensor(input)
        if not (matrix.dtype.is_floating or matrix.dtype.is_complex):
            raise ValueError(f"tf.linalg.expm does not support matrices of type {matrix.dtype}")
        if matrix.shape.rank is not None and matrix.shape.as_list()[-2:] == [0, 0]:
            return matrix
        single = matrix.dtype.name in _SINGLE
        degree, largest = (7, 3.925724783138660) if single else (13, 5.371920351148152)
        norm = op("Max", op("Sum", named("math.abs")(matrix), [-2]), [-1])
        real = norm.dtype
        ratio = op("Log", norm / constant(largest, real)) / constant(math.log(2.0), real)
        squarings = op("Maximum", op("Floor", ratio) + constant(1.0, real), constant(0.0, real))
        finite = op("IsFinite", squarings)
        squarings = op("SelectV2", finite, squarings, op("ZerosLike", squarings))
        column = op("ExpandDims", op("ExpandDims", squarings, -1), -1)
        factor = op("Pow", constant(2.0, real), column)
        odd, even = _pade(matrix / cast(factor, matrix.dtype), degree)
        valid = op("ExpandDims", op("ExpandDims", op("IsFinite", norm), -1), -1)
        eye = op("MatrixDiag", op("OnesLike", op("MatrixDiagPart", matrix)))
        result = op(
            "MatrixSolve",
            op("SelectV2", valid, even - odd, eye),
            op("SelectV2", valid, even + odd, eye * constant(math.nan, matrix.dtype)),
        )
        rounds = op("Max", op("Reshape", squarings, [-1]), [0])

        def square(i, x):
            return i + constant(1.0, real), op("SelectV2", op("Less", i, column), _matmul(x, x), x)

        _, result = named("while_loop")(
            lambda i, _: op("Less", i, rounds), square, [constant(0.0, real), result]
        )
        result.set_shape(matrix.shape)
        return result


@export(v2="linalg.banded_triangular_solve")
def banded_triangular_solve(
    bands: TensorLike,
    rhs: TensorLike,
    lower: bool = True,
    adjoint: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solves systems of linear equations with banded triangular matrices.

    Args:
      bands: The diagonals, a tensor of shape [..., bands, n]: the main one first if `lower`, else
        last.
      rhs: A tensor of shape [..., n, k].
      lower: Whether the matrices are lower triangles.
      adjoint: Whether to solve with the conjugate transposes.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [..., n, k].
    """
    with scope(name, "banded_triangular_solve"):
        bands = convert_to_tensor(bands)
        rhs = convert_to_tensor(rhs, bands.dtype)
        return op("BandedTriangularSolve", bands, rhs, lower=lower, adjoint=adjoint)


def last_sizes(shape: Any, count: int) -> list[int | None]:
    """Returns the last sizes of a static shape, as far as they are known."""
    return [None] * count if shape.rank is None else shape.as_list()[-count:]


def join_diagonals(above: Any, middle: Any, below: Any) -> Any:
    """Returns three diagonals [..., n] as one tensor [..., 3, n]."""
    return op("ConcatV2", [op("ExpandDims", d, -2) for d in (above, middle, below)], -2)


def stack_diagonals(diagonals: Any, diagonals_format: str) -> Any:
    """Returns the diagonals as one tensor [..., 3, n]; ValueError if the format is unknown."""
    if diagonals_format == "compact":
        return convert_to_tensor(diagonals)
    if diagonals_format == "sequence":
        if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, middle, below = (convert_to_tensor(d) for d in diagonals)
        if not above.shape[:-1].is_compatible_with(middle.shape[:-1]) or not below.shape[
            :-1
        ].is_compatible_with(middle.shape[:-1]):
            raise ValueError(
                f"Tensors representing the three diagonals must have the same shape,except for the "
                f"last dimension, got {above.shape}, {middle.shape}, {below.shape}"
            )
        size = last_sizes(middle.shape, 1)[0]
        padded = []
        for tensor, side, which in ((above, 1, "superdiagonal"), (below, 0, "subdiagonal")):
            own = last_sizes(tensor.shape, 1)[0]
            if own is None or size is None or own == size:
                padded.append(tensor)
                continue
            if own != size - 1:
                raise ValueError(
                    f"Expected {which} to be have length {size} or {size - 1}, got {own}."
                )
            pads = [[0, 0]] * (tensor.shape.rank - 1) + [[0, 1] if side else [1, 0]]
            padded.append(op("Pad", tensor, pads))
        return join_diagonals(padded[0], middle, padded[1])
    if diagonals_format == "matrix":
        matrix = convert_to_tensor(diagonals)
        rows, columns = last_sizes(matrix.shape, 2)
        if rows is not None and columns is not None and rows != columns:
            raise ValueError(
                f"Expected last two dimensions of diagonals to be same, got {rows} and {columns}"
            )
        if rows == 1:  # without a diagonal above and below
            middle = op("MatrixDiagPart", matrix)
            return join_diagonals(op("ZerosLike", middle), middle, op("ZerosLike", middle))
        return named("linalg.diag_part")(matrix, k=(-1, 1), align="LEFT_RIGHT")
    raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")


def _check_tridiagonal(diagonals, rhs):
    """Checks static shapes; returns whether `rhs` has vectors in place of matrices."""
    rank, sides = diagonals.shape.rank, rhs.shape.rank
    if rank is None or sides is None:
        return False
    if rank < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
    if sides not in (rank, rank - 1):
        raise ValueError(f"Expected the rank of rhs to be {rank - 1} or {rank}, got {sides}")
    vector = sides == rank - 1
    if not diagonals.shape[:-2].is_compatible_with(rhs.shape[: rank - 2]):
        raise ValueError(
            f"Batch shapes {diagonals.shape[:-2]} and {rhs.shape[: rank - 2]} are incompatible"
        )
    if diagonals.shape.as_list()[-2] not in (3, None):
        raise ValueError(f"Expected 3 diagonals got {diagonals.shape.as_list()[-2]}")
    return vector


@export("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals: Any,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """Solves systems of linear equations with tridiagonal matrices.

    Args:
      diagonals: By `diagonals_format`: a tensor of shape [..., 3, n] ("compact"), a sequence of
        three tensors ("sequence"), or matrices [..., n, n] ("matrix").
      rhs: A tensor of shape [..., n] or [..., n, k].
      diagonals_format: "compact", "sequence" or "matrix".
      transpose_rhs: Whether `rhs` is transposed before; no effect for vectors.
      conjugate_rhs: Whether `rhs` is conjugated before.
      name: A name for the operation (optional).
      partial_pivoting: Whether rows are exchanged for stability.
      perturb_singular: Whether tiny pivots are replaced.

    Returns:
      A tensor of the shape of the (transposed) `rhs`.

    Raises:
      ValueError: The shapes do not fit, or the format is unknown.
    """
    with scope(name, "tridiagonal_solve"):
        if perturb_singular and not partial_pivoting:
            raise ValueError("partial_pivoting must be True if perturb_singular is.")
        diagonals = stack_diagonals(diagonals, diagonals_format)
        rhs = convert_to_tensor(rhs, diagonals.dtype)
        vector = _check_tridiagonal(diagonals, rhs)
        if vector:
            rhs = op("ExpandDims", rhs, -1)
        elif transpose_rhs:
            rhs = named("linalg.matrix_transpose")(rhs)
        if conjugate_rhs:
            rhs = named("math.conj")(rhs)
        left, right = last_sizes(diagonals.shape, 1)[0], last_sizes(rhs.shape, 2)[0]
        if left is not None and right is not None and left != right:
            raise ValueError(
                "Expected number of left-hand sided and right-hand sides to be equal, got "
                f"{left} and {right}"
            )
        result = op(
            "TridiagonalSolve",
            diagonals,
            rhs,
            partial_pivoting=partial_pivoting,
            perturb_singular=perturb_singular,
        )
        return op("Squeeze", result, squeeze_dims=[-1]) if vector else result


@export("linalg.tridiagonal_matmul")
def tridiagonal_matmul(
    diagonals: Any, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Multiplies tridiagonal matrices by matrices.

    Args:
      diagonals: As in `tf.linalg.tridiagonal_solve`.
      rhs: A tensor of shape [..., n, k].
      diagonals_format: "compact", "sequence" or "matrix".
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `rhs`.

    Raises:
      ValueError: The shapes do not fit, or the format is unknown.
    """
    with scope(name, "tridiagonal_matmul"):
        diagonals = stack_diagonals(diagonals, diagonals_format)
        rhs = convert_to_tensor(rhs, diagonals.dtype)
        above, middle, below = (diagonals[..., i : i + 1, :] for i in range(3))
        return op("TridiagonalMatMul", above, middle, below, rhs)


def _check_lu(lower_upper, perm, rhs, validate_args):
    """Raises ValueError for static shapes that do not fit; returns assertions of others."""
    checks = []

    def check(known, valid, assertion, message):
        if known:
            if not valid():
                raise ValueError(message)
        elif validate_args:
            checks.append(assertion(message))

    debugging, rank = named("debugging.assert_equal"), lower_upper.shape.rank
    message = "Input `lower_upper` must have at least 2 dimensions."
    check(
        rank is not None,
        lambda: rank >= 2,
        lambda m: named("debugging.assert_rank_at_least")(lower_upper, 2, message=m),
        message,
    )
    check(
        rank is not None and perm.shape.rank is not None,
        lambda: rank == perm.shape.rank + 1,
        lambda m: debugging(op("Rank", lower_upper), op("Rank", perm) + 1, message=m),
        "`rank(lower_upper)` must equal `rank(perm) + 1`",
    )
    sizes = lower_upper.shape.as_list()[-2:] if rank is not None else [None, None]
    check(
        None not in sizes,
        lambda: sizes[0] == sizes[1],
        lambda m: debugging(op("Shape", lower_upper)[-2], op("Shape", lower_upper)[-1], message=m),
        "`lower_upper` must be square.",
    )
    if rhs is not None:
        check(
            rhs.shape.rank is not None,
            lambda: rhs.shape.rank >= 2,
            lambda m: named("debugging.assert_rank_at_least")(rhs, 2, message=m),
            "Input `rhs` must have at least 2 dimensions.",
        )
        rows = rhs.shape.as_list()[-2] if rhs.shape.rank is not None else None
        check(
            sizes[1] is not None and rows is not None,
            lambda: sizes[1] == rows,
            lambda m: debugging(op("Shape", lower_upper)[-1], op("Shape", rhs)[-2], message=m),
            "`lower_upper.shape[-1]` must equal `rhs.shape[-1]`.",
        )
    return [check for check in checks if check is not None]


def _lower_part(lower_upper):
    ones = op("OnesLike", op("MatrixDiagPart", lower_upper))
    return op("MatrixSetDiag", op("MatrixBandPart", lower_upper, -1, 0), ones)


def _permute(x, perm):
    """Returns rows perm[..., i] of matrices x; batches are broadcast."""
    rank = max(x.shape.rank or 2, (perm.shape.rank or 1) + 1)
    if rank == 2:
        return op("GatherV2", x, perm, 0)
    batch = named("broadcast_dynamic_shape")(op("Shape", x)[:-2], op("Shape", perm)[:-1])
    x = op("BroadcastTo", x, op("ConcatV2", [batch, op("Shape", x)[-2:]], 0))
    perm = op("BroadcastTo", perm, op("ConcatV2", [batch, op("Shape", perm)[-1:]], 0))
    return named("gather")(x, perm, axis=rank - 2, batch_dims=rank - 2)


def _lu_arguments(lower_upper, perm, rhs, validate_args):
    lower_upper, perm = convert_to_tensor(lower_upper), convert_to_tensor(perm)
    rhs = None if rhs is None else convert_to_tensor(rhs, lower_upper.dtype)
    checks = _check_lu(lower_upper, perm, rhs, validate_args)
    if checks:
        with named("control_dependencies")(checks):
            lower_upper, perm = op("Identity", lower_upper), op("Identity", perm)
            rhs = None if rhs is None else op("Identity", rhs)
    return lower_upper, perm, rhs


@export("linalg.lu_solve")
def lu_solve(
    lower_upper: TensorLike,
    perm: TensorLike,
    rhs: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Solves systems of linear equations by the LU decompositions of their matrices.

    Args:
      lower_upper: The first result of `tf.linalg.lu`, a tensor of shape [..., n, n].
      perm: The second one, a tensor of shape [..., n].
      rhs: A tensor of shape [..., n, k].
      validate_args: Whether shapes that are unknown when the graph is built are checked.
      name: A name for the operation (optional).

    Returns:
      A tensor of shape [..., n, k].
    """
    with scope(name, "lu_solve"):
        lower_upper, perm, rhs = _lu_arguments(lower_upper, perm, rhs, validate_args)
        permuted = _permute(rhs, perm)
        half = op("MatrixTriangularSolve", _lower_part(lower_upper), permuted, lower=True)
        return op("MatrixTriangularSolve", lower_upper, half, lower=False)


@export("linalg.lu_matrix_inverse")
def lu_matrix_inverse(
    lower_upper: TensorLike,
    perm: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the inverses of matrices, given their LU decompositions as in `lu_solve`.

    Args:
      lower_upper: The first result of `tf.linalg.lu`, a tensor of shape [..., n, n].
      perm: The second one, a tensor of shape [..., n].
      validate_args: Whether shapes that are unknown when the graph is built are checked.
      name: A name for the operation (optional).
    """
    with scope(name, "lu_matrix_inverse"):
        lower_upper, perm, _ = _lu_arguments(lower_upper, perm, None, validate_args)
        eye = op("MatrixDiag", op("OnesLike", op("MatrixDiagPart", lower_upper)))
        return lu_solve(lower_upper, perm, eye)


@export("linalg.lu_reconstruct")
def lu_reconstruct(
    lower_upper: TensorLike,
    perm: TensorLike,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes the matrices of LU decompositions as in `lu_solve`.

    Args:
      lower_upper: The first result of `tf.linalg.lu`, a tensor of shape [..., n, n].
      perm: The second one, a tensor of shape [..., n].
      validate_args: Whether shapes that are unknown when the graph is built are checked.
      name: A name for the operation (optional).
    """
    with scope(name, "lu_reconstruct"):
        lower_upper, perm, _ = _lu_arguments(lower_upper, perm, None, validate_args)
        upper = op("MatrixBandPart", lower_upper, 0, -1)
        product = _matmul(_lower_part(lower_upper), upper)
        return _permute(product, cast(named("argsort")(perm, axis=-1), perm.dtype))


@export("linalg.eigh_tridiagonal")
def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: Any = None,
    name: str | None = None,
) -> Any:
    """Computes eigenvalues of a Hermitian tridiagonal matrix.

    Args:
      alpha: The diagonal, a tensor of shape [n]; imaginary parts are ignored.
      beta: The diagonal above it, a tensor of shape [n - 1].
      eigvals_only: Whether only eigenvalues are computed.
      select: Which eigenvalues: "a" all; "v" those in the interval `select_range`; "i" those of the
        indices from `select_range[0]` to `select_range[1]`, both included.
      select_range: A pair of numbers, for `select` "v" and "i".
      tol: Accepted for compatibility: eigenvalues have full precision.
      name: A name for the operation (optional).

    Returns:
      Eigenvalues in ascending order; with `eigvals_only=False` a pair of them and the
      eigenvectors as columns.

    Raises:
      ValueError: The types differ, or `select` is unknown.
    """
    del tol  # the precision is always that of the type
    with scope(name, "eigh_tridiagonal"):
        alpha, beta = convert_to_tensor(alpha), convert_to_tensor(beta)
        if alpha.dtype != beta.dtype:
            raise ValueError("'alpha' and 'beta' must have the same type.")
        if select not in ("a", "i", "v"):
            raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
        if alpha.shape.as_list() == [1]:
            value = named("math.real")(alpha)
            return value if eigvals_only else (value, constant([[1.0]], alpha.dtype))
        middle = cast(named("math.real")(alpha), alpha.dtype)
        below = op("Pad", op("MatrixDiag", named("math.conj")(beta)), [[1, 0], [0, 1]])
        matrix = op("MatrixSetDiag", below, middle)
        values, vectors = op("SelfAdjointEigV2", matrix, compute_v=not eigvals_only)
        values = named("math.real")(values)
        if select == "i":
            first, last = select_range[0], select_range[1]
            check = named("debugging.assert_less_equal")(
                first, last, message="Got empty index range in select_range."
            )
            places = op("Range", first, last + 1, 1)
        elif select == "v":
            low = convert_to_tensor(select_range[0], values.dtype)
            high = convert_to_tensor(select_range[1], values.dtype)
            check = named("debugging.assert_less")(
                low, high, message="Got empty interval in select_range."
            )
            inside = op("LogicalAnd", op("Greater", values, low), op("LessEqual", values, high))
            places = op("Reshape", op("Where", inside), [-1])
        else:
            return values if eigvals_only else (values, vectors)
        with named("control_dependencies")([] if check is None else [check]):
            values = op("GatherV2", values, places, 0)
        return values if eigvals_only else (values, op("GatherV2", vectors, places, 1))


_State = collections.namedtuple("_State", ["i", "x", "r", "p", "gamma"])


@export("linalg.experimental.conjugate_gradient")
def conjugate_gradient(
    operator: Any,
    rhs: TensorLike,
    preconditioner: Any = None,
    x: TensorLike | None = None,
    tol: float = 1e-05,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> Any:
    """Solves linear systems with a self-adjoint positive definite operator iteratively.

    Args:
      operator: A `tf.linalg.LinearOperator`.
      rhs: The right-hand side, a tensor of shape [..., n].
      preconditioner: An operator that approximates the inverse of `operator`, or None.
      x: The initial guess; 0 if it is None.
      tol: The iterations end when the norm of the residual is at most `tol` times that of `rhs`.
      max_iter: The largest number of iterations.
      name: A name for the operation.

    Returns:
      A named tuple (i, x, r, p, gamma): the number of iterations, the solution, the residual, the
      last direction, and the dot product of the residual and the preconditioned residual.

    Raises:
      ValueError: The operator is not known to be self-adjoint and positive definite.
    """
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError("Expected a self-adjoint, positive definite operator.")

    def dot(a, b):
        return op("Sum", named("math.conj")(a) * b, [-1], keep_dims=True)

    def prepare(r):
        return r if preconditioner is None else preconditioner.matvec(r)

    def going(i, _x, r, *_):
        norms = op("Sqrt", named("math.real")(dot(r, r)))
        everything = op("Range", 0, op("Rank", norms), 1)
        open_rows = op("Any", op("Greater", norms, limit), everything)
        return op("LogicalAnd", op("Less", i, max_iter), open_rows)

    def step(i, x, r, p, gamma):
        z = operator.matvec(p)
        alpha = gamma / dot(p, z)
        x, r = x + alpha * p, r - alpha * z
        q = prepare(r)
        following = dot(r, q)
        return _State(i + 1, x, r, q + following / gamma * p, following)

    with scope(name, "conjugate_gradient"):
        rhs = convert_to_tensor(rhs)
        limit = tol * op("Sqrt", named("math.real")(dot(rhs, rhs)))
        start = op("ZerosLike", rhs) if x is None else convert_to_tensor(x, rhs.dtype)
        r0 = rhs if x is None else rhs - operator.matvec(start)
        p0 = prepare(r0)
        first = [constant(0, "int32"), start, r0, p0, dot(r0, p0)]
        i, x, r, p, gamma = named("while_loop")(going, step, first)
        return _State(i, x, r, p, op("Squeeze", gamma, squeeze_dims=[-1]))
