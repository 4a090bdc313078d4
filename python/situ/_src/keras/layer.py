# SPDX-License-Identifier: Apache-2.0
"""layer.py: tf.keras.layers.Layer: an object that is called on tensors and owns weights, losses and
metrics."""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import Any

import numpy

import _situ
from situ._src.checkpoint import deferred_restore
from situ._src.framework import nest, style, tensor_shape
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope
from situ._src.framework.keywords import unsupported
from situ._src.framework.module import Module
from situ._src.framework.tensor import GraphTensor
from situ._src.keras import (
    constraints,
    context,
    initializers,
    input_spec,
    mixed_precision,
    nodes,
    regularizers,
    weights,
)
from situ._src.keras.registry import keras_export, to_snake_case, unique
from situ._src.ops import array_ops
from situ._src.ops.array_ops import cast, convert_to_tensor
from situ._src.variables import synchronization as variable_modes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, DTypeLike, ShapeLike, TensorLike

_LAYER_KWARGS = (
    "input_shape",
    "batch_input_shape",
    "batch_size",
    "weights",
    "activity_regularizer",
    "input_dim",
    "autocast",
    "implementation",
    "dynamic",
    "experimental_autocast",
    "input_dtype",
)


_KERAS3_WEIGHT = ("shape", "initializer", "dtype", "trainable")


def as_input(value, dtype=None):
    """Converts a number or array to a tensor; float64 becomes the given floating-point type."""
    if isinstance(value, (numpy.ndarray, numpy.generic, int, float)) and not isinstance(
        value, bool
    ):
        array = numpy.asarray(value)
        if array.dtype == numpy.float64 and dtype is not None and as_dtype(dtype).is_floating:
            array = array.astype(as_dtype(dtype).as_numpy_dtype)
        return convert_to_tensor(array)
    return value


def is_tensor(value):
    return isinstance(value, _situ.Tensor)


def assign_weights(variables, values, name):
    """Sets the values of a layer's variables."""
    weights.assign(variables, values, name)


def keras3_order(method):
    """Decorator of add_weight: if the first positional argument is a shape, positional arguments
    are in the order of Keras 3: shape, initializer, dtype, trainable.
    """

    @functools.wraps(method)
    def add_weight(self, *args, **kwargs):
        if args and not isinstance(args[0], str) and args[0] is not None:
            if len(args) > len(_KERAS3_WEIGHT):
                raise TypeError(f"add_weight() takes {len(_KERAS3_WEIGHT)} positional arguments")
            twice = [n for n in _KERAS3_WEIGHT[: len(args)] if n in kwargs]
            if twice:
                raise TypeError(f"add_weight() got multiple values for argument '{twice[0]}'")
            args, kwargs = (), {**dict(zip(_KERAS3_WEIGHT, args)), **kwargs}
        return method(self, *args, **kwargs)

    return add_weight


def unknown_keyword_error(kind, keyword):
    """Returns the TypeError for an unknown keyword argument, with the most similar known one."""
    known = [
        *_LAYER_KWARGS,
        *(
            n
            for c in kind.__mro__
            if "__init__" in vars(c)
            for n in inspect.signature(c.__init__).parameters
        ),
    ]
    similar = difflib.get_close_matches(keyword, known, 1)
    hint = f". Did you mean '{similar[0]}'?" if similar else ""
    return TypeError(f"Keyword argument not understood: {keyword}{hint}")


