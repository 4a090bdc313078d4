# SPDX-License-Identifier: Apache-2.0
"""test_data_save_load.py: grouped and bucketed datasets, saved datasets, datasets of CSV
files; the values are TensorFlow's."""

import gzip
import threading
import zlib

import numpy as np
import pytest

import situ as tf

experimental = tf.data.experimental


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("survived,sex,age\n0,male,22.0\n1,female,38.5\n1,female,NA\n")
    return str(path)


def test_csv_as_batches(table):
    data = experimental.make_csv_dataset(
        table, 2, label_name="survived", num_epochs=1, shuffle=False, na_value="NA"
    )
    (first, label), (last, _) = data
    assert list(first) == ["sex", "age"] and label.numpy().tolist() == [0, 1]
    assert first["age"].numpy().tolist() == [22, 38.5] and first["sex"].dtype == tf.string
    assert last["age"].numpy().tolist() == [0]
    some = experimental.make_csv_dataset(
        table, 2, select_columns=["age"], shuffle=False, column_defaults=[7.0], na_value="NA"
    )
    assert [b["age"].numpy().tolist() for b in some.take(2)] == [[22, 38.5], [7, 22]]


def test_fields_that_are_chosen():
    a, b = tf.io.decode_csv(["1,x,2.5", "3,y,"], [[0], [9.0]], select_cols=[0, 2])
    assert a.numpy().tolist() == [1, 3] and b.numpy().tolist() == [2.5, 9]


def test_buckets_and_groups():
    rows = [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [13, 14, 15, 16, 19, 20], [21, 22]]
    data = tf.data.Dataset.from_generator(lambda: iter(rows), tf.int64, tf.TensorShape([None]))
    made = data.bucket_by_sequence_length(lambda e: tf.shape(e)[0], [3, 5], [2, 2, 2])
    assert [b.numpy().tolist() for b in made] == [
        [[1, 2, 3, 4], [5, 6, 7, 0]],
        [[7, 8, 9, 10, 11, 0], [13, 14, 15, 16, 19, 20]],
        [[0, 0], [21, 22]],
    ]
    groups = tf.data.Dataset.range(10).group_by_window(
        lambda x: x % 2, lambda key, window: window.batch(5), window_size=5
    )
    assert [b.numpy().tolist() for b in groups] == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


def test_other_transformations(tmp_path):
    data = tf.data.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1])
    assert [int(x) for x in data.unique()] == [1, 37, 2]
    assert [x.numpy().tolist() for x in data.batch(2).rebatch(4)] == [[1, 37, 2, 37], [2, 1]]
    many = tf.data.Dataset.from_tensor_slices(np.array([0] * 90 + [1] * 10)).repeat(20)
    drawn = np.array([int(c) for c, _ in many.rejection_resample(lambda x: x, [0.5, 0.5], seed=1)])
    assert 0.4 < drawn.mean() < 0.6
    pairs = tf.data.Dataset.from_tensor_slices((["a", "b"], [1.0, 2.0]))
    pairs.save(str(tmp_path / "kept"))
    again = tf.data.Dataset.load(str(tmp_path / "kept"))
    assert [(a.numpy(), b.numpy()) for a, b in again] == [(b"a", 1.0), (b"b", 2.0)]


def test_records_of_a_dataset(tmp_path):
    name = str(tmp_path / "r.tfrecord")
    experimental.TFRecordWriter(name).write(tf.data.Dataset.from_tensor_slices([b"ab", b"c"]))
    assert [r.numpy() for r in tf.data.TFRecordDataset(name)] == [b"ab", b"c"]


def values(data):
    return [x.numpy().tolist() for x in data]


