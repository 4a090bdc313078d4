# SPDX-License-Identifier: Apache-2.0
"""test_mixed_precision.py: tf.keras.mixed_precision: layers compute in float16, weights and
losses are float32, and losses are scaled."""

import numpy as np
import pytest

import situ as tf

keras, layers = tf.keras, tf.keras.layers
mixed = keras.mixed_precision


@pytest.fixture(autouse=True)
def policy():
    keras.utils.set_random_seed(1)
    mixed.set_global_policy("mixed_float16")
    yield
    mixed.set_global_policy(None)


LAYERS = {
    "Dense": (lambda: layers.Dense(3, activation="relu"), [2, 4]),
    "Dense of rows": (lambda: layers.Dense(3), [2, 5, 4]),
    "Conv1D": (lambda: layers.Conv1D(3, 3), [2, 8, 3]),
    "Conv2D": (lambda: layers.Conv2D(3, 3), [2, 8, 8, 3]),
    "Conv3D": (lambda: layers.Conv3D(2, 2), [2, 4, 4, 4, 1]),
    "Conv2DTranspose": (lambda: layers.Conv2DTranspose(3, 3), [2, 8, 8, 3]),
    "DepthwiseConv2D": (lambda: layers.DepthwiseConv2D(3), [2, 8, 8, 3]),
    "SeparableConv2D": (lambda: layers.SeparableConv2D(3, 3), [2, 8, 8, 3]),
    "BatchNormalization": (layers.BatchNormalization, [4, 5]),
    "BatchNormalization of images": (layers.BatchNormalization, [4, 5, 5, 2]),
    "LayerNormalization": (layers.LayerNormalization, [4, 5]),
    "GroupNormalization": (lambda: layers.GroupNormalization(2), [4, 6]),
    "Dropout": (lambda: layers.Dropout(0.5), [4, 5]),
    "MaxPooling2D": (layers.MaxPooling2D, [2, 8, 8, 3]),
    "AveragePooling2D": (lambda: layers.AveragePooling2D(2), [2, 8, 8, 3]),
    "GlobalAveragePooling2D": (layers.GlobalAveragePooling2D, [2, 8, 8, 3]),
    "LSTM": (lambda: layers.LSTM(3), [2, 4, 3]),
    "LSTM with states": (lambda: layers.LSTM(3, stateful=True), [2, 4, 3]),
    "GRU": (lambda: layers.GRU(3), [2, 4, 3]),
    "SimpleRNN": (lambda: layers.SimpleRNN(3), [2, 4, 3]),
    "Bidirectional": (lambda: layers.Bidirectional(layers.LSTM(3)), [2, 4, 3]),
    "TimeDistributed": (lambda: layers.TimeDistributed(layers.Dense(3)), [2, 4, 3]),
    "PReLU": (layers.PReLU, [2, 4]),
    "Softmax": (layers.Softmax, [2, 4]),
    "Activation": (lambda: layers.Activation("tanh"), [2, 4]),
    "Rescaling": (lambda: layers.Rescaling(1 / 255.0), [2, 4, 4, 1]),
    "Flatten": (layers.Flatten, [2, 4, 3]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_compute_in_float16(name):
    make, shape = LAYERS[name]
    layer = make()
    for _ in range(2):
        with tf.GradientTape() as tape:
            y = layer(tf.random.uniform(shape), training=True)
            loss = tf.reduce_sum(tf.cast(y, tf.float32))
    assert y.dtype == tf.float16 and np.isfinite(y.numpy()).all()
    assert (layer.compute_dtype, layer.variable_dtype, layer.dtype) == (
        "float16",
        "float32",
        "float32",
    )
    assert layer.dtype_policy.name == "mixed_float16"
    assert {v.dtype for v in layer.weights} <= {tf.float32}
    for gradient in tape.gradient(loss, layer.trainable_variables):
        assert gradient is None or gradient.dtype == tf.float32


def test_results_are_rounded_as_float16_rounds():
    layer = layers.Dense(1, use_bias=False, kernel_initializer=lambda *a, **k: tf.constant([[1.0]]))
    assert layer(tf.constant([[2049.0]])).numpy() == 2048  # float16 has 11 bits
    assert (
        layers.Dense(1, use_bias=False, dtype="float32", kernel_initializer="ones")(
            tf.constant([[2049.0]])
        ).numpy()
        == 2049
    )
    assert np.isinf(layers.Activation("linear")(tf.constant([[1e6]])).numpy()).all()


def test_masks_hide_in_float16():
    rows = layers.Embedding(5, 4, mask_zero=True)(tf.constant([[1, 2, 0], [3, 0, 0]]))
    assert rows.dtype == tf.float16
    assert np.isfinite(layers.MultiHeadAttention(1, 4)(rows, rows).numpy()).all()
    assert np.isfinite(layers.Attention()([rows, rows]).numpy()).all()
    hidden = layers.Softmax()(tf.ones([1, 3]), mask=tf.constant([[True, True, False]]))
    assert hidden.numpy().tolist() == [[0.5, 0.5, 0.0]]


def test_layers_of_the_program():
    class Own(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(name="w", shape=(shape[-1], 2))
            self.plain = self.add_weight(name="plain", shape=(), initializer="ones", autocast=False)
            self.count = self.add_weight(
                name="count", shape=(), initializer="zeros", trainable=False
            )

        def call(self, x):
            self.count.assign_add(1.0)
            self.seen = (
                x.dtype,
                tf.convert_to_tensor(self.w).dtype,
                tf.convert_to_tensor(self.plain).dtype,
            )
            return tf.matmul(x, self.w)

    layer = Own()
    assert layer(tf.ones([2, 3])).dtype == tf.float16
    assert layer.seen == (tf.float16, tf.float16, tf.float32)
    assert layer.w.dtype == tf.float32 and float(layer.count) == 1.0
    assert tf.convert_to_tensor(layer.w).dtype == tf.float32  # outside of the call


def test_what_a_layer_is_given():
    assert layers.Dense(2, dtype="float32").compute_dtype == "float32"
    mixed.set_global_policy("float32")
    policy = mixed.Policy("mixed_float16")
    for dtype in (
        policy,
        "mixed_float16",
        {"class_name": "Policy", "config": {"name": "mixed_float16"}},
    ):
        assert layers.Dense(2, dtype=dtype)(tf.ones([1, 2])).dtype == tf.float16
    assert layers.LSTM(2, dtype=policy)(tf.ones([1, 2, 3])).dtype == tf.float16
    assert layers.Dense(2)(tf.ones([1, 2])).dtype == tf.float32
    again = layers.Dense.from_config(layers.Dense(2, dtype=policy).get_config())
    assert (again.compute_dtype, again.variable_dtype) == ("float16", "float32")
    mixed.set_global_policy("float64")
    assert layers.Dense(2)(tf.ones([1, 2])).dtype == tf.float64
    assert keras.backend.floatx() == "float32" and mixed.global_policy().name == "float64"


def test_what_is_not_supported_is_an_error():
    assert mixed.global_policy().name == "mixed_float16"
    for name in ("mixed_float8", "foo"):
        with pytest.raises(ValueError, match="mixed precision DTypePolicy"):
            mixed.Policy(name)
    with pytest.raises(TypeError, match="must be a string"):
        mixed.Policy(3)


def trained(**options):
    x = np.random.rand(32, 4).astype("float32")
    y = x[:, :2].copy()
    inputs = keras.Input((4,))
    hidden = layers.Dense(8, activation="relu")(inputs)
    assert hidden.dtype == tf.float16
    model = keras.Model(inputs, layers.Dense(2, dtype="float32")(hidden))
    model.compile("adam", keras.losses.MeanSquaredError(), metrics=["mae"], **options)
    before = model.evaluate(x, y, verbose=0)[0]
    model.fit(x, y, epochs=40, verbose=0)
    return model, x, before, model.evaluate(x, y, verbose=0)[0]


@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}])
def test_fit_scales_the_loss(options):
    model, x, before, after = trained(**options)
    assert isinstance(model.optimizer, mixed.LossScaleOptimizer)
    assert after < before and model.predict(x, verbose=0).dtype == np.float32
    assert {v.dtype for v in model.optimizer.variables if v.dtype.is_floating} == {tf.float32}


