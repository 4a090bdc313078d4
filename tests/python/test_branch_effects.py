# SPDX-License-Identifier: Apache-2.0
"""test_branch_effects.py: tf.cond, tf.case and tf.switch_case run the side effects of the
selected branch only; truth values."""

import numpy as np
import pytest

import situ as tf

v1 = tf.compat.v1


def run(make, fed, dtype):
    """Returns (results of a new graph, its three variables afterwards)."""
    with v1.Graph().as_default(), v1.Session() as session:
        variables = (
            v1.Variable(0.0),
            v1.Variable(0.0),
            v1.get_variable("c", [], use_resource=True, initializer=tf.zeros),
        )
        pred = v1.placeholder(dtype, [])
        made = make(pred, *variables)
        session.run(v1.global_variables_initializer())
        found = session.run(made, {pred: fed})
        return found, [float(x) for x in session.run(list(variables))]


def nested(p, a, b, c):
    return v1.cond(
        p,
        lambda: v1.cond(p, lambda: a.assign_add(1).op, lambda: b.assign_add(1).op),
        lambda: v1.cond(
            p, lambda: a.assign_add(9).op, lambda: tf.group(b.assign_add(2), c.assign_add(3))
        ),
    )


def behind_dependencies(p, a, b, c):
    def yes():
        with tf.control_dependencies([a.assign_add(1), c.assign_add(1)]):
            return tf.no_op()

    return v1.cond(p, yes, tf.no_op)


def in_a_loop(p, a, b, c):
    def body(i):
        step = v1.cond(i < 2, lambda: a.assign_add(1).op, lambda: b.assign_add(1).op)
        with tf.control_dependencies([step]):
            return i + 1

    last = tf.while_loop(lambda i: i < 5, body, [0])
    with tf.control_dependencies([last[0] if isinstance(last, (list, tuple)) else last]):
        return tf.identity(p)


@pytest.mark.parametrize(
    "make,yes,no",
    [
        (
            lambda p, a, b, c: v1.cond(p, lambda: a.assign_add(1).op, lambda: b.assign_add(1).op),
            (True, [1, 0, 0]),
            (False, [0, 1, 0]),
        ),
        (
            lambda p, a, b, c: v1.cond(
                p,
                lambda: tf.group(a.assign_add(1), c.assign_add(1)),
                lambda: tf.group(b.assign_add(1)),
            ),
            (True, [1, 0, 1]),
            (False, [0, 1, 0]),
        ),
        (
            lambda p, a, b, c: v1.cond(
                p,
                lambda: [a.assign_add(1).op, tf.constant(5)],
                lambda: [b.assign_add(1).op, tf.constant(6)],
            ),
            ([True, 5], [1, 0, 0]),
            ([False, 6], [0, 1, 0]),
        ),
        (nested, (True, [1, 0, 0]), (False, [0, 2, 3])),
        (behind_dependencies, (True, [1, 0, 1]), (False, [0, 0, 0])),
        (in_a_loop, (True, [2, 3, 0]), (False, [2, 3, 0])),
    ],
)
def test_branches_that_give_operations(make, yes, no):
    assert run(make, True, tf.bool) == yes
    assert run(make, False, tf.bool) == no


