# SPDX-License-Identifier: Apache-2.0
"""test_asserts.py: tf.debugging.assert_* in eager style and in functions, with TensorFlow's
messages."""

import pytest

import situ as tf

check = tf.debugging


def test_what_holds():
    check.assert_equal([1, 2], [1, 2])
    check.assert_less([1, 2], 3)
    check.assert_positive([1.0])
    check.assert_near([1.0, 2.0], [1.0, 2.0000001])
    check.assert_rank([1.0], 1)
    check.assert_type(tf.constant(1), tf.int32)
    check.assert_shapes([(tf.ones([2, 3]), ("N", 3)), (tf.ones([2]), ("N",))])
    check.Assert(True, ["unused"])


@pytest.mark.parametrize(
    "call, text",
    [
        (
            lambda: check.assert_equal([1, 2, 3], [1, 2, 4], message="bad"),
            "bad\nCondition x == y did not hold.\nIndices of first 1 different values:\n[[2]]\n"
            "Corresponding x values:\n[3]\nCorresponding y values:\n[4]\nFirst 3 elements of x:\n"
            "[1 2 3]\nFirst 3 elements of y:\n[1 2 4]",
        ),
        (
            lambda: check.assert_less(2, 1),
            "Condition x < y did not hold.\nFirst 1 elements of x:\n[2]\n"
            "First 1 elements of y:\n[1]",
        ),
        (
            lambda: check.assert_non_negative([1.0, -2.0], message="neg!"),
            "neg!.  \nCondition x >= 0 did not hold element-wise:\n"
            "x (shape=(2,) dtype=float32) = \n['1.0', '-2.0']",
        ),
        (
            lambda: check.Assert(tf.constant(False), [tf.constant([1, 2, 3, 4]), "x"]),
            "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. "
            "Summarized data: 1, 2, 3, ...\nb'x'",
        ),
    ],
)
def test_what_does_not(call, text):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call()
    assert str(caught.value) == text


def test_shapes_and_types():
    with pytest.raises(ValueError, match="must have rank 2.  Received rank 1, shape"):
        check.assert_rank([1.0, 2.0], 2)
    with pytest.raises(ValueError, match="must have rank at least 2"):
        check.assert_rank_at_least([1.0, 2.0], 2)
    with pytest.raises(TypeError, match="must be of type tf.int32; got tf.float32"):
        check.assert_type(tf.constant(1.0), tf.int32)
    with pytest.raises(TypeError, match="integer type"):
        check.assert_integer(1.0)


def test_functions_check():
    @tf.function
    def root(x):
        check.assert_non_negative(x, message="no root")
        return tf.sqrt(x)

    assert root(tf.constant([4.0])).numpy().tolist() == [2.0]
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        root(tf.constant([4.0, -1.0]))
    assert (
        "assertion failed: [no root.  ] [Condition x >= 0 did not hold element-wise:] "
        "[x (x:0) = ] [4 -1]" in str(caught.value)
    )


def sparse(shape):
    return tf.SparseTensor([[0] * len(shape)], [1.0], shape)


def test_shapes_of_sparse_tensors_and_scalars():
    check.assert_shapes([(sparse([3, 4]), ("N", "D")), (tf.ones([4]), ("D",)), (1.0, (1,))])
    check.assert_shapes([(tf.ones([2, 3, 4]), (..., "D")), (tf.ones([4]), ("*", "D"))])
    with pytest.raises(ValueError, match="Specified explicitly.  Tensor .* dimension 1 must have"):
        check.assert_shapes([(sparse([3, 4]), ("N", 5))])
    with pytest.raises(ValueError, match="Specified by tensor .* dimension 0.  Tensor .* dimensi"):
        check.assert_shapes([(tf.ones([2]), ("N",)), (tf.ones([3]), ("N",))])
    with pytest.raises(ValueError, match="only allowed as the first entry"):
        check.assert_shapes([(tf.ones([2, 3]), (2, ...))])
    with pytest.raises(ValueError, match="must be an iterable"):
        check.assert_shapes([(tf.ones([2]), 2)])


def test_shapes_of_unknown_rank():
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec(None)])
    def same_length(x, y):
        check.assert_shapes([(x, ("N",)), (y, ("*", "N"))])
        return tf.size(x)

    assert same_length(5.0, [[7.0], [8.0]]).numpy() == 1
    assert same_length([1.0, 2.0], [[7.0, 8.0]]).numpy() == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have size"):
        same_length([1.0, 2.0], [1.0, 2.0, 3.0])


def test_ranks_must_be_integer_scalars():
    with pytest.raises(TypeError, match="must be of type tf.int32"):
        check.assert_rank([1.0], 1.0)
    with pytest.raises(ValueError, match="Rank must be a scalar"):
        check.assert_rank([1.0], [1])


def test_assertions_take_sparse_tensors_and_the_same_tensor():
    check.assert_type(sparse([2]), tf.float32)
    check.assert_rank(sparse([2, 3]), 2)
    assert check.assert_same_float_dtype([sparse([2]), tf.ones([2])]) == tf.float32
    nan = tf.constant(float("nan"))
    check.assert_equal(nan, nan)
    check.assert_near([1 + 2j], [1 + 2j])
    assert tf.math.is_strictly_increasing(tf.constant([])).numpy()


def test_ops_that_keep_zeros_take_sparse_tensors():
    x = tf.SparseTensor([[0, 1], [2, 0]], [-4.0, 9.0], [3, 2])
    assert tf.abs(x).values.numpy().tolist() == [4.0, 9.0]
    assert tf.negative(x).values.numpy().tolist() == [4.0, -9.0]
    assert tf.sqrt(tf.square(x)).values.numpy().tolist() == [4.0, 9.0]
    assert tf.identity(x).indices.numpy().tolist() == [[0, 1], [2, 0]]
    with pytest.raises((TypeError, ValueError)):
        tf.exp(x)
    assert tf.abs(tf.ragged.constant([[-1.0], []])).to_list() == [[1.0], []]
