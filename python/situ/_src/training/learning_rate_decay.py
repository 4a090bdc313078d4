# SPDX-License-Identifier: Apache-2.0
"""learning_rate_decay.py: learning rate schedules of TensorFlow 1: tf.train.exponential_decay
and others. They return a tensor in a graph, and in eager mode a function without arguments."""

from __future__ import annotations

import math

import _situ
from situ._src.framework.api import export
from situ._src.framework.graph import scope
from situ._src.keras import learning_rate_schedule
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.random_ops import random_normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike


def _result(make):
    """Returns a tensor in a graph, a function in eager mode."""
    return make if _situ.executing_eagerly() else make()


def _need_step(global_step, what):
    if global_step is None:
        raise ValueError(f"global_step is required for {what}.")


@export(v1="train.exponential_decay")
def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Computes `learning_rate * decay_rate ** (global_step / decay_steps)`.

    With staircase the quotient global_step / decay_steps is rounded down. In eager mode returns a
    function without arguments.

    Args:
      learning_rate: The initial learning rate.
      global_step: The step, a number or a variable.
      decay_steps: The number of steps of a decay.
      decay_rate: The decay rate.
      staircase: Whether `global_step / decay_steps` is rounded down.
      name: A name for the operation (optional).
    """
    _need_step(global_step, "exponential_decay")
    schedule = learning_rate_schedule.ExponentialDecay(
        learning_rate, decay_steps, decay_rate, staircase, name
    )
    return _result(lambda: schedule(global_step))


@export(v1=("train.piecewise_constant", "train.piecewise_constant_decay"))
def piecewise_constant(
    x: TensorLike, boundaries: Any, values: TensorLike, name: str | None = None
) -> Any:
    """Returns values[0] up to boundaries[0], values[1] up to boundaries[1], and so on.

    Args:
      x: The step, a number or a variable.
      boundaries: The steps after which the value changes.
      values: The values, one more than boundaries.
      name: A name for the operation (optional).
    """
    schedule = learning_rate_schedule.PiecewiseConstantDecay(boundaries, values, name)
    return _result(lambda: schedule(x))


@export(v1="train.polynomial_decay")
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: int,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Any:
    """Decays the learning rate polynomially to `end_learning_rate` in `decay_steps` steps.

    Args:
      learning_rate: The initial learning rate.
      global_step: The step, a number or a variable.
      decay_steps: The number of steps of a decay.
      end_learning_rate: The final learning rate.
      power: The power of the polynomial.
      cycle: Whether to start again after `decay_steps`.
      name: A name for the operation (optional).
    """
    _need_step(global_step, "polynomial_decay")
    schedule = learning_rate_schedule.PolynomialDecay(
        learning_rate, decay_steps, end_learning_rate, power, cycle, name
    )
    return _result(lambda: schedule(global_step))


@export(v1="train.natural_exp_decay")
def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Computes `learning_rate * exp(-decay_rate * global_step / decay_steps)`.

    With staircase the quotient global_step / decay_steps is rounded down. In eager mode returns a
    function without arguments.

    Args:
      learning_rate: The initial learning rate.
      global_step: The step, a number or a variable.
      decay_steps: The number of steps of a decay.
      decay_rate: The decay rate.
      staircase: Whether `global_step / decay_steps` is rounded down.
      name: A name for the operation (optional).
    """
    _need_step(global_step, "natural_exp_decay")

    def make():
        with scope(name, "ExponentialDecay") as full:
            rate = convert_to_tensor(learning_rate, name="learning_rate")
            part = cast(global_step, rate.dtype) / cast(decay_steps, rate.dtype)
            part = op("Floor", part) if staircase else part
            decay = op("Exp", op("Neg", cast(decay_rate, rate.dtype)) * part)
            return op("Mul", rate, decay, name=full)

    return _result(make)


