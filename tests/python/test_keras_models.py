# SPDX-License-Identifier: Apache-2.0
"""test_keras_models.py: model summaries, configurations, files, callbacks, printed output."""

import gc
import json
import os
import re
import weakref

import numpy as np
import pytest

import situ as tf

keras = tf.keras
X = np.arange(8, dtype="f").reshape(8, 1) / 4
Y = 3 * X + 1


def small():
    model = keras.Sequential([keras.layers.Dense(2, input_shape=(1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
    return model


def test_summary_of_a_chain(capsys):
    keras.backend.clear_session()
    small().summary()
    assert (
        capsys.readouterr().out
        == """\
Model: "sequential"
_________________________________________________________________
 Layer (type)                Output Shape              Param #   
=================================================================
 dense (Dense)               (None, 2)                 4         
                                                                 
 dense_1 (Dense)             (None, 1)                 3         
                                                                 
=================================================================
Total params: 7 (28.00 Byte)
Trainable params: 7 (28.00 Byte)
Non-trainable params: 0 (0.00 Byte)
_________________________________________________________________
"""
    )


def test_summary_of_a_graph():
    a, b = keras.Input((2,), name="a"), keras.Input((2,), name="b")
    model = keras.Model([a, b], keras.layers.Add(name="sum")([a, b]))
    lines = []
    model.summary(print_fn=lines.append)
    assert len(lines[1]) == 98 and "Connected to" in lines[2]
    assert any("['a[0][0]'," in line for line in lines)
    assert any("'b[0][0]']" in line for line in lines)


def test_progress(capsys):
    small().fit(X, Y, batch_size=4, epochs=2, verbose=1)
    out = capsys.readouterr().out
    assert re.search(
        r"Epoch 1/2\n1/2 \[=+>\.+\] - ETA: 0s - loss: [\d.e+-]+\n2/2 \[={30}\] - 0s "
        r"\d+[mu]s/step - loss: [\d.]+\nEpoch 2/2\n",
        out,
    ), out
    small().fit(X, Y, batch_size=4, epochs=1, verbose=2)
    assert re.fullmatch(
        r"2/2 - 0s - loss: [\d.]+ - \d+[mu]s/epoch - \d+[mu]s/step\n", capsys.readouterr().out
    )
    small().fit(X, Y, verbose=0)
    assert capsys.readouterr().out == ""


def test_configurations():
    a = keras.Input((4, 4, 1))
    x = keras.layers.Conv2D(2, 3, activation="relu", kernel_regularizer="l2")(a)
    model = keras.Model(a, keras.layers.Flatten()(x) * 2.0)
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    images = np.random.RandomState(0).rand(2, 4, 4, 1).astype("f")
    np.testing.assert_array_equal(model.predict(images), again.predict(images))
    assert [x.name for x in again.layers] == [x.name for x in model.layers]
    assert len(again.losses) == 1
    config = json.loads(small().to_json())
    assert config["class_name"] == "Sequential"
    assert keras.Sequential.from_config(config["config"]).count_params() == 7
    layer = keras.layers.LSTM(3, return_sequences=True, recurrent_dropout=0.5)
    assert keras.layers.LSTM.from_config(layer.get_config()).recurrent_dropout == 0.5


def test_weights_in_files(tmp_path):
    model, other = small(), small()
    model.save_weights(tmp_path / "w")
    other.load_weights(tmp_path / "w")
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="expected 2 weights, found 4"):
        keras.Sequential([keras.layers.Dense(1, input_shape=(1,))]).load_weights(tmp_path / "w")
    with pytest.raises(OSError, match="No file or directory found"):
        model.load_weights(tmp_path / "nothing")
    (tmp_path / "broken").write_bytes(b"12345678" * 9)
    with pytest.raises(tf.errors.DataLossError):
        model.load_weights(tmp_path / "broken")


def test_custom_objects(tmp_path):
    class Half(keras.layers.Layer):
        def call(self, x):
            return x / 2

    model = keras.Sequential([keras.Input((1,)), Half()])
    model.save(tmp_path / "m.keras")
    with pytest.raises(TypeError, match="Could not locate class 'Half'"):
        keras.models.load_model(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras", custom_objects={"Half": Half})
    assert again.predict(np.ones((1, 1), "f")) == 0.5
    model.save(tmp_path / "folder")  # as with a SavedModel: what the program has defined is found
    assert keras.models.load_model(tmp_path / "folder").predict(np.ones((1, 1), "f")) == 0.5


def test_checkpoint_of_a_model(tmp_path):
    model, other = small(), small()
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "c"))
    tf.train.Checkpoint(model=other).restore(path)
    np.testing.assert_array_equal(model.get_weights()[0], other.get_weights()[0])


def test_early_stopping():
    model = small()
    stop = keras.callbacks.EarlyStopping(
        "loss", min_delta=100.0, patience=2, restore_best_weights=True
    )
    assert len(model.fit(X, Y, epochs=50, verbose=0, callbacks=[stop]).epoch) == 3
    assert stop.stopped_epoch == 2


def test_rates():
    model = small()
    history = model.fit(
        X,
        Y,
        epochs=3,
        verbose=0,
        callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch, rate: 0.1 / (epoch + 1))],
    )
    np.testing.assert_allclose(history.history["lr"], [0.1, 0.05, 0.1 / 3], rtol=1e-6)
    plateau = keras.callbacks.ReduceLROnPlateau("loss", 0.5, patience=1, min_delta=1e9)
    model.fit(X, Y, epochs=4, verbose=0, callbacks=[plateau])
    assert float(model.optimizer.learning_rate.numpy()) < 0.1 / 3


