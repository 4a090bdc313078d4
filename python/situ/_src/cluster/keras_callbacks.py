# SPDX-License-Identifier: Apache-2.0
"""keras_callbacks.py: callbacks of Keras for several processes (horovod.keras.callbacks)."""

from __future__ import annotations

import math
from typing import Any

import numpy

from situ._src.cluster import messages, processes
from situ._src.cluster.variables import broadcast_variables
from situ._src.framework import logs as log
from situ._src.keras import context
from situ._src.keras.callbacks import Callback, ModelCheckpoint


class BroadcastGlobalVariablesCallback(Callback):
    """Broadcasts the variables of model and optimizer from a rank, after the first batch.

    Args:
      root_rank: The rank whose values all get.
      device: Has no effect: tensors travel through the memory of the CPU.
    """

    def __init__(self, root_rank: int, device: str = "") -> None:
        super().__init__()
        del device  # ranks exchange tensors through the memory of the CPU
        self.root_rank, self.broadcast_done = root_rank, False

    def on_batch_end(self, batch, logs=None):
        if self.broadcast_done:
            return
        self.broadcast_done = True
        with context.eager():
            broadcast_variables(self.model.weights, self.root_rank)
            broadcast_variables(list(self.model.optimizer.variables), self.root_rank)

    on_train_batch_end = on_batch_end


class MetricAverageCallback(Callback):
    """Averages the metrics of all ranks at the end of each epoch, before other callbacks see them.

    Args:
      device: Has no effect: tensors travel through the memory of the CPU.
    """

    def __init__(self, device: str = "") -> None:
        super().__init__()
        del device  # ranks exchange tensors through the memory of the CPU

    def on_epoch_end(self, epoch, logs=None):
        if not logs or processes.size() == 1:
            return
        names = sorted(n for n, v in logs.items() if numpy.ndim(v) == 0)
        with context.eager():
            values = numpy.array([float(logs[n]) for n in names], "float64")
            means = messages.allreduce(values, average=True).numpy()
        logs.update({n: float(v) for n, v in zip(names, means)})


class LearningRateScheduleCallback(Callback):
    """Multiplies the initial learning rate by a factor that depends on the epoch.

    Args:
      initial_lr: Learning rate at the beginning.
      multiplier: Factor, or a function from the epoch to it.
      start_epoch: First epoch in which it has an effect.
      end_epoch: First epoch in which it has no effect any more; default: none.
      staircase: Whether the rate changes between epochs only; otherwise with every batch, and
        multiplier gets fractions of epochs.
      momentum_correction: Has no effect on optimizers whose momentum is a constant of the compiled
        step, as those of situ; a warning says so.
      steps_per_epoch: Number of batches per epoch, if Keras does not know it.

    Raises:
      ValueError: If initial_lr is None, or steps_per_epoch is needed and not known.
    """

    def __init__(
        self,
        initial_lr: float,
        multiplier: Any,
        start_epoch: int = 0,
        end_epoch: int | None = None,
        staircase: bool = True,
        momentum_correction: bool = True,
        steps_per_epoch: int | None = None,
    ) -> None:
        super().__init__()
        if initial_lr is None:
            raise ValueError("Parameter `initial_lr` is required")
        self.initial_lr, self.start_epoch, self.end_epoch = initial_lr, start_epoch, end_epoch
        self.staircase, self.momentum_correction = staircase, momentum_correction
        self.steps_per_epoch, self.current_epoch = steps_per_epoch, 0
        if callable(multiplier):
            self.multiplier = multiplier
        else:
            self.staircase, self.multiplier = True, lambda epoch: multiplier

    def on_train_begin(self, logs=None):
        if self.momentum_correction and getattr(self.model.optimizer, "momentum", None):
            log.warn(
                "momentum_correction has no effect: the momentum of %s is a constant of its step.",
                type(self.model.optimizer).__name__,
            )
        if self.staircase or self.steps_per_epoch:
            return
        self.steps_per_epoch = self.params.get("steps")
        if not self.steps_per_epoch:
            raise ValueError(
                "Could not autodetect the number of steps per epoch. Please specify the "
                f"steps_per_epoch parameter to the {type(self).__name__}()."
            )

    def on_epoch_begin(self, epoch, logs=None):
        self.current_epoch = epoch

    def on_batch_begin(self, batch, logs=None):
        if self.current_epoch < self.start_epoch:
            return
        if self.end_epoch is not None and self.current_epoch >= self.end_epoch:
            return
        if self.staircase and batch == 0:
            self._adjust(self.current_epoch)
        elif not self.staircase:
            self._adjust(self.current_epoch + float(batch) / self.steps_per_epoch)

    on_train_batch_begin = on_batch_begin

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["lr"] = self._rate()

    def _rate(self):
        with context.eager():
            return float(numpy.asarray(self.model.optimizer.learning_rate))

    def _adjust(self, epoch):
        with context.eager():
            self.model.optimizer.learning_rate = self.initial_lr * self.multiplier(epoch)


class LearningRateWarmupCallback(LearningRateScheduleCallback):
    """Raises the learning rate from `initial_lr / size` to initial_lr in the first epochs.

    Args:
      initial_lr: Learning rate after the warm-up: that of one process times their number.
      warmup_epochs: Number of epochs of the warm-up.
      momentum_correction: See LearningRateScheduleCallback.
      steps_per_epoch: Number of batches per epoch, if Keras does not know it.
      verbose: 1: prints the learning rate at the end of the warm-up on each rank.
    """

    def __init__(
        self,
        initial_lr: float,
        warmup_epochs: int = 5,
        momentum_correction: bool = True,
        steps_per_epoch: int | None = None,
        verbose: int = 0,
    ) -> None:
        def multiplier(epoch):
            epoch += 1.0 / self.steps_per_epoch
            size = processes.size()
            return 1.0 / size * (epoch * (size - 1) / warmup_epochs + 1)

        super().__init__(
            initial_lr,
            multiplier,
            start_epoch=0,
            end_epoch=math.ceil(warmup_epochs),
            staircase=False,
            momentum_correction=momentum_correction,
            steps_per_epoch=steps_per_epoch,
        )
        self.verbose = verbose

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        if epoch == self.end_epoch - 1 and self.verbose > 0:
            print(
                f"\nEpoch {epoch + 1}: finished gradual learning rate warmup to {self._rate():g}."
            )


class BestModelCheckpoint(ModelCheckpoint):
    """Saves the best model; its `filepath` is set before training.

    Args:
      monitor, verbose, mode, save_freq: As of ModelCheckpoint.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        verbose: int = 0,
        mode: str = "auto",
        save_freq: Any = "epoch",
    ) -> None:
        super().__init__(
            filepath="",
            monitor=monitor,
            verbose=verbose,
            save_best_only=True,
            save_weights_only=False,
            mode=mode,
            save_freq=save_freq,
        )
