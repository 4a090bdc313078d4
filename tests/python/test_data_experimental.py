# SPDX-License-Identifier: Apache-2.0
"""test_data_experimental.py: options, snapshots, NumPy iterators and transformations of
tf.data.experimental."""

import sqlite3

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


def test_slices_of_lists_of_datasets():
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


@pytest.fixture(name="database")
def _database(tmp_path):
    path = str(tmp_path / "rows.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a INTEGER, b FLOAT, c VARCHAR(9))")
    rows = [(1, 2.5, "x"), (300, None, "7z"), (0, 3.0, "\0")]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return path


def _queried(path, query, types):
    found = tf.data.experimental.SqlDataset("sqlite", path, query, types)
    return [tuple(v.numpy() for v in tf.nest.flatten(row)) for row in found]


def test_rows_of_a_database(database):
    rows = _queried(database, "SELECT a, b, c FROM t", ("int64", "float64", "string"))
    assert rows == [(1, 2.5, b"x"), (300, 0.0, b"7z"), (0, 3.0, b"\0")]
    spec = tf.data.experimental.SqlDataset("sqlite", database, "", {"k": tf.int32}).element_spec
    assert spec == {"k": tf.TensorSpec([], tf.int32)}


def test_cells_are_converted_as_sqlite_does(database):
    rows = _queried(database, "SELECT a, c, b, a FROM t", ("int8", "int32", "string", "bool"))
    assert rows == [(1, 0, b"2.5", True), (44, 7, b"", True), (0, 0, b"3.0", False)]


@pytest.mark.parametrize(
    "driver, query, types, error, text",
    [
        ("sqlite", "SELECT a FROM t", ("int32", "int32"), "InvalidArgumentError", "columns in"),
        ("sqlite", "SELECT q FROM t", ("int32",), "UnknownError", "no such column: q"),
        ("mysql", "SELECT a FROM t", ("int32",), "InvalidArgumentError", "type, mysql, is not"),
        ("sqlite", "SELECT a FROM t", ("float32",), "InvalidArgumentError", "must be one of"),
    ],
)
def test_errors_of_queries(database, driver, query, types, error, text):
    with pytest.raises(getattr(tf.errors, error), match=text):
        list(tf.data.experimental.SqlDataset(driver, database, query, types))


def test_batches_of_records_are_parsed():
    def record(*values):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        features = tf.train.Features(feature={"a": feature})
        return tf.train.Example(features=features).SerializeToString()

    parse = tf.data.experimental.parse_example_dataset({"a": tf.io.VarLenFeature("int64")})
    records = tf.data.Dataset.from_tensor_slices([record(1), record(2, 3)])
    (parsed,) = records.batch(2).apply(parse)
    assert parsed["a"].values.numpy().tolist() == [1, 2, 3]
    for wrong in (records, tf.data.Dataset.range(3).batch(2)):
        with pytest.raises(TypeError, match="a dataset of vectors of strings"):
            wrong.apply(parse)
    with pytest.raises(ValueError, match="`features` is required"):
        tf.data.experimental.parse_example_dataset(None)


@pytest.mark.parametrize("index", [-1, 3])
def test_an_index_out_of_range(index):
    with pytest.raises(tf.errors.OutOfRangeError, match=rf"Index out of range \[0, 3\):{index}"):
        tf.data.experimental.at(tf.data.Dataset.range(3), index)


def test_an_element_that_does_not_fit_does_not_end_a_generator():
    def generator():
        yield from ([1, 2], [3], "text", [4, 5])

    found = iter(tf.data.Dataset.from_generator(generator, "int64", [2]))
    assert next(found).numpy().tolist() == [1, 2]
    for text in ("an element of shape", "could not be converted"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            next(found)
    assert next(found).numpy().tolist() == [4, 5]
    assert list(found) == []
