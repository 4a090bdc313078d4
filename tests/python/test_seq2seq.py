# SPDX-License-Identifier: Apache-2.0
"""test_seq2seq.py: tf.contrib.seq2seq: attention, decoders and their loop."""

import numpy as np
import pytest

import situ.compat.v1 as tf

seq2seq = tf.contrib.seq2seq
UNITS, WORDS = 4, 7
WORDS_IN = np.array([[3, 4, 5, 0], [3, 5, 0, 0]])
LENGTHS = np.array([3, 2])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        yield


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_luong_attention_is_the_softmax_of_products():
    memory = np.random.RandomState(0).randn(2, 3, UNITS).astype("f")
    query = np.random.RandomState(1).randn(2, UNITS).astype("f")
    with tf.variable_scope("", initializer=tf.constant_initializer(0.5)):
        attention = seq2seq.LuongAttention(UNITS, memory, memory_sequence_length=[3, 2])
        weights, _ = attention(tf.constant(query), None)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        result = session.run(weights)
    memory[1, 2] = 0
    scores = np.einsum("bu,btu->bt", query, memory @ np.full([UNITS, UNITS], 0.5, "f"))
    scores[1, 2] = -np.inf
    np.testing.assert_allclose(result, softmax(scores), rtol=1e-5, atol=1e-6)


def test_bahdanau_attention_is_additive():
    memory = np.random.RandomState(0).randn(2, 3, UNITS).astype("f")
    query = np.random.RandomState(1).randn(2, 5).astype("f")
    with tf.variable_scope("", initializer=tf.constant_initializer(0.5)):
        weights, _ = seq2seq.BahdanauAttention(UNITS, memory)(tf.constant(query), None)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        result = session.run(weights)
    keys = memory @ np.full([UNITS, UNITS], 0.5) + (query @ np.full([5, UNITS], 0.5))[:, None]
    np.testing.assert_allclose(result, softmax(0.5 * np.tanh(keys).sum(-1)), rtol=1e-5)


def decoder(helper, state, cell, layer):
    return seq2seq.BasicDecoder(cell, helper, state, output_layer=layer)


def model():
    """Words in, the same words out: its encoder's states, a cell with attention, a layer."""
    table = tf.get_variable("table", [WORDS, UNITS])
    outputs, last = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.GRUCell(UNITS),
        tf.nn.embedding_lookup(table, WORDS_IN),
        sequence_length=LENGTHS,
        dtype=tf.float32,
    )
    attention = seq2seq.BahdanauAttention(UNITS, outputs, memory_sequence_length=LENGTHS)
    cell = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(UNITS), attention, attention_layer_size=UNITS, alignment_history=True
    )
    state = cell.zero_state(2, tf.float32).clone(cell_state=last)
    return table, cell, state, tf.layers.Dense(WORDS, use_bias=False)


def test_training_and_greedy_decoding():
    table, cell, state, layer = model()
    said = np.array([[1, 3, 4, 5], [1, 3, 5, 2]])
    wanted = np.array([[3, 4, 5, 2], [3, 5, 2, 0]])
    lengths = tf.constant([4, 3])
    helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(table, said), lengths)
    output, last, result = seq2seq.dynamic_decode(
        decoder(helper, state, cell, layer), impute_finished=True
    )
    mask = tf.sequence_mask(lengths, 4, tf.float32)
    loss = seq2seq.sequence_loss(output.rnn_output, wanted, mask)
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        greedy = seq2seq.GreedyEmbeddingHelper(table, [1, 1], 2)
        kwargs, _, ends = seq2seq.dynamic_decode(
            decoder(greedy, state, cell, layer), maximum_iterations=6
        )
    history = last.alignment_history.stack()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        logits, sizes, weights = session.run([output.rnn_output, result, history])
        assert logits.shape == (2, 4, WORDS) and sizes.tolist() == [4, 3]
        assert not logits[1, 3].any() and weights.shape == (4, 2, 4)
        np.testing.assert_allclose(weights.sum(-1), np.ones([4, 2]), rtol=1e-5)
        for _ in range(150):
            session.run(train)
        ids, ends = session.run([kwargs.sample_id, ends])
        assert ends.tolist() == [4, 3]
        assert ids[0, :4].tolist() == [3, 4, 5, 2] and ids[1, :3].tolist() == [3, 5, 2]


def test_names_of_variables():
    table, cell, state, layer = model()
    helper = seq2seq.SampleEmbeddingHelper(table, [1, 1], 2)
    seq2seq.dynamic_decode(decoder(helper, state, cell, layer), maximum_iterations=2)
    names = {v.op.name for v in tf.trainable_variables()}
    assert {
        "memory_layer/kernel",
        "decoder/attention_wrapper/bahdanau_attention/attention_v",
        "decoder/attention_wrapper/bahdanau_attention/query_layer/kernel",
        "decoder/attention_wrapper/attention_layer/kernel",
        "decoder/dense/kernel",
        "decoder/attention_wrapper/gru_cell/gates/kernel",
    } <= names


def test_luong_attention_needs_queries_of_its_width():
    attention = seq2seq.LuongAttention(UNITS, tf.zeros([2, 3, 5]))
    with pytest.raises(ValueError, match="Incompatible or unknown inner dimensions"):
        attention(tf.zeros([2, 3]), None)


def test_tile_batch():
    with tf.Session() as session:
        assert session.run(seq2seq.tile_batch(tf.constant([1, 2]), 2)).tolist() == [1, 1, 2, 2]


@pytest.mark.parametrize("kind", ["LuongAttention", "BahdanauAttention"])
def test_dtype_of_attention(kind):
    memory = tf.zeros([2, 3, UNITS], tf.float64)
    made = getattr(seq2seq, kind)(UNITS, memory, dtype=tf.float64)
    assert made(tf.zeros([2, UNITS], tf.float64))[0].dtype == tf.float64
    with pytest.raises((TypeError, ValueError)):
        getattr(seq2seq, kind)(UNITS, memory, name="other")  # of float32 by default
