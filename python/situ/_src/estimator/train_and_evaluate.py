# SPDX-License-Identifier: Apache-2.0
"""train_and_evaluate.py: tf.estimator.train_and_evaluate and its specs."""

from __future__ import annotations

import collections
import os
import time

from situ._src.cluster.servers import Server
from situ._src.estimator.estimator import Estimator
from situ._src.framework import logs
from situ._src.framework.api import export
from situ._src.training.saver_hooks import CheckpointSaverListener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


def _check(input_fn, max_or_steps, name):
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")
    if max_or_steps is not None and max_or_steps <= 0:
        raise ValueError(f"Must specify {name} > 0, given: {max_or_steps}")


@export("estimator.TrainSpec")
class TrainSpec(
    collections.namedtuple("TrainSpec", ["input_fn", "max_steps", "hooks", "saving_listeners"])
):
    """Arguments of training.

    Args:
      input_fn: As in Estimator.train.
      max_steps: Global step to stop at; None: until the input ends.
      hooks: Hooks during training.
      saving_listeners: CheckpointSaverListeners.

    Raises:
      TypeError: If input_fn is not callable.
      ValueError: If max_steps is not positive.
    """

    def __new__(cls, input_fn, max_steps=None, hooks=None, saving_listeners=None):
        _check(input_fn, max_steps, "max_steps")
        return super().__new__(
            cls, input_fn, max_steps, tuple(hooks or ()), tuple(saving_listeners or ())
        )


@export("estimator.EvalSpec")
class EvalSpec(
    collections.namedtuple(
        "EvalSpec",
        ["input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs", "throttle_secs"],
    )
):
    """Arguments of the evaluations.

    Args:
      input_fn: As in Estimator.evaluate.
      steps: Number of batches; None: until the input ends.
      name: Name of the evaluation.
      hooks: Hooks during evaluation.
      exporters: Exporter, or list of exporters.
      start_delay_secs: Has no effect, but must not be negative.
      throttle_secs: Smallest number of seconds between evaluations; the first one counts from the
        checkpoint at the beginning of training. Those at the end are not delayed.

    Raises:
      TypeError: If input_fn is not callable.
      ValueError: If steps is not positive, or a number of seconds is negative.
    """

    def __new__(
        cls,
        input_fn,
        steps=100,
        name=None,
        hooks=None,
        exporters=None,
        start_delay_secs=120,
        throttle_secs=600,
    ):
        _check(input_fn, steps, "steps")
        for key, value in (
            ("start_delay_secs", start_delay_secs),
            ("throttle_secs", throttle_secs),
        ):
            if value < 0:
                raise ValueError(f"Must specify {key} >= 0, given: {value}")
        exporters = (
            tuple(exporters)
            if isinstance(exporters, (list, tuple))
            else (exporters,)
            if exporters is not None
            else ()
        )
        return super().__new__(
            cls,
            input_fn,
            steps,
            name,
            tuple(hooks or ()),
            exporters,
            start_delay_secs,
            throttle_secs,
        )


class _Evaluations(CheckpointSaverListener):
    """Evaluates checkpoints as they are saved, at most every throttle_secs."""

    def __init__(self, estimator, spec, last_step):
        self._estimator, self._spec, self._last_step = estimator, spec, last_step
        self._seen, self._when, self.results, self.exports = None, None, None, []

    def begin(self):
        self._when = None

    def _evaluate(self, step, final=False):
        if step == self._seen:
            if final:
                self._export(True)
            return
        self._seen, spec = step, self._spec
        self.results = self._estimator.evaluate(
            spec.input_fn, spec.steps, list(spec.hooks), name=spec.name
        )
        self._when = time.time()
        self._export(final)

    def _export(self, final):
        """Calls the exporters."""
        result, estimator = [], self._estimator
        for exporter in self._spec.exporters:
            folder = os.path.join(estimator.model_dir, "export", exporter.name)
            result.append(
                exporter.export(
                    estimator, folder, estimator.latest_checkpoint(), self.results, final
                )
            )
        self.exports = result or self.exports

    def after_save(self, session, global_step_value):
        if self._when is None:  # the checkpoint of the beginning
            self._when = time.time()
            return
        done = self._last_step is not None and global_step_value >= self._last_step
        if done or time.time() - self._when >= self._spec.throttle_secs:
            self._evaluate(global_step_value)
        return

    def end(self, session, global_step_value):
        self._evaluate(global_step_value, True)


