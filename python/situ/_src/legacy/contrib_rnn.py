# SPDX-License-Identifier: Apache-2.0
"""contrib_rnn.py: tf.contrib.rnn: layer-normalized, fused and cuDNN-compatible cells."""

from __future__ import annotations

from typing import Any

from situ._src.framework import logs, nest
from situ._src.framework.api import OPS, V1, export
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.keywords import unsupported
from situ._src.ops import init_ops, random_ops
from situ._src.ops.array_ops import concat, convert_to_tensor, op, split
from situ._src.ops.nn import norm, rnn
from situ._src.ops.nn.rnn_cell import (
    GRUCell,
    LSTMBlockCell,
    LSTMCell,
    LSTMStateTuple,
    RNNCell,
    _affine,
    _depth,
    _drop,
    _tanh,
    _Wrapper,
)
from situ._src.variables import variable_scope


def _named(*names):
    return export(v1=["contrib.rnn." + n for n in names])


def _deprecate_input_size(cell, input_size):
    if input_size is not None:
        logs.warn("%s: The input_size parameter is deprecated.", cell)


@_named("LayerNormBasicLSTMCell")
class LayerNormBasicLSTMCell(RNNCell):
    """LSTM cell with layer normalization of its gates and dropout of the candidate.

    Args:
      num_units: Size of the output and of both states.
      forget_bias: Added to the forget gate.
      input_size: Deprecated; the inputs have a size.
      activation: Activation of candidate and output.
      layer_norm: Whether to normalize.
      norm_gain: Initial value of the gains.
      norm_shift: Initial value of the shifts.
      dropout_keep_prob: Probability of keeping a candidate element.
      dropout_prob_seed: Seed of the dropout.
      reuse: Whether to use existing variables.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias=1.0,
        input_size=None,
        activation: Any = None,
        layer_norm: bool = True,
        norm_gain=1.0,
        norm_shift=0.0,
        dropout_keep_prob=1.0,
        dropout_prob_seed=None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(reuse=reuse)
        _deprecate_input_size(self, input_size)
        self._units, self._forget, self._activation = num_units, forget_bias, _tanh(activation)
        self._norm, self._gain, self._shift = layer_norm, norm_gain, norm_shift
        self._keep, self._seed = dropout_keep_prob, dropout_prob_seed

    state_size = property(lambda s: LSTMStateTuple(s._units, s._units))
    output_size = property(lambda s: s._units)

    def build(self, shape):
        n = self._units
        self._kernel = self.add_weight("kernel", [_depth(shape) + n, 4 * n])
        self._bias = None if self._norm else self.add_weight("bias", [4 * n], init_ops.Zeros())
        names = ("input", "transform", "forget", "output", "state") if self._norm else ()
        self._norms = {
            name: (
                self.add_weight(f"{name}/gamma", [n], init_ops.Constant(self._gain)),
                self.add_weight(f"{name}/beta", [n], init_ops.Constant(self._shift)),
            )
            for name in names
        }

    def _normal(self, x, name):
        if not self._norm:
            return x
        gamma, beta = self._norms[name]
        mean, variance = norm.moments(x, [1], keep_dims=True)
        return norm.batch_normalization(x, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs, state):
        c, h = state
        joined = OPS["MatMul"](concat([inputs, h], 1), self._kernel)
        joined = joined if self._norm else OPS["BiasAdd"](joined, self._bias)
        i, j, f, o = split(joined, 4, 1)
        i, j, f, o = (
            self._normal(x, name)
            for x, name in ((i, "input"), (j, "transform"), (f, "forget"), (o, "output"))
        )
        enter = self._activation(j)
        if not isinstance(self._keep, (int, float)) or self._keep < 1:
            enter = _drop(enter, self._keep, self._seed)
        c = c * OPS["Sigmoid"](f + self._forget) + OPS["Sigmoid"](i) * enter
        c = self._normal(c, "state")
        h = self._activation(c) * OPS["Sigmoid"](o)
        return h, LSTMStateTuple(c, h)


@_named("UGRNNCell")
class UGRNNCell(RNNCell):
    """Update gate recurrent cell, with one gate.

    Args:
      num_units: Size of the output and of the state.
      initializer: Initializer of the weights.
      forget_bias: Added to the gate.
      activation: Activation of the candidate.
      reuse: Whether to use existing variables.
    """

    def __init__(
        self,
        num_units: int,
        initializer=None,
        forget_bias=1.0,
        activation: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(reuse=reuse)
        self._units, self._initializer = num_units, initializer
        self._forget, self._activation = forget_bias, _tanh(activation)

    state_size = output_size = property(lambda s: s._units)

    def build(self, shape):
        n = self._units
        self._kernel = self.add_weight("kernel", [_depth(shape) + n, 2 * n], self._initializer)
        self._bias = self.add_weight("bias", [2 * n], init_ops.Zeros())

    def call(self, inputs, state):
        g, c = split(_affine([inputs, state], self._kernel, self._bias), 2, 1)
        g = OPS["Sigmoid"](g + self._forget)
        new = g * state + (1.0 - g) * self._activation(c)
        return new, new


@_named("GRUBlockCell", "GRUBlockCellV2")
class GRUBlockCell(GRUCell):
    """Computes what GRUCell computes."""

    def __init__(
        self,
        num_units: int | None = None,
        cell_size=None,
        reuse: bool | None = None,
        name: str | None = "gru_cell",
    ) -> None:
        super().__init__(num_units or cell_size, reuse=reuse, name=name)


@_named("InputProjectionWrapper")
class InputProjectionWrapper(_Wrapper):
    """Applies a linear layer to the inputs of a cell.

    Args:
      cell: The cell.
      num_proj: Size of the projection.
      activation: Activation of the projection.
      input_size: Deprecated; the inputs have a size.
      reuse: Whether to use existing variables.
    """

    def __init__(
        self,
        cell: Any,
        num_proj,
        activation: Any = None,
        input_size=None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell)
        _deprecate_input_size(self, input_size)
        self._size, self._activation, self._reuse = int(num_proj), activation, reuse

    def call(self, inputs, state):
        kernel = variable_scope.get_variable("kernel", [_depth(inputs.shape), self._size])
        bias = variable_scope.get_variable("bias", [self._size], initializer=init_ops.Zeros())
        result = _affine([inputs], kernel, bias)
        return self._cell(self._activation(result) if self._activation else result, state)


@_named("HighwayWrapper")
class HighwayWrapper(_Wrapper):
    """Adds a highway connection from the inputs to the outputs of a cell."""

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init=1.0
    ) -> None:
        super().__init__(cell)
        self._couple, self._first = couple_carry_transform_gates, carry_bias_init

    def call(self, inputs, state):
        output, state = self._cell(inputs, state)
        width = _depth(inputs.shape)

        def gate(name, first):
            kernel = variable_scope.get_variable(name + "_w", [width, width])
            bias = variable_scope.get_variable(
                name + "_b", [width], initializer=init_ops.Constant(first)
            )
            return OPS["Sigmoid"](_affine([inputs], kernel, bias))

        carry = gate("carry", self._first)
        change = 1.0 - carry if self._couple else gate("transform", -self._first)
        return inputs * carry + output * change, state


def variational_noise(keep, input_size, state_size, output_size, seeds, dtype):
    """Returns dropout masks of a DropoutWrapper that all steps share."""

    def of(part, size, index=0):
        wide = size.as_list() if hasattr(size, "as_list") else [size]
        return random_ops.random_uniform([1, *wide], dtype=dtype, seed=seeds(part, index))

    sizes = {"input": input_size, "state": state_size, "output": output_size}
    return {
        part: [of(part, s, i) for i, s in enumerate(nest.flatten(size))]
        for part, size in sizes.items()
        if size is not None and not (isinstance(keep[part], (int, float)) and keep[part] >= 1)
    }


def drop_with(noise, values, keep):
    """Applies a precomputed dropout mask."""
    keep = convert_to_tensor(keep, values.dtype)
    return values / keep * OPS["Floor"](noise + keep)


# Fused cells, which process whole sequences: time-major


class FusedRNNCell:
    """Base class of cells that process all steps in one call."""


class _Fused(FusedRNNCell):
    def __init__(self, cell):
        self._cell = cell

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        return rnn.dynamic_rnn(
            self._cell,
            inputs,
            sequence_length,
            initial_state,
            dtype or (None if initial_state is not None else inputs.dtype),
            time_major=True,
            scope=scope if scope is not None else "fused",
        )


@_named("FusedRNNCellAdaptor")
class FusedRNNCellAdaptor(_Fused):
    """Adapts a cell to the interface of FusedRNNCell.

    Args:
      cell: The cell.
      use_dynamic_rnn: Whether a loop of the graph runs the cell; it does in any case.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        del use_dynamic_rnn  # a loop and unrolled steps compute the same
        super().__init__(cell)

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        return super().__call__(
            inputs, initial_state, dtype, sequence_length, scope if scope is not None else "rnn"
        )


