# SPDX-License-Identifier: Apache-2.0
"""test_programs_eager.py: calls of TensorFlow 2 programs that once failed."""

import numpy
import pytest

import situ as tf


def test_tuple_with_numpy_numbers():
    x = tf.ones([2, 3, 4])
    assert tf.reshape(x, (-1, numpy.prod([3, 4]))).shape == (2, 12)
    assert tf.constant((1, numpy.int64(2))).numpy().tolist() == [1, 2]


def test_texts_without_elements_keep_their_shape():
    assert tf.zeros([0, 1], tf.string).shape == (0, 1)
    assert tf.constant(numpy.zeros((0, 3), "U")).shape == (0, 3)
    assert tf.zeros([2], tf.string).numpy().tolist() == [b"", b""]


def test_pool_of_any_rank():
    x = tf.reshape(tf.range(12.0), [1, 6, 2])
    assert tf.nn.max_pool(x, [1, 3, 1], [1, 3, 1], "SAME").numpy().tolist() == [[[4, 5], [10, 11]]]
    assert tf.nn.avg_pool(x, 3, 3, "VALID").numpy().tolist() == [[[2, 3], [8, 9]]]
    assert tf.nn.max_pool(tf.ones([1, 4, 4, 4, 2]), 2, 2, "SAME").shape == (1, 2, 2, 2, 2)


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_mirrored_margins_of_unknown_sizes(mode):
    x = tf.reshape(tf.range(24.0), [1, 6, 4])
    pads = [[0, 0], [2, 3], [0, 1]]

    @tf.function(input_signature=[tf.TensorSpec([None, None, 4])])
    def padded(x):
        return tf.pad(x, pads, mode)

    assert (padded(x).numpy() == numpy.pad(x.numpy(), pads, mode.lower())).all()


def test_blocks_of_unknown_sizes():
    x = tf.random.normal([2, 4, 6, 8])

    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 8])])
    def both(x):
        made = tf.nn.depth_to_space(x, 2)
        return made, tf.nn.space_to_depth(made, 2)

    made, back = both(x)
    assert made.shape == (2, 8, 12, 2) and (back.numpy() == x.numpy()).all()
    assert (made.numpy() == tf.nn.depth_to_space(x, 2).numpy()).all()
    turned = tf.nn.depth_to_space(tf.transpose(x, [0, 3, 1, 2]), 2, "NCHW")
    assert (tf.transpose(turned, [0, 2, 3, 1]).numpy() == made.numpy()).all()


def test_minimize_takes_one_variable():
    v = tf.Variable(1.0)
    tf.keras.optimizers.SGD(0.1).minimize(lambda: v * v, v)
    assert v.numpy() == pytest.approx(0.8)


def test_signature_names_arguments(tmp_path):
    class Power(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec(None)])
        def pow(self, x, y):
            return {"power": x**y}

    concrete = Power().pow.get_concrete_function()
    assert [s.name for s in concrete.structured_input_signature[0]] == ["x", "y"]
    assert concrete(y=tf.constant(3.0), x=tf.constant(2.0))["power"].numpy() == 8
    tf.saved_model.save(Power(), tmp_path)
    served = tf.saved_model.load(tmp_path).signatures["serving_default"]
    assert served(y=tf.constant(3.0), x=tf.constant(2.0))["power"].numpy() == 8
    assert list(served.structured_outputs) == ["power"]
    with pytest.raises(TypeError, match="arguments"):
        served(z=tf.constant(1.0))


def test_modules_of_the_sources_of_keras(situ):
    done = situ(
        "run",
        "a.py",
        files={
            "a.py": """
        from tensorflow.python import keras
        from tensorflow.python.keras import layers, datasets
        from tensorflow.python.keras.optimizer_v2.adam import Adam
        from tensorflow.python.keras.engine.base_layer import Layer
        import tensorflow as tf
        assert keras.layers.Dense is tf.keras.layers.Dense and layers.Layer is Layer
        datasets.mnist.load_data, Adam(0.1)
        """
        },
    )
    assert done.code == 0, done.err


def test_old_names_of_numpy(situ):
    done = situ(
        "run",
        "a.py",
        files={
            "a.py": """
        import numpy as np
        import tensorflow as tf
        print(tf.constant(np.arange(2).astype(np.float)).dtype)
        """
        },
    )
    assert done.out == "<dtype: 'float64'>\n", done.err


def test_texts_are_added():
    assert (tf.constant("a") + "b").numpy() == b"ab"
    assert ("a" + tf.constant(["b", "c"])).numpy().tolist() == [b"ab", b"ac"]

    @tf.function
    def double(a):
        return a + a

    assert double(tf.constant("a")).numpy() == b"aa"


def test_one_hot_of_real_numbers_of_numpy():
    assert tf.one_hot(numpy.array([1.0, 0.0]), 2).numpy().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("units, shape", [(1, [1]), (3, [])])
