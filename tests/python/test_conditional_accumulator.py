# SPDX-License-Identifier: Apache-2.0
"""test_conditional_accumulator.py: tf.ConditionalAccumulator and tf.SparseConditionalAccumulator.
The numbers are those of TensorFlow 2.21."""

import threading

import numpy as np
import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
@pytest.mark.parametrize("how, expected", [("MEAN", [3.0, 4.0]), ("SUM", [9.0, 12.0])])
def test_the_mean_of_a_step(dtype, how, expected):
    accumulator = tf.ConditionalAccumulator(dtype, [2], reduction_type=how)
    x = tf.placeholder(dtype, [2])
    add, mean = accumulator.apply_grad(x), accumulator.take_grad(3)
    assert mean.shape == [2] and mean.dtype == dtype
    with tf.Session() as session:
        for value in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]):
            session.run(add, {x: value})
        assert session.run(accumulator.num_accumulated()) == 3
        assert session.run(mean).tolist() == expected
        assert session.run(accumulator.num_accumulated()) == 0


def test_stale_gradients_are_dropped():
    accumulator = tf.ConditionalAccumulator(tf.float32, [1])
    step, mean = tf.placeholder(tf.int64, []), accumulator.take_grad(1)
    add, count = accumulator.apply_grad([2.0], local_step=step), accumulator.num_accumulated()
    with tf.Session() as session:
        session.run(add, {step: 0})
        assert session.run(mean) == [2.0]  # begins step 1
        session.run(add, {step: 0})
        assert session.run(count) == 0
        session.run(accumulator.set_global_step(5))
        session.run([accumulator.apply_grad([9.0], local_step=4)])
        session.run(add, {step: 6})
        assert session.run(count) == 1 and session.run(mean) == [2.0]


def test_taking_waits():
    accumulator = tf.ConditionalAccumulator(tf.float32, [])
    x = tf.placeholder(tf.float32, [])
    add, mean, found = accumulator.apply_grad(x), accumulator.take_grad(2), []
    with tf.Session() as session:
        taker = threading.Thread(target=lambda: found.append(session.run(mean)))
        taker.start()
        session.run(add, {x: 1.0})
        assert not found
        session.run(add, {x: 2.0})
        taker.join()
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(mean, options=tf.RunOptions(timeout_in_ms=100))
    assert found == [1.5]


def test_closing_the_session_cancels():
    session, mean = tf.Session(), tf.ConditionalAccumulator(tf.float32, []).take_grad(1)
    begun, found = threading.Event(), []

    def take():
        begun.set()
        with pytest.raises((tf.errors.OpError, RuntimeError), match="cancelled|closed"):
            session.run(mean)
        found.append(True)

    taker = threading.Thread(target=take)
    taker.start()
    begun.wait()
    session.close()
    taker.join()
    assert found


def test_both_in_one_run():
    accumulator = tf.ConditionalAccumulator(tf.float32, [])
    mean, add = accumulator.take_grad(1), accumulator.apply_grad(4.0)
    with tf.Session() as session:
        assert session.run([mean, add])[0] == 4.0


