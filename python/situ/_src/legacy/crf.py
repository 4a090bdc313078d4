# SPDX-License-Identifier: Apache-2.0
"""crf.py: tf.contrib.crf: linear-chain conditional random fields."""

from __future__ import annotations

from typing import Any

import numpy

from situ._src.framework.api import export
from situ._src.ops import functional_ops, gather_ops, reduction_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.variables import variable_scope


def _named(function):
    return export(v1="contrib.crf." + function.__name__)(function)


def _mask(lengths, like, dtype="float32"):
    """Returns [batch, steps]: whether a step belongs to its sequence."""
    return cast(gather_ops.sequence_mask(convert_to_tensor(lengths), op("Shape", like)[1]), dtype)


@_named
def crf_unary_score(tag_indices, sequence_lengths, inputs: Any):
    """Returns the sum of the unary scores of tags, per sequence.

    Args:
      tag_indices: Tags of shape `(batch, steps)`.
      sequence_lengths: Lengths of shape `(batch,)`.
      inputs: Unary scores of shape `(batch, steps, tags)`.
    """
    inputs, tags = convert_to_tensor(inputs), cast(convert_to_tensor(tag_indices), "int32")
    width = op("Shape", inputs)[2]
    hot = op("OneHot", tags, width, constant(1, inputs.dtype), constant(0, inputs.dtype))
    scores = op("Sum", inputs * hot, [2])
    return op("Sum", scores * _mask(sequence_lengths, tags, inputs.dtype), [1])


@_named
def crf_binary_score(tag_indices, sequence_lengths, transition_params):
    """Returns the sum of the transition scores of tags, per sequence.

    Args:
      tag_indices: Tags of shape `(batch, steps)`.
      sequence_lengths: Lengths of shape `(batch,)`.
      transition_params: Transition scores of shape `(tags, tags)`; default: a new variable.
    """
    tags = cast(convert_to_tensor(tag_indices), "int32")
    params = convert_to_tensor(transition_params)
    width = op("Shape", params)[0]
    pairs = tags[:, :-1] * width + tags[:, 1:]
    scores = op("GatherV2", op("Reshape", params, [-1]), pairs, 0)
    later = op("Maximum", cast(convert_to_tensor(sequence_lengths), "int32") - 1, constant(0))
    return op("Sum", scores * _mask(later, pairs, scores.dtype), [1])


@_named
def crf_sequence_score(inputs: Any, tag_indices, sequence_lengths, transition_params):
    """Returns the unnormalized score of tag sequences.

    Args:
      inputs: Unary scores of shape `(batch, steps, tags)`.
      tag_indices: Tags of shape `(batch, steps)`.
      sequence_lengths: Lengths of shape `(batch,)`.
      transition_params: Transition scores of shape `(tags, tags)`; default: a new variable.
    """
    return crf_unary_score(tag_indices, sequence_lengths, inputs) + crf_binary_score(
        tag_indices, sequence_lengths, transition_params
    )


@_named
def crf_multitag_sequence_score(inputs: Any, tag_bitmap, sequence_lengths, transition_params):
    """Returns the unnormalized score of all tag sequences that a mask allows.

    Args:
      inputs: Unary scores of shape `(batch, steps, tags)`.
      tag_bitmap: Bool tensor [batch, steps, tags] of the allowed tags.
      sequence_lengths: Lengths of shape `(batch,)`.
      transition_params: Transition scores of shape `(tags, tags)`; default: a new variable.
    """
    low = op("Fill", op("Shape", inputs), constant(-numpy.inf))
    allowed = op("Select", convert_to_tensor(tag_bitmap), convert_to_tensor(inputs), low)
    return crf_log_norm(allowed, sequence_lengths, transition_params)


@_named
def crf_log_norm(inputs: Any, sequence_lengths, transition_params):
    """Returns the log of the partition function.

    Args:
      inputs: Unary scores of shape `(batch, steps, tags)`.
      sequence_lengths: Lengths of shape `(batch,)`.
      transition_params: Transition scores of shape `(tags, tags)`; default: a new variable.
    """
    inputs, params = convert_to_tensor(inputs), convert_to_tensor(transition_params)
    lengths = cast(convert_to_tensor(sequence_lengths), "int32")
    first = inputs[:, 0]

    def body(state, at):
        time, score = at
        around = op("ExpandDims", state, 2) + op("ExpandDims", params, 0)
        new = score + reduction_ops.reduce_logsumexp(around, [1])
        done = op("GreaterEqual", op("Fill", op("Shape", lengths), time), lengths)
        done = op("LogicalOr", done, op("Equal", time, 0))  # the first step only begins
        return op("Select", done, state, new)

    steps = op("Transpose", inputs, [1, 0, 2])
    times = op("Range", constant(0), op("Shape", steps)[0], constant(1))
    alphas = functional_ops.foldl(body, (times, steps), first)
    norm = reduction_ops.reduce_logsumexp(alphas, [1])
    return op(
        "Select", op("LessEqual", lengths, op("ZerosLike", lengths)), op("ZerosLike", norm), norm
    )


