# SPDX-License-Identifier: Apache-2.0
"""mixed_precision.py: tf.keras.mixed_precision: layers that compute in float16 with weights in
float32, and optimizers that scale losses so that small gradients survive."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import _situ
from situ._src.framework import indexed_slices, nest, style
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.keywords import unsupported
from situ._src.keras import context
from situ._src.keras import optimizer as optimizers
from situ._src.keras.registry import keras_export
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.variables.eager_variable import EagerVariable, place

_MIXED = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}


@keras_export(
    "mixed_precision.Policy",
    "mixed_precision.DTypePolicy",
    "DTypePolicy",
    "mixed_precision.experimental.Policy",
)
class Policy:
    """The type that a layer computes in, and that of its weights.

    Args:
      name: a floating point type, or "mixed_float16" or "mixed_bfloat16": computations in that
        type, weights in float32.
      loss_scale: only None and "auto" are supported; LossScaleOptimizer scales losses.

    Raises:
      NotImplementedError: loss_scale is set.
      TypeError: the name is not a string.
      ValueError: the name is unknown.
    """

    def __init__(self, name: Any, loss_scale: Any = None) -> None:
        if loss_scale != "auto":
            unsupported("mixed_precision.Policy", loss_scale=(loss_scale, None))
        name = name.name if hasattr(name, "name") else name
        if not isinstance(name, str):
            raise TypeError(
                f"'name' must be a string, such as 'mixed_float16'. Received: "
                f"name={name} (of type {type(name)})"
            )
        if name not in _MIXED:
            try:
                as_dtype(name)
            except (TypeError, ValueError):
                raise ValueError(
                    f"Cannot convert '{name}' to a mixed precision DTypePolicy. Valid policies "
                    "include 'mixed_float16', 'mixed_bfloat16', and the name of any float dtype "
                    "such as 'float32'."
                ) from None
        self.name = name
        self.compute_dtype = _MIXED.get(name, name)
        self.variable_dtype = "float32" if name in _MIXED else name

    is_mixed = property(lambda s: s.compute_dtype != s.variable_dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor as a dictionary."""
        return {"name": self.name}

    @classmethod
    def from_config(cls, config: Any) -> Any:
        """Creates an object from the result of get_config.

        Args:
          config: The dictionary.
        """
        return cls(**config)

    def __eq__(self, other):
        return isinstance(other, Policy) and other.name == self.name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f'<DTypePolicy "{self.name}">'


_global: dict = {"policy": None}  # None: that of the backend's floatx


def as_policy(value):
    """Returns the policy of a dtype argument (type, policy, name or configuration); None: a
    plain type.
    """
    if value is None:
        return _global["policy"]
    if isinstance(value, dict):
        value = value.get("config", value).get("name")
    if isinstance(value, Policy):
        return value
    name = value if isinstance(value, str) else getattr(value, "name", "")
    return Policy(name) if name.startswith("mixed") or name == "bfloat16" else None


@keras_export(
    "mixed_precision.set_global_policy",
    "mixed_precision.set_dtype_policy",
    "config.set_dtype_policy",
    "mixed_precision.experimental.set_policy",
)
def set_global_policy(policy: Any) -> None:
    """Sets the policy of new layers without a dtype.

    Args:
      policy: Policy or its name; None: that of tf.keras.backend.floatx().
    """
    _global["policy"] = policy if policy is None or isinstance(policy, Policy) else Policy(policy)


@keras_export(
    "mixed_precision.global_policy",
    "mixed_precision.dtype_policy",
    "config.dtype_policy",
    "mixed_precision.experimental.global_policy",
)
def global_policy() -> Policy:
    """Returns the policy of layers without a dtype."""
    return _global["policy"] or Policy(context.setting("float"))


# Weights


class _Scope(threading.local):
    """Thread-local type in which floating-point weights are read; None: their own."""

    dtype = None


_scope = _Scope()


@contextlib.contextmanager
def reading_as(dtype: Any):
    """Context in which floating-point weights of mixed layers are read in a type."""
    before, _scope.dtype = _scope.dtype, dtype
    try:
        yield
    finally:
        _scope.dtype = before


