# SPDX-License-Identifier: Apache-2.0
"""test_operators.py: operators, conversions and protocols of eager tensors, and their errors."""
import copy
import pickle

import numpy as np
import pytest

import situ as tf

REAL, WHOLE, FLAGS = tf.constant([1., 2.]), tf.constant([1, 2]), tf.constant([True, False])


@pytest.mark.parametrize("call, want", [
    (lambda: REAL + 1, [2, 3]), (lambda: 1 - REAL, [0, -1]), (lambda: REAL * [3., 4.], [3, 8]),
    (lambda: WHOLE / 2, [0.5, 1]), (lambda: WHOLE // 2, [0, 1]), (lambda: WHOLE % 2, [1, 0]),
    (lambda: 2 ** REAL, [2, 4]), (lambda: REAL ** 2, [1, 4]), (lambda: -WHOLE, [-1, -2]),
    (lambda: abs(-REAL), [1, 2]), (lambda: REAL < 2, [True, False]),
    (lambda: ~FLAGS, [False, True]),
    (lambda: FLAGS & [True, True], [True, False]), (lambda: FLAGS | [True, True], [True, True]),
    (lambda: FLAGS ^ [True, True], [False, True]), (lambda: REAL == 1, [True, False]),
    (lambda: REAL != [1., 3.], [False, True]), (lambda: REAL + np.array([1., 2.]), [2, 4]),
    (lambda: np.array([1., 2.]) + REAL, [2, 4]),
])
def test_operators(call, want):
    result = call()
    assert isinstance(result, tf.Tensor) and result.numpy().tolist() == want


def test_division_of_integers_is_real():
    assert (WHOLE / 2).dtype == tf.float64 and (REAL / 2).dtype == tf.float32


@pytest.mark.parametrize("call, error, text", [
    (lambda: REAL + WHOLE, tf.errors.InvalidArgumentError,
     "was expected to be a float tensor but is a int32 tensor"),
    (lambda: REAL == WHOLE, tf.errors.InvalidArgumentError, "cannot compute Equal"),
    (lambda: WHOLE + 1.5, TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
    (lambda: REAL == "x", TypeError, "Cannot convert 'x' to EagerTensor of dtype float"),
    (lambda: REAL + None, ValueError, "Attempt to convert a value (None) with an unsupported type"),
    (lambda: bool(REAL), ValueError, "The truth value of an array with more than one element"),
    (lambda: hash(REAL), TypeError, "Tensor is unhashable. Instead, use tensor.ref() as the key."),
    (lambda: len(REAL[0]), TypeError, "Scalar tensor has no `len()`"),
    (lambda: list(REAL[0]), TypeError, "Cannot iterate over a scalar tensor."),
    (lambda: REAL["x"], TypeError, "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis"),
    (lambda: REAL[0.5], TypeError, "are valid indices, got 0.5"),
    (lambda: REAL[5], tf.errors.InvalidArgumentError, "slice index 5 of dimension 0 out of bounds"),
    (lambda: REAL.graph, AttributeError, "Tensor.graph is undefined when eager"),
    (lambda: REAL.eval(), NotImplementedError, "is .numpy() what you're looking for?"),
    (lambda: tf.matmul([[1., 2.]], [[1., 2.]]), tf.errors.InvalidArgumentError,
     "Matrix size-incompatible: In[0]: [1,2], In[1]: [1,2] [Op:MatMul] name: MatMul/"),
    (lambda: tf.add([1., 2.], [1., 2., 3.]), tf.errors.InvalidArgumentError,
     "Incompatible shapes: [2] vs. [3] [Op:"),
    (lambda: tf.constant([1.5], tf.int32), TypeError, "Cannot convert [1.5] to EagerTensor"),
    (lambda: tf.constant([[1], [1, 2]]), ValueError, "Can't convert non-rectangular Python"),
    (lambda: tf.constant([1, "a"]), ValueError, "Python sequence with mixed types to Tensor"),
    (lambda: tf.constant(2 ** 70), ValueError, "out-of-range integer to Tensor"),
    (lambda: tf.constant(1, tf.bool), TypeError, "Cannot convert 1 to EagerTensor of dtype bool"),
    (lambda: tf.constant(object()), ValueError, "with an unsupported type (<class 'object'>)"),
    (lambda: tf.matmul([[1.]], [[1.]], foo=1), TypeError, "unexpected keyword argument 'foo'"),
    (lambda: tf.raw_ops.Tanh(), TypeError, "missing required argument 'x'"),
])
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


def test_equality_of_what_differs_in_shape():
    assert not (REAL == tf.constant([1., 2., 3.])) and REAL != tf.constant([1., 2., 3.])
    assert (REAL == None) is False and (REAL != None) is True  # noqa: E711
    assert 1. in REAL


def test_as_python_values():
    assert bool(REAL[0]) and int(WHOLE[1]) == 2 and float(REAL[1]) == 2.
    assert [5, 6, 7][WHOLE[0]] == 6
    assert f"{REAL[0]:.2f}" == "1.00" and len(REAL) == 2 and [float(x) for x in REAL] == [1., 2.]
    assert list(range(tf.constant(3))) == [0, 1, 2]


def test_references_are_keys():
    first, second = REAL.ref(), REAL.ref()
    assert first == second and len({first, second}) == 1 and first.deref() is REAL
    assert first != tf.constant([1., 2.]).ref()


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
    for key in (0, -1, (1, 2), (slice(None), 1), (Ellipsis, 0), slice(None, None, -1), None,
                (0, slice(1, None), slice(None, None, 2)), (tf.constant(1), Ellipsis)):
        plain = tuple(int(k) if isinstance(k, tf.Tensor) else k for k in key) \
            if isinstance(key, tuple) else key
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
    v = tf.Variable([[1., 2.], [3., 4.]])
    v[0].assign([9., 8.])
    v[:, 1].assign_add([1., 1.])
    v[1, 0].assign(7.)
    assert v.numpy().tolist() == [[9, 9], [7, 5]]

    @tf.function
    def f(i):
        for k in tf.range(2):
            v[k, 0].assign_sub(1.)
        v[i].assign(0.)
        return v.read_value()
    assert f(tf.constant(1)).numpy().tolist() == v.numpy().tolist() == [[8, 9], [0, 0]]
    assert not hasattr(tf.constant(1.), "assign")
