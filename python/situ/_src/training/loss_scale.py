# SPDX-License-Identifier: Apache-2.0
"""loss_scale.py: loss scales of tf.train.Optimizer: fixed and dynamic, and the optimizer that
applies them."""

from __future__ import annotations

from typing import Any

import _situ
from situ._src.framework import api, indexed_slices, logs, nest
from situ._src.framework.api import export
from situ._src.framework.exports import no_op
from situ._src.framework.scopes import control_dependencies
from situ._src.ops.array_ops import cast, convert_to_tensor, group, op
from situ._src.ops.control_flow_ops import smart_cond
from situ._src.training.optimizer import Optimizer, _home, updates_eagerly
from situ._src.variables.eager_variable import place
from situ._src.variables.variable import variable


def _names(name: str) -> tuple[str, ...]:
    return (
        f"mixed_precision.{name}",
        f"mixed_precision.experimental.{name}",
        f"train.experimental.{name}",
    )


@export(v1=_names("LossScale"))
class LossScale:
    """Base class of loss scales.

    A subclass returns the current scale from `__call__`, adapts it to the gradients of a step in
    `update`, and returns its arguments from `get_config`.
    """

    def __init__(self) -> None:
        self._weights: dict[Any, Any] = {}

    def __call__(self) -> Any:
        """Returns the current scale, a float32 scalar."""
        raise NotImplementedError("LossScale.__call__ is not implemented.")

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Adapts the scale to the unscaled gradients of a step.

        Args:
          grads: A structure of gradients; None is skipped.

        Returns:
          An operation, and whether the gradients should be applied.
        """
        raise NotImplementedError("LossScale.update is not implemented.")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        raise NotImplementedError("LossScale.get_config is not implemented.")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LossScale:
        """Returns the loss scale of a configuration."""
        return cls(**config)

    def _add_weight(self, name: str, initial_value: Any, dtype: Any = None) -> Any:
        """Creates a variable of the scale, which checkpoints of this graph contain."""
        key = name, _home()
        if key in self._weights:
            raise RuntimeError(f"Duplicate variables detected. {key}")
        self._weights[key] = variable(
            convert_to_tensor(initial_value, dtype), name=name, trainable=False, use_resource=True
        )
        return self._weights[key]

    def _checkpoint_children(self) -> dict[str, Any]:
        graph = _home()
        return {name: v for (name, home), v in self._weights.items() if home is graph}


@export(v1=_names("FixedLossScale"))
class FixedLossScale(LossScale):
    """A constant loss scale.

    Args:
      loss_scale_value: The scale, a Python number of at least 1.

    Raises:
      ValueError: If the scale is not a Python number, or less than 1.
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Any:
        return convert_to_tensor(self._loss_scale_value)

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Returns a no-op and True: the scale is constant."""
        del grads  # the scale does not depend on them
        return no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self) -> dict[str, Any]:
        return {"loss_scale_value": self._loss_scale_value}


def _all_finite(grads: list[Any]) -> Any:
    """Returns whether all elements of all gradients are finite, a tensor."""
    parts = [
        op("All", op("IsFinite", op("Reshape", dense, [-1])), [0])
        for dense in (
            g.values if indexed_slices.is_slices(g) else convert_to_tensor(g)
            for g in grads
            if g is not None
        )
    ]
    return op("All", op("Pack", parts, axis=0), [0]) if parts else convert_to_tensor(True)


@export(v1=_names("DynamicLossScale"))
class DynamicLossScale(LossScale):
    """A loss scale that grows while gradients are finite and shrinks when they are not.

    Args:
      initial_loss_scale: The initial scale.
      increment_period: Number of steps in a row with finite gradients that multiply the scale.
      multiplier: The factor; a step with other gradients divides the scale by it, down to 1.
    """

    def __init__(
        self,
        initial_loss_scale: float = 2**15,
        increment_period: int = 2000,
        multiplier: float = 2.0,
    ) -> None:
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight(
            "current_loss_scale", self._initial_loss_scale, "float32"
        )
        self._num_good_steps = self._add_weight("good_steps", 0, "int64")

    initial_loss_scale = property(lambda s: s._initial_loss_scale)
    increment_period = property(lambda s: s._increment_period)
    multiplier = property(lambda s: s._multiplier)

    def __call__(self) -> Any:
        return convert_to_tensor(self._current_loss_scale)

    def update(self, grads: Any) -> tuple[Any, Any]:
        """Adapts the scale; returns the operation and whether all gradients are finite."""
        finite = _all_finite(nest.flatten(grads))
        scale = convert_to_tensor(self._current_loss_scale)
        steps = convert_to_tensor(self._num_good_steps)
        zero, one = convert_to_tensor(0, "int64"), convert_to_tensor(1, "int64")
        grows = op("GreaterEqual", steps + one, convert_to_tensor(self._increment_period, "int64"))
        larger = scale * self._multiplier
        larger = op("SelectV2", op("IsFinite", larger), larger, scale)
        smaller = op("Maximum", scale / self._multiplier, 1.0)
        counted = op("SelectV2", grows, zero, steps + one)
        steps = op("SelectV2", finite, counted, zero)
        kept = op("SelectV2", grows, larger, scale)
        scale = op("SelectV2", finite, kept, smaller)
        done = [self._num_good_steps.assign(steps), self._current_loss_scale.assign(scale)]
        with control_dependencies([] if updates_eagerly() else done):
            return (None if _situ.executing_eagerly() else op("Identity", finite)), finite

    def __repr__(self) -> str:
        current = ""
        if _situ.executing_eagerly():
            current = (
                f"current_loss_scale={self._current_loss_scale.numpy()}, "
                f"num_good_steps={self._num_good_steps.numpy()}, "
            )
        return (
            f"DynamicLossScale({current}initial_loss_scale={self._initial_loss_scale}, "
            f"increment_period={self._increment_period}, multiplier={self._multiplier})"
        )

    def get_config(self) -> dict[str, Any]:
        return {
            "initial_loss_scale": self._initial_loss_scale,
            "increment_period": self._increment_period,
            "multiplier": self._multiplier,
        }


def get(identifier: Any) -> LossScale | None:
    """Returns the loss scale of a number, "dynamic", None or a LossScale.

    Raises:
      ValueError: If it is something else.
    """
    if isinstance(identifier, (int, float)):
        return FixedLossScale(identifier)
    if identifier == "dynamic":
        return DynamicLossScale()
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    raise ValueError(f"Could not interpret loss scale identifier: {identifier}")


def _scaled(grad: Any, factor: Any) -> Any:
    if grad is None:
        return None
    if indexed_slices.is_slices(grad):
        values = grad.values * cast(factor, grad.values.dtype)
        return type(grad)(values, grad.indices, grad.dense_shape)
    return grad * cast(factor, grad.dtype)


@export(
    v1=(
        "mixed_precision.MixedPrecisionLossScaleOptimizer",
        "train.experimental.MixedPrecisionLossScaleOptimizer",
    )
)
class MixedPrecisionLossScaleOptimizer(Optimizer):
    """An optimizer that scales the loss so that float16 gradients do not underflow.

    Gradients are computed from the scaled loss and divided by the scale. A step whose gradients
    are not finite changes only a dynamic scale.

    Args:
      opt: The tf.train.Optimizer that changes the variables.
      loss_scale: A number, "dynamic" or a LossScale.

    Raises:
      ValueError: If `opt` is not an Optimizer, or `loss_scale` is None or unknown.
    """

    _uses_all_gradients = True  # one step decides for all variables

    def __init__(self, opt: Any, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer = opt
        scale = get(loss_scale)
        if scale is None:
            raise ValueError("loss_scale cannot be None")
        self._loss_scale = scale

    def _checkpoint_children(self) -> dict[str, Any]:
        return {"base_optimizer": self._optimizer, "loss_scale": self._loss_scale}

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[Any]:
        """Returns unscaled gradients of the scaled loss; arguments as in Optimizer."""
        scale = self._loss_scale()

        def scaled() -> Any:
            value = convert_to_tensor(loss())
            return value * cast(scale, value.dtype)

        target = scaled if callable(loss) else loss * cast(scale, loss.dtype)
        pairs = self._optimizer.compute_gradients(target, *args, **kwargs)
        factor = 1.0 / self._loss_scale()
        return [(_scaled(g, factor), v) for g, v in pairs]

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Applies unscaled gradients if all are finite, and adapts a dynamic scale.

        Args:
          grads_and_vars: Pairs as compute_gradients returns them.
          global_step: A variable to increment if the gradients are applied, or None.
          name: A name for the operation.

        Returns:
          An operation; None in eager mode and in functions, where it is done.
        """
        pairs = list(grads_and_vars)
        if place.mode == "replica":
            return place.run.apply(self, pairs, global_step=global_step)
        if not isinstance(self._loss_scale, DynamicLossScale):
            return self._optimizer.apply_gradients(pairs, global_step, name)
        name = name or self.get_name()
        adapt, finite = self._loss_scale.update([g for g, _ in pairs])

        def apply() -> Any:
            done = self._optimizer.apply_gradients(pairs, global_step, name + "-wrapped")
            return no_op() if done is None else done

        if _situ.executing_eagerly():
            if bool(finite):
                apply()
            return None
        return group(smart_cond(finite, apply, no_op), adapt, name=name)

    def variables(self) -> list[Any]:
        """Returns the variables of the optimizer and of the loss scale."""
        return [*self._optimizer.variables(), *self._loss_scale._checkpoint_children().values()]

    def get_slot(self, var: Any, name: str) -> Any:
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        return self._optimizer.get_slot_names()


