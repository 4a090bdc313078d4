# SPDX-License-Identifier: Apache-2.0
"""optimize_loss.py: optimize_loss and create_train_op, which build a training step; HParams."""

from __future__ import annotations

from typing import Any

from situ._src.framework import api
from situ._src.framework.api import V1, export
from situ._src.framework.graph import GraphKeys, get_default_graph, scope
from situ._src.framework.indexed_slices import map_values
from situ._src.framework.keywords import unsupported
from situ._src.framework.scopes import control_dependencies
from situ._src.legacy.contrib_training import add_gradients_summaries
from situ._src.ops.array_ops import identity
from situ._src.ops.clip_ops import global_norm
from situ._src.summary.summary_ops import histogram, scalar
from situ._src.training import optimizers
from situ._src.training.global_step import get_or_create_global_step
from situ._src.variables.variable import trainable_variables
from situ._src.variables.variable_scope import variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, TensorLike

OPTIMIZERS = {
    "Adagrad": optimizers.AdagradOptimizer,
    "Adam": optimizers.AdamOptimizer,
    "Ftrl": optimizers.FtrlOptimizer,
    "Momentum": lambda learning_rate: optimizers.MomentumOptimizer(learning_rate, 0.9),
    "RMSProp": optimizers.RMSPropOptimizer,
    "SGD": optimizers.GradientDescentOptimizer,
}


SUMMARIES = ("learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm")


def _summarize(pairs, summaries):
    """Adds the summaries of gradients."""
    for gradient, variable in pairs:
        values = getattr(gradient, "values", gradient)
        name = variable.name.replace(":", "_")
        if "gradients" in summaries:
            histogram(f"gradients/{name}", values)
        if "gradient_norm" in summaries:
            scalar(f"gradient_norm/{name}", global_norm([values]))


def _factor(multipliers, *keys):
    """Returns the factor of the first key that has one, or None."""
    return next((multipliers[k] for k in keys if k in multipliers), None)


def _multiplied(pairs, multipliers):
    """Multiplies gradients by the factors of their variables, keyed by variable or name."""
    result = []
    for gradient, variable in pairs:
        factor = _factor(multipliers, variable, variable.op, variable.op.name, variable.name)
        if factor is not None:
            gradient = map_values(lambda x, f=factor: x * f, gradient)
        result.append((gradient, variable))
    return result


def _clip(pairs, most):
    if callable(most):
        return most(pairs)
    clip = V1.get("clip_by_global_norm") or api.BOTH["clip_by_global_norm"]
    grads, variables = zip(*pairs)
    return list(zip(clip(list(grads), most)[0], variables))


def _made(optimizer, rate):
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZERS:
            raise ValueError(
                "Optimizer name should be one of "
                f"[{', '.join(OPTIMIZERS)}], you provided {optimizer}."
            )
        return OPTIMIZERS[optimizer](learning_rate=rate)
    if isinstance(optimizer, type):
        return optimizer(learning_rate=rate)
    return optimizer if hasattr(optimizer, "apply_gradients") else optimizer(rate)


@export(v1="contrib.layers.optimize_loss")
def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: Any = None,
    gradient_multipliers: Any = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Callable | None = None,
    update_ops: Any = None,
    variables: Any = None,
    name: str | None = None,
    summaries: Any = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """Builds a training step; returns the loss that it is computed from, as a tensor that runs it.

    Args:
      loss: Scalar tensor.
      global_step: Variable that counts the steps; None: the global step of the graph.
      learning_rate: Number or tensor.
      optimizer: Name, class, optimizer, or function of the learning rate.
      gradient_noise_scale: Must be None.
      gradient_multipliers: Dictionary from variables or their names to factors.
      clip_gradients: Largest global norm, or a function of [(gradient, variable)].
      learning_rate_decay_fn: Function of (learning_rate, global_step).
      update_ops: Ops to run first; default: UPDATE_OPS.
      variables: Variables to train; default: all trainable ones.
      name: Name of the scope.
      summaries: List of "learning_rate", "loss", "gradients", "gradient_norm" and
        "global_gradient_norm"; default: the first two and the last.
      colocate_gradients_with_ops: Whether gradients run on the devices of their ops.
      increment_global_step: Whether to increment global_step.

    Raises:
      NotImplementedError: If there is a gradient_noise_scale.
      ValueError: If there is no optimizer or summary of that name.
    """
    if summaries is None:
        summaries = ("learning_rate", "loss", "global_gradient_norm")
    for summary in summaries:
        if summary not in SUMMARIES:
            raise ValueError(
                f"Summaries should be one of [{', '.join(SUMMARIES)}], you provided {summary}."
            )
    unsupported("optimize_loss", gradient_noise_scale=(gradient_noise_scale, None))
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        step = get_or_create_global_step() if global_step is None else global_step
        updates = list(
            update_ops
            if update_ops is not None
            else get_default_graph().get_collection(GraphKeys.UPDATE_OPS)
        )
        if updates:
            with control_dependencies(updates):
                loss = identity(loss)
        if learning_rate is not None and learning_rate_decay_fn is not None:
            learning_rate = learning_rate_decay_fn(learning_rate, step)
        if learning_rate is not None and "learning_rate" in summaries:
            scalar("learning_rate", learning_rate)
        chosen = _made(optimizer, learning_rate)
        pairs = chosen.compute_gradients(
            loss,
            variables or trainable_variables(),
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        pairs = [(g, v) for g, v in pairs if g is not None]
        if gradient_multipliers:
            pairs = _multiplied(pairs, gradient_multipliers)
        norm = "global_gradient_norm" in summaries
        if norm:
            scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs]))
        if clip_gradients is not None:
            pairs = _clip(pairs, clip_gradients)
        if "loss" in summaries:
            scalar("loss", loss)
        _summarize(pairs, summaries)
        if clip_gradients is not None and norm:
            scalar("global_norm/clipped_gradient_norm", global_norm([g for g, _ in pairs]))
        train = chosen.apply_gradients(
            pairs, global_step=step if increment_global_step else None, name="train"
        )
        with control_dependencies([train]):
            return identity(loss)


