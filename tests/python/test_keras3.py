# SPDX-License-Identifier: Apache-2.0
"""test_keras3.py: models, optimizers and files of Keras 3 (`situ.keras3`, `import keras`).

The archives of these models were also read and written by Keras 3.15, in both directions.
"""

import json
import zipfile

import numpy
import pytest

import situ as tf
import situ.keras3 as keras

h5py = pytest.importorskip("h5py")
layers, ops = keras.layers, keras.ops
RNG = numpy.random.RandomState(0)
X = RNG.rand(16, 6).astype("float32")


@keras.saving.register_keras_serializable(package="test")
class Scale(layers.Layer):
    """A layer with a weight and layers in attributes and lists."""

    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor, self.inner = factor, layers.Dense(3)
        self.many = [layers.Dense(3), layers.Dense(3)]

    def build(self, input_shape):
        self.w = self.add_weight((input_shape[-1],), "ones", name="w")

    def call(self, x):
        return self.many[1](self.many[0](self.inner(x * self.w * self.factor)))

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


@keras.saving.register_keras_serializable(package="test")
class Net(keras.Model):
    def __init__(self, units=3, **kwargs):
        super().__init__(**kwargs)
        self.units, self.a, self.b = units, layers.Dense(4), layers.Dense(units)

    def call(self, x):
        return self.b(self.a(x))

    def get_config(self):
        return {"units": self.units}


def functional():
    a = keras.Input((6,), name="a")
    h = layers.Dense(4, activation="relu")(a)
    h = ops.concatenate([h, ops.mean(h, axis=-1, keepdims=True)], axis=-1)
    h = ops.reshape(h, (-1, 5)) * 2.0 + 1.0
    return keras.Model(a, layers.Dense(3)(h[:, 1:3]))


def sequential():
    regularizer = keras.regularizers.L2(1e-3)
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(5, kernel_regularizer=regularizer),
            layers.BatchNormalization(),
            layers.LeakyReLU(),
            layers.Dropout(0.5),
            layers.Dense(3, activation="softmax"),
        ]
    )


def recurrent():
    a = keras.Input((6,))
    h = layers.Embedding(10, 4)(a)
    h = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(h)
    h = layers.MultiHeadAttention(2, 3)(h, h)
    return keras.Model(a, layers.Dense(3)(layers.GRU(4)(h)))


def custom():
    a = keras.Input((6,))
    return keras.Model(a, Scale(2.0)(a))


MODELS = [functional, sequential, recurrent, custom, Net]


@pytest.mark.parametrize("make", MODELS)
def test_archives_restore_models_and_optimizers(make, tmp_path):
    model = make()
    model.compile(keras.optimizers.Adam(1e-2), loss="mse", metrics=["mae"])
    model.fit(X, numpy.ones((16, 3)), epochs=2, verbose=0)
    path = str(tmp_path / "model.keras")
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["metadata.json", "config.json", "model.weights.h5"]
        metadata = json.loads(archive.read("metadata.json"))
        assert metadata["keras_version"] == keras.__version__
    again = keras.saving.load_model(path)
    numpy.testing.assert_allclose(
        again.predict(X, verbose=0), model.predict(X, verbose=0), 1e-5, 1e-6
    )
    assert int(again.optimizer.iterations) == 2
    for one, other in zip(model.optimizer.variables, again.optimizer.variables):
        numpy.testing.assert_array_equal(one.numpy(), other.numpy())
    assert again.evaluate(X, numpy.ones((16, 3)), verbose=0)


@pytest.mark.parametrize("make", MODELS)
def test_weights_files(make, tmp_path):
    model, other = make(), make()
    for one in (model, other):
        one(X)
    path = str(tmp_path / "model.weights.h5")
    model.save_weights(path)
    with h5py.File(path) as file:
        assert "layer_names" not in file.attrs and "vars" in file
    other.load_weights(path)
    for one, two in zip(model.get_weights(), other.get_weights()):
        numpy.testing.assert_array_equal(one, two)


