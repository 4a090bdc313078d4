# SPDX-License-Identifier: Apache-2.0
"""optimizers_adaptive.py: optimizers of Keras 3 for large models: Lion, Lamb, Adafactor, Muon and
ScheduleFreeAdamW."""

from __future__ import annotations

import re
from typing import Any

from situ._src.framework.api import named as public
from situ._src.keras.learning_rate_schedule import LearningRateSchedule
from situ._src.keras.optimizer import Optimizer, named
from situ._src.ops.array_ops import cast, convert_to_tensor, op, transpose
from situ._src.training import slot_creator


def _steps(iterations, dtype):
    """Returns the number of the step, from 1, as a floating-point tensor."""
    return cast(iterations, dtype) + convert_to_tensor(1, dtype)


def _power(base, exponent):
    return op("Pow", convert_to_tensor(base, exponent.dtype), exponent)


def _mean(x, axis=None, keepdims=False):
    return public("reduce_mean")(x, axis=axis, keepdims=keepdims)


def _norm(x):
    return op("Sqrt", public("reduce_sum")(op("Square", x)))


@named("Lion")
class Lion(Optimizer):
    """Lion: steps of one size in the direction of the sign of a momentum.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      beta_1: Weight of the momentum in the direction, above 0 and at most 1.
      beta_2: Decay rate of the momentum.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.

    Raises:
      ValueError: If beta_1 is not above 0 and at most 1.
    """

    CONFIG: tuple[str, ...] = ("beta_1", "beta_2")
    SLOTS: tuple[str, ...] = ("momentum",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.99,
        name: str | None = "lion",
        **kwargs,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        if beta_1 <= 0 or beta_1 > 1:
            raise ValueError(
                "Argument `beta_1` must be in the [0, 1] range. Otherwise, the optimizer "
                f"degenerates to SignSGD. Received: beta_1={beta_1}."
            )
        self.beta_1, self.beta_2 = beta_1, beta_2

    def _apply(self, grad, var, rate):
        _, m = self._state(var, "momentum")
        before = m.value()
        direction = op("Sign", before * self.beta_1 + grad * (1.0 - self.beta_1))
        done = var.assign_sub(direction * cast(rate, grad.dtype))
        m.assign(before * self.beta_2 + grad * (1.0 - self.beta_2))
        return done


@named("Lamb")
class Lamb(Optimizer):
    """LAMB: Adam whose steps are scaled by the norm of each variable.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      beta_1: Decay rate of the average of gradients.
      beta_2: Decay rate of the average of squared gradients.
      epsilon: Added to the denominator for numerical stability.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG: tuple[str, ...] = ("beta_1", "beta_2", "epsilon")
    SLOTS: tuple[str, ...] = ("momentum", "velocity")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-7,
        name: str | None = "lamb",
        **kwargs,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def _apply(self, grad, var, rate):
        _, m, v = self._state(var, "momentum", "velocity")
        step = _steps(self.iterations, grad.dtype)
        m.assign_add((grad - m) * (1 - self.beta_1))
        v.assign_add((op("Square", grad) - v) * (1 - self.beta_2))
        mean = m.value() / (1.0 - _power(self.beta_1, step))
        spread = op("Sqrt", v.value() / (1.0 - _power(self.beta_2, step))) + self.epsilon
        change = mean / spread
        size, length = _norm(var.value()), _norm(change)
        is_positive = op("LogicalAnd", size > 0.0, length > 0.0)
        one = convert_to_tensor(1.0, grad.dtype)
        ratio = op("SelectV2", is_positive, op("DivNoNan", size, length), one)
        return var.assign_sub(ratio * cast(rate, grad.dtype) * change)


@named("Adafactor")
class Adafactor(Optimizer):
    """Adafactor: keeps the averages of squared gradients of a matrix as those of its rows and
    columns.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      beta_2_decay: Exponent of the decay rate of averages: `1 - step ** beta_2_decay`.
      epsilon_1: Added to squared gradients.
      epsilon_2: Smallest scale of a variable.
      clip_threshold: Largest root mean square of a step.
      relative_step: Whether the learning rate is at most `1 / sqrt(step)`, if it is a number.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG: tuple[str, ...] = (
        "beta_2_decay",
        "epsilon_1",
        "epsilon_2",
        "clip_threshold",
        "relative_step",
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
        name: str | None = "adafactor",
        **kwargs,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.beta_2_decay, self.epsilon_1, self.epsilon_2 = beta_2_decay, epsilon_1, epsilon_2
        self.clip_threshold, self.relative_step = clip_threshold, relative_step

    def _make_slots(self, var):
        sizes, dtype = var.shape.as_list(), var.dtype.base_dtype
        shapes = {"v": sizes}
        if len(sizes) >= 2:
            shapes = {"r": sizes[:-1], "c": [*sizes[:-2], sizes[-1]], "v": sizes}
        zeros = public("zeros")
        return {
            name: slot_creator.create(var, zeros(shape, dtype), name)
            for name, shape in shapes.items()
        }

    @staticmethod
    def _rms(x):
        return op("Sqrt", _mean(op("Square", x)))

    def _apply(self, grad, var, rate):
        step, dtype = _steps(self.iterations, grad.dtype), grad.dtype
        rate, bound = cast(rate, dtype), 1.0 / op("Sqrt", step)
        if self.relative_step and not isinstance(self._rate, LearningRateSchedule):
            rate = op("Minimum", rate, bound)
        scale = op("Maximum", convert_to_tensor(self.epsilon_2, dtype), self._rms(var.value()))
        scale = scale * op("Minimum", rate, bound)
        square = op("Square", grad) + self.epsilon_1
        decay = 1.0 - op("Pow", step, convert_to_tensor(self.beta_2_decay, dtype))
        slots = self._slot_variables[id(var)]
        v = slots["v"]
        if "r" in slots:
            rows = self._average_of(slots["r"], decay, _mean(square, -1))
            columns = self._average_of(slots["c"], decay, _mean(square, -2))
            share = op("ExpandDims", rows / _mean(rows, -1, True), -1)
            v.assign(share * op("ExpandDims", columns, -2))
        else:
            self._average_of(v, decay, square)
        change = grad / op("Sqrt", v.value())
        one = convert_to_tensor(1.0, dtype)
        change = change / op("Maximum", one, self._rms(change) / self.clip_threshold)
        return var.assign_sub(scale * change)

    @staticmethod
    def _average_of(slot, decay, value):
        """Adds a value to the moving average of a slot and returns it."""
        slot.assign(slot.value() * decay + value * (1.0 - decay))
        return slot.value()


@named("Muon")
class Muon(Optimizer):
    """Muon: matrices are changed by their momentum, made orthogonal by Newton-Schulz iterations;
    all other variables by AdamW.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      adam_beta_1: Decay rate of the average of gradients of AdamW.
      adam_beta_2: Decay rate of the average of squared gradients of AdamW.
      adam_weight_decay: Weight decay of variables that AdamW changes; None: none.
      epsilon: Added to the denominator of AdamW.
      weight_decay: Weight decay of matrices that Muon changes; None: none.
      exclude_layers: Regular expressions; AdamW changes matrices whose names match one.
      exclude_embeddings: Whether AdamW changes matrices with "embedding" in their names.
      muon_a, muon_b, muon_c: Coefficients of the iterations.
      adam_lr_ratio: Factor of the learning rate of AdamW.
      momentum: Decay rate of the momentum.
      ns_steps: Number of iterations.
      nesterov: Whether to use Nesterov momentum.
      rms_rate: Factor of the steps, with the square root of the larger size of a matrix; None:
        none.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG: tuple[str, ...] = (
        "adam_beta_1",
        "adam_beta_2",
        "adam_weight_decay",
        "epsilon",
        "exclude_layers",
        "exclude_embeddings",
        "muon_a",
        "muon_b",
        "muon_c",
        "adam_lr_ratio",
        "momentum",
        "ns_steps",
        "nesterov",
        "rms_rate",
    )

    def __init__(
        self,
        learning_rate: Any = 0.001,
        adam_beta_1: float = 0.9,
        adam_beta_2: float = 0.999,
        adam_weight_decay: float | None = 0.004,
        epsilon: float = 1e-7,
        weight_decay: float | None = 0.004,
        exclude_layers: Any = None,
        exclude_embeddings: bool = True,
        muon_a: float = 3.4445,
        muon_b: float = -4.7750,
        muon_c: float = 2.0315,
        adam_lr_ratio: float = 1,
        momentum: float = 0.95,
        ns_steps: int = 5,
        nesterov: bool = True,
        rms_rate: float | None = 0.2,
        name: str | None = "muon",
        **kwargs,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.adam_beta_1, self.adam_beta_2 = adam_beta_1, adam_beta_2
        self.adam_weight_decay, self.epsilon = adam_weight_decay, epsilon
        self._matrix_decay = weight_decay
        self.exclude_layers = exclude_layers or []
        self.exclude_embeddings, self.adam_lr_ratio = exclude_embeddings, adam_lr_ratio
        self.muon_a, self.muon_b, self.muon_c = muon_a, muon_b, muon_c
        self.momentum, self.ns_steps = momentum, ns_steps
        self.nesterov, self.rms_rate = nesterov, rms_rate

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "weight_decay": self._matrix_decay}

    def _is_adam(self, var):
        """Whether AdamW changes a variable."""
        if var.shape.rank != 2:
            return True
        name = var.name
        if self.exclude_embeddings and "embedding" in name.lower():
            return True
        return any(re.search(pattern, name) for pattern in self.exclude_layers)

    def _make_slots(self, var):
        names = ("momentum", "velocity") if self._is_adam(var) else ("momentum",)
        return {name: slot_creator.zeros_slot(var, name) for name in names}

    def _apply(self, grad, var, rate):
        rate, is_adam = cast(rate, grad.dtype), self._is_adam(var)
        decay = self.adam_weight_decay if is_adam else self._matrix_decay
        if decay is not None:
            var.assign_sub(var.value() * (rate * decay))
        return (self._adam if is_adam else self._muon)(grad, var, rate)

    def _adam(self, grad, var, rate):
        _, m, v = self._state(var, "momentum", "velocity")
        step = _steps(self.iterations, grad.dtype)
        rate = rate * self.adam_lr_ratio * op("Sqrt", 1.0 - _power(self.adam_beta_2, step))
        rate = rate / (1.0 - _power(self.adam_beta_1, step))
        m.assign_add((grad - m) * (1 - self.adam_beta_1))
        v.assign_add((op("Square", grad) - v) * (1 - self.adam_beta_2))
        return var.assign_sub(m.value() * rate / (op("Sqrt", v.value()) + self.epsilon))

    def _muon(self, grad, var, rate):
        _, m = self._state(var, "momentum")
        m.assign_add(grad + m.value() * (self.momentum - 1))
        direction = grad + m.value() * self.momentum if self.nesterov else m.value()
        change = rate * self._orthogonal(direction)
        if self.rms_rate is not None:
            change = change * (float(max(var.shape.as_list())) ** 0.5 * self.rms_rate)
        return var.assign_sub(change)

    def _orthogonal(self, x):
        """Returns an approximation of the nearest semi-orthogonal matrix."""
        rows, columns = x.shape.as_list()
        x = transpose(x, [1, 0]) if rows > columns else x
        x = x / (_norm(x) + 1e-7)
        for _ in range(self.ns_steps):
            a = op("MatMul", x, x, transpose_b=True)
            b = a * self.muon_b + op("MatMul", a * self.muon_c, a)
            x = x * self.muon_a + op("MatMul", b, x)
        return transpose(x, [1, 0]) if rows > columns else x


@named("ScheduleFreeAdamW")
class ScheduleFreeAdamW(Optimizer):
    """AdamW that averages its steps instead of a learning rate schedule.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      beta_1: Weight of the average in the variables.
      beta_2: Decay rate of the average of squared gradients.
      epsilon: Added to the denominator for numerical stability.
      warmup_steps: Number of steps in which the learning rate grows linearly.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG: tuple[str, ...] = ("beta_1", "beta_2", "epsilon", "warmup_steps")

    def __init__(
        self,
        learning_rate: Any = 0.0025,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-8,
        warmup_steps: int = 0,
        name: str | None = "schedule_free_adam_w",
        **kwargs,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.warmup_steps = warmup_steps

    def _make_slots(self, var):
        return {
            "momentum": slot_creator.create(var, var.value(), "momentum"),
            "velocity": slot_creator.zeros_slot(var, "velocity"),
        }

    def _apply(self, grad, var, rate):
        _, m, v = self._state(var, "momentum", "velocity")
        step, rate = _steps(self.iterations, grad.dtype), cast(rate, grad.dtype)
        if self.warmup_steps > 0:
            one = convert_to_tensor(1.0, grad.dtype)
            rate = rate * op("Minimum", step / float(self.warmup_steps), one)
        before, now = m.value(), var.value()
        v.assign_add((op("Square", grad) - v) * (1 - self.beta_2))
        spread = op("Sqrt", v.value() / (1.0 - _power(self.beta_2, step))) + self.epsilon
        m.assign(before - grad * rate / spread)
        weight = 1.0 / step
        average = (now - before * (1 - self.beta_1)) / self.beta_1
        average = average * (1.0 - weight) + m.value() * weight
        return var.assign(m.value() * (1 - self.beta_1) + average * self.beta_1)
