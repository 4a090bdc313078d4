# SPDX-License-Identifier: Apache-2.0
"""test_ctc.py: CTC losses and decoders, audio ops, loops over datasets; numbers are
TensorFlow's."""

import numpy as np

import situ as tf

LOGITS = np.random.RandomState(0).randn(6, 2, 5).astype("f")
LABELS = np.array([[1, 2, 2], [3, 1, 0]], "int32")
EXPECTED, EXPECTED_LAST = [9.0839, 5.7524], [8.0782, 4.7995]


def test_loss():
    loss = tf.nn.ctc_loss(LABELS, LOGITS, [3, 2], [6, 5])
    np.testing.assert_allclose(loss, EXPECTED, atol=1e-3)
    turned = tf.nn.ctc_loss(
        LABELS, LOGITS.transpose(1, 0, 2), [3, 2], [6, 5], False, blank_index=-1
    )
    np.testing.assert_allclose(turned, EXPECTED_LAST, atol=1e-3)


def test_gradient_is_the_slope():
    x = tf.constant(LOGITS)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.nn.ctc_loss(LABELS, x, [3, 2], [6, 5]))
    slope = tape.gradient(loss, x).numpy()
    step = np.zeros_like(LOGITS)
    step[2, 1, 3] = 1e-2
    up, down = (
        float(tf.reduce_sum(tf.nn.ctc_loss(LABELS, LOGITS + s, [3, 2], [6, 5])))
        for s in (step, -step)
    )
    np.testing.assert_allclose(slope[2, 1, 3], (up - down) / 2e-2, atol=1e-2)
    assert not slope[5, 1].any()  # behind the end of the second


def test_functions_of_keras():
    shares = np.exp(LOGITS.transpose(1, 0, 2))
    shares /= shares.sum(-1, keepdims=True)
    cost = tf.keras.backend.ctc_batch_cost(
        LABELS, tf.constant(shares), np.array([[6], [5]]), np.array([[3], [2]])
    )
    np.testing.assert_allclose(cost, np.reshape(EXPECTED_LAST, [2, 1]), atol=1e-3)
    (found,), _ = tf.keras.backend.ctc_decode(tf.constant(shares), np.array([6, 5]))
    assert found.numpy().tolist() == [[3, 1, 1, 3, 1, -1], [1, 3, 1, 2, -1, -1]]
    paths, scores = tf.keras.backend.ctc_decode(tf.constant(shares), np.array([6, 5]), False, 10, 2)
    assert len(paths) == 2 and scores.shape == (2, 2)
    assert (scores[:, 0] >= scores[:, 1]).numpy().all()


def test_sounds():
    text = tf.audio.encode_wav([[0.0], [0.5], [-1.0], [1.0]], 8000)
    sound, rate = tf.audio.decode_wav(text, 1, 5)
    assert len(text.numpy()) == 52 and rate.numpy() == 8000 and sound.shape == (5, 1)
    np.testing.assert_allclose(sound[:, 0], [0, 0.5, -1, 1, 0], atol=1e-4)


def test_loop_over_elements_of_unknown_shape():
    @tf.function
    def total(data):
        loss = tf.constant(0)
        for x, y in data:
            loss += tf.abs(y - x)
        return loss

    data = tf.data.Dataset.from_generator(lambda: [(1, 3)] * 3, (tf.int32, tf.int32))
    assert total(data).numpy() == 6


def test_edit_distance_of_sparse_values():
    sparse = tf.compat.v1.SparseTensorValue
    one = sparse([[0, 0], [0, 1], [1, 0]], np.array([1, 2, 3], np.int64), [2, 2])
    other = sparse([[0, 0], [1, 0]], np.array([1, 4], np.int64), [2, 2])
    np.testing.assert_array_equal(tf.edit_distance(one, other, normalize=False), [1, 1])
