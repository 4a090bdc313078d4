# SPDX-License-Identifier: Apache-2.0
"""rnn_cells.py: cells of recurrent layers: SimpleRNNCell, LSTMCell, GRUCell, StackedRNNCells."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework import api, tensor_shape
from situ._src.keras import (
    activations,
    constraints,
    context,
    initializers,
    regularizers,
    seed_generator,
)
from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import named, serialize_attributes, with_last
from situ._src.keras.registry import LAYERS, keras_export, serialize_keras_object
from situ._src.keras.seed_generator import SeedGenerator
from situ._src.ops.array_ops import constant, convert_to_tensor, op, zeros
from situ._src.ops.array_ops import shape as shape_op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import ShapeLike


class ForgetBias:
    """Initializer of the bias of an LSTM: ones for the forget gate, `inner` for the other gates."""

    def __init__(self, units, inner):
        self.units, self.inner = units, inner

    def __call__(self, shape, dtype=None):
        del shape  # it is that of the bias: 4 gates
        first = numpy.array(self.inner([4 * self.units], dtype=dtype).numpy())
        first[self.units : 2 * self.units] = 1.0
        return constant(first, dtype)


def is_plain(cell):
    """Returns whether a cell is one of Keras that computes as Keras defines it, so that its inputs
    can be projected for all steps at once: a subclass of a program may override its methods."""
    return isinstance(cell, Cell) and all(
        getattr(type(cell), name).__module__.startswith("situ.")
        for name in ("__call__", "call", "get_initial_state")
        if hasattr(type(cell), name)
    )


class Cell(Layer):
    """Base class of cells with a kernel of the inputs, a kernel of the state and a bias, for
    GATES gates.
    """

    GATES = 1
    CONFIG_KEYS: tuple[str, ...] = (
        "units",
        "activation",
        "use_bias",
        "kernel_initializer",
        "recurrent_initializer",
        "bias_initializer",
        "kernel_regularizer",
        "recurrent_regularizer",
        "bias_regularizer",
        "kernel_constraint",
        "recurrent_constraint",
        "bias_constraint",
        "dropout",
        "recurrent_dropout",
        "seed",
    )
    SEED_FIRST = False  # whether Keras draws the seed of dropout before those of the initializers

    def __init__(
        self,
        units,
        activation="tanh",
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        dropout=0.0,
        recurrent_dropout=0.0,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if self.SEED_FIRST:
            self.seed_generator = SeedGenerator(seed)
        self.units, self.activation, self.use_bias = (
            int(units),
            activations.get(activation),
            use_bias,
        )
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = regularizers.get(recurrent_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.recurrent_constraint = constraints.get(recurrent_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout, self.seed = min(1.0, max(0.0, recurrent_dropout)), seed
        if not self.SEED_FIRST:
            self.seed_generator = SeedGenerator(seed)
        self.state_size, self.output_size, self.bias = self.units, self.units, None

    def bias_shape(self):
        return [self.units * self.GATES]

    def get_bias_initializer(self):
        return self.bias_initializer

    def build(self, input_shape):
        width = tensor_shape.as_shape(input_shape).as_list()[-1]
        wide = self.units * self.GATES
        self.kernel = self.add_weight(
            "kernel",
            [width, wide],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel",
            [self.units, wide],
            initializer=self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                self.bias_shape(),
                initializer=self.get_bias_initializer(),
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def input_bias(self):
        return self.bias

    def project(self, inputs, mask=None):
        """Multiplies inputs by the kernel and adds the bias: the part of a step that needs no
        state. Inputs are multiplied by `mask` first, a tensor or a list of one per gate.
        """
        rank, width = inputs.shape.rank, inputs.shape.as_list()[-1]
        flatten = lambda x: x if rank == 2 else op("Reshape", x, [-1, width])
        if isinstance(mask, list):
            masks = [flatten(op("OnesLike", inputs) * m) for m in mask]
            result = self.per_gate(flatten(inputs), masks, self.kernel)
        else:
            result = op("MatMul", flatten(inputs if mask is None else inputs * mask), self.kernel)
        bias = self.input_bias()
        result = result if bias is None else op("BiasAdd", result, bias)
        if rank == 2:
            return result
        return op("Reshape", result, with_last(inputs, self.units * self.GATES))

    def step(self, projected, states, drop=None):
        """Returns (output, states) of a projected input; the state is multiplied by `drop` if
        given.
        """
        raise NotImplementedError

    def dropout_mask(self, x, rate):
        """Returns the dropout mask that all steps of a call multiply x by; with recurrent dropout
        a list of one mask per gate."""
        ones = op("OnesLike", x)
        masks = [
            seed_generator.dropout(ones, rate, None, self.seed_generator)
            for _ in range(self._mask_count())
        ]
        return masks if len(masks) > 1 else masks[0]

    def _mask_count(self):
        return self.GATES if self.recurrent_dropout else 1

    def per_gate(self, x, masks, kernel):
        """Multiplies x by the columns of each gate, with the mask of that gate."""
        columns = op("Split", 1, kernel, num_split=len(masks))
        return op("ConcatV2", [op("MatMul", x * m, c) for m, c in zip(masks, columns)], -1)

    def recurrent(self, state, drop):
        """Multiplies the state by the recurrent kernel."""
        if isinstance(drop, list):
            return self.per_gate(state, drop, self.recurrent_kernel)
        return op("MatMul", state if drop is None else state * drop, self.recurrent_kernel)

    def dropout_masks(self, x, state, training):
        """Returns the masks of inputs and states, or None. Calls outside of training count as
        draws, too."""
        masks = []
        for value, rate in ((x, self.dropout), (state, self.recurrent_dropout)):
            if rate and not training:
                for _ in range(self._mask_count()):
                    self.seed_generator.skip()
            masks.append(self.dropout_mask(value, rate) if rate and training else None)
        return masks

    def call(self, inputs, states, training=None):
        states = list(states) if isinstance(states, (list, tuple)) else [states]
        mask, drop = self.dropout_masks(inputs, states[0], True) if training else (None, None)
        return self.step(self.project(inputs, mask), states, drop)

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        """Returns states of zeros.

        Args:
          inputs: Tensor whose first dimension is the batch size, if batch_size is None.
          batch_size: Batch size.
          dtype: Type of the states.
        """
        size = batch_size if batch_size is not None else op("Shape", inputs)[0]
        sizes = self.state_size if isinstance(self.state_size, list) else [self.state_size]
        result = [
            zeros(
                op("Pack", [convert_to_tensor(size, "int32"), convert_to_tensor(s, "int32")])
                if not isinstance(size, int)
                else [size, s],
                dtype or self.compute_dtype,
            )
            for s in sizes
        ]
        return result if isinstance(self.state_size, list) else result[0]

    def get_config(self):
        keys = [k for k in self.CONFIG_KEYS if k != "seed" or self.seed is not None]
        return {**super().get_config(), **serialize_attributes(self, *keys)}


@named("SimpleRNNCell")
class SimpleRNNCell(Cell):
    """Cell of SimpleRNN: `activation(inputs @ kernel + state @ recurrent_kernel + bias)`.

    Args:
      units: Size of the output and of the state.
      activation: Activation function, or its name.
      use_bias: Whether to add a bias.
      **kwargs: Initializers, regularizers, constraints and dropout as in `SimpleRNN`.

    Call arguments:
      inputs: Tensor of shape `(batch, features)`.
      states: The state of the previous step.
      training: Whether to apply dropout.

    Returns:
      (output, list of states).
    """

    SEED_FIRST = True

    def step(self, projected, states, drop=None):
        before = states[0] if drop is None else states[0] * drop
        output = self.activation(projected + op("MatMul", before, self.recurrent_kernel))
        return output, [output]


@named("LSTMCell")
class LSTMCell(Cell):
    """Cell of LSTM; the gates are input, forget, candidate and output, in this order.

    Args:
      units: Size of the output and of both states.
      activation: Activation of candidate and output.
      recurrent_activation: Activation of the gates.
      use_bias: Whether to add a bias.
      kernel_initializer: Initializer of the kernel of the inputs.
      recurrent_initializer: Initializer of the kernel of the state.
      bias_initializer: Initializer of the bias.
      unit_forget_bias: Whether the bias of the forget gate starts at 1.
      **kwargs: Regularizers, constraints and dropout as in `LSTM`.

    Call arguments:
      inputs: Tensor of shape `(batch, features)`.
      states: List of the hidden state and the cell state.
      training: Whether to apply dropout.

    Returns:
      (output, list of states).
    """

    GATES = 4
    CONFIG_KEYS = Cell.CONFIG_KEYS + ("recurrent_activation", "unit_forget_bias")

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation="sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        **kwargs,
    ) -> None:
        super().__init__(
            units,
            activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            **kwargs,
        )
        self.recurrent_activation = activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias
        self.state_size = [self.units, self.units]

    def get_bias_initializer(self):
        return (
            ForgetBias(self.units, self.bias_initializer)
            if self.unit_forget_bias
            else self.bias_initializer
        )

    def step(self, projected, states, drop=None):
        hidden, carry = states
        z = projected + self.recurrent(hidden, drop)
        i, f, c, o = op("Split", 1, z, num_split=4)
        gate = self.recurrent_activation
        carry = gate(f) * carry + gate(i) * self.activation(c)
        hidden = gate(o) * self.activation(carry)
        return hidden, [hidden, carry]


@named("GRUCell")
class GRUCell(Cell):
    """Cell of GRU; the gates are update, reset and candidate, in this order.

    Args:
      units: Size of the output and of the state.
      activation: Activation of the candidate.
      recurrent_activation: Activation of the gates.
      use_bias: Whether to add a bias.
      kernel_initializer: Initializer of the kernel of the inputs.
      recurrent_initializer: Initializer of the kernel of the state.
      bias_initializer: Initializer of the bias.
      reset_after: Whether the reset gate is applied after the product with the state.
      **kwargs: Regularizers, constraints and dropout as in `GRU`.

    Call arguments:
      inputs: Tensor of shape `(batch, features)`.
      states: The state of the previous step.
      training: Whether to apply dropout.

    Returns:
      (output, list of states).
    """

    GATES = 3
    CONFIG_KEYS = Cell.CONFIG_KEYS + ("recurrent_activation", "reset_after")

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation="sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        *,
        reset_after: bool = True,
        **kwargs,
    ) -> None:
        super().__init__(
            units,
            activation,
            use_bias,
            kernel_initializer,
            recurrent_initializer,
            bias_initializer,
            **kwargs,
        )
        self.recurrent_activation = activations.get(recurrent_activation)
        self.reset_after = reset_after

    def bias_shape(self):
        return [2, 3 * self.units] if self.reset_after else [3 * self.units]

    def input_bias(self):
        if self.bias is None:
            return None
        return self.bias[0] if self.reset_after else self.bias

    def step(self, projected, states, drop=None):
        hidden = states[0]
        gate = self.recurrent_activation
        xz, xr, xh = op("Split", 1, projected, num_split=3)
        if self.reset_after:
            inner = self.recurrent(hidden, drop)
            if self.bias is not None:
                inner = op("BiasAdd", inner, self.bias[1])
            hz, hr, hh = op("Split", 1, inner, num_split=3)
            z, r = gate(xz + hz), gate(xr + hr)
            new = self.activation(xh + r * hh)
        else:
            kernel = convert_to_tensor(self.recurrent_kernel)
            kernels = op("Split", 1, kernel, num_split=3)
            drops = drop if isinstance(drop, list) else [drop] * 3
            states = [hidden if d is None else hidden * d for d in drops]
            z = gate(xz + op("MatMul", states[0], kernels[0]))
            r = gate(xr + op("MatMul", states[1], kernels[1]))
            new = self.activation(xh + op("MatMul", r * states[2], kernels[2]))
        output = z * hidden + (1.0 - z) * new
        return output, [output]


@named("StackedRNNCells")
class StackedRNNCells(Layer):
    """Stacks cells into one: each cell's input is the output of the previous one.

    Args:
      cells: List of cells.
    """

    def __init__(self, cells, **kwargs) -> None:
        super().__init__(**kwargs)
        self.cells = list(cells)

    state_size = property(lambda s: [c.state_size for c in s.cells])

    def build(self, input_shape):
        shape = tensor_shape.as_shape(input_shape)
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                with context.layer_call(cell, None):
                    cell.build(shape)
                    cell.built = True
            size = getattr(cell, "output_size", None) or _last(cell.state_size)
            shape = tensor_shape.TensorShape([shape[0], size])
        self.built = True

    output_size = property(
        lambda s: getattr(s.cells[-1], "output_size", None) or _last(s.cells[-1].state_size)
    )

    def call(self, inputs, states, constants=None, training=None):
        result = []
        for cell, state in zip(self.cells, states):
            kwargs = {"training": training} if "training" in cell._signature() else {}
            if constants is not None and takes_constants(cell):
                kwargs["constants"] = constants
            listed = isinstance(state, (list, tuple))
            inputs, new = cell(inputs, state if listed else [state], **kwargs)
            result.append(
                list(new) if listed else new[0] if isinstance(new, (list, tuple)) else new
            )
        return inputs, result

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "cells": [serialize_keras_object(c) for c in self.cells]}

    @classmethod
    def from_config(cls, config: Any):
        config = dict(config)
        return cls([LAYERS.deserialize(c) for c in config.pop("cells")], **config)


def takes_constants(cell):
    """Whether a cell's call has the parameter constants."""
    if isinstance(cell, StackedRNNCells):
        return any(takes_constants(c) for c in cell.cells)
    return "constants" in cell._signature()


