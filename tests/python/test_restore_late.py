# SPDX-License-Identifier: Apache-2.0
"""test_restore_late.py: variables created after a restore get the values of the checkpoint when
they are first used."""

import numpy as np
import pytest

import situ as tf


def _model():
    return tf.keras.Sequential(
        [tf.keras.layers.Dense(3, activation="tanh"), tf.keras.layers.Dense(1)]
    )


class Lazy(tf.Module):
    """Makes its variables when it is called."""

    def __init__(self):
        super().__init__()
        self.v, self.many = None, None

    def __call__(self, x):
        if self.v is None:
            self.v = tf.Variable(tf.zeros([2]))
            self.many = [tf.Variable(0.0), tf.Variable(0.0)]
        return self.v * x + self.many[1]


X = np.linspace(-1, 1, 8).reshape(4, 2).astype("f")


def _step(model, optimizer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(X) - 1) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return float(loss)


@pytest.fixture
def trained(tmp_path):
    model, optimizer = _model(), tf.keras.optimizers.Adam(0.1)
    for _ in range(3):
        _step(model, optimizer)
    path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(str(tmp_path / "c"))
    return path, model(X).numpy(), [_step(model, optimizer) for _ in range(2)]


def test_layers_that_are_built_later(trained):
    path, expected, _ = trained
    model = _model()
    tf.train.Checkpoint(model=model).restore(path).expect_partial()
    np.testing.assert_allclose(model(X), expected)


def test_training_goes_on(trained):
    path, _, losses = trained
    model, optimizer = _model(), tf.keras.optimizers.Adam(0.1)
    tf.train.Checkpoint(model=model, optimizer=optimizer).restore(path)
    np.testing.assert_allclose([_step(model, optimizer) for _ in range(2)], losses, rtol=1e-5)


def test_layers_that_a_traced_function_builds(trained):
    path, expected, _ = trained
    model = _model()
    tf.train.Checkpoint(model=model).restore(path)
    np.testing.assert_allclose(tf.function(model)(tf.constant(X)), expected, rtol=1e-6)
    np.testing.assert_allclose(model(X), expected, rtol=1e-6)


def test_modules_and_attributes(tmp_path):
    first = Lazy()
    first(1.0)
    first.v.assign([5.0, 6.0])
    first.many[1].assign(1.0)
    path = tf.train.Checkpoint(m=first, step=tf.Variable(7)).save(str(tmp_path / "m"))
    second = Lazy()
    checkpoint = tf.train.Checkpoint(m=second)
    checkpoint.restore(path)
    assert second(1.0).numpy().tolist() == [6, 7]
    checkpoint.step = tf.Variable(0)
    assert int(checkpoint.step) == 7
    second.v.assign([0.0, 0.0])
    checkpoint.other = tf.Variable(1)  # what was restored once is not restored again
    assert second.v.numpy().tolist() == [0, 0]
