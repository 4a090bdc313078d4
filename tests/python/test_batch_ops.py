# SPDX-License-Identifier: Apache-2.0
"""test_batch_ops.py: Batch, Unbatch, UnbatchGrad and tf.nondifferentiable_batch_function."""

import threading

import pytest

import situ as tf

RULES = dict(num_batch_threads=1, max_batch_size=4, grad_timeout_micros=0)


def together(function, *arguments):
    """Calls a function in one thread per argument; returns the results by argument."""
    results = {}

    def work(value):
        results[value] = function(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def test_one_call_gets_the_batch():
    def call(value):
        batched, index, number = tf.raw_ops.Batch(
            in_tensors=[tf.constant([value, value])],
            batch_timeout_micros=20_000_000,
            shared_name="test_one_call",
            **RULES,
        )
        return batched[0].numpy().tolist(), index.numpy().tolist(), int(number)

    results = together(call, 1, 2)
    full = [r for r in results.values() if r[0]]
    empty = [r for r in results.values() if not r[0]]
    assert len(full) == len(empty) == 1
    assert sorted(full[0][0]) == [1, 1, 2, 2] and empty[0][1] == []
    assert [row[1:] for row in full[0][1]] == [[0, 2], [2, 4]]
    assert {row[0] for row in full[0][1]} == {r[2] for r in results.values()}


def test_incomplete_batches_are_padded():
    batched, index, _ = tf.raw_ops.Batch(
        in_tensors=[tf.constant([5.0])],
        batch_timeout_micros=1000,
        allowed_batch_sizes=[2, 4],
        **RULES,
    )
    assert batched[0].numpy().tolist() == [5, 5] and index.numpy()[0, 1:].tolist() == [0, 1]


def test_wrong_batches():
    common = dict(batch_timeout_micros=1000, **RULES)
    with pytest.raises(tf.errors.InvalidArgumentError, match="equal 0th-dimension size"):
        tf.raw_ops.Batch(in_tensors=[tf.ones([1]), tf.ones([2])], **common)
    with pytest.raises(tf.errors.InvalidArgumentError, match="larger than maximum"):
        tf.raw_ops.Batch(in_tensors=[tf.ones([5])], **common)
    with pytest.raises(tf.errors.InvalidArgumentError, match="monotonically increasing"):
        tf.raw_ops.Batch(in_tensors=[tf.ones([1])], allowed_batch_sizes=[4, 2], **common)


def test_unbatch():
    index = tf.constant([[7, 0, 1], [8, 1, 3]], tf.int64)
    rows = tf.raw_ops.Unbatch(
        batched_tensor=tf.constant([1, 2, 3]),
        batch_index=index,
        id=tf.constant(8, tf.int64),
        timeout_micros=1000,
        shared_name="test_unbatch",
    )
    assert rows.numpy().tolist() == [2, 3]
    none = tf.zeros([0, 3], tf.int64)
    rows = tf.raw_ops.Unbatch(
        batched_tensor=tf.constant([], tf.int32),
        batch_index=none,
        id=tf.constant(7, tf.int64),
        timeout_micros=1000,
        shared_name="test_unbatch",
    )
    assert rows.numpy().tolist() == [1]
    with pytest.raises(tf.errors.DeadlineExceededError, match="did not arrive"):
        tf.raw_ops.Unbatch(
            batched_tensor=tf.constant([], tf.int32),
            batch_index=none,
            id=tf.constant(9, tf.int64),
            timeout_micros=1000,
            shared_name="test_unbatch",
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match="Input id should be scalar"):
        tf.raw_ops.Unbatch(
            batched_tensor=tf.constant([1]),
            batch_index=index,
            id=tf.constant([1], tf.int64),
            timeout_micros=50,
        )


def test_gradients_of_unbatch_are_joined():
    index = tf.constant([[7, 0, 1], [8, 1, 3]], tf.int64)
    none = tf.zeros([0, 3], tf.int64)
    batch, empty = tf.constant([1.0, 2.0, 3.0]), tf.constant([])

    def call(number):
        return (
            tf.raw_ops.UnbatchGrad(
                original_input=batch if number == 8 else empty,
                batch_index=index if number == 8 else none,
                grad=tf.fill([number - 6], float(number)),
                id=tf.constant(number, tf.int64),
                shared_name="test_gradients",
            )
            .numpy()
            .tolist()
        )

    assert together(call, 7, 8) == {7: [], 8: [7, 8, 8]}
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.raw_ops.UnbatchGrad(
            original_input=batch, batch_index=index, grad=batch, id=tf.constant([1], tf.int64)
        )


def test_decorated_functions():
    sizes = []

    @tf.nondifferentiable_batch_function(1, 4, 20_000_000)
    def double(x):
        tf.py_function(lambda n: sizes.append(int(n)), [tf.shape(x)[0]], [])
        return {"twice": 2 * x}

    results = together(lambda v: double(tf.constant([v, v]))["twice"].numpy().tolist(), 1, 2)
    assert results == {1: [2, 2], 2: [4, 4]} and sorted(sizes) == [0, 4]
    with pytest.raises(ValueError, match="supposed to be Tensors"):
        double(3)


def test_batches_of_a_session():
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:

        @tf.nondifferentiable_batch_function(1, 2, 20_000_000)
        def add(x):
            return tf.reshape(x, [-1]) + 1

        x = v1.placeholder(tf.int32, [1, 1])
        y = add(x)
        results = together(lambda v: session.run(y, {x: [[v]]}).tolist(), 1, 2)
    assert results == {1: [2], 2: [3]}


def test_calls_with_different_numbers_of_tensors_do_not_join():
    results = []

    def call(tensors):
        try:
            tf.raw_ops.Batch(
                in_tensors=tensors,
                num_batch_threads=1,
                max_batch_size=4,
                batch_timeout_micros=200000,
                grad_timeout_micros=0,
                shared_name="different_numbers",
            )
            results.append("")
        except tf.errors.InvalidArgumentError as error:
            results.append(str(error))

    one = tf.ones([1, 2])
    threads = [threading.Thread(target=call, args=(tensors,)) for tensors in ([one], [one, one])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert min(results) == ""
    assert "must have the same number of tensors" in max(results)


def test_empty_batches_are_not_padded():
    batched, index, _ = tf.raw_ops.Batch(
        in_tensors=[tf.zeros([0, 2])],
        num_batch_threads=1,
        max_batch_size=4,
        batch_timeout_micros=1000,
        grad_timeout_micros=0,
        allowed_batch_sizes=[2, 4],
    )
    assert batched[0].shape == [0, 2]
    assert index.shape == [1, 3]


def test_functions_of_the_module():
    from situ._src.ops import batch_ops

    def call(value):
        batched, index, number = batch_ops.batch(
            [tf.constant([value])], 1, 2, 20_000_000, 0, shared_name="of_the_module"
        )
        return batch_ops.unbatch(
            batched[0] + 1, index, number, 20_000_000, shared_name="rows_of_the_module"
        )

    results = together(call, 3, 5)
    assert {value: result.numpy().tolist() for value, result in results.items()} == {3: [4], 5: [6]}
