# SPDX-License-Identifier: Apache-2.0
"""kmeans.py: tf.contrib.factorization.KMeans: points to the nearest of some centers, and
centers to the middle of their points."""

from __future__ import annotations

import numbers
from typing import Any

from situ._src.framework.api import V1, export, named
from situ._src.framework.scopes import control_dependencies
from situ._src.ops.array_ops import cast, convert_to_tensor, group, op
from situ._src.variables import variable

SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE = "squared_euclidean", "cosine"
RANDOM_INIT, KMEANS_PLUS_PLUS_INIT = "random", "kmeans_plus_plus"
CLUSTERS_VAR_NAME = "clusters"
_PLACES = ("contrib.factorization.", "contrib.factorization.python.ops.clustering_ops.")
for _place in _PLACES:
    V1.update(
        {
            _place + "SQUARED_EUCLIDEAN_DISTANCE": SQUARED_EUCLIDEAN_DISTANCE,
            _place + "COSINE_DISTANCE": COSINE_DISTANCE,
            _place + "RANDOM_INIT": RANDOM_INIT,
            _place + "KMEANS_PLUS_PLUS_INIT": KMEANS_PLUS_PLUS_INIT,
        }
    )


def _unit(rows):
    """Scales rows to length 1."""
    squares = op("Sum", op("Square", rows), [1], keep_dims=True)
    return rows * op("Rsqrt", op("Maximum", squares, 1e-12))


def _squared_distances(points, centers):
    """Returns the squared distance of each point to each center."""
    return (
        op("Sum", op("Square", points), [1], keep_dims=True)
        - 2.0 * op("MatMul", points, centers, transpose_b=True)
        + op("Sum", op("Square", centers), [1])
    )


def _count(points):
    return op("Shape", points, out_type="int64")[0]


def _uniform(shape, seed, **kwargs):
    return named("random.uniform")(shape, seed=seed, **kwargs)


def _at_random(points, count, seed):
    """Draws points with replacement."""
    rows = _uniform([count], seed, maxval=_count(points), dtype="int64")
    return op("GatherV2", points, rows, 0)


def _far_apart(points, count, seed, retries):
    """Chooses initial centers by k-means++ (Arthur and Vassilvitskii 2007): each is drawn with a
    probability proportional to its squared distance from those before it, several times, and the
    best draw is kept."""
    tries = retries + 1 if retries >= 0 else 2 + int(count).bit_length()
    first = _at_random(points, 1, seed)
    nearest = op("Maximum", op("Squeeze", _squared_distances(points, first), [1]), 0.0)

    def draw(i, chosen, nearest):
        sums = op("Cumsum", nearest, 0)
        marks = _uniform([tries], seed) * sums[-1]
        below = op("LessEqual", op("ExpandDims", sums, 0), op("ExpandDims", marks, 1))
        rows = op("Minimum", op("Sum", cast(below, "int64"), [1]), _count(points) - 1)
        some = op("GatherV2", points, rows, 0)
        left = op(
            "Minimum",
            op("ExpandDims", nearest, 1),
            op("Maximum", _squared_distances(points, some), 0.0),
        )
        best = op("ArgMin", op("Sum", left, [0]), 0)
        chosen = op(
            "TensorScatterUpdate",
            chosen,
            op("Reshape", i, [1, 1]),
            op("GatherV2", some, op("Reshape", best, [1]), 0),
        )
        return i + 1, chosen, op("GatherV2", left, best, 1)

    start = [convert_to_tensor(1), op("Tile", first, [count, 1]), nearest]
    return named("while_loop")(lambda i, *_: i < count, draw, start)[1]


