# SPDX-License-Identifier: Apache-2.0
"""optimizer.py: tf.keras.optimizers.Optimizer: hyperparameters, slot variables, clipping and
apply_gradients; subclasses are in optimizers.py."""

from __future__ import annotations

import inspect
from typing import Any

import _situ
from situ._src.checkpoint import deferred_restore
from situ._src.framework import api, indexed_slices, logs
from situ._src.framework.api import export
from situ._src.framework.indexed_slices import map_values
from situ._src.framework.keywords import reject_unknown
from situ._src.framework.scopes import colocate_with_variable, control_dependencies, init_scope
from situ._src.keras import learning_rate_schedule
from situ._src.keras.custom_optimizer import Custom, number
from situ._src.keras.optimizer_accumulation import Accumulating
from situ._src.keras.optimizer_average import Averaged
from situ._src.keras.registry import custom, custom_object_scope
from situ._src.ops.array_ops import cast, convert_to_tensor, group, op
from situ._src.training import slot_creator, variable_updates
from situ._src.training.optimizer import gradients, updates_eagerly
from situ._src.variables.eager_variable import EagerVariable, place
from situ._src.variables.variable import Variable, variable


def named(*names):
    """Exports an optimizer under tf.keras.optimizers and its aliases."""
    places = (
        "keras.optimizers.",
        "keras.optimizers.legacy.",
        "optimizers.",
        "keras.optimizers.experimental.",
        "optimizers.legacy.",
    )
    return export(*[p + n for p in places for n in names])


class _CallableList(list):
    """List that may also be called: `optimizer.variables` is a property or a method by version."""

    def __call__(self):
        return list(self)


def _norm(grads):
    """Returns the L2 norm of all gradients together."""
    parts = [op("L2Loss", g.values if indexed_slices.is_slices(g) else g) for g in grads]
    return op("Sqrt", 2.0 * op("AddN", parts))


def _clip_by_norm(grad, norm, most):
    """Scales a gradient by `min(1, most / norm)`."""
    factor = op("Minimum", cast(most, norm.dtype) / norm, cast(1.0, norm.dtype))
    return map_values(lambda values: values * factor, grad)


def _clip_by_value(grad, most):
    """Clips the elements of a gradient to [-most, most]."""
    return map_values(
        lambda v: op("Minimum", op("Maximum", v, cast(-most, v.dtype)), cast(most, v.dtype)), grad
    )