@export(v1="train.inverse_time_decay")
def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: int,
    decay_rate: float,
    staircase: bool = False,
    name: str | None = None,
) -> Any:
    """Computes `learning_rate / (1 + decay_rate * global_step / decay_steps)`.

    With staircase the quotient global_step / decay_steps is rounded down. In eager mode returns a
    function without arguments.

    Args:
      learning_rate: The initial learning rate.
      global_step: The step, a number or a variable.
      decay_steps: The number of steps of a decay.
      decay_rate: The decay rate.
      staircase: Whether `global_step / decay_steps` is rounded down.
      name: A name for the operation (optional).
    """
    _need_step(global_step, "inverse_time_decay")
    schedule = learning_rate_schedule.InverseTimeDecay(
        learning_rate, decay_steps, decay_rate, staircase, name
    )
    return _result(lambda: schedule(global_step))


@export(v1="train.cosine_decay")
def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: int,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Any:
    """Decays the learning rate along a half cosine to `alpha * learning_rate`.

    Args:
      learning_rate: The initial learning rate.
      global_step: The step, a number or a variable.
      decay_steps: The number of steps of a decay.
      alpha: The final fraction of the learning rate.
      name: A name for the operation (optional).
    """
    schedule = learning_rate_schedule.CosineDecay(learning_rate, decay_steps, alpha, name)
    return _result(lambda: schedule(global_step))


@export(v1="train.cosine_decay_restarts")
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: int,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Any:
    """Applies cosine decay with restarts, each longer by `t_mul` and lower by `m_mul`.

    Args:
      learning_rate: The initial learning rate.
      global_step: The step, a number or a variable.
      first_decay_steps: The number of steps of the first period.
      t_mul: The factor of the length of each period.
      m_mul: The factor of the initial learning rate of each period.
      alpha: The final fraction of the learning rate.
      name: A name for the operation (optional).
    """
    schedule = learning_rate_schedule.CosineDecayRestarts(
        learning_rate, first_decay_steps, t_mul, m_mul, alpha, name
    )
    return _result(lambda: schedule(global_step))


@export(v1="train.linear_cosine_decay")
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: int,
    num_periods: float = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Any:
    """Computes `learning_rate * ((alpha + linear decay) * cosine + beta)`.

    Args:
      learning_rate: The initial learning rate.
      global_step: The step, a number or a variable.
      decay_steps: The number of steps of a decay.
      num_periods: The number of periods of the cosine.
      alpha: The part added to the linear decay.
      beta: The part added to the product.
      name: A name for the operation (optional).
    """
    return noisy_linear_cosine_decay(
        learning_rate,
        global_step,
        decay_steps,
        0.0,
        0.55,
        num_periods,
        alpha,
        beta,
        name or "LinearCosineDecay",
    )


@export(v1="train.noisy_linear_cosine_decay")
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: int,
    initial_variance: float = 1.0,
    variance_decay: float = 0.55,
    num_periods: float = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Any:
    """Applies linear cosine decay with noise whose variance decays.

    Args:
      learning_rate: The initial learning rate.
      global_step: The step, a number or a variable.
      decay_steps: The number of steps of a decay.
      initial_variance: The initial variance of the noise.
      variance_decay: The exponent of the decay of the variance.
      num_periods: The number of periods of the cosine.
      alpha: The part added to the linear decay.
      beta: The part added to the product.
      name: A name for the operation (optional).
    """
    _need_step(global_step, "noisy_linear_cosine_decay")

    def make():
        with scope(name, "NoisyLinearCosineDecay") as full:
            rate = convert_to_tensor(learning_rate, name="learning_rate")
            steps = cast(decay_steps, rate.dtype)
            step = op("Minimum", cast(global_step, rate.dtype), steps)
            left = (steps - step) / steps
            if initial_variance:
                width = op("Sqrt", initial_variance / op("Pow", step + 1.0, variance_decay))
                left = left + random_normal(op("Shape", left), dtype=rate.dtype) * width
            turn = op("Cos", constant(2 * math.pi * num_periods, rate.dtype) * (step / steps))
            factor = (alpha + left) * (0.5 * (1.0 + turn)) + beta
            return op("Mul", rate, factor, name=full)

    return _result(make)
