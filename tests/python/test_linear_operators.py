# SPDX-License-Identifier: Apache-2.0
"""test_linear_operators.py: tf.linalg.LinearOperator and its subclasses against dense matrices."""

import numpy
import pytest

import situ as tf

L = tf.linalg


def random(*shape, seed=0, kind="float64"):
    rng = numpy.random.RandomState(seed)
    x = rng.randn(*shape)
    return x if kind == "float64" else x + 1j * rng.randn(*shape)


def full(n=4, seed=0, kind="float64", batch=(2,)):
    return L.LinearOperatorFullMatrix(random(*batch, n, n, seed=seed, kind=kind) + 4 * numpy.eye(n))


def lower(n=3, seed=1):
    return L.LinearOperatorLowerTriangular(random(2, n, n, seed=seed) + 3 * numpy.eye(n))


def block_triangle():
    return L.LinearOperatorBlockLowerTriangular(
        [[full(2)], [L.LinearOperatorFullMatrix(random(3, 2)), lower(3)]]
    )


def definite(n=4):
    x = random(2, n, n)
    matrix = x @ numpy.swapaxes(x, -1, -2) + numpy.eye(n)
    return L.LinearOperatorFullMatrix(matrix, is_self_adjoint=True, is_positive_definite=True)


C = "complex128"
OPERATORS = {
    "full": full,
    "complex": lambda: full(kind=C),
    "definite": definite,
    "lower": lower,
    "diag": lambda: L.LinearOperatorDiag(random(2, 4) + 3),
    "complex_diag": lambda: L.LinearOperatorDiag(random(2, 4, kind=C) + 3),
    "identity": lambda: L.LinearOperatorIdentity(4, batch_shape=[2], dtype="float64"),
    "scaled": lambda: L.LinearOperatorScaledIdentity(4, random(2) + 3),
    "complex_scaled": lambda: L.LinearOperatorScaledIdentity(4, random(2, kind=C) + 3),
    "tridiag": lambda: L.LinearOperatorTridiag(random(2, 3, 5, kind=C) + [[0], [4], [0]]),
    "tridiag_sequence": lambda: L.LinearOperatorTridiag(
        [random(2, 4), random(2, 5) + 4, random(2, 4)], diagonals_format="sequence"
    ),
    "householder": lambda: L.LinearOperatorHouseholder(random(2, 4)),
    "permutation": lambda: L.LinearOperatorPermutation([[1, 2, 0], [2, 1, 0]], dtype="float64"),
    "toeplitz": lambda: L.LinearOperatorToeplitz([5.0, 1.0, 2.0, 3.0], [5.0, -1.0, 0.5, 1.0]),
    "complex_toeplitz": lambda: L.LinearOperatorToeplitz(
        numpy.array([5, 1j, 2 + 1j]), numpy.array([5, -1j, 0.5])
    ),
    "circulant": lambda: L.LinearOperatorCirculant(random(2, 4, kind=C) + 3, C),
    "real_circulant": lambda: L.LinearOperatorCirculant([6.0, 4.0, 2.0, 4.0], "float32"),
    "circulant_2d": lambda: L.LinearOperatorCirculant2D(random(2, 2, 3, kind=C) + 3, C),
    "circulant_3d": lambda: L.LinearOperatorCirculant3D(random(2, 2, 3, kind=C) + 3, C),
    "composition": lambda: L.LinearOperatorComposition([full(4), full(4, 1)]),
    "kronecker": lambda: L.LinearOperatorKronecker([full(2), lower(3), full(2, 5)]),
    "adjoint": lambda: full(kind=C).adjoint(),
    "inversion": lambda: full(kind=C).inverse(),
    "block_diag": lambda: L.LinearOperatorBlockDiag([full(2), lower(3), full(1)]),
    "block_triangle": block_triangle,
    "low_rank": lambda: L.LinearOperatorLowRankUpdate(
        full(4, kind=C), random(2, 4, 2, kind=C), random(2, 2, kind=C), random(2, 4, 2, kind=C)
    ),
    "symmetric_low_rank": lambda: L.LinearOperatorLowRankUpdate(
        L.LinearOperatorDiag(random(4) ** 2 + 1.0, is_positive_definite=True), random(4, 2)
    ),
}


