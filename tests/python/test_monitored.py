# SPDX-License-Identifier: Apache-2.0
"""test_monitored.py: monitored sessions and their hooks; Supervisor; Coordinator."""

import glob
import json
import os
import re
import threading
import time

import numpy as np
import pytest

import situ.compat.v1 as tf
from situ._src.summary.file_writer import FileWriterCache


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made
    FileWriterCache.clear()


def _model():
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(w * w, name="loss")
    tf.summary.scalar("loss", loss)
    train = tf.train.GradientDescentOptimizer(0.1).apply_gradients([(2.0 * w, w)], step)
    return step, w, loss, train


class Seen(tf.train.SessionRunHook):
    """Notes what it is told."""

    def __init__(self, fetches):
        self.fetches, self.calls, self.values = fetches, [], []

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("create")

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self.fetches)

    def after_run(self, run_context, run_values):
        self.values.append(run_values.results)

    def end(self, session):
        self.calls.append("end")


def test_hooks_are_asked(tmp_path):
    step, _, loss, train = _model()
    seen = Seen({"loss": loss})
    with tf.train.MonitoredTrainingSession(
        hooks=[seen, tf.train.StopAtStepHook(last_step=3)]
    ) as sess:
        assert sess.graph is tf.get_default_graph() and sess.graph.finalized
        while not sess.should_stop():
            assert sess.run([train, step])[0] is None
    assert seen.calls == ["begin", "create", "end"]
    assert len(seen.values) == 3 and "loss" in seen.values[0]
    assert sess.should_stop()


def test_goes_on_from_the_last_checkpoint(tmp_path):
    for last in (3, 5):
        with tf.Graph().as_default():
            step, w, _, train = _model()
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path),
                save_checkpoint_steps=2,
                save_summaries_steps=1,
                hooks=[tf.train.StopAtStepHook(last_step=last)],
            ) as sess:
                while not sess.should_stop():
                    _, value, at = sess.run([train, w, step])
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-5")
    np.testing.assert_allclose(tf.train.load_variable(str(tmp_path), "w"), [0.8**5] * 2, rtol=1e-6)
    FileWriterCache.clear()
    events = [e for f in glob.glob(str(tmp_path / "events*")) for e in tf.train.summary_iterator(f)]
    assert {e.step for e in events for v in e.summary.value if v.tag == "loss_1"} >= {1, 2, 4}


@pytest.mark.parametrize("wanted", [True, False])
def test_writes_its_graph_beside_the_checkpoints(tmp_path, wanted):
    with tf.Graph().as_default():
        _, w, _, train = _model()
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path / "new"), save_graph_def=wanted
        ) as sess:
            sess.run(train)
    path = tmp_path / "new" / "graph.pbtxt"
    assert path.exists() == wanted
    if wanted:
        assert f'name: "{w.op.name}"' in path.read_text()


def test_nan_stops_the_training():
    step, _, _, train = _model()
    bad = tf.log(tf.constant(-1.0))
    with pytest.raises(tf.train.NanLossDuringTrainingError):
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(bad)]) as sess:
            sess.run(train)
    with tf.Graph().as_default():
        _, _, _, train = _model()
        bad = tf.log(tf.constant(-1.0))
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(bad, False)]) as sess:
            sess.run(train)
            assert sess.should_stop()


def test_out_of_range_ends_the_block():
    _model()
    with tf.train.SingularMonitoredSession() as sess:
        assert sess.raw_session() is not None
        raise tf.errors.OutOfRangeError(None, None, "no more")
    with pytest.raises(RuntimeError, match="already closed"):
        sess.run("loss:0")


def test_other_errors_pass():
    _model()
    seen = Seen("loss:0")
    with pytest.raises(KeyError), tf.train.MonitoredSession(hooks=[seen]) as sess:
        sess.run("loss:0")
        raise KeyError("mine")
    assert seen.calls == ["begin", "create"]


