# SPDX-License-Identifier: Apache-2.0
"""learning_rate_schedule.py: tf.keras.optimizers.schedules: rates that depend on the step."""

from __future__ import annotations

import math
from typing import Any

from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.keras.registry import custom
from situ._src.ops.array_ops import cast, convert_to_tensor, op, where


def _named(name):
    return export("optimizers.schedules." + name, "keras.optimizers.schedules." + name)


@_named("LearningRateSchedule")
class LearningRateSchedule:
    """Base class of schedules: a callable of the step.

    Subclasses implement `__call__(step)`. The attributes that their constructor sets are the
    configuration.
    """

    def __call__(self, step):
        raise NotImplementedError("Learning rate schedule must override __call__")

    def get_config(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}

    @classmethod
    def from_config(cls, config: Any):
        return cls(**config)


def _floor(x):
    return op("Floor", x)


@_named("ExponentialDecay")
class ExponentialDecay(LearningRateSchedule):
    """`initial_learning_rate * decay_rate ** (step / decay_steps)`.

    Args:
      initial_learning_rate: Learning rate at step 0.
      decay_steps: Number of steps after which the rate is multiplied by decay_rate.
      decay_rate: Factor.
      staircase: Whether the quotient is rounded down, so that the rate changes in steps.
      name: Name scope of the ops.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase, self.name = decay_rate, staircase, name

    def __call__(self, step):
        with scope(self.name, "ExponentialDecay") as name:
            rate = convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            steps, decay = cast(self.decay_steps, rate.dtype), cast(self.decay_rate, rate.dtype)
            part = cast(step, rate.dtype) / steps
            return op(
                "Mul", rate, op("Pow", decay, _floor(part) if self.staircase else part), name=name
            )


@_named("PiecewiseConstantDecay")
class PiecewiseConstantDecay(LearningRateSchedule):
    """Constant between boundaries.

    Args:
      boundaries: Increasing steps; up to the first one (inclusive) the rate is `values[0]`.
      values: Learning rates, one more than boundaries.
      name: Name scope of the ops.

    Raises:
      ValueError: If the lengths do not fit.
    """

    def __init__(self, boundaries, values, name: str | None = None) -> None:
        if len(boundaries) != len(values) - 1:
            raise ValueError("The length of boundaries should be 1 less than the length of values")
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step):
        with scope(self.name, "PiecewiseConstant") as name:
            step = convert_to_tensor(step)
            values = [convert_to_tensor(v) for v in self.values]
            result = values[0]
            for boundary, value in zip(self.boundaries, values[1:]):
                boundary = cast(convert_to_tensor(boundary), step.dtype)
                result = where(op("Greater", step, boundary), value, result)
            return op("Identity", result, name=name)


@_named("PolynomialDecay")
class PolynomialDecay(LearningRateSchedule):
    """From the initial to the end rate along `(1 - step / decay_steps) ** power`.

    Args:
      initial_learning_rate: Learning rate at step 0.
      decay_steps: Number of steps until the end rate.
      end_learning_rate: The end rate.
      power: Exponent; 1 is linear.
      cycle: Whether to start again with a multiple of decay_steps after each cycle.
      name: Name scope of the ops.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        end_learning_rate=0.0001,
        power=1.0,
        cycle: bool = False,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power = end_learning_rate, power
        self.cycle, self.name = cycle, name

    def __call__(self, step):
        with scope(self.name, "PolynomialDecay") as name:
            rate = convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            end, power = cast(self.end_learning_rate, rate.dtype), cast(self.power, rate.dtype)
            now, steps = cast(step, rate.dtype), cast(self.decay_steps, rate.dtype)
            if self.cycle:
                zero, one = cast(0, rate.dtype), cast(1, rate.dtype)
                steps = steps * where(op("Equal", now, zero), one, op("Ceil", now / steps))
            else:
                now = op("Minimum", now, steps)
            part = now / steps
            return op("Add", (rate - end) * op("Pow", 1 - part, power), end, name=name)


