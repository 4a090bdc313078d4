# SPDX-License-Identifier: Apache-2.0
"""rnn.py: recurrent layers: RNN over any cell, SimpleRNN, LSTM and GRU."""

from __future__ import annotations

import inspect
from typing import Any

import _situ
from situ._src.framework import nest, tensor_shape
from situ._src.framework.api import export
from situ._src.framework.keywords import signature
from situ._src.keras import composite, context, rnn_cells, rnn_loop
from situ._src.keras.layer import Layer, unknown_keyword_error
from situ._src.keras.layers_core import named
from situ._src.keras.registry import LAYERS, serialize_keras_object
from situ._src.keras.rnn_cells import Cell, GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells
from situ._src.ops.array_ops import convert_to_tensor, op, transpose, zeros
from situ._src.ops.ragged_tensor import RaggedTensor


@named("RNN")
class RNN(Layer):
    """Recurrent layer that calls a cell for each time step.

    Args:
      cell: Cell with `state_size` and `call(inputs, states)`, or a list of cells to stack.
      return_sequences: Whether to return the outputs of all steps instead of the last.
      return_state: Whether to return the last states, too.
      go_backwards: Whether to process the sequence from its end.
      stateful: Whether a batch starts with the last states of the previous batch.
      unroll: Whether to unroll the loop; loops of eager mode and short ones are unrolled anyway.
      time_major: Whether inputs and outputs are `(steps, batch, ...)`.
      zero_output_for_mask: Whether masked steps have output 0 instead of the previous output.
      **kwargs: Arguments of `Layer`; `input_length` and `input_dim` are the input_shape.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, features)`; ragged steps are supported, then
        sequences that are returned are ragged, too.
      mask: Boolean tensor of shape `(batch, steps)`; steps where it is False are skipped.
      training: Whether to apply dropout.
      initial_state: List of initial states; default: the kept ones of a stateful layer, otherwise
        those of the cell's get_initial_state, or zeros.
      constants: List of tensors that the cell's call gets as `constants` in every step. As inputs
        may be a list, they follow the initial states there.

    Returns:
      The output, or a list of the output and the states with return_state.

    Raises:
      ValueError: If a stateful layer is built with an unknown batch size, or constants are given
        and the cell's call has no such parameter.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        zero_output_for_mask: bool = False,
        **kwargs,
    ) -> None:
        if "input_dim" in kwargs or "input_length" in kwargs:
            sizes = kwargs.pop("input_length", None), kwargs.pop("input_dim", None)
            kwargs.setdefault("input_shape", sizes)
        super().__init__(**kwargs)
        self.cell = StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful, self.unroll = go_backwards, stateful, unroll
        self.time_major, self.zero_output_for_mask = time_major, zero_output_for_mask
        self.supports_masking = True
        self._states: Any = None
        self._num_constants = 0

    states = property(
        lambda s: (
            s._states if s._states is not None else [None] * len(nest.flatten(s.cell.state_size))
        )
    )

    def build(self, input_shape):
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        sizes = tensor_shape.as_shape(shape).as_list()
        if not self.cell.built:
            if isinstance(self.cell, Cell):
                if self.cell._dtype is None:
                    self.cell._dtype = self._dtype
                self.cell.build([sizes[0], sizes[-1]])
                self.cell.built = True
            else:
                with context.layer_call(self.cell, None):
                    self.cell.build(tensor_shape.TensorShape([sizes[0], *sizes[2:]]))
                self.cell.built = True
        if self.stateful:
            self._keep_states(sizes)
        self.built = True

    def _keep_states(self, sizes):
        """Creates the variables that hold the states of a stateful layer."""
        if sizes[0] is None:
            raise ValueError(
                "If a RNN is stateful, it needs to know its batch size. Specify the "
                "batch size of your input tensors: give `batch_input_shape` to the "
                "first layer, or `batch_shape` to Input."
            )
        self._states = [
            self.add_weight(f"state_{i}", [sizes[0], size], trainable=False, initializer="zeros")
            for i, size in enumerate(nest.flatten(self.cell.state_size))
        ]

    def reset_states(self, states=None) -> None:
        """Sets the states of a stateful layer.

        Args:
          states: List of values; default: zeros.
        """
        given = nest.flatten(states) if states is not None else [None] * len(self._states)
        for variable, value in zip(self._states, given):
            variable.assign(
                op("ZerosLike", variable.value()) if value is None else convert_to_tensor(value)
            )

    def __call__(self, inputs, initial_state=None, constants=None, **kwargs):
        if isinstance(inputs, (list, tuple)) and initial_state is None and len(inputs) > 1:
            inputs, rest = inputs[0], list(inputs[1:])
            if constants is None and self._num_constants:
                at = len(rest) - self._num_constants
                rest, constants = rest[:at], rest[at:]
            initial_state = rest or None
        if initial_state is not None:
            kwargs["initial_state"] = list(nest.flatten(initial_state))
        if constants is not None:
            kwargs["constants"] = list(nest.flatten(constants))
            self._num_constants = len(kwargs["constants"])
            if not rnn_cells.takes_constants(self.cell):
                raise ValueError(f"RNN cell does not support constants. Received: {constants}")
        return super().__call__(inputs, **kwargs)

    def _initial_states(self, inputs, given):
        """Returns the initial states: those given, the kept ones, or zeros."""
        if given is not None:
            return nest.pack_sequence_as(self.cell.state_size, list(given))
        if self._states is not None:
            return nest.pack_sequence_as(
                self.cell.state_size, [convert_to_tensor(v) for v in self._states]
            )
        maker = getattr(self.cell, "get_initial_state", None)
        if maker is not None and not rnn_cells.is_plain(self.cell):
            batch = inputs.shape.as_list()[0]
            return maker(
                inputs=inputs,
                batch_size=batch if batch is not None else op("Shape", inputs)[0],
                dtype=inputs.dtype,
            )
        batch = inputs.shape.as_list()[0]

        def zero(size):
            if batch is not None:
                return zeros([batch, size], inputs.dtype)
            return op(
                "Fill",
                op("Pack", [op("Shape", inputs)[0], convert_to_tensor(size)]),
                convert_to_tensor(0, inputs.dtype),
            )

        return nest.map_structure(zero, self.cell.state_size)

    def _stepper(self, inputs, states, training, constants):
        """Returns the inputs, projected for all steps at once, and the function of one step."""
        cell = self.cell
        if not rnn_cells.is_plain(cell):
            kwargs = {"training": training} if "training" in cell._signature() else {}
            if constants is not None:
                kwargs["constants"] = constants

            def call(x, s):
                listed = isinstance(s, (list, tuple))
                output, new = cell(x, s if listed else [s], **kwargs)
                return output, new if listed else new[0] if isinstance(new, (list, tuple)) else new

            return inputs, call
        mask, drop = None, None
        if cell.dropout or cell.recurrent_dropout:
            mask, drop = cell.dropout_masks(inputs[:, 0], nest.flatten(states)[0], training)
        mask = (
            nest.map_structure(lambda m: op("ExpandDims", m, 1), mask) if mask is not None else None
        )

        def step(x, s):
            listed = isinstance(s, (list, tuple))
            output, new = cell.step(x, list(s) if listed else [s], drop)
            return output, new if listed else new[0]

        return cell.project(inputs, mask), step

    def _check_ragged(self, mask):
        """Raises a ValueError for what ragged inputs exclude."""
        if mask is not None:
            raise ValueError(
                f"The mask that was passed in was {mask} and cannot be applied to RaggedTensor "
                "inputs. Please make sure that there is no mask passed in by upstream layers."
            )
        if self.unroll:
            raise ValueError(
                "The input received contains RaggedTensors and does not support unrolling. "
                "Disable unrolling by passing `unroll=False` in the RNN Layer constructor."
            )

    def call(self, inputs, mask=None, training=None, initial_state=None, constants=None):
        mask = nest.flatten(mask)[0] if mask is not None else None
        ragged = inputs if isinstance(inputs, RaggedTensor) else None
        if ragged is not None:
            self._check_ragged(mask)
            inputs, mask = composite.padded(inputs)
        if self.time_major:
            inputs = transpose(inputs, [1, 0, *range(2, inputs.shape.rank)])
        states = self._initial_states(inputs, initial_state)
        prepared, step = self._stepper(inputs, states, training, constants)
        steps = inputs.shape.as_list()[1]
        if isinstance(_situ.current_graph(), context.KerasGraph):
            output, sequence, states = self._symbolic_outputs(prepared, step, states)
        else:
            short = (
                self.unroll
                or _situ.current_graph() is None
                or steps is not None
                and steps <= rnn_loop.MOST_UNROLLED
            )
            whole = rnn_loop.Steps(step, self.zero_output_for_mask)
            steps = op("Shape", prepared).numpy()[1] if short and steps is None else steps
            output, sequence, states = (whole.unrolled if short else whole.looped)(
                prepared, mask, states, steps, self.go_backwards, self.return_sequences
            )
        if self._states is not None:
            for variable, value in zip(self._states, nest.flatten(states)):
                variable.assign(value)
        result = output
        if self.return_sequences and ragged is not None:
            result = composite.ragged_steps(sequence, ragged, self.go_backwards)
        elif self.return_sequences:
            result = (
                transpose(sequence, [1, 0, *range(2, sequence.shape.rank)])
                if self.time_major
                else sequence
            )
        if self.return_state:
            return [result, *nest.flatten(states)]
        return result

    @staticmethod
    def _symbolic_outputs(prepared, step, states):
        """Returns tensors of the right shapes for a symbolic call, whose graph never runs."""
        output, states = step(prepared[:, 0], states)
        steps = op("Slice", op("Shape", prepared), [1], [1])
        sizes = op("Shape", output)
        shape = op("ConcatV2", [sizes[:1], steps, sizes[1:]], 0)
        sequence = op("BroadcastTo", op("ExpandDims", output, 1), shape)
        known = output.shape.as_list()
        sequence.set_shape([known[0], prepared.shape.as_list()[1], *known[1:]])
        return output, sequence, states

    def compute_mask(self, inputs, mask=None):
        mask = nest.flatten(mask)[0] if mask is not None else None
        kept = mask if self.return_sequences else None
        if self.return_state:
            return [kept] + [None] * len(nest.flatten(self.cell.state_size))
        return kept

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            **self._own_config(),
            **({"num_constants": self._num_constants} if self._num_constants else {}),
            "cell": serialize_keras_object(self.cell),
        }

    def _own_config(self):
        return {
            n: getattr(self, n)
            for n in (
                "return_sequences",
                "return_state",
                "go_backwards",
                "stateful",
                "unroll",
                "time_major",
                "zero_output_for_mask",
            )
            if n != "zero_output_for_mask" or self.zero_output_for_mask
        }

    @classmethod
    def from_config(cls, config: Any):
        config = dict(config)
        constants = config.pop("num_constants", 0)
        result = cls(LAYERS.deserialize(config.pop("cell")), **config)
        result._num_constants = constants or 0
        return result


def _layer(name, cell_class, doc):
    """Defines the recurrent layer of a cell; its constructor has the parameters of both."""
    own = (
        "return_sequences",
        "return_state",
        "go_backwards",
        "stateful",
        "unroll",
        "time_major",
        "name",
        "trainable",
        "dtype",
        "input_shape",
        "batch_input_shape",
        "input_dim",
        "input_length",
        "weights",
        "activity_regularizer",
        "zero_output_for_mask",
        "batch_size",
    )

    defaults = {
        k: p.default
        for kind in (cell_class, Cell)
        for k, p in inspect.signature(kind.__init__).parameters.items()
        if p.default is not p.empty
    }

    def init(self, units, *args, **kwargs):
        for key in kwargs:
            if key not in (*defaults, *own, "implementation", "use_cudnn", "autocast"):
                raise unknown_keyword_error(type(self), key)
        mine = {k: kwargs.pop(k) for k in own if k in kwargs}
        for key in ("implementation", "use_cudnn"):
            kwargs.pop(key, None)
        cell = cell_class(
            units, *args, name=(mine.get("name") or "") + "_cell", dtype=mine.get("dtype"), **kwargs
        )
        RNN.__init__(self, cell, **mine)
        cell._name = {"SimpleRNN": "simple_rnn_cell", "LSTM": "lstm_cell", "GRU": "gru_cell"}[name]

    init.__signature__ = signature({**defaults, **dict.fromkeys(own)}, ["self", "units"])

    def get(key):
        return property(lambda s: getattr(s.cell, key))

    def build(self, input_shape):
        context.call.names.append(self.cell.name)
        try:
            RNN.build(self, input_shape)
        finally:
            context.call.names.pop()

    def get_config(self):
        inner = self.cell.get_config()
        return {
            **{k: inner[k] for k in self.cell.CONFIG_KEYS if k in inner},
            **Layer.get_config(self),
            **self._own_config(),
        }

    members = {key: get(key) for key in cell_class.CONFIG_KEYS}
    members.update(
        {
            "__init__": init,
            "__doc__": doc,
            "build": build,
            "get_config": get_config,
            "from_config": classmethod(lambda cls, config: cls(**config)),
        }
    )
    return named(name)(type(name, (RNN,), members))


_DOC = """

