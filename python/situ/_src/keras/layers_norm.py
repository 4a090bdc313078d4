# SPDX-License-Identifier: Apache-2.0
"""layers_norm.py: normalization, noise, and activation layers."""

from __future__ import annotations

from typing import Any

from situ._src.framework import api, tensor_shape
from situ._src.framework.graph import GraphKeys
from situ._src.framework.keywords import unsupported
from situ._src.keras import (
    activations,
    constraints,
    context,
    initializers,
    regularizers,
    seed_generator,
    weights,
)
from situ._src.keras.layer import Layer
from situ._src.keras.layers_core import named, serialize_attributes
from situ._src.keras.mixed_precision import large_negative
from situ._src.keras.seed_generator import SeedGenerator
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.nn import norm


class Scaled(Layer):
    """Base class of normalization layers with a scale (gamma) and an offset (beta)."""

    _computes_in_variable_dtype = True

    def __init__(
        self,
        axis,
        epsilon=1e-3,
        center=True,
        scale=True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        beta_regularizer=None,
        gamma_regularizer=None,
        beta_constraint=None,
        gamma_constraint=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.axis, self.epsilon, self.center, self.scale = axis, epsilon, center, scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)
        self.gamma = self.beta = None
        self.supports_masking = True

    def axes(self, rank):
        """Returns the normalized axes as non-negative indices."""
        some = self.axis if isinstance(self.axis, (list, tuple)) else [self.axis]
        return [a % rank for a in some]

    def make(self, shape):
        """Creates gamma and beta."""
        if self.scale:
            self.gamma = self.add_weight(
                "gamma",
                shape,
                initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_weight(
                "beta",
                shape,
                initializer=self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
            )

    def get_config(self):
        return {
            **super().get_config(),
            "axis": self.axis,
            "epsilon": self.epsilon,
            "center": self.center,
            "scale": self.scale,
            **serialize_attributes(
                self,
                "beta_initializer",
                "gamma_initializer",
                "beta_regularizer",
                "gamma_regularizer",
                "beta_constraint",
                "gamma_constraint",
            ),
        }


def normalized(x, mean, variance, beta, gamma, epsilon):
    """(x - mean) * gamma / sqrt(variance + epsilon) + beta."""
    factor = op("Rsqrt", variance + epsilon)
    if gamma is not None:
        factor = factor * gamma
    shift = -mean * factor
    return x * factor + (shift if beta is None else shift + beta)


def _moments(x, axes, mask, synchronized):
    """Returns the mean and the variance over axes, of the elements where the mask is True and, if
    synchronized, of all replicas.
    """
    replica = api.named("distribute.get_replica_context")() if synchronized else None
    if mask is None and replica is None:
        mean = op("Mean", x, axes, keep_dims=True)
        spread = op("SquaredDifference", x, op("StopGradient", mean))
        return mean, op("Mean", spread, axes, keep_dims=True)
    kept = op("OnesLike", x)
    if mask is not None:
        kept = kept * op("ExpandDims", cast(mask, x.dtype), -1)
    add = lambda values: op("Sum", values, axes, keep_dims=True)
    if replica is not None:
        sums = replica.all_reduce("SUM", [add(kept), add(x * kept), add(op("Square", x) * kept)])
        total = op("Maximum", sums[0], cast(1.0, x.dtype))
        mean = sums[1] / total
        return mean, op("Maximum", sums[2] / total - op("Square", mean), cast(0.0, x.dtype))
    total = add(kept) + context.setting("epsilon")
    mean = add(x * kept) / total
    return mean, add(op("SquaredDifference", x, mean) * kept) / total


@named("BatchNormalization")
class BatchNormalization(Scaled):
    """Normalizes activations over the batch, then scales by gamma and adds beta.

    During training the layer uses the mean and variance of the batch and updates moving averages of
    both; otherwise it uses the moving averages. A layer with `trainable = False` always uses them.

    Args:
      axis: The axis or axes of the features, which are not reduced; usually the channels.
      momentum: Momentum of the moving averages.
      epsilon: Added to the variance.
      center: Whether to add beta.
      scale: Whether to multiply by gamma.
      beta_initializer: Initializer of beta.
      gamma_initializer: Initializer of gamma.
      moving_mean_initializer: Initializer of the moving mean.
      moving_variance_initializer: Initializer of the moving variance.
      beta_regularizer: Regularizer of beta.
      gamma_regularizer: Regularizer of gamma.
      beta_constraint: Constraint applied to beta after each update.
      gamma_constraint: Constraint applied to gamma after each update.
      synchronized: Whether to normalize over the examples of all replicas of a strategy instead of
        those of each replica. The fused op is not used then.
      renorm: Only False is supported.
      fused: Whether to use the fused op, which is for images; default: where it fits. Its moving
        variance is that of the sample (divided by n - 1).
      virtual_batch_size: Only None is supported.
      renorm_clipping, renorm_momentum: Arguments of renorm.
      **kwargs: Arguments of `Layer`.

    Call arguments:
      inputs: Tensor of any rank.
      training: Whether to use the statistics of the batch.
      mask: Boolean tensor of the shape of the inputs without the last dimension; elements where it
        is False do not count in the statistics.

    Raises:
      NotImplementedError: If renorm or virtual_batch_size is set.
      ValueError: If fused is True together with synchronized or for inputs that are not images, or
        the mask has a wrong rank.
    """

    def __init__(
        self,
        axis: Any = -1,
        momentum: Any = 0.99,
        epsilon: Any = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        moving_mean_initializer="zeros",
        moving_variance_initializer="ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint=None,
        gamma_constraint=None,
        synchronized: bool = False,
        renorm: bool = False,
        fused=None,
        virtual_batch_size=None,
        renorm_clipping=None,
        renorm_momentum=0.99,
        **kwargs,
    ) -> None:
        unsupported(
            "BatchNormalization",
            renorm=(renorm, False),
            virtual_batch_size=(virtual_batch_size, None),
        )
        del renorm_clipping, renorm_momentum  # they are read with renorm only
        super().__init__(
            axis,
            epsilon,
            center,
            scale,
            beta_initializer,
            gamma_initializer,
            beta_regularizer,
            gamma_regularizer,
            beta_constraint,
            gamma_constraint,
            **kwargs,
        )
        if fused and synchronized:
            raise ValueError("`fused=True` is not supported when `synchronized=True`.")
        self.momentum, self.synchronized = momentum, synchronized
        self.fused = False if synchronized else fused
        self.supports_masking = True
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)

    def build(self, input_shape):
        sizes = tensor_shape.as_shape(input_shape).as_list()
        shape = [sizes[a] for a in self.axes(len(sizes))]
        if self.fused and len(sizes) != 4:
            raise ValueError(
                "Batch normalization layers with `fused=True` only support 4D input tensors. "
                f"Received tensor with shape: {tuple(sizes)}"
            )
        self.make(shape)
        self.moving_mean = self.add_weight(
            "moving_mean",
            shape,
            trainable=False,
            aggregation="mean",
            initializer=self.moving_mean_initializer,
        )
        self.moving_variance = self.add_weight(
            "moving_variance",
            shape,
            trainable=False,
            aggregation="mean",
            initializer=self.moving_variance_initializer,
        )
        self.built = True

    def _move(self, variable, value):
        """Updates a moving average; in a session graph also adds the op to UPDATE_OPS."""
        moved = variable.assign_sub((variable.value() - value) * (1.0 - self.momentum))
        if weights.in_session_graph():
            moved.graph.add_to_collection(GraphKeys.UPDATE_OPS, moved.op)

    def call(self, inputs, training=None, mask=None):
        rank = inputs.shape.rank
        kept = self.axes(rank)
        over = [a for a in range(rank) if a not in kept]
        train = bool(training) and self.trainable
        if mask is not None and mask.shape.rank != rank - 1:
            raise ValueError(
                "The mask provided should be one dimension less than the inputs. Received: "
                f"mask.shape={mask.shape}, inputs.shape={inputs.shape}"
            )
        if (
            self.fused is not False
            and (mask is None or not train)
            and len(kept) == 1
            and norm.is_fused(inputs, kept[0])
            and self.moving_mean.dtype.base_dtype == "float32"
        ):
            return self._fused(inputs, kept[0], train)
        if train:
            mean, variance = _moments(inputs, over, mask, self.synchronized)
            self._remember(mean, variance)
        else:
            mean, variance = (
                self._wide(v, kept, inputs) for v in (self.moving_mean, self.moving_variance)
            )
        beta, gamma = (
            None if v is None else self._wide(v, kept, inputs) for v in (self.beta, self.gamma)
        )
        return normalized(inputs, mean, variance, beta, gamma, self.epsilon)

    def _fused(self, inputs, axis, train):
        """Normalizes images with the FusedBatchNorm op."""
        size = self.moving_mean.shape.as_list()
        gamma, beta = (
            convert_to_tensor(v)
            if v is not None
            else op("Fill", size, convert_to_tensor(first, "float32"))
            for v, first in ((self.gamma, 1.0), (self.beta, 0.0))
        )
        given = (None, None) if train else (self.moving_mean, self.moving_variance)
        y, mean, variance = norm.fused(
            inputs, gamma, beta, *given, self.epsilon, "NCHW" if axis == 1 else "NHWC", train
        )
        if train:
            self._move(self.moving_mean, mean)
            self._move(self.moving_variance, variance)
        return y

    def _remember(self, mean, variance):
        """Updates the moving averages."""
        shape = self.moving_mean.shape.as_list()
        mean, variance = op("Reshape", mean, shape), op("Reshape", variance, shape)
        self._move(self.moving_mean, mean)
        self._move(self.moving_variance, variance)

    @staticmethod
    def _wide(vector, kept, inputs):
        """Reshapes a per-feature vector so that it broadcasts to the inputs."""
        if kept == [inputs.shape.rank - 1]:
            return convert_to_tensor(vector)
        sizes = [1] * inputs.shape.rank
        for axis, size in zip(kept, vector.shape.as_list()):
            sizes[axis] = size
        return op("Reshape", vector, sizes)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "momentum": self.momentum,
            **({"synchronized": True} if self.synchronized else {}),
            **({"fused": self.fused} if self.fused is not None and not self.synchronized else {}),
            **serialize_attributes(self, "moving_mean_initializer", "moving_variance_initializer"),
        }


