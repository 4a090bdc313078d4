# SPDX-License-Identifier: Apache-2.0
"""test_numpy_behavior.py: operators, indices and methods of tensors after
tf.experimental.numpy.experimental_enable_numpy_behavior."""

import operator

import numpy
import pytest

import situ as tf

A = numpy.arange(24).reshape(2, 3, 4)
F = numpy.array([[1.5, -2.0], [0.0, 4.0]], "float32")
I = numpy.array([[1, 2], [3, 4]], "int32")  # noqa: E741
B = numpy.array([True, False, True])
OPERATORS = "add sub mul truediv floordiv mod pow lt le gt ge eq ne".split()


@pytest.fixture(scope="module", autouse=True)
def numpy_behavior():
    with pytest.raises(TypeError, match="bad operand type for unary"):
        _ = +tf.constant(1)
    with pytest.raises(AttributeError):
        _ = tf.constant(1).T
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        _ = tf.constant(1) + tf.constant(1.5)
    with pytest.raises(ValueError, match="does not exist"):
        tf.experimental.numpy.experimental_enable_numpy_behavior(dtype_conversion_mode="some")
    with pytest.raises(NotImplementedError, match="weak types"):
        tf.experimental.numpy.experimental_enable_numpy_behavior(dtype_conversion_mode="all")
    tf.experimental.numpy.experimental_enable_numpy_behavior()


def compare(found, wanted):
    found = found.numpy()
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    numpy.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_promote_operands(name):
    function = getattr(operator, name)
    x = tf.constant(numpy.abs(I))
    for other in (2, 1.5, F[1, 1], numpy.abs(F) + 1, I.astype("int8"), [1.5, 2], tf.Variable(2.5)):
        plain = other.numpy() if hasattr(other, "assign") else other
        if name in ("mod", "floordiv") and isinstance(plain, list):
            continue
        wanted = function(I, plain)
        compare(function(x, other), wanted)
        compare(tf.function(lambda x, other=other: function(x, other))(x), wanted)
    compare(function(tf.Variable(x), 1.5), function(I, 1.5))


def test_operators_with_the_tensor_on_the_right():
    x = tf.constant(I)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
        function = getattr(operator, name)
        for other in (2, 1.5, F + 9, True):
            compare(function(other, x), function(other, I))
    compare(2**x, 2**I)
    compare(F @ x, F @ I)


def test_bits_and_matrix_products():
    x, vector = tf.constant(I), numpy.array([1.0, 2.0])
    compare(x & True, I & True)
    compare(x | numpy.int8(8), I | numpy.int8(8))
    compare(x ^ I.astype("int64"), I ^ I.astype("int64"))
    compare(x @ vector, I @ vector)
    compare(vector @ x, vector @ I)
    compare(tf.constant(vector) @ vector, vector @ vector)
    compare(x @ F, I @ F)
    compare(+x, I)


def test_other_values_keep_their_operators():
    text = tf.constant(["a", "b"])
    assert (text + "c").numpy().tolist() == [b"ac", b"bc"]
    assert (text == "a").numpy().tolist() == [True, False]
    assert (tf.constant(1) == None) is False  # noqa: E711

    class Other:
        def __radd__(self, left):
            return "sum"

    assert tf.function(lambda: tf.constant(1) + Other())() == b"sum"
    sparse = tf.sparse.from_dense([[1.0, 0.0]])
    assert tf.sparse.to_dense(sparse * tf.constant([[2.0, 2.0]])).numpy().tolist() == [[2, 0]]


