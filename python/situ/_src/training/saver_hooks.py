# SPDX-License-Identifier: Apache-2.0
"""saver_hooks.py: session hooks that write checkpoints, summaries and traces, and count steps
per second."""

from __future__ import annotations

import os

import _situ
from situ._src.framework import logs
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph_util import write_graph
from situ._src.framework.protos import RunOptions
from situ._src.profiler.step_stats import Timeline
from situ._src.summary.file_writer import FileWriterCache
from situ._src.summary.protos import SessionLog, Summary
from situ._src.training.basic_hooks import SecondOrStepTimer, step_tensor
from situ._src.training.session_run_hook import SessionRunArgs, SessionRunHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@export("estimator.CheckpointSaverListener", v1="train.CheckpointSaverListener")
class CheckpointSaverListener:
    """Is called before and after checkpoints are saved."""

    def begin(self) -> None:
        """Called when the graph is complete."""

    def before_save(self, session: Any, global_step_value: Any) -> None:
        """Called before a checkpoint is written.

        Args:
          session: The session.
          global_step_value: The step.
        """

    def after_save(self, session: Any, global_step_value: Any) -> None:
        """Called after a checkpoint is saved; True requests a stop."""

    def end(self, session: Any, global_step_value: Any) -> None:
        """Called at the end of training.

        Args:
          session: The session.
          global_step_value: The step.
        """


def the_saver():
    """The saver of the collection, where it has one."""
    found = get_default_graph().get_collection(GraphKeys.SAVERS)
    if len(found) > 1:
        raise RuntimeError("More than one item in collection savers.")
    return found[0] if found else None


@export("estimator.CheckpointSaverHook", v1="train.CheckpointSaverHook")
class CheckpointSaverHook(SessionRunHook):
    """Saves checkpoints every so many seconds or steps, at the beginning and at the end."""

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Any = None,
        save_graph_def: bool = True,
    ):
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        logs.info("Create CheckpointSaverHook.")
        self._given, self._scaffold = saver, scaffold
        self._dir, self._save_graph_def = checkpoint_dir, save_graph_def
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or [])

    def begin(self) -> None:
        self._writer = FileWriterCache.get(self._dir)
        self._step = step_tensor("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    @property
    def saver(self) -> Any:
        if self._given is not None:
            return self._given
        if self._scaffold is not None:
            return self._scaffold.saver
        result = the_saver()
        if result is None:
            raise RuntimeError(
                "No items in collection savers. Please add a saver to the "
                "collection or provide a saver or scaffold."
            )
        return result

    def after_create_session(self, session: Any, coord: Any) -> None:
        step = session.run(self._step)
        if self._save_graph_def:
            write_graph(get_default_graph(), self._dir, "graph.pbtxt")
        self._writer.add_graph(get_default_graph())
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        step = run_context.session.run(self._step)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        step = session.run(self._step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session, step):
        logs.info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self.saver.save(
            session,
            self._path,
            global_step=int(step),
            write_meta_graph=self._save_graph_def,
        )
        self._writer.add_session_log(
            SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._path), step
        )
        self._writer.flush()
        stop = False
        for listener in self._listeners:
            stop = bool(listener.after_save(session, step)) or stop
        return stop


@export("estimator.StepCounterHook", v1="train.StepCounterHook")
class StepCounterHook(SessionRunHook):
    """Logs steps per second."""

    def __init__(
        self,
        every_n_steps: int = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ):
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._writer, self._dir = summary_writer, output_dir

    def begin(self) -> None:
        if self._writer is None and self._dir:
            self._writer = FileWriterCache.get(self._dir)
        self._step = step_tensor("StepCounterHook")
        self._tag = self._step.op.name + "/sec"

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._step)

    def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
        rate = elapsed_steps / elapsed_time if elapsed_time else 0.0
        if self._writer is not None:
            value = Summary.Value(tag=self._tag, simple_value=rate)
            self._writer.add_summary(Summary(value=[value]), global_step)
        logs.info("%s: %g", self._tag, rate)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        stale = run_values.results
        if not self._timer.should_trigger_for_step(stale + 1):
            return
        step = run_context.session.run(self._step)
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds is not None:
                self._log_and_record(steps, seconds, step)


@export("estimator.SummarySaverHook", v1="train.SummarySaverHook")
class SummarySaverHook(SessionRunHook):
    """Saves summaries every so many steps or seconds."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ):
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._scaffold = summary_op, scaffold
        self._writer, self._dir = summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        if self._writer is None and self._dir:
            self._writer = FileWriterCache.get(self._dir)
        self._next = None
        self._step = step_tensor("SummarySaverHook")

    def _ops(self):
        found = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        return found if found is None or isinstance(found, (list, tuple)) else [found]

    def before_run(self, run_context: Any) -> Any:
        self._asked = self._next is None or self._timer.should_trigger_for_step(self._next)
        fetches, found = {"global_step": self._step}, self._ops()
        if self._asked and found is not None:
            fetches["summary"] = list(found)
        return SessionRunArgs(fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if self._writer is None:
            return
        stale = run_values.results["global_step"]
        step = stale + 1
        if self._next is None or self._asked:
            step = run_context.session.run(self._step)
        if self._next is None:
            self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._asked:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next = step + 1

    def end(self, session: Any) -> None:
        if self._writer is not None:
            self._writer.flush()


@export("estimator.ProfilerHook", v1="train.ProfilerHook")
class ProfilerHook(SessionRunHook):
    """Writes Chrome traces of steps as timeline-STEP.json, and their RunMetadata as events."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ):
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._dir, self._flow, self._memory = output_dir, show_dataflow, show_memory

    def begin(self) -> None:
        self._next, self._traced = None, False
        self._step = step_tensor("ProfilerHook")
        self._writer = FileWriterCache.get(self._dir)

    def before_run(self, run_context: Any) -> Any:
        self._traced = self._next is not None and self._timer.should_trigger_for_step(self._next)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._traced else None
        return SessionRunArgs(self._step, options=options)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        step = run_values.results + 1
        if self._next is None:
            self._timer.update_last_triggered_step(run_values.results)
        if self._traced:
            step = run_context.session.run(self._step)
            self._timer.update_last_triggered_step(step)
            self._write(step, Timeline(run_values.run_metadata.step_stats))
            self._writer.add_run_metadata(run_values.run_metadata, f"step_{step}")
        self._next = step + 1

    def _write(self, step, timeline):
        path = os.path.join(self._dir, f"timeline-{int(step)}.json")
        logs.info("Saving timeline for %d into '%s'.", step, path)
        os.makedirs(self._dir or ".", exist_ok=True)
        text = timeline.generate_chrome_trace_format(self._flow, self._memory)
        _situ.replace_file(path, text.encode())
