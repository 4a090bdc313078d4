# SPDX-License-Identifier: Apache-2.0
"""test_gather.py: tf.gather with batch dimensions and unknown shapes; split and as_string."""

import numpy
import pytest

import situ as tf

SPEC = {"params": tf.TensorSpec(None, tf.float64), "indices": tf.TensorSpec(None, tf.int32)}


@pytest.mark.parametrize(
    ("shape", "indices", "axis", "batch"),
    [
        ([2, 4], [[2, 1], [0, 3]], None, 1),
        ([2, 2, 2], [[[0, 1], [1, 0]], [[0, 0], [1, 1]]], None, 2),
        ([2, 4], [2, 1], None, 1),
        ([2, 2, 3], [[[0, 1, 2, 1]], [[2, 1, 2, 1]]], 2, 1),
        ([2, 3], [1, 0], 1, 0),
    ],
)
def test_batches_of_unknown_rank_and_their_gradients(shape, indices, axis, batch):
    params = numpy.arange(numpy.prod(shape), dtype="float64").reshape(shape)

    def gather(params, indices):
        return tf.gather(params, indices, axis=axis, batch_dims=batch)

    def gradient(function):
        x = tf.constant(params)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, tf.constant(indices))
            total = tf.reduce_sum(y * y)
        return y.numpy(), tf.convert_to_tensor(tape.gradient(total, x)).numpy()

    unknown = tf.function(gather, input_signature=list(SPEC.values()))
    for expected, result in zip(gradient(gather), gradient(unknown)):
        assert expected.tolist() == result.tolist()


def test_negative_batch_dims():
    result = tf.gather([[10, 11, 12], [20, 21, 22]], [[2, 1], [0, 0]], batch_dims=-1)
    assert result.numpy().tolist() == [[12, 11], [20, 20]]


def test_rank_is_known_without_the_axis():
    with tf.Graph().as_default():
        axis = tf.compat.v1.placeholder(tf.int32)
        assert tf.gather(tf.zeros([2, 3]), [[0]], axis=axis).shape.as_list() == [None] * 3


def test_bad_axis():
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least rank 2 but is rank 1"):
        tf.gather([1, 2, 3], 0, axis=1)


def test_split_infers_num_from_a_tensor():
    with tf.Graph().as_default():
        sizes = tf.compat.v1.placeholder(tf.int32, [3])
        assert len(tf.split(tf.zeros([6]), sizes)) == 3
        unknown = tf.compat.v1.placeholder(tf.int32)
        with pytest.raises(ValueError, match="Cannot infer argument `num` from shape"):
            tf.split(tf.zeros([6]), unknown)
    with pytest.raises(ValueError, match="Rank-0 tensors are not supported"):
        tf.split(tf.zeros([6]), tf.constant(2))


