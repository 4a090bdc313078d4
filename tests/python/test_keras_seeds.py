# SPDX-License-Identifier: Apache-2.0
"""test_keras_seeds.py: weights, dropout masks and the order of examples after
tf.keras.utils.set_random_seed are those of TensorFlow 2.21 (Keras 3)."""

import numpy
import pytest

import situ as tf
import situ.keras3 as keras3

K, L = tf.keras, tf.keras.layers
EXPECTED = {
    "layers": [
        [-0.00383, -0.89633, 0.59122],
        [0.58018, 0.54608, -0.80339],
        [-0.12338, -0.97332, -0.77872],
    ],
    "lstm": [
        [-0.0032, -0.74992, 0.49465],
        [0.38176, -0.57969, 0.46679],
        [0.0, 0.0, 1.0],
        [-0.31651, -0.44483, -0.32833],
        [0.02643, 0.38309, -0.11742],
        [0.0, 0.0, 1.0],
    ],
    "simple_rnn": [[0.42501, -0.58917, -0.237], [-0.67335, 0.73932, -0.73932], [0.0, 0.0]],
    "bidirectional": [
        [-0.35387, -0.49734, -0.36708],
        [0.0366, 0.53055, -0.16261],
        [0.0, 0.0, 0.0],
        [0.41238, 0.18662, -0.33181],
        [0.43728, -0.31993, -0.11225],
        [0.0, 0.0, 0.0],
    ],
    "stacked": [
        [-0.0032, -0.74992, 0.49465],
        [0.38176, -0.57969, 0.46679],
        [0.0, 0.0, 1.0],
        [-0.30178, -0.42413, -0.31305],
        [0.02527, -0.33014, 0.46539],
        [0.0, 0.0, 0.0],
    ],
    "separable": [
        [-0.00293, -0.68458, 0.45155],
        [0.0, 0.0],
        [0.24538, -0.34016, -0.13683],
        [0.63555, 0.5982, -0.88007],
        [0.0, 0.0, 0.0],
    ],
    "attention": [
        [0.2688, -0.37263, -0.14989],
        [0.0, 0.0, 0.0],
        [0.4494, 0.42299, -0.6223],
        [0.0, 0.0, 0.0],
        [-0.31651, -0.44483, -0.32833],
        [0.0, 0.0, 0.0],
        [-0.61761, 0.24166, 0.24816],
        [0.0, 0.0, 0.0],
    ],
    "dropout": [[1.66667, 0.0, 1.66667], [0.0, 0.0, 1.66667]],
    "dropout seed": [[1.66667, 1.66667, 0.0], [1.66667, 0.0, 1.66667]],
    "noise": [[1.04719, 1.47001, 1.13641], [1.55576, 0.51635, 1.08962]],
    "gaussian dropout": [[1.09633, 1.9594, 1.27845], [2.13443, 0.01276, 1.18294]],
    "alpha dropout": [[1.47038, -0.91064, 1.47038], [-0.91064, -0.91064, 1.47038]],
    "lstm dropout": [
        [-0.35401, 0.02263, 0.27178],
        [0.27159, -0.00931, 0.27159],
        [0.0, 0.0, 0.68264],
    ],
    "gru dropout": [[0.60152, -0.15644, 0.69453]],
    "fit": [[3.5278, 1.66641, 1.41645]],
    "fit batch": [[3.27109, 1.77367, 1.28028]],
    "fit in order": [[3.89395, 1.55251, 1.47522]],
    "fit dataset": [[3.51159, 1.21253, 1.32283]],
}


def built(layer, shape):
    layer.build(shape)
    return layer.get_weights()


def twice(layer):
    return [layer(tf.ones([6]), training=True) for _ in range(2)]


def layers():
    made = [
        L.Dense(3),
        L.Dropout(0.3),
        L.Dense(2),
        L.Dropout(0.0),
        L.GaussianNoise(0.1),
        L.Dense(2),
    ]
    return [w for layer in made for w in built(layer, (None, 4))][::2]


def attention():
    layer = L.MultiHeadAttention(2, 3, dropout=0.1)
    layer(tf.ones([1, 2, 4]), tf.ones([1, 2, 4]))
    return layer.get_weights()


def lstm_dropout():
    """A call outside of training counts as a draw, too."""
    layer, x = L.LSTM(2, dropout=0.4, recurrent_dropout=0.3), tf.ones([2, 3, 2])
    return [layer(x, training=True), layer(x), layer(x, training=True)]


def gru_dropout():
    layer = L.GRU(2, dropout=0.4, recurrent_dropout=0.3, reset_after=False)
    return [layer(tf.ones([2, 3, 2]), training=True)]


