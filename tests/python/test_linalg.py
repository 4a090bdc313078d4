# SPDX-License-Identifier: Apache-2.0
"""test_linalg.py: decompositions and systems of real and complex matrices, and their gradients."""

import numpy
import pytest

import situ as tf

TYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(1, 1), (5, 5), (7, 3), (3, 7), (2, 3, 6, 4), (40, 40), (30, 2), (0, 3), (3, 0)]


def random(kind, *shape, seed=0):
    rng = numpy.random.RandomState(seed)
    x = rng.randn(*shape)
    if "complex" in kind:
        x = x + 1j * rng.randn(*shape)
    return numpy.asarray(x, kind)


def adjoint(x):
    return numpy.conj(numpy.swapaxes(x, -1, -2))


def close(a, b, kind, factor=1.0):
    tolerance = factor * (2e-4 if kind in ("float32", "complex64") else 1e-10)
    return numpy.allclose(a, b, atol=tolerance, rtol=tolerance)


def is_unitary(x, kind):
    return close(adjoint(x) @ x, numpy.eye(x.shape[-1]), kind)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_qr_and_svd(kind, shape, full):
    a = random(kind, *shape)
    q, r = (x.numpy() for x in tf.linalg.qr(a, full_matrices=full))
    assert close(q @ r, a, kind) and is_unitary(q, kind)
    assert close(r, numpy.triu(r) if r.ndim == 2 else r, kind)
    s, u, v = (x.numpy() for x in tf.linalg.svd(a, full_matrices=full))
    assert s.dtype == numpy.zeros(1, kind).real.dtype
    k = min(shape[-2:])
    assert close((u[..., :k] * s[..., None, :]) @ adjoint(v[..., :k]), a, kind)
    assert is_unitary(u, kind) and is_unitary(v, kind)
    assert close(tf.linalg.svd(a, compute_uv=False).numpy(), s, kind)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 50])
def test_eigenvalues(kind, n):
    a = random(kind, 2, n, n)
    hermitian = a + adjoint(a)
    e, v = (x.numpy() for x in tf.linalg.eigh(hermitian))
    assert close(hermitian @ v, v * e[..., None, :], kind, 10) and is_unitary(v, kind)
    assert close(e, numpy.linalg.eigvalsh(hermitian) if n else e, kind, 10)
    e, v = (x.numpy() for x in tf.linalg.eig(a))
    assert close(a @ v, v * e[..., None, :], kind, 10)
    assert close(numpy.sort(tf.linalg.eigvals(a).numpy().real), numpy.sort(e.real), kind, 10)


def test_rank_deficient_and_repeated():
    for a in (numpy.ones([4, 3]), numpy.zeros([3, 3]), numpy.diag([2.0, 2.0, 0.0, 0.0])):
        s, u, v = (x.numpy() for x in tf.linalg.svd(a))
        assert numpy.allclose((u * s) @ v.T, a) and is_unitary(u, "float64")
        assert numpy.allclose(s, numpy.linalg.svd(a, compute_uv=False), atol=1e-12)
    e, v = (x.numpy() for x in tf.linalg.eigh(numpy.eye(6)))
    assert numpy.allclose(e, 1) and is_unitary(v, "float64")


def test_not_finite():
    bad = numpy.full([2, 2], numpy.nan)
    assert all(numpy.isnan(x.numpy()).all() for x in tf.linalg.svd(bad))
    with pytest.raises(tf.errors.InvalidArgumentError, match="decomposition was not successful"):
        tf.linalg.eigh(bad)
    with pytest.raises(tf.errors.InvalidArgumentError, match="decomposition was not successful"):
        tf.linalg.eig(bad)


@pytest.mark.parametrize("kind", TYPES)
def test_systems(kind):
    a = random(kind, 2, 4, 4) + 4 * numpy.eye(4).astype(kind)
    b = random(kind, 2, 4, 3, seed=1)
    assert close(tf.linalg.inv(a).numpy() @ a, numpy.eye(4), kind)
    assert close(adjoint(a) @ tf.linalg.inv(a, adjoint=True).numpy(), numpy.eye(4), kind)
    assert close(a @ tf.linalg.solve(a, b).numpy(), b, kind)
    assert close(adjoint(a) @ tf.linalg.solve(a, b, adjoint=True).numpy(), b, kind)
    assert close(tf.linalg.det(a).numpy(), numpy.linalg.det(a), kind, 100)
    sign, log = (x.numpy() for x in tf.linalg.slogdet(a))
    assert close(sign * numpy.exp(log), numpy.linalg.det(a), kind, 100)
    lower = numpy.tril(a)
    assert close(lower @ tf.linalg.triangular_solve(a, b).numpy(), b, kind)
    assert close(adjoint(lower) @ tf.linalg.triangular_solve(a, b, adjoint=True).numpy(), b, kind)
    assert close(lower @ tf.linalg.triangular_solve(a, b[0]).numpy(), b[:1], kind)  # broadcast
    positive = a @ adjoint(a)
    root = tf.linalg.cholesky(positive).numpy()
    assert close(root @ adjoint(root), positive, kind, 10)
    assert close(tf.linalg.logdet(positive).numpy(), 2 * log.real, kind, 10)
    root = tf.linalg.sqrtm(positive).numpy()
    assert close(root @ root, positive, kind, 10)


