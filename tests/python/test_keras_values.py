# SPDX-License-Identifier: Apache-2.0
"""test_keras_values.py: less common layers and functions of Keras; the numbers are TensorFlow's."""

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


@pytest.mark.parametrize(
    "layer, shape, total, first",
    [
        (lambda: layers.Conv2DTranspose(2, 3, dilation_rate=2), (1, 8, 8, 2), 248.05621, 1.2356778),
        (
            lambda: layers.Conv2DTranspose(2, 3, padding="same", dilation_rate=2),
            (1, 4, 4, 2),
            108.52835,
            3.6414795,
        ),
        (
            lambda: layers.Conv1DTranspose(2, 3, dilation_rate=2),
            (4, 8, 2),
            71.54137,
            0.8844916,
        ),
    ],
)
def test_dilated_transposed_convolutions(layer, shape, total, first):
    layer, x = layer(), np.random.RandomState(0).rand(1, 4, 4, 3).astype("f")
    x = x[0] if len(shape) == 3 else x
    layer.build(x.shape)
    some = np.random.RandomState(1)
    layer.set_weights([some.rand(*w.shape).astype("f") for w in layer.get_weights()])
    result = layer(x).numpy()
    assert result.shape == shape
    np.testing.assert_allclose([result.sum(), result.ravel()[0]], [total, first], rtol=1e-5)


def test_masked_steps_of_lstms_of_images():
    mask = tf.constant([[True, False, True], [True, True, False]])
    kwargs = {"recurrent_activation": "sigmoid"}
    layer = layers.ConvLSTM2D(3, 2, return_state=True, return_sequences=True, **kwargs)
    with_weights(layer, IMAGES)
    sums = [m.numpy().sum() for m in layer(IMAGES, mask=mask)]
    np.testing.assert_allclose(sums, [32.8862, 14.31434, 30.97445], rtol=1e-5)
    layer = layers.ConvLSTM2D(3, 2, go_backwards=True, **kwargs)
    with_weights(layer, IMAGES)
    np.testing.assert_allclose(layer(IMAGES, mask=mask).numpy().sum(), 12.49792, rtol=1e-5)


def test_recurrent_dropout_of_lstms_of_images():
    layer = layers.ConvLSTM2D(3, 2, recurrent_dropout=0.9)
    still = with_weights(layer, IMAGES).numpy()
    assert (layer(IMAGES, training=True).numpy() != still).any()
    np.testing.assert_array_equal(layer(IMAGES, training=False).numpy(), still)


def test_batch_norm_of_masked_steps():
    x = tf.reshape(tf.range(12.0), [2, 3, 2])
    layer = layers.BatchNormalization(momentum=0.5)
    mask = tf.constant([[True, True, False], [True, False, False]])
    result = layer(x, training=True, mask=mask).numpy()
    np.testing.assert_allclose(
        result[:, :, 1], [[-1.069, -0.2672, 0.5345], [1.3362, 2.1379, 2.9396]], atol=1e-4
    )
    np.testing.assert_allclose(layer.moving_mean.numpy(), [1.3333, 1.8333], atol=1e-4)
    np.testing.assert_allclose(layer.moving_variance.numpy(), [3.6111, 3.6111], atol=1e-4)
    with pytest.raises(ValueError, match="one dimension less"):
        layer(x, training=True, mask=mask[0])


def test_the_fused_batch_norm_has_the_variance_of_a_sample():
    x = tf.reshape(tf.range(8.0), [2, 2, 2, 1])
    for fused, wanted in ((None, 6.0), (True, 6.0), (False, 5.25)):
        layer = layers.BatchNormalization(momentum=0.0, fused=fused)
        layer(x, training=True)
        np.testing.assert_allclose(layer.moving_variance.numpy(), [wanted], rtol=1e-5)
    with pytest.raises(ValueError, match="4D"):
        layers.BatchNormalization(fused=True)(tf.ones([2, 3]))


