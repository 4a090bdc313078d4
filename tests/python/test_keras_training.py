# SPDX-License-Identifier: Apache-2.0
"""test_keras_training.py: compile, fit, evaluate, predict; kinds of input, weights, metrics."""

import numpy as np
import pytest

import situ as tf

keras = tf.keras
X = np.arange(8, dtype="f").reshape(8, 1) / 4
Y = 3 * X + 1


def line(**kwargs):
    model = keras.Sequential(
        [
            keras.layers.Dense(
                1,
                kernel_initializer=keras.initializers.Constant(0.5),
                bias_initializer=keras.initializers.Constant(0.1),
                input_shape=(1,),
            )
        ]
    )
    model.compile(keras.optimizers.SGD(0.02), "mse", **kwargs)
    return model


def test_losses_are_tensorflows():
    model = line()
    history = model.fit(X, Y, batch_size=4, epochs=4, verbose=0, shuffle=False)
    np.testing.assert_allclose(
        history.history["loss"], [11.05425, 8.03776, 5.85625, 4.27836], rtol=1e-5
    )
    np.testing.assert_allclose(
        [w.ravel()[0] for w in model.get_weights()], [1.38392, 0.86390], rtol=1e-5
    )
    assert history.epoch == [0, 1, 2, 3] and model.history is history


def test_last_batch_is_smaller():
    one, two = line(), line()
    one.fit(X[:6], Y[:6], batch_size=4, verbose=0, shuffle=False)
    two.train_on_batch(X[:4], Y[:4])
    two.train_on_batch(X[4:6], Y[4:6])
    np.testing.assert_allclose(one.get_weights()[0], two.get_weights()[0])
    assert one.predict(X[:7], batch_size=3).shape == (7, 1)


def test_kinds_of_input():
    want = line().fit(X, Y, batch_size=4, verbose=0, shuffle=False).history["loss"]

    def batches():
        for i in (0, 4):
            yield X[i : i + 4], Y[i : i + 4]

    class Halves(keras.utils.Sequence):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return X[4 * i : 4 * i + 4], Y[4 * i : 4 * i + 4]

    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    for kwargs in (
        {"x": batches()},
        {"x": Halves()},
        {"x": data},
        {"x": data.repeat(), "steps_per_epoch": 2},
        {"x": tf.constant(X), "y": tf.constant(Y), "batch_size": 4},
        {"x": X.tolist(), "y": Y.tolist(), "batch_size": 4},
    ):
        result = line().fit(**kwargs, verbose=0, shuffle=False).history["loss"]
        np.testing.assert_allclose(result, want, rtol=1e-6)


def test_dataset_for_validation_and_prediction():
    model, data = line(), tf.data.Dataset.from_tensor_slices((X, Y)).batch(3)
    history = model.fit(data, validation_data=data, epochs=2, verbose=0).history
    assert history["val_loss"][-1] == pytest.approx(model.evaluate(X, Y, verbose=0), rel=1e-5)
    np.testing.assert_allclose(model.predict(data), model.predict(X), rtol=1e-6)


def test_images_of_bytes():
    model = keras.Sequential(
        [keras.layers.Flatten(input_shape=(2, 2)), keras.layers.Dense(1, kernel_initializer="ones")]
    )
    assert model.predict(np.full((1, 2, 2), 200, "uint8")) == 800
    assert keras.layers.Dense(1, kernel_initializer="ones")(np.array([[250, 5]], "uint8")) == 255


def test_weights_of_examples_and_classes():
    model = line()
    weights = np.array([1, 1, 0, 0, 0, 0, 0, 0], "f")
    loss = model.fit(X, Y, sample_weight=weights, verbose=0).history["loss"][0]
    np.testing.assert_allclose(loss, ((0.5 * X + 0.1 - Y) ** 2)[:2].sum() / 8, rtol=1e-5)
    model = keras.Sequential(
        [keras.layers.Dense(2, activation="softmax", input_shape=(1,), kernel_initializer="zeros")]
    )
    model.compile("sgd", "sparse_categorical_crossentropy")
    labels = np.array([0, 1] * 4)
    loss = model.fit(X, labels, class_weight={0: 3.0, 1: 0.0}, verbose=0).history["loss"][0]
    np.testing.assert_allclose(loss, 1.5 * np.log(2), rtol=1e-5)


