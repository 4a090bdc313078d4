# SPDX-License-Identifier: Apache-2.0
"""test_saved_graphs.py: tf.saved_model of graph style, exporters, freeze_graph, graphs as text."""

import os

import numpy
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def build():
    x = tf.placeholder(tf.float32, [None, 2], "x")
    w = tf.Variable([[3.0], [4.0]], name="w")
    return x, tf.identity(tf.matmul(x, w), "y")


def test_what_a_builder_writes_is_loaded(tmp_path):
    folder = str(tmp_path / "model")
    x, y = build()
    signature = tf.saved_model.signature_def_utils.build_signature_def(
        {"in": tf.saved_model.utils.build_tensor_info(x)},
        {"out": tf.saved_model.utils.build_tensor_info(y)},
        tf.saved_model.signature_constants.PREDICT_METHOD_NAME,
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(
            session, [tf.saved_model.tag_constants.SERVING], {"serving_default": signature}
        )
        builder.save()
    with tf.Session(graph=tf.Graph()) as session:
        made = tf.saved_model.loader.load(session, ["serve"], folder)
        told = made.signature_def["serving_default"]
        assert told.inputs["in"].name == "x:0"
        assert session.run(told.outputs["out"].name, {told.inputs["in"].name: [[1, 1]]}) == [[7]]
        with pytest.raises(RuntimeError, match="could not be found in SavedModel"):
            tf.saved_model.loader.load(session, ["train"], folder)
    with pytest.raises(AssertionError, match="Export directory already exists"):
        tf.saved_model.Builder(folder)
    ask = tf.contrib.predictor.from_saved_model(folder)
    assert ask({"in": [[1, 2]]})["out"].tolist() == [[11]]


def test_a_simple_model(tmp_path):
    x, y = build()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": y})
    assert tf.saved_model.maybe_saved_model_directory(str(tmp_path / "m"))


def test_estimators_export(tmp_path):
    def model(features, labels, mode):
        out = tf.layers.dense(features["a"], 1, kernel_initializer=tf.ones_initializer())
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"o": out})
        loss = tf.losses.mean_squared_error(labels, out)
        step = tf.train.GradientDescentOptimizer(0.0).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    def receive():
        fed = {"a": tf.placeholder(tf.float32, [None, 3])}
        return tf.estimator.export.ServingInputReceiver(fed, fed)

    data = tf.estimator.inputs.numpy_input_fn(
        {"a": numpy.ones((4, 3), "float32")},
        numpy.ones((4, 1), "float32"),
        num_epochs=None,
        shuffle=False,
    )
    estimator = tf.estimator.Estimator(model, str(tmp_path))
    _, folders = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(data, max_steps=2),
        tf.estimator.EvalSpec(data, steps=1, exporters=tf.estimator.FinalExporter("f", receive)),
    )
    assert len(folders) == 1 and b"export/f" in folders[0]
    made = estimator.export_savedmodel(str(tmp_path / "x"), receive)
    assert tf.contrib.predictor.from_saved_model(made)({"a": [[1, 2, 3]]})["o"] == [[6]]


@pytest.mark.parametrize("binary", [False, True])
def test_frozen_graphs(tmp_path, binary):
    from situ._src.framework import graph_tools

    _, y = build()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "m.ckpt"))
        tf.train.write_graph(session.graph_def, str(tmp_path), "graph", as_text=not binary)
    out = str(tmp_path / "frozen.pb")
    graph_tools.freeze_graph(str(tmp_path / "graph"), "", binary, path, "y", "", "", out, True, "")
    graph_def = tf.GraphDef()
    with open(out, "rb") as file:
        graph_def.ParseFromString(file.read())
    with tf.Graph().as_default():
        (y,) = tf.import_graph_def(graph_def, return_elements=["y:0"])
        assert tf.Session().run(y, {"import/x:0": [[1, 1]]}) == [[7]]
    assert os.path.getsize(out)


def test_text_that_is_no_graph():
    from situ._src.framework import graph_def_text

    with pytest.raises(ValueError, match="Cannot parse the text format"):
        graph_def_text.parse('node { name: "a')


def test_a_graph_that_is_there_already(tmp_path):
    x, y = build()
    path = str(tmp_path / "m")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, path)
    with tf.Session() as session:
        saver = tf.train.import_meta_graph(path + ".meta")
        saver.restore(session, path)
        assert session.run("y:0", {"x:0": [[1, 1]]}) == [[7]]
        assert tf.get_default_graph().get_operation_by_name("y_1").type == "Identity"
        assert [v.op.name for v in tf.global_variables()] == ["w"]


def test_the_loader_of_graphs_is_found_first(tmp_path, python):
    made = python(
        """
        import situ.compat.v1 as tf
        load = tf.saved_model.load  # before any name that builds a model is asked for
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.multiply(x, tf.get_variable("v", initializer=3.0), name="y")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            tf.saved_model.simple_save(session, %r, {"x": x}, {"y": y})
        with tf.Graph().as_default(), tf.Session() as session:
            load(session, ["serve"], %r)
            print(session.run("y:0", {"x:0": [1.0, 2.0]}).tolist())
    """
        % (str(tmp_path / "m"), str(tmp_path / "m"))
    )
    assert made.out == "[3.0, 6.0]\n", made.err


def test_graphs_with_loops_and_branches(tmp_path):
    x = tf.placeholder(tf.float32, [None, 4, 3], "x")
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(5), x, dtype=tf.float32)
    y = tf.cond(tf.reduce_sum(outputs) > 0, lambda: outputs + 1, lambda: outputs - 1)
    y = tf.identity(y, "y")
    step = tf.train.AdamOptimizer().minimize(tf.reduce_sum(y))
    tf.add_to_collection("step", step)
    path, value = str(tmp_path / "m"), numpy.ones((1, 4, 3))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step, {x: value})
        tf.train.Saver().save(session, path)
        before = session.run(y, {x: value})
    tf.reset_default_graph()
    with tf.Session() as session:
        tf.train.import_meta_graph(path + ".meta").restore(session, path)
        assert numpy.allclose(session.run("y:0", {"x:0": value}), before)
        more = tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: tf.constant(2))
        assert session.run(more) == 1


def test_functions_that_do_not_come_along():
    tf.identity(
        tf.cond(tf.placeholder(tf.bool, [], "p"), lambda: tf.constant(1), lambda: tf.constant(2)),
        "y",
    )
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="calls a function"):
        tf.import_graph_def(graph_def)
