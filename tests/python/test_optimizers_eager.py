# SPDX-License-Identifier: Apache-2.0
"""test_optimizers_eager.py: the optimizers of Keras against TensorFlow's figures, at once and in
functions; schedules, clipping, configuration."""

import json
import os

import numpy as np
import pytest

import situ as tf

with open(
    os.path.join(os.path.dirname(__file__), "..", "golden", "optimizers.json"), encoding="utf-8"
) as _file:
    GOLDEN = json.load(_file)
CASES = pytest.mark.parametrize(
    "case", GOLDEN["eager"], ids=[f"{c['class']}{i}" for i, c in enumerate(GOLDEN["eager"])]
)


@CASES
@pytest.mark.parametrize("traced", [False, True])
def test_updates_are_tensorflows(case, traced):
    w = tf.Variable(np.array(GOLDEN["begin"], "f"))
    optimizer = getattr(tf.keras.optimizers, case["class"])(**case["words"])

    def step(grad):
        optimizer.apply_gradients([(grad, w)])

    step = tf.function(step) if traced else step
    for g, want in zip(GOLDEN["gradients"], case["values"]):
        step(tf.constant(g))
        np.testing.assert_allclose(w.numpy(), want, rtol=2e-5, atol=2e-6)
    assert optimizer.iterations.numpy() == len(GOLDEN["gradients"])


@pytest.mark.parametrize("name", ["GradientDescentOptimizer", "MomentumOptimizer", "AdamOptimizer"])
def test_optimizers_of_graphs(name):
    case = next(c for c in GOLDEN["graph"] if c["class"] == name)
    w = tf.Variable(np.array(GOLDEN["begin"], "f"), name="w")
    optimizer = getattr(tf.compat.v1.train, name)(**case["words"])
    for g, want in zip(GOLDEN["gradients"], case["values"]):
        optimizer.apply_gradients([(tf.constant(g), w)])
        np.testing.assert_allclose(w.numpy(), want, rtol=2e-5, atol=2e-6)


def test_learning_rate_may_change():
    w = tf.Variable([1.0])
    optimizer = tf.optimizers.SGD(0.5)

    @tf.function
    def step():
        optimizer.apply_gradients([(tf.constant([1.0]), w)])

    step()
    assert w.numpy() == 0.5
    optimizer.learning_rate = 0.25
    step()
    assert w.numpy() == 0.25 and optimizer.lr.numpy() == 0.25
    optimizer.learning_rate.assign(1.0)
    step()
    assert w.numpy() == -0.75


def test_schedule():
    schedule = tf.keras.optimizers.schedules.PiecewiseConstantDecay([1, 2], [1.0, 0.5, 0.25])
    optimizer = tf.keras.optimizers.SGD(schedule)
    w = tf.Variable([0.0])
    seen = []
    for _ in range(4):
        optimizer.apply_gradients([(tf.constant([-1.0]), w)])
        seen.append(float(w.numpy()[0]))
    assert seen == [1, 2, 2.5, 2.75]
    with pytest.raises(TypeError, match="LearningRateSchedule"):
        optimizer.learning_rate = 0.1
    assert float(optimizer.learning_rate) == 0.25


@pytest.mark.parametrize(
    "words,want",
    [
        ({"clipvalue": 1.0}, [-1, -1]),
        ({"clipnorm": 1.0}, [-0.6, -0.8]),
        ({"global_clipnorm": 1.0}, [-0.6, -0.8]),
        ({"weight_decay": 0.5}, [-3, -4]),
    ],
)
def test_clipping(words, want):
    w = tf.Variable([0.0, 0.0])
    tf.keras.optimizers.SGD(1.0, **words).apply_gradients([(tf.constant([3.0, 4.0]), w)])
    np.testing.assert_allclose(w.numpy(), want, rtol=1e-6)


def test_variables_and_slots():
    w = tf.Variable([1.0], name="w")
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build([w])
    assert (
        [v.name for v in optimizer.variables]
        == [v.name for v in optimizer.variables()]
        == ["iterations:0", "learning_rate:0", "w/m:0", "w/v:0"]
    )
    assert optimizer.get_slot(w, "m").shape == [1] and optimizer.get_slot(w, "x") is None


def test_no_gradients():
    w = tf.Variable([1.0], name="w")
    with pytest.raises(ValueError, match=r"No gradients provided for any variable: \['w:0'\]"):
        tf.keras.optimizers.SGD().apply_gradients([(None, w)])


def test_configuration():
    optimizer = tf.keras.optimizers.Adam(
        tf.keras.optimizers.schedules.CosineDecay(0.1, 5), beta_1=0.8
    )
    again = tf.keras.optimizers.deserialize(tf.keras.optimizers.serialize(optimizer))
    assert again.beta_1 == 0.8 and float(again.learning_rate) == pytest.approx(0.1)
    assert isinstance(tf.keras.optimizers.get("sgd"), tf.optimizers.SGD)
    with pytest.raises(ValueError, match="Unknown optimizer"):
        tf.keras.optimizers.get("nothing")
    with pytest.raises(TypeError, match="not valid arguments"):
        tf.keras.optimizers.SGD(rate=3)