def test_a_lost_session_is_made_again(tmp_path):
    step, _, _, train = _model()
    failures = [tf.errors.UnavailableError(None, None, "gone")]

    class Breaks(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            if failures:
                raise failures.pop()

    creator = tf.train.ChiefSessionCreator(checkpoint_dir=str(tmp_path))
    with tf.train.MonitoredSession(creator, hooks=[Breaks()]) as sess:
        sess.run(train)
        assert sess.run(step) == 1


def test_scaffold_runs_init_fn():
    w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    scaffold = tf.train.Scaffold(init_fn=lambda s, sess: w.load(np.array([3.0, 4.0], "f"), sess))
    with tf.train.SingularMonitoredSession(scaffold=scaffold) as sess:
        assert sess.run(w).tolist() == [3, 4]
    assert scaffold.summary_op is None and scaffold.saver is not None


def test_model_that_is_not_ready():
    tf.get_variable("w", [2])
    with pytest.raises(RuntimeError, match="Variables not initialized: w"):
        tf.train.MonitoredSession(
            tf.train.ChiefSessionCreator(tf.train.Scaffold(init_op=tf.no_op()))
        )


def test_final_ops_and_feed_hook():
    x = tf.placeholder(tf.float32, [])
    w = tf.Variable(0.0)
    add = tf.assign_add(w, x)
    final = tf.train.FinalOpsHook(w)
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(lambda: {x: 2.0}), final]) as sess:
        sess.run(add)
        sess.run(add)
    assert final.final_ops_values == 4


def test_logging_hook(capsys):
    _, _, loss, train = _model()
    tf.logging.set_verbosity(tf.logging.INFO)
    with tf.train.MonitoredSession(
        hooks=[tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=2)]
    ) as sess:
        for _ in range(3):
            sess.run(train)
    tf.logging.set_verbosity(tf.logging.WARN)
    lines = [line for line in capsys.readouterr().err.splitlines() if "loss = " in line]
    assert len(lines) == 2 and lines[0].startswith("INFO:tensorflow:loss = ")


def test_timer():
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    assert timer.should_trigger_for_step(1)
    timer.update_last_triggered_step(1)
    assert not timer.should_trigger_for_step(3) and timer.should_trigger_for_step(4)
    with pytest.raises(ValueError):
        tf.train.SecondOrStepTimer()


def test_supervisor(tmp_path):
    step, _, _, train = _model()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    with supervisor.managed_session() as sess:
        for _ in range(4):
            if not supervisor.should_stop():
                sess.run(train)
        supervisor.saver.save(sess, supervisor.save_path, global_step=step)
    assert os.path.exists(str(tmp_path / "model.ckpt-4.index"))


def _events(folder):
    """The kinds of the events of each file of a directory, in order."""
    files = sorted(glob.glob(f"{folder}/events*"), key=os.path.getctime)
    return [[e.WhichOneof("what") for e in tf.train.summary_iterator(f)] for f in files]


def test_a_supervisor_writes_its_events(tmp_path):
    step, _, loss, train = _model()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None, save_model_secs=0)
    summary = tf.get_default_graph().get_collection(tf.GraphKeys.SUMMARIES)[0]
    for _ in range(2):  # the second session begins another file
        with supervisor.managed_session(start_standard_services=False) as sess:
            supervisor.summary_computed(sess, sess.run(summary))
    graph = ["file_version", "graph_def", "meta_graph_def"]
    assert _events(tmp_path) == [[*graph, "summary", "session_log"]] * 2
    assert "_output_shapes" in (tmp_path / "graph.pbtxt").read_text()
    assert tf.get_default_graph().get_collection(tf.GraphKeys.READY_OP) == [supervisor.ready_op]


