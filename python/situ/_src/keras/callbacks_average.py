# SPDX-License-Identifier: Apache-2.0
"""callbacks_average.py: SwapEMAWeights: evaluation with the moving averages of weights."""

from __future__ import annotations

from situ._src.keras.callbacks import Callback
from situ._src.keras.registry import keras_export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@keras_export("callbacks.SwapEMAWeights")
class SwapEMAWeights(Callback):
    """Evaluates a model with the moving averages of its weights, which its optimizer keeps with
    use_ema.

    Args:
      swap_on_epoch: Whether the averages are in the model at the end of each epoch, too, so that
        ModelCheckpoint saves them.

    Raises:
      ValueError: When called, if the optimizer does not have use_ema.
    """

    def __init__(self, swap_on_epoch: bool = False) -> None:
        super().__init__()
        self.swap_on_epoch, self._is_swapped = swap_on_epoch, False

    def _optimizer(self):
        optimizer = getattr(self.model.optimizer, "inner_optimizer", self.model.optimizer)
        if not getattr(optimizer, "use_ema", False):
            raise ValueError(
                "SwapEMAWeights must be used when `use_ema=True` is set on the optimizer. "
                f"Received: use_ema={getattr(optimizer, 'use_ema', False)}"
            )
        return optimizer

    def _swap(self, is_swapped):
        """Exchanges weights and averages, unless that was done."""
        if self._is_swapped == is_swapped:
            return
        optimizer = self._optimizer()
        for var in optimizer._built:
            average = optimizer.get_slot(var, "average")
            value = var.read_value()
            var.assign(average.read_value())
            average.assign(value)
        self._is_swapped = is_swapped

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if self.swap_on_epoch:
            self._swap(False)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if not self.swap_on_epoch or self._is_swapped:
            return
        self._swap(True)
        if epoch == self.params["epochs"] - 1:
            optimizer = self._optimizer()
            for var in optimizer._built:
                optimizer.get_slot(var, "average").assign(var.read_value())

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._swap(True)

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        self._swap(False)

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._swap(True)

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        self._swap(False)
