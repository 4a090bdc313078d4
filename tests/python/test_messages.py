# SPDX-License-Identifier: Apache-2.0
"""test_messages.py: protocol messages: fields, containers, reflection, formats and errors."""

import copy
import io
import pickle

import numpy as np
import pytest

import situ.compat.v1 as tf
from situ._src.framework import descriptors
from situ._src.framework.message_classes import DecodeError, ParseError, enum_type, message_class
from situ._src.runner import protobuf

NODE = """name: "n"
op: "Conv2D"
input: "a"
input: "^b"
attr {
  key: "T"
  value {
    type: DT_FLOAT
  }
}
attr {
  key: "strides"
  value {
    list {
      i: 1
      i: -2
    }
  }
}
"""


def node():
    made = tf.NodeDef(name="n", op="Conv2D", input=["a", "^b"])
    made.attr["T"].type = 1
    made.attr["strides"].list.i.extend([1, -2])
    return made


def test_text_both_ways():
    assert str(node()) == repr(node()) == NODE
    again = tf.NodeDef()
    again._merge_text(NODE)
    assert again == node()
    assert tf.NodeDef() != node()


def test_binary_is_that_of_protobuf():
    assert tf.NodeDef(name="n", input=["a"]).SerializeToString() == b"\n\x01n\x1a\x01a"
    data = node().SerializeToString()
    assert data == (
        b"\n\x01n\x12\x06Conv2D\x1a\x01a\x1a\x02^b*\x07\n\x01T\x12\x020\x01"
        b"*\x1a\n\x07strides\x12\x0f\n\r\x1a\x0b\x01\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    )
    assert tf.NodeDef.FromString(data) == node() and node().ByteSize() == len(data)
    made = tf.NodeDef(name="old", device="d")
    assert made.MergeFromString(data) == len(data)
    assert made.name == "n" and made.device == "d"
    made.ParseFromString(data)
    assert made == node() and made.SerializeToString(deterministic=True) == data


def test_negative_zero_and_defaults():
    histogram = tf.HistogramProto(min=-0.0, max=0.0)
    assert histogram.SerializeToString() == b"\t\0\0\0\0\0\0\0\x80"
    attr = message_class("tensorflow.AttrValue")(i=0)
    assert attr.SerializeToString() == b"\x18\0" and str(attr) == "i: 0\n"


def test_submessages_are_set_by_a_change():
    config = tf.ConfigProto()
    options = config.graph_options.rewrite_options
    assert not config.HasField("graph_options") and str(config) == ""
    options.constant_folding = tf.RewriterConfig.OFF
    assert config.graph_options.rewrite_options.constant_folding == 2
    assert config.HasField("graph_options")
    config.ClearField("graph_options")
    assert not config.HasField("graph_options") and options.constant_folding == 2
    config.gpu_options.SetInParent()
    assert config.HasField("gpu_options") and str(config) == "gpu_options {\n}\n"


def test_a_part_lives_longer_than_its_message():
    part = tf.ConfigProto(gpu_options={"allow_growth": True}).gpu_options
    values = tf.train.Int64List(value=range(1000)).value
    assert part.allow_growth and sum(values) == 499500


def test_repeated_messages():
    graph = tf.GraphDef()
    first = graph.node.add(name="a")
    graph.node.extend([tf.NodeDef(name="b"), {"name": "c", "input": ["a"]}])
    graph.node.append(first)
    graph.node[-1].name = "d"
    assert [n.name for n in graph.node] == ["a", "b", "c", "d"] and first.name == "a"
    assert len(graph.node) == 4 and graph.node[1:3][0].name == "b"
    del graph.node[0]
    assert graph.node.pop().name == "d" and [n.name for n in graph.node] == ["b", "c"]
    graph.node.sort(key=lambda n: n.name, reverse=True)
    assert [n.name for n in graph.node] == ["c", "b"]
    graph.node.reverse()
    graph.node.remove(tf.NodeDef(name="b"))
    assert graph.node == [tf.NodeDef(name="c", input=["a"])]
    graph.node.insert(0, tf.NodeDef(name="0"))
    assert graph.node[0].name == "0" and graph.node[0] in graph.node
    del graph.node[:]
    assert not graph.node


def test_repeated_scalars():
    shape = message_class("tensorflow.SaveSliceInfoDef")(full_shape=[1, 2, 3])
    items = shape.full_shape
    items[1] = 20
    items[:1] = [10, 11]
    assert items == [10, 11, 20, 3] == list(items) and items[-1] == 3 and items[::2] == [10, 20]
    del items[::2]
    assert items == (11, 3) and items.index(3) == 1 and items.count(11) == 1
    items += [5]
    assert shape.full_shape == [11, 3, 5]
    items.clear()
    assert shape.SerializeToString() == b"" and repr(items) == "[]"
    assert np.array(tf.train.FloatList(value=np.float32([0.5, 2])).value).tolist() == [0.5, 2.0]


def test_maps():
    config = tf.ConfigProto(device_count={"GPU": 2})
    counts = config.device_count
    counts["CPU"] = 1
    assert counts == {"GPU": 2, "CPU": 1} and "TPU" not in counts and counts.get("TPU", 7) == 7
    assert sorted(counts) == sorted(counts.keys()) == ["CPU", "GPU"] and len(counts) == 2
    assert dict(counts.items()) == counts and sorted(counts.values()) == [1, 2]
    del counts["GPU"]
    with pytest.raises(KeyError):
        del counts["GPU"]
    assert counts.pop("CPU") == 1 and not counts
    assert counts["new"] == 0 and "new" in counts
    made = node()
    with pytest.raises(ValueError, match="May not set values directly"):
        made.attr["T"] = made.attr["strides"]
    assert made.attr["other"].WhichOneof("value") is None
    made.attr["T"].CopyFrom(made.attr["strides"])
    assert made.attr["T"].list.i == [1, -2] and not made.attr["T"].HasField("type")


def test_oneof():
    feature = tf.train.Feature()
    assert feature.WhichOneof("kind") is None
    feature.int64_list.value.append(3)
    feature.float_list.value.append(2)
    assert feature.WhichOneof("kind") == "float_list" and feature.HasField("float_list")
    assert feature.HasField("kind") and not feature.int64_list.value


def test_copies():
    made = node()
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made and type(other) is tf.NodeDef
        other.input.append("x")
        assert other != made
    other = tf.NodeDef(name="x", device="d")
    other.MergeFrom(made)
    assert other.name == "n" and other.device == "d"
    other.CopyFrom(made)
    assert other == made
    other.CopyFrom(other)
    assert other == made
    assert pickle.loads(pickle.dumps(made.input)) == ["a", "^b"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(made)


def test_reflection():
    kind = tf.GraphDef.DESCRIPTOR
    assert kind.name == "GraphDef" and kind.full_name == "tensorflow.GraphDef"
    assert [f.name for f in kind.fields] == ["node", "library", "version", "versions"]
    field = kind.fields_by_name["node"]
    assert (field.number, field.type, field.label) == (
        1,
        field.TYPE_MESSAGE,
        descriptors.FieldDescriptor.LABEL_REPEATED,
    )
    assert field.message_type.name == "NodeDef" and field.containing_type is kind
    attr = message_class("tensorflow.AttrValue").DESCRIPTOR
    assert [f.name for f in attr.oneofs_by_name["value"].fields][:2] == ["list", "s"]
    values = attr.fields_by_name["type"].enum_type.values_by_name
    assert values["DT_FLOAT"].number == 1
    assert attr.fields_by_name["f"].default_value == 0.0
    assert [(f.name, v) for f, v in tf.NodeDef(op="a", name="b").ListFields()] == [
        ("name", "b"),
        ("op", "a"),
    ]
    assert tf.RunOptions.FULL_TRACE == tf.RunOptions.TraceLevel.Value("FULL_TRACE") == 3
    assert enum_type("tensorflow.DataType").Name(3) == "DT_INT32"
    assert tf.Summary.Value(tag="t").DESCRIPTOR.full_name == "tensorflow.Summary.Value"


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: tf.NodeDef(name=3), TypeError, "3 has type int, but expected one of: bytes, str"),
        (lambda: tf.train.BytesList(value=["a"]), TypeError, "'a' has type str, but expected"),
        (lambda: tf.train.Int64List(value=[1.5]), TypeError, "1.5 has type float, but expected"),
        (lambda: tf.train.Int64List(value=3), TypeError, "iterable"),
        (lambda: tf.train.FloatList(value=["a"]), TypeError, "'a' has type str, but expected"),
        (lambda: tf.train.Int64List(value=[2**63]), ValueError, "Value out of range"),
        (lambda: tf.ConfigProto(gpu_options=3), TypeError, "expected GPUOptions got int"),
        (lambda: tf.GraphDef().node.append(3), TypeError, "Expected a message object"),
        (lambda: tf.GraphDef().node[0], IndexError, "out of range"),
        (lambda: tf.ConfigProto().HasField("isolate_session_state"), ValueError, "presence"),
        (lambda: tf.NodeDef().MergeFrom(tf.GraphDef()), TypeError, "MergeFrom.. must be instance"),
        (lambda: tf.NodeDef().CopyFrom(3), TypeError, "CopyFrom.. must be instance"),
        (lambda: tf.NodeDef().WhichOneof("x"), ValueError, "no oneof"),
        (lambda: tf.NodeDef().ClearField("x"), ValueError, 'has no "x" field'),
        (lambda: tf.NodeDef().ParseFromString("abc"), TypeError, "expected bytes, str found"),
        (lambda: tf.RunOptions(trace_level="NO"), ValueError, 'unknown enum label "NO"'),
        (lambda: setattr(tf.NodeDef(), "name", b"\xff"), UnicodeDecodeError, "utf-8"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a",  # truncated
        b"\x0a\x05ab",
        b"\x08\x01",  # wrong wire type
        b"\x0c",  # a group
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a huge length
        b"\xff" * 11,
        b"\x02\x00",  # field 0
    ],
)
def test_malformed_binary(data):
    with pytest.raises(DecodeError, match="Error parsing message with type 'tensorflow.GraphDef'"):
        tf.GraphDef.FromString(data)