def test_types_and_shapes_that_a_layer_requires():
    class Strict(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__()
            self.input_spec = layers.InputSpec(**kwargs)

    Strict(shape=(None, 3))(tf.ones([2, 3]))
    with pytest.raises(ValueError, match=r"expected shape=\(None, 3\), found shape=\(2, 4\)"):
        Strict(shape=(None, 3))(tf.ones([2, 4]))
    with pytest.raises(ValueError, match="expected ndim=2, found ndim=1"):
        Strict(shape=(None, 3))(tf.ones([3]))
    Strict(shape=(None, 1), allow_last_axis_squeeze=True)(tf.ones([3]))
    with pytest.raises(ValueError, match="expected dtype=int32, found dtype=float32"):
        Strict(dtype="int32")(tf.ones([3]))
    with pytest.raises(ValueError, match='Missing data for input "a"'):
        Strict(ndim=1, name="a")({"b": tf.ones([3])})


def test_a_symbolic_tensor_as_an_input():
    x = tf.keras.Input((3,), dtype="int32")
    y = tf.keras.Input(tensor=tf.cast(x, "float32") * 2)
    assert y.shape.as_list() == [None, 3] and y.dtype == tf.float32
    model = tf.keras.Model(y, layers.Dense(1, kernel_initializer="ones")(y))
    np.testing.assert_array_equal(model(tf.ones([1, 3])).numpy(), [[3]])
    with pytest.raises(ValueError, match="EagerTensor"):
        tf.keras.Input(tensor=tf.ones([3]))


def test_steps_of_time_distributed_layers_have_their_masks():
    class Masked(layers.Layer):
        def call(self, inputs, mask=None):
            return inputs * tf.cast(mask, "float32")[:, None]

    mask = tf.constant([[True, False], [False, True]])
    result = layers.TimeDistributed(Masked())(tf.ones([2, 2, 1]), mask=mask)
    np.testing.assert_array_equal(result.numpy()[..., 0], mask.numpy())


def test_training_and_mask_of_a_direct_call():
    x = tf.keras.Input((2, 1))
    model = tf.keras.Model(x, layers.GlobalAveragePooling1D()(layers.Dropout(1.0)(x)))
    values = tf.constant([[[1.0], [3.0]]])
    assert model.call(values).numpy() == 2 and model.call(values, training=True).numpy() == 0
    assert model.call(values, mask=tf.constant([[True, False]])).numpy() == 1


def test_dropout_of_whole_steps():
    x = tf.ones([4, 5, 3])
    kept = layers.Dropout(0.5, noise_shape=(None, 1, 3))(x, training=True).numpy()
    np.testing.assert_array_equal(kept, np.broadcast_to(kept[:, :1], kept.shape))
    assert layers.SpatialDropout1D(0.5, 7).seed == 7


def test_layers_of_a_range_are_listed():
    model = tf.keras.Sequential([layers.Dense(1, name=n, input_shape=(1,)) for n in "abc"])
    lines = []
    model.summary(print_fn=lines.append, layer_range=["a", "b"])
    listed = [line.split()[0] for line in lines if "(Dense)" in line]
    assert listed == ["a", "b"]
    with pytest.raises(ValueError, match="do not match"):
        model.summary(layer_range=["x", "y"])


def test_shape_of_a_function():
    shape = (2, 3)
    assert layers.Lambda(lambda x: x).compute_output_shape(shape).as_list() == [2, 3]
    assert layers.Lambda(lambda x: x, (5,)).compute_output_shape(shape).as_list() == [2, 5]
    double = layers.Lambda(lambda x: x, lambda s: (s[0], 2 * s[1]))
    assert double.compute_output_shape(shape).as_list() == [2, 6]


def test_configuration_of_batch_norm():
    for kwargs in ({"fused": False}, {"synchronized": True}):
        layer = layers.BatchNormalization(**kwargs)
        again = type(layer).from_config(layer.get_config())
        assert (again.fused, again.synchronized) == (layer.fused, layer.synchronized)


def test_unknown_format_of_a_file(tmp_path):
    model = tf.keras.Sequential([layers.Dense(1, input_shape=(1,))])
    for save in (model.save, model.save_weights):
        with pytest.raises(ValueError, match='Unknown format: "zip"'):
            save(tmp_path / "m", save_format="zip")
