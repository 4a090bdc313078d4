# SPDX-License-Identifier: Apache-2.0
"""test_critical_section.py: tf.CriticalSection eagerly, in functions, in loops and in sessions."""

import pytest

import situ as tf


def count(variable):
    value = variable.read_value()
    with tf.control_dependencies([value]):
        with tf.control_dependencies([variable.assign_add(1.0)]):
            return tf.identity(value)


def test_eager_calls_run_in_turn():
    section, variable = tf.CriticalSection(), tf.Variable(0.0)
    assert [float(section.execute(lambda: count(variable))) for _ in range(3)] == [0, 1, 2]


def test_a_failed_function_releases_the_lock():
    section = tf.CriticalSection()
    with pytest.raises(ZeroDivisionError):
        section.execute(lambda: 1 / 0)
    assert float(section.execute(lambda: tf.constant(2.0))) == 2


def test_a_function_waits_for_what_it_uses():
    section = tf.CriticalSection(shared_name="cs")

    @tf.function
    def both(x):
        first = section.execute(lambda: x + 1.0)
        return section.execute(lambda: first * 2.0)

    assert float(both(tf.constant(1.0))) == 4


def test_loops_and_sessions():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        section = tf.CriticalSection(shared_name="cs")
        variable = tf.compat.v1.get_variable("v", initializer=0.0, use_resource=True)
        loop = tf.compat.v1.while_loop(
            lambda i, j: i < 20, lambda i, j: (i + 1, section.execute(lambda: j + 1)), [0, 0]
        )
        counts = [section.execute(lambda: count(variable)) for _ in range(20)]
        session.run(variable.initializer)
        assert list(session.run(loop)) == [20, 20]
        assert sorted(session.run(counts)) == list(range(20))


def test_recursion_and_shared_resources_are_errors():
    with tf.Graph().as_default():
        first, second = tf.CriticalSection(), tf.CriticalSection()
        with pytest.raises(ValueError, match="in which we are already running"):
            first.execute(lambda: first.execute(lambda: tf.constant(1.0)))
        variable = tf.compat.v1.get_variable("v", initializer=0.0, use_resource=True)
        first.execute(lambda: variable + 1.0)
        with pytest.raises(ValueError, match="requested exclusive resource access"):
            second.execute(lambda: variable + 1.0, exclusive_resource_access=False)
