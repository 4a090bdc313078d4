# SPDX-License-Identifier: Apache-2.0
"""test_freeze_functions.py: tf.graph_util on graphs with functions, and nodes of tf.cond of
TensorFlow 1."""

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def fresh_graph():
    tf.reset_default_graph()


def _freeze(outputs):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        graph_def = session.graph.as_graph_def()
        made = tf.graph_util.convert_variables_to_constants(session, graph_def, outputs)
    nodes = list(made.node) + [n for f in made.library.function for n in f.node_def]
    assert not any("Var" in n.op for n in nodes)
    return made


def _run(graph_def, fetch, feeds=None):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run(fetch, feeds)


def test_branches_and_loops_that_read_variables():
    with tf.variable_scope("", use_resource=True):
        v = tf.get_variable("v", initializer=17.0)
        w = tf.get_variable("w", initializer=2.0)
    p = tf.placeholder(tf.bool, [], "p")
    x = tf.cond(p, lambda: v + 1.0, lambda: w + 1.0)
    _, y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * w), [0, x])
    tf.identity(y, "y")
    graph_def = _freeze(["y"])
    assert _run(graph_def, "y:0", {"p:0": True}) == 72
    assert _run(graph_def, "y:0", {"p:0": False}) == 12


def test_gathers():
    with tf.variable_scope("", use_resource=True):
        v = tf.get_variable("v", initializer=np.arange(6.0).reshape(3, 2))
    tf.identity(tf.nn.embedding_lookup(v, [2, 0]), "y")
    np.testing.assert_array_equal(_run(_freeze(["y"]), "y:0"), [[4, 5], [0, 1]])


def test_training_nodes():
    a = tf.constant(1.0, name="a")
    b = tf.stop_gradient(tf.identity(a), name="b")
    with tf.get_default_graph().colocate_with(tf.identity(b, "kept").op):
        tf.add(b, a, "sum")
    made = tf.graph_util.remove_training_nodes(tf.get_default_graph().as_graph_def())
    assert [n.name for n in made.node] == ["a", "kept", "sum"]
    assert list(made.node[2].input) == ["a", "a"]


def test_switch_and_merge():
    graph_def = tf.GraphDef()
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.bool, [], "p")
        tf.constant(3.0, name="x")
        tf.constant(5.0, name="five")
        graph_def.MergeFrom(graph.as_graph_def())
    add = graph_def.node.add
    add(name="s", op="Switch", input=["x", "p"]).attr["T"].type = 1
    add(name="t", op="Identity", input=["s:1"]).attr["T"].type = 1
    add(name="double", op="Add", input=["t", "t"]).attr["T"].type = 1
    add(name="f", op="Identity", input=["five", "^s0"]).attr["T"].type = 1
    add(name="s0", op="Identity", input=["s"]).attr["T"].type = 1
    merge = add(name="m", op="Merge", input=["f", "double"])
    merge.attr["T"].type, merge.attr["N"].i = 1, 2
    assert _run(graph_def, "m/cond/Merge:0", {"p:0": True}) == 6
    assert _run(graph_def, "m/cond/Merge:0", {"p:0": False}) == 5


def test_former_name_of_variables():
    variable = tf.raw_ops.Variable(shape=[2], dtype=tf.float32)
    with tf.Session() as session:
        session.run(tf.assign(variable, [1.0, 2.0]))
        np.testing.assert_array_equal(session.run(variable), [1, 2])
    graph_def = tf.get_default_graph().as_graph_def()
    graph_def.node[0].op = "Variable"
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        assert graph.get_operations()[0].type == "VariableV2"