def test_shapes_and_types_of_dense_gradients():
    accumulator = tf.ConditionalAccumulator(tf.float32, [None, 2])
    x = tf.placeholder(tf.float32)
    add = accumulator.apply_grad(x)
    with pytest.raises(ValueError, match="incompatible"):
        accumulator.apply_grad([1.0])
    with pytest.raises((ValueError, TypeError), match="MEAN"):
        tf.ConditionalAccumulator(tf.float32, [], reduction_type="MAX")
    with pytest.raises((ValueError, TypeError), match="int32"):
        tf.ConditionalAccumulator(tf.int32, [])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected \[\?,2\], got \[1\]"):
            session.run(add, {x: [1.0]})
        session.run(add, {x: [[1.0, 2.0]]})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[1,2\], got \[2,2\]"):
            session.run(add, {x: [[1.0, 2.0], [3.0, 4.0]]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="positive, but got 0"):
            session.run(accumulator.take_grad(0))
        sparse = tf.SparseConditionalAccumulator(tf.float32)
        wrong = tf.raw_ops.ResourceAccumulatorTakeGradient(
            handle=sparse.accumulator_ref, num_required=1, dtype=tf.float32
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match="for sparse gradients"):
            session.run(wrong)


@pytest.mark.parametrize(
    "shape, expected", [(None, [-1, 2]), ([3, 2], [3, 2]), ([None, 2], [-1, 2]), ([3], [3, 2])]
)
def test_the_mean_of_sparse_gradients(shape, expected):
    accumulator = tf.SparseConditionalAccumulator(tf.float32, shape)
    i, v = tf.placeholder(tf.int64), tf.placeholder(tf.float32)
    add, mean = accumulator.apply_grad(i, v), accumulator.take_indexed_slices_grad(1)
    with tf.Session() as session:
        session.run(add, {i: [0, 2], v: [[1, 1], [2, 2]]})
        session.run(add, {i: [2, 1], v: [[4, 4], [3, 3]]})
        found = session.run(mean)
    assert found.indices.tolist() == [0, 1, 2]
    assert found.values.tolist() == [[1, 1], [3, 3], [3, 3]]
    assert found.dense_shape.tolist() == expected


def test_indices_that_repeat():
    """Rows of one gradient are added and count once."""
    accumulator = tf.SparseConditionalAccumulator(tf.float64)
    with tf.Session() as session:
        for indices, values in (([3, 1, 3], [1.0, 5.0, 2.0]), ([1], [7.0]), ([], [])):
            session.run(accumulator.apply_grad(np.array(indices, np.int64), np.array(values)))
        indices, values, shape = session.run(accumulator.take_grad(3))
    assert (indices.tolist(), values.tolist(), shape.tolist()) == ([1, 3], [6.0, 3.0], [-1])


@pytest.mark.parametrize(
    "indices, values, shape, text",
    [
        ([[0]], [1.0], None, "Input indices should be vector"),
        ([0], 1.0, None, "Values cannot be 0-dimensional"),
        ([0, 1], [[[1.0]]], None, "Expected 2 non-empty input values, got 1"),
        ([0], [[1.0, 2.0]], [2, 2], "expected shape rank at least 3, got 2"),
        ([0], np.ones([1, 3, 2]), [2, 3, 2], "expected shape dim 1 to be 2, got 3"),
        ([3], np.ones([1, 2, 2]), None, "index of slice 0 exceeded .* index is 3 exceeded 2"),
        ([-1], np.ones([1, 2, 2]), None, "index of slice 0 is negative"),
        ([0, 1], np.ones([2, 2]), None, "expected values rank at least 3, got 2"),
        ([0], np.ones([1, 3, 2]), None, "expected values dim 1 to be 2, got 3"),
    ],
)
def test_shapes_of_sparse_gradients(indices, values, shape, text):
    accumulator = tf.SparseConditionalAccumulator(tf.float32, [2, 2, None])
    i, v = tf.placeholder(tf.int64), tf.placeholder(tf.float32)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(accumulator.apply_grad(i, v, shape), {i: indices, v: values})
        good = accumulator.apply_grad(i, v)
        session.run(good, {i: [0], v: np.ones([1, 2, 2, 2])})
        with pytest.raises(tf.errors.InvalidArgumentError, match="values rank 4, got 3"):
            session.run(good, {i: [0], v: np.ones([1, 2, 2])})
        with pytest.raises(tf.errors.InvalidArgumentError, match="values dim 3 to be 2, got 3"):
            session.run(good, {i: [0], v: np.ones([1, 2, 2, 3])})


def test_an_accumulator_is_shared_by_name():
    one, other = (tf.ConditionalAccumulator(tf.float32, [], "shared") for _ in range(2))
    with tf.Session() as session:
        session.run(one.apply_grad(2.0))
        assert session.run(other.take_grad(1)) == 2.0
