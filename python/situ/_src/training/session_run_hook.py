# SPDX-License-Identifier: Apache-2.0
"""session_run_hook.py: tf.train.SessionRunHook: the interface of hooks of monitored sessions."""

from __future__ import annotations

import collections

from situ._src.framework.api import export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@export("estimator.SessionRunHook", v1="train.SessionRunHook")
class SessionRunHook:
    """Base class of hooks, called around every run of a monitored session."""

    def begin(self) -> None:
        """Called before the session is created; may add to the graph."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called after the session is created and initialized."""

    def before_run(self, run_context: Any) -> None:
        """May return SessionRunArgs to add to the run."""
        return

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Called with the results of what the hook requested; may request a stop."""

    def end(self, session: Any) -> None:
        """Called at the end if no exception was raised, before the session is closed."""


@export("estimator.SessionRunArgs", v1="train.SessionRunArgs")
class SessionRunArgs(collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """The fetches, feeds and options that a hook adds to a run."""

    def __new__(cls, fetches, feed_dict=None, options=None):
        return super().__new__(cls, fetches, feed_dict, options)


@export("estimator.SessionRunValues", v1="train.SessionRunValues")
class SessionRunValues(
    collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])
):
    """The results of a run for a hook."""


@export("estimator.SessionRunContext", v1="train.SessionRunContext")
class SessionRunContext:
    """Information about a run for hooks."""

    def __init__(self, original_args: Any, session: Any):
        self._args, self._session, self._stop = original_args, session, False

    original_args = property(lambda s: s._args)
    session = property(lambda s: s._session)
    stop_requested = property(lambda s: s._stop)

    def request_stop(self) -> None:
        """Requests that the loop stops."""
        self._stop = True
