# SPDX-License-Identifier: Apache-2.0
"""ctc.py: the functions of tf.keras.backend for labels without known places; ctc_ops.py has what
they are made of."""
from situ._lib import ctc_ops
from situ._lib.api import export
from situ._lib.array_ops import cast, convert_to_tensor, op
from situ._lib.word_ops import SparseTensor, sparse_tensor_to_dense


def _flat(lengths):
    return op("Reshape", cast(lengths, "int32"), [-1])


def _by_time(shares):
    """Logits [time, batch, classes] of probabilities [batch, time, classes]."""
    return op("Log", op("Transpose", convert_to_tensor(shares), [1, 0, 2]) + 1e-7)


@export("keras.backend.ctc_batch_cost")
def ctc_batch_cost(y_true, y_pred, input_length, label_length):
    """The loss of labels [batch, most] under probabilities [batch, time, classes]: [batch, 1]."""
    labels = ctc_label_dense_to_sparse(cast(y_true, "int32"), _flat(label_length))
    return op("ExpandDims", ctc_ops.ctc_loss(labels, _by_time(y_pred), _flat(input_length)), 1)


@export("keras.backend.ctc_decode")
def ctc_decode(y_pred, input_length, greedy=True, beam_width=100, top_paths=1):
    """([labels, -1 behind them], scores) of probabilities [batch, time, classes]."""
    logits, lengths = _by_time(y_pred), _flat(input_length)
    if greedy:
        found, scores = ctc_ops.ctc_greedy_decoder(logits, lengths)
    else:
        found, scores = ctc_ops.ctc_beam_search_decoder_v2(logits, lengths, beam_width, top_paths)
    wide = op("Shape", y_pred, out_type="int64")[:2]
    return [sparse_tensor_to_dense(SparseTensor(f.indices, f.values, wide), -1)
            for f in found], scores


@export("keras.backend.ctc_label_dense_to_sparse")
def ctc_label_dense_to_sparse(labels, label_lengths):
    """Labels as a sparse tensor, without what stands behind their end."""
    return ctc_ops.sparse(labels, cast(label_lengths, "int32"))
