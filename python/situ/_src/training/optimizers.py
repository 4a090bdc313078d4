# SPDX-License-Identifier: Apache-2.0
"""optimizers.py: tf.train.GradientDescentOptimizer and the other optimizers of graph style."""

from __future__ import annotations

from situ._src.framework.api import export
from situ._src.framework.scopes import colocate_with_variable, control_dependencies
from situ._src.ops.array_ops import cast, group, op
from situ._src.training.optimizer import Optimizer, updates_eagerly
from situ._src.training.variable_updates import dense, update

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike


def _exported(name):
    return export(v1="train." + name, v2="train." + name)


class _Numbers(Optimizer):
    """An optimizer whose hyper-parameters are numbers, tensors or functions, by name."""

    def __init__(self, use_locking, name, **numbers):
        super().__init__(use_locking, name)
        self._numbers, self._tensors = numbers, {}

    def _prepare(self):
        self._tensors = {k: self._tensor(v, k) for k, v in self._numbers.items()}

    def _values(self, *names):
        return [self._tensors[n] for n in names]

    def _apply_sparse_duplicate_indices(self, grad, var):
        return self._apply_dense(grad, var)  # the kernel adds duplicate rows


@_exported("GradientDescentOptimizer")
class GradientDescentOptimizer(_Numbers):
    """var -= learning_rate * grad.

    Args:
      learning_rate: A number, a tensor, or a function without arguments.
      use_locking: Has no effect: updates are always atomic.
      name: The prefix of the names of operations.
    """

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str | None = "GradientDescent"
    ):
        super().__init__(use_locking, name, learning_rate=learning_rate)

    def _apply_dense(self, grad, var):
        return update(
            "GradientDescent",
            [var],
            *self._values("learning_rate"),
            grad,
            use_locking=self._use_locking,
        )

    def _apply_sparse_duplicate_indices(self, grad, var):
        if not hasattr(var, "_ref_"):
            return self._apply_dense(grad, var)
        rate = cast(self._tensors["learning_rate"], grad.dtype)
        return op(
            "ScatterSub",
            var._ref_(),
            grad.indices,
            grad.values * rate,
            use_locking=self._use_locking,
        )


@_exported("MomentumOptimizer")
class MomentumOptimizer(_Numbers):
    """accum = momentum * accum + grad; var -= learning_rate * accum.

    Args:
      learning_rate: A number, a tensor, or a function without arguments.
      momentum: The same for the momentum.
      use_locking: Has no effect: updates are always atomic.
      name: The prefix of the names of operations, and the name of slots.
      use_nesterov: Whether var -= learning_rate * (grad + momentum * accum) instead.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str | None = "Momentum",
        use_nesterov: bool = False,
    ):
        super().__init__(use_locking, name, learning_rate=learning_rate, momentum=momentum)
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list):
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _apply_dense(self, grad, var):
        rate, momentum = self._values("learning_rate", "momentum")
        return update(
            "Momentum",
            [var, self.get_slot(var, "momentum")],
            rate,
            grad,
            momentum,
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )


@_exported("AdagradOptimizer")
class AdagradOptimizer(_Numbers):
    """accum += grad^2; var -= learning_rate * grad / sqrt(accum).

    Args:
      learning_rate: A number, a tensor, or a function without arguments.
      initial_accumulator_value: The initial value of accum, a positive number.
      use_locking: Has no effect: updates are always atomic.
      name: The prefix of the names of operations, and the name of slots.

    Raises:
      ValueError: initial_accumulator_value is not positive.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str | None = "Adagrad",
    ):
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name, learning_rate=learning_rate)
        self._first = initial_accumulator_value

    def _create_slots(self, var_list):
        for var in var_list:
            self._filled_slot(var, self._first, "accumulator", self._name)

    def _apply_dense(self, grad, var):
        return update(
            "Adagrad",
            [var, self.get_slot(var, "accumulator")],
            *self._values("learning_rate"),
            grad,
            use_locking=self._use_locking,
        )


@_exported("AdadeltaOptimizer")
class AdadeltaOptimizer(_Numbers):
    """Adadelta: scales steps by the ratio of the RMS of updates and gradients."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str | None = "Adadelta",
    ):
        super().__init__(use_locking, name, lr=learning_rate, rho=rho, epsilon=epsilon)

    def _create_slots(self, var_list):
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)

    def _apply_dense(self, grad, var):
        slots = [self.get_slot(var, n) for n in ("accum", "accum_update")]
        return update(
            "Adadelta",
            [var, *slots],
            *self._values("lr", "rho", "epsilon"),
            grad,
            use_locking=self._use_locking,
        )


@_exported("RMSPropOptimizer")
class RMSPropOptimizer(_Numbers):
    """RMSProp: divides gradients by the root of a moving average of their squares.

    Args:
      learning_rate: A number, a tensor, or a function without arguments.
      decay: The decay of the average; like the next two a number, tensor or function.
      momentum: The momentum of the steps.
      epsilon: Added to the average.
      use_locking: Has no effect: updates are always atomic.
      centered: Whether to subtract the square of a moving average of the gradients.
      name: The prefix of the names of operations, and the name of slots.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: float = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str | None = "RMSProp",
    ):
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            decay=decay,
            momentum=momentum,
            epsilon=epsilon,
        )
        self._centered = centered

    def _create_slots(self, var_list):
        for var in var_list:
            self._filled_slot(var, 1.0, "rms", self._name)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _apply_dense(self, grad, var):
        slots = [
            self.get_slot(var, n)
            for n in (("mg", "rms", "momentum") if self._centered else ("rms", "momentum"))
        ]
        return update(
            "CenteredRMSProp" if self._centered else "RMSProp",
            [var, *slots],
            *self._values("learning_rate", "decay", "momentum", "epsilon"),
            grad,
            use_locking=self._use_locking,
        )


