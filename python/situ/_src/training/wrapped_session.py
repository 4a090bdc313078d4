# SPDX-License-Identifier: Apache-2.0
"""wrapped_session.py: the layers of a monitored session: hooks, then a coordinator, then recovery
from lost workers."""

import _situ
from situ._src.framework import errors, logs
from situ._src.framework.protos import RunOptions
from situ._src.profiler.step_stats import RunMetadata
from situ._src.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunValues

# Errors after which a new session is created.
PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)


class StepContext:
    """The argument of a function of run_step_fn.

    Args:
      session: the session without hooks.
      run_with_hooks_fn: the function `run` of the session with hooks.
    """

    def __init__(self, session, run_with_hooks_fn):
        self._session, self._run_with_hooks_fn = session, run_with_hooks_fn

    session = property(lambda s: s._session)

    def run_with_hooks(self, *args, **kwargs):
        """Runs the session with hooks; see Session.run."""
        return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self):
        """Ends the step, and a `with` block of the session, by a StopIteration."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class WrappedSession:
    """A session around another one. It stops when `_check_stop` says so, when the inner session is
    wrapped and stops, or when it is closed.

    Args:
      sess: the inner session.
    """

    def __init__(self, sess):
        self._sess = sess
        self._has_wrapped = isinstance(sess, WrappedSession)

    graph = property(lambda s: s._sess.graph)
    sess_str = property(lambda s: s._sess.sess_str)

    def should_stop(self):
        """Returns whether no more steps shall run."""
        if self._check_stop() or self._sess is None:
            return True
        return self._has_wrapped and self._sess.should_stop()

    def _check_stop(self):
        return False

    def close(self):
        """Closes the inner session; errors of lost workers do not matter then."""
        if self._sess is None:
            return
        try:
            self._sess.close()
        except PREEMPTION_ERRORS as error:
            logs.warn(f"An error occurred when attempting to close the session: {error}")
        finally:
            self._sess = None

    def run(self, *args, **kwargs):
        """Runs the inner session; see Session.run."""
        return self._sess.run(*args, **kwargs)

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        """Calls step_fn(StepContext); `run_with_hooks` is by default the function `run` of this
        session."""
        return step_fn(StepContext(raw_session, run_with_hooks or self.run))


class RecoverableSession(WrappedSession):
    """A session that is created again when a worker or a parameter server is lost.

    Args:
      sess_creator: creates the sessions.
    """

    def __init__(self, sess_creator):
        self._sess_creator = sess_creator
        super().__init__(self._create_session())

    def _create_session(self):
        while True:
            try:
                return self._sess_creator.create_session()
            except PREEMPTION_ERRORS as error:
                self._log(error)

    @staticmethod
    def _log(error):
        logs.info(
            "An error was raised. This may be due to a preemption in a connected worker or "
            "parameter server. The current session will be closed and a new session will be "
            "created. Error: %s",
            error,
        )

    def _check_stop(self):
        try:
            return self._sess is None or self._sess._check_stop()
        except PREEMPTION_ERRORS as error:
            self._log(error)
            self._close_lost()
            self._sess = self._create_session()
            return False
        except Exception:
            return True

    def _close_lost(self):
        try:
            self.close()
        except PREEMPTION_ERRORS:
            pass  # the coordinator reports the same loss

    def _with_recovery(self, call):
        """Calls call(session) until no worker is lost."""
        while True:
            try:
                if self._sess is None:
                    self._sess = self._create_session()
                return call(self._sess)
            except PREEMPTION_ERRORS as error:
                self._log(error)
                self._close_lost()

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        return self._with_recovery(lambda s: s.run(fetches, feed_dict, options, run_metadata))

    def run_step_fn(self, step_fn, raw_session, run_with_hooks):
        del run_with_hooks  # that of the inner session, whose errors are handled here
        return self._with_recovery(lambda s: s.run_step_fn(step_fn, raw_session, s.run))


class CoordinatedSession(WrappedSession):
    """A session that stops with a coordinator, and reports the errors of its threads.

    Args:
      sess: the inner session.
      coord: a tf.train.Coordinator.
      stop_grace_period_secs: seconds to wait for threads when the session closes.
    """

    def __init__(self, sess, coord, stop_grace_period_secs=120):
        super().__init__(sess)
        self._coord, self._grace = coord, stop_grace_period_secs

    def _check_stop(self):
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self):
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        finally:
            try:
                super().close()
            except Exception as error:  # `join` reports the cause
                logs.warn(f"The session could not be closed: {error}")

    def run(self, *args, **kwargs):
        try:
            return super().run(*args, **kwargs)
        except PREEMPTION_ERRORS:
            raise
        except Exception as error:
            try:
                self._coord.raise_requested_exception()
            except PREEMPTION_ERRORS:
                raise  # the cause of the other error
            except Exception:
                raise error from None
            raise


def _merged(options, requested):
    """Merges run options."""
    result = RunOptions()
    for field in RunOptions.DESCRIPTOR.fields:
        if field.message_type is None:
            value = max(getattr(options, field.name), getattr(requested, field.name))
            setattr(result, field.name, value)
    return result


class HookedSession(WrappedSession):
    """A session that runs the requests of hooks, too, and passes them the results.

    Args:
      sess: the inner session.
      hooks: a list of SessionRunHooks.
    """

    def __init__(self, sess, hooks):
        super().__init__(sess)
        self._hooks, self._stop = hooks, False

    def _check_stop(self):
        return self._stop

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        wanted, feeds = {"caller": fetches}, dict(feed_dict or {})
        extra = {} if options is None and run_metadata is None else {"options": options}
        for hook in self._hooks:
            run_args = hook.before_run(context)
            if run_args is None:
                continue
            if run_args.fetches is not None:
                wanted[hook] = run_args.fetches
            self._add_feeds(feeds, run_args.feed_dict or {})
            if run_args.options is not None:
                extra["options"] = _merged(extra.get("options") or RunOptions(), run_args.options)
        metadata = RunMetadata() if run_metadata is None else run_metadata
        if extra:
            extra["run_metadata"] = metadata
        results = self._sess.run(wanted, feeds, **extra)
        for hook in self._hooks:
            hook.after_run(
                context, SessionRunValues(results.get(hook), extra.get("options"), metadata)
            )
        self._stop = self._stop or context.stop_requested
        return results["caller"]

    @staticmethod
    def _add_feeds(feeds, more):
        if any(isinstance(k, _situ.GraphTensor) and k in feeds for k in more):
            raise RuntimeError("Same tensor is fed by two hooks.")
        feeds.update(more)
