# SPDX-License-Identifier: Apache-2.0
"""seq2seq.py: tf.contrib.seq2seq: decoders, helpers for their inputs, dynamic_decode."""

from __future__ import annotations

import collections
from typing import Any

from situ._src.framework import nest
from situ._src.framework.api import BOTH, OPS, V1
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope as name_scope
from situ._src.legacy import seq2seq_attention
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.random_ops import categorical
from situ._src.ops.tensor_array_ops import TensorArray
from situ._src.ops.while_loop import while_loop
from situ._src.variables import variable_scope

_named = seq2seq_attention._named
BasicDecoderOutput = _named("BasicDecoderOutput")(
    collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))
)


def _swap(x):
    return OPS["Transpose"](x, [1, 0] + list(range(2, x.shape.ndims)))


@_named("Helper")
class Helper:
    """Base class of helpers, which sample outputs and provide the inputs of a decoder."""

    sample_ids_dtype = as_dtype("int32")
    sample_ids_shape: list[int] = []


@_named("TrainingHelper")
class TrainingHelper(Helper):
    """Provides the steps of given sequences (teacher forcing).

    Args:
      inputs: Tensor of shape `(batch, steps, features)`.
      sequence_length: Lengths of shape `(batch,)`.
      time_major: Whether inputs are `(steps, batch, features)`.
      name: Name scope of the ops.
    """

    def __init__(self, inputs, sequence_length, time_major=False, name=None):
        with name_scope(name, "TrainingHelper"):
            self._unstack(inputs, sequence_length, time_major)

    def _unstack(self, inputs, sequence_length, time_major):
        flat = [convert_to_tensor(x) for x in nest.flatten(inputs)]
        flat = flat if time_major else [_swap(x) for x in flat]
        self._structure, self._lengths = inputs, convert_to_tensor(sequence_length)
        self._count = OPS["Shape"](flat[0])[0]
        self._rows = [
            TensorArray(x.dtype, self._count, clear_after_read=False).unstack(x) for x in flat
        ]
        self.batch_size = OPS["Size"](self._lengths)

    def _at(self, time):
        last = op("Maximum", op("Minimum", time, self._count - 1), convert_to_tensor(0))
        return nest.pack_sequence_as(self._structure, [r.read(last) for r in self._rows])

    def initialize(self, name: str | None = None):
        with name_scope(name, "TrainingHelperInitialize"):
            zero = convert_to_tensor(0, self._lengths.dtype)
            return OPS["Equal"](zero, self._lengths), self._at(convert_to_tensor(0))

    def sample(self, time, outputs, state=None, name: str | None = None):
        del time, state  # the outputs alone decide
        with name_scope(name, "TrainingHelperSample"):
            return op("ArgMax", outputs, -1, output_type=as_dtype("int32"))

    def next_inputs(self, time, outputs, state, sample_ids=None, name: str | None = None):
        del outputs, sample_ids  # the inputs are given
        with name_scope(name, "TrainingHelperNextInputs"):
            after = time + 1
            done = OPS["GreaterEqual"](op("Cast", after, DstT=self._lengths.dtype), self._lengths)
            return done, self._at(after), state


@_named("GreedyEmbeddingHelper")
class GreedyEmbeddingHelper(Helper):
    """Provides the embedding of the most likely token.

    Args:
      embedding: Table, or function from ids to embeddings.
      start_tokens: Ids of shape `(batch,)` to start with.
      end_token: Id that ends a sequence.
    """

    def __init__(self, embedding, start_tokens, end_token) -> None:
        lookup = BOTH.get("nn.embedding_lookup") or V1["nn.embedding_lookup"]
        self._embed = embedding if callable(embedding) else lambda ids: lookup(embedding, ids)
        self._start = convert_to_tensor(start_tokens, "int32")
        self._end = convert_to_tensor(end_token, "int32")
        self.batch_size = OPS["Size"](self._start)

    def initialize(self, name: str | None = None):
        del name  # TensorFlow opens no scope here, either
        return OPS["Fill"](op("Pack", [self.batch_size]), convert_to_tensor(False)), self._embed(
            self._start
        )

    def sample(self, time, outputs, state=None, name: str | None = None):
        del time, state  # the outputs alone decide
        del name  # TensorFlow opens no scope here, either
        return op("ArgMax", outputs, -1, output_type=as_dtype("int32"))

    def next_inputs(self, time, outputs, state, sample_ids=None, name: str | None = None):
        del time, outputs  # the sampled ids alone decide
        del name  # TensorFlow opens no scope here, either
        return OPS["Equal"](sample_ids, self._end), self._embed(sample_ids), state


