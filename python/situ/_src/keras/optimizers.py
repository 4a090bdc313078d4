# SPDX-License-Identifier: Apache-2.0
"""optimizers.py: the optimizers of tf.keras.optimizers: SGD, Adam, RMSprop and others."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import BOTH
from situ._src.keras.custom_optimizer import number
from situ._src.keras.optimizer import Optimizer, named
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.training import slot_creator
from situ._src.training.variable_updates import update


def _power(base, iterations, more=1):
    """Returns `base ** (iterations + more)` in float32."""
    steps = cast(iterations, "float32") + float(more)
    return op("Pow", convert_to_tensor(base, "float32"), steps)


@named("SGD")
class SGD(Optimizer):
    """Gradient descent with optional momentum.

    Without momentum: `w -= learning_rate * g`. With momentum:
    `velocity = momentum * velocity - learning_rate * g; w += velocity`.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      momentum: Momentum, between 0 and 1.
      nesterov: Whether to use Nesterov momentum.
      weight_decay: Decoupled weight decay; None: none.
      clipnorm: Clips each gradient to this L2 norm.
      clipvalue: Clips each element of the gradients to this absolute value.
      global_clipnorm: Clips all gradients together to this L2 norm.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.

    Raises:
      ValueError: If momentum is not between 0 and 1, or several kinds of clipping are set.
    """

    CONFIG: tuple[str, ...] = ("momentum", "nesterov")

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: Any = 0.0,
        nesterov: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = "SGD",
        **kwargs,
    ) -> None:
        if isinstance(momentum, (int, float)) and not 0 <= momentum <= 1:
            raise ValueError("`momentum` must be between [0, 1].")
        super().__init__(
            name, learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm, **kwargs
        )
        self.momentum, self.nesterov = momentum, nesterov
        self.SLOTS = ("momentum",) if momentum else ()

    def _supports_sparse(self):
        return not self.momentum

    def _apply(self, grad, var, rate):
        if not self.momentum:
            return update("GradientDescent", [var], rate, grad)
        return update(
            "KerasMomentum",
            self._state(var, "momentum"),
            rate,
            grad,
            self.momentum,
            use_nesterov=self.nesterov,
        )


@named("Adam")
class Adam(Optimizer):
    """Adam (Kingma and Ba): steps from moving averages of the gradients and of their squares.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      beta_1: Decay rate of the average of gradients.
      beta_2: Decay rate of the average of squared gradients.
      epsilon: Added to the denominator for numerical stability ("epsilon hat" of the paper).
      amsgrad: Whether to use the maximum of past averages of squared gradients (AMSGrad).
      weight_decay: Decoupled weight decay; None: none.
      clipnorm: Clips each gradient to this L2 norm.
      clipvalue: Clips each element of the gradients to this absolute value.
      global_clipnorm: Clips all gradients together to this L2 norm.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG: tuple[str, ...] = ("beta_1", "beta_2", "epsilon", "amsgrad")
    SLOTS: tuple[str, ...] = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-7,
        amsgrad: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = "Adam",
        **kwargs,
    ) -> None:
        super().__init__(
            name, learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm, **kwargs
        )
        self.beta_1, self.beta_2, self.epsilon, self.amsgrad = beta_1, beta_2, epsilon, amsgrad
        self.SLOTS = ("m", "v", "vhat") if amsgrad else ("m", "v")

    def _prepare(self):
        self._powers = _power(self.beta_1, self.iterations), _power(self.beta_2, self.iterations)

    def _apply(self, grad, var, rate):
        if self.amsgrad:
            return self._apply_amsgrad(grad, var, rate)
        return update(
            "Adam",
            self._state(var, "m", "v"),
            *self._powers,
            rate,
            self.beta_1,
            self.beta_2,
            self.epsilon,
            grad,
        )

    def _apply_amsgrad(self, grad, var, rate):
        _, m, v, most = self._state(var, "m", "v", "vhat")
        alpha = rate * op("Sqrt", 1.0 - self._powers[1]) / (1.0 - self._powers[0])
        m.assign_add((grad - m) * (1 - self.beta_1))
        v.assign_add((op("Square", grad) - v) * (1 - self.beta_2))
        most.assign(op("Maximum", most.value(), v.value()))
        return var.assign_sub(m * alpha / (op("Sqrt", most.value()) + self.epsilon))


