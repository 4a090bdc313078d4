# SPDX-License-Identifier: Apache-2.0
"""test_argument_order.py: the argument orders of TensorFlow before 1.0, and other deprecated
calls."""

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_concat_split_and_reverse_with_the_axis_first(session):
    a, b = tf.constant([[1, 2], [3, 4]]), tf.constant([[5, 6], [7, 8]])
    assert session.run(tf.concat(1, [a, b])).tolist() == [[1, 2, 5, 6], [3, 4, 7, 8]]
    assert session.run(tf.concat([a, b], 0)).shape == (4, 2)
    assert [p.tolist() for p in session.run(tf.split(1, 2, a))] == [[[1], [3]], [[2], [4]]]
    assert session.run(tf.split(a, 2, 0))[1].tolist() == [[3, 4]]
    assert session.run(tf.reverse(a, [False, True])).tolist() == [[2, 1], [4, 3]]
    assert session.run(tf.reverse(a, [0])).tolist() == [[3, 4], [1, 2]]


def test_concat_of_one_tensor_needs_an_axis(session):
    with pytest.raises((TypeError, ValueError)):
        tf.concat(tf.ones([2]), [tf.ones([2])])


def test_cross_entropies_with_logits_first(session):
    logits, labels = (
        tf.constant([[1.0, 2.0, 4.0], [0.0, -1.0, 1.0]]),
        [[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]],
    )
    for word, wanted in (("softmax", labels), ("sparse_softmax", [1, 0]), ("sigmoid", labels)):
        word += "_cross_entropy_with_logits"
        old = getattr(tf.contrib.nn, "deprecated_flipped_" + word)(logits, wanted)
        new = getattr(tf.nn, word)(labels=wanted, logits=logits)
        np.testing.assert_array_equal(*session.run([old, new]))
    across = tf.contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits(
        tf.transpose(logits), np.transpose(labels), dim=0
    )
    np.testing.assert_allclose(session.run(across), [2.1698461, 1.9076059], rtol=1e-6)


def test_sizes_that_are_whole_numbers(session):
    assert tf.zeros([3.0, 1.0]).shape.as_list() == [3, 1]
    assert tf.ones([2, 4.0]).shape.as_list() == [2, 4]


def test_collections_by_key(session):
    tf.add_to_collection(name="a", value=1)
    assert tf.get_collection(key="a") == [1] and tf.get_collection_ref(key="a") == [1]


def test_sparse_tensors_are_evaluated(session):
    made = tf.SparseTensor([[0, 1]], [5.0], [2, 2]).eval()
    assert isinstance(made, tf.SparseTensorValue) and made.values.tolist() == [5.0]
    np.testing.assert_array_equal(made.dense_shape, [2, 2])
    assert tf.SparseTensor([[0]], [1], [2]).eval(session=session).values.tolist() == [1]


class Cases(tf.test.TestCase):
    def test_graph_of_its_own(self):
        v = tf.get_variable("v", [2])
        with self.test_session() as sess:
            sess.run(tf.global_variables_initializer())
            self.assertAllEqual(v, sess.run(v))
            self.assertShapeEqual(np.zeros(2), v)

    def test_another_graph(self):
        tf.get_variable("v", [2])
        with self.session():
            x = tf.constant(np.ones([2, 3], "f"))
            y = tf.tanh(tf.matmul(x, tf.ones([3, 1])) * 0.1)
            self.assertLess(tf.test.compute_gradient_error(x, [2, 3], y, [2, 1]), 1e-3)
            with self.assertRaisesOpError("NaN"):
                tf.check_numerics(tf.constant(np.nan), "x").eval()


def test_assignments_that_do_not_ask_for_the_shape(session):
    v = tf.Variable(tf.zeros([3, 2]))
    same = tf.assign(v, tf.ones([3, 2]), validate_shape=False)
    other = tf.assign(v, tf.ones([2, 3]), validate_shape=False)
    assert other.shape.as_list() == [2, 3]
    session.run(v.initializer)
    assert session.run(same).sum() == 6
    with pytest.raises(tf.errors.UnimplementedError, match="keeps its shape"):
        session.run(other)
