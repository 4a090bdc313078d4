# SPDX-License-Identifier: Apache-2.0
"""test_keras_values.py: layers and functions of Keras that programs use now and then; the numbers
are TensorFlow's."""

import numpy as np
import pytest

import situ as tf

layers, backend = tf.keras.layers, tf.keras.backend
IMAGES = tf.reshape(tf.range(192.0) / 100, [2, 3, 4, 4, 2])
ROWS = tf.reshape(tf.range(48.0) / 10, [2, 6, 4])


def with_weights(layer, x):
    layer(x)
    some = np.random.RandomState(1)
    layer.set_weights([some.randn(*w.shape).astype("f") * 0.3 for w in layer.get_weights()])
    return layer(x)


def test_lstm_of_images():
    result = with_weights(
        layers.ConvLSTM2D(
            3, 2, return_state=True, go_backwards=True, recurrent_activation="sigmoid"
        ),
        IMAGES,
    )
    np.testing.assert_allclose(
        [m.numpy().sum() for m in result], [13.5973, 13.5973, 29.557], rtol=1e-4
    )
    model = tf.keras.Sequential(
        [
            tf.keras.Input((3, 4, 4, 2)),
            layers.ConvLSTM2D(2, 3, padding="same", return_sequences=True),
        ]
    )
    model.compile("adam", "mse")
    model.fit(IMAGES, tf.zeros([2, 3, 4, 4, 2]), verbose=0)


@pytest.mark.parametrize(
    "layer, sums",
    [
        (
            lambda: layers.SeparableConv1D(3, 3, padding="same"),
            [[0.4285, -2.5544, -0.5181], [-1.1709, -5.151, 0.773]],
        ),
        (
            lambda: layers.SeparableConv1D(3, 3, padding="causal", dilation_rate=2),
            [[0.3353, -2.0503, -1.5326], [-1.6379, -3.8897, -2.5578]],
        ),
        (
            lambda: layers.DepthwiseConv1D(3, strides=2),
            [[0.8415, -1.8513, 2.7652, -3.4671], [4.8862, -6.4055, 6.6226, -9.0749]],
        ),
    ],
)
def test_rows(layer, sums):
    result = with_weights(layer(), ROWS)
    np.testing.assert_allclose(result.numpy().sum(1), sums, atol=2e-4)


