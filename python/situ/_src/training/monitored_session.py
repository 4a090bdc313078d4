# SPDX-License-Identifier: Apache-2.0
"""monitored_session.py: tf.train.MonitoredTrainingSession, MonitoredSession: sessions with
hooks."""

import contextlib

import _situ
from situ._src.framework import api, errors, logs
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.protos import RunOptions
from situ._src.profiler.step_stats import RunMetadata
from situ._src.training.coordinator import Coordinator
from situ._src.training.saver_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from situ._src.training.scaffold import Scaffold, SessionManager
from situ._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunValues

USE_DEFAULT = object()
_LOST = (
    errors.AbortedError,
    errors.UnavailableError,
)  # errors after which a new session is created


@export(v1="train.SessionCreator")
class SessionCreator:
    """Creates sessions."""

    def create_session(self):
        raise NotImplementedError(f"create_session is not implemented for {self}.")


@export(v1="train.ChiefSessionCreator")
class ChiefSessionCreator(SessionCreator):
    """Creates a session and initializes its variables, or restores them from a checkpoint."""

    def __init__(
        self,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
    ):
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._dir, self._path, self._manager = checkpoint_dir, checkpoint_filename_with_path, None

    def _session_manager(self):
        if self._manager is None:
            s = self._scaffold
            self._manager = SessionManager(
                s.local_init_op,
                s.ready_op,
                s.ready_for_local_init_op,
                get_default_graph(),
                local_init_feed_dict=s.local_init_feed_dict,
            )
        return self._manager

    def create_session(self):
        scaffold = self._scaffold.finalize()
        return self._session_manager().prepare_session(
            self._master,
            saver=scaffold.saver,
            checkpoint_dir=self._dir,
            checkpoint_filename_with_path=self._path,
            config=self._config,
            init_op=scaffold.init_op,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


@export(v1="train.WorkerSessionCreator")
class WorkerSessionCreator(ChiefSessionCreator):
    """Creates a session after the chief has initialized the variables."""

    def __init__(self, scaffold=None, master="", config=None, max_wait_secs=1800):
        super().__init__(scaffold, master, config)
        self._most = max_wait_secs

    def create_session(self):
        self._scaffold.finalize()
        return self._session_manager().wait_for_session(self._master, self._config, self._most)


def _merged(options, asked):
    """Merges run options."""
    result = RunOptions()
    for field in RunOptions.DESCRIPTOR.fields:
        if field.message_type is None:
            value = max(getattr(options, field.name), getattr(asked, field.name))
            setattr(result, field.name, value)
    return result


class _Hooked:
    """Runs a session with the requests of hooks and passes them the results."""

    def __init__(self, session, hooks):
        self.session, self.hooks, self.stop = session, hooks, False

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if self.stop:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self.session)
        wanted, feeds = {"caller": fetches}, dict(feed_dict or {})
        extra = {} if options is None and run_metadata is None else {"options": options}
        for hook in self.hooks:
            asked = hook.before_run(context)
            if asked is None:
                continue
            if asked.fetches is not None:
                wanted[hook] = asked.fetches
            clash = set(feeds) & set(asked.feed_dict or {})
            if clash:
                raise RuntimeError("Same tensor is fed by two hooks.")
            feeds.update(asked.feed_dict or {})
            if asked.options is not None:
                extra["options"] = _merged(extra.get("options") or RunOptions(), asked.options)
        metadata = RunMetadata() if run_metadata is None else run_metadata
        if extra:
            extra["run_metadata"] = metadata
        results = self.session.run(wanted, feeds, **extra)
        for hook in self.hooks:
            hook.after_run(
                context, SessionRunValues(results.get(hook), extra.get("options"), metadata)
            )
        self.stop = self.stop or context.stop_requested
        return results["caller"]


