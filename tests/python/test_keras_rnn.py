# SPDX-License-Identifier: Apache-2.0
"""test_keras_rnn.py: recurrent layers over long sequences are loops with the results of unrolled
steps, in graphs whose size does not depend on the length."""

import numpy as np
import pytest

import situ as tf

L = tf.keras.layers


def trained(kind, unroll, masked, sequences, both_ways, steps=37):
    """Returns the losses of three steps, and the predictions of the model then."""
    tf.keras.utils.set_random_seed(1)
    random = np.random.RandomState(0)
    x, y = random.randn(6, steps, 3).astype("f"), random.randn(6, 1).astype("f")
    x[2, 20:], x[3, :7] = 0, 0
    inputs = tf.keras.Input((steps, 3))
    layer = kind(5, return_sequences=sequences, unroll=unroll)
    layer = L.Bidirectional(layer) if both_ways else layer
    result = layer(L.Masking()(inputs) if masked else inputs)
    result = L.LSTM(4, go_backwards=True, unroll=unroll)(result) if sequences else result
    model = tf.keras.Model(inputs, L.Dense(1)(result))
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    losses = model.fit(x, y, epochs=3, verbose=0, shuffle=False).history["loss"]
    return losses, model.predict(x, verbose=0)


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", [L.LSTM, L.GRU, L.SimpleRNN])
def test_loop_gives_what_steps_give(kind, masked, sequences, both_ways):
    one, other = (trained(kind, unroll, masked, sequences, both_ways) for unroll in (True, False))
    np.testing.assert_allclose(one[0], other[0], rtol=1e-5)
    np.testing.assert_allclose(one[1], other[1], rtol=1e-5, atol=1e-6)


def count_of_ops(steps, **kwargs):
    layer = L.LSTM(4, **kwargs)
    function = tf.function(layer).get_concrete_function(tf.TensorSpec([2, steps, 3]))
    return len(function.graph.get_operations())


def test_graph_does_not_grow():
    assert count_of_ops(48) == count_of_ops(480)
    assert count_of_ops(480, unroll=True) > 5 * count_of_ops(480)


def test_length_may_be_unknown():
    layer = L.GRU(5, return_sequences=True, return_state=True, go_backwards=True)
    x = np.random.RandomState(0).randn(2, 7, 3).astype("f")
    function = tf.function(layer.__call__, input_signature=[tf.TensorSpec([None, None, 3])])
    for steps in (1, 2, 7):
        for a, b in zip(function(x[:, :steps]), layer(x[:, :steps])):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-7)


def test_state_goes_on_over_a_loop():
    layer = L.LSTM(2, stateful=True)
    step = tf.function(layer.__call__)
    x = np.random.RandomState(0).randn(1, 60, 2).astype("f")
    step(x[:, :30])
    second = step(x[:, 30:]).numpy()
    layer.reset_states()
    np.testing.assert_allclose(step(x).numpy(), second, rtol=1e-5)


def test_own_cell_in_a_loop():
    class Cell(L.Layer):
        state_size = output_size = 4

        def build(self, shape):
            self.kernel = self.add_weight("kernel", [shape[-1], 4])

        def call(self, inputs, states):
            created = states[0] * 0.5 + tf.matmul(inputs, self.kernel)
            return created, [created]

    x = np.random.RandomState(0).randn(2, 50, 3).astype("f")
    layer = L.RNN(Cell(), return_sequences=True)
    with tf.GradientTape() as tape:
        wanted = tf.reduce_sum(layer(x) ** 2)
    slope = tape.gradient(wanted, layer.trainable_variables)[0].numpy()

    @tf.function
    def looped():
        with tf.GradientTape() as tape:
            result = tf.reduce_sum(layer(x) ** 2)
        return result, tape.gradient(result, layer.trainable_variables)[0]

    result, again = looped()
    np.testing.assert_allclose(result.numpy(), wanted.numpy(), rtol=1e-5)
    np.testing.assert_allclose(again.numpy(), slope, rtol=1e-4)