def test_standard_services_of_a_supervisor(tmp_path):
    tf.Variable([123], name="global_step")
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=1)
    sess = supervisor.prepare_or_wait_for_session()
    end = time.time() + 30
    while not glob.glob(f"{tmp_path}/model.ckpt-123.index") and time.time() < end:
        time.sleep(0.05)
    time.sleep(0.2)
    supervisor.stop()
    sess.close()
    with tf.Session() as sess:
        supervisor.saver.restore(sess, str(tmp_path / "model.ckpt-123"))
    ((first, *kinds),) = _events(tmp_path)
    assert first == "file_version" and kinds.count("session_log") == 3 and "summary" in kinds


def test_only_the_chief_writes():
    with tf.device("/cpu:0"):
        v = tf.Variable(1.0)
    supervisor = tf.train.Supervisor(is_chief=False, init_op=None)
    with tf.Session() as sess, pytest.raises(RuntimeError, match="Only chief"):
        supervisor.start_standard_services(sess)
    with tf.Session() as sess, pytest.raises(RuntimeError, match="requires a summary writer"):
        supervisor.summary_computed(sess, b"")
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must have their device set"):
        tf.Variable(1.0)
        tf.train.Supervisor(is_chief=False)
    assert v.device == "/device:CPU:0"


def test_a_training_loop_starts_again_after_an_abort(tmp_path):
    calls = []

    def step(sess, first, last):
        calls.append((first, last))
        if len(calls) == 2:
            raise tf.errors.AbortedError(None, None, "restarted")
        if len(calls) == 4:
            supervisor.request_stop()

    supervisor = tf.train.Supervisor(logdir=str(tmp_path))
    tf.train.basic_train_loop(supervisor, step, args=("a",), kwargs={"last": "b"})
    assert calls == [("a", "b")] * 4
    with pytest.raises(ZeroDivisionError):
        tf.train.basic_train_loop(supervisor, lambda sess: 1 // 0)


def test_a_worker_initializes_its_local_variables():
    local = tf.get_local_variable("here", initializer=3.0)
    worker = tf.train.WorkerSessionCreator(max_wait_secs=2)
    with worker.create_session() as sess:
        assert sess.run(local) == 3.0


def test_a_worker_waits_for_global_variables_before_its_local_init_op():
    shared = tf.get_variable("w", [], initializer=tf.ones_initializer())
    tf.Variable(shared + 1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])  # needs w
    with pytest.raises(tf.errors.DeadlineExceededError, match="not ready after waiting 0"):
        tf.train.WorkerSessionCreator(max_wait_secs=0).create_session()


