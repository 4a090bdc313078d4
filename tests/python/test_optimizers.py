# SPDX-License-Identifier: Apache-2.0
"""test_optimizers.py: the optimizers of graph style against TensorFlow's figures; slots, global
step, schedules, moving averages."""

import json
import os

import numpy as np
import pytest

import situ.compat.v1 as tf

with open(
    os.path.join(os.path.dirname(__file__), "..", "golden", "optimizers.json"), encoding="utf-8"
) as _file:
    GOLDEN = json.load(_file)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def _of(part, key):
    return pytest.mark.parametrize(
        "case", GOLDEN[part], ids=[f"{c[key]}{i}" for i, c in enumerate(GOLDEN[part])]
    )


@_of("graph", "class")
def test_updates_are_tensorflows(case):
    w = tf.get_variable("w", initializer=np.array(GOLDEN["begin"], "f"))
    step = tf.train.create_global_step()
    grad = tf.placeholder(tf.float32, [5])
    optimizer = getattr(tf.train, case["class"])(**case["words"])
    train = optimizer.apply_gradients([(grad, w)], global_step=step)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for g, want in zip(GOLDEN["gradients"], case["values"]):
            sess.run(train, {grad: g})
            np.testing.assert_allclose(sess.run(w), want, rtol=2e-5, atol=2e-6)
        assert [v.name for v in tf.global_variables()] == case["names"]
        for variable, want in zip(tf.global_variables(), case["last"]):
            np.testing.assert_allclose(sess.run(variable), want, rtol=2e-5, atol=2e-6)


@_of("schedules", "function")
def test_schedules_are_tensorflows(case):
    step = tf.placeholder(tf.int64, [])
    rate = getattr(tf.train, case["function"])(*case["args"], step, **case["words"])
    with tf.Session() as sess:
        have = [sess.run(rate, {step: i}) for i in range(9)]
    np.testing.assert_allclose(have, case["values"], rtol=1e-5, atol=1e-7)


def test_piecewise_constant():
    step = tf.placeholder(tf.int64, [])
    rate = tf.train.piecewise_constant(step, [2, 4], [1.0, 0.5, 0.1])
    with tf.Session() as sess:
        have = [sess.run(rate, {step: i}) for i in range(6)]
    np.testing.assert_allclose(have, [1, 1, 1, 0.5, 0.5, 0.1])


def test_slots_are_beside_their_variable():
    with tf.device("/cpu:1"):
        w = tf.get_variable("w", [3])
    optimizer = tf.train.AdamOptimizer()
    train = optimizer.apply_gradients([(tf.ones([3]), w)])
    m, v = optimizer.get_slot(w, "m"), optimizer.get_slot(w, "v")
    assert (m.name, v.name) == ("w/Adam:0", "w/Adam_1:0")
    assert optimizer.get_slot_names() == ["m", "v"]
    assert optimizer.get_slot(w, "x") is None
    assert b"loc:@w" in m.op.colocation_groups()
    assert m not in tf.trainable_variables() and m in tf.global_variables()
    assert train.name == "Adam" and train in tf.get_collection(tf.GraphKeys.TRAIN_OP)
    assert m.device == "/device:CPU:1"


def test_names_of_an_update():
    w = tf.Variable([1.0], name="w")
    step = tf.train.get_or_create_global_step()
    assert tf.train.get_or_create_global_step() is step
    tf.train.MomentumOptimizer(0.1, 0.9).apply_gradients([(tf.constant([1.0]), w)], step)
    names = {o.name for o in tf.get_default_graph().get_operations()}
    assert {
        "Momentum",
        "Momentum/update",
        "Momentum/learning_rate",
        "Momentum/momentum",
        "Momentum/update_w/ApplyMomentum",
        "w/Momentum",
        "w/Momentum/Assign",
        "w/Momentum/read",
        "w/Momentum/Initializer/zeros",
    } <= names


def test_global_step_counts_and_is_found():
    assert tf.train.get_global_step() is None
    step = tf.train.create_global_step()
    assert step.name == "global_step:0" and step.dtype.base_dtype == tf.int64
    with pytest.raises(ValueError, match="already exists"):
        tf.train.create_global_step()
    w = tf.Variable(1.0)
    train = tf.train.GradientDescentOptimizer(0.5).apply_gradients([(1.0, w)], step)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        sess.run(train)
        assert tf.train.global_step(sess, step) == 2
        assert sess.run(w) == 0


def test_what_cannot_be_optimized():
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    w = tf.Variable([1.0])
    with pytest.raises(ValueError, match="No variables provided"):
        optimizer.apply_gradients([])
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.apply_gradients([(None, w)])
    with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
        optimizer.apply_gradients([(tf.constant(1.0), tf.constant(1.0))])
    with pytest.raises(TypeError, match="Variable must be a tf.Variable"):
        optimizer.apply_gradients([(tf.constant(1.0), 1.0)])
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
        optimizer.apply_gradients([(tf.ones([2]), w)])


def test_slot_before_initialization():
    w = tf.Variable([1.0], name="w")
    train = tf.train.MomentumOptimizer(0.1, 0.9).apply_gradients([(tf.constant([1.0]), w)])
    with tf.Session() as sess:
        sess.run(w.initializer)
        with pytest.raises(
            tf.errors.FailedPreconditionError,
            match="Attempting to use uninitialized value w/Momentum",
        ):
            sess.run(train)


def test_moving_average():
    w = tf.Variable([4.0], name="w")
    step = tf.train.get_or_create_global_step()
    averages = tf.train.ExponentialMovingAverage(0.9, step)
    bump = tf.assign_add(w, [1.0])
    with tf.control_dependencies([bump]):
        keep = averages.apply([w])
    assert averages.average(w).name == "w/ExponentialMovingAverage:0"
    assert averages.average_name(w) == "w/ExponentialMovingAverage"
    assert w in tf.moving_average_variables()
    restore = averages.variables_to_restore()
    assert restore["w/ExponentialMovingAverage"] is w and restore["global_step"] is step
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(keep)  # min(0.9, 1 / 10)
        np.testing.assert_allclose(sess.run(averages.average(w)), [4.9])


@pytest.mark.parametrize("debias, wanted", [(False, (0.3, 0.57)), (True, (3.0, 3.0))])
def test_moving_average_of_a_tensor_begins_at_0(debias, wanted):
    x = tf.placeholder(tf.float32, [], name="x")
    averages = tf.train.ExponentialMovingAverage(0.9, zero_debias=debias)
    keep = averages.apply([x])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for value in wanted:
            sess.run(keep, {x: 3.0})
            np.testing.assert_allclose(sess.run(averages.average(x)), value, rtol=1e-5)


def test_a_function_as_loss_finds_its_resource_variables(graph):
    v = tf.get_variable("v", initializer=2.0, use_resource=True)
    tf.get_variable("other", initializer=2.0, use_resource=True)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(lambda: v * v)
    assert [variable for _, variable in pairs] == [v]
    train = optimizer.apply_gradients(pairs)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        assert sess.run(v) == -2.0


def test_gradients_of_tensors_cannot_be_applied(graph):
    x = tf.constant(1.0)
    optimizer = tf.train.GradientDescentOptimizer(3.0)
    pairs = optimizer.compute_gradients(lambda: x * x, [x])
    with tf.Session() as sess:
        assert sess.run(pairs[0][0]) == 2.0
    with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
        optimizer.apply_gradients(pairs)
