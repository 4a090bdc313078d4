# SPDX-License-Identifier: Apache-2.0
"""test_tensor_protos.py: tensors as messages, byte by byte those of TensorFlow."""

import numpy as np
import pytest

import situ as tf

CASES = [
    (
        np.array([[1, 2], [3, 4]], "f"),
        b'\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02"\x10'
        b"\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@",
    ),
    (np.array([b"a", b"bc"], object), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x02bc"),
    (np.int64(7), b'\x08\t\x12\x00"\x08\x07\x00\x00\x00\x00\x00\x00\x00'),
    (np.zeros([0, 2], "i4"), b"\x08\x03\x12\x06\x12\x00\x12\x02\x08\x02"),
    (np.array([True]), b'\x08\n\x12\x04\x12\x02\x08\x01"\x01\x01'),
    (np.array([1.5], "f2"), b'\x08\x13\x12\x04\x12\x02\x08\x01"\x02\x00>'),
]


@pytest.mark.parametrize("value,message", CASES)
def test_there_and_back(value, message):
    tensor = tf.constant(value)
    assert tf.io.serialize_tensor(tensor).numpy() == message
    found = tf.io.parse_tensor(message, tensor.dtype)
    assert found.shape == tensor.shape and found.numpy().tolist() == value.tolist()


def test_in_a_data_set():
    texts = tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 4.0]]).map(tf.io.serialize_tensor)
    back = texts.map(lambda t: tf.io.parse_tensor(t, tf.float32))
    assert [x.numpy().tolist() for x in back] == [[1.0, 2.0], [3.0, 4.0]]


def test_wrong_messages():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch"):
        tf.io.parse_tensor(CASES[0][1], tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        tf.io.parse_tensor(b"\x0a\xff\xff", tf.float32)
