# SPDX-License-Identifier: Apache-2.0
"""optimizer_average.py: moving averages of trainable variables (use_ema)."""

from situ._src.framework.scopes import control_dependencies
from situ._src.ops.array_ops import cast, op
from situ._src.training import slot_creator
from situ._src.training.optimizer import updates_eagerly


class Averaged:
    """Mixed into tf.keras.optimizers.Optimizer."""

    use_ema = False

    def _set_average(self, use, momentum, frequency):
        if use and not 0 <= momentum <= 1:
            raise ValueError(
                f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={momentum}"
            )
        if use and frequency and (not isinstance(frequency, int) or frequency < 1):
            raise ValueError(
                "`ema_overwrite_frequency` must be an integer >= 1 or None. "
                f"Received: ema_overwrite_frequency={frequency}"
            )
        self.use_ema, self.ema_momentum = use, momentum
        self.ema_overwrite_frequency = frequency

    def _with_average(self, var, own):
        """Creates the slots of a variable, preceded by its average."""
        return {"average": slot_creator.zeros_slot(var, "average"), **own} if self.use_ema else own

    def _average(self, done):
        """Updates the averages after a step and, when due, assigns them to the variables;
        returns the updates."""
        result = []
        if not self.use_ema:
            return result
        with control_dependencies([] if updates_eagerly() else done):
            later = op("NotEqual", self.iterations, cast(0, "int64"))
            for var in self._built:
                average, dtype = self.get_slot(var, "average"), var.dtype.base_dtype
                momentum = cast(later, dtype) * cast(self.ema_momentum, dtype)
                value = var.read_value()
                mean = momentum * average + (cast(1, dtype) - momentum) * value
                result.append(average.assign(mean))
                if self.ema_overwrite_frequency:
                    result.append(var.assign(op("SelectV2", self._is_time(), mean, value)))
        return result

    def _is_time(self):
        rest = (self.iterations + cast(1, "int64")) % cast(self.ema_overwrite_frequency, "int64")
        return op("Equal", rest, cast(0, "int64"))

    def finalize_variable_values(self, var_list):
        """Gives variables their averages, as training ends."""
        if not self.use_ema:
            return
        if len(var_list) != len(self._built):
            raise ValueError(
                f"The length of model variables ({len(var_list)}) to override does "
                "not match the length of model variables stored in the optimizer "
                f"({len(self._built)}). Please check if the optimizer was called on "
                "your model."
            )
        for var in var_list:
            var.assign(self.get_slot(var, "average").read_value())