def test_ready_for_local_init_op():
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    local = tf.Variable(w + 1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="here")
    ready = tf.report_uninitialized_variables()
    before = tf.report_uninitialized_variables(tf.global_variables())
    with pytest.raises(ValueError, match="you must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=before)
    manager = tf.train.SessionManager(local.initializer, ready, before)
    with pytest.raises(RuntimeError, match="ready for local_init.*not initialized: w"):
        manager.prepare_session("", init_op=tf.no_op())
    with manager.prepare_session("", init_op=w.initializer) as sess:
        assert sess.run(local) == 2.0
    supervisor = tf.train.Supervisor(ready_for_local_init_op=before, init_op=tf.no_op())
    with pytest.raises(RuntimeError, match="ready for local_init"):
        supervisor.prepare_or_wait_for_session()


def test_a_session_waits_for_a_checkpoint(tmp_path):
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    saver, init = tf.train.Saver(), tf.global_variables_initializer()
    local, seven = tf.Variable(5.0, collections=[tf.GraphKeys.LOCAL_VARIABLES]), w.assign(7.0)
    manager = tf.train.SessionManager(local.initializer, recovery_wait_secs=0.05)
    sess, done = manager.recover_session(
        "", saver, str(tmp_path), wait_for_checkpoint=True, max_wait_secs=0.2
    )
    assert not done and sess.run(local) == 5.0

    def save():
        time.sleep(0.3)
        with tf.Session(graph=w.graph) as other:
            other.run(seven)
            saver.save(other, str(tmp_path / "model"))

    thread = threading.Thread(target=save)
    thread.start()
    sess = manager.prepare_session(
        "", init, saver, str(tmp_path), wait_for_checkpoint=True, max_wait_secs=60
    )
    thread.join()
    assert sess.run(w) == 7.0
    with pytest.raises(ValueError, match="Can not provide both"):
        manager.prepare_session("", init, saver, str(tmp_path), str(tmp_path / "model"))


def test_local_init_run_options():
    seen, real = [], tf.Session.run

    class Noted(tf.Session):
        def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
            seen.append(options)
            return real(self, fetches, feed_dict, options, run_metadata)

    options = tf.RunOptions(timeout_in_ms=60000)
    manager = tf.train.SessionManager(tf.no_op(), local_init_run_options=options)
    with Noted() as sess:
        assert manager._local_init(sess) is None
    assert seen == [options]


def test_clean_stop_exceptions_of_a_coordinator():
    for given, clean in ((None, True), ([], False), ([ValueError], False)):
        coord = tf.train.Coordinator(clean_stop_exception_types=given)
        coord.request_stop(tf.errors.OutOfRangeError(None, None, "the end"))
        if clean:
            coord.join([])
        else:
            with pytest.raises(tf.errors.OutOfRangeError):
                coord.join([])


def test_coordinator_hands_on_an_error():
    coord = tf.train.Coordinator()

    def work():
        with coord.stop_on_exception():
            time.sleep(0.01)
            raise ValueError("of a thread")

    def wait():
        coord.wait_for_stop()

    threads = [threading.Thread(target=t) for t in (work, wait)]
    for thread in threads:
        thread.start()
    with pytest.raises(ValueError, match="of a thread"):
        coord.join(threads)
    assert coord.should_stop() and coord.joined


def test_uninitialized_variables():
    tf.get_variable("a", [2])
    b = tf.Variable(1.0, name="b")
    report = tf.report_uninitialized_variables()
    ready = tf.is_variable_initialized(b)
    with tf.Session() as sess:
        assert sorted(sess.run(report)) == [b"a", b"b"]
        assert not sess.run(ready)
        sess.run(b.initializer)
        assert sess.run([report, ready])[0].tolist() == [b"a"] and sess.run(ready)
        sess.run(tf.global_variables_initializer())
        assert len(sess.run(report)) == 0


def test_a_run_takes_options_and_tells_of_itself():
    _, _, loss, train = _model()
    seen, metadata = [], tf.RunMetadata()

    class Timed(tf.train.SessionRunHook):
        """Asks for a bound, and notes which options the run had."""

        def before_run(self, run_context):
            return tf.train.SessionRunArgs(loss, options=tf.RunOptions(timeout_in_ms=60000))

        def after_run(self, run_context, run_values):
            seen.append(
                (
                    run_values.options.trace_level,
                    run_values.options.timeout_in_ms,
                    len(run_values.run_metadata.step_stats.dev_stats),
                )
            )

    with tf.train.MonitoredTrainingSession(hooks=[Timed()]) as session:
        session.run(train)
        session.run(
            train,
            options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
            run_metadata=metadata,
        )
    assert seen == [(0, 60000, 0), (3, 60000, 1)]
    assert len(metadata.step_stats.dev_stats) == 1


def test_traces_of_steps(tmp_path):
    train = _model()[-1]
    hook = tf.train.ProfilerHook(save_steps=3, output_dir=str(tmp_path / "traces"))
    with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(7), hook]) as session:
        while not session.should_stop():
            session.run(train)
    files = sorted(os.listdir(tmp_path / "traces"))  # and an event file
    names = [name for name in files if name.endswith(".json")]
    assert len(files) == len(names) + 1
    steps = [int(re.fullmatch(r"timeline-(\d)\.json", name)[1]) for name in names]
    assert 2 <= len(steps) <= 3 and steps[0] >= 3  # a run reads the step before or after its change
    with open(tmp_path / "traces" / names[0], encoding="utf-8") as file:
        assert any("ApplyGradientDescent" in str(e) for e in json.load(file)["traceEvents"])


