# SPDX-License-Identifier: Apache-2.0
"""test_control_dependencies.py: control inputs put operations in an order, also where the node that
has them computes nothing: a constant, a point without outputs."""
import pytest

import situ.compat.v1 as tf


def _blocked():
    """An operation that waits until its run is over."""
    return tf.FIFOQueue(1, tf.float32).dequeue()


def _after(kind, first):
    """A value of 5 whose control input is `first`."""
    with tf.control_dependencies([first]):
        made = tf.constant(5.0)
    if kind == "identity":
        return tf.identity(made)
    if kind == "group":
        with tf.control_dependencies([tf.group(made)]):
            return tf.constant(5.0)
    if kind == "control":
        with tf.control_dependencies([made]):
            return tf.constant(5.0)
    return made


@pytest.mark.parametrize("kind", ["constant", "identity", "group", "control"])
def test_what_reads_a_constant_comes_after_its_control_inputs(graph, kind):
    v = tf.Variable(1.0)
    change = v.assign(_after(kind, _blocked()))
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(change, options=tf.RunOptions(timeout_in_ms=200))
        assert session.run(v) == 1.0


def test_a_shape_comes_after_its_control_inputs(graph):
    v = tf.Variable([1.0, 2.0])
    with tf.control_dependencies([_blocked()]):
        shape = tf.constant([2])
    change = v.assign(tf.fill(shape, 7.0))
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(change, options=tf.RunOptions(timeout_in_ms=200))
        assert session.run(v).tolist() == [1.0, 2.0]


def test_host_operations_and_kernels_take_turns(graph):
    seen = []
    v = tf.Variable(0.0)

    def note(value):
        seen.append(float(value))
        return value
    last = tf.no_op()
    for number in range(4):
        with tf.control_dependencies([last]):
            noted = tf.py_func(note, [v.read_value()], tf.float32)
        with tf.control_dependencies([noted]):
            last = v.assign_add(float(number + 1))
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(last)
    assert seen == [0.0, 1.0, 3.0, 6.0]


def test_a_fed_constant_needs_no_control_inputs(graph):
    v = tf.Variable(0.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        made = tf.constant(5.0)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(made * 2.0, {made: 1.0}) == 2.0
        assert session.run(v) == 0.0
        assert session.run(made * 2.0) == 10.0
        assert session.run(v) == 1.0