def test_labels_as_losses_and_metrics_see_them(units, shape):
    """A vector of labels is a column beside one column of predictions only; metrics get floats."""
    seen = {}

    def loss(y, p):
        seen["loss"] = (y.shape.as_list()[1:], y.dtype.name)
        return tf.reduce_mean(p)

    def metric(y, p):
        seen["metric"] = (y.shape.as_list()[1:], y.dtype.name)
        return tf.reduce_mean(p)

    model = tf.keras.Sequential([tf.keras.layers.Dense(units)])
    model.compile("sgd", loss, metrics=[metric])
    model.fit(numpy.zeros((8, 4)), numpy.zeros(8, "int64"), verbose=0)
    assert seen == {"loss": (shape, "int64"), "metric": (shape, "float32")}


def test_metric_with_the_old_name_of_reset():
    class Old(tf.keras.metrics.Mean):
        def reset_states(self):
            super().reset_states()
            self.was_reset = True

    metric = Old()
    metric.update_state(3.0)
    metric.reset_state()
    assert metric.was_reset and metric.result().numpy() == 0


def test_list_of_scalars_on_a_gpu_is_an_array(python):
    done = python(
        """
        import numpy
        import situ as tf
        scalars = [tf.reduce_mean(tf.constant([1.0, 2.0]) * i) for i in range(100)]
        assert "GPU" in scalars[0].device
        for _ in range(20):
            made = numpy.asanyarray(scalars)
        print(made.shape, made[2])
        """,
        gpus=1,
    )
    assert (done.code, done.out) == (0, "(100,) 3.0\n"), done.err


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "folder"])
def test_loaded_model_has_its_losses_and_metrics(tmp_path, name):
    if name.endswith("h5"):
        pytest.importorskip("h5py")
    x, y = numpy.random.rand(8, 4), numpy.zeros(8, "int64")
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
    model.compile(
        "adam",
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[tf.keras.metrics.SparseCategoricalAccuracy()],
    )
    model.fit(x, y, verbose=0)
    model.save(tmp_path / name)
    again = tf.keras.models.load_model(tmp_path / name)
    assert again.evaluate(x, y, verbose=0) == model.evaluate(x, y, verbose=0)