@named("AdamW")
class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter).

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      weight_decay: Weight decay.
      beta_1: Decay rate of the average of gradients.
      beta_2: Decay rate of the average of squared gradients.
      epsilon: Added to the denominator for numerical stability.
      amsgrad: Whether to use AMSGrad.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        weight_decay: float | None = 0.004,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-7,
        amsgrad: bool = False,
        name: str | None = "AdamW",
        **kwargs,
    ) -> None:
        super().__init__(
            learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay, name=name, **kwargs
        )


@named("Adamax")
class Adamax(Optimizer):
    """Adamax: Adam with the infinity norm of past gradients instead of the average of their
    squares.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      beta_1: Decay rate of the average of gradients.
      beta_2: Decay rate of the infinity norm.
      epsilon: Added to the denominator for numerical stability.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG: tuple[str, ...] = ("beta_1", "beta_2", "epsilon")
    SLOTS: tuple[str, ...] = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-7,
        name: str | None = "Adamax",
        **kwargs,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def _apply(self, grad, var, rate):
        return update(
            "AdaMax",
            self._state(var, "m", "v"),
            _power(self.beta_1, self.iterations),
            rate,
            self.beta_1,
            self.beta_2,
            self.epsilon,
            grad,
        )


@named("Nadam")
class Nadam(Optimizer):
    """Nadam: Adam with Nesterov momentum.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      beta_1: Decay rate of the average of gradients.
      beta_2: Decay rate of the average of squared gradients.
      epsilon: Added to the denominator for numerical stability.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG: tuple[str, ...] = ("beta_1", "beta_2", "epsilon")
    SLOTS: tuple[str, ...] = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: Any = 0.9,
        beta_2: Any = 0.999,
        epsilon: Any = 1e-7,
        name: str | None = "Nadam",
        **kwargs,
    ) -> None:
        super().__init__(name, learning_rate, **kwargs)
        self.beta_1, self.beta_2, self.epsilon, self._product = beta_1, beta_2, epsilon, None

    def _prepare(self):
        if self._product is None:
            self._product = number(1.0, "_u_product")
        first = [self.beta_1 * (1.0 - 0.5 * _power(0.96, self.iterations, k)) for k in (1, 2)]
        product = convert_to_tensor(self._product.assign(self._product * first[0]))
        self._ahead = first[0], first[1], product, product * first[1]
        self._spread = 1.0 - _power(self.beta_2, self.iterations)

    def _apply(self, grad, var, rate):
        _, m, v = self._state(var, "m", "v")
        now, then, product, next_product = self._ahead
        m.assign_add((grad - m) * (1 - self.beta_1))
        v.assign_add((op("Square", grad) - v) * (1 - self.beta_2))
        mean = then * m / (1.0 - next_product) + (1.0 - now) * grad / (1.0 - product)
        return var.assign_sub(mean * rate / (op("Sqrt", v.value() / self._spread) + self.epsilon))


@named("RMSprop", "RMSProp")
class RMSprop(Optimizer):
    """RMSprop: gradients divided by the root of a moving average of their squares.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      rho: Decay rate of the average of squared gradients.
      momentum: Momentum of the steps.
      epsilon: Added to the average for numerical stability.
      centered: Whether to divide by an estimate of the variance instead of the second moment.
      weight_decay: Decoupled weight decay; None: none.
      clipnorm: Clips each gradient to this L2 norm.
      clipvalue: Clips each element of the gradients to this absolute value.
      global_clipnorm: Clips all gradients together to this L2 norm.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG = ("rho", "momentum", "epsilon", "centered")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-7,
        centered: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = "RMSprop",
        **kwargs,
    ) -> None:
        super().__init__(
            name, learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm, **kwargs
        )
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered
        self.SLOTS = ("average", "velocity", "momentum") if centered else ("velocity", "momentum")

    def _apply(self, grad, var, rate):
        return update(
            "CenteredRMSProp" if self.centered else "RMSProp",
            self._state(var, *self.SLOTS),
            rate,
            self.rho,
            self.momentum,
            self.epsilon,
            grad,
        )


@named("Adagrad")
class Adagrad(Optimizer):
    """Adagrad: `accumulator += g ** 2; w -= learning_rate * g / (sqrt(accumulator) + epsilon)`.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      initial_accumulator_value: Initial value of the accumulators.
      epsilon: Added to the denominator for numerical stability.
      weight_decay: Decoupled weight decay; None: none.
      clipnorm: Clips each gradient to this L2 norm.
      clipvalue: Clips each element of the gradients to this absolute value.
      global_clipnorm: Clips all gradients together to this L2 norm.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG: tuple[str, ...] = ("initial_accumulator_value", "epsilon")
    SLOTS: tuple[str, ...] = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value=0.1,
        epsilon: Any = 1e-7,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = "Adagrad",
        **kwargs,
    ) -> None:
        super().__init__(
            name, learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm, **kwargs
        )
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def _make_slots(self, var):
        return {
            "accumulator": slot_creator.filled_slot(
                var, self.initial_accumulator_value, "accumulator"
            )
        }

    def _supports_sparse(self):
        return True

    def _apply(self, grad, var, rate):
        return update("AdagradV2", self._state(var, "accumulator"), rate, self.epsilon, grad)


