# SPDX-License-Identifier: Apache-2.0
"""test_uninitialized_captures.py: a branch or a loop body reads a variable that it captures only if
it runs: until then the variable needs no value. What a branch assigns stays assigned."""

import pytest

import situ as tf

v1 = tf.compat.v1
kinds = pytest.mark.parametrize("resource", [False, True])


@pytest.fixture
def graph():
    with v1.Graph().as_default() as made, v1.Session():
        yield made


def variable(resource, value=3.0):
    return v1.get_variable("v", initializer=value, use_resource=resource)


def value_of(tensor, pred, taken):
    return v1.get_default_session().run(tensor, {pred: taken})


def read_in_cond(v, pred):
    return v1.cond(pred, v.read_value, lambda: 7.0)


def add_in_cond(v, pred):
    return v1.cond(pred, lambda: v.read_value() + 4.0, lambda: 7.0)


def read_in_case(v, pred):
    return v1.case([(pred, v.read_value)], default=lambda: 7.0)


def read_in_nested_cond(v, pred):
    return v1.cond(
        tf.constant(True), lambda: v1.cond(pred, v.read_value, lambda: 7.0), v.read_value
    )


def read_in_loop(v, pred):
    first = tf.cond(pred, lambda: 0, lambda: 1)
    return v1.while_loop(
        lambda i, x: i < 1, lambda i, x: (i + 1, v.read_value()), [first, tf.constant(7.0)]
    )[1]


def read_in_cond_of_loop(v, pred):
    return v1.while_loop(
        lambda i, x: i < 2, lambda i, x: (i + 1, read_in_cond(v, pred)), [0, tf.constant(1.0)]
    )[1]


READERS = [
    read_in_cond,
    add_in_cond,
    read_in_case,
    read_in_nested_cond,
    read_in_loop,
    read_in_cond_of_loop,
]


@kinds
@pytest.mark.parametrize("make", READERS)
def test_only_what_runs_reads(graph, make, resource):
    v = variable(resource)
    pred = v1.placeholder(tf.bool, [])
    made = make(v, pred)
    assert value_of(made, pred, False) == 7
    match = "resource variable v " if resource else "uninitialized value v"
    with pytest.raises(tf.errors.FailedPreconditionError, match=match):
        value_of(made, pred, True)
    v.initializer.run()
    assert value_of(made, pred, True) == (7 if make is add_in_cond else 3)
    assert value_of(made, pred, False) == 7


@kinds
def test_gradient_of_a_branch_that_is_not_taken(graph, resource):
    v, x = variable(resource), tf.constant(2.0)
    pred = v1.placeholder(tf.bool, [])
    y = v1.cond(pred, lambda: x * v.read_value(), lambda: x * 5.0)
    slope = tf.gradients(y, x)[0]
    assert value_of(slope, pred, False) == 5
    with pytest.raises(tf.errors.FailedPreconditionError):
        value_of(slope, pred, True)
    v.initializer.run()
    assert value_of(slope, pred, True) == 3


@kinds
def test_a_branch_assigns(graph, resource):
    v = variable(resource)
    pred = v1.placeholder(tf.bool, [])
    known = v1.is_variable_initialized(v)
    made = v1.cond(pred, lambda: v.assign(8.0, read_value=False), lambda: tf.no_op())
    value_of(made, pred, False)
    assert not known.eval()
    value_of(made, pred, True)
    assert known.eval()
    assert v.eval() == 8


@kinds
def test_a_branch_reads_what_an_earlier_op_assigned(graph, resource):
    v = variable(resource)
    pred = v1.placeholder(tf.bool, [])
    with tf.control_dependencies([v.assign(9.0, read_value=False)]):
        made = read_in_cond(v, pred)
    assert value_of(made, pred, True) == 9
    assert v.eval() == 9


@kinds
def test_a_branch_probes(graph, resource):
    v = variable(resource)
    pred = v1.placeholder(tf.bool, [])
    made = v1.cond(pred, lambda: v1.is_variable_initialized(v), lambda: False)
    assert not value_of(made, pred, True)
    v.initializer.run()
    assert value_of(made, pred, True)


@kinds
def test_initialized_value(graph, resource):
    v = variable(resource)
    value = v.initialized_value()
    w = v1.Variable(v.initialized_value() * 2, use_resource=resource)
    assert value.eval() == 3
    w.initializer.run()
    assert w.eval() == 6
    v.initializer.run()
    v.assign(5.0, read_value=False).run() if resource else v.assign(5.0).eval()
    assert value.eval() == 5
    w.initializer.run()
    assert w.eval() == 10


def test_in_a_function_graph():
    with v1.Graph().as_default(), v1.Session() as session:
        v = variable(True)
        pred = v1.placeholder(tf.bool, [])

        @tf.function
        def choose(taken):
            if taken:
                return v.read_value()
            return tf.constant(7.0)

        made = choose(pred)
        assert session.run(made, {pred: False}) == 7
        v.initializer.run()
        assert session.run(made, {pred: True}) == 3
