# SPDX-License-Identifier: Apache-2.0
"""test_operators.py: operators, conversions and protocols of eager tensors, and their errors."""

import copy
import operator
import pickle

import numpy as np
import pytest

import situ as tf

REAL, WHOLE, FLAGS = tf.constant([1.0, 2.0]), tf.constant([1, 2]), tf.constant([True, False])


@pytest.mark.parametrize(
    "call, want",
    [
        (lambda: REAL + 1, [2, 3]),
        (lambda: 1 - REAL, [0, -1]),
        (lambda: REAL * [3.0, 4.0], [3, 8]),
        (lambda: WHOLE / 2, [0.5, 1]),
        (lambda: WHOLE // 2, [0, 1]),
        (lambda: WHOLE % 2, [1, 0]),
        (lambda: 2**REAL, [2, 4]),
        (lambda: REAL**2, [1, 4]),
        (lambda: -WHOLE, [-1, -2]),
        (lambda: abs(-REAL), [1, 2]),
        (lambda: REAL < 2, [True, False]),
        (lambda: ~FLAGS, [False, True]),
        (lambda: FLAGS & [True, True], [True, False]),
        (lambda: FLAGS | [True, True], [True, True]),
        (lambda: FLAGS ^ [True, True], [False, True]),
        (lambda: REAL == 1, [True, False]),
        (lambda: REAL != [1.0, 3.0], [False, True]),
        (lambda: REAL + np.array([1.0, 2.0]), [2, 4]),
        (lambda: np.array([1.0, 2.0]) + REAL, [2, 4]),
    ],
)
def test_operators(call, want):
    result = call()
    assert isinstance(result, tf.Tensor) and result.numpy().tolist() == want


def test_division_of_integers_is_real():
    assert (WHOLE / 2).dtype == tf.float64 and (REAL / 2).dtype == tf.float32


@pytest.mark.parametrize(
    "call, error, text",
    [
        (
            lambda: REAL + WHOLE,
            tf.errors.InvalidArgumentError,
            "was expected to be a float tensor but is a int32 tensor",
        ),
        (lambda: REAL == WHOLE, tf.errors.InvalidArgumentError, "cannot compute Equal"),
        (lambda: WHOLE + 1.5, TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
        (lambda: REAL == "x", TypeError, "Cannot convert 'x' to EagerTensor of dtype float"),
        (
            lambda: REAL + None,
            ValueError,
            "Attempt to convert a value (None) with an unsupported type",
        ),
        (lambda: bool(REAL), ValueError, "The truth value of an array with more than one element"),
        (
            lambda: hash(REAL),
            TypeError,
            "Tensor is unhashable. Instead, use tensor.ref() as the key.",
        ),
        (lambda: len(REAL[0]), TypeError, "Scalar tensor has no `len()`"),
        (lambda: list(REAL[0]), TypeError, "Cannot iterate over a scalar tensor."),
        (lambda: REAL["x"], TypeError, "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis"),
        (lambda: REAL[0.5], TypeError, "are valid indices, got 0.5"),
        (
            lambda: REAL[5],
            tf.errors.InvalidArgumentError,
            "slice index 5 of dimension 0 out of bounds",
        ),
        (lambda: REAL.graph, AttributeError, "Tensor.graph is undefined when eager"),
        (lambda: REAL.eval(), NotImplementedError, "is .numpy() what you're looking for?"),
        (
            lambda: tf.matmul([[1.0, 2.0]], [[1.0, 2.0]]),
            tf.errors.InvalidArgumentError,
            "Matrix size-incompatible: In[0]: [1,2], In[1]: [1,2] [Op:MatMul] name: MatMul/",
        ),
        (
            lambda: tf.add([1.0, 2.0], [1.0, 2.0, 3.0]),
            tf.errors.InvalidArgumentError,
            "Incompatible shapes: [2] vs. [3] [Op:",
        ),
        (lambda: tf.constant([1.5], tf.int32), TypeError, "Cannot convert [1.5] to EagerTensor"),
        (lambda: tf.constant([[1], [1, 2]]), ValueError, "Can't convert non-rectangular Python"),
        (lambda: tf.constant([1, "a"]), ValueError, "Python sequence with mixed types to Tensor"),
        (lambda: tf.constant(2**70), ValueError, "out-of-range integer to Tensor"),
        (
            lambda: tf.constant(1, tf.bool),
            TypeError,
            "Cannot convert 1 to EagerTensor of dtype bool",
        ),
        (lambda: tf.constant(object()), ValueError, "with an unsupported type (<class 'object'>)"),
        (
            lambda: tf.matmul([[1.0]], [[1.0]], foo=1),
            TypeError,
            "unexpected keyword argument 'foo'",
        ),
        (lambda: tf.raw_ops.Tanh(), TypeError, "missing required argument 'x'"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_equality_of_what_differs_in_shape():
    assert not (tf.constant([1.0, 2.0, 3.0]) == REAL) and tf.constant([1.0, 2.0, 3.0]) != REAL
    assert (REAL == None) is False and (REAL != None) is True  # noqa: E711
    assert 1.0 in REAL


def test_as_python_values():
    assert bool(REAL[0]) and int(WHOLE[1]) == 2 and float(REAL[1]) == 2.0
    assert [5, 6, 7][WHOLE[0]] == 6
    assert f"{REAL[0]:.2f}" == "1.00" and len(REAL) == 2 and [float(x) for x in REAL] == [1.0, 2.0]
    assert list(range(tf.constant(3))) == [0, 1, 2]


def test_references_are_keys():
    first, second = REAL.ref(), REAL.ref()
    assert first == second and len({first, second}) == 1 and first.deref() is REAL
    assert first != tf.constant([1.0, 2.0]).ref()


def test_copies_and_pickles():
    assert copy.deepcopy(REAL).numpy().tolist() == [1, 2]
    again = pickle.loads(pickle.dumps(REAL))
    assert again.dtype == tf.float32 and again.numpy().tolist() == [1, 2]


def test_numpy_functions_take_tensors():
    assert np.sum(REAL) == 3 and np.add(REAL, 1).tolist() == [2, 3]
    assert np.asarray(WHOLE, dtype="float64").dtype == "float64"


def test_indexing_like_numpy():
    array = np.arange(24).reshape(2, 3, 4)
    tensor = tf.constant(array)
    for key in (
        0,
        -1,
        (1, 2),
        (slice(None), 1),
        (Ellipsis, 0),
        slice(None, None, -1),
        None,
        (0, slice(1, None), slice(None, None, 2)),
        (tf.constant(1), Ellipsis),
    ):
        plain = (
            tuple(int(k) if isinstance(k, tf.Tensor) else k for k in key)
            if isinstance(key, tuple)
            else key
        )
        assert tensor[key].numpy().tolist() == array[plain].tolist()


def test_lists_are_joined_along_the_axis_that_is_said():
    a = tf.constant([[1.0, 2.0]])
    assert [tf.concat([a, a], axis).shape.as_list() for axis in (0, 1)] == [[2, 2], [1, 4]]


def test_a_reshape_that_does_not_fit():
    with pytest.raises(tf.errors.InvalidArgumentError, match="4 values, but .* shape has 3"):
        tf.reshape(tf.zeros([4]), [3])


def test_one_size_is_a_shape():
    for size in (2, np.int64(2), tf.constant(2)):
        assert tf.zeros(size).numpy().tolist() == [0, 0]
        assert tf.ones(size, tf.bool).numpy().tolist() == [True, True]


def test_parts_of_variables_are_assigned():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    v[0].assign([9.0, 8.0])
    v[:, 1].assign_add([1.0, 1.0])
    v[1, 0].assign(7.0)
    assert v.numpy().tolist() == [[9, 9], [7, 5]]

    @tf.function
    def f(i):
        for k in tf.range(2):
            v[k, 0].assign_sub(1.0)
        v[i].assign(0.0)
        return v.read_value()

    assert f(tf.constant(1)).numpy().tolist() == v.numpy().tolist() == [[8, 9], [0, 0]]
    assert not hasattr(tf.constant(1.0), "assign")


INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "int64")
BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor}


def made(values, dtype, how):
    tensor = tf.constant(values, dtype)
    return tf.Variable(tensor) if how == "variable" else tensor


@pytest.mark.parametrize("how", ["tensor", "variable", "function"])
@pytest.mark.parametrize("sign", BITS)
@pytest.mark.parametrize("dtype", INTEGERS + ("bool",))
def test_bits_of_integers(dtype, sign, how):
    call = tf.function(BITS[sign]) if how == "function" else BITS[sign]
    x, y = np.array([7, 3, 120]).astype(dtype), np.array([5, 12, 99]).astype(dtype)
    expected = BITS[sign](x, y)
    for other in (made(y, dtype, how), y, y.tolist()):
        for found in (call(made(x, dtype, how), other), call(other, made(x, dtype, how))):
            assert found.dtype.name == dtype and found.numpy().tolist() == expected.tolist()
    assert call(made(x, dtype, how), y[0].item()).numpy().tolist() == BITS[sign](x, y[0]).tolist()
    assert (~made(x, dtype, how)).numpy().tolist() == (~x).tolist()


def test_bits_in_a_graph():
    with tf.compat.v1.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.constant([6, 3])
        found = session.run([x & 3, 1 | x, x ^ [2, 2], ~x, tf.constant([True]) ^ True])
    assert [f.tolist() for f in found] == [[2, 3], [7, 3], [4, 1], [-7, -4], [False]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "string"])
def test_no_bits_of_other_types(dtype):
    x = tf.constant(["a"] if dtype == "string" else [1], dtype)
    for call in (*BITS.values(), lambda x, y: ~x):
        with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
            call(x, x)
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
        tf.constant([1]) & tf.constant([True])


def test_products_and_quotients_of_bools():
    x = tf.constant([True, False, True])
    assert (x * x).numpy().tolist() == (x * 2).numpy().tolist() == [True, False, True]
    assert (x * tf.constant([0, 1, 2])).numpy().tolist() == [False, False, True]
    for call in (lambda: x / x, lambda: 2 * x, lambda: +x, lambda: tf.constant(["a"]) / "b"):
        with pytest.raises(TypeError):
            call()


def test_sums_of_strings_and_numbers():
    text = tf.constant(["a"])
    assert (text + "b").numpy().tolist() == [b"ab"] and ("b" + text).numpy().tolist() == [b"ba"]
    with pytest.raises(tf.errors.InvalidArgumentError):
        text + tf.constant([1])


def test_arrays_take_the_type_of_the_tensor():
    x = tf.constant([1, 2])
    assert (x + np.array([1.5, 2.5])).numpy().tolist() == [2, 4]
    assert (np.float64(2.5) * x).dtype.name == "int32"
    with pytest.raises(TypeError):
        x * 1.5


@pytest.mark.parametrize("x", [tf.constant(2), tf.Variable(2)], ids=["tensor", "variable"])
def test_powers_have_no_modulus(x):
    assert int(pow(x, 3, None)) == 8
    for operands in ((x, 3, 5), (2, x, 5)):
        with pytest.raises(TypeError, match="pow"):
            pow(*operands)