@_named("InverseTimeDecay")
class InverseTimeDecay(LearningRateSchedule):
    """`initial_learning_rate / (1 + decay_rate * step / decay_steps)`.

    Args:
      initial_learning_rate: Learning rate at step 0.
      decay_steps: Unit of the steps.
      decay_rate: Decay per decay_steps.
      staircase: Whether the quotient is rounded down.
      name: Name scope of the ops.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        decay_rate: Any,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.decay_rate, self.staircase, self.name = decay_rate, staircase, name

    def __call__(self, step):
        with scope(self.name, "InverseTimeDecay") as name:
            rate = convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            part = cast(step, rate.dtype) / cast(self.decay_steps, rate.dtype)
            part = _floor(part) if self.staircase else part
            one = cast(1, rate.dtype)
            return op("RealDiv", rate, one + cast(self.decay_rate, rate.dtype) * part, name=name)


@_named("CosineDecay")
class CosineDecay(LearningRateSchedule):
    """Cosine decay from the initial rate to alpha times it, or from warmup_target after a linear
    warmup.

    Args:
      initial_learning_rate: Learning rate at step 0.
      decay_steps: Number of steps of the decay, without the warmup.
      alpha: The end rate as a fraction of the initial one, or of warmup_target.
      name: Name scope of the ops.
      warmup_target: Rate at the end of the warmup; None: no warmup.
      warmup_steps: Number of steps of the warmup.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        decay_steps: Any,
        alpha=0.0,
        name: str | None = None,
        warmup_target=None,
        warmup_steps=0,
    ) -> None:
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.alpha, self.name = alpha, name
        self.warmup_target, self.warmup_steps = warmup_target, warmup_steps

    def _decayed(self, rate, step):
        steps = cast(self.decay_steps, rate.dtype)
        part = op("Minimum", step, steps) / steps
        curve = 0.5 * (1.0 + op("Cos", cast(math.pi, rate.dtype) * part))
        return op("Mul", rate, (1 - self.alpha) * curve + self.alpha)

    def __call__(self, step):
        with scope(self.name, "CosineDecay"):
            rate = convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            now = cast(step, rate.dtype)
            if self.warmup_target is None:
                return self._decayed(rate, now)
            warm, target = cast(self.warmup_steps, rate.dtype), cast(self.warmup_target, rate.dtype)
            rising = rate + (target - rate) * now / warm
            return where(op("Less", now, warm), rising, self._decayed(target, now - warm))


@_named("CosineDecayRestarts")
class CosineDecayRestarts(LearningRateSchedule):
    """Cosine decays that restart, each t_mul times as long and m_mul times as high as the last.

    Args:
      initial_learning_rate: Learning rate at step 0.
      first_decay_steps: Number of steps of the first period.
      t_mul: Factor of the length of each period.
      m_mul: Factor of the rate at each restart.
      alpha: The end rate as a fraction of the initial one.
      name: Name scope of the ops.
    """

    def __init__(
        self,
        initial_learning_rate: Any,
        first_decay_steps,
        t_mul=2.0,
        m_mul=1.0,
        alpha=0.0,
        name: str | None = None,
    ) -> None:
        self.initial_learning_rate, self.first_decay_steps = (
            initial_learning_rate,
            first_decay_steps,
        )
        self.t_mul, self.m_mul, self.alpha, self.name = t_mul, m_mul, alpha, name

    def __call__(self, step):
        with scope(self.name, "SGDRDecay") as full:
            rate = convert_to_tensor(self.initial_learning_rate, name="initial_learning_rate")
            part = cast(step, rate.dtype) / cast(self.first_decay_steps, rate.dtype)
            if self.t_mul == 1.0:
                turn = _floor(part)
                part = part - turn
            else:
                turn = _floor(op("Log", 1.0 - part * (1.0 - self.t_mul)) / math.log(self.t_mul))
                power = op("Pow", cast(self.t_mul, rate.dtype), turn)
                part = (part - (1.0 - power) / (1.0 - self.t_mul)) / power
            high = op("Pow", cast(self.m_mul, rate.dtype), turn)
            curve = 0.5 * high * (1.0 + op("Cos", cast(math.pi, rate.dtype) * part))
            return op("Mul", rate, (1 - self.alpha) * curve + self.alpha, name=full)


def value_at(rate, step):
    """Returns the value of a learning rate at a step: a number, a function or a schedule."""
    if isinstance(rate, LearningRateSchedule):
        return rate(step)
    return rate() if callable(rate) else rate


@_named("serialize")
def serialize(learning_rate_schedule: LearningRateSchedule) -> dict[str, Any]:
    """Returns a schedule as a dictionary of its class name and configuration.

    Args:
      learning_rate_schedule: The schedule.
    """
    schedule = learning_rate_schedule
    return {"class_name": type(schedule).__name__, "config": schedule.get_config()}


@_named("deserialize")
def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None):
    """Creates a schedule from the result of serialize.

    Args:
      config: The dictionary.
      custom_objects: Classes of the program by name.

    Raises:
      ValueError: If the class is unknown.
    """
    name = config["class_name"]
    kind = custom(name, custom_objects) or globals().get(name)
    if kind is None:
        raise ValueError(f"Unknown decay: '{name}'.")
    return kind.from_config(config["config"])
