# SPDX-License-Identifier: Apache-2.0
"""test_py_function_graph.py: tf.py_function in programs of graph style: the function runs eagerly;
errors of Python functions."""

import queue
import threading
import time

import numpy
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_the_function_runs_eagerly(graph):
    def square(x):
        assert tf.executing_eagerly()
        assert x.numpy().shape == (2,)
        return tf.square(x) if tf.reduce_sum(x) > 0 else x

    x = tf.constant([1.0, 3.0])
    y = tf.py_function(square, [x], tf.float32)
    (gradient,) = tf.gradients(y, x)
    before = len(graph.get_operations())
    with tf.Session() as session:
        assert session.run(y).tolist() == [1.0, 9.0]
        assert session.run(gradient).tolist() == [2.0, 6.0]
    assert len(graph.get_operations()) == before and not tf.executing_eagerly()


def test_a_run_inside_of_a_function_that_took_long(graph):
    """The outer run is due to look for signals, and the inner one has the GIL."""

    def slow_gradient(x):
        time.sleep(0.1)
        x = tf.constant(x.numpy())
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    y = tf.py_function(slow_gradient, [tf.constant([1.0, 3.0])], tf.float32)
    with tf.Session() as session:
        assert session.run(y).tolist() == [2.0, 6.0]


def test_errors_show_the_traceback():
    def inner():
        raise ValueError("wrong")

    y = tf.py_func(lambda: inner(), [], tf.float32)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="(?s)ValueError: wrong.*in inner"):
            session.run(y)


def test_arguments_and_results_are_checked():
    with pytest.raises(ValueError, match="to be callable"):
        tf.py_function(3, [], tf.float32)
    with pytest.raises(ValueError, match="to be callable"):
        tf.py_func(3, [], tf.float32)
    y = tf.py_function(lambda: tf.Variable(1.0), [], tf.float32)
    with tf.Session() as session:
        with pytest.raises(tf.errors.UnknownError, match="Attempting to return a variable"):
            session.run(y)


def test_composite_tensors():
    rows = tf.ragged.constant([[1, 2, 3], [4]])
    total = tf.py_function(tf.reduce_sum, [rows], tf.int32)
    wrong = tf.py_function(lambda x: x, [rows], [tf.int32])
    with tf.Session() as session:
        assert session.run(total) == 10
        with pytest.raises(tf.errors.InvalidArgumentError, match="did not match Tout"):
            session.run(wrong)


def test_make_tensor_proto_adds_no_operation(graph):
    assert tf.make_ndarray(tf.make_tensor_proto([1.5, 2.0])).dtype == numpy.float32
    assert not graph.get_operations()


def test_independent_functions_run_concurrently():
    messages = queue.Queue(1)

    def put():
        messages.put(42)
        messages.join()
        return 42

    def get():
        value = messages.get()
        messages.task_done()
        return value

    x, y = tf.py_func(put, [], tf.int64), tf.py_func(get, [], tf.int64)
    with tf.Session() as session:
        assert session.run([x, y]) == [42, 42]
        assert session.run([y, x]) == [42, 42]


def test_many_functions_meet_and_errors_name_the_node():
    barrier = threading.Barrier(4, timeout=20)

    def meet(value):
        barrier.wait()
        return value * 2

    def fail():
        raise ValueError("no value")

    values = [tf.py_func(meet, [tf.constant(float(i)) + 1.0], tf.float32) for i in range(4)]
    total = tf.add_n([tf.reshape(v, []) for v in values])
    with tf.Session() as session:
        assert session.run(total) == 20.0
        failing = tf.py_func(fail, [], tf.float32, name="failing")
        with pytest.raises(tf.errors.InvalidArgumentError, match="no value"):
            session.run([failing, tf.py_func(lambda: 1.0, [], tf.double)])


def test_stateless_functions_of_constants_are_called_once():
    producer = iter(range(3))
    x = tf.py_func(lambda: next(producer), [], tf.int64, stateful=False)
    with tf.Session() as session:
        assert [session.run(x) for _ in range(3)] == [0, 0, 0]
    assert tf.py_func(lambda: None, [], [], stateful=False) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1}, "Unsupported object type dict"),
        (numpy.array([], dtype=[("a", "f4")]), "Unsupported numpy data type"),
    ],
)
def test_results_that_no_tensor_can_hold(value, text):
    x = tf.py_func(lambda: value, [], tf.float32)
    with tf.Session() as session, pytest.raises(tf.errors.InternalError, match=text):
        session.run(x)
