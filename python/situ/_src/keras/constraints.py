# SPDX-License-Identifier: Apache-2.0
"""constraints.py: tf.keras.constraints: functions applied to weights after each update."""

from __future__ import annotations

from typing import Any

from situ._src.keras.registry import Registry, keras_export
from situ._src.ops.array_ops import cast, convert_to_tensor, op

KIND = Registry("constraint", {})
_SMALL = 1e-7


@keras_export("constraints.Constraint")
class Constraint:
    """Base class of constraints: a function from a weight to its constrained value."""

    def __call__(self, w):
        return w

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor as a dictionary."""
        return {k: v for k, v in vars(self).items()}

    @classmethod
    def from_config(cls, config: Any) -> Any:
        """Creates an object from the result of get_config.

        Args:
          config: The dictionary.
        """
        return cls(**config)


def _norm(w, axis):
    axis = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    return op("Sqrt", op("Sum", op("Square", w), axis, keep_dims=True))


def _named(*names):
    def record(cls):
        KIND.add(cls, *names)
        return keras_export(*["constraints." + n for n in names])(cls)

    return record


@_named("MaxNorm", "max_norm", "maxnorm")
class MaxNorm(Constraint):
    """Limits the norm of weights along an axis.

    Args:
      max_value: Largest norm.
      axis: Axis or axes of the norm.
    """

    def __init__(self, max_value=2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w):
        w = convert_to_tensor(w)
        norms = _norm(w, self.axis)
        wanted = op("Minimum", norms, cast(self.max_value, w.dtype))
        return w * (wanted / (norms + _SMALL))


@_named("NonNeg", "non_neg", "nonneg")
class NonNeg(Constraint):
    """Sets negative weights to 0."""

    def __call__(self, w):
        return op("Relu", convert_to_tensor(w))


@_named("UnitNorm", "unit_norm", "unitnorm")
class UnitNorm(Constraint):
    """Scales weights to norm 1 along an axis.

    Args:
      axis: Axis or axes of the norm.
    """

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w):
        w = convert_to_tensor(w)
        return w / (_norm(w, self.axis) + _SMALL)


@_named("MinMaxNorm", "min_max_norm")
class MinMaxNorm(Constraint):
    """Moves the norm of weights along an axis into [min_value, max_value].

    Args:
      min_value: Smallest norm.
      max_value: Largest norm.
      rate: Fraction of the correction to apply; 1 enforces the limits.
      axis: Axis or axes of the norm.
    """

    def __init__(self, min_value=0.0, max_value=1.0, rate: float = 1.0, axis: Any = 0) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w):
        w = convert_to_tensor(w)
        norms = _norm(w, self.axis)
        inside = op(
            "ClipByValue", norms, cast(self.min_value, w.dtype), cast(self.max_value, w.dtype)
        )
        wanted = self.rate * inside + (1 - self.rate) * norms
        return w * (wanted / (norms + _SMALL))


KIND.export("constraints")
get = KIND.get
