# SPDX-License-Identifier: Apache-2.0
"""test_lookup.py: vocabularies, tables of files, tables that change."""

import numpy as np
import pytest

import situ as tf

lookup = tf.lookup


def test_words_that_are_not_there_share_numbers():
    keys = lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    table = lookup.StaticVocabularyTable(keys, 2)
    found = table.lookup(tf.constant(["b", "q", "a", "z"])).numpy()
    bucket = tf.strings.to_hash_bucket_fast(["q", "z"], 2).numpy() + 2
    assert found.tolist() == [1, bucket[0], 0, bucket[1]] and table.size().numpy() == 4
    with pytest.raises(ValueError, match="must be greater than 0"):
        lookup.StaticVocabularyTable(keys, 0)


def test_files(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("foo\t7\nbar\t9\n")
    index = lookup.TextFileIndex
    numbers = lookup.TextFileInitializer(str(path), tf.string, 0, tf.int64, 1)
    assert lookup.StaticHashTable(numbers, -1).lookup(
        tf.constant(["bar", "x"])
    ).numpy().tolist() == [9, -1]
    lines = lookup.TextFileInitializer(
        str(path), tf.int64, index.LINE_NUMBER, tf.string, index.WHOLE_LINE
    )
    assert lookup.StaticHashTable(lines, "?").lookup(
        tf.constant([1, 5], tf.int64)
    ).numpy().tolist() == [b"bar\t9", b"?"]


@pytest.mark.parametrize("kind", ["mutable", "dense"])
def test_tables_that_change(kind):
    table = (
        lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        if kind == "mutable"
        else lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "-")
    )
    table.insert(tf.constant(["x", "y"]), tf.constant([5, 6], tf.int64))

    @tf.function
    def find(keys):
        return table.lookup(keys)

    assert find(tf.constant([["x"], ["z"]])).numpy().tolist() == [[5], [-1]]
    table.insert(tf.constant(["x"]), tf.constant([8], tf.int64))
    assert find(tf.constant([["x"], ["z"]])).numpy().tolist() == [[8], [-1]]
    table.remove(tf.constant(["y"]))
    keys, values = table.export()
    assert keys.numpy().tolist() == [b"x"] and values.numpy().tolist() == [8]
    assert table.size().numpy() == 1


def test_values_that_are_vectors_and_texts():
    table = lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
    table.insert(tf.constant([3], tf.int64), [[1.0, 2.0]])
    assert table.lookup(tf.constant([3, 4], tf.int64)).numpy().tolist() == [[1, 2], [0, 0]]
    words = lookup.experimental.MutableHashTable(tf.int64, tf.string, "?")
    words.insert(tf.constant([3], tf.int64), ["three"])
    assert words[tf.constant([3, 4], tf.int64)].numpy().tolist() == [b"three", b"?"]


def test_data_sets_that_are_never_chosen():
    one, other = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)
    mixed = tf.data.Dataset.sample_from_datasets([one, other], weights=[1.0, 0.0])
    assert np.array([x.numpy() for x in mixed]).tolist() == [0, 1, 2]


def test_numbers_without_a_type_are_what_they_are_as_tensors():
    def found(values, default, **words):
        keys = lookup.KeyValueTensorInitializer(["a"], values, **words)
        return lookup.StaticHashTable(keys, default).lookup(tf.constant(["a", "b"]))

    assert found([1], -1).dtype == tf.int32 and found([1], -1).numpy().tolist() == [1, -1]
    assert found([0.5], 0.0).dtype == tf.float32
    assert found(np.array([1]), -1).dtype == found([1], -1, value_dtype="int64").dtype == tf.int64
    number = lookup.StaticHashTable(lookup.KeyValueTensorInitializer([3], ["c"]), "?")
    assert number.key_dtype == tf.int32 and number.lookup([3, 4]).numpy().tolist() == [b"c", b"?"]
