# SPDX-License-Identifier: Apache-2.0
"""batch_normalization.py: tf.layers.BatchNormalization."""

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph import scope as name_scope
from situ._src.framework.keywords import unsupported
from situ._src.framework.scopes import colocate_with_variable
from situ._src.legacy.base_layer import ONES, ZEROS, Layer, choose, known
from situ._src.ops import control_flow_ops
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.nn import norm


class BatchNormalization(Layer):
    """Batch normalization: moments of the batch during training, otherwise moving averages.

    The ops that update the moving averages are in the collection UPDATE_OPS, unless training is
    False.

    Args:
      axis: The axis of the features, or a list of axes.
      momentum: Momentum of the moving averages.
      epsilon: Added to the variance.
      center: Whether to add beta.
      scale: Whether to multiply by gamma.

    Initializers of beta, gamma, moving_mean and moving_variance, and regularizers and constraints
    of beta and gamma follow.

    fused: whether images of float32 or float16 are normalized by one op, whose moving variance is
    unbiased; by default wherever that is possible. renorm, virtual_batch_size and adjustment are
    not supported; renorm_clipping and renorm_momentum belong to renorm.

    Call arguments:
      inputs: Tensor.
      training: Whether to use the moments of the batch: a bool or a boolean tensor; False by
        default.

    Raises:
      NotImplementedError: If renorm, virtual_batch_size or adjustment is given.
      ValueError: If fused is True and one op cannot normalize the inputs.
    """

    def __init__(
        self,
        axis=-1,
        momentum=0.99,
        epsilon=1e-3,
        center=True,
        scale=True,
        beta_initializer=ZEROS,
        gamma_initializer=ONES,
        moving_mean_initializer=ZEROS,
        moving_variance_initializer=ONES,
        beta_regularizer=None,
        gamma_regularizer=None,
        beta_constraint=None,
        gamma_constraint=None,
        renorm=False,
        fused=None,
        renorm_clipping=None,
        renorm_momentum=0.99,
        virtual_batch_size=None,
        adjustment=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        del renorm_clipping, renorm_momentum  # TensorFlow reads them only with renorm
        unsupported(
            "tf.layers.BatchNormalization",
            renorm=(renorm, False),
            virtual_batch_size=(virtual_batch_size, None),
            adjustment=(adjustment, None),
        )
        self.axis, self.momentum, self.epsilon, self.fused = axis, momentum, epsilon, fused
        self.parts = {}
        if scale:
            self.parts["gamma"] = gamma_initializer, gamma_regularizer, gamma_constraint, True
        if center:
            self.parts["beta"] = beta_initializer, beta_regularizer, beta_constraint, True
        self.parts["moving_mean"] = moving_mean_initializer, None, None, False
        self.parts["moving_variance"] = moving_variance_initializer, None, None, False

    def build(self, shape):
        axes = self.axis if isinstance(self.axis, (list, tuple)) else [self.axis]
        sizes, axes = shape.as_list(), [a % shape.ndims for a in axes]
        self.axis = axes[0] if len(axes) == 1 else axes
        for a in axes:
            known(sizes[a], "The normalized dimension")
        width = [sizes[a] for a in axes]
        if len(axes) > 1:  # parameters that broadcast over the inputs
            width = [n if a in axes else 1 for a, n in enumerate(sizes)]
        self._check_fused(shape)
        kind = "float32" if self.dtype == as_dtype("float16") else self.dtype
        for name, (first, regularizer, constraint, trainable) in self.parts.items():
            result = self.add_weight(name, width, first, regularizer, trainable, constraint, kind)
            setattr(self, name, result)
        self.built = True

    def _check_fused(self, shape):
        name, able = "Batch normalization layers with fused=True", self.axis in (1, 3)
        if self.fused and shape.ndims != 4:
            raise ValueError(f"{name} only support 4D input tensors. Received shape: {shape}")
        if self.fused and not able:
            raise ValueError(f"{name} only support axis == [1] or axis == [3], not {self.axis}")
        if self.fused is None or self.fused:
            kinds = ("float32", "float16")
            self.fused = able and shape.ndims == 4 and as_dtype(self.dtype).name in kinds

    def _update(self, average, value, training):
        with name_scope(None, "AssignMovingAvg") as full:
            rate = choose(
                training,
                lambda: convert_to_tensor(1.0 - self.momentum, name="decay"),
                lambda: convert_to_tensor(0.0),
            )
            rate = cast(rate, average.dtype.base_dtype)
            with colocate_with_variable(average):
                less = (convert_to_tensor(average) - value) * rate
                return average.assign_sub(less, name=full)

    def _fused(self, inputs, training):
        """Returns (y, mean, variance) of images, computed by one op."""
        width = self.moving_mean.shape.as_list()
        gamma, beta = (
            convert_to_tensor(getattr(self, n))
            if hasattr(self, n)
            else convert_to_tensor(numpy.full(width, first, "float32"))
            for n, first in (("gamma", 1.0), ("beta", 0.0))
        )
        given = (None, None) if training else (self.moving_mean, self.moving_variance)
        return norm.fused(
            inputs,
            gamma,
            beta,
            *given,
            self.epsilon,
            "NCHW" if self.axis == 1 else "NHWC",
            training,
        )

    def _keep(self, mean, variance, training):
        """Updates the moving averages; adds the ops to UPDATE_OPS."""
        self.updates = [
            self._update(self.moving_mean, mean, training),
            self._update(self.moving_variance, variance, training),
        ]
        for update in self.updates:
            get_default_graph().add_to_collection(
                GraphKeys.UPDATE_OPS, getattr(update, "op", update)
            )

    def call(self, inputs, training=False):
        rank = tensor_shape.as_shape(inputs.shape).ndims
        if self.fused:
            y, mean, variance = control_flow_ops.smart_cond(
                training, lambda: self._fused(inputs, True), lambda: self._fused(inputs, False)
            )
            if training is not False:
                self._keep(mean, variance, training)
            return y
        several = isinstance(self.axis, list)
        form = [-1 if a == self.axis else 1 for a in range(rank)]
        mean, variance = (
            convert_to_tensor(self.moving_mean),
            convert_to_tensor(self.moving_variance),
        )
        if training is not False:
            axes = [a for a in range(rank) if a not in (self.axis if several else [self.axis])]
            own_mean, own_variance = norm.moments(cast(inputs, mean.dtype), axes, keep_dims=several)
            self._keep(own_mean, own_variance, training)
            old_mean, old_variance = mean, variance
            mean = choose(training, lambda: own_mean, lambda: old_mean)
            variance = choose(training, lambda: own_variance, lambda: old_variance)
        values = [mean, variance, getattr(self, "beta", None), getattr(self, "gamma", None)]
        if not several and self.axis != rank - 1:
            values = [v if v is None else op("Reshape", v, form) for v in values]
        return norm.batch_normalization(inputs, *values, self.epsilon)
