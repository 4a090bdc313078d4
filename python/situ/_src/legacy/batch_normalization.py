# SPDX-License-Identifier: Apache-2.0
"""batch_normalization.py: tf.layers.BatchNormalization."""

import numpy

from situ._src.framework import tensor_shape
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.graph import scope as name_scope
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
      axis: The axis of the features; of a list only the first item counts.
      momentum: Momentum of the moving averages.
      epsilon: Added to the variance.
      center: Whether to add beta.
      scale: Whether to multiply by gamma.

    Initializers of beta, gamma, moving_mean and moving_variance, and regularizers and constraints
    of beta and gamma follow.

    fused has no effect: images of float32 or float16 are normalized by one op, all else by
    several. renorm_clipping and renorm_momentum have no effect, as there is no renorm.

    Call arguments:
      inputs: Tensor.
      training: Whether to use the moments of the batch: a bool or a boolean tensor; False by
        default.

    Raises:
      ValueError: If renorm, virtual_batch_size or adjustment is given.
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
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise ValueError("situ has no renorm, virtual_batch_size or adjustment.")
        self.axis, self.momentum, self.epsilon = axis, momentum, epsilon
        self.parts = {}
        if scale:
            self.parts["gamma"] = gamma_initializer, gamma_regularizer, gamma_constraint, True
        if center:
            self.parts["beta"] = beta_initializer, beta_regularizer, beta_constraint, True
        self.parts["moving_mean"] = moving_mean_initializer, None, None, False
        self.parts["moving_variance"] = moving_variance_initializer, None, None, False

    def build(self, shape):
        axis = self.axis[0] if isinstance(self.axis, (list, tuple)) else self.axis
        self.axis = axis % shape.ndims
        width = known(shape.as_list()[self.axis], "The normalised dimension")
        kind = "float32" if self.dtype == as_dtype("float16") else self.dtype
        for name, (first, regularizer, constraint, trainable) in self.parts.items():
            result = self.add_weight(name, [width], first, regularizer, trainable, constraint, kind)
            setattr(self, name, result)
        self.built = True

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
        if norm.is_fused(inputs, self.axis) and self.moving_mean.dtype.base_dtype == "float32":
            y, mean, variance = control_flow_ops.smart_cond(
                training, lambda: self._fused(inputs, True), lambda: self._fused(inputs, False)
            )
            if training is not False:
                self._keep(mean, variance, training)
            return y
        form = [-1 if a == self.axis else 1 for a in range(rank)]
        mean, variance = (
            convert_to_tensor(self.moving_mean),
            convert_to_tensor(self.moving_variance),
        )
        if training is not False:
            axes = [a for a in range(rank) if a != self.axis]
            own_mean, own_variance = norm.moments(cast(inputs, mean.dtype), axes)
            self._keep(own_mean, own_variance, training)
            old_mean, old_variance = mean, variance
            mean = choose(training, lambda: own_mean, lambda: old_mean)
            variance = choose(training, lambda: own_variance, lambda: old_variance)
        values = [mean, variance, getattr(self, "beta", None), getattr(self, "gamma", None)]
        if self.axis != rank - 1:
            values = [v if v is None else op("Reshape", v, form) for v in values]
        return norm.batch_normalization(inputs, *values, self.epsilon)