def _wrapped(opt: Any, loss_scale: Any) -> Any:
    """Returns an optimizer that scales the loss: of tf.train or of Keras."""
    keras = api.named("keras.mixed_precision.LossScaleOptimizer")
    for kind in (MixedPrecisionLossScaleOptimizer, keras):
        if isinstance(opt, kind):
            raise ValueError(
                f'"opt" must not already be an instance of a {kind.__name__}. '
                "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer "
                f"with a {kind.__name__}."
            )
    if isinstance(opt, Optimizer):
        return MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    if not isinstance(opt, api.named("keras.optimizers.Optimizer")):
        raise ValueError(
            '"opt" must be an instance of a tf.train.Optimizer or a '
            f"tf.keras.optimizers.Optimizer, but got: {opt}"
        )
    return keras(opt, loss_scale=loss_scale)


@export(
    v1=(
        "mixed_precision.enable_mixed_precision_graph_rewrite",
        "train.experimental.enable_mixed_precision_graph_rewrite",
    )
)
def enable_mixed_precision_graph_rewrite(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """Returns an optimizer that scales the loss; operations keep their types.

    TensorFlow also changes the types of operations to float16 on GPUs. A warning says that this
    is not supported.

    Args:
      opt: An optimizer of tf.train or tf.keras.
      loss_scale: A number, "dynamic" or a LossScale.

    Returns:
      The optimizer, wrapped.

    Raises:
      ValueError: If `opt` is not an optimizer, scales the loss already, or the global policy of
        Keras is a mixed one.
    """
    if api.named("keras.mixed_precision.global_policy")().is_mixed:
        raise ValueError(
            "The mixed precision graph rewrite cannot be enabled, because the global Keras dtype "
            "Policy has been set to a mixed precision policy."
        )
    result = _wrapped(opt, loss_scale)
    api.named("config.optimizer.set_experimental_options")({"auto_mixed_precision": True})
    _rewrite["enabled"] = True
    return result


@export(
    v1=(
        "mixed_precision.disable_mixed_precision_graph_rewrite",
        "train.experimental.disable_mixed_precision_graph_rewrite",
    )
)
def disable_mixed_precision_graph_rewrite() -> None:
    """Undoes enable_mixed_precision_graph_rewrite, but does not unwrap optimizers."""
    if not _rewrite["enabled"]:
        logs.warn(
            "disable_mixed_precision_graph_rewrite() called when mixed precision is already "
            "disabled."
        )
    api.named("config.optimizer.set_experimental_options")({"auto_mixed_precision": False})
    _rewrite["enabled"] = False


_rewrite = {"enabled": False}