class _Autocast:
    """Variable that is read in the compute type of its layer and assigned in its own type."""

    @property
    def dtype(self):
        own = super().dtype
        return own if _scope.dtype is None else as_dtype(_scope.dtype)

    def _situ_tensor_(self):
        value = super()._situ_tensor_()
        if _scope.dtype is None or not value.dtype.is_floating:
            return value
        return cast(value, _scope.dtype)


def _in_own_type(name):
    def method(self, *args, **kwargs):
        with reading_as(None):
            return getattr(super(_Autocast, self), name)(*args, **kwargs)

    method.__name__ = name
    return method


def _assigned_in_own_type(name):
    def method(self, value, *args, **kwargs):
        with reading_as(None):
            return getattr(super(_Autocast, self), name)(
                cast_all(value, self.dtype), *args, **kwargs
            )

    method.__name__ = name
    return method


for _name in ("_changed", "_assign_part", "_put"):
    setattr(_Autocast, _name, _in_own_type(_name))
for _name in ("assign", "assign_add", "assign_sub"):
    setattr(_Autocast, _name, _assigned_in_own_type(_name))

_kinds: dict[type, type] = {}


def autocast(variable):
    """Makes a variable readable in the compute type of layers."""
    kind = type(variable)
    if not variable.dtype.is_floating or issubclass(kind, _Autocast):
        return variable
    if kind not in _kinds:
        _kinds[kind] = type(kind.__name__, (_Autocast, kind), {})
    variable.__class__ = _kinds[kind]
    return variable


def cast_all(structure, dtype):
    """Casts the floating-point tensors of a structure; other values stay."""
    dtype = as_dtype(dtype)
    return nest.map_structure(
        lambda t: cast(t, dtype) if _is_castable(t) and t.dtype.base_dtype != dtype else t,
        structure,
    )


def _is_castable(value):
    """Returns whether a value is a floating-point tensor, ragged tensor or sparse tensor."""
    is_composite = hasattr(value, "with_flat_values") or (
        hasattr(value, "dense_shape") and hasattr(value, "with_values")
    )
    return (isinstance(value, _situ.Tensor) or is_composite) and value.dtype.is_floating


def large_negative(dtype) -> float:
    """Returns the value added to masked scores; finite also in float16."""
    return -3e4 if as_dtype(dtype).size == 2 else -1e9


def at_least_floatx(tensor):
    """Casts half-precision predictions to floatx for losses and metrics."""
    wanted = as_dtype(context.setting("float"))
    if not tensor.dtype.is_floating or tensor.dtype.size >= wanted.size:
        return tensor
    result = cast(tensor, wanted)
    context.set_mask(result, context.get_mask(tensor))
    return result


# Losses


def _scale_gradient(grad, factor):
    if grad is None:
        return None
    if indexed_slices.is_slices(grad):
        return type(grad)(
            grad.values * cast(factor, grad.values.dtype), grad.indices, grad.dense_shape
        )
    grad = convert_to_tensor(grad)
    return grad * cast(factor, grad.dtype)


def _all_finite(grads):
    result = [
        op(
            "All",
            op("IsFinite", op("Reshape", g.values if indexed_slices.is_slices(g) else g, [-1])),
            [0],
        )
        for g in grads
        if g is not None
    ]
    return op("All", op("Pack", result, axis=0), [0]) if len(result) > 1 else result[0]


def _is_eager():
    return _situ.current_graph() is None


