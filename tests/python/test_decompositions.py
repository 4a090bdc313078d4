# SPDX-License-Identifier: Apache-2.0
"""test_decompositions.py: QR, singular value and eigenvalue decompositions; least squares."""

import numpy
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def run(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def turned(x):
    return numpy.swapaxes(x, -1, -2)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3), (1, 1), (5, 1)])
@pytest.mark.parametrize("full", [False, True])
def test_products_give_the_matrix_back(shape, full):
    a = numpy.random.RandomState(0).randn(*shape)
    q, r = run(tf.qr(a, full_matrices=full))
    s, u, v = run(tf.svd(a, full_matrices=full))
    k = min(shape[-2:])
    assert numpy.allclose(q @ r, a) and numpy.allclose(turned(q) @ q, numpy.eye(q.shape[-1]))
    assert numpy.allclose(numpy.tril(r, -1), 0) and q.shape[-1] == (shape[-2] if full else k)
    assert numpy.allclose(s, numpy.linalg.svd(a, compute_uv=False))
    assert numpy.allclose(u[..., :k] * s[..., None, :] @ turned(v[..., :k]), a)
    assert numpy.allclose(turned(u) @ u, numpy.eye(u.shape[-1]))
    assert numpy.allclose(turned(v) @ v, numpy.eye(v.shape[-1]))
    assert u.shape[-1] == (shape[-2] if full else k) and v.shape[-1] == (shape[-1] if full else k)


def test_matrices_that_are_not_whole():
    a = numpy.outer([1, 2, 3, 4.0], [1, 1, 0.0])
    s, u, v = run(tf.svd(a, full_matrices=True))
    assert numpy.allclose(s, [numpy.sqrt(60), 0, 0]) and numpy.allclose(u.T @ u, numpy.eye(4))
    assert run(tf.linalg.matrix_rank(tf.constant(a))) == 1
    assert numpy.allclose(run(tf.linalg.pinv(tf.constant(a))), numpy.linalg.pinv(a))
    assert run(tf.svd(numpy.zeros((2, 2)), compute_uv=False)).tolist() == [0, 0]


def test_eigenvalues_and_their_gradients():
    random = numpy.random.RandomState(0)
    a = random.randn(2, 4, 4)
    a = a + turned(a)
    weights = random.randn(2, 4)
    x = tf.constant(a)
    e, v = tf.self_adjoint_eig(x)
    square = tf.square(v)
    slope = tf.gradients(tf.reduce_sum(e * weights) + tf.reduce_sum(square[:, 0] * weights), x)[0]
    values, vectors, slope = run([e, v, slope])
    assert numpy.allclose(values, numpy.linalg.eigvalsh(a))
    assert numpy.allclose(a @ vectors, vectors * values[:, None])

    def total(m):
        e, v = numpy.linalg.eigh(m)
        return (e * weights).sum() + (v[:, 0] ** 2 * weights).sum()

    for i, j in ((0, 0), (2, 1), (3, 3)):
        moved = a.copy()
        moved[1, i, j] += 1e-6
        if i != j:
            moved[1, j, i] += 1e-6
        assert abs((total(moved) - total(a)) / 1e-6 - slope[1, i, j]) < 1e-4


def test_least_squares():
    a, b = numpy.random.RandomState(0).randn(6, 3), numpy.arange(6.0)[:, None]
    assert numpy.allclose(run(tf.matrix_solve_ls(a, b)), numpy.linalg.lstsq(a, b, None)[0])
    chol = numpy.linalg.cholesky(a.T @ a)
    assert numpy.allclose(run(tf.cholesky_solve(chol, a.T @ b)), numpy.linalg.lstsq(a, b, None)[0])


def test_orthogonal_first_values():
    w = run(tf.get_variable("w", [3, 5], initializer=tf.orthogonal_initializer(2.0)))
    assert numpy.allclose(w @ w.T, 4 * numpy.eye(3), atol=1e-5)


def test_slices_of_known_sizes_have_known_shapes():
    image, place = tf.zeros([40, 40, 3]), tf.placeholder(tf.int32, [3])
    assert tf.slice(image, place, [32, -1, 3]).shape.as_list() == [32, None, 3]
    assert tf.random_crop(image, [32, 32, 3]).shape.as_list() == [32, 32, 3]
    with pytest.raises(ValueError, match="size"):
        tf.slice(image, place, [32, 41, 3])
