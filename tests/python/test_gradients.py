# SPDX-License-Identifier: Apache-2.0
"""test_gradients.py: tf.gradients and custom gradients; numbers are TensorFlow's."""

import numpy as np
import pytest

import situ.compat.v1 as tf1


def run(graph, fetches, feeds=None):
    with tf1.Session(graph=graph) as session:
        session.run(tf1.global_variables_initializer()) if graph.get_collection("variables") else 0
        return session.run(fetches, feeds)


@pytest.fixture
def graph():
    with tf1.Graph().as_default() as made:
        yield made


def test_names_of_the_gradients_are_tensorflows(graph):
    a = tf1.placeholder(tf1.float32, [2, 3], name="a")
    b = tf1.placeholder(tf1.float32, [3, 2], name="b")
    product = tf1.matmul(a, b)
    da, db = tf1.gradients(product, [a, b])
    assert da.name == "gradients/MatMul_grad/MatMul:0"
    assert db.name == "gradients/MatMul_grad/MatMul_1:0"
    assert tf1.gradients(product, a)[0].name == "gradients_1/MatMul_grad/MatMul:0"
    with tf1.name_scope("tower"):
        assert tf1.gradients(product, a)[0].name == "tower/gradients/MatMul_grad/MatMul:0"
    assert [i.op.name for i in da.op.inputs] == ["gradients/Fill", "b"]


def test_several_paths_meet_in_an_add_n(graph):
    x = tf1.constant([1.0, 2.0, 3.0])
    y = x * x + tf1.sin(x)
    dx = tf1.gradients(y, x)[0]
    assert dx.op.type == "AddN"
    np.testing.assert_allclose(run(graph, dx), [2.5403023, 3.5838532, 5.0100075], rtol=1e-6)


def test_grad_ys_and_unconnected(graph):
    x, other = tf1.constant([1.0, 2.0]), tf1.constant(3.0)
    y = tf1.exp(x)
    assert tf1.gradients(y, other) == [None]
    zero = tf1.gradients(y, other, unconnected_gradients="zero")[0]
    weighted = tf1.gradients([y, x], [x], grad_ys=[[1.0, 10.0], None])[0]
    zero, weighted = run(graph, [zero, weighted])
    assert zero == 0
    np.testing.assert_allclose(weighted, [3.7182817, 74.890561], rtol=1e-6)
    with pytest.raises(ValueError):
        tf1.gradients([y, x], [x], grad_ys=[None])


def test_stop_gradients(graph):
    a = tf1.constant(0.0)
    b = 2 * a
    both = tf1.gradients(a + b, [a, b], stop_gradients=[a, b])
    free = tf1.gradients(a + b, [a, b])
    assert run(graph, both + free) == [1.0, 1.0, 3.0, 1.0]
    assert tf1.gradients(tf1.stop_gradient(a) * 2, a) == [None]


def test_second_derivatives_and_hessians(graph):
    x = tf1.constant([1.0, 2.0])
    first = tf1.gradients(tf1.reduce_sum(x**3), x)[0]
    second = tf1.gradients(first, x)[0]
    full = tf1.hessians(x[0] * x[1] + x[0] ** 2, x)[0]
    second, full = run(graph, [second, full])
    np.testing.assert_allclose(second, [6, 12])
    np.testing.assert_allclose(full, [[2, 1], [1, 0]])


def test_shapes_that_are_fed(graph):
    x = tf1.placeholder(tf1.float32, [None, 3])
    w = tf1.get_variable("w", [3], initializer=tf1.ones_initializer())
    loss = tf1.reduce_mean(tf1.square(x * w))
    dw = tf1.gradients(loss, w)[0]
    got = run(graph, dw, {x: [[1, 2, 3], [4, 5, 6]]})
    np.testing.assert_allclose(got, [5.6666665, 9.666667, 15], rtol=1e-6)


def test_an_op_without_gradient_is_named(graph):
    x = tf1.constant([[1.0, 2.0]])
    y = tf1.nn.lrn(tf1.reshape(x, [1, 1, 1, 2]))
    assert tf1.gradients(tf1.floor(y), x) == [None]


def test_devices_of_gradients(graph):
    with tf1.device("/cpu:0"):
        x = tf1.constant([[1.0]])
    with tf1.device("/gpu:1"):
        y = tf1.matmul(x, x)
    with tf1.device("/gpu:0"):
        scoped = tf1.gradients(y, x)[0]
        beside = tf1.gradients(y, x, colocate_gradients_with_ops=True)[0]
    assert scoped.op.inputs[0].device == "/device:GPU:0"
    assert beside.op.inputs[0].device == "/device:GPU:1"


