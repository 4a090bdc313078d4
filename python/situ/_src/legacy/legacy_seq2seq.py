# SPDX-License-Identifier: Apache-2.0
"""legacy_seq2seq.py: tf.contrib.legacy_seq2seq: sequence-to-sequence models over lists of
steps, with attention and buckets."""

from __future__ import annotations

import copy
import math
from typing import Any

from situ._src.framework import nest
from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.graph import scope as name_scope
from situ._src.ops import control_flow_ops, init_ops
from situ._src.ops.array_ops import cast, concat, convert_to_tensor, op
from situ._src.ops.nn import rnn
from situ._src.ops.nn.rnn_cell import OutputProjectionWrapper, _affine, _Wrapper
from situ._src.variables import variable_scope as scopes
from situ._src.variables.variable_scope import get_variable, get_variable_scope, variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import TensorLike


def _named(name):
    return export(v1="contrib.legacy_seq2seq." + name)


def _lookup(table, ids):
    return (BOTH.get("nn.embedding_lookup") or V1["nn.embedding_lookup"])(table, ids)


def _next_input(table, projection=None, update_embedding=True):
    """Returns a function from the last output to the next input: the embedding of its argmax."""

    def loop(previous, _):
        if projection is not None:
            weights, biases = projection
            previous = op("MatMul", previous, weights) + biases
        row = _lookup(table, op("ArgMax", previous, 1))
        return row if update_embedding else op("StopGradient", row)

    return loop


@export(v1="contrib.rnn.EmbeddingWrapper")
class EmbeddingWrapper(_Wrapper):
    """Embeds the integer inputs of a cell.

    Args:
      cell: The cell.
      embedding_classes: Number of symbols.
      embedding_size: Size of the embeddings.
      initializer: Initializer of the embeddings.
      reuse: Whether to use existing variables.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: Any,
        embedding_size: int,
        initializer: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._shape, self._first = [embedding_classes, embedding_size], initializer
        self._reuse = reuse

    def call(self, inputs: TensorLike, state: Any) -> Any:  # type: ignore[override]
        first = (
            self._first
            or get_variable_scope().initializer
            or init_ops.RandomUniform(-math.sqrt(3), math.sqrt(3))
        )
        table = get_variable("embedding", self._shape, initializer=first)
        return self._cell(_lookup(table, op("Reshape", inputs, [-1])), state)


@_named("rnn_decoder")
def rnn_decoder(decoder_inputs, initial_state: Any, cell: Any, loop_function=None, scope=None):
    """Runs a cell over a list of inputs.

    Args:
      decoder_inputs: List of tensors, one per step.
      initial_state: Initial state.
      cell: The cell.
      loop_function: Function of (last output, step) that returns the next input; None: the inputs.
      scope: Name of the variable scope.

    Returns:
      (list of outputs, last state).
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, previous = initial_state, [], None
        for i, x in enumerate(decoder_inputs):
            if loop_function is not None and previous is not None:
                with variable_scope("loop_function", reuse=True):
                    x = loop_function(previous, i)
            if i:
                get_variable_scope().reuse_variables()
            output, state = cell(x, state)
            outputs.append(output)
            previous = output if loop_function is not None else None
    return outputs, state