@named("LayerNormalization")
class LayerNormalization(Scaled):
    """Normalizes each example over the given axes, then scales by gamma and adds beta.

    Args:
      axis: The axis or axes to normalize over.
      epsilon: Added to the variance.
      center: Whether to add beta.
      scale: Whether to multiply by gamma.
      **kwargs: Initializers, regularizers and constraints of beta and gamma, and arguments of
        `Layer`.

    Call arguments:
      inputs: Tensor of any rank.
    """

    def __init__(
        self, axis: Any = -1, epsilon: Any = 1e-3, center: bool = True, scale: bool = True, **kwargs
    ) -> None:
        super().__init__(
            list(axis) if isinstance(axis, tuple) else axis, epsilon, center, scale, **kwargs
        )

    def build(self, input_shape):
        sizes = tensor_shape.as_shape(input_shape).as_list()
        self.make([sizes[a] for a in self.axes(len(sizes))])
        self.built = True

    def call(self, inputs):
        axes = self.axes(inputs.shape.rank)
        mean = op("Mean", inputs, axes, keep_dims=True)
        spread = op("SquaredDifference", inputs, op("StopGradient", mean))
        variance = op("Mean", spread, axes, keep_dims=True)
        beta, gamma = (
            None if v is None else BatchNormalization._wide(v, axes, inputs)
            for v in (self.beta, self.gamma)
        )
        return normalized(inputs, mean, variance, beta, gamma, self.epsilon)