@_named("LSTMBlockFusedCell")
class LSTMBlockFusedCell(FusedRNNCell):
    """LSTM over whole sequences.

    Args:
      num_units: Size of the output and of both states.
      forget_bias: Added to the forget gate.

    The other arguments are as in LSTMBlockCell.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias=1.0,
        cell_clip=None,
        use_peephole: bool = False,
        reuse: bool | None = None,
        dtype: Any = None,
        name: str | None = "lstm_fused_cell",
    ) -> None:
        self._name, self.num_units = name, num_units
        self._cell = LSTMBlockCell(
            num_units, forget_bias, cell_clip, use_peephole, dtype, reuse, name=None
        )

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        inputs = convert_to_tensor(inputs)
        if initial_state is not None and not isinstance(initial_state, LSTMStateTuple):
            initial_state = LSTMStateTuple(*initial_state)
        with variable_scope.variable_scope(scope, self._name) as here:
            self._cell._scope = self._cell._scope or here
            return rnn._loop(
                self._cell,
                inputs,
                rnn._first_state(self._cell, _batch(inputs), initial_state, dtype or inputs.dtype),
                rnn._lengths(sequence_length),
                inputs.dtype,
            )


def _batch(inputs):
    known = inputs.shape.as_list()[1]
    return OPS["Shape"](inputs)[1] if known is None else known


@_named("TimeReversedFusedRNN")
class TimeReversedFusedRNN(FusedRNNCell):
    """Runs a fused cell from the last step to the first."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        turned = rnn._reversed(convert_to_tensor(inputs), sequence_length, 0, 1)
        outputs, state = self._cell(turned, initial_state, dtype, sequence_length, scope)
        return rnn._reversed(outputs, sequence_length, 0, 1), state