class _MonitoredSession:
    """A session with hooks. With should_recover, if a device or process is lost, `run` creates a
    new one from the last checkpoint."""

    def __init__(self, session_creator, hooks, should_recover, stop_grace_period_secs=120):
        self._graph = get_default_graph()
        self._was_finalized = self._graph.finalized
        self._hooks, self._recover = list(hooks or []), should_recover
        self._grace, self._creator = (
            stop_grace_period_secs,
            session_creator or ChiefSessionCreator(),
        )
        self._hooked = self._coord = None
        for hook in self._hooks:
            hook.begin()
        self._open()

    def _open(self):
        with self._graph.as_default():
            session = self._creator.create_session()
            self._coord = Coordinator(clean_stop_exception_types=[])
            if self._graph.get_collection(GraphKeys.QUEUE_RUNNERS):
                api.V1["train.start_queue_runners"](sess=session, coord=self._coord)
            for hook in self._hooks:
                hook.after_create_session(session, self._coord)
        self._hooked = _Hooked(session, self._hooks)

    graph = property(lambda s: s._graph)
    _tf_sess = property(lambda s: lambda: s._hooked.session if s._hooked else None)

    def _need(self):
        if self._hooked is None:
            raise RuntimeError("Session is already closed.")
        return self._hooked

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Runs the session with hooks; see Session.run."""
        while True:
            try:
                if self._hooked is None and self._creator is not None and self._recover:
                    self._open()
                return self._need().run(fetches, feed_dict, options, run_metadata)
            except _LOST as error:
                if not self._recover:
                    raise
                logs.info(
                    "An error was raised. This may be due to a preemption in a connected "
                    "worker or parameter server. The current session will be closed and a "
                    "new session will be created. Error: %s",
                    error,
                )
                self._shut()
            except Exception:
                self._coord.raise_requested_exception()
                raise

    def run_step_fn(self, step_fn):
        """Calls step_fn(step_context), which can run with and without hooks; does not recover."""
        return step_fn(StepContext(self._need().session, self._need().run, self._need()))

    def should_stop(self):
        return self._hooked is None or self._hooked.stop or self._coord.should_stop()

    def _shut(self):
        hooked, self._hooked = self._hooked, None
        if hooked is None:
            return
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        finally:
            hooked.session.close()

    def _close_internal(self, failed):
        try:
            if not failed:
                with self._graph.as_default():
                    for hook in self._hooks:
                        hook.end(self._need().session)
        finally:
            self._recover = False
            try:
                self._shut()
            finally:
                if not self._was_finalized:
                    self._graph._unsafe_unfinalize()

    def close(self):
        self._close_internal(False)

    def __enter__(self):
        self._inside = contextlib.ExitStack()
        self._inside.enter_context(self._graph.as_default())
        return self

    def __exit__(self, kind, error, trace):
        done = kind is not None and issubclass(kind, (errors.OutOfRangeError, StopIteration))
        self._inside.close()
        if self._hooked is None and kind is None:
            return False
        self._close_internal(kind is not None and not done)
        return done


class StepContext:
    """The argument of a function of run_step_fn."""

    def __init__(self, session, run_with_hooks_fn, hooked):
        self.session, self.run_with_hooks, self._hooked = session, run_with_hooks_fn, hooked

    def request_stop(self):
        self._hooked.stop = True
        raise StopIteration("step_fn has requested the iterations to stop.")


@export(v1="train.MonitoredSession")
class MonitoredSession(_MonitoredSession):
    """A session with hooks that is created again when a worker or parameter server is lost."""

    StepContext = StepContext

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


@export(v1="train.SingularMonitoredSession")
class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks that does not recover from errors."""

    def __init__(
        self,
        hooks=None,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        stop_grace_period_secs=120,
        checkpoint_filename_with_path=None,
    ):
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self):
        return self._need().session