def test_predictions_in_float16_and_their_losses():
    model = keras.Sequential([layers.Dense(1, kernel_initializer="ones", use_bias=False)])
    model.compile("sgd", "mse")
    x = np.full((2, 1), 300.0, "float32")
    assert model.evaluate(x, np.zeros((2, 1)), verbose=0) == 90000.0  # more than float16 holds
    assert model.predict(x, verbose=0).dtype == np.float16
    loss = keras.losses.MeanSquaredError()(
        tf.zeros([1], tf.float16), tf.constant([300.0], tf.float16)
    )
    assert loss.dtype == tf.float32 and float(loss) == 90000.0


def test_steps_that_overflow_are_left_out():
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1, kernel_initializer="ones")])
    optimizer = mixed.LossScaleOptimizer(keras.optimizers.Adam(0.1), initial_scale=2.0**40)
    model.compile(optimizer, "mse")
    x, y = np.full((4, 2), 10.0, "float32"), np.zeros((4, 1), "float32")
    before = model.get_weights()[0].copy()
    model.fit(x, y, epochs=1, verbose=0)
    assert (model.get_weights()[0] == before).all() and int(optimizer.iterations) == 0
    assert float(optimizer.dynamic_scale) == 2.0**39
    model.fit(x, y, epochs=60, verbose=0)
    assert (model.get_weights()[0] != before).all() and int(optimizer.iterations) > 0
    assert np.isfinite(model.get_weights()[0]).all()