Args:
  units: Size of the output and of the state.
  activation: Activation of the output; default: tanh.
{}  use_bias: Whether to add a bias.
  kernel_initializer: Initializer of the kernel of the inputs.
  recurrent_initializer: Initializer of the kernel of the state.
  bias_initializer: Initializer of the bias.
{}  kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of these weights.
  kernel_constraint, recurrent_constraint, bias_constraint: Constraints of these weights.
  dropout: Fraction of the inputs to drop during training.
  recurrent_dropout: Fraction of the state to drop during training.
  seed: Seed of dropout.
  return_sequences: Whether to return the outputs of all steps instead of the last.
  return_state: Whether to return the last states, too.
  go_backwards: Whether to process the sequence from its end.
  stateful: Whether a batch starts with the last states of the previous batch.
  unroll: Whether to unroll the loop; loops of eager mode and short ones are unrolled anyway.
  time_major: Whether inputs and outputs are `(steps, batch, ...)`.
  zero_output_for_mask: Whether masked steps have output 0 instead of the previous output.
  implementation, use_cudnn: Have no effect: they choose how TensorFlow computes the same values.

Call arguments:
  inputs: Tensor of shape `(batch, steps, features)`.
  mask: Boolean tensor of shape `(batch, steps)`; steps where it is False are skipped.
  training: Whether to apply dropout.
  initial_state: List of initial states; default: the kept ones of a stateful layer, or zeros.

