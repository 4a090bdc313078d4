# SPDX-License-Identifier: Apache-2.0
"""supervisor.py: tf.train.Supervisor: a training session with threads that save checkpoints and
summaries."""

import contextlib
import os

from situ._src.checkpoint.saver import Saver
from situ._src.framework import logs
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.summary.file_writer import FileWriter
from situ._src.summary.summary_ops import merge_all
from situ._src.training.coordinator import Coordinator, LooperThread
from situ._src.training.global_step import get_global_step
from situ._src.training.scaffold import SessionManager, default_local_init_op
from situ._src.variables.initialization import report_uninitialized_variables
from situ._src.variables.variable import global_variables, global_variables_initializer


@export(v1="train.Supervisor")
class Supervisor:
    """Prepares a session and saves checkpoints and summaries in background threads.

    Finalizes the graph. The arguments are those of SessionManager; ready_for_local_init_op is by
    default the first of the collection of this name, or None.
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph=None,
        ready_op=USE_DEFAULT,
        ready_for_local_init_op=USE_DEFAULT,
        is_chief=True,
        init_op=USE_DEFAULT,
        init_feed_dict=None,
        local_init_op=USE_DEFAULT,
        logdir=None,
        summary_op=USE_DEFAULT,
        saver=USE_DEFAULT,
        global_step=USE_DEFAULT,
        save_summaries_secs=120,
        save_model_secs=600,
        recovery_wait_secs=30,
        stop_grace_secs=120,
        checkpoint_basename="model.ckpt",
        session_manager=None,
        summary_writer=USE_DEFAULT,
        init_fn=None,
        local_init_run_options=None,
    ):
        default, self._graph = self.USE_DEFAULT, graph or get_default_graph()
        self.is_chief, self._logdir, self._grace = is_chief, logdir, stop_grace_secs
        self.coord, self._threads = Coordinator(), []
        self._feeds, self._init_fn = init_feed_dict, init_fn
        self.save_summaries_secs, self.save_model_secs = save_summaries_secs, save_model_secs
        self.save_path = os.path.join(logdir, checkpoint_basename) if logdir else None

        def pick(value, make):
            return make() if value is default and not isinstance(value, bool) else value

        with self._graph.as_default():
            self.ready_op = pick(ready_op, report_uninitialized_variables)
            ready = self._graph.get_collection(GraphKeys.READY_FOR_LOCAL_INIT_OP)
            self.ready_for_local_init_op = pick(
                ready_for_local_init_op, lambda: ready[0] if ready else None
            )
            self.init_op = pick(init_op, global_variables_initializer)
            self.local_init_op = pick(local_init_op, default_local_init_op)
            self.summary_op = pick(summary_op, merge_all)
            self.global_step = pick(global_step, get_global_step)
            self.saver = pick(saver, lambda: Saver() if global_variables() else None)
        self.session_manager = session_manager or SessionManager(
            self.local_init_op,
            self.ready_op,
            self.ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._writer = (
            FileWriter(logdir) if summary_writer is default and logdir else summary_writer or None
        )
        self._graph.finalize()

    summary_writer = property(lambda s: s._writer)

    def prepare_or_wait_for_session(
        self,
        master="",
        config=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        start_standard_services=True,
    ):
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
        if self.is_chief:
            sess = self.session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._feeds,
                init_fn=self._init_fn,
            )
            if self._writer is not None:
                self._writer.add_graph(self._graph)
            if start_standard_services:
                self.start_standard_services(sess)
        else:
            sess = self.session_manager.wait_for_session(master, config, max_wait_secs)
        if start_standard_services:
            self.start_queue_runners(sess)
        return sess

    PrepareSession = prepare_or_wait_for_session

    def start_queue_runners(self, sess, queue_runners=None):
        runners = (
            queue_runners
            if queue_runners is not None
            else self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        )
        for runner in runners:
            self._threads.extend(
                runner.create_threads(sess, coord=self.coord, daemon=True, start=True)
            )
        return list(self._threads)

    StartQueueRunners = start_queue_runners

    def start_standard_services(self, sess):
        """Starts threads that save checkpoints and summaries."""
        if not self._logdir:
            logs.warn("Standard services need a 'logdir' passed to the SessionManager")
            return
        if self.summary_op is not None and self._writer and self.save_summaries_secs:
            self.loop(self.save_summaries_secs, self.summary_computed_now, (sess,))
        if self.saver is not None and self.save_model_secs:
            self.loop(self.save_model_secs, self._save, (sess,))

    StartStandardServices = start_standard_services

    def _step(self, sess):
        return None if self.global_step is None else int(sess.run(self.global_step))

    def _save(self, sess):
        self.saver.save(sess, self.save_path, global_step=self.global_step)

    def summary_computed_now(self, sess):
        self._writer.add_summary(sess.run(self.summary_op), self._step(sess))

    def summary_computed(self, sess, summary, global_step=None):
        if self._writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        self._writer.add_summary(summary, self._step(sess) if global_step is None else global_step)

    SummaryComputed = summary_computed

    def loop(self, timer_interval_secs, target, args=None, kwargs=None):
        result = LooperThread(self.coord, timer_interval_secs, target, args, kwargs)
        result.start()
        self._threads.append(result)
        return result

    Loop = loop

    def should_stop(self):
        return self.coord.should_stop()

    ShouldStop = should_stop

    def request_stop(self, ex=None):
        self.coord.request_stop(ex)

    RequestStop = request_stop

    def stop_on_exception(self):
        return self.coord.stop_on_exception()

    def wait_for_stop(self):
        self.coord.wait_for_stop()

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        self.coord.request_stop()
        try:
            self.coord.join(
                self._threads if threads is None else threads,
                stop_grace_period_secs=self._grace,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._writer is not None:
                self._writer.close()

    Stop = stop

    @contextlib.contextmanager
    def managed_session(
        self, master="", config=None, start_standard_services=True, close_summary_writer=True
    ):
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
