# SPDX-License-Identifier: Apache-2.0
"""test_graph_cleanup.py: tf.graph_util.remove_training_nodes, and protocol messages and shapes that
tools of graphs use."""

import pickle

import situ.compat.v1 as tf


def node(name, op, *inputs):
    return tf.NodeDef(name=name, op=op, input=list(inputs))


def names(graph_def):
    return {n.name: list(n.input) for n in graph_def.node}


def test_identities_are_removed():
    graph_def = tf.GraphDef(
        node=[node("d", "Dop"), node("c", "Identity", "d"), node("b", "Identity", "c:0")]
        + [node("a", "Aop", "b"), node("check", "CheckNumerics", "a"), node("e", "Eop", "^check")]
    )
    graph_def.node[2].input[:] = ["c"]
    assert names(tf.graph_util.remove_training_nodes(graph_def)) == {"d": [], "a": ["d"], "e": []}
    kept = tf.graph_util.remove_training_nodes(graph_def, ["b"])
    assert names(kept) == {"d": [], "b": ["d"], "a": ["b"], "e": []}


def test_identities_with_control_edges_stay():
    graph_def = tf.GraphDef(
        node=[node("d", "Dop"), node("c", "Identity", "d", "^d"), node("b", "Identity", "d")]
        + [node("a", "Aop", "c", "^b")]
    )
    assert list(names(tf.graph_util.remove_training_nodes(graph_def))) == ["d", "c", "b", "a"]


def test_messages_and_versions():
    assert tf.GraphDef().FindInitializationErrors() == []
    with tf.Graph().as_default() as graph:
        assert graph.graph_def_versions.producer == graph.as_graph_def().versions.producer
        assert tf.make_tensor_proto(1).int_val == [1]
        assert not graph.get_operations()


def test_shapes_are_pickled_and_generalized():
    shape = tf.TensorShape([2, None])
    assert pickle.loads(pickle.dumps(shape)).as_list() == [2, None]
    assert pickle.loads(pickle.dumps(tf.Dimension(5))) == tf.Dimension(5)
    both = tf.TensorShape([2, 3]).most_specific_common_supertype([tf.TensorShape([4, 3])])
    assert both.as_list() == [None, 3]
    assert tf.TensorShape([2]).most_specific_common_supertype([3]) is None
