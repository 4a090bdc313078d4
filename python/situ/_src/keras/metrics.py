# SPDX-License-Identifier: Apache-2.0
"""metrics.py: tf.keras.metrics: values over all batches that were seen; means and accuracies."""

import functools

from situ._src.distribute.values import at
from situ._src.framework.api import export
from situ._src.framework.keywords import bind, signature
from situ._src.keras import context, initializers, losses, weights
from situ._src.keras.layer import Layer
from situ._src.keras.loss_classes import weights_with_mask
from situ._src.keras.registry import Registry, to_json_value, to_snake_case, unique
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.weights_broadcast_ops import broadcast_weights, match_weights
from situ._src.variables.eager_variable import place

KIND = Registry("metric", {})


def named(*names, v2=True):
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
    """update_state that outside of replicas changes the copies of the first one: their sum, which
    is what a metric reads there, cannot be added to."""

    @functools.wraps(update)
    def called(self, *args, **kwargs):
        if place.mode is None and any(hasattr(v, "values") for v in self._own_weights):
            with at(0, "update"):
                return update(self, *args, **kwargs)
        return update(self, *args, **kwargs)

    return called


@named("Metric")
class Metric(Layer):
    """A value that update_state changes and result gives; sub-classes give both."""

    def __init__(self, name=None, dtype=None, **kwargs):
        super().__init__(
            name=name or unique(to_snake_case(type(self).__name__)), dtype=dtype, **kwargs
        )
        self.stateful, self.built, self._updates = True, True, []

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "result" in vars(cls):
            cls.result = context.autograph_method(cls.result)
        if "update_state" in vars(cls):
            cls.update_state = _in_a_replica(context.autograph_method(cls.update_state))

    updates = property(lambda s: s._updates)  # in a graph, what update_state has added to it

    def add_weight(
        self,
        name,
        shape=(),
        aggregation="sum",
        synchronization="on_read",
        initializer="zeros",
        dtype=None,
    ):
        with context.named():
            result = weights.create(
                name,
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
        raise NotImplementedError

    def result(self):
        raise NotImplementedError

    def reset_state(self):
        if type(self).reset_states is not Metric.reset_states:  # its name before TensorFlow 2.5
            self.reset_states()
        else:
            self._clear()

    def reset_states(self):
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

    def get_config(self):
        return {"name": self.name, "dtype": self.dtype}

    def __repr__(self):
        return f"{type(self).__name__}(name={self.name})"


def to_floatx(value):
    """A number as a metric takes it."""
    return cast(convert_to_tensor(value), context.setting("float"))


def _reduce_axes_from(values, first, row):
    """Without the dimensions from `first` on."""
    rank = values.shape.rank
    return (
        op(row, values, list(range(first, rank))) if rank is not None and rank > first else values
    )


def reduce_per_example(values, sample_weight, row):
    """One weighted value per example, and its weight (None without weights); row: "Mean" or "Sum"
    joins what an example has. Weights must be broadcastable to the values."""
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
    """The mean of all values, weighted."""

    def __init__(self, name="mean", dtype=None):
        super().__init__(name, dtype)
        self.total, self.count = self.add_weight("total"), self.add_weight("count")

    def update_state(self, values, sample_weight=None):
        values, weight = reduce_per_example(values, sample_weight, "Mean")
        self.total.assign_add(op("Sum", values))
        self.count.assign_add(
            cast(op("Size", values), values.dtype) if weight is None else op("Sum", weight)
        )
        return self.total

    def result(self):
        return op("DivNoNan", self.total.value(), self.count.value())


export(v2="metrics.Mean")(Mean)


@named("Sum")
class Sum(Metric):
    """The sum of all values, weighted."""

    def __init__(self, name="sum", dtype=None):
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values, sample_weight=None):
        self.total.assign_add(op("Sum", reduce_per_example(values, sample_weight, "Sum")[0]))
        return self.total

    def result(self):
        return self.total.value()


@named("MeanTensor")
class MeanTensor(Metric):
    """The mean of all values, element by element."""

    def __init__(self, name="mean_tensor", dtype=None, shape=None):
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
    return str(getattr(function, "__module__", "")).startswith("situ.")