def fit(shuffle):
    model = K.Sequential([K.Input((2,)), L.Dense(4, activation="tanh"), L.Dropout(0.5), L.Dense(1)])
    model.compile("sgd", "mse")
    x = (numpy.arange(20.0).reshape(10, 2) / 20).astype("float32")
    y = x.sum(1)
    if shuffle == "dataset":
        data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(10).batch(4)
        return [model.fit(data, epochs=3, verbose=0).history["loss"]]
    return [model.fit(x, y, batch_size=4, epochs=3, verbose=0, shuffle=shuffle).history["loss"]]


CASES = {
    "layers": layers,
    "lstm": lambda: [w for _ in range(2) for w in built(L.LSTM(2), (None, 3, 2))],
    "simple_rnn": lambda: built(L.SimpleRNN(2), (None, 3, 2)),
    "bidirectional": lambda: built(L.Bidirectional(L.GRU(2)), (None, 3, 2)),
    "stacked": lambda: built(L.RNN([L.LSTMCell(2), L.GRUCell(3)]), (None, 3, 2)),
    "separable": lambda: [
        w
        for layer in [L.DepthwiseConv2D(2), L.SeparableConv2D(3, 2)]
        for w in built(layer, (None, 4, 4, 2))
    ],
    "attention": attention,
    "dropout": lambda: twice(L.Dropout(0.4)),
    "dropout seed": lambda: twice(L.Dropout(0.4, seed=9)),
    "noise": lambda: twice(L.GaussianNoise(0.4)),
    "gaussian dropout": lambda: twice(L.GaussianDropout(0.4)),
    "alpha dropout": lambda: twice(L.AlphaDropout(0.4)),
    "lstm dropout": lstm_dropout,
    "gru dropout": gru_dropout,
    "fit": lambda: fit(True),
    "fit batch": lambda: fit("batch"),
    "fit in order": lambda: fit(False),
    "fit dataset": lambda: fit("dataset"),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_after_set_random_seed(name):
    K.utils.set_random_seed(3)
    found = CASES[name]()
    assert len(found) == len(EXPECTED[name])
    for values, expected in zip(found, EXPECTED[name]):
        numpy.testing.assert_allclose(numpy.ravel(values)[:3], expected, atol=2e-5)


def test_seeds_of_keras_random():
    """None is the global stream; integers are taken modulo 2**31 - 2."""
    keras3.utils.set_random_seed(4)
    first, second = keras3.random.normal((2,)).numpy(), keras3.random.normal((2,)).numpy()
    numpy.testing.assert_allclose(first, [-0.53897, -0.74764], atol=2e-5)
    numpy.testing.assert_allclose(second, [-0.80961, -0.10768], atol=2e-5)
    negative = keras3.random.uniform((2,), seed=-2).numpy()
    numpy.testing.assert_allclose(negative, [0.348, 0.8638], atol=2e-5)
    assert (negative == keras3.random.uniform((2,), seed=2**31 - 4).numpy()).all()
    keras3.utils.set_random_seed(4)
    generator = keras3.random.SeedGenerator()
    assert (
        generator.state.numpy().tolist() == [253454710, 0]
        and generator.get_config()["seed"] is None
    )
    numpy.testing.assert_allclose(
        keras3.random.normal((2,), seed=generator).numpy(), [-0.53897, -0.74764], atol=2e-5
    )
    assert generator.state.numpy().tolist() == [253454710, 1]


def test_dropout_of_a_compiled_step_goes_on():
    """The state of the seeds advances in functions, and is no weight of the layer."""
    K.utils.set_random_seed(1)
    layer = L.Dropout(0.5)
    eager = [layer(tf.ones([40]), training=True).numpy() for _ in range(3)]
    K.utils.set_random_seed(1)
    layer = L.Dropout(0.5)
    traced = tf.function(lambda x: layer(x, training=True))
    for expected in eager:
        assert (traced(tf.ones([40])).numpy() == expected).all()
    assert layer.weights == [] and layer.get_config()["seed"] is None
    assert (eager[0] != eager[1]).any()


def test_stateless_dropout():
    x = tf.ones([6])
    dropped = tf.nn.experimental.stateless_dropout(x, 0.5, [1, 2])
    numpy.testing.assert_array_equal(dropped, tf.nn.experimental.stateless_dropout(x, 0.5, [1, 2]))

    def sampler(shape, dtype):
        return tf.random.stateless_uniform(shape, [1, 2], dtype=dtype)

    numpy.testing.assert_array_equal(dropped, tf.nn.experimental.general_dropout(x, 0.5, sampler))
    numpy.testing.assert_array_equal(dropped, [2.0, 0.0, 2.0, 0.0, 0.0, 2.0])