def test_nadam_and_amsgrad_go_down():
    for kind in (
        tf.keras.optimizers.Nadam(0.1),
        tf.keras.optimizers.Adam(0.1, amsgrad=True),
        tf.keras.optimizers.AdamW(0.1),
    ):
        w = tf.Variable([4.0])
        for _ in range(20):
            kind.apply_gradients([(2.0 * w, w)])
        assert 0 < w.numpy()[0] < 3


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    "frequency,want,last",
    [
        (None, [0.5, 0.25, 0.125, 0.0625, 0.03125], 0.2216796875),
        (2, [0.5, 0.4375, 0.21875, 0.314453125, 0.1572265625], 0.275146484375),
    ],
)
def test_averages_of_what_is_trained(traced, frequency, want, last):
    w = tf.Variable([1.0, -2.0])
    optimizer = tf.keras.optimizers.SGD(
        0.5, use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=frequency
    )

    def step():
        optimizer.apply_gradients([(w * 1.0, w)])

    step = tf.function(step) if traced else step
    for value in want:
        step()
        assert w.numpy().tolist() == [value, -2 * value]
    optimizer.finalize_variable_values([w])
    assert w.numpy().tolist() == [last, -2 * last]


def test_averages_of_a_model_are_its_weights_after_training():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(tf.keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5), "mse")
    model.fit(np.ones((4, 2), "f"), np.zeros((4, 1), "f"), batch_size=2, epochs=2, verbose=0)
    kernel, bias = model.get_weights()
    np.testing.assert_allclose(kernel, [[0.3992], [0.3992]], rtol=1e-5)
    np.testing.assert_allclose(bias, [-0.6008], rtol=1e-5)


@pytest.mark.parametrize(
    "words,match",
    [
        ({"clipnorm": 1.0, "clipvalue": 1.0}, "Only one of `clipnorm`, `clipvalue`"),
        ({"clipnorm": 1.0, "global_clipnorm": 1.0}, "Only one of `clipnorm`, `clipvalue`"),
        ({"use_ema": True, "ema_momentum": 2}, "`ema_momentum` must be in the range"),
        ({"use_ema": True, "ema_overwrite_frequency": -1}, "must be an integer >= 1 or None"),
    ],
)
def test_words_that_do_not_fit(words, match):
    with pytest.raises(ValueError, match=match):
        tf.keras.optimizers.SGD(**words)
    config = tf.keras.optimizers.SGD(use_ema=True, ema_momentum=0.5).get_config()
    assert tf.keras.optimizers.SGD.from_config(config).ema_momentum == 0.5


@pytest.mark.parametrize(
    "shrinkage,want", [(0.0, [-0.0428465, -0.0158933]), (0.125, [-0.1087276, 0.0])]
)
def test_beta_of_ftrl(shrinkage, want):
    var = tf.Variable([1.0, -2.0])
    optimizer = tf.compat.v1.train.FtrlOptimizer(
        0.5,
        l1_regularization_strength=0.25,
        l2_regularization_strength=0.5,
        l2_shrinkage_regularization_strength=shrinkage,
        beta=0.75,
    )
    for _ in range(2):
        optimizer.apply_gradients([(tf.constant([0.4, -0.6]), var)])
    np.testing.assert_allclose(var, want, rtol=1e-5, atol=1e-6)


def test_subclasses_override_update_step():
    class Signs(tf.keras.optimizers.SGD):  # of Keras 3
        def update_step(self, gradient, variable, learning_rate):
            variable.assign_sub(tf.sign(gradient) * learning_rate)

    class Halves(tf.keras.optimizers.Adam):  # of Keras 2
        def update_step(self, gradient, variable):
            super().update_step(0.5 * gradient, variable)

    class Counted(tf.keras.optimizers.Optimizer):
        def __init__(self):
            super().__init__(name="counted")

        def update_step(self, gradient, variable):
            variable.assign_add(gradient * 0 + 3.0)

    values = {}
    for make in (lambda: Signs(0.25), lambda: Halves(0.5, epsilon=1.0), Counted):
        optimizer, var = make(), tf.Variable([1.0, -2.0])
        optimizer.apply_gradients([(tf.constant([4.0, -6.0]), var)])
        values[type(optimizer)] = var.numpy()
    np.testing.assert_allclose(values[Signs], [0.75, -1.75])
    np.testing.assert_allclose(values[Counted], [4.0, 1.0])
    var = tf.Variable([1.0, -2.0])
    tf.keras.optimizers.Adam(0.5, epsilon=1.0).apply_gradients([(tf.constant([2.0, -3.0]), var)])
    np.testing.assert_allclose(values[Halves], var, rtol=1e-6)
