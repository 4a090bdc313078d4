# SPDX-License-Identifier: Apache-2.0
"""test_keras_autograph.py: if, while and for over tensors in the parts of Keras that a program
writes: call of layers and models, train_step, losses."""

import numpy as np

import situ as tf


class Folded(tf.keras.layers.Layer):
    """Adds a weight as often as the mean of the inputs says."""

    def build(self, shape):
        self.weight = self.add_weight("weight", [shape[-1]], initializer="ones")

    def call(self, inputs):
        total = tf.reduce_sum(inputs)
        if total > 0.0:
            result = inputs * 2.0
        else:
            result = -inputs
        for _ in tf.range(tf.cast(tf.abs(total), tf.int32)):
            result = result + self.weight
        return result


def by_hand(x):
    total = x.sum()
    return (x * 2 if total > 0 else -x) + int(abs(total))


def test_call_of_a_layer():
    model = tf.keras.Sequential([tf.keras.Input((2,)), Folded()])
    for x in (np.array([[1.0, 2.0]], "f"), np.array([[-1.0, -1.5]], "f")):
        np.testing.assert_allclose(model.predict(x, verbose=0), by_hand(x))
        np.testing.assert_allclose(model(x).numpy(), by_hand(x))


def test_call_of_a_model_trains():
    class Deciding(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.folded, self.dense = Folded(), tf.keras.layers.Dense(1, use_bias=False)

        def call(self, inputs, training=False):
            result = self.folded(inputs)
            while tf.reduce_max(result) > 4.0:
                result = result * 0.5
            return self.dense(result)

    model = Deciding()
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    x, y = np.array([[1.0, 2.0], [0.5, 0.0]], "f"), np.array([[1.0], [2.0]], "f")
    losses = model.fit(x, y, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0] * 0.8
    eager = Deciding()
    eager(x)
    eager.set_weights(model.get_weights())
    np.testing.assert_allclose(model.predict(x, verbose=0), eager(x).numpy(), rtol=1e-6)


def test_own_step_and_loss():
    def loss(y, p):
        if tf.reduce_mean(p) > 100.0:
            return tf.reduce_mean(p) * 0.0
        return tf.reduce_mean(tf.square(y - p))

    class Deciding(tf.keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                value = loss_of(y, self(x, training=True))
            grads = tape.gradient(value, self.trainable_variables)
            if value > 1e6:
                scale = 0.0
            else:
                scale = 1.0
            self.optimizer.apply_gradients(
                [(g * scale, v) for g, v in zip(grads, self.trainable_variables)]
            )
            return {"loss": value}

    loss_of = loss
    inputs = tf.keras.Input((1,))
    model = Deciding(inputs, tf.keras.layers.Dense(1, kernel_initializer="ones")(inputs))
    model.compile(tf.keras.optimizers.SGD(0.1))
    x = np.array([[1.0]], "f")
    result = model.fit(x, x * 3, epochs=3, verbose=0).history["loss"]
    assert result[0] == 4.0 and result[2] < result[1] < result[0]
    model.fit(x * 1e5, x, epochs=1, verbose=0)  # the loss is too large: nothing changes
    plain = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
    plain.compile("sgd", loss)
    assert plain.fit(x, x * 3, verbose=0).history["loss"] == [4.0]
    assert plain.fit(x * 1000, x, verbose=0).history["loss"] == [0.0]


def test_metrics_that_decide():
    class Growing(tf.keras.metrics.Metric):
        def __init__(self):
            super().__init__(name="growing")
            self.total = self.add_weight(name="total")

        def update_state(self, y_true, y_pred, sample_weight=None):
            step = 1.0 if self.total < 3.0 else 2.0
            if self.total > 1.0:
                step = step * 2.0
            self.total.assign_add(step)

        def result(self):
            return self.total if self.total > 0.0 else -1.0

    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile("sgd", "mse", metrics=[Growing()])
    x = np.ones((8, 1), "f")
    assert model.fit(x, x, batch_size=2, verbose=0).history["growing"] == [8.0]
    metric = Growing()
    assert float(metric.result()) == -1.0 and float(metric(x, x)) == 1.0


def test_concatenation_of_one():
    x = tf.keras.Input((3,))
    model = tf.keras.Model(x, tf.keras.layers.Concatenate()([x]))
    np.testing.assert_array_equal(model(np.ones((2, 3), "f")), np.ones((2, 3)))
