# SPDX-License-Identifier: Apache-2.0
"""test_resource_order.py: in a tf.function, operations on a queue run in program order."""

import situ as tf


def _queue():
    return tf.queue.FIFOQueue(10, [tf.float32], shapes=[()])


def test_operations_on_a_queue():
    q = _queue()

    @tf.function
    def f(x):
        q.enqueue(x)
        first = q.size()
        q.enqueue(x + 1)
        return first, q.size(), q.dequeue(), q.size(), q.dequeue(), q.size()

    for _ in range(3):
        assert [t.numpy() for t in f(tf.constant(1.0))] == [1, 2, 1, 1, 2, 0]


def test_results_that_nothing_uses():
    q = _queue()
    q.enqueue_many([[1.0, 2.0, 3.0]])

    @tf.function
    def f():
        q.dequeue()
        q.dequeue()

    f()
    assert q.size().numpy() == 1


def test_two_queues_are_independent():
    one, two = _queue(), _queue()

    @tf.function
    def f():
        one.enqueue(1.0)
        two.enqueue(one.dequeue() + 1)
        return two.dequeue(), one.size(), two.size()

    assert [t.numpy() for t in f()] == [2, 0, 0]


def test_branches_and_loops():
    q = _queue()

    @tf.function
    def f(p):
        q.enqueue(1.0)
        if p:
            q.enqueue(2.0)
            q.enqueue(3.0)
        size = q.size()
        for _ in tf.range(2):
            q.enqueue(4.0)
        return size, q.size()

    assert [t.numpy() for t in f(tf.constant(True))] == [3, 5]
    assert [t.numpy() for t in f(tf.constant(False))] == [6, 8]