V1["contrib.rnn.FusedRNNCell"] = FusedRNNCell
V1["contrib.rnn.LSTMBlockWrapper"] = LSTMBlockFusedCell
V1["contrib.rnn.transpose_batch_time"] = rnn._swap
V1["contrib.cudnn_rnn.CudnnCompatibleLSTMCell"] = type(
    "CudnnCompatibleLSTMCell",
    (LSTMCell,),
    {
        "__doc__": "An LSTM.",
        "__init__": lambda self, num_units, reuse=None: LSTMCell.__init__(
            self, num_units, forget_bias=0.0, reuse=reuse
        ),
    },
)


def _blocks(shape, units, make):
    """Returns the values of `make(rows, columns)` of each gate, side by side."""
    gates = [make(int(shape[0])) for _ in range(int(shape[-1]) // units)]
    return concat(gates, len(shape) - 1) if len(gates) > 1 else gates[0]


def _initializers(units, kernel, bias):
    """Returns a custom getter that initializes as cuDNN does: a matrix for the inputs and one for
    the states, and two biases, of each gate."""

    def weights(shape, dtype=None, partition_info=None):
        del partition_info  # the variable is whole

        def make(rows):
            parts = [kernel([units, n], dtype=dtype) for n in (rows - units, units)]
            return concat([OPS["Transpose"](convert_to_tensor(p), [1, 0]) for p in parts], 0)

        return _blocks(shape, units, make)

    def biases(shape, dtype=None, partition_info=None):
        del partition_info  # the variable is whole
        one = lambda: convert_to_tensor(bias([units], dtype=dtype))
        return _blocks(shape, units, lambda _: one() + one())

    def getter(create, name, *args, **kwargs):
        if kernel is not None and name.endswith("/kernel"):
            kwargs["initializer"] = weights
        if bias is not None and name.endswith("/bias"):
            kwargs["initializer"] = biases
        return create(name, *args, **kwargs)

    return getter


class _Cudnn:
    """Stacked recurrent layers over sequences, with the interface of the cuDNN layers.

    Args:
      num_layers: Number of layers.
      num_units: Size of the output and of the states.
      input_mode: Must be "linear_input": inputs have a kernel of their own.
      direction: "unidirectional" or "bidirectional".
      dropout: Probability of dropping an element between layers during training.
      seed: Seed of the dropout.
      dtype: Type of the initial state.
      kernel_initializer: Initializer of each matrix of a gate, of shape `(num_units, inputs)`;
        default: that of the variable scope.
      bias_initializer: Initializer of each bias of a gate, of which there are two; default: that
        of the cell.
      name: Name of the variable scope.

    Call arguments:
      inputs: Tensor of shape `(steps, batch, features)`.
      initial_state: Tuple of tensors of shape `(layers * directions, batch, num_units)`.
      sequence_lengths: Lengths of shape `(batch,)`.
      time_major: Whether the batch is the second dimension of the inputs, not the first.
      training: Whether to drop elements: a bool.
      scope: Name of the variable scope at the first call; default: name.

    Returns:
      (outputs, states): the states are a tuple (h, c) of an LSTM, else (h,).
    """

    KIND, STATES = None, 1

    def __init__(
        self,
        num_layers,
        num_units,
        input_mode="linear_input",
        direction="unidirectional",
        dropout=0.0,
        seed=None,
        dtype="float32",
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
    ):
        unsupported("tf.contrib.cudnn_rnn", input_mode=(input_mode, "linear_input"))
        self._getter = None
        if kernel_initializer is not None or bias_initializer is not None:
            self._getter = _initializers(num_units, kernel_initializer, bias_initializer)
        self.num_layers, self.num_units, self.direction = num_layers, num_units, direction
        self._dropout, self._seed, self.dtype = dropout, seed, as_dtype(dtype)
        self._ways = 2 if direction == "bidirectional" else 1
        self._name, self._cells, self._scope = name, None, None

    num_dirs = property(lambda s: s._ways)
    trainable_variables = property(
        lambda s: [v for c in s._cells or () for v in c.trainable_variables]
    )
    variables = trainable_variables

    def build(self, input_shape=None):
        """Creates the variables at the first call."""

    def _first(self, state, number):
        if state is None:
            return None
        parts = [s[number] for s in (state if isinstance(state, (list, tuple)) else [state])]
        return LSTMStateTuple(parts[1], parts[0]) if self.STATES == 2 else parts[0]

    def __call__(
        self,
        inputs,
        initial_state=None,
        sequence_lengths=None,
        time_major=True,
        training=True,
        scope=None,
    ):
        inputs = convert_to_tensor(inputs)
        inputs = inputs if time_major else rnn._swap(inputs)
        states, kind = [], type(self).KIND
        self._cells = self._cells or [
            kind(self.num_units) for _ in range(self.num_layers * self._ways)
        ]
        with variable_scope.variable_scope(
            self._scope or scope or self._name,
            self._word,
            reuse=True if self._scope else None,
            custom_getter=self._getter,
        ) as here:
            self._scope = here
            for layer in range(self.num_layers):
                if layer and training and self._dropout:
                    inputs = _drop(inputs, 1.0 - self._dropout, self._seed)
                result = []
                for way in range(self._ways):
                    number = layer * self._ways + way
                    x = rnn._reversed(inputs, sequence_lengths, 0, 1) if way else inputs
                    out, state = rnn.dynamic_rnn(
                        self._cells[number],
                        x,
                        sequence_lengths,
                        self._first(initial_state, number),
                        self.dtype,
                        time_major=True,
                        scope=f"rnn_{number}",
                    )
                    result.append(rnn._reversed(out, sequence_lengths, 0, 1) if way else out)
                    states.append(state)
                inputs = concat(result, 2) if len(result) > 1 else result[0]
        outputs = inputs if time_major else rnn._swap(inputs)
        if self.STATES == 2:
            return outputs, (op("Pack", [s.h for s in states]), op("Pack", [s.c for s in states]))
        return outputs, (op("Pack", list(states)),)

    call = __call__


def _plain_lstm(units):
    return LSTMCell(units, forget_bias=0.0)


for _name, _kind, _states in (
    ("CudnnLSTM", _plain_lstm, 2),
    ("CudnnGRU", GRUCell, 1),
    ("CudnnRNNTanh", V1["nn.rnn_cell.BasicRNNCell"], 1),
):
    V1["contrib.cudnn_rnn." + _name] = type(
        _name,
        (_Cudnn,),
        {
            "KIND": staticmethod(_kind),
            "STATES": _states,
            "__doc__": _Cudnn.__doc__,
            "_word": _name.replace("Cudnn", "cudnn_").lower(),
        },
    )
