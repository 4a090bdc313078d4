# SPDX-License-Identifier: Apache-2.0
"""optimizer.py: tf.train.Optimizer, the base class of the optimizers of graph style."""

from __future__ import annotations

import _situ
from situ._src.framework import api, indexed_slices
from situ._src.framework.api import export
from situ._src.framework.gradients import flat
from situ._src.framework.graph import GraphKeys, get_default_graph, scope
from situ._src.framework.scopes import colocate_with_variable, control_dependencies, init_scope
from situ._src.ops.array_ops import convert_to_tensor, group, tuple_
from situ._src.training import slot_creator, variable_updates
from situ._src.variables.eager_variable import place
from situ._src.variables.resource_variable import ResourceVariable
from situ._src.variables.variable import Variable, trainable_variables, variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike


def gradients(*args, **kwargs):
    """Calls tf.gradients."""
    return (api.BOTH.get("gradients") or api.V1["gradients"])(*args, **kwargs)


def updates_eagerly():
    """Returns whether an update changes variables at the call: in eager style and in traced
    functions. In graphs it changes them when a session runs it."""
    graph = _situ.current_graph()
    return graph is None or graph.building_function


def _home():
    """Returns the graph of the variables of an optimizer, also while a branch of it is built;
    None in eager style."""
    if updates_eagerly():
        return None
    graph = get_default_graph()
    return getattr(graph, "root", graph)


def _key(var):
    return var.op if getattr(var, "op", None) is not None else id(var)


