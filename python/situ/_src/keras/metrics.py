# SPDX-License-Identifier: Apache-2.0
"""metrics.py: tf.keras.metrics: the Metric base class, means, sums and accuracies over batches."""

from __future__ import annotations

import functools
from typing import Any

from situ._src.distribute.values import at
from situ._src.framework.api import export
from situ._src.framework.keywords import bind, signature
from situ._src.keras import composite, context, initializers, losses, weights
from situ._src.keras.layer import Layer, keras3_order
from situ._src.keras.loss_classes import weights_with_mask
from situ._src.keras.registry import Registry, to_json_value, to_snake_case, unique
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.weights_broadcast_ops import broadcast_weights, match_weights
from situ._src.variables.eager_variable import place

KIND = Registry("metric", {})


def named(*names, v2=True):
    """Registers a metric and exports it under tf.keras.metrics and, if v2, tf.metrics."""

    def record(thing):
        KIND.add(thing, *names)
        export(
            *["keras.metrics." + n for n in names], *["python.keras.metrics." + n for n in names]
        )(thing)
        if v2:
            export(v2=["metrics." + n for n in names])(thing)
        return thing

    return record


def _in_a_replica(update):
    """Wraps update_state so that calls outside of a replica update the copies of the first replica.

    A metric reads the sum of its copies there, which cannot be assigned to.
    """

    @functools.wraps(update)
    def called(self, *args, **kwargs):
        if place.mode is None and any(hasattr(v, "values") for v in self._own_weights):
            with at(0, "update"):
                return update(self, *args, **kwargs)
        return update(self, *args, **kwargs)

    return called


@named("Metric")
class Metric(Layer):
    """Base class of metrics: state that update_state changes and result reads.

    Subclasses create their variables with add_weight in `__init__`, and implement update_state and
    result. A call updates the state and returns the result.

    Args:
      name: Name of the metric.
      dtype: Type of the state.
    """

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs) -> None:
        super().__init__(
            name=name or unique(to_snake_case(type(self).__name__)), dtype=dtype, **kwargs
        )
        self.stateful, self.built = True, True
        self._updates: list = []

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "result" in vars(cls):
            cls.result = context.autograph_method(cls.result)
        if "update_state" in vars(cls):
            cls.update_state = _in_a_replica(context.autograph_method(cls.update_state))

    updates = property(lambda s: s._updates)  # in a graph, what update_state has added to it

    def add_variable(
        self,
        shape: Any,
        initializer: Any,
        dtype: Any = None,
        aggregation: Any = "sum",
        name: str | None = None,
    ):
        """Creates a variable of the state; the name of add_weight in Keras 3.

        Args:
          shape: Its shape.
          initializer: Initializer, or its name.
          dtype: Its type; default: that of the metric.
          aggregation: How the copies of replicas are combined.
          name: Name of the variable.
        """
        return self.add_weight(
            name, shape=shape, initializer=initializer, dtype=dtype, aggregation=aggregation
        )

    @keras3_order
    def add_weight(
        self,
        name=None,
        shape=(),
        aggregation="sum",
        synchronization="on_read",
        initializer="zeros",
        dtype=None,
    ):
        """Creates a variable of the state.

        Args:
          name: Name of the variable.
          shape: Its shape.
          aggregation: How the copies of replicas are combined.
          synchronization: When they are combined.
          initializer: Initializer, or its name.
          dtype: Its type; default: that of the metric.

        Returns:
          The variable, which is not trainable.
        """
        with context.named():
            result = weights.create(
                name or "variable",
                shape,
                dtype or self.dtype,
                initializers.get(initializer),
                False,
                synchronization=synchronization,
                aggregation=aggregation,
            )
        if weights.in_session_graph():
            weights.log_assignments(result, self._updates)
        self._own_weights.append(result)
        return result

    def update_state(self, *args, **kwargs):
        """Adds a batch to the state; subclasses override it."""
        raise NotImplementedError

    def result(self):
        """Returns the value of the metric; subclasses override it."""
        raise NotImplementedError

    def reset_state(self) -> None:
        """Sets the variables of the state to 0."""
        if type(self).reset_states is not Metric.reset_states:  # its name before TensorFlow 2.5
            self.reset_states()
        else:
            self._clear()

    def reset_states(self) -> None:
        """Name of reset_state before TensorFlow 2.5."""
        if type(self).reset_state is not Metric.reset_state:
            self.reset_state()
        else:
            self._clear()

    def _clear(self):
        noted = len(self._updates)
        for variable in self.variables:
            variable.assign(op("ZerosLike", variable.value()))
        del self._updates[noted:]

    def __call__(self, *args, **kwargs):
        self.update_state(*args, **kwargs)
        return self.result()

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype}

    def __repr__(self):
        return f"{type(self).__name__}(name={self.name})"


