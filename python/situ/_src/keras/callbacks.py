# SPDX-License-Identifier: Apache-2.0
"""callbacks.py: tf.keras.callbacks: objects that fit, evaluate and predict call between steps."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy

from situ._src.framework import logs as messages
from situ._src.framework.keywords import reject_unknown, unsupported
from situ._src.keras.progbar import Progbar
from situ._src.keras.registry import keras_export


@keras_export("callbacks.Callback")
class Callback:
    """Base class of callbacks; subclasses override the methods that they need.

    `self.model` is the model, `self.params` a dictionary with `verbose`, `epochs` and `steps`.
    `logs` holds the loss and the metrics by name.
    """

    validation_data: Any
    model: Any
    params: Any

    def __init__(self) -> None:
        self.validation_data = self.model = self.params = None

    def set_params(self, params: Any) -> None:
        """Sets `params`; called before fit, evaluate and predict run."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Sets `model`; called before fit, evaluate and predict run."""
        self.model = model

    def on_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before each training batch, by on_train_batch_begin."""

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after each training batch, by on_train_batch_end."""

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before each epoch.

        Args:
          epoch: Index of the epoch.
          logs: Empty.
        """

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after each epoch and its validation.

        Args:
          epoch: Index of the epoch.
          logs: Results of the epoch; those of the validation begin with `val_`.
        """

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before each training batch.

        Args:
          batch: Index of the batch in the epoch.
          logs: Empty.
        """
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after each training batch.

        Args:
          batch: Index of the batch in the epoch.
          logs: Metrics of the epoch so far.
        """
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before each batch of evaluate or of a validation."""

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after each batch of evaluate or of a validation."""

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before each batch of predict."""

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after each batch of predict; `logs["outputs"]` is its result."""

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before training."""

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after training, with the logs of the last epoch."""

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before evaluate or a validation."""

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after evaluate or a validation, with its results."""

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before predict."""

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after predict."""


_BATCH = {
    "on_train_batch_begin": "on_batch_begin",
    "on_train_batch_end": "on_batch_end",
    "on_test_batch_begin": None,
    "on_test_batch_end": None,
    "on_predict_batch_begin": None,
    "on_predict_batch_end": None,
}


def _overrides(callback, name):
    """Whether a callback overrides a method of steps. Results are read only if some callback
    does.
    """
    for method in (name, _BATCH[name]):
        if method is not None and (
            getattr(type(callback), method, None) is not getattr(Callback, method, None)
            or method in vars(callback)
        ):
            return True
    return not isinstance(callback, Callback)


def to_numbers(logs):
    """Converts the results of a step to floats and arrays; waits for the step."""
    result = {}
    for name, value in (logs or {}).items():
        if hasattr(value, "numpy"):
            array = numpy.asarray(value.numpy())
            value = float(array) if array.ndim == 0 else array
        result[name] = value
    return result


