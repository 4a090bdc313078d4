# SPDX-License-Identifier: Apache-2.0
"""test_graph_files.py: graphs with constants for variables, written to files and read again."""
import numpy as np
import pytest

import situ.compat.v1 as tf
from situ._lib.graph_parse import sorted_nodes


def _model():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/cpu:0"):
        w = tf.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2))
    image = tf.reshape(tf.matmul(x, w), [-1, 1, 2, 1])
    conv = tf.nn.conv2d(image, tf.ones([1, 2, 1, 1]), [1, 1, 1, 1], "VALID")
    parts = tf.split(tf.concat([conv[:, 0, 0], x], 1), [1, 3], 1)
    tf.cast(tf.nn.relu(parts[0] - 1.0), tf.float64, name="y")
    tf.constant([b"one", b"two"], name="texts")
    return x


def test_a_frozen_graph_is_written_and_read(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = _model()
        sess.run(tf.global_variables_initializer())
        want = sess.run("y:0", {x: [[1, 2, 3]]})
        frozen = tf.graph_util.convert_variables_to_constants(
            sess, graph.as_graph_def(), ["y", "texts"])
        assert "Assign" not in [n.op for n in frozen.node]
        with tf.gfile.GFile(str(tmp_path / "m.pb"), "wb") as file:
            file.write(frozen.SerializeToString())
    read = tf.GraphDef()
    with tf.gfile.FastGFile(str(tmp_path / "m.pb"), "rb") as file:
        read.ParseFromString(file.read())
    assert [n.name for n in read.node] == [n.name for n in frozen.node]
    for node in read.node:
        node.device = ""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        y, = tf.import_graph_def(read, return_elements=["y:0"], name="")
        assert graph.get_operation_by_name("w").type == "Const"
        assert graph.get_operation_by_name("w").device == ""
        assert sess.run(y, {"x:0": [[1, 2, 3]]}).tolist() == want.tolist()
        assert sess.run("texts:0").tolist() == [b"one", b"two"]


def test_only_some_variables():
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
        tf.add(a, b, name="sum")
        sess.run(tf.global_variables_initializer())
        made = tf.graph_util.convert_variables_to_constants(
            sess, graph.as_graph_def(), ["sum"], variable_names_blacklist=["b"])
        ops = {n.name: n.op for n in made.node}
        assert ops["a"] == "Const" and ops["b"].startswith("Var")
        with pytest.raises(AssertionError, match="nobody is not in graph"):
            tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["nobody"])


def test_write_graph(tmp_path):
    with tf.Graph().as_default() as graph:
        _model()
        path = tf.train.write_graph(graph, str(tmp_path / "a"), "g.pb", as_text=False)
        again = tf.GraphDef.FromString(open(path, "rb").read())
        assert {n.name for n in again.node} == {o.name for o in graph.get_operations()}
        kinds = {n.name: n.attr for n in again.node}
        assert kinds["x"]["dtype"].type == tf.float32.as_datatype_enum
        assert kinds["x"]["shape"].shape.as_list() == [None, 3]
        text = tf.io.write_graph(graph.as_graph_def(), str(tmp_path), "g.pbtxt")
        assert 'name: "x"' in open(text).read()


def test_nodes_in_any_order():
    nodes = [{"name": "c", "input": ["b", "^a"]}, {"name": "b", "input": ["a:1"]}, {"name": "a"}]
    assert [n["name"] for n in sorted_nodes(nodes)] == ["a", "b", "c"]


def test_damaged_bytes():
    with pytest.raises(ValueError, match="Error parsing message"):
        tf.GraphDef().ParseFromString(b"\x0a\xff")
