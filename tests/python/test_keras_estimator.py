# SPDX-License-Identifier: Apache-2.0
"""test_keras_estimator.py: tf.keras.estimator.model_to_estimator: it trains as fit does, in both
styles; metrics of Keras in estimators."""

import contextlib

import numpy as np
import pytest

import situ as tf2
import situ.compat.v1 as tf1
from situ._src.framework import style

X = np.random.RandomState(0).randn(96, 5).astype(np.float32)
Z = np.random.RandomState(1).randn(96, 3).astype(np.float32)
Y = (X[:, 0] + Z[:, 0] > 0).astype(np.int32)


@pytest.fixture(params=["v2", "v1"])
def tf(request):
    """Both styles; graph style in a graph of its own."""
    tf2.keras.backend.clear_session()
    style.use(request.param)
    try:
        with tf1.Graph().as_default() if request.param == "v1" else contextlib.nullcontext():
            yield tf1 if request.param == "v1" else tf2
    finally:
        style.use("v1")


def _model(tf, optimizer=None):
    layers = tf.keras.layers
    a, b = tf.keras.Input((5,), name="a"), tf.keras.Input((3,), name="b")
    x = layers.Dense(8, activation="relu", kernel_regularizer=tf.keras.regularizers.l2(0.01))(
        layers.Concatenate()([a, b])
    )
    x = layers.BatchNormalization(name="norm")(x)
    model = tf.keras.Model([a, b], layers.Dense(1, activation="sigmoid", name="out")(x))
    model.compile(
        optimizer or tf.keras.optimizers.Adam(0.01),
        "binary_crossentropy",
        metrics=["accuracy", tf.keras.metrics.AUC(name="auc")],
    )
    return model


def _input(tf, epochs=1):
    return lambda: (
        tf.data.Dataset.from_tensor_slices(({"a": X, "b": Z}, Y)).repeat(epochs).batch(32)
    )


def test_it_gives_what_fit_evaluate_and_predict_give(tf, tmp_path):
    model = _model(tf)
    estimator = tf.keras.estimator.model_to_estimator(keras_model=model, model_dir=str(tmp_path))
    loss, accuracy, auc = model.evaluate([X, Z], Y, 32, verbose=0)
    result = estimator.evaluate(_input(tf))
    assert result == pytest.approx(
        {"loss": loss, "accuracy": accuracy, "auc": auc, "global_step": 0}
    )
    said = np.array([p["out"] for p in estimator.predict(_input(tf))])
    np.testing.assert_array_equal(said, model.predict([X, Z], verbose=0))

    assert estimator.train(_input(tf, 5)) is estimator
    model.fit([X, Z], Y, 32, epochs=5, shuffle=False, verbose=0)
    loss, accuracy, auc = model.evaluate([X, Z], Y, 32, verbose=0)
    assert estimator.evaluate(_input(tf)) == pytest.approx(
        {"loss": loss, "accuracy": accuracy, "auc": auc, "global_step": 15}
    )
    for variable, value in zip(model.weights, model.get_weights()):
        np.testing.assert_allclose(
            estimator.get_variable_value(variable.name.split(":")[0]), value, rtol=1e-5, atol=1e-6
        )


def test_a_checkpoint_wins_over_the_weights_of_the_model(tf, tmp_path):
    model = _model(tf)
    first = model.get_weights()
    estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    estimator.train(_input(tf), steps=2)
    for before, after in zip(first, model.get_weights()):
        np.testing.assert_array_equal(before, after)  # the model itself stays as it is
    again = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    again.train(_input(tf), steps=2)
    assert again.evaluate(_input(tf))["global_step"] == 4


def test_several_outputs_by_their_names(tf, tmp_path):
    entry = tf.keras.Input((5,), name="x")
    one = tf.keras.layers.Dense(1, name="one")(entry)
    two = tf.keras.layers.Dense(2, activation="softmax", name="two")(entry)
    model = tf.keras.Model(entry, [one, two])
    model.compile(
        "sgd",
        {"one": "mse", "two": "sparse_categorical_crossentropy"},
        metrics={"two": "accuracy"},
        loss_weights={"one": 0.5, "two": 2.0},
    )
    estimator = tf.keras.estimator.model_to_estimator(
        model, model_dir=str(tmp_path), metric_names_map={"two_accuracy": "right"}
    )
    entries = tf1.estimator.inputs.numpy_input_fn(
        {"x": X}, {"one": X[:, :1], "two": Y}, 32, None, False
    )
    estimator.train(entries, steps=9)
    result = estimator.evaluate(entries, steps=3)
    assert set(result) == {"loss", "right", "global_step"}
    for _ in range(3):
        model.fit(X, {"one": X[:, :1], "two": Y}, 32, shuffle=False, verbose=0)
    values = model.evaluate(X, {"one": X[:, :1], "two": Y}, 32, verbose=0, return_dict=True)
    assert result["loss"] == pytest.approx(values["loss"])
    assert result["right"] == pytest.approx(values["two_accuracy"])
    assert set(next(estimator.predict(entries))) == {"one", "two"}


