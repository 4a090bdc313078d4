# SPDX-License-Identifier: Apache-2.0
"""test_keras_preprocessing.py: preprocessing layers for images, numbers and strings; multi-head
attention; image files; modules of older releases of Keras."""

import importlib

import numpy as np
import pytest

import situ as tf
from situ._src.keras.affine_transform import warp

L = tf.keras.layers
IMAGES = np.arange(2 * 6 * 8 * 3).reshape(2, 6, 8, 3).astype("f")


def test_rescaling_resizing_and_crops():
    np.testing.assert_allclose(L.Rescaling(2.0, 1.0)(IMAGES).numpy(), IMAGES * 2 + 1)
    np.testing.assert_array_equal(L.CenterCrop(4, 4)(IMAGES).numpy(), IMAGES[:, 1:5, 2:6])
    assert L.Resizing(3, 4)(IMAGES).shape.as_list() == [2, 3, 4, 3]
    any_size = L.CenterCrop(4, 4)(tf.keras.Input((None, None, 3)))
    assert any_size.shape.as_list() == [None, 4, 4, 3]
    cut = L.RandomCrop(6, 8)
    np.testing.assert_array_equal(cut(IMAGES, training=True).numpy(), IMAGES)
    np.testing.assert_array_equal(
        L.RandomCrop(4, 4)(IMAGES, training=False).numpy(), IMAGES[:, 1:5, 2:6]
    )


@pytest.mark.parametrize(
    "mode, wanted",
    [
        ("constant", [-1, -1, 0, 1]),
        ("reflect", [1, 0, 0, 1]),
        ("wrap", [2, 3, 0, 1]),
        ("nearest", [0, 0, 0, 1]),
    ],
)
def test_what_is_seen_outside(mode, wanted):
    row = tf.constant(np.arange(4, dtype="f").reshape(1, 1, 4, 1))
    result = warp(row, tf.constant([[1.0, 0, -2, 0, 1, 0]]), mode, -1.0)
    assert result.numpy().reshape(-1).tolist() == wanted


def test_between_pixels():
    row = tf.constant(np.arange(4, dtype="f").reshape(1, 1, 4, 1))
    result = warp(row, tf.constant([[1.0, 0, 0.25, 0, 1, 0]]), "nearest")
    np.testing.assert_allclose(result.numpy().reshape(-1), [0.25, 1.25, 2.25, 3.0])


def test_quarter_turn():
    square = np.arange(9, dtype="f").reshape(1, 3, 3, 1)
    layer = L.RandomRotation((0.25, 0.25), fill_mode="constant")
    np.testing.assert_allclose(
        layer(square, training=True).numpy()[0, :, :, 0], np.rot90(square[0, :, :, 0]), atol=1e-4
    )
    np.testing.assert_array_equal(layer(square, training=False).numpy(), square)


def test_flip_zoom_and_move():
    tf.random.set_seed(0)
    flipped = L.RandomFlip("horizontal")(np.repeat(IMAGES[:1], 40, 0), training=True).numpy()
    both = {tuple(f[0, 0]) for f in flipped}
    assert both == {tuple(IMAGES[0, 0, 0]), tuple(IMAGES[0, 0, -1])}
    same = L.RandomZoom((0.0, 0.0))(IMAGES, training=True).numpy()
    np.testing.assert_allclose(same, IMAGES, atol=1e-3)
    moved = L.RandomTranslation((0.5, 0.5), (0.0, 0.0), fill_mode="constant")
    np.testing.assert_allclose(
        moved(IMAGES, training=True).numpy()[:, 3:], IMAGES[:, :3], atol=1e-3
    )


