# SPDX-License-Identifier: Apache-2.0
"""test_kmeans.py: tf.contrib.factorization.KMeans and its estimator, against NumPy."""

import numpy as np
import pytest

import situ.compat.v1 as tf
from situ._src.summary.file_writer import FileWriterCache
from situ.compat.v1.contrib.factorization import KMeans, KMeansClustering

MIDDLES = np.array([[5, 0], [0, 5], [-5, -5]], np.float32)
_random = np.random.RandomState(0)
POINTS = (MIDDLES[_random.randint(3, size=90)] + 0.3 * _random.randn(90, 2)).astype(np.float32)
START = np.array([[1, 0], [0, 1], [-1, -0.5]], np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as result:
        yield result
    FileWriterCache.clear()


def _unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _distances(points, centers, metric):
    if metric == "cosine":
        return 1 - _unit(points) @ _unit(centers).T
    return ((points[:, None] - centers) ** 2).sum(2)


def _run(points, steps=1, starts=1, **kwargs):
    """(all_scores, cluster_index, scores, initialized, centers) after some steps."""
    x = tf.placeholder(tf.float32, [None, 2])
    result = KMeans(x, 3, **kwargs).training_graph()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(starts):
            session.run(result[5], {x: points})
        for _ in range(steps):
            session.run(result[6], {x: points})
        return session.run(
            [result[0][0], result[1][0], result[2][0], result[3], result[4]], {x: points}
        )


@pytest.mark.parametrize("metric", ["squared_euclidean", "cosine"])
def test_whole_steps(metric):
    every, index, scores, initialized, centers = _run(
        POINTS, 1, initial_clusters=tf.constant(START), distance_metric=metric
    )
    points = _unit(POINTS) if metric == "cosine" else POINTS
    first = _distances(POINTS, START, metric).argmin(1)
    wanted = np.stack([points[first == i].mean(0) for i in range(3)])
    wanted = _unit(wanted) if metric == "cosine" else wanted
    np.testing.assert_allclose(centers, wanted, rtol=1e-5, atol=1e-6)
    distances = _distances(POINTS, wanted, metric)
    np.testing.assert_allclose(every, distances, rtol=1e-4, atol=2e-5)
    np.testing.assert_array_equal(index, distances.argmin(1))
    np.testing.assert_allclose(scores, distances.min(1), rtol=1e-4, atol=2e-5)
    assert initialized and index.dtype == np.int64


def test_small_steps_move_centers_less_and_less():
    _, _, _, _, centers = _run(POINTS, 2, initial_clusters=START, use_mini_batch=True)
    wanted, counts = START.copy(), np.ones(3)
    for _ in range(2):
        nearest = _distances(POINTS, wanted, "").argmin(1)
        for i in range(3):
            mine = POINTS[nearest == i]
            counts[i] += len(mine)
            wanted[i] += (mine.sum(0) - len(mine) * wanted[i]) / counts[i]
    np.testing.assert_allclose(centers, wanted, rtol=1e-5)


def test_centers_change_every_so_many_small_steps():
    kwargs = {
        "initial_clusters": START,
        "use_mini_batch": True,
        "mini_batch_steps_per_iteration": 2,
    }
    np.testing.assert_array_equal(_run(POINTS, 2, **kwargs)[4], START)
    middle = np.stack(
        [POINTS[_distances(POINTS, START, "").argmin(1) == i].mean(0) for i in range(3)]
    )
    np.testing.assert_allclose(_run(POINTS, 3, **kwargs)[4], middle, rtol=1e-5)


@pytest.mark.parametrize("first", ["random", "kmeans_plus_plus", lambda x, count: x[:count]])
@pytest.mark.parametrize("metric", ["squared_euclidean", "cosine"])
def test_first_centers_are_points(first, metric):
    centers = _run(POINTS, 0, initial_clusters=first, distance_metric=metric, random_seed=2)[4]
    points = _unit(POINTS) if metric == "cosine" else POINTS
    assert (np.abs(points[:, None] - centers).max(2).min(0) < 1e-6).all()
    if first == "kmeans_plus_plus":  # one of each heap
        assert len(set(_distances(centers, MIDDLES, metric).argmin(1))) == 3


def test_few_points_at_a_time_begin_too():
    few = POINTS[:2]
    assert not _run(few, 0)[3]
    _, _, _, initialized, centers = _run(few, 0, starts=2)
    assert initialized
    np.testing.assert_array_equal(centers[:2], few)
    assert (centers[2] == few).all(1).any()


def test_one_center_is_enough():
    x = tf.constant(POINTS)
    result = KMeans(x, 1, "kmeans_plus_plus").training_graph()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(result[5])
        session.run(result[6])
        np.testing.assert_allclose(session.run(result[4]), POINTS.mean(0, keepdims=True), rtol=1e-5)


def test_several_inputs_are_one():
    a, b = tf.constant(POINTS[:40]), tf.constant(POINTS[40:])
    result = KMeans([a, b], 3, START).training_graph()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(result[5])
        session.run(result[6])
        centers = session.run(result[4])
        assert [t.shape.as_list()[0] for t in result[1]] == [40, 50]
    np.testing.assert_allclose(centers, _run(POINTS, 1, initial_clusters=START)[4], rtol=1e-5)


def test_what_is_refused():
    x = tf.placeholder(tf.float32, [None, 2])
    with pytest.raises(ValueError, match="Unsupported initialization algorithm 'best'"):
        KMeans(x, 3, "best")
    with pytest.raises(ValueError, match="Unsupported distance metric"):
        KMeans(x, 3, distance_metric="manhattan")
    with pytest.raises(ValueError, match="how many columns"):
        KMeans(tf.placeholder(tf.float32, [None, None]), 3)


def _input(points=POINTS):
    return lambda: tf.train.limit_epochs(tf.constant(points), num_epochs=1)


def test_the_estimator(tmp_path):
    assert KMeansClustering is tf.estimator.experimental.KMeans
    model = KMeansClustering(3, str(tmp_path), "kmeans_plus_plus", use_mini_batch=False)
    model.train(lambda: tf.constant(POINTS), steps=5)
    centers = model.cluster_centers()
    heaps = _distances(POINTS, MIDDLES, "").argmin(1)
    wanted = np.stack([POINTS[heaps == i].mean(0) for i in range(3)])
    order = _distances(wanted, centers, "").argmin(1)
    np.testing.assert_allclose(centers[order], wanted, rtol=1e-4, atol=1e-5)
    distances = _distances(POINTS, centers, "")
    assert model.score(_input()) == pytest.approx(distances.min(1).sum(), rel=1e-4)
    assert list(model.predict_cluster_index(_input())) == list(distances.argmin(1))
    np.testing.assert_allclose(list(model.transform(_input())), distances, rtol=1e-3, atol=1e-4)
    assert sorted(next(model.predict(_input()))) == ["all_distances", "cluster_index"]


def test_the_estimator_stops_when_nothing_changes(tmp_path):
    model = KMeansClustering(3, str(tmp_path), START, use_mini_batch=False, relative_tolerance=1e-3)
    model.train(
        lambda: {"a": tf.constant(POINTS[:, :1]), "b": tf.constant(POINTS[:, 1:])}, steps=100
    )
    assert 2 <= model.evaluate(lambda: tf.constant(POINTS), steps=1)["global_step"] < 20
