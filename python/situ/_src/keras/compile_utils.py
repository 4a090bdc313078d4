# SPDX-License-Identifier: Apache-2.0
"""compile_utils.py: the losses and metrics of compile, matched to the outputs of a model."""

import contextlib

from situ._src.framework import nest, style
from situ._src.keras import composite, context, loss_classes, losses, metrics, mixed_precision
from situ._src.ops.array_ops import cast, convert_to_tensor, op, shape


def spread(argument, outputs, names):
    """Returns one entry per output from a single value, a list, or a dictionary by name."""
    count = len(names)
    if isinstance(argument, dict):
        unknown = set(argument) - set(names)
        if unknown and not isinstance(outputs, dict):
            raise ValueError(
                f"Found unexpected keys that do not correspond to any Model output: "
                f"{sorted(unknown)}. Expected: {names}"
            )
        return [argument.get(n) for n in names]
    if isinstance(argument, (list, tuple)):
        if len(argument) != count:
            raise ValueError(
                f"When passing a list, it should have one entry per model output. The "
                f"model has {count} outputs, but you passed {argument}"
            )
        return list(argument)
    return [argument] * count


def output_names(model, outputs):
    flat = nest.flatten(outputs)
    known = getattr(model, "output_names", None)
    if known and len(known) == len(flat):
        return list(known)
    if isinstance(outputs, dict):
        return sorted(outputs)
    return [f"output_{i + 1}" for i in range(len(flat))]


def in_order(values, names):
    """Returns labels or weights in the order of the outputs, None where there are none."""
    if values is None:
        return [None] * len(names)
    if isinstance(values, dict):
        return [values.get(n) for n in names]
    flat = nest.flatten(values)
    return flat if len(flat) == len(names) else flat + [None] * (len(names) - len(flat))


def batch_size(tensor):
    known = tensor.shape.as_list()
    if known and known[0] is None and hasattr(tensor, "nrows"):
        return cast(tensor.nrows(), "float32")
    return (
        float(known[0])
        if known and known[0] is not None
        else cast(shape(tensor)[0], "float32")
        if known
        else 1.0
    )


def _is_column(label, prediction):
    """Whether a vector of labels is one column.

    Keras of TensorFlow 1 expands every vector of labels. In eager mode only predictions of one
    column require it; a vector next to several columns must not be broadcast over them.
    """
    if label.shape.rank != 1 or prediction.shape.rank != 2:
        return False
    return style.is_graph_program() or prediction.shape.as_list()[-1] == 1


def matched(label, prediction):
    """Returns labels and predictions as losses and metrics expect them.

    A vector of labels becomes a column if the predictions are one. Labels are cast to the type
    of the predictions if both are floating point or both integers.
    """
    if composite.is_composite(label) or composite.is_composite(prediction):
        if label.dtype != prediction.dtype and label.dtype.is_floating:
            label = cast(label, prediction.dtype)
        return label, prediction
    label = convert_to_tensor(label)
    prediction = mixed_precision.at_least_floatx(convert_to_tensor(prediction))
    if _is_column(label, prediction):
        label = op("ExpandDims", label, -1)
    kinds = [(t.dtype.is_floating, t.dtype.is_integer) for t in (label, prediction)]
    if label.dtype != prediction.dtype and kinds[0] == kinds[1] and any(kinds[0]):
        label = cast(label, prediction.dtype)
    return label, prediction


def _check_target(loss, label, prediction):
    """Raises the ValueError of TensorFlow 1 for labels that a squared error would broadcast."""
    if not style.is_graph_program() or getattr(loss, "fn", None) is not losses.mean_squared_error:
        return
    known = label.shape.rank, prediction.shape.rank
    if None not in known and not label.shape[1:].is_compatible_with(prediction.shape[1:]):
        raise ValueError(
            f"A target array with shape {label.shape} was passed for an output of "
            f"shape {prediction.shape} while using as loss `{loss.name}`. This loss "
            "expects targets to have the same shape as the output."
        )


class LossesContainer:
    """Loss of a model: the weighted sum of the losses of its outputs, and their means as
    metrics.
    """

    def __init__(self, loss, loss_weights=None):
        self._loss, self._weights = loss, loss_weights
        self._losses = self._parts = None
        self._total = metrics.Mean("loss")
        self._is_replaced = False

    @property
    def metrics(self):
        return [self._total] + [m for m in self._parts or [] if m is not None]

    def build(self, model, outputs):
        names = self._names = output_names(model, outputs)
        argument = self._loss
        if isinstance(argument, (list, tuple)) and len(argument) == 1 == len(names):
            argument = argument[0]
        self._losses = [loss_classes.as_loss(x) for x in spread(argument, outputs, names)]
        self._factors = spread(self._weights, outputs, names)
        self._parts = (
            [None] * len(names)
            if len(names) == 1
            else [
                None if x is None else metrics.Mean(n + "_loss")
                for n, x in zip(names, self._losses)
            ]
        )

    def __call__(self, y_true, y_pred, sample_weight=None, regularization_losses=None, model=None):
        if self._losses is None:
            self.build(model, y_pred)
        share, values, reported = context.call.share, [], []
        flat, size = nest.flatten(y_pred), None
        labels = in_order(y_true, self._names)
        weights = in_order(sample_weight, self._names)
        for i, (loss, y, p, w) in enumerate(zip(self._losses, labels, flat, weights)):
            if loss is None or y is None:
                continue
            y, p = matched(y, p)
            _check_target(loss, y, p)
            value = _value(loss, y, p, w)
            size = size if size is not None else batch_size(p)
            scaled = value if share is None or loss.reduction == "sum" else value * share
            if self._parts[i] is not None:
                self._parts[i].update_state(value, sample_weight=batch_size(p))
            factor = self._factors[i]
            values.append(scaled if factor is None else scaled * factor)
            reported.append(value if factor is None else value * factor)
        for penalty in regularization_losses or []:
            penalty = convert_to_tensor(penalty)
            values.append(penalty if share is None else penalty * share)
            reported.append(penalty)
        if not values:
            return convert_to_tensor(0.0)
        if not self._is_replaced:
            weight = size if size is not None else 1.0
            self._total.update_state(_sum(reported), sample_weight=weight)
        return _sum(values)

    @contextlib.contextmanager
    def replaced(self):
        """Leaves the mean of the total to `track` while a subclass computes its own loss."""
        self._is_replaced = True
        try:
            yield
        finally:
            self._is_replaced = False

    def track(self, loss, y_pred):
        """Updates the mean of the total with a loss that a subclass computed."""
        sizes = [batch_size(p) for p in nest.flatten(y_pred)[:1]]
        self._total.update_state(loss, sample_weight=sizes[0] if sizes else 1.0)

    def reset_state(self):
        for metric in self.metrics:
            metric.reset_state()


