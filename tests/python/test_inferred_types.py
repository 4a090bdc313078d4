# SPDX-License-Identifier: Apache-2.0
"""test_inferred_types.py: which element type nested values of Python and NumPy have as tensors,
eagerly and in graphs: measured with TensorFlow."""

import numpy as np
import pytest

import situ as tf

v1 = tf.compat.v1

# a value; its type eagerly and in a graph, or the error
CASES = [
    ("[np.array([1.0, 2.0]), np.array([3.0, 4.0])]", "float64", "ValueError"),
    ("[np.array([1, 2], np.float32), [3, 4]]", "float32", "ValueError"),
    ("[[1, 2], np.array([3.0, 4.0])]", "float32", "float32"),
    ("[[1.5, 2], np.array([3, 4])]", "float32", "float32"),
    ("[np.array([1, 2], np.int8)] * 2", "int32", "ValueError"),
    ("[np.array([1, 2])] * 2", "int32", "ValueError"),
    ("[np.array([True, False])] * 2", "bool", "ValueError"),
    ("[np.array([1, 2], np.float16)] * 2", "float16", "ValueError"),
    ("[[np.array([1.0])]]", "float64", "ValueError"),
    ("[np.zeros(0)] * 2", "float32", "ValueError"),
    ("np.float64(1)", "float64", "float64"),
    ("np.float16(1)", "float16", "float16"),
    ("np.int8(1)", "int8", "int8"),
    ("np.uint16(1)", "uint16", "uint16"),
    ("np.int64(1)", "int64", "int64"),
    ("np.bool_(True)", "bool", "bool"),
    ("[np.float64(1), 2]", "float64", "float32"),
    ("[1, np.float64(2)]", "float32", "float32"),
    ("[1.5, np.float64(2)]", "float32", "float32"),
    ("[np.float64(1), np.float32(2)]", "float64", "float32"),
    ("[np.float32(1), np.float64(2)]", "float32", "float32"),
    ("[np.float16(1), 1.5]", "float16", "float32"),
    ("[np.float16(1), np.float16(2)]", "float16", "float16"),
    ("[1.5, np.float16(1)]", "float32", "float32"),
    ("[np.float32(1), 1]", "float32", "float32"),
    ("(np.float64(1), np.float64(2))", "float64", "float32"),
    ("[np.int8(1), 1]", "int32", "int32"),
    ("[np.int8(1), np.int8(2)]", "int32", "int8"),
    ("[np.int64(1), np.int64(2)]", "int32", "int32"),
    ("[np.int64(2**40), 1]", "int64", "int64"),
    ("[np.int32(1), 1.5]", "float32", "float32"),
    ("[np.bool_(True), 1]", "ValueError", "int32"),
    ("[1, np.bool_(True)]", "ValueError", "int32"),
    ("[np.bool_(True), True]", "bool", "bool"),
    ("[np.bool_(True), np.float64(1)]", "ValueError", "float32"),
    ("[np.array(1.0), np.array(2.0)]", "float64", "float32"),
    ("[np.array(1), 2.5]", "float32", "float32"),
    ("1", "int32", "int32"),
    ("1.5", "float32", "float32"),
    ("True", "bool", "bool"),
    ("'a'", "string", "string"),
    ("b'a'", "string", "string"),
    ("[]", "float32", "float32"),
    ("[[], []]", "float32", "float32"),
    ("()", "float32", "float32"),
    ("2**31 - 1", "int32", "int32"),
    ("2**31", "int64", "int64"),
    ("-2**31", "int32", "int32"),
    ("-2**31 - 1", "int64", "int64"),
    ("2**63 - 1", "int64", "int64"),
    ("[1, 2**31]", "int64", "int64"),
    ("[1.0, 2**31]", "float32", "float32"),
    ("[2**31, 1.5]", "float32", "float32"),
    ("[1, 1.5]", "float32", "float32"),
    ("[1.5, 1]", "float32", "float32"),
    ("[True, 1]", "ValueError", "int32"),
    ("[1, True]", "int32", "int32"),
    ("[1.5, True]", "float32", "float32"),
    ("[True, 1.5]", "ValueError", "float32"),
    ("['a', b'b']", "string", "string"),
    ("['a', 1]", "ValueError", "TypeError"),
    ("[1, 'a']", "ValueError", "TypeError"),
    ("[1, None]", "ValueError", "TypeError"),
    ("[[1], [1, 2]]", "ValueError", "ValueError"),
    ("1e40", "ValueError", "float32"),
    ("[1e40]", "ValueError", "float32"),
    ("np.array(['a', 'b'])", "string", "string"),
    ("np.array(['a', 'b'], object)", "string", "string"),
    ("np.array([1, 2], object)", "ValueError", "TypeError"),
    ("[np.str_('a'), 'b']", "string", "string"),
    ("np.array([1, 2], '>i4')", "int32", "int32"),
    ("np.arange(6)[::2]", "int64", "int64"),
    ("range(3)", "int32", "int32"),
    ("bytearray(b'ab')", "int32", "uint8"),
    ("[range(2), range(2)]", "int32", "ValueError"),
    ("{1}", "ValueError", "TypeError"),
    ("object", "ValueError", "TypeError"),
    ("2**64", "ValueError", "TypeError"),
]
# a value, a type that is asked for, the eager result
TYPED = [
    ("1", "float32", "1.0"),
    ("1", "bool", "TypeError"),
    ("1.5", "int32", "TypeError"),
    ("1.5", "int64", "TypeError"),
    ("True", "int32", "1"),
    ("True", "float16", "1.0"),
    ("True", "int8", "TypeError"),
    ("True", "string", "TypeError"),
    ("'a'", "int32", "TypeError"),
    ("300", "int8", "44"),
    ("70000.0", "float16", "inf"),
    ("1e40", "float32", "inf"),
    ("[1, 1.5]", "int32", "TypeError"),
    ("[1, 1.5]", "float64", "[1.0, 1.5]"),
    ("[True, 1]", "float32", "[1.0, 1.0]"),
    ("[]", "int8", "[]"),
    ("[]", "string", "[]"),
    ("2**31", "int32", "-2147483648"),
    ("2**40", "float32", "1099511627776.0"),
    ("np.float32(1.5)", "int32", "1"),
    ("np.array([1.5, 0.0])", "bool", "[True, False]"),
    ("np.array([1.5, -2.5])", "int8", "[1, -2]"),
    ("np.array([True])", "float32", "[1.0]"),
    ("np.array([300])", "uint8", "[44]"),
    ("np.array([1.5])", "string", "ValueError"),
    ("[np.float32(1.5)]", "int32", "TypeError"),
    ("[np.array([1.5])]", "int32", "TypeError"),
    ("[np.array([1.5])]", "float16", "[[1.5]]"),
    ("[np.array([1])]", "float32", "[[1.0]]"),
    ("[np.array([True])]", "int32", "TypeError"),
    ("[np.bool_(True)]", "float32", "TypeError"),
    ("[np.int64(3)]", "int8", "[3]"),
]
ERRORS = {"ValueError": ValueError, "TypeError": TypeError}