@export(v1=("contrib.slim.learning.create_train_op", "contrib.training.create_train_op"))
def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = None,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: float = 0,
    transform_grads_fn: Callable | None = None,
    summarize_gradients: bool = False,
    gate_gradients: Any = 1,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Any = None,
    check_numerics: bool = True,
) -> Any:
    """Builds a training step; returns the loss that it is computed from, as a tensor that runs it.

    Args:
      total_loss: Scalar tensor.
      optimizer: Optimizer.
      global_step: Variable that counts the steps; default: the global step of the graph.
      update_ops: Ops to run first; default: UPDATE_OPS.
      variables_to_train: Variables to train; default: all trainable ones.
      clip_gradient_norm: Largest norm of each gradient; 0: no clipping.
      transform_grads_fn: Function of [(gradient, variable)], called before the clipping.
      summarize_gradients: Whether to add summaries of gradients and their norms.
      gate_gradients: As in Optimizer.compute_gradients.
      aggregation_method: As in Optimizer.compute_gradients.
      colocate_gradients_with_ops: As in Optimizer.compute_gradients.
      gradient_multipliers: Dictionary from variables or their names to factors.
      check_numerics: Whether a loss that is infinite or NaN is an error.
    """
    step = get_or_create_global_step() if global_step is None else global_step
    updates = list(
        update_ops
        if update_ops is not None
        else get_default_graph().get_collection(GraphKeys.UPDATE_OPS)
    )
    with control_dependencies(updates):
        total_loss = identity(total_loss, name="update_barrier")
    pairs = optimizer.compute_gradients(
        total_loss,
        variables_to_train or trainable_variables(),
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    pairs = [(g, v) for g, v in pairs if g is not None]
    if gradient_multipliers:
        pairs = _multiplied(pairs, gradient_multipliers)
    if transform_grads_fn:
        pairs = transform_grads_fn(pairs)
    if clip_gradient_norm:
        one = V1.get("clip_by_norm") or api.BOTH["clip_by_norm"]
        pairs = [(one(g, clip_gradient_norm), v) for g, v in pairs]
    if summarize_gradients:
        with scope(None, "summarize_grads"):
            add_gradients_summaries(pairs)
    with control_dependencies([optimizer.apply_gradients(pairs, global_step=step)]):
        if check_numerics:
            total_loss = api.OPS["CheckNumerics"](total_loss, "LossTensor is inf or nan")
        result = identity(total_loss, name="train_op")
    get_default_graph().add_to_collection(GraphKeys.TRAIN_OP, result)
    return result


@export(v1="contrib.training.HParams")
class HParams:
    """Named hyperparameters; parse changes them: HParams(rate=0.1).parse("rate=0.2")."""

    def __init__(self, **kwargs: Any) -> None:
        object.__setattr__(self, "_values", {})
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str | None, value: TensorLike) -> None:
        """Adds a hyperparameter.

        Args:
          name: Its name.
          value: Its value, which determines its type.
        """
        if name in self._values:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        self._values[name] = value

    def __getattr__(self, name):
        if name.startswith("__") or name not in self._values:
            raise AttributeError(name)
        return self._values[name]

    def __setattr__(self, name, value):
        self._values[name] = value

    def set_hparam(self, name: str | None, value: TensorLike) -> None:
        """Replaces the value of a hyperparameter, which keeps its type.

        Args:
          name: Its name.
          value: The value.
        """
        if name not in self._values:
            raise KeyError(name)
        self._values[name] = value

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value of a hyperparameter.

        Args:
          key: Its name.
          default: The value if there is none.
        """
        return self._values.get(key, default)

    def values(self) -> dict:
        """Returns the hyperparameters as a dictionary."""
        return dict(self._values)

    def override_from_dict(self, values_dict: Any) -> Any:
        """Replaces values; returns the object.

        Args:
          values_dict: Dictionary from names to values.
        """
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def parse(self, hparams: Any) -> Any:
        """Replaces values; returns the object.

        Args:
          hparams: String such as "rate=0.1,sizes=[1,2]".
        """
        for part in filter(None, hparams.split(",")):
            name, _, text = part.partition("=")
            if name not in self._values:
                raise ValueError(f"Unknown hyperparameter type for {name}")
            old = self._values[name]
            self._values[name] = (
                text in ("True", "true", "1")
                if isinstance(old, bool)
                else type(old)(text)
                if old is not None
                else text
            )
        return self

    def __contains__(self, key):
        return key in self._values

    def __str__(self):
        return str(sorted(self._values.items()))
