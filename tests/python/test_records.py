# SPDX-License-Identifier: Apache-2.0
"""test_records.py: tf.train.Example and TFRecord files."""

import pytest

import situ.compat.v1 as tf


def _example():
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "a": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, -2, 300])),
                "b": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x\0y", b""])),
                "c": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -1.25])),
            }
        )
    )


def test_example():
    data = _example().SerializeToString()
    again = tf.train.Example.FromString(data)
    feature = again.features.feature
    assert list(feature["a"].int64_list.value) == [1, -2, 300]
    assert list(feature["b"].bytes_list.value) == [b"x\0y", b""]
    assert list(feature["c"].float_list.value) == [0.5, -1.25]
    assert feature["a"].WhichOneof("kind") == "int64_list"
    assert again.SerializeToString() == data


def test_bytes_are_protobufs():
    made = tf.train.Example()
    made.features.feature["k"].int64_list.value.append(7)
    assert made.SerializeToString() == bytes.fromhex("0a0c0a0a0a016b12051a030a0107")


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_round_trip(tmp_path, kind):
    path = str(tmp_path / "r")
    options = tf.python_io.TFRecordOptions(kind) if kind else None
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for record in (b"one", b"", b"three" * 1000):
            writer.write(record)
    assert list(tf.python_io.tf_record_iterator(path, options)) == [b"one", b"", b"three" * 1000]


def test_damaged(tmp_path):
    path = str(tmp_path / "r")
    with tf.python_io.TFRecordWriter(path) as writer:
        writer.write(b"one")
        writer.write(b"two")
    with open(path, "r+b") as file:
        file.seek(-6, 2)
        file.write(b"x")
    records = tf.python_io.tf_record_iterator(path)
    assert next(records) == b"one"
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at 19"):
        next(records)
