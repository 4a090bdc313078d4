# SPDX-License-Identifier: Apache-2.0
"""test_keras_sessions.py: Keras models in graphs of a program's own: a session trains them, and fit
does, too."""

import numpy as np
import pytest

import situ.compat.v1 as tf

L = tf.keras.layers
X = np.random.RandomState(0).randn(4, 4).astype("f")
Y = np.ones((4, 1), "f")


def _model():
    return tf.keras.Sequential(
        [L.Dense(3, "tanh", input_shape=(4,)), L.BatchNormalization(), L.Dense(1)]
    )


@pytest.fixture(autouse=True)
def graph():
    tf.keras.backend.clear_session()
    with tf.Graph().as_default() as result:
        yield result


def test_a_session_trains_a_model_that_was_built():
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
    model = _model()
    first = model.get_weights()
    with tf.name_scope("inner"):
        out = model(x)
    loss = tf.reduce_mean((out - y) ** 2)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    assert [v.name for v in tf.trainable_variables()] == [
        "dense/kernel:0",
        "dense/bias:0",
        "batch_normalization/gamma:0",
        "batch_normalization/beta:0",
        "dense_1/kernel:0",
        "dense_1/bias:0",
    ]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for old, new in zip(first, model.get_weights()):
            np.testing.assert_array_equal(old, new)
        losses = []
        for _ in range(3):
            losses.append(session.run([step, loss], {x: X, y: Y})[1])
            now = session.run(out, {x: X})
            np.testing.assert_allclose(now, model.predict(X), rtol=1e-5)
            np.testing.assert_allclose(now, model.predict_on_batch(X), rtol=1e-5)
        assert losses[2] < losses[1] < losses[0]
        assert model.trainable_variables == tf.trainable_variables()
        model.compile("sgd", "mse")  # it goes on from there
        np.testing.assert_allclose(session.run(out, {x: X}), model.predict(X), rtol=1e-5)
        model.fit(X, Y, verbose=0)
        assert not np.allclose(session.run(out, {x: X}), model.predict(X))


def test_fit_after_a_call_that_builds():
    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = L.Dense(1)

        def call(self, inputs):
            return self.dense(inputs)

    model = Model()
    model(tf.zeros([1, 4]))
    model.compile("sgd", "mse")
    result = model.fit(X, Y, epochs=2, verbose=0).history["loss"]
    assert result[1] < result[0]


def test_a_compiled_model_keeps_its_weights():
    model = _model()
    model.compile("sgd", "mse")
    model.fit(X, Y, verbose=0)
    x = tf.placeholder(tf.float32, [None, 4])
    part = tf.keras.Model(model.inputs, model.layers[1].output)
    out, inner = model(x), part(x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(out, {x: X}), model.predict(X), rtol=1e-5)
        np.testing.assert_allclose(session.run(inner, {x: X}), part.predict(X), rtol=1e-5)
    model.fit(X, Y, verbose=0)


def test_datasets_of_tensors_of_the_graph():
    rows = tf.data.Dataset.from_tensor_slices((tf.random_uniform([8, 4]), tf.ones([8, 1])))
    model = _model()
    model.compile("sgd", "mse")
    result = model.fit(rows.repeat().batch(4), steps_per_epoch=3, epochs=2, verbose=0)
    assert len(result.history["loss"]) == 2 and np.isfinite(result.history["loss"]).all()


def test_tensors_of_the_graph_are_batches():
    model = tf.keras.Sequential([L.Dense(1, use_bias=False, input_shape=(4,))])
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    x, y = (
        tf.data.Dataset.from_tensor_slices((X, Y))
        .repeat()
        .batch(2)
        .make_one_shot_iterator()
        .get_next()
    )
    before = model.evaluate(X, Y, verbose=0)
    model.fit(x, y, steps_per_epoch=10, epochs=2, verbose=0)
    assert model.evaluate(X, Y, verbose=0) < before
    np.testing.assert_allclose(model.predict(tf.constant(X), steps=1), model.predict(X), rtol=1e-6)


def test_the_version_is_that_of_the_style():
    import situ

    assert tf.__version__ == tf.version.VERSION and tf.version.VERSION[0] == "1"
    assert situ.__version__ == situ.version.VERSION and situ.version.VERSION[0] == "2"


def test_collections_of_weights():
    weight = L.Layer().add_weight("w", [1], collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES])
    assert [v.name for v in tf.get_collection("mine")] == [weight.name]


def test_weights_are_in_the_collections_before_a_model_is_called():
    model = _model()
    names = [v.name for v in tf.global_variables()]
    assert names == [
        "dense/kernel:0",
        "dense/bias:0",
        "batch_normalization/gamma:0",
        "batch_normalization/beta:0",
        "batch_normalization/moving_mean:0",
        "batch_normalization/moving_variance:0",
        "dense_1/kernel:0",
        "dense_1/bias:0",
    ]
    assert [v.name for v in tf.trainable_variables("dense_1")] == names[-2:]
    assert model.trainable_variables == tf.trainable_variables()
    x = tf.placeholder(tf.float32, [None, 4])
    out = model(x)
    assert len(tf.global_variables()) == len(names)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(out, {x: X}), model.predict(X), rtol=1e-5)
        model.compile("sgd", "mse")
        model.fit(X, Y, verbose=0)


def test_the_optimizer_finds_weights_of_a_functional_model():
    inputs = tf.keras.Input((4,))
    model = tf.keras.Model(inputs, L.Dense(1)(L.Dense(3)(inputs)))
    x = tf.placeholder(tf.float32, [None, 4])
    assert len(tf.trainable_variables()) == 4
    loss = tf.reduce_mean((model(x) - 1.0) ** 2)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(loss, {x: X})
        session.run(step, {x: X})
        assert session.run(loss, {x: X}) < first


def test_weights_of_a_compiled_model_stay_its_own():
    model = _model()
    model.compile("sgd", "mse")
    before = model.get_weights()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
    for old, new in zip(before, model.get_weights()):
        np.testing.assert_array_equal(old, new)
    model.fit(X, Y, verbose=0)
