# SPDX-License-Identifier: Apache-2.0
"""test_beam_search.py: tf.contrib.seq2seq.BeamSearchDecoder against an exhaustive search."""

import itertools

import numpy
import pytest

import situ.compat.v1 as tf

START, END, WORDS, STEPS = 0, 1, 4, 3


class Table(tf.nn.rnn_cell.RNNCell):
    """A cell that returns its inputs, and counts steps."""

    state_size, output_size = 1, WORDS

    def __call__(self, inputs, state, scope=None):
        return inputs, state + 1


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def all_ways(logs):
    """Returns (log probability, words) of every complete sequence."""
    result = {}
    for kwargs in itertools.product(range(WORDS), repeat=STEPS):
        cut = kwargs.index(END) + 1 if END in kwargs else STEPS
        kwargs = kwargs[:cut]
        result[kwargs] = sum(logs[a, b] for a, b in zip((START, *kwargs), kwargs))
    return sorted(((p, w) for w, p in result.items()), reverse=True)


def decode(logits, width, weight=0.0):
    seq2seq = tf.contrib.seq2seq
    state = seq2seq.tile_batch(tf.zeros([2, 1]), width)
    decoder = seq2seq.BeamSearchDecoder(
        Table(),
        tf.constant(logits),
        [START, START],
        END,
        state,
        width,
        length_penalty_weight=weight,
    )
    result, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=STEPS)
    with tf.Session() as session:
        return session.run([result.predicted_ids, state.log_probs, state.lengths])


def test_a_wide_beam_finds_the_best_ways():
    logits = numpy.random.RandomState(0).randn(WORDS, WORDS).astype("float32")
    logs = logits - numpy.log(numpy.exp(logits).sum(1, keepdims=True))
    width = 8
    ids, probs, lengths = decode(logits, width)
    best = all_ways(logs)
    assert ids.shape == (2, STEPS, width)
    for beam in range(3):
        probability, kwargs = best[beam]
        for batch in range(2):
            result = ids[batch, :, beam].tolist()
            assert result == [*kwargs, *[END] * (STEPS - len(kwargs))]
            assert abs(probs[batch, beam] - probability) < 1e-5
            assert lengths[batch, beam] == len(kwargs)


def test_one_way_is_greedy():
    logits = numpy.random.RandomState(1).randn(WORDS, WORDS).astype("float32")
    ids, _, _ = decode(logits, 1)
    at, kwargs = START, []
    for _ in range(STEPS):
        at = END if END in kwargs else int(logits[at].argmax())
        kwargs.append(at)
    assert ids[0, :, 0].tolist() == kwargs[: ids.shape[1]]


def test_words_of_a_tree():
    ids = [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]]
    parents = [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]]
    result = tf.contrib.seq2seq.gather_tree(tf.constant(ids), tf.constant(parents), [3], 10)
    assert tf.Session().run(result)[:, 0].T.tolist() == [[2, 6, 7], [2, 5, 8], [2, 6, 9]]


def test_scheduled_sampling():
    seq2seq = tf.contrib.seq2seq
    table = tf.eye(3)
    for share, first in ((0.0, 1.0), (1.0, None)):
        helper = seq2seq.ScheduledEmbeddingTrainingHelper(tf.ones([2, 4, 3]), [4, 4], table, share)
        decoder = seq2seq.BasicDecoder(
            tf.nn.rnn_cell.GRUCell(3, name=f"cell{share:.0f}"), helper, tf.zeros([2, 3])
        )
        result, _, _ = seq2seq.dynamic_decode(decoder)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            ids = session.run(result.sample_id)
        assert ids.shape == (2, 4)
        assert (ids == -1).all() if first else (ids >= 0).all()


def test_arrays_in_the_order_of_beams():
    array = numpy.array(
        [[[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[2, 3, 4], [5, 6, 7], [8, 9, 10]]], "f"
    ).transpose(1, 0, 2)[..., None]
    parents = numpy.array(
        [[[0, 0, 0], [0, 1, 1], [2, 1, 2]], [[0, 0, 0], [1, 2, 0], [2, 1, 1]]], "i"
    ).transpose(1, 0, 2)
    order = tf.contrib.seq2seq.gather_tree_from_array
    wanted = [[[2, 2, 2], [6, 5, 6], [7, 8, 9]], [[2, 4, 4], [7, 6, 6], [8, 9, 10]]]
    with tf.Session() as session:
        for form in (array, array.reshape(3, 6)):
            found = session.run(order(form, parents, [[3, 3, 3], [3, 3, 3]]))
            assert found.shape == form.shape
            assert found.reshape(3, 2, 3).transpose(1, 0, 2).tolist() == wanted
        short = session.run(order(array, parents, [[3, 3, 3], [2, 2, 2]]))
    assert short[2, 1, :, 0].tolist() == [8, 9, 10]  # a step after the end


@pytest.mark.parametrize("reorder", [True, False])
def test_alignments_in_the_order_of_beams(reorder):
    seq2seq = tf.contrib.seq2seq
    memory = tf.constant(numpy.random.RandomState(1).randn(4, 5, 3).astype("f"))
    cell = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(3), seq2seq.LuongAttention(3, memory), alignment_history=True
    )
    decoder = seq2seq.BeamSearchDecoder(
        cell,
        tf.eye(6),
        [1, 1],
        2,
        cell.zero_state(4, tf.float32),
        2,
        tf.layers.Dense(6),
        reorder_tensor_arrays=reorder,
    )
    outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=3)
    history = state.cell_state.alignment_history
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(history if reorder else history.stack()).shape[1:] == (4, 5)


def test_auxiliary_inputs_and_names():
    seq2seq = tf.contrib.seq2seq
    inputs, more = tf.ones([2, 4, 3]), tf.constant(numpy.arange(8, dtype="f").reshape(2, 4, 1))
    helper = seq2seq.ScheduledOutputTrainingHelper(
        inputs, [4, 4], 1.0, auxiliary_inputs=more, name="helper"
    )
    _, first = helper.initialize()
    ids = helper.sample(tf.constant(0), tf.fill([2, 3], 5.0), None)
    _, following, _ = helper.next_inputs(tf.constant(0), tf.fill([2, 3], 5.0), None, ids, "next")
    with tf.Session() as session:
        first, second = session.run([first, following])
    assert first.tolist() == [[1, 1, 1, 0], [1, 1, 1, 4]]
    assert second.tolist() == [[5, 5, 5, 1], [5, 5, 5, 5]]
    names = [n.name for n in tf.get_default_graph().as_graph_def().node]
    assert following.op.name.startswith("next/") and any(n.startswith("helper/") for n in names)
    assert seq2seq.hardmax([[1.0, 2.0]], name="top").op.name.startswith("top/")
    assert seq2seq.tile_batch(tf.ones([2, 1]), 2, name="tiled").op.name.startswith("tiled/")
