# SPDX-License-Identifier: Apache-2.0
"""experiment.py: tf.contrib.learn: Experiment, learn_runner, and estimators with fit and predict
of arrays."""

from __future__ import annotations

import inspect
import math
import time
from typing import Any

import numpy

from situ._src.checkpoint.state import latest_checkpoint
from situ._src.estimator import config, inputs
from situ._src.estimator.estimator import Estimator
from situ._src.estimator.train_and_evaluate import EvalSpec, _Evaluations
from situ._src.framework import logs
from situ._src.framework.api import BOTH, V1, export
from situ._src.framework.keywords import unsupported
from situ._src.training.basic_hooks import GlobalStepWaiterHook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable


class _EverySteps(_Evaluations):
    """Evaluates checkpoints that are at least `every` steps apart, and the last one."""

    def __init__(self, estimator, spec, last_step, every):
        super().__init__(estimator, spec, last_step)
        self._every, self._step = every, None

    def after_save(self, session, global_step_value):
        del session  # an evaluation has its own
        if self._step is None:  # the checkpoint of the beginning
            self._step = global_step_value
        elif self._every and global_step_value - self._step >= self._every:
            self._step = global_step_value
            self._evaluate(global_step_value)


def _continues(predicate, results, path):
    """Returns whether a predicate of the user requests another evaluation."""
    if predicate is None:
        return True
    if "checkpoint_path" in inspect.signature(predicate).parameters:
        return predicate(results, checkpoint_path=path)
    return predicate(results)


def _wait(seconds, what):
    if seconds:
        logs.info("Waiting %d secs before starting %s.", seconds, what)
        time.sleep(seconds)


