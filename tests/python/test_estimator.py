# SPDX-License-Identifier: Apache-2.0
"""test_estimator.py: tf.estimator: model functions, training loops, folders and input functions."""

import glob
import os

import numpy as np
import pytest

import situ.compat.v1 as tf
from situ._src.summary.file_writer import FileWriterCache


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as result:
        yield result
    FileWriterCache.clear()


def _data(n=200):
    x = np.random.RandomState(0).randn(n, 4).astype(np.float32)
    return x, np.argmax(x[:, :3], 1).astype(np.int32)


def _model(features, labels, mode, params):
    logits = tf.layers.dense(tf.layers.dense(features["x"], 16, tf.nn.relu), 3)
    classes = tf.argmax(logits, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, {"class": classes, "logits": logits})
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    train = tf.train.AdamOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(
        mode,
        loss=loss,
        train_op=train,
        eval_metric_ops={"accuracy": tf.metrics.accuracy(labels, classes)},
    )


def _inputs(x, y, epochs=None, shuffle=True):
    return tf.estimator.inputs.numpy_input_fn({"x": x}, y, 32, epochs, shuffle)


def _estimator(folder, **kwargs):
    return tf.estimator.Estimator(_model, str(folder), params={"rate": 0.02}, **kwargs)


def test_trains_evaluates_and_predicts(tmp_path):
    x, y = _data()
    model = _estimator(tmp_path)
    assert model.train(_inputs(x, y), steps=150) is model
    values = model.evaluate(_inputs(x, y, 1, False))
    assert sorted(values) == ["accuracy", "global_step", "loss"]
    assert values["accuracy"] > 0.9 and values["global_step"] == 150
    said = list(
        model.predict(
            tf.estimator.inputs.numpy_input_fn({"x": x[:40]}, batch_size=16, shuffle=False)
        )
    )
    assert len(said) == 40 and said[0]["logits"].shape == (3,)
    assert np.mean([s["class"] for s in said] == y[:40]) > 0.8
    only = next(model.predict(_inputs(x, None, 1, False), predict_keys=["class"]))
    assert list(only) == ["class"]
    assert glob.glob(os.path.join(model.eval_dir(), "events.out.tfevents.*"))


def test_goes_on_from_the_last_checkpoint(tmp_path):
    x, y = _data()
    _estimator(tmp_path).train(_inputs(x, y), steps=5)
    model = _estimator(tmp_path)
    model.train(_inputs(x, y), steps=5)
    assert model.latest_checkpoint().endswith("model.ckpt-10")
    assert model.get_variable_value("global_step") == 10
    assert "dense_1/kernel/Adam" in model.get_variable_names()
    before = model.get_variable_value("dense/kernel")
    model.train(_inputs(x, y), max_steps=10)  # it has them already
    assert np.array_equal(before, model.get_variable_value("dense/kernel"))


def test_training_ends_with_its_input(tmp_path):
    x, y = _data(64)
    model = _estimator(tmp_path)
    model.train(_inputs(x, y, epochs=3))
    assert model.get_variable_value("global_step") == 6


def test_batches_of_arrays_reach_over_epochs_and_end_small():
    features, labels = tf.estimator.inputs.numpy_input_fn(
        {"a": np.arange(5)}, np.arange(5) * 10, batch_size=4, num_epochs=2, shuffle=False
    )()
    with tf.Session() as sess:
        rows = [sess.run((features["a"], labels)) for _ in range(3)]
        assert [r[0].tolist() for r in rows] == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4]]
        assert rows[1][1].tolist() == [40, 0, 10, 20]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(labels)


def test_a_dataset_is_input_and_hooks_are_asked(tmp_path):
    x, y = _data()
    calls = []

    class Hook(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            calls.append("run")

    def data(params, mode):
        assert params["rate"] == 0.02 and mode == "train"
        return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).repeat().batch(20)

    _estimator(tmp_path).train(data, hooks=[Hook()], steps=7)
    assert len(calls) == 7


