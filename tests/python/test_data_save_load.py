# SPDX-License-Identifier: Apache-2.0
"""test_data_save_load.py: data sets that are grouped, bucketed, kept in files, made of CSV
files; the values are TensorFlow's."""

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


def test_records_of_a_data_set(tmp_path):
    name = str(tmp_path / "r.tfrecord")
    experimental.TFRecordWriter(name).write(tf.data.Dataset.from_tensor_slices([b"ab", b"c"]))
    assert [r.numpy() for r in tf.data.TFRecordDataset(name)] == [b"ab", b"c"]
