# SPDX-License-Identifier: Apache-2.0
"""objects.py: classes of the root module of Keras 3 (Variable, KerasTensor, Layer, ...) and names
that situ does not implement."""

from __future__ import annotations

from typing import Any

from situ._src.framework import api
from situ._src.keras import context, initializers, input_layer, nodes, weights
from situ._src.keras.layer import Layer
from situ._src.keras.registry import unique
from situ._src.keras3.dtypes import standardize_dtype
from situ._src.keras3.exports import (
    alias,
    keras3_export,
    not_supported,
    unsupported_class,
    unsupported_function,
)
from situ._src.variables.eager_variable import EagerVariable

alias(Layer, "Layer")
for _short, _long in {
    "Loss": "losses.Loss",
    "Metric": "metrics.Metric",
    "Optimizer": "optimizers.Optimizer",
    "Initializer": "initializers.Initializer",
    "Regularizer": "regularizers.Regularizer",
    "InputSpec": "layers.InputSpec",
}.items():
    alias(api.named("keras." + _long), _short)


def _sigmoid_gates(name, place=8):
    """Exports a recurrent layer whose gates have a sigmoid by default, as in Keras 3."""
    base = api.named("keras.layers." + name)

    def __init__(self, *args, **kwargs):
        if len(args) < place:  # the argument is not among the positional ones
            kwargs.setdefault("recurrent_activation", "sigmoid")
        base.__init__(self, *args, **kwargs)

    made = type(name, (base,), {"__init__": __init__, "__doc__": base.__doc__})
    return keras3_export("layers." + name)(made)


for _name in ("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"):
    _sigmoid_gates(_name)


class _SymbolicMeta(type):
    """Makes symbolic tensors instances of KerasTensor."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return context.is_symbolic(instance)


@keras3_export("KerasTensor")
class KerasTensor(metaclass=_SymbolicMeta):
    """A symbolic tensor; `keras.Input` and calls of layers on one return such tensors.

    Args:
      shape: Shape with the batch dimension.
      dtype: Type.
      sparse: Only False is supported.
      ragged: Only False is supported.
      name: Name.
    """

    def __new__(
        cls,
        shape: Any,
        dtype: Any = "float32",
        sparse: bool = False,
        ragged: bool = False,
        name: str | None = None,
    ):
        if sparse or ragged:
            raise not_supported("KerasTensor(sparse=True)", "symbolic tensors are dense.")
        return input_layer.Input(batch_shape=tuple(shape), dtype=dtype, name=name)


@keras3_export("Variable")
class Variable(EagerVariable):
    """A variable of Keras 3.

    Args:
      initializer: Value, function of shape and dtype, or name of an initializer.
      shape: Shape, if initializer is a function or a name.
      dtype: Type; default: that of the value, or `keras.config.floatx()`.
      trainable: Whether it is trained.
      autocast: Whether layers of mixed precision read it in their compute type; has no effect on
        variables that a program creates.
      aggregation: How the copies of replicas are combined: "none", "mean", "sum",
        "only_first_replica".
      synchronization: When the copies of replicas are combined.
      name: Name; default: "variable", numbered.
      **kwargs: Not supported.

    Raises:
      TypeError: For unknown arguments.
      ValueError: If initializer is a function and shape is None.
    """

    def __init__(
        self,
        initializer: Any,
        shape: Any = None,
        dtype: Any = None,
        trainable: bool = True,
        autocast: bool = True,
        aggregation: str = "none",
        synchronization: str = "auto",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if kwargs:
            raise TypeError(f"Variable() got unexpected arguments: {sorted(kwargs)}")
        del autocast  # of the variables of layers
        if isinstance(initializer, str):
            initializer = initializers.get(initializer)
        if callable(initializer) and shape is None:
            raise ValueError(
                "When creating a Variable from an initializer, the `shape` argument should be "
                f"specified. Received: initializer={initializer} and shape={shape}"
            )
        kind = standardize_dtype(dtype) if dtype is not None or callable(initializer) else None
        if kind is None and isinstance(initializer, float):
            kind = context.setting("float")
        with context.eager():
            value = initializer(list(shape), dtype=kind) if callable(initializer) else initializer
            super().__init__(
                value,
                trainable=trainable,
                name=unique("variable") if name is None else name,
                dtype=kind,
                aggregation=aggregation,
                synchronization=synchronization,
            )

    @property
    def value(self) -> Any:  # type: ignore[override]
        """The value as a tensor."""
        return self.read_value()

    path = property(lambda self: self.name.split(":")[0], doc="The name with its prefixes.")
    ndim = property(lambda self: len(self.shape), doc="The number of axes.")


@keras3_export("utils.get_source_inputs")
def get_source_inputs(tensor: Any) -> list:
    """Returns the symbolic inputs that a symbolic tensor is computed from.

    Args:
      tensor: The symbolic tensor.
    """

    nodes.ensure(tensor)
    node = nodes.node_of(tensor)
    parents = node.parents()
    if not parents:
        return [tensor]
    return weights.deduplicate([t for p in parents for t in get_source_inputs(p)])


class _Sized:
    """The constructor that PyDataset adds to Sequence."""

    def __init__(
        self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10
    ) -> None:
        self.workers = workers
        self.use_multiprocessing, self.max_queue_size = use_multiprocessing, max_queue_size


@keras3_export("utils.PyDataset", "utils.Sequence")
class PyDataset(_Sized, api.named("keras.utils.Sequence")):  # type: ignore[misc]
    """Base class of batches by index; subclasses implement `__len__` and `__getitem__`.

    Args:
      workers, use_multiprocessing, max_queue_size: Kept, but batches are made in the calling
        thread.
    """

    num_batches = property(lambda self: len(self), doc="The number of batches.")


_QUANTIZATION = "quantization is not implemented."
unsupported_class("Quantizer", _QUANTIZATION)
for _name in (
    *("AWQConfig", "AbsMaxQuantizer", "Float8QuantizationConfig", "GPTQConfig", "Quantizer"),
    *("Int4QuantizationConfig", "Int8QuantizationConfig", "QuantizationConfig"),
):
    unsupported_class("quantizers." + _name, _QUANTIZATION)
for _name in (
    *("abs_max_quantize", "deserialize", "get", "serialize", "pack_int4", "unpack_int4"),
    *("compute_float8_amax_history", "compute_float8_scale", "quantize_and_dequantize"),
    *("fake_quant_with_min_max_vars", "abs_max_quantize_grouped_with_zero_point"),
):
    unsupported_function("quantizers." + _name, _QUANTIZATION)
unsupported_class("Function", "use keras.Model(inputs, outputs).")
unsupported_class("utils.FeatureSpace", "use the preprocessing layers.")
unsupported_class("saving.KerasFileEditor", "it is not implemented.")
unsupported_class("export.ExportArchive", "use model.export.")
unsupported_class("callbacks.OrbaxCheckpoint", "orbax belongs to JAX.")
for _name in ("SKLearnClassifier", "SKLearnRegressor", "SKLearnTransformer"):
    unsupported_class("wrappers." + _name, "wrappers for scikit-learn are not implemented.")
for _name in ("FlaxLayer", "JaxLayer", "TorchModuleWrapper"):
    unsupported_class("layers." + _name, "it belongs to another backend.")
unsupported_class("layers.TFSMLayer", "load the SavedModel with tf.saved_model.load.")