@named("Optimizer")
class Optimizer(Accumulating, Averaged, Custom):
    """Base class of optimizers, which change variables by their gradients.

    Built-in subclasses define SLOTS (names of the slot variables) and `_apply`. An optimizer of a
    program overrides build and update_step, or `_resource_apply_dense`.

    Args:
      name: Name of the optimizer.
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      weight_decay: Decoupled weight decay: `w -= learning_rate * weight_decay * w`; None: none.
      clipnorm: Clips each gradient to this L2 norm.
      clipvalue: Clips each element of the gradients to this absolute value.
      global_clipnorm: Clips all gradients together to this L2 norm.
      use_ema: Whether to keep an exponential moving average of the variables.
      ema_momentum: Momentum of that average.
      ema_overwrite_frequency: Number of steps after which the variables are set to the average;
        None: only at the end of fit.
      jit_compile: Has no effect: XLA would compute the same values.
      lr: Former name of learning_rate.
      decay: Decay of the learning rate: `learning_rate / (1 + decay * iterations)`.
      loss_scale_factor: Factor of `scale_loss`, by which gradients are divided; None: 1.
      gradient_accumulation_steps: Number of calls whose mean gradients change the variables once,
        in eager style; None: 1.

    Raises:
      TypeError: For unknown arguments.
      ValueError: If more than one kind of clipping is set, or use_ema is set with an invalid
        ema_momentum or ema_overwrite_frequency, or gradient_accumulation_steps is below 2.
    """

    SLOTS: tuple[str, ...] = ()

    def __init__(
        self,
        name: str | None,
        learning_rate: Any = 0.001,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum=0.99,
        ema_overwrite_frequency=None,
        jit_compile: bool = True,
        lr=None,
        decay=None,
        loss_scale_factor=None,
        gradient_accumulation_steps=None,
        **unused,
    ) -> None:
        self._set_accumulation(gradient_accumulation_steps, loss_scale_factor)
        del jit_compile  # XLA would compute the same values
        if unused:
            raise TypeError(
                f"{sorted(unused)} are not valid arguments, kwargs should be empty "
                "for `optimizer_experimental.Optimizer`."
            )
        if sum(c is not None for c in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError(
                "Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be "
                f"set. Received: clipnorm={clipnorm}, clipvalue={clipvalue}, "
                f"global_clipnorm={global_clipnorm}"
            )
        self._set_average(use_ema, ema_momentum, ema_overwrite_frequency)
        self.name, self._name = name, name
        self.clipnorm, self.clipvalue, self.global_clipnorm = clipnorm, clipvalue, global_clipnorm
        self.weight_decay, self._decay = weight_decay, decay or 0.0
        self._initial_decay = self._decay
        rate = learning_rate if lr is None else lr
        changes = isinstance(rate, learning_rate_schedule.LearningRateSchedule)
        self._rate = rate if changes or callable(rate) else number(rate, "learning_rate")
        self._iterations: Any = None
        self._slot_variables: dict[int, dict] = {}
        self._built: list = []

    # Hyper-parameters

    @property
    def iterations(self):
        """Number of times that gradients were applied, an int64 variable."""
        if self._iterations is None:
            with init_scope():
                self._iterations = variable(0, dtype="int64", trainable=False, name="iterations")
        return self._iterations

    @iterations.setter
    def iterations(self, value):
        if self._built:
            raise RuntimeError(
                "Cannot set `iterations` to a new Variable after the Optimizer "
                "weights have been created."
            )
        self._iterations = value

    @property
    def learning_rate(self):
        """The learning rate: a variable, the result of a function, or the current value of a
        schedule; in graph mode the schedule itself.
        """
        if isinstance(self._rate, learning_rate_schedule.LearningRateSchedule):
            return self._rate(self.iterations) if updates_eagerly() else self._rate
        return self._rate() if callable(self._rate) else self._rate

    @learning_rate.setter
    def learning_rate(self, value):
        if isinstance(value, learning_rate_schedule.LearningRateSchedule) or callable(value):
            self._rate = value
        elif isinstance(self._rate, learning_rate_schedule.LearningRateSchedule):
            raise TypeError(
                "This optimizer was created with a `LearningRateSchedule` object as "
                "its `learning_rate` constructor argument, hence its learning rate is "
                "not settable. If you need the learning rate to be settable, you "
                "should instantiate the optimizer with a float `learning_rate` "
                "argument."
            )
        elif callable(self._rate):
            self._rate = number(value, "learning_rate")
        else:
            self._rate.assign(value)

    lr = property(lambda s: s.learning_rate, lambda s, v: setattr(s, "learning_rate", v))

    def _current_learning_rate(self):
        """Returns the learning rate of this step as a tensor."""
        rate = learning_rate_schedule.value_at(self._rate, self._schedule_step())
        rate = convert_to_tensor(rate)
        if self._decay:
            rate = rate / (1.0 + self._decay * cast(self.iterations, rate.dtype))
        return rate

    # Variables

    @property
    def variables(self):
        """Variables of the optimizer: iterations, the learning rate if it is one, and slots."""
        result = [self.iterations]
        if isinstance(self._rate, EagerVariable):
            result.append(self._rate)
        return _CallableList(
            result + [v for named in self._slot_variables.values() for v in named.values()]
        )

    weights = property(lambda s: s.variables)

    def get_weights(self) -> list:
        """Returns the values of `variables` as a list of arrays."""
        return [v.numpy() for v in self.variables]

    def set_weights(self, weights) -> None:
        """Sets the values of `variables`.

        Args:
          weights: List of arrays, as get_weights returns them.

        Raises:
          ValueError: If their number is wrong.
        """
        variables = self.variables
        if len(weights) != len(variables):
            raise ValueError(
                f"You called `set_weights(weights)` on optimizer {self.name} with a weight list of "
                f"length {len(weights)}, but the optimizer was expecting a weight list of length "
                f"{len(variables)}."
            )
        for var, value in zip(variables, weights):
            var.assign(value)

    def get_slot(self, var, name: str | None):
        """Returns the slot variable of a variable by name, or None."""
        return self._slot_variables.get(id(var), {}).get(name)

    def get_slot_names(self):
        """Returns the names of the slots."""
        return list(self.SLOTS)

    def build(self, var_list):
        """Creates the slot variables of variables that have none.

        Args:
          var_list: List of variables.
        """
        _ = self.iterations
        for var in var_list:
            if id(var) in self._slot_variables:
                continue
            with init_scope():
                own = self._own_slots(var)
                self._slot_variables[id(var)] = self._with_average(
                    var, self._make_slots(var) if own is None else own
                )
            self._built.append(var)
            graph = _situ.current_graph()
            if graph is not None and graph.building_function and self._slot_variables[id(var)]:
                getattr(graph, "root", graph).slots += 1
        deferred_restore.settle()

    def _make_slots(self, var):
        return {name: slot_creator.zeros_slot(var, name) for name in self.SLOTS}

    def _state(self, var, *names):
        named = self._slot_variables[id(var)]
        return [var, *[named[n] for n in names]]

    # Training

    def compute_gradients(self, loss: Any, var_list, tape=None, grad_loss=None):
        """Computes the gradients of a loss.

        Args:
          loss: A function without arguments that returns the loss, or a tensor, in eager mode
            together with its tape.
          var_list: Variables, or a function that returns them.
          tape: The GradientTape that recorded the loss.
          grad_loss: Gradient with respect to the loss; default: 1.

        Returns:
          List of (gradient, variable).

        Raises:
          ValueError: If loss is a tensor in eager mode and tape is None.
        """
        if not callable(loss) and tape is None:
            if not updates_eagerly():
                result = gradients(loss, var_list, grad_ys=grad_loss)
                return list(zip(result, var_list))
            raise ValueError(
                "`tape` is required when a `Tensor` loss is passed. Received: "
                f"loss={loss}, tape={tape}."
            )
        if callable(loss):
            with api.BOTH["GradientTape"]() as tape:
                if not callable(var_list):
                    tape.watch(var_list)
                loss = loss()
            if callable(var_list):
                var_list = var_list()
        if isinstance(var_list, Variable):
            var_list = [var_list]
        return list(zip(tape.gradient(loss, var_list, grad_loss), var_list))

    _compute_gradients = compute_gradients

    def minimize(self, loss: Any, var_list, grad_loss=None, name: str | None = None, tape=None):
        """Computes the gradients of a loss and applies them.

        Args:
          loss: A function without arguments that returns the loss, or a tensor, in eager mode
            together with its tape.
          var_list: Variables to change, or a function that returns them.
          grad_loss: Gradient with respect to the loss; default: 1.
          name: Name of the op in graph mode.
          tape: The GradientTape that recorded the loss.

        Returns:
          What apply_gradients returns.
        """
        pairs = self.compute_gradients(loss, var_list, tape, grad_loss)
        if name is None:  # subclasses need not have the parameter
            return self.apply_gradients(pairs)
        return self.apply_gradients(pairs, name=name)

    def _drop_missing_gradients(self, grads_and_vars):
        """Returns the pairs that have a gradient; warns about the others, fails without any."""
        pairs = list(grads_and_vars)
        useful = [(g, v) for g, v in pairs if g is not None]
        names = [v.name for _, v in pairs]
        if not useful:
            raise ValueError(
                f"No gradients provided for any variable: {names}. Provided "
                f"`grads_and_vars` is {pairs}."
            )
        if len(useful) < len(pairs):
            missing = [v.name for g, v in pairs if g is None]
            logs.warn(
                "Gradients do not exist for variables %s when minimizing the loss. If you're "
                "using `model.compile()`, did you forget to provide a `loss` argument?",
                missing,
            )
        return useful

    def _clip_gradients(self, pairs):
        """Returns the pairs with clipped gradients, dense unless the update supports slices."""
        grads = [g if indexed_slices.is_slices(g) else convert_to_tensor(g) for g, _ in pairs]
        if self.global_clipnorm:
            norm = _norm(grads)
            grads = [_clip_by_norm(g, norm, self.global_clipnorm) for g in grads]
        if self.clipnorm:
            grads = [_clip_by_norm(g, _norm([g]), self.clipnorm) for g in grads]
        if self.clipvalue:
            grads = [_clip_by_value(g, self.clipvalue) for g in grads]
        return [
            (g if self._supports_sparse() else variable_updates.dense(g, v), v)
            for g, (_, v) in zip(grads, pairs)
        ]

    def apply_gradients(
        self,
        grads_and_vars,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
        experimental_aggregate_gradients: bool = True,
        **kwargs,
    ):
        """Changes each variable by its gradient and increments `iterations`.

        Args:
          grads_and_vars: List of (gradient, variable); pairs without a gradient are skipped.
          name: Name of the op in graph mode.
          skip_gradients_aggregation: Whether replicas apply their own gradients instead of the sum.
          experimental_aggregate_gradients: The opposite of skip_gradients_aggregation.

        Returns:
          `iterations` in eager mode, an operation in graph mode.

        Raises:
          TypeError: For unknown arguments.
          ValueError: If no variable has a gradient.
        """
        reject_unknown(self.apply_gradients, kwargs)
        if (
            place.mode == "replica"
            and not skip_gradients_aggregation
            and experimental_aggregate_gradients
        ):
            return place.run.apply(self, list(grads_and_vars))
        pairs = self._unscaled(self._drop_missing_gradients(grads_and_vars))
        if self.gradient_accumulation_steps is not None:
            return self._accumulate(pairs, name)
        return self._apply_pairs(pairs, name)

    def update_step(self, gradient, variable, learning_rate=None):
        """Changes a variable by its gradient; subclasses may override it.

        Args:
          gradient: The gradient.
          variable: The variable.
          learning_rate: The learning rate; default: the current one.

        Returns:
          An operation in graph mode.
        """
        rate = self._current_learning_rate() if learning_rate is None else learning_rate
        return self._apply(gradient, variable, rate)

    def _step(self, gradient, variable, rate):
        """Calls update_step: that of Keras 3 takes the learning rate, that of Keras 2 does not."""
        if type(self).update_step is Optimizer.update_step:
            return self._apply(gradient, variable, rate)
        if len(inspect.signature(self.update_step).parameters) > 2:
            return self.update_step(gradient, variable, rate)
        return self.update_step(gradient, variable)

    def _apply_pairs(self, pairs, name):
        """Changes each variable by its gradient; returns what apply_gradients does."""
        pairs = self._clip_gradients(pairs)
        self.build([v for _, v in pairs])
        rate, done = self._current_learning_rate(), []
        self._prepare()
        for grad, var in pairs:
            with colocate_with_variable(var):
                if self.weight_decay:
                    shrink = cast(rate, var.dtype.base_dtype) * self.weight_decay
                    done.append(var.assign_sub(var * shrink))
                done.append(self._step(grad, var, rate))
        done += self._average(done)
        for _, var in pairs:
            with colocate_with_variable(var):
                if getattr(var, "constraint", None) is not None:
                    done.append(var.assign(var.constraint(var)))
        one = convert_to_tensor(1, "int64")
        if updates_eagerly():
            self.iterations.assign_add(one)
            return self.iterations
        with control_dependencies(done):  # a step that fails, as its input ends, does not count
            return group(*done, self.iterations.assign_add(one), name=name)

    def apply(self, grads, trainable_variables=None):
        """Changes variables by gradients; apply_gradients of Keras 3.

        Args:
          grads: List of gradients.
          trainable_variables: The variables; default: those of build or of the call before.

        Returns:
          What apply_gradients returns.

        Raises:
          ValueError: If no variables are known, or their number is wrong.
        """
        grads = list(grads)
        if trainable_variables is None:
            if not self._built:
                raise ValueError(
                    "When passing `grads` without `variables`, the optimizer must already be built "
                    "on a list of variables. Call `optimizer.build(trainable_variables)` first. "
                )
            trainable_variables = self._built
        trainable_variables = list(trainable_variables)
        if len(grads) != len(trainable_variables):
            raise ValueError(
                "When passing `grads` as a list of gradient tensors, the gradients must match "
                f"`optimizer.variables` one-to-on. Received a list of {len(grads)} gradients, but "
                f"the optimizer is tracking {len(trainable_variables)} trainable variables."
            )
        return self.apply_gradients(list(zip(grads, trainable_variables)))

    def scale_loss(self, loss):
        """Returns the loss times loss_scale_factor."""
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def _prepare(self):
        """Computes the values that all variables of a step share."""

    def _supports_sparse(self):
        """Whether IndexedSlices are applied as such: rows without a gradient stay unchanged."""
        return False

    # Configuration

    CONFIG: tuple[str, ...] = ()

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor as a dictionary."""
        rate = self._rate
        if isinstance(rate, learning_rate_schedule.LearningRateSchedule):
            rate = {"class_name": type(rate).__name__, "config": rate.get_config()}
        elif isinstance(rate, EagerVariable):
            rate = float(rate.numpy())
        config = {
            "name": self.name,
            "learning_rate": rate,
            "weight_decay": self.weight_decay,
            "clipnorm": self.clipnorm,
            "clipvalue": self.clipvalue,
            "global_clipnorm": self.global_clipnorm,
            "use_ema": self.use_ema,
            "ema_momentum": self.ema_momentum,
            "ema_overwrite_frequency": self.ema_overwrite_frequency,
            **self._accumulation_config(),
        }
        return {**config, **{k: getattr(self, k) for k in self.CONFIG}}

    @classmethod
    def from_config(cls, config: Any, custom_objects: dict[str, Any] | None = None):
        """Creates an optimizer from the result of get_config.

        Args:
          config: Dictionary.
          custom_objects: Dictionary from names to learning rate schedules of the program.
        """
        config = dict(config)
        rate = config.get("learning_rate")
        if isinstance(rate, dict):  # else a number, or a schedule already
            name = rate["class_name"]
            kind = custom(name, custom_objects) or api.named("keras.optimizers.schedules." + name)
            config["learning_rate"] = kind.from_config(rate["config"])
        return cls(**config)


@export("keras.optimizers.serialize", "optimizers.serialize")
def serialize(optimizer: Any) -> dict:
    """Returns the class name and the configuration of an optimizer as a dictionary.

    Args:
      optimizer: The optimizer.
    """
    return {"class_name": type(optimizer).__name__, "config": optimizer.get_config()}


@export("keras.optimizers.deserialize", "optimizers.deserialize")
def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """Creates an optimizer from the result of serialize.

    Args:
      config: Dictionary with `class_name` and `config`.
      custom_objects: Dictionary from names to classes of the program.

    Returns:
      The optimizer.

    Raises:
      ValueError: If the class is unknown.
    """
    if not isinstance(config, dict):  # it is the optimizer already
        return config
    kind = custom(config["class_name"], custom_objects) or _find_class(config["class_name"])
    with custom_object_scope(custom_objects or {}):
        return kind.from_config(config.get("config", {}))


def _find_class(name):
    """Returns an optimizer class by its name, ignoring case."""
    api.load_below("keras.optimizers.")
    lower = {
        k.rsplit(".", 1)[1].lower(): v
        for k, v in api.BOTH.items()
        if k.startswith("keras.optimizers.") and k.count(".") == 2
    }
    if name.lower() not in lower:
        raise ValueError(
            f"Unknown optimizer: '{name}'. Please ensure you are using a "
            "`keras.optimizers.Optimizer` or its name."
        )
    return lower[name.lower()]


@export("keras.optimizers.get", "optimizers.get")
def get(identifier: Any, use_legacy_optimizer: bool | None = None, **kwargs: Any) -> Any:
    """Returns an optimizer.

    Args:
      identifier: Name, configuration or optimizer.
      use_legacy_optimizer: Has no effect: each optimizer has one class, which computes what both
        classes of TensorFlow compute.
      **kwargs: Rejected.

    Returns:
      The optimizer.

    Raises:
      TypeError: For unknown arguments.
      ValueError: If the identifier is none of these.
    """
    if kwargs:
        raise TypeError(f"Invalid keyword arguments: {list(kwargs)}")
    del use_legacy_optimizer  # both classes of TensorFlow compute the same steps
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return _find_class(identifier)()
    if hasattr(identifier, "apply_gradients"):
        return identifier
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")