@tf.keras.utils.register_keras_serializable("test")
class Twice(tf.keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first, self.second = tf.keras.layers.Dense(3), tf.keras.layers.Dense(2)

    def call(self, x):
        return self.second(self.first(x))


def test_sub_class_is_saved_and_exported(tmp_path):
    model, x = Twice(), tf.ones([1, 3])
    made = model(x).numpy()
    model.save(tmp_path / "m.keras")
    again = tf.keras.models.load_model(tmp_path / "m.keras")
    assert (again(x).numpy() == made).all()
    model.export(tmp_path / "e")
    assert (tf.saved_model.load(tmp_path / "e").serve(x).numpy() == made).all()


def test_model_of_texts_takes_a_list():
    words = tf.keras.layers.TextVectorization(output_sequence_length=4)
    words.adapt(["a b c", "d e"])
    model = tf.keras.Sequential(
        [words, tf.keras.layers.Embedding(10, 3), tf.keras.layers.GlobalAveragePooling1D()]
    )
    assert model.predict(["a b", "c"], verbose=0).shape == (2, 3)


def test_normalization_is_used_in_several_graphs():
    layer = tf.keras.layers.Normalization(axis=None, mean=2.0, variance=1.0)
    x = tf.keras.Input(())
    model = tf.keras.Model(x, layer(x))
    found = tf.data.Dataset.from_tensor_slices([1.0, 2.0]).batch(1).map(model)
    assert [v.numpy().tolist() for v in found] == [[-1], [0]]
    learned = tf.keras.layers.Normalization()
    learned.adapt(numpy.array([[1.0], [3.0]]))
    assert learned.mean.numpy().tolist() == [[2]] and learned.variance.numpy().tolist() == [[1]]


def test_variable_is_restored_by_another_way(tmp_path):
    saved = tf.train.Checkpoint()
    saved.listed = [tf.Variable(1.0), tf.Variable(2.0)]
    saved.mapped = {"two": saved.listed[1]}
    path = saved.save(tmp_path / "c")
    two = tf.Variable(0.0)
    other = tf.train.Checkpoint()
    other.mapped = {"two": two}
    other.restore(path).assert_existing_objects_matched()
    assert two.numpy() == 2


def test_layers_compute_in_the_type_of_the_backend():
    """As in TensorFlow 2: float64 becomes float32, unless a layer has another dtype."""
    x = tf.ones([4, 3], tf.float64)
    assert tf.keras.layers.Dense(2)(x).dtype == tf.float32
    assert tf.keras.layers.Dense(2, dtype="float64")(x).dtype == tf.float64
    seen = []

    class Plain(tf.keras.Model):
        def call(self, inputs):
            seen.append(inputs.dtype.name)
            return inputs

    Plain()(x)
    assert seen == ["float32"]
    model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    model.fit(tf.data.Dataset.from_tensor_slices((x, x[:, :2])).batch(2), verbose=0)
    assert model.weights[0].dtype == tf.float32


class _Slots(tf.keras.optimizers.legacy.Optimizer):
    def __init__(self, learning_rate=0.1, momentum=0.9, name="Slots", **kwargs):
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("momentum", momentum)

    def _create_slots(self, var_list):
        for var in var_list:
            self.add_slot(var, "m")

    def _resource_apply_dense(self, grad, var, apply_state=None):
        m, kind = self.get_slot(var, "m"), var.dtype.base_dtype
        m.assign(m * self._get_hyper("momentum", kind) - self._decayed_lr(kind) * grad)
        return var.assign_add(m)


class _Steps(tf.keras.optimizers.Optimizer):
    def __init__(self, learning_rate=0.1, name="Steps", **kwargs):
        super().__init__(name=name, **kwargs)
        self._learning_rate = self._build_learning_rate(learning_rate)

    def build(self, var_list):
        super().build(var_list)
        if not hasattr(self, "held"):
            self.held = [self.add_variable_from_reference(v, "m") for v in var_list]

    def update_step(self, gradient, variable):
        m = self.held[self._index_dict[self._var_key(variable)]]
        m.assign(m * 0.9 - tf.cast(self.learning_rate, variable.dtype) * gradient)
        variable.assign_add(m)


@pytest.mark.parametrize("kind", [_Slots, _Steps])
def test_optimizers_of_ones_own(kind):
    x = numpy.arange(8.0).reshape(4, 2) / 8
    found = []
    for optimizer in (kind(), tf.keras.optimizers.SGD(0.1, 0.9)):
        model = tf.keras.Sequential(
            [tf.keras.Input((2,)), tf.keras.layers.Dense(1, kernel_initializer="ones")]
        )
        model.compile(optimizer, "mse")
        model.fit(x, x.sum(1), epochs=3, batch_size=2, shuffle=False, verbose=0)
        found.append(model.get_weights()[0])
    numpy.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_layer_that_stands_twice(tmp_path):
    shared = tf.keras.layers.Dense(3)
    model = tf.keras.Sequential([tf.keras.Input((3,)), shared, shared])
    model.save(tmp_path / "some.model")
    again = tf.keras.models.load_model(tmp_path / "some.model")
    assert (
        len(again.weights) == 2
        and (again(tf.ones([1, 3])).numpy() == model(tf.ones([1, 3])).numpy()).all()
    )


def test_device_of_the_list_of_devices():
    with tf.device(tf.config.list_logical_devices("CPU")[0]):
        assert tf.ones([1]).device.endswith("CPU:0")


def _huber(y_true, y_pred):
    return tf.abs(y_true - y_pred)


def test_loaded_model_has_its_own_loss(tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", _huber, metrics=[_huber])
    model.fit(numpy.ones((4, 2)), numpy.ones((4, 1)), verbose=0)
    model.save(tmp_path / "m.keras")
    again = tf.keras.models.load_model(tmp_path / "m.keras", custom_objects={"_huber": _huber})
    again.fit(numpy.ones((4, 2)), numpy.ones((4, 1)), verbose=0)
    assert set(again.history.history) == {"loss", "_huber"}


def test_lists_of_one_input_and_output():
    x = tf.keras.Input((3,))
    model = tf.keras.Model(inputs=[x], outputs=[tf.keras.layers.Dense(2)(x)])
    assert model(tf.ones([1, 3])).shape == (1, 2) and len(model.outputs) == 1
    assert model.predict([numpy.ones((4, 3))], verbose=0).shape == (4, 2)
    deeper = tf.keras.Model([model.input], [tf.keras.layers.Dense(1)(model.output)])
    assert deeper(tf.ones([1, 3])).shape == (1, 1)


def test_labels_that_are_true_or_false():
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "categorical_crossentropy", metrics=["accuracy"])
    found = model.fit(numpy.ones((3, 3)), numpy.eye(3, dtype=bool), verbose=0)
    assert 0 <= found.history["accuracy"][0] <= 1


@pytest.mark.parametrize("delta", [1.0, [1.0], [[1.0, 1.0]], [1.0, 1.0, 1.0]])
@pytest.mark.parametrize("change", ["assign_add", "assign_sub"])
def test_a_variable_keeps_its_shape(change, delta):
    variable = tf.Variable([1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="shapes must be equal"):
        getattr(variable, change)(delta)
    assert variable.numpy().tolist() == [1.0, 2.0]
