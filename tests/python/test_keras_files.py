# SPDX-License-Identifier: Apache-2.0
"""test_keras_files.py: models and weights in HDF5 in the layout of Keras, and in folders."""

import json
import os

import keras_cases
import numpy as np
import pytest

import situ as tf

keras = tf.keras
X = np.random.RandomState(0).randn(8, 3).astype("f")


def small():
    inputs = keras.Input((3,), name="in")
    result = keras.layers.Dense(4, activation="relu", name="first")(inputs)
    result = keras.layers.BatchNormalization(name="norm")(result)
    return keras.Model(inputs, keras.layers.Dense(2, name="second")(result), name="small")


@pytest.mark.parametrize("name", ["dense", "conv2d", "lstm", "bi", "merge", "two", "nest", "bn"])
def test_model_in_hdf5(name, tmp_path):
    pytest.importorskip("h5py")
    model, x, y, loss = keras_cases.cases(tf)[name]()
    model.compile(keras.optimizers.Adam(0.01), loss)
    model.fit(x, y, epochs=1, verbose=0)
    model.save(tmp_path / "m.h5")
    assert (tmp_path / "m.h5").read_bytes()[:4] == b"\x89HDF"
    again = keras.models.load_model(tmp_path / "m.h5")
    for a, b in zip(tf.nest.flatten(model.predict(x)), tf.nest.flatten(again.predict(x))):
        np.testing.assert_array_equal(a, b)
    before = model.fit(x, y, epochs=1, verbose=0, shuffle=False).history["loss"]
    assert again.fit(x, y, epochs=1, verbose=0, shuffle=False).history["loss"] == before


@pytest.mark.parametrize("name", ["m.h5", "m.weights.h5"])
def test_failed_save_keeps_the_old_file(name, tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    model, path = small(), tmp_path / name
    save = model.save_weights if "weights" in name else model.save
    save(path)
    before = path.read_bytes()

    def fail(variables):
        raise RuntimeError("a variable cannot be read")

    monkeypatch.setattr("situ._src.keras.weights.values", fail)
    with pytest.raises(RuntimeError, match="cannot be read"):
        save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [name]


def test_layout_is_that_of_keras(tmp_path):
    h5py = pytest.importorskip("h5py")
    model = small()
    model.compile("adam", "mse", metrics=["mae"])
    model.save(tmp_path / "m.h5")
    with h5py.File(tmp_path / "m.h5") as file:
        config = json.loads(file.attrs["model_config"])
        assert config["class_name"] == "Functional"
        assert [x["class_name"] for x in config["config"]["layers"]] == [
            "InputLayer",
            "Dense",
            "BatchNormalization",
            "Dense",
        ]
        training = json.loads(file.attrs["training_config"])
        assert training["loss"] == "mse" and training["optimizer_config"]["class_name"] == "Adam"
        group = file["model_weights"]
        assert list(group.attrs["layer_names"]) == [b"in", b"first", b"norm", b"second"]
        assert list(group["first"].attrs["weight_names"]) == [b"first/kernel:0", b"first/bias:0"]
        assert list(group["norm"].attrs["weight_names"]) == [
            b"norm/gamma:0",
            b"norm/beta:0",
            b"norm/moving_mean:0",
            b"norm/moving_variance:0",
        ]
        np.testing.assert_array_equal(group["first/first/kernel:0"][()], model.get_weights()[0])


def written_by_keras(h5py, path, kernel, bias):
    """A file as Keras 2 writes it, made by hand."""
    policy = {"class_name": "Policy", "config": {"name": "float32"}}
    layers = [
        {
            "class_name": "InputLayer",
            "config": {
                "batch_input_shape": [None, 3],
                "dtype": "float32",
                "sparse": False,
                "ragged": False,
                "name": "dense_input",
            },
        },
        {
            "module": "keras.layers",
            "class_name": "Dense",
            "registered_name": None,
            "build_config": {"input_shape": [None, 3]},
            "config": {
                "name": "dense",
                "trainable": True,
                "dtype": policy,
                "batch_input_shape": [None, 3],
                "units": 2,
                "activation": "tanh",
                "use_bias": True,
                "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": None}},
                "bias_initializer": {"class_name": "Zeros", "config": {}},
                "kernel_regularizer": None,
                "bias_regularizer": None,
                "activity_regularizer": None,
                "kernel_constraint": None,
                "bias_constraint": None,
            },
        },
    ]
    metric = {
        "class_name": "MeanMetricWrapper",
        "config": {"name": "mae", "dtype": "float32", "fn": "mean_absolute_error"},
    }
    training = {
        "loss": "mse",
        "metrics": [[metric]],
        "weighted_metrics": None,
        "loss_weights": None,
        "optimizer_config": {
            "class_name": "SGD",
            "config": {"name": "SGD", "learning_rate": 0.5, "momentum": 0.0, "nesterov": False},
        },
    }
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = "2.15.0", "tensorflow"
        file.attrs["model_config"] = json.dumps(
            {"class_name": "Sequential", "config": {"name": "sequential", "layers": layers}}
        )
        file.attrs["training_config"] = json.dumps(training)
        group = file.create_group("model_weights")
        group.attrs["layer_names"] = np.array([b"dense"])
        dense = group.create_group("dense")
        dense.attrs["weight_names"] = np.array([b"dense/kernel:0", b"dense/bias:0"])
        dense["dense/kernel:0"], dense["dense/bias:0"] = kernel, bias


