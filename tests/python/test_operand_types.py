# SPDX-License-Identifier: Apache-2.0
"""test_operand_types.py: operands of different types in divisions and matrix products, and the
signature of a ConcreteFunction."""

import numpy
import pytest

import situ as tf

TYPES = ("int8", "uint16", "int32", "int64", "bfloat16", "float16", "float32", "complex64")


@pytest.mark.parametrize("x", TYPES)
@pytest.mark.parametrize("y", TYPES)
def test_quotients(x, y):
    x, y = tf.constant(6, x), tf.constant(2, y)
    for divide in (tf.divide, tf.math.divide_no_nan):
        if x.dtype != y.dtype:
            with pytest.raises(TypeError, match="must have the same dtype"):
                divide(x, y)
            continue
        wide = {1: "float32", 2: "float32", 4: "float64", 8: "float64"}[x.dtype.size]
        expected = tf.as_dtype(wide) if x.dtype.is_integer else x.dtype
        assert divide(x, y).dtype == expected and complex(divide(x, y).numpy()) == 3


def test_quotient_of_zero():
    assert tf.math.divide_no_nan([1, 2], [0, 4]).numpy().tolist() == [0, 0.5]
    assert tf.math.divide_no_nan(tf.constant(2, "int8"), 4).dtype == tf.float32


@pytest.mark.parametrize(("a", "b"), [("int8", "int8"), ("int8", "uint8")])
def test_matrix_products_with_a_wider_result(a, b):
    a, b = tf.constant([[100, 100]], a), tf.constant([[100], [100]], b)
    made = tf.matmul(a, b, output_type=tf.int32)
    assert made.dtype == tf.int32 and made.numpy().tolist() == [[20000]]
    with pytest.raises(tf.errors.NotFoundError, match="gives float32"):
        tf.matmul(a, b, output_type=tf.float32)


def test_matrix_products_of_different_types():
    a, b = tf.constant([[1.0, 2.0]], "bfloat16"), tf.constant([[3], [4]], "int8")
    made = tf.matmul(a, b, output_type=tf.bfloat16)
    assert made.dtype == tf.bfloat16 and float(made[0, 0]) == 11
    with pytest.raises(ValueError, match="transpose_a` and `adjoint_a"):
        tf.matmul(a, a, transpose_a=True, adjoint_a=True)


def test_variance_of_complex_numbers():
    x = numpy.array([1 + 2j, 3 - 1j, 0.5j], "complex64")
    assert numpy.allclose(tf.math.reduce_variance(x), x.var())
    assert tf.math.reduce_std(x).dtype == tf.float32
    with pytest.raises(TypeError, match="integer type"):
        tf.math.reduce_variance([1, 2])


@pytest.mark.parametrize("order", ["NDHWC", "NCDHW"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_batch_norm_of_volumes(order, dtype):
    shape = [2, 3, 2, 2, 4] if order == "NDHWC" else [2, 4, 3, 2, 2]
    x = tf.cast(tf.reshape(tf.range(96.0), shape), dtype)
    made = tf.compat.v1.nn.fused_batch_norm(x, tf.ones([4]), tf.zeros([4]), data_format=order)
    axes = [0, 1, 2, 3] if order == "NDHWC" else [0, 2, 3, 4]
    assert made[0].dtype == x.dtype and made[1].dtype == tf.float32
    means = numpy.asarray(tf.cast(made[0], "float64")).mean(tuple(axes))
    assert numpy.allclose(means, 0, atol=0.02)


def test_outputs_of_a_concrete_function():
    concrete = tf.function(lambda x: {"a": x[:1], "b": (x, 2)}).get_concrete_function(
        tf.TensorSpec([None, 3], tf.int64)
    )
    assert concrete.output_shapes["a"].as_list() == [None, 3]
    assert concrete.output_dtypes["a"] == tf.int64
