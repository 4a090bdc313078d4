# SPDX-License-Identifier: Apache-2.0
"""custom_optimizer.py: the interfaces for optimizers of programs: hyperparameters and slots by name
with _resource_apply_dense (Keras 2), or update_step (Keras 3)."""

import inspect

from situ._src.framework.scopes import init_scope
from situ._src.keras import learning_rate_schedule
from situ._src.ops import init_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, zeros
from situ._src.variables.variable import variable


def number(value, name):
    """Creates the variable of a hyperparameter."""
    with init_scope():
        return variable(value, dtype="float32", trainable=False, name=name)


class Custom:
    """Mixin of tf.keras.optimizers.Optimizer."""

    _use_locking = True

    # With _resource_apply_dense (tf.keras.optimizers.legacy.Optimizer)

    def _set_hyper(self, name, value):
        if name in ("learning_rate", "lr"):
            self._build_learning_rate(value)
        else:
            self.__dict__.setdefault("_hyper", {})[name] = (
                value if callable(value) else number(value, name)
            )

    def _get_hyper(self, name, dtype=None):
        if name in ("learning_rate", "lr"):
            value = self._rate
            if isinstance(value, learning_rate_schedule.LearningRateSchedule):
                return value
        else:
            value = self.__dict__["_hyper"][name]
        value = convert_to_tensor(value() if callable(value) else value)
        return value if dtype is None else cast(value, dtype)

    def __getattr__(self, name):
        result = self.__dict__.get("_hyper", {})
        if name in result:
            return result[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _serialize_hyperparameter(self, name):
        value = self._rate if name == "learning_rate" else self.__dict__["_hyper"][name]
        if isinstance(value, learning_rate_schedule.LearningRateSchedule):
            return {"class_name": type(value).__name__, "config": value.get_config()}
        value = value() if callable(value) and not hasattr(value, "numpy") else value
        return float(value.numpy()) if hasattr(value, "numpy") else value

    def _decayed_lr(self, var_dtype):
        return cast(self._current_learning_rate(), var_dtype)

    def add_slot(self, var, slot_name, initializer="zeros", shape=None):
        """A variable of that name for a variable, in its shape."""
        named = self._slot_variables.setdefault(id(var), {})
        if slot_name not in named:
            sizes = var.shape.as_list() if shape is None else list(shape)
            start = (
                {"zeros": init_ops.Zeros, "ones": init_ops.Ones}[initializer]()
                if isinstance(initializer, str)
                else initializer
            )
            first = start(sizes, var.dtype.base_dtype) if callable(start) else start
            with init_scope():
                named[slot_name] = variable(
                    first, trainable=False, name=f"{var.name.split(':')[0]}/{slot_name}"
                )
        return named[slot_name]

    def _own_slots(self, var):
        """The slots that a sub-class makes for a variable, or None if it makes none itself."""
        if hasattr(type(self), "_create_slots"):
            self._slot_variables.setdefault(id(var), {})
            self._create_slots([var])
            return self._slot_variables[id(var)]
        return None

    # With update_step (tf.keras.optimizers.Optimizer)

    def _build_learning_rate(self, learning_rate):
        rate = learning_rate
        changes = isinstance(rate, learning_rate_schedule.LearningRateSchedule)
        self._rate = rate if changes or callable(rate) else number(rate, "learning_rate")
        return self._rate

    def _var_key(self, variable):
        return id(variable)

    @property
    def _index_dict(self):
        return {id(v): i for i, v in enumerate(self._built)}

    def add_variable_from_reference(
        self, model_variable, variable_name, shape=None, initial_value=None
    ):
        """A variable of the shape of another one."""
        if initial_value is None:
            initial_value = zeros(
                model_variable.shape if shape is None else shape, model_variable.dtype.base_dtype
            )
        with init_scope():
            result = variable(
                initial_value,
                trainable=False,
                name="{}/{}".format(variable_name, model_variable.name.split(":")[0]),
            )
        self._slot_variables.setdefault(id(model_variable), {})[variable_name] = result
        return result

    def add_variable(self, shape, dtype=None, initializer="zeros", name=None):
        start = (
            {"zeros": init_ops.Zeros, "ones": init_ops.Ones}[initializer]()
            if isinstance(initializer, str)
            else initializer
        )
        with init_scope():
            return variable(start(shape, dtype or "float32"), trainable=False, name=name)

    # Either way

    def _apply(self, grad, var, rate):
        del rate  # an optimizer of the program reads its own learning rate
        if not hasattr(type(self), "_resource_apply_dense"):
            raise NotImplementedError(
                f"{type(self).__name__}: an optimizer of your own gives update_step(gradient, "
                "variable), or _resource_apply_dense(grad, var)."
            )
        parameters = inspect.signature(self._resource_apply_dense).parameters
        return self._resource_apply_dense(
            grad, var, **({"apply_state": None} if "apply_state" in parameters else {})
        )
