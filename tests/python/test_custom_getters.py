# SPDX-License-Identifier: Apache-2.0
"""test_custom_getters.py: custom getters of variables, partitioned variables, switch and merge."""

import functools

import numpy
import pytest
from conftest import run_once

import situ.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")
run = functools.partial(run_once, begin=True)


def test_getters_of_scopes_wrap_each_other():
    asked = []

    def twice(getter, name, *args, **kwargs):
        asked.append((name, kwargs["trainable"], kwargs["reuse"]))
        return getter(name, *args, **kwargs) * 2

    with tf.variable_scope("a", custom_getter=twice):
        with tf.variable_scope("b", custom_getter=lambda getter, *a, **k: getter(*a, **k) + 1):
            x = tf.get_variable("x", [2], initializer=tf.ones_initializer())
    assert asked == [("a/b/x", True, False)]
    assert run(x).tolist() == [3, 3]
    y = tf.get_variable("y", initializer=5.0, custom_getter=twice)
    assert run(y) == 10


def test_a_getter_gives_moving_averages():
    ema = tf.train.ExponentialMovingAverage(0.5)

    def average(getter, name, *args, **kwargs):
        return ema.average(getter(name, *args, **kwargs))

    def net(reuse=None, getter=None):
        with tf.variable_scope("net", reuse=reuse, custom_getter=getter):
            return tf.layers.dense(tf.ones([1, 2]), 1, kernel_initializer=tf.ones_initializer())

    now = net()
    kernel = tf.trainable_variables()[0]
    update = ema.apply(tf.trainable_variables())
    slow = net(True, average)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(kernel.assign([[3.0], [3.0]]))
        session.run(update)
        assert [v.item() for v in session.run([now, slow])] == [6, 4]


def test_variables_in_parts():
    table = tf.get_variable(
        "table",
        [5, 2],
        partitioner=tf.fixed_size_partitioner(2),
        initializer=tf.constant_initializer(1.0),
    )
    assert [v.op.name for v in table] == ["table/part_0", "table/part_1"]
    assert [v.shape.as_list() for v in table] == [[3, 2], [2, 2]] and table.shape == [5, 2]
    rows = tf.nn.embedding_lookup(table, [0, 4], partition_strategy="div")
    step = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(rows))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(tf.convert_to_tensor(table)).tolist() == [
            [0, 0],
            [1, 1],
            [1, 1],
            [1, 1],
            [0, 0],
        ]
        assert session.run(table * 2.0).sum() == 12
    with tf.variable_scope("", reuse=True):
        again = tf.get_variable("table", [5, 2], partitioner=tf.fixed_size_partitioner(2))
    assert list(again) == list(table)


def test_partitioners():
    assert tf.variable_axis_size_partitioner(16)(shape=[10, 2], dtype=tf.float32) == [5, 1]
    assert tf.min_max_variable_partitioner(4, min_slice_size=16)(
        shape=[10, 1], dtype=tf.float32
    ) == [3, 1]


def test_merge_takes_the_live_input():
    from situ._src.ops import control_flow_ops

    x, which = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [])
    merged, number = control_flow_ops.merge(
        [control_flow_ops.switch(x, tf.equal(which, i))[1] * (i + 1.0) for i in range(3)]
    )
    slope = tf.gradients(merged, x)[0]
    with tf.Session() as session:
        for i in range(3):
            value, n, d = session.run([merged, number, slope], {x: [1, 2], which: i})
            assert numpy.array_equal(value, [i + 1, 2 * i + 2]) and n == i and d[0] == i + 1