@keras_export("callbacks.CallbackList")
class CallbackList:
    """Calls several callbacks in order.

    Args:
      callbacks: List of callbacks.
      add_history: Whether to add a History, if there is none. fit adds one to a plain list of
        callbacks, but not to a CallbackList.
      add_progbar: Whether to add a ProgbarLogger, if there is none. fit, evaluate and predict add
        one to a plain list if verbose is not 0, but not to a CallbackList.
      model: The model.
      **params: `params` of the callbacks.
    """

    def __init__(
        self,
        callbacks: Any = None,
        add_history: bool = False,
        add_progbar: bool = False,
        model: Any = None,
        **params: Any,
    ) -> None:
        self.callbacks = list(callbacks or [])
        for wanted, kind in ((add_progbar, ProgbarLogger), (add_history, History)):
            if wanted and not any(isinstance(c, kind) for c in self.callbacks):
                self.callbacks.append(kind())
        self.params = params
        for callback in self.callbacks:
            callback.set_model(model)
            callback.set_params(params)
        self._at = {name: [c for c in self.callbacks if _overrides(c, name)] for name in _BATCH}

    def append(self, callback: Any) -> None:
        """Adds a callback."""
        self.callbacks.append(callback)
        self._at = {name: [c for c in self.callbacks if _overrides(c, name)] for name in _BATCH}

    def set_params(self, params: Any) -> None:
        """Tells all callbacks the parameters of the training.

        Args:
          params: Dictionary with "epochs", "steps" and "verbose".
        """
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        """Tells all callbacks the model.

        Args:
          model: The model.
        """
        for callback in self.callbacks:
            callback.set_model(model)

    def learn_steps(self, steps: int | None) -> None:
        """Sets the number of steps per epoch, which is known after the first epoch at the
        latest.
        """
        if self.params.get("steps") is None:
            self.params["steps"] = steps

    def _step(self, name, batch, logs):
        some = self._at[name]
        if not some:
            return
        read = None
        for callback in some:
            if isinstance(callback, ProgbarLogger):
                getattr(callback, name)(batch, logs)
            else:
                read = to_numbers(logs) if read is None else read
                getattr(callback, name)(batch, read)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Calls `on_epoch_begin` of all callbacks.

        Args:
          epoch: Index of the epoch.
          logs: Empty.
        """
        for callback in self.callbacks:
            callback.on_epoch_begin(epoch, logs or {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Calls `on_epoch_end` of all callbacks.

        Args:
          epoch: Index of the epoch.
          logs: Results of the epoch.
        """
        for callback in self.callbacks:
            callback.on_epoch_end(epoch, logs if logs is not None else {})


def _batch_method(name):
    def method(self, batch, logs=None):
        if self._at[name]:
            self._step(name, batch, logs)

    return method


def _plain_method(name):
    def method(self, logs=None):
        for callback in self.callbacks:
            getattr(callback, name)(logs if logs is not None else {})

    return method


for _name in _BATCH:
    setattr(CallbackList, _name, _batch_method(_name))
for _name in ("train", "test", "predict"):
    for _end in ("begin", "end"):
        setattr(CallbackList, f"on_{_name}_{_end}", _plain_method(f"on_{_name}_{_end}"))


def make_callbacks(model, callbacks, verbose, epochs, steps, history=True):
    """Returns the CallbackList of a run: those of the program, the progress bar and the history."""
    if isinstance(callbacks, CallbackList):
        return callbacks
    listed = [callbacks] if isinstance(callbacks, Callback) else list(callbacks or [])
    if verbose and not any(isinstance(c, ProgbarLogger) for c in listed):
        listed.append(ProgbarLogger())
    if history:
        model.history = next((c for c in listed if isinstance(c, History)), None) or History()
        if model.history not in listed:
            listed.append(model.history)
    return CallbackList(listed, model=model, verbose=verbose, epochs=epochs, steps=steps)


@keras_export("callbacks.BaseLogger")
class BaseLogger(Callback):
    """Does nothing, whatever stateful_metrics is: metrics compute their means themselves."""

    def __init__(self, stateful_metrics: Any = None) -> None:
        super().__init__()
        del stateful_metrics  # no value is averaged here: metrics are means already