def test_train_and_evaluate(tmp_path):
    x, y = _data()
    config = tf.estimator.RunConfig(save_checkpoints_steps=20, keep_checkpoint_max=2)
    model = _estimator(tmp_path, config=config)
    values, exported = tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(_inputs(x, y), max_steps=60),
        tf.estimator.EvalSpec(_inputs(x, y, 1, False), steps=None, throttle_secs=0),
    )
    assert values["global_step"] == 60 and exported == []
    kept = tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths
    assert [os.path.basename(p) for p in kept] == ["model.ckpt-40", "model.ckpt-60"]


def test_warm_start(tmp_path):
    x, y = _data()
    first = _estimator(tmp_path / "a")
    first.train(_inputs(x, y), steps=20)
    second = _estimator(tmp_path / "b", warm_start_from=str(tmp_path / "a"))
    second.train(_inputs(x, y), steps=1)
    old, new = (m.get_variable_value("dense/kernel") for m in (first, second))
    assert np.abs(old - new).max() < 0.05 and second.get_variable_value("global_step") == 1


@pytest.mark.parametrize(
    "kwargs, text",
    [
        ({"mode": "train", "loss": 1}, "Missing train_op."),
        ({"mode": "eval"}, "Missing loss."),
        ({"mode": "infer"}, "Missing predictions."),
    ],
)
def test_spec_without_required_argument(kwargs, text):
    with pytest.raises(ValueError, match=text):
        tf.estimator.EstimatorSpec(**kwargs)


def test_wrong_arguments(tmp_path):
    model = _estimator(tmp_path)
    with pytest.raises(ValueError, match="Can not provide both steps and max_steps."):
        model.train(_inputs(*_data()), steps=1, max_steps=1)
    with pytest.raises(ValueError, match="must include features"):
        tf.estimator.Estimator(lambda labels: None)
    with pytest.raises(ValueError, match="shuffle must be provided"):
        tf.estimator.inputs.numpy_input_fn({"x": np.zeros(3)})
    with pytest.raises(ValueError, match="serving_input_receiver_fn must be defined"):
        model.export_savedmodel("there", None)
    with pytest.raises(ValueError, match="mismatched"):
        _inputs(np.zeros([3, 4]), np.zeros(2))()


def test_in_eager_style(situ):
    result = situ(
        "run",
        "--api",
        "v2",
        "a.py",
        files={
            "a.py": """\
        import numpy as np
        import tensorflow as tf

        def model(features, labels, mode):
            loss = tf.reduce_mean(tf.square(tf.compat.v1.layers.dense(features["x"], 1) - labels))
            step = tf.compat.v1.train.AdamOptimizer(0.1).minimize(
                loss, tf.compat.v1.train.get_global_step())
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

        def data():
            x = np.ones([8, 2], np.float32)
            return tf.data.Dataset.from_tensor_slices(({"x": x}, x[:, :1])).batch(4)
        made = tf.estimator.Estimator(model, "there").train(data)
        print(made.get_variable_value("global_step"), tf.executing_eagerly())
        """
        },
    )
    assert result.out == "2 True\n", result.err


def _receive():
    x = tf.placeholder(tf.float32, [None, 4], "x")
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def test_files_of_an_export(tmp_path):
    model = _estimator(tmp_path / "model")
    model.train(_inputs(*_data()), steps=1)
    (tmp_path / "words.txt").write_text("a b")
    extra = {"here/words.txt": str(tmp_path / "words.txt")}
    folder = model.export_saved_model(
        str(tmp_path / "export"), _receive, assets_extra=extra, as_text=True
    ).decode()
    assert sorted(os.listdir(folder)) == ["assets.extra", "saved_model.pbtxt", "variables"]
    with open(os.path.join(folder, "assets.extra", "here", "words.txt")) as file:
        assert file.read() == "a b"
    with pytest.raises(NotImplementedError, match="experimental_mode='eval'"):
        model.export_saved_model(str(tmp_path), _receive, experimental_mode="eval")
    exporter = tf.estimator.LatestExporter("latest", _receive, extra, True)
    folder = exporter.export(model, str(tmp_path / "a"), model.latest_checkpoint(), {}, False)
    assert os.listdir(os.path.join(folder.decode(), "assets.extra")) == ["here"]


