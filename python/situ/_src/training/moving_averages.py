# SPDX-License-Identifier: Apache-2.0
"""moving_averages.py: tf.train.ExponentialMovingAverage: averages of variables over steps."""

from __future__ import annotations

import functools

import _situ
from situ._src.framework.api import export
from situ._src.framework.graph import GraphKeys, get_default_graph, scope
from situ._src.framework.scopes import colocate_with_variable, init_scope
from situ._src.ops.array_ops import cast, convert_to_tensor, group, op
from situ._src.ops.init_ops import Zeros
from situ._src.training import slot_creator
from situ._src.variables.eager_variable import place
from situ._src.variables.variable import Variable, global_variables, trainable_variables, variable
from situ._src.variables.variable_scope import get_variable_scope, variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike


def _op_of(thing):
    return getattr(thing, "op", None) if not _situ.executing_eagerly() else None


@export("python.training.moving_averages.assign_moving_average")
def assign_moving_average(
    variable: Any,
    value: TensorLike,
    decay: float,
    zero_debias: bool = True,
    name: str | None = None,
) -> Any:
    """Computes `variable -= (variable - value) * (1 - decay)`; zero_debias corrects for initial
    zeros.

    Args:
      variable: The variable.
      value: The latest value.
      decay: Weight of the old average.
      zero_debias: Whether to correct for the initial zeros.
      name: A name for the operation (optional).
    """
    if place.mode != "replica":
        return _change(variable, decay, zero_debias, name)(variable, value)

    def merged(strategy, average, values):
        mean = strategy.extended.reduce_to("MEAN", values, average)
        change = _change(average, decay, zero_debias, name)
        return strategy.extended.update(average, change, (mean,))

    return place.run.merge(merged, (variable, value))


def _change(average, decay, zero_debias, name):
    """Returns a function of an average and a value that changes the average."""
    if zero_debias:
        return functools.partial(_unbiased, slots=_bias_slots(average), decay=decay, name=name)
    return functools.partial(_plain, decay=decay, name=name)


def _plain(average, value, decay, name):
    with scope(name, "AssignMovingAvg") as full:
        rate = cast(convert_to_tensor(1.0 - decay, name="decay"), average.dtype.base_dtype)
        delta = (average - value) * rate
        return average.assign_sub(delta, name=full if _op_of(average) is not None else None)


def _unbiased(average, value, slots, decay, name):
    with scope(name, "AssignMovingAvg") as full:
        biased, step = slots
        rate = cast(convert_to_tensor(1.0 - decay), average.dtype.base_dtype)
        sums = biased.assign_sub((biased - value) * rate)
        count = step.assign_add(cast(1.0, step.dtype.base_dtype))
        sums, count = convert_to_tensor(sums), convert_to_tensor(count)
        whole = sums / (1 - op("Pow", 1 - cast(rate, sums.dtype), cast(count, sums.dtype)))
        return average.assign(whole, name=full if _op_of(average) is not None else None)


def _bias_slots(average):
    outer = get_variable_scope()
    if not _situ.executing_eagerly() and outer.reuse:
        known, prefix = get_default_graph()._variable_store, outer.name + "/" if outer.name else ""
        names = [f"{prefix}{slot_creator.base_name(average)}/{n}" for n in ("biased", "local_step")]
        if all(n in known for n in names):
            return [known[n] for n in names]
    with init_scope():
        biased = slot_creator.zeros_slot(average, "biased")
        with colocate_with_variable(average):
            step = slot_creator.create(
                average, lambda: convert_to_tensor(0.0, average.dtype.base_dtype), "local_step"
            )
    return biased, step