@pytest.mark.parametrize("kind", TYPES)
def test_lu(kind):
    a = random(kind, 3, 4, 4)
    lu, p = tf.linalg.lu(a, output_idx_type=tf.int64)
    assert p.dtype == tf.int64
    assert close(tf.linalg.lu_reconstruct(lu, p).numpy(), a, kind)
    assert close(tf.linalg.lu_matrix_inverse(lu, p).numpy() @ a, numpy.eye(4), kind, 100)
    b = random(kind, 3, 4, 2, seed=1)
    assert close(a @ tf.linalg.lu_solve(lu, p, b).numpy(), b, kind, 100)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input is not invertible"):
        tf.linalg.lu(numpy.zeros([2, 2], kind))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_least_squares(kind, shape):
    a, b = random(kind, *shape), random(kind, shape[0], 2, seed=1)
    expected = numpy.linalg.lstsq(a, b, None)[0]
    for fast in (True, False):
        assert close(tf.linalg.lstsq(a, b, fast=fast).numpy(), expected, kind, 100)
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank deficient"):
        tf.linalg.lstsq(numpy.zeros_like(a), b)


@pytest.mark.parametrize("kind", TYPES)
def test_banded(kind):
    diagonals, b = random(kind, 2, 3, 5), random(kind, 2, 5, 2, seed=1)
    dense = numpy.zeros([2, 5, 5], kind)
    for i in range(5):
        dense[:, i, i] = diagonals[:, 1, i]
        if i < 4:
            dense[:, i, i + 1], dense[:, i + 1, i] = diagonals[:, 0, i], diagonals[:, 2, i + 1]
    assert close(tf.linalg.tridiagonal_matmul(diagonals, b).numpy(), dense @ b, kind)
    for pivoting in (True, False):
        x = tf.linalg.tridiagonal_solve(diagonals, b, partial_pivoting=pivoting).numpy()
        assert close(dense @ x, b, kind, 100)
    x = tf.linalg.tridiagonal_solve(dense, b, diagonals_format="matrix").numpy()
    assert close(dense @ x, b, kind, 100)
    bands = diagonals[:, 1:]
    triangle = numpy.tril(dense)
    assert close(triangle @ tf.linalg.banded_triangular_solve(bands, b).numpy(), b, kind, 100)
    x = tf.linalg.banded_triangular_solve(bands, b, adjoint=True).numpy()
    assert close(adjoint(triangle) @ x, b, kind, 100)


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_exponential_and_logarithm(kind):
    a = random(kind, 2, 4, 4)
    assert close(tf.linalg.logm(tf.linalg.expm(a * 0.3)).numpy(), a * 0.3, kind, 10)
    values, vectors = numpy.linalg.eig(a)
    expected = vectors * numpy.exp(values)[:, None, :] @ numpy.linalg.inv(vectors)
    assert close(tf.linalg.expm(a).numpy(), expected, kind, 10)


def of(f, *xs):
    """Checks gradients of a complex function against differences."""
    weights = None

    def loss(tensors):
        nonlocal weights
        y = f(*tensors)
        weights = random("complex128", *y.shape, seed=9) if weights is None else weights
        return tf.reduce_sum(tf.math.real(y * tf.constant(weights)))

    tensors = [tf.constant(x) for x in xs]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        value = loss(tensors)
    for i, gradient in enumerate(tape.gradient(value, tensors)):
        direction = random("complex128", *xs[i].shape, seed=11 + i)
        ends = []
        for step in (1e-6, -1e-6):
            moved = list(tensors)
            moved[i] = tf.constant(xs[i] + step * direction)
            ends.append(float(loss(moved).numpy()))
        expected = (ends[0] - ends[1]) / 2e-6
        found = numpy.sum(numpy.conj(gradient.numpy()) * direction).real
        assert abs(expected - found) <= 1e-5 * max(1.0, abs(expected))


def spectrum(values, left, right):
    scaled = left * tf.cast(values**2, left.dtype)
    return tf.matmul(scaled, right, adjoint_b=True)


def positive(x):
    return tf.matmul(x, x, adjoint_b=True) + tf.eye(3, dtype=x.dtype)


