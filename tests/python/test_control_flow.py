# SPDX-License-Identifier: Apache-2.0
"""test_control_flow.py: tf.cond, tf.while_loop and functions based on them, in graphs."""

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def _fresh():
    tf.reset_default_graph()


def test_cond_runs_one_branch():
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(1.0)
    calls = []

    def note(a):
        calls.append(float(a))
        return a

    result = tf.cond(x > 0, lambda: tf.py_func(note, [x], tf.float32) * v, lambda: x - v)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(result, {x: 3.0}) == 3.0 and calls == [3.0]
        assert sess.run(result, {x: -3.0}) == -4.0 and calls == [3.0]


def test_branches_update_variables():
    x = tf.placeholder(tf.bool, [])
    v = tf.Variable(1.0)
    update = tf.cond(x, lambda: tf.assign_add(v, 5.0), lambda: tf.identity(v))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(update, {x: True}) == 6.0
        assert sess.run(v) == 6.0
        assert sess.run(update, {x: False}) == 6.0
        assert sess.run(v) == 6.0


def test_nested_conds_and_case():
    x = tf.placeholder(tf.int32, [])
    y = tf.constant(7)
    result = tf.case(
        [(tf.equal(x, 0), lambda: y), (tf.equal(x, 1), lambda: y * 2)],
        default=lambda: tf.constant(-1),
    )
    with tf.Session() as sess:
        assert [sess.run(result, {x: i}) for i in range(3)] == [7, 14, -1]


def test_while_counts():
    limit = tf.placeholder(tf.int32, [])
    i, total = tf.while_loop(
        lambda i, s: i < limit, lambda i, s: (i + 1, s + i), [tf.constant(0), tf.constant(0)]
    )
    with tf.Session() as sess:
        assert sess.run([i, total], {limit: 10}) == [10, 45]
        assert sess.run([i, total], {limit: 0}) == [0, 0]


def test_while_may_grow_and_end_early():
    x = tf.constant([1.0])
    grown = tf.while_loop(
        lambda a: tf.shape(a)[0] < 9,
        lambda a: tf.concat([a, a], 0),
        [x],
        shape_invariants=[tf.TensorShape([None])],
    )
    once = tf.while_loop(lambda i: i < 100, lambda i: i + 1, [tf.constant(0)], maximum_iterations=3)
    with tf.Session() as sess:
        assert sess.run(tf.shape(grown))[0] == 16
        assert sess.run(once) == 3
    with pytest.raises(ValueError, match="shape_invariants"):
        tf.while_loop(lambda a: True, lambda a: tf.concat([a, a], 0), [x])


def test_rows():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    squares = tf.map_fn(lambda r: r * r, tf.constant(x))
    sums = tf.scan(lambda a, r: a + r, tf.constant(x))
    total = tf.foldl(lambda a, r: a + r, tf.constant(x))
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(squares), x * x)
        np.testing.assert_array_equal(sess.run(sums), np.cumsum(x, 0))
        np.testing.assert_array_equal(sess.run(total), x.sum(0))


X = np.random.RandomState(0).randn(3, 4).astype(np.float32)
W = np.random.RandomState(1).randn(4, 4).astype(np.float32) * 0.5


def check_gradients(function, *values, feeds=None):
    """Gradients of the sum of function(*tensors) against differences, in float64."""
    places = [tf.placeholder(tf.float64, v.shape) for v in values]
    y = tf.reduce_sum(function(*places))
    grads = tf.gradients(y, places)
    feed = {p: v.astype(np.float64) for p, v in zip(places, values)}
    feed.update(feeds or {})
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for place, grad in zip(places, sess.run(grads, feed)):
            base, want = feed[place], np.zeros(feed[place].shape)
            for at in np.ndindex(base.shape):
                ends = []
                for step in (1e-5, -1e-5):
                    moved = base.copy()
                    moved[at] += step
                    ends.append(sess.run(y, {**feed, place: moved}))
                want[at] = (ends[0] - ends[1]) / 2e-5
            np.testing.assert_allclose(grad, want, rtol=1e-5, atol=1e-6)


def both(pred, first, second):
    return lambda *args: tf.cond(pred, lambda: first(*args), lambda: second(*args))


@pytest.mark.parametrize("truth", [True, False])
def test_gradients_of_cond(truth):
    pred = tf.placeholder(tf.bool, [])
    check_gradients(
        both(pred, lambda x, w: tf.square(tf.matmul(x, w)), lambda x, w: tf.sin(x) * 3),
        X,
        W,
        feeds={pred: truth},
    )


def test_gradients_of_while():
    def function(x, w):
        return tf.while_loop(
            lambda i, h: i < 5, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w) + x)), [0, x]
        )[1]

    check_gradients(function, X, W)


def test_gradients_of_loops_in_branches_in_loops():
    pred = tf.placeholder(tf.bool, [])

    def inner(h, w):
        return tf.while_loop(
            lambda j, k: j < 3, lambda j, k: (j + 1, tf.tanh(tf.matmul(k, w))), [0, h]
        )[1]

    def body(i, h, x, w):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: inner(h, w), lambda: h * tf.sigmoid(x))

    def function(x, w):
        return tf.cond(
            pred,
            lambda: tf.while_loop(lambda i, h: i < 4, lambda i, h: body(i, h, x, w), [0, x])[1],
            lambda: x * 2,
        )

    check_gradients(function, X, W, feeds={pred: True})


def test_gradients_go_through_what_the_loop_decides():
    def function(x):
        return tf.while_loop(lambda a: tf.reduce_sum(a) < 100.0, lambda a: a * a + 1, [x])

    check_gradients(function, np.array([1.5, 0.5]))


