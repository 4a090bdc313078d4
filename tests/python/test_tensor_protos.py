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


def test_in_a_dataset():
    texts = tf.data.Dataset.from_tensor_slices([[1.0, 2.0], [3.0, 4.0]]).map(tf.io.serialize_tensor)
    back = texts.map(lambda t: tf.io.parse_tensor(t, tf.float32))
    assert [x.numpy().tolist() for x in back] == [[1.0, 2.0], [3.0, 4.0]]


def test_wrong_messages():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Type mismatch"):
        tf.io.parse_tensor(CASES[0][1], tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse"):
        tf.io.parse_tensor(b"\x0a\xff\xff", tf.float32)


@pytest.mark.parametrize(
    "value, field, stored",
    [
        (1.5, "float_val", [1.5]),
        (7, "int_val", [7]),
        (np.int64(7), "int64_val", [7]),
        (np.float64(2.5), "double_val", [2.5]),
        ("abc", "string_val", [b"abc"]),
        (["a", b"bc"], "string_val", [b"a", b"bc"]),
        ([1.0, 2.0], "tensor_content", np.array([1, 2], "f4").tobytes()),
        ([[1, 2], [3, 4]], "tensor_content", np.array([1, 2, 3, 4], "i4").tobytes()),
        (np.array([1, 2], "f2"), "tensor_content", np.array([1, 2], "f2").tobytes()),
        ([True, False], "bool_val", [True, False]),
        (np.array([1, 2], "u2"), "int_val", [1, 2]),
        ([1 + 2j, 3], "dcomplex_val", [1, 2, 3, 0]),
        (np.array([1 + 2j, 3], "c8"), "scomplex_val", [1, 2, 3, 0]),
    ],
)
def test_make_tensor_proto(value, field, stored):
    proto = tf.make_tensor_proto(value)
    found = getattr(proto, field)
    assert (found if isinstance(found, bytes) else list(found)) == stored
    assert [d.size for d in proto.tensor_shape.dim] == list(np.shape(value))
    assert proto.HasField("tensor_shape")
    back = tf.make_ndarray(proto)
    wanted = tf.constant(value)
    assert back.shape == wanted.shape and back.tolist() == np.asarray(wanted.numpy()).tolist()
    assert tf.as_dtype(proto.dtype) == wanted.dtype and tf.make_tensor_proto(proto) is proto


@pytest.mark.parametrize("dtype", ["bool", "float16", "uint8", "int16", "float64", "int64"])
def test_protos_of_types_and_shapes(dtype):
    for value, shape in ((1, [2, 3]), ([1, 0], [3]), ([1, 0], [2]), (1, [])):
        proto = tf.make_tensor_proto(np.array(value, dtype), dtype, shape)
        found = tf.make_ndarray(proto)
        flat = np.ravel(value).tolist()
        filled = flat + flat[-1:] * (int(np.prod(shape)) - len(flat))
        assert found.dtype == dtype and found.shape == tuple(shape)
        assert found.ravel().tolist() == filled


def test_make_tensor_proto_checks_its_arguments():
    with pytest.raises(ValueError, match="None values not supported"):
        tf.make_tensor_proto(None)
    with pytest.raises(ValueError, match="Too many elements provided. Takes at most 2, but got 3"):
        tf.make_tensor_proto([1, 2, 3], shape=[2])
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(3,\), but got \(2,\)"):
        tf.make_tensor_proto([1, 2], shape=[3], verify_shape=True)
    with pytest.raises(ValueError, match="not both allowed"):
        tf.make_tensor_proto(1, shape=[3], verify_shape=True, allow_broadcast=True)