def test_shards(tmp_path):
    data = tf.data.Dataset.range(6)
    data.save(str(tmp_path), shard_func=lambda x: x % 2)
    load = tf.data.Dataset.load
    one_by_one = lambda shards: shards.flat_map(lambda shard: shard)
    assert values(load(str(tmp_path))) == [0, 1, 2, 3, 4, 5]
    assert values(load(str(tmp_path), reader_func=one_by_one)) == [0, 2, 4, 1, 3, 5]
    assert values(load(str(tmp_path), reader_func=lambda d: one_by_one(d.skip(1)))) == [1, 3, 5]
    data.save(str(tmp_path), shard_func=lambda x: x - 3)
    assert values(load(str(tmp_path), reader_func=one_by_one)) == [3, 4, 5, 0, 1, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must return a scalar int64"):
        data.save(str(tmp_path), shard_func=lambda x: tf.cast(x, tf.int32))
    with pytest.raises(NotImplementedError, match="checkpoint_args"):
        data.save(str(tmp_path), checkpoint_args={"directory": str(tmp_path)})


def test_compressed_elements(tmp_path):
    data = tf.data.Dataset.from_tensors((np.zeros([50, 100], "float32"), ["a" * 5000, "b"]))
    sizes = []
    for compression in (None, "GZIP"):
        folder = tmp_path / str(compression)
        data.save(str(folder), compression=compression)
        ((numbers, strings),) = tf.data.Dataset.load(str(folder), compression=compression)
        assert not numbers.numpy().any() and numbers.shape == [50, 100]
        assert strings.numpy().tolist() == [b"a" * 5000, b"b"]
        sizes.append(sum(f.stat().st_size for f in folder.iterdir()))
    assert sizes[1] < sizes[0] / 10
    with pytest.raises(tf.errors.DataLossError):
        tf.data.Dataset.load(str(tmp_path / "GZIP"))
    with pytest.raises(ValueError, match="compression"):
        data.save(str(tmp_path), compression="LZO")


def test_element_spec_of_a_saved_dataset(tmp_path):
    tf.data.Dataset.range(2).save(str(tmp_path))
    load = tf.data.Dataset.load
    spec = (tf.TensorSpec(None, tf.int64),)
    made = load(str(tmp_path), element_spec=spec)
    assert made.element_spec == spec and [x.numpy() for (x,) in made] == [0, 1]
    for wrong in (
        tf.TensorSpec([], tf.float32),
        tf.TensorSpec([3], tf.int64),
        (tf.TensorSpec([], tf.int64),) * 2,
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            list(load(str(tmp_path), element_spec=wrong))
    with pytest.raises(tf.errors.NotFoundError):
        load(str(tmp_path / "absent"))


def test_load_waits(tmp_path):
    writer = threading.Timer(0.3, lambda: tf.data.Dataset.range(2).save(str(tmp_path / "late")))
    writer.start()
    assert values(tf.data.Dataset.load(str(tmp_path / "late"), wait=True)) == [0, 1]
    writer.join()


def test_excluded_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2,3,4\n5,6,7,8\n")
    read = lambda *args, **kwargs: [
        tuple(int(v) for v in row) for row in experimental.CsvDataset(str(path), *args, **kwargs)
    ]
    assert read([0, 0], exclude_cols=[1, 3]) == [(1, 3), (5, 7)]
    assert read([0] * 4, exclude_cols=[]) == read([0] * 4) == [(1, 2, 3, 4), (5, 6, 7, 8)]
    for count, wrong in ((1, [1, 3]), (3, [1, 3]), (2, [3, 1]), (2, [-1, 1])):
        with pytest.raises(tf.errors.InvalidArgumentError):
            read([0] * count, exclude_cols=wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="should be empty"):
        read([0, 0], select_cols=[0, 2], exclude_cols=[1, 3])


def test_csv_files_are_interleaved(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,x\n5,6\n")
    options = {"column_names": ["a", "b"], "header": False, "shuffle": False, "num_epochs": 1}
    options["column_defaults"] = [tf.int32, tf.string]
    read = lambda **kwargs: [
        int(row["a"][0])
        for row in experimental.make_csv_dataset([str(path)] * 2, 1, **{**options, **kwargs})
    ]
    assert read() == [1, 3, 5, 1, 3, 5]
    assert read(num_parallel_reads=2) == [1, 1, 3, 3, 5, 5]
    assert read(column_defaults=[0, 0], ignore_errors=True) == [1, 5, 1, 5]


def test_ignored_errors_are_logged(capfd):
    data = tf.data.Dataset.from_tensor_slices([1.0, 0.0, 2.0])
    data = data.map(lambda x: tf.debugging.check_numerics(1 / x, "division"))
    assert values(data.ignore_errors()) == [1, 0.5]
    assert capfd.readouterr().err == ""
    assert values(data.ignore_errors(log_warning=True)) == [1, 0.5]
    assert "division" in capfd.readouterr().err


def test_shape_of_a_dataset_spec():
    spec = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64), [3])
    assert spec != tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
    assert "TensorShape([3])" in repr(spec)


def test_classes_of_iterators():
    make = tf.compat.v1.data.Iterator.from_structure
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert make(tf.int64, [], output_classes=tf.Tensor).output_types == tf.int64
        iterator = make(tf.int32, [2], output_classes=tf.SparseTensor)
        assert iterator.output_classes is tf.SparseTensor
        element = iterator.get_next()
        rows = tf.data.Dataset.from_tensor_slices(tf.sparse.from_dense([[1, 0]]))
        session.run(iterator.make_initializer(rows))
        assert session.run(element).values.tolist() == [1]
        with pytest.raises(TypeError, match="Unsupported class"):
            make(tf.int64, [], output_classes=int)


def test_composite_elements_are_saved(tmp_path):
    rows = [[[1, 2], []], [], [[3]]]
    data = tf.data.Dataset.from_tensor_slices((tf.ragged.constant(rows), [b"a", b"b", b"c"]))
    data.save(str(tmp_path))
    loaded = tf.data.Dataset.load(str(tmp_path))
    assert loaded.element_spec == data.element_spec
    assert [(r.to_list(), t.numpy()) for r, t in loaded] == list(zip(rows, [b"a", b"b", b"c"]))


def test_arguments_of_map_and_counter(tmp_path):
    data = tf.data.Dataset.counter(1, 2, tf.int64, "odd").take(3)
    assert values(data.map(lambda x: x + 1, synchronous=True, name="even")) == [2, 4, 6]
    with pytest.raises(ValueError, match="synchronous"):
        data.map(lambda x: x, num_parallel_calls=2, synchronous=True)
    experimental.save(dataset=data, path=str(tmp_path), compression="GZIP")
    assert values(experimental.load(str(tmp_path), compression="GZIP")) == [1, 3, 5]


@pytest.mark.parametrize("kind, pack", [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_compressed_csv_files(tmp_path, kind, pack):
    path = tmp_path / "t.csv"
    path.write_bytes(pack(b"a,b\n1,x\n2,y\n"))
    data = experimental.make_csv_dataset(
        str(path), 2, shuffle=False, num_epochs=1, compression_type=kind
    )
    (batch,) = data
    assert batch["a"].numpy().tolist() == [1, 2] and batch["b"].numpy().tolist() == [b"x", b"y"]