def test_messages_nested_too_deeply():
    kind = message_class("tensorflow.FullTypeDef")
    data = b""
    for _ in range(150):
        size = len(data)
        head = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
        data = b"\x12" + head + data
    with pytest.raises(DecodeError, match="too deeply"):
        kind.FromString(data)


def test_unknown_fields_are_kept():
    data = b"\n\x01a\xa2\x06\x02hi"
    assert tf.NodeDef.FromString(data).SerializeToString() == data


def test_text_format_functions():
    text, lines = protobuf.MODULES["text_format"], io.StringIO()
    graph = text["Parse"]('node { name: "a" op: "B" }  # a comment', tf.GraphDef())
    assert text["Merge"]("versions < producer: 0x10 >", graph).versions.producer == 16
    line = 'node { name: "a" op: "B" } versions { producer: 16 }'
    assert text["MessageToString"](graph, as_one_line=True) == line
    text["PrintMessage"](graph.versions, lines, indent=2)
    assert lines.getvalue() == "  producer: 16\n"
    with pytest.raises(ParseError, match="GraphDef, line 2, column 3: GraphDef has no field 'x'"):
        text["Parse"]("node { }\n  x: 1", tf.GraphDef())
    with pytest.raises(text["ParseError"], match="no value named DT_X"):
        text["Parse"]('attr { key: "a" value { type: DT_X } }', tf.NodeDef())
    strings = tf.NodeDef(name="é\n\"'")
    assert str(strings) == 'name: "é\\n\\"\\\'"\n'
    assert text["Parse"](str(strings), tf.NodeDef()) == strings