@export(v1=("train.Optimizer",))
class Optimizer:
    """Minimizes a loss by updating variables. A subclass implements _create_slots, _prepare,
    _apply_dense and _finish."""

    _slots: dict
    _non_slots: dict

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking: bool, name: str):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        self._slots, self._non_slots = {}, {}

    def get_name(self) -> Any:
        """Returns the name of the optimizer."""
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: Any = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Any:
        """Computes gradients and applies them.

        Args:
          loss: A tensor; in eager mode a function without arguments.
          global_step: A variable to increment after the update, or None.
          var_list: The variables; by default all trainable ones, for a function those it reads.
          gate_gradients: As in compute_gradients.
          aggregation_method: As in compute_gradients.
          colocate_gradients_with_ops: As in compute_gradients.
          name: A name for the operation.
          grad_loss: The gradient of the loss, or None for ones.

        Returns:
          An operation that updates the variables; None in eager mode, where it is done.

        Raises:
          ValueError: no variable has a gradient.
        """
        pairs = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if not [v for g, v in pairs if g is not None]:
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops "
                "that do not support gradients, between variables "
                f"{[str(v) for _, v in pairs]} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: Any = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> Any:
        """Returns a list of pairs: the gradient of the loss (or None), and the variable.

        Args:
          loss: A tensor; in eager mode a function without arguments.
          var_list: The variables; by default all trainable ones, for a function those it reads.
          gate_gradients: GATE_GRAPH: no gradient is used before all are computed. GATE_NONE means
            the same as GATE_OP.
          aggregation_method: As in tf.gradients.
          colocate_gradients_with_ops: As in tf.gradients.
          grad_loss: The gradient of the loss, or None for ones.

        With a function as loss, gate_gradients, aggregation_method and
        colocate_gradients_with_ops have no effect.

        Raises:
          RuntimeError: the loss is a tensor in eager mode.
          ValueError: there are no variables, or one is not of a floating-point type.
        """
        if callable(loss):
            return self._taped(loss, var_list, grad_loss)
        if _situ.executing_eagerly():
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function "
                "when eager execution is enabled."
            )
        if gate_gradients not in (0, 1, 2):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, "
                "Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  Not " + str(gate_gradients)
            )
        self._check_type([loss])
        if grad_loss is not None:
            self._check_type([grad_loss])
        var_list = (
            trainable_variables()
            + get_default_graph().get_collection("trainable_resource_variables")
            if var_list is None
            else flat(var_list)
        )
        if not var_list:
            raise ValueError("No variables to optimize.")
        if place.mode == "replica" and place.run.mean:  # what is added over replicas
            loss = loss * (1.0 / place.run.count)
        # GATE_OP needs no nodes: a step reads what gradients need before it changes variables.
        found = gradients(
            loss,
            var_list,
            grad_ys=grad_loss,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            found = tuple_(found)
        pairs = list(zip(found, var_list))
        self._check_type([v for g, v in pairs if g is not None])
        return pairs

    def _taped(self, loss, var_list, grad_loss):
        with api.BOTH["GradientTape"]() as tape:
            if var_list is not None:
                tape.watch(var_list)
            value = loss()
            if var_list is None:
                var_list = tape.watched_variables()
        return list(zip(tape.gradient(value, var_list, grad_loss), var_list))

    def _check_type(self, tensors):
        for tensor in tensors:
            dtype = tensor.dtype.base_dtype
            if dtype.name not in ("float16", "float32", "float64", "bfloat16"):
                raise ValueError(
                    f"Invalid type {dtype!r} for {tensor.name}, expected: "
                    "['float16', 'float32', 'float64', 'bfloat16']."
                )

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Changes every variable by its gradient and counts the step.

        Args:
          grads_and_vars: Pairs as compute_gradients returns them.
          global_step: A variable to increment after the update, or None.
          name: A name for the operation; it has no effect in a replica of a strategy.

        Returns:
          An operation; None in eager mode and in functions, where it is done.

        Raises:
          TypeError: an item is not a variable, or a gradient is not a tensor.
          ValueError: no variable has a gradient.
        """
        if place.mode == "replica":
            return place.run.apply(self, list(grads_and_vars), global_step=global_step)
        pairs = [self._pair(g, v) for g, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        used = [v for g, v in pairs if g is not None]
        if not used:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in pairs]}."
            )
        with init_scope():
            self._create_slots(used)
        with scope(name, self._name) as full:
            self._prepare()
            done = [self._update(g, v) for g, v in pairs if g is not None]
            return self._counted(done, global_step, full)

    @staticmethod
    def _pair(grad, var):
        if isinstance(var, _situ.Tensor):
            raise NotImplementedError(f"Trying to update a Tensor {var}")
        if not isinstance(var, Variable):
            raise TypeError(f"Variable must be a tf.Variable: {var}")
        if grad is not None and not indexed_slices.is_slices(grad):
            try:
                grad = convert_to_tensor(grad)
            except TypeError:
                raise TypeError(
                    f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}"
                ) from None
        return grad, var

    def _update(self, grad, var):
        with scope("update_" + slot_creator.base_name(var)), colocate_with_variable(var):
            result = (
                self._apply_sparse_duplicate_indices(grad, var)
                if indexed_slices.is_slices(grad)
                else self._apply_dense(grad, var)
            )
            constraint = getattr(var, "constraint", None)
            if constraint is None:
                return result
            with control_dependencies([] if updates_eagerly() else [result]):
                return var.assign(constraint(var))

    def _counted(self, done, global_step, full):
        eager = updates_eagerly()
        if global_step is None:
            train_op = self._finish(done, None if eager else full)
        else:
            finished = self._finish(done, "update")
            with (
                control_dependencies([] if eager else [finished]),
                colocate_with_variable(global_step),
            ):
                one = convert_to_tensor(1, global_step.dtype.base_dtype)
                train_op = global_step.assign_add(one, name=None if eager else full)
        if eager:
            return None
        train_op = getattr(train_op, "op", train_op)
        known = get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP)
        if train_op not in known:
            known.append(train_op)
        return train_op

    # Slots

    def _slot_dict(self, name):
        return self._slots.setdefault(name, {})

    def _zeros_slot(self, var, slot_name, op_name):
        named = self._slot_dict(slot_name)
        if _key(var) not in named:
            named[_key(var)] = slot_creator.zeros_slot(var, op_name)
        return named[_key(var)]

    def _filled_slot(self, var, number, slot_name, op_name):
        named = self._slot_dict(slot_name)
        if _key(var) not in named:
            named[_key(var)] = slot_creator.filled_slot(var, number, op_name)
        return named[_key(var)]

    def get_slot(self, var: TensorLike, name: str) -> Any:
        """Returns the slot of a variable, or None."""
        return self._slots.get(name, {}).get(_key(var))

    def get_slot_names(self) -> list:
        """Returns the names of the slots, in alphabetic order."""
        return sorted(self._slots)

    def variables(self) -> list:
        """Returns all variables of the optimizer in this graph, sorted by name."""
        graph = _home()
        here = [v for (_, g), v in self._non_slots.items() if g is graph]
        here += [
            v
            for name in sorted(self._slots)
            for v in self._slots[name].values()
            if getattr(v, "graph", None) is graph
        ]
        return sorted(here, key=lambda v: v.name)

    def _non_slot(self, number, name, colocate):
        """Returns a variable of the optimizer itself, such as beta1_power."""
        graph = _home()
        if (name, graph) not in self._non_slots:
            with colocate_with_variable(colocate):
                self._non_slots[name, graph] = variable(
                    number,
                    name=name,
                    trainable=False,
                    use_resource=isinstance(colocate, ResourceVariable) or None,
                )
        return self._non_slots[name, graph]

    def _get_non_slot(self, name):
        return self._non_slots[name, _home()]

    # Methods of subclasses

    def _create_slots(self, var_list):
        pass

    def _prepare(self):
        pass

    def _tensor(self, value, name):
        """Returns a hyperparameter, which may be a function, as a tensor."""
        return convert_to_tensor(value() if callable(value) else value, name=name)

    def _apply_dense(self, grad, var):
        raise NotImplementedError()

    def _apply_sparse_duplicate_indices(self, grad, var):
        """Applies a gradient of some rows, whose indices may repeat."""
        return self._apply_sparse(variable_updates.unique(grad), var)

    def _apply_sparse(self, grad, var):
        """Applies a gradient of some rows; by default the gradients of the others are 0."""
        return self._apply_dense(variable_updates.dense(grad, var), var)

    def _finish(self, update_ops, name_scope):
        return None if updates_eagerly() else group(*update_ops, name=name_scope)
