# SPDX-License-Identifier: Apache-2.0
"""test_experiments.py: tf.contrib.learn: experiments, learn_runner, estimators over arrays."""

import numpy
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def model(features, labels, mode, params=None):
    x = features["x"] if isinstance(features, dict) and "x" in features else features[""]
    out = tf.layers.dense(x, 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": out})
    loss = tf.losses.mean_squared_error(labels, out)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def data():
    return tf.estimator.inputs.numpy_input_fn(
        {"x": numpy.ones((8, 2), "float32")},
        numpy.ones((8, 1), "float32"),
        num_epochs=None,
        shuffle=False,
    )


def test_an_experiment_trains_and_evaluates(tmp_path):
    def make(config, hparams):
        estimator = tf.estimator.Estimator(model, config=config, params=hparams)
        return tf.contrib.learn.Experiment(
            estimator, data(), data(), train_steps=hparams.steps, eval_steps=1
        )

    results, _ = tf.contrib.learn.learn_runner.run(
        make,
        run_config=tf.contrib.learn.RunConfig(model_dir=str(tmp_path)),
        hparams=tf.contrib.training.HParams(steps=4),
    )
    assert results["global_step"] == 4
    with pytest.raises(ValueError, match="non-existent task"):
        tf.contrib.learn.learn_runner.run(
            make,
            schedule="dance",
            hparams=tf.contrib.training.HParams(steps=4),
            run_config=tf.contrib.learn.RunConfig(model_dir=str(tmp_path)),
        )


def experiment(folder, **kwargs):
    config = tf.contrib.learn.RunConfig(model_dir=str(folder), save_checkpoints_steps=2)
    estimator = tf.estimator.Estimator(model, config=config)
    return tf.contrib.learn.Experiment(estimator, data(), data(), eval_steps=1, **kwargs)


class Count(tf.train.SessionRunHook):
    """Counts evaluations."""

    number = 0

    def begin(self):
        self.number += 1


@pytest.mark.parametrize("every,count", [(None, 4), (1, 4), (4, 2), (0, 1)])
def test_frequency_of_evaluations(tmp_path, every, count):
    seen = Count()
    made = experiment(tmp_path, train_steps=8, eval_hooks=[seen], min_eval_frequency=every)
    assert made.train_and_evaluate()[0]["global_step"] == 8 and seen.number == count


def test_local_run_and_iterations(tmp_path):
    for name, kwargs, count in (
        ("local_run", {"min_eval_frequency": 1}, 1),
        ("local_run", {"local_eval_frequency": 2}, 3),
        ("continuous_train_and_eval", {"train_steps_per_iteration": 3}, 2),
    ):
        seen = Count()
        made = experiment(tmp_path / f"{name}{count}", train_steps=6, eval_hooks=[seen], **kwargs)
        assert getattr(made, name)()[0]["global_step"] == 6 and seen.number == count
    assert made.continuous_train_and_eval(lambda results: False) == (None, [])


def test_continuous_evaluation(tmp_path):
    saved, waits, seen = [], [], Count()

    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            saved.append(int(global_step_value))

    made = experiment(
        tmp_path,
        train_steps=2,
        eval_hooks=[seen],
        saving_listeners=[Listener()],
        eval_delay_secs=0,
        continuous_eval_throttle_secs=0,
    )
    made.train()
    assert saved == [0, 2] and made.evaluate()["global_step"] == 2 and seen.number == 1
    made.train_steps = 9  # never reached: the predicate ends it

    def wanted(results, checkpoint_path):
        waits.append(checkpoint_path)
        return len(waits) < 4

    made.continuous_eval(evaluate_checkpoint_only_once=False, continuous_eval_predicate_fn=wanted)
    assert seen.number == 4 and waits[0] is None and waits[3].endswith("ckpt-2")
    waits.clear()
    made.continuous_eval(continuous_eval_predicate_fn=wanted)
    assert seen.number == 5


def test_delays_of_an_experiment(tmp_path, monkeypatch):
    slept = []
    made = experiment(tmp_path, train_steps=1)
    monkeypatch.setattr("time.sleep", slept.append)
    made.train(delay_secs=7)
    made.evaluate()
    made.evaluate(delay_secs=3)
    assert slept == [7, 120, 3]


def test_what_experiments_do_not_have(tmp_path):
    with pytest.raises(ValueError, match="eval_metric_ops"):
        experiment(tmp_path, eval_metrics={})
    for given in ({"export_strategies": [1]}, {"checkpoint_and_export": True}):
        with pytest.raises(NotImplementedError, match=next(iter(given))):
            experiment(tmp_path, **given)
    with pytest.raises(NotImplementedError, match="metrics"):
        tf.contrib.learn.SKCompat(None).score([1.0], [1.0], metrics={})


def test_parameters_of_any_class(tmp_path):
    class Params:
        width = 3

    estimator = tf.estimator.Estimator(model, str(tmp_path), params=Params())
    assert estimator.params.width == 3


def test_estimators_over_arrays(tmp_path):
    kept = tf.contrib.learn.SKCompat(tf.estimator.Estimator(model, str(tmp_path)))
    x, y = numpy.ones((8, 2), "float32"), numpy.ones((8, 1), "float32")
    kept.fit(x, y, steps=30)
    assert kept.score(x, y)["loss"] < 0.1
    assert kept.predict(x)["y"].shape == (8, 1)


def test_files_of_sources_named_like_functions(situ):
    program = """
        from tensorflow.python.framework import device as pydev
        from tensorflow.python.ops import variable_scope
        from tensorflow.python.training import device_setter
        import tensorflow as tf
        tf.placeholder
        print(pydev.DeviceSpec.from_string("/gpu:1").device_index,
              variable_scope.get_variable_scope().name == "",
              device_setter._RoundRobinStrategy(2)(None))
        """
    assert situ("run", "a.py", files={"a.py": program}).out == "1 True 0\n"


def test_flags_as_older_programs_read_them(situ):
    program = """
        import tensorflow as tf
        tf.flags.DEFINE_integer("most", float("inf"), "")
        FLAGS = tf.flags.FLAGS
        FLAGS._parse_flags()
        print(sorted(FLAGS.__flags.items())[0][0], FLAGS.most)
        """
    assert situ("run", "a.py", files={"a.py": program}).out == "most inf\n"


def test_images_whose_size_a_run_tells():
    image = tf.placeholder(tf.float32, [None, None, 1])
    result = tf.image.resize_image_with_pad(image, 4, 6)
    assert result.shape.as_list() == [4, 6, 1]
    with tf.Session() as session:
        value = session.run(result, {image: numpy.ones((2, 2, 1))})[:, :, 0]
    assert value.tolist() == [[0, 1, 1, 1, 1, 0]] * 4


def test_features_of_any_length_have_known_ranks():
    one = tf.parse_single_example(tf.placeholder(tf.string, []), {"a": tf.VarLenFeature("float32")})
    many = tf.parse_example(tf.placeholder(tf.string, [None]), {"a": tf.VarLenFeature("float32")})
    assert tf.sparse_tensor_to_dense(one["a"]).shape.as_list() == [None]
    assert tf.sparse_tensor_to_dense(many["a"]).shape.as_list() == [None, None]


def test_layers_of_sources_and_balanced_variables(situ):
    program = """
        from tensorflow.core.protobuf import config_pb2
        from tensorflow.python.layers import convolutional, core
        from tensorflow.python.distribute import all_reduce
        import tensorflow as tf
        print(convolutional.conv2d(tf.ones([1, 4, 4, 1]), 2, 3, kernel_initializer=None).shape,
              core.dropout(tf.ones([2]), 0.5).shape)
        sizes = []
        def place(op):
            if op.type == "VariableV2":
                sizes.append(op.outputs[0].get_shape().num_elements())
            return "/cpu:0"
        with tf.device(place):
            tf.get_variable("v", [3, 2])
        print(sizes)
        parts = []
        for i in range(2):
            with tf.device("/gpu:%d" % i):
                parts.append(tf.constant([1.0 + i, 2.0]))
        sums = all_reduce.build_ring_all_reduce(parts, 1, 1, [0, 1], tf.add)
        print(tf.Session().run(sums)[1].tolist(), [s.device for s in sums])
        """
    out = situ("run", "--gpus", "2", "a.py", files={"a.py": program}).out
    assert out.splitlines() == [
        "(1, 2, 2, 2) (2,)",
        "[6]",
        "[3.0, 4.0] ['/device:GPU:0', '/device:GPU:1']",
    ]


def test_a_field_without_a_default_is_required():
    empty = tf.constant([], tf.int32)
    columns = tf.decode_csv(["5,a", ",b"], [empty, [""]])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Field 0 is required but missing"):
            session.run(columns)
