# SPDX-License-Identifier: Apache-2.0
"""seq2seq_beam_search.py: tf.contrib.seq2seq: BeamSearchDecoder, gather_tree, helpers."""

from __future__ import annotations

import collections
from typing import Any

import numpy

from situ._src.framework import nest
from situ._src.framework.api import BOTH, OPS, V1
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import scope as name_scope
from situ._src.framework.keywords import unsupported
from situ._src.legacy import seq2seq
from situ._src.legacy.seq2seq_attention import _named
from situ._src.ops import functional_ops, random_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op

BeamSearchDecoderState = _named("BeamSearchDecoderState")(
    collections.namedtuple(
        "BeamSearchDecoderState", ("cell_state", "log_probs", "finished", "lengths")
    )
)
BeamSearchDecoderOutput = _named("BeamSearchDecoderOutput")(
    collections.namedtuple("BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids"))
)
FinalBeamSearchDecoderOutput = _named("FinalBeamSearchDecoderOutput")(
    collections.namedtuple(
        "FinalBeamSearchDecoderOutput", ("predicted_ids", "beam_search_decoder_output")
    )
)


def _range(count):
    return OPS["Range"](constant(0), count, constant(1))


def _pick(values, beams):
    """Gathers [batch, beams, ...] by beam indices [batch, beams]."""
    batch = op("Reshape", _range(op("Shape", beams)[0]), [-1, 1]) + op("ZerosLike", beams)
    result = op("GatherNd", values, op("Pack", [batch, beams], axis=2))
    result.set_shape(values.shape)
    return result


@_named("gather_tree")
def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token):
    """Returns the token sequences of beams [steps, batch, beams] from the ids and parents of
    each step.

    Args:
      step_ids: Tensor [steps, batch, beams] of ids.
      parent_ids: Parents of shape `(steps, batch, beams)`.
      max_sequence_lengths: Length of each sequence.
      end_token: Id that ends a sequence.
    """
    steps, parents = convert_to_tensor(step_ids), convert_to_tensor(parent_ids)
    most = op("ExpandDims", cast(convert_to_tensor(max_sequence_lengths), "int32"), 1)
    end = convert_to_tensor(end_token, "int32")
    first = op("ZerosLike", steps[0]) + _range(op("Shape", steps)[2])

    def back(state, at):
        time, ids, above = at
        beams, inside = state[1], op("Less", time, most + op("ZerosLike", state[1]))
        word = op("SelectV2", inside, _pick(ids, beams), end)
        return word, op("SelectV2", inside, _pick(above, beams), beams)

    times = OPS["ReverseV2"](_range(op("Shape", steps)[0]), [0])
    ids_by_step, _ = functional_ops.scan(
        back,
        (times, op("ReverseV2", steps, [0]), op("ReverseV2", parents, [0])),
        (op("ZerosLike", first), first),
    )
    ids_by_step = op("ReverseV2", ids_by_step, [0])
    over = op("Cumsum", cast(op("Equal", ids_by_step, end), "int32"), 0, exclusive=True)
    return op("SelectV2", op("Greater", over, 0), end, ids_by_step)


@_named("gather_tree_from_array")
def gather_tree_from_array(t, parent_ids, sequence_length):
    """Reorders the steps of a stacked TensorArray by the beams that the search has chosen.

    Args:
      t: Tensor of shape `(steps, batch, beams, ...)` or `(steps, batch * beams, ...)`.
      parent_ids: Parents of shape `(steps, batch, beams)`.
      sequence_length: Lengths of shape `(batch, beams)`; later steps stay in their order.
    """
    parents, lengths = convert_to_tensor(parent_ids), cast(sequence_length, "int32")
    width = op("Shape", parents)[2]
    beams = op("ZerosLike", parents) + _range(width)
    chosen = gather_tree(beams, parents, op("Max", lengths, [1]), width + 1)
    steps = op("Reshape", _range(op("Shape", parents)[0]), [-1, 1, 1])
    chosen = op("SelectV2", op("Less", steps, lengths), chosen, beams)
    rows = op("Size", parents) // width
    flat = op("Reshape", t, op("Pack", [rows, width, -1]))
    picked = _pick(flat, op("Reshape", chosen, op("Pack", [rows, width])))
    return op("Reshape", picked, op("Shape", t))