@_named("basic_rnn_seq2seq")
def basic_rnn_seq2seq(
    encoder_inputs, decoder_inputs, cell: Any, dtype: Any = "float32", scope=None
):
    """Encoder and decoder RNN without attention; the decoder starts with the encoder's state.

    Args:
      encoder_inputs: List of tensors, one per step.
      decoder_inputs: List of tensors, one per step.
      cell: The cell.
      dtype: Type of the initial state.
      scope: Name of the variable scope.
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = rnn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


@_named("tied_rnn_seq2seq")
def tied_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell: Any,
    loop_function=None,
    dtype: Any = "float32",
    scope=None,
):
    """Encoder and decoder RNN that share their weights.

    Args:
      encoder_inputs: List of tensors, one per step.
      decoder_inputs: List of tensors, one per step.
      cell: The cell.
      loop_function: Function of (last output, step) that returns the next input; None: the inputs.
      dtype: Type of the initial state.
      scope: Name of the variable scope.
    """
    with variable_scope("combined_tied_rnn_seq2seq"):
        place = scope or "tied_rnn_seq2seq"
        _, state = rnn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=place)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope=place)


@_named("embedding_rnn_decoder")
def embedding_rnn_decoder(
    decoder_inputs,
    initial_state: Any,
    cell: Any,
    num_symbols,
    embedding_size,
    output_projection=None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope=None,
):
    """rnn_decoder over embeddings of symbol ids.

    Args:
      decoder_inputs: List of tensors, one per step.
      initial_state: Initial state.
      cell: The cell.
      num_symbols: Number of symbols.
      embedding_size: Size of the embeddings.
      output_projection: Pair of weights and biases, or None.
      feed_previous: Whether each input of the decoder is its previous output.
      update_embedding_for_previous: Whether gradients flow to the embedding of previous outputs.
      scope: Name of the variable scope.
    """
    with variable_scope(scope or "embedding_rnn_decoder"):
        table = get_variable("embedding", [num_symbols, embedding_size])
        loop = (
            _next_input(table, output_projection, update_embedding_for_previous)
            if feed_previous
            else None
        )
        rows = [_lookup(table, i) for i in decoder_inputs]
        return rnn_decoder(rows, initial_state, cell, loop)


@_named("embedding_rnn_seq2seq")
def embedding_rnn_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell: Any,
    num_encoder_symbols,
    num_decoder_symbols,
    embedding_size,
    output_projection=None,
    feed_previous: bool = False,
    dtype: Any = "float32",
    scope=None,
):
    """basic_rnn_seq2seq over embeddings of symbol ids.

    Args:
      encoder_inputs: List of tensors, one per step.
      decoder_inputs: List of tensors, one per step.
      cell: The cell.
      num_encoder_symbols: Number of symbols of the encoder.
      num_decoder_symbols: Number of symbols of the decoder.
      embedding_size: Size of the embeddings.
      output_projection: Pair of weights and biases, or None.
      feed_previous: Whether each input of the decoder is its previous output.
      dtype: Type of the initial state.
      scope: Name of the variable scope.
    """
    if not isinstance(feed_previous, bool):
        raise NotImplementedError("embedding_rnn_seq2seq: feed_previous must be True or False")
    with variable_scope(scope or "embedding_rnn_seq2seq"):
        reader = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = rnn.static_rnn(reader, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        return embedding_rnn_decoder(
            decoder_inputs,
            state,
            cell,
            num_decoder_symbols,
            embedding_size,
            output_projection,
            feed_previous,
        )


@_named("sequence_loss")
def sequence_loss(
    logits,
    targets,
    weights,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function=None,
    name: str | None = None,
):
    """Returns the weighted cross-entropy of lists of logits.

    Args:
      logits: List of tensors of shape `(batch, symbols)`.
      targets: List of symbol ids of shape `(batch,)`.
      weights: List of weights of shape `(batch,)`.
      average_across_timesteps: Whether to divide by the sum of the weights.
      average_across_batch: Whether to divide by the batch size.
      softmax_loss_function: Function of (labels, logits) instead of the softmax cross-entropy.
      name: Name scope of the ops.

    Returns:
      A scalar.
    """
    with name_scope(name, "sequence_loss"):
        losses = rnn.sequence_loss_by_example(
            logits, targets, weights, average_across_timesteps, softmax_loss_function
        )
        cost = op("Sum", losses, [0])
        if not average_across_batch:
            return cost
        return cost / cast(op("Shape", convert_to_tensor(targets[0]))[0], cost.dtype)


@export(
    v1=(
        "contrib.rnn._linear",
        "nn.rnn_cell._linear",
        "python.ops.rnn_cell_impl._linear",
        "python.ops.rnn_cell._linear",
    )
)
def linear(
    args: Any,
    output_size: int,
    bias: Any,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
    scope: Any = None,
) -> Any:
    """Multiplies concatenated matrices by the variable kernel and adds the variable bias.

    Args:
      args: Matrix, or list of matrices.
      output_size: Number of columns of the result.
      bias: Whether to add a bias.
      bias_initializer: Initializer of the bias.
      kernel_initializer: Initializer of the kernel.
      scope: Name of the variable scope.
    """
    parts = [convert_to_tensor(a) for a in nest.flatten(args)]
    if not parts:
        raise ValueError("`args` must be specified")
    rows = sum(p.shape.as_list()[1] for p in parts)

    def make():
        kernel = scopes.get_variable(
            "kernel", [rows, output_size], parts[0].dtype, kernel_initializer
        )
        if not bias:
            return op("MatMul", concat(parts, 1) if len(parts) > 1 else parts[0], kernel)
        return _affine(
            parts,
            kernel,
            scopes.get_variable(
                "bias", [output_size], parts[0].dtype, bias_initializer or init_ops.Zeros()
            ),
        )

    if scope is None:
        return make()
    with scopes.variable_scope(scope):
        return make()


class _Attention:
    """Attention over states [batch, length, size] with several heads."""

    def __init__(self, states, heads):
        self._length, self._size = states.shape.as_list()[1:3]
        if self._size is None:
            raise ValueError(f"Shape[2] of attention_states must be known: {states.shape}")
        length = op("Shape", states)[1] if self._length is None else self._length
        self._hidden = op(
            "Reshape",
            states,
            op("Pack", [convert_to_tensor(n) for n in (-1, length, 1, self._size)]),
        )
        self._heads = []
        for i in range(heads):
            kernel = scopes.get_variable(f"AttnW_{i}", [1, 1, self._size, self._size])
            features = op("Conv2D", self._hidden, kernel, strides=[1, 1, 1, 1], padding="SAME")
            self._heads.append((features, scopes.get_variable(f"AttnV_{i}", [self._size])))

    def none(self, batch):
        zeros = op(
            "Fill", op("Pack", [batch, convert_to_tensor(self._size)]), convert_to_tensor(0.0)
        )
        zeros.set_shape([None, self._size])
        return [zeros for _ in self._heads]

    def __call__(self, query):
        result = []
        if isinstance(query, (list, tuple)):
            query = concat([q for q in nest.flatten(query)], 1)
        for i, (features, weights) in enumerate(self._heads):
            with scopes.variable_scope(f"Attention_{i}"):
                y = op("Reshape", linear(query, self._size, True), [-1, 1, 1, self._size])
                share = op("Softmax", op("Sum", weights * op("Tanh", features + y), [2, 3]))
                wide = op("ExpandDims", op("ExpandDims", share, 2), 3)
                created = op("Sum", wide * self._hidden, [1, 2])
                result.append(op("Reshape", created, [-1, self._size]))
        return result


@_named("attention_decoder")
def attention_decoder(
    decoder_inputs,
    initial_state: Any,
    attention_states,
    cell: Any,
    output_size=None,
    num_heads: int = 1,
    loop_function=None,
    dtype: Any = None,
    scope=None,
    initial_state_attention: bool = False,
):
    """Runs a cell over a list of inputs with attention to all encoder states at each step.

    Args:
      decoder_inputs: List of tensors, one per step.
      initial_state: Initial state.
      attention_states: Tensor [batch, steps, size].
      cell: The cell.
      output_size: Number of columns of the result.
      num_heads: Number of attention heads.
      loop_function: Function of (last output, step) that returns the next input; None: the inputs.
      dtype: Type of the initial state.
      scope: Name of the variable scope.
      initial_state_attention: Whether attention begins with the initial state.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    size = cell.output_size if output_size is None else output_size
    with scopes.variable_scope(scope or "attention_decoder", dtype=dtype):
        look = _Attention(convert_to_tensor(attention_states), num_heads)
        state, outputs, previous = initial_state, [], None
        seen = (
            look(initial_state)
            if initial_state_attention
            else look.none(op("Shape", convert_to_tensor(decoder_inputs[0]))[0])
        )
        for i, x in enumerate(decoder_inputs):
            if i:
                scopes.get_variable_scope().reuse_variables()
            if loop_function is not None and previous is not None:
                with scopes.variable_scope("loop_function", reuse=True):
                    x = loop_function(previous, i)
            x = convert_to_tensor(x)
            output, state = cell(linear([x, *seen], x.shape.as_list()[1], True), state)
            if i == 0 and initial_state_attention:
                with scopes.variable_scope(scopes.get_variable_scope(), reuse=True):
                    seen = look(state)
            else:
                seen = look(state)
            with scopes.variable_scope("AttnOutputProjection"):
                output = linear([output, *seen], size, True)
            previous = output if loop_function is not None else None
            outputs.append(output)
    return outputs, state