def test_sequential_models_and_optimizers_of_train(tmp_path):
    with tf1.Graph().as_default():
        model = tf1.keras.Sequential([tf1.keras.layers.Dense(1)])  # built by its first input
        model.compile(tf1.train.GradientDescentOptimizer(0.1), "mse")
        estimator = tf1.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
        for _ in range(2):
            estimator.train(tf1.estimator.inputs.numpy_input_fn(X, X[:, :1], 32, 10, True))
        assert (
            estimator.evaluate(lambda: (tf1.constant(X), tf1.constant(X[:, :1])), steps=1)["loss"]
            < 1e-3
        )


def test_files_are_models_too(tf, tmp_path):
    pytest.importorskip("h5py")
    model = _model(tf, "sgd")
    model.save(str(tmp_path / "model.h5"))
    estimator = tf.keras.estimator.model_to_estimator(
        keras_model_path=str(tmp_path / "model.h5"), model_dir=str(tmp_path / "folder")
    )
    assert estimator.evaluate(_input(tf))["loss"] == pytest.approx(
        model.evaluate([X, Z], Y, 32, verbose=0)[0]
    )


def test_what_is_refused(tf, tmp_path):
    make = tf.keras.estimator.model_to_estimator
    with pytest.raises(ValueError, match="needs to be provided"):
        make()
    with pytest.raises(ValueError, match="not both"):
        make(_model(tf), "model.h5")
    with pytest.raises(ValueError, match="checkpoint_format"):
        make(_model(tf), checkpoint_format="zip")
    entry = tf.keras.Input((5,))
    with pytest.raises(ValueError, match="has not been compiled"):
        make(tf.keras.Model(entry, tf.keras.layers.Dense(1)(entry)))
    model = make(_model(tf), model_dir=str(tmp_path))
    with pytest.raises(KeyError, match="Expected keys"):
        model.train(lambda: ({"a": tf.constant(X), "c": tf.constant(Z)}, tf.constant(Y)))


def test_strategies_are_those_of_other_estimators(tmp_path):
    with tf1.Graph().as_default():
        one = tf1.estimator.RunConfig(
            str(tmp_path), train_distribute=tf1.distribute.OneDeviceStrategy("/cpu:0")
        )
        estimator = tf1.keras.estimator.model_to_estimator(_model(tf1), config=one)
        estimator.train(_input(tf1), steps=2)
        assert estimator.evaluate(_input(tf1))["global_step"] == 2
        with tf1.distribute.OneDeviceStrategy("/cpu:0").scope():
            mirrored = _model(tf1)
        estimator = tf1.keras.estimator.model_to_estimator(mirrored, model_dir=str(tmp_path / "b"))
        assert estimator.train(_input(tf1), steps=2).evaluate(_input(tf1))["global_step"] == 2


def test_metrics_of_keras_in_a_model_of_ones_own(tmp_path):
    def model_fn(features, labels, mode):
        said = tf1.layers.dense(features, 1)
        right = tf1.keras.metrics.BinaryAccuracy()
        right.update_state(labels, said)
        loss = tf1.losses.mean_squared_error(labels, said)
        step = tf1.train.GradientDescentOptimizer(0.1).minimize(loss, tf1.train.get_global_step())
        return tf1.estimator.EstimatorSpec(
            mode, loss=loss, train_op=step, eval_metric_ops={"right": right}
        )

    with tf1.Graph().as_default():
        labels = (X[:, :1] > 0).astype(np.float32)
        estimator = tf1.estimator.Estimator(model_fn, str(tmp_path))
        estimator.train(tf1.estimator.inputs.numpy_input_fn(X, labels, 32, 20, True))
        result = estimator.evaluate(tf1.estimator.inputs.numpy_input_fn(X, labels, shuffle=False))
    assert result["right"] > 0.8


def test_fit_in_graph_style_takes_optimizers_and_metrics_as_objects():
    with tf1.Graph().as_default():
        model = tf1.keras.Sequential([tf1.keras.layers.Dense(1, input_shape=(5,))])
        model.compile(
            tf1.keras.optimizers.SGD(0.1),
            "mse",
            metrics=[tf1.keras.metrics.MeanAbsoluteError(name="off")],
        )
        history = model.fit(X, X[:, :1], 32, epochs=30, verbose=0).history
    assert history["off"][-1] < 0.05 and model.optimizer.get_config()[
        "learning_rate"
    ] == pytest.approx(0.1)