@_named("BeamSearchDecoder")
class BeamSearchDecoder(seq2seq.Decoder):
    """Beam search decoder.

    Args:
      cell: RNN cell, whose state is tiled by tile_batch.
      embedding: Table, or function from ids to embeddings.
      start_tokens: Ids of shape `(batch,)` to start with.
      end_token: Id that ends a sequence.
      initial_state: Initial state of the cell.
      beam_width: Number of beams.
      output_layer: Layer applied to the outputs.
      length_penalty_weight: Weight of the length penalty; 0: none.
      coverage_penalty_weight: Must be 0.
      reorder_tensor_arrays: Whether TensorArrays in the last state of the cell are replaced by
        their stacked values in the order of the beams.

    Raises:
      NotImplementedError: If coverage_penalty_weight is not 0.
      ValueError: If start_tokens is not a vector.
    """

    tracks_own_finished = True

    def __init__(
        self,
        cell: Any,
        embedding,
        start_tokens,
        end_token,
        initial_state: Any,
        beam_width,
        output_layer=None,
        length_penalty_weight=0.0,
        coverage_penalty_weight=0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        unsupported("BeamSearchDecoder", coverage_penalty_weight=(coverage_penalty_weight, 0.0))
        lookup = BOTH.get("nn.embedding_lookup") or V1["nn.embedding_lookup"]
        self._embed = embedding if callable(embedding) else lambda ids: lookup(embedding, ids)
        self._cell, self._layer, self._width = cell, output_layer, int(beam_width)
        start = convert_to_tensor(start_tokens, "int32")
        if start.shape.ndims not in (None, 1):
            raise ValueError("start_tokens must be a vector")
        self._end = convert_to_tensor(end_token, "int32")
        self._penalty, self._reorder = length_penalty_weight, reorder_tensor_arrays
        self.batch_size = OPS["Size"](start)
        tiled = op("Tile", op("ExpandDims", start, 1), [1, self._width])
        self._start_inputs = self._embed(tiled)
        self._state = nest.map_structure(self._split, initial_state)

    output_dtype = property(
        lambda s: BeamSearchDecoderOutput(as_dtype("float32"), as_dtype("int32"), as_dtype("int32"))
    )
    output_size = property(lambda s: BeamSearchDecoderOutput([s._width], [s._width], [s._width]))

    def _split(self, x):
        """Reshapes [batch * beams, ...] to [batch, beams, ...]."""
        if hasattr(x, "_flow") or convert_to_tensor(x).shape.ndims == 0:
            return x
        x = convert_to_tensor(x)
        sizes = op(
            "ConcatV2",
            [op("Pack", [self.batch_size, constant(self._width)]), op("Shape", x)[1:]],
            0,
        )
        result = op("Reshape", x, sizes)
        result.set_shape([None, self._width, *x.shape.as_list()[1:]])
        return result

    def _merge(self, x):
        if hasattr(x, "_flow") or x.shape.ndims == 0:
            return x
        result = op("Reshape", x, op("ConcatV2", [constant([-1]), op("Shape", x)[2:]], 0))
        result.set_shape([None, *x.shape.as_list()[2:]])
        return result

    def initialize(self, name: str | None = None):
        del name  # TensorFlow opens no scope here, either
        rows = op("Pack", [self.batch_size, constant(1)])
        first = [True] + [False] * (self._width - 1)
        finished = op("Tile", constant([[not f for f in first]]), rows)
        low = [[0.0 if f else -numpy.inf for f in first]]
        probs = op("Tile", constant(low, "float32"), rows)
        lengths = cast(op("ZerosLike", cast(finished, "int32")), "int64")
        return (
            finished,
            self._start_inputs,
            BeamSearchDecoderState(self._state, probs, finished, lengths),
        )

    def step(self, time, inputs, state, name=None):
        del time  # a step depends on the state alone
        with name_scope(name, "BeamSearchDecoderStep"):
            merged = nest.map_structure(self._merge, state.cell_state)
            outputs, cell_state = self._cell(self._merge(inputs), merged)
            outputs = self._layer(outputs) if self._layer is not None else outputs
            output, state = self._advance(
                self._split(outputs), nest.map_structure(self._split, cell_state), state
            )
            following = self._embed(output.predicted_ids)
            following.set_shape(self._start_inputs.shape)
            return output, state, following, state.finished

    def _scores(self, total, lengths):
        if not isinstance(self._penalty, (int, float)) or self._penalty:
            scale = op(
                "Pow",
                (5.0 + cast(lengths, "float32")) / 6.0,
                convert_to_tensor(self._penalty, "float32"),
            )
            return total / scale
        return total

    def _advance(self, logits, cell_state, state):
        vocab_size = op("Shape", logits)[2]
        known = logits.shape.as_list()[2]
        ends = op("Equal", _range(vocab_size), self._end)  # [vocab_size]
        ended = op("SelectV2", ends, constant(0.0), constant(numpy.float32(-3.4028235e38)))
        logs = op("LogSoftmax", logits)
        logs = op("SelectV2", op("ExpandDims", state.finished, 2), ended, logs)
        total = op("ExpandDims", state.log_probs, 2) + logs
        more = cast(op("LogicalNot", ends), "int64") * cast(
            op("ExpandDims", op("LogicalNot", state.finished), 2), "int64"
        )
        lengths = more + op("ExpandDims", state.lengths, 2)
        flat = op("Pack", [self.batch_size, vocab_size * self._width])
        scores, places = OPS["TopKV2"](
            op("Reshape", self._scores(total, lengths), flat), constant(self._width)
        )
        wide = constant(known) if known is not None else vocab_size
        ids, beams = op("FloorMod", places, wide), op("FloorDiv", places, wide)
        rows = op("Reshape", _range(self.batch_size), [-1, 1]) + op("ZerosLike", places)
        probs = op("GatherNd", op("Reshape", total, flat), op("Pack", [rows, places], axis=2))
        before = _pick(state.finished, beams)
        finished = op("LogicalOr", before, op("Equal", ids, self._end))
        lengths = _pick(state.lengths, beams) + cast(op("LogicalNot", before), "int64")
        for tensor in (scores, ids, beams, probs, finished, lengths):
            tensor.set_shape([None, self._width])

        def along(x):
            return x if hasattr(x, "_flow") or x.shape.ndims == 0 else _pick(x, beams)

        return BeamSearchDecoderOutput(scores, ids, beams), BeamSearchDecoderState(
            nest.map_structure(along, cell_state), probs, finished, lengths
        )

    def finalize(self, outputs, final_state, sequence_lengths):
        """Returns the token sequences of the beams."""
        del sequence_lengths  # the state has the lengths of the beams
        most = cast(op("Max", final_state.lengths, [1]), "int32")
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, most, self._end)
        ids.set_shape([None, None, self._width])

        def ordered(x):
            if not hasattr(x, "_flow"):
                return x
            return gather_tree_from_array(x.stack(), outputs.parent_ids, final_state.lengths)

        if self._reorder:
            cell_state = nest.map_structure(ordered, final_state.cell_state)
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state


