# SPDX-License-Identifier: Apache-2.0
"""test_math_names.py: bincount, linspace, bitcast, fingerprint, approx_max_k, volume patches,
unsorted_segment_join and tensordot: values and errors of TensorFlow 2.21."""

import numpy as np
import pytest

import situ as tf

INVALID = tf.errors.InvalidArgumentError


def items(tensor):
    return tensor.numpy().tolist()


def test_bincount_of_rows():
    x = [[1, 2], [2, 5]]
    assert items(tf.math.bincount(x, axis=-1)) == [[0, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 1]]
    assert items(tf.math.bincount(x)) == [0, 1, 2, 0, 0, 1]
    assert items(tf.math.bincount([[1, 2], [2, 2]], axis=-1, binary_output=True)) == [
        [0, 1, 1],
        [0, 0, 1],
    ]
    weighted = tf.math.bincount([[1, 2], [2, 2]], weights=[[0.5, 1.0], [2.0, 3.0]], axis=-1)
    assert items(weighted) == [[0, 0.5, 1], [0, 0, 5]]
    assert items(tf.math.bincount([1, 9], minlength=5, maxlength=7)) == [0, 1, 0, 0, 0, 0, 0]
    assert items(tf.math.bincount([1.7, 2.2])) == [0, 1, 1]
    assert items(tf.math.bincount(tf.constant([], tf.int32))) == []


def test_bincount_of_sparse_and_ragged_tensors():
    ragged = tf.ragged.constant([[1, 2], [2]])
    sparse = tf.sparse.from_dense([[1, 2], [0, 2]])
    for x in (ragged, sparse):
        assert items(tf.math.bincount(x, axis=-1)) == [[0, 1, 1], [0, 0, 1]]
        assert items(tf.math.bincount(x)) == [0, 1, 2]
        assert items(tf.sparse.bincount(x, axis=-1).values) == [1, 1, 1]


def test_sparse_bincount_of_one_dimension():
    counts = tf.sparse.bincount(tf.sparse.from_dense([3, 0, 1, 1]), axis=-1)
    assert items(counts.indices) == [[1], [3]] and items(counts.values) == [2, 1]
    assert items(counts.dense_shape) == [4]


def test_weights_are_of_the_kind_of_the_values():
    x, w = [[3, 0, 1], [5, 0, 4]], [[1.0, 0.0, 2.0], [3.0, 0.0, 4.0]]
    dense, sparse = tf.constant(x), tf.sparse.from_dense(x)
    ragged, weights = tf.ragged.constant([[3, 1], [5]]), tf.ragged.constant([[1.0, 2.0], [3.0]])
    for bincount in (tf.math.bincount, tf.sparse.bincount):
        for values, wrong, kind in (
            (dense, sparse, "tf.Tensor"),
            (dense, ragged, "tf.Tensor"),
            (sparse, dense, "SparseTensor"),
            (sparse, ragged, "SparseTensor"),
            (ragged, dense, "tf.RaggedTensor"),
        ):
            with pytest.raises(ValueError, match=f"must be a {kind} if `values` is a {kind}"):
                bincount(values, weights=wrong, axis=-1)
        for values, wrong, part in (
            (sparse, tf.sparse.from_dense([[1.0, 2.0, 0.0], [3.0, 0.0, 4.0]]), "indices"),
            (sparse, tf.sparse.from_dense([*w, [0.0] * 3]), "dense shape"),
            (ragged, tf.ragged.constant([[1.0], [2.0, 3.0]]), "row splits"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"must have the same {part}"):
                bincount(values, weights=wrong, axis=-1)
    counts = tf.sparse.bincount(sparse, weights=tf.sparse.from_dense(w), axis=-1)
    assert items(counts.values) == [2, 1, 4, 3]
    assert items(tf.sparse.bincount(ragged, weights=weights, axis=-1).values) == [2, 1, 3]


def test_bincount_errors():
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.math.bincount([1, 2], weights=[1, 2], binary_output=True)
    with pytest.raises(ValueError, match="Only 0 and -1 are currently supported"):
        tf.math.bincount([1, 2], axis=1)
    with pytest.raises(INVALID, match="Input arr must be non-negative!"):
        tf.math.bincount([1, -2])
    with pytest.raises(INVALID, match="`weights` must be the same shape as `arr`"):
        tf.math.bincount([1, 2], weights=[1.0, 2.0, 3.0])
    with pytest.raises(INVALID, match="at most rank 2 but is rank 3"):
        tf.math.bincount([[[1]]], axis=-1)


def test_sparse_bincount():
    counts = tf.sparse.bincount([[1, 2], [2, 2]], axis=-1)
    assert items(counts.indices) == [[0, 1], [0, 2], [1, 2]]
    assert items(counts.values) == [1, 1, 2]
    assert items(counts.dense_shape) == [2, 3]
    weighted = tf.sparse.bincount([[1, 2], [2, 2]], axis=-1, weights=[[1.0, 2.0], [3.0, 4.0]])
    assert items(weighted.values) == [1, 2, 7]
    assert items(tf.sparse.bincount([[1, 2], [2, 9]], axis=-1, maxlength=5).values) == [1, 1, 1]
    flat = tf.sparse.bincount([5, 1, 5], minlength=9)
    assert (items(flat.indices), items(flat.values)) == ([[1], [5]], [1, 2])
    assert items(flat.dense_shape) == [9]


def test_linspace_of_tensors():
    low, high = [0.0, 1.0], [10.0, 21.0]
    rows = [[0, 1], [2.5, 6], [5, 11], [7.5, 16], [10, 21]]
    assert items(tf.linspace(low, high, 5)) == rows
    assert items(tf.linspace(low, high, 5, axis=-1)) == [list(row) for row in zip(*rows)]
    assert items(tf.linspace(low, high, 1, axis=1)) == [[0], [1]]
    assert items(tf.linspace(0.0, [1.0, 2.0], 3)) == [[0, 0], [0.5, 1], [1, 2]]
    assert items(tf.linspace(low, high, 0)) == []
    with pytest.raises(TypeError, match="must be of type integer"):
        tf.linspace(0.0, 1.0, 2.5)
    with pytest.raises(INVALID):
        tf.linspace(0.0, 1.0, 3, axis=1)


def test_bitcast():
    assert items(tf.bitcast([1.0, 2.0], tf.int32)) == [0x3F800000, 0x40000000]
    assert items(tf.bitcast(tf.constant([1.0], tf.float64), tf.int32)) == [[0, 0x3FF00000]]
    assert items(tf.bitcast(tf.constant([1, 2]), tf.int64)) == (2 << 32) + 1
    for wrong in ([1, 2, 3], 1):
        with pytest.raises(INVALID, match="Cannot bitcast from 3 to 9"):
            tf.bitcast(tf.constant(wrong), tf.int64)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.int32)])
    def cast(x):
        return tf.bitcast(x, tf.int64)

    assert items(cast(tf.constant([[1, 0], [2, 0]]))) == [1, 2]


