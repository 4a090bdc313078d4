# SPDX-License-Identifier: Apache-2.0
"""test_matrix_diag.py: tf.linalg.diag, diag_part and set_diag with k and align."""

import numpy as np
import pytest

import situ as tf

ALIGNMENTS = ["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"]
MATRIX = np.arange(12.0).reshape(3, 4)


def test_rows_of_diagonals_align():
    both = tf.linalg.diag_part(MATRIX, k=(-2, 1), padding_value=-1.0)
    left = tf.linalg.diag_part(MATRIX, k=(-2, 1), padding_value=-1.0, align="LEFT_RIGHT")
    assert both.numpy().tolist() == [[1, 6, 11], [0, 5, 10], [4, 9, -1], [8, -1, -1]]
    assert left.numpy().tolist() == [[1, 6, 11], [0, 5, 10], [-1, 4, 9], [-1, -1, 8]]


@pytest.mark.parametrize("align", ALIGNMENTS)
@pytest.mark.parametrize("k", [(-2, 3), (-1, 0), (1, 2), 0, -2, 3])
def test_diagonals_come_back(align, k):
    part = tf.linalg.diag_part(MATRIX, k=k, align=align)
    low, high = k if isinstance(k, tuple) else (k, k)
    rows, columns = np.indices(MATRIX.shape)
    band = np.where((columns - rows >= low) & (columns - rows <= high), MATRIX, 0)
    made = tf.linalg.diag(part, k=k, num_rows=3, num_cols=4, align=align)
    assert np.array_equal(made, band)
    assert np.array_equal(tf.linalg.set_diag(np.zeros((3, 4)), part, k=k, align=align), band)


def test_sizes_are_the_smallest_that_fit():
    assert tf.linalg.diag([1, 2], k=1).shape == (3, 3)
    assert tf.linalg.diag([1, 2], k=1, num_rows=2).shape == (2, 3)
    assert tf.linalg.diag([1, 2], k=-1, num_cols=5).shape == (3, 5)
    assert tf.linalg.diag([True], k=1, padding_value=True).numpy().tolist() == [[1, 1], [1, 1]]


def test_gradients_of_several_diagonals():
    x = tf.Variable(MATRIX)
    d = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        part = tf.linalg.diag_part(x, k=(0, 1)) ** 2
        replaced = tf.linalg.set_diag(x, d, k=(0, 1)) ** 2
        made = tf.linalg.diag(d, k=(-1, 0), padding_value=tf.constant(3.0, tf.float64)) ** 2
    band = np.triu(MATRIX) - np.triu(MATRIX, 2)
    assert np.array_equal(tape.gradient(part, x), 2 * band)
    assert np.array_equal(tape.gradient(replaced, x), 2 * (MATRIX - band))
    assert np.array_equal(tape.gradient(replaced, d), 2 * d.numpy())
    assert np.array_equal(tape.gradient(made, d), [[2, 4, 6], [8, 10, 0]])


def test_shapes_with_unknown_sizes():
    @tf.function(input_signature=[tf.TensorSpec([None, 2, 3]), tf.TensorSpec(None)])
    def sizes(a, b):
        return tf.shape(tf.linalg.diag(a, k=(0, 1))), tf.linalg.diag_part(b, k=-1)

    shape, part = sizes(tf.zeros([5, 2, 3]), tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    assert shape.numpy().tolist() == [5, 3, 3]
    assert part.numpy().tolist() == [3.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.linalg.diag(MATRIX, k=(3, 1)), "must not be larger than upper_diag_index"),
        (lambda: tf.linalg.diag(MATRIX, k=(0, 1)), "number of diagonals provided"),
        (lambda: tf.linalg.diag([1.0, 2.0], num_rows=1), "number of rows is too small"),
        (lambda: tf.linalg.diag(1.0), "diagonal must be at least 1-dim"),
        (lambda: tf.linalg.diag_part(MATRIX, k=4), "lower_diag_index is out of bound: 4"),
        (lambda: tf.linalg.diag_part([1.0]), "input must be at least 2-dim"),
        (lambda: tf.linalg.set_diag(MATRIX, [1.0]), "Either first dimensions of diagonal"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        call()


def test_a_list_is_an_index_as_a_tuple():
    x = tf.constant(MATRIX)
    assert x[[1, 2]].numpy() == 6
    assert x[[slice(0, 2), 1]].numpy().tolist() == [1, 5]
    assert x[[Ellipsis, 1]].numpy().tolist() == [1, 5, 9]
