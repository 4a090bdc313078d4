# SPDX-License-Identifier: Apache-2.0
"""test_storage_types.py: float8 and int4: conversions, ops that move elements, TensorProtos."""

import numpy as np
import pytest

import situ as tf
from situ._src.framework import storage_types

FLOATS = ["float8_e5m2", "float8_e4m3fn"]


def dtype_of(name):
    return getattr(tf.experimental, name)


def values_of(name):
    bits = np.arange(256, dtype=np.uint8)
    return storage_types.values_of(bits, name)


@pytest.mark.parametrize("name", FLOATS)
def test_every_pattern_converts_to_float_and_back(name):
    dtype, values = dtype_of(name), values_of(name)
    finite = values[~np.isnan(values)]
    stored = tf.cast(tf.constant(finite), dtype)
    assert stored.dtype == dtype and dtype.size == 1 and dtype.is_floating
    np.testing.assert_array_equal(tf.cast(stored, tf.float32).numpy(), finite)
    np.testing.assert_array_equal(tf.cast(stored, tf.float64).numpy(), finite)
    assert np.isnan(tf.cast(tf.cast(np.float32(np.nan), dtype), tf.float32))


@pytest.mark.parametrize("name", FLOATS)
def test_casts_round_to_nearest_even(name):
    dtype, values = dtype_of(name), values_of(name)
    positive = values[:128][np.isfinite(values[:128])].astype(np.float64)
    middles = ((positive[1:] + positive[:-1]) / 2).astype(np.float32)
    got = tf.cast(tf.cast(tf.constant(middles), dtype), tf.float32).numpy()
    want = np.where(np.arange(len(middles)) % 2 == 0, positive[:-1], positive[1:])
    np.testing.assert_array_equal(got, want)
    above = np.nextafter(middles, np.float32(np.inf))
    got = tf.cast(tf.cast(tf.constant(above), dtype), tf.float32).numpy()
    np.testing.assert_array_equal(got, positive[1:])
    # a constant, and the conversion without ml_dtypes, round in the same way
    got = tf.cast(tf.constant(above, dtype), tf.float32).numpy()
    np.testing.assert_array_equal(got, positive[1:])
    bits = storage_types.bits_of(middles, name)
    np.testing.assert_array_equal(storage_types.values_of(bits, name), want)


def test_overflow():
    large = [1e6, -1e6, np.inf]
    e5m2 = tf.cast(tf.cast(large, tf.experimental.float8_e5m2), tf.float32).numpy()
    assert e5m2.tolist() == [np.inf, -np.inf, np.inf]
    e4m3 = tf.cast(tf.cast([464.0, 465.0], tf.experimental.float8_e4m3fn), tf.float32).numpy()
    assert e4m3[0] == 448 and np.isnan(e4m3[1])
    assert tf.experimental.float8_e5m2.max == 57344 and tf.experimental.float8_e4m3fn.min == -448


@pytest.mark.parametrize("name", [*FLOATS, "int4", "uint4"])
def test_ops_move_elements(name):
    dtype = dtype_of(name)
    x = tf.reshape(tf.cast(tf.range(6), dtype), [2, 3])

    def plain(y):
        return tf.cast(y, tf.int32).numpy().tolist()

    assert plain(tf.transpose(x)) == [[0, 3], [1, 4], [2, 5]]
    assert plain(tf.gather(x, [1, 0])) == [[3, 4, 5], [0, 1, 2]]
    assert plain(tf.concat([x, x[:1]], 0)) == [[0, 1, 2], [3, 4, 5], [0, 1, 2]]
    assert [plain(y) for y in tf.split(x, 3, 1)] == [[[0], [3]], [[1], [4]], [[2], [5]]]
    assert plain(tf.pad(x, [[0, 0], [1, 0]])) == [[0, 0, 1, 2], [0, 3, 4, 5]]
    assert plain(tf.where([[True], [False]], x, tf.zeros_like(x))) == [[0, 1, 2], [0, 0, 0]]
    assert plain(tf.function(lambda y: tf.reverse(y, [1]))(x)) == [[2, 1, 0], [5, 4, 3]]
    variable = tf.Variable(x)
    variable.assign(x)
    assert plain(variable) == [[0, 1, 2], [3, 4, 5]]


def test_there_is_no_arithmetic():
    x = tf.cast([1.0], tf.experimental.float8_e5m2)
    with pytest.raises((tf.errors.InvalidArgumentError, TypeError), match="float8_e5m2"):
        tf.add(x, x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.gather(x, [0])
    assert tape.gradient(y, x) is None


def test_int4_wraps():
    assert tf.cast(tf.cast([7, 8, -9, 16], tf.experimental.int4), tf.int32).numpy().tolist() == [
        7,
        -8,
        7,
        0,
    ]
    assert tf.cast(tf.cast([15, 16, -1], tf.experimental.uint4), tf.int32).numpy().tolist() == [
        15,
        0,
        15,
    ]
    assert int(tf.experimental.int4.min) == -8 and int(tf.experimental.uint4.max) == 15
    assert tf.cast(tf.constant([-3, 5], tf.experimental.int4), tf.float32).numpy().tolist() == [
        -3,
        5,
    ]


def test_protos_of_negative_int4():
    array = tf.constant([-8, -1, 0, 7], dtype_of("int4")).numpy()
    proto = tf.make_tensor_proto(array)
    assert list(proto.int_val) == [-8, -1, 0, 7]
    assert tf.make_ndarray(proto).astype(np.int32).tolist() == [-8, -1, 0, 7]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        graph_def = tf.compat.v1.GraphDef()
        node = graph_def.node.add(name="c", op="Const")
        node.attr["dtype"].type = proto.dtype
        node.attr["value"].tensor.CopyFrom(proto)
        (c,) = tf.import_graph_def(graph_def, return_elements=["c:0"])
        assert session.run(tf.cast(c, tf.int32)).tolist() == [-8, -1, 0, 7]


@pytest.mark.parametrize("name", [*FLOATS, "int4", "uint4"])
def test_tensor_protos(name):
    dtype = dtype_of(name)
    for values in ([1, 2, 3], [2]):
        array = tf.constant(values, dtype).numpy()
        proto = tf.make_tensor_proto(array, dtype)
        assert tf.make_ndarray(proto).astype(np.float32).tolist() == values
    with tf.Graph().as_default() as graph:
        tf.constant([1, 2, 3], dtype, name="c")
    restored = tf.Graph()
    with restored.as_default():
        tf.import_graph_def(graph.as_graph_def(), name="")
        fetch = tf.cast(restored.get_tensor_by_name("c:0"), tf.float32)
        with tf.compat.v1.Session() as session:
            assert session.run(fetch).tolist() == [1, 2, 3]
