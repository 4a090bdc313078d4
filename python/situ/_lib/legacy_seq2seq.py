# SPDX-License-Identifier: Apache-2.0
"""legacy_seq2seq.py: sequences to sequences over lists of steps (tf.contrib.legacy_seq2seq)."""
import copy
import math

from situ._lib import initializers, rnn
from situ._lib.api import BOTH, V1, export
from situ._lib.array_ops import cast, convert_to_tensor, op
from situ._lib.rnn_cell import OutputProjectionWrapper, _Wrapper
from situ._lib.variable_scope import get_variable, get_variable_scope, variable_scope


def _named(name):
    return export(v1="contrib.legacy_seq2seq." + name)


def _lookup(table, ids):
    return (BOTH.get("nn.embedding_lookup") or V1["nn.embedding_lookup"])(table, ids)


def _next_input(table, projection=None, update_embedding=True):
    """A function that makes the next input of the last output: the row of its largest logit."""
    def loop(previous, _):
        if projection is not None:
            weights, biases = projection
            previous = op("MatMul", previous, weights) + biases
        row = _lookup(table, op("ArgMax", previous, 1))
        return row if update_embedding else op("StopGradient", row)
    return loop


@export(v1="contrib.rnn.EmbeddingWrapper")
class EmbeddingWrapper(_Wrapper):
    """Rows of a table before a cell: its inputs are numbers of words."""

    def __init__(self, cell, embedding_classes, embedding_size, initializer=None, reuse=None):
        super().__init__(cell)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError("Both embedding_classes and embedding_size must be > 0: "
                             f"{embedding_classes}, {embedding_size}.")
        self._shape, self._first = [embedding_classes, embedding_size], initializer

    def call(self, inputs, state):
        first = self._first or get_variable_scope().initializer or \
            initializers.RandomUniform(-math.sqrt(3), math.sqrt(3))
        table = get_variable("embedding", self._shape, initializer=first)
        return self._cell(_lookup(table, op("Reshape", inputs, [-1])), state)


@_named("rnn_decoder")
def rnn_decoder(decoder_inputs, initial_state, cell, loop_function=None, scope=None):
    """The cell over a list of steps; with a function, over what it makes of its own outputs."""
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
def basic_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, dtype="float32", scope=None):
    """One cell reads, and one of its kind goes on from its state."""
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = rnn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


@_named("tied_rnn_seq2seq")
def tied_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, loop_function=None, dtype="float32",
                     scope=None):
    """The same cell reads and goes on."""
    with variable_scope("combined_tied_rnn_seq2seq"):
        place = scope or "tied_rnn_seq2seq"
        _, state = rnn.static_rnn(cell, encoder_inputs, dtype=dtype, scope=place)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope=place)


@_named("embedding_rnn_decoder")
def embedding_rnn_decoder(decoder_inputs, initial_state, cell, num_symbols, embedding_size,
                          output_projection=None, feed_previous=False,
                          update_embedding_for_previous=True, scope=None):
    """rnn_decoder over rows of a table for numbers of words."""
    with variable_scope(scope or "embedding_rnn_decoder"):
        table = get_variable("embedding", [num_symbols, embedding_size])
        loop = _next_input(table, output_projection, update_embedding_for_previous) \
            if feed_previous else None
        rows = [_lookup(table, i) for i in decoder_inputs]
        return rnn_decoder(rows, initial_state, cell, loop)


@_named("embedding_rnn_seq2seq")
def embedding_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, num_encoder_symbols,
                          num_decoder_symbols, embedding_size, output_projection=None,
                          feed_previous=False, dtype="float32", scope=None):
    """Numbers of words to numbers of words."""
    if not isinstance(feed_previous, bool):
        raise NotImplementedError("embedding_rnn_seq2seq: feed_previous must be True or False")
    with variable_scope(scope or "embedding_rnn_seq2seq"):
        reader = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, state = rnn.static_rnn(reader, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        return embedding_rnn_decoder(decoder_inputs, state, cell, num_decoder_symbols,
                                     embedding_size, output_projection, feed_previous)


@_named("sequence_loss")
def sequence_loss(logits, targets, weights, average_across_timesteps=True,
                  average_across_batch=True, softmax_loss_function=None, name=None):
    """The weighted cross-entropy of lists of steps: one number."""
    cost = op("Sum", rnn.sequence_loss_by_example(
        logits, targets, weights, average_across_timesteps, softmax_loss_function), [0])
    if not average_across_batch:
        return cost
    return cost / cast(op("Shape", convert_to_tensor(targets[0]))[0], cost.dtype)


