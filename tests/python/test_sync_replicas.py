# SPDX-License-Identifier: Apache-2.0
"""test_sync_replicas.py: tf.train.SyncReplicasOptimizer: steps with the mean of some gradients."""

import pytest

import situ.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def build(optimizer, count):
    step = tf.train.get_or_create_global_step()
    weight, slope = tf.Variable(3.0), tf.placeholder(tf.float32, [])
    sync = tf.train.SyncReplicasOptimizer(optimizer, count, total_num_replicas=count)
    return sync, sync.minimize(weight * slope, global_step=step), weight, slope, step


def test_the_last_gradient_makes_the_step():
    sync, train, weight, slope, step = build(tf.train.GradientDescentOptimizer(0.1), 3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(sync.get_init_tokens_op())
        seen = []
        for value in (1.0, 2.0, 6.0, 3.0, 3.0, 3.0, 9.0):
            session.run(train, {slope: value})
            seen.append([round(float(x), 5) for x in session.run([weight, step])])
    assert seen == [[3.0, 0], [3.0, 0], [2.7, 1], [2.7, 1], [2.7, 1], [2.4, 2], [2.4, 2]]


@pytest.mark.parametrize("count", [1, 2])
def test_adam_sees_the_mean(count):
    _, train, weight, slope, _ = build(tf.train.AdamOptimizer(0.1), count)
    plain = tf.Variable(3.0)
    alone = tf.train.AdamOptimizer(0.1).minimize(plain * slope)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in (1.0, 2.0, 3.0):
            for _ in range(count):
                session.run(train, {slope: value})
            session.run(alone, {slope: value})
        assert session.run(weight) == pytest.approx(session.run(plain))


def test_hook_and_runner():
    sync, train, _, slope, step = build(tf.train.GradientDescentOptimizer(0.1), 1)
    hook = sync.make_session_run_hook(True)
    tf.train.add_queue_runner(sync.get_chief_queue_runner())
    stop = tf.train.StopAtStepHook(last_step=4)
    with tf.train.MonitoredTrainingSession(hooks=[hook, stop]) as session:
        while not session.should_stop():
            seen = session.run([train, step], {slope: 1.0})[1]
    assert seen == 4


def test_what_is_needed_before():
    sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 2)
    hook = sync.make_session_run_hook(True)  # before apply_gradients, as in TensorFlow
    with pytest.raises(ValueError, match="before using the hook"):
        hook.begin()
    with pytest.raises(ValueError, match="after apply_gradients"):
        sync.get_init_tokens_op()
    with pytest.raises(ValueError, match="Global step is required"):
        sync.minimize(tf.Variable(1.0) * 2.0)


def test_too_few_tokens():
    step = tf.train.get_or_create_global_step()
    sync = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 5, 2)
    sync.minimize(tf.Variable(1.0) * 2.0, global_step=step)
    for tokens in (-1, 3, 9):
        sync.get_init_tokens_op(tokens)
    with pytest.raises(ValueError, match=r"first step: 2 \(given\) vs 3 \(needed\)"):
        sync.get_init_tokens_op(2)
    with pytest.raises(ValueError, match="Too few tokens"):
        sync.make_session_run_hook(True, num_tokens=2).begin()
    sync.make_session_run_hook(False, num_tokens=2).begin()


def test_a_run_that_fails_gives_the_mutex_back():
    mutex = tf.raw_ops.MutexV2()
    lock = tf.raw_ops.MutexLock(mutex=mutex)
    value = tf.placeholder(tf.float32, [])
    with tf.control_dependencies([lock]):
        checked = tf.check_numerics(value, "no number")
    with tf.control_dependencies([checked]):
        done = tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
    quick = tf.ConfigProto(operation_timeout_in_ms=60000)  # where a lock is lost
    with tf.Session(config=quick) as session:
        for number in (1.0, float("nan"), 2.0, float("nan"), 3.0):
            if number == number:
                session.run(done, {value: number})
            else:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(done, {value: number})