@export(v1="contrib.learn.Experiment")
class Experiment:
    """An estimator with the inputs of training and evaluation.

    Args:
      estimator: The estimator.
      train_input_fn: Input function of the training.
      eval_input_fn: Input function of the evaluation.
      eval_metrics: Must be None; the model function returns eval_metric_ops.
      train_steps: Global step at which the training ends; None: the end of the input.
      eval_steps: Number of batches of an evaluation.
      train_monitors: Hooks of the training.
      eval_hooks: Hooks of the evaluation.
      local_eval_frequency: Least number of steps between evaluations of local_run; None: only at
        the end.
      eval_delay_secs: Seconds that evaluate and continuous_eval wait first.
      continuous_eval_throttle_secs: Least number of seconds between evaluations of continuous_eval.
      min_eval_frequency: Least number of steps between evaluations of train_and_evaluate, each of a
        new checkpoint; None: 1; 0: only at the end.
      delay_workers_by_global_step: Whether workers other than the first wait for a global step,
        not for seconds.
      export_strategies: Must be None.
      train_steps_per_iteration: Steps between evaluations of continuous_train_and_eval.
      checkpoint_and_export: Must be False.
      saving_listeners: CheckpointSaverListeners of the training.
      check_interval_secs: Seconds between checks for a checkpoint, which are not needed.

    Raises:
      NotImplementedError: If there are export_strategies, or checkpoint_and_export is True.
      ValueError: If there are eval_metrics.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable,
        eval_input_fn: Callable,
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int = 100,
        train_monitors: Any = None,
        eval_hooks: Any = None,
        local_eval_frequency: Any = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: Any = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Any = None,
        check_interval_secs: float = 5,
    ) -> None:
        del check_interval_secs  # evaluations follow each saved checkpoint; nothing polls
        unsupported(
            "tf.contrib.learn.Experiment",
            export_strategies=(export_strategies or None, None),
            checkpoint_and_export=(checkpoint_and_export, False),
        )
        if eval_metrics is not None and isinstance(estimator, Estimator):
            raise ValueError(
                "`eval_metrics` must be None with `tf.estimator.Estimator`. Use `eval_metric_ops` "
                "in `tf.estimator.EstimatorSpec` instead."
            )
        unsupported("tf.contrib.learn.Experiment", eval_metrics=(eval_metrics, None))
        self.estimator, self.train_steps, self.eval_steps = estimator, train_steps, eval_steps
        self._train_input, self._eval_input = train_input_fn, eval_input_fn
        self._hooks, self._eval_hooks = list(train_monitors or []), list(eval_hooks or [])
        self._local_frequency, self._frequency = local_eval_frequency, min_eval_frequency
        self._eval_delay, self._throttle = eval_delay_secs, continuous_eval_throttle_secs
        self._delay_by_step = delay_workers_by_global_step
        self._steps_per_iteration = train_steps_per_iteration
        self._listeners = list(saving_listeners or [])

    def extend_train_hooks(self, additional_hooks: Any) -> None:
        """Adds hooks of training.

        Args:
          additional_hooks: List of hooks.
        """
        self._hooks.extend(additional_hooks)

    def train(self, delay_secs: float | None = None) -> Any:
        """Trains up to train_steps.

        Args:
          delay_secs: Seconds to wait first; default: 5 per worker before this one, at most 60, or
            with delay_workers_by_global_step a global step.
        """
        task, hooks = getattr(self.estimator.config, "task_id", 0) or 0, list(self._hooks)
        if delay_secs is None and self._delay_by_step:
            hooks.append(GlobalStepWaiterHook(int(8000.0 * math.log(task + 1))))
        elif delay_secs is None:
            delay_secs = min(60, task * 5)
        _wait(delay_secs, "training")
        self.estimator.train(
            self._train_input, hooks, max_steps=self.train_steps, saving_listeners=self._listeners
        )
        return self.estimator

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """Evaluates and returns the metrics.

        Args:
          delay_secs: Seconds to wait first; default: eval_delay_secs.
          name: Name of the evaluation.
        """
        _wait(self._eval_delay if delay_secs is None else delay_secs, "eval")
        return self._evaluate(name)

    def _evaluate(self, name, path=None):
        return self.estimator.evaluate(
            self._eval_input, self.eval_steps, self._eval_hooks, path, name
        )

    def _train_and_evaluate(self, every):
        spec = EvalSpec(self._eval_input, self.eval_steps, hooks=self._eval_hooks)
        evaluations = _EverySteps(self.estimator, spec, self.train_steps, every)
        self.estimator.train(
            self._train_input,
            self._hooks,
            max_steps=self.train_steps,
            saving_listeners=[*self._listeners, evaluations],
        )
        if evaluations.results is None:  # trained already
            evaluations._evaluate(None if self.estimator.latest_checkpoint() else -1)
        return evaluations.results, evaluations.exports

    def train_and_evaluate(self) -> Any:
        """Trains and evaluates at checkpoints and at the end."""
        return self._train_and_evaluate(1 if self._frequency is None else self._frequency)

    def _done(self, results):
        step = (results or {}).get("global_step")
        return bool(self.train_steps and step is not None and step >= self.train_steps)

    def continuous_train_and_eval(
        self, continuous_eval_predicate_fn: Callable | None = None
    ) -> Any:
        """Trains some steps and evaluates, until train_steps is reached.

        Args:
          continuous_eval_predicate_fn: Function of the last metrics (at first None) that returns
            whether to go on.
        """
        steps = self._steps_per_iteration or self._frequency or 1000
        results: Any = None
        while _continues(continuous_eval_predicate_fn, results, None) and not self._done(results):
            step = (results or {}).get("global_step") or 0
            left = steps if self.train_steps is None else self.train_steps - step
            count = max(1, min(steps, left))
            self.estimator.train(
                self._train_input, self._hooks, steps=count, saving_listeners=self._listeners
            )
            results = self._evaluate(None)
        return results, []

    def local_run(self) -> Any:
        """Trains and evaluates in this process; old name of `train_and_evaluate`."""
        return self._train_and_evaluate(self._local_frequency or 0)

    def test(self) -> Any:
        """One step of training and of evaluation."""
        self.estimator.train(self._train_input, steps=1)
        return self.estimator.evaluate(self._eval_input, 1), []

    def run_std_server(self) -> None:
        """Serves variables to other tasks; ends when they do."""
        (V1.get("train.Server") or BOTH["train.Server"])(
            self.estimator.config.cluster_spec,
            self.estimator.config.task_type,
            self.estimator.config.task_id,
        ).join()

    def continuous_eval(
        self,
        delay_secs: float | None = None,
        throttle_delay_secs: float | None = None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn: Callable | None = None,
        name: str | None = "continuous",
    ) -> Any:
        """Evaluates each checkpoint as it comes, until train_steps is reached.

        Args:
          delay_secs: Seconds to wait first; default: eval_delay_secs.
          throttle_delay_secs: Least number of seconds between evaluations; default:
            continuous_eval_throttle_secs.
          evaluate_checkpoint_only_once: Whether to wait for a new checkpoint each time.
          continuous_eval_predicate_fn: Function of the last metrics (at first None), and of
            checkpoint_path if it has such an argument, that returns whether to go on.
          name: Name of the evaluation.
        """
        _wait(self._eval_delay if delay_secs is None else delay_secs, "eval")
        throttle = self._throttle if throttle_delay_secs is None else throttle_delay_secs
        results = path = None
        while _continues(continuous_eval_predicate_fn, results, path) and not self._done(results):
            began, new = time.time(), latest_checkpoint(self.estimator.model_dir)
            if new is not None and not (evaluate_checkpoint_only_once and new == path):
                results, path = self._evaluate(name, new) or {}, new
                if self._done(results):
                    break
            time.sleep(max(0.0, began + max(throttle, 0.1) - time.time()))
        return results


def _schedule(config):
    """Returns the default schedule of a task."""
    kind = getattr(config, "task_type", None)
    if not kind or kind == "worker" and not getattr(config, "cluster_spec", None):
        return "train_and_evaluate"
    return {"ps": "run_std_server", "evaluator": "continuous_eval"}.get(kind, "train")


@export(v1=("contrib.learn.learn_runner.run", "contrib.learn.python.learn.learn_runner.run"))
def run(
    experiment_fn: Callable,
    output_dir: str | None = None,
    schedule: Any = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Creates an experiment and calls the method that the schedule names.

    Args:
      experiment_fn: Function of the output directory, or of the RunConfig and the hparams, that
        returns an Experiment.
      output_dir: Directory of the model; deprecated.
      schedule: Name of the method; default: that of the task.
      run_config: The RunConfig.
      hparams: The hyperparameters.
    """
    if output_dir is not None and run_config is None:
        experiment = experiment_fn(output_dir)
        run_config = experiment.estimator.config
    else:
        if run_config is None:
            raise ValueError("Must set value for `output_dir` or `run_config`")
        experiment = experiment_fn(run_config, hparams)
    task = schedule or _schedule(run_config)
    if not hasattr(experiment, task):
        raise ValueError(f"Schedule references non-existent task {task}")
    return getattr(experiment, task)()


