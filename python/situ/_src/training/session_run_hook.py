# SPDX-License-Identifier: Apache-2.0
"""session_run_hook.py: what a hook of a monitored session is."""

import collections

from situ._src.framework.api import export


@export("estimator.SessionRunHook", v1="train.SessionRunHook")
class SessionRunHook:
    """Is asked before and after every run of a monitored session."""

    def begin(self):
        """Before the session is made: the graph may still grow."""

    def after_create_session(self, session, coord):
        """The session is there, and variables have values."""

    def before_run(self, run_context):
        """May give SessionRunArgs: what to run besides."""
        return

    def after_run(self, run_context, run_values):
        """With what was asked for besides; may ask to stop."""

    def end(self, session):
        """When all went well, before the session is closed."""


@export("estimator.SessionRunArgs", v1="train.SessionRunArgs")
class SessionRunArgs(collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """What a hook adds to a run."""

    def __new__(cls, fetches, feed_dict=None, options=None):
        return super().__new__(cls, fetches, feed_dict, options)


@export("estimator.SessionRunValues", v1="train.SessionRunValues")
class SessionRunValues(
    collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])
):
    """What a run gave for a hook."""


@export("estimator.SessionRunContext", v1="train.SessionRunContext")
class SessionRunContext:
    """A run, as hooks see it."""

    def __init__(self, original_args, session):
        self._args, self._session, self._stop = original_args, session, False

    original_args = property(lambda s: s._args)
    session = property(lambda s: s._session)
    stop_requested = property(lambda s: s._stop)

    def request_stop(self):
        self._stop = True
