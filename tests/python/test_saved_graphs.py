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
    with pytest.raises(ValueError, match="a string is not terminated"):
        tf.GraphDef()._merge_text('node { name: "a')


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


def test_functions_of_a_graph_def():
    tf.identity(
        tf.cond(tf.placeholder(tf.bool, [], "p"), lambda: tf.constant(1), lambda: tf.constant(2)),
        "y",
    )
    graph_def = tf.get_default_graph().as_graph_def()
    assert len(graph_def.library.function) == 2
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.Session() as session:
            assert session.run("y:0", {"p:0": True}) == 1
            assert session.run("y:0", {"p:0": False}) == 2
    graph_def.library.Clear()
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="calls the function"):
        tf.import_graph_def(graph_def)


def test_arguments_of_freeze_graph(tmp_path):
    from situ._src.framework import graph_tools

    x, y = build()
    folder = str(tmp_path / "model")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "m.ckpt"))
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(session, ["serve", "gpu"])
        builder.save()
    meta = tf.train.export_meta_graph()
    freeze = graph_tools.freeze_graph_with_def_protos
    frozen = freeze(None, None, path, "y", input_meta_graph_def=meta)
    assert "w" in [n.name for n in frozen.node if n.op == "Const"]
    with pytest.raises(NotImplementedError, match="initializer_nodes='init'"):
        freeze(tf.get_default_graph().as_graph_def(), None, path, "y", initializer_nodes="init")
    words = (None, None, False, None, "y", "", "", "", True, "", "", "", None, folder)
    frozen = graph_tools.freeze_graph(*words, "gpu,serve")
    assert "w" in [n.name for n in frozen.node if n.op == "Const"]
    with pytest.raises(RuntimeError, match=r"has the tags \['serve'\]"):
        graph_tools.freeze_graph(*words)


def test_inputs_of_optimize_for_inference():
    from situ._src.framework import graph_tools

    raw = tf.placeholder(tf.string, [], "raw")
    x = tf.identity(tf.reshape(tf.decode_raw(raw, tf.float32), [1, 2]), "x")
    tf.identity(x * 2.0, "y")
    graph_def = tf.get_default_graph().as_graph_def()
    made = graph_tools.optimize_for_inference(graph_def, ["x"], ["y"], tf.float32.as_datatype_enum)
    assert {n.name: n.op for n in made.node}["x"] == "Placeholder"
    assert "raw" not in [n.name for n in made.node]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(made, name="")
        assert session.run("y:0", {"x:0": [[1, 2]]}).tolist() == [[2, 4]]


def test_the_number_of_parameters_of_a_checkpoint(tmp_path, capsys):
    from situ._src.framework import graph_tools

    build()
    tf.Variable([1.0, 2.0, 3.0], name="slot")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "m.ckpt"))
    for pattern, count in (("", 5), ("sl.t", 2)):
        graph_tools.print_tensors_in_checkpoint_file(path, None, False, True, pattern)
        assert capsys.readouterr().out.endswith(f"# Total number of params: {count}\n")


def test_arguments_of_export_meta_graph():
    with tf.device("/device:CPU:0"):
        x, y = build()
    saver = tf.train.Saver()
    part = tf.graph_util.extract_sub_graph(tf.get_default_graph().as_graph_def(), ["x"])
    nodes = lambda meta: meta.graph_def.node
    assert any(n.device for n in nodes(tf.train.export_meta_graph()))
    assert not any(n.device for n in nodes(tf.train.export_meta_graph(clear_devices=True)))
    assert [n.name for n in nodes(tf.train.export_meta_graph(graph_def=part))] == ["x"]
    meta = tf.train.export_meta_graph(saver_def=saver.as_saver_def())
    with tf.Graph().as_default():
        assert isinstance(tf.train.import_meta_graph(meta), tf.train.Saver)
    with pytest.raises(NotImplementedError, match="save_debug_info"):
        tf.train.export_meta_graph(save_debug_info=True)
    for option in ("meta_info_def", "graph_def", "saver_def", "graph"):
        with pytest.raises(TypeError, match=option + " must be of type"):
            tf.train.export_meta_graph(**{option: "m"})