Returns:
  Tensor of shape `(batch, units)`, or `(batch, steps, units)` with return_sequences; a list of it
  and the states with return_state.
"""
_GATES = "  recurrent_activation: Activation of the gates; default: sigmoid.\n"
_FORGET = "  unit_forget_bias: Whether the bias of the forget gate starts at 1.\n"
_RESET = "  reset_after: Whether the reset gate is applied after the product with the state.\n"

SimpleRNN = _layer(
    "SimpleRNN",
    SimpleRNNCell,
    "Fully connected recurrent layer, whose output is its state." + _DOC.format("", ""),
)
LSTM = _layer(
    "LSTM",
    LSTMCell,
    "Long short-term memory (Hochreiter and Schmidhuber)." + _DOC.format(_GATES, _FORGET),
)
GRU = _layer("GRU", GRUCell, "Gated recurrent unit." + _DOC.format(_GATES, _RESET))


def _cudnn_layer(name, base, **fixed):
    """Defines a CuDNN layer of TensorFlow 1: the plain layer with the arguments that cuDNN
    fixes.
    """

    def init(self, units, **kwargs):
        for key, only in {
            "activation": "tanh",
            "recurrent_activation": "sigmoid",
            "use_bias": True,
            "dropout": 0.0,
            "recurrent_dropout": 0.0,
            **fixed,
        }.items():  # a configuration has these
            if kwargs.pop(key, only) != only:
                raise unknown_keyword_error(type(self), key)
        base.__init__(self, units, recurrent_activation="sigmoid", **fixed, **kwargs)

    doc = f"{base.__name__} as cuDNN computes it; runs on all devices."
    result = type(name, (base,), {"__init__": init, "__doc__": doc})
    LAYERS.add(result, name)
    return export(v1=(f"keras.layers.{name}", f"python.keras.layers.{name}"))(result)


CuDNNLSTM = _cudnn_layer("CuDNNLSTM", LSTM)
CuDNNGRU = _cudnn_layer("CuDNNGRU", GRU, reset_after=True)
