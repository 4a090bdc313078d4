# SPDX-License-Identifier: Apache-2.0
"""decay.py: learning rates of graph style: tf.train.exponential_decay and its like."""
import _situ
from situ._lib import schedules
from situ._lib.api import export
from situ._lib.array_ops import cast, convert_to_tensor, op
from situ._lib.graph import scope


def _result(make):
    """A tensor in a graph, a function in eager style."""
    return make if _situ.executing_eagerly() else make()


def _need_step(global_step, what):
    if global_step is None:
        raise ValueError(f"global_step is required for {what}.")


@export(v1="train.exponential_decay")
def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False,
                      name=None):
    """learning_rate * decay_rate ^ (global_step / decay_steps)."""
    _need_step(global_step, "exponential_decay")
    schedule = schedules.ExponentialDecay(learning_rate, decay_steps, decay_rate, staircase, name)
    return _result(lambda: schedule(global_step))


@export(v1=("train.piecewise_constant", "train.piecewise_constant_decay"))
def piecewise_constant(x, boundaries, values, name=None):
    """values[0] up to boundaries[0], values[1] up to boundaries[1], ..."""
    schedule = schedules.PiecewiseConstantDecay(boundaries, values, name)
    return _result(lambda: schedule(x))


@export(v1="train.polynomial_decay")
def polynomial_decay(learning_rate, global_step, decay_steps, end_learning_rate=0.0001, power=1.0,
                     cycle=False, name=None):
    _need_step(global_step, "polynomial_decay")
    schedule = schedules.PolynomialDecay(learning_rate, decay_steps, end_learning_rate, power,
                                         cycle, name)
    return _result(lambda: schedule(global_step))


@export(v1="train.natural_exp_decay")
def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False,
                      name=None):
    """learning_rate * exp(-decay_rate * global_step / decay_steps)."""
    _need_step(global_step, "natural_exp_decay")

    def make():
        with scope(name, "NaturalExpDecay"):
            rate = convert_to_tensor(learning_rate, name="learning_rate")
            part = cast(global_step, rate.dtype) / cast(decay_steps, rate.dtype)
            part = op("Floor", part) if staircase else part
            return rate * op("Exp", op("Neg", cast(decay_rate, rate.dtype)) * part)
    return _result(make)


@export(v1="train.inverse_time_decay")
def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False,
                       name=None):
    """learning_rate / (1 + decay_rate * global_step / decay_steps)."""
    _need_step(global_step, "inverse_time_decay")
    schedule = schedules.InverseTimeDecay(learning_rate, decay_steps, decay_rate, staircase, name)
    return _result(lambda: schedule(global_step))


@export(v1="train.cosine_decay")
def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    schedule = schedules.CosineDecay(learning_rate, decay_steps, alpha, name)
    return _result(lambda: schedule(global_step))


@export(v1="train.cosine_decay_restarts")
def cosine_decay_restarts(learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0,
                          alpha=0.0, name=None):
    schedule = schedules.CosineDecayRestarts(learning_rate, first_decay_steps, t_mul, m_mul,
                                             alpha, name)
    return _result(lambda: schedule(global_step))