def close(a, b):
    wide = getattr(b, "dtype", a.dtype).itemsize >= 8 and a.dtype not in ("float32", "complex64")
    return numpy.allclose(a, b, atol=1e-8 if wide else 1e-4, rtol=1e-8 if wide else 1e-4)


def adjoint(x):
    return numpy.conj(numpy.swapaxes(x, -1, -2))


@pytest.mark.parametrize("name", OPERATORS)
def test_against_dense(name):
    operator = OPERATORS[name]()
    dense = operator.to_dense().numpy()
    n = dense.shape[-1]
    assert operator.shape == dense.shape and list(operator.shape_tensor()) == list(dense.shape)
    assert operator.is_square and operator.domain_dimension == n
    kind = dense.dtype
    x = random(*dense.shape[:-2], n, 3, seed=7).astype(kind)
    assert close(operator.matmul(x).numpy(), dense @ x)
    assert close(operator.matmul(x, adjoint=True).numpy(), adjoint(dense) @ x)
    assert close(operator.matmul(adjoint(x), adjoint_arg=True).numpy(), dense @ x)
    assert close(operator.matvec(x[..., 0]).numpy(), (dense @ x)[..., 0])
    assert close(dense @ operator.solve(x).numpy(), x)
    assert close(adjoint(dense) @ operator.solve(x, adjoint=True).numpy(), x)
    assert close(dense @ operator.solve(adjoint(x), adjoint_arg=True).numpy(), x)
    assert close(operator.solvevec(x[..., 0]).numpy(), numpy.linalg.solve(dense, x)[..., 0])
    assert close(operator.determinant().numpy(), numpy.linalg.det(dense))
    assert close(operator.log_abs_determinant().numpy(), numpy.linalg.slogdet(dense)[1])
    assert close(operator.trace().numpy(), numpy.trace(dense, axis1=-2, axis2=-1))
    assert close(operator.diag_part().numpy(), numpy.diagonal(dense, axis1=-2, axis2=-1))
    assert close(operator.add_to_tensor(dense).numpy(), 2 * dense)
    assert close(operator.adjoint().to_dense().numpy(), adjoint(dense))
    assert close(operator.inverse().to_dense().numpy(), numpy.linalg.inv(dense))
    assert close((operator @ operator).to_dense().numpy(), dense @ dense)
    if "triangular" not in type(operator).__name__.lower():
        assert close(operator.cond().numpy(), numpy.linalg.cond(dense))
    if operator.is_self_adjoint:
        values = numpy.sort(operator.eigvals().numpy())
        assert close(values, numpy.linalg.eigvalsh(dense))
        operator.assert_self_adjoint()
    operator.assert_non_singular()
    if operator.is_self_adjoint and operator.is_positive_definite:
        root = operator.cholesky().to_dense().numpy()
        assert close(root @ adjoint(root), dense)


@pytest.mark.parametrize("name", OPERATORS)
def test_in_graph(name):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        operator = OPERATORS[name]()
        dense = session.run(operator.to_dense())
        x = random(*dense.shape[:-2], dense.shape[-1], 3, seed=7).astype(dense.dtype)
        product, solution = session.run([operator.matmul(x), operator.solve(x)])
        assert close(product, dense @ x) and close(dense @ solution, x)


def test_broadcast():
    x = random(3, 1, 4, 2)
    for operator in (full(), L.LinearOperatorDiag(random(2, 4) + 3), OPERATORS["scaled"]()):
        dense = operator.to_dense().numpy()
        assert close(operator.matmul(x).numpy(), dense @ x)
        assert close(dense @ operator.solve(x).numpy(), numpy.broadcast_to(x, [3, 2, 4, 2]))