@named("MeanMetricWrapper")
class MeanMetricWrapper(Mean):
    """The mean of a function of labels and predictions."""

    def __init__(self, fn, name=None, dtype=None, **kwargs):
        super().__init__(name or getattr(fn, "__name__", None), dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(self, y_true, y_pred, sample_weight=None):
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

    def get_config(self):
        return {**super().get_config(), **to_json_value(self._fn_kwargs)}


# Accuracies


def _export_function(function):
    KIND.add(function)
    name = function.__name__
    return export("keras.metrics." + name, "python.keras.metrics." + name, v2="metrics." + name)(
        function
    )


@_export_function
def accuracy(y_true, y_pred):
    return cast(op("Equal", *losses.match_labels(y_true, y_pred)), "float32")


@_export_function
def binary_accuracy(y_true, y_pred, threshold=0.5):
    y_true, y_pred = losses.squeeze_or_expand(y_true, y_pred)
    threshold = convert_to_tensor(threshold)
    if not y_pred.dtype.is_floating:
        y_pred = cast(y_pred, threshold.dtype)
    yes = cast(op("Greater", y_pred, cast(threshold, y_pred.dtype)), y_true.dtype)
    return cast(op("Equal", y_true, yes), "float32")


def _argmax(x):
    return op("ArgMax", x, -1)


def _matches(y_true, y_pred, like=None):
    """Which class ids are the largest predictions; in the shape of `like`, which has as many."""
    matches = cast(op("Equal", cast(y_true, "int64"), _argmax(y_pred)), "float32")
    return matches if like is None else op("Reshape", matches, op("Shape", like))


@_export_function
def categorical_accuracy(y_true, y_pred):
    y_true, y_pred = _argmax(convert_to_tensor(y_true)), convert_to_tensor(y_pred)
    if y_true.shape.rank is not None and y_true.shape.rank == y_pred.shape.rank:
        # labels had one dimension more, of size 1
        return _matches(op("Squeeze", y_true, [-1]), y_pred, y_true)
    return _matches(y_true, y_pred)


@_export_function
def sparse_categorical_accuracy(y_true, y_pred):
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
def top_k_categorical_accuracy(y_true, y_pred, k=5):
    return sparse_top_k_categorical_accuracy(_argmax(convert_to_tensor(y_true)), y_pred, k)


@_export_function
def sparse_top_k_categorical_accuracy(y_true, y_pred, k=5, from_sorted_ids=False):
    """Whether a class is among the k best; from_sorted_ids: predictions are classes, the best
    first."""
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


def wrapper(name, function, default, fn_kwargs=None):
    """A class of metrics: the mean of a function with these arguments, which come behind name and
    dtype; k comes in front."""
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
    return named(name)(
        type(name, (MeanMetricWrapper,), {"__init__": init, "__doc__": f"The mean of {default}."})
    )


wrapper("Accuracy", accuracy, "accuracy")
BinaryAccuracy = wrapper("BinaryAccuracy", binary_accuracy, "binary_accuracy", {"threshold": 0.5})
wrapper("CategoricalAccuracy", categorical_accuracy, "categorical_accuracy")
wrapper("SparseCategoricalAccuracy", sparse_categorical_accuracy, "sparse_categorical_accuracy")
wrapper(
    "TopKCategoricalAccuracy", top_k_categorical_accuracy, "top_k_categorical_accuracy", {"k": 5}
)
wrapper(
    "SparseTopKCategoricalAccuracy",
    sparse_top_k_categorical_accuracy,
    "sparse_top_k_categorical_accuracy",
    {"k": 5, "from_sorted_ids": False},
)
wrapper("MeanSquaredError", losses.mean_squared_error, "mean_squared_error")
wrapper("MeanAbsoluteError", losses.mean_absolute_error, "mean_absolute_error")
wrapper(
    "MeanAbsolutePercentageError",
    losses.mean_absolute_percentage_error,
    "mean_absolute_percentage_error",
)
wrapper(
    "MeanSquaredLogarithmicError",
    losses.mean_squared_logarithmic_error,
    "mean_squared_logarithmic_error",
)
wrapper(
    "BinaryCrossentropy",
    losses.binary_crossentropy,
    "binary_crossentropy",
    {"from_logits": False, "label_smoothing": 0.0},
)
wrapper(
    "CategoricalCrossentropy",
    losses.categorical_crossentropy,
    "categorical_crossentropy",
    {"from_logits": False, "label_smoothing": 0.0, "axis": -1},
)
wrapper(
    "SparseCategoricalCrossentropy",
    losses.sparse_categorical_crossentropy,
    "sparse_categorical_crossentropy",
    {"from_logits": False, "ignore_class": None, "axis": -1},
)
wrapper("Hinge", losses.hinge, "hinge")
wrapper("SquaredHinge", losses.squared_hinge, "squared_hinge")
wrapper("CategoricalHinge", losses.categorical_hinge, "categorical_hinge")
wrapper("LogCoshError", losses.log_cosh, "logcosh")
wrapper("Poisson", losses.poisson, "poisson")
wrapper("KLDivergence", losses.kl_divergence, "kullback_leibler_divergence")


@named("CosineSimilarity")
class CosineSimilarity(MeanMetricWrapper):
    """The mean of the cosine between labels and predictions."""

    def __init__(self, name="cosine_similarity", dtype=None, axis=-1):
        super().__init__(
            lambda a, b, axis: -losses.cosine_similarity(a, b, axis), name, dtype, axis=axis
        )


@named("RootMeanSquaredError")
class RootMeanSquaredError(Mean):
    """The root of the mean of squared errors."""

    def __init__(self, name="root_mean_squared_error", dtype=None):
        super().__init__(name, dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = losses.cast_labels(*losses.squeeze_or_expand(y_true, y_pred))
        return super().update_state(op("SquaredDifference", y_pred, y_true), sample_weight)

    def result(self):
        return op("Sqrt", super().result())
