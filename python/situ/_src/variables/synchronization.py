# SPDX-License-Identifier: Apache-2.0
"""synchronization.py: tf.VariableSynchronization and tf.VariableAggregation of distributed
variables."""

from __future__ import annotations

import enum

from situ._src.framework.api import export


@export("VariableAggregation")
class VariableAggregation(enum.Enum):
    """How values that replicas assign to a variable are combined."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


@export("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    """When the copies of a variable are aggregated."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


def _member(kind, value, default, what: str, name):
    if value is None:
        return default
    if isinstance(value, str) and value.upper() in kind.__members__:  # as Keras spells them
        return kind[value.upper()]
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"Invalid variable {what} mode: {value} for variable: {name}") from None


def aggregation(value, name=None) -> VariableAggregation:
    """Converts the argument `aggregation`.

    Raises:
      ValueError: the value is invalid.
    """
    return _member(VariableAggregation, value, VariableAggregation.NONE, "aggregation", name)


def synchronization(value, name=None) -> VariableSynchronization:
    """Converts the argument `synchronization`.

    Raises:
      ValueError: the value is invalid.
    """
    return _member(
        VariableSynchronization, value, VariableSynchronization.AUTO, "synchronization", name
    )


def is_trainable(trainable, mode: VariableSynchronization) -> bool:
    """Returns `trainable`; if it is None, False for variables that are synchronized on read."""
    return mode is not VariableSynchronization.ON_READ if trainable is None else bool(trainable)
