# SPDX-License-Identifier: Apache-2.0
"""test_applications.py: the networks of tf.keras.applications; numbers of weights and names are
TensorFlow's."""

import json

import numpy as np
import pytest

import situ as tf

nets = tf.keras.applications


@pytest.mark.parametrize(
    "name, weights, count, layers, last",
    [
        ("VGG16", 138357544, 32, 23, "predictions"),
        ("ResNet50", 25636712, 320, 177, "predictions"),
        ("ResNet50V2", 25613800, 272, 192, "predictions"),
        ("MobileNet", 4253864, 137, 91, "predictions"),
        ("MobileNetV2", 3538984, 262, 156, "predictions"),
        ("InceptionV3", 23851784, 378, 313, "predictions"),
        ("Xception", 22910480, 236, 134, "predictions"),
        ("DenseNet121", 8062504, 606, 429, "predictions"),
        ("EfficientNetB0", 5330571, 314, 240, "predictions"),
    ],
)
def test_network(name, weights, count, layers, last):
    model = getattr(nets, name)(weights=None)
    assert model.count_params() == weights and len(model.weights) == count
    assert len(model.layers) == layers and model.layers[-1].name == last
    assert model.output_shape == (None, 1000)


def test_network_without_its_end_learns():
    base = nets.MobileNetV2(
        input_shape=(32, 32, 3), alpha=0.35, include_top=False, weights=None, pooling="avg"
    )
    base.trainable = False
    model = tf.keras.Sequential([base, tf.keras.layers.Dense(2)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(np.random.rand(4, 32, 32, 3), np.array([0, 1, 0, 1]), verbose=0)
    assert len(model.trainable_weights) == 2


def test_what_is_done_to_images():
    x = np.array([[[[0.0, 127.5, 255.0]]]])
    np.testing.assert_allclose(nets.mobilenet_v2.preprocess_input(x.copy())[0, 0, 0], [-1, 0, 1])
    np.testing.assert_allclose(
        nets.vgg16.preprocess_input(x.copy())[0, 0, 0], [151.061, 10.721, -123.68], rtol=1e-5
    )
    torch = nets.densenet.preprocess_input(tf.constant(x, tf.float32)).numpy()[0, 0, 0]
    np.testing.assert_allclose(torch, [-2.117904, 0.19642864, 2.64], rtol=1e-5)


def test_weights_are_not_downloaded(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="weights=None"):
        nets.VGG16(include_top=False)
    (tmp_path / "models").mkdir()
    names = {str(i): [f"n{i}", f"thing{i}"] for i in range(1000)}
    (tmp_path / "models" / "imagenet_class_index.json").write_text(json.dumps(names))
    scores = np.zeros((1, 1000))
    scores[0, 7] = 1
    assert nets.imagenet_utils.decode_predictions(scores, top=1) == [[("n7", "thing7", 1.0)]]
