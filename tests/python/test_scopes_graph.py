# SPDX-License-Identifier: Apache-2.0
"""test_scopes_graph.py: names of ops and variables in scopes inside of scopes, as TensorFlow's."""

import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def here():
    return tf.constant(1).op.name.rpartition("/")[0]


def test_the_root_scope_stays_in_the_scope_of_a_tower():
    for i, again in enumerate([None, True]):
        with tf.name_scope(f"tower_{i}") as tower:
            with tf.variable_scope(tf.get_variable_scope(), reuse=again):
                with tf.variable_scope("layer"):
                    w = tf.get_variable("w", [2])
                    tf.add_to_collection("losses", tf.nn.l2_loss(w))
        found = tf.get_collection("losses", tower)
        assert [t.op.name for t in found] == [f"tower_{i}/layer/L2Loss"]
    assert [v.op.name for v in tf.global_variables()] == ["layer/w"]


def test_scopes_that_are_entered_again():
    with tf.name_scope("x"), tf.variable_scope("a") as a:
        assert (here(), a.original_name_scope) == ("x/a", "x/a/")
    with tf.variable_scope(a) as again:
        assert (here(), again.original_name_scope) == ("a", "x/a/")
    with tf.variable_scope("o"), tf.variable_scope(a):
        assert here() == "o/a"
        assert tf.get_variable("v", [1]).op.name == "a/v"
    with tf.variable_scope(a, auxiliary_name_scope=False):
        assert here() == ""
    with tf.variable_scope(""):
        assert here() == ""


def test_default_names_of_scopes_and_of_what_is_in_them():
    tf.get_variable("e", [1])
    with tf.variable_scope("e"):
        pass
    with tf.variable_scope(None, "e") as scope:
        assert (scope.name, here()) == ("e_1", "e_2")
    with tf.variable_scope("s"):
        assert tf.layers.dense(tf.ones([1, 2]), 2).op.name == "s/dense/BiasAdd"
        with tf.variable_scope(tf.get_variable_scope()):
            tf.layers.dense(tf.ones([1, 2]), 2)
    assert [v.op.name for v in tf.global_variables()][1::2] == [
        "s/dense/kernel",
        "s/dense_1/kernel",
    ]


def test_reuse_is_handed_down_to_names_and_not_to_objects():
    with tf.variable_scope("plain") as plain:
        pass
    with tf.variable_scope("outer", reuse=True):
        with tf.variable_scope("inner", reuse=False) as inner:
            assert inner.reuse is True
        with tf.variable_scope(plain) as again:
            assert again.reuse is False
    with tf.variable_scope("auto", reuse=tf.AUTO_REUSE):
        with tf.variable_scope("inner") as inner:
            assert inner.reuse is tf.AUTO_REUSE
        with tf.variable_scope(plain, reuse=True) as again:
            assert again.reuse is True


def test_values_select_the_graph_of_a_scope(graph):
    x = tf.constant(1.0)
    with tf.Graph().as_default() as other:
        y = tf.constant(2.0)
        with tf.name_scope(None, "inner", [x, 3]):
            assert tf.get_default_graph() is graph and here() == "inner"
        with tf.variable_scope(None, "block", [x]):
            assert tf.get_variable("w", [1]).graph is graph
        assert tf.get_default_graph() is other and other.get_operations() == [y.op]
        for scope in (tf.name_scope, tf.variable_scope):
            with pytest.raises(ValueError, match="must be from the same graph"):
                with scope(None, "inner", [x, y]):
                    pass
        assert tf.get_default_graph() is other


def test_resources_of_a_container(graph):
    with tf.container("outer"):
        v = tf.Variable(1.0, use_resource=True)
        with tf.Graph().as_default():
            assert tf.Variable(1.0).op.get_attr("container") == b""
        with graph.container("inner"):
            queue = tf.FIFOQueue(2, tf.float32)
            w = tf.Variable(2.0, use_resource=False)
        u = tf.Variable(v.initial_value + 1.0)
    names = [x.get_attr("container") for x in (v.op, queue.queue_ref.op, w.op, u.op)]
    assert names == [b"outer", b"inner", b"inner", b"outer"]
    assert tf.Variable(1.0).op.get_attr("container") == b""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), queue.enqueue(3.0)])
        assert session.run([v, w, u, queue.dequeue()]) == [1, 2, 2, 3]
