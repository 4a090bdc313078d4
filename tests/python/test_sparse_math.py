# SPDX-License-Identifier: Apache-2.0
"""test_sparse_math.py: sparse tensors: reductions, softmax, element-wise ops with a dense tensor,
maximum and minimum; with their gradients."""

import numpy as np
import pytest

import situ as tf

R = tf.raw_ops


def random_sparse(rng, shape, dtype=np.float64, share=0.5):
    dense = (rng.standard_normal(shape) * 5).astype(dtype)
    dense[rng.uniform(size=shape) > share] = 0
    indices = np.argwhere(dense)
    return dense, indices, dense[tuple(indices.T)], np.array(shape, np.int64)


def numeric(function, x, dy, step=1e-6):
    """The gradient by finite differences."""
    x = np.array(x)
    result = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        change = function(tf.constant(up)).numpy() - function(tf.constant(down)).numpy()
        result[at] = (change * dy).sum() / (2 * step)
    return result


def check_gradient(function, x, rng):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
        dy = rng.standard_normal(y.shape)
        loss = tf.reduce_sum(y * dy)
    got = tf.convert_to_tensor(tape.gradient(loss, x)).numpy()
    np.testing.assert_allclose(got, numeric(function, x.numpy(), dy), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.complex128])
@pytest.mark.parametrize("axes", [[], [0], [1], [-1], [0, 2], [0, 1, 2], [1, 1]])
def test_reductions(dtype, axes):
    rng = np.random.default_rng(len(axes))
    dense, indices, values, shape = random_sparse(rng, (3, 4, 5), dtype)
    order = rng.permutation(len(indices))
    parts = (indices[order], values[order], shape)
    over = tuple({a % 3 for a in axes})
    for keep in (False, True):
        got = R.SparseReduceSum(
            input_indices=parts[0],
            input_values=parts[1],
            input_shape=shape,
            reduction_axes=np.array(axes, np.int32),
            keep_dims=keep,
        )
        want = dense.sum(axis=over, keepdims=keep, dtype=dtype) if over else dense
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)
        sparse = R.SparseReduceSumSparse(
            input_indices=parts[0],
            input_values=parts[1],
            input_shape=shape,
            reduction_axes=np.array(axes, np.int32),
            keep_dims=keep,
        )
        assert sparse.output_shape.numpy().tolist() == list(want.shape)
        whole = np.zeros(want.shape, dtype)
        for at, value in zip(sparse.output_indices.numpy(), sparse.output_values.numpy()):
            whole[tuple(at)] = value
        np.testing.assert_allclose(whole, want, rtol=1e-5)
        listed = sparse.output_indices.numpy().tolist()
        assert listed == sorted(listed)


def test_reduce_max_of_nothing_is_0():
    sparse = tf.SparseTensor([[0, 0], [0, 1], [2, 1]], [-3.0, -2.0, 7.0], [3, 2])
    assert tf.sparse.reduce_max(sparse, 1).numpy().tolist() == [-2, 0, 7]
    assert tf.sparse.reduce_max(sparse).numpy() == 7
    result = tf.sparse.reduce_max(sparse, 1, output_is_sparse=True)
    assert result.indices.numpy().tolist() == [[0], [2]]
    assert result.values.numpy().tolist() == [-2, 7]