@_named
def crf_log_likelihood(inputs: Any, tag_indices, sequence_lengths, transition_params=None):
    """Returns the log-likelihood of tag sequences.

    Args:
      inputs: Unary scores of shape `(batch, steps, tags)`.
      tag_indices: Tags of shape `(batch, steps)`.
      sequence_lengths: Lengths of shape `(batch,)`.
      transition_params: Transition scores of shape `(tags, tags)`; default: a new variable.

    Returns:
      (log-likelihoods of shape `(batch,)`, transition_params).
    """
    inputs = convert_to_tensor(inputs)
    if transition_params is None:
        width = inputs.shape.as_list()[2]
        transition_params = variable_scope.get_variable("transitions", [width, width])
    return crf_sequence_score(
        inputs, tag_indices, sequence_lengths, transition_params
    ) - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


@_named
def crf_decode(potentials, transition_params, sequence_length: Any):
    """Finds the best tag sequences (Viterbi).

    Args:
      potentials: Unary scores of shape `(batch, steps, tags)`.
      transition_params: Transition scores of shape `(tags, tags)`.
      sequence_length: Lengths of shape `(batch,)`.

    Returns:
      (tags of shape `(batch, steps)`, scores of shape `(batch,)`).
    """
    potentials = convert_to_tensor(potentials)
    params = convert_to_tensor(transition_params)
    lengths = cast(convert_to_tensor(sequence_length), "int32")
    steps = op("Transpose", potentials, [1, 0, 2])
    times = op("Range", constant(0), op("Shape", steps)[0], constant(1))
    first = steps[0]
    own = cast(op("ZerosLike", first), "int32") + op(
        "Range", constant(0), op("Shape", params)[0], constant(1)
    )

    def forth(state, at):
        time, score = at
        around = op("ExpandDims", state[0], 2) + op("ExpandDims", params, 0)
        back = op("ArgMax", around, 1, output_type="int32")
        done = op(
            "LogicalOr",
            op("GreaterEqual", op("Fill", op("Shape", lengths), time), lengths),
            op("Equal", time, 0),
        )  # the first step only begins
        return (
            op("Select", done, state[0], score + op("Max", around, [1])),
            op("Select", done, own, back),
        )

    scores, pointers = functional_ops.scan(forth, (times, steps), (first, own))
    last = scores[-1]
    end = op("ArgMax", last, 1, output_type="int32")

    def back(tag, pointer):
        rows = op("Range", constant(0), op("Shape", tag)[0], constant(1))
        return op("GatherNd", pointer, op("Pack", [rows, tag], axis=1))

    earlier = functional_ops.scan(back, op("ReverseV2", pointers, [0]), end)
    tags = op("ReverseV2", op("ConcatV2", [op("ExpandDims", end, 0), earlier[:-1]], 0), [0])
    tags = op("Transpose", tags, [1, 0]) * cast(_mask(lengths, potentials), "int32")
    return tags, op("Max", last, [1])


@_named
def viterbi_decode(score, transition_params):
    """Finds the best tag sequence of NumPy arrays.

    Args:
      score: Unary scores of shape `(steps, tags)`.
      transition_params: Transition scores of shape `(tags, tags)`.

    Returns:
      (list of tags, score).
    """
    trellis = numpy.zeros_like(score)
    pointers = numpy.zeros_like(score, dtype=numpy.int32)
    trellis[0] = score[0]
    for t in range(1, score.shape[0]):
        v = numpy.expand_dims(trellis[t - 1], 1) + transition_params
        trellis[t] = score[t] + numpy.max(v, 0)
        pointers[t] = numpy.argmax(v, 0)
    tags = [numpy.argmax(trellis[-1])]
    for pointer in reversed(pointers[1:]):
        tags.append(pointer[tags[-1]])
    tags.reverse()
    return tags, numpy.max(trellis[-1])