def test_json_format_functions():
    formats = protobuf.MODULES["json_format"]
    shape = {"dim": [{"size": "3"}], "unknownRank": True}
    made = formats["ParseDict"](shape, message_class("tensorflow.TensorShapeProto")())
    assert formats["MessageToDict"](made) == shape
    named = formats["MessageToDict"](made, preserving_proto_field_name=True)
    assert named == {"dim": [{"size": "3"}], "unknown_rank": True}
    assert formats["Parse"](formats["MessageToJson"](node()), tf.NodeDef()) == node()


def test_google_protobuf_is_replaced_where_it_is_not_installed(python):
    code = (
        "import sys, importlib.machinery as m\n"
        "class Hide(m.PathFinder):\n"
        "    @classmethod\n"
        "    def find_spec(cls, name, path=None, target=None):\n"
        "        return None if name.split('.')[0] == 'google' else "
        "m.PathFinder.find_spec(name, path, target)\n"
        "sys.meta_path[:] = [Hide if f is m.PathFinder else f for f in sys.meta_path]\n"
        "from situ._src.runner import stand_ins\n"
        "stand_ins.install()\n"
        "from google.protobuf import text_format\n"
        "from google.protobuf.message import DecodeError\n"
        "import situ.compat.v1 as tf\n"
        "print(text_format.Parse('allow_soft_placement: true', tf.ConfigProto()))\n"
    )
    assert "allow_soft_placement: true" in python(code).out


def test_protobuf_reads_and_writes_the_same():
    text_format = pytest.importorskip("google.protobuf.text_format")
    made = text_format.Parse(NODE, tf.NodeDef())
    assert made == node()
    assert text_format.MessageToString(made, as_one_line=True) == made._to_line()


def test_modules_of_protoc(situ):
    program = """
        from tensorflow.core.framework import attr_value_pb2, graph_pb2, types_pb2
        from tensorflow.core.protobuf import config_pb2, meta_graph_pb2
        import tensorflow as tf
        node = graph_pb2.GraphDef().node.add(name="a", op="NoOp")
        node.attr["T"].CopyFrom(attr_value_pb2.AttrValue(type=types_pb2.DT_INT32))
        print(types_pb2.DataType.Name(node.attr["T"].type))
        print(config_pb2.ConfigProto is tf.compat.v1.ConfigProto)
        meta = meta_graph_pb2.MetaGraphDef(graph_def={"node": [node]})
        meta.collection_def["vars"].node_list.value.append("w")
        print(meta_graph_pb2.MetaGraphDef.FromString(meta.SerializeToString()) == meta)
        """
    assert situ("run", "a.py", files={"a.py": program}).out == "DT_INT32\nTrue\nTrue\n"