def to_floatx(value):
    """Converts a value to a tensor of the type `tf.keras.backend.floatx()`."""
    return cast(convert_to_tensor(value), context.setting("float"))


def _reduce_axes_from(values, first, row):
    """Reduces the dimensions from `first` on."""
    rank = values.shape.rank
    return (
        op(row, values, list(range(first, rank))) if rank is not None and rank > first else values
    )


def reduce_per_example(values, sample_weight, row):
    """Returns one weighted value per example, and its weight (None without weights).

    `row` is the op that reduces the values of an example: "Mean" or "Sum". Weights must
    broadcast to the values.
    """
    values = to_floatx(values)
    if sample_weight is None:
        return _reduce_axes_from(values, 1, row), None
    values, weight = losses.squeeze_or_expand(values, to_floatx(sample_weight))
    rank = weight.shape.rank
    if rank is not None:
        values = _reduce_axes_from(values, rank, row)
    weight = op("BroadcastTo", weight, op("Shape", values))
    return _reduce_axes_from(values * weight, 1, row), _reduce_axes_from(weight, 1, row)


@named("Mean", "mean", v2=False)
class Mean(Metric):
    """Weighted mean of all values.

    Args:
      name: Name of the metric.
      dtype: Type of the state.
    """

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total, self.count = self.add_weight("total"), self.add_weight("count")

    def update_state(self, values, sample_weight=None):
        """Adds values to the mean.

        Args:
          values: Tensor of values.
          sample_weight: Weights that broadcast to the values; default: 1.
        """
        values, weight = reduce_per_example(values, sample_weight, "Mean")
        self.total.assign_add(op("Sum", values))
        self.count.assign_add(
            cast(op("Size", values), values.dtype) if weight is None else op("Sum", weight)
        )
        return self.total

    def result(self):
        """Returns the weighted mean, 0 if there were no values."""
        return op("DivNoNan", self.total.value(), self.count.value())


export(v2="metrics.Mean")(Mean)


@named("Sum")
class Sum(Metric):
    """Weighted sum of all values.

    Args:
      name: Name of the metric.
      dtype: Type of the state.
    """

    def __init__(self, name: str | None = "sum", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values, sample_weight=None):
        self.total.assign_add(op("Sum", reduce_per_example(values, sample_weight, "Sum")[0]))
        return self.total

    def result(self):
        return self.total.value()