GRADIENTS = {
    "det": tf.linalg.det,
    "inv": tf.linalg.inv,
    "cholesky": lambda x: tf.linalg.cholesky(positive(x)),
    "sqrtm": lambda x: tf.linalg.sqrtm(positive(x)),
    "expm": tf.linalg.expm,
    "eig": lambda x: tf.reduce_sum(tf.linalg.eig(x)[0] ** 3),
    "eigh": lambda x: (lambda e, v: spectrum(e, v, v))(*tf.linalg.eigh(positive(x))),
    "eigvalsh": lambda x: tf.linalg.eigvalsh(positive(x)) ** 2,
    "svd": lambda x: spectrum(*tf.linalg.svd(x)),
    "svd_of_wide": lambda x: spectrum(*tf.linalg.svd(x[:2])),
    "svd_of_deep": lambda x: spectrum(*tf.linalg.svd(x[:, :2])),
    "singular_values": lambda x: tf.cast(tf.linalg.svd(x, compute_uv=False), "complex128") ** 2,
    "q": lambda x: tf.linalg.qr(x)[0],
    "r": lambda x: tf.linalg.qr(x)[1],
    "qr_of_wide": lambda x: tf.matmul(*tf.linalg.qr(x[:2])),
    "q_of_deep": lambda x: tf.linalg.qr(x[:, :2])[0],
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_of_matrix(name):
    of(GRADIENTS[name], random("complex128", 3, 3) + 3 * numpy.eye(3))


def test_gradients_of_systems():
    a, b = random("complex128", 3, 3) + 3 * numpy.eye(3), random("complex128", 3, 2, seed=1)
    for adj in (True, False):
        of(lambda x, y, adj=adj: tf.linalg.solve(x, y, adjoint=adj), a, b)
        for lower in (True, False):
            options = {"adjoint": adj, "lower": lower}
            of(lambda x, y, o=options: tf.linalg.triangular_solve(x, y, **o), a, b)
            of(lambda x, y, o=options: tf.linalg.banded_triangular_solve(x, y, **o), a[:2] + 1, b)
    of(tf.linalg.tridiagonal_solve, a, b)
    of(tf.linalg.tridiagonal_matmul, a, b)
    of(tf.linalg.lstsq, random("complex128", 5, 2), random("complex128", 5, 2, seed=3))
    of(tf.linalg.lstsq, random("complex128", 2, 5), random("complex128", 2, 2, seed=3))


def test_restrictions_of_gradients():
    with tf.GradientTape() as tape:
        x = tf.constant(random("float32", 5, 3))
        tape.watch(x)
        y = tf.linalg.qr(x, full_matrices=True)[0]
    with pytest.raises(NotImplementedError, match="nrows > ncols and full_matrices is true"):
        tape.gradient(y, x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.linalg.svd(x, full_matrices=True)[1]
    with pytest.raises(NotImplementedError, match="not implemented for abs\\(m - n\\) > 1"):
        tape.gradient(y, x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.linalg.lu(x[:3])[0]
    with pytest.raises(LookupError, match="No gradient defined"):
        tape.gradient(y, x)


def test_errors():
    for function in (tf.linalg.inv, tf.linalg.cholesky, tf.linalg.eigh, tf.linalg.sqrtm):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Input matrix must be square"):
            function(numpy.ones([2, 3]))
        with pytest.raises(tf.errors.InvalidArgumentError, match="must have rank >= 2, got 1"):
            function(numpy.ones([3]))
        with tf.Graph().as_default(), pytest.raises(ValueError, match="are 2 and 3"):
            function(tf.constant(numpy.ones([2, 3])))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input matrix is not invertible"):
        tf.linalg.solve(numpy.zeros([2, 2]), numpy.ones([2, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="rhs are incompatible"):
        tf.linalg.solve(numpy.eye(2), numpy.ones([3, 1]))
    with pytest.raises(TypeError, match="float"):
        tf.linalg.pinv(numpy.ones([2, 2], "int32"))


def test_half():
    a = random("float64", 4, 3).astype("float16")
    q, r = tf.linalg.qr(a)
    assert q.dtype == tf.float16 and numpy.allclose(q.numpy() @ r.numpy(), a, atol=1e-2)
    with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.NotFoundError)):
        tf.linalg.svd(a)  # no kernel, as in TensorFlow


def test_gradients_of_tridiagonal_systems_of_unknown_rank():
    diagonals, rhs = random("float64", 2, 3, 4) + 3, random("float64", 2, 4, 2, seed=1)
    weights = random("float64", 2, 4, 2, seed=2)

    def gradients(a, b):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            product = tf.linalg.tridiagonal_matmul(a, b)
            loss = tf.reduce_sum(tf.linalg.tridiagonal_solve(a, product * product) * weights)
        return tape.gradient(loss, [a, b])

    want = gradients(tf.constant(diagonals), tf.constant(rhs))
    unknown = [tf.TensorSpec(None, tf.float64)] * 2
    for a, b in zip(tf.function(gradients, input_signature=unknown)(diagonals, rhs), want):
        numpy.testing.assert_allclose(a, b)


def test_transposed_right_hand_sides():
    diagonals, rhs = random("complex128", 2, 3, 4) + 3, random("complex128", 2, 2, 4, seed=1)
    for conjugate in (False, True):
        got = tf.linalg.tridiagonal_solve(
            diagonals, rhs, transpose_rhs=True, conjugate_rhs=conjugate
        )
        moved = numpy.swapaxes(rhs.conj() if conjugate else rhs, 1, 2)
        numpy.testing.assert_allclose(got, tf.linalg.tridiagonal_solve(diagonals, moved))
