# SPDX-License-Identifier: Apache-2.0
"""callbacks_backup.py: BackupAndRestore: continues training that was interrupted."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from situ._src.checkpoint import state as checkpoint_state
from situ._src.checkpoint.checkpoint import Checkpoint, CheckpointManager
from situ._src.framework.keywords import unsupported
from situ._src.keras import context
from situ._src.keras.callbacks import Callback
from situ._src.keras.registry import keras_export
from situ._src.variables.variable import variable


@keras_export("callbacks.BackupAndRestore", "callbacks.experimental.BackupAndRestore")
class BackupAndRestore(Callback):
    """Saves the model, the state of its optimizer and the epoch during training. When training
    starts again after an interruption, it continues with them at the start of that epoch.

    Args:
      backup_dir: Folder of the checkpoints.
      save_freq: "epoch", or the number of batches between checkpoints.
      double_checkpoint: Only False is supported.
      delete_checkpoint: Whether to delete the checkpoint at the end of training.
      save_before_preemption: Only False is supported.

    Raises:
      NotImplementedError: For other values of these arguments.
      ValueError: If backup_dir is empty, or save_freq is no positive number of batches.
    """

    def __init__(
        self,
        backup_dir: str | os.PathLike,
        save_freq: str | int = "epoch",
        double_checkpoint: bool = False,
        delete_checkpoint: bool = True,
        save_before_preemption: bool = False,
    ) -> None:
        super().__init__()
        unsupported(
            "BackupAndRestore",
            double_checkpoint=(double_checkpoint, False),
            save_before_preemption=(save_before_preemption, False),
        )
        if not backup_dir:
            raise ValueError("Empty `backup_dir` argument passed")
        if save_freq != "epoch" and (not isinstance(save_freq, int) or save_freq < 1):
            raise ValueError(
                f"Invalid value for argument `save_freq`. Received: save_freq={save_freq}. "
                'Expected either "epoch" or a positive integer.'
            )
        self.backup_dir = os.fspath(backup_dir)
        self.save_freq: Any = save_freq
        self.delete_checkpoint = delete_checkpoint
        self._manager: Any = None
        self._epoch: Any = None
        self._batches = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        with context.eager():
            self._epoch = variable(0, dtype="int64", trainable=False, name="ckpt_saved_epoch")
            state = Checkpoint(model=self.model, optimizer=self.model.optimizer, epoch=self._epoch)
            self._manager = CheckpointManager(state, self.backup_dir, max_to_keep=1)
            if self._manager.latest_checkpoint:
                state.restore(self._manager.latest_checkpoint)
                self.model._restored_epoch = int(self._epoch.numpy())

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._epoch.assign(epoch)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._batches += 1
        if self.save_freq != "epoch" and self._batches % self.save_freq == 0:
            self._manager.save()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._epoch.assign(epoch + 1)
        if self.save_freq == "epoch":
            self._manager.save()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self.delete_checkpoint:
            for path in self._manager.checkpoints:
                checkpoint_state.remove_checkpoint(path)
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(self.backup_dir, "checkpoint"))
