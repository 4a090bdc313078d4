# SPDX-License-Identifier: Apache-2.0
"""ctc.py: tf.nn.ctc_loss, CTC decoders and tf.edit_distance."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops import gather_ops
from situ._src.ops.array_ops import cast, concat, constant, convert_to_tensor, op
from situ._src.ops.sparse_ops import SparseTensor, SparseTensorValue

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Tensor, TensorLike


def _by_time(inputs, time_major):
    """Transposes inputs to time-major."""
    inputs = convert_to_tensor(inputs)
    return inputs if time_major else op("Transpose", inputs, [1, 0, 2])


def _loss(labels, inputs, lengths, time_major, **kwargs):
    if not isinstance(labels, SparseTensor):
        raise TypeError(
            "Expected argument 'labels' to be a SparseTensor. "
            f"Received labels={labels} of type: {type(labels).__name__}"
        )
    return op(
        "CTCLoss",
        _by_time(inputs, time_major),
        labels.indices,
        cast(labels.values, "int32"),
        cast(convert_to_tensor(lengths), "int32"),
        **kwargs,
    )[0]


@export(v1="nn.ctc_loss")
def ctc_loss(
    labels: TensorLike,
    inputs: TensorLike = None,
    sequence_length: TensorLike = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike = None,
) -> Tensor:
    """Computes the CTC loss of sparse labels; `inputs` are [steps, batch, classes] with the
    blank last.

    Args:
      labels: A SparseTensor, or a dense tensor [batch, steps] of classes.
      inputs: Logits [steps, batch, classes], or [batch, steps, classes] without time_major; the
        last class is the blank label.
      sequence_length: Number of steps of each example.
      preprocess_collapse_repeated: Whether to merge repeated labels first.
      ctc_merge_repeated: Whether to merge repeated classes.
      ignore_longer_outputs_than_inputs: Whether sequences with more labels than steps have loss 0
        instead of failing.
      time_major: Whether steps are the first dimension.
      logits: A tensor [steps, batch, classes].
    """
    return _loss(
        labels,
        logits if inputs is None else inputs,
        sequence_length,
        time_major,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    )


def sparse(labels, lengths):
    """Converts dense labels [batch, steps] with lengths to a SparseTensor."""
    labels = convert_to_tensor(labels)
    inside = gather_ops.sequence_mask(lengths, op("Shape", labels)[1])
    indices = op("Where", inside)
    return SparseTensor(
        indices, op("GatherNd", labels, indices), op("Shape", labels, out_type="int64")
    )


@export("nn.ctc_loss", v1="nn.ctc_loss_v2")
def ctc_loss_v2(
    labels: TensorLike,
    logits: TensorLike,
    label_length: TensorLike,
    logit_length: TensorLike,
    logits_time_major: bool = True,
    unique: TensorLike = None,
    blank_index: TensorLike = None,
    name: str | None = None,
) -> Tensor:
    """Computes the connectionist temporal classification loss.

    Args:
      labels: A SparseTensor, or a dense tensor [batch, steps] of classes.
      logits: A tensor [steps, batch, classes].
      label_length: The length of each label sequence, for dense labels.
      logit_length: The length of each logit sequence.
      logits_time_major: Whether the first dimension of `logits` is time; else it is the batch.
      unique: Ignored.
      blank_index: The class of the blank; 0 by default for dense labels.
      name: A name for the operation (optional).

    Returns:
      A tensor [batch] of losses.

    Raises:
      ValueError: If labels are sparse and `blank_index` is None.
    """
    del unique  # a hint for speed
    with scope(name, "ctc_loss"):
        logits = _by_time(logits, logits_time_major)
        classes = logits.shape.as_list()[-1]
        if isinstance(labels, SparseTensor):
            if blank_index is None:
                raise ValueError(
                    "Argument `blank_index` must be provided when labels is a SparseTensor."
                )
        else:
            labels = sparse(labels, label_length)
        blank = (0 if blank_index is None else blank_index) % classes
        if blank != classes - 1:  # move the blank to the end and shift the classes after it
            order = [k for k in range(classes) if k != blank] + [blank]
            logits = op("GatherV2", logits, constant(order), 2)
            values = cast(labels.values, "int32")
            values = values - cast(op("Greater", values, blank), "int32")
            labels = SparseTensor(labels.indices, values, labels.dense_shape)
        return _loss(labels, logits, logit_length, True)


@export("nn.ctc_greedy_decoder", v1="nn.ctc_greedy_decoder")
def ctc_greedy_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    merge_repeated: bool = True,
    blank_index: TensorLike = None,
) -> Any:
    """Decodes logits greedily: ([labels as a SparseTensor], negative sum of the largest logits).

    Args:
      inputs: Logits [steps, batch, classes]; the last class is the blank label.
      sequence_length: Number of steps of each example.
      merge_repeated: Whether to merge repeated classes.
      blank_index: The class of the blank; 0 by default for dense labels.
    """
    result = op(
        "CTCGreedyDecoder",
        inputs,
        cast(convert_to_tensor(sequence_length), "int32"),
        merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index,
    )
    return [SparseTensor(*result[:3])], result[3]


@export(v1="nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: TensorLike = 100,
    top_paths: TensorLike = 1,
    merge_repeated: bool = True,
) -> Any:
    """Decodes logits by beam search: (list of the best labels as SparseTensors, log
    probabilities).

    Args:
      inputs: Logits [steps, batch, classes]; the last class is the blank label.
      sequence_length: Number of steps of each example.
      beam_width: Number of candidates to keep.
      top_paths: Number of sequences to return.
      merge_repeated: Whether to merge repeated classes.
    """
    result = op(
        "CTCBeamSearchDecoder",
        inputs,
        cast(convert_to_tensor(sequence_length), "int32"),
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    n = top_paths
    return [SparseTensor(result[k], result[n + k], result[2 * n + k]) for k in range(n)], result[
        3 * n
    ]


@export("nn.ctc_beam_search_decoder", v1="nn.ctc_beam_search_decoder_v2")
def ctc_beam_search_decoder_v2(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: TensorLike = 100,
    top_paths: TensorLike = 1,
) -> Any:
    """Decodes logits by beam search; repeated labels are not merged.

    Args:
      inputs: Logits [steps, batch, classes]; the last class is the blank label.
      sequence_length: Number of steps of each example.
      beam_width: Number of candidates to keep.
      top_paths: Number of sequences to return.
    """
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


@export("edit_distance", v1="edit_distance")
def edit_distance(
    hypothesis: TensorLike,
    truth: TensorLike,
    normalize: bool = True,
    name: str | None = "edit_distance",
) -> Tensor:
    """Computes the Levenshtein distance between the rows of two sparse tensors.

    Args:
      hypothesis: Sparse tensor of sequences.
      truth: Sparse tensor of the expected sequences.
      normalize: Whether to divide by the length of truth.
      name: A name for the operation (optional).
    """
    for name_, value in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"{name_} must be a SparseTensor.")
    hypothesis, truth = SparseTensor.from_value(hypothesis), SparseTensor.from_value(truth)
    hypothesis_values, truth_values = hypothesis.values, truth.values
    if hypothesis_values.dtype != truth_values.dtype:
        hypothesis_values, truth_values = (
            cast(hypothesis_values, "int64"),
            cast(truth_values, "int64"),
        )
    if hypothesis_values.dtype.name == "string":  # equal strings get equal codes
        both = op("ConcatV2", [hypothesis_values, truth_values], 0)
        numbers = op("Unique", both)[1]
        hypothesis_values, truth_values = op(
            "SplitV",
            numbers,
            op("Pack", [op("Size", hypothesis_values), op("Size", truth_values)]),
            0,
            num_split=2,
        )
    return op(
        "EditDistance",
        hypothesis.indices,
        hypothesis_values,
        hypothesis.dense_shape,
        truth.indices,
        truth_values,
        truth.dense_shape,
        normalize=normalize,
        name=name,
    )


@export("nn.collapse_repeated")
def collapse_repeated(labels: TensorLike, seq_length: TensorLike, name: str | None = None) -> Any:
    """Merges repeated labels into single labels.

    Args:
      labels: A tensor [batch, max length] of labels.
      seq_length: The length of each row.
      name: A name for the operation (optional).

    Returns:
      (labels, lengths): the merged labels, padded with zeros to the longest row, and the lengths.
    """
    with scope(name, "collapse_repeated_labels"):
        labels, seq_length = convert_to_tensor(labels), convert_to_tensor(seq_length)
        size = op("Shape", labels)
        places = op("ExpandDims", op("Range", constant(0), size[1], constant(1)), 0)
        inside = op("Less", places, op("ExpandDims", cast(seq_length, "int32"), 1))
        first = op("OnesLike", op("Equal", labels[:, :1], labels[:, :1]))
        changed = concat([first, op("NotEqual", labels[:, 1:], labels[:, :-1])], 1)
        kept = op("LogicalAnd", changed, inside)
        counts = cast(kept, "int32")
        lengths = op("Sum", counts, [1])
        longest = op("Max", lengths, [0])
        found = op("Where", kept)
        columns = op("GatherNd", op("Cumsum", counts, 1), found) - constant(1)
        to = concat([cast(found[:, :1], "int32"), op("ExpandDims", columns, 1)], 1)
        shape = op("Pack", [size[0], longest])
        merged = op("ScatterNd", to, op("GatherNd", labels, found), shape)
        if hasattr(merged, "set_shape"):
            merged.set_shape([labels.shape.as_list()[0] if labels.shape.rank else None, None])
        return merged, cast(lengths, seq_length.dtype)


@export("nn.ctc_unique_labels")
def ctc_unique_labels(labels: TensorLike, name: str | None = None) -> Any:
    """Returns the unique labels of each row and the index of each label among them.

    Args:
      labels: A tensor [batch, max length] of labels.
      name: A name for the operation (optional).

    Returns:
      (unique, index): the unique labels in order of occurrence, int64, padded with zeros, and the
      index of each label, int32.
    """
    with scope(name, "ctc_unique_labels"):
        labels = convert_to_tensor(labels)
        equal = op("Equal", op("ExpandDims", labels, 2), op("ExpandDims", labels, 1))
        first = op("ArgMax", cast(equal, "int32"), 2, output_type="int32")
        places = op("Range", constant(0), op("Shape", labels)[1], constant(1))
        new = op("Equal", first, places)
        ranks = op("Cumsum", cast(new, "int32"), 1) - constant(1)
        index = op("GatherV2", ranks, first, 1, batch_dims=1)
        found = op("Where", new)
        columns = op("ExpandDims", cast(op("GatherNd", ranks, found), "int64"), 1)
        to = concat([found[:, :1], columns], 1)
        values = cast(op("GatherNd", labels, found), "int64")
        shape = cast(op("Shape", labels), "int64")
        return op("ScatterNd", to, values, shape), index
