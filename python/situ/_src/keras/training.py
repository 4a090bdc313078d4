# SPDX-License-Identifier: Apache-2.0
"""training.py: compile, fit, evaluate and predict of tf.keras.Model."""

from __future__ import annotations

import collections
import contextlib
from typing import Any

import numpy

from situ._src.framework import nest
from situ._src.framework.api import BOTH, V1
from situ._src.framework.keywords import reject_unknown, unsupported
from situ._src.keras import (
    compile_utils,
    composite,
    context,
    data_adapter,
    mixed_precision,
    weights,
)
from situ._src.keras import optimizer as optimizer_v2
from situ._src.keras.callbacks import make_callbacks
from situ._src.keras.compiled_step import Programs
from situ._src.keras.metrics import Metric
from situ._src.variables import variable


def _to_floats(logs):
    """Converts the results of a step to floats and arrays."""
    result = {}
    for name, value in logs.items():
        array = numpy.asarray(value.numpy() if hasattr(value, "numpy") else value)
        result[name] = float(array) if array.ndim == 0 else array
    return result


class Training:
    """The training methods of Model, as a mixin."""

    def _prepare_training(self):
        """Initializes the attributes of the mixin."""
        self.optimizer = self.compiled_loss = self.compiled_metrics = None
        self.loss, self.stop_training, self.history = None, False, None
        self._is_compiled, self._eagerly, self._compile_args = False, False, {}
        self._steps_per_execution = 1
        self._clear_programs()

    def _clear_programs(self):
        """Discards the compiled steps."""
        self._programs = Programs(self)

    run_eagerly = property(lambda s: s._eagerly, lambda s, v: setattr(s, "_eagerly", bool(v)))
    distribute_strategy = property(lambda s: s._strategy)

    def compile(
        self: Any,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        weighted_metrics: Any = None,
        run_eagerly=None,
        steps_per_execution=None,
        sample_weight_mode=None,
        target_tensors=None,
        distribute=None,
        jit_compile=None,
        auto_scale_loss: bool = True,
        pss_evaluation_shards=0,
        **kwargs,
    ) -> None:
        """Configures the model for training.

        Args:
          optimizer: Optimizer, its name or its configuration.
          loss: Loss, loss function or its name; for several outputs a list, or a dictionary by
            the names of the outputs. Reduction "none" counts as the mean.
          metrics: List of metrics, functions or names; for several outputs also a list of lists
            or a dictionary. "accuracy" selects the accuracy that fits the shapes of the labels
            and of the output.
          loss_weights: Factors of the losses of several outputs, as a list or dictionary.
          weighted_metrics: Metrics that sample weights and class weights apply to.
          run_eagerly: Whether steps run op by op instead of compiled, for debugging.
          steps_per_execution: Number of steps between calls of the callbacks' batch methods;
            default: 1.
          sample_weight_mode: Has no effect: the shape of the weights decides.
          target_tensors: Only None is supported.
          distribute: Distribution strategy of the model.
          jit_compile: Has no effect: steps are compiled in any case.
          auto_scale_loss: Whether the optimizer is wrapped in a LossScaleOptimizer if the policy is
            "mixed_float16".
          pss_evaluation_shards: Only 0 is supported.

        Raises:
          NotImplementedError: If pss_evaluation_shards is set.
          TypeError: For unknown arguments.
          ValueError: If target_tensors is set, or the optimizer is unknown.
        """
        reject_unknown(self.compile, kwargs, "compile")
        unsupported("Model.compile", pss_evaluation_shards=(pss_evaluation_shards, 0))
        del sample_weight_mode  # as in TensorFlow 2, the shape of the weights decides
        del jit_compile  # XLA would compute the same values
        if target_tensors is not None:
            raise ValueError(
                "target_tensors argument is not supported when executing eagerly. "
                f"Received: target_tensors={target_tensors}."
            )
        if distribute is not None:
            self._adopt(distribute)
        with context.eager(), variable.strategy_scope(self._strategy):
            self.optimizer = optimizer_v2.get(optimizer)
            if auto_scale_loss:
                self.optimizer = mixed_precision.scaled_if_mixed(self.optimizer, self)
            self.compiled_loss = (
                loss
                if isinstance(loss, compile_utils.LossesContainer)
                else compile_utils.LossesContainer(loss, loss_weights)
            )
            self.compiled_metrics = compile_utils.MetricsContainer(metrics, weighted_metrics)
            for obj in (self.optimizer, *compile_utils.objects([metrics, weighted_metrics])):
                if not isinstance(obj, V1["train.Optimizer"]):
                    weights.to_eager(obj)
            self._make_weights_eager()
            getattr(self.optimizer, "iterations", None)  # made here: not by a graph that asks
        self.loss, self._is_compiled = loss, True
        self._eagerly = bool(run_eagerly) or self.dynamic
        self._steps_per_execution = int(steps_per_execution or 1)
        self._compile_args = {
            "optimizer": optimizer,
            "loss": loss,
            "metrics": metrics,
            "loss_weights": loss_weights,
            "weighted_metrics": weighted_metrics,
        }
        self._clear_programs()

    @contextlib.contextmanager
    def _eager_weights(self):
        """Context in which the model has the values that a session of the program gave its
        weights.
        """
        with weights.eager_values([] if self._is_compiled else self._flat_layers()) as lent:
            if lent:
                self._clear_programs()
            try:
                yield
            finally:
                if lent:
                    self._clear_programs()

    def _make_weights_eager(self):
        """Replaces weights that belong to a graph of the program by eager variables."""
        layers = self._flat_layers()
        for layer in layers:
            layer._stays_eager = True
        weights.to_eager(*layers)

    def _adopt(self, strategy):
        """Sets the strategy and mirrors the weights that exist."""
        self._strategy = strategy
        with context.eager():
            for layer in self._flat_layers():
                strategy.mirror_members(layer)

    @property
    def metrics(self):
        """Metrics of the model: the losses of compile, its metrics, and those of layers."""
        result = []
        if self._is_compiled:
            result = self.compiled_loss.metrics + self.compiled_metrics.metrics
        return weights.deduplicate(
            result
            + [m for layer in self._flat_layers() for m in layer._metrics]
            + [m for m in weights.tracked(self, _metric_class())]
        )

    metrics_names = property(lambda s: [m.name for m in s.metrics])

    # Steps, which sub-classes may replace

    def compute_loss(
        self: Any,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ):
        """Returns the total loss: that of compile plus the losses of layers.

        Args:
          x: Inputs; not used, but subclasses may.
          y: Labels.
          y_pred: Outputs of the model.
          sample_weight: Weights of the examples.
          training: Whether the model is being trained; not used, but subclasses may.

        Returns:
          A scalar tensor.
        """
        del x, training  # for subclasses
        return self.compiled_loss(
            y, y_pred, sample_weight, regularization_losses=self.losses, model=self
        )

    def _tracked_loss(self: Any, x, y, y_pred, sample_weight):
        """Returns compute_loss; "loss" of the logs is what a subclass returns from it."""
        if type(self).compute_loss is Training.compute_loss:
            return self.compute_loss(x, y, y_pred, sample_weight)
        with self.compiled_loss.replaced():
            loss = self.compute_loss(x, y, y_pred, sample_weight)
        self.compiled_loss.track(loss, y_pred)
        return loss

    def compute_metrics(self: Any, x: Any, y: Any, y_pred: Any, sample_weight: Any = None):
        """Updates the metrics of compile and returns the results of all metrics.

        Args:
          x: Inputs; not used, but subclasses may.
          y: Labels.
          y_pred: Outputs of the model.
          sample_weight: Weights of the examples, for the weighted metrics.

        Returns:
          Dictionary from names to tensors, mostly scalars.
        """
        del x  # for subclasses
        self.compiled_metrics.update_state(y, y_pred, sample_weight, model=self)
        return self._results()

    def _results(self):
        """Returns the results of all metrics by name."""
        result = {}
        for metric in self.metrics:
            value = metric.result()
            result.update(value if isinstance(value, dict) else {metric.name: value})
        return result

    def train_step(self: Any, data):
        """Runs one training step; subclasses may override it.

        Args:
          data: A batch: x, (x, y) or (x, y, sample_weight).

        Returns:
          Dictionary from names to values, which become the logs.
        """
        x, y, sample_weight = data_adapter.unpack(data)
        with BOTH["GradientTape"]() as tape:
            y_pred = self(x, training=True)
            loss = self._tracked_loss(x, y, y_pred, sample_weight)
            if hasattr(self.optimizer, "scale_loss"):
                loss = self.optimizer.scale_loss(loss)
        trained = self.trainable_variables
        if trained:
            self.optimizer.apply_gradients(list(zip(tape.gradient(loss, trained), trained)))
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def test_step(self: Any, data):
        """Runs one step of evaluation; subclasses may override it.

        Args:
          data: A batch: x, (x, y) or (x, y, sample_weight).

        Returns:
          Dictionary from names to values.
        """
        x, y, sample_weight = data_adapter.unpack(data)
        y_pred = self(x, training=False)
        self._tracked_loss(x, y, y_pred, sample_weight)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def predict_step(self, data):
        """Runs one step of prediction; subclasses may override it.

        Args:
          data: A batch: x, or a tuple that begins with x.

        Returns:
          The outputs of the model.
        """
        x, _, _ = data_adapter.unpack(data)
        return self(x, training=False)

    def make_train_function(self, force: bool = False):
        """Returns a function of an iterator that trains on its next batch; subclasses may override
        it."""
        del force  # each call returns a new function
        return lambda iterator: self._programs.run("train", next(iterator))

    def make_test_function(self, force: bool = False):
        """Returns a function of an iterator that evaluates its next batch; subclasses may override
        it."""
        del force  # each call returns a new function
        return lambda iterator: self._programs.run("test", next(iterator))

    def _step_function(self, kind):
        """Returns the function of a batch that runs a step of a kind ("train" or "test")."""
        name = f"make_{kind}_function"
        if getattr(type(self), name) is getattr(Training, name):
            return lambda batch: self._programs.run(kind, batch)
        made = getattr(self, name)()  # Keras 2 uses the result, Keras 3 the attribute
        made = made if callable(made) else getattr(self, f"{kind}_function")
        return lambda batch: made(iter([batch]))

    def _needs_compile(self):
        if not self._is_compiled:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model."
                "compile(optimizer, loss)`."
            )

    def reset_metrics(self):
        """Resets the state of all metrics."""
        with context.eager():
            for metric in self.metrics:
                metric.reset_state()

    # Training

    def fit(
        self: Any,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: str | int = "auto",
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: dict[int, float] | None = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        validation_freq: Any = 1,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        nb_epoch: int | None = None,
        **kwargs,
    ) -> Any:
        """Trains the model for a number of epochs.

        Args:
          x: Inputs: an array or tensor, a list or dictionary of them, a `tf.data.Dataset`, a
            generator or a `Sequence`. The last three yield (x, y) or (x, y, sample_weight).
          y: Labels, if x is arrays or tensors.
          batch_size: Number of examples per step, if x is arrays; default: 32.
          epochs: Index of the last epoch, exclusive.
          verbose: "auto" or 1: progress bar; 2: one line per epoch; 0: nothing.
          callbacks: List of callbacks. A progress bar (unless verbose is 0) and a History are
            added to it, but not to a CallbackList.
          validation_split: Fraction of the examples at the end of x and y to validate on; has no
            effect if validation_data is given.
          validation_data: Data to validate on after each epoch: (x, y), (x, y, sample_weight), a
            dataset, a generator or a `Sequence`.
          shuffle: Whether to shuffle arrays, or the order of the batches of a Sequence, before each
            epoch; "batch" shuffles the batches only. Datasets and generators have their own order.
          class_weight: Dictionary from class ids to weights of the loss; default of an id below
            the largest one: 1. Of several outputs the labels of the first one count.
          sample_weight: Weights of the examples, if x is arrays.
          initial_epoch: Index of the first epoch.
          steps_per_epoch: Number of batches per epoch; default: until the data ends. The next
            epoch continues where the last one ended.
          validation_steps: Number of batches per validation; default: until the data ends.
          validation_batch_size: Batch size of the validation; default: batch_size.
          validation_freq: Number of epochs between validations, or a collection of epochs (from
            1 on).
          max_queue_size, workers, use_multiprocessing: Have no effect: generators and Sequences run
            in the calling thread.
          nb_epoch: Former name of epochs.

        Returns:
          A History; its `history` maps names to one value per epoch. If callbacks is a
          CallbackList without a History, the History of an earlier call or None.

        Raises:
          RuntimeError: If the model is not compiled.
          TypeError: For unknown arguments.
          ValueError: If the data is empty, its arrays have different lengths or are too short for
            validation_split, or y, sample_weight or validation_split is given although x is not
            arrays.
        """
        reject_unknown(self.fit, kwargs, "fit")
        del max_queue_size, workers, use_multiprocessing  # batches are made in this thread
        self._needs_compile()
        epochs = epochs if nb_epoch is None else nb_epoch
        with context.eager(), variable.strategy_scope(self._strategy):
            if validation_split and validation_data is None:
                (x, y, sample_weight), validation_data = data_adapter.split(
                    x, y, sample_weight, validation_split
                )
            train = data_adapter.make(x, y, sample_weight, batch_size, shuffle, steps_per_epoch)
            if class_weight:
                train = data_adapter.with_class_weight(train, class_weight)
            check = None
            if validation_data is not None:
                check = _validation(
                    validation_data, validation_batch_size or batch_size, validation_steps
                )
            self.stop_training = False
            listed = make_callbacks(
                self, callbacks, 1 if verbose == "auto" else verbose, epochs, train.steps
            )
            return self._epochs(train, check, listed, epochs, initial_epoch, validation_freq)

    def _epochs(self, train, check, callbacks, epochs, initial_epoch, validation_freq):
        """Runs all epochs."""
        self._restored_epoch = None  # BackupAndRestore sets it
        callbacks.on_train_begin()
        if self._restored_epoch is not None:
            initial_epoch = self._restored_epoch
        for epoch in range(initial_epoch, epochs):
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            logs = self._epoch(train, callbacks)
            if check is not None and _is_due(epoch, validation_freq):
                result = self._test(check, callbacks)
                logs = {**logs, **{"val_" + k: v for k, v in result.items()}}
            callbacks.on_epoch_end(epoch, logs)
            if hasattr(getattr(train, "source", None), "on_epoch_end"):
                train.source.on_epoch_end()
            if self.stop_training:
                break
        if epochs > initial_epoch and getattr(self.optimizer, "use_ema", False):
            self.optimizer.finalize_variable_values(self.trainable_weights)
        callbacks.on_train_end(logs if epochs > initial_epoch else None)
        return self.history

    def _steps(self, kind, batches, begin, end):
        """Runs the steps of a kind ("train" or "test"); returns their number and the last logs."""
        if getattr(self._strategy, "schedules_steps", False):
            return self._scheduled_steps(kind, batches, begin, end)
        logs, step, count = None, -1, self._steps_per_execution
        run = self._step_function(kind)
        for step, batch in enumerate(batches):
            if step % count == 0:
                begin(step)
            logs = run(batch)
            if (step + 1) % count == 0:
                end(step, logs)
                if kind == "train" and self.stop_training:
                    break
        if (step + 1) % count:
            end(step, logs)
        return step + 1, logs

    def _scheduled_steps(self, kind, batches, begin, end):
        """As _steps, where the workers of a ParameterServerStrategy run the steps. Logs of a batch
        are those of the last step that has ended."""
        from situ._src.distribute.cluster_coordinator import ClusterCoordinator

        coordinator, step, logs = ClusterCoordinator(self._strategy), -1, None
        open_steps: collections.deque = collections.deque()
        for step, batch in enumerate(batches):
            begin(step)
            open_steps.append(coordinator.schedule(self._programs.scheduled(kind), (batch,)))
            if len(open_steps) > 2 * self._strategy.num_workers or logs is None:
                logs = open_steps.popleft().fetch()
            end(step, logs)
            if kind == "train" and self.stop_training:
                break
        coordinator.join()
        return step + 1, open_steps[-1].fetch() if open_steps else logs

    def _epoch(self, train, callbacks):
        """Runs the training steps of one epoch and returns its logs."""
        steps, logs = self._steps(
            "train", train, callbacks.on_train_batch_begin, callbacks.on_train_batch_end
        )
        if logs is None:
            raise ValueError(
                "Unexpected result of `train_function` (Empty Logs). Your input ran "
                "out of data, or the dataset is empty."
            )
        callbacks.learn_steps(steps)
        return _to_floats(logs)

    def _test(self, batches, callbacks):
        """Runs an evaluation and returns its logs."""
        self.reset_metrics()
        callbacks.on_test_begin()
        _, logs = self._steps(
            "test", batches, callbacks.on_test_batch_begin, callbacks.on_test_batch_end
        )
        result = _to_floats(logs or {})
        callbacks.on_test_end(result)
        return result

    def evaluate(
        self: Any,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: str | int = "auto",
        sample_weight: Any = None,
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        return_dict: bool = False,
        **kwargs,
    ):
        """Computes the loss and the metrics.

        Args:
          x: Inputs, as in fit.
          y: Labels, if x is arrays or tensors.
          batch_size: Number of examples per step, if x is arrays; default: 32.
          verbose: "auto" or 1: progress bar; 2: one line; 0: nothing.
          sample_weight: Weights of the examples, if x is arrays.
          steps: Number of batches; default: until the data ends.
          callbacks: List of callbacks.
          max_queue_size, workers, use_multiprocessing: Have no effect: generators and Sequences run
            in the calling thread.
          return_dict: Whether to return a dictionary by name instead of a list.

        Returns:
          The loss, or a list of the loss and the metrics in the order of `metrics_names`; with
          return_dict a dictionary. Without data the list or dictionary is empty.

        Raises:
          RuntimeError: If the model is not compiled.
          TypeError: For unknown arguments.
          ValueError: If arrays have different lengths, or y or sample_weight is given although x is
            not arrays.
        """
        reject_unknown(self.evaluate, kwargs, "evaluate")
        del max_queue_size, workers, use_multiprocessing  # batches are made in this thread
        self._needs_compile()
        with context.eager(), variable.strategy_scope(self._strategy):
            batches = data_adapter.make(x, y, sample_weight, batch_size, False, steps)
            listed = make_callbacks(
                self,
                callbacks,
                1 if verbose == "auto" else verbose,
                1,
                batches.steps,
                history=False,
            )
            result = self._test(batches, listed)
        if return_dict:
            return result
        values = list(result.values())
        return values[0] if len(values) == 1 else values

    def predict(
        self: Any,
        x: Any,
        batch_size: int | None = None,
        verbose: str | int = "auto",
        steps: int | None = None,
        callbacks: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs,
    ):
        """Computes the outputs of the model, batch by batch.

        Args:
          x: Inputs, as in fit.
          batch_size: Number of examples per step, if x is arrays; default: 32.
          verbose: 1: progress bar; 2: one line; "auto" or 0: nothing.
          steps: Number of batches; default: until the data ends.
          callbacks: List of callbacks.
          max_queue_size, workers, use_multiprocessing: Have no effect: generators and Sequences run
            in the calling thread.

        Returns:
          NumPy array of the outputs of all examples, or a structure of arrays for several outputs.

        Raises:
          TypeError: For unknown arguments.
          ValueError: If there is no data.
        """
        reject_unknown(self.predict, kwargs, "predict")
        del max_queue_size, workers, use_multiprocessing  # batches are made in this thread
        with self._eager_weights(), context.eager(), variable.strategy_scope(self._strategy):
            batches = data_adapter.make(x, None, None, batch_size, False, steps)
            listed = make_callbacks(
                self,
                callbacks,
                0 if verbose == "auto" else verbose,
                1,
                batches.steps,
                history=False,
            )
            return self._predict(batches, listed)

    def _predict(self, batches, callbacks):
        """Runs the batches and concatenates their outputs."""
        result, structure = [], None
        callbacks.on_predict_begin()
        for step, batch in enumerate(batches):
            callbacks.on_predict_batch_begin(step)
            created = self._programs.run("predict", (batch[0], None, None))
            structure = created
            result.append([_fetched(t) for t in nest.flatten(created)])
            callbacks.on_predict_batch_end(step, {"outputs": created})
        callbacks.on_predict_end()
        if structure is None:
            raise ValueError("Expect x to be a non-empty array or dataset.")
        joined = [composite.join(parts) for parts in zip(*result)]
        return nest.pack_sequence_as(structure, joined)

    def _on_batch(self, kind, x, y, sample_weight, class_weight=None, reset=False):
        """Runs one step of a kind ("train" or "test") on one batch."""
        self._needs_compile()
        with context.eager(), variable.strategy_scope(self._strategy):
            batches = data_adapter.Arrays(x, y, sample_weight, batch_size=1 << 62)
            batches = (
                batches
                if not class_weight
                else data_adapter.with_class_weight(batches, class_weight)
            )
            if reset:
                self.reset_metrics()
            return _to_floats(self._programs.run(kind, next(iter(batches))))

    def train_on_batch(
        self: Any,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: dict[int, float] | None = None,
        reset_metrics: bool = True,
        return_dict: bool = False,
    ):
        """Runs one training step.

        Args:
          x: Inputs.
          y: Labels.
          sample_weight: Weights of the examples.
          class_weight: Dictionary from class ids to weights of the loss.
          reset_metrics: Whether to reset the metrics first.
          return_dict: Whether to return a dictionary by name instead of a list.

        Returns:
          The loss, or a list of the loss and the metrics; with return_dict a dictionary.
        """
        result = self._on_batch("train", x, y, sample_weight, class_weight, reset_metrics)
        return result if return_dict else _scalars(result)

    def test_on_batch(
        self: Any,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        reset_metrics: bool = True,
        return_dict: bool = False,
    ):
        """Evaluates one batch.

        Args:
          x: Inputs.
          y: Labels.
          sample_weight: Weights of the examples.
          reset_metrics: Whether to reset the metrics first.
          return_dict: Whether to return a dictionary by name instead of a list.

        Returns:
          The loss, or a list of the loss and the metrics; with return_dict a dictionary.
        """
        result = self._on_batch("test", x, y, sample_weight, None, reset_metrics)
        return result if return_dict else _scalars(result)

    def predict_on_batch(self: Any, x: Any):
        """Computes the outputs of one batch.

        Args:
          x: Inputs.

        Returns:
          NumPy array, or a structure of arrays.
        """
        with self._eager_weights(), context.eager(), variable.strategy_scope(self._strategy):
            batch = next(iter(data_adapter.Arrays(x, batch_size=1 << 62)))
            result = self._programs.run("predict", batch)
            return nest.map_structure(_fetched, result)

    def fit_generator(
        self,
        generator,
        steps_per_epoch: int | None = None,
        epochs: int = 1,
        verbose: str | int = 1,
        **kwargs,
    ):
        """Calls fit; the name of fit for generators in TensorFlow 1."""
        return self.fit(
            generator, steps_per_epoch=steps_per_epoch, epochs=epochs, verbose=verbose, **kwargs
        )

    def evaluate_generator(
        self, generator, steps: int | None = None, verbose: str | int = 0, **kwargs
    ):
        """Calls evaluate; the name of evaluate for generators in TensorFlow 1."""
        return self.evaluate(generator, steps=steps, verbose=verbose, **kwargs)

    def predict_generator(
        self, generator, steps: int | None = None, verbose: str | int = 0, **kwargs
    ):
        """Calls predict; the name of predict for generators in TensorFlow 1."""
        return self.predict(generator, steps=steps, verbose=verbose, **kwargs)


def _metric_class():
    return Metric


def _fetched(output):
    """Returns an output as an array; composite tensors stay."""
    return output if composite.is_composite(output) else numpy.asarray(output.numpy())


def _scalars(found):
    values = list(found.values())
    return values[0] if len(values) == 1 else values


def _is_due(epoch, frequency):
    return (epoch + 1) % frequency == 0 if isinstance(frequency, int) else epoch + 1 in frequency


def _validation(given, batch_size, steps):
    if data_adapter.is_arrays(given) and isinstance(given, (tuple, list)):
        x, y, weight = data_adapter.unpack(tuple(given))
        return data_adapter.make(x, y, weight, batch_size, False, steps)
    return data_adapter.make(given, batch_size=batch_size, steps=steps)