@named("RMSNormalization")
class RMSNormalization(Layer):
    """Divides the inputs by their root mean square, and multiplies them by a scale.

    Args:
      axis: Axis or axes that are normalized.
      epsilon: Added to the mean of squares.
      **kwargs: Arguments of `Layer`.

    Call arguments:
      inputs: Tensor.
    """

    def __init__(self, axis: Any = -1, epsilon: float = 1e-6, **kwargs) -> None:
        super().__init__(**kwargs)
        self.axis, self.epsilon, self.supports_masking = axis, epsilon, True

    def _axes(self, rank):
        axes = self.axis if isinstance(self.axis, (list, tuple)) else [self.axis]
        for axis in axes:
            if not -rank <= axis < rank:
                raise ValueError(
                    f"Axis {axis} is out of bounds for inputs of rank {rank}. Received: "
                    f"axis={self.axis}"
                )
        return sorted(axis % rank for axis in axes)

    def build(self, input_shape):
        sizes = tensor_shape.as_shape(input_shape).as_list()
        shape = [sizes[axis] for axis in self._axes(len(sizes))]
        self.scale = self.add_weight("scale", shape, initializer="ones")
        self.built = True

    def call(self, inputs):
        rank, wide = inputs.shape.rank, inputs
        axes = self._axes(rank)
        if inputs.dtype.size < 4:  # squares of half-precision numbers overflow
            wide = cast(inputs, "float32")
        mean = op("Mean", op("Square", wide), axes, keep_dims=True)
        result = wide * op("Rsqrt", mean + self.epsilon)
        sizes = [size if i in axes else 1 for i, size in enumerate(inputs.shape.as_list())]
        scale = op("Reshape", cast(self.scale, wide.dtype), sizes)
        return cast(result * scale, inputs.dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axis": self.axis, "epsilon": self.epsilon}


@named("UnitNormalization")
class UnitNormalization(Layer):
    """Scales vectors along an axis to an L2 norm of 1.

    Args:
      axis: The axis to normalize over.
    """

    def __init__(self, axis: Any = -1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs):
        return api.named("nn.l2_normalize")(inputs, axis=self.axis)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "axis": self.axis}


