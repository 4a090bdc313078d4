# SPDX-License-Identifier: Apache-2.0
"""loss_classes.py: tf.keras.losses.Loss and its subclasses, which apply sample weights and a
reduction to the loss functions of losses.py."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.keywords import bind, signature
from situ._src.keras import composite, context, losses
from situ._src.keras.losses import KIND
from situ._src.keras.mixed_precision import at_least_floatx
from situ._src.keras.registry import to_json_value
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.ragged_tensor import RaggedTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable


class Reduction:
    """How per-example losses are reduced to one value.

    AUTO and SUM_OVER_BATCH_SIZE: the mean; SUM: the sum; NONE: no reduction. The names "mean" and
    "mean_with_sample_weight" of Keras 3 are accepted, too.
    """

    AUTO, NONE, SUM = "auto", "none", "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"
    _MEANS = ("mean", "mean_with_sample_weight")  # names of Keras 3

    @classmethod
    def all(cls):
        """Returns the names of all reductions."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key):
        """Raises a ValueError if key is not the name of a reduction."""
        if key is not None and key not in (*cls.all(), *cls._MEANS):
            raise ValueError(f'Invalid Reduction Key: {key}. Expected keys are "{cls.all()}"')


export("keras.losses.Reduction", "python.keras.losses.Reduction", v2="losses.Reduction")(Reduction)


def match_weights_to_values(values, sample_weight):
    """Returns values and weights with shapes that broadcast.

    A last dimension of size 1 is added or removed; a weight per example applies to all its time
    steps.
    """
    values = convert_to_tensor(values)
    weight = cast(convert_to_tensor(sample_weight), values.dtype)
    values, weight = losses.squeeze_or_expand(values, weight)
    have, want = weight.shape.rank, values.shape.rank
    if have and want is not None and have == want - 1:
        weight = op("ExpandDims", weight, -1)
    return values, weight


def apply_weights(values, sample_weight):
    """Multiplies values by their weights."""
    if sample_weight is None:
        return convert_to_tensor(values)
    values, weight = match_weights_to_values(values, sample_weight)
    return values * weight


def weights_with_mask(mask, sample_weight, values):
    """Returns the sample weights with 0 where the mask is False."""
    if mask is None:
        return sample_weight
    mask = cast(mask, values.dtype)
    return mask if sample_weight is None else apply_weights(mask, sample_weight)


def reduce_values(values, reduction, weight=None):
    """Returns the sum or the mean of values, 0 if there are none."""
    if reduction in (Reduction.NONE, None):
        return values
    total = op("Sum", values)
    if reduction == Reduction.SUM:
        return total
    if reduction == "mean_with_sample_weight" and weight is not None:
        return op("DivNoNan", total, op("Sum", cast(convert_to_tensor(weight), total.dtype)))
    return op("DivNoNan", total, cast(op("Size", values), total.dtype))


