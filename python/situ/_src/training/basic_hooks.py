# SPDX-License-Identifier: Apache-2.0
"""basic_hooks.py: session hooks that stop, log, check for NaN and feed."""

from __future__ import annotations

import time

import numpy

from situ._src.framework import logs
from situ._src.framework.api import export
from situ._src.framework.errors import OutOfRangeError
from situ._src.framework.graph import get_default_graph
from situ._src.training.global_step import get_global_step
from situ._src.training.session_run_hook import SessionRunArgs, SessionRunHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable


def step_tensor(hook):
    result = get_global_step()
    if result is None:
        raise RuntimeError(f"Global step should be created to use {hook}.")
    return result


@export("estimator.SecondOrStepTimer", v1="train.SecondOrStepTimer")
class SecondOrStepTimer:
    """A timer that triggers every so many seconds or steps."""

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None):
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets when the timer was last triggered."""
        self._last_step: Any = None
        self._last_time: Any = None

    def should_trigger_for_step(self, step: Any) -> Any:
        """Returns whether the timer is due.

        Args:
          step: The step.
        """
        if self._last_step is None:
            return True
        if self._last_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        return step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step: Any) -> Any:
        """Notes that the timer was triggered; returns the seconds and steps since the time
        before.

        Args:
          step: The step.
        """
        now, result = time.time(), (None, None)
        if self._last_time is not None:
            result = now - self._last_time, step - self._last_step
        self._last_time, self._last_step = now, step
        return result

    def last_triggered_step(self) -> Any:
        """Returns the step at which the timer was last triggered, or None."""
        return self._last_step


class NeverTriggerTimer:
    """A timer that never triggers."""

    def should_trigger_for_step(self, step):
        del step  # no step triggers it
        return False

    def update_last_triggered_step(self, step):
        del step  # there is no last step
        return None, None

    def last_triggered_step(self):
        return None

    def reset(self):
        pass


@export("estimator.StopAtStepHook", v1="train.StopAtStepHook")
class StopAtStepHook(SessionRunHook):
    """Stops after a number of steps, or at a step."""

    def __init__(self, num_steps: int | None = None, last_step: Any = None):
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        self._step = step_tensor("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = session.run(self._step) + self._num_steps

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_values.results + 1 < self._last_step:
            return
        if run_context.session.run(self._step) >= self._last_step:
            run_context.request_stop()


@export("estimator.LoggingTensorHook", v1="train.LoggingTensorHook")
class LoggingTensorHook(SessionRunHook):
    """Logs tensors every so many steps or seconds, or at the end."""

    def __init__(
        self,
        tensors: Any,
        every_n_iter: Any = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Any = None,
    ):
        if not at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs "
                "must be provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if isinstance(tensors, dict):
            self._order, self._tensors = list(tensors), dict(tensors)
        else:
            self._order = [t if isinstance(t, str) else t.name for t in tensors]
            self._tensors = dict(zip(self._order, tensors))
        self._timer = (
            NeverTriggerTimer()
            if every_n_iter is None and every_n_secs is None
            else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )
        self._formatter, self._at_end, self._count = formatter, at_end, 0

    def begin(self) -> None:
        self._timer.reset()
        self._count, graph = 0, get_default_graph()
        self._fetches = {
            k: t if hasattr(t, "_situ_parts_") else graph.as_graph_element(t)
            for k, t in self._tensors.items()
        }

    def before_run(self, run_context: Any) -> Any:
        self._now = self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._fetches) if self._now else None

    def _log(self, values):
        seconds, _ = self._timer.update_last_triggered_step(self._count)
        before = numpy.get_printoptions()
        numpy.set_printoptions(suppress=True)
        if self._formatter:
            logs.info(self._formatter(values))
        else:
            text = ", ".join(f"{k} = {values[k]}" for k in self._order)
            logs.info("%s (%.3f sec)", text, seconds) if seconds is not None else logs.info(text)
        numpy.set_printoptions(**before)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._now:
            self._log(run_values.results)
        self._count += 1

    def end(self, session: Any) -> None:
        if self._at_end:
            self._log(session.run(self._fetches))


@export("estimator.NanLossDuringTrainingError", v1="train.NanLossDuringTrainingError")
class NanLossDuringTrainingError(RuntimeError):
    """The loss was NaN."""

    def __str__(self):
        return "NaN loss during training."


@export("estimator.NanTensorHook", v1="train.NanTensorHook")
class NanTensorHook(SessionRunHook):
    """Stops or fails when the loss is NaN."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True):
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if not numpy.isnan(run_values.results).any():
            return
        text = "Model diverged with loss = NaN."
        if self._fail:
            logs.error(text)
            raise NanLossDuringTrainingError
        logs.warn(text)
        run_context.request_stop()


@export("estimator.FinalOpsHook", v1="train.FinalOpsHook")
class FinalOpsHook(SessionRunHook):
    """Runs tensors at the end of the session; `final_ops_values` holds the results."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None):
        self._ops, self._feeds, self._values = final_ops, final_ops_feed_dict, None

    final_ops_values = property(lambda s: s._values)

    def end(self, session: Any) -> None:
        if self._ops is None:
            return
        try:
            self._values = session.run(self._ops, self._feeds)
        except (OutOfRangeError, StopIteration) as error:
            logs.warn(
                "The final ops reached the end of the input. They should read variables only and "
                "have no dependency back to some input source: of a metric, fetch `value_op`, and "
                "no op that reads another batch. The error is: %s",
                error,
            )
            raise


@export("estimator.FeedFnHook", v1="train.FeedFnHook")
class FeedFnHook(SessionRunHook):
    """Feeds each run with the result of a function."""

    def __init__(self, feed_fn: Callable):
        self.feed_fn = feed_fn

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


@export("estimator.GlobalStepWaiterHook", v1="train.GlobalStepWaiterHook")
class GlobalStepWaiterHook(SessionRunHook):
    """Delays runs until the global step reaches a value."""

    def __init__(self, wait_until_step: Any):
        self._wait, self._seen = wait_until_step, False

    def begin(self) -> None:
        self._step = step_tensor("_GlobalStepWaiterHook")

    def before_run(self, run_context: Any) -> None:
        if self._seen or self._wait <= 0:
            return
        while run_context.session.run(self._step) < self._wait:
            time.sleep(0.5)
        self._seen = True