def _evaluate_checkpoints(estimator, train_spec, eval_spec):
    """Evaluates new checkpoints, at most every throttle_secs, until one has reached max_steps."""
    last = train_spec.max_steps
    evaluations, seen = _Evaluations(estimator, eval_spec, last), None
    time.sleep(eval_spec.start_delay_secs)
    while True:
        begin, path = time.time(), estimator.latest_checkpoint()
        if path is None:
            logs.warn(
                "Estimator is not trained yet. Will start an evaluation when a checkpoint is ready."
            )
        elif path != seen:
            seen = path
            step = int(estimator.get_variable_value("global_step"))
            final = last is not None and step >= last
            evaluations._evaluate(step, final)
            if final:
                return evaluations.results, evaluations.exports
        time.sleep(max(0.0, eval_spec.throttle_secs - (time.time() - begin)))


@export("estimator.train_and_evaluate")
def train_and_evaluate(estimator: Any, train_spec: Any, eval_spec: Any) -> Any:
    """Trains an estimator and evaluates it at checkpoints and at the end.

    The checkpoint at the beginning of training is not evaluated. Without a cluster all work happens
    in this process. With a cluster in TF_CONFIG every task calls this function: the chief and the
    workers train with the variables of the parameter servers, which serve until these have ended;
    the evaluator evaluates checkpoints until one has reached max_steps.

    Args:
      estimator: The Estimator.
      train_spec: TrainSpec.
      eval_spec: EvalSpec.

    Returns:
      (results of the last evaluation, list of results of the exporters); (None, []) if a
      checkpoint has reached max_steps already, because neither training nor evaluation runs then;
      None in a task of a cluster, except for the evaluator.

    Raises:
      TypeError: If an argument has the wrong type.
      ValueError: If neither the RunConfig nor a hook saves checkpoints.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(
            f"`estimator` must have type `tf.estimator.Estimator`, given {type(estimator)}"
        )
    if not isinstance(train_spec, TrainSpec):
        raise TypeError(
            f"`train_spec` must have type `tf.estimator.TrainSpec`, given {type(train_spec)}"
        )
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(
            f"`eval_spec` must have type `tf.estimator.EvalSpec`, given {type(eval_spec)}"
        )
    logs.info(
        "Start train and evaluate loop. The evaluate will happen after every checkpoint. "
        "Checkpoint frequency is determined based on RunConfig arguments: "
        "save_checkpoints_steps %s or save_checkpoints_secs %s.",
        estimator.config.save_checkpoints_steps,
        estimator.config.save_checkpoints_secs,
    )
    config = estimator.config
    if config.task_type == "evaluator":
        return _evaluate_checkpoints(estimator, train_spec, eval_spec)
    if config.master:
        server = Server(config.cluster_spec, config.task_type, config.task_id)
        if config.task_type == "ps":
            return server.join()
        if config.task_type != "master":
            estimator.train(
                train_spec.input_fn,
                list(train_spec.hooks),
                max_steps=train_spec.max_steps,
                saving_listeners=train_spec.saving_listeners if config.is_chief else (),
            )
            return None
    evaluations = _Evaluations(estimator, eval_spec, train_spec.max_steps)
    estimator.train(
        train_spec.input_fn,
        list(train_spec.hooks),
        max_steps=train_spec.max_steps,
        saving_listeners=[*train_spec.saving_listeners, evaluations],
    )
    if evaluations.results is None:  # trained already
        evaluations._evaluate(None if estimator.latest_checkpoint() else -1)
    return evaluations.results, evaluations.exports
