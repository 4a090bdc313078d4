# SPDX-License-Identifier: Apache-2.0
"""kmeans.py: tf.estimator.experimental.KMeans: k-means as an estimator."""

from __future__ import annotations

import os
from typing import Any, Callable

from situ._src.estimator.estimator import Estimator
from situ._src.estimator.spec import EstimatorSpec, ModeKeys
from situ._src.framework.api import export
from situ._src.legacy import kmeans
from situ._src.legacy.feature_layers import input_layer
from situ._src.ops.array_ops import cast, convert_to_tensor, group, op
from situ._src.summary.summary_ops import scalar
from situ._src.training import metrics
from situ._src.training.global_step import get_global_step
from situ._src.training.session_run_hook import SessionRunArgs, SessionRunHook


class _Begin(SessionRunHook):
    """Runs the initialization until all centers have a point."""

    def __init__(self, init_op, initialized):
        self._init_op, self._initialized = init_op, initialized

    def after_create_session(self, session, coord):
        while not session.run(self._initialized):
            session.run(self._init_op)


class _StopWhenStill(SessionRunHook):
    """Stops when the relative change of the loss is below a tolerance."""

    def __init__(self, loss, tolerance):
        self._loss, self._tolerance, self._last = loss, tolerance, None

    def before_run(self, run_context):
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        loss = run_values.results
        if self._last is not None and abs(loss - self._last) < self._tolerance * abs(self._last):
            run_context.request_stop()
        self._last = loss


def _points(features, columns):
    """Returns the features as a matrix of points."""
    if columns is not None:
        return input_layer(features, columns)
    if not isinstance(features, dict):
        return cast(convert_to_tensor(features), "float32")
    parts = [cast(convert_to_tensor(features[k]), "float32") for k in sorted(features)]
    return op("ConcatV2", parts, 1) if len(parts) > 1 else parts[0]


@export("estimator.experimental.KMeans", v1="contrib.factorization.KMeansClustering")
class KMeansClustering(Estimator):
    """k-means clustering.

    Args:
      num_clusters: Number of clusters.
      model_dir: Folder of checkpoints and summaries.
      initial_clusters: RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, a tensor or array of centers, or a
        function.
      distance_metric: SQUARED_EUCLIDEAN_DISTANCE or COSINE_DISTANCE.
      seed: Seed of the random numbers.
      use_mini_batch: Whether to update the centers by mini-batches.
      mini_batch_steps_per_iteration: Number of steps between updates of the centers.
      kmeans_plus_plus_num_retries: Number of samples per center of k-means++.
      relative_tolerance: Training stops when the relative change of the loss is below it.
      config: RunConfig.
      feature_columns: Columns that make up the points; default: all features.
      random_seed: Name of seed in TensorFlow 1.
    """

    SQUARED_EUCLIDEAN_DISTANCE = kmeans.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = kmeans.COSINE_DISTANCE
    RANDOM_INIT, KMEANS_PLUS_PLUS_INIT = kmeans.RANDOM_INIT, kmeans.KMEANS_PLUS_PLUS_INIT
    SCORE, CLUSTER_INDEX, ALL_DISTANCES = "score", "cluster_index", "all_distances"
    CLUSTER_CENTERS_VAR_NAME = kmeans.CLUSTERS_VAR_NAME

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | os.PathLike | None = None,
        initial_clusters: Any = kmeans.RANDOM_INIT,
        distance_metric: Any = kmeans.SQUARED_EUCLIDEAN_DISTANCE,
        seed: int | None = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: Any = None,
        config: Any = None,
        feature_columns: Any = None,
        random_seed: Any = None,
    ) -> None:
        seed = seed if random_seed is None else random_seed

        def model_fn(features, labels, mode, config):
            points = _points(features, feature_columns)
            (every, nearest, scores, initialized, _, init_op, step) = kmeans.KMeans(
                points,
                num_clusters,
                initial_clusters,
                distance_metric,
                use_mini_batch,
                mini_batch_steps_per_iteration,
                seed,
                kmeans_plus_plus_num_retries,
            ).training_graph()
            loss = op("Sum", scores[0], [0])
            scalar("loss/raw", loss)
            hooks = [_Begin(init_op, initialized)]
            if relative_tolerance is not None:
                hooks.append(_StopWhenStill(loss, relative_tolerance))
            return EstimatorSpec(
                mode,
                {self.ALL_DISTANCES: every[0], self.CLUSTER_INDEX: nearest[0]},
                loss,
                train_op=group(step, get_global_step().assign_add(1))
                if mode == ModeKeys.TRAIN
                else None,
                eval_metric_ops={self.SCORE: metrics.mean(loss)},
                training_hooks=hooks,
            )

        super().__init__(model_fn, model_dir, config)

    def _predict_key(self, input_fn, key):
        for point in self.predict(input_fn, predict_keys=[key]):
            yield point[key]

    def predict_cluster_index(self, input_fn: Callable) -> Any:
        """Yields the index of the nearest center of each point."""
        return self._predict_key(input_fn, self.CLUSTER_INDEX)

    def transform(self, input_fn: Callable) -> Any:
        """Yields the distances of each point to all centers; squared for the squared Euclidean
        metric.
        """
        return self._predict_key(input_fn, self.ALL_DISTANCES)

    def score(self, input_fn: Callable) -> Any:
        """Returns the sum of the distances of a batch of points to their nearest centers."""
        return self.evaluate(input_fn, steps=1)[self.SCORE]

    def cluster_centers(self) -> Any:
        """Returns the centers."""
        return self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)