@keras_export("callbacks.History")
class History(Callback):
    """Records the results of each epoch; fit returns it.

    `history` maps names to lists of values, one per epoch; `epoch` lists the indices of the epochs.
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list] = {}
        self.epoch: list[int] = []

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        self.model.history = self


@keras_export("callbacks.ProgbarLogger")
class ProgbarLogger(Callback):
    """Prints a progress bar. It reads results only when it prints them.

    Args:
      count_mode: Only "steps" is supported: the bar counts steps.
      stateful_metrics: Has no effect: no value is averaged here.

    Raises:
      NotImplementedError: If count_mode is "samples".
      ValueError: If count_mode is unknown.
    """

    def __init__(self, count_mode: str = "steps", stateful_metrics: Any = None) -> None:
        super().__init__()
        if count_mode not in ("steps", "samples"):
            raise ValueError(
                f'Unknown `count_mode`: {count_mode}. Expected values are ["samples", "steps"]'
            )
        unsupported("ProgbarLogger", count_mode=(count_mode, "steps"))
        del stateful_metrics  # no value is averaged here: metrics are means already
        self._bar, self._step, self._logs = None, 0, None

    def _begin(self):
        self._step, self._bar = 0, None

    def _make(self):
        if self._bar is None:
            self._bar = Progbar(
                self.params.get("steps"),
                verbose=self.params.get("verbose", 1),
                stateful_metrics=_All(),
            )

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._begin()
        self._make()
        if self.params.get("epochs", 1) > 1:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}", flush=True)

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        if not self._is_training():
            self._begin()

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._begin()

    def _is_training(self):
        return self._training if hasattr(self, "_training") else False

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._training = True

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._training = False

    def _update(self, logs):
        self._make()
        self._step, self._logs = self._step + 1, logs
        if self._bar.wants() and self._step != self._bar.target:
            self._bar.update(self._step, list(to_numbers(logs).items()), finalize=False)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._update(logs)

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if not self._is_training():
            self._update(logs)

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._update({})

    def _finish(self, logs):
        self._make()
        if self._bar.target is None:
            self._bar.target = self._step
        self._bar.update(self._step or 1, list(to_numbers(logs).items()), finalize=True)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._finish(logs)

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        if not self._is_training():
            self._finish(logs)

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        self._finish({})


class _All:
    """Contains every name: all metrics are means already."""

    def __iter__(self):
        return iter(())

    def __contains__(self, name):
        return True


@keras_export("callbacks.LambdaCallback")
class LambdaCallback(Callback):
    """Callback made of functions.

    Args:
      on_epoch_begin: Function of (epoch, logs).
      on_epoch_end: Function of (epoch, logs).
      on_batch_begin: Function of (batch, logs).
      on_batch_end: Function of (batch, logs).
      on_train_begin: Function of (logs).
      on_train_end: Function of (logs).
      **kwargs: Functions for other methods of `Callback`, by name.
    """

    def __init__(
        self,
        on_epoch_begin: Any = None,
        on_epoch_end: Any = None,
        on_batch_begin: Any = None,
        on_batch_end: Any = None,
        on_train_begin: Any = None,
        on_train_end: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            **kwargs,
        }
        for name, function in given.items():
            if function is not None:
                setattr(self, name, function)


@keras_export("callbacks.TerminateOnNaN")
class TerminateOnNaN(Callback):
    """Stops training when the loss is NaN or infinite.

    Args:
      raise_error: Whether to raise a RuntimeError at once; by default training ends as usual.
    """

    def __init__(self, raise_error: bool = False) -> None:
        super().__init__()
        self.raise_error = raise_error

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not numpy.isfinite(loss):
            if self.raise_error:
                raise RuntimeError(
                    f"NaN or Inf loss encountered at batch {batch}. Loss value: {loss}. "
                    "Terminating training immediately."
                )
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


def _comparison(mode, monitor, min_delta=0.0):
    """Returns (whether larger values are better, the function that compares two values)."""
    larger = (
        mode == "max"
        or mode not in ("min", "max")
        and ("acc" in monitor or "auc" in monitor or monitor.startswith("fmeasure"))
    )
    return larger, (lambda a, b: a - min_delta > b) if larger else (lambda a, b: a + min_delta < b)


def get_learning_rate(optimizer):
    """Returns the learning rate of an optimizer as a float."""
    rate = optimizer.learning_rate
    return float(rate.numpy() if hasattr(rate, "numpy") else rate)


@keras_export("callbacks.EarlyStopping")
class EarlyStopping(Callback):
    """Stops training when a monitored value has not improved for some epochs.

    Args:
      monitor: Name of the value in logs.
      min_delta: Smallest change that counts as an improvement.
      patience: Number of epochs without improvement after which training stops.
      verbose: 1 prints a line when training stops.
      mode: "min", "max" or "auto", which takes "max" for accuracies and AUC.
      baseline: Value that must be improved on.
      restore_best_weights: Whether to restore the weights of the best epoch when this callback
        stops training. If all epochs run, the weights stay those of the last one.
      start_from_epoch: Epochs before this one are ignored.
    """

    best: Any
    best_weights: Any

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ) -> None:
        super().__init__()
        self.monitor, self.patience, self.verbose = monitor, patience, verbose
        self.baseline, self.min_delta = baseline, abs(min_delta)
        self.restore_best_weights, self.start_from_epoch = restore_best_weights, start_from_epoch
        self.larger, self.is_better = _comparison(mode, monitor, self.min_delta)
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best, self.best_weights = None, None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best = -numpy.inf if self.larger else numpy.inf
        self.best_weights = None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        current = (logs or {}).get(self.monitor)
        if current is None:
            messages.warn(
                "Early stopping conditioned on metric `%s` which is not available. "
                "Available metrics are: %s",
                self.monitor,
                ",".join(logs or {}),
            )
            return
        if epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights = self.model.get_weights()
        self.wait += 1
        if self.is_better(current, self.best):
            self.best, self.best_epoch = current, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self.is_better(current, self.baseline):
                self.wait = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch, self.model.stop_training = epoch, True
            if self.restore_best_weights and self.best_weights is not None:
                if self.verbose:
                    print(
                        "Restoring model weights from the end of the best epoch: "
                        f"{self.best_epoch + 1}."
                    )
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping")


@keras_export("callbacks.ModelCheckpoint")
class ModelCheckpoint(Callback):
    """Saves the model or its weights during training.

    Args:
      filepath: Path, which may contain `{epoch}`, `{batch}` and names of logs, for example
        "weights.{epoch:02d}-{val_loss:.2f}.keras".
      monitor: Name of the value in logs that save_best_only compares.
      verbose: 1 prints a line for each file.
      save_best_only: Whether to save only when the monitored value has improved.
      save_weights_only: Whether to save the weights instead of the whole model.
      mode: "min", "max" or "auto", which takes "max" for accuracies and AUC.
      save_freq: "epoch", or the number of batches between files.
      period: Number of epochs between files with save_freq "epoch".
      initial_value_threshold: Value that the first saved model must improve on.
      options: Has no effect: it says which device of a cluster writes.

    Raises:
      KeyError: If filepath names a value that is not in logs.
      TypeError: For unknown arguments.
    """

    def __init__(
        self,
        filepath: str | os.PathLike,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: str | int = "epoch",
        period: int = 1,
        initial_value_threshold: float | None = None,
        options: Any = None,
        **kwargs: Any,
    ) -> None:
        reject_unknown(type(self), kwargs)
        super().__init__()
        del options  # the files are the same, whichever device writes them
        self.filepath, self.monitor, self.verbose = os.fspath(filepath), monitor, verbose
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        self.save_freq, self.period = save_freq, period
        self.larger, self.is_better = _comparison(mode, monitor)
        self.best = initial_value_threshold
        if self.best is None:
            self.best = -numpy.inf if self.larger else numpy.inf
        self._epoch = self._seen = self._since = 0
        if save_freq != "epoch":
            setattr(self, "on_train_batch_end", self._on_batch)  # noqa: B010

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._epoch = epoch

    def _on_batch(self, batch, logs=None):
        self._seen += 1
        if self._seen % self.save_freq == 0:
            self._save(self._epoch, batch, logs)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._since += 1
        if self.save_freq == "epoch" and self._since >= self.period:
            self._since = 0
            self._save(epoch, None, logs)

    def _path(self, epoch, batch, logs):
        try:
            return self.filepath.format(epoch=epoch + 1, batch=(batch or 0) + 1, **(logs or {}))
        except KeyError as e:
            raise KeyError(
                f'Failed to format this callback filepath: "{self.filepath}". Reason: {e}'
            ) from None

    def _save(self, epoch, batch, logs):
        path = self._path(epoch, batch, logs)
        if self.save_best_only:
            current = (logs or {}).get(self.monitor)
            if current is None:
                messages.warn("Can save best model only with %s available, skipping.", self.monitor)
                return
            if not self.is_better(current, self.best):
                if self.verbose:
                    print(
                        f"\nEpoch {epoch + 1}: {self.monitor} did not improve from {self.best:.5f}"
                    )
                return
            if self.verbose:
                print(
                    f"\nEpoch {epoch + 1}: {self.monitor} improved from {self.best:.5f} to "
                    f"{current:.5f}, saving model to {path}"
                )
            self.best = current
        elif self.verbose:
            print(f"\nEpoch {epoch + 1}: saving model to {path}")
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        (self.model.save_weights if self.save_weights_only else self.model.save)(path)


@keras_export("callbacks.LearningRateScheduler")
class LearningRateScheduler(Callback):
    """Sets the learning rate at the start of each epoch.

    Args:
      schedule: Function of (epoch, learning rate), or of (epoch), that returns the learning rate.
      verbose: 1 prints a line for each epoch.

    Raises:
      ValueError: At the start of an epoch, if the optimizer has no learning_rate.
    """

    def __init__(self, schedule: Callable, verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if not hasattr(self.model.optimizer, "learning_rate"):
            raise ValueError('Optimizer must have a "lr" attribute.')
        try:
            rate = self.schedule(epoch, get_learning_rate(self.model.optimizer))
        except TypeError:
            rate = self.schedule(epoch)
        rate = float(rate.numpy() if hasattr(rate, "numpy") else rate)
        self.model.optimizer.learning_rate = rate
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {rate}.")

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            logs["lr"] = get_learning_rate(self.model.optimizer)


@keras_export("callbacks.ReduceLROnPlateau")
class ReduceLROnPlateau(Callback):
    """Reduces the learning rate when a monitored value has stopped improving.

    Args:
      monitor: Name of the value in logs.
      factor: Factor of the learning rate, below 1.
      patience: Number of epochs without improvement after which it is reduced.
      verbose: 1 prints a line for each reduction.
      mode: "min", "max" or "auto", which takes "max" for accuracies and AUC.
      min_delta: Smallest change that counts as an improvement.
      cooldown: Number of epochs to wait after a reduction.
      min_lr: Lower limit of the learning rate.
      epsilon: Former name of min_delta.

    Raises:
      TypeError: For unknown arguments.
      ValueError: If factor is not below 1.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: Any = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
        epsilon: Any = None,
        **kwargs: Any,
    ) -> None:
        reject_unknown(type(self), kwargs)
        super().__init__()
        min_delta = min_delta if epsilon is None else epsilon  # its name before Keras 2.1.6
        if factor >= 1.0:
            raise ValueError(
                "ReduceLROnPlateau does not support a factor >= 1.0. Got " + str(factor)
            )
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.cooldown, self.min_lr = cooldown, min_lr
        self.larger, self.is_better = _comparison(mode, monitor, min_delta)
        self.on_train_begin()

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.best = -numpy.inf if self.larger else numpy.inf
        self.wait = self.cooldown_counter = 0

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        rate = get_learning_rate(self.model.optimizer)
        logs = {} if logs is None else logs
        logs["lr"] = rate
        current = logs.get(self.monitor)
        if current is None:
            messages.warn(
                "Learning rate reduction is conditioned on metric `%s` which is not "
                "available. Available metrics are: %s",
                self.monitor,
                ",".join(logs),
            )
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.is_better(current, self.best):
            self.best, self.wait = current, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience and rate > self.min_lr:
                new = max(rate * self.factor, self.min_lr)
                self.model.optimizer.learning_rate = new
                if self.verbose > 0:
                    print(
                        f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {new}."
                    )
                self.cooldown_counter, self.wait = self.cooldown, 0
