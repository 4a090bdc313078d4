# SPDX-License-Identifier: Apache-2.0
"""ctc.py: tf.nn.ctc_loss, decoders of labels without known places, tf.edit_distance."""

from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.ops import gather_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.sparse_ops import SparseTensor


def _by_time(inputs, time_major):
    inputs = convert_to_tensor(inputs)
    return inputs if time_major else op("Transpose", inputs, [1, 0, 2])


def _loss(labels, inputs, lengths, time_major, **words):
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
        **words,
    )[0]


@export(v1="nn.ctc_loss")
def ctc_loss(
    labels,
    inputs=None,
    sequence_length=None,
    preprocess_collapse_repeated=False,
    ctc_merge_repeated=True,
    ignore_longer_outputs_than_inputs=False,
    time_major=True,
    logits=None,
):
    """How unlikely inputs [steps, batch, classes] make sparse labels; the last class is blank."""
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
    """Rows of labels of which each has a length, as a sparse matrix."""
    labels = convert_to_tensor(labels)
    inside = gather_ops.sequence_mask(lengths, op("Shape", labels)[1])
    places = op("Where", inside)
    return SparseTensor(
        places, op("GatherNd", labels, places), op("Shape", labels, out_type="int64")
    )


@export("nn.ctc_loss", v1="nn.ctc_loss_v2")
def ctc_loss_v2(
    labels,
    logits,
    label_length,
    logit_length,
    logits_time_major=True,
    unique=None,
    blank_index=None,
    name=None,
):
    """The same of labels of any kind; the blank is class 0 for dense ones, else the last one."""
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
        if blank != classes - 1:  # the blank goes last, and what was behind it one to the front
            order = [k for k in range(classes) if k != blank] + [blank]
            logits = op("GatherV2", logits, constant(order), 2)
            values = cast(labels.values, "int32")
            values = values - cast(op("Greater", values, blank), "int32")
            labels = SparseTensor(labels.indices, values, labels.dense_shape)
        return _loss(labels, logits, logit_length, True)


@export("nn.ctc_greedy_decoder", v1="nn.ctc_greedy_decoder")
def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """([labels as a sparse matrix], the negative sum of the largest inputs)."""
    made = op(
        "CTCGreedyDecoder",
        inputs,
        cast(convert_to_tensor(sequence_length), "int32"),
        merge_repeated=merge_repeated,
        blank_index=-1 if blank_index is None else blank_index,
    )
    return [SparseTensor(*made[:3])], made[3]


@export(v1="nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder(
    inputs, sequence_length, beam_width=100, top_paths=1, merge_repeated=True
):
    """(the likeliest labels, sparse matrices, and their log probabilities)."""
    made = op(
        "CTCBeamSearchDecoder",
        inputs,
        cast(convert_to_tensor(sequence_length), "int32"),
        beam_width=beam_width,
        top_paths=top_paths,
        merge_repeated=merge_repeated,
    )
    n = top_paths
    return [SparseTensor(made[k], made[n + k], made[2 * n + k]) for k in range(n)], made[3 * n]


@export("nn.ctc_beam_search_decoder", v1="nn.ctc_beam_search_decoder_v2")
def ctc_beam_search_decoder_v2(inputs, sequence_length, beam_width=100, top_paths=1):
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


@export("edit_distance", v1="edit_distance")
def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """How many changes make the rows of one sparse tensor those of another."""
    for what, value in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(value, SparseTensor):
            raise TypeError(f"{what} must be a SparseTensor.")
    ours, theirs = hypothesis.values, truth.values
    if ours.dtype != theirs.dtype:
        ours, theirs = cast(ours, "int64"), cast(theirs, "int64")
    if ours.dtype.name == "string":  # texts as numbers: equal texts, equal numbers
        both = op("ConcatV2", [ours, theirs], 0)
        numbers = op("Unique", both)[1]
        ours, theirs = op(
            "SplitV", numbers, op("Pack", [op("Size", ours), op("Size", theirs)]), 0, num_split=2
        )
    return op(
        "EditDistance",
        hypothesis.indices,
        ours,
        hypothesis.dense_shape,
        truth.indices,
        theirs,
        truth.dense_shape,
        normalize=normalize,
        name=name,
    )
