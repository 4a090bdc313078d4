# SPDX-License-Identifier: Apache-2.0
"""supervisor.py: tf.train.Supervisor: a training session with threads that save checkpoints and
summaries."""

from __future__ import annotations

import contextlib
import os
import time

from situ._src.checkpoint.saver import Saver
from situ._src.framework import errors, logs
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph_util import write_graph
from situ._src.framework.meta_graph import create_meta_graph_def
from situ._src.summary.file_writer import FileWriter
from situ._src.summary.protos import SessionLog, Summary
from situ._src.summary.summary_ops import merge_all
from situ._src.training.coordinator import Coordinator, LooperThread
from situ._src.training.global_step import global_step as read_global_step
from situ._src.training.scaffold import SessionManager, default_local_init_op
from situ._src.variables.initialization import report_uninitialized_variables
from situ._src.variables.variable import global_variables, global_variables_initializer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable


def _default_global_step():
    """Returns the tensor global_step:0 of the default graph, if it is an integer, or None."""
    try:
        found = get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if found.dtype.base_dtype.name in ("int32", "int64"):
        return found
    logs.warn("Found 'global_step' is not an int type: %s", found.dtype)
    return None


def _choose(given, key, make):
    """Returns an argument; by default the first item of a collection, else a new one, which is
    added to the collection."""
    if given is not Supervisor.USE_DEFAULT or isinstance(given, bool):
        return given
    graph = get_default_graph()
    found = graph.get_collection(key)
    if found:
        return found[0]
    made = make()
    if made is not None:
        graph.add_to_collection(key, made)
    return made


class _StepCounter(LooperThread):
    """Writes the steps per second."""

    def __init__(self, supervisor, sess):
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor, self._sess = supervisor, sess

    def start_loop(self):
        self._time, self._step = time.time(), self._supervisor._step(self._sess)

    def run_loop(self):
        now, step = time.time(), self._supervisor._step(self._sess)
        elapsed, added = now - self._time, step - self._step
        self._time, self._step = now, step
        rate = added / elapsed if elapsed > 0 else float("inf")
        tag = f"{self._supervisor.global_step.op.name}/sec"
        self._supervisor.summary_writer.add_summary(
            Summary(value=[Summary.Value(tag=tag, simple_value=rate)]), step
        )


