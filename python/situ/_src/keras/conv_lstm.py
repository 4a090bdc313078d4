# SPDX-License-Identifier: Apache-2.0
"""conv_lstm.py: ConvLSTM1D, ConvLSTM2D and ConvLSTM3D: LSTMs whose matrix products are
convolutions."""

from __future__ import annotations

from typing import Any

from situ._src.framework import api, tensor_shape
from situ._src.keras import (
    activations,
    constraints,
    context,
    initializers,
    regularizers,
    rnn_loop,
    seed_generator,
)
from situ._src.keras.input_spec import InputSpec
from situ._src.keras.layer import Layer
from situ._src.keras.layers_conv import normalize_tuple
from situ._src.keras.layers_core import named, serialize_attributes
from situ._src.keras.rnn_cells import ForgetBias
from situ._src.keras.seed_generator import SeedGenerator
from situ._src.ops.array_ops import convert_to_tensor, op, zeros
from situ._src.ops.array_ops import shape as shape_op


class _ConvLSTM(Layer):
    """LSTM over sequences of rows, images or volumes, with convolutions instead of matrix products.

    The number of steps and the sizes of the inputs must be static.

    Args:
      filters: Number of output channels.
      kernel_size: Size of both kernels along each dimension; one int for all.
      strides: Strides of the input convolution.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      dilation_rate: Distance between elements of the input kernel.
      activation: Activation of candidate and output.
      recurrent_activation: Activation of the gates.
      use_bias: Whether to add a bias.
      unit_forget_bias: Whether the bias of the forget gate starts at 1.
      return_sequences: Whether to return the outputs of all steps instead of the last.
      return_state: Whether to return the last states, too.
      go_backwards: Whether to process the sequence from its end.
      stateful: Only False is supported.
      dropout: Fraction of the inputs to drop during training.
      recurrent_dropout: Fraction of the hidden state to drop during training.
      seed: Seed of dropout.
      **kwargs: Arguments of `Layer`. Initializers, regularizers and constraints are as in `LSTM`.

    Call arguments:
      inputs: Tensor of shape `(batch, steps, ..., channels)`, such as
        `(batch, steps, height, width, channels)`.
      mask: Boolean tensor of shape `(batch, steps)`; steps where it is False are skipped.
      training: Whether to apply dropout.
      initial_state: List of the hidden state and the cell state.

    Raises:
      ValueError: If stateful is True, or a size is unknown.
    """

    RANK = 2

    def __init__(
        self,
        filters,
        kernel_size,
        strides=1,
        padding="valid",
        data_format=None,
        dilation_rate=1,
        activation="tanh",
        recurrent_activation="hard_sigmoid",
        use_bias=True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        unit_forget_bias=True,
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        *,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        return_sequences=False,
        return_state=False,
        go_backwards=False,
        stateful=False,
        dropout=0.0,
        recurrent_dropout=0.0,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.seed, self.seed_generator = seed, SeedGenerator(seed)
        self.filters, self.kernel_size = (
            filters,
            normalize_tuple(kernel_size, self.RANK, "kernel_size"),
        )
        self.strides, self.padding = normalize_tuple(strides, self.RANK, "strides"), padding.lower()
        self.data_format = data_format or context.setting("format")
        self.dilation_rate = normalize_tuple(dilation_rate, self.RANK, "dilation_rate")
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.use_bias, self.unit_forget_bias = use_bias, unit_forget_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        for name, given in (
            ("kernel", kernel_regularizer),
            ("recurrent", recurrent_regularizer),
            ("bias", bias_regularizer),
        ):
            setattr(self, name + "_regularizer", regularizers.get(given))
        for name, given in (
            ("kernel", kernel_constraint),
            ("recurrent", recurrent_constraint),
            ("bias", bias_constraint),
        ):
            setattr(self, name + "_constraint", constraints.get(given))
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful = go_backwards, stateful
        self.dropout, self.recurrent_dropout, self.bias = dropout, recurrent_dropout, None
        if stateful:
            raise ValueError(
                f"{type(self).__name__}: situ has no state that stays from batch to batch "
                "(stateful=True)."
            )
        self.input_spec = InputSpec(ndim=self.RANK + 3)

    def build(self, input_shape):
        first = self.data_format == "channels_first"
        width = tensor_shape.as_shape(input_shape).as_list()[2 if first else -1]
        wide = 4 * self.filters
        self.kernel = self.add_weight(
            "kernel",
            [*self.kernel_size, width, wide],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel",
            [*self.kernel_size, self.filters, wide],
            initializer=self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
            constraint=self.recurrent_constraint,
        )
        if self.use_bias:
            start = (
                ForgetBias(self.filters, self.bias_initializer)
                if self.unit_forget_bias
                else self.bias_initializer
            )
            self.bias = self.add_weight(
                "bias",
                [wide],
                initializer=start,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    @staticmethod
    def _convolve(inputs, kernel, strides, padding, dilations):
        convolve = api.named("keras3.ops.conv")
        return convolve(inputs, kernel, strides, padding, "channels_last", dilations)

    def _projected(self, inputs):
        """Convolves the images of all steps at once; returns one tensor per step."""
        known = inputs.shape.as_list()
        if known[1] is None or None in known[2:]:
            raise ValueError(
                f"{type(self).__name__} needs a known number of steps and known sizes, but the "
                f"input is {inputs.shape}."
            )
        result = self._convolve(
            op("Reshape", inputs, [-1, *known[2:]]),
            self.kernel,
            self.strides,
            self.padding,
            self.dilation_rate,
        )
        result = result if self.bias is None else result + convert_to_tensor(self.bias)
        sizes = result.shape.as_list()[1:]
        return op("Unpack", op("Reshape", result, [-1, known[1], *sizes]), num=known[1], axis=1)

    def _step(self, x, states, drop):
        """Returns (output, states) of a projected input; the hidden state is multiplied by `drop`
        if given.
        """
        h, c = states
        before = h if drop is None else h * drop
        gates = x + self._convolve(before, self.recurrent_kernel, 1, "same", 1)
        i, f, g, o = op("Split", self.RANK + 1, gates, num_split=4)
        c = self.recurrent_activation(f) * c + self.recurrent_activation(i) * self.activation(g)
        h = self.recurrent_activation(o) * self.activation(c)
        return h, [h, c]

    def compute_mask(self, inputs, mask=None):
        kept = mask if self.return_sequences else None
        return [kept, None, None] if self.return_state else kept

    def call(self, inputs, mask=None, training=None, initial_state=None):
        first = self.data_format == "channels_first"
        if first:
            inputs = op("Transpose", inputs, [0, 1, *range(3, self.RANK + 3), 2])
        if training and self.dropout:
            inputs = seed_generator.dropout(inputs, self.dropout, None, self.seed_generator)
        steps = self._projected(inputs)
        steps = steps[::-1] if self.go_backwards else steps
        size = [shape_op(inputs)[0], *steps[0].shape.as_list()[1:-1], self.filters]
        h, c = (
            (zeros(size, inputs.dtype) for _ in range(2))
            if initial_state is None
            else initial_state
        )
        drop = None
        if training and self.recurrent_dropout:
            ones = op("OnesLike", h)
            drop = seed_generator.dropout(ones, self.recurrent_dropout, None, self.seed_generator)
        masks = None if mask is None else op("Unpack", mask, num=len(steps), axis=1)
        masks = masks[::-1] if masks is not None and self.go_backwards else masks
        loop = rnn_loop.Steps(lambda x, states: self._step(x, states, drop), False)
        outputs, (h, c) = loop.some(steps, masks, [h, c])
        output = outputs[-1]
        state_order = [0, self.RANK + 1, *range(1, self.RANK + 1)]
        sequence_order = [0, 1, self.RANK + 2, *range(2, self.RANK + 2)]
        turn = lambda x, order=state_order: op("Transpose", x, order) if first else x
        result = (
            turn(op("Pack", outputs, axis=1), sequence_order)
            if self.return_sequences
            else turn(output)
        )
        return [result, turn(h), turn(c)] if self.return_state else result

    def get_config(self) -> dict[str, Any]:
        keys = (
            "filters",
            "kernel_size",
            "strides",
            "padding",
            "data_format",
            "dilation_rate",
            "use_bias",
            "unit_forget_bias",
            "return_sequences",
            "return_state",
            "go_backwards",
            "stateful",
            "dropout",
            "recurrent_dropout",
            "seed",
        )
        return {
            **super().get_config(),
            **{n: getattr(self, n) for n in keys},
            **serialize_attributes(
                self,
                "activation",
                "recurrent_activation",
                "kernel_initializer",
                "recurrent_initializer",
                "bias_initializer",
                "kernel_regularizer",
                "recurrent_regularizer",
                "bias_regularizer",
                "kernel_constraint",
                "recurrent_constraint",
                "bias_constraint",
            ),
        }


for _rank in (1, 2, 3):
    _names = [f"ConvLSTM{_rank}D", *(["ConvLSTM2DCell"] if _rank == 2 else [])]
    named(*_names)(type(_names[0], (_ConvLSTM,), {"RANK": _rank, "__doc__": _ConvLSTM.__doc__}))
