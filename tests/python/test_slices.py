# SPDX-License-Identifier: Apache-2.0
"""test_slices.py: tf.IndexedSlices as gradients in graph style: creating, adding, clipping,
fetching, applying."""

import json
import os

import numpy as np
import pytest

import situ.compat.v1 as tf

with open(
    os.path.join(os.path.dirname(__file__), "..", "golden", "optimizers.json"), encoding="utf-8"
) as _file:
    GOLDEN = json.load(_file)
CASES = GOLDEN["graph"]
ROWS = np.arange(12, dtype="f").reshape(6, 2)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def _run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def test_gradient_of_gather_is_its_rows():
    w = tf.get_variable("w", initializer=ROWS)
    taken = tf.gather(w, [4, 1, 4])
    grad = tf.gradients(taken * taken, w)[0]
    assert isinstance(grad, tf.IndexedSlices)
    assert grad.shape.as_list() == [6, 2] and grad.dtype == tf.float32
    found = _run(grad)
    assert type(found).__name__ == "IndexedSlicesValue"
    assert found.indices.tolist() == [4, 1, 4] and found.dense_shape.tolist() == [6, 2]
    np.testing.assert_allclose(found.values, 2 * ROWS[[4, 1, 4]])
    want = np.zeros((6, 2))
    want[4], want[1] = 4 * ROWS[4], 2 * ROWS[1]
    np.testing.assert_allclose(_run(tf.convert_to_tensor(grad)), want)
    np.testing.assert_allclose(_run(-grad).values, -2 * ROWS[[4, 1, 4]])


@pytest.mark.parametrize("ids", [3, [[0, 1], [1, 5]], np.zeros((0,), "i")])
@pytest.mark.parametrize("known", [True, False])
def test_every_shape_of_indices(ids, known):
    w = tf.get_variable("w", initializer=ROWS) if known else tf.placeholder(tf.float32)
    places = tf.constant(ids, tf.int64) if known else tf.placeholder(tf.int64)
    grad = tf.gradients(tf.nn.embedding_lookup(w, places), w)[0]
    feeds = {} if known else {w: ROWS, places: ids}
    found, dense = _run([grad, tf.convert_to_tensor(grad)], feeds)
    flat = np.reshape(ids, [-1])
    assert found.indices.tolist() == flat.tolist() and found.values.shape == (len(flat), 2)
    want = np.zeros((6, 2))
    np.add.at(want, flat.astype(int), 1)
    np.testing.assert_allclose(dense, want)


def test_rows_of_several_places_are_joined():
    w = tf.get_variable("w", initializer=ROWS)
    loss = tf.reduce_sum(tf.gather(w, [1, 2])) + tf.reduce_sum(3 * tf.gather(w, tf.constant([2])))
    found = _run(tf.gradients(loss, w)[0])
    rows = sorted(zip(found.indices.tolist(), found.values[:, 0].tolist()))
    assert rows == [(1, 1.0), (2, 1.0), (2, 3.0)]


def test_rows_and_all_of_a_tensor_are_added():
    w = tf.get_variable("w", initializer=ROWS)
    loss = tf.reduce_sum(tf.gather(w, [1, 1])) + tf.reduce_sum(w)
    grad = tf.gradients(loss, w)[0]
    assert isinstance(grad, tf.Tensor)
    np.testing.assert_allclose(_run(grad)[:, 0], [1, 3, 1, 1, 1, 1])


def test_second_derivatives():
    w = tf.get_variable("w", initializer=ROWS)
    first = tf.gradients(tf.gather(w, [2, 2]) ** 3, w)[0]
    second = tf.gradients(first.values, w)[0]
    np.testing.assert_allclose(_run(tf.convert_to_tensor(second))[2], 12 * ROWS[2])


def test_clipping_counts_the_rows():
    w = tf.get_variable("w", initializer=ROWS)
    v = tf.get_variable("v", initializer=np.array([3.0], "f"))
    loss = tf.reduce_sum(4 * tf.gather(w, [0, 0])) + tf.reduce_sum(v * 6)
    grads = tf.gradients(loss, [w, v])
    clipped, norm = tf.clip_by_global_norm(grads, 5.0)
    assert isinstance(clipped[0], tf.IndexedSlices)
    values, size, one = _run([clipped, norm, tf.clip_by_norm(grads[0], 2.0)])
    assert size == pytest.approx(10.0)
    np.testing.assert_allclose(values[0].values, np.full((2, 2), 2.0), rtol=1e-6)
    np.testing.assert_allclose(values[1], [3.0], rtol=1e-6)
    np.testing.assert_allclose(one.values, np.full((2, 2), 1.0), rtol=1e-6)
    assert isinstance(one, tf.IndexedSlicesValue)


