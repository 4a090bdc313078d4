# SPDX-License-Identifier: Apache-2.0
"""test_ragged.py: rows of different lengths, texts that are split into such, numbers of repeats."""
import numpy as np
import pytest

import situ as tf

ROWS = [[1, 2], [], [3, 4, 5]]


def test_parts_of_a_ragged_tensor():
    r = tf.ragged.constant(ROWS)
    assert r.to_list() == ROWS and r.shape.as_list() == [3, None] and len(r) == 3
    assert r.row_splits.numpy().tolist() == [0, 2, 2, 5]
    assert r.row_lengths().numpy().tolist() == [2, 0, 3]
    assert r.value_rowids().numpy().tolist() == [0, 0, 2, 2, 2]
    assert r.bounding_shape().numpy().tolist() == [3, 3]
    assert [x.numpy().tolist() for x in r] == ROWS
    assert r[2, 1].numpy() == 4 and r[1:].to_list() == ROWS[1:]
    assert repr(r) == "<tf.RaggedTensor [[1, 2], [], [3, 4, 5]]>"


def test_ways_in_and_out():
    made = tf.RaggedTensor
    assert made.from_row_splits([1, 2, 3], [0, 2, 3]).to_list() == [[1, 2], [3]]
    assert made.from_row_lengths([1, 2, 3], [1, 2]).to_list() == [[1], [2, 3]]
    assert made.from_value_rowids([1, 2, 3], [0, 2, 2]).to_list() == [[1], [], [2, 3]]
    assert made.from_tensor([[1, 0], [2, 3]], padding=0).to_list() == [[1], [2, 3]]
    assert made.from_tensor([[1, 0], [2, 3]], lengths=[2, 1]).to_list() == [[1, 0], [2]]
    assert tf.ragged.stack([[1], [2, 3]]).to_list() == [[1], [2, 3]]
    r = tf.ragged.constant(ROWS)
    assert r.to_tensor(-1).numpy().tolist() == [[1, 2, -1], [-1, -1, -1], [3, 4, 5]]
    assert r.to_tensor(shape=[None, 2]).numpy().tolist() == [[1, 2], [0, 0], [3, 4]]
    assert (tf.sparse.to_dense(r.to_sparse()).numpy() == r.to_tensor().numpy()).all()
    pairs = made.from_row_lengths([[1, 2], [3, 4], [5, 6]], [1, 2]).to_tensor()
    assert pairs.numpy().tolist() == [[[1, 2], [0, 0]], [[3, 4], [5, 6]]]


def test_sums_and_functions():
    r = tf.ragged.constant(ROWS)
    assert (r + 1).to_list() == [[2, 3], [], [4, 5, 6]]
    assert (r * r).to_list() == [[1, 4], [], [9, 16, 25]]
    assert tf.ragged.map_flat_values(tf.square, r).to_list() == [[1, 4], [], [9, 16, 25]]
    assert tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]).to_list() == \
        [[1], [3, 4]]


def test_split():
    split = tf.strings.split
    assert split("a b \t c").numpy().tolist() == [b"a", b"b", b"c"]
    assert split(["a b", "", "c"]).to_list() == [[b"a", b"b"], [], [b"c"]]
    table = split([",x", "y"], sep=",").to_tensor("-")
    assert table.numpy().tolist() == [[b"", b"x"], [b"y", b"-"]]
    assert split("a--b-c", sep="--").numpy().tolist() == [b"a", b"b-c"]
    words = tf.data.Dataset.from_tensor_slices(["a b", "c"]).map(split)
    assert [w.numpy().tolist() for w in words] == [[b"a", b"b"], [b"c"]]

    @tf.function
    def table(texts):
        return split(texts).to_tensor()
    assert table(tf.constant(["p q", "r"])).numpy().tolist() == [[b"p", b"q"], [b"r", b""]]


def test_what_is_not_there():
    with pytest.raises(ValueError, match="one ragged dimension only"):
        tf.ragged.constant([[[1], [2, 3]]])
    with pytest.raises(ValueError, match="maxsplit"):
        tf.strings.split("a b", maxsplit=1)


def test_sparse_texts_become_dense():
    sparse = tf.SparseTensor([[0, 1], [1, 0]], ["a", "b"], [2, 2])
    assert tf.sparse.to_dense(sparse).numpy().tolist() == [[b"", b"a"], [b"b", b""]]
    assert tf.sparse.to_dense(sparse, "-").numpy().tolist() == [[b"-", b"a"], [b"b", b"-"]]


@pytest.mark.parametrize("axis", [0, 1])
def test_repeat_each_as_often_as_it_says(axis):
    x = np.arange(6).reshape(2, 3)
    counts = [2, 0] if axis == 0 else [1, 0, 3]
    assert (tf.repeat(x, counts, axis=axis).numpy() == np.repeat(x, counts, axis)).all()
    assert tf.repeat([5, 6], tf.constant([0, 2])).numpy().tolist() == [6, 6]