@_named("SampleEmbeddingHelper")
class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Provides the embedding of a sampled token; further arguments as in GreedyEmbeddingHelper.

    Args:
      softmax_temperature: Divisor of the logits.
      seed: Seed of the random numbers.
    """

    def __init__(
        self, embedding, start_tokens, end_token, softmax_temperature=None, seed: int | None = None
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time, outputs, state=None, name: str | None = None):
        del time, state  # the outputs alone decide
        del name  # TensorFlow opens no scope here, either
        logits = outputs if self._temperature is None else outputs / self._temperature
        return op("Reshape", categorical(logits, 1, "int32", self._seed), [-1])


@_named("Decoder")
class Decoder:
    """Base class of decoders that dynamic_decode runs."""

    tracks_own_finished = False


@_named("BasicDecoder")
class BasicDecoder(Decoder):
    """Decoder of a cell, a helper and an output layer.

    Args:
      cell: RNN cell.
      helper: Helper.
      initial_state: Initial state of the cell.
      output_layer: Layer applied to the outputs.
    """

    def __init__(self, cell: Any, helper, initial_state: Any, output_layer=None) -> None:
        self._cell, self._helper = cell, helper
        self._state, self._layer = initial_state, output_layer
        self.batch_size = helper.batch_size

    @property
    def output_dtype(self):
        dtype = nest.flatten(self._state)[0].dtype.base_dtype
        return BasicDecoderOutput(dtype, self._helper.sample_ids_dtype)

    @property
    def output_size(self):
        width = self._cell.output_size if self._layer is None else self._layer.units
        return BasicDecoderOutput(width, self._helper.sample_ids_shape)

    def initialize(self, name: str | None = None):
        del name  # TensorFlow opens no scope here, either
        return (*self._helper.initialize(), self._state)

    def step(self, time, inputs, state, name=None):
        with name_scope(name, "BasicDecoderStep"):
            output, state = self._cell(inputs, state)
            output = output if self._layer is None else self._layer(output)
            ids = self._helper.sample(time=time, outputs=output, state=state)
            done, following, state = self._helper.next_inputs(
                time=time, outputs=output, state=state, sample_ids=ids
            )
            return BasicDecoderOutput(output, ids), state, following, done


def _keep(done, old, new):
    """Keeps the old rows of finished sequences."""
    if hasattr(new, "_flow") or new.shape.ndims in (0, None):
        return new
    result = OPS["Select"](done, old, new)
    result.set_shape(new.shape)
    return result


def _shape(leaf):
    """Returns the shape invariant of a loop variable: the batch size may vary."""
    known = leaf.shape.as_list() if leaf.shape.ndims else []
    return BOTH["TensorShape"]([None, *known[1:]] if known else [])


def _element_shape(size):
    sizes = size.as_list() if hasattr(size, "as_list") else size
    return [None, *(sizes if isinstance(sizes, list) else [sizes])]


class _Decoding:
    """The loop over a decoder; the values of a step are one flat list."""

    def __init__(self, decoder, impute, limit):
        self._decoder, self._impute, self._limit = decoder, impute, limit
        finished, self._inputs, self._state = decoder.initialize()
        self._outputs = [
            TensorArray(t, 0, dynamic_size=True, element_shape=_element_shape(s))
            for t, s in zip(nest.flatten(decoder.output_dtype), decoder.output_size)
        ]
        lengths = op("ZerosLike", op("Cast", finished, DstT=as_dtype("int32")))
        if limit is not None:
            finished = OPS["LogicalOr"](
                finished,
                OPS["GreaterEqual"](convert_to_tensor(0), convert_to_tensor(limit, "int32")),
            )
        self.first = [
            convert_to_tensor(0),
            finished,
            lengths,
            *self._outputs,
            *[convert_to_tensor(x) for x in nest.flatten(self._inputs)],
            *[
                s if hasattr(s, "_flow") else convert_to_tensor(s)
                for s in nest.flatten(self._state)
            ],
        ]

    def _parts(self, rest):
        n, m = len(self._outputs), len(nest.flatten(self._inputs))
        return (
            rest[:n],
            nest.pack_sequence_as(self._inputs, list(rest[n : n + m])),
            nest.pack_sequence_as(self._state, list(rest[n + m :])),
        )

    def test(self, _time, finished, *_rest):
        return OPS["LogicalNot"](op("All", finished, list(range(finished.shape.ndims or 1))))

    def body(self, time, finished, lengths, *rest):
        arrays, inputs, state = self._parts(rest)
        outputs, new, following, done = self._decoder.step(time, inputs, state)
        over = done if self._decoder.tracks_own_finished else OPS["LogicalOr"](done, finished)
        if self._limit is not None:
            over = OPS["LogicalOr"](
                over, OPS["GreaterEqual"](time + 1, convert_to_tensor(self._limit, "int32"))
            )
        lengths = OPS["Select"](finished, lengths, op("ZerosLike", lengths) + (time + 1))
        outputs = nest.flatten(outputs)
        news, olds = nest.flatten(new), nest.flatten(state)
        if self._impute:
            outputs = [_keep(finished, op("ZerosLike", o), o) for o in outputs]
            news = [_keep(finished, a, b) for a, b in zip(olds, news)]
        for old, value in zip(olds, news):
            if not hasattr(value, "_flow"):
                value.set_shape(_shape(old))
        return [
            time + 1,
            over,
            lengths,
            *[a.write(time, o) for a, o in zip(arrays, outputs)],
            *nest.flatten(following),
            *news,
        ]

    def run(self):
        shapes = [None if hasattr(x, "_flow") else _shape(x) for x in self.first]
        result = while_loop(
            self.test, self.body, self.first, shape_invariants=shapes, return_same_structure=True
        )
        arrays, _, state = self._parts(list(result[3:]))
        return [a.stack() for a in arrays], state, result[2]


@_named("dynamic_decode")
def dynamic_decode(
    decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations=None,
    parallel_iterations=32,
    swap_memory: bool = False,
    scope=None,
):
    """Runs a decoder until all sequences are finished.

    Args:
      decoder: The decoder.
      output_time_major: Whether outputs are `(steps, batch, ...)`.
      impute_finished: Whether finished sequences keep their state and have outputs of 0.
      maximum_iterations: Largest number of steps.
      parallel_iterations: A hint that is not needed.
      swap_memory: A hint that is not needed.
      scope: Name of the variable scope.

    Returns:
      (outputs, last state, lengths).
    """
    del parallel_iterations, swap_memory  # hints for speed and memory
    with variable_scope.variable_scope(scope, "decoder"):
        outputs, state, lengths = _Decoding(decoder, impute_finished, maximum_iterations).run()
        result = (
            nest.pack_sequence_as(decoder.output_size, outputs)
            if not hasattr(decoder.output_size, "_fields")
            else type(decoder.output_size)(*outputs)
        )
        if hasattr(decoder, "finalize"):
            result, state = decoder.finalize(result, state, lengths)
        if not output_time_major:
            result = nest.map_structure(_swap, result)
        return result, state, lengths