@pytest.mark.parametrize("pattern, exports", [("eval/*.tfevents.*", False), (None, True)])
def test_results_of_earlier_evaluations(tmp_path, pattern, exports):
    x, y = _data()
    model = _estimator(tmp_path / "model")
    model.train(_inputs(x, y), steps=5)
    loss = model.evaluate(_inputs(x, y, 1, False))["loss"]
    exporter = tf.estimator.BestExporter("best", _receive, pattern)
    arguments = model, str(tmp_path / "export"), model.latest_checkpoint()
    worse = {"loss": loss + 1, "global_step": 6}
    assert (exporter.export(*arguments, worse, False) is not None) is exports
    assert exporter.export(*arguments, {"loss": loss / 2, "global_step": 7}, True) is not None


def test_options_of_runs():
    config = tf.estimator.RunConfig(gpu_memory_fraction=0.25)
    assert config.session_config.gpu_options.per_process_gpu_memory_fraction == 0.25
    with pytest.raises(NotImplementedError, match="experimental_distribute"):
        tf.estimator.RunConfig(experimental_distribute=object())


def test_other_tensors_that_clients_feed(tmp_path):
    def receive():
        x = tf.placeholder(tf.float32, [None, 4], "x")
        other = {"other": {"y": tf.placeholder(tf.float32, [None, 4], "y")}}
        return tf.estimator.export.ServingInputReceiver({"x": x + 1}, {"x": x}, other)

    model = _estimator(tmp_path / "model")
    model.train(_inputs(*_data()), steps=1)
    folder = model.export_saved_model(str(tmp_path / "export"), receive).decode()
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.load(session, ["serve"], folder)
    signatures = loaded.signature_def
    assert sorted(signatures) == ["other:serving_default", "serving_default"]
    assert list(signatures["other:serving_default"].inputs) == ["y"]


class Series:
    def __init__(self, values):
        self.values, self.index = np.asarray(values), np.arange(len(values))

    def to_numpy(self):
        return self.values


class Frame(dict):
    """What pandas_input_fn reads of a pandas data frame."""

    columns = property(lambda self: list(self))
    index = property(lambda self: next(iter(self.values())).index)


def test_labels_of_data_frames():
    x = Frame(a=Series([1.0, 2.0]), b=Series([3.0, 4.0]))
    make = tf.estimator.inputs.pandas_input_fn
    with pytest.raises(ValueError, match="Cannot use name a for target column"):
        make(x, Series([5, 6]), shuffle=False, target_column="a")
    with pytest.raises(TypeError, match="target_column"):
        make(x, Series([5, 6]), shuffle=False, target_column=3)
    labels = Frame(a=Series([5, 6]), c=Series([7, 8]))
    with tf.Graph().as_default(), tf.Session() as session:
        batch, labels = session.run(make(x, labels, shuffle=False)())
    assert batch["a"].tolist() == [1, 2] and sorted(batch) == ["a", "b"]
    assert {k: v.tolist() for k, v in labels.items()} == {"a": [5, 6], "c": [7, 8]}


def test_scaffolds_save_with_a_checkpoint(tmp_path):
    def model_fn(features, labels, mode):
        step = tf.train.get_or_create_global_step()
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
        with tf.control_dependencies([v.assign_add(2.0)]):
            train_op = step.assign_add(1)
        saver = tf.train.Checkpoint(things={"v": v}, step=step)
        return tf.estimator.EstimatorSpec(
            mode,
            predictions=v,
            loss=tf.constant(1.0),
            train_op=train_op,
            scaffold=tf.train.Scaffold(saver=saver),
        )

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    data = lambda: tf.data.Dataset.from_tensors(([1.0], [1.0])).repeat()
    for steps in (3, 5):  # the second call restores the first one's values
        estimator.train(data, max_steps=steps)
    names = dict(tf.train.list_variables(tf.train.latest_checkpoint(str(tmp_path))))
    assert "things/v/.ATTRIBUTES/VARIABLE_VALUE" in names and "v" not in names
    assert estimator.get_variable_value("things/v/.ATTRIBUTES/VARIABLE_VALUE") == 10.0


def test_train_op_may_be_a_variable():
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        spec = tf.estimator.EstimatorSpec(
            tf.estimator.ModeKeys.TRAIN, loss=tf.constant(1.0), train_op=step
        )
        assert spec.train_op is step
