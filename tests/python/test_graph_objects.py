# SPDX-License-Identifier: Apache-2.0
"""test_graph_objects.py: each tensor and operation of a graph has one Python object, created on
first use."""

import gc
import weakref

import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_objects_are_the_same_from_all_sides(graph):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    y = tf.add(x, x, name="y")
    parts = tf.split(y, 2)
    operation = y.op
    assert operation is y.op and operation is graph.get_operation_by_name("y")
    assert operation.outputs[0] is y and graph.get_tensor_by_name("y:0") is y
    assert operation.inputs[0] is x and operation.inputs[1] is x
    assert parts[0].op.outputs[1] is parts[1] and parts[1].op is parts[0].op
    assert graph.get_operations()[-1] is parts[0].op
    assert graph.get_operations()[0] is x.op


def test_what_is_set_on_a_tensor_stays(graph):
    tf.constant(1.0, name="c").mark = "here"
    gc.collect()
    assert graph.get_tensor_by_name("c:0").mark == "here"


def test_inputs_of_lists_lie_flat():
    parts = [tf.constant([float(k)]) for k in range(3)]
    joined = tf.concat(parts, 0)
    assert [i for i in joined.op.inputs[:3]] == parts
    assert joined.op.inputs[3].op.type == "Const"


def test_control_inputs():
    a, b = tf.no_op("a"), tf.constant(1.0, name="b")
    with tf.control_dependencies([a, b]):
        c = tf.no_op("c")
    assert c.control_inputs == [a, b.op] and a.control_inputs == []


def test_names_of_nodes_and_scopes_are_one_space():
    with tf.name_scope("s") as first:
        assert tf.no_op("a").name == "s/a" and tf.no_op("a").name == "s/a_1"
        assert tf.no_op().name == "s/NoOp"
    with tf.name_scope("s") as second:
        assert tf.no_op("a").name == "s_1/a"
    assert (first, second) == ("s/", "s_1/")
    assert tf.no_op("s").name == "s_2"
    with tf.name_scope("s/"):
        assert tf.no_op("a").name == "s/a_2"
    assert tf.no_op("s_1").name == "s_1_1"
    with tf.name_scope("scope") as scope:
        assert tf.no_op(scope).name == "scope"
    with pytest.raises(ValueError, match="not a valid node name"):
        tf.no_op("no name")


def test_constants_of_arguments_are_called_after_the_node():
    x = tf.placeholder(tf.float32)
    y = tf.add(x, 1.0)
    z = tf.add(x, 2.0)
    assert [t.op.inputs[1].name for t in (y, z)] == ["Add/y:0", "Add_1/y:0"]
    with tf.name_scope("in"):
        assert (x * 3.0).op.inputs[1].name == "in/mul/y:0"


def test_device_functions_see_the_node_to_come():
    seen = []

    def choose(op):
        seen.append((op.type, op.name, [i.name for i in op.inputs]))
        return "/cpu:0"

    with tf.device(choose):
        a = tf.constant(1.0, name="a")
        tf.add(a, a, name="sum")
    assert seen == [("Const", "a", []), ("Add", "sum", ["a:0", "a:0"])]


def test_graphs_are_freed():
    inner = tf.Graph()
    with inner.as_default():
        x = tf.constant(1.0)
        tf.add_to_collection("kept", x + 1.0)
        x.op.mark = x
    gone = weakref.ref(inner)
    del inner, x
    gc.collect()
    assert gone() is None


def test_a_tensor_keeps_its_graph():
    inner = tf.Graph()
    with inner.as_default():
        y = tf.constant(1.0) + 1.0
    del inner
    gc.collect()
    assert y.op.inputs[0].op.type == "Const" and len(y.graph.get_operations()) == 3