def check(make, expected):
    if expected in ERRORS:
        with pytest.raises(ERRORS[expected]):
            make()
    else:
        assert make().dtype.name == expected


@pytest.mark.parametrize("text,eager,graph", CASES, ids=[c[0] for c in CASES])
def test_types_of_values(text, eager, graph):
    value = eval(text)  # of the table above
    for make in (tf.constant, tf.convert_to_tensor, tf.Variable):
        check(lambda: make(value), eager)
    with v1.Graph().as_default():
        for make in (tf.constant, tf.convert_to_tensor):
            check(lambda: make(value), graph)


@pytest.mark.parametrize("text,dtype,expected", TYPED)
def test_values_of_a_given_type(text, dtype, expected):
    value = eval(text)  # of the table above
    if expected in ERRORS:
        with pytest.raises(ERRORS[expected]):
            tf.constant(value, dtype)
    else:
        made = tf.constant(value, dtype)
        assert made.dtype.name == dtype and repr(made.numpy().tolist()) == expected


def test_values_are_kept():
    made = tf.constant([np.array([1.5, 2.0]), np.array([3.0, 2.0**-40])])
    assert made.numpy().tolist() == [[1.5, 2], [3, 2.0**-40]]
    assert tf.constant([[1, 2], np.array([3.5, 4.0])]).numpy().tolist() == [[1, 2], [3.5, 4]]
    assert tf.constant([np.array([1, 2**40])]).numpy().tolist() == [[1, 2**40]]
    assert tf.constant([range(2), np.array([2, 3], np.int8)]).numpy().tolist() == [[0, 1], [2, 3]]
    assert tf.constant(np.array([1, 2], ">i4")).numpy().tolist() == [1, 2]


