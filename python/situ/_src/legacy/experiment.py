# SPDX-License-Identifier: Apache-2.0
"""experiment.py: tf.contrib.learn: experiments over estimators and what runs them, fit and
predict of arrays."""

from __future__ import annotations

from typing import Any

from situ._src.estimator import config, inputs
from situ._src.estimator.train_and_evaluate import EvalSpec, TrainSpec, train_and_evaluate
from situ._src.framework.api import BOTH, V1, export


@export(v1="contrib.learn.Experiment")
class Experiment:
    """An estimator with the inputs of training and evaluation.

    Args:
      estimator: The estimator.
      train_input_fn: Input function of the training.
      eval_input_fn: Input function of the evaluation.
      train_steps: Global step at which the training ends; None: the end of the input.
      eval_steps: Number of batches of an evaluation.
      train_monitors: Hooks of the training.
      eval_hooks: Hooks of the evaluation.

    The other arguments have no effect, nor has delay_secs of the methods.
    """

    def __init__(
        self,
        estimator,
        train_input_fn,
        eval_input_fn,
        eval_metrics=None,
        train_steps=None,
        eval_steps=100,
        train_monitors=None,
        eval_hooks=None,
        local_eval_frequency=None,
        eval_delay_secs=120,
        continuous_eval_throttle_secs=60,
        min_eval_frequency=None,
        delay_workers_by_global_step: bool = False,
        export_strategies=None,
        train_steps_per_iteration=None,
        checkpoint_and_export: bool = False,
        saving_listeners=None,
        check_interval_secs=5,
    ) -> None:
        self.estimator, self.train_steps, self.eval_steps = estimator, train_steps, eval_steps
        self._train_input, self._eval_input = train_input_fn, eval_input_fn
        self._hooks, self._eval_hooks = list(train_monitors or []), list(eval_hooks or [])

    def extend_train_hooks(self, additional_hooks):
        self._hooks.extend(additional_hooks)

    def train(self, delay_secs=None) -> Any:
        """Trains up to train_steps."""
        self.estimator.train(self._train_input, self._hooks, max_steps=self.train_steps)
        return self.estimator

    def evaluate(self, delay_secs=None, name: str | None = None):
        """Evaluates and returns the metrics."""
        return self.estimator.evaluate(
            self._eval_input, self.eval_steps, self._eval_hooks, name=name
        )

    def train_and_evaluate(self):
        """Trains and evaluates at checkpoints and at the end."""
        results, exports = train_and_evaluate(
            self.estimator,
            TrainSpec(self._train_input, self.train_steps, self._hooks),
            EvalSpec(self._eval_input, self.eval_steps, hooks=self._eval_hooks),
        )
        return results, exports

    continuous_train_and_eval = train_and_evaluate

    def local_run(self):
        return self.train_and_evaluate()

    def test(self):
        """One step of training and of evaluation."""
        self.estimator.train(self._train_input, steps=1)
        return self.estimator.evaluate(self._eval_input, 1), []

    def run_std_server(self):
        """Serves variables to other tasks; ends when they do."""
        (V1.get("train.Server") or BOTH["train.Server"])(
            self.estimator.config.cluster_spec,
            self.estimator.config.task_type,
            self.estimator.config.task_id,
        ).join()

    def continuous_eval(
        self,
        delay_secs=None,
        throttle_delay_secs=None,
        evaluate_checkpoint_only_once: bool = True,
        continuous_eval_predicate_fn=None,
        name: str | None = "continuous",
    ):
        """Evaluates each checkpoint as it comes, until train_steps is reached.

        Args:
          delay_secs: Has no effect.
          throttle_delay_secs: Smallest number of seconds between evaluations.
          evaluate_checkpoint_only_once: Has no effect: each is evaluated once.
          continuous_eval_predicate_fn: Has no effect.
          name: Name of the evaluation.
        """
        from situ._src.legacy.contrib_training import checkpoints_iterator

        results = None
        for path in checkpoints_iterator(self.estimator.model_dir, throttle_delay_secs or 0):
            results = self.estimator.evaluate(
                self._eval_input, self.eval_steps, self._eval_hooks, path, name
            )
            step = results.get("global_step")
            if self.train_steps and step is not None and step >= self.train_steps:
                return results
        return results


def _schedule(config):
    """Returns the default schedule of a task."""
    kind = getattr(config, "task_type", None)
    if not kind or kind == "worker" and not getattr(config, "cluster_spec", None):
        return "train_and_evaluate"
    return {"ps": "run_std_server", "evaluator": "continuous_eval"}.get(kind, "train")


@export(v1=("contrib.learn.learn_runner.run", "contrib.learn.python.learn.learn_runner.run"))
def run(experiment_fn, output_dir=None, schedule=None, run_config=None, hparams=None):
    """Creates an experiment and calls the method that the schedule names."""
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
def tune(experiment_fn, tuner):
    raise NotImplementedError(
        "tf.contrib.learn.learn_runner.tune is not there: call run with "
        "each of the hyper-parameters that are to be tried."
    )


@export(v1=("contrib.learn.SKCompat", "contrib.learn.python.SKCompat"))
class SKCompat:
    """Wraps an estimator with fit, score and predict of arrays; metrics of score has no effect."""

    def __init__(self, estimator) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int | None = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors=None,
    ) -> Any:
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
    ):
        return self._estimator.evaluate(_arrays(x, y, batch_size, 1, False), steps, name=name)

    def predict(self, x: Any, batch_size: int | None = 128, outputs=None):
        import numpy

        rows = list(self._estimator.predict(_arrays(x, None, batch_size, 1, False)))
        if rows and isinstance(rows[0], dict):
            return {
                k: numpy.stack([r[k] for r in rows]) for k in rows[0] if not outputs or k in outputs
            }
        return numpy.stack(rows) if rows else numpy.array([])


def _arrays(x, y, batch_size, epochs, shuffle):
    import numpy

    named = x if isinstance(x, dict) else {"": numpy.asarray(x)}
    return inputs.numpy_input_fn(
        named, None if y is None else numpy.asarray(y), batch_size, epochs, shuffle
    )


@export(v1="contrib.learn.infer_real_valued_columns_from_input")
def infer_real_valued_columns_from_input(x: Any):
    """Returns the numeric columns of an array."""
    import numpy

    column = V1.get("feature_column.numeric_column") or BOTH["feature_column.numeric_column"]
    sizes = numpy.asarray(x).shape[1:]
    return [column("", list(sizes) or [1])]


for _name in ("RunConfig", "TaskType"):
    _found = getattr(config, _name, None)
    if _found is not None:
        V1["contrib.learn.python.learn.run_config." + _name] = _found
        V1["contrib.learn.run_config." + _name] = _found