@_named("embedding_attention_decoder")
def embedding_attention_decoder(
    decoder_inputs,
    initial_state: Any,
    attention_states,
    cell: Any,
    num_symbols,
    embedding_size,
    num_heads: int = 1,
    output_size=None,
    output_projection=None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope=None,
    initial_state_attention: bool = False,
):
    """attention_decoder over embeddings of symbol ids.

    Args:
      decoder_inputs: List of tensors, one per step.
      initial_state: Initial state.
      attention_states: Tensor [batch, steps, size].
      cell: The cell.
      num_symbols: Number of symbols.
      embedding_size: Size of the embeddings.
      num_heads: Number of attention heads.
      output_size: Number of columns of the result.
      output_projection: Pair of weights and biases, or None.
      feed_previous: Whether each input of the decoder is its previous output.
      update_embedding_for_previous: Whether gradients flow to the embedding of previous outputs.
      dtype: Type of the initial state.
      scope: Name of the variable scope.
      initial_state_attention: Whether attention begins with the initial state.
    """
    output_size = cell.output_size if output_size is None else output_size
    with scopes.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        table = scopes.get_variable("embedding", [num_symbols, embedding_size])
        loop = (
            _next_input(table, output_projection, update_embedding_for_previous)
            if feed_previous
            else None
        )
        return attention_decoder(
            [_lookup(table, i) for i in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size,
            num_heads,
            loop,
            initial_state_attention=initial_state_attention,
        )


@_named("embedding_attention_seq2seq")
def embedding_attention_seq2seq(
    encoder_inputs,
    decoder_inputs,
    cell: Any,
    num_encoder_symbols,
    num_decoder_symbols,
    embedding_size,
    num_heads: int = 1,
    output_projection=None,
    feed_previous: bool = False,
    dtype: Any = None,
    scope=None,
    initial_state_attention: bool = False,
):
    """Encoder and attention decoder over embeddings of symbol ids.

    Args:
      encoder_inputs: List of tensors, one per step.
      decoder_inputs: List of tensors, one per step.
      cell: The cell.
      num_encoder_symbols: Number of symbols of the encoder.
      num_decoder_symbols: Number of symbols of the decoder.
      embedding_size: Size of the embeddings.
      num_heads: Number of attention heads.
      output_projection: Pair of weights and biases, or None.
      feed_previous: Whether each input of the decoder is its previous output.
      dtype: Type of the initial state.
      scope: Name of the variable scope.
      initial_state_attention: Whether attention begins with the initial state.
    """
    with scopes.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype):
        reader = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        read, state = rnn.static_rnn(reader, encoder_inputs, dtype=dtype or "float32")
        states = concat([op("Reshape", e, [-1, 1, cell.output_size]) for e in read], 1)
        size = None
        if output_projection is None:
            cell, size = OutputProjectionWrapper(cell, num_decoder_symbols), num_decoder_symbols

        def decode(fed, reuse=None):
            with scopes.variable_scope(scopes.get_variable_scope(), reuse=reuse):
                return embedding_attention_decoder(
                    decoder_inputs,
                    state,
                    states,
                    cell,
                    num_decoder_symbols,
                    embedding_size,
                    num_heads,
                    size,
                    output_projection,
                    fed,
                    initial_state_attention=initial_state_attention,
                )

        if isinstance(feed_previous, bool):
            return decode(feed_previous)
        shape = {}

        def branch(fed, reuse):
            outputs, last = decode(fed, reuse)
            shape["state"] = last
            return [*outputs, *nest.flatten(last)]

        result = control_flow_ops.cond(
            feed_previous, lambda: branch(True, None), lambda: branch(False, True), strict=True
        )
        n = len(decoder_inputs)
        return list(result[:n]), nest.pack_sequence_as(shape["state"], list(result[n:]))


