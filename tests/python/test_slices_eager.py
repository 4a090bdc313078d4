# SPDX-License-Identifier: Apache-2.0
"""test_slices_eager.py: gradients that are rows of a tensor (tf.IndexedSlices) in eager style."""

import numpy as np
import pytest

import situ as tf

ROWS = np.arange(12, dtype="f").reshape(6, 2)


def test_tape_gives_rows():
    w = tf.Variable(ROWS)
    with tf.GradientTape(persistent=True) as tape:
        taken = tf.gather(w, [4, 1, 4])
        loss = tf.reduce_sum(taken * taken)
        more = loss + tf.reduce_sum(tf.gather(w, tf.constant([[0]])))
        all_of_it = loss + tf.reduce_sum(w)
    grad = tape.gradient(loss, w)
    assert isinstance(grad, tf.IndexedSlices) and grad.shape.as_list() == [6, 2]
    assert grad.indices.numpy().tolist() == [4, 1, 4]
    np.testing.assert_allclose(grad.values, 2 * ROWS[[4, 1, 4]])
    np.testing.assert_allclose(tf.convert_to_tensor(grad)[4], 4 * ROWS[4])
    joined = tape.gradient(more, [w])[0]
    np.testing.assert_allclose(tf.convert_to_tensor(joined)[0], [1, 1])
    assert joined.values.shape.as_list() == [4, 2]
    dense = tape.gradient(all_of_it, w)
    assert isinstance(dense, tf.Tensor)
    np.testing.assert_allclose(dense[1], 2 * ROWS[1] + 1)


def test_nested_tapes_and_plain_tensors():
    x = tf.constant(ROWS)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.gather(x, [1]) ** 3)
        first = inner.gradient(y, x)
        total = tf.reduce_sum(first.values)
    np.testing.assert_allclose(tf.convert_to_tensor(outer.gradient(total, x))[1], 6 * ROWS[1])


def test_norms():
    grad = tf.IndexedSlices(tf.fill([2, 2], 4.0), tf.constant([0, 0]), tf.constant([6, 2]))
    clipped, norm = tf.clip_by_global_norm([grad, tf.constant([6.0])], 5.0)
    assert float(norm) == pytest.approx(10.0)
    np.testing.assert_allclose(clipped[0].values, np.full((2, 2), 2.0), rtol=1e-6)


OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True}),
    ("Adamax", {}),
    ("Nadam", {}),
    ("RMSprop", {"momentum": 0.5}),
    ("Adagrad", {}),
    ("Adadelta", {}),
    ("Ftrl", {}),
    ("SGD", {"clipvalue": 0.5}),
    ("Adagrad", {"clipnorm": 0.5}),
    ("Adam", {"global_clipnorm": 0.5}),
]


@pytest.mark.parametrize("name, words", OPTIMIZERS)
def test_optimizers_of_keras_apply_rows(name, words):
    """As zeros in all other rows would."""
    pair = [tf.Variable(ROWS), tf.Variable(ROWS)]
    for var, dense in zip(pair, (False, True)):
        optimizer = getattr(tf.keras.optimizers, name)(learning_rate=0.1, **words)
        for ids in ([1, 3], [3, 5]):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.gather(var, ids) ** 2)
            grad = tape.gradient(loss, var)
            optimizer.apply_gradients([(tf.convert_to_tensor(grad) if dense else grad, var)])
    np.testing.assert_allclose(pair[0].numpy(), pair[1].numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["GradientDescentOptimizer", "AdagradOptimizer", "AdamOptimizer"])
def test_optimizers_of_graph_style_apply_rows(name):
    w = tf.Variable(ROWS)
    optimizer = getattr(tf.compat.v1.train, name)(0.1)
    optimizer.minimize(lambda: tf.reduce_sum(tf.gather(w, [2, 2, 4])))
    changed = np.nonzero(np.any(w.numpy() != ROWS, axis=1))[0]
    assert changed.tolist() == [2, 4]


def test_traced_steps_apply_rows():
    w = tf.Variable(ROWS)
    optimizer = tf.keras.optimizers.SGD(0.5)

    @tf.function
    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(w, ids))
        grads = tape.gradient(loss, [w])
        assert isinstance(grads[0], tf.IndexedSlices)
        optimizer.apply_gradients(zip(grads, [w]))
        return loss

    step(tf.constant([1, 1]))
    step(tf.constant([0, 5]))
    np.testing.assert_allclose(ROWS - w.numpy(), [[0.5] * 2, [1, 1]] + [[0, 0]] * 3 + [[0.5] * 2])


def test_keras_embedding_learns():
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Embedding(20, 4, input_length=3),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    table = model.layers[0].get_weights()[0]
    model.fit(np.array([[1, 2, 3], [3, 4, 1]]), np.ones((2, 1)), epochs=2, verbose=0)
    changed = np.nonzero(np.any(model.layers[0].get_weights()[0] != table, axis=1))[0]
    assert changed.tolist() == [1, 2, 3, 4]


def test_rows_are_differentiated_again():
    x = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            y = tf.reduce_sum(tf.gather(x, [0, 1, 0]) ** 3)
        rows = inner.gradient(y, x)
    assert isinstance(rows, tf.IndexedSlices)
    np.testing.assert_allclose(
        tf.convert_to_tensor(outer.gradient(rows, x)), 6 * x.numpy() * [[2], [1]]
    )
    weights = tf.constant([[1.0, 0.0], [0.0, 2.0]])
    found = outer.gradient(rows, x, output_gradients=weights)
    np.testing.assert_allclose(tf.convert_to_tensor(found), 6 * x.numpy() * [[2, 0], [0, 2]])