@named("MeanTensor")
class MeanTensor(Metric):
    """Weighted mean of all values, element by element.

    Args:
      name: Name of the metric.
      dtype: Type of the state.
      shape: Shape of the values; default: that of the first batch.

    Raises:
      ValueError: By update_state, if the shape of the values changes.
    """

    def __init__(
        self, name: str | None = "mean_tensor", dtype: Any = None, shape: Any = None
    ) -> None:
        super().__init__(name, dtype)
        self.total = self.count = None
        if shape is not None:
            self._make(shape)

    def _make(self, shape):
        self.total, self.count = self.add_weight("total", shape), self.add_weight("count", shape)

    def update_state(self, values, sample_weight=None):
        values = to_floatx(values)
        if self.total is None:
            self._make(values.shape)
        elif not values.shape.is_compatible_with(self.total.shape):
            raise ValueError(
                "MeanTensor input values must always have the same shape. Expected "
                f"shape (set during the first call): {self.total.shape}. Got: "
                f"{values.shape}."
            )
        count = op("OnesLike", values)
        if sample_weight is not None:
            weight = broadcast_weights(match_weights(to_floatx(sample_weight), values), values)
            values, count = values * weight, count * weight
        self.total.assign_add(values)
        self.count.assign_add(count)
        return self.total

    def result(self):
        return op("DivNoNan", self.total.value(), self.count.value())


def _is_builtin(function):
    """Whether a function is of this package: it accepts labels of any type and rank."""
    return str(getattr(function, "__module__", "")).startswith("situ.")


@named("MeanMetricWrapper")
class MeanMetricWrapper(Mean):
    """Mean over all examples of a function of labels and predictions.

    Args:
      fn: Function of (y_true, y_pred, **kwargs) that returns one value per example.
      name: Name of the metric; default: that of the function.
      dtype: Type of the state.
      **kwargs: Further arguments of the function.
    """

    def __init__(self, fn, name: str | None = None, dtype: Any = None, **kwargs) -> None:
        super().__init__(name or getattr(fn, "__name__", None), dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, sample_weight = composite.flat_labels(y_true, y_pred, sample_weight)
        y_pred = convert_to_tensor(y_pred)
        mask = context.get_mask(y_pred)
        y_true = convert_to_tensor(y_true)
        if y_true.dtype.is_bool or not _is_builtin(self._fn) and y_true.dtype.name != "string":
            y_true, y_pred = cast(y_true, self.dtype), cast(y_pred, self.dtype)
        if not _is_builtin(self._fn):
            y_true, y_pred = losses.squeeze_or_expand(y_true, y_pred)
        values = context.autograph(self._fn)(y_true, y_pred, **self._fn_kwargs)
        own = context.get_mask(values)  # of classes that are ignored
        if own is not None:
            mask = own if mask is None else op("LogicalAnd", cast(mask, "bool"), own)
        return super().update_state(values, weights_with_mask(mask, sample_weight, values))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **to_json_value(self._fn_kwargs)}


# Accuracies


def _export_function(function):
    KIND.add(function)
    name = function.__name__
    return export("keras.metrics." + name, "python.keras.metrics." + name, v2="metrics." + name)(
        function
    )


@_export_function
def accuracy(y_true: Any, y_pred: Any) -> Any:
    """Returns 1 where predictions equal labels, 0 elsewhere.

    Args:
      y_true: Labels.
      y_pred: Predictions, of the same shape.

    Returns:
      Float tensor of that shape.
    """
    return cast(op("Equal", *losses.match_labels(y_true, y_pred)), "float32")


@_export_function
def binary_accuracy(y_true: Any, y_pred: Any, threshold: Any = 0.5) -> Any:
    """Returns 1 where `y_pred > threshold` agrees with the label, 0 elsewhere.

    Args:
      y_true: Labels, 0 or 1.
      y_pred: Predictions, of the same shape.
      threshold: Predictions above it are class 1.

    Returns:
      Float tensor of that shape.
    """
    y_true, y_pred = losses.squeeze_or_expand(y_true, y_pred)
    threshold = convert_to_tensor(threshold)
    if not y_pred.dtype.is_floating:
        y_pred = cast(y_pred, threshold.dtype)
    yes = cast(op("Greater", y_pred, cast(threshold, y_pred.dtype)), y_true.dtype)
    return cast(op("Equal", y_true, yes), "float32")


def _argmax(x):
    return op("ArgMax", x, -1)


def _matches(y_true, y_pred, like=None):
    """Returns 1 where a class id is the argmax of the predictions, in the shape of `like`."""
    matches = cast(op("Equal", cast(y_true, "int64"), _argmax(y_pred)), "float32")
    return matches if like is None else op("Reshape", matches, op("Shape", like))