@export(v1=[_place + "KMeans" for _place in _PLACES])
class KMeans:
    """The graph of k-means; training_graph returns its operations. Points are the rows of one or
    more tensors. k-MC2, to which kmc2_chain_length belongs, is not supported."""

    _inputs: list
    _cosine: bool
    _mini: bool

    def __init__(
        self,
        inputs: Any,
        num_clusters: int,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: Any = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        del kmc2_chain_length  # of k-MC2, which is an error below
        if isinstance(initial_clusters, str) and initial_clusters not in (
            RANDOM_INIT,
            KMEANS_PLUS_PLUS_INIT,
        ):
            raise ValueError(
                f"Unsupported initialization algorithm '{initial_clusters}'. There are"
                f" '{RANDOM_INIT}' and '{KMEANS_PLUS_PLUS_INIT}'; or give a tensor of "
                "centers, or a function of points and a number."
            )
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise ValueError(
                f"Unsupported distance metric passed to Kmeans {distance_metric}. "
                f"There are '{SQUARED_EUCLIDEAN_DISTANCE}' and '{COSINE_DISTANCE}'."
            )
        if not isinstance(num_clusters, numbers.Integral):
            raise TypeError(
                f"num_clusters must be an int, as the shape of a variable is known "
                f"while a graph is built; given: {num_clusters}"
            )
        self._inputs = [
            convert_to_tensor(t)
            for t in (inputs if isinstance(inputs, (list, tuple)) else [inputs])
        ]
        self._count, self._first, self._cosine = (
            int(num_clusters),
            initial_clusters,
            distance_metric == COSINE_DISTANCE,
        )
        self._mini, self._steps = use_mini_batch, int(mini_batch_steps_per_iteration)
        self._seed, self._retries = random_seed, kmeans_plus_plus_num_retries
        width = self._inputs[0].shape.as_list()[1]
        if width is None:
            raise ValueError(
                "KMeans needs to know how many columns its points have: set_shape of "
                f"{self._inputs[0].name} says it."
            )
        self._shape = [self._count, width]

    # Variables: names and initial values

    @staticmethod
    def _variable(value, name, dtype=None):
        return variable.variable(value, trainable=False, name=name, dtype=dtype, use_resource=True)

    def _make_variables(self):
        zeros = lambda: op("Fill", self._shape, 0.0)
        self._centers = self._variable(zeros, CLUSTERS_VAR_NAME)
        self._initialized = self._variable(False, "initialized")
        self._chosen = self._variable(0, "chosen", "int64")  # centers that have a point already
        self._updated, self._counts, self._waits = self._centers, None, None
        if self._mini and self._steps > 1:
            self._waits = self._variable(self._steps, "update_in_steps", "int64")
            self._updated = self._variable(zeros, "clusters_updated")
        if self._mini:
            first = 0 if self._waits is not None else 1
            self._counts = self._variable(
                lambda: cast(op("Fill", [self._count], first), "int64"), "total_counts"
            )

    # Steps

    def _begin(self, points):
        """Gives centers that have none yet a point of this batch; of few points all are taken."""
        chosen, size = convert_to_tensor(self._chosen), _count(points)
        left, at = self._count - chosen, cast(op("Range", 0, self._count, 1), "int64")
        place = op("Maximum", at - chosen, cast(0, "int64"))
        if isinstance(self._first, str):
            sample = (
                _at_random(points, self._count, self._seed)
                if self._first == RANDOM_INIT
                else _far_apart(points, self._count, self._seed, self._retries)
            )
            every = op("GatherV2", points, op("Minimum", place, size - 1), 0)
            rows = op("SelectV2", op("Less", size, left), every, op("GatherV2", sample, place, 0))
        else:
            rows = self._first(points, left) if callable(self._first) else self._first
            rows = convert_to_tensor(rows, "float32")
            rows, size = _unit(rows) if self._cosine else rows, _count(rows)
            rows = op("GatherV2", rows, op("Minimum", place, size - 1), 0)
        now = chosen + op("Minimum", size, left)
        new = op("LogicalAnd", op("GreaterEqual", at, chosen), op("Less", at, now))
        centers = op("SelectV2", op("ExpandDims", new, 1), rows, convert_to_tensor(self._centers))
        learned = [] if self._updated is self._centers else [self._updated.assign(centers)]
        return group(
            self._centers.assign(centers),
            *learned,
            self._chosen.assign(now),
            self._initialized.assign(op("Equal", now, cast(self._count, "int64"))),
        )

    def _sums(self, points, nearest):
        """How many points each center has, and their sum."""
        sums = [op("UnsortedSegmentSum", p, i, self._count) for p, i in zip(points, nearest)]
        ones = [op("UnsortedSegmentSum", op("OnesLike", i), i, self._count) for i in nearest]
        return op("AddN", ones), op("AddN", sums)

    def _whole_step(self, points, nearest):
        """Centers become the mean of their points."""
        counts, sums = self._sums(points, nearest)
        centers = sums / (op("ExpandDims", cast(counts, sums.dtype), 1) + 1e-6)
        return self._centers.assign(_unit(centers) if self._cosine else centers).op

    def _small_step(self, points, nearest):
        """Moves centers toward their points, with a rate that decreases with the number of
        points."""
        counts, sums = self._sums(points, nearest)
        with control_dependencies([self._exchange()] if self._waits is not None else []):
            seen, centers = self._counts.read_value() + counts, self._updated.read_value()
        wide = lambda t: op("ExpandDims", cast(t, sums.dtype), 1)
        change = op("DivNoNan", sums - wide(counts) * centers, wide(seen))
        return group(self._updated.assign(centers + change), self._counts.assign(seen))

    def _exchange(self):
        """Assigns the learned centers every so many steps."""
        waits, old = convert_to_tensor(self._waits), convert_to_tensor(self._centers)
        due = op("LessEqual", waits, cast(0, "int64"))
        learned = convert_to_tensor(self._updated)
        learned = _unit(learned) if self._cosine else learned
        counts = convert_to_tensor(self._counts)
        return group(
            self._waits.assign(op("SelectV2", due, cast(self._steps, "int64"), waits) - 1),
            self._centers.assign(op("SelectV2", due, learned, old)),
            self._counts.assign(op("SelectV2", due, op("ZerosLike", counts), counts)),
        )

    def training_graph(self) -> Any:
        """(all_scores, cluster_index, scores, cluster_centers_initialized, cluster_centers_var,
        init_op, training_op); the first three are lists, with a tensor for each input."""
        self._make_variables()
        points = [_unit(t) for t in self._inputs] if self._cosine else self._inputs
        centers = convert_to_tensor(self._centers)
        if self._cosine:
            centers = _unit(centers)
            distances = [1.0 - op("MatMul", p, centers, transpose_b=True) for p in points]
        else:
            distances = [_squared_distances(p, centers) for p in points]
        nearest = [op("ArgMin", d, 1) for d in distances]
        scores = [op("Min", d, [1]) for d in distances]
        step = self._small_step if self._mini else self._whole_step
        return (
            tuple(distances),
            tuple(nearest),
            tuple(scores),
            self._initialized,
            self._centers,
            self._begin(points[0]),
            step(points, nearest),
        )