@pytest.mark.parametrize("case", CASES, ids=[f"{c['class']}{i}" for i, c in enumerate(CASES)])
def test_optimizers_change_rows_as_tensorflow_does(case):
    start = np.linspace(-1, 2, 12, dtype="f").reshape(6, 2)
    w = tf.get_variable("w", initializer=start)
    values, ids = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int64, [None])
    rows = tf.IndexedSlices(values, ids, tf.constant([6, 2]))
    train = getattr(tf.train, case["class"])(**case["words"]).apply_gradients([(rows, w)])
    want = iter(case["sparse"])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for numbers, step in GOLDEN["rows"]:
            sess.run(train, {values: step, ids: numbers})
            np.testing.assert_allclose(sess.run(w), next(want), rtol=2e-5, atol=2e-6)
        for slot in tf.global_variables()[1:]:
            np.testing.assert_allclose(sess.run(slot), next(want), rtol=2e-5, atol=2e-6)


def test_training_an_embedding_is_sparse(graph):
    w = tf.get_variable("w", initializer=np.ones((1000, 4), "f"))
    ids = tf.placeholder(tf.int32, [None])
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(w, ids)))
    for optimizer, name in (
        (tf.train.GradientDescentOptimizer(0.1), "ScatterSub"),
        (tf.train.AdagradOptimizer(0.1), "SparseApplyAdagrad"),
        (tf.train.MomentumOptimizer(0.1, 0.9), "SparseApplyMomentum"),
    ):
        train = optimizer.minimize(loss)
        assert name in {op.type for op in graph.get_operations()}
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(train, {ids: [7, 900, 7]})
            changed = np.unique(np.nonzero(sess.run(w) != 1)[0])
        assert changed.tolist() == [7, 900]
    assert not any(op.type == "UnsortedSegmentSum" for op in graph.get_operations())


def test_rows_that_are_not_there():
    w = tf.get_variable("w", initializer=ROWS)
    values, ids = tf.zeros([1, 2]), tf.placeholder(tf.int32, [1])
    train = tf.train.AdagradOptimizer(0.1).apply_gradients([(tf.IndexedSlices(values, ids), w)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="6"):
            sess.run(train, {ids: [6]})
    with pytest.raises(ValueError, match="shape"):
        tf.train.AdagradOptimizer(0.1).apply_gradients(
            [(tf.IndexedSlices(tf.zeros([1, 3]), [0]), w)]
        )


def test_own_optimizers_get_each_row_once():
    class Own(tf.train.Optimizer):
        def _apply_sparse(self, grad, var):
            return tf.scatter_update(var, grad.indices, grad.values)

    w = tf.get_variable("w", initializer=ROWS)
    rows = tf.IndexedSlices(tf.ones([3, 2]), tf.constant([2, 0, 2]), tf.constant([6, 2]))
    train = Own(False, "Own").apply_gradients([(rows, w)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(sess.run(w)[:3], [[1, 1], [2, 3], [2, 2]])


def test_adam_without_haste():
    w = tf.get_variable("w", initializer=ROWS)
    optimizer = tf.contrib.opt.LazyAdamOptimizer(0.1)
    train = optimizer.minimize(tf.reduce_sum(tf.gather(w, tf.placeholder_with_default([1], [1]))))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        np.testing.assert_allclose(
            sess.run(w) - ROWS, [[0, 0], [-0.1, -0.1]] + [[0, 0]] * 4, atol=1e-5
        )


def test_loss_of_sampled_classes():
    w = tf.get_variable("w", initializer=np.zeros((50, 4), "f"))
    b = tf.get_variable("b", initializer=np.zeros(50, "f"))
    loss = tf.nn.nce_loss(w, b, tf.constant([[3], [4]], tf.int64), tf.ones([2, 4]), 5, 50)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(tf.reduce_mean(loss))
    assert all(isinstance(g, tf.IndexedSlices) for g, _ in pairs)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(optimizer.apply_gradients(pairs))
        changed = set(np.nonzero(sess.run(w).any(axis=1))[0])
    assert {3, 4} <= changed and len(changed) <= 7


def test_values_of_slices_are_clipped():
    p = tf.get_variable("p", initializer=ROWS)
    rows = tf.gradients(tf.gather(p, [1, 1, 3]) ** 2, p)[0]
    clipped = tf.clip_by_value(rows, -1.0, 5.0)
    assert isinstance(clipped, tf.IndexedSlices) and clipped.values.name == "clip_by_value:0"
    with tf.Session() as session:
        session.run(p.initializer)
        values, indices = session.run([clipped.values, clipped.indices])
    assert values.tolist() == [[4, 5], [4, 5], [5, 5]] and indices.tolist() == [1, 1, 3]