def test_colocation_with_a_node_that_is_missing():
    a = tf.constant(1.0, name="a")
    with tf.get_default_graph().colocate_with(a.op):
        tf.constant(2.0, name="b")
    part = tf.graph_util.extract_sub_graph(tf.get_default_graph().as_graph_def(), ["b"])
    with tf.Graph().as_default() as graph:
        with pytest.raises(ValueError, match="'b' expects to be colocated with unknown node 'a'"):
            tf.import_graph_def(part)
        tf.import_graph_def(part, validate_colocation_constraints=False)
        assert graph.get_operation_by_name("import/b")


def test_the_newest_nodes_of_a_graph_and_their_shapes():
    graph = tf.get_default_graph()
    tf.placeholder(tf.float32, [None, 2], "x")
    version = graph.version
    tf.split(tf.placeholder(tf.float32, name="y"), 2, name="s")
    names = [n.name for n in graph.as_graph_def(from_version=version).node]
    assert names[0] == "y" and names[-1] == "s" and "x" not in names
    made = {n.name: n for n in graph.as_graph_def(add_shapes=True).node}
    found = {n: made[n].attr["_output_shapes"].list for n in ("x", "s")}
    found = {n: [tf.TensorShape(s) for s in getattr(v, "shape", v)] for n, v in found.items()}
    assert found["x"][0].as_list() == [None, 2]
    assert [s.ndims for s in found["s"]] == [None, None]
    again = tf.GraphDef.FromString(graph.as_graph_def(add_shapes=True).SerializeToString())
    assert "_output_shapes" in {n.name: n for n in again.node}["x"].attr
    with tf.Graph().as_default():
        tf.import_graph_def(again)
    with pytest.raises(NotImplementedError, match="mark_as_used=False"):
        graph.unique_name("x", mark_as_used=False)


def test_assets_are_copied(tmp_path):
    for number, folder in enumerate(("a", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "vocab.txt").write_text(str(number + 5))
    paths = [tf.constant(str(tmp_path / f / "vocab.txt"), name=f) for f in ("a", "b")]
    seen = tf.Variable([0.0, 0.0], trainable=False, name="seen")
    read = [tf.string_to_number(tf.read_file(p)) for p in paths]
    start = tf.assign(seen, tf.stack(read)).op
    with tf.device("/cpu:0"):
        tf.constant(1, name="one")
    model = tmp_path / "model"
    with tf.Session() as sess:
        sess.run(seen.initializer)
        builder = tf.saved_model.Builder(str(model))
        with pytest.raises(TypeError, match="must be a Tensor"):
            tf.saved_model.Builder(str(tmp_path / "x")).add_meta_graph_and_variables(
                sess, ["serve"], assets_collection=["vocab.txt"]
            )
        # positions as in TensorFlow: signatures, assets, legacy_init_op, clear_devices, main_op
        builder.add_meta_graph_and_variables(sess, ["serve"], None, paths, None, True, start)
        builder.save()
    assert sorted(os.listdir(model / "assets")) == ["vocab.txt", "vocab.txt_1"]
    for folder in ("a", "b"):
        (tmp_path / folder / "vocab.txt").unlink()
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.saved_model.load(sess, ["serve"], str(model))
        assert sess.run("seen:0").tolist() == [5, 6]
        assert graph.get_operation_by_name("one").device == ""


def test_predictor_of_a_signature(tmp_path):
    x, y = build()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(tmp_path / "m"), {"x": x}, {"y": y})
        signature = tf.saved_model.predict_signature_def({"in": x}, {"out": y})
    load = tf.contrib.predictor.from_saved_model
    predict = load(str(tmp_path / "m"), signature_def=signature)
    assert predict({"in": [[1, 1]]})["out"].tolist() == [[7]]
    with pytest.raises(ValueError, match="Only one of"):
        load(str(tmp_path / "m"), "serving_default", signature)


def test_signatures_are_messages():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        made = tf.saved_model.predict_signature_def({"x": x}, {"y": tf.identity(x, name="y")})
    again = type(made).FromString(made.SerializeToString())
    assert again == made and again.inputs["x"].dtype == tf.float32.as_datatype_enum
    shape = tf.TensorShape(again.outputs["y"].tensor_shape)
    assert shape.as_list() == [None, 2] and shape.as_proto() == again.inputs["x"].tensor_shape
    assert tf.TensorShape(tf.TensorShape(None).as_proto()).rank is None
    assert 'method_name: "tensorflow/serving/predict"' in str(again)
