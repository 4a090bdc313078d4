# SPDX-License-Identifier: Apache-2.0
"""test_sync_replicas.py: tf.train.SyncReplicasOptimizer: steps with the mean of some gradients."""

import threading

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


class Workers:
    """Workers of one process: threads that run the training operation of one session, and the
    queue runner of the chief."""

    def __init__(self, session, sync, tokens=-1):
        self.session, self.coordinator = session, tf.train.Coordinator()
        session.run(tf.global_variables_initializer())
        session.run(sync.chief_init_op)
        session.run(sync.get_init_tokens_op(tokens))
        sync.get_chief_queue_runner().create_threads(session, self.coordinator, start=True)

    def run(self, train, *feeds):
        """Runs steps at the same time."""
        threads = [threading.Thread(target=self.session.run, args=(train, f)) for f in feeds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def test_a_step_has_the_mean_of_all_workers():
    sync, train, weight, slope, step = build(tf.train.GradientDescentOptimizer(0.1), 3)
    with tf.Session() as session:
        workers = Workers(session, sync, 0)
        for values in ((1.0, 2.0, 6.0), (3.0, 3.0, 3.0)):
            workers.run(train, *[{slope: value} for value in values])
        assert session.run(step) == 2
        assert session.run(weight) == pytest.approx(2.4)


def test_a_worker_waits_for_the_others():
    sync, train, weight, slope, step = build(tf.train.GradientDescentOptimizer(0.1), 2)
    with tf.Session() as session:
        workers = Workers(session, sync, 0)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(train, {slope: 1.0}, options=tf.RunOptions(timeout_in_ms=300))
        assert session.run([weight, step]) == [3.0, 0]
        workers.run(train, {slope: 3.0})  # its gradient makes two
        assert session.run(step) == 1 and session.run(weight) == pytest.approx(2.8)


@pytest.mark.parametrize("count", [1, 2])
def test_adam_sees_the_mean(count):
    sync, train, weight, slope, _ = build(tf.train.AdamOptimizer(0.1), count)
    plain = tf.Variable(3.0)
    alone = tf.train.AdamOptimizer(0.1).minimize(plain * slope)
    with tf.Session() as session:
        workers = Workers(session, sync, 0)
        for value in (1.0, 2.0, 3.0):
            workers.run(train, *[{slope: value}] * count)
            session.run(alone, {slope: value})
        assert session.run(weight) == pytest.approx(session.run(plain))


def test_sparse_gradients_and_averages():
    step = tf.train.get_or_create_global_step()
    table = tf.Variable([[1.0], [2.0], [3.0]])
    rows, average = tf.placeholder(tf.int32, [None]), tf.train.ExponentialMovingAverage(0.5)
    sync = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(1.0), 2, 2, average, [table]
    )
    train = sync.minimize(tf.reduce_sum(tf.gather(table, rows)), global_step=step)
    with tf.Session() as session:
        workers = Workers(session, sync, 0)
        workers.run(train, {rows: [0, 1]}, {rows: [1]})
        assert session.run(table).tolist() == [[0.0], [1.0], [3.0]]
        done = average.average(table)
        while session.run(done).tolist() != [[0.5], [1.5], [3.0]]:
            pass  # the chief updates it after it has handed out the tokens


def test_hook_and_runner():
    sync, train, _, slope, step = build(tf.train.GradientDescentOptimizer(0.1), 1)
    hook = sync.make_session_run_hook(True)
    stop = tf.train.StopAtStepHook(last_step=4)
    with tf.train.MonitoredTrainingSession(hooks=[hook, stop]) as session:
        while not session.should_stop():
            session.run([train, step], {slope: 1.0})
            seen = session.run_step_fn(lambda step_context: step_context.session.run(step))
    assert seen >= 4


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