@named("Adadelta")
class Adadelta(Optimizer):
    """Adadelta: step sizes from the ratio of past updates to past gradients.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      rho: Decay rate of both averages.
      epsilon: Added to both averages for numerical stability.
      weight_decay: Decoupled weight decay; None: none.
      clipnorm: Clips each gradient to this L2 norm.
      clipvalue: Clips each element of the gradients to this absolute value.
      global_clipnorm: Clips all gradients together to this L2 norm.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG: tuple[str, ...] = ("rho", "epsilon")
    SLOTS: tuple[str, ...] = ("accumulated_grad", "accumulated_delta_var")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-7,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = "Adadelta",
        **kwargs,
    ) -> None:
        super().__init__(
            name, learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm, **kwargs
        )
        self.rho, self.epsilon = rho, epsilon

    def _apply(self, grad, var, rate):
        return update("Adadelta", self._state(var, *self.SLOTS), rate, self.rho, self.epsilon, grad)


@named("Ftrl")
class Ftrl(Optimizer):
    """FTRL-Proximal ("follow the regularized leader"), which produces sparse weights.

    Args:
      learning_rate: A number, a `LearningRateSchedule`, or a function without arguments.
      learning_rate_power: Exponent of the accumulator; at most 0.
      initial_accumulator_value: Initial value of the accumulators.
      l1_regularization_strength: L1 penalty.
      l2_regularization_strength: L2 penalty.
      l2_shrinkage_regularization_strength: L2 penalty on the magnitude of the weights.
      beta: Added to the root of the accumulator, as in the paper.
      weight_decay: Decoupled weight decay; None: none.
      clipnorm: Clips each gradient to this L2 norm.
      clipvalue: Clips each element of the gradients to this absolute value.
      global_clipnorm: Clips all gradients together to this L2 norm.
      name: Name of the optimizer.
      **kwargs: Further arguments of `Optimizer`.
    """

    CONFIG = (
        "learning_rate_power",
        "initial_accumulator_value",
        "l1_regularization_strength",
        "l2_regularization_strength",
        "l2_shrinkage_regularization_strength",
        "beta",
    )
    SLOTS = ("accumulator", "linear")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power=-0.5,
        initial_accumulator_value=0.1,
        l1_regularization_strength=0.0,
        l2_regularization_strength=0.0,
        l2_shrinkage_regularization_strength=0.0,
        beta=0.0,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        name: str | None = "Ftrl",
        **kwargs,
    ) -> None:
        super().__init__(
            name, learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm, **kwargs
        )
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta

    def _make_slots(self, var):
        return {
            "accumulator": slot_creator.filled_slot(
                var, self.initial_accumulator_value, "accumulator"
            ),
            "linear": slot_creator.zeros_slot(var, "linear"),
        }

    def _apply(self, grad, var, rate):
        l2 = self.l2_regularization_strength + self.beta / (2.0 * rate)
        return update(
            "FtrlV2",
            self._state(var, *self.SLOTS),
            grad,
            rate,
            self.l1_regularization_strength,
            l2,
            self.l2_shrinkage_regularization_strength,
            self.learning_rate_power,
        )


BOTH["keras.optimizer_v2.gradient_descent.SGD"] = SGD
BOTH["keras.optimizer_v2.adam.Adam"] = Adam
BOTH["keras.optimizer_v2.rmsprop.RMSProp"] = RMSprop
BOTH["keras.optimizer_v2.rmsprop.RMSprop"] = RMSprop