def test_file_of_keras_is_read(tmp_path):
    h5py = pytest.importorskip("h5py")
    kernel, bias = np.arange(6, dtype="f").reshape(3, 2) / 6, np.array([0.5, -0.5], "f")
    written_by_keras(h5py, tmp_path / "k.h5", kernel, bias)
    model = keras.models.load_model(tmp_path / "k.h5")
    np.testing.assert_allclose(model.predict(X, verbose=0), np.tanh(X @ kernel + bias), rtol=1e-5)
    assert float(model.optimizer.learning_rate.numpy()) == 0.5
    result = model.evaluate(X, np.zeros((8, 2)), verbose=0)
    np.testing.assert_allclose(result[1], np.abs(np.tanh(X @ kernel + bias)).mean(), rtol=1e-5)
    other = keras.Sequential([keras.layers.Dense(2, input_shape=(3,))])
    other.load_weights(tmp_path / "k.h5")
    np.testing.assert_array_equal(other.get_weights()[0], kernel)


def test_weights_in_hdf5_by_order_and_by_name(tmp_path):
    pytest.importorskip("h5py")
    model, other = small(), small()
    path = str(tmp_path / "w.h5")
    model.save_weights(path)
    other.load_weights(path)
    for a, b in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(a, b)
    part = keras.Sequential(
        [
            keras.Input((3,)),
            keras.layers.Dense(4, name="first"),
            keras.layers.Dense(7, name="second"),
        ]
    )
    with pytest.raises(ValueError, match="Layer count mismatch"):
        part.load_weights(path)
    with pytest.raises(ValueError, match="not compatible"):
        part.load_weights(path, by_name=True)
    part.load_weights(path, by_name=True, skip_mismatch=True)
    np.testing.assert_array_equal(part.get_weights()[0], model.get_weights()[0])


def test_without_h5py(tmp_path, monkeypatch, capfd):
    from situ._src.keras import hdf5

    monkeypatch.setattr(hdf5, "module", lambda: None)
    model, path = small(), tmp_path / "w.h5"
    model.save_weights(path)
    assert "pip install h5py" in capfd.readouterr().err
    small().load_weights(path)
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(ImportError, match="pip install h5py"):
        small().load_weights(path)


def test_folders_and_newest_weights(tmp_path):
    model = small()
    model.save(tmp_path / "folder")
    assert os.path.isdir(tmp_path / "folder")
    again = keras.models.load_model(tmp_path / "folder")
    np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))
    model.save_weights(str(tmp_path / "cp-0001.ckpt"))
    newest = tf.train.latest_checkpoint(str(tmp_path))
    assert newest == str(tmp_path / "cp-0001.ckpt")
    small().load_weights(newest)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "saved_model.pb").write_bytes(b"x")
    with pytest.raises(OSError, match="HDF5"):
        keras.models.load_model(tmp_path / "other")
    (tmp_path / "three.keras").write_bytes(b"PK\x03\x04" + bytes(30))
    with pytest.raises(OSError, match="Keras 3"):
        keras.models.load_model(tmp_path / "three.keras")


@pytest.mark.parametrize(
    "code",
    [
        ["4wEAAAAAAAAA", None, None],
        {
            "class_name": "__lambda__",
            "config": {"code": "4wEAAAAAAAAA", "defaults": None, "closure": None},
        },
    ],
)
def test_code_of_a_lambda_layer_is_not_run(code):
    config = {"name": "f", "function": code, "function_type": "lambda", "arguments": {}}
    with pytest.raises(ValueError, match="Code of a file is not run"):
        keras.layers.deserialize({"class_name": "Lambda", "config": config})
