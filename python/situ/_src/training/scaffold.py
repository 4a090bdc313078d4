# SPDX-License-Identifier: Apache-2.0
"""scaffold.py: tf.train.Scaffold and tf.train.SessionManager: initialize and restore sessions
for training."""

from __future__ import annotations

import time

import numpy

from situ._src.checkpoint.checkpoint import Checkpoint, tracked
from situ._src.checkpoint.saver import Saver
from situ._src.checkpoint.state import get_checkpoint_state, latest_checkpoint
from situ._src.framework import api, errors, logs
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.ops.array_ops import group
from situ._src.summary.summary_ops import merge_all
from situ._src.training.saver_hooks import the_saver
from situ._src.variables.initialization import report_uninitialized_variables
from situ._src.variables.variable import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable


@export(v1="tables_initializer")
def tables_initializer(name: str | None = "init_all_tables") -> Any:
    """Returns an operation that initializes all tables."""
    return group(*get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


def default_local_init_op():
    return group(local_variables_initializer(), tables_initializer())


def default_saver():
    """Returns the saver of the collection, or a new one for all variables."""
    result = the_saver()
    if result is None:
        result = Saver(sharded=True, allow_empty=True)
        get_default_graph().add_to_collection(GraphKeys.SAVERS, result)
    return result


@export(v1="train.Scaffold")
class Scaffold:
    """The init, ready, local init and summary ops and the saver of a session."""

    _init_op: Any
    _init_feed_dict: Any
    _ready_op: Any
    _ready_for_local_init_op: Any
    _local_init_op: Any
    _local_init_feed_dict: Any
    _summary_op: Any
    _saver: Any

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Any = None,
        local_init_feed_dict: Any = None,
    ):
        other = copy_from_scaffold
        if other is not None and not isinstance(other, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        self._init_fn = init_fn if init_fn is None else lambda sess: init_fn(self, sess)
        if other is not None and init_fn is None:
            self._init_fn = other.init_fn
        for name, value in (
            ("init_op", init_op),
            ("init_feed_dict", init_feed_dict),
            ("ready_op", ready_op),
            ("ready_for_local_init_op", ready_for_local_init_op),
            ("local_init_op", local_init_op),
            ("summary_op", summary_op),
            ("saver", saver),
            ("local_init_feed_dict", local_init_feed_dict),
        ):
            if value is None and other is not None:
                value = getattr(other, "_" + name)
            setattr(self, "_" + name, value)

    init_op = property(lambda s: s._init_op)
    init_fn = property(lambda s: s._init_fn)
    init_feed_dict = property(lambda s: s._init_feed_dict)
    ready_op = property(lambda s: s._ready_op)
    ready_for_local_init_op = property(lambda s: s._ready_for_local_init_op)
    local_init_op = property(lambda s: s._local_init_op)
    local_init_feed_dict = property(lambda s: s._local_init_feed_dict)
    summary_op = property(lambda s: s._summary_op)
    saver = property(lambda s: s._saver)

    @staticmethod
    def get_or_default(arg_name: Any, collection_key: Any, default_constructor: Any) -> Any:
        """Returns the item of a collection; if it is empty, creates one and adds it."""
        found = get_default_graph().get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f"More than one item in the collection {collection_key}. Please "
                f"indicate which one to use by passing it to the tf.Scaffold "
                f"constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        result = default_constructor()
        if result is not None:
            get_default_graph().add_to_collection(collection_key, result)
        return result

    default_local_init_op = staticmethod(default_local_init_op)

    def finalize(self) -> Any:
        """Creates missing ops and finalizes the graph."""
        default = self.get_or_default
        if self._init_op is None:
            self._init_op = default(
                "init_op", GraphKeys.INIT_OP, lambda: group(global_variables_initializer())
            )
        if self._ready_op is None:
            self._ready_op = default("ready_op", GraphKeys.READY_OP, report_uninitialized_variables)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = default(
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                lambda: report_uninitialized_variables(global_variables()),
            )
        if self._local_init_op is None:
            self._local_init_op = default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = default("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = default_saver()
        elif isinstance(self._saver, Checkpoint):  # writes the keys of objects, as in TensorFlow
            self._saver = Saver(tracked(self._saver), sharded=True, allow_empty=True)
        self._saver.build()
        get_default_graph().finalize()
        return self


def not_ready(sess, ready_op):
    """Returns why a session is not ready, or None.

    Args:
      sess: The session.
      ready_op: A tensor of the names of uninitialized variables; None: it is ready.
    """
    try:
        names = None if ready_op is None else sess.run(ready_op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            raise
        return str(error)
    if names is None or names.dtype == numpy.int32 or names.size == 0:
        return None
    return "Variables not initialized: " + ", ".join(n.decode() for n in names)


@export(v1="train.SessionManager")
class SessionManager:
    """Creates sessions with initialized variables, restored from a checkpoint if there is one.

    Args:
      local_init_op: An operation to run after the variables are initialized or restored.
      ready_op: A tensor of the names of uninitialized variables; None: sessions are ready.
      ready_for_local_init_op: A tensor of the names of variables that local_init_op needs and that
        are not initialized; local_init_op runs once it is empty. None: it always runs.
      graph: The graph; by default the default graph.
      recovery_wait_secs: Seconds between checks for variables or a checkpoint, at most 1.
      local_init_run_options: RunOptions of local_init_op.
      local_init_feed_dict: Feeds of local_init_op.

    Raises:
      ValueError: there is a ready_for_local_init_op, but no local_init_op.
    """

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Any = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ):
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op "
                f", ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op, self._ready_op = local_init_op, ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph, self._wait = graph or get_default_graph(), min(1.0, recovery_wait_secs)
        self._options, self._feeds = local_init_run_options, local_init_feed_dict

    def _find(self, checkpoint_dir, wait, max_wait_secs):
        """Returns the latest checkpoint, or None if there is none, after waiting for it."""
        end = time.time() + max_wait_secs
        path = latest_checkpoint(checkpoint_dir)
        while path is None and wait and time.time() < end:
            logs.info("Waiting for checkpoint to be available.")
            time.sleep(self._wait)
            path = latest_checkpoint(checkpoint_dir)
        return path

    def _restored(self, sess, saver, checkpoint_dir, path, wait=False, max_wait_secs=0):
        if checkpoint_dir and path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        if saver is None or not (checkpoint_dir or path):
            return False
        if checkpoint_dir:
            path = self._find(checkpoint_dir, wait, max_wait_secs)
            if path is None:
                return False
            state = get_checkpoint_state(checkpoint_dir)
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        saver.restore(sess, path)
        return True

    def _local_init(self, sess):
        """Runs local_init_op if the session is ready for it; returns why it is not, or None."""
        if self._local_init_op is None:
            return None
        reason = not_ready(sess, self._ready_for_local_init_op)
        if reason is None:
            logs.info("Running local_init_op.")
            sess.run(self._local_init_op, self._feeds, options=self._options)
            logs.info("Done running local_init_op.")
        return reason

    def prepare_session(
        self,
        master: str = "",
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable | None = None,
    ) -> Any:
        """Returns a session with variables restored from a checkpoint, else initialized.

        Args:
          master: The target of the session.
          init_op: An operation to run if there is no checkpoint.
          saver: A Saver; without one nothing is restored.
          checkpoint_dir: A directory, whose latest checkpoint is restored.
          checkpoint_filename_with_path: A checkpoint to restore instead.
          wait_for_checkpoint: Whether to wait for a checkpoint in checkpoint_dir.
          max_wait_secs: Seconds to wait at most.
          config: A ConfigProto, or None.
          init_feed_dict: Feeds of init_op.
          init_fn: A function of the session to call after init_op.

        Raises:
          RuntimeError: variables are not initialized afterwards.
          ValueError: checkpoint_dir and checkpoint_filename_with_path are both given.
        """
        sess = api.V1["Session"](master, graph=self._graph, config=config)
        path, wait = checkpoint_filename_with_path, wait_for_checkpoint
        if not self._restored(sess, saver, checkpoint_dir, path, wait, max_wait_secs):
            if init_op is None and init_fn is None and self._local_init_op is None:
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                )
            if init_op is not None:
                sess.run(init_op, init_feed_dict)
            if init_fn is not None:
                init_fn(sess)
        reason, init = self._local_init(sess), f"Init op: {getattr(init_op, 'name', None)}"
        if reason is not None:
            raise RuntimeError(
                "Init operations did not make model ready for local_init.  "
                f"{init}, init fn: {init_fn}, error: {reason}"
            )
        reason = not_ready(sess, self._ready_op)
        if reason is not None:
            raise RuntimeError(
                f"Init operations did not make model ready.  {init}, init fn: {init_fn}, "
                f"local_init_op: {getattr(self._local_init_op, 'name', None)}, error: {reason}"
            )
        return sess

    def recover_session(
        self,
        master: str = "",
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> Any:
        """Returns a session and whether its variables are restored and ready.

        Arguments as in prepare_session. Runs local_init_op in either case.

        Raises:
          ValueError: checkpoint_dir and checkpoint_filename_with_path are both given.
        """
        sess = api.V1["Session"](master, graph=self._graph, config=config)
        path, wait = checkpoint_filename_with_path, wait_for_checkpoint
        done = self._restored(sess, saver, checkpoint_dir, path, wait, max_wait_secs)
        reason = self._local_init(sess)
        if done and reason is None:
            reason = not_ready(sess, self._ready_op)
        if done and reason is not None:
            logs.info("Restoring did not make model ready: %s", reason)
        return sess, done and reason is None

    def wait_for_session(
        self, master: str = "", config: Any = None, max_wait_secs: Any = float("inf")
    ) -> Any:
        """Returns a session after another task has initialized the global variables.

        Runs local_init_op as soon as ready_for_local_init_op allows it.

        Raises:
          DeadlineExceededError: the session was not ready within max_wait_secs.
        """
        sess = api.V1["Session"](master, graph=self._graph, config=config)
        end = time.time() + (float("inf") if max_wait_secs is None else max_wait_secs)
        while (reason := self._local_init(sess) or not_ready(sess, self._ready_op)) is not None:
            if time.time() + self._wait > end:
                sess.close()
                raise errors.DeadlineExceededError(
                    None, None, f"Session was not ready after waiting {max_wait_secs} secs."
                )
            logs.info("Waiting for model to be ready: %s", reason)
            time.sleep(self._wait)
        return sess
