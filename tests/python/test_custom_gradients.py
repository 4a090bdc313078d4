# SPDX-License-Identifier: Apache-2.0
"""test_custom_gradients.py: gradients that programs define: tf.custom_gradient with variables and
several results, gradient_override_map. Numbers are TensorFlow's."""

import numpy as np
import pytest

import situ.compat.v1 as tf


def _run(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


X = np.array([-2.2, 3.7], "f")


def test_maps_to_gradients_of_other_ops(situ):
    """The first thing that a program does with gradients."""
    done = situ(
        "run",
        "a.py",
        files={
            "a.py": """
        import tensorflow as tf
        x = tf.constant([-2.2, 3.7])
        with tf.get_default_graph().gradient_override_map({"Sign": "Identity", "Relu": "Relu6"}):
            y = tf.sign(x) * 3 + tf.nn.relu(x * 2)
            print(tf.Session().run(tf.gradients(y, x)[0]).tolist())
        print(tf.Session().run(tf.gradients(y, x)[0]).tolist())
        """
        },
    )
    assert done.out == "[3.0, 3.0]\n[3.0, 3.0]\n", done.err


def test_the_innermost_map_counts(graph):
    x = tf.constant(X)
    with graph.gradient_override_map({"Sign": "Identity", "Square": "Identity"}):
        with graph.gradient_override_map({"Square": "Neg"}):
            y = tf.sign(x) + tf.square(x)
        z = tf.square(x)
    assert _run(tf.gradients(y, x)[0]).tolist() == [0, 0]
    assert _run(tf.gradients(z, x)[0]).tolist() == [1, 1]
    with graph.gradient_override_map({"Sign": "NobodyKnowsIt"}):
        bad = tf.sign(x)
    with pytest.raises(LookupError, match="gradient registry has no entry for: NobodyKnowsIt"):
        tf.gradients(bad, x)


def test_stop_gradients_may_be_one_tensor(graph):
    a = tf.constant(2.0)
    b = a * a
    assert _run(tf.gradients(b * a, [a, b], stop_gradients=b)) == [4, 2]


def _scaled(variable):
    @tf.custom_gradient
    def scaled(x):
        def back(dy, variables=None):
            return dy * 7, [dy * 5 for _ in variables]

        return x * variable * variable, back

    return scaled


def test_variables_of_a_graph(graph):
    v = tf.get_variable("v", [], initializer=tf.constant_initializer(3.0), use_resource=True)
    x = tf.constant(2.0)
    y = _scaled(v)(x)
    assert _run([y, *tf.gradients(y + v, [x, v])]) == [18, 7, 6]

    @tf.custom_gradient
    def own(x):
        w = tf.get_variable("w", [], initializer=tf.constant_initializer(4.0), use_resource=True)

        def back(dy, variables=None):
            assert variables == [w]
            return dy, [dy * 9]

        return x * w, back

    y = own(x)
    assert _run([y, *tf.gradients(y, [x, tf.global_variables()[-1]])]) == [8, 1, 9]


def test_a_gradient_that_is_not_told_of_variables(graph):
    v = tf.get_variable("v", [], use_resource=True)
    forgetful = tf.custom_gradient(lambda x: (x * v, lambda dy: dy))
    with pytest.raises(TypeError, match="must accept keyword argument 'variables'"):
        forgetful(tf.constant(1.0))


def test_several_results_have_one_gradient(graph):
    @tf.custom_gradient
    def pair(a, b):
        def back(da, db):
            return tf.maximum(da + db, 10.0), da * db

        return (a * 2, b * 3), back

    a, b = tf.constant(1.0), tf.constant(2.0)
    p, q = pair(a, b)
    assert p.op is q.op and _run([p, q]) == [2, 6]
    assert _run(tf.gradients(p + 4 * q, [a, b])) == [10, 4]
    assert _run(tf.gradients(20 * p, [a, b])) == [20, 0]


def test_rows_are_scaled_as_rows(graph):
    w = tf.Variable(np.ones((4, 2), "f"))
    grad = tf.gradients(tf.gather(w, [1, 3]), w)[0]
    doubled = tf.scalar_mul(2.0, grad)
    assert isinstance(doubled, tf.IndexedSlices)
    assert _run(doubled).values.tolist() == [[2, 2], [2, 2]]
