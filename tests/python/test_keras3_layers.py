# SPDX-License-Identifier: Apache-2.0
"""test_keras3_layers.py: layers, optimizers, losses and metrics of Keras 3. Numbers were compared
with those of Keras 3.15."""

import numpy as np
import pytest

import situ as tf

keras = tf.keras3
layers = keras.layers


def normal(*shape):
    return np.random.RandomState(3).randn(*shape).astype("float32")


def filled(layer, *inputs, **kwargs):
    """Returns the output of a layer with fixed weights."""
    layer(*inputs, **kwargs)
    rng = np.random.RandomState(1)
    values = [(rng.randn(*w.shape) * 0.4 + 0.2).astype("float32") for w in layer.get_weights()]
    layer.set_weights(values)
    return np.asarray(layer(*inputs, **kwargs))


def checksum(y):
    """Returns the sum of absolute values, and that of the values times their indices."""
    y = y.astype("float64")
    return np.abs(y).sum(), (y.ravel() * np.arange(y.size)).sum()


CASES = {
    "Conv3DTranspose": (
        lambda: layers.Conv3DTranspose(2, 3, strides=2, padding="same"),
        (2, 3, 4, 3, 2),
        (817.3303, 64009.8418),
    ),
    "Conv3DTranspose.output_padding": (
        lambda: layers.Conv3DTranspose(2, 3, strides=2, output_padding=1),
        (2, 3, 3, 3, 2),
        (1003.5876, 236129.6729),
    ),
    "ConvLSTM2D": (
        lambda: layers.ConvLSTM2D(3, 2, padding="same", recurrent_activation="sigmoid"),
        (2, 3, 5, 4, 2),
        (47.3404, 2661.0391),
    ),
    "ConvLSTM3D": (
        lambda: layers.ConvLSTM3D(3, 2, recurrent_activation="sigmoid"),
        (2, 3, 4, 4, 4, 2),
        (70.4573, 4553.6733),
    ),
    "MelSpectrogram": (
        lambda: layers.MelSpectrogram(
            fft_length=64, sequence_stride=16, sampling_rate=8000, num_mel_bins=10
        ),
        (2, 256),
        (5679.2907, 1007787.5886),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_layers(name):
    make, shape, want = CASES[name]
    layer = make()
    np.testing.assert_allclose(checksum(filled(layer, normal(*shape))), want, rtol=1e-5)
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    x = keras.Input(shape[1:])
    assert keras.Model(x, make()(x)).predict(normal(*shape)).shape[0] == shape[0]


def test_group_query_attention():
    query, value = normal(2, 5, 6), normal(2, 7, 6)
    result = filled(layers.GroupQueryAttention(4, 4, 2), query, value)
    np.testing.assert_allclose(checksum(result), (118.0892, 2214.2369), rtol=1e-5)
    layer = layers.GroupQueryAttention(4, 4, 2, use_gate=True, sliding_window=3)
    result = filled(layer, query, query, use_causal_mask=True)
    np.testing.assert_allclose(checksum(result), (45.1698, 37.9738), rtol=1e-4)
    out, scores = layer(query, query, return_attention_scores=True)
    assert scores.shape == (2, 4, 5, 5) and out.shape == (2, 5, 6)
    with pytest.raises(ValueError, match="must be divisible"):
        layers.GroupQueryAttention(4, 3, 2)
    with pytest.raises(ValueError, match="sliding_window=0"):
        layers.GroupQueryAttention(4, 4, 2, sliding_window=0)


def test_rms_normalization():
    x = normal(2, 3, 5)
    want = x / np.sqrt((x**2).mean((1, 2), keepdims=True) + 0.1)
    layer = layers.RMSNormalization(axis=[1, 2], epsilon=0.1)
    np.testing.assert_allclose(layer(x), want, rtol=1e-5)
    assert layer.scale.shape == (3, 5)
    with pytest.raises(ValueError, match="out of bounds"):
        layers.RMSNormalization(axis=4)(x)


def test_spectral_normalization():
    layer = layers.SpectralNormalization(layers.Dense(4), power_iterations=50)
    x = normal(3, 5)
    layer(x)
    before = layer.layer.kernel.numpy()
    layer(x, training=True)
    after = layer.layer.kernel.numpy()
    np.testing.assert_allclose(np.linalg.svd(after)[1][0], 1.0, rtol=1e-4)
    np.testing.assert_allclose(after, before / np.linalg.svd(before)[1][0], rtol=1e-4)
    with pytest.raises(ValueError, match="power_iterations=0"):
        layers.SpectralNormalization(layers.Dense(4), power_iterations=0)
    with pytest.raises(ValueError, match="no attribute 'kernel'"):
        layers.SpectralNormalization(layers.ReLU())(x)


def test_reversible_embedding():
    layer = layers.ReversibleEmbedding(8, 4, logit_soft_cap=2.0)
    vectors = layer(np.array([[1, 2], [3, 0]]))
    table = layer.embeddings.numpy()
    want = np.tanh(vectors.numpy() @ table.T / 2.0) * 2.0
    np.testing.assert_allclose(layer(vectors, reverse=True), want, rtol=1e-5)
    untied = layers.ReversibleEmbedding(8, 4, tie_weights=False)
    untied(np.array([1]))
    assert len(untied.weights) == 2


def test_adaptive_pooling():
    x = normal(2, 7, 5, 3)
    result = layers.AdaptiveMaxPooling2D((2, 3))(x).numpy()
    assert result.shape == (2, 2, 3, 3)
    np.testing.assert_allclose(result[:, 0, 0], x[:, :4, :2].max((1, 2)))
    result = layers.AdaptiveAveragePooling1D(3)(normal(2, 7, 3)).numpy()
    np.testing.assert_allclose(result[:, 1], normal(2, 7, 3)[:, 2:5].mean(1), rtol=1e-5)
    assert layers.AdaptiveAveragePooling3D(2)(normal(2, 5, 4, 3, 2)).shape == (2, 2, 2, 2, 2)
    with pytest.raises(ValueError, match="Invalid data_format"):
        layers.AdaptiveMaxPooling1D(2, data_format="first")


def test_hashed_crossing():
    layer = layers.HashedCrossing(num_bins=5)
    first = np.array(["A", "B", "A", "B", "A"])
    assert layer([first, np.array([101, 101, 101, 102, 102])]).numpy().tolist() == [1, 4, 1, 1, 3]
    hot = layers.HashedCrossing(num_bins=5, output_mode="one_hot")
    result = hot([first, np.array([101, 101, 101, 102, 102])])
    assert result.numpy().argmax(-1).tolist() == [1, 4, 1, 1, 3]
    with pytest.raises(ValueError, match="at least two inputs"):
        layer([first])
    with pytest.raises(ValueError, match="equal shape"):
        layer([first, np.array([1, 2])])
    with pytest.raises(NotImplementedError, match="sparse"):
        layers.HashedCrossing(5, sparse=True)


def test_stft_spectrogram():
    x = normal(2, 128, 1)
    layer = layers.STFTSpectrogram(
        mode="magnitude", frame_length=32, frame_step=16, window="hamming", scaling=None
    )
    frames = np.stack([x[:, i : i + 32, 0] for i in range(0, 97, 16)], 1)
    want = np.abs(np.fft.rfft(frames * np.hamming(32)))
    np.testing.assert_allclose(layer(x), want, rtol=1e-3, atol=1e-3)
    wide = layers.STFTSpectrogram(
        mode="stft", frame_length=32, fft_length=64, expand_dims=True, padding="same"
    )
    assert wide(normal(2, 128, 3)).shape == (2, 8, 66, 3)
    with pytest.raises(ValueError, match="mode=phase"):
        layers.STFTSpectrogram(mode="phase")
    with pytest.raises(ValueError, match="frame_step=300"):
        layers.STFTSpectrogram(frame_step=300)


def test_pipeline():
    layer = layers.Pipeline([layers.Rescaling(2.0), layers.Rescaling(0.5, 1.0)])
    np.testing.assert_allclose(layer(normal(2, 4)), normal(2, 4) + 1.0, rtol=1e-5)
    again = layers.Pipeline.from_config(layer.get_config())
    np.testing.assert_allclose(again(normal(2, 4)), normal(2, 4) + 1.0, rtol=1e-5)


OPTIMIZERS = {
    "lion": (lambda o: o.Lion(0.01), [6.34536, 5.94892, 5.54935]),
    "lamb": (lambda o: o.Lamb(0.02), [6.30577, 5.24827, 4.27990]),
    "adafactor": (lambda o: o.Adafactor(0.05), [6.18750, 4.28826, 2.96781]),
    "adafactor.fixed": (
        lambda o: o.Adafactor(0.5, relative_step=False, clip_threshold=0.5),
        [6.61285, 2.41560, 1.89347],
    ),
    "muon": (lambda o: o.Muon(0.05), [6.23984, 5.43612, 4.74535]),
    "muon.plain": (
        lambda o: o.Muon(0.05, nesterov=False, rms_rate=None, ns_steps=3, weight_decay=None),
        [6.23363, 5.14743, 4.24562],
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    make, want = OPTIMIZERS[name]
    rng = np.random.RandomState(0)
    x = keras.Input([4])
    model = keras.Model(x, layers.Dense(2)(layers.Dense(6, activation="tanh")(x)))
    model.set_weights([rng.randn(*w.shape).astype("float32") for w in model.get_weights()])
    data, labels = rng.randn(8, 4).astype("float32"), rng.randn(8, 2).astype("float32")
    optimizer = make(keras.optimizers)
    model.compile(optimizer, "mse")
    history = model.fit(data, labels, batch_size=4, epochs=3, shuffle=False, verbose=0)
    np.testing.assert_allclose(history.history["loss"], want, rtol=1e-4)
    again = type(optimizer).from_config(optimizer.get_config())
    assert again.get_config() == optimizer.get_config()


def test_schedule_free_adamw_averages():
    w = tf.Variable([1.0])
    optimizer = keras.optimizers.ScheduleFreeAdamW(0.1, warmup_steps=2)
    for _ in range(200):
        optimizer.apply([2.0 * w], [w])
    assert abs(float(w[0])) < 0.1
    with pytest.raises(ValueError, match="beta_1=0"):
        keras.optimizers.Lion(beta_1=0)


def test_losses_and_metrics():
    rng = np.random.RandomState(0)
    e = rng.randn(6, 4).astype("float32")
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    y = np.array([0, 1, 0, 1, 2, 2])
    each = keras.losses.circle(y, e).numpy()
    assert each.shape == (6,) and (each >= 0).all()
    kept = each[each > 0]
    np.testing.assert_allclose(keras.losses.Circle()(y, e), kept.mean(), rtol=1e-5)
    p = np.full([6, 3], 1 / 3, "float32")
    want = (1 - (1 / 3) ** 0.7) / 0.7
    gce = keras.losses.CategoricalGeneralizedCrossEntropy(q=0.7)
    np.testing.assert_allclose(gce(y, p), want, rtol=1e-5)
    with pytest.raises(ValueError, match="interval"):
        keras.losses.CategoricalGeneralizedCrossEntropy(q=1.5)
    scores = keras.losses.ctc(np.array([[1, 2, 0]]), np.zeros([1, 6, 5], "float32"))
    assert scores.shape == (1,) and float(scores[0]) > 0
    a, b = rng.randn(4, 5).astype("float32"), rng.randn(4, 5).astype("float32")
    want = [np.corrcoef(x, y)[0, 1] for x, y in zip(a, b)]
    np.testing.assert_allclose(keras.metrics.pearson_correlation(a, b), want, rtol=1e-4)
    metric = keras.metrics.PearsonCorrelation()
    metric.update_state(a, b)
    np.testing.assert_allclose(metric.result(), np.mean(want), rtol=1e-4)
    assert keras.metrics.ConcordanceCorrelation(axis=0).get_config()["axis"] == 0
    regularizer = keras.regularizers.OrthogonalRegularizer(0.5)
    np.testing.assert_allclose(regularizer(np.eye(3, dtype="float32")), 0.0)
    np.testing.assert_allclose(regularizer(np.ones([3, 2], "float32")), 0.5, rtol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_policies(policy):
    keras.mixed_precision.set_global_policy(policy)
    try:
        x = keras.Input([8, 8, 3])
        h = layers.Conv2D(4, 3, activation="relu")(x)
        h = layers.BatchNormalization()(h)
        h = layers.RMSNormalization()(layers.Flatten()(h))
        model = keras.Model(x, layers.Dense(3, activation="softmax")(h))
    finally:
        keras.mixed_precision.set_global_policy("float32")
    compute = policy[len("mixed_") :]
    out = model(normal(4, 8, 8, 3))
    assert out.dtype.name == compute and model.layers[1].compute_dtype == compute
    assert {w.dtype.name for w in model.weights} == {"float32"}
    model.compile("sgd", "sparse_categorical_crossentropy")
    is_scaled = isinstance(model.optimizer, tf.keras.mixed_precision.LossScaleOptimizer)
    assert is_scaled == (policy == "mixed_float16")
    # The first steps may be skipped: their gradients exceed half precision at the initial scale.
    history = model.fit(normal(4, 8, 8, 3), np.arange(4) % 3, epochs=20, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]


def test_default_of_cropping():
    assert layers.Cropping2D()(normal(2, 4, 4, 3)).shape == (2, 4, 4, 3)
    assert layers.Cropping1D()(normal(2, 4, 3)).shape == (2, 2, 3)


IMAGES = (np.random.RandomState(3).rand(4, 6, 8, 3) * 255).astype("float32")
AUGMENTATIONS = {
    "hue": (lambda: layers.RandomHue(0.4, seed=3), (73890.645, 14597.544, 30.0)),
    "saturation": (
        lambda: layers.RandomSaturation((0.2, 0.8), seed=3),
        (42430.157, 39415.360, 30.0),
    ),
    "invert": (lambda: layers.RandomInvert(0.6, seed=3), (73966.479, 16786.696, 30.0)),
    "posterization": (
        lambda: layers.RandomPosterization((2, 6), seed=1),
        (64424.000, 8846.541, 30.0),
    ),
    "solarization": (lambda: layers.Solarization(0.3, 0.7, seed=2), (38513.519, 66315.539, 30.0)),
    "contrast": (lambda: layers.AutoContrast(), (73028.423, 2004.616, 30.0)),
    "equalization": (lambda: layers.Equalization(), (73724.000, 3261.472, 30.0)),
    "degeneration": (
        lambda: layers.RandomColorDegeneration((0.2, 0.9), seed=4),
        (73454.167, 18834.204, 30.0),
    ),
    "sharpness": (lambda: layers.RandomSharpness((0.1, 0.9), seed=4), (74870.772, 8129.838, 30.0)),
    "blur": (
        lambda: layers.RandomGaussianBlur(0.7, kernel_size=5, sigma=(0.3, 0.9), seed=4),
        (70529.767, 9028.913, 30.0),
    ),
    "erasing": (lambda: layers.RandomErasing(0.8, seed=2), (71943.893, 3698.815, 30.0)),
    "mix up": (lambda: layers.MixUp(0.5, seed=3), (73234.159, 9439.639, 30.8763)),
    "cut mix": (lambda: layers.CutMix(0.9, seed=3), (73676.566, 19812.860, 29.6753)),
    "shear": (lambda: layers.RandomShear(0.3, (0.1, 0.4), seed=3), (73556.025, 31590.605, 30.0)),
    "shear fill": (
        lambda: layers.RandomShear(
            (0.1, 0.5), fill_mode="constant", fill_value=9.0, interpolation="nearest", seed=4
        ),
        (67071.506, 28720.515, 30.0),
    ),
    "perspective": (
        lambda: layers.RandomPerspective(0.9, 0.6, fill_value=5.0, seed=2),
        (63415.773, 29997.601, 30.0),
    ),
    "elastic": (
        lambda: layers.RandomElasticTransform(0.9, (0.5, 1.0), seed=2),
        (72787.839, 9749.912, 30.0),
    ),
    "jitter": (
        lambda: layers.RandomColorJitter(
            brightness_factor=0.2,
            contrast_factor=0.3,
            saturation_factor=(0.3, 0.6),
            hue_factor=0.1,
            seed=1,
        ),
        (82127.111, 15406.843, 30.0),
    ),
}


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_image_augmentation(name):
    make, want = AUGMENTATIONS[name]
    layer = make()
    result = np.asarray(layer(IMAGES)).astype("float64")
    data = layer({"images": IMAGES, "labels": np.eye(4, dtype="float32")})
    labels = (np.asarray(data["labels"]) * np.arange(16).reshape(4, 4)).sum()
    found = result.sum(), np.abs(result - IMAGES).sum(), labels
    np.testing.assert_allclose(found, want, rtol=1e-5)
    assert layer(IMAGES[0]).shape == (6, 8, 3)
    if name != "contrast":
        np.testing.assert_allclose(layer(IMAGES, training=False), IMAGES)
    first = type(layer)(**{**layer.get_config(), "data_format": "channels_first"})
    turned = first(IMAGES.transpose(0, 3, 1, 2))
    again = type(layer).from_config(layer.get_config())(IMAGES)
    want = np.asarray(again).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(turned, want, rtol=1e-4, atol=1e-2)
    mapped = tf.data.Dataset.from_tensors(IMAGES).map(lambda x: make()(x))
    assert next(iter(mapped)).shape == IMAGES.shape


def test_arguments_of_image_augmentation():
    with pytest.raises(ValueError, match=r"in the range \[0, 1\]. Received: factor=2"):
        layers.RandomHue(2)
    with pytest.raises(ValueError, match="value_range=3"):
        layers.RandomSharpness(0.5, value_range=3)
    with pytest.raises(ValueError, match="odd number"):
        layers.RandomGaussianBlur(kernel_size=4)
    with pytest.raises(ValueError, match="three numbers"):
        layers.RandomErasing(fill_value=[1, 2])
    with pytest.raises(ValueError, match="between 0 and 1"):
        layers.RandomGrayscale(3)
    with pytest.raises(NotImplementedError, match="segmentation_masks"):
        layers.MixUp()({"images": IMAGES, "segmentation_masks": IMAGES})
    with pytest.raises(ValueError, match="y_factor=-0.5"):
        layers.RandomShear(0.5, -0.5)
    with pytest.raises(NotImplementedError, match="fill_mode"):
        layers.RandomShear(0.5, fill_mode="mirror")
    with pytest.raises(ValueError, match="scale=2"):
        layers.RandomPerspective(scale=2)
    with pytest.raises(NotImplementedError, match="bounding_boxes"):
        layers.RandomPerspective()({"images": IMAGES, "bounding_boxes": {}})
    gray = np.asarray(layers.RandomGrayscale(1.0)(IMAGES))
    np.testing.assert_allclose(gray[..., 0], gray[..., 2])


@pytest.mark.parametrize("count", [1, 3, 5])
def test_max_num_bounding_boxes(count):
    boxes = np.arange(48.0, dtype="float32").reshape(4, 3, 4)
    data = {"images": IMAGES, "bounding_boxes": {"boxes": boxes, "labels": np.ones((4, 3))}}
    layer = layers.MaxNumBoundingBoxes(count, fill_value=-2, bounding_box_format="xyxy")
    for made in (layer(data), next(iter(tf.data.Dataset.from_tensors(data).map(layer)))):
        found = made["bounding_boxes"]
        assert found["boxes"].shape == (4, count, 4) and found["labels"].shape == (4, count)
        kept = min(count, 3)
        np.testing.assert_array_equal(found["boxes"][:, :kept], boxes[:, :kept])
        assert (np.asarray(found["boxes"])[:, 3:] == -2).all()
        assert (np.asarray(found["labels"])[:, 3:] == -2).all()
        np.testing.assert_array_equal(made["images"], IMAGES)


def test_split_dataset():
    left, right = keras.utils.split_dataset(np.arange(10), left_size=0.7)
    assert [int(x) for x in left] == list(range(7)) and [int(x) for x in right] == [7, 8, 9]
    data = tf.data.Dataset.range(10).batch(2)
    left, right = keras.utils.split_dataset(data, right_size=4, shuffle=True, seed=1)
    rows = [x.numpy().tolist() for part in (left, right) for x in part]
    assert [len(row) for row in rows] == [2] * 5 and sorted(np.ravel(rows)) == list(range(10))
    left, _ = keras.utils.split_dataset((np.arange(4), np.ones([4, 2])), left_size=1)
    x, y = next(iter(left))
    assert int(x) == 0 and y.shape == (2,)
    with pytest.raises(ValueError, match="At least one"):
        keras.utils.split_dataset(np.arange(10))
    with pytest.raises(ValueError, match="left_size=1.5"):
        keras.utils.split_dataset(np.arange(10), left_size=1.5)


def test_swap_ema_weights():
    x = keras.Input([2])
    model = keras.Model(x, layers.Dense(1, use_bias=False)(x))
    model.compile(keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5), "mse")
    data, labels = normal(8, 2), normal(8, 1)
    seen = []

    class Note(keras.callbacks.Callback):
        def on_test_batch_end(self, batch, logs=None):
            seen.append(self.model.get_weights()[0].copy())

    callbacks = [keras.callbacks.SwapEMAWeights(), Note()]
    model.fit(data, labels, epochs=2, verbose=0)
    average = model.optimizer.get_slot(model.weights[0], "average")
    model.weights[0].assign_add([[1.0], [1.0]])
    before, mean = model.get_weights()[0], average.numpy()
    model.evaluate(data, labels, callbacks=callbacks, verbose=0)
    np.testing.assert_allclose(seen[0], mean)
    np.testing.assert_allclose(model.get_weights()[0], before)
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="use_ema=True"):
        model.evaluate(data, labels, callbacks=[keras.callbacks.SwapEMAWeights()], verbose=0)


def test_schedules_are_serialized():
    schedules = keras.optimizers.schedules
    saved = schedules.serialize(schedules.ExponentialDecay(0.1, 10, 0.5))
    assert saved["class_name"] == "ExponentialDecay"
    again = schedules.deserialize(saved)
    np.testing.assert_allclose(again(10), 0.05, rtol=1e-6)
    with pytest.raises(ValueError, match="Unknown decay: 'Other'"):
        schedules.deserialize({"class_name": "Other", "config": {}})


def test_complex_numbers():
    z = keras.ops.view_as_complex([[1.0, 2.0], [3.0, -4.0]])
    assert z.numpy().tolist() == [1 + 2j, 3 - 4j]
    assert keras.ops.view_as_real(z).numpy().tolist() == [[1.0, 2.0], [3.0, -4.0]]
    np.testing.assert_allclose(keras.ops.polar([2.0], [np.pi / 2]), [2j], atol=1e-6)
    with pytest.raises(ValueError, match="must be size 2"):
        keras.ops.view_as_complex([1.0])


ACCUMULATION = {
    "sgd": (
        lambda o: o.SGD(0.1, gradient_accumulation_steps=2),
        [5.6986, 2.4212, 1.5399],
        6,
    ),
    "adam": (
        lambda o: o.Adam(0.05, gradient_accumulation_steps=3, clipnorm=0.5),
        [6.3819, 5.0030, 3.9763],
        4,
    ),
    "scaled": (lambda o: o.SGD(0.1, loss_scale_factor=16.0), [5.2946, 1.4688, 1.1444], 12),
    "schedule": (
        lambda o: o.Adam(o.schedules.ExponentialDecay(0.1, 2, 0.5), gradient_accumulation_steps=2),
        [6.2871, 4.8545, 4.5709],
        6,
    ),
}


@pytest.mark.parametrize("is_eager", [False, True])
@pytest.mark.parametrize("name", ACCUMULATION)
def test_gradient_accumulation(name, is_eager):
    make, want, steps = ACCUMULATION[name]
    rng = np.random.RandomState(0)
    x = keras.Input([4])
    model = keras.Model(x, layers.Dense(2)(layers.Dense(6, activation="tanh")(x)))
    model.set_weights([rng.randn(*w.shape).astype("float32") for w in model.get_weights()])
    data, labels = rng.randn(8, 4).astype("float32"), rng.randn(8, 2).astype("float32")
    optimizer = make(keras.optimizers)
    model.compile(optimizer, "mse", run_eagerly=is_eager)
    history = model.fit(data, labels, batch_size=2, epochs=3, shuffle=False, verbose=0)
    np.testing.assert_allclose(history.history["loss"], want, rtol=1e-4)
    assert int(optimizer.iterations) == steps
    again = type(optimizer).from_config(optimizer.get_config())
    assert again.gradient_accumulation_steps == optimizer.gradient_accumulation_steps
    with pytest.raises(ValueError, match="gradient_accumulation_steps=1"):
        keras.optimizers.SGD(gradient_accumulation_steps=1)
