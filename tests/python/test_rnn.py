# SPDX-License-Identifier: Apache-2.0
"""test_rnn.py: RNN cells against NumPy; static and dynamic unrolling against each other."""

import numpy as np
import pytest

import situ.compat.v1 as tf

X = np.random.RandomState(0).randn(2, 5, 3).astype(np.float32)
LENGTHS = [5, 3]
cell = tf.nn.rnn_cell


@pytest.fixture(autouse=True)
def _fresh():
    tf.reset_default_graph()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn_step(x, state, w):
    h = np.tanh(np.concatenate([x, state], 1) @ w["kernel"] + w["bias"])
    return h, h


def gru_step(x, state, w):
    gates = sigmoid(np.concatenate([x, state], 1) @ w["gates/kernel"] + w["gates/bias"])
    r, u = np.split(gates, 2, 1)
    new = np.tanh(np.concatenate([x, r * state], 1) @ w["candidate/kernel"] + w["candidate/bias"])
    h = u * state + (1 - u) * new
    return h, h


def lstm_step(x, state, w):
    c, h = state
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"], 4, 1)
    c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
    h = np.tanh(c) * sigmoid(o)
    return h, (c, h)


CELLS = {
    "basic_rnn_cell": (
        lambda: cell.BasicRNNCell(4),
        rnn_step,
        np.zeros((2, 4)),
        ["kernel:0 7,4", "bias:0 4"],
    ),
    "gru_cell": (
        lambda: cell.GRUCell(4),
        gru_step,
        np.zeros((2, 4)),
        ["gates/kernel:0 7,8", "gates/bias:0 8", "candidate/kernel:0 7,4", "candidate/bias:0 4"],
    ),
    "basic_lstm_cell": (
        lambda: cell.BasicLSTMCell(4),
        lstm_step,
        (np.zeros((2, 4)),) * 2,
        ["kernel:0 7,16", "bias:0 16"],
    ),
    "lstm_cell": (
        lambda: cell.LSTMCell(4),
        lstm_step,
        (np.zeros((2, 4)),) * 2,
        ["kernel:0 7,16", "bias:0 16"],
    ),
}


def load(sess):
    random, weights = np.random.RandomState(1), {}
    sess.run(tf.global_variables_initializer())
    for v in tf.trainable_variables():
        weights[v.name] = random.randn(*v.shape.as_list()).astype(np.float32) * 0.3
        v.load(weights[v.name], sess)
    return weights


def unroll(step, state, weights, lengths=None):
    outputs = []
    for t in range(5):
        h, new = step(X[:, t], state, weights)
        if lengths is not None:
            over = np.array([[t >= n] for n in lengths])
            h = np.where(over, 0, h)
            new = (
                tuple(np.where(over, a, b) for a, b in zip(state, new))
                if isinstance(state, tuple)
                else np.where(over, state, new)
            )
        state = new
        outputs.append(h)
    return np.stack(outputs, 1), state


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("batch", [2, None])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_dynamic_rnn(name, batch, lengths):
    make, step, state, variables = CELLS[name]
    x = tf.placeholder(tf.float32, [batch, 5, 3])
    outputs, last = tf.nn.dynamic_rnn(make(), x, sequence_length=lengths, dtype=tf.float32)
    assert outputs.shape.as_list() == [batch, 5, 4]
    assert [
        v.name + " " + ",".join(map(str, v.shape.as_list())) for v in tf.trainable_variables()
    ] == [f"rnn/{name}/{v}" for v in variables]
    with tf.Session() as sess:
        weights = {k.split(name + "/")[1][:-2]: v for k, v in load(sess).items()}
        have, end = sess.run([outputs, last], {x: X})
    want, want_end = unroll(step, state, weights, lengths)
    np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(end, want_end, rtol=1e-4, atol=1e-5)


def gradients(build):
    tf.reset_default_graph()
    x = tf.placeholder(tf.float32, [None, 5, 3])
    values = tf.nest.flatten(build(x))
    loss = tf.add_n([tf.reduce_sum(tf.square(v)) for v in values])
    wanted = tf.gradients(loss, tf.trainable_variables() + [x])
    names = [v.name for v in tf.trainable_variables()]
    with tf.Session() as sess:
        load(sess)
        return names, sess.run([loss] + wanted, {x: X})


def stacked():
    return cell.MultiRNNCell([cell.BasicLSTMCell(4), cell.GRUCell(3)])


def peeping():
    return cell.LSTMCell(4, use_peepholes=True, num_proj=2, cell_clip=1.0)


