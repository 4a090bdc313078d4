# SPDX-License-Identifier: Apache-2.0
"""seq2seq_attention.py: tf.contrib.seq2seq: attention mechanisms and AttentionWrapper."""

from __future__ import annotations

import collections
from typing import Any

from situ._src.framework import nest
from situ._src.framework.api import BOTH, OPS, export
from situ._src.framework.graph import scope as name_scope
from situ._src.framework.keywords import unsupported
from situ._src.framework.tensor_shape import TensorShape
from situ._src.legacy.layers import Dense
from situ._src.ops import init_ops
from situ._src.ops.array_ops import concat, convert_to_tensor, op
from situ._src.ops.nn.rnn_cell import RNNCell
from situ._src.ops.tensor_array_ops import TensorArray
from situ._src.variables import variable_scope


def _named(name):
    return export(v1="contrib.seq2seq." + name)


def _masked(memory, lengths):
    """Sets the memory after the end of each sequence to zeros."""
    memory = convert_to_tensor(memory)
    if lengths is None:
        return memory, None
    mask = BOTH["sequence_mask"](convert_to_tensor(lengths), OPS["Shape"](memory)[1])
    kept = op("Cast", mask, DstT=memory.dtype)
    result = memory * op("ExpandDims", kept, 2)
    result.set_shape(memory.shape)
    return result, mask


class _Mechanism:
    """Base class of attention mechanisms: scores of a query for the steps of a memory."""

    def __init__(
        self, num_units, memory, lengths, probability_fn, score_mask_value, dtype, name, query_layer
    ):
        dtype = dtype or "float32"
        self._name = name
        self._softmax = probability_fn or (lambda score: OPS["Softmax"](score))
        self.values, self._mask = _masked(memory, lengths)
        self._out = float("-inf") if score_mask_value is None else score_mask_value
        self.memory_layer = Dense(num_units, use_bias=False, dtype=dtype, name="memory_layer")
        self.query_layer = query_layer
        self.keys = self.memory_layer(self.values)
        sizes = self.keys.shape.as_list()
        self.batch_size = OPS["Shape"](self.keys)[0] if sizes[0] is None else sizes[0]
        self._steps = OPS["Shape"](self.keys)[1] if sizes[1] is None else sizes[1]

    @property
    def alignments_size(self):
        return self.keys.shape.as_list()[1] or self._steps

    state_size = alignments_size

    def initial_alignments(self, batch_size, dtype):
        sizes = op(
            "Pack",
            [convert_to_tensor(batch_size, "int32"), convert_to_tensor(self._steps, "int32")],
        )
        result = OPS["Fill"](sizes, convert_to_tensor(0, dtype))
        result.set_shape([None, self.keys.shape.as_list()[1]])
        return result

    initial_state = initial_alignments

    def __call__(self, query, state=None, previous_alignments=None):
        """Returns the alignments, which are also the next state."""
        del state, previous_alignments  # scores do not depend on earlier alignments
        with variable_scope.variable_scope(None, self._name, [query]):
            query = self.query_layer(query) if self.query_layer is not None else query
            score = self._score(query)
        if self._mask is not None:
            score = op("SelectV2", self._mask, score, convert_to_tensor(self._out, score.dtype))
        weights = self._softmax(score)
        weights.set_shape([None, self.keys.shape.as_list()[1]])
        return weights, weights