class _Report(tf.train.SessionRunHook):
    """Reports an error to the coordinator in the second step."""

    def __init__(self, error):
        self.error, self.coord, self.steps = error, None, 0

    def after_create_session(self, session, coord):
        self.coord = coord

    def after_run(self, run_context, run_values):
        self.steps += 1
        if self.steps == 2:
            self.coord.request_stop(self.error)


class _Counting(tf.train.SessionCreator):
    def __init__(self):
        self.count, self.creator = 0, tf.train.ChiefSessionCreator()

    def create_session(self):
        self.count += 1
        return self.creator.create_session()


def test_an_error_of_the_coordinator_recreates_the_session(graph):
    x = tf.constant(3)
    creator = _Counting()
    hook = _Report(tf.errors.AbortedError(None, None, "lost"))
    with tf.train.MonitoredSession(creator, [hook]) as sess:
        assert [sess.run(x) for _ in range(2)] == [3, 3]
        assert not sess.should_stop() and creator.count == 2
        assert sess.run(x) == 3


def test_another_error_of_the_coordinator_is_raised_at_the_end(graph):
    x = tf.constant(3)
    creator = _Counting()
    with pytest.raises(RuntimeError, match="broken"):
        with tf.train.MonitoredSession(creator, [_Report(RuntimeError("broken"))]) as sess:
            while not sess.should_stop():
                sess.run(x)
    assert creator.count == 1


def test_step_functions_are_called_again_after_a_loss(graph):
    x, calls = tf.constant(3), []

    def step(step_context):
        calls.append(1)
        if len(calls) == 1:
            raise tf.errors.UnavailableError(None, None, "lost")
        return step_context.run_with_hooks(x)

    with tf.train.MonitoredSession() as sess:
        assert sess.run_step_fn(step) == 3
        with pytest.raises(ValueError, match="may either have one `step_context` argument"):
            sess.run_step_fn(lambda step_context, other: None)
    assert len(calls) == 2


def test_a_request_to_stop_outside_of_a_block_is_a_stop_iteration(graph):
    tf.constant(1)
    sess = tf.train.MonitoredSession()
    with pytest.raises(StopIteration):
        sess.run_step_fn(lambda step_context: step_context.request_stop())
    assert not sess.should_stop()
    sess.close()
    with pytest.raises(RuntimeError, match="Session is already closed"):
        sess.run(1)


def test_initialization_is_repeated_after_a_loss(graph):
    step, calls = tf.train.get_or_create_global_step(), []

    def init(scaffold, session):
        calls.append(1)
        if len(calls) == 1:
            raise tf.errors.AbortedError(None, None, "lost")

    creator = tf.train.ChiefSessionCreator(tf.train.Scaffold(init_fn=init))
    with tf.train.MonitoredSession(creator) as sess:
        assert sess.run(step) == 0
    assert len(calls) == 2


def test_uninitialized_variables_are_a_tensor(graph):
    a, b = tf.Variable(1, name="a"), tf.get_variable("b", [], use_resource=True)
    report = tf.report_uninitialized_variables()
    assert isinstance(report, tf.Tensor) and report.dtype == tf.string
    with tf.Session() as sess:
        assert sess.run(report).tolist() == [b"a", b"b"]
        sess.run(a.initializer)
        assert sess.run(report).tolist() == [b"b"]
        sess.run(b.initializer)
        assert sess.run(report).size == 0
        assert sess.run(tf.report_uninitialized_variables([])).size == 0


def test_a_joined_coordinator_raises_what_is_reported(graph):
    coord = tf.train.Coordinator()
    coord.join()
    with pytest.raises(RuntimeError, match="too late"):
        coord.request_stop(RuntimeError("too late"))
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "a clean end"))