def _last(size):
    return size[0] if isinstance(size, (list, tuple)) else size


@named("AbstractRNNCell")
class AbstractRNNCell(Layer):
    """Base class of a program's cells: subclasses define call, state_size and output_size."""

    def call(self, inputs, states):
        raise NotImplementedError

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        if inputs is not None:
            batch_size, dtype = shape_op(inputs)[0], inputs.dtype
        fill = api.named("zeros")
        make = lambda size: (
            fill([batch_size, *tensor_shape.as_shape(size).as_list()], dtype)
            if not isinstance(size, int)
            else fill([batch_size, size], dtype)
        )
        size = self.state_size
        return [make(s) for s in size] if isinstance(size, (list, tuple)) else make(size)


@keras_export("experimental.PeepholeLSTMCell")
class PeepholeLSTMCell(LSTMCell):
    """LSTM cell whose gates also depend on the cell state."""

    input_gate_peephole_weights: Any
    forget_gate_peephole_weights: Any
    output_gate_peephole_weights: Any

    def build(self, input_shape: ShapeLike) -> None:
        super().build(input_shape)
        for name in ("input", "forget", "output"):
            setattr(
                self,
                name + "_gate_peephole_weights",
                self.add_weight(
                    name + "_gate_peephole_weights",
                    [self.units],
                    initializer=self.kernel_initializer,
                ),
            )

    def step(self, projected: Any, states: Any, drop: Any = None) -> Any:
        h, c = states
        gates = projected + self.recurrent(h, drop)
        i, f, g, o = op("Split", 1, gates, num_split=4)
        i = self.recurrent_activation(i + self.input_gate_peephole_weights * c)
        f = self.recurrent_activation(f + self.forget_gate_peephole_weights * c)
        c = f * c + i * self.activation(g)
        o = self.recurrent_activation(o + self.output_gate_peephole_weights * c)
        h = o * self.activation(c)
        return h, [h, c]