def test_gradients_with_random_numbers():
    """What was drawn on the way there counts on the way back."""
    x = tf.placeholder(tf.float32, [1000])
    y = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, tf.nn.dropout(a, keep_prob=0.9)), [0, x]
    )[1]
    grad = tf.gradients(y, x)[0]
    with tf.Session() as sess:
        value, slope = sess.run([y, grad], {x: np.ones(1000)})
    np.testing.assert_allclose(value, slope, rtol=1e-5)
    assert 0 < (value == 0).sum() < 600


def test_gradients_of_variables():
    v = tf.Variable(2.0)
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v), [0, tf.constant(1.0)])[1]
    train = tf.train.GradientDescentOptimizer(0.1).minimize(y)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(tf.gradients(y, v)[0]) == 12.0
        sess.run(train)
        np.testing.assert_allclose(sess.run(v), 0.8, rtol=1e-6)


def test_gradients_of_rows():
    check_gradients(lambda x: tf.map_fn(lambda r: tf.reduce_sum(r * r) * tf.sin(r), x), X)
    check_gradients(lambda x: tf.scan(lambda a, r: a * r + tf.cos(r), x), X)
    check_gradients(
        lambda x: tf.scan(
            lambda a, r: a * r, x, reverse=True, initializer=tf.ones([4], tf.float64)
        ),
        X,
    )
    check_gradients(lambda x: tf.foldr(lambda a, r: a * r + tf.cos(r), x), X)


def test_own_gradients_inside():
    @tf.custom_gradient
    def triple(x):
        return x * 3, lambda dy: dy * 100

    x = tf.constant(1.0)
    y = tf.cond(tf.constant(True), lambda: triple(x), lambda: x)
    z = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, triple(a)), [0, x])[1]
    with tf.Session() as sess:
        assert sess.run([y, tf.gradients(y, x)[0]]) == [3.0, 100.0]
        assert sess.run([z, tf.gradients(z, x)[0]]) == [9.0, 10000.0]


@pytest.mark.parametrize("by_handle", [False, True])
def test_own_gradients_of_what_is_captured(by_handle):
    """Numbers of nodes of the outer graph mean nothing inside."""
    v, u = (
        tf.get_variable(n, initializer=i, use_resource=by_handle)
        for n, i in (("v", 2.0), ("u", 7.0))
    )
    x = tf.constant(1.0)

    @tf.custom_gradient
    def own(x):
        def back(dy, variables=()):
            return (dy * 10, [dy * 1000 for _ in variables]) if variables else dy * 10

        return x * v, back

    y = tf.cond(tf.constant(True), lambda: u * own(x), lambda: x)
    z = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * u + own(x)), [0, x])[1]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(tf.gradients(y, [x, u])) == [70.0, 2.0]
        assert sess.run(tf.gradients(z, [x, u])) == [129.0, 16.0]
        if by_handle:
            assert sess.run([tf.gradients(y, v)[0], tf.gradients(z, v)[0]]) == [7000.0, 8000.0]


def test_variables_live_outside():
    def body(i, a):
        with tf.variable_scope("inside", reuse=tf.AUTO_REUSE):
            return i + 1, a * tf.get_variable("v", [], initializer=tf.ones_initializer()) + 1

    y = tf.while_loop(lambda i, a: i < 3, body, [0, tf.constant(0.0)])[1]
    assert [v.name for v in tf.trainable_variables()] == ["inside/v:0"]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run([y, tf.gradients(y, tf.trainable_variables())[0]]) == [3.0, 3.0]


def test_places():
    with tf.device("/cpu:0"):
        y = tf.cond(tf.constant(True), lambda: tf.constant(1.0), lambda: tf.constant(2.0))
    assert y.name == "cond/Merge:0" and y.device.endswith("CPU:0")
    names = [
        t.name
        for t in tf.while_loop(
            lambda i, a: i < 2, lambda i, a: (i + 1, a), [tf.constant(0), tf.constant(1)]
        )
    ]
    assert names == ["while/Exit:0", "while/Exit_1:0"]


def test_rows_that_a_loop_tells():
    x = tf.constant(np.arange(12, dtype=np.float32).reshape(6, 2))
    n = tf.placeholder(tf.int32, [])
    assert x[n].shape.as_list() == [2] and x[:, n].shape.as_list() == [6]
    assert x[n:, tf.newaxis].shape.as_list() == [None, 1, 2]
    total = tf.while_loop(
        lambda i, s: i < n, lambda i, s: (i + 1, s + x[i] + x[-1 - i, :]), [0, tf.zeros([2])]
    )[1]
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(total, {n: 6}), [60, 72])
        np.testing.assert_array_equal(sess.run(total, {n: 0}), [0, 0])
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(total, {n: 7})


def test_no_gradients_where_none_are_wanted():
    x = tf.constant([1.0, 2.0])
    _, power = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x], back_prop=False
    )
    assert power.name == "while/Exit_1:0"
    results = [
        power,
        tf.map_fn(lambda a: a * a, x, back_prop=False),
        tf.scan(lambda a, b: a * b, x, back_prop=False),
        tf.foldl(lambda a, b: a * b, x, back_prop=False),
    ]
    assert [tf.gradients(y, x) for y in results] == [[None]] * 4
    with tf.Session() as sess:
        assert [v.tolist() for v in sess.run(results)] == [[1, 16], [1, 4], [1, 2], 2]


def test_a_call_of_python_without_results_is_an_operation():
    seen = []
    with tf.Graph().as_default(), tf.Session() as session:
        note = tf.py_func(lambda: seen.append(1), [], [])
        assert isinstance(note, tf.Operation)
        with tf.control_dependencies([note]):
            one = tf.identity(1)
        assert session.run(one) == 1 and session.run(note) is None
    assert seen == [1, 1]
