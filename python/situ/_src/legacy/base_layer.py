# SPDX-License-Identifier: Apache-2.0
"""base_layer.py: base classes of tf.layers: variables in variable scopes, regularizers, names."""

from __future__ import annotations

import contextlib
import copy
import re
from typing import Any

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.scopes import name_scope
from situ._src.ops import init_ops
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.variables import variable_scope

ZEROS, ONES = init_ops.Zeros, init_ops.Ones


def pair(value):
    """Returns a number, or a sequence of two, as (rows, columns)."""
    return tuple(int(v) for v in value) if hasattr(value, "__iter__") else (int(value),) * 2


def window(value, count, name):
    """Returns the size of a window as a tuple of integers; an integer holds for all axes.

    Raises:
      ValueError: the value is not an integer or `count` of them.
    """
    if isinstance(value, int):
        return (value,) * count
    try:
        sizes = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        sizes = ()
    if len(sizes) != count:
        raise ValueError(
            f"The `{name}` argument must be a tuple of {count} integers. Received: {value}"
        )
    return sizes


def check_data_format(value):
    """Returns the argument `data_format` of a layer.

    Raises:
      ValueError: the value is unknown.
    """
    value = "channels_last" if value is None else value
    if str(value).lower() not in ("channels_first", "channels_last"):
        raise ValueError(
            'The `data_format` argument must be one of "channels_first", "channels_last". '
            f"Received: {value}"
        )
    return str(value).lower()


def check_padding(value):
    """Returns the argument `padding` of a layer in upper case.

    Raises:
      ValueError: the value is unknown.
    """
    if str(value).lower() not in ("valid", "same"):
        raise ValueError(
            f'The `padding` argument must be one of "valid", "same". Received: {value}'
        )
    return str(value).upper()


def choose(condition, true, false):
    """Returns the result of one of two functions, by a Python bool or a tensor."""
    if isinstance(condition, (bool, int)):
        return true() if condition else false()
    condition = op("Reshape", convert_to_tensor(condition), [])  # it may come without a shape
    return op("SelectV2", condition, true(), false())