KEYS = [
    [0, -1],
    numpy.array([[0, 1], [1, 0]]),
    (slice(None), [0, 2]),
    (Ellipsis, [0, -1]),
    (Ellipsis, [0, -1], None),
    (slice(None), [0, 1], [1, 2]),
    ([0, 1], slice(None), [1, 2]),
    (slice(None), numpy.array([[0, 1], [1, 0]]), numpy.array([0, 1])),
    ([0, 1, 1], numpy.array([[0], [2]]), [1, 2, -1]),
    (None, [0]),
    (slice(1, None), [0], slice(None, None, 2)),
    (slice(None), B),
    (slice(None), slice(None), numpy.array([True, False, True, False])),
    (A > 3),
    numpy.array([True, False]),
    (0, numpy.array([[True, False, True, False]] * 3)),
    (numpy.int8(1), 2),
    (slice(None, None, -1), numpy.uint8(1)),
    [],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indices_of_numpy(key):
    if key == [] if isinstance(key, list) else False:
        assert tf.constant(A)[numpy.array([], "int32")].shape == [0, 3, 4]
        return
    wanted = A[key]
    numpy.testing.assert_array_equal(tf.constant(A)[key].numpy(), wanted)
    for shape in ([None, None, None], None):
        if shape is None and (isinstance(key, tuple) and len(key) > 2 or key is KEYS[-6]):
            continue  # the results of several indices need known ranks
        traced = tf.function(lambda x: x[key], input_signature=[tf.TensorSpec(shape, "int64")])
        numpy.testing.assert_array_equal(traced(A).numpy(), wanted)


def test_indices_that_are_tensors():
    x = tf.constant(A)
    compare(x[tf.constant([1, 0])], A[[1, 0]])
    compare(x[tf.constant(1, "int8"), tf.constant([0, 2], "uint8")], A[1, [0, 2]])
    compare(x[tf.constant(0) : tf.constant(1, "int16")], A[:1])
    compare(tf.Variable(A)[[1], ..., [0, 2]], A[[1], ..., [0, 2]])
    for key in (1.5, "a", (0, [0.5]), slice(0, [1, 2])):
        with pytest.raises((IndexError, TypeError)):
            x[key]


def test_gradients_of_indices():
    x = tf.constant(F)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x[[0, 0, 1], [0, 0, 1]] * [1.0, 2.0, 3.0])
    assert tape.gradient(y, x).numpy().tolist() == [[3, 0], [0, 3]]


def test_methods_of_arrays():
    x = tf.constant(F)
    for found, wanted in (
        (x.T, F.T),
        (x.transpose(), F.T),
        (tf.constant(A).transpose([1, 0, 2]), A.transpose([1, 0, 2])),
        (x.reshape(4), F.reshape(4)),
        (x.reshape(1, -1), F.reshape(1, -1)),
        (x.reshape((4, 1), order="F"), F.reshape((4, 1), order="F")),
        (x.ravel(), F.ravel()),
        (x.flatten("F"), F.flatten("F")),
        (x.clip(0, 1), F.clip(0, 1)),
        (x.astype(int), F.astype(int)),
        (x.astype(tf.float16), F.astype("float16")),
        (x.max(0), F.max(0)),
        (x.min(), F.min()),
        (x.mean(axis=1), F.mean(axis=1)),
        (round(x, 1), F.round(1)),
        (round(tf.constant(25), -1), numpy.array(20, "int32")),
    ):
        compare(found, wanted)
    assert x.size == 4 and x.ndim == 2 and x.data is x and x.tolist() == F.tolist()

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def traced(value):
        assert value.size is None and value.ndim == 2
        with pytest.raises(ValueError, match="tolist"):
            value.tolist()
        with pytest.raises(TypeError, match="orders"):
            value.reshape(4, orders="F")
        return value.T

    compare(traced(x), F.T)


def test_preferred_float_type():
    numpy_of_tf = tf.experimental.numpy
    numpy_of_tf.experimental_enable_numpy_behavior(prefer_float32=True)
    try:
        assert numpy_of_tf.array([1.5]).dtype == "float32"
        assert numpy_of_tf.sqrt(4).dtype == "float32"
        assert (tf.constant(1) + 1.5).dtype == "float64"  # of int32 and float32
        assert numpy_of_tf.array(1j).dtype == "complex64"
    finally:
        numpy_of_tf.experimental_enable_numpy_behavior()
    assert numpy_of_tf.array([1.5]).dtype == "float64"


def test_promotion_can_be_left_off():
    numpy_of_tf = tf.experimental.numpy
    numpy_of_tf.experimental_enable_numpy_behavior(dtype_conversion_mode="off")
    try:
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            _ = tf.constant(1) + tf.constant(1.5)
        compare(tf.constant(A)[[1]], A[[1]])
    finally:
        numpy_of_tf.experimental_enable_numpy_behavior()