@pytest.mark.parametrize("old, kwargs", [("LSTM", {}), ("GRU", {"reset_after": True})])
def test_cudnn_layers(old, kwargs):
    from situ.compat import v1

    result = getattr(v1.keras.layers, "CuDNN" + old)(4, return_sequences=True)
    plain = getattr(L, old)(4, return_sequences=True, recurrent_activation="sigmoid", **kwargs)
    with tf.Graph().as_default():
        again = tf.keras.Sequential.from_config(
            tf.keras.Sequential([tf.keras.Input((5, 3)), result]).get_config()
        )
    assert type(again.layers[0]) is type(result)
    assert {**result.get_config(), "name": ""} == {**plain.get_config(), "name": ""}


class Shifted(L.Layer):
    """A cell that adds its input and a constant to its state."""

    state_size = output_size = 2

    def call(self, inputs, states, constants=None):
        result = states[0] + inputs + (0 if constants is None else constants[0])
        return result, [result]


@pytest.mark.parametrize("steps", [3, 40])
def test_constants_reach_the_cell(steps):
    x, shift = tf.ones([2, steps, 2]), tf.constant([[0.5, 1.0], [2.0, 3.0]])
    layer = L.RNN(Shifted())
    wanted = steps * (1 + shift.numpy())
    np.testing.assert_allclose(layer(x, constants=shift).numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(L.RNN([Shifted()])(x, constants=[shift]).numpy(), wanted)
    np.testing.assert_allclose(layer([x, shift]).numpy(), wanted, rtol=1e-6)
    inputs = tf.keras.Input((steps, 2)), tf.keras.Input((2,))
    model = tf.keras.Model(inputs, layer(inputs[0], constants=inputs[1]))
    np.testing.assert_allclose(model([x, shift]).numpy(), wanted, rtol=1e-6)
    with tf.keras.utils.custom_object_scope({"Shifted": Shifted}):
        again = L.RNN.from_config(layer.get_config())
    np.testing.assert_allclose(again([x, shift]).numpy(), wanted, rtol=1e-6)


def test_cells_without_constants():
    with pytest.raises(ValueError, match="does not support constants"):
        L.LSTM(2)(tf.ones([2, 3, 2]), constants=tf.ones([2, 2]))


def test_activations_that_cudnn_does_not_have():
    tf1 = tf.compat.v1.keras.layers
    for layer in (tf1.CuDNNLSTM, tf1.CuDNNGRU):
        with pytest.raises(TypeError, match="recurrent_activation"):
            layer(2, recurrent_activation="relu")
    with pytest.raises(TypeError, match="reset_after"):
        tf1.CuDNNGRU(2, reset_after=False)


def test_sizes_of_the_input_by_their_former_names():
    model = tf.keras.Sequential([L.LSTM(2, input_dim=3, input_length=4)])
    assert model.input_shape == (None, 4, 3)


def test_constants_of_both_directions():
    x, shift = tf.ones([2, 3, 2]), tf.constant([[0.5, 1.0], [2.0, 3.0]])
    with tf.keras.utils.custom_object_scope({"Shifted": Shifted}):
        layer = L.Bidirectional(L.RNN(Shifted()), merge_mode="sum")
    np.testing.assert_allclose(layer(x, constants=shift).numpy(), 6 * (1 + shift.numpy()))


def test_configuration_keeps_outputs_of_masked_steps():
    layer = L.LSTM(2, zero_output_for_mask=True)
    assert type(layer).from_config(layer.get_config()).zero_output_for_mask


def test_subclasses_of_cells_compute_themselves():
    class Doubled(tf.keras.layers.LSTMCell):
        def call(self, inputs, states, training=None):
            output, states = super().call(inputs, states, training=training)
            return 2 * output, states

    class Ones(tf.keras.layers.GRUCell):
        def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
            return tf.ones([batch_size, self.units])

    x = tf.ones([2, 3, 4])
    same = {"kernel_initializer": "ones", "recurrent_initializer": "zeros"}
    plain = tf.keras.layers.RNN(tf.keras.layers.LSTMCell(3, **same))(x)
    doubled = tf.keras.layers.RNN(Doubled(3, **same))(x)
    np.testing.assert_allclose(doubled, 2 * plain, rtol=1e-6)
    still = {"kernel_initializer": "zeros", "recurrent_initializer": "zeros"}
    # The update gate is 1/2 in each of three steps.
    np.testing.assert_allclose(tf.keras.layers.RNN(Ones(2, **still))(x), np.full((2, 2), 0.125))