@export(v1="contrib.learn.learn_runner.tune")
def tune(experiment_fn: Callable, tuner: Any) -> Any:
    """Raises an error or tunes an experiment with a tuner.

    Args:
      experiment_fn: Function that returns an Experiment.
      tuner: The tuner.
    """
    raise NotImplementedError(
        "tf.contrib.learn.learn_runner.tune is not supported: call run with "
        "each of the hyper-parameters that are to be tried."
    )


@export(v1=("contrib.learn.SKCompat", "contrib.learn.python.SKCompat"))
class SKCompat:
    """Wraps an estimator with fit, score and predict of arrays; metrics of score must be None."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int | None = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Any = None,
    ) -> Any:
        """Trains with arrays; returns the object.

        Args:
          x: Array of examples.
          y: Array of labels.
          batch_size: Batch size.
          steps: Number of steps.
          max_steps: Step to stop at.
          monitors: Hooks.
        """
        self._estimator.train(_arrays(x, y, batch_size, None, True), monitors, steps, max_steps)
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int | None = 128,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
    ) -> Any:
        """Returns the metrics of arrays.

        Args:
          x: Array of examples.
          y: Array of labels.
          batch_size: Batch size.
          steps: Number of steps.
          metrics: Dictionary of metrics.
          name: Name of the evaluation.
        """
        unsupported("tf.contrib.learn.SKCompat.score", metrics=(metrics, None))
        return self._estimator.evaluate(_arrays(x, y, batch_size, 1, False), steps, name=name)

    def predict(self, x: Any, batch_size: int | None = 128, outputs: Any = None) -> Any:
        """Returns the predictions for an array.

        Args:
          x: Array of examples.
          batch_size: Batch size.
          outputs: Names of the predictions; default: all.
        """
        rows = list(self._estimator.predict(_arrays(x, None, batch_size, 1, False)))
        if rows and isinstance(rows[0], dict):
            return {
                k: numpy.stack([r[k] for r in rows]) for k in rows[0] if not outputs or k in outputs
            }
        return numpy.stack(rows) if rows else numpy.array([])


def _arrays(x, y, batch_size, epochs, shuffle):
    named = x if isinstance(x, dict) else {"": numpy.asarray(x)}
    return inputs.numpy_input_fn(
        named, None if y is None else numpy.asarray(y), batch_size, epochs, shuffle
    )


@export(v1="contrib.learn.infer_real_valued_columns_from_input")
def infer_real_valued_columns_from_input(x: Any) -> list:
    """Returns the numeric columns of an array.

    Args:
      x: The array.
    """
    column = V1.get("feature_column.numeric_column") or BOTH["feature_column.numeric_column"]
    sizes = numpy.asarray(x).shape[1:]
    return [column("", list(sizes) or [1])]


for _name in ("RunConfig", "TaskType"):
    _found = getattr(config, _name, None)
    if _found is not None:
        V1["contrib.learn.python.learn.run_config." + _name] = _found
        V1["contrib.learn.run_config." + _name] = _found
