# SPDX-License-Identifier: Apache-2.0
"""test_sparse_eager.py: eager sparse tensors: empty rows, maximum and minimum, shapes."""

import pytest

import situ as tf


def test_empty_rows_get_a_default_value():
    sparse = tf.SparseTensor([[0, 0], [2, 3], [2, 1]], [1.0, 2.0, 3.0], [4, 5])
    default = tf.constant(9.0)
    with tf.GradientTape() as tape:
        tape.watch([sparse.values, default])
        filled, empty = tf.sparse.fill_empty_rows(sparse, default)
        total = tf.reduce_sum(filled.values * [1.0, 2.0, 3.0, 4.0, 5.0])
    assert filled.indices.numpy().tolist() == [[0, 0], [1, 0], [2, 3], [2, 1], [3, 0]]
    assert filled.values.numpy().tolist() == [1, 9, 2, 3, 9]
    assert empty.numpy().tolist() == [False, True, False, True]
    values, one = tape.gradient(total, [sparse.values, default])
    assert values.numpy().tolist() == [1, 3, 4] and float(one) == 7
    words, _ = tf.sparse.fill_empty_rows(tf.SparseTensor([[1, 0]], ["a"], [2, 1]), "?")
    assert words.values.numpy().tolist() == [b"?", b"a"]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\(0, 0\) is invalid"):
        tf.sparse.fill_empty_rows(tf.SparseTensor([[7, 0]], [1], [2, 1]), 0)


def test_maximum_and_minimum():
    a = tf.SparseTensor([[0], [2]], [1.0, -2.0], [4])
    b = tf.SparseTensor([[1], [2]], [-3.0, 5.0], [4])
    assert tf.sparse.maximum(a, b).values.numpy().tolist() == [1, 0, 5]
    assert tf.sparse.minimum(a, b).values.numpy().tolist() == [0, -3, -2]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.sparse.maximum(a, tf.SparseTensor([[0]], [1.0], [5]))


def test_shapes_that_are_reset():
    sparse = tf.SparseTensor([[0, 1]], [1], [2, 3])
    assert tf.sparse.reset_shape(sparse).dense_shape.numpy().tolist() == [1, 2]
    assert tf.sparse.reset_shape(sparse, [2, 5]).dense_shape.numpy().tolist() == [2, 5]
    with pytest.raises(ValueError, match="should have dimension sizes"):
        tf.sparse.reset_shape(sparse, [2, 2])
    with pytest.raises(ValueError, match="same rank"):
        tf.sparse.reset_shape(sparse, [2, 3, 1])
    with pytest.raises(ValueError):
        tf.sparse.retain(sparse, [True, False])
    with pytest.raises(TypeError, match="neither a SparseTensor"):
        tf.SparseTensor.from_value([1])


def dense(sparse):
    return tf.sparse.to_dense(sparse).numpy().tolist()


def test_elements_are_moved():
    given = tf.SparseTensor([[1, 0], [0, 2], [0, 1]], ["c", "b", "a"], [2, 4])
    sparse = tf.sparse.reorder(given)
    assert sparse.values.numpy().tolist() == [b"a", b"b", b"c"]
    assert dense(tf.sparse.transpose(given))[:2] == [[b"", b"c"], [b"a", b""]]
    assert dense(tf.sparse.reshape(sparse, [4, -1]))[2] == [b"c", b""]
    assert dense(tf.sparse.slice(sparse, [0, 1], [9, 2])) == [[b"a", b"b"], [b"", b""]]
    parts = tf.sparse.split(sparse, 3, -1)
    assert [dense(p)[0] for p in parts] == [[b"", b"a"], [b"b"], [b""]]
    both = tf.sparse.concat(-1, [sparse, parts[0]])
    assert dense(both) == [[b"", b"a", b"b", b"", b"", b"a"], [b"c", b"", b"", b"", b"c", b""]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_split should be between"):
        tf.sparse.split(sparse, 9, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="only one output dimension"):
        tf.raw_ops.SparseReshape(
            input_indices=sparse.indices, input_shape=[2, 4], new_shape=[-1, -1]
        )
    far = tf.raw_ops.SparseSlice(
        indices=[[0, 0]], values=[0], shape=[1, 1], start=[2**62, -1], size=[2**62, 2**62]
    )
    assert far.output_values.numpy().tolist() == []


def test_gradients_of_moved_elements():
    values = tf.constant([3.0, 1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        sparse = tf.sparse.reorder(tf.SparseTensor([[1, 0], [0, 2], [0, 1]], values, [2, 4]))
        part = tf.sparse.slice(sparse, [0, 1], [2, 3])
        total = tf.reduce_sum(part.values * [10.0, 20.0])
    assert tape.gradient(total, values).numpy().tolist() == [0, 20, 10]


def test_ranks_that_are_not_known():
    @tf.function(
        input_signature=[
            tf.TensorSpec(None, "int64"),
            tf.TensorSpec(None, "int32"),
            tf.TensorSpec(None, "int64"),
        ]
    )
    def change(indices, values, shape):
        sparse = tf.SparseTensor(indices, values, shape)
        sparse = tf.sparse.concat(0, [tf.sparse.transpose(tf.sparse.reorder(sparse))] * 2)
        return tf.sparse.to_dense(tf.sparse.reshape(sparse, [-1]))

    assert change([[1, 0], [0, 1]], [5, 6], [2, 2]).numpy().tolist() == [0, 5, 6, 0] * 2


def test_crosses_of_columns():
    sparse = tf.SparseTensor([[0, 1], [0, 2], [1, 0]], ["a", "b", "c"], [2, 4])
    words, numbers = tf.constant([["x"], ["y"]]), tf.constant([7, 8, 9], "int64")
    crossed = tf.sparse.cross([sparse, words], separator="*")
    assert dense(crossed) == [[b"a*x", b"b*x"], [b"c*y", b""]]
    # TensorFlow's hashes
    hashed = tf.sparse.cross_hashed([sparse, words], num_buckets=1000)
    assert hashed.values.numpy().tolist() == [892, 4, 360]
    parts = {"indices": [sparse.indices], "shapes": [sparse.dense_shape], "salt": [137, 173]}
    for values, column, is_strong, want in (
        (sparse.values, words, True, [610, 839, 855]),
        (numbers, tf.constant([[5], [6]], "int64"), False, [936, 72, 78]),
        (numbers, words, True, [967, 736, 621]),
    ):
        found = tf.raw_ops.SparseCrossHashed(
            values=[values], dense_inputs=[column], num_buckets=1000, strong_hash=is_strong, **parts
        )
        assert found.output_values.numpy().tolist() == want
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected batch size 2 got 1"):
        tf.sparse.cross([sparse, tf.constant([["x"]])])
    with pytest.raises(TypeError, match="All inputs must be"):
        tf.sparse.cross([sparse, [["x"]]])