# Helpers


@_named("CustomHelper")
class CustomHelper(seq2seq.Helper):
    """Helper of three functions of the program: initialize, sample and next_inputs."""

    def __init__(
        self, initialize_fn, sample_fn, next_inputs_fn, sample_ids_shape=None, sample_ids_dtype=None
    ) -> None:
        self._begin, self._draw, self._next = initialize_fn, sample_fn, next_inputs_fn
        if sample_ids_shape is not None:
            self.sample_ids_shape = list(sample_ids_shape)
        if sample_ids_dtype is not None:
            self.sample_ids_dtype = as_dtype(sample_ids_dtype)
        self._made = None

    @property
    def batch_size(self):
        return OPS["Size"](self.initialize()[0])

    def initialize(self, name: str | None = None):
        with name_scope(name, type(self).__name__ + "Initialize"):
            self._made = self._made or self._begin()
        return self._made

    def sample(self, time, outputs, state=None, name: str | None = None):
        with name_scope(name, type(self).__name__ + "Sample"):
            return self._draw(time=time, outputs=outputs, state=state)

    def next_inputs(self, time, outputs, state, sample_ids=None, name: str | None = None):
        with name_scope(name, type(self).__name__ + "NextInputs"):
            return self._next(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


@_named("ScheduledEmbeddingTrainingHelper")
class ScheduledEmbeddingTrainingHelper(seq2seq.TrainingHelper):
    """TrainingHelper that replaces inputs by embeddings of sampled tokens with a probability."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding,
        sampling_probability,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed=None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            inputs, sequence_length, time_major, name or "ScheduledEmbeddingSamplingWrapper"
        )
        lookup = BOTH.get("nn.embedding_lookup") or V1["nn.embedding_lookup"]
        self._embed = embedding if callable(embedding) else lambda ids: lookup(embedding, ids)
        self._share = convert_to_tensor(sampling_probability, "float32")
        self._seeds = seed, scheduling_seed

    def sample(self, time, outputs, state=None, name: str | None = None):
        del time, state  # the outputs alone decide
        with name_scope(name, "ScheduledEmbeddingTrainingHelperSample"):
            draw = random_ops.random_uniform(op("Pack", [self.batch_size]), seed=self._seeds[1])
            drawn = op("Reshape", random_ops.categorical(outputs, 1, "int32", self._seeds[0]), [-1])
            chosen = op("Less", draw, self._share)
            return op("Select", chosen, drawn, op("ZerosLike", drawn) - 1)

    def next_inputs(self, time, outputs, state, sample_ids=None, name: str | None = None):
        with name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs"):
            done, known, state = super().next_inputs(time, outputs, state, sample_ids)
            drawn = self._embed(op("Maximum", sample_ids, 0))
            return done, op("Select", op("GreaterEqual", sample_ids, 0), drawn, known), state


@_named("ScheduledOutputTrainingHelper")
class ScheduledOutputTrainingHelper(seq2seq.TrainingHelper):
    """TrainingHelper that replaces inputs by outputs of the decoder with a probability.

    Args:
      inputs: Tensor of shape `(batch, steps, features)`.
      sequence_length: Lengths of shape `(batch,)`.
      sampling_probability: Probability of replacing the input of an example.
      time_major: Whether inputs are `(steps, batch, features)`.
      seed: Seed of the random numbers.
      next_inputs_fn: Function from outputs to inputs; default: the outputs themselves.
      auxiliary_inputs: Tensor like inputs, which is appended to each input, given or replaced.
      name: Name scope of the ops.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn=None,
        auxiliary_inputs=None,
        name: str | None = None,
    ) -> None:
        self._width = convert_to_tensor(inputs).shape.as_list()[-1]
        self._aux = auxiliary_inputs is not None
        if self._aux:
            inputs = op("ConcatV2", [inputs, auxiliary_inputs], -1)
        super().__init__(
            inputs, sequence_length, time_major, name or "ScheduledOutputTrainingHelper"
        )
        self._share = convert_to_tensor(sampling_probability, "float32")
        self._seed, self._next = seed, next_inputs_fn or (lambda outputs: outputs)

    def sample(self, time, outputs, state=None, name: str | None = None):
        del time, outputs, state  # the choice is random
        with name_scope(name, "ScheduledOutputTrainingHelperSample"):
            draw = random_ops.random_uniform(op("Pack", [self.batch_size]), seed=self._seed)
            return cast(op("Less", draw, self._share), "int32")

    def next_inputs(self, time, outputs, state, sample_ids=None, name: str | None = None):
        with name_scope(name, "ScheduledOutputTrainingHelperNextInputs"):
            done, known, state = super().next_inputs(time, outputs, state, sample_ids)
            new = self._next(outputs)
            if self._aux:
                new = op("ConcatV2", [new, known[:, self._width :]], -1)
            return done, op("Select", op("Greater", sample_ids, 0), new, known), state


@_named("InferenceHelper")
class InferenceHelper(CustomHelper):
    """Helper of functions of the program, for decoding without given sequences."""

    def __init__(
        self, sample_fn, sample_shape, sample_dtype, start_inputs, end_fn, next_inputs_fn=None
    ) -> None:
        start = convert_to_tensor(start_inputs)

        def begin():
            return op("Fill", op("Shape", start)[:1], constant(False)), start

        def following(time, outputs, state, sample_ids):
            result = sample_ids if next_inputs_fn is None else next_inputs_fn(sample_ids)
            return end_fn(sample_ids), result, state

        super().__init__(
            begin,
            lambda time, outputs, state: sample_fn(outputs),
            following,
            sample_shape,
            sample_dtype,
        )


@_named("hardmax")
def hardmax(logits, name: str | None = None):
    """Returns the one-hot vector of the argmax.

    Args:
      logits: The logits.
      name: Name scope of the ops.
    """
    with name_scope(name, "Hardmax"):
        logits = convert_to_tensor(logits)
        return OPS["OneHot"](
            op("ArgMax", logits, -1),
            op("Shape", logits)[-1],
            constant(1, logits.dtype),
            constant(0, logits.dtype),
        )
