# SPDX-License-Identifier: Apache-2.0
"""estimator.py: tf.estimator.Estimator: trains, evaluates and predicts with a model_fn."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any, Callable

import numpy

from situ._src.checkpoint.reader import load_checkpoint, load_variable
from situ._src.checkpoint.state import latest_checkpoint
from situ._src.estimator import exporting, inputs, replicas, session
from situ._src.estimator.config import RunConfig
from situ._src.estimator.spec import EstimatorSpec, ModeKeys
from situ._src.framework import errors, logs
from situ._src.framework.api import V1, export
from situ._src.framework.graph import Graph
from situ._src.framework.keywords import unsupported
from situ._src.framework.scopes import device
from situ._src.ops.random_ops import set_seed
from situ._src.training.basic_hooks import StopAtStepHook
from situ._src.training.global_step import create_global_step
from situ._src.training.session_run_hook import SessionRunHook


def _check_hooks(hooks):
    hooks = list(hooks or [])
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return hooks


def _config(config, model_dir):
    config = RunConfig() if config is None else config
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of RunConfig, but provided {config}.")
    if (
        model_dir is not None
        and config.model_dir is not None
        and os.fspath(model_dir) != config.model_dir
    ):
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with "
            f"different values. In constructor: '{model_dir}', in `RunConfig`: "
            f"'{config.model_dir}' "
        )
    model_dir = model_dir if model_dir is not None else config.model_dir
    if model_dir is None:
        model_dir = tempfile.mkdtemp()
        logs.warn("Using temporary folder as model directory: %s", model_dir)
    return config.replace(model_dir=os.fspath(model_dir))


@export("estimator.Estimator", v1="contrib.learn.Estimator")
class Estimator:
    """Trains and runs the model of a model_fn; checkpoints and summaries are in model_dir.

    Args:
      model_fn: Function of (features, labels, mode, params, config), of which only features is
        required, that returns an EstimatorSpec. It is called in a new graph for each use.
      model_dir: Folder of checkpoints and summaries; default: that of config, or a temporary one.
      config: RunConfig.
      params: Dictionary of hyperparameters for model_fn.
      warm_start_from: Checkpoint, or WarmStartSettings, of initial values.

    Raises:
      ValueError: If model_fn is missing or lacks a parameter, config is not a RunConfig, or
        model_dir and config disagree.
    """

    def __init__(
        self,
        model_fn: Callable,
        model_dir: str | os.PathLike | None = None,
        config: Any = None,
        params: Any = None,
        warm_start_from: Any = None,
    ) -> None:
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        names = inputs.arguments_of(model_fn)
        if "features" not in names and not getattr(model_fn, "any_arguments", False):
            raise ValueError(f"model_fn ({model_fn}) must include features argument.")
        if params is not None and "params" not in names:
            raise ValueError(
                f"model_fn ({model_fn}) does not include params argument, but params "
                f"({params}) is passed to Estimator."
            )
        self._config = _config(config, model_dir)
        self._model_dir, self._session_config = self._config.model_dir, self._config.session_config
        other = params is not None and not isinstance(params, dict)  # such as HParams
        self._model_fn, self._params = model_fn, params if other else dict(params or {})
        self._warm_start = warm_start_from
        logs.info("Using config: %s", self._config._values)

    model_dir = property(lambda s: s._model_dir)
    config = property(lambda s: s._config)

    @property
    def params(self) -> Any:
        """Hyperparameters of the model_fn."""
        return dict(self._params) if isinstance(self._params, dict) else self._params

    @property
    def model_fn(self) -> Any:
        """The model_fn as a function of (features, labels, mode, config)."""

        def public(features, labels, mode, config):
            return self._call(features, labels, mode, config)

        return public

    def eval_dir(self, name: str | None = None) -> Any:
        """Returns the folder of the summaries of evaluations of a name."""
        return os.path.join(self._model_dir, "eval" if not name else "eval_" + name)

    def latest_checkpoint(self) -> str | None:
        """Returns the path of the latest checkpoint, or None."""
        return latest_checkpoint(self._model_dir)

    def get_variable_names(self) -> list:
        """Returns the names of the variables of the latest checkpoint."""
        return [name for name in sorted(self._reader().get_variable_to_shape_map())]

    def get_variable_value(self, name: str | None) -> Any:
        """Returns the value of a variable of the latest checkpoint.

        Args:
          name: Name of the variable.

        Raises:
          ValueError: If there is no checkpoint.
        """
        self._reader()
        return load_variable(self._model_dir, name)

    def _reader(self):
        if not self.latest_checkpoint():
            raise ValueError(
                f"Estimator has not been trained yet: no checkpoint in {self._model_dir}."
            )
        return load_checkpoint(self._model_dir)

    def _call(self, features, labels, mode, config):
        names = inputs.arguments_of(self._model_fn)
        known = {"mode": mode, "params": self.params, "config": config}
        given = {k: v for k, v in known.items() if k in names}
        if "labels" in names:
            given["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        logs.info("Calling model_fn.")
        result = self._model_fn(features=features, **given)
        if not isinstance(result, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        logs.info("Done calling model_fn.")
        return result

    def _build(self, input_fn, mode):
        """Builds the input and the model in the current graph; returns the global step, the spec
        and the
        hooks of the input.
        """
        set_seed(self._config.tf_random_seed)
        strategy = self._config.train_distribute if mode == ModeKeys.TRAIN else None
        count = getattr(strategy, "num_replicas_in_sync", 1)
        with device(replicas.device_function(self._config, mode == ModeKeys.TRAIN)):
            step = create_global_step()
            parts, hooks = inputs.call(input_fn, mode, self.params, self._config, count)
            if count > 1:
                return step, replicas.build(strategy, self._replica, parts), hooks
            features, labels = parts[0]
            if mode == ModeKeys.PREDICT:
                labels = None
            return step, self._call(features, labels, mode, self._config), hooks

    def _replica(self, features, labels):
        return self._call(features, labels, ModeKeys.TRAIN, self._config)

    def train(
        self,
        input_fn: Callable,
        hooks: Any = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Any = None,
    ) -> Any:
        """Trains the model.

        Args:
          input_fn: Function that returns (features, labels) or a `tf.data.Dataset` of such pairs.
          hooks: List of SessionRunHooks.
          steps: Number of steps; default: until the input ends.
          max_steps: Global step to stop at; training is skipped if a checkpoint is there already.
          saving_listeners: List of CheckpointSaverListeners.

        Returns:
          The estimator.

        Raises:
          TypeError: If a hook is not a SessionRunHook.
          ValueError: If both steps and max_steps are set, one is not positive, or there are
            saving_listeners, but no checkpoints are saved.
        """
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for name, count in (("steps", steps), ("max_steps", max_steps)):
            if count is not None and count <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {count}")
        if max_steps is not None and self._trained_steps() >= max_steps:
            logs.info("Skipping training since max_steps has already saved.")
            return self
        hooks = _check_hooks(hooks)
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        with Graph().as_default():
            step, spec, input_hooks = self._build(input_fn, ModeKeys.TRAIN)
            session.warm_start(self._warm_start, self.latest_checkpoint())
            loss = session.train(
                self._config, step, spec, input_hooks + hooks, list(saving_listeners or [])
            )
        logs.info("Loss for final step: %s.", loss)
        return self

    def _trained_steps(self):
        try:
            return int(load_variable(self._model_dir, "global_step"))
        except (KeyError, OSError, ValueError, errors.OpError):
            return 0

    def evaluate(
        self,
        input_fn: Callable,
        steps: int | None = None,
        hooks: Sequence | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> Any:
        """Evaluates the model with the latest or a given checkpoint.

        Args:
          input_fn: Function that returns (features, labels) or a `tf.data.Dataset` of such pairs.
          steps: Number of batches; default: until the input ends.
          hooks: List of SessionRunHooks.
          checkpoint_path: Checkpoint; default: the latest one.
          name: Name of the evaluation, which selects its folder of summaries.

        Returns:
          Dictionary of the metrics, `loss` and `global_step`. Without a checkpoint the model is
          evaluated with its initial values.

        Raises:
          TypeError: If a hook is not a SessionRunHook.
          ValueError: If steps is not positive.
        """
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        hooks, path = _check_hooks(hooks), checkpoint_path or self.latest_checkpoint()
        if not path:
            logs.info(
                "Could not find trained model in model_dir: %s, running initialization to "
                "evaluate.",
                self._model_dir,
            )
        with Graph().as_default():
            step, spec, input_hooks = self._build(input_fn, ModeKeys.EVAL)
            values = session.evaluate(self._config, step, spec, input_hooks + hooks, path, steps)
        session.write_results(self.eval_dir(name), values)
        return values

    def predict(
        self,
        input_fn: Callable,
        predict_keys: Any = None,
        hooks: Any = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Any:
        """Yields the predictions for each example.

        Args:
          input_fn: Function that returns features or a `tf.data.Dataset`.
          predict_keys: Names of the predictions to compute; default: all.
          hooks: List of SessionRunHooks.
          checkpoint_path: Checkpoint; default: the latest one.
          yield_single_examples: Whether to yield examples instead of batches.

        Yields:
          Dictionaries of arrays, or arrays.

        Raises:
          TypeError: If a hook is not a SessionRunHook.
          ValueError: If predict_keys names no prediction, predictions are not a dictionary, or
            their batch sizes differ.
        """
        hooks, path = _check_hooks(hooks), checkpoint_path or self.latest_checkpoint()
        if not path:
            logs.info(
                "Could not find trained model in model_dir: %s, running initialization to predict.",
                self._model_dir,
            )
        with Graph().as_default():
            _, spec, input_hooks = self._build(input_fn, ModeKeys.PREDICT)
            wanted = _chosen(spec.predictions, predict_keys)
            monitored = session.open_for_reading(
                self._config, spec.scaffold, path, input_hooks + list(spec.prediction_hooks) + hooks
            )
        try:
            while not monitored.should_stop():
                try:
                    values = monitored.run(wanted)
                except (errors.OutOfRangeError, StopIteration):
                    break
                yield from _examples(values) if yield_single_examples else [values]
        finally:
            monitored.close()

    def export_savedmodel(
        self,
        export_dir_base: Any,
        serving_input_receiver_fn: Callable | None = None,
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
        experimental_mode: Any = ModeKeys.PREDICT,
    ) -> Any:
        """Writes a SavedModel into a new folder named by the time.

        Args:
          export_dir_base: Parent of the folder.
          serving_input_receiver_fn: Function that returns a ServingInputReceiver.
          assets_extra: Dictionary from paths below the folder "assets.extra" of the SavedModel to
            the files to copy there.
          as_text: Whether the model file is saved_model.pbtxt.
          checkpoint_path: Checkpoint; default: the latest one.
          strip_default_attrs: Has no effect: situ reads attributes with and without their defaults.
          experimental_mode: Only PREDICT is supported.

        Returns:
          Path of the folder, as bytes.

        Raises:
          NotImplementedError: If experimental_mode is not PREDICT.
          ValueError: If there is no checkpoint or no serving_input_receiver_fn.
        """
        unsupported("export_saved_model", experimental_mode=(experimental_mode, ModeKeys.PREDICT))
        del strip_default_attrs  # attributes are read with and without their defaults

        return exporting.export(
            self,
            export_dir_base,
            serving_input_receiver_fn,
            checkpoint_path or self.latest_checkpoint(),
            assets_extra,
            as_text,
        )

    export_saved_model = export_savedmodel


def _chosen(predictions, keys):
    """Returns the predictions of the given keys."""
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    chosen = {k: v for k, v in predictions.items() if k in keys}
    if not chosen:
        raise ValueError(
            f"Expected to run at least one output from {list(predictions)}, provided {keys}."
        )
    return chosen


def _examples(values):
    """Yields the examples of a batch."""
    if not isinstance(values, dict):
        yield from values
        return
    sizes = {k: numpy.shape(v)[:1] for k, v in values.items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(
            "Batch length of predictions should be same. "
            + ", ".join(f"{k} has batch length {s}" for k, s in sizes.items())
        )
    for i in range(next(iter(sizes.values()))[0]):
        yield {k: v[i] for k, v in values.items()}


V1["contrib.learn.ModeKeys"] = type(
    "ModeKeys", (), {"TRAIN": "train", "EVAL": "eval", "INFER": "infer"}
)
