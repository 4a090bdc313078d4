# SPDX-License-Identifier: Apache-2.0
"""test_sparse.py: sparse tensors: fed and fetched, multiplied, choosing rows of tables. The numbers
are TensorFlow's."""

import numpy as np
import pytest

import situ.compat.v1 as tf

TABLE = np.arange(10, dtype="f").reshape(5, 2)


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def test_sparse_tensors_are_fed_and_fetched():
    fed = tf.sparse_placeholder(tf.float32, [3, 4])
    free = tf.sparse_placeholder(tf.float32)
    value = tf.SparseTensorValue([[0, 1], [2, 3]], [1.5, 2.5], [3, 4])
    dense = tf.sparse_tensor_to_dense(free)
    found, back = _run([dense, free], {free: value})
    assert found[0, 1] == 1.5 and found[2, 3] == 2.5 and found.sum() == 4.0
    assert isinstance(back, tf.SparseTensorValue) and back.dense_shape.tolist() == [3, 4]
    assert fed.get_shape().as_list() == [3, 4]
    product = tf.sparse_tensor_dense_matmul(fed, tf.constant(np.arange(8, dtype="f").reshape(4, 2)))
    np.testing.assert_allclose(
        _run(product, {fed: ([[0, 1], [2, 3]], [1.5, 2.5], [3, 4])}),
        [[3.0, 4.5], [0, 0], [15.0, 17.5]],
    )


def test_products_and_their_gradients():
    a = tf.SparseTensor([[0, 0], [0, 2], [1, 2]], tf.constant([2.0, 3.0, 4.0]), [2, 3])
    b = tf.get_variable("b", initializer=np.arange(6, dtype="f").reshape(3, 2))
    c = tf.constant(np.arange(4, dtype="f").reshape(2, 2))
    y = tf.sparse_tensor_dense_matmul(a, b)
    turned = tf.sparse_tensor_dense_matmul(a, c, adjoint_a=True, adjoint_b=True)
    made, other, db, da = _run(
        [y, turned, tf.convert_to_tensor(tf.gradients(y, b)[0]), tf.gradients(y, a.values)[0]]
    )
    matrix = np.array([[2.0, 0, 3], [0, 0, 4]])
    np.testing.assert_allclose(made, matrix @ np.arange(6).reshape(3, 2))
    np.testing.assert_allclose(other, matrix.T @ np.arange(4).reshape(2, 2).T)
    np.testing.assert_allclose(db, matrix.T @ np.ones((2, 2)))
    np.testing.assert_allclose(da, [1, 9, 9])


def test_segments():
    data, ids, parts = tf.constant(TABLE), [4, 0, 4], [0, 0, 2]
    total, mean, root = _run(
        [
            f(data, ids, parts)
            for f in (tf.sparse_segment_sum, tf.sparse_segment_mean, tf.sparse_segment_sqrt_n)
        ]
    )
    np.testing.assert_allclose(total, [[8, 10], [0, 0], [8, 9]])
    np.testing.assert_allclose(mean, [[4, 5], [0, 0], [8, 9]])
    np.testing.assert_allclose(root, [[8 / 2**0.5, 10 / 2**0.5], [0, 0], [8, 9]], rtol=1e-6)


IDS = ([[0, 0], [0, 1], [1, 0], [3, 1]], [1, 3, 0, 4], [4, 2])
WEIGHTS = (IDS[0], np.array([2.0, 0.5, 1.0, 3.0], "f"), IDS[2])
WANT = {  # by combiner: without and with weights
    "sum": ([[8, 10], [0, 1], [0, 0], [8, 9]], [[7, 9.5], [0, 1], [0, 0], [24, 27]]),
    "mean": ([[4, 5], [0, 1], [0, 0], [8, 9]], [[2.8, 3.8], [0, 1], [0, 0], [8, 9]]),
    "sqrtn": (
        [[5.656854, 7.071068], [0, 1], [0, 0], [8, 9]],
        [[3.3955, 4.6081786], [0, 1], [0, 0], [8, 9]],
    ),
}


@pytest.mark.parametrize("combiner", WANT)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_tables_are_combined(combiner, weighted):
    w = tf.get_variable("w", initializer=TABLE)
    ids = tf.SparseTensor(IDS[0], tf.constant(IDS[1], tf.int64), IDS[2])
    weights = tf.SparseTensor(*WEIGHTS) if weighted else None
    found = tf.nn.embedding_lookup_sparse(w, ids, weights, combiner=combiner)
    grad = tf.gradients(found, w)[0]
    assert isinstance(grad, tf.IndexedSlices)
    np.testing.assert_allclose(_run(found), WANT[combiner][weighted], rtol=1e-5)


def test_wrong_combiners():
    ids = tf.SparseTensor([[0, 0]], tf.constant([1], tf.int64), [1, 1])
    with pytest.raises(ValueError, match="combiner must be one of"):
        tf.nn.embedding_lookup_sparse(tf.constant(TABLE), ids, None, combiner="max")
    with pytest.raises(TypeError, match="sp_ids must be a SparseTensor"):
        tf.nn.embedding_lookup_sparse(tf.constant(TABLE), [1], None)


@pytest.mark.parametrize("combiner", WANT)
@pytest.mark.parametrize("weighted", [False, True])
def test_ragged_ids_are_combined_as_sparse_ones(combiner, weighted):
    splits = tf.constant([0, 2, 3, 3, 4], tf.int64)
    ids = tf.RaggedTensor.from_row_splits(tf.constant(IDS[1], tf.int64), splits)
    weights = tf.RaggedTensor.from_row_splits(tf.constant(WEIGHTS[1]), splits) if weighted else None
    found = tf.nn.embedding_lookup_sparse(
        tf.constant(TABLE), ids, weights, combiner=combiner, allow_fast_lookup=True
    )
    np.testing.assert_allclose(_run(found), WANT[combiner][weighted], rtol=1e-5)
    with pytest.raises(TypeError, match="sp_weights must be"):
        tf.nn.embedding_lookup_sparse(tf.constant(TABLE), ids, tf.SparseTensor(*WEIGHTS))


def test_invalid_ids_are_ignored_in_safe_lookups():
    ids = tf.SparseTensor(
        [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 0]],
        tf.constant([1, -1, -1, 3], tf.int64),
        [2, 2, 2],
    )
    weights = tf.SparseTensor(ids.indices, tf.constant([2.0, 1.0, 1.0, 4.0]), ids.dense_shape)
    table = tf.constant(TABLE)
    found = tf.nn.safe_embedding_lookup_sparse(table, ids, weights, combiner="sum")
    assert found.shape.as_list() == [2, 2, 2]
    rows = np.asarray(TABLE)
    want = np.array([[2 * rows[1], 0 * rows[1]], [0 * rows[1], 4 * rows[3]]])
    np.testing.assert_allclose(_run(found), want)
    filled = tf.nn.safe_embedding_lookup_sparse(table, ids, combiner="mean", default_id=2)
    want = np.array([[rows[1], rows[2]], [rows[2], rows[3]]])
    np.testing.assert_allclose(_run(filled), want)
    with pytest.raises(ValueError, match="Missing embedding_weights"):
        tf.nn.safe_embedding_lookup_sparse([], ids)