def _intervals(
    save_checkpoint_secs, save_checkpoint_steps, save_summaries_steps, save_summaries_secs
):
    """Replaces unset intervals by defaults; None means never."""
    if save_checkpoint_secs is USE_DEFAULT and save_checkpoint_steps is USE_DEFAULT:
        save_checkpoint_secs, save_checkpoint_steps = 600, None
    elif save_checkpoint_secs is USE_DEFAULT:
        save_checkpoint_secs = None
    elif save_checkpoint_steps is USE_DEFAULT:
        save_checkpoint_steps = None
    if save_summaries_steps is USE_DEFAULT and save_summaries_secs is USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    elif save_summaries_secs is USE_DEFAULT:
        save_summaries_secs = None
    elif save_summaries_steps is USE_DEFAULT:
        save_summaries_steps = None
    return save_checkpoint_secs, save_checkpoint_steps, save_summaries_steps, save_summaries_secs


@export(v1="train.MonitoredTrainingSession")
def MonitoredTrainingSession(
    master="",
    is_chief=True,
    checkpoint_dir=None,
    scaffold=None,
    hooks=None,
    chief_only_hooks=None,
    save_checkpoint_secs=USE_DEFAULT,
    save_summaries_steps=USE_DEFAULT,
    save_summaries_secs=USE_DEFAULT,
    config=None,
    stop_grace_period_secs=120,
    log_step_count_steps=100,
    max_wait_secs=7200,
    save_checkpoint_steps=USE_DEFAULT,
    summary_dir=None,
    save_graph_def=True,
):
    """Creates a session for training that restores and saves checkpoints, writes summaries and logs
    steps per second.

    Args:
      master: The target of the session.
      is_chief: Whether to initialize or restore the variables, and to save; others wait for it.
      checkpoint_dir: The directory of checkpoints; None: none are restored or saved.
      scaffold: A tf.train.Scaffold; by default a new one.
      hooks: Hooks of every task.
      chief_only_hooks: Hooks of the chief.
      save_checkpoint_secs: Seconds between checkpoints; 600 if neither this nor
        save_checkpoint_steps is given; None or 0: none.
      save_summaries_steps: Steps between summaries; 100 if neither this nor save_summaries_secs
        is given; None or 0: none.
      save_summaries_secs: Seconds between summaries.
      config: A ConfigProto, or None.
      stop_grace_period_secs: Seconds to wait for threads when the session closes.
      log_step_count_steps: Steps between logs of the speed; None or 0: none.
      max_wait_secs: Seconds that tasks other than the chief wait for it.
      save_checkpoint_steps: Steps between checkpoints.
      summary_dir: The directory of summaries; by default checkpoint_dir. Without a directory there
        are neither summaries nor logs of the speed.
      save_graph_def: Whether to write graph.pbtxt with the first checkpoint.

    Returns:
      A MonitoredSession.

    Raises:
      RuntimeError: eager mode, or a hook needs a global step and there is none.
      ValueError: seconds and steps are both given for checkpoints, or for summaries.
    """
    if _situ.executing_eagerly():
        raise RuntimeError("tf.train.MonitoredTrainingSession needs a graph.")
    seconds, steps, summary_steps, summary_seconds = _intervals(
        save_checkpoint_secs, save_checkpoint_steps, save_summaries_steps, save_summaries_secs
    )
    scaffold, hooks = scaffold or Scaffold(), list(hooks or [])
    if not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks, stop_grace_period_secs)
    all_hooks, summary_dir = list(chief_only_hooks or []), summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            all_hooks.append(StepCounterHook(log_step_count_steps, output_dir=summary_dir))
        if summary_steps and summary_steps > 0 or summary_seconds and summary_seconds > 0:
            all_hooks.append(
                SummarySaverHook(summary_steps, summary_seconds, summary_dir, scaffold=scaffold)
            )
    if checkpoint_dir and (seconds and seconds > 0 or steps and steps > 0):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir, seconds, steps, scaffold=scaffold, save_graph_def=save_graph_def
            )
        )
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, all_hooks + hooks, stop_grace_period_secs)