def test_groups_of_weights_have_the_names_of_keras_3(tmp_path):
    model = custom()
    model.save_weights(str(tmp_path / "m.weights.h5"))
    with h5py.File(str(tmp_path / "m.weights.h5")) as file:
        names = []
        file.visititems(lambda n, o: names.append(n) if isinstance(o, h5py.Dataset) else None)
    assert [n for n in names if "scale" in n] == [
        "layers/scale/inner/vars/0",
        "layers/scale/inner/vars/1",
        "layers/scale/many/dense/vars/0",
        "layers/scale/many/dense/vars/1",
        "layers/scale/many/dense_1/vars/0",
        "layers/scale/many/dense_1/vars/1",
        "layers/scale/vars/0",
    ]


def dense_entry(name, units):
    policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}}
    config = {
        "name": name,
        "trainable": True,
        "dtype": {**policy, "registered_name": None},
        "units": units,
        "activation": "linear",
        "use_bias": True,
        "kernel_initializer": {
            "module": "keras.initializers",
            "class_name": "GlorotUniform",
            "config": {"seed": None, "input_axes": None, "output_axes": None},
            "registered_name": None,
        },
        "quantization_config": None,
    }
    return {
        "module": "keras.layers",
        "class_name": "Dense",
        "config": config,
        "registered_name": None,
        "build_config": {"input_shape": [None, 2]},
    }


def write_archive(path, extra=()):
    """An archive as Keras 3 writes it."""
    entry = {"batch_shape": [None, 2], "dtype": "float32", "sparse": False, "ragged": False}
    entry = {**entry, "name": "input", "optional": False}
    first = {
        "module": "keras.layers",
        "class_name": "InputLayer",
        "config": entry,
        "registered_name": None,
    }
    config = {
        "module": "keras",
        "class_name": "Sequential",
        "config": {
            "name": "s",
            "trainable": True,
            "layers": [first, dense_entry("d", 1), *extra],
            "build_input_shape": [None, 2],
        },
        "registered_name": None,
    }
    weights = path.parent / "w.h5"
    with h5py.File(weights, "w") as file:
        file["layers/dense/vars/0"] = numpy.array([[2.0], [3.0]], "float32")
        file["layers/dense/vars/1"] = numpy.array([1.0], "float32")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.15.1"}')
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", weights.read_bytes())


def test_archives_of_keras_3_are_read(tmp_path):
    path = tmp_path / "m.keras"
    write_archive(path)
    for load in (keras.saving.load_model, tf.keras.models.load_model):
        model = load(str(path))
        assert model(numpy.ones((1, 2), "float32")).numpy().tolist() == [[6.0]]


def test_bad_archives(tmp_path):
    path = tmp_path / "m.keras"
    config = {"class_name": "__lambda__", "config": {"value": "x"}}
    entry = {"module": "keras.layers", "class_name": "Lambda", "config": {"function": config}}
    write_archive(path, [entry])
    with pytest.raises(ValueError, match="never runs"):
        keras.saving.load_model(str(path))
    write_archive(path, [{**dense_entry("e", 1), "class_name": "Nothing"}])
    with pytest.raises(TypeError, match="Could not locate class 'Nothing'"):
        keras.saving.load_model(str(path))
    write_archive(path, [dense_entry("e", 1)])
    with pytest.raises(ValueError, match="expected 2 variables, but received 0"):
        keras.saving.load_model(str(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "b")
    with pytest.raises(OSError, match="no model of Keras"):
        keras.saving.load_model(str(path))
    with pytest.raises(ValueError, match="File not found"):
        keras.saving.load_model(str(tmp_path / "none.keras"))


def test_optimizer_apply():
    weight = keras.Variable([1.0, 2.0])
    optimizer = keras.optimizers.SGD(0.5)
    optimizer.apply([tf.constant([1.0, 1.0])], [weight])
    optimizer.apply([tf.constant([1.0, 1.0])])
    assert weight.numpy().tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="must match"):
        optimizer.apply([1.0, 2.0])
    with pytest.raises(ValueError, match="must already be built"):
        keras.optimizers.SGD(0.5).apply([1.0])
    with pytest.raises(ValueError, match="gradient_accumulation_steps=1"):
        keras.optimizers.Adam(gradient_accumulation_steps=1)