@_named("model_with_buckets")
def model_with_buckets(
    encoder_inputs,
    decoder_inputs,
    targets,
    weights,
    buckets,
    seq2seq,
    softmax_loss_function=None,
    per_example_loss: bool = False,
    name: str | None = None,
):
    """Returns (outputs, losses) of a model for each bucket of lengths; all share their
    variables.

    Args:
      encoder_inputs: List of tensors, one per step.
      decoder_inputs: List of tensors, one per step.
      targets: List of symbol ids of shape `(batch,)`.
      weights: List of weights of shape `(batch,)`.
      buckets: List of pairs of lengths.
      seq2seq: Function of (encoder inputs, decoder inputs).
      softmax_loss_function: Function of (labels, logits) instead of the softmax cross-entropy.
      per_example_loss: Whether losses are not averaged.
      name: Name scope of the ops.
    """
    if len(encoder_inputs) < buckets[-1][0]:
        raise ValueError(
            f"Length of encoder_inputs ({len(encoder_inputs)}) must be at least that "
            f"of last bucket ({buckets[-1][0]})."
        )
    for what, values in (("targets", targets), ("weights", weights)):
        if len(values) < buckets[-1][1]:
            raise ValueError(
                f"Length of {what} ({len(values)}) must be at least that of last "
                f"bucket ({buckets[-1][1]})."
            )
    outputs, losses = [], []
    lose = rnn.sequence_loss_by_example if per_example_loss else sequence_loss
    with name_scope(name, "model_with_buckets"):
        for i, (read, write) in enumerate(buckets):
            with scopes.variable_scope(scopes.get_variable_scope(), reuse=True if i else None):
                result, _ = seq2seq(encoder_inputs[:read], decoder_inputs[:write])
            outputs.append(result)
            losses.append(
                lose(
                    result,
                    targets[:write],
                    weights[:write],
                    softmax_loss_function=softmax_loss_function,
                )
            )
        return outputs, losses


for _key in [k for k in V1 if k.startswith("contrib.legacy_seq2seq.")]:
    V1["nn.seq2seq." + _key.rpartition(".")[2]] = V1[_key]  # its name before tf.contrib
