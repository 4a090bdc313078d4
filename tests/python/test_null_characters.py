# SPDX-License-Identifier: Apache-2.0
"""test_null_characters.py: names with null characters, where a C string ends, are refused; they are
not taken for the names before the null character."""

import pytest

import situ.compat.v1 as tf


def test_no_operation_has_such_a_name(graph):
    tf.constant(1, name="a")
    with pytest.raises(KeyError, match="refers to an Operation not in the graph"):
        graph.get_operation_by_name("a\0b")


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.identity(1.0, name="a\0b"),
        lambda: tf.device("/cpu:0\0/gpu:0").__enter__(),
        lambda: tf.constant(1.0).op._set_device("/cpu:0\0"),
        lambda: tf.constant(1.0, dtype="float32\0"),
    ],
    ids=["operation", "device", "device_of_operation", "type"],
)
def test_they_are_errors(graph, make):
    with pytest.raises((ValueError, TypeError)):
        make()


def test_options_of_sessions(graph):
    options = tf.GPUOptions(visible_device_list="0\0,1")
    with pytest.raises(ValueError, match="null character"):
        tf.Session(config=tf.ConfigProto(gpu_options=options))


def test_fields_of_messages():
    with pytest.raises(ValueError):
        tf.GraphDef().HasField("versions\0")
    with pytest.raises(ValueError):
        tf.AttrValue().WhichOneof("value\0")


def test_an_imported_graph_def(graph):
    tf.constant(1, name="a")
    message = tf.GraphDef()
    message.node.add(name="a\0b", op="NoOp")
    with pytest.raises(ValueError, match="null character"):
        tf.import_graph_def(message, name="")
