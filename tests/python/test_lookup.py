# SPDX-License-Identifier: Apache-2.0
"""test_lookup.py: vocabularies, tables initialized from files, mutable tables."""

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
    with pytest.raises(ValueError, match="must be > 0; use StaticHashTable"):
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
        else lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "-", 8)
    )
    table.insert(tf.constant(["x", "y"]), tf.constant([5, 6], tf.int64))

    @tf.function
    def find(keys):
        return table.lookup(keys)

    assert find(tf.constant([["x"], ["z"]])).numpy().tolist() == [[5], [-1]]
    table.insert(tf.constant(["x"]), tf.constant([8], tf.int64))
    assert find(tf.constant([["x"], ["z"]])).numpy().tolist() == [[8], [-1]]
    table.remove(tf.constant(["y"]))
    keys, values = (t.numpy().tolist() for t in table.export())
    if kind == "dense":  # all buckets
        assert len(keys) == 8 and sorted(set(keys)) == [b"", b"-", b"x"]
        keys, values = keys[:1], values[:1]
    assert keys == [b"x"] and values == [8]
    assert table.size().numpy() == 1


def test_values_that_are_vectors_and_texts():
    table = lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
    table.insert(tf.constant([3], tf.int64), [[1.0, 2.0]])
    assert table.lookup(tf.constant([3, 4], tf.int64)).numpy().tolist() == [[1, 2], [0, 0]]
    words = lookup.experimental.MutableHashTable(tf.int64, tf.string, "?")
    words.insert(tf.constant([3], tf.int64), ["three"])
    assert words[tf.constant([3, 4], tf.int64)].numpy().tolist() == [b"three", b"?"]


def test_datasets_that_are_never_chosen():
    one, other = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)
    mixed = tf.data.Dataset.sample_from_datasets([one, other], weights=[1.0, 0.0])
    assert np.array([x.numpy() for x in mixed]).tolist() == [0, 1, 2]


def test_numbers_without_a_type_are_what_they_are_as_tensors():
    def found(values, default, **kwargs):
        keys = lookup.KeyValueTensorInitializer(["a"], values, **kwargs)
        return lookup.StaticHashTable(keys, default).lookup(tf.constant(["a", "b"]))

    assert found([1], -1).dtype == tf.int32 and found([1], -1).numpy().tolist() == [1, -1]
    assert found([0.5], 0.0).dtype == tf.float32
    assert found(np.array([1]), -1).dtype == found([1], -1, value_dtype="int64").dtype == tf.int64
    number = lookup.StaticHashTable(lookup.KeyValueTensorInitializer([3], ["c"]), "?")
    assert number.key_dtype == tf.int32 and number.lookup([3, 4]).numpy().tolist() == [b"c", b"?"]


def test_sparse_and_ragged_keys():
    table = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    sparse = table.lookup(tf.SparseTensor([[0, 1], [1, 0]], ["b", "x"], [2, 2]))
    assert sparse.values.numpy().tolist() == [2, -1]
    ragged = table[tf.ragged.constant([["a"], ["x", "b"]])]
    assert ragged.to_list() == [[1], [-1, 2]]
    with pytest.raises(TypeError, match="Dtype of argument `keys` must be"):
        table.lookup(tf.constant([1]))
    assert "<Resource Tensor>" in repr(table.resource_handle)


def test_static_tables_export_and_refuse_other_values():
    table = lookup.StaticHashTable(lookup.KeyValueTensorInitializer([1, 2, 2], [3, 4, 4]), 0)
    keys, values = table.export()
    assert dict(zip(keys.numpy().tolist(), values.numpy().tolist())) == {1: 3, 2: 4}
    with pytest.raises(tf.errors.InvalidArgumentError, match="different value for same key"):
        lookup.StaticHashTable(lookup.KeyValueTensorInitializer([2, 2], [3, 4]), 0)


def test_many_keys_and_removals():
    table = lookup.experimental.MutableHashTable(tf.int64, tf.string, "")
    for start in range(0, 500, 50):
        keys = tf.range(start, start + 50, dtype=tf.int64)
        table.insert(keys, tf.strings.as_string(keys))
        table.remove(keys[::2])
    found = table.lookup(tf.range(500, dtype=tf.int64)).numpy().tolist()
    assert found == [b"%d" % i if i % 2 else b"" for i in range(500)]
    assert int(table.size()) == 250 and len(table.export()[0]) == 250


def test_dense_tables_of_vectors():
    table = lookup.experimental.DenseHashTable(
        tf.int64,
        tf.float32,
        [0.0, 0.0],
        empty_key=[0, 0],
        deleted_key=[-1, -1],
        initial_num_buckets=4,
        experimental_is_anonymous=True,
    )
    keys = tf.constant([[1, 2], [3, 4], [5, 6], [7, 8]], tf.int64)
    table.insert(keys, [[1.0, 2.0]] * 4)
    assert table.export()[0].shape == [8, 2]  # it grew beyond a load of 0.8
    assert table.lookup(keys[:1] + 1).numpy().tolist() == [[0, 0]]
    for key, text in (([0, 0], "empty_key"), ([-1, -1], "deleted_key")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            table.lookup(tf.constant([key], tf.int64))


def test_default_values_of_a_lookup():
    table = lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(["a"], tf.constant([1], tf.int64))
    found = table.lookup(tf.constant(["a", "b", "c"]), tf.constant([7, 8, 9], tf.int64))
    assert found.numpy().tolist() == [1, 8, 9]
    with pytest.raises(tf.errors.InvalidArgumentError, match="for default value"):
        table.lookup(tf.constant(["a", "b"]), tf.constant([7, 8, 9], tf.int64))


def test_files_that_do_not_fit(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\nb\n")
    index = lookup.TextFileIndex

    def make(key=index.WHOLE_LINE, dtype=tf.string, size=None):
        init = lookup.TextFileInitializer(
            str(path), dtype, key, tf.int64, index.LINE_NUMBER, vocab_size=size
        )
        return lookup.StaticHashTable(init, -1)

    assert int(make(size=1).size()) == 1
    for arguments, text in (
        (dict(size=3), "Invalid vocab_size"),
        (dict(key=1), "Invalid number of columns"),
        (dict(dtype=tf.int64), "is not a valid int64"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            make(**arguments)


def test_graphs_initialize_and_save_tables(tmp_path):
    v1 = tf.compat.v1

    def build():
        init = lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        fixed = v1.lookup.StaticHashTable(init, -1)
        table = lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="t")
        return fixed, table

    with tf.Graph().as_default(), v1.Session() as session:
        fixed, table = build()
        found = fixed.lookup(tf.constant(["b", "c"]))
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
            session.run(found)
        session.run(v1.tables_initializer())
        assert session.run(found).tolist() == [2, -1]
        session.run(table.insert(["x"], tf.constant([5], tf.int64)))
        path = v1.train.Saver().save(session, str(tmp_path / "c"))
    with tf.Graph().as_default(), v1.Session() as session:
        table = build()[1]
        v1.train.Saver().restore(session, path)
        assert session.run(table.lookup(tf.constant(["x", "y"]))).tolist() == [5, -1]


def test_saved_functions_have_their_tables(tmp_path):
    table = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)

    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def find(self, keys):
            return table.lookup(keys)

    tf.saved_model.save(Model(), str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    assert loaded.find(tf.constant(["b", "q"])).numpy().tolist() == [2, -1]


def test_buckets_of_keyed_hashes():
    buckets = tf.strings.to_hash_bucket_strong(["", "hello"], 2**62, [5, 7]).numpy().tolist()
    assert buckets == [4062381310253793247, 53463040523599483]  # those of TensorFlow
