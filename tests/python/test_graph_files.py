# SPDX-License-Identifier: Apache-2.0
"""test_graph_files.py: frozen graphs, written to files and read again."""

import struct

import numpy as np
import pytest

import situ.compat.v1 as tf
from situ._src.framework.import_graph_def import sorted_nodes


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
            sess, graph.as_graph_def(), ["y", "texts"]
        )
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
        (y,) = tf.import_graph_def(read, return_elements=["y:0"], name="")
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
            sess, graph.as_graph_def(), ["sum"], variable_names_blacklist=["b"]
        )
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
        assert [d.size for d in kinds["x"]["shape"].shape.dim] == [-1, 3]
        text = tf.io.write_graph(graph.as_graph_def(), str(tmp_path), "g.pbtxt")
        assert 'name: "x"' in open(text).read()


def test_nodes_in_any_order():
    graph = tf.GraphDef()
    for name, inputs in (("c", ["b", "^a"]), ("b", ["a:1"]), ("a", [])):
        graph.node.add(name=name, input=inputs)
    assert [n.name for n in sorted_nodes(graph.node)] == ["a", "b", "c"]


def test_damaged_bytes():
    with pytest.raises(ValueError, match="Error parsing message"):
        tf.GraphDef().ParseFromString(b"\x0a\xff")


def _varint(value):
    value, made = value % 2**64, b""
    while value > 127:
        value, made = value >> 7, made + bytes([value & 127 | 128])
    return made + bytes([value])


def _field(number, value):
    """A field of a protobuf message: an integer, or bytes."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _node(name, op, inputs=(), **attrs):
    made = _field(1, name.encode()) + _field(2, op.encode())
    made += b"".join(_field(3, i.encode()) for i in inputs)
    return _field(
        1,
        made + b"".join(_field(5, _field(1, k.encode()) + _field(2, v)) for k, v in attrs.items()),
    )


def _const(name, dtype, sizes, content):
    shape = b"".join(_field(2, _field(1, size)) for size in sizes)
    return _node(
        name,
        "Const",
        dtype=_field(6, dtype),
        value=_field(8, _field(1, dtype) + _field(2, shape) + _field(4, content)),
    )


FLOAT, INT32 = _field(6, 1), _field(6, 3)
VALUES = _const("v", 1, [2], struct.pack("2f", 1, 2)) + _const("a", 3, [], struct.pack("i", 0))
PACK = [_node("s", "Pack", ["v"], T=FLOAT, N=_field(3, n)) for n in (0, -1, 2, 2**32 + 1)]
JOIN = [
    _node("s", "ConcatV2", ["v", "v", "a"], T=FLOAT, Tidx=INT32, N=_field(3, n))
    for n in (0, -1, 1, 3, 2**32 + 2)
]


@pytest.mark.parametrize(
    "nodes, text",
    [
        *[(node, "do not match . inputs specified for node 's'") for node in PACK + JOIN],
        (_node("s", "Identity", ["v:7"], T=FLOAT), "Input 'v:7' of a node: 'v' has 1 outputs"),
        (_node("s", "Identity", [f"v:{2**32}"], T=FLOAT), "'v' has 1 outputs"),
        (_node("s", "Identity", ["v:-1"], T=FLOAT), "'v' has 1 outputs"),
        (_const("s", 1, [-1], b"1234"), "cannot have shape"),
        (_const("s", 1, [4000], b"1234"), "4 bytes for a tensor of 16000"),
        (_const("s", 1, [2**62, 4], b"1234"), "more than 2\\^63 - 1 elements"),
    ],
)
def test_nodes_that_contradict_themselves(nodes, text):
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(VALUES + nodes)
    with tf.Graph().as_default(), pytest.raises(ValueError, match=text):
        tf.import_graph_def(graph_def, name="")


def test_nodes_with_lists_of_inputs():
    graph_def = tf.GraphDef()
    graph_def.ParseFromString(
        VALUES + _node("s", "ConcatV2", ["v", "v", "a"], T=FLOAT, Tidx=INT32, N=_field(3, 2))
    )
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        assert session.run("s:0").tolist() == [1, 2, 1, 2]