def test_variables():
    weight = keras.Variable(2.0, name="w")
    weight.assign_add(1.0)
    assert float(weight.value) == 3.0 and weight.path == "w" and weight.ndim == 0
    made = keras.Variable("zeros", shape=(2, 3), dtype="float32")
    assert made.shape == (2, 3) and made.trainable
    with pytest.raises(ValueError, match="`shape` argument should be"):
        keras.Variable(keras.initializers.Zeros())
    with pytest.raises(TypeError, match="unexpected"):
        keras.Variable(1.0, nme="w")


def test_own_train_step_with_seeds_and_metrics():
    class Noisy(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense, self.seed = layers.Dense(1), keras.random.SeedGenerator(1)
            self.tracker = keras.metrics.Mean(name="loss")

        def call(self, x, training=False):
            noise = keras.random.normal(ops.shape(x), seed=self.seed) if training else 0.0
            return self.dense(x + noise * 0.01)

        @property
        def metrics(self):
            return [self.tracker]

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = ops.mean(ops.square(self(x, training=True) - y))
            gradients = tape.gradient(loss, self.trainable_weights)
            self.optimizer.apply(gradients, self.trainable_weights)
            self.tracker.update_state(loss)
            return {m.name: m.result() for m in self.metrics}

    model = Noisy()
    model.compile(optimizer=keras.optimizers.Adam(0.05))
    history = model.fit(X, X.sum(-1, keepdims=True), epochs=5, verbose=0).history["loss"]
    assert history[-1] < history[0]
    assert model.seed.state.numpy()[1] >= 5


def test_own_metrics_with_add_variable():
    class Count(keras.metrics.Metric):
        def __init__(self, name="count", **kwargs):
            super().__init__(name=name, **kwargs)
            self.total = self.add_variable(shape=(), initializer="zeros", name="total")
            self.other = self.add_weight((2,), "ones")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.total.assign(self.total + ops.cast(ops.shape(y_true)[0], "float32"))

        def result(self):
            return self.total

    metric = Count()
    metric.update_state(X, X)
    assert float(metric.result()) == 16


def test_import_keras_is_keras_3(situ):
    result = situ(
        "run",
        "a.py",
        files={
            "a.py": """
import keras
import tensorflow as tf
from keras import layers, ops
from keras.optimizers.schedules import CosineDecay
from keras.utils import np_utils
import keras.ops as K
print(keras.__version__.split(".")[0], keras.backend.backend(), keras.config.backend())
print(layers.Layer is keras.Layer is tf.keras.layers.Layer, K is ops)
print(tf.keras.__name__)
"""
        },
    )
    assert result.code == 0, result.err
    assert result.out.splitlines()[:2] == ["3 tensorflow tensorflow", "True True"]


def test_layers_that_save_their_own_variables(tmp_path):
    @keras.saving.register_keras_serializable(package="test")
    class Own(layers.Dense):
        def __init__(self, units, **kwargs):
            super().__init__(units, **kwargs)
            self.mine = keras.Variable(RNG.rand(units), name="mine", dtype="float32")

        def save_own_variables(self, store):
            super().save_own_variables(store)
            store["mine"] = self.mine.numpy()

        def load_own_variables(self, store):
            self.mine.assign(store["mine"])
            for i, weight in enumerate(self.weights):
                weight.assign(store[str(i)])

    @keras.saving.register_keras_serializable(package="test")
    class Unnamed(layers.Layer):
        def call(self, x):
            return x * 2.0

        def get_config(self):
            return {}

    inputs = keras.Input((6,))
    model = keras.Model(inputs, Own(2)(Unnamed()(inputs)))
    path = str(tmp_path / "m.keras")
    model.save(path)
    again = keras.saving.load_model(path)
    numpy.testing.assert_array_equal(again.layers[2].mine.numpy(), model.layers[2].mine.numpy())
    numpy.testing.assert_allclose(again.predict(X, verbose=0), model.predict(X, verbose=0), 1e-6)

    class Assets(layers.Dense):
        def save_assets(self, folder):
            pass

    with pytest.raises(NotImplementedError, match="assets"):
        keras.Sequential([keras.Input((2,)), Assets(1)]).save(path)
