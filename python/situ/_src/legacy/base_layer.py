# SPDX-License-Identifier: Apache-2.0
"""base_layer.py: base classes of tf.layers: variables in variable scopes, regularizers, names."""

from __future__ import annotations

import copy
import re
from typing import Any

from situ._src.framework import tensor_shape
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.ops import init_ops
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.variables import variable_scope

ZEROS, ONES = init_ops.Zeros, init_ops.Ones


def pair(value):
    """Returns a number, or a sequence of two, as (rows, columns)."""
    return tuple(int(v) for v in value) if hasattr(value, "__iter__") else (int(value),) * 2


def choose(condition, true, false):
    """Returns the result of one of two functions, by a Python bool or a tensor."""
    if isinstance(condition, (bool, int)):
        return true() if condition else false()
    condition = op("Reshape", convert_to_tensor(condition), [])  # it may come without a shape
    return op("SelectV2", condition, true(), false())


def _remember(values, regularizer, key):
    if regularizer is not None and values is not None:
        get_default_graph().add_to_collection(key, regularizer(values))
    return values


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

    _CALLED = ("_scope", "_vars", "updates")  # what calls leave

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
        self.dtype, self.built, self._scope = dtype, False, _scope
        self.activity_regularizer, self._vars, self.updates = activity_regularizer, [], []

    def __deepcopy__(self, memo):
        """Returns a copy of the layer that has not been called."""
        result = memo[id(self)] = type(self).__new__(type(self))
        for key, value in self.__dict__.items():
            try:
                result.__dict__[key] = value if key in self._CALLED else copy.deepcopy(value, memo)
            except TypeError:  # what belongs to a graph is shared
                result.__dict__[key] = value
        result._scope, result.built, result._vars, result.updates = None, False, [], []
        return result

    @property
    def name(self):
        return self._name or self._scope.name

    @property
    def scope_name(self):
        return self._scope.name

    @property
    def variables(self):
        return [v for v, _ in self._vars]

    weights = variables

    @property
    def trainable_variables(self):
        return [v for v, trainable in self._vars if trainable]

    trainable_weights = trainable_variables

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
        result = variable_scope.get_variable(
            name,
            shape,
            dtype or self.dtype,
            initializer,
            regularizer,
            trainable=trainable and self.trainable,
            constraint=constraint,
        )
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
        chosen = self._scope if self._scope is not None else scope or self._name
        if chosen is None and self._reuse:
            chosen = self.default_name()
        default = None if chosen is not None else self.default_name()
        again = self.built and self._scope is not None
        with variable_scope.variable_scope(
            chosen, default, reuse=True if again else self._reuse
        ) as here:
            self._scope = here
            if not self.built:
                self.build(tensor_shape.as_shape(inputs.shape))
                self.built = True
            result = self.call(inputs, *args, **kwargs)
            return _remember(result, self.activity_regularizer, GraphKeys.REGULARIZATION_LOSSES)

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
