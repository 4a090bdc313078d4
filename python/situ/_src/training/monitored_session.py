# SPDX-License-Identifier: Apache-2.0
"""monitored_session.py: tf.train.MonitoredTrainingSession, MonitoredSession: sessions with
hooks."""

from __future__ import annotations

import contextlib
import functools
import inspect

import _situ
from situ._src.framework import api, errors
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.training import wrapped_session
from situ._src.training.coordinator import Coordinator
from situ._src.training.saver_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from situ._src.training.scaffold import Scaffold, SessionManager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

USE_DEFAULT = object()


@export(v1="train.SessionCreator")
class SessionCreator:
    """Creates sessions."""

    def create_session(self) -> Any:
        """Returns a new session; subclasses define it."""
        raise NotImplementedError(f"create_session is not implemented for {self}.")


@export(v1="train.ChiefSessionCreator")
class ChiefSessionCreator(SessionCreator):
    """Creates a session and initializes its variables, or restores them from a checkpoint."""

    def __init__(
        self,
        scaffold: Any = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
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

    def create_session(self) -> Any:
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

    def __init__(
        self,
        scaffold: Any = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 1800,
    ):
        super().__init__(scaffold, master, config)
        self._most = max_wait_secs

    def create_session(self) -> Any:
        self._scaffold.finalize()
        return self._session_manager().wait_for_session(self._master, self._config, self._most)


class _CoordinatedSessionCreator(SessionCreator):
    """Creates sessions with hooks and a coordinator."""

    def __init__(self, session_creator, graph, hooks, stop_grace_period_secs):
        self._creator, self._graph, self._hooks = session_creator, graph, hooks
        self._grace = stop_grace_period_secs
        self.coord = self.tf_sess = None

    def create_session(self):
        with self._graph.as_default():
            self.tf_sess = self._creator.create_session()
            self.coord = Coordinator(clean_stop_exception_types=[])
            if self._graph.get_collection(GraphKeys.QUEUE_RUNNERS):
                api.V1["train.start_queue_runners"](sess=self.tf_sess, coord=self.coord)
            for hook in self._hooks:
                hook.after_create_session(self.tf_sess, self.coord)
        return wrapped_session.CoordinatedSession(
            wrapped_session.HookedSession(self.tf_sess, self._hooks), self.coord, self._grace
        )


class _MonitoredSession:
    """A session with hooks. With should_recover, if a device or process is lost, `run` creates a
    new one from the last checkpoint."""

    StepContext = wrapped_session.StepContext

    def __init__(self, session_creator, hooks, should_recover, stop_grace_period_secs=120):
        self._graph = get_default_graph()
        self._was_finalized = self._graph.finalized
        self._hooks = list(hooks or [])
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = _CoordinatedSessionCreator(
            session_creator or ChiefSessionCreator(),
            self._graph,
            self._hooks,
            stop_grace_period_secs,
        )
        if should_recover:
            self._sess = wrapped_session.RecoverableSession(self._coordinated_creator)
        else:
            self._sess = self._coordinated_creator.create_session()

    graph = property(lambda s: s._graph)

    def _tf_sess(self):
        return self._coordinated_creator.tf_sess

    def _is_closed(self):
        return self._tf_sess() is None

    def _need(self):
        if self._sess is None:
            raise RuntimeError("Session is already closed.")
        return self._sess

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Runs the session with hooks; see Session.run."""
        return self._need().run(fetches, feed_dict, options, run_metadata)

    def run_step_fn(self, step_fn):
        """Calls step_fn(step_context), which can run with and without hooks.

        Args:
          step_fn: a function with the argument `step_context`, a
            tf.compat.v1.train.MonitoredSession.StepContext. It may be called again after a worker
            was lost.

        Returns:
          What `step_fn` returns.

        Raises:
          StopIteration: `step_fn` called `step_context.request_stop()`.
          ValueError: `step_fn` has other arguments.
        """
        arguments = _names_of_arguments(step_fn)
        if arguments not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                "`step_context` arguments if it's an instance method. Got "
                f"{arguments} instead."
            )
        return self._need().run_step_fn(step_fn, self._tf_sess(), None)

    def should_stop(self):
        return self._sess is None or self._sess.should_stop()

    def _close_internal(self, failed):
        try:
            if not failed:
                with self._graph.as_default():
                    for hook in self._hooks:
                        hook.end(self._tf_sess())
        finally:
            try:
                self._need().close()
            finally:
                self._sess = None
                self._coordinated_creator.coord = self._coordinated_creator.tf_sess = None
                if not self._was_finalized:
                    self._graph._unsafe_unfinalize()

    def close(self):
        self._close_internal(False)

    def __enter__(self):
        self._inside = contextlib.ExitStack()
        self._inside.enter_context(self._graph.as_default())
        return self

    def __exit__(self, kind, error, trace):
        done = kind is None or kind in (errors.OutOfRangeError, StopIteration)
        self._inside.close()
        self._close_internal(not done)
        return done


def _names_of_arguments(function):
    """Returns the names of the arguments that a caller passes to a function."""
    if isinstance(function, functools.partial):
        bound, names = set(function.keywords), _names_of_arguments(function.func)
        return tuple(n for n in names[len(function.args) :] if n not in bound)
    return tuple(
        n
        for n, p in inspect.signature(function).parameters.items()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    )


@export(v1="train.MonitoredSession")
class MonitoredSession(_MonitoredSession):
    """A session with hooks that is created again when a worker or parameter server is lost."""

    def __init__(
        self, session_creator: Any = None, hooks: Any = None, stop_grace_period_secs: float = 120
    ):
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


@export(v1="train.SingularMonitoredSession")
class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks that does not recover from errors."""

    def __init__(
        self,
        hooks: Any = None,
        scaffold: Any = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ):
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Returns the session without hooks, or None if it is closed."""
        return self._tf_sess()


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
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: str | None = None,
    save_graph_def: bool = True,
) -> Any:
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
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
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
