# SPDX-License-Identifier: Apache-2.0
"""test_control_flow_names.py: names, types and attributes of the operations of tf.cond and
tf.while_loop in TensorFlow 2."""

import pytest

import situ as tf


def _loop(name=None):
    x = tf.constant(1.0)
    (result,) = tf.while_loop(lambda x: x < 10.0, lambda x: (x * 2.0,), [x], name=name)
    return result.op.inputs[0].op


def test_names_of_loops():
    with tf.Graph().as_default():
        loop = _loop()
        assert loop.name == "while" and loop.type == "StatelessWhile"
        assert loop.get_attr("cond").name.startswith("while_cond_")
        assert loop.get_attr("body").name.startswith("while_body_")
        assert loop.get_attr("parallel_iterations") == 10
        with tf.name_scope("foo"):
            assert _loop("").name == "foo/while"
            second = _loop()
            assert second.name == "foo/while_1"
            assert second.get_attr("body").name.startswith("foo_while_1_body_")


def test_names_of_branches():
    with tf.Graph().as_default():
        p = tf.compat.v1.placeholder(tf.bool, [])
        result = tf.cond(p, lambda: tf.constant(1.0), lambda: tf.constant(2.0))
        branch = result.op.inputs[0].op
        assert result.op.name == "cond/Identity" and branch.name == "cond"
        assert branch.type == "StatelessIf"
        assert branch.get_attr("then_branch").name.startswith("cond_true_")
        assert branch.get_attr("else_branch").name.startswith("cond_false_")
        result = tf.cond(p, lambda: tf.random.uniform([]), lambda: tf.constant(2.0), name="c")
        assert result.op.inputs[0].op.type == "If"


def test_functions_that_change_variables_are_stateful():
    v = tf.Variable(2.0)

    @tf.function
    def f(x):
        return tf.while_loop(lambda x: x < 10.0, lambda x: (x * v.assign_add(1.0),), [x])

    graph = f.get_concrete_function(tf.constant(1.0)).graph
    assert graph.get_operation_by_name("while").type == "While"


def test_old_names():
    tf.compat.v1.disable_control_flow_v2()
    try:
        assert not tf.compat.v1.control_flow_v2_enabled()
        with tf.Graph().as_default():
            assert _loop().name == "while/While"
    finally:
        tf.compat.v1.enable_control_flow_v2()
    assert tf.compat.v1.control_flow_v2_enabled()


@pytest.mark.parametrize("count", [0, -1, "10"])
def test_arguments_of_loops(count):
    with pytest.raises(TypeError, match="parallel_iterations"):
        tf.while_loop(lambda x: False, lambda x: x, [1], parallel_iterations=count)
    with pytest.raises(TypeError, match="cond"):
        tf.while_loop(1, lambda x: x, [1])