@named("GaussianNoise")
class GaussianNoise(Layer):
    """Adds Gaussian noise with mean 0 during training.

    Args:
      stddev: Standard deviation of the noise.
      seed: Seed of the random numbers.

    Call arguments:
      inputs: Tensor of any rank.
      training: Whether to add noise.
    """

    _is_elementwise = True

    def __init__(self, stddev: float, seed: int | None = None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.stddev, self.seed, self.supports_masking = stddev, seed, True
        if stddev:
            self.seed_generator = SeedGenerator(seed)

    def call(self, inputs, training=None):
        if not training or not self.stddev:
            return inputs
        shape, seeds = op("Shape", inputs), self.seed_generator
        return inputs + seed_generator.normal(shape, 0.0, self.stddev, inputs.dtype, seeds)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "stddev": self.stddev, "seed": self.seed}


@named("GaussianDropout")
class GaussianDropout(Layer):
    """Multiplies by Gaussian noise with mean 1 during training.

    Args:
      rate: Drop probability; the standard deviation is `sqrt(rate / (1 - rate))`.
      seed: Seed of the random numbers.

    Call arguments:
      inputs: Tensor of any rank.
      training: Whether to add noise.
    """

    _is_elementwise = True

    def __init__(self, rate: float, seed: int | None = None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.rate, self.seed, self.supports_masking = rate, seed, True
        if rate:
            self.seed_generator = SeedGenerator(seed)

    def call(self, inputs, training=None):
        if not training or not self.rate:
            return inputs
        deviation = (self.rate / (1.0 - self.rate)) ** 0.5
        shape, seeds = op("Shape", inputs), self.seed_generator
        return inputs * seed_generator.normal(shape, 1.0, deviation, inputs.dtype, seeds)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}


class _Act(Layer):
    """Base class of activation layers; CONFIG_KEYS names the attributes of their configuration."""

    _is_elementwise = True

    CONFIG_KEYS: tuple[str, ...] = ()

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def get_config(self):
        return {**super().get_config(), **{w: getattr(self, w) for w in self.CONFIG_KEYS}}


@named("ReLU")
class ReLU(_Act):
    """Rectified linear unit: `max(x, 0)`, with an optional slope, limit and threshold.

    Args:
      max_value: Upper limit of the output; None: no limit.
      negative_slope: Slope below the threshold.
      threshold: Inputs below it are treated as negative.
    """

    CONFIG_KEYS = ("max_value", "negative_slope", "threshold")

    def __init__(self, max_value=None, negative_slope=0.0, threshold: Any = 0.0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs):
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)