def test_reduction_errors():
    sparse = tf.SparseTensor([[0, 0]], [1.0], [2, 2])
    for axis in (-3, 2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid reduction dimension"):
            tf.sparse.reduce_sum(sparse, axis)
    for bad in (
        {"input_indices": [[5, 0]]},
        {"input_shape": [-1, 2]},
        {"input_shape": [2]},
        {"input_values": [1.0, 2.0]},
        {"input_shape": [2**32, 2**31]},
        {"reduction_axes": [[0]]},
    ):
        good = {
            "input_indices": [[0, 0]],
            "input_values": [1.0],
            "input_shape": [2, 2],
            "reduction_axes": [1],
        }
        with pytest.raises((tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError)):
            R.SparseReduceMax(**{**good, **bad})


def test_softmax():
    rng = np.random.default_rng(3)
    dense, indices, values, shape = random_sparse(rng, (4, 3, 5))
    got = tf.sparse.softmax(tf.SparseTensor(indices, values, shape)).values.numpy()
    powers = np.where(dense != 0, np.exp(dense), 0)
    want = (powers / np.maximum(powers.sum(-1, keepdims=True), 1e-300))[tuple(indices.T)]
    np.testing.assert_allclose(got, want)
    check_gradient(
        lambda v: tf.sparse.softmax(tf.SparseTensor(indices, v, shape)).values, values, rng
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank >= 2"):
        R.SparseSoftmax(sp_indices=[[0]], sp_values=[1.0], sp_shape=[3])


@pytest.mark.parametrize("dense_shape", [(4, 3, 5), (3, 5), (1, 5), (4, 1, 1), (1,), ()])
def test_element_wise_ops_with_a_dense_tensor(dense_shape):
    rng = np.random.default_rng(4)
    _, indices, values, shape = random_sparse(rng, (4, 3, 5))
    dense = rng.uniform(1, 2, dense_shape)
    there = np.broadcast_to(dense, (4, 3, 5))[tuple(indices.T)]
    sparse = tf.SparseTensor(indices, values, shape)
    np.testing.assert_allclose((sparse * dense).values.numpy(), values * there)
    np.testing.assert_allclose((tf.constant(dense) * sparse).values.numpy(), values * there)
    np.testing.assert_allclose((sparse / dense).values.numpy(), values / there)
    for op, want in (
        (R.SparseDenseCwiseAdd, values + there),
        (R.SparseDenseCwiseMul, values * there),
        (R.SparseDenseCwiseDiv, values / there),
    ):

        def function(v, d, op=op):
            return op(sp_indices=indices, sp_values=v, sp_shape=shape, dense=d)

        np.testing.assert_allclose(function(values, dense).numpy(), want)
        check_gradient(lambda v: function(v, dense), values, rng)
        check_gradient(lambda d: function(values, d), dense, rng)


def test_element_wise_integers():
    sparse = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [7, -7, 3], [2, 3])
    result = sparse / tf.constant([[2, 2, 2]])
    assert result.values.dtype == tf.float64
    assert result.values.numpy().tolist() == [3.5, -3.5, 1.5]
    parts = {"sp_indices": sparse.indices, "sp_values": sparse.values, "sp_shape": [2, 3]}
    assert R.SparseDenseCwiseDiv(dense=[[2, 2, 2]], **parts).numpy().tolist() == [3, -3, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="divide by zero"):
        R.SparseDenseCwiseDiv(dense=[[2, 2, 0]], **parts)
    with pytest.raises(tf.errors.InvalidArgumentError, match="broadcasts dense to sparse only"):
        R.SparseDenseCwiseMul(dense=[[[2]]], **parts)
    with pytest.raises(tf.errors.InvalidArgumentError, match="out-of-bounds"):
        R.SparseDenseCwiseMul(sp_indices=[[9, 9]], sp_values=[1], sp_shape=[2, 3], dense=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint16])
def test_maximum_and_minimum(dtype):
    rng = np.random.default_rng(5)
    a, a_indices, a_values, shape = random_sparse(rng, (6, 7), dtype)
    b, b_indices, b_values, _ = random_sparse(rng, (6, 7), dtype)
    x, y = tf.SparseTensor(a_indices, a_values, shape), tf.SparseTensor(b_indices, b_values, shape)
    for function, want in ((tf.sparse.maximum, np.maximum), (tf.sparse.minimum, np.minimum)):
        result = function(x, y)
        listed = result.indices.numpy()
        assert listed.tolist() == np.argwhere((a != 0) | (b != 0)).tolist()
        np.testing.assert_array_equal(result.values.numpy(), want(a, b)[tuple(listed.T)])


def test_maximum_errors():
    def call(**changes):
        good = {
            "a_indices": [[1]],
            "a_values": [0],
            "a_shape": [2],
            "b_indices": [[1]],
            "b_values": [1],
            "b_shape": [2],
        }
        return R.SparseSparseMaximum(**{**good, **changes})

    for text, changes in (
        ("Operands' shapes do not match", {"b_shape": [3]}),
        ("Operands do not have the same ranks", {"b_indices": [[1, 1]], "b_shape": [2, 2]}),
        ("Index rank .* and shape rank .* do not match", {"b_shape": [2, 2]}),
        ("Number of elements in indices .* do not match", {"b_values": [1, 2]}),
        ("out of bounds", {"b_indices": [[2]]}),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            call(**changes)


def test_sizes_of_sparse_tensors():
    sparse = tf.SparseTensor([[0, 0]], [1.0], [2, 3])
    assert tf.shape(sparse).numpy().tolist() == [2, 3]
    assert tf.size(sparse).numpy() == 6 and tf.rank(sparse).numpy() == 2
    assert tf.size(sparse, tf.int64).dtype == tf.int64


def test_fill_empty_rows_grad():
    grad = tf.raw_ops.SparseFillEmptyRowsGrad
    values, default = grad(reverse_index_map=[2, 1, 2], grad_values=[0.5, 1.0, 2.0, 3.0])
    assert values.numpy().tolist() == [2, 1, 2] and float(default) == 3.5
    values, default = grad(reverse_index_map=[], grad_values=[1, 2])
    assert values.numpy().tolist() == [] and int(default) == 3
    for places in ([4], [0, -1]):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be in \[0, 4\)"):
            grad(reverse_index_map=places, grad_values=[0, 1, 2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="grad_values must be a vector"):
        grad(reverse_index_map=[0], grad_values=[[0, 1]])
    with tf.Graph().as_default(), pytest.raises(ValueError, match="rank 1 but is rank 2"):
        grad(reverse_index_map=[[0]], grad_values=[0, 1])