@_exported("AdamOptimizer")
class AdamOptimizer(_Numbers):
    """Adam: moving averages of gradients and squared gradients with bias correction.

    Averages of all rows decay, also where a gradient has some rows only.

    Args:
      learning_rate: A number, a tensor, or a function without arguments.
      beta1: The decay of the average of gradients; like the next two a number, tensor or function.
      beta2: The decay of the average of squared gradients.
      epsilon: Added to the root of the average of squared gradients.
      use_locking: Has no effect: updates are always atomic.
      name: The prefix of the names of operations, and the name of slots.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str | None = "Adam",
    ):
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
        )

    def _first_value(self, name):
        value = self._numbers[name]
        return value() if callable(value) else value

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda v: v.name)
        self._non_slot(self._first_value("beta1"), "beta1_power", first)
        self._non_slot(self._first_value("beta2"), "beta2_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _powers(self):
        return self._get_non_slot("beta1_power"), self._get_non_slot("beta2_power")

    def _apply_dense(self, grad, var):
        return update(
            "Adam",
            [var, self.get_slot(var, "m"), self.get_slot(var, "v")],
            *self._powers(),
            *self._values("learning_rate", "beta1", "beta2", "epsilon"),
            grad,
            use_locking=self._use_locking,
        )

    def _apply_sparse_duplicate_indices(self, grad, var):
        return self._apply_dense(dense(grad, var), var)  # the averages of all rows decay

    def _finish(self, update_ops, name_scope):
        done = list(update_ops)
        with control_dependencies([] if updates_eagerly() else update_ops):
            for power, beta in zip(self._powers(), self._values("beta1", "beta2")):
                with colocate_with_variable(power):
                    done.append(power.assign(power * beta, use_locking=self._use_locking))
        return None if updates_eagerly() else group(*done, name=name_scope)


@export(v1="contrib.opt.LazyAdamOptimizer")
class LazyAdamOptimizer(AdamOptimizer):
    """Adam that updates only the rows of sparse gradients."""

    def _apply_sparse_duplicate_indices(self, grad, var):
        return self._apply_dense(grad, var)


@_exported("FtrlOptimizer")
class FtrlOptimizer(_Numbers):
    """FTRL (follow the regularized leader); the L2 strength grows by beta / learning_rate / 2."""

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str | None = "Ftrl",
        accum_name: Any = None,
        linear_name: Any = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: TensorLike = None,
    ):
        shrinkage = l2_shrinkage_regularization_strength
        for value, what, least in (
            (initial_accumulator_value, "initial_accumulator_value", "positive or zero"),
            (l1_regularization_strength, "l1_regularization_strength", "positive or zero"),
            (l2_regularization_strength, "l2_regularization_strength", "positive or zero"),
            (shrinkage, "l2_shrinkage_regularization_strength", "positive"),
        ):
            if value < 0.0:
                raise ValueError(f"{what} {value} needs to be {least}")
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power} needs to be negative or zero"
            )
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            learning_rate_power=learning_rate_power,
        )
        self._first, self._shrinkage = initial_accumulator_value, shrinkage
        self._beta = beta or 0.0
        self._accum_name, self._linear_name = accum_name, linear_name

    def _create_slots(self, var_list):
        for var in var_list:
            self._filled_slot(var, self._first, "accum", self._accum_name or self._name)
            self._zeros_slot(var, "linear", self._linear_name or self._name)

    def _apply_dense(self, grad, var):
        states = [var, self.get_slot(var, "accum"), self.get_slot(var, "linear")]
        rate, l1, l2, power = self._values(
            "learning_rate",
            "l1_regularization_strength",
            "l2_regularization_strength",
            "learning_rate_power",
        )
        if self._beta:
            l2 = l2 + self._beta / (2.0 * rate)
        if self._shrinkage:
            return update(
                "FtrlV2",
                states,
                grad,
                rate,
                l1,
                l2,
                self._shrinkage,
                power,
                use_locking=self._use_locking,
            )
        return update("Ftrl", states, grad, rate, l1, l2, power, use_locking=self._use_locking)


@_exported("ProximalGradientDescentOptimizer")
class ProximalGradientDescentOptimizer(_Numbers):
    """Proximal gradient descent with L1 and L2 regularization."""

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str | None = "ProximalGradientDescent",
    ):
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )

    def _apply_dense(self, grad, var):
        return update(
            "ProximalGradientDescent",
            [var],
            *self._tensors.values(),
            grad,
            use_locking=self._use_locking,
        )


@_exported("ProximalAdagradOptimizer")
class ProximalAdagradOptimizer(_Numbers):
    """Proximal Adagrad with L1 and L2 regularization."""

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str | None = "ProximalAdagrad",
    ):
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(
            use_locking,
            name,
            learning_rate=learning_rate,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
        )
        self._first = initial_accumulator_value

    def _create_slots(self, var_list):
        for var in var_list:
            self._filled_slot(var, self._first, "accumulator", self._name)

    def _apply_dense(self, grad, var):
        return update(
            "ProximalAdagrad",
            [var, self.get_slot(var, "accumulator")],
            *self._tensors.values(),
            grad,
            use_locking=self._use_locking,
        )