@export(v1="train.Supervisor")
class Supervisor:
    """Prepares a session and saves checkpoints and summaries in background threads.

    Finalizes the graph. An operation, the saver and the global step are by default the first of
    their collection in the graph; if it is empty, new ones, which are added to it. Only the chief
    writes summaries and checkpoints.

    Raises:
      ValueError: in tasks other than the chief, a variable has no device.
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Any = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: Any = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable | None = None,
        local_init_run_options: Any = None,
    ):
        self._graph, self._is_chief = graph or get_default_graph(), is_chief
        self.coord, self._grace = Coordinator(), stop_grace_secs
        self.init_feed_dict, self._init_fn = init_feed_dict, init_fn
        with self._graph.as_default():
            self.ready_op = _choose(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self.ready_for_local_init_op = _choose(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self.init_op = _choose(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self.local_init_op = _choose(
                local_init_op, GraphKeys.LOCAL_INIT_OP, default_local_init_op
            )
            self.saver = _choose(
                saver, GraphKeys.SAVERS, lambda: Saver() if global_variables() else None
            )
            self.summary_op = _choose(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self.global_step = _choose(global_step, GraphKeys.GLOBAL_STEP, _default_global_step)
        self._meta_graph_def = create_meta_graph_def(
            graph_def=self._graph.as_graph_def(add_shapes=True),
            saver_def=self.saver.saver_def if self.saver else None,
            graph=self._graph,
        )
        self._logdir = logdir if is_chief else None
        self.save_summaries_secs = save_summaries_secs if is_chief else None
        self.save_model_secs = save_model_secs if is_chief else None
        self.save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._writer, self._graph_added = None, False
        if is_chief:
            default = FileWriter(logdir) if summary_writer is self.USE_DEFAULT and logdir else None
            self._writer = default or summary_writer or None
        self.session_manager = session_manager or SessionManager(
            self.local_init_op,
            self.ready_op,
            self.ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._check_devices()
        self._graph.finalize()

    is_chief = property(lambda s: s._is_chief)

    def _check_devices(self):
        for op in () if self._is_chief else self._graph.get_operations():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError(
                    f"When using replicas, all Variables must have their device set: {op}"
                )

    summary_writer = property(lambda s: s._writer)

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """Returns an initialized session.

        Args:
          master: The target of the session.
          config: A ConfigProto, or None.
          wait_for_checkpoint: Whether the chief waits for a checkpoint.
          max_wait_secs: Seconds that the chief waits for a checkpoint, and other tasks for the
            chief.
          start_standard_services: Whether to start the queue runners, and on the chief the threads
            that save.
        """
        self.coord.clear_stop()
        if self._writer is not None:
            self._writer.reopen()
        if self.is_chief:
            sess = self.session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self.init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(sess)
        else:
            sess = self.session_manager.wait_for_session(master, config, max_wait_secs)
        if start_standard_services:
            self.start_queue_runners(sess)
        return sess

    PrepareSession = prepare_or_wait_for_session

    def _write_graph(self):
        if self._logdir:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
        if self._writer is not None and not self._graph_added:
            self._writer.add_graph(self._graph)
            self._writer.add_meta_graph(self._meta_graph_def)
            self._graph_added = True

    def start_queue_runners(self, sess: Any, queue_runners: Any = None) -> Any:
        """Starts the threads of queue runners, by default all of the graph; returns them."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        threads = []
        for runner in queue_runners:
            threads += runner.create_threads(sess, coord=self.coord, daemon=True, start=True)
        return threads

    StartQueueRunners = start_queue_runners

    def start_standard_services(self, sess: Any) -> Any:
        """Starts threads that save checkpoints, summaries and the steps per second.

        Returns:
          The threads, or None if there is no directory.

        Raises:
          RuntimeError: this is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. "
                "Because only chief supervisors can write events."
            )
        if not self._logdir:
            logs.warn("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self.global_step is not None and self._writer is not None:
            log = SessionLog(status=SessionLog.START)
            self._writer.add_session_log(log, self._step(sess))
        threads, every = [], self.save_summaries_secs
        if every and self._writer is not None:
            if self.summary_op is not None:
                threads.append(LooperThread(self.coord, every, self._write_summary, (sess,)))
            if self.global_step is not None:
                threads.append(_StepCounter(self, sess))
        if self.saver is not None and self.save_model_secs:
            threads.append(LooperThread(self.coord, self.save_model_secs, self._save, (sess,)))
        for thread in threads:
            thread.start()
        return threads

    StartStandardServices = start_standard_services

    def _step(self, sess):
        return None if self.global_step is None else read_global_step(sess, self.global_step)

    def _save(self, sess):
        self.saver.save(sess, self.save_path, global_step=self.global_step)
        if self._writer is not None and self.global_step is not None:
            log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self.save_path)
            self._writer.add_session_log(log, self._step(sess))

    def _write_summary(self, sess):
        if self.global_step is None:
            summary, step = sess.run(self.summary_op), None
        else:
            summary, step = sess.run([self.summary_op, self.global_step])
            step = step.item()
        self._writer.add_summary(summary, step)

    def summary_computed(self, sess: Any, summary: Any, global_step: Any = None) -> None:
        """Writes a summary, by default at the current step.

        Raises:
          RuntimeError: there is no writer.
        """
        if self._writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        self._writer.add_summary(summary, self._step(sess) if global_step is None else global_step)

    SummaryComputed = summary_computed

    def loop(
        self, timer_interval_secs: float, target: Any, args: Any = None, kwargs: Any = None
    ) -> Any:
        """Starts a thread that calls a function every timer_interval_secs, and returns it."""
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    Loop = loop

    def should_stop(self) -> Any:
        """Returns whether threads are requested to stop."""
        return self.coord.should_stop()

    ShouldStop = should_stop

    def request_stop(self, ex: Any = None) -> None:
        """Requests that threads stop.

        Args:
          ex: The exception that is the reason, or its exc_info.
        """
        self.coord.request_stop(ex)

    RequestStop = request_stop

    def stop_on_exception(self) -> Any:
        """Context manager that requests a stop if its body raises an exception."""
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Waits until a stop is requested."""
        self.coord.wait_for_stop()

    def stop(
        self,
        threads: Any = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the services and waits for their threads.

        Args:
          threads: Threads to wait for, besides those of the services.
          close_summary_writer: Whether to close the summary writer.
          ignore_live_threads: Whether it is no error if threads still run after a while.
        """
        self.coord.request_stop()
        try:
            self.coord.join(
                threads,
                stop_grace_period_secs=self._grace,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._writer is not None:
                self._writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._writer.close()
                self._graph_added = False

    Stop = stop

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Any:
        """Context manager: a session that is prepared on entry and closed on exit."""
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            with sess.as_default(), self._graph.as_default():
                yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer, ignore_live_threads=True)
            finally:
                if sess is not None:
                    sess.close()


@export(v1="train.basic_train_loop")
def basic_train_loop(
    supervisor: Any, train_step_fn: Callable, args: Any = None, kwargs: Any = None, master: str = ""
) -> None:
    """Calls train_step_fn(session, *args, **kwargs) until the supervisor stops, again from the
    start if a step raises AbortedError: a server has restarted.

    Args:
      supervisor: The Supervisor.
      train_step_fn: The function.
      args: Its positional arguments.
      kwargs: Its keyword arguments.
      master: The target of the session.
    """
    while True:
        try:
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *(args or ()), **(kwargs or {}))
            return
        except errors.AbortedError:
            pass
