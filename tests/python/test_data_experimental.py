# SPDX-License-Identifier: Apache-2.0
"""test_data_experimental.py: options, snapshots, NumPy iterators and transformations of
tf.data.experimental."""

import numpy as np
import pytest

import situ as tf

Dataset, experimental = tf.data.Dataset, tf.data.experimental


def values(dataset):
    return [int(x) for x in dataset]


def test_options_check_names_and_types():
    options = tf.data.Options()
    assert options.deterministic is None and options.threading.private_threadpool_size is None
    with pytest.raises(AttributeError, match="Cannot set the property typo on Options"):
        options.typo = True
    with pytest.raises(TypeError, match='Property "deterministic" must be of type'):
        options.deterministic = 1
    with pytest.raises(AttributeError):
        options.typo
    options.experimental_deterministic = False
    assert options.deterministic is False and options != tf.data.Options()
    options.experimental_threading.private_threadpool_size = 3
    numbers = Dataset.range(3).with_options(options).map(lambda x: x)
    assert numbers.options() == options and values(numbers) == [0, 1, 2]
    with pytest.raises(ValueError, match="Mutating `tf.data.Options"):
        numbers.options().deterministic = True
    other = tf.data.Options()
    other.deterministic = True
    merged = options.merge(other)
    assert merged.deterministic and merged.threading.private_threadpool_size == 3
    with pytest.raises(TypeError, match="Could not merge incompatible options"):
        options.merge(tf.data.ThreadingOptions())


def test_snapshots_are_files(tmp_path):
    calls = []

    def note(x):
        calls.append(x)
        return x

    def numbers():
        noted = Dataset.range(3).map(lambda x: tf.numpy_function(note, [x], tf.int64))
        return noted.snapshot(str(tmp_path / "plain"))

    assert values(numbers()) == values(numbers()) == [0, 1, 2] and len(calls) == 3
    assert list((tmp_path / "plain").iterdir())
    shards = Dataset.range(5).snapshot(
        str(tmp_path / "shards"),
        shard_func=lambda x: x % 2,
        reader_func=lambda sets: sets.flat_map(lambda one: one),
    )
    assert values(shards) == values(shards) == [0, 2, 4, 1, 3]
    with pytest.raises(ValueError, match="compression"):
        Dataset.range(1).snapshot(str(tmp_path / "bad"), compression="LZ4")


def test_numpy_iterators_save_their_position():
    numbers = Dataset.range(10).shuffle(5, seed=42, reshuffle_each_iteration=False)
    expected = list(numbers.as_numpy_iterator())
    iterator = numbers.as_numpy_iterator()
    assert isinstance(iterator, tf.data.NumpyIterator)
    assert [next(iterator) for _ in range(3)] == expected[:3]
    state = iterator.save()
    assert [next(iterator) for _ in range(3)] == expected[3:6]
    iterator.restore(state)
    assert list(iterator) == expected[3:]
    array = next(Dataset.from_tensors([1, 2]).as_numpy_iterator())
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 5


def test_slices_of_lists_of_data_sets():
    sets = Dataset.from_tensor_slices([Dataset.range(i) for i in range(4)])
    assert [values(d) for d in sets] == [[], [0], [0, 1], [0, 1, 2]] and len(sets) == 4
    assert values(sets.flat_map(lambda d: d)) == [0, 0, 1, 0, 1, 2]
    pairs = Dataset.from_tensor_slices({"a": [Dataset.range(2)], "b": [7]})
    assert [(values(e["a"]), int(e["b"])) for e in pairs] == [([0, 1], 7)]


def test_transformations():
    rows = Dataset.range(1, 4).map(lambda n: tf.fill([n], n))
    batches = [tf.sparse.to_dense(b).numpy().tolist() for b in rows.sparse_batch(2, [4])]
    assert batches == [[[1, 0, 0, 0], [2, 2, 0, 0]], [[3, 3, 3, 0]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="larger than `row_shape`"):
        list(rows.apply(experimental.dense_to_sparse_batch(2, [1])))
    reducer = experimental.Reducer(lambda _: np.int64(0), lambda s, x: s + x, lambda s: s * 10)
    sums = Dataset.range(10).apply(experimental.group_by_reducer(lambda x: x % 2, reducer))
    assert sorted(values(sums)) == [200, 250]
    padded = Dataset.from_tensor_slices({"a": [1, 2]}).apply(experimental.pad_to_cardinality(3))
    assert [(int(e["a"]), bool(e["valid"])) for e in padded] == [(1, True), (2, True), (0, False)]
    handle = experimental.to_variant(Dataset.range(3))
    assert values(experimental.from_variant(handle, tf.TensorSpec([], tf.int64))) == [0, 1, 2]
