# SPDX-License-Identifier: Apache-2.0
"""test_control_dependencies.py: control inputs order operations, also those of nodes without
computation, such as constants and NoOp."""

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


def _two(first):
    with tf.control_dependencies([first]):
        return tf.constant([2])


KNOWN = {  # inputs whose elements are known before anything runs
    "fill": lambda first, w: tf.fill(_two(first), 7.0),
    "identity": lambda first, w: tf.fill(tf.identity(_two(first)), 7.0),
    "computed": lambda first, w: tf.fill(_two(first) * 3 - 4, 7.0),
    "reshape": lambda first, w: tf.reshape(tf.constant([[7.0, 8.0]]), _two(first)),
    "expand": lambda first, w: tf.expand_dims(tf.constant([7.0, 8.0]), _two(first)[0] - 2)[0],
    "axis": lambda first, w: tf.reduce_sum(tf.ones([2, 2]), _two(first) - 2),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_a_shape_comes_after_its_control_inputs(graph, kind):
    w = tf.Variable([1.0, 2.0])
    change = w.assign(KNOWN[kind](_blocked(), w))
    with tf.Session() as session:
        session.run(w.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(change, options=tf.RunOptions(timeout_in_ms=200))
        assert session.run(w).tolist() == [1.0, 2.0]


def _imported(make):
    """The value of a graph that was written and read."""
    with tf.Graph().as_default() as other:
        with tf.control_dependencies([_blocked()]):
            made = tf.constant(5.0)
        with tf.control_dependencies([made]):
            point = tf.no_op()
        with tf.control_dependencies([point]):
            tf.add(tf.constant(1.0), 2.0, name="result")
        written = make(other)
    if isinstance(written, tf.GraphDef):
        return tf.import_graph_def(written, return_elements=["result:0"], name="import")[0]
    tf.train.import_meta_graph(written, import_scope="import")
    return tf.get_default_graph().get_tensor_by_name("import/result:0")


@pytest.mark.parametrize("kind", ["definition", "extracted", "meta"])
def test_written_graphs_keep_control_inputs(graph, kind):
    make = {
        "definition": lambda g: g.as_graph_def(),
        "extracted": lambda g: tf.graph_util.extract_sub_graph(g.as_graph_def(), ["result"]),
        "meta": lambda g: tf.train.export_meta_graph(graph=g),
    }[kind]
    v = tf.Variable(1.0)
    change = v.assign(_imported(make))
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(change, options=tf.RunOptions(timeout_in_ms=200))
        assert session.run(v) == 1.0


def test_branches_and_loops_keep_control_inputs(graph):
    v = tf.Variable(0.0)

    def counted(value):
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return tf.constant(value)

    branch = tf.cond(tf.constant(True), lambda: counted(5.0), lambda: 0.0)
    loop = tf.while_loop(lambda i: i < counted(3.0), lambda i: i + counted(1.0), [tf.constant(0.0)])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(branch) == 5.0 and session.run(v) == 1.0
        assert session.run(loop) == 3.0 and session.run(v) == 8.0  # 4 conditions, 3 bodies


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


def test_control_dependency_on_a_fed_placeholder():
    p = tf.placeholder(tf.bool, name="p")
    x = tf.placeholder(tf.float32, [None])
    with tf.control_dependencies([p]):
        y = x * 2.0
        z = tf.cond(x[0] > 1.0, lambda: x * 2.0, lambda: x)
    with tf.Session() as session:
        assert list(session.run(y, {x: [1, 2], p: True})) == [2, 4]
        assert list(session.run(z, {x: [1, 2], p: True})) == [1, 2]
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value for .*'p'"):
            session.run(y, {x: [1, 2]})