def test_metrics():
    x, y = np.eye(3, dtype="f"), np.array([0, 1, 1])
    model = keras.Sequential(
        [
            keras.layers.Dense(
                3, activation="softmax", input_shape=(3,), kernel_initializer="identity"
            )
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    result = model.evaluate(x, y, verbose=0, return_dict=True)
    assert list(result) == ["loss", "accuracy"] and result["accuracy"] == pytest.approx(2 / 3)
    assert model.metrics_names == ["loss", "accuracy"]
    model.compile(
        "adam",
        "categorical_crossentropy",
        metrics=[
            "acc",
            "mse",
            keras.metrics.CategoricalAccuracy("third"),
            keras.metrics.AUC(name="area"),
        ],
    )
    result = model.fit(x, np.eye(3)[y], verbose=0).history
    assert sorted(result) == ["acc", "area", "loss", "mse", "third"]


def test_metrics_by_themselves():
    mean = keras.metrics.Mean()
    mean.update_state([1.0, 3.0])
    mean.update_state([8.0], sample_weight=2.0)
    assert mean.result().numpy() == 5
    mean.reset_states()
    assert mean.result().numpy() == 0
    labels, scores = [0, 1, 1, 0], [0.1, 0.8, 0.3, 0.6]
    for metric, want in (
        (keras.metrics.Precision(), 0.5),
        (keras.metrics.Recall(), 0.5),
        (keras.metrics.AUC(), 0.75),
        (keras.metrics.TruePositives(), 1.0),
        (keras.metrics.BinaryAccuracy(), 0.5),
        (keras.metrics.MeanAbsoluteError(), 0.4),
    ):
        assert float(metric(labels, scores)) == pytest.approx(want, abs=2e-3)
    table = keras.metrics.MeanIoU(2)
    assert float(table([0, 1, 1, 0], [0, 1, 0, 0])) == pytest.approx((2 / 3 + 0.5) / 2)


def test_validation():
    model = line(metrics=["mae"])
    history = model.fit(X, Y, batch_size=2, epochs=2, validation_split=0.25, verbose=0)
    assert set(history.history) == {"loss", "mae", "val_loss", "val_mae"}
    result = model.evaluate(X[6:], Y[6:], verbose=0)
    np.testing.assert_allclose(
        [history.history[k][-1] for k in ("val_loss", "val_mae")], result, rtol=1e-6
    )
    model.fit(X, Y, validation_data=(X, Y), validation_freq=2, epochs=3, verbose=0)
    assert len(model.history.history["val_loss"]) == 1


def test_several_inputs_and_outputs():
    a, b = keras.Input((2,), name="a"), keras.Input((2,), name="b")
    shared = keras.layers.Dense(2, name="shared")
    x, y = shared(a), shared(b)
    model = keras.Model(
        [a, b], [keras.layers.Dense(1, name="p")(x), keras.layers.Dense(2, name="q")(y)]
    )
    assert len(shared.weights) == 2 and len(model.weights) == 6
    model.compile(
        "sgd", {"p": "mse", "q": "mae"}, loss_weights={"p": 2.0, "q": 0.5}, metrics={"p": "mae"}
    )
    one = np.ones((4, 2), "f")
    result = model.fit({"a": one, "b": one}, {"p": one[:, :1], "q": one}, verbose=0).history
    assert list(result) == ["loss", "p_loss", "q_loss", "p_mae"]
    np.testing.assert_allclose(
        result["loss"][0], 2 * result["p_loss"][0] + 0.5 * result["q_loss"][0], rtol=1e-5
    )
    p, q = model.predict([one, one])
    assert p.shape == (4, 1) and q.shape == (4, 2)


def test_sub_classes():
    class Twice(keras.layers.Layer):
        def __init__(self, units):
            super().__init__()
            self.dense = keras.layers.Dense(units)
            self.scale = self.add_weight("scale", shape=(), initializer="ones")

        def call(self, x):
            return self.dense(x) * self.scale

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.parts = [Twice(3), Twice(1)]
            self.drop = keras.layers.Dropout(0.5)

        def call(self, x, training=None):
            x = self.parts[0](x)
            return self.parts[1](self.drop(x, training=training))

    net = Net()
    assert not net.built
    net.compile(keras.optimizers.SGD(0.001), "mse")
    net.build((None, 1))
    first = net.evaluate(X, Y, verbose=0)
    net.fit(X, Y, epochs=30, verbose=0)
    assert net.evaluate(X, Y, verbose=0) < first and len(net.trainable_variables) == 6
    np.testing.assert_allclose(net(X).numpy(), net.predict(X), rtol=1e-5)
    names = [v.name for v in net.parts[0].weights]
    assert any(n.startswith("net/twice/dense") for n in names), names


def test_own_step_of_training():
    class Net(keras.Model):
        def train_step(self, data):
            x, y = data[0], data[1]
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            grads = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
            return {"mine": loss}

    a = keras.Input((1,))
    net = Net(a, keras.layers.Dense(1)(a))
    net.compile(keras.optimizers.SGD(0.1))
    result = net.fit(X, Y, epochs=20, verbose=0).history["mine"]
    assert result[-1] < result[0]


def test_losses_of_layers():
    class Sparse(keras.layers.Layer):
        def call(self, x):
            self.add_loss(0.1 * tf.reduce_sum(tf.abs(x)))
            return x

    model = keras.Sequential([keras.Input((1,)), Sparse()])
    model.compile("sgd", "mse")
    loss = model.evaluate(X, X, verbose=0)
    assert loss == pytest.approx(0.1 * X.sum())


def test_optimizers_of_both_generations():
    for optimizer in (
        tf.train.GradientDescentOptimizer(0.02),
        keras.optimizers.Adam(0.05),
        tf.train.MomentumOptimizer(0.02, 0.5),
        "rmsprop",
        keras.optimizers.Nadam(),
    ):
        model = line()
        model.compile(optimizer, "mse")
        loss = model.fit(X, Y, epochs=5, verbose=0).history["loss"]
        assert loss[-1] < loss[0]


def test_eagerly_as_compiled():
    one, two = line(), line(run_eagerly=True)
    for model in (one, two):
        model.fit(X, Y, batch_size=3, epochs=2, verbose=0, shuffle=False)
    np.testing.assert_allclose(one.get_weights()[0], two.get_weights()[0], rtol=1e-6)


def test_frozen_layers():
    model = keras.Sequential([keras.layers.Dense(2, input_shape=(1,)), keras.layers.Dense(1)])
    model.layers[0].trainable = False
    model.compile("sgd", "mse")
    before = [w.copy() for w in model.get_weights()]
    model.fit(X, Y, verbose=0)
    after = model.get_weights()
    assert len(model.trainable_weights) == 2 and (before[0] == after[0]).all()
    assert not (before[2] == after[2]).all()


def test_constraint():
    model = keras.Sequential(
        [
            keras.layers.Dense(
                1, input_shape=(1,), kernel_constraint="non_neg", kernel_initializer="ones"
            )
        ]
    )
    model.compile(keras.optimizers.SGD(1.0), "mse")
    model.fit(X, -Y, verbose=0)
    assert model.get_weights()[0] == 0


def test_errors():
    with pytest.raises(RuntimeError, match="You must compile your model"):
        keras.Sequential([keras.layers.Dense(1)]).fit(X, Y)
    with pytest.raises(ValueError, match="Data cardinality is ambiguous"):
        line().fit(X, Y[:3], verbose=0)
    with pytest.raises(ValueError, match="Unknown loss function: 'guess'"):
        line().compile("sgd", "guess") or line().fit(X, Y)
        model = line()
        model.compile("sgd", "guess")
        model.fit(X, Y, verbose=0)
    with pytest.raises(ValueError, match="Graph disconnected"):
        a, b = keras.Input((1,)), keras.Input((1,))
        keras.Model(a, keras.layers.Add()([a, b]))
    with pytest.raises(ValueError, match="should have unique names"):
        keras.Sequential([keras.layers.Dense(1, name="a"), keras.layers.Dense(1, name="a")])
    with pytest.raises(ValueError, match="weight list of length 1"):
        line().set_weights([np.ones((1, 1))])


def test_arrays_are_only_lent():
    """A step reads arrays where they are; what it keeps of them is a copy."""

    class Keeps(keras.Model):
        def __init__(self):
            super().__init__()
            self.last = tf.Variable(tf.zeros((4, 1)), trainable=False)

        def train_step(self, data):
            x, _ = data
            self.last.assign(x)
            return {"loss": tf.reduce_sum(x), "x": x}

    model, x = Keeps(), np.ones((4, 1), "f")
    model.compile()
    logs = model.make_train_function()(iter([(x, x, None)]))
    x[:] = 7
    np.testing.assert_array_equal(model.last, np.ones((4, 1)))
    np.testing.assert_array_equal(logs["x"], np.ones((4, 1)))
    assert float(logs["loss"]) == 4


class Numbered(tf.keras.utils.Sequence):
    """Ten batches that record which of them were read, and when an epoch ended."""

    def __init__(self):
        super().__init__()
        self.read, self.ends = [], 0

    def __len__(self):
        return 10

    def __getitem__(self, index):
        self.read.append(index)
        return np.ones((2, 1), "f"), np.ones((2, 1), "f")

    def on_epoch_end(self):
        self.ends += 1


def one_weight(**kwargs):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile("sgd", "mse", **kwargs)
    return model


def test_batches_of_a_sequence_are_shuffled():
    model, data = one_weight(), Numbered()
    model.fit(data, epochs=3, verbose=0)
    assert sorted(data.read) == sorted([*range(10)] * 3) and data.ends == 3
    assert data.read != [*range(10)] * 3
    data = Numbered()
    model.fit(data, epochs=2, shuffle=False, verbose=0)
    assert data.read == [*range(10)] * 2
    model.evaluate(data, verbose=0)
    assert data.read == [*range(10)] * 3


def test_a_sequence_with_class_weights_learns_of_the_end_of_an_epoch():
    data = Numbered()
    one_weight().fit(data, epochs=2, class_weight={0: 1.0, 1: 2.0}, verbose=0)
    assert data.ends == 2


@pytest.mark.parametrize(
    "data",
    [
        lambda: tf.data.Dataset.from_tensors((np.ones((2, 1), "f"), np.ones((2, 1), "f"))),
        lambda: iter([(np.ones((2, 1), "f"), np.ones((2, 1), "f"))]),
        Numbered,
    ],
)
def test_arguments_that_data_with_labels_cannot_have(data):
    model = one_weight()
    for call in (
        lambda: model.fit(data(), sample_weight=np.ones(2), verbose=0),
        lambda: model.evaluate(data(), sample_weight=np.ones(2), verbose=0),
    ):
        with pytest.raises(ValueError, match="`sample_weight` argument is not supported"):
            call()
    with pytest.raises(ValueError, match="`validation_split` is only supported"):
        model.fit(data(), validation_split=0.5, verbose=0)


def test_several_steps_per_execution():
    calls = []

    class Calls(tf.keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            calls.append(batch)

        def on_train_batch_end(self, batch, logs=None):
            calls.append(-batch)

    one_weight(steps_per_execution=4).fit(Numbered(), callbacks=[Calls()], verbose=0)
    assert calls == [0, -3, 4, -7, 8, -9]


def test_a_dynamic_layer_runs_eagerly():
    eager = []

    class Dynamic(tf.keras.layers.Layer):
        def call(self, inputs):
            eager.append(tf.executing_eagerly())
            return inputs

    for dynamic in (False, True):
        model = tf.keras.Sequential([Dynamic(dynamic=dynamic), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        eager.clear()
        model.fit(np.ones((2, 1)), np.ones((2, 1)), verbose=0)
        assert model.run_eagerly is dynamic and eager[-1] is dynamic


def test_metrics_are_means():
    model = one_weight()
    model.add_metric(tf.reduce_sum(model.output), name="total", aggregation="mean")
    with pytest.raises(ValueError, match="only `mean`"):
        model.add_metric(model.output, name="other", aggregation="sum")


def test_configurations_keep_what_is_trained():
    x = tf.keras.Input((1,))
    for model in (
        tf.keras.Model(x, tf.keras.layers.Dense(1)(x)),
        tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))]),
    ):
        model.trainable = False
        again = type(model).from_config(model.get_config())
        assert not again.trainable and not again.trainable_weights


def test_weights_of_an_optimizer_are_counted():
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build([tf.Variable(1.0)])
    with pytest.raises(ValueError, match="with a weight list of length 1, but .* length 4"):
        optimizer.set_weights([1.0])


def test_schedules_of_the_program():
    class Halved(tf.keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.5 ** tf.cast(step, "float32")

        def get_config(self):
            return {}

        @classmethod
        def from_config(cls, config):
            return cls(**config)

    config = tf.keras.optimizers.SGD(Halved()).get_config()
    again = tf.keras.optimizers.SGD.from_config(config, custom_objects={"Halved": Halved})
    assert isinstance(again.get_config()["learning_rate"], dict)
    described = {"class_name": "SGD", "config": config}
    tf.keras.optimizers.deserialize(described, custom_objects={"Halved": Halved})


def test_history_of_a_list_of_callbacks():
    model = one_weight()
    listed = tf.keras.callbacks.CallbackList(add_history=True, model=model)
    model.fit(np.ones((2, 1)), np.ones((2, 1)), callbacks=listed, verbose=0)
    assert len(model.history.history["loss"]) == 1


def test_overridden_losses_are_logged():
    class Total(keras.Model):
        def __init__(self, extra):
            super().__init__()
            self.extra, self.dense = extra, keras.layers.Dense(1, kernel_initializer="zeros")

        def call(self, x):
            return self.dense(x)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            if self.extra is None:
                return 0 * tf.reduce_sum(y_pred) + 7.0
            return super().compute_loss(x, y, y_pred, sample_weight) + self.extra

    model = Total(None)
    model.compile("sgd", "mse")
    assert model.fit(X, Y, verbose=0).history["loss"] == [7.0]
    assert model.evaluate(X, Y, verbose=0) == 7.0
    plain, more = Total(0.0), Total(100.0)
    for each in (plain, more):
        each.compile(keras.optimizers.SGD(0.0), "mse")
    assert more.evaluate(X, Y, verbose=0) == pytest.approx(
        plain.evaluate(X, Y, verbose=0) + 100, 1e-5
    )


def test_overridden_train_functions_are_called():
    calls = []

    class Returned(keras.Sequential):
        def make_train_function(self, force=False):
            usual = super().make_train_function(force)

            def train(iterator):
                calls.append("train")
                return {**usual(iterator), "more": tf.constant(2.0)}

            return train

    class Kept(keras.Sequential):
        def make_test_function(self, force=False):
            self.test_function = lambda iterator: {"size": tf.size(next(iterator)[0])}

    model = Returned([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert model.fit(X, Y, batch_size=4, verbose=0).history["more"] == [2.0]
    assert calls == ["train", "train"]
    model = Kept([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert model.evaluate(X, Y, batch_size=8, verbose=0, return_dict=True) == {"size": 8}


def test_losses_with_a_call_of_their_own():
    class Own(keras.losses.Loss):
        def __call__(self, y_true, y_pred, sample_weight=None):
            return tf.reduce_sum(y_pred) * 0 + 11.0

    model = line()
    model.compile("sgd", Own())
    assert model.fit(X, Y, verbose=0).history["loss"] == [11.0]


@pytest.mark.parametrize("save_freq", ["epoch", 3])
@pytest.mark.parametrize("is_built", [True, False])
def test_backup_and_restore_continues(tmp_path, save_freq, is_built):
    class Crash(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if int(self.model.optimizer.iterations) == 7:  # in the second epoch
                raise KeyboardInterrupt

    class Epochs(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            seen.append((epoch, int(self.model.optimizer.iterations)))

    def make():
        shape = {"input_shape": (1,)} if is_built else {}
        model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones", **shape)])
        model.compile(keras.optimizers.Adam(0.1), "mse")
        return model

    def fit(model, *callbacks):
        return model.fit(X, Y, 2, epochs=3, shuffle=False, verbose=0, callbacks=[*callbacks])

    seen: list = []
    backup = lambda: keras.callbacks.BackupAndRestore(str(tmp_path / "b"), save_freq=save_freq)
    with pytest.raises(KeyboardInterrupt):
        fit(make(), backup(), Crash())
    resumed, whole = make(), make()
    fit(resumed, backup(), Epochs())
    # In the second epoch a checkpoint of every third batch is that of the sixth.
    assert seen == ([(1, 4), (2, 8)] if save_freq == "epoch" else [(1, 6), (2, 10)])
    assert not list((tmp_path / "b").iterdir())
    if save_freq == "epoch":
        fit(whole)
        np.testing.assert_allclose(resumed.get_weights()[0], whole.get_weights()[0], rtol=1e-6)
    with pytest.raises(ValueError, match="save_freq=0"):
        keras.callbacks.BackupAndRestore("b", save_freq=0)


def test_terminate_on_nan_ends_training_or_raises():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.full([8, 2], np.nan, "float32"), np.ones([8, 1], "float32")
    fit = {"epochs": 3, "batch_size": 4, "verbose": 0}
    stop = tf.keras.callbacks.TerminateOnNaN
    assert len(model.fit(x, y, callbacks=[stop()], **fit).history["loss"]) == 1
    with pytest.raises(RuntimeError, match="NaN or Inf loss encountered at batch 0"):
        model.fit(x, y, callbacks=[stop(raise_error=True)], **fit)