@_export_function
def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Returns 1 where the argmax of the predictions is the class of the one-hot label, 0 elsewhere.

    Args:
      y_true: One-hot labels, of shape `(batch, ..., classes)`.
      y_pred: Scores, of the same shape.

    Returns:
      Float tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = _argmax(convert_to_tensor(y_true)), convert_to_tensor(y_pred)
    if y_true.shape.rank is not None and y_true.shape.rank == y_pred.shape.rank:
        # labels had one dimension more, of size 1
        return _matches(op("Squeeze", y_true, [-1]), y_pred, y_true)
    return _matches(y_true, y_pred)


@_export_function
def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Returns 1 where the argmax of the predictions is the class id, 0 elsewhere.

    Args:
      y_true: Class ids, of shape `(batch, ...)` or `(batch, ..., 1)`.
      y_pred: Scores, of shape `(batch, ..., classes)`.

    Returns:
      Float tensor of shape `(batch, ...)`.
    """
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if (
        y_true.shape.rank
        and y_true.shape.rank == y_pred.shape.rank
        and y_true.shape.as_list()[-1] == 1
    ):
        matches = _matches(op("Squeeze", y_true, [-1]), y_pred, y_true)
    else:
        matches = _matches(y_true, y_pred)
    if (matches.shape.rank or 0) > 1 and matches.shape.as_list()[-1] == 1:
        return op("Squeeze", matches, [-1])
    return matches


@_export_function
def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Returns 1 where the class of a one-hot label is among the k largest scores, 0 elsewhere.

    Args:
      y_true: One-hot labels, of shape `(batch, ..., classes)`.
      y_pred: Scores, of the same shape.
      k: Number of scores to look at.

    Returns:
      Float tensor of shape `(batch, ...)`.
    """
    return sparse_top_k_categorical_accuracy(_argmax(convert_to_tensor(y_true)), y_pred, k)


@_export_function
def sparse_top_k_categorical_accuracy(
    y_true: Any, y_pred: Any, k: int = 5, from_sorted_ids: bool = False
) -> Any:
    """Returns 1 where a class id is among the k largest scores, 0 elsewhere.

    Args:
      y_true: Class ids, of shape `(batch, ...)`.
      y_pred: Scores, of shape `(batch, ..., classes)`.
      k: Number of scores to look at.
      from_sorted_ids: Whether y_pred holds class ids, the best first, rather than scores.

    Returns:
      Float tensor of the shape of y_true.
    """
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    rank, flat = y_pred.shape.rank, cast(y_true, "int64")
    if flat.shape.rank != 0:  # a single class id is refused: predictions are rows
        flat = op("Reshape", flat, [-1])
    if rank is not None and rank > 2:
        y_pred = op("Reshape", y_pred, [-1, y_pred.shape.as_list()[-1]])
    if from_sorted_ids:
        hit = op("Any", op("Equal", op("ExpandDims", flat, 1), cast(y_pred[:, :k], "int64")), [1])
    else:
        hit = op("InTopKV2", y_pred, flat, cast(k, "int64"))
    return op("Reshape", cast(hit, "float32"), op("Shape", y_true))


_CALL_ARGUMENTS = [
    "  y_true: Labels.",
    "  y_pred: Predictions.",
    "  sample_weight: Weight of each example; default: 1.",
]


def _mean_metric_class(name, function, default, fn_kwargs=None):
    """Defines the class of a metric that is the mean of a function.

    Parameters of its constructor: k (if in fn_kwargs), name, dtype, the other fn_kwargs.
    """
    fn_kwargs = fn_kwargs or {}
    defaults = {
        **{k: v for k, v in fn_kwargs.items() if k == "k"},
        "name": default,
        "dtype": None,
        **{k: v for k, v in fn_kwargs.items() if k != "k"},
    }

    def init(self, *args, **kwargs):
        MeanMetricWrapper.__init__(self, function, **bind(name, defaults, args, kwargs))

    init.__signature__ = signature(defaults, ["self"])
    doc = losses.class_doc(function, defaults, _CALL_ARGUMENTS, "Mean over all examples of: {}")
    return named(name)(type(name, (MeanMetricWrapper,), {"__init__": init, "__doc__": doc}))