def test_override_map(graph):
    @tf1.RegisterGradient("TestTimesTen")
    def times_ten(op, grad):
        return 10 * grad

    x = tf1.constant(1.0)
    with graph.gradient_override_map({"Identity": "TestTimesTen"}):
        y = tf1.identity(x)
    assert run(graph, tf1.gradients(y, x)[0]) == 10


def test_custom_gradient_in_a_graph(graph):
    @tf1.custom_gradient
    def clipped(x):
        return tf1.identity(x), lambda dy: tf1.clip_by_value(dy, -1.0, 1.0)

    x = tf1.constant([1.0, 2.0])
    dx = tf1.gradients(clipped(x) * [0.5, 3.0], x)[0]
    np.testing.assert_allclose(run(graph, dx), [0.5, 1.0])


def test_gates_hold_gradients_back(graph):
    a, b = tf1.constant(2.0), tf1.constant(5.0)
    grads = tf1.gradients(a * b, [a, b], gate_gradients=True)
    for grad, other in zip(grads, reversed(grads)):
        assert grad.op.type == "Identity"
        assert other.op.inputs[0].op in grad.op.control_inputs
    w = tf1.get_variable("w", initializer=[[1.0], [2.0]])
    rows = tf1.gradients(tf1.gather(w, [1]) * b, [w, b], gate_gradients=True)
    assert isinstance(rows[0], tf1.IndexedSlices)
    optimizer = tf1.train.GradientDescentOptimizer(1.0)
    every = [
        optimizer.compute_gradients(tf1.reduce_sum(w * w), gate_gradients=gate)[0][0]
        for gate in (optimizer.GATE_NONE, optimizer.GATE_OP, optimizer.GATE_GRAPH)
    ]
    with pytest.raises(ValueError, match="gate_gradients must be one of"):
        optimizer.compute_gradients(tf1.reduce_sum(w), gate_gradients=3)
    found = run(graph, [grads, every])
    assert found[0] == [5.0, 2.0]
    assert [v[:, 0].tolist() for v in found[1]] == [[2.0, 4.0]] * 3


def test_gradients_of_programs_have_the_right_shape(graph):
    @tf1.custom_gradient
    def wrong(x):
        return tf1.reduce_sum(x), lambda dy: tf1.constant([1.0, 2.0, 3.0])

    @tf1.RegisterGradient("TestWrongShape")
    def wrong_too(op, grad):
        return tf1.constant([1.0, 2.0, 3.0])

    x = tf1.constant([1.0, 2.0])
    with graph.gradient_override_map({"Square": "TestWrongShape"}):
        square = tf1.square(x)
    for y in (wrong(x), square):
        with pytest.raises(
            ValueError,
            match="Incompatible shapes between op input and calculated "
            r"input gradient.* Original input shape: \[2\]. .*shape: \[3\]",
        ):
            tf1.gradients(y, x)


def test_ways_to_add_are_checked(graph):
    x = tf1.constant(1.0)
    for method in (tf1.AggregationMethod.DEFAULT, tf1.AggregationMethod.EXPERIMENTAL_TREE):
        assert run(graph, tf1.gradients(x * x, x, aggregation_method=method)[0]) == 2
    with pytest.raises(ValueError, match="Invalid `aggregation_method` specified 77"):
        tf1.gradients(x * x, x, aggregation_method=77)


def test_options_of_hessians():
    with tf1.Graph().as_default() as graph:
        with tf1.device("/device:CPU:0"):
            x = tf1.placeholder(tf1.float32, [2])
            y = tf1.reduce_sum(tf1.sin(x) * x, name="y")
        made = tf1.hessians(y, x, colocate_gradients_with_ops=True, name="h")[0]
        kinds = [o.colocation_groups() for o in graph.get_operations() if o.name.startswith("h/")]
        assert any(b"loc:@" in group for groups in kinds for group in groups)
        with tf1.Session() as session:
            found = session.run(made, {x: [0.0, 1.0]})
    assert np.allclose(found, np.diag([2.0, 2 * np.cos(1.0) - np.sin(1.0)]))


def test_a_gradient_with_one_element(graph):
    x = tf1.constant([1.0, 2.0])
    dx = tf1.gradients(tf1.reduce_sum(x * x), x, tf1.constant([3.0]))[0]
    assert run(graph, dx).tolist() == [6, 12]
    dx = tf1.gradients(tf1.reduce_sum(x * x, keepdims=True), x, tf1.constant(3.0))[0]
    assert run(graph, dx).tolist() == [6, 12]
    with pytest.raises(ValueError, match="has shape"):
        tf1.gradients(tf1.reduce_sum(x * x), x, tf1.constant([3.0, 4.0]))