def test_the_scale():
    variable = tf.Variable(1.0)
    optimizer = mixed.LossScaleOptimizer(
        keras.optimizers.SGD(0.5), initial_scale=4.0, dynamic_growth_steps=2
    )
    scales = []
    for gradient in (4.0, 4.0, float("inf"), float("nan"), 0.0, 0.0):
        optimizer.apply_gradients([(tf.constant(gradient), variable)])
        scales.append(float(optimizer.dynamic_scale))
    assert scales == [4.0, 8.0, 4.0, 2.0, 2.0, 4.0]
    assert float(variable) == 0.0 and int(optimizer.iterations) == 4
    assert float(optimizer.scale_loss(tf.constant(3.0))) == 12.0
    fixed = mixed.LossScaleOptimizer(keras.optimizers.SGD(1.0), dynamic=False, initial_scale=8.0)
    fixed.apply_gradients([(tf.constant(float("inf")), variable)])
    assert float(fixed.dynamic_scale) == 8.0 and float(variable) == 0.0
    with pytest.raises(ValueError, match="initial_scale"):
        mixed.LossScaleOptimizer(keras.optimizers.SGD(), dynamic=False)
    with pytest.raises(TypeError, match="cannot wrap"):
        mixed.LossScaleOptimizer(optimizer)
    with pytest.raises(TypeError, match="inner_optimizer"):
        mixed.LossScaleOptimizer("sgd")


