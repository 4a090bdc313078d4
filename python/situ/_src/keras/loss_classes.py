# SPDX-License-Identifier: Apache-2.0
"""loss_classes.py: tf.keras.losses.Loss and its sub-classes: weights and a reduction."""

from situ._src.framework.api import export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.keywords import bind, signature
from situ._src.keras import context, losses
from situ._src.keras.losses import KIND
from situ._src.keras.mixed_precision import at_least_floatx
from situ._src.keras.registry import to_json_value
from situ._src.ops.array_ops import cast, convert_to_tensor, op


class Reduction:
    """How the losses of all examples become one."""

    AUTO, NONE, SUM = "auto", "none", "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"
    _MEANS = ("mean", "mean_with_sample_weight")  # names of Keras 3

    @classmethod
    def all(cls):
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key):
        if key is not None and key not in (*cls.all(), *cls._MEANS):
            raise ValueError(f'Invalid Reduction Key: {key}. Expected keys are "{cls.all()}"')


export("keras.losses.Reduction", "python.keras.losses.Reduction", v2="losses.Reduction")(Reduction)


def match_weights_to_values(values, sample_weight):
    """Values and their weights in shapes to multiply: a last dimension of 1 goes or comes, and a
    weight per example holds for all its time steps."""
    values = convert_to_tensor(values)
    weight = cast(convert_to_tensor(sample_weight), values.dtype)
    values, weight = losses.squeeze_or_expand(values, weight)
    have, want = weight.shape.rank, values.shape.rank
    if have and want is not None and have == want - 1:
        weight = op("ExpandDims", weight, -1)
    return values, weight


def apply_weights(values, sample_weight):
    """Values times their weights."""
    if sample_weight is None:
        return convert_to_tensor(values)
    values, weight = match_weights_to_values(values, sample_weight)
    return values * weight


def weights_with_mask(mask, sample_weight, values):
    """The weights of a call with a mask: what is masked weighs nothing."""
    if mask is None:
        return sample_weight
    mask = cast(mask, values.dtype)
    return mask if sample_weight is None else apply_weights(mask, sample_weight)


def reduce_values(values, reduction, weight=None):
    """The sum or the mean of values; of no values it is 0."""
    if reduction in (Reduction.NONE, None):
        return values
    total = op("Sum", values)
    if reduction == Reduction.SUM:
        return total
    if reduction == "mean_with_sample_weight" and weight is not None:
        return op("DivNoNan", total, op("Sum", cast(convert_to_tensor(weight), total.dtype)))
    return op("DivNoNan", total, cast(op("Size", values), total.dtype))


class Loss:
    """A loss: call gives one value per example."""

    def __init__(self, reduction="auto", name=None, dtype=None):
        Reduction.validate(reduction)
        self.reduction, self.name = "none" if reduction is None else reduction, name
        self.dtype = None if dtype is None else as_dtype(getattr(dtype, "compute_dtype", dtype))

    def __call__(self, y_true, y_pred, sample_weight=None):
        values = self.values(y_true, y_pred, sample_weight)
        return reduce_values(values, self.reduction, sample_weight)

    def values(self, y_true, y_pred, sample_weight=None):
        """The weighted losses of the examples."""
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

    def call(self, y_true, y_pred):
        raise NotImplementedError

    def get_config(self):
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@export("keras.losses.LossFunctionWrapper")
class LossFunctionWrapper(Loss):
    """A loss made of a function."""

    def __init__(self, fn, reduction="auto", name=None, dtype=None, **kwargs):
        super().__init__(reduction, name or getattr(fn, "__name__", None), dtype)
        self.fn, self._fn_kwargs = fn, kwargs

    def call(self, y_true, y_pred):
        y_true, y_pred = losses.squeeze_or_expand(y_true, y_pred)
        return context.autograph(self.fn)(y_true, y_pred, **self._fn_kwargs)

    def get_config(self):
        return {**super().get_config(), **to_json_value(self._fn_kwargs)}


def _class(name, function, default, fn_kwargs, *aliases, last=()):
    """A class of losses: the arguments of its function, then reduction, name and dtype; those in
    last come behind reduction."""
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
        {"__init__": init, "__doc__": function.__doc__ or f"The loss {default}."},
    )
    for alias in (name, *aliases):
        KIND.add(result, alias)
        export("keras.losses." + alias, "python.keras.losses." + alias, v2="losses." + alias)(
            result
        )
    return result


export("keras.losses.Loss", "python.keras.losses.Loss", v2="losses.Loss")(Loss)
MeanSquaredError = _class("MeanSquaredError", losses.mean_squared_error, "mean_squared_error", {})
_class("MeanAbsoluteError", losses.mean_absolute_error, "mean_absolute_error", {})
_class(
    "MeanAbsolutePercentageError",
    losses.mean_absolute_percentage_error,
    "mean_absolute_percentage_error",
    {},
)
_class(
    "MeanSquaredLogarithmicError",
    losses.mean_squared_logarithmic_error,
    "mean_squared_logarithmic_error",
    {},
)
_class(
    "BinaryCrossentropy",
    losses.binary_crossentropy,
    "binary_crossentropy",
    {"from_logits": False, "label_smoothing": 0.0, "axis": -1},
)
_class(
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
_class(
    "CategoricalCrossentropy",
    losses.categorical_crossentropy,
    "categorical_crossentropy",
    {"from_logits": False, "label_smoothing": 0.0, "axis": -1},
)
_class(
    "SparseCategoricalCrossentropy",
    losses.sparse_categorical_crossentropy,
    "sparse_categorical_crossentropy",
    {"from_logits": False, "ignore_class": None, "axis": -1},
    last=("axis",),
)
_class(
    "CategoricalFocalCrossentropy",
    losses.categorical_focal_crossentropy,
    "categorical_focal_crossentropy",
    {"alpha": 0.25, "gamma": 2.0, "from_logits": False, "label_smoothing": 0.0, "axis": -1},
)
_class("Dice", losses.dice, "dice", {"axis": None}, last=("axis",))
_class(
    "Tversky", losses.tversky, "tversky", {"alpha": 0.5, "beta": 0.5, "axis": None}, last=("axis",)
)
_class("Hinge", losses.hinge, "hinge", {})
_class("SquaredHinge", losses.squared_hinge, "squared_hinge", {})
_class("CategoricalHinge", losses.categorical_hinge, "categorical_hinge", {})
_class("Huber", losses.huber, "huber_loss", {"delta": 1.0})
_class("LogCosh", losses.log_cosh, "log_cosh", {})
_class("Poisson", losses.poisson, "poisson", {})
_class("KLDivergence", losses.kl_divergence, "kl_divergence", {})
_class("CosineSimilarity", losses.cosine_similarity, "cosine_similarity", {"axis": -1})


def as_loss(identifier):
    """A loss object of a name, a function, a configuration or a loss."""
    if identifier is None:
        return None
    result = KIND.get(identifier)
    return result if isinstance(result, Loss) else LossFunctionWrapper(result)