def test_hints():
    hint = lambda value, dtype: tf.convert_to_tensor(value, dtype_hint=dtype).dtype.name
    assert hint(1, "float32") == "float32" and hint(1.5, "int32") == "float32"
    assert hint("a", "int32") == "string" and hint([1, 2], "int64") == "int64"
    assert hint(np.int64(1), "float32") == "float32" and hint(np.array([1.5]), "int32") == "int32"
    assert hint([np.float64(1)], "int32") == "float64" and hint([], "int32") == "int32"
    assert hint(tf.constant(1), "float32") == "int32"
    assert v1.convert_to_tensor(1, preferred_dtype="float64").dtype.name == "float64"


def test_lists_that_hold_tensors():
    half = tf.constant(1, tf.float16)
    for make in (tf.convert_to_tensor, tf.stack):
        assert make([half, 2]).dtype.name == "float16"
        assert make([np.float64(2), half]).dtype.name == "float16"
        assert make([[1.5, half]]).dtype.name == "float16"
    with pytest.raises(TypeError):
        tf.convert_to_tensor([tf.constant(1), 1.5])
    assert tf.convert_to_tensor([tf.constant(1), 2], tf.float32).numpy().tolist() == [1, 2]
    assert tf.constant(tf.constant(3), tf.float64).numpy() == 3
    with pytest.raises(TypeError, match="to EagerTensor of dtype int32"):
        tf.constant(tf.constant(3.5), tf.int32)


@pytest.mark.parametrize(
    "values,dtype",
    [
        ([1, 1.5], "float32"),
        ([1, 2**31], "int64"),
        ([np.int64(1), np.int64(2)], "int32"),
        ([np.float64(1), 2], "float64"),
        ([np.bool_(True), np.float32(2)], "bool"),
        ([np.array([1.0]), np.array([2.0])], "float64"),
        ([], "float32"),
    ],
)
def test_stack_infers_as_constants_do(values, dtype):
    assert tf.stack(values).dtype.name == dtype


def test_feeds_take_the_type_of_the_placeholder():
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32)
        for value in ([np.float64(1.5)], [1.5], np.array([1.5]), [np.array(1.5)]):
            found = session.run(x * 2, {x: value})
            assert found.dtype == np.float32 and found.tolist() == [3]


def test_what_is_no_value():
    with pytest.raises(ValueError, match="unsupported type .* to a Tensor"):
        tf.constant([object()])
    with pytest.raises(ValueError, match="mixed types to Tensor"):
        tf.constant([True, 1])
    with pytest.raises(ValueError, match="out-of-range integer to Tensor"):
        tf.constant([2**64])
    with pytest.raises(ValueError, match="out of range for a double-precision float"):
        tf.constant(1e40)
    with pytest.raises(ValueError):
        tf.constant(np.datetime64("2020-01-01"))
    with v1.Graph().as_default():
        with pytest.raises(TypeError, match="Consider casting elements to a supported type"):
            tf.constant(["a", 1])
        with pytest.raises(ValueError, match="to be a dense tensor"):
            tf.constant([np.array([1.0, 2.0])])
