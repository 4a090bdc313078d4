# SPDX-License-Identifier: Apache-2.0
"""test_keras_layers.py: three training steps of every layer and loss, compared with TensorFlow.

The numbers in ../golden/keras.json are situ's, written down after they were compared with those of
TensorFlow 2.21 (the variance of BatchNormalization of images is as in Keras 2).
"""

import json
import os

import keras_cases
import numpy as np
import pytest

import situ as tf

with open(os.path.join(os.path.dirname(__file__), "../golden/keras.json")) as _file:
    GOLDEN = json.load(_file)


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_losses(name):
    np.testing.assert_allclose(keras_cases.losses(tf, name), GOLDEN[name], rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "name",
    ["dense", "conv2d", "lstm", "bi", "merge", "two", "ops", "nest", "bn", "maskseq", "td", "acts"],
)
def test_saved_model_is_the_same(name, tmp_path):
    model, x, y, loss = keras_cases.cases(tf)[name]()
    model.compile(tf.keras.optimizers.Adam(0.01), loss)
    model.fit(x, y, epochs=1, verbose=0)
    model.save(tmp_path / "m.keras")
    again = tf.keras.models.load_model(tmp_path / "m.keras")
    for a, b in zip(tf.nest.flatten(model.predict(x)), tf.nest.flatten(again.predict(x))):
        np.testing.assert_array_equal(a, b)
    before = model.fit(x, y, epochs=1, verbose=0, shuffle=False).history["loss"]
    assert again.fit(x, y, epochs=1, verbose=0, shuffle=False).history["loss"] == before


def test_shape_is_known_without_a_call():
    layer = tf.keras.layers.Conv2D(8, 3, strides=2, padding="same")
    assert layer.compute_output_shape((None, 9, 9, 3)).as_list() == [None, 5, 5, 8]
    assert tf.keras.layers.Dense(4).compute_output_shape((2, 3)).as_list() == [2, 4]


def test_stateful_layer_keeps_its_state():
    layer = tf.keras.layers.LSTM(2, stateful=True)
    x = np.ones((1, 3, 2), "f")
    first, second = layer(x).numpy(), layer(x).numpy()
    assert not np.allclose(first, second)
    layer.reset_states()
    np.testing.assert_allclose(layer(x).numpy(), first)


def test_states_and_sequences():
    x = np.random.RandomState(0).randn(2, 4, 3).astype("f")
    layer = tf.keras.layers.LSTM(5, return_sequences=True, return_state=True)
    sequence, hidden, carry = layer(x)
    assert sequence.shape.as_list() == [2, 4, 5] and carry.shape.as_list() == [2, 5]
    np.testing.assert_array_equal(sequence[:, -1].numpy(), hidden.numpy())
    halves = layer(x[:, :2])
    rest = layer(x[:, 2:], initial_state=halves[1:])
    np.testing.assert_allclose(rest[0].numpy(), sequence[:, 2:].numpy(), atol=1e-6)


def test_cell_of_a_program():
    class Plus(tf.keras.layers.Layer):
        state_size = 3

        def call(self, inputs, states):
            return inputs + states[0], [inputs + states[0]]

    result = tf.keras.layers.RNN(Plus(), return_sequences=True)(np.ones((1, 3, 3), "f"))
    np.testing.assert_array_equal(result.numpy()[0, :, 0], [1, 2, 3])


def test_dropout_trains_only():
    layer = tf.keras.layers.Dropout(0.5)
    x = np.ones((100, 100), "f")
    assert (layer(x).numpy() == 1).all()
    dropped = layer(x, training=True).numpy()
    assert set(np.unique(dropped)) == {0, 2} and 0.4 < (dropped == 0).mean() < 0.6


def test_unknown_arguments():
    with pytest.raises(TypeError, match="Keyword argument not understood: colour"):
        tf.keras.layers.Dense(1, colour=3)
    with pytest.raises(ValueError, match="Unknown activation function: 'wave'"):
        tf.keras.layers.Dense(1, activation="wave")
    with pytest.raises(ValueError, match="last dimension"):
        tf.keras.layers.Dense(1)(tf.keras.Input((None,)))


def test_convolution_op_can_be_overridden_and_called():
    class Ones(tf.keras.layers.Conv2D):
        def convolution_op(self, inputs, kernel):
            return super().convolution_op(inputs, kernel * 0 + 1.0)

    class Twos(tf.keras.layers.Conv1D):
        def call(self, inputs):
            return self.convolution_op(inputs, self.kernel * 0 + 2.0) + self.bias

    x = np.arange(18.0, dtype="f").reshape(1, 3, 3, 2)
    assert Ones(1, 3)(x).numpy().ravel().tolist() == [153.0]
    groups = Ones(2, 2, groups=2)(x).numpy().ravel()
    assert groups.tolist() == [16, 20, 24, 28, 40, 44, 48, 52]
    assert Twos(1, 3)(x[0]).numpy().ravel().tolist() == [30, 102, 174]