def test_fingerprint():
    assert items(tf.fingerprint(["a"])) == [[227, 117, 223, 182, 101, 66, 69, 179]]
    assert items(tf.fingerprint([["a", "b"], ["c", "d"]])) == [
        [122, 64, 59, 169, 136, 60, 55, 83],
        [52, 252, 224, 38, 64, 226, 155, 60],
    ]
    assert items(tf.fingerprint([[1, 2]])) == [[76, 18, 253, 133, 168, 204, 240, 10]]
    with pytest.raises(INVALID, match="`data` should have at least one dimension"):
        tf.fingerprint(1)
    with pytest.raises(INVALID, match="Unsupported fingerprint method: x"):
        tf.fingerprint([1], method="x")


def test_approx_max_k():
    found = tf.math.approx_max_k([1.0, 5.0, 3.0], 2)
    assert (items(found.values), items(found.indices)) == ([5, 3], [1, 2])
    found = tf.math.approx_min_k([[1.0, 5.0], [3.0, 0.0]], 1, reduction_dimension=0)
    assert (items(found.values), items(found.indices)) == ([[1, 0]], [[0, 1]])


def test_strings_cannot_be_sorted():
    for function in (tf.sort, tf.argsort):
        with pytest.raises(INVALID, match="Value for attr 'T' of string is not in the list"):
            function(["b", "a"])


def test_parallel_stack_is_for_graphs():
    with pytest.raises(RuntimeError, match="not compatible with eager execution"):
        tf.parallel_stack([1, 2])
    assert items(tf.function(lambda: tf.parallel_stack([1, 2]))()) == [1, 2]


def test_extract_volume_patches():
    x = tf.reshape(tf.range(16.0), [1, 2, 2, 4, 1])
    patches = tf.extract_volume_patches(x, [1, 1, 2, 2, 1], [1, 1, 1, 2, 1], "VALID")
    assert items(patches) == [
        [[[[0, 1, 4, 5], [2, 3, 6, 7]]], [[[8, 9, 12, 13], [10, 11, 14, 15]]]]
    ]
    same = tf.extract_volume_patches(x, [1, 2, 2, 2, 1], [1, 1, 1, 1, 1], "SAME")
    assert same.shape == [1, 2, 2, 4, 8]
    assert items(same[0, 1, 1, 3]) == [15, 0, 0, 0, 0, 0, 0, 0]