def test_groups_of_channels():
    x = tf.random.normal([2, 5, 8]) * 3 + 1
    result = layers.GroupNormalization(groups=2)(x).numpy().reshape(2, 5, 2, 4)
    np.testing.assert_allclose(result.mean((1, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(result.std((1, 3)), 1, atol=1e-2)


def test_columns_of_features():
    column = tf.feature_column
    kwargs = column.categorical_column_with_vocabulary_list("t", ["a", "b"])
    columns = [
        column.numeric_column("age"),
        column.indicator_column(kwargs),
        column.bucketized_column(column.numeric_column("age"), [20, 40]),
        column.embedding_column(kwargs, 2),
    ]
    features = {"age": np.array([10.0, 30.0]), "t": np.array(["a", "z"])}
    plain = layers.DenseFeatures(columns[:3])(features)
    assert plain.numpy().tolist() == [[10, 1, 0, 0, 1, 0], [30, 0, 1, 0, 0, 0]]
    model = tf.keras.Sequential([layers.DenseFeatures(columns), layers.Dense(1)])
    model.compile("adam", "mse")
    data = tf.data.Dataset.from_tensor_slices((features, [1.0, 0.0])).batch(2)
    model.fit(data, verbose=0)
    assert len(model.trainable_weights) == 3


def test_functions_of_the_backend():
    assert backend.batch_dot(tf.ones([2, 3, 4]), tf.ones([2, 4, 5])).shape == (2, 3, 5)
    assert backend.batch_dot(tf.ones([2, 3]), tf.ones([2, 3]), axes=1).numpy().tolist() == [[3]] * 2
    assert backend.repeat(tf.ones([2, 3]), 4).shape == (2, 4, 3)
    assert backend.arange(3).numpy().tolist() == [0, 1, 2]
    v = tf.Variable(1.0)
    backend.update_add(v, 2.0)
    assert v.numpy() == 3


def test_windows_and_pairs():
    sequence = tf.keras.preprocessing.sequence
    result = sequence.TimeseriesGenerator(np.arange(10), np.arange(10), 3, batch_size=2)
    x, y = result[0]
    assert len(result) == 4 and x.tolist() == [[0, 1, 2], [1, 2, 3]] and y.tolist() == [3, 4]
    pairs, labels = sequence.skipgrams([1, 2, 3], 5, 1, 0, shuffle=False)
    assert pairs == [[1, 2], [2, 1], [2, 3], [3, 2]] and labels == [1] * 4
    np.testing.assert_allclose(
        sequence.make_sampling_table(3), [0.003153, 0.003153, 0.005479], atol=1e-4
    )


def test_hashes_are_those_of_tensorflow():
    assert layers.Hashing(1000)(["a", "b", "hello world"]).numpy().tolist() == [939, 822, 11]
    assert layers.Hashing(1000, mask_value="")(["a", ""]).numpy().tolist() == [958, 0]
    assert layers.Hashing(1000)([1, 2]).numpy().tolist() == [849, 759]
    kwargs = layers.StringLookup(vocabulary=["a", "b"], num_oov_indices=3)
    assert kwargs(["b", "z", "q", "hello"]).numpy().tolist() == [4, 1, 2, 1]
    numbers = layers.IntegerLookup(vocabulary=[5, 6], num_oov_indices=3)
    assert numbers([5, 7, 8, 100]).numpy().tolist() == [3, 1, 2, 1]


def test_structures_are_printed(capsys):
    tf.print({"a": tf.constant([1, 2]), "b": (1, tf.constant(2.0))}, ("x", tf.constant("y")))
    assert capsys.readouterr().err == "{'a': [1 2], 'b': (1, 2)} ('x', \"y\")\n"


def test_images_of_unknown_size_grow():
    x = tf.keras.Input((None, None, 3))
    small = layers.Conv2D(4, 3, strides=2, padding="same")(x)
    model = tf.keras.Model(x, layers.Concatenate()([layers.UpSampling2D(2)(small), x]))
    assert model(tf.ones([2, 8, 6, 3])).shape == (2, 8, 6, 7)


def test_weights_of_the_first_layers(tmp_path):
    first = tf.keras.Sequential([layers.Dense(3, input_shape=(2,))])
    first.save_weights(tmp_path / "w")
    more = tf.keras.Sequential([layers.Dense(3, input_shape=(2,)), layers.Dense(1)])
    more.load_weights(tmp_path / "w")
    assert (more.get_weights()[0] == first.get_weights()[0]).all()


def test_metrics_of_overlap_and_f1():
    metrics = tf.keras.metrics

    def value(metric, y_true, y_pred):
        metric.update_state(y_true, y_pred)
        return metric.result().numpy()

    assert value(metrics.IoU(2, [0]), [0, 0, 1, 1], [0, 1, 0, 1]) == pytest.approx(1 / 3)
    assert value(
        metrics.BinaryIoU([0, 1], 0.3), [0, 1, 0, 1], [0.1, 0.2, 0.4, 0.7]
    ) == pytest.approx(1 / 3)
    labels = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 0]], "f")
    result = np.array([[0.2, 0.6, 0.7], [0.2, 0.6, 0.6], [0.6, 0.8, 0.0]], "f")
    np.testing.assert_allclose(
        value(metrics.F1Score(threshold=0.5), labels, result), [0.5, 0.8, 0.6666667], rtol=1e-5
    )
    explained = value(metrics.R2Score(), [[1.0], [4], [3]], [[2.0], [4], [4]])
    assert explained == pytest.approx(0.5714286)


class Pair(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second = layers.Dense(3), layers.Dense(2)

    def call(self, x):
        return self.second(self.first(x))


def test_weights_that_are_loaded_before_they_are_made(tmp_path):
    x = np.ones((2, 4), "float32")
    model = Pair()
    result = model(x).numpy()
    model.save_weights(tmp_path / "w")
    for use in (lambda m: m(x).numpy(), lambda m: m.predict(x, verbose=0)):
        again = Pair()
        again.load_weights(tmp_path / "w").expect_partial()
        np.testing.assert_allclose(use(again), result, rtol=1e-6)


def test_layer_that_needs_values_in_a_sequence():
    class Rows(layers.Layer):
        def call(self, x):
            return tf.reshape(x, [int(tf.shape(x)[0]), -1])

    model = tf.keras.Sequential([layers.Dense(2), Rows()])
    assert model(tf.ones([3, 4])).shape == (3, 2)