class Loss:
    """Base class of losses: a callable of labels, predictions and sample weights.

    Subclasses implement `call(y_true, y_pred)`, which returns one value per example.

    Args:
      reduction: "auto", "sum_over_batch_size", "mean" (all three the mean),
        "mean_with_sample_weight" (the sum divided by that of the weights), "sum", or "none" or
        None (no reduction).
      name: Name of the loss.
      dtype: Type of the computation; default: that of the predictions.

    Call arguments:
      y_true: Labels.
      y_pred: Predictions.
      sample_weight: Weight of each example, or a tensor that broadcasts to the losses.

    Returns:
      A scalar, or the losses of the examples with reduction "none".

    Raises:
      ValueError: If the reduction is unknown.
    """

    def __init__(
        self, reduction: str | None = "auto", name: str | None = None, dtype: Any = None
    ) -> None:
        Reduction.validate(reduction)
        self.reduction, self.name = "none" if reduction is None else reduction, name
        self.dtype = None if dtype is None else as_dtype(getattr(dtype, "compute_dtype", dtype))

    def __call__(self, y_true, y_pred, sample_weight=None):
        values = self.values(y_true, y_pred, sample_weight)
        return reduce_values(values, self.reduction, sample_weight)

    def values(self, y_true: Any, y_pred: Any, sample_weight: Any = None):
        """Returns the weighted losses of the examples, before the reduction."""
        if isinstance(y_pred, RaggedTensor):
            return self._ragged_values(y_true, y_pred, sample_weight)
        y_pred = at_least_floatx(convert_to_tensor(y_pred))
        mask = context.get_mask(y_pred)
        y_pred = y_pred if self.dtype is None else cast(y_pred, self.dtype)
        values = self.call(at_least_floatx(convert_to_tensor(y_true)), y_pred)
        own = context.get_mask(values)  # of classes that are ignored
        if own is not None:
            mask = own if mask is None else op("LogicalAnd", cast(mask, "bool"), own)
        if mask is not None and self.reduction != Reduction.SUM:
            mask = cast(mask, values.dtype)  # the mean is that of what is not masked
            mask = mask * op("DivNoNan", cast(op("Size", mask), mask.dtype), op("Sum", mask))
        return apply_weights(values, weights_with_mask(mask, sample_weight, values))

    def _ragged_values(self, y_true, y_pred, sample_weight):
        """Returns the weighted losses of ragged predictions: one per step, or if the last dimension
        is ragged the mean of each of its rows."""
        if not isinstance(y_true, RaggedTensor):
            return self.values(y_true, y_pred.to_tensor(), sample_weight)
        is_wide = y_pred.flat_values.shape.rank > 1
        y, p, weight = composite.flat_labels(y_true, y_pred, sample_weight if is_wide else None)
        if is_wide:
            return self.values(y, p, weight)
        each = self.values(*[op("ExpandDims", t, -1) for t in (y, p)])
        means = composite.row_means(each, y_pred)
        if isinstance(means, RaggedTensor):
            if sample_weight is not None:
                rows = means.nested_value_rowids()
                for row in rows:
                    sample_weight = op("GatherV2", sample_weight, row, 0)
            means = means.flat_values
        return apply_weights(means, sample_weight)

    def call(self, y_true, y_pred):
        """Computes the losses of the examples; subclasses override it.

        Args:
          y_true: Labels.
          y_pred: Predictions.

        Returns:
          Tensor with one value per example.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor as a dictionary."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: Any):
        """Creates a loss from the result of get_config."""
        return cls(**config)


@export("keras.losses.LossFunctionWrapper")
class LossFunctionWrapper(Loss):
    """Loss that calls a function.

    Args:
      fn: Function of (y_true, y_pred, **kwargs) that returns one value per example.
      reduction: As in `Loss`.
      name: Name of the loss; default: that of the function.
      dtype: As in `Loss`.
      **kwargs: Further arguments of the function.
    """

    def __init__(
        self,
        fn: Callable,
        reduction: str | None = "auto",
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(reduction, name or getattr(fn, "__name__", None), dtype)
        self.fn, self._fn_kwargs = fn, kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        y_true, y_pred = losses.squeeze_or_expand(y_true, y_pred)
        return context.autograph(self.fn)(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **to_json_value(self._fn_kwargs)}


_CALL_ARGUMENTS = [
    "  y_true: Labels.",
    "  y_pred: Predictions.",
    "  sample_weight: Weight of each example; default: 1.",
]


def _loss_class(name, function, default, fn_kwargs, *aliases, last=()):
    """Defines the loss class of a function.

    Parameters of its constructor: fn_kwargs, reduction, those named in `last`, name, dtype.
    """
    defaults = {
        **{k: v for k, v in fn_kwargs.items() if k not in last},
        "reduction": "auto",
        **{k: fn_kwargs[k] for k in last},
        "name": default,
        "dtype": None,
    }

    def init(self, *args, **kwargs):
        LossFunctionWrapper.__init__(self, function, **bind(name, defaults, args, kwargs))

    init.__signature__ = signature(defaults, ["self"])
    result = type(
        name,
        (LossFunctionWrapper,),
        {"__init__": init, "__doc__": losses.class_doc(function, defaults, _CALL_ARGUMENTS)},
    )
    for alias in (name, *aliases):
        KIND.add(result, alias)
        export("keras.losses." + alias, "python.keras.losses." + alias, v2="losses." + alias)(
            result
        )
    return result


export("keras.losses.Loss", "python.keras.losses.Loss", v2="losses.Loss")(Loss)
MeanSquaredError = _loss_class(
    "MeanSquaredError", losses.mean_squared_error, "mean_squared_error", {}
)
_loss_class("MeanAbsoluteError", losses.mean_absolute_error, "mean_absolute_error", {})
_loss_class(
    "MeanAbsolutePercentageError",
    losses.mean_absolute_percentage_error,
    "mean_absolute_percentage_error",
    {},
)
_loss_class(
    "MeanSquaredLogarithmicError",
    losses.mean_squared_logarithmic_error,
    "mean_squared_logarithmic_error",
    {},
)
_loss_class(
    "BinaryCrossentropy",
    losses.binary_crossentropy,
    "binary_crossentropy",
    {"from_logits": False, "label_smoothing": 0.0, "axis": -1},
)
_loss_class(
    "BinaryFocalCrossentropy",
    losses.binary_focal_crossentropy,
    "binary_focal_crossentropy",
    {
        "apply_class_balancing": False,
        "alpha": 0.25,
        "gamma": 2.0,
        "from_logits": False,
        "label_smoothing": 0.0,
        "axis": -1,
    },
)
_loss_class(
    "CategoricalCrossentropy",
    losses.categorical_crossentropy,
    "categorical_crossentropy",
    {"from_logits": False, "label_smoothing": 0.0, "axis": -1},
)
_loss_class(
    "SparseCategoricalCrossentropy",
    losses.sparse_categorical_crossentropy,
    "sparse_categorical_crossentropy",
    {"from_logits": False, "ignore_class": None, "axis": -1},
    last=("axis",),
)
_loss_class(
    "CategoricalFocalCrossentropy",
    losses.categorical_focal_crossentropy,
    "categorical_focal_crossentropy",
    {"alpha": 0.25, "gamma": 2.0, "from_logits": False, "label_smoothing": 0.0, "axis": -1},
)
_loss_class("Dice", losses.dice, "dice", {"axis": None}, last=("axis",))
_loss_class(
    "Tversky", losses.tversky, "tversky", {"alpha": 0.5, "beta": 0.5, "axis": None}, last=("axis",)
)
_loss_class("Hinge", losses.hinge, "hinge", {})
_loss_class("CTC", losses.ctc, "ctc", {})
_loss_class("SquaredHinge", losses.squared_hinge, "squared_hinge", {})
_loss_class("CategoricalHinge", losses.categorical_hinge, "categorical_hinge", {})
_loss_class("Huber", losses.huber, "huber_loss", {"delta": 1.0})
_loss_class("LogCosh", losses.log_cosh, "log_cosh", {})
_loss_class("Poisson", losses.poisson, "poisson", {})
_loss_class("KLDivergence", losses.kl_divergence, "kl_divergence", {})
_loss_class("CosineSimilarity", losses.cosine_similarity, "cosine_similarity", {"axis": -1})


class Circle(LossFunctionWrapper):
    """Circle loss of embeddings of length 1; see `circle`.

    Args:
      gamma: Scale of the loss.
      margin: Relaxation factor.
      remove_diagonal: Whether an embedding is not compared with that of the same index.
      reduction: How the losses of the examples are combined.
      name: Name of the loss.
      dtype: Type of the computation.

    Raises:
      TypeError: If y_true, y_pred and the references have wrong ranks.
    """

    def __init__(
        self,
        gamma: Any = 80.0,
        margin: Any = 0.4,
        remove_diagonal: bool = True,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "circle",
        dtype: Any = None,
    ) -> None:
        super().__init__(
            losses.circle,
            reduction,
            name,
            dtype,
            gamma=gamma,
            margin=margin,
            remove_diagonal=remove_diagonal,
        )
        self.gamma, self.margin, self.remove_diagonal = gamma, margin, remove_diagonal

    def call(self, y_true, y_pred):
        return self.fn(y_true, y_pred, **self._fn_kwargs)


class CategoricalGeneralizedCrossEntropy(LossFunctionWrapper):
    """Generalized cross entropy; see `categorical_generalized_cross_entropy`.

    Args:
      q: Between 0 and 1, exclusive.
      reduction: How the losses of the examples are combined.
      name: Name of the loss.
      dtype: Type of the computation.

    Raises:
      ValueError: If q is not between 0 and 1.
    """

    def __init__(
        self,
        q: Any = 0.5,
        reduction: str | None = "sum_over_batch_size",
        name: str | None = "categorical_generalized_cross_entropy",
        dtype: Any = None,
    ) -> None:
        if not 0 < q < 1:
            raise ValueError("q must be in the interval (0, 1)")
        super().__init__(losses.categorical_generalized_cross_entropy, reduction, name, dtype, q=q)
        self.q = q


for _kind in (Circle, CategoricalGeneralizedCrossEntropy):
    KIND.add(_kind)
    export("keras.losses." + _kind.__name__)(_kind)


def as_loss(identifier):
    """Converts a name, function, configuration or Loss to a Loss."""
    if identifier is None:
        return None
    result = KIND.get(identifier)
    return result if isinstance(result, Loss) else LossFunctionWrapper(result)