def test_loops_of_the_program_in_both_styles():
    variable = tf.Variable([1.0, 1.0])
    optimizer = mixed.LossScaleOptimizer(keras.optimizers.SGD(0.5), initial_scale=16.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            scaled = optimizer.scale_loss(tf.reduce_sum(variable * variable))
        optimizer.apply_gradients([(tape.gradient(scaled, variable), variable)])

    step()
    assert variable.numpy().tolist() == [0.0, 0.0]
    variable.assign([1.0, 2.0])
    with tf.GradientTape() as tape:
        scaled = optimizer.get_scaled_loss(tf.reduce_sum(variable * variable))
    gradients = optimizer.get_unscaled_gradients(tape.gradient(scaled, [variable]))
    assert gradients[0].numpy().tolist() == [2.0, 4.0]
    optimizer.apply_gradients(zip(gradients, [variable]))
    assert variable.numpy().tolist() == [0.0, 0.0]
    variable.assign([1.0, 2.0])
    optimizer.minimize(lambda: tf.reduce_sum(variable * variable), [variable])
    assert variable.numpy().tolist() == [0.0, 0.0] and int(optimizer.iterations) == 3
    rows = tf.Variable(tf.ones([3, 1]))
    with tf.GradientTape() as tape:
        scaled = optimizer.scale_loss(tf.reduce_sum(tf.gather(rows, [1])))
    optimizer.apply_gradients([(tape.gradient(scaled, rows), rows)])
    assert rows.numpy().ravel().tolist() == [1.0, 0.5, 1.0]


def test_saved_models_keep_their_policy(tmp_path):
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2), layers.BatchNormalization()])
    model.compile("adam", "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)
    model.save(str(tmp_path / "m.keras"))
    mixed.set_global_policy("float32")
    again = keras.models.load_model(str(tmp_path / "m.keras"))
    x = np.ones((1, 3), "float32")
    assert again.layers[0].compute_dtype == "float16"
    assert isinstance(again.optimizer, mixed.LossScaleOptimizer)
    assert (again.predict(x, verbose=0) == model.predict(x, verbose=0)).all()


def test_replicas(python):
    result = python(
        """
        import numpy as np
        import situ as tf
        tf.keras.utils.set_random_seed(1)
        tf.keras.mixed_precision.set_global_policy("mixed_float16")
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"),
                                         tf.keras.layers.Dense(1, dtype="float32")])
            model.compile("sgd", "mse")
        x = np.random.rand(16, 3).astype("float32")
        losses = model.fit(x, x.sum(1, keepdims=True), epochs=20, batch_size=8,
                           verbose=0).history["loss"]
        print(losses[-1] < losses[0], int(model.optimizer.iterations) > 20)
        """,
        gpus=2,
    )
    assert result.out == "True True\n", result.err


def test_graph_style(python):
    result = python("""
        import situ.compat.v1 as tf
        layer = tf.keras.layers.Dense(3, dtype="mixed_float16")
        y = layer(tf.ones([2, 4]))
        gradients = tf.gradients(tf.reduce_sum(tf.cast(y, tf.float32)), layer.trainable_weights)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            print(session.run(y).dtype, [g.dtype.name for g in session.run(gradients)])
        """)
    assert result.out == "float16 ['float32', 'float32']\n", result.err


def test_switches_that_situ_does_not_have_are_off(python):
    result = python("""
        import situ as tf
        config = tf.config
        print(config.experimental.tensor_float_32_execution_enabled(), config.optimizer.get_jit())
        config.experimental.enable_tensor_float_32_execution(False)
        config.experimental.enable_tensor_float_32_execution(True)
        config.optimizer.set_jit(True)
        config.optimizer.set_experimental_options({"auto_mixed_precision": True})
        print(config.experimental.tensor_float_32_execution_enabled(), config.optimizer.get_jit())
        config.threading.set_inter_op_parallelism_threads(3)
        print(config.threading.get_inter_op_parallelism_threads())
        """)
    assert result.out == "False \nFalse \n3\n"
    assert result.err.count("TensorFloat-32 is not supported") == 1
    assert "XLA is not supported" in result.err and "auto_mixed_precision" in result.err


def test_fit_without_a_scale_of_the_loss():
    model = keras.Sequential([layers.Dense(1)])
    model.compile("sgd", "mse", auto_scale_loss=False)
    assert isinstance(model.optimizer, keras.optimizers.SGD)