def test_zeros():
    zeros = L.LinearOperatorZeros(3, dtype="float64")
    assert not zeros.to_dense().numpy().any() and zeros.is_non_singular is False
    assert zeros.matmul(random(3, 2)).numpy().shape == (3, 2)
    with pytest.raises(NotImplementedError, match="expected to be singular"):
        zeros.solve(random(3, 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match="always non-invertible"):
        zeros.assert_non_singular()
    with pytest.raises(ValueError, match="is_square=True, but got"):
        L.LinearOperatorZeros(3, 2)


def test_blocks():
    operator = OPERATORS["block_diag"]()
    dense = operator.to_dense().numpy()
    x = random(2, 6, 2)
    blocks = [tf.constant(x[:, :2]), tf.constant(x[:, 2:5]), tf.constant(x[:, 5:])]
    result = operator.matmul(blocks)
    assert close(numpy.concatenate([r.numpy() for r in result], 1), dense @ x)
    result = block_triangle().solve([tf.constant(x[:, :2]), tf.constant(x[:, 2:5])])
    dense = block_triangle().to_dense().numpy()
    assert close(dense @ numpy.concatenate([r.numpy() for r in result], 1), x[:, :5])


def test_algebra():
    diag = L.LinearOperatorDiag([1.0, 2.0])
    identity = L.LinearOperatorIdentity(2)
    assert identity.matmul(diag) is diag and diag.matmul(identity) is diag
    assert isinstance(diag @ diag, L.LinearOperatorDiag)
    assert isinstance(diag.inverse(), L.LinearOperatorDiag)
    assert isinstance(full().inverse(), L.LinearOperatorInversion)
    assert full().adjoint().adjoint().matrix is not None
    gram = L.LinearOperatorComposition([lower(), lower().adjoint()])
    assert gram.is_self_adjoint is None
    triangle = lower()
    gram = L.LinearOperatorComposition([triangle, triangle.adjoint()])
    assert gram.is_self_adjoint


def test_hints_and_errors():
    with pytest.raises(ValueError, match="always non-singular"):
        full_matrix = random(2, 2)
        L.LinearOperatorFullMatrix(full_matrix, is_positive_definite=True, is_non_singular=False)
    with pytest.raises(ValueError, match="always self adjoint"):
        L.LinearOperatorDiag([1.0], is_self_adjoint=False)
    with pytest.raises(TypeError, match="Expected argument to have dtype"):
        full().matmul(tf.constant([[1.0]]))
    with pytest.raises(ValueError, match="unique integers"):
        L.LinearOperatorPermutation([0, 0])
    with pytest.raises(ValueError, match="same as"):
        L.LinearOperatorBlockLowerTriangular([[full(2)], [full(3), full(3)]])
    with pytest.raises(ValueError, match="Operators are incompatible"):
        full(3) @ full(4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Singular operator"):
        L.LinearOperatorDiag([1.0, 0.0]).assert_non_singular()
    with pytest.raises(NotImplementedError, match="Only self-adjoint"):
        full().eigvals()


def test_gradient():
    u = tf.Variable(random(4, 2))
    with tf.GradientTape() as tape:
        operator = L.LinearOperatorLowRankUpdate(
            L.LinearOperatorDiag(random(4) ** 2 + 1, is_positive_definite=True), u
        )
        y = operator.log_abs_determinant()
    dense = operator.to_dense().numpy()
    assert close(tape.gradient(y, u).numpy(), 2 * numpy.linalg.inv(dense) @ u.numpy())


def test_conjugate_gradient():
    operator, rhs = definite(), random(2, 4)
    state = L.experimental.conjugate_gradient(operator, rhs, tol=1e-12, max_iter=50)
    expected = numpy.linalg.solve(operator.to_dense().numpy(), rhs[..., None])[..., 0]
    assert numpy.allclose(state.x.numpy(), expected, atol=1e-8)


def test_variables():
    diag, u = tf.Variable([1.0, 2.0]), tf.Variable([[1.0], [1.0]])
    base = L.LinearOperatorDiag(diag, is_positive_definite=True)
    operator = L.LinearOperatorLowRankUpdate(base, u)
    assert {v.ref() for v in operator.variables} == {diag.ref(), u.ref()}
    diag.assign([3.0, 4.0])
    assert operator.to_dense().numpy().tolist() == [[4.0, 1.0], [1.0, 5.0]]
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(operator.diag_part())
    assert tape.gradient(y, diag).numpy().tolist() == [1.0, 1.0]
    for kind in (L.LinearOperatorFullMatrix, L.LinearOperatorLowerTriangular):
        matrix = tf.Variable([[1.0, 0.0], [0.0, 2.0]])
        assert kind(matrix).determinant().numpy() == 2.0 and kind(matrix).variables
