# SPDX-License-Identifier: Apache-2.0
"""test_sequences.py: labels of sequences: CTC, edit distances, conditional random fields, cells
over whole sequences."""

import functools
import itertools

import numpy
import pytest
from conftest import run_once

import situ.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")
run = functools.partial(run_once, begin=True)


def collapsed(path, blank):
    return tuple(k for k, _ in itertools.groupby(path) if k != blank)


def test_ctc_loss_is_the_sum_over_all_paths():
    steps, classes = 4, 3
    x = numpy.random.RandomState(0).randn(steps, 1, classes)
    y = numpy.exp(x[:, 0]) / numpy.exp(x[:, 0]).sum(1, keepdims=True)
    total = sum(
        numpy.prod([y[t, k] for t, k in enumerate(path)])
        for path in itertools.product(range(classes), repeat=steps)
        if collapsed(path, classes - 1) == (0, 1)
    )
    labels = tf.SparseTensor([[0, 0], [0, 1]], [0, 1], [1, 2])
    fed = tf.placeholder(tf.float64, [steps, 1, classes])
    loss = tf.nn.ctc_loss(labels, fed, [steps])
    slope = tf.gradients(loss, fed)[0]
    value, gradient = run([loss, slope], {fed: x})
    assert abs(value[0] + numpy.log(total)) < 1e-9
    moved = x.copy()
    moved[2, 0, 1] += 1e-5
    with tf.Session() as session:
        more = session.run(loss, {fed: moved})
    assert abs((more - value)[0] / 1e-5 - gradient[2, 0, 1]) < 1e-4


def test_ctc_refuses_what_does_not_fit():
    labels = tf.SparseTensor([[0, 0], [0, 1], [0, 2]], [0, 1, 0], [1, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Not enough time"):
        run(tf.nn.ctc_loss(labels, tf.zeros([2, 1, 3]), [2]))
    assert run(
        tf.nn.ctc_loss(labels, tf.zeros([2, 1, 3]), [2], ignore_longer_outputs_than_inputs=True)
    ).tolist() == [0]
    labels = tf.SparseTensor([[0, 0]], [2], [1, 1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="non-null label"):
        run(tf.nn.ctc_loss(labels, tf.zeros([2, 1, 3]), [2]))


def test_ctc_decoders():
    logits = numpy.log(
        numpy.array([[0.6, 0.1, 0.3], [0.1, 0.1, 0.8], [0.5, 0.1, 0.4], [0.2, 0.7, 0.1]], "float32")
    )[:, None]
    decoded, score = tf.nn.ctc_greedy_decoder(logits, [4])
    found, negative = run([decoded[0], score])
    assert found.values.tolist() == [0, 0, 1] and found.dense_shape.tolist() == [1, 3]
    assert abs(negative[0, 0] + numpy.log(0.6 * 0.8 * 0.5 * 0.7)) < 1e-5
    best = {}
    y = numpy.exp(logits[:, 0])
    for path in itertools.product(range(3), repeat=4):
        key = collapsed(path, 2)
        best[key] = best.get(key, 0) + numpy.prod([y[t, k] for t, k in enumerate(path)])
    order = sorted(best, key=best.get, reverse=True)
    paths, logs = run(tf.nn.ctc_beam_search_decoder(logits, [4], top_paths=2, merge_repeated=False))
    assert [tuple(p.values) for p in paths] == order[:2]
    assert numpy.allclose(logs[0], numpy.log([best[k] for k in order[:2]]), atol=1e-5)


def test_edit_distance():
    ours = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [3, 2])
    truth = tf.SparseTensor([[0, 0], [1, 0], [2, 0], [2, 1]], [1, 2, 4, 3], [3, 2])
    assert run(tf.edit_distance(ours, truth)).tolist() == [1, 1, 0.5]
    assert run(tf.edit_distance(ours, truth, normalize=False)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("steps", [4, 1])
def test_random_fields_against_all_tags(steps):
    batch, tags = 3, 3
    random = numpy.random.RandomState(0)
    x, pairs = random.randn(batch, steps, tags), random.randn(tags, tags)
    lengths = [steps, max(1, steps - 1), max(1, steps - 2)]
    told = random.randint(0, tags, (batch, steps))
    fed = tf.placeholder(tf.float32, [None, None, tags])
    likely, _ = tf.contrib.crf.crf_log_likelihood(fed, told, lengths, pairs.astype("float32"))
    best, score = tf.contrib.crf.crf_decode(fed, pairs.astype("float32"), lengths)
    likely, best, score, slope = run([likely, best, score, tf.gradients(likely, fed)[0]], {fed: x})
    assert slope.shape == x.shape
    for i in range(batch):
        n = lengths[i]

        def total(path):
            return sum(x[i, t, path[t]] for t in range(n)) + sum(
                pairs[path[t], path[t + 1]] for t in range(n - 1)
            )

        every = {p: total(p) for p in itertools.product(range(tags), repeat=n)}
        norm = numpy.log(sum(numpy.exp(v) for v in every.values()))
        first = max(every, key=every.get)
        assert abs(likely[i] - (total(told[i]) - norm)) < 1e-4
        assert tuple(best[i][:n]) == first and abs(score[i] - every[first]) < 1e-4
        assert tuple(tf.contrib.crf.viterbi_decode(x[i, :n], pairs)[0]) == first


def test_cells_over_whole_sequences():
    x = tf.constant(numpy.random.RandomState(0).rand(5, 2, 3), tf.float32)
    rnn = tf.contrib.rnn
    fused = rnn.LSTMBlockFusedCell(4)
    forth, (_, h) = fused(x, dtype=tf.float32, sequence_length=[3, 5])
    back, _ = rnn.TimeReversedFusedRNN(rnn.LSTMBlockFusedCell(4, name="back"))(x, dtype=tf.float32)
    lstm = tf.contrib.cudnn_rnn.CudnnLSTM(2, 4, direction="bidirectional")
    both, (last, _) = lstm(x)
    forth, h, back, both, last = run([forth, h, back, both, last])
    assert numpy.allclose(forth[2, 0], h[0]) and (forth[3:, 0] == 0).all()
    assert back.shape == (5, 2, 4) and both.shape == (5, 2, 8) and last.shape == (4, 2, 4)


def test_raw_rnn_is_dynamic_rnn():
    steps = tf.constant(numpy.random.RandomState(0).rand(5, 2, 3), tf.float32)
    cell = tf.nn.rnn_cell.GRUCell(4)
    lengths, rows = tf.constant([3, 5]), tf.TensorArray(tf.float32, 5).unstack(steps)

    def loop(time, output, state, handed):
        done = time >= lengths
        following = tf.cond(tf.reduce_all(done), lambda: tf.zeros([2, 3]), lambda: rows.read(time))
        return (
            done,
            following,
            cell.zero_state(2, tf.float32) if output is None else state,
            output,
            None,
        )

    array, state, _ = tf.nn.raw_rnn(cell, loop)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        other, last = tf.nn.dynamic_rnn(cell, steps, lengths, dtype=tf.float32, time_major=True)
    a, b, c, d = run([array.stack(), other, state, last])
    assert numpy.allclose(a, b) and numpy.allclose(c, d)


def test_dropout_that_stays():
    cell = tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.GRUCell(6),
        output_keep_prob=0.5,
        variational_recurrent=True,
        dtype=tf.float32,
    )
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 4, 3]), dtype=tf.float32)
    gone = run(outputs) == 0
    assert (gone == gone[:1, :1]).all() and gone.any()