def test_unsorted_segment_join():
    join = tf.strings.unsorted_segment_join
    assert items(join(["a", "b", "c"], [0, 1, 0], 2, separator=":")) == [b"a:c", b"b"]
    assert items(join([["a", "b"], ["c", "d"]], [1, 1], 3)) == [
        [b"", b""],
        [b"ac", b"bd"],
        [b"", b""],
    ]
    with pytest.raises(INVALID, match="out of range"):
        join(["a"], [5], 2)


@pytest.mark.parametrize("axes", [0, 1, 2, [[1], [0]], [[1, 2], [1, 0]], [[-1], [1]]])
def test_tensordot_of_unknown_shapes(axes):
    a = np.arange(24.0).reshape(2, 3, 4)
    b = np.arange(24.0).reshape(4, 3, 2) if axes != 1 else np.arange(24.0).reshape(4, 6)
    if axes == 2 or axes == [[1], [0]]:
        b = b.reshape(3, 4, 2)
    elif axes == [[-1], [1]]:
        b = b.reshape(2, 4, 3)
    want = np.tensordot(a, b, axes)
    np.testing.assert_allclose(tf.tensordot(a, b, axes), want)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float64)] * 2)
    def contract(x, y):
        return tf.tensordot(x, y, axes)

    @tf.function(
        input_signature=[tf.TensorSpec([None, 3, None], tf.float64)]
        + [tf.TensorSpec(b.shape, tf.float64)]
    )
    def partly(x, y):
        return tf.tensordot(x, y, axes)

    np.testing.assert_allclose(contract(a, b), want)
    np.testing.assert_allclose(partly(a, b), want)


def test_tensordot_rejects_wrong_axes():
    x = tf.ones([2, 3])
    for axes, message in ((-1, "at least 0"), (3, "must not be larger"), ([[0], [0, 1]], "!=")):
        with pytest.raises(ValueError, match=message):
            tf.tensordot(x, x, axes)


@pytest.mark.parametrize(
    "shape", [[4, 6, 8, 3], [None, None, None, 3], [None, 6, None, None], None]
)
def test_blocks_of_tensors_of_unknown_shapes(shape):
    x = np.arange(4 * 6 * 8 * 3.0).reshape(4, 6, 8, 3)
    block, margins = [2, 3], [[0, 0], [1, 0]]
    padded = np.pad(x, [[0, 0], [0, 0], [1, 0], [0, 0]])
    want = padded.reshape(4, 3, 2, 3, 3, 3).transpose(2, 4, 0, 1, 3, 5).reshape(24, 3, 3, 3)

    @tf.function(
        input_signature=[tf.TensorSpec(shape, tf.float64), tf.TensorSpec([2, 2], tf.int32)]
    )
    def there_and_back(x, margins):
        batch = tf.space_to_batch(x, block, margins)
        return batch, tf.batch_to_space(batch, tf.constant(block), margins)

    batch, back = there_and_back(x, tf.constant(margins))
    np.testing.assert_array_equal(batch, want)
    np.testing.assert_array_equal(back, x)
    np.testing.assert_array_equal(tf.space_to_batch(x, block, margins), want)

    @tf.function(input_signature=[tf.TensorSpec(shape, tf.float64)])
    def depth(x):
        return tf.nn.depth_to_space(tf.nn.space_to_depth(x, 2), 2)

    np.testing.assert_array_equal(depth(x), x)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: tf.space_to_batch(x, [0, 2], [[0, 0], [0, 0]]), "must be positive"),
        (lambda x: tf.space_to_batch(x, [2, 2], [[0, 0], [0, -1]]), "must be non-negative"),
        (lambda x: tf.space_to_batch(x, [2, 5], [[0, 0], [0, 0]]), "is not divisible"),
        (lambda x: tf.space_to_batch(x, [[2, 2]], [[0, 0], [0, 0]]), "rank should be 1"),
        (lambda x: tf.space_to_batch(x, [2, 2], [[0, 0]]), "should have shape"),
        (lambda x: tf.batch_to_space(x, [3, 1], [[0, 0], [0, 0]]), "is not divisible"),
        (lambda x: tf.batch_to_space(x, [2, 2], [[9, 9], [0, 0]]), "must be non-negative"),
        (lambda x: tf.raw_ops.SpaceToBatch(input=x, paddings=[[0, 0]] * 2, block_size=1), "> 1"),
        (lambda x: tf.nn.space_to_depth(x, 0), "> 1"),
        (lambda x: tf.nn.depth_to_space(x[0], 2), "must be 4-D"),
    ],
)
def test_wrong_blocks(call, message):
    with pytest.raises(INVALID, match=message):
        call(tf.zeros([4, 6, 8, 3]))
