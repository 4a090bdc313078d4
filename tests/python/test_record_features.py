# SPDX-License-Identifier: Apache-2.0
"""test_record_features.py: sparse and ragged features of records, batches of sequence examples,
records in JSON, padded raw bytes."""

import numpy as np
import pytest

import situ as tf

io = tf.io


def _feature(values):
    kind = tf.train.Feature
    if isinstance(values[0], bytes):
        return kind(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return kind(float_list=tf.train.FloatList(value=values))
    return kind(int64_list=tf.train.Int64List(value=values))


def _example(**features):
    found = {k: _feature(v) for k, v in features.items() if v}
    return tf.train.Example(features=tf.train.Features(feature=found)).SerializeToString()


def _sequence(**lists):
    made = {
        k: tf.train.FeatureList(feature=[_feature(v) if v else tf.train.Feature() for v in steps])
        for k, steps in lists.items()
    }
    lists = tf.train.FeatureLists(feature_list=made)
    return tf.train.SequenceExample(feature_lists=lists).SerializeToString()


def test_sparse_features():
    records = [_example(i=[3, 0], v=[1.0, 2.0]), _example(i=[1], v=[3.0])]
    parsed = io.parse_example(records, {"s": io.SparseFeature("i", "v", tf.float32, 5)})["s"]
    assert tf.sparse.to_dense(parsed).numpy().tolist() == [[2, 0, 0, 1, 0], [0, 3, 0, 0, 0]]
    one = io.parse_single_example(records[0], {"s": io.SparseFeature("i", "v", tf.float32, 5)})
    assert one["s"].indices.numpy().tolist() == [[0], [3]]
    with pytest.raises(ValueError, match="Conflicting type"):
        io.parse_example(
            records,
            {"s": io.SparseFeature("i", "v", tf.float32, 5), "v": io.VarLenFeature(tf.int64)},
        )


PARTITIONS = {
    "RowLengths": [[2, 1], [0, 1]],
    "RowSplits": [[0, 2, 3], [0, 0, 1]],
    "RowStarts": [[0, 2], [0, 0]],
    "RowLimits": [[2, 3], [0, 1]],
    "ValueRowIds": [[0, 0, 1], [1]],
}


@pytest.mark.parametrize("kind", PARTITIONS)
def test_ragged_features(kind):
    first, second = PARTITIONS[kind]
    records = [_example(v=[1.0, 2.0, 3.0], p=first), _example(v=[4.0], p=second), _example()]
    partition = getattr(io.RaggedFeature, kind)("p")
    features = {"r": io.RaggedFeature(tf.float32, "v", [partition])}
    if kind == "RowSplits":
        records[2] = _example(p=[0])
    parsed = io.parse_example(records, features)["r"]
    assert parsed.to_list() == [[[1, 2], [3]], [[], [4]], []]
    assert parsed.row_splits.dtype == tf.int32
    assert io.parse_single_example(records[0], features)["r"].to_list() == [[1, 2], [3]]


def test_uniform_and_plain_ragged_features():
    records = [_example(v=[1, 2, 3, 4]), _example(v=[5, 6])]
    features = {
        "plain": io.RaggedFeature(tf.int64, "v", row_splits_dtype=tf.int64),
        "pairs": io.RaggedFeature(tf.int64, "v", [io.RaggedFeature.UniformRowLength(2)]),
    }
    parsed = io.parse_example(records, features)
    assert parsed["plain"].to_list() == [[1, 2, 3, 4], [5, 6]]
    assert parsed["pairs"].to_list() == [[[1, 2], [3, 4]], [[5, 6]]]
    with pytest.raises(ValueError, match="`dtype` must be int64"):
        io.RaggedFeature(tf.bool)


def test_batches_of_sequences():
    records = [_sequence(d=[[1], [2]], v=[[1, 2], [3]]), _sequence(d=[[5]], v=[[4]])]
    _, lists, lengths = io.parse_sequence_example(
        records,
        sequence_features={
            "d": io.FixedLenSequenceFeature([], tf.int64),
            "v": io.VarLenFeature(tf.int64),
        },
    )
    assert lists["d"].numpy().tolist() == [[1, 2], [5, 0]]
    assert lengths["d"].numpy().tolist() == [2, 1]
    assert lists["v"].dense_shape.numpy().tolist() == [2, 2, 2]
    ragged = {"v": io.RaggedFeature(tf.int64)}
    _, lists, _ = io.parse_sequence_example(records, sequence_features=ragged)
    assert lists["v"].to_list() == [[[1, 2], [3]], [[4]]]
    _, lists = io.parse_single_sequence_example(records[0], sequence_features=ragged)
    assert lists["v"].to_list() == [[1, 2], [3]]


def test_errors_of_sequences():
    with pytest.raises(tf.errors.InvalidArgumentError, match="values and partitions are not al"):
        io.parse_sequence_example(
            [_sequence(v=[[1], [2]], p=[[1]])],
            sequence_features={
                "b": io.RaggedFeature(tf.int64, "v", [io.RaggedFeature.RowLengths("p")])
            },
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match="Feature is: float_list"):
        io.parse_sequence_example(
            [_sequence(a=[[2.0]])], sequence_features={"a": io.VarLenFeature(tf.int64)}
        )


def test_json_records():
    text = '{"features": {"feature": {"a": {"floatList": {"value": [1.5]}}}}}'
    record = io.decode_json_example(tf.constant([text]))
    assert record.numpy()[0] == _example(a=[1.5])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Error while parsing JSON"):
        io.decode_json_example("{]")


def test_padded_raw_bytes():
    padded = io.decode_raw(tf.constant([b"ab", b"abcdef"]), tf.uint8, fixed_length=4)
    assert padded.numpy().tolist() == [[97, 98, 0, 0], [97, 98, 99, 100]]
    swapped = io.decode_raw([b"?\x80\x00\x00@\x00\x00\x00"], tf.complex64, little_endian=False)
    assert swapped.numpy().tolist() == [[1 + 2j]]
    big = io.decode_raw([b"\x01\x23"], tf.int32, little_endian=False, fixed_length=4)
    assert big.numpy() == np.array([[0x01230000]])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="must be a multiple"):
        io.decode_raw([b"a"], tf.float32, fixed_length=7)
