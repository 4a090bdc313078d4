# SPDX-License-Identifier: Apache-2.0
"""synchronization.py: how the copies of a distributed variable are synchronized and aggregated."""

from __future__ import annotations

import enum

from situ._src.framework.api import export


@export("VariableAggregation")
class VariableAggregation(enum.Enum):
    """How the values that replicas assign to a variable become one."""

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
    """The member that an argument `aggregation` means; ValueError where there is none."""
    return _member(VariableAggregation, value, VariableAggregation.NONE, "aggregation", name)


def synchronization(value, name=None) -> VariableSynchronization:
    """The member that an argument `synchronization` means; ValueError where there is none."""
    return _member(
        VariableSynchronization, value, VariableSynchronization.AUTO, "synchronization", name
    )


def is_trainable(trainable, mode: VariableSynchronization) -> bool:
    """What `trainable` is where nobody says: False for variables that are synchronized on read."""
    return mode is not VariableSynchronization.ON_READ if trainable is None else bool(trainable)