def test_as_string_of_strings_and_its_errors():
    assert tf.strings.as_string(["a", "bcd"], width=3).numpy().tolist() == [b"  a", b"bcd"]
    assert tf.strings.as_string("", fill="-").numpy() == b""
    for kwargs, message in (
        ({"scientific": True}, "scientific and shortest format not supported for datatype int32"),
        ({"precision": 0}, "precision not supported for datatype int32"),
        ({"fill": "ab"}, "Fill string must be one or fewer characters"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.strings.as_string([1], **kwargs)


def test_argmax_of_booleans():
    assert tf.argmax([[False, True], [True, True]], axis=1).numpy().tolist() == [1, 0]


def batched_nd(params, indices, batch):
    """Returns gather_nd of each row of a batch, by NumPy."""
    params, indices = numpy.asarray(params), numpy.asarray(indices)
    if not batch:
        return params[tuple(numpy.moveaxis(indices, -1, 0))]
    return numpy.stack([batched_nd(p, i, batch - 1) for p, i in zip(params, indices)])


@pytest.mark.parametrize(
    ("shape", "rows", "batch"),
    [
        ([2, 3, 4], [2, 1], 1),
        ([2, 3, 4], [2, 2, 1], 1),
        ([2, 3, 4], [2, 5, 2], 1),
        ([2, 3, 4], [2, 3, 1], 2),
        ([2, 3, 4, 2], [2, 3, 2, 2, 1], 2),
        ([2, 3], [2, 0, 1], 1),
        ([0, 3], [0, 2, 1], 1),
    ],
)
@pytest.mark.parametrize("is_traced", [False, True])
def test_batches_of_gather_nd(shape, rows, batch, is_traced):
    rng = numpy.random.RandomState(1)
    params, indices = rng.rand(*shape), rng.randint(0, 2, rows)
    gather = lambda p, i: tf.gather_nd(p, i, batch_dims=batch)
    if is_traced:
        spec = tf.TensorSpec([None] * len(rows), tf.int64)
        gather = tf.function(gather, [tf.TensorSpec(None, tf.float64), spec])
    with tf.GradientTape() as tape:
        x = tf.Variable(params)
        made = gather(tf.convert_to_tensor(x), tf.constant(indices, tf.int64))
    size = [*rows[:-1], *shape[batch + rows[-1] :]]
    wanted = batched_nd(params, indices, batch) if numpy.prod(rows) else numpy.zeros(size)
    assert made.shape == size and made.numpy().tolist() == wanted.tolist()
    assert tf.reduce_sum(tape.gradient(made, x)).numpy() == numpy.prod(size)


def test_batch_dims_of_gather_nd_that_are_invalid():
    x = tf.ones([2, 3])
    with pytest.raises(ValueError, match=r"`batch_dims` = 2 must be less than rank\(`indices`\)"):
        tf.gather_nd(x, [[0]], batch_dims=2)
    with pytest.raises(ValueError, match=r"less than rank\(`params`\) = 2"):
        tf.gather_nd(x, [[[0]]], batch_dims=2)
    with pytest.raises(ValueError, match="negative batch_dims"):
        tf.gather_nd(x, [[0]], batch_dims=-1)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.gather_nd(x, [[0], [1], [2]], batch_dims=1)


@pytest.mark.parametrize(
    ("repeats", "axis"), [(2, None), ([1, 2], 0), ([1, 2], -1), (3, 1), ([2], 0), (range(4), None)]
)
def test_repeat(repeats, axis):
    x, repeats = numpy.array([[1, 2], [3, 4]], "i"), numpy.array(repeats, "i")
    want = numpy.repeat(x, repeats, axis)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.int32)] * 2)
    def repeat(x, repeats):
        return tf.repeat(x, repeats, axis)

    numpy.testing.assert_array_equal(tf.repeat(x, repeats, axis), want)
    numpy.testing.assert_array_equal(repeat(x, repeats), want)
    with pytest.raises(ValueError, match="out of range"):
        tf.repeat(x, 2, 5)


@pytest.mark.parametrize("is_traced", [False, True])
def test_policies_for_indices_out_of_range(is_traced):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    def gather(indices, **kwargs):
        call = lambda: tf.gather_nd(x, indices, bad_indices_policy="IGNORE", **kwargs)
        return (tf.function(call) if is_traced else call)().numpy().tolist()

    assert gather([[0, 1], [2, 0], [1, -1], [1, 0]]) == [2, 0, 0, 3]
    assert gather([[1], [5]]) == [[3, 4], [0, 0]]
    assert gather([[[1], [2]], [[0], [-1]]], batch_dims=1) == [[2, 0], [3, 0]]
    for policy in ("", "DEFAULT", "ERROR"):
        assert tf.gather_nd(x, [[1, 1]], bad_indices_policy=policy).numpy().tolist() == [4]
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.gather_nd(x, [[2, 1]], bad_indices_policy=policy)
    with pytest.raises(ValueError, match="no bad_indices_policy 'SKIP'"):
        tf.gather_nd(x, [[0]], bad_indices_policy="SKIP")
    with pytest.raises(ValueError, match="not supported for ragged gather"):
        tf.gather_nd(tf.ragged.constant([[1], []]), [[0]], bad_indices_policy="IGNORE")