class Layer:
    """Base class of the layers of TensorFlow 1; the first call creates the variables.

    Args:
      trainable: Whether the variables are trained.
      name: Name of the variable scope.
      dtype: Type of the variables; default: that of the first input.
      activity_regularizer: Function of the output, whose result is added to
        REGULARIZATION_LOSSES.

    Call arguments:
      inputs: Tensor.
      scope: Name of the variable scope at the first call; default: name.

    Raises:
      TypeError: If there is an unknown argument.
    """

    _CALLED = ("_scope", "_vars", "_losses", "updates")  # what calls leave

    def __init__(
        self,
        trainable=True,
        name=None,
        dtype=None,
        _scope=None,
        _reuse=None,
        activity_regularizer=None,
        **kwargs,
    ):
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {sorted(kwargs)[0]}")
        self._name, self.trainable, self._reuse = name, trainable, _reuse
        self.dtype, self.built, self._scope = dtype, False, None
        self.activity_regularizer, self._vars, self.updates = activity_regularizer, [], []
        self._losses: list = []
        self._unique_name = name or self._count_name()
        if _scope:
            with variable_scope.variable_scope(_scope) as captured:
                self._scope = captured

    def _count_name(self):
        """Returns a name that no other layer of the graph has: dense_1, dense_2, ..."""
        counts = get_default_graph().__dict__.setdefault("_layer_counts", {})
        base = self.default_name()
        counts[base] = counts.get(base, 0) + 1
        return f"{base}_{counts[base]}"

    def __deepcopy__(self, memo):
        """Returns a copy of the layer that has not been called."""
        result = memo[id(self)] = type(self).__new__(type(self))
        for key, value in self.__dict__.items():
            try:
                result.__dict__[key] = value if key in self._CALLED else copy.deepcopy(value, memo)
            except TypeError:  # what belongs to a graph is shared
                result.__dict__[key] = value
        result._scope, result.built, result._vars, result.updates = None, False, [], []
        result._losses = []
        return result

    @property
    def name(self):
        return self._unique_name

    @property
    def scope_name(self):
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self.name}" has not been '
                "used yet. The scope name is determined the first time the layer instance is "
                "called. You must therefore call the layer before querying `scope_name`."
            )
        return self._scope.name

    @property
    def losses(self):
        """The losses of regularizers and of add_loss."""
        return list(self._losses)

    def add_loss(self, losses, inputs=None):
        """Adds losses to this layer and to the collection REGULARIZATION_LOSSES.

        Args:
          losses: A tensor or a list of them.
          inputs: Ignored.
        """
        del inputs  # the losses of a layer are kept in one list
        for loss in losses if isinstance(losses, (list, tuple)) else [losses]:
            if loss is not None:
                self._losses.append(loss)
                get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates, inputs=None):
        """Adds operations to this layer and to the collection UPDATE_OPS.

        Args:
          updates: An operation or a list of them.
          inputs: Ignored.
        """
        del inputs  # the updates of a layer are kept in one list
        for update in updates if isinstance(updates, (list, tuple)) else [updates]:
            self.updates.append(update)
            get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, update)

    def count_params(self):
        """Returns the number of elements of the variables.

        Raises:
          ValueError: the layer has not been built.
        """
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. You "
                "can build it manually via: `.build(batch_input_shape)`."
            )
        return sum(v.shape.num_elements() for v in self.variables)

    @property
    def variables(self):
        return [v for v, _ in self._vars]

    weights = variables

    @property
    def trainable_variables(self):
        return [v for v, trainable in self._vars if trainable]

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self):
        return [v for v, trainable in self._vars if not trainable]

    non_trainable_weights = non_trainable_variables

    def add_weight(
        self,
        name,
        shape,
        initializer=None,
        regularizer=None,
        trainable=True,
        constraint=None,
        dtype=None,
    ):
        known_losses = get_default_graph().get_collection_ref(GraphKeys.REGULARIZATION_LOSSES)
        before = len(known_losses)
        result = variable_scope.get_variable(
            name,
            shape,
            dtype or self.dtype,
            initializer,
            regularizer,
            trainable=trainable and self.trainable,
            constraint=constraint,
        )
        self._losses += known_losses[before:]
        self._vars.append((result, trainable and self.trainable))
        return result

    add_variable = add_weight

    def build(self, shape):
        self.built = True

    def call(self, inputs):
        return inputs

    def default_name(self):
        """Returns the class name in snake case."""
        parts = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", type(self).__name__)
        return re.sub("([a-z])([A-Z])", r"\1_\2", parts).lower()

    def __call__(self, inputs, *args, scope=None, **kwargs):
        inputs = convert_to_tensor(inputs)
        if self.dtype is None:
            self.dtype = inputs.dtype.base_dtype
        with self._enter_scope(scope) as here:
            self._scope = here
            if not self.built:
                self.build(tensor_shape.as_shape(inputs.shape))
                self.built = True
            result = self.call(inputs, *args, **kwargs)
            if self.activity_regularizer is not None and result is not None:
                self.add_loss(self.activity_regularizer(result))
            return result

    def _enter_scope(self, scope):
        """Returns the variable scope of a call: that of the first call, else `scope`, else a new
        one with the name of the layer."""
        if self._scope is not None:
            return self._enter_again()
        default = self._name or self.default_name()
        if self._reuse and scope is None:
            scope = default
        return variable_scope.variable_scope(scope, default, reuse=self._reuse)

    @contextlib.contextmanager
    def _enter_again(self):
        """Enters the variable scope of the layer and its name scope."""
        names = self._scope.original_name_scope
        reuse = True if self.built else self._reuse
        with (
            name_scope(names),
            variable_scope.variable_scope(
                self._scope, reuse=reuse, auxiliary_name_scope=False
            ) as here,
        ):
            yield here

    def apply(self, inputs: Any, *args, **kwargs):
        """Calls the layer."""
        return self(inputs, *args, **kwargs)


export(v1=("layers.Layer",))(Layer)


class _Weighted(Layer):
    """Base class of layers with a kernel and, unless use_bias is False, a bias."""

    def __init__(
        self,
        activation=None,
        use_bias=True,
        kernel_initializer=None,
        bias_initializer=ZEROS,
        kernel_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.activation, self.use_bias = activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.kernel = self.bias = None

    def make(self, shape, outputs):
        self.kernel = self.add_weight(
            "kernel",
            shape,
            self.kernel_initializer,
            self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [outputs],
                self.bias_initializer,
                self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def finish(self, made, data_format="NHWC"):
        if self.use_bias:
            made = op("BiasAdd", made, self.bias, data_format=data_format)
        return self.activation(made) if self.activation is not None else made


def known(size, what):
    if size is None:
        raise ValueError(f"{what} should be defined. Found `None`.")
    return int(size)