@pytest.mark.parametrize(
    "index,expected", [(0, [1, 0, 0]), (1, [0, 1, 0]), (2, [0, 0, 1]), (7, [0, 0, 1])]
)
def test_cases_that_give_operations(index, expected):
    def switch(i, a, b, c):
        return tf.switch_case(
            i,
            [
                lambda: a.assign_add(1).op,
                lambda: b.assign_add(1).op,
                lambda: tf.group(c.assign_add(1)),
            ],
        )

    def case(i, a, b, c):
        return v1.case(
            [
                (tf.equal(i, 0), lambda: a.assign_add(1).op),
                (tf.equal(i, 1), lambda: b.assign_add(1).op),
            ],
            default=lambda: tf.group(c.assign_add(1)),
        )

    assert run(switch, index, tf.int32) == (index, expected)
    assert run(case, index, tf.int32) == (index < 2, expected)


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize(
    "make",
    [
        lambda p, a, b: tf.cond(p, lambda: a.assign_add(1.0), lambda: b.assign_add(1.0)),
        lambda p, a, b: tf.cond(
            p, lambda: tf.group(a.assign_add(1.0)), lambda: tf.group(b.assign_add(1.0))
        ),
        lambda p, a, b: tf.cond(
            p,
            lambda: a.assign_add(1.0, read_value=False),
            lambda: b.assign_add(1.0, read_value=False),
        ),
        lambda p, a, b: tf.switch_case(
            tf.cast(p, tf.int32),
            [lambda: tf.group(b.assign_add(1.0)), lambda: tf.group(a.assign_add(1.0))],
        ),
    ],
)
def test_branches_of_functions(make, truth):
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    for call in (make, tf.function(make)):
        a.assign(0.0)
        b.assign(0.0)
        call(tf.constant(truth), a, b)
        assert (a.numpy(), b.numpy()) == ((1, 0) if truth else (0, 1))


def test_operations_of_assignments():
    v = tf.Variable(1.0)
    assert v.assign_add(1.0, read_value=False) is None and tf.no_op() is None

    @tf.function
    def change():
        made = v.assign(5.0, read_value=False)
        with tf.control_dependencies([made, v.assign_add(2.0)]):
            return v + 1.0

    assert change().numpy() == 8 and v.numpy() == 7


TRUTHS = (
    [
        (dtype, value, bool(value))
        for dtype in ("float16", "float32", "float64")
        for value in (0.0, -0.0, 1.0, -2.0, float("nan"), float("inf"), 6e-8)
    ]
    + [
        (dtype, value, bool(value))
        for dtype in ("int8", "uint8", "int16", "int32", "int64")
        for value in (0, 1, 64)
    ]
    + [("bool", True, True), ("bool", False, False), ("string", "", False), ("string", "0", True)]
)


@pytest.mark.parametrize("dtype,value,expected", TRUTHS)
def test_what_is_true(dtype, value, expected):
    def choose(x):
        return tf.cond(x, lambda: 1, lambda: 2)

    @tf.function
    def count(x):
        steps = 0
        while x:
            steps += 1
            x = tf.zeros_like(x)
        return steps

    x = tf.constant(value, dtype)
    assert bool(x) is expected
    assert int(choose(x)) == int(tf.function(choose)(x)) == (1 if expected else 2)
    if dtype != "string":
        assert int(count(x)) == expected
    if expected:
        tf.debugging.Assert(x, ["not reached"])
    else:
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.debugging.Assert(x, ["false"])


@pytest.mark.parametrize(
    "values,shape,fits",
    [
        ([1.0] * 7, [2, 5], False),
        ([1.0, 2.0], [2, 3], False),
        ([1.0], [2, 2], True),
        (1.0, [2, 2], True),
        ([1.0, 2.0, 3.0, 4.0], [2, 2], True),
        ([1.0] * 5, [2, 2], False),
        (np.ones(7), [2, 5], False),
        ([1, 2], [], False),
    ],
)
def test_shapes_of_constants(values, shape, fits):
    def make():
        return tf.constant(values, shape=shape)

    for call in (make, tf.function(make)):
        if fits:
            assert call().shape.as_list() == shape
        else:
            with pytest.raises(TypeError):
                call()


def test_shapes_of_constants_in_graphs():
    with v1.Graph().as_default(), v1.Session() as session:
        assert session.run(v1.constant([1, 2, 3, 4, 5, 6, 7], shape=[2, 5])).tolist() == [
            [1, 2, 3, 4, 5],
            [6, 7, 7, 7, 7],
        ]
        assert session.run(v1.constant([], shape=[2])).tolist() == [0, 0]
        with pytest.raises(ValueError, match="Too many elements provided"):
            v1.constant([1, 2, 3], shape=[2])
        with pytest.raises(TypeError, match="Expected Tensor's shape"):
            v1.constant([1, 2, 3], shape=[2, 2], verify_shape=True)
        with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(2, 5\), but got \(7,\)"):
            tf.constant([1] * 7, shape=[2, 5])
