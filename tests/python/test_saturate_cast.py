# SPDX-License-Identifier: Apache-2.0
"""test_saturate_cast.py: tf.saturate_cast, products of mixed types, batch_scatter_update and specs
of slices."""

import numpy as np
import pytest

import situ as tf

REALS = [tf.float64, tf.float32, tf.float16, tf.bfloat16]
INTEGERS = [tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.uint64]


@pytest.mark.parametrize("target", REALS + INTEGERS)
@pytest.mark.parametrize("source", REALS)
def test_ends_of_reals(source, target):
    values = [np.inf, -np.inf, 3.0, 1.0]
    got = tf.saturate_cast(tf.constant(values, source), target).numpy().astype("float64")
    low, high = (
        max(float(source.min), float(target.min)),
        min(float(source.max), float(target.max)),
    )
    assert got[2] == 3 and np.isfinite(got).all()
    np.testing.assert_allclose(got[:2], [high, low], rtol=1e-2)
    if target.is_floating:
        assert np.isnan(tf.saturate_cast(tf.constant([np.nan], source), target).numpy())


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_ends_of_integers(source, target):
    values = [int(source.min), int(source.max), 5]
    got = tf.saturate_cast(tf.constant(values, source), target).numpy().tolist()
    assert got == [min(max(v, int(target.min)), int(target.max)) for v in values]


def test_complex():
    big = float(tf.float32.max)
    x = tf.constant([1e300 + 2j, -1e300 - 1e300j, 3 + 4j], tf.complex128)
    got = tf.saturate_cast(x, tf.complex64)
    assert got.dtype == tf.complex64 and got.numpy().tolist() == [big + 2j, -big - big * 1j, 3 + 4j]
    assert tf.saturate_cast(x, tf.uint8).numpy().tolist() == [255, 0, 3]
    got = tf.saturate_cast(tf.constant([1e300], tf.float64), tf.complex64)
    assert got.dtype == tf.complex64 and got.numpy().tolist() == [big]


def test_products_of_bfloat16_and_float32():
    a, b = tf.constant([[1.0, 2], [3, 4]], tf.bfloat16), tf.constant([[1.0, 1 / 3], [0, 1]])
    for left, right in ((a, b), (b, a)):
        for function in (tf.matmul, tf.function(tf.matmul)):
            got = function(left, right)
            assert got.dtype == tf.float32
            np.testing.assert_allclose(got, left.numpy().astype("f") @ right.numpy().astype("f"))
    assert tf.matmul(a, a).dtype == tf.bfloat16


@pytest.mark.parametrize("use_resource", [False, True])
def test_batch_scatter_update(use_resource):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        v = tf.compat.v1.Variable(np.zeros([2, 3, 2], "f"), use_resource=use_resource)
        row = tf.compat.v1.Variable([1, 2, 3], use_resource=use_resource)
        session.run([v.initializer, row.initializer])
        updates = np.arange(1, 9, dtype="f").reshape(2, 2, 2)
        changed = tf.compat.v1.batch_scatter_update(v, [[0, 2], [1, 0]], updates)
        want = np.zeros([2, 3, 2])
        want[0, [0, 2]], want[1, [1, 0]] = updates
        np.testing.assert_array_equal(session.run(changed), want)
        changed = tf.compat.v1.batch_scatter_update(row, [2, 0], [7, 8])
        assert session.run(changed).tolist() == [8, 2, 7]
        with pytest.raises(ValueError, match="unknown shape"):
            unknown = tf.compat.v1.placeholder(tf.int32)
            tf.compat.v1.batch_scatter_update(row, unknown, [1])


def test_specs_of_slices():
    info = tf.compat.v1.Variable.SaveSliceInfo
    assert info.from_spec("4 3 5 0,4:1,1:3,2").spec == "4 3 5 0,4:1,1:3,2"
    assert info.from_spec("").full_shape is None
    for spec, text in (
        ("0", "space-separated"),
        ("a 0,1", "full_shape must be a sequence of integers"),
        ("1 0:0", "comma-separated"),
        ("1 a,0:0:0", "var_offset must be an integer"),
        ("a 0:0", "full_shape must be a sequence of integers"),
        ("1 0,a:0:0", "var_shape must be an integer"),
    ):
        with pytest.raises(ValueError, match=text):
            info.from_spec(spec)


@pytest.mark.parametrize("source", ["int32", "int64", "uint16", "uint64"])
def test_integers_beyond_float16(source):
    found = tf.saturate_cast(tf.constant([1, tf.as_dtype(source).max], source), "float16")
    assert found.numpy().tolist() == [1, 65504]