@named("LeakyReLU")
class LeakyReLU(_Act):
    """`x` for positive inputs, `alpha * x` otherwise.

    Args:
      alpha: Slope for negative inputs.
      negative_slope: Name of alpha in Keras 3.
    """

    CONFIG_KEYS = ("alpha",)

    def __init__(self, alpha=0.3, negative_slope=None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.alpha = float(alpha if negative_slope is None else negative_slope)

    def call(self, inputs):
        return op("LeakyRelu", inputs, alpha=self.alpha)


@named("ELU")
class ELU(_Act):
    """Exponential linear unit: `x` for positive inputs, `alpha * (exp(x) - 1)` otherwise.

    Args:
      alpha: Scale of the negative part.
    """

    CONFIG_KEYS = ("alpha",)

    def __init__(self, alpha=1.0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs):
        return activations.elu(inputs, self.alpha)


@named("Softmax")
class Softmax(_Act):
    """Softmax along an axis.

    Args:
      axis: The axis that sums to 1.

    Call arguments:
      inputs: Tensor of logits.
      mask: Boolean tensor; elements where it is False get the probability 0.
    """

    CONFIG_KEYS = ("axis",)

    def __init__(self, axis: Any = -1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs, mask=None):
        if mask is not None:
            inputs = inputs + (1.0 - cast(mask, inputs.dtype)) * large_negative(inputs.dtype)
        return activations.softmax(inputs, self.axis)


@named("ThresholdedReLU")
class ThresholdedReLU(_Act):
    """`x` where `x > theta`, 0 otherwise.

    Args:
      theta: Threshold.
    """

    CONFIG_KEYS = ("theta",)

    def __init__(self, theta=1.0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.theta = theta

    def call(self, inputs):
        return inputs * cast(op("Greater", inputs, cast(self.theta, inputs.dtype)), inputs.dtype)


@named("PReLU")
class PReLU(_Act):
    """`x` for positive inputs, `alpha * x` otherwise, with trainable alpha.

    Args:
      alpha_initializer: Initializer of alpha.
      alpha_regularizer: Regularizer of alpha.
      alpha_constraint: Constraint applied to alpha after each update.
      shared_axes: Axes along which alpha is shared, for example `[1, 2]` for images.
    """

    CONFIG_KEYS = ("shared_axes",)

    def __init__(
        self,
        alpha_initializer="zeros",
        alpha_regularizer=None,
        alpha_constraint=None,
        shared_axes=None,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.alpha_initializer = initializers.get(alpha_initializer)
        self.alpha_regularizer = regularizers.get(alpha_regularizer)
        self.alpha_constraint = constraints.get(alpha_constraint)
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes

    def build(self, input_shape):
        sizes = tensor_shape.as_shape(input_shape).as_list()[1:]
        for axis in self.shared_axes or ():
            sizes[axis - 1] = 1
        self.alpha = self.add_weight(
            "alpha",
            sizes,
            initializer=self.alpha_initializer,
            regularizer=self.alpha_regularizer,
            constraint=self.alpha_constraint,
        )
        self.built = True

    def call(self, inputs):
        return op("Relu", inputs) - self.alpha * op("Relu", -inputs)


@named("GroupNormalization")
class GroupNormalization(Scaled):
    """Normalizes groups of channels of each example, then scales by gamma and adds beta.

    Args:
      groups: Number of groups; -1 makes every channel its own group.
      axis: The axis of the channels.
      *args, **kwargs: Further arguments as in `LayerNormalization`.

    Call arguments:
      inputs: Tensor of rank 3 or more.

    Raises:
      ValueError: If the number of channels is not a multiple of groups.
    """

    def __init__(self, groups: int = 32, axis: Any = -1, *args, **kwargs) -> None:
        super().__init__(axis, *args, **kwargs)
        self.groups = groups

    def build(self, input_shape):
        width = tensor_shape.as_shape(input_shape).as_list()[self.axis]
        self.groups = width if self.groups == -1 else self.groups
        if width % self.groups:
            raise ValueError(
                f"Number of groups ({self.groups}) must be a multiple of the number "
                f"of channels ({width})."
            )
        self.make([width])
        self.built = True

    def call(self, inputs):
        rank = inputs.shape.rank
        axis = self.axis % rank
        order = [*[i for i in range(rank) if i != axis], axis]
        x = inputs if axis == rank - 1 else op("Transpose", inputs, order)
        shape, width = shape_op(x), x.shape.as_list()[-1]
        parts = op("Reshape", x, [shape[0], -1, self.groups, width // self.groups])
        mean = op("Mean", parts, [1, 3], keep_dims=True)
        variance = op("Mean", op("SquaredDifference", parts, mean), [1, 3], keep_dims=True)
        outputs = op("Reshape", (parts - mean) * op("Rsqrt", variance + self.epsilon), shape)
        outputs = outputs if self.gamma is None else outputs * self.gamma
        outputs = outputs if self.beta is None else outputs + self.beta
        if axis != rank - 1:
            outputs = op("Transpose", outputs, [order.index(i) for i in range(rank)])
        outputs.set_shape(inputs.shape) if hasattr(outputs, "set_shape") else None
        return outputs

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "groups": self.groups}