@keras_export(
    "mixed_precision.LossScaleOptimizer",
    "optimizers.LossScaleOptimizer",
    "mixed_precision.experimental.LossScaleOptimizer",
)
class LossScaleOptimizer:
    """Optimizer that scales the loss so that float16 gradients do not underflow.

    Gradients are divided by the scale. A step with non-finite gradients is skipped and halves the
    scale, down to 1; dynamic_growth_steps good steps in a row double it.

    Args:
      inner_optimizer: Optimizer that changes the variables.
      dynamic: Whether the scale changes.
      initial_scale: Initial scale; default: 2 ** 15.
      dynamic_growth_steps: Number of good steps in a row that double the scale.
      name: Name of the optimizer.
      loss_scale: A number makes the scale constant; "dynamic" and None do not.

    Raises:
      NotImplementedError: In graph style, or for another loss_scale.
      TypeError: If inner_optimizer is not an optimizer, or is a LossScaleOptimizer.
      ValueError: If initial_scale is not positive, or is missing although dynamic is False.
    """

    _uses_all_gradients = True  # one step decides for all variables

    def __init__(
        self,
        inner_optimizer: Any,
        dynamic: bool = True,
        initial_scale: Any = None,
        dynamic_growth_steps: int = 2000,
        name: str | None = None,
        loss_scale: Any = None,
    ) -> None:
        if style.is_graph():
            raise NotImplementedError("LossScaleOptimizer is not supported in graph style.")
        if isinstance(inner_optimizer, LossScaleOptimizer):
            raise TypeError(
                "LossScaleOptimizer cannot wrap another LossScaleOptimizer, but got: "
                f"{inner_optimizer}"
            )
        if not hasattr(inner_optimizer, "apply_gradients"):
            raise TypeError(
                "'inner_optimizer' must be an instance of "
                f"`keras.optimizers.Optimizer`, but got: {inner_optimizer}."
            )
        if isinstance(loss_scale, (int, float)):
            dynamic, initial_scale = False, loss_scale
        elif loss_scale != "dynamic":
            unsupported("LossScaleOptimizer", loss_scale=(loss_scale, None))
        if not dynamic and initial_scale is None:
            raise ValueError('"initial_scale" must be specified if "dynamic" is False.')
        self.inner_optimizer, self.dynamic = inner_optimizer, bool(dynamic)
        self.initial_scale = float(2**15 if initial_scale is None else initial_scale)
        if self.initial_scale <= 0:
            raise ValueError(f"initial_scale must be above 0, but is {initial_scale}.")
        self.dynamic_growth_steps, self.name = dynamic_growth_steps, name or "loss_scale_optimizer"
        with context.eager():
            self.dynamic_scale = EagerVariable(
                self.initial_scale, trainable=False, name="dynamic_scale"
            )
            self.step_counter = EagerVariable(
                convert_to_tensor(0, "int64"), trainable=False, name="step_counter"
            )
        self._is_unscaled = False

    loss_scale = property(lambda s: s.dynamic_scale._situ_tensor_())
    iterations = property(
        lambda s: s.inner_optimizer.iterations,
        lambda s, v: setattr(s.inner_optimizer, "iterations", v),
    )
    learning_rate = property(
        lambda s: s.inner_optimizer.learning_rate,
        lambda s, v: setattr(s.inner_optimizer, "learning_rate", v),
    )
    lr = learning_rate

    def __getattr__(self, name):
        if name.startswith("__") or name == "inner_optimizer":
            raise AttributeError(name)
        return getattr(self.inner_optimizer, name)

    @property
    def variables(self) -> Any:
        """The variables of the optimizer and of the loss scale."""
        kind = type(self.inner_optimizer.variables)
        return kind([*self.inner_optimizer.variables, self.dynamic_scale, self.step_counter])

    def build(self, var_list: Any) -> None:
        """Creates the variables of the inner optimizer.

        Args:
          var_list: Variables of the model.
        """
        self.inner_optimizer.build(var_list)

    def scale_loss(self, loss: Any) -> Any:
        """The loss times the scale; of a function of nothing a function."""
        if callable(loss):
            return lambda: self.scale_loss(loss())
        loss = convert_to_tensor(loss)
        return loss * cast(self.dynamic_scale, loss.dtype)

    get_scaled_loss = scale_loss

    def get_unscaled_gradients(self, grads: Any) -> Any:
        """Gradients of a scaled loss, divided by the scale. apply_gradients takes them as they
        are."""
        self._is_unscaled = True
        return self._unscale(grads)

    def _unscale(self, grads):
        factor = op("Reciprocal", self.dynamic_scale)
        return [_scale_gradient(g, factor) for g in grads]

    def minimize(
        self,
        loss: Any,
        var_list: Any,
        grad_loss: Any = None,
        name: str | None = None,
        tape: Any = None,
    ) -> Any:
        """Computes gradients of the scaled loss and applies them."""
        if tape is not None and not callable(loss):
            with tape:
                loss = self.scale_loss(loss)
        else:
            loss = self.scale_loss(loss)
        return self.apply_gradients(
            self.inner_optimizer.compute_gradients(loss, var_list, tape, grad_loss), name
        )

    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        """Applies gradients of a scaled loss."""
        return self.apply_gradients(list(zip(grads, trainable_variables)))

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None, **kwargs: Any) -> Any:
        """Divides gradients of a scaled loss by the scale and applies them if all are finite."""
        del name  # there is no graph mode, where it would name an op
        pairs = list(grads_and_vars)
        if (
            place.mode == "replica"
            and kwargs.get("experimental_aggregate_gradients", True)
            and not kwargs.get("skip_gradients_aggregation")
        ):
            return place.run.apply(self, pairs)
        grads, variables = [g for g, _ in pairs], [v for _, v in pairs]
        if not self._is_unscaled:
            grads = self._unscale(grads)
        self._is_unscaled = False
        if all(g is None for g in grads):
            return self.inner_optimizer.apply_gradients(pairs, **kwargs)  # its error
        finite = _all_finite(grads)
        with reading_as(None):
            self._step(finite, list(zip(grads, variables)), kwargs)
            self._adjust(finite)
        return self.iterations

    def _step(self, finite, pairs, kwargs):
        """A step of the inner optimizer; it leaves no trace where gradients are not finite."""
        if _is_eager():
            if bool(finite):
                self.inner_optimizer.apply_gradients(pairs, **kwargs)
            return
        self.inner_optimizer.build([v for g, v in pairs if g is not None])
        getattr(self.inner_optimizer, "iterations", None)
        changed = list(
            {id(v): v for v in [*[v for _, v in pairs], *self.inner_optimizer.variables]}.values()
        )
        before = [v._situ_tensor_() for v in changed]
        self.inner_optimizer.apply_gradients(pairs, **kwargs)
        for variable, old in zip(changed, before):
            variable.assign(op("SelectV2", finite, variable._situ_tensor_(), old))

    def _adjust(self, finite):
        if not self.dynamic:
            return
        scale, count = self.dynamic_scale._situ_tensor_(), self.step_counter._situ_tensor_()
        next_count = count + convert_to_tensor(1, "int64")
        grows = op(
            "GreaterEqual", next_count, convert_to_tensor(self.dynamic_growth_steps, "int64")
        )
        zero = convert_to_tensor(0, "int64")
        doubled = op("SelectV2", op("IsFinite", scale * 2.0), scale * 2.0, scale)
        halved = op("Maximum", scale * 0.5, 1.0)
        self.step_counter.assign(
            op("SelectV2", finite, op("SelectV2", grows, zero, next_count), zero)
        )
        self.dynamic_scale.assign(
            op("SelectV2", finite, op("SelectV2", grows, doubled, scale), halved)
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor as a dictionary."""
        inner = self.inner_optimizer
        return {
            "name": self.name,
            "dynamic": self.dynamic,
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
            "inner_optimizer": {"class_name": type(inner).__name__, "config": inner.get_config()},
        }

    @classmethod
    def from_config(cls, config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
        """Creates an object from the result of get_config.

        Args:
          config: The dictionary.
          custom_objects: Dictionary from names to classes of the program.
        """
        config = dict(config)
        inner = optimizers.deserialize(config.pop("inner_optimizer"), custom_objects)
        return cls(inner, **config)


def scaled_if_mixed(optimizer, model):
    """Wraps the optimizer in a LossScaleOptimizer if the model computes in float16."""
    policy = model.dtype_policy
    if policy.name != "mixed_float16" or isinstance(optimizer, LossScaleOptimizer):
        return optimizer
    return LossScaleOptimizer(optimizer)
