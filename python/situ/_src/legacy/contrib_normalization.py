# SPDX-License-Identifier: Apache-2.0
"""contrib_normalization.py: normalization layers of tf.contrib.layers and tf.contrib.slim."""

from __future__ import annotations

from typing import Any

from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.keywords import unsupported
from situ._src.framework.scopes import control_dependencies
from situ._src.legacy import layers
from situ._src.legacy.contrib_layers import collect, exported, model_variable
from situ._src.ops import init_ops
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.ops.nn import conv, norm
from situ._src.variables import variable_scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Callable, TensorLike


@exported("batch_norm")
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: Any = 0.001,
    activation_fn: Callable | None = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: str | list[str] | None = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: Any = None,
    data_format: str | None = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Batch normalization over all axes but the channels.

    Args:
      inputs: Tensor.
      decay: Decay of the moving averages.
      center: Whether to add beta.
      scale: Whether to multiply by gamma.
      epsilon: Added to the variance.
      activation_fn: Activation function; None applies none.
      param_initializers: Dictionary of initializers: beta, gamma, moving_mean, moving_variance.
      param_regularizers: Dictionary of regularizers: beta, gamma.
      updates_collections: Collection of the ops that update the averages; None: the output waits
        for them.
      is_training: Whether to use the moments of the batch: a bool or a boolean tensor.
      reuse: Whether to use existing variables.
      variables_collections: Collections of the variables.
      outputs_collections: Collections of the output.
      trainable: Whether the variables are trained.
      batch_weights: Must be None.
      fused: Whether inputs of rank 2 or 4 are normalized by one op; True by default.
      data_format: "NHWC" or "NCHW".
      zero_debias_moving_mean: Must be False.
      scope: Name of the variable scope.
      renorm: Must be False.
      renorm_clipping: Must be None.
      renorm_decay: Has no effect without renorm.
      adjustment: Must be None.

    Raises:
      NotImplementedError: If batch_weights, zero_debias_moving_mean, renorm or adjustment is given.
    """
    del renorm_clipping, renorm_decay  # TensorFlow reads them only with renorm
    unsupported(
        "batch_norm",
        batch_weights=(batch_weights, None),
        renorm=(renorm, False),
        zero_debias_moving_mean=(zero_debias_moving_mean, False),
        adjustment=(adjustment, None),
    )
    first = {name + "_initializer": result for name, result in (param_initializers or {}).items()}
    first.update(
        {name + "_regularizer": result for name, result in (param_regularizers or {}).items()}
    )
    inputs, planes = convert_to_tensor(inputs), conv.layout(data_format) == "NCHW"
    plain = fused is not None and not fused
    row = not plain and inputs.shape.ndims == 2 and inputs.dtype.name in ("float32", "float16")
    shape = inputs.shape
    with variable_scope.variable_scope(scope, "BatchNorm", reuse=reuse) as here:
        if row:  # an image of one pixel, for the op
            width = shape.as_list()[1]
            inputs = op("Reshape", inputs, [-1, width, 1, 1] if planes else [-1, 1, 1, width])
        layer = layers.BatchNormalization(
            1 if planes else -1,
            decay,
            epsilon,
            center,
            scale,
            fused=False if plain else None,
            trainable=trainable,
            _scope=here,
            _reuse=reuse,
            **first,
        )
        kept = list(get_default_graph().get_collection_ref(GraphKeys.UPDATE_OPS))
        result = layer(inputs, training=is_training)
        updates = [getattr(u, "op", u) for u in layer.updates]
        if updates_collections != GraphKeys.UPDATE_OPS:
            get_default_graph().get_collection_ref(GraphKeys.UPDATE_OPS)[:] = kept
            for update in updates:
                collect(update, updates_collections)
        if row:
            result = op("Reshape", result, [-1, width])
            result.set_shape(shape)
        if updates_collections is None and updates:
            with control_dependencies(updates):
                result = op("Identity", result)
    for weight in layer.variables:
        keys = (
            variables_collections.get(weight.op.name.rsplit("/", 1)[-1])
            if isinstance(variables_collections, dict)
            else variables_collections
        )
        for key in (*([keys] if isinstance(keys, str) else keys or ()), GraphKeys.MODEL_VARIABLES):
            if weight not in get_default_graph().get_collection_ref(key):  # as with reuse
                collect(weight, key)
    result = activation_fn(result) if activation_fn is not None else result
    return collect(result, outputs_collections)


@exported("layer_norm")
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Callable | None = None,
    reuse: bool | None = None,
    variables_collections: Any = None,
    outputs_collections: str | list[str] | None = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Any:
    """Layer normalization of each example from begin_norm_axis on, with gamma and beta.

    Args:
      inputs: Tensor.
      center: Whether to add beta.
      scale: Whether to multiply by gamma.
      activation_fn: Activation function; None applies none.
      reuse: Whether to use existing variables.
      variables_collections: Collections of the variables.
      outputs_collections: Collections of the output.
      trainable: Whether the variables are trained.
      begin_norm_axis: First dimension to normalize.
      begin_params_axis: First dimension of gamma and beta.
      scope: Name of the variable scope.
    """
    with variable_scope.variable_scope(scope, "LayerNorm", reuse=reuse):
        inputs = convert_to_tensor(inputs)
        rank, shape = inputs.shape.ndims, inputs.shape.as_list()
        params = shape[begin_params_axis:]

        def part(name, first):
            return model_variable(name, params, None, first, None, trainable, variables_collections)

        beta = part("beta", init_ops.Zeros) if center else None
        gamma = part("gamma", init_ops.Ones) if scale else None
        axes = list(range(begin_norm_axis % rank, rank))
        mean, variance = norm.moments(inputs, axes, keep_dims=True)
        result = norm.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)
        return collect(
            result if activation_fn is None else activation_fn(result), outputs_collections
        )


@exported("unit_norm")
def unit_norm(inputs: Any, dim: TensorLike, epsilon: Any = 1e-7, scope: Any = None) -> Any:
    """Scales inputs to L2 norm 1 along a dimension.

    Args:
      inputs: Tensor.
      dim: The dimension.
      epsilon: Added to the variance.
      scope: Name of the variable scope.
    """
    with variable_scope.variable_scope(scope, "UnitNorm"):
        inputs = convert_to_tensor(inputs)
        squares = op("Sum", inputs * inputs, [dim], keep_dims=True)
        return inputs / op("Sqrt", squares + epsilon)