_mean_metric_class("Accuracy", accuracy, "accuracy")
BinaryAccuracy = _mean_metric_class(
    "BinaryAccuracy", binary_accuracy, "binary_accuracy", {"threshold": 0.5}
)
_mean_metric_class("CategoricalAccuracy", categorical_accuracy, "categorical_accuracy")
_mean_metric_class(
    "SparseCategoricalAccuracy", sparse_categorical_accuracy, "sparse_categorical_accuracy"
)
_mean_metric_class(
    "TopKCategoricalAccuracy", top_k_categorical_accuracy, "top_k_categorical_accuracy", {"k": 5}
)
_mean_metric_class(
    "SparseTopKCategoricalAccuracy",
    sparse_top_k_categorical_accuracy,
    "sparse_top_k_categorical_accuracy",
    {"k": 5, "from_sorted_ids": False},
)
_mean_metric_class("MeanSquaredError", losses.mean_squared_error, "mean_squared_error")
_mean_metric_class("MeanAbsoluteError", losses.mean_absolute_error, "mean_absolute_error")
_mean_metric_class(
    "MeanAbsolutePercentageError",
    losses.mean_absolute_percentage_error,
    "mean_absolute_percentage_error",
)
_mean_metric_class(
    "MeanSquaredLogarithmicError",
    losses.mean_squared_logarithmic_error,
    "mean_squared_logarithmic_error",
)
_mean_metric_class(
    "BinaryCrossentropy",
    losses.binary_crossentropy,
    "binary_crossentropy",
    {"from_logits": False, "label_smoothing": 0.0},
)
_mean_metric_class(
    "CategoricalCrossentropy",
    losses.categorical_crossentropy,
    "categorical_crossentropy",
    {"from_logits": False, "label_smoothing": 0.0, "axis": -1},
)
_mean_metric_class(
    "SparseCategoricalCrossentropy",
    losses.sparse_categorical_crossentropy,
    "sparse_categorical_crossentropy",
    {"from_logits": False, "ignore_class": None, "axis": -1},
)
_mean_metric_class("Hinge", losses.hinge, "hinge")
_mean_metric_class("SquaredHinge", losses.squared_hinge, "squared_hinge")
_mean_metric_class("CategoricalHinge", losses.categorical_hinge, "categorical_hinge")
_mean_metric_class("LogCoshError", losses.log_cosh, "logcosh")
_mean_metric_class("Poisson", losses.poisson, "poisson")
_mean_metric_class("KLDivergence", losses.kl_divergence, "kullback_leibler_divergence")


@named("CosineSimilarity")
class CosineSimilarity(MeanMetricWrapper):
    """Mean cosine similarity of labels and predictions.

    Args:
      name: Name of the metric.
      dtype: Type of the state.
      axis: The axis of the vectors.
    """

    def __init__(
        self, name: str | None = "cosine_similarity", dtype: Any = None, axis: Any = -1
    ) -> None:
        super().__init__(
            lambda a, b, axis: -losses.cosine_similarity(a, b, axis), name, dtype, axis=axis
        )


@named("RootMeanSquaredError")
class RootMeanSquaredError(Mean):
    """Root of the mean squared error of all examples.

    Args:
      name: Name of the metric.
      dtype: Type of the state.
    """

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = losses.cast_labels(*losses.squeeze_or_expand(y_true, y_pred))
        return super().update_state(op("SquaredDifference", y_pred, y_true), sample_weight)

    def result(self):
        return op("Sqrt", super().result())