def _value(loss, y_true, y_pred, sample_weight):
    """Returns the value of one loss, which a subclass of a program may compute itself."""
    if type(loss).__call__ is not loss_classes.Loss.__call__:
        return loss(y_true, y_pred, sample_weight=sample_weight)
    each = loss.values(y_true, y_pred, sample_weight)
    return loss_classes.reduce_values(each, "sum" if loss.reduction == "sum" else "auto")


def _sum(values):
    return values[0] if len(values) == 1 else op("AddN", values)


_ACCURACIES = {
    "binary": metrics.binary_accuracy,
    "categorical": metrics.categorical_accuracy,
    "sparse": metrics.sparse_categorical_accuracy,
}
_ENTROPIES = {
    "binary": losses.binary_crossentropy,
    "categorical": losses.categorical_crossentropy,
    "sparse": losses.sparse_categorical_crossentropy,
}


def _kind(y_true, y_pred):
    """Classifies labels and predictions: "binary", "sparse" or "categorical"."""
    labels, predictions = y_true.shape.as_list(), y_pred.shape.as_list()
    if not predictions or predictions[-1] == 1 or len(predictions) == 1:
        return "binary"
    if len(labels) < len(predictions) or labels[-1] == 1:
        return "sparse"
    return "categorical"


def _tensor_or_composite(value):
    return value if composite.is_composite(value) else convert_to_tensor(value)


def _as_metric(argument, y_true, y_pred):
    """Returns the metric of an argument of compile."""
    if argument is None or isinstance(argument, metrics.Metric):
        return argument
    name = argument if isinstance(argument, str) else None
    if name in ("accuracy", "acc"):
        function = _ACCURACIES[_kind(y_true, y_pred)]
    elif name in ("crossentropy", "ce"):
        function = _ENTROPIES[_kind(y_true, y_pred)]
    else:
        try:
            function = metrics.KIND.get(argument)
        except ValueError:
            function = losses.KIND.get(argument)
    if isinstance(function, metrics.Metric):
        return function
    if isinstance(function, loss_classes.Loss):
        function, name = function.call, name or function.name
    return metrics.MeanMetricWrapper(function, name or getattr(function, "__name__", "metric"))


def objects(argument):
    """Returns the Metric objects among the arguments of compile."""
    return [m for m in nest.flatten(argument) if isinstance(m, metrics.Metric)]


class MetricsContainer:
    """Metrics of a model, for each output."""

    def __init__(self, argument=None, weighted_metrics=None):
        self._metric_args, self._weighted, self._built = argument, weighted_metrics, None

    @property
    def metrics(self):
        return [] if self._built is None else [m for some in self._built for m, _ in some]

    @staticmethod
    def _lists(argument, names):
        """Returns one list of metrics per output."""
        if argument is None:
            return [[] for _ in names]
        if isinstance(argument, dict):
            result = [argument.get(n) for n in names]
        elif len(names) == 1:
            result = [argument]
        elif isinstance(argument, (list, tuple)) and any(
            isinstance(g, (list, tuple)) for g in argument
        ):
            result = list(argument)
        else:
            result = [argument] * len(names)
        return [
            list(f) if isinstance(f, (list, tuple)) else [] if f is None else [f] for f in result
        ]

    def build(self, model, y_true, y_pred):
        names = self._names = output_names(model, y_pred)
        labels = in_order(y_true, names)
        metrics = self._lists(self._metric_args, names)
        weighted_metrics = self._lists(self._weighted, names)
        self._built, taken = [], set()
        for name, y, p, a, b in zip(names, labels, nest.flatten(y_pred), metrics, weighted_metrics):
            result = []
            for argument, with_weights in [(g, False) for g in a] + [(g, True) for g in b]:
                if y is None:
                    continue
                metric = _as_metric(argument, *[_tensor_or_composite(t) for t in (y, p)])
                if len(names) > 1 and metric is not argument:
                    metric._name = f"{name}_{metric.name}"
                while metric.name in taken:
                    metric._name += "_1"
                taken.add(metric.name)
                result.append((metric, with_weights))
            self._built.append(result)

    def update_state(self, y_true, y_pred, sample_weight=None, model=None):
        if self._metric_args is None and self._weighted is None:
            self._built = self._built or []
            return
        if self._built is None:
            self.build(model, y_true, y_pred)
        labels = in_order(y_true, self._names)
        weights = in_order(sample_weight, self._names)
        for some, y, p, w in zip(self._built, labels, nest.flatten(y_pred), weights):
            if y is None:
                continue
            y, p = matched(y, p)
            for metric, with_weights in some:
                metric.update_state(y, p, sample_weight=w if with_weights else None)

    def reset_state(self):
        for metric in self.metrics:
            metric.reset_state()