@keras_export("layers.Layer", "__internal__.layers.BaseRandomLayer")
class Layer(Module):
    """Base class of layers.

    A subclass creates its weights in build, which is called with the shape of the first input,
    implements call, and returns the arguments of its constructor from get_config.

    Args:
      trainable: Whether the weights are trained.
      name: Name of the layer; default: the class name in snake case, numbered.
      dtype: Type of the weights, or a dtype policy; default: the global policy.
      dynamic: Whether a model with the layer runs its steps op by op instead of compiled.
      **kwargs: `input_shape`, `batch_input_shape`, `batch_size` (with input_shape or input_dim),
        `input_dim`, `weights` (initial values), `activity_regularizer` and `autocast`.
        `experimental_autocast` is a former name of autocast. `input_dtype` and `implementation`
        are accepted, but have no effect.

    Call arguments:
      inputs: Tensor, or a list, tuple or dictionary of tensors.
      *args, **kwargs: Further arguments of call. `training` and `mask` are passed on if call has
        parameters of these names.

    Returns:
      What call returns; for symbolic tensors (`tf.keras.Input`) symbolic tensors.

    Raises:
      TypeError: For unknown arguments.
    """

    UNTRACKED: tuple[str, ...] = (
        "_inbound_nodes",
        "_outbound_nodes",
        "_metrics",
        "optimizer",
        "compiled_loss",
        "compiled_metrics",
        "history",
        "_strategy",
    )
    supports_masking = False

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: Any = None,
        dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        for keyword in kwargs:
            if keyword not in _LAYER_KWARGS:
                raise unknown_keyword_error(type(self), keyword)
        self._name = name if name is not None else unique(to_snake_case(type(self).__name__))
        self._trainable, self.built, self.stateful = trainable, False, False
        self._policy = mixed_precision.as_policy(dtype)
        self._dtype = (
            as_dtype(self._policy.variable_dtype)
            if self._policy is not None
            else None
            if dtype is None
            else as_dtype(dtype)
        )
        self._own_weights: list = []
        self._losses: list = []
        self._loss_functions: list[tuple] = []  # (variable or None, function)
        self._inbound_nodes: list = []
        self._outbound_nodes: list = []
        self._metrics: list = []
        self.input_spec: Any = None
        self._initial_weights = kwargs.get("weights")
        self._autocast = kwargs.get("autocast", kwargs.get("experimental_autocast", True))
        self._dynamic = dynamic
        self.activity_regularizer = regularizers.get(kwargs.get("activity_regularizer"))
        self._batch_input_shape = self._parse_input_shape(kwargs)
        self._build_input_shape = None

    @staticmethod
    def _parse_input_shape(kwargs):
        """Returns the batch shape that the arguments of the constructor specify, or None."""
        if "batch_input_shape" in kwargs:
            return tuple(kwargs["batch_input_shape"])
        shape = kwargs.get("input_shape")
        if shape is None and kwargs.get("input_dim"):
            shape = (kwargs["input_dim"],)
        if shape is None:
            return None
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return (kwargs.get("batch_size"), *shape)

    # Attributes

    dtype = property(lambda s: (s._dtype or as_dtype(context.setting("float"))).name)
    variable_dtype = dtype
    compute_dtype = property(lambda s: s._policy.compute_dtype if s._is_mixed else s.dtype)
    dtype_policy = property(
        lambda s: s._policy if s._is_mixed else mixed_precision.Policy(s.dtype),
        doc="The types that the layer computes in, and of its weights.",
    )
    _is_mixed = property(lambda s: s._policy is not None and s._policy.is_mixed)
    dynamic = property(lambda s: any(x._dynamic for x in s._flat_layers()))
    _is_model = _dynamic = False
    _is_elementwise = False  # ragged tensors: call gets their flat values
    _computes_in_variable_dtype = (
        False  # sums that float16 cannot hold: it computes in the type of its weights
    )

    @property
    def trainable(self) -> Any:
        """Whether the weights of the layer and of its sub-layers are trained."""
        return self._trainable

    @trainable.setter
    def trainable(self, value):
        self._trainable = bool(value)
        for layer in self._sub_layers():
            layer.trainable = value

    def _sub_layers(self):
        return weights.tracked(self, Layer)

    def _flat_layers(self):
        """Returns this layer and all its sub-layers, recursively."""
        return weights.deduplicate(
            [self, *[x for sub in self._sub_layers() for x in sub._flat_layers()]]
        )

    @property
    def submodules(self) -> tuple:
        return tuple(self._flat_layers()[1:])

    def _own(self):
        """Returns the variables of this layer, without those of sub-layers."""
        return weights.deduplicate(
            [*self._own_weights, *[v for v in weights.tracked(self, weights.VARIABLE)]]
        )

    @property
    def trainable_weights(self) -> Any:
        """Variables that training changes, of the layer and its sub-layers."""
        if not self.trainable:
            return []
        result = [v for v in self._own() if v.trainable]
        return weights.deduplicate(
            result + [v for s in self._sub_layers() for v in s.trainable_weights]
        )

    @property
    def non_trainable_weights(self) -> Any:
        """Variables that training does not change, of the layer and its sub-layers."""
        own = [v for v in self._own() if not (self.trainable and v.trainable)]
        return weights.deduplicate(
            own
            + [
                v
                for s in self._sub_layers()
                for v in (s.non_trainable_weights if self.trainable else s.weights)
            ]
        )

    @property
    def weights(self) -> Any:
        """All variables: the trainable ones, then the others."""
        return weights.deduplicate(self.trainable_weights + self.non_trainable_weights)

    variables = property(lambda s: s.weights)
    trainable_variables = property(lambda s: s.trainable_weights)
    non_trainable_variables = property(lambda s: s.non_trainable_weights)

    def count_params(self) -> int:
        """Returns the number of elements of all weights.

        Raises:
          ValueError: If the layer is not built.
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on layer {self.name}, but the "
                "layer isn't built. You can build it manually via: "
                f"`layer.build(batch_input_shape)`."
            )
        return sum(int(numpy.prod(v.shape.as_list())) for v in self.weights)

    def get_weights(self) -> list:
        """Returns the values of `weights` as a list of arrays."""
        return weights.values(self.weights)

    def set_weights(self, weights: TensorLike) -> None:
        """Sets the values of `weights`.

        Args:
          weights: List of arrays with the shapes of `weights`.

        Raises:
          ValueError: If their number or a shape is wrong.
        """
        assign_weights(self.weights, weights, f'"{self.name}"')

    def save_own_variables(self, store: Any) -> None:
        """Stores the values of the layer's own variables in a `.keras` archive; may be overridden.

        Args:
          store: Dictionary from names to arrays.
        """
        from situ._src.keras3 import serialization

        variables = serialization.variables_of(self)
        for i, value in enumerate(weights.values(variables)):
            store[str(i)] = value

    def load_own_variables(self, store: Any) -> None:
        """Loads what save_own_variables stored; may be overridden.

        Args:
          store: Dictionary from names to arrays.

        Raises:
          ValueError: If the number of variables or a shape is wrong.
        """
        from situ._src.keras3 import serialization

        variables = serialization.variables_of(self)
        if len(store) != len(variables):
            raise ValueError(
                f"Layer '{self.name}' expected {len(variables)} variables, but received "
                f"{len(store)} variables during loading. Expected: {[v.name for v in variables]}"
            )
        assign_weights(variables, [store[str(i)] for i in range(len(store))], f'"{self.name}"')

    # For subclasses

    @keras3_order
    def add_weight(
        self,
        name: str | None = None,
        shape: ShapeLike = None,
        dtype: DTypeLike = None,
        initializer: Any = None,
        regularizer: Callable | None = None,
        trainable: bool | None = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        autocast: bool = True,
        overwrite_with_gradient: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Creates a variable of the layer.

        Args:
          name: Name of the variable.
          shape: Its shape; default: a scalar.
          dtype: Its type; default: that of the layer.
          initializer: Initializer; default: glorot_uniform for floating-point types, otherwise
            zeros.
          regularizer: Regularizer, whose value is added to `losses`.
          trainable: Whether it is trained; default: True, unless synchronization is ON_READ.
          constraint: Constraint applied after each update.
          use_resource: Has no effect: as in TensorFlow 2, all variables are resource variables.
          synchronization: When the copies of replicas are combined.
          aggregation: How the copies of replicas are combined.
          autocast: Whether a layer of mixed precision reads it in its compute type.
          overwrite_with_gradient: Only False is supported.
          **kwargs: `experimental_autocast`, a former name of autocast; `collections` of a session's
            graph; `caching_device`, which has no effect; and `getter`, `layout` and `partitioner`,
            which must be None.

        Returns:
          The variable.

        Raises:
          NotImplementedError: If overwrite_with_gradient, getter, layout or partitioner is set.
          TypeError: For unknown arguments.
          ValueError: If a trainable variable has the synchronization ON_READ.
        """
        for keyword, value in kwargs.items():
            if keyword in ("getter", "layout", "partitioner"):
                unsupported("add_weight", **{keyword: (value, None)})
            elif keyword not in ("collections", "experimental_autocast", "caching_device"):
                raise TypeError(f"Unknown keyword argument: {keyword}")
        unsupported("add_weight", overwrite_with_gradient=(overwrite_with_gradient, False))
        del use_resource  # the variables of layers are resource variables
        dtype = as_dtype(dtype or self.dtype)
        if initializer is None:
            initializer = "glorot_uniform" if dtype.is_floating else "zeros"
        initializer = initializers.get(initializer)
        arguments = {
            k: v
            for k, v in (("synchronization", synchronization), ("aggregation", aggregation))
            if v is not None
        }
        mode = variable_modes.synchronization(synchronization, name)
        if trainable and mode is variable_modes.VariableSynchronization.ON_READ:
            raise ValueError(
                "Synchronization value can be set to VariableSynchronization.ON_READ "
                "only for non-trainable variables. You have specified trainable=True "
                "and synchronization=VariableSynchronization.ON_READ."
            )
        trainable = variable_modes.is_trainable(trainable, mode)
        result = weights.create(
            context.full_name(name or "Variable"),
            () if shape is None else shape,
            dtype,
            initializer,
            trainable,
            constraints.get(constraint),
            kwargs.get("collections"),
            **arguments,
        )
        if self._is_mixed and autocast and kwargs.get("experimental_autocast", True):
            result = mixed_precision.autocast(result)
        self._own_weights += getattr(result, "_situ_parts_of_variable_", [result])
        if regularizer is not None:
            penalty = regularizers.get(regularizer)
            self._loss_functions.append((result, penalty))
        return result

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """Calls add_weight; its name in TensorFlow 1."""
        return self.add_weight(*args, **kwargs)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses to that of training.

        Args:
          losses: Tensor, function without arguments that returns one, or a list of them.
          inputs: Has no effect, as in TensorFlow 2.
        """
        del inputs  # the losses of TensorFlow 2 do not depend on it
        for loss in nest.flatten(losses):
            if callable(loss):
                self._loss_functions.append((None, loss))
            elif loss is not None:
                self._losses.append(loss)

    def add_metric(
        self,
        value: TensorLike,
        name: str | None = None,
        aggregation: Any = None,
        inputs: Any = None,
    ) -> None:
        """Adds the mean of a value to the metrics.

        Args:
          value: Tensor.
          name: Name of the metric; default: "mean".
          aggregation: "mean", or None, which is the same.
          inputs: Has no effect, as in TensorFlow 2.

        Raises:
          ValueError: If aggregation is something else.
        """
        from situ._src.keras import metrics

        del inputs  # the metrics of TensorFlow 2 do not depend on it
        if aggregation not in (None, "mean"):
            raise ValueError(
                "We currently support only `mean` sample-wise metric aggregation. You provided "
                f"aggregation=`{aggregation}`"
            )

        named = {m.name: m for m in self._metrics}
        if name not in named:
            named[name] = metrics.Mean(name or "mean")
            self._metrics.append(named[name])
        if not context.is_symbolic(value):
            named[name].update_state(value)

    def add_update(self, updates: TensorLike, inputs: Any = None) -> None:
        """Does nothing: assignments take effect where they are called."""

    updates = property(lambda s: [])

    @property
    def losses(self) -> Any:
        """Losses of weights (regularizers) and of the last call, of the layer and its
        sub-layers.
        """
        here = _situ.current_graph()
        result = []
        for layer in self._flat_layers():
            for variable, function in layer._loss_functions:
                result.append(function() if variable is None else function(variable))
            result += [
                v for v in layer._losses if not isinstance(v, GraphTensor) or v.graph is here
            ]
        return result

    def _clear_losses(self):
        for layer in self._flat_layers():
            layer._losses = []

    @property
    def metrics(self) -> Any:
        """Metrics of the layer and its sub-layers."""
        return weights.deduplicate([m for layer in self._flat_layers() for m in layer._metrics])

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the weights; subclasses override it.

        Args:
          input_shape: TensorShape of the inputs, or a structure of them.
        """
        self.built = True

    def call(self, inputs: TensorLike) -> Any:
        """Computes the outputs; subclasses override it.

        Args:
          inputs: Tensor, or a structure of tensors.

        Returns:
          Tensor, or a structure of tensors.
        """
        return inputs

    def compute_mask(self, inputs: TensorLike, mask: TensorLike = None) -> Any:
        """Returns the mask of the outputs, given the inputs and their mask."""
        if not self.supports_masking:
            return None
        return mask

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        """Returns the shape of the output, found by calling the layer on a symbolic tensor.

        Args:
          input_shape: Shape of the input with the batch dimension, or a list of shapes.

        Returns:
          TensorShape, or a structure of them.
        """
        graph = context.KerasGraph()
        with graph.as_default():
            result = nest.flatten(input_shape) if isinstance(input_shape, (dict,)) else None
            inputs = (
                nodes.placeholder(graph, tensor_shape.as_shape(input_shape), self.dtype)
                if result is None and not _is_list_of_shapes(input_shape)
                else [
                    nodes.placeholder(graph, tensor_shape.as_shape(s), self.dtype)
                    for s in input_shape
                ]
            )
            outputs = self._run(inputs, (), {})
        return nest.map_structure(lambda t: t.shape, outputs)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor as a dictionary."""
        config = {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": self._policy.name if self._is_mixed else self.dtype,
        }
        if self._batch_input_shape is not None:
            config["batch_input_shape"] = list(self._batch_input_shape)
        if self._dynamic:
            config["dynamic"] = True
        return config

    @classmethod
    def from_config(cls, config: Any) -> Any:
        """Creates a layer from the result of get_config."""
        return cls(**config)

    # Calls

    def _signature(self):
        """Returns the names of the parameters of call."""
        result = self.__dict__.get("_call_words")
        if result is None:
            parameters = inspect.signature(self.call).parameters
            result = self.__dict__["_call_words"] = set(parameters)
        return result

    def _maybe_build(self, inputs):
        """Builds the layer on the first call."""
        if self.built:
            if self._is_model and self._build_input_shape is None and is_tensor(inputs):
                shape = tensor_shape.as_shape(inputs.shape)  # of a model whose build was called
                if shape.rank:
                    self._build_input_shape = tensor_shape.TensorShape([None, *shape[1:]])
            return
        tensors = [t for t in nest.flatten(inputs) if is_tensor(t)]
        if self._dtype is None and tensors and tensors[0].dtype.is_floating and style.is_graph():
            self._dtype = tensors[0].dtype.base_dtype  # in eager style it is that of the backend
        shape = nest.map_structure(
            lambda t: (
                tensor_shape.as_shape(t.shape)
                if is_tensor(t) or hasattr(t, "_situ_tensors_") and hasattr(t, "shape")
                else None
            ),
            inputs,
        )
        self._build_input_shape = shape
        self.build(shape)
        deferred_restore.settle()
        self.built = True
        if self._initial_weights is not None:
            values, self._initial_weights = self._initial_weights, None
            self.set_weights(values)

    def _cast(self, inputs):
        """Casts floating-point inputs to the compute type of the layer."""
        dtype = as_dtype(self.compute_dtype) if self._is_mixed else self._dtype
        if dtype is None and not style.is_graph():
            dtype = as_dtype(context.setting("float"))
        if dtype is None or not dtype.is_floating or not self._autocast:
            return inputs
        return mixed_precision.cast_all(inputs, dtype)

    def _training(self, kwargs):
        if "training" in kwargs and kwargs["training"] is not None:
            return kwargs["training"]
        if context.call.training is not None:
            return context.call.training
        return context.setting("phase")

    def _run(self, inputs, args, kwargs):
        """Builds the layer if necessary and calls it, with training and mask."""
        known = self._signature()
        training = self._training(kwargs)
        with context.layer_call(self, training), scope(self.name):
            self._maybe_build(inputs)
            inputs = self._cast(inputs)
            if "training" in known and "training" not in bound_parameters(self, args):
                kwargs = {**kwargs, "training": training}
            else:
                kwargs = {k: v for k, v in kwargs.items() if k != "training" or "kwargs" in known}
            masks = nest.map_structure(context.get_mask, inputs)
            has_mask = any(m is not None for m in nest.flatten(masks))
            if "mask" in known and kwargs.get("mask") is None and has_mask:
                kwargs = {**kwargs, "mask": masks}
            outputs = self._call_in_policy(inputs, args, kwargs)
            if self.activity_regularizer is not None:
                self._add_activity_loss(outputs)
        self._propagate_mask(inputs, outputs, kwargs.get("mask", masks if has_mask else None))
        return outputs

    def _call_in_policy(self, inputs, args, kwargs):
        """Calls `call` and returns its outputs in the compute type of the layer."""
        if self._is_elementwise and hasattr(inputs, "with_flat_values"):  # a ragged tensor
            flat = self._call_in_policy(inputs.flat_values, args, kwargs)
            return inputs.with_flat_values(flat)
        call = context.autograph(self.call)
        if not self._is_mixed:
            with mixed_precision.reading_as(None):
                return call(inputs, *args, **kwargs)
        if not self._computes_in_variable_dtype:
            with mixed_precision.reading_as(self.compute_dtype):
                return call(inputs, *args, **kwargs)
        with mixed_precision.reading_as(None):
            full = mixed_precision.cast_all(inputs, self.variable_dtype)
            outputs = call(full, *args, **kwargs)
        return mixed_precision.cast_all(outputs, self.compute_dtype)

    def _add_activity_loss(self, outputs):
        """Adds the loss of the activity regularizer, divided by the batch size."""
        for tensor in nest.flatten(outputs):
            count = cast(array_ops.op("GatherV2", array_ops.shape(tensor), 0, 0), tensor.dtype)
            self._losses.append(self.activity_regularizer(tensor) / count)

    def _propagate_mask(self, inputs, outputs, mask):
        """Sets the masks of the outputs."""
        result = self.compute_mask(inputs, mask)
        if result is None:
            return
        flat = nest.flatten(outputs)
        for tensor, one in zip(flat, result if isinstance(result, list) else [result] * len(flat)):
            if one is not None and (is_tensor(tensor) or hasattr(tensor, "_situ_tensors_")):
                context.set_mask(tensor, one)

    def __call__(self, inputs=None, *args, **kwargs):
        if inputs is None and kwargs:  # the first parameter of `call` by name
            inputs = kwargs.pop(next(iter(inspect.signature(self.call).parameters)), None)
        inputs = (
            nest.map_structure(lambda v: as_input(v, self.dtype), inputs)
            if inputs is not None
            else inputs
        )
        inputs = nest.map_structure(_read_variable, inputs)
        input_spec.check(self, inputs)
        leaves = nest.flatten((inputs, args, kwargs))
        if not context.call.depth and any(context.is_symbolic(v) for v in leaves):
            return nodes.record(self, inputs, args, kwargs)
        if not context.call.depth:
            if style.is_graph() and weights.in_session_graph():
                weights.to_graph(self._flat_layers())
            self._clear_losses()
        return self._run(inputs, args, kwargs)

    def _registered_class(self):
        """Returns the class name in saved models."""
        return getattr(type(self), "_registered_name", type(self).__name__)

    # Position in models

    @property
    def inbound_nodes(self) -> Any:
        return self._inbound_nodes

    @property
    def outbound_nodes(self) -> Any:
        return self._outbound_nodes

    def _inbound_node(self, what):
        """Returns the node of the only call of the layer; `what` names the attribute for errors."""
        if len(self._inbound_nodes) == 0:
            raise AttributeError(
                f"Layer {self.name} has never been called and thus has no defined {what}."
            )
        if len(self._inbound_nodes) > 1 and what in ("input", "output"):
            raise AttributeError(
                f"Layer {self.name} has multiple inbound nodes, hence the notion "
                f'of "layer {what}" is ill-defined. Use `get_{what}_at('
                "node_index)` instead."
            )
        return self._inbound_nodes[0]

    input = property(lambda s: s._inbound_node("input").inputs)
    output = property(lambda s: s._inbound_node("output").outputs)

    @property
    def input_shape(self) -> Any:
        """Shape of the input of the first call, as a tuple."""
        return nest.map_structure(_sizes, self._inbound_node("input_shape").inputs)

    @property
    def output_shape(self) -> Any:
        """Shape of the output of the first call, as a tuple."""
        return nest.map_structure(_sizes, self._inbound_node("output_shape").outputs)

    def get_input_at(self, node_index: Any) -> Any:
        """Returns the symbolic inputs of a call, by its index."""
        return self._inbound_nodes[node_index].inputs

    def get_output_at(self, node_index: Any) -> Any:
        """Returns the symbolic outputs of a call, by its index."""
        return self._inbound_nodes[node_index].outputs

    def __repr__(self):
        return f"<keras.layers.{type(self).__name__} name={self.name}>"


def bound_parameters(layer, args):
    """Returns the names of the parameters that positional arguments after the inputs bind."""
    if not args:
        return ()
    names = list(inspect.signature(layer.call).parameters)
    return names[1 : 1 + len(args)]


def _read_variable(value):
    """Returns the tensor of a variable; other values stay."""
    return value._situ_tensor_() if isinstance(value, weights.VARIABLE) else value


def _sizes(tensor):
    return tuple(tensor.shape.as_list())


def _is_list_of_shapes(shape):
    return (
        isinstance(shape, list)
        and bool(shape)
        and isinstance(shape[0], (list, tuple, tensor_shape.TensorShape))
    )