@export("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Maintains moving averages of variables: `apply` computes shadow -= (1 - decay) * (shadow -
    variable)."""

    _averages: dict

    def __init__(
        self,
        decay: float,
        num_updates: int | None = None,
        zero_debias: bool = False,
        name: str | None = "ExponentialMovingAverage",
    ):
        self._decay, self._num_updates = decay, num_updates
        self._zero_debias, self._name = zero_debias, name
        self._averages = {}

    name = property(lambda s: s._name)

    @staticmethod
    def _key(var):
        return var.op if isinstance(var, _situ.GraphTensor) else id(var)

    def _make(self, var):
        if isinstance(var, Variable):
            first = var.initialized_value() if hasattr(var, "initialized_value") else var.value()
            result = slot_creator.create(var, first, self._name)
        else:
            result = self._shadow_of_tensor(var)
        get_default_graph().add_to_collection(
            GraphKeys.MOVING_AVERAGE_VARIABLES, var
        ) if isinstance(var, Variable) and not _situ.executing_eagerly() else None
        return result

    def _shadow_of_tensor(self, tensor):
        shape, dtype = tensor.shape.as_list(), tensor.dtype.base_dtype
        graph = get_default_graph()
        with (
            variable_scope(None, tensor.op.name + "/" + self._name),
            colocate_with_variable(tensor),
        ):
            whole = get_variable_scope().name
            before, graph._scope = graph._scope, ""
            try:
                result = variable(
                    lambda: Zeros()(shape, dtype=dtype), trainable=False, name=whole + "/"
                )
            finally:
                graph._scope = before
        return result

    def apply(self, var_list: Any = None) -> Any:
        """Returns an operation that updates the averages; None in eager mode, where it is done.

        Args:
          var_list: Variables and tensors; by default the trainable variables. zero_debias is only
            for tensors, whose averages begin with 0.

        Raises:
          TypeError: an item is not of a floating-point type.
        """
        items = trainable_variables() if var_list is None else list(var_list)
        debias = set()
        for var in items:
            if var.dtype.base_dtype.name not in ("bfloat16", "float16", "float32", "float64"):
                raise TypeError(f"The variables must be half, float, or double: {var.name}")
            if self._key(var) not in self._averages:
                with init_scope():
                    self._averages[self._key(var)] = self._make(var)
            if self._zero_debias and not isinstance(var, Variable):
                debias.add(self._key(var))
        with scope(self._name) as full:
            decay = self._rate()
            done = [
                assign_moving_average(
                    self._averages[self._key(v)], v, decay, zero_debias=self._key(v) in debias
                )
                for v in items
            ]
            return None if _situ.executing_eagerly() else group(*done, name=full)

    def _rate(self):
        decay = convert_to_tensor(self._decay, name="decay")
        if self._num_updates is None:
            return decay
        count = cast(self._num_updates, "float32", name="num_updates")
        return op("Minimum", decay, (1.0 + count) / (10.0 + count))

    def average(self, var: TensorLike) -> Any:
        """Returns the average of a variable, or None."""
        return self._averages.get(self._key(var))

    def average_name(self, var: TensorLike) -> Any:
        """Returns the name of the average of a variable."""
        found = self.average(var)
        if found is not None:
            return slot_creator.base_name(found)
        scope_name = "" if _situ.executing_eagerly() else get_default_graph()._scope
        base = var.op.name if isinstance(var, _situ.GraphTensor) else slot_creator.base_name(var)
        return f"{scope_name}{base}/{self._name}"

    def variables_to_restore(self, moving_avg_variables: Any = None) -> Any:
        """Returns a map for Saver that restores variables from their averages.

        Args:
          moving_avg_variables: The variables with averages; by default the trainable ones and those
            that apply was called with. Other global variables are restored from their own names.
        """
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + get_default_graph().get_collection(
                GraphKeys.MOVING_AVERAGE_VARIABLES
            )
        averaged = list(dict.fromkeys(moving_avg_variables))
        result = {self.average_name(v): v for v in averaged}
        names = {v.name for v in averaged}
        for var in list(dict.fromkeys(global_variables())):
            if var.name not in names and slot_creator.base_name(var) not in result:
                result[slot_creator.base_name(var)] = var
        return result


@export(v1="moving_average_variables")
def moving_average_variables(scope: Any = None) -> Any:
    """Returns the variables that have moving averages.

    Args:
      scope: Start of the names, a regular expression.
    """
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)