@_named("BahdanauAttention")
class BahdanauAttention(_Mechanism):
    """Additive attention: `v * tanh(W query + U memory)`.

    Args:
      num_units: Size of the query and memory layers.
      memory: Encoder outputs of shape `(batch, steps, features)`.
      memory_sequence_length: Lengths of shape `(batch,)`.
      normalize: Whether to normalize v.
      probability_fn: Function from scores to alignments; default: softmax.
      score_mask_value: Score of steps after the end.
      dtype: Type of the layers, which must be that of the memory.
      custom_key_value_fn: Must be None.
      name: Name of the scope.
    """

    def __init__(
        self,
        num_units: int,
        memory,
        memory_sequence_length=None,
        normalize: bool = False,
        probability_fn=None,
        score_mask_value=None,
        dtype: Any = "float32",
        custom_key_value_fn=None,
        name: str | None = "BahdanauAttention",
    ) -> None:
        unsupported("BahdanauAttention", custom_key_value_fn=(custom_key_value_fn, None))
        self._units, self._normalize = num_units, normalize
        super().__init__(
            num_units,
            memory,
            memory_sequence_length,
            probability_fn,
            score_mask_value,
            dtype,
            _scope_name(name),
            Dense(num_units, use_bias=False, dtype=dtype or "float32", name="query_layer"),
        )

    def _score(self, query):
        v = variable_scope.get_variable("attention_v", [self._units], dtype=query.dtype)
        summed = self.keys + op("ExpandDims", query, 1)
        if self._normalize:
            g = variable_scope.get_variable(
                "attention_g",
                [],
                dtype=query.dtype,
                initializer=init_ops.Constant((1.0 / self._units) ** 0.5),
            )
            b = variable_scope.get_variable(
                "attention_b", [self._units], dtype=query.dtype, initializer=init_ops.Zeros()
            )
            v = g * v * op("Rsqrt", op("Sum", op("Square", v), [0]))
            summed = summed + b
        return op("Sum", v * op("Tanh", summed), [2])


@_named("LuongAttention")
class LuongAttention(_Mechanism):
    """Multiplicative attention: `query . (U memory)`.

    Args:
      num_units: Size of the memory layer; must equal that of the query.
      memory: Encoder outputs of shape `(batch, steps, features)`.
      memory_sequence_length: Lengths of shape `(batch,)`.
      scale: Whether to scale the scores by a trainable scalar.
      probability_fn: Function from scores to alignments; default: softmax.
      score_mask_value: Score of steps after the end.
      dtype: Type of the layer, which must be that of the memory.
      custom_key_value_fn: Must be None.
      name: Name of the scope.
    """

    def __init__(
        self,
        num_units: int,
        memory,
        memory_sequence_length=None,
        scale: bool = False,
        probability_fn=None,
        score_mask_value=None,
        dtype: Any = "float32",
        custom_key_value_fn=None,
        name: str | None = "LuongAttention",
    ) -> None:
        unsupported("LuongAttention", custom_key_value_fn=(custom_key_value_fn, None))
        self._scale = scale
        super().__init__(
            num_units,
            memory,
            memory_sequence_length,
            probability_fn,
            score_mask_value,
            dtype,
            _scope_name(name),
            None,
        )

    def _score(self, query):
        depth, units = query.shape.as_list()[-1], self.keys.shape.as_list()[-1]
        if depth != units:
            raise ValueError(
                "Incompatible or unknown inner dimensions between query and keys.  "
                f"Query ({query.name}) has units: {depth}.  Keys "
                f"({self.keys.name}) have units: {units}.  Perhaps you need to set "
                f"num_units to the keys' dimension ({units})?"
            )
        score = op(
            "Squeeze",
            op("BatchMatMulV2", op("ExpandDims", query, 1), self.keys, adj_y=True),
            squeeze_dims=[1],
        )
        if self._scale:
            score = score * variable_scope.get_variable(
                "attention_g", [], dtype=query.dtype, initializer=init_ops.Ones()
            )
        return score


def _scope_name(name):
    return {"BahdanauAttention": "bahdanau_attention", "LuongAttention": "luong_attention"}.get(
        name, name
    )


@_named("AttentionWrapperState")
class AttentionWrapperState(
    collections.namedtuple(
        "AttentionWrapperState",
        ("cell_state", "attention", "time", "alignments", "alignment_history", "attention_state"),
    )
):
    """State of an AttentionWrapper."""

    def clone(self, **kwargs):
        """Returns a copy with some fields replaced."""
        return self._replace(**kwargs)


