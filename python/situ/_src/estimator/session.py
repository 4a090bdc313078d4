# SPDX-License-Identifier: Apache-2.0
"""session.py: the sessions of an estimator: training, evaluation and reading a checkpoint."""

import collections
import os
import time

import numpy

from situ._src.checkpoint.saver import Saver
from situ._src.estimator import replicas
from situ._src.framework import logs
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.ops.array_ops import group
from situ._src.summary.file_writer import FileWriterCache
from situ._src.summary.protos import Summary
from situ._src.summary.summary_ops import scalar
from situ._src.training.basic_hooks import FinalOpsHook, LoggingTensorHook, NanTensorHook
from situ._src.training.metrics import mean
from situ._src.training.monitored_session import (
    ChiefSessionCreator,
    MonitoredSession,
    MonitoredTrainingSession,
)
from situ._src.training.saver_hooks import CheckpointSaverHook
from situ._src.training.session_run_hook import SessionRunHook
from situ._src.training.warm_start import warm_start as warm_start_variables


@export("estimator.WarmStartSettings")
class WarmStartSettings(
    collections.namedtuple(
        "WarmStartSettings",
        [
            "ckpt_to_initialize_from",
            "vars_to_warm_start",
            "var_name_to_vocab_info",
            "var_name_to_prev_var_name",
        ],
    )
):
    """Initial values from another checkpoint.

    Args:
      ckpt_to_initialize_from: Checkpoint or its folder.
      vars_to_warm_start: Regular expression, or list of variables.
      var_name_to_vocab_info: Dictionary from names to a tf.estimator.VocabInfo.
      var_name_to_prev_var_name: Dictionary from names to names in the checkpoint.

    Raises:
      ValueError: If ckpt_to_initialize_from is empty.
    """

    def __new__(
        cls,
        ckpt_to_initialize_from,
        vars_to_warm_start=".*",
        var_name_to_vocab_info=None,
        var_name_to_prev_var_name=None,
    ):
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(
            cls,
            ckpt_to_initialize_from,
            vars_to_warm_start,
            var_name_to_vocab_info or {},
            var_name_to_prev_var_name or {},
        )


def warm_start(settings, trained):
    """Initializes variables from another checkpoint, unless the model has one of its own."""
    if settings is None or trained:
        return
    if not isinstance(settings, WarmStartSettings):
        settings = WarmStartSettings(os.fspath(settings))
    logs.info("Warm-starting with WarmStartSettings: %s", settings)
    warm_start_variables(*settings)


def _saver(config, scaffold):
    """Adds a Saver of all variables, unless the model has one."""
    graph = get_default_graph()
    if scaffold.saver is None and not graph.get_collection(GraphKeys.SAVERS):
        graph.add_to_collection(
            GraphKeys.SAVERS,
            Saver(
                sharded=True,
                max_to_keep=config.keep_checkpoint_max,
                keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
                defer_build=True,
                save_relative_paths=True,
            ),
        )


def train(config, step, spec, hooks, listeners):
    """Runs training steps until a hook requests a stop; returns the last loss."""
    graph = get_default_graph()
    if not any(t.op.name == "loss" for t in graph.get_collection(GraphKeys.SUMMARIES)):
        scalar("loss", spec.loss)
    graph.add_to_collection(GraphKeys.LOSSES, spec.loss)
    hooks = hooks + [NanTensorHook(spec.loss)]
    if config.log_step_count_steps:
        hooks.append(
            LoggingTensorHook(
                {"loss": spec.loss, "step": step}, every_n_iter=config.log_step_count_steps
            )
        )
    hooks.extend(spec.training_hooks)
    _saver(config, spec.scaffold)
    chief = list(spec.training_chief_hooks)
    savers = [h for h in hooks + chief if isinstance(h, CheckpointSaverHook)]
    if (config.save_checkpoints_secs or config.save_checkpoints_steps) and not savers:
        savers = [
            CheckpointSaverHook(
                config.model_dir,
                config.save_checkpoints_secs,
                config.save_checkpoints_steps,
                scaffold=spec.scaffold,
            )
        ]
        chief += savers
    if listeners:
        if not savers:
            raise ValueError(
                "There should be a CheckpointSaverHook to use saving_listeners. "
                "Please set one of the RunConfig.save_checkpoints_steps or "
                "RunConfig.save_checkpoints_secs."
            )
        savers[0]._listeners.extend(listeners)
    loss = None
    with MonitoredTrainingSession(
        config.master,
        config.is_chief,
        config.model_dir,
        spec.scaffold,
        hooks,
        chief,
        save_checkpoint_secs=0,
        save_summaries_steps=config.save_summary_steps or None,
        config=replicas.session_config(config),
        log_step_count_steps=config.log_step_count_steps,
    ) as session:
        while not session.should_stop():
            _, loss = session.run([spec.train_op, spec.loss])
    return loss


class StopAfter(SessionRunHook):
    """Stops after a number of runs and logs the progress."""

    def __init__(self, runs):
        self._runs, self._done = runs, 0
        self._every = 1 if runs is None or runs < 10 else max(runs // 10, 1)

    def after_run(self, run_context, run_values):
        self._done += 1
        if self._runs is not None and (self._done % self._every == 0 or self._done == self._runs):
            logs.info("Evaluation [%d/%d]", self._done, self._runs)
        if self._runs is not None and self._done >= self._runs:
            run_context.request_stop()


def open_for_reading(config, scaffold, path, hooks):
    """Returns a session with the variables of a checkpoint."""
    creator = ChiefSessionCreator(
        scaffold,
        config.evaluation_master,
        config.session_config,
        checkpoint_filename_with_path=path,
    )
    return MonitoredSession(creator, hooks)


def _metrics(spec, step):
    """Returns (the update op of a batch, the values to read at the end)."""
    result = dict(spec.eval_metric_ops)
    result.setdefault("loss", mean(spec.loss))
    pairs = {}
    for key, metric in result.items():
        if hasattr(metric, "update_state"):
            metric = metric.result(), group(*metric.updates)
        pairs[key] = metric
    final = {key: value for key, (value, _) in pairs.items()}
    final[GraphKeys.GLOBAL_STEP] = step
    return group(*[update for _, update in pairs.values()]), final


def evaluate(config, step, spec, hooks, path, steps):
    """Evaluates the metrics of a model over its input."""
    update, final = _metrics(spec, step)
    last = FinalOpsHook(final)
    logs.info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ"))
    hooks = [StopAfter(steps), *hooks, *spec.evaluation_hooks, last]
    with open_for_reading(config, spec.scaffold, path, hooks) as session:
        while not session.should_stop():
            session.run(update)
    logs.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S"))
    return last.final_ops_values


def write_results(folder, values):
    """Writes the results of an evaluation as a summary."""
    step = values[GraphKeys.GLOBAL_STEP]
    text = ", ".join(f"{k} = {v}" for k, v in sorted(values.items()))
    logs.info("Saving dict for global step %d: %s", step, text)
    summary = Summary()
    for key, value in values.items():
        if (
            key != GraphKeys.GLOBAL_STEP
            and numpy.ndim(value) == 0
            and numpy.asarray(value).dtype.kind in "fiu"
        ):
            summary.value.add(tag=key, simple_value=float(value))
    writer = FileWriterCache.get(folder)
    writer.add_summary(summary, step)
    writer.flush()
