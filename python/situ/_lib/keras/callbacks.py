# SPDX-License-Identifier: Apache-2.0
"""callbacks.py: tf.keras.callbacks: what is called between steps of training; the basic ones."""
import numpy

from situ._lib.keras.names import shown
from situ._lib.keras.progbar import Progbar


@shown("callbacks.Callback")
class Callback:
    """Sub-classes give the methods that they want to be called."""

    def __init__(self):
        self.validation_data = self.model = self.params = None

    def set_params(self, params):
        self.params = params

    def set_model(self, model):
        self.model = model

    def on_batch_begin(self, batch, logs=None):
        """Before a step of training."""

    def on_batch_end(self, batch, logs=None):
        """After a step of training."""

    def on_epoch_begin(self, epoch, logs=None):
        """Before an epoch."""

    def on_epoch_end(self, epoch, logs=None):
        """After an epoch and its validation."""

    def on_train_batch_begin(self, batch, logs=None):
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch, logs=None):
        """Before a step of evaluation."""

    def on_test_batch_end(self, batch, logs=None):
        """After a step of evaluation."""

    def on_predict_batch_begin(self, batch, logs=None):
        """Before a step of prediction."""

    def on_predict_batch_end(self, batch, logs=None):
        """After a step of prediction."""

    def on_train_begin(self, logs=None):
        """Before training."""

    def on_train_end(self, logs=None):
        """After training."""

    def on_test_begin(self, logs=None):
        """Before evaluation."""

    def on_test_end(self, logs=None):
        """After evaluation."""

    def on_predict_begin(self, logs=None):
        """Before prediction."""

    def on_predict_end(self, logs=None):
        """After prediction."""


_BATCH = {"on_train_batch_begin": "on_batch_begin", "on_train_batch_end": "on_batch_end",
          "on_test_batch_begin": None, "on_test_batch_end": None, "on_predict_batch_begin": None,
          "on_predict_batch_end": None}


def _overrides(callback, name):
    """Whether a callback does something at a step: where none does, nothing is read."""
    for word in (name, _BATCH[name]):
        if word is not None and (getattr(type(callback), word, None) is not
                                 getattr(Callback, word, None) or word in vars(callback)):
            return True
    return not isinstance(callback, Callback)


def numbers(logs):
    """Results of a step as numbers: waits for it."""
    found = {}
    for name, value in (logs or {}).items():
        if hasattr(value, "numpy"):
            array = numpy.asarray(value.numpy())
            value = float(array) if array.ndim == 0 else array
        found[name] = value
    return found


@shown("callbacks.CallbackList")
class CallbackList:
    """Callbacks that are called together."""

    def __init__(self, callbacks=None, add_history=False, add_progbar=False, model=None, **params):
        self.callbacks = list(callbacks or [])
        self.params = params
        for callback in self.callbacks:
            callback.set_model(model)
            callback.set_params(params)
        self._at = {name: [c for c in self.callbacks if _overrides(c, name)] for name in _BATCH}

    def append(self, callback):
        self.callbacks.append(callback)
        self._at = {name: [c for c in self.callbacks if _overrides(c, name)] for name in _BATCH}

    def set_params(self, params):
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model):
        for callback in self.callbacks:
            callback.set_model(model)

    def learn_steps(self, steps):
        """How many steps an epoch has, once that is known."""
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
                read = numbers(logs) if read is None else read
                getattr(callback, name)(batch, read)

    def on_epoch_begin(self, epoch, logs=None):
        for callback in self.callbacks:
            callback.on_epoch_begin(epoch, logs or {})

    def on_epoch_end(self, epoch, logs=None):
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
    """The callbacks of a run: those given, the progress bar, the history."""
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


@shown("callbacks.BaseLogger")
class BaseLogger(Callback):
    """Means are kept by the metrics themselves."""

    def __init__(self, stateful_metrics=None):
        super().__init__()


@shown("callbacks.History")
class History(Callback):
    """What each epoch gave: history['loss'] is a list."""

    def __init__(self):
        super().__init__()
        self.history, self.epoch = {}, []

    def on_train_begin(self, logs=None):
        self.epoch = []

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        self.model.history = self


@shown("callbacks.ProgbarLogger")
class ProgbarLogger(Callback):
    """The progress bar; it reads results only when it shows them."""

    def __init__(self, count_mode="steps", stateful_metrics=None):
        super().__init__()
        self._bar, self._step, self._logs = None, 0, None

    def _begin(self):
        self._step, self._bar = 0, None

    def _make(self):
        if self._bar is None:
            self._bar = Progbar(self.params.get("steps"), verbose=self.params.get("verbose", 1),
                                stateful_metrics=_All())

    def on_epoch_begin(self, epoch, logs=None):
        self._begin()
        self._make()
        if self.params.get("epochs", 1) > 1:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}", flush=True)

    def on_test_begin(self, logs=None):
        if not self._is_training():
            self._begin()

    def on_predict_begin(self, logs=None):
        self._begin()

    def _is_training(self):
        return self._training if hasattr(self, "_training") else False

    def on_train_begin(self, logs=None):
        self._training = True

    def on_train_end(self, logs=None):
        self._training = False

    def _update(self, logs):
        self._make()
        self._step, self._logs = self._step + 1, logs
        if self._bar.wants() and self._step != self._bar.target:
            self._bar.update(self._step, list(numbers(logs).items()), finalize=False)

    def on_train_batch_end(self, batch, logs=None):
        self._update(logs)

    def on_test_batch_end(self, batch, logs=None):
        if not self._is_training():
            self._update(logs)

    def on_predict_batch_end(self, batch, logs=None):
        self._update({})

    def _finish(self, logs):
        self._make()
        if self._bar.target is None:
            self._bar.target = self._step
        self._bar.update(self._step or 1, list(numbers(logs).items()), finalize=True)

    def on_epoch_end(self, epoch, logs=None):
        self._finish(logs)

    def on_test_end(self, logs=None):
        if not self._is_training():
            self._finish(logs)

    def on_predict_end(self, logs=None):
        self._finish({})


class _All:
    """Every metric is a mean already."""

    def __iter__(self):
        return iter(())

    def __contains__(self, name):
        return True


@shown("callbacks.LambdaCallback")
class LambdaCallback(Callback):
    """Calls functions: LambdaCallback(on_epoch_end=lambda epoch, logs: ...)."""

    def __init__(self, on_epoch_begin=None, on_epoch_end=None, on_batch_begin=None,
                 on_batch_end=None, on_train_begin=None, on_train_end=None, **words):
        super().__init__()
        given = {"on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end,
                 "on_batch_begin": on_batch_begin, "on_batch_end": on_batch_end,
                 "on_train_begin": on_train_begin, "on_train_end": on_train_end, **words}
        for name, function in given.items():
            if function is not None:
                setattr(self, name, function)


@shown("callbacks.TerminateOnNaN")
class TerminateOnNaN(Callback):
    """Ends training when the loss is no number."""

    def on_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is not None and not numpy.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True