def test_files_of_callbacks(tmp_path):
    model = small()
    model.fit(
        X,
        Y,
        epochs=2,
        verbose=0,
        validation_data=(X, Y),
        callbacks=[
            keras.callbacks.CSVLogger(tmp_path / "log.csv"),
            keras.callbacks.ModelCheckpoint(str(tmp_path / "m.{epoch:02d}"), save_best_only=True),
            keras.callbacks.TensorBoard(str(tmp_path / "board")),
        ],
    )
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert lines[0] == "epoch,loss,val_loss" and len(lines) == 3
    again = keras.models.load_model(tmp_path / "m.02")
    np.testing.assert_array_equal(again.get_weights()[0], model.get_weights()[0])
    assert os.listdir(tmp_path / "board" / "train") and os.listdir(tmp_path / "board/validation")


def test_order_of_callbacks():
    seen = []

    class Tell(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            seen.append("begin")

        def on_train_batch_end(self, batch, logs=None):
            seen.append((batch, round(logs["loss"], 3)))

        def on_epoch_end(self, epoch, logs=None):
            seen.append(epoch)
            self.model.stop_training = epoch == 1

    model = small()
    model.fit(
        X,
        Y,
        batch_size=4,
        epochs=9,
        verbose=0,
        callbacks=[
            Tell(),
            keras.callbacks.LambdaCallback(on_train_end=lambda logs: seen.append("end")),
        ],
    )
    assert [s if not isinstance(s, tuple) else s[0] for s in seen] == [
        "begin",
        0,
        1,
        0,
        0,
        1,
        1,
        "end",
    ]
    assert all(isinstance(s[1], float) for s in seen if isinstance(s, tuple))


def test_backend():
    K = keras.backend
    assert K.floatx() == "float32" and K.epsilon() == 1e-7
    assert K.int_shape(keras.Input((3,))) == (None, 3)
    assert float(K.mean(K.square(K.constant([1.0, 3.0])))) == 5
    v = K.variable([1.0, 2.0])
    K.set_value(v, [3.0, 4.0])
    assert K.get_value(v).tolist() == [3, 4]
    a = keras.Input((2,))
    assert K.function([a], [a * 2.0])([np.ones((1, 2), "f")])[0].tolist() == [[2, 2]]
    assert keras.utils.to_categorical([0, 2]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert keras.preprocessing.sequence.pad_sequences([[1], [2, 3]]).tolist() == [[0, 1], [2, 3]]


def test_graph_style(situ):
    result = situ(
        "run",
        "a.py",
        files={
            "a.py": """
        import numpy as np
        import tensorflow as tf
        x = tf.placeholder(tf.float32, [None, 2])
        y = tf.keras.layers.Dense(1, kernel_initializer="ones")(x)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            print(sess.run(y, {x: [[1, 2]]}))
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
        model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
        x = np.ones((8, 1), "f")
        loss = model.fit(x, x, epochs=9, verbose=0).history["loss"]
        print(loss[-1] < loss[0] or loss[0] == 0, tf.executing_eagerly())
        """
        },
    )
    assert result.out == "[[3.]]\nTrue False\n", result.err


def test_losses_and_metrics_of_symbolic_tensors():
    inputs = keras.Input((3,))
    mean = keras.layers.Dense(2, name="mean")(inputs)
    noise = keras.layers.Lambda(lambda t: t + tf.random.normal(tf.shape(t)))(mean)
    outputs = keras.layers.Dense(3, name="out")(noise)
    model = keras.Model(inputs, outputs)
    far = tf.reduce_mean(tf.square(outputs - inputs), axis=-1)
    size = keras.backend.sum(tf.square(mean), axis=-1)
    model.add_loss(keras.backend.mean(far + 0.1 * size))
    model.add_metric(size, name="size", aggregation="mean")
    model.compile(keras.optimizers.Adam(0.05))
    x = np.random.RandomState(0).randn(64, 3).astype("f")
    result = model.fit(x, epochs=20, verbose=0).history
    assert result["loss"][-1] < result["loss"][0] and set(result) == {"loss", "size"}
    before = model.get_weights()
    assert len(before) == 4 and model.predict(x, verbose=0).shape == (64, 3)


def test_op_layer_with_a_list_of_types():
    inputs = keras.Input((3,))
    outputs = tf.raw_ops.IdentityN(input=[inputs, 2.0 * inputs])
    model = keras.Model(inputs, tf.add(*outputs))
    copy = keras.models.model_from_json(model.to_json())
    for each in (model, copy):
        np.testing.assert_array_equal(each(np.ones((2, 3), "f")), np.full((2, 3), 3))


def test_first_argument_by_its_name():
    class Scaled(keras.layers.Layer):
        def call(self, logits, factor=1.0):
            return logits * factor

    assert Scaled()(logits=tf.constant([2.0]), factor=3.0).numpy().tolist() == [6.0]
    symbol = keras.Input((1,))
    model = keras.Model(symbol, Scaled()(logits=symbol, factor=3.0))
    assert model.predict(np.ones((1, 1)), verbose=0).tolist() == [[3.0]]


@pytest.mark.parametrize(
    "shape,text",
    [
        ((3,), "expected min_ndim=2, found ndim=1. Full shape received: \\(3,\\)"),
        (
            (2, 4),
            "expected axis -1 of input shape to have value 3, but received input with shape "
            "\\(2, 4\\)",
        ),
    ],
)
def test_inputs_that_a_layer_does_not_take(shape, text):
    layer = tf.keras.layers.Dense(2, name="narrow")
    layer(np.ones((2, 3), "f"))
    with pytest.raises(
        ValueError, match='Input 0 of layer "narrow" is incompatible with the layer: ' + text
    ):
        layer(np.ones(shape, "f"))


def branched():
    """A model of two inputs that meet in a layer, in ops and in an initial state."""
    a, b = keras.Input((3,)), keras.Input((3,))
    x = tf.concat([keras.layers.Dense(4)(a), b * 2.0], 1) + 1.0
    x = keras.layers.Concatenate()([x, b])
    x = keras.layers.LSTM(3)(tf.reshape(x, [-1, 2, 5]), initial_state=[a, b])
    return keras.Model([a, b], x + tf.reduce_sum(b + 1.0) + (a - 1.0)[:, :1])


def test_ops_on_tensors_of_several_inputs():
    model = branched()
    copy = keras.Model.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    a, b = np.ones([2, 3], "f4"), np.arange(6, dtype="f4").reshape(2, 3)
    dense, lstm = (x for x in model.layers if x.weights)
    x = np.concatenate([dense(a), b * 2], 1) + 1
    x = lstm(np.concatenate([x, b], 1).reshape(-1, 2, 5), initial_state=[a, b])
    expected = x + np.sum(b + 1) + (a - 1)[:, :1]
    np.testing.assert_allclose(model([a, b]), expected, rtol=1e-5)
    np.testing.assert_allclose(copy.predict([a, b], verbose=0), expected, rtol=1e-5)
    names = [layer.name for layer in model.layers]
    assert len(set(names)) == len(names)


def test_gradients_with_respect_to_another_input():
    a, b = keras.Input((2,)), keras.Input((2,))
    slopes = keras.Model([a, b], keras.backend.gradients(a * b * b, [a, b]))
    x, y = np.array([[1.0, 2.0]], "f4"), np.array([[3.0, 4.0]], "f4")
    da, db = slopes([x, y])
    np.testing.assert_allclose(da, y * y)
    np.testing.assert_allclose(db, 2 * x * y)


@pytest.mark.parametrize("make", [branched, small], ids=["functional", "sequential"])
def test_models_are_released(make):
    """Without clear_session, also while other models live."""
    kept, gone = make(), []
    for _ in range(3):
        model = make()
        gone += [weakref.ref(w) for w in model.weights] + [weakref.ref(model)]
        del model
    gc.collect()
    assert kept.weights and not [r for r in gone if r() is not None]


def test_steps_of_many_shapes_have_a_budget():
    """Those that were used least recently are compiled again."""
    model = small()
    for rows in [*range(1, 200), 1]:
        loss = model.train_on_batch(np.zeros([rows, 1], "f4"), np.ones([rows, 1], "f4"))
    assert np.isfinite(loss)
    assert len(model._programs._made) < 180