def test_changes_by_chance_in_a_model():
    model = tf.keras.Sequential(
        [
            tf.keras.Input((6, 8, 3)),
            L.RandomFlip(),
            L.RandomRotation(0.1),
            L.RandomContrast(0.1),
            L.RandomBrightness(0.1),
            L.Flatten(),
            L.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    model.fit(IMAGES / 500, np.zeros((2, 1)), verbose=0)
    one, other = (model.predict(IMAGES, verbose=0) for _ in range(2))
    np.testing.assert_array_equal(one, other)  # no chance where nothing is trained


def test_normalization_learns_batch_by_batch():
    data = np.random.RandomState(0).randn(100, 3) * 4 + 7
    whole, parts = L.Normalization(), L.Normalization()
    whole.adapt(data)
    parts.adapt(tf.data.Dataset.from_tensor_slices(data).batch(7))
    result = whole(data).numpy()
    np.testing.assert_allclose(result.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(result.std(0), 1, rtol=1e-5)
    np.testing.assert_allclose(parts(data).numpy(), result, rtol=1e-4, atol=1e-5)
    given = L.Normalization(mean=3.0, variance=4.0)
    np.testing.assert_allclose(given([[5.0], [1.0]]).numpy(), [[1.0], [-1.0]])
    back = L.Normalization(mean=3.0, variance=4.0, invert=True)
    np.testing.assert_allclose(back([[1.0]]).numpy(), [[5.0]])


def test_words_have_numbers():
    layer = L.StringLookup()
    layer.adapt(np.array(["a", "b", "b", "c"]))
    assert layer.get_vocabulary() == ["[UNK]", "b", "c", "a"]
    assert layer(np.array([["b", "z"], ["a", "c"]])).numpy().tolist() == [[1, 0], [3, 2]]
    back = L.StringLookup(vocabulary=layer.get_vocabulary(), invert=True)
    assert back([1, 2, 0]).numpy().tolist() == [b"b", b"c", b"[UNK]"]
    masked = L.StringLookup(vocabulary=["x"], mask_token="")
    assert masked(np.array(["", "x", "y"])).numpy().tolist() == [0, 2, 1]
    hot = L.StringLookup(vocabulary=["x", "y"], output_mode="multi_hot")
    assert hot(np.array([["x", "x"], ["y", "q"]])).numpy().tolist() == [[0, 1, 0], [1, 0, 1]]
    numbers = L.IntegerLookup(vocabulary=[10, 20])
    assert numbers(np.array([20, 5])).numpy().tolist() == [2, 0]


def test_texts():
    layer = L.TextVectorization(output_sequence_length=4)
    layer.adapt(tf.data.Dataset.from_tensor_slices(["The cat sat.", "the dog"]).batch(2))
    assert layer.get_vocabulary() == ["", "[UNK]", "the", "sat", "dog", "cat"]
    assert layer(["the cat, the Bird"]).numpy().tolist() == [[2, 5, 2, 1]]
    mapped = tf.data.Dataset.from_tensor_slices(["dog sat"]).batch(1).map(layer)
    assert next(iter(mapped)).numpy().tolist() == [[4, 3, 0, 0]]
    counts = L.TextVectorization(output_mode="count", vocabulary=["a", "b"])
    assert counts(["a b a z"]).numpy().tolist() == [[1, 2, 1]]
    pairs = L.TextVectorization(ngrams=2, output_mode="count", vocabulary=["a", "a b"])
    assert pairs(["a b"]).numpy().tolist() == [[1, 1, 1]]
    inputs = tf.keras.Input((1,), dtype="string")
    model = tf.keras.Model(inputs, L.Embedding(6, 3)(layer(inputs)))
    assert model.output_shape == (None, 4, 3)
    assert model.predict(np.array([["the cat"]]), verbose=0).shape == (1, 4, 3)


def test_categories():
    assert L.CategoryEncoding(4)([[0, 1], [3, 3]]).numpy().tolist() == [[1, 1, 0, 0], [0, 0, 0, 1]]
    assert L.CategoryEncoding(4, "count")([[3, 3]]).numpy().tolist() == [[0, 0, 0, 2]]
    assert L.CategoryEncoding(3, "one_hot")([0, 2]).numpy().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert L.Discretization([0.0, 1.0])([-1.0, 0.0, 3.0]).numpy().tolist() == [0, 1, 2]


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_with_heads(causal):
    random = np.random.RandomState(0)
    x, z = random.randn(2, 4, 6).astype("f"), random.randn(2, 5, 6).astype("f")
    layer = L.MultiHeadAttention(2, 3)
    result, scores = layer(x, z, return_attention_scores=True, use_causal_mask=causal)
    wq, bq, wk, bk, wv, bv, wo, bo = layer.get_weights()
    q = np.einsum("abc,cde->abde", x, wq) + bq
    k, v = np.einsum("abc,cde->abde", z, wk) + bk, np.einsum("abc,cde->abde", z, wv) + bv
    logits = np.einsum("atnh,asnh->ants", q, k) / np.sqrt(3)
    if causal:
        logits = np.where(np.tril(np.ones((4, 5))) > 0, logits, -1e9)
    wanted = softmax(logits)
    np.testing.assert_allclose(scores.numpy(), wanted, rtol=1e-4, atol=1e-6)
    inner = np.einsum("ants,asnh->atnh", wanted, v)
    np.testing.assert_allclose(
        result.numpy(), np.einsum("atnh,nho->ato", inner, wo) + bo, rtol=1e-4, atol=1e-5
    )
    again = L.MultiHeadAttention.from_config(layer.get_config())
    assert again(x, z).shape.as_list() == [2, 4, 6]


def test_mask_of_steps_reaches_attention():
    kwargs = np.array([[1, 2, 0], [3, 0, 0]])
    inputs = L.Embedding(5, 4, mask_zero=True)(kwargs)
    layer = L.MultiHeadAttention(1, 2)
    _, scores = layer(inputs, inputs, return_attention_scores=True)
    assert np.all(scores.numpy()[0, 0, :2, 2] == 0) and np.all(scores.numpy()[1, 0, :1, 1:] == 0)


def test_shape_that_a_program_tells_is_known_behind():
    @tf.function
    def f(x):
        result = tf.numpy_function(lambda a: a + 1, [x], tf.float32)
        result.set_shape([None, 3])
        f.shape = tf.reshape(result, [-1, 1, 3]).shape.as_list(), (result * 2).shape.as_list()
        return result

    assert f(tf.zeros([2, 3])).numpy().tolist() == [[1, 1, 1], [1, 1, 1]]
    assert f.shape == ([None, 1, 3], [None, 3])
    with tf.Graph().as_default():
        with pytest.raises(ValueError):
            tf.zeros([2, 3]).set_shape([3, 3])


def test_pictures(tmp_path):
    pytest.importorskip("PIL")
    array = np.random.RandomState(0).randint(0, 256, (5, 7, 3)).astype("f")
    tf.keras.utils.save_img(tmp_path / "a.png", array, scale=False)
    image = tf.keras.utils.load_img(tmp_path / "a.png")
    np.testing.assert_array_equal(tf.keras.utils.img_to_array(image), array)
    small = tf.keras.preprocessing.image.load_img(
        tmp_path / "a.png", target_size=(2, 3), color_mode="grayscale"
    )
    assert tf.keras.utils.img_to_array(small).shape == (2, 3, 1)


def test_modules_of_old():
    for name, word in (
        ("layers.convolutional", "Conv2D"),
        ("layers.advanced_activations", "LeakyReLU"),
        ("layers.merge", "concatenate"),
        ("engine.topology", "Layer"),
        ("utils.np_utils", "to_categorical"),
    ):
        assert hasattr(importlib.import_module("situ.keras." + name), word)


def test_layers_and_decisions_in_a_pipeline():
    change = tf.keras.Sequential(
        [L.Rescaling(1 / 255.0), L.Resizing(12, 12), L.RandomCrop(8, 8), L.RandomFlip("horizontal")]
    )
    pictures = tf.data.Dataset.from_tensor_slices(np.zeros((4, 6, 6, 3), "uint8"))
    assert next(iter(pictures.map(lambda x: change(x)))).shape.as_list() == [8, 8, 3]
    batched = pictures.batch(2).map(lambda x: change(x))
    assert next(iter(batched)).shape.as_list() == [2, 8, 8, 3]

    def halved(x):
        if x > 2.0:
            x = x / 2.0
        return x

    numbers = tf.data.Dataset.from_tensor_slices(np.array([1, 2, 6], "f")).map(halved)
    assert [float(x) for x in numbers] == [1, 2, 3]


def test_shape_that_a_program_tells_wrongly():
    @tf.function
    def cut(x, k):
        result = x[:k]
        result.set_shape([3, 4])
        return result * 2.0

    assert cut(np.ones((5, 4), "f"), tf.constant(2)).shape.as_list() == [2, 4]

    @tf.function
    def called(x):
        result = tf.numpy_function(lambda a: a[:2], [x], tf.float32)
        result.set_shape([3, 4])
        return result * 2.0

    with pytest.raises(tf.errors.InvalidArgumentError, match="the graph declares shape"):
        called(np.ones((5, 4), "f"))


def test_types_of_looked_up_words():
    words = np.array([["x", "q"]])
    for layer in (L.StringLookup, L.TextVectorization):
        made = layer(vocabulary=["x"], output_mode="multi_hot", dtype="float64")
        assert type(made).from_config(made.get_config())(words[0]).dtype == tf.float64
    assert L.StringLookup(vocabulary=["x"], dtype="int64")(words).numpy().tolist() == [[1, 0]]
    with pytest.raises(NotImplementedError, match="dtype='int32'"):
        L.StringLookup(vocabulary=["x"], dtype="int32")
    with pytest.raises(NotImplementedError, match="vocabulary_dtype='int32'"):
        L.IntegerLookup(vocabulary=[1], vocabulary_dtype="int32")


def test_a_layer_learns_from_the_first_batches():
    values = np.arange(6, dtype="f").reshape(6, 1)
    layer = L.Normalization()
    layer.adapt(values, batch_size=2, steps=1)
    np.testing.assert_allclose(layer.mean.numpy().ravel(), [0.5])


@pytest.mark.parametrize("kwargs", [{"padding": "left"}, {"truncating": "left"}])
def test_sides_of_padding(kwargs):
    with pytest.raises(ValueError, match='type "left" not understood'):
        tf.keras.utils.pad_sequences([[1]], **kwargs)


@pytest.mark.parametrize(
    "call",
    [
        lambda: L.Conv2DTranspose(2, 3, groups=2),
        lambda: L.DepthwiseConv2D(3, groups=2),
        lambda: L.SeparableConv1D(2, 3, groups=2),
        lambda: L.SpatialDropout1D(0.5, noise_shape=(1, 1)),
        lambda: L.Layer().add_weight(shape=[1], partitioner=lambda **kwargs: [1]),
        lambda: tf.keras.mixed_precision.Policy("float32", loss_scale=2),
        lambda: tf.keras.mixed_precision.LossScaleOptimizer(
            tf.keras.optimizers.SGD(), loss_scale=object()
        ),
        lambda: tf.keras.callbacks.ProgbarLogger("samples"),
        lambda: tf.keras.Sequential().compile(pss_evaluation_shards=2),
    ],
)
def test_arguments_that_would_change_results(call):
    with pytest.raises(NotImplementedError, match="is not supported yet"):
        call()
