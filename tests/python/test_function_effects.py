# SPDX-License-Identifier: Apache-2.0
"""test_function_effects.py: side effects of functions run in the order of the program."""

import numpy as np
import pytest

import situ as tf


def recorder():
    """Returns a list and a function that adds a tf.py_function with a result, which appends."""
    calls = []

    def record(name, value=1.0):
        return tf.py_function(lambda v: calls.append(name) or v, [value], tf.float32)

    return calls, record


def test_unused_results():
    calls, record = recorder()

    @tf.function
    def f(x):
        record("py_function", x)
        tf.numpy_function(lambda v: calls.append("numpy_function") or v, [x], tf.float32)
        tf.numpy_function(lambda v: calls.append("pure") or v, [x], tf.float32, stateful=False)
        return x

    assert f(tf.constant(2.0)) == 2
    assert calls == ["py_function", "numpy_function"]


def test_program_order(capfd):
    calls, record = recorder()

    @tf.function
    def f(x):
        record("a")
        tf.print("printed")
        tf.py_function(lambda: calls.append("b"), [], [])
        record("c")
        return x

    for _ in range(20):
        f(tf.constant(1.0))
    assert calls == ["a", "b", "c"] * 20
    assert capfd.readouterr().err.count("printed") == 20


def test_branches_and_loops():
    calls, record = recorder()

    @tf.function
    def f(x):
        record("first")
        if x > 0:
            record("then")
        for i in tf.range(2):
            record("loop")
            if i > 0:
                record("inner")
        record("last")
        return x

    f(tf.constant(1.0))
    assert calls == ["first", "then", "loop", "loop", "inner", "last"]


def test_loop_condition():
    calls, record = recorder()

    @tf.function
    def f():
        def condition(i):
            record("test")
            return i < 2

        return tf.while_loop(condition, lambda i: i + 1, [tf.constant(0)])

    f()
    assert calls == ["test"] * 3


def test_nested_functions_and_gradients():
    calls, record = recorder()

    @tf.function
    def inner(x):
        record("inner", x)
        return x * x

    @tf.function
    def outer(x):
        inner(x)
        record("outer")
        return inner(x)

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    assert tape.gradient(y, x) == 6
    assert calls == ["inner", "outer", "inner"]


def test_check_numerics_runs():
    @tf.function
    def f(x):
        tf.debugging.check_numerics(x, "x is bad")
        return tf.constant(1.0)

    assert f(tf.constant(1.0)) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="x is bad"):
        f(tf.constant(np.nan))


def test_functions_of_datasets(capfd):
    calls, record = recorder()

    def f(x):
        record("a", tf.cast(x, tf.float32))
        tf.print("element", x)
        tf.debugging.assert_less(x, tf.constant(2, tf.int64), "too large")
        return {"x": x, "sparse": tf.sparse.from_dense([x])}

    found = []
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        for element in tf.data.Dataset.range(3).map(f):
            found.append(int(element["x"]))
    assert found == [0, 1]
    assert calls == ["a"] * 3
    assert "element 0\nelement 1\nelement 2" in capfd.readouterr().err


def test_predicates_and_reductions():
    calls, record = recorder()
    keep = lambda x: (record("filter"), x > 0)[1]
    add = lambda state, x: (record("reduce"), state + x)[1]
    total = tf.data.Dataset.range(3).filter(keep).reduce(tf.constant(0, tf.int64), add)
    assert total == 3
    assert sorted(calls) == ["filter"] * 3 + ["reduce"] * 2


def test_map_fn_and_cond_without_results():
    calls, record = recorder()

    @tf.function
    def f(x):
        tf.map_fn(lambda v: (record("map", v), v)[1], x)
        tf.cond(x[0] > 0, lambda: record("then"), lambda: record("else"))
        return x

    f(tf.constant([1.0, 2.0]))
    assert calls == ["map", "map", "then"]