@_named("AttentionWrapper")
class AttentionWrapper(RNNCell):
    """Cell with attention: its inputs include the last attention, its output is the new one.

    Args:
      cell: RNN cell.
      attention_mechanism: Mechanism, or list of mechanisms.
      attention_layer_size: Size of the attention layer, or list of sizes; None: the context itself.
      alignment_history: Whether to store the alignments of all steps.
      cell_input_fn: Function of (inputs, attention); default: concatenates.
      output_attention: Whether the output is the attention instead of the cell's output.
      initial_cell_state: Initial state of the cell.
      name: Name of the scope.
      attention_layer: Layer instead of attention_layer_size.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism,
        attention_layer_size=None,
        alignment_history: bool = False,
        cell_input_fn=None,
        output_attention: bool = True,
        initial_cell_state=None,
        name: str | None = None,
        attention_layer=None,
    ) -> None:
        super().__init__(name=name)
        self._many = isinstance(attention_mechanism, (list, tuple))
        self._mechanisms = list(attention_mechanism) if self._many else [attention_mechanism]
        self._cell, self._history, self._output = cell, alignment_history, output_attention
        self._join = cell_input_fn or (lambda x, attention: concat([x, attention], -1))
        self._start = initial_cell_state
        self._layers = self._make_layers(attention_layer_size, attention_layer)

    def _make_layers(self, sizes, layers):
        if layers is not None:
            return list(layers) if isinstance(layers, (list, tuple)) else [layers]
        if sizes is None:
            return None
        sizes = sizes if isinstance(sizes, (list, tuple)) else [sizes]
        if len(sizes) != len(self._mechanisms):
            raise ValueError(
                "If provided, attention_layer_size must contain exactly one integer "
                f"per attention_mechanism, saw: {len(sizes)} vs "
                f"{len(self._mechanisms)}"
            )
        return [
            Dense(size, use_bias=False, name="attention_layer" if not i else f"attention_layer_{i}")
            for i, size in enumerate(sizes)
        ]

    def _width(self):
        if self._layers is None:
            return sum(m.values.shape.as_list()[-1] for m in self._mechanisms)
        return sum(layer.units for layer in self._layers)

    output_size = property(lambda s: s._width() if s._output else s._cell.output_size)

    def _each(self, values):
        return tuple(values) if self._many else values[0]

    def _list(self, values):
        return list(values) if self._many else [values]

    @property
    def state_size(self):
        sizes = self._each([m.alignments_size for m in self._mechanisms])
        return AttentionWrapperState(
            self._cell.state_size,
            self._width(),
            TensorShape([]),
            sizes,
            self._each([()] * len(self._mechanisms)),
            sizes,
        )

    def zero_state(self, batch_size, dtype):
        cell_state = self._start
        if cell_state is None:
            cell_state = self._cell.zero_state(batch_size, dtype)
        weights = [m.initial_alignments(batch_size, dtype) for m in self._mechanisms]
        attention = OPS["Fill"](
            op(
                "Pack",
                [convert_to_tensor(batch_size, "int32"), convert_to_tensor(self._width(), "int32")],
            ),
            convert_to_tensor(0, dtype),
        )
        attention.set_shape([None, self._width()])
        history = [
            TensorArray(dtype, 0, dynamic_size=True, element_shape=w.shape) if self._history else ()
            for w in weights
        ]
        return AttentionWrapperState(
            cell_state,
            attention,
            convert_to_tensor(0, "int32"),
            self._each(weights),
            self._each(history),
            self._each(weights),
        )

    def build(self, shape):
        pass

    def call(self, inputs, state):
        output, cell_state = self._cell(self._join(inputs, state.attention), state.cell_state)
        weights, attentions, history = [], [], []
        for i, mechanism in enumerate(self._mechanisms):
            result, _ = mechanism(output, self._list(state.attention_state)[i])
            context = op(
                "Squeeze",
                op("BatchMatMulV2", op("ExpandDims", result, 1), mechanism.values),
                squeeze_dims=[1],
            )
            context.set_shape([None, mechanism.values.shape.as_list()[-1]])
            attentions.append(
                context if self._layers is None else self._layers[i](concat([output, context], 1))
            )
            weights.append(result)
            past = self._list(state.alignment_history)[i]
            history.append(past.write(state.time, result) if self._history else ())
        attention = attentions[0] if len(attentions) == 1 else concat(attentions, 1)
        new = AttentionWrapperState(
            cell_state,
            attention,
            state.time + 1,
            self._each(weights),
            self._each(history),
            self._each(weights),
        )
        return (attention if self._output else output), new


@_named("tile_batch")
def tile_batch(t, multiplier, name: str | None = None):
    """Repeats each element of a batch `multiplier` times, for beam search.

    Args:
      t: Tensor, or structure of tensors.
      multiplier: Number of copies.
      name: Name of the scope.
    """

    def tile(x):
        x = convert_to_tensor(x)
        return BOTH["repeat"](x, multiplier, axis=0)

    with name_scope(name, "tile_batch"):
        return nest.map_structure(tile, t)