@pytest.mark.parametrize("make", [stacked, peeping])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_loops_agree(make, lengths):
    """The same variables, values and gradients, in a loop and step by step."""
    names, loop = gradients(lambda x: tf.nn.dynamic_rnn(make(), x, lengths, dtype=tf.float32)[1])
    same, steps = gradients(
        lambda x: tf.nn.static_rnn(
            make(), tf.unstack(x, 5, 1), sequence_length=lengths, dtype=tf.float32
        )[1]
    )
    assert names == same
    for a, b in zip(loop, steps):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_names_of_stacks():
    tf.nn.dynamic_rnn(stacked(), tf.zeros([2, 5, 3]), dtype=tf.float32)
    assert [v.name for v in tf.trainable_variables()] == [
        "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/kernel:0",
        "rnn/multi_rnn_cell/cell_0/basic_lstm_cell/bias:0",
        "rnn/multi_rnn_cell/cell_1/gru_cell/gates/kernel:0",
        "rnn/multi_rnn_cell/cell_1/gru_cell/gates/bias:0",
        "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/kernel:0",
        "rnn/multi_rnn_cell/cell_1/gru_cell/candidate/bias:0",
    ]


def test_both_directions():
    x = tf.placeholder(tf.float32, [2, 5, 3])
    make = CELLS["basic_lstm_cell"][0]
    (forth, back), (_, end) = tf.nn.bidirectional_dynamic_rnn(
        make(), make(), x, sequence_length=LENGTHS, dtype=tf.float32
    )
    assert [v.name for v in tf.trainable_variables()][::2] == [
        "bidirectional_rnn/fw/basic_lstm_cell/kernel:0",
        "bidirectional_rnn/bw/basic_lstm_cell/kernel:0",
    ]
    with tf.variable_scope("", reuse=True):
        side, _, _ = tf.nn.static_bidirectional_rnn(
            make(), make(), tf.unstack(x, 5, 1), sequence_length=LENGTHS, dtype=tf.float32
        )
    with tf.Session() as sess:
        load(sess)
        a, b, last, both = sess.run([forth, back, end, tf.stack(side, 1)], {x: X})
    np.testing.assert_allclose(np.concatenate([a, b], 2), both, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last.h, b[:, 0], rtol=1e-5)


def test_dropout_and_training():
    x, y = tf.placeholder(tf.float32, [None, 5, 3]), tf.placeholder(tf.float32, [None, 1])
    wrapped = tf.contrib.rnn.DropoutWrapper(
        tf.contrib.rnn.BasicLSTMCell(8), output_keep_prob=0.9, seed=1
    )
    start = wrapped.zero_state(tf.shape(x)[0], tf.float32)
    outputs, _ = tf.nn.dynamic_rnn(wrapped, x, initial_state=start)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(outputs[:, -1], 1) - y))
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    data = np.random.RandomState(2).randn(32, 5, 3)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = [
            sess.run([loss, train], {x: data, y: data.sum((1, 2))[:, None] / 4})[0]
            for _ in range(60)
        ]
    assert losses[-1] < losses[0] / 3


def _stack(**kwargs):
    cells = cell.MultiRNNCell([cell.LSTMCell(2), cell.LSTMCell(3)])
    wrapped = cell.DropoutWrapper(cells, state_keep_prob=0.5, seed=1, **kwargs)
    return wrapped(tf.ones([1, 2]), wrapped.zero_state(1, tf.float32))[1]


def test_dropout_of_nested_states():
    """Each leaf of a state has its own noise; the cell states of LSTMs stay."""
    states = _stack(variational_recurrent=True, input_size=2, dtype=tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        first, second = sess.run(states)
    assert first.h.shape == (1, 2) and second.h.shape == (1, 3)
    assert np.all(first.c != 0) and np.all(second.c != 0)


def test_seeds_of_nested_states():
    _stack()
    operations = tf.get_default_graph().get_operations()
    seeds = [
        o.get_attr("seed2")
        for o in operations
        if o.type == "RandomUniform" and "Initializer" not in o.name
    ]
    assert len(seeds) == len(set(seeds)) == 2


def test_own_cells():
    class Adder(tf.contrib.rnn.RNNCell):
        state_size = output_size = property(lambda self: 3)

        def __call__(self, inputs, state, scope=None):
            return inputs + state, inputs + state

    outputs, state = tf.nn.dynamic_rnn(Adder(), tf.constant(X), dtype=tf.float32)
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(outputs), np.cumsum(X, 1), rtol=1e-5, atol=1e-6)
