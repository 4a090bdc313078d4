# SPDX-License-Identifier: Apache-2.0
"""losses.py: softmax, cross-entropy losses, top_k and in_top_k, losses averaged over replicas."""

from __future__ import annotations

import collections

from situ._src.distribute.context import in_cross_replica_context
from situ._src.framework import style, tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.framework.scopes import control_dependencies, device
from situ._src.framework.tensor import constant_value
from situ._src.ops import check_ops
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.composite_dispatch import ragged_version
from situ._src.ops.math_ops import _pair, divide_no_nan
from situ._src.ops.reduction_ops import move_to_last, swap_with_last
from situ._src.variables import variable

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any, Axis, DTypeLike, Tensor, TensorLike


def _rank(tensor):
    return tensor_shape.as_shape(tensor.shape).ndims


def _along(op_name, tensor, axis, name):
    """Applies an op that works on the last axis along another one."""
    order = swap_with_last(tensor, axis)
    if order is None:
        return op(op_name, tensor, name=name)
    return op("Transpose", op(op_name, op("Transpose", tensor, order)), order, name=name)


def _soft(op_name, public_name):
    def soft(
        logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
    ):
        tensor = convert_to_tensor(logits, name="logits")
        return _along(op_name, tensor, axis if dim is None else dim, name)

    soft.__name__, soft.__doc__ = public_name, OPS[op_name].__doc__
    if op_name == "Softmax":
        soft = ragged_version("ragged_math", "softmax")(soft)
    export("nn." + public_name, "math." + public_name)(soft)
    return soft


softmax = _soft("Softmax", "softmax")
log_softmax = _soft("LogSoftmax", "log_softmax")


def _named(function, sentinel, **kwargs):
    """Checks that labels and logits were passed by name."""
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )
    for name, value in kwargs.items():
        if value is None:
            raise ValueError(f"Argument `{name}` must not be None.")


def _as_matrix(tensor):
    """Reshapes a tensor to [-1, size of the last dimension]."""
    width = tensor_shape.as_shape(tensor.shape).as_list()[-1] if _rank(tensor) else None
    if width is None:
        width = op("StridedSlice", shape_op(tensor), [-1], [0], [1], shrink_axis_mask=1)
    return op(
        "Reshape",
        tensor,
        op("Pack", [constant(-1, "int32"), width]) if not isinstance(width, int) else [-1, width],
    )


def _batch_shape(tensor):
    """Returns the shape without the last dimension."""
    known = tensor_shape.as_shape(tensor.shape)
    if known.is_fully_defined():
        return known.as_list()[:-1]
    return op("StridedSlice", shape_op(tensor), [0], [-1], [1])


def _cross_entropy(labels, logits, axis, name):
    with scope(name, "softmax_cross_entropy_with_logits") as full:
        logits = convert_to_tensor(logits, name="logits")
        labels = cast(convert_to_tensor(labels, name="labels"), logits.dtype)
        order = move_to_last(logits, axis)
        if order is not None:
            logits, labels = op("Transpose", logits, order), op("Transpose", labels, order)
        if _rank(logits) == 2:
            labels = labels if _rank(labels) in (2, None) else _as_matrix(labels)
            return OPS["SoftmaxCrossEntropyWithLogits"](logits, labels, name=full)[0]
        loss = OPS["SoftmaxCrossEntropyWithLogits"](_as_matrix(logits), _as_matrix(labels))[0]
        return op("Reshape", loss, _batch_shape(logits), name=full)


@export(v1="nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: Axis = None,
    name: str | None = None,
    dim: TensorLike = None,
) -> Tensor:
    """Computes the softmax cross-entropy between `logits` and `labels`.

    Args:
      labels: Probability distributions along `axis`. Gradients flow to labels, too.
      logits: Unscaled log probabilities of the same shape.
      axis: The class dimension, the last one by default.
      dim: The name of `axis` in old programs.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `labels` without the class dimension.
    """
    return _cross_entropy(labels, logits, axis if dim is None else dim, name)


@export(v2="nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy(
    labels: TensorLike, logits: TensorLike, axis: Axis = -1, name: str | None = None
) -> Tensor:
    """Computes the softmax cross-entropy between `logits` and `labels`.

    Args:
      labels: Probability distributions along `axis`. Gradients flow to labels, too.
      logits: Unscaled log probabilities of the same shape.
      axis: The class dimension.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `labels` without the class dimension.
    """
    return _cross_entropy(labels, logits, axis, name)


@export(v1="nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: TensorLike = None,
    logits: TensorLike = None,
    dim: TensorLike = -1,
    name: str | None = None,
    axis: Axis = None,
) -> Tensor:
    """Computes the softmax cross-entropy between `logits` and `labels`; labels get no gradient.

    Args:
      labels: Probability distributions along `dim`.
      logits: Unscaled log probabilities of the same shape.
      dim: The class dimension.
      axis: Another name of `dim`.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `labels` without the class dimension.

    Raises:
      ValueError: If labels and logits are not passed by name.
    """
    _named("softmax_cross_entropy_with_logits", _sentinel, labels=labels, logits=logits)
    with scope(name, "softmax_cross_entropy_with_logits_sg") as full:
        fixed = op("StopGradient", convert_to_tensor(labels, name="labels_stop_gradient"))
        return _cross_entropy(fixed, logits, dim if axis is None else axis, full)


def _check_sparse_labels(labels, logits):
    """Raises ValueError unless class indices have the shape of the logits without the last axis."""
    if _rank(logits) == 0:
        raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}`")
    if None in (_rank(labels), _rank(logits)):
        return
    if _rank(labels) != _rank(logits) - 1:
        if style.is_graph():
            raise ValueError(
                f"Rank mismatch: Rank of labels (received {_rank(labels)}) should equal rank of "
                f"logits minus 1 (received {_rank(logits)})."
            )
        raise ValueError(
            "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: labels.shape="
            f"{labels.shape} of rank {_rank(labels)} and logits.shape={logits.shape} of rank "
            f"{_rank(logits)}"
        )
    known = labels.shape.is_fully_defined() and logits.shape[:-1].is_fully_defined()
    if known and labels.shape != logits.shape[:-1]:
        if style.is_graph():
            raise ValueError(
                f"Shape mismatch: The shape of labels (received {labels.shape}) should equal the "
                f"shape of logits except for the last dimension (received {logits.shape})."
            )
        raise ValueError(
            "`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
            f"labels.shape={labels.shape} and logits.shape={logits.shape}"
        )


def _sparse(labels, logits, name):
    with scope(name, "SparseSoftmaxCrossEntropyWithLogits") as full:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        _check_sparse_labels(labels, logits)
        if _rank(logits) in (2, None):
            return OPS["SparseSoftmaxCrossEntropyWithLogits"](logits, labels, name=full)[0]
        flat = op("Reshape", labels, [-1])
        loss = OPS["SparseSoftmaxCrossEntropyWithLogits"](_as_matrix(logits), flat)[0]
        return op("Reshape", loss, _batch_shape(logits), name=full)


@export(v1="nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: TensorLike = None,
    logits: TensorLike = None,
    name: str | None = None,
) -> Tensor:
    """Computes the softmax cross-entropy between `logits` and class indices.

    Args:
      labels: Class indices, int32 or int64, of the shape of `logits` without the last dimension.
      logits: Unscaled log probabilities.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `labels`.

    Raises:
      ValueError: If the ranks do not match, or arguments are not passed by name.
    """
    _named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels=labels, logits=logits)
    return _sparse(labels, logits, name)


@export(v2="nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy(
    labels: TensorLike, logits: TensorLike, name: str | None = None
) -> Tensor:
    """Computes the softmax cross-entropy between `logits` and class indices.

    Args:
      labels: Class indices, int32 or int64, of the shape of `logits` without the last dimension.
      logits: Unscaled log probabilities.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `labels`.

    Raises:
      ValueError: If the ranks do not match.
    """
    return _sparse(labels, logits, name)


def _sigmoid(labels, logits, name):
    with scope(name, "logistic_loss") as full:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, logits.dtype, name="labels")
        if not tensor_shape.as_shape(logits.shape).is_compatible_with(labels.shape):
            raise ValueError(
                "`logits` and `labels` must have the same shape, received "
                f"({logits.shape} vs {labels.shape})."
            )
        zero = op("ZerosLike", logits)
        positive = op("GreaterEqual", logits, zero)
        above = op("SelectV2", positive, logits, zero)
        below = op("SelectV2", positive, op("Neg", logits), logits)
        product = op("Mul", logits, labels)
        return op("Add", op("Sub", above, product), op("Log1p", op("Exp", below)), name=full)


@export(v1="nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: TensorLike = None,
    logits: TensorLike = None,
    name: str | None = None,
) -> Tensor:
    """Computes the element-wise sigmoid cross-entropy between `logits` and `labels`.

    Args:
      labels: Probabilities between 0 and 1.
      logits: A tensor of the shape and type of `labels`.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `logits`.

    Raises:
      ValueError: If the shapes differ, or arguments are not passed by name.
    """
    _named("sigmoid_cross_entropy_with_logits", _sentinel, labels=labels, logits=logits)
    return _sigmoid(labels, logits, name)


@export(v2="nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy(
    labels: TensorLike = None, logits: TensorLike = None, name: str | None = None
) -> Tensor:
    """Computes the element-wise sigmoid cross-entropy between `logits` and `labels`.

    Args:
      labels: Probabilities between 0 and 1.
      logits: A tensor of the shape and type of `labels`.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `logits`.

    Raises:
      ValueError: If the shapes differ.
    """
    return _sigmoid(labels, logits, name)


@export(v1="nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels: TensorLike = None,
    logits: TensorLike = None,
    pos_weight: TensorLike = None,
    name: str | None = None,
    targets: TensorLike = None,
) -> Tensor:
    """Computes the sigmoid cross-entropy with `pos_weight` on the positive term.

    Args:
      labels: The labels, from 0 to 1.
      logits: The logits, of the same shape.
      pos_weight: The weight of positive labels.
      name: A name for the operation (optional).
      targets: The targets.
    """
    return weighted_cross_entropy(targets if labels is None else labels, logits, pos_weight, name)


@export(v2="nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy(
    labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: str | None = None
) -> Tensor:
    """Computes the sigmoid cross-entropy with a weight on the positive term.

    Args:
      labels: Probabilities between 0 and 1.
      logits: A tensor of the shape and type of `labels`.
      pos_weight: The factor of the loss of positive labels.
      name: A name for the operation (optional).

    Returns:
      A tensor of the shape of `logits`.
    """
    with scope(name, "logistic_loss") as full:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, logits.dtype, name="labels")
        weight = 1 + (pos_weight - 1) * labels
        size = op("Log1p", op("Exp", op("Neg", op("Abs", logits))))
        rest = op("Relu", op("Neg", logits))
        return op("Add", (1 - labels) * logits, weight * (size + rest), name=full)


TopKV2 = collections.namedtuple("TopKV2", ["values", "indices"])


@export("nn.top_k", "math.top_k")
def top_k(
    input: TensorLike,
    k: int = 1,
    sorted: bool = True,
    index_type: DTypeLike = "int32",
    name: str | None = None,
) -> Any:
    """Finds the k largest elements along the last dimension.

    Args:
      input: A tensor of rank 1 or more.
      k: How many elements to return, at most the size of the last dimension.
      sorted: Ignored; the results are in descending order, equal ones in the order of their
        indices, NaN last.
      index_type: The type of the indices.
      name: A name for the operation (optional).

    Returns:
      A named tuple (values, indices).
    """
    values, indices = OPS["TopKV2"](input, k, sorted=sorted, name=name)
    return TopKV2(values, cast(indices, index_type))


@export(v1=("nn.in_top_k", "math.in_top_k"))
def in_top_k(
    predictions: TensorLike, targets: TensorLike, k: TensorLike, name: str | None = None
) -> Tensor:
    """Returns whether the target class is among the `k` largest predictions.

    Args:
      predictions: A float32 tensor of shape [batch, classes].
      targets: A tensor of class indices of shape [batch].
      k: How many predictions count.
      name: A name for the operation (optional).

    Returns:
      A boolean tensor of shape [batch].
    """
    targets = convert_to_tensor(targets)
    return op(
        "InTopKV2",
        predictions,
        targets,
        constant(k, targets.dtype) if isinstance(k, int) else k,
        name=name or "in_top_k",
    )


@export(v2=("nn.in_top_k", "math.in_top_k"))
def in_top_k_v2(
    targets: TensorLike, predictions: TensorLike, k: TensorLike, name: str | None = None
) -> Tensor:
    """Returns whether the target class is among the `k` largest predictions.

    Args:
      targets: A tensor of class indices of shape [batch].
      predictions: A float32 tensor of shape [batch, classes].
      k: How many predictions count.
      name: A name for the operation (optional).

    Returns:
      A boolean tensor of shape [batch].
    """
    return in_top_k(predictions, targets, k, name)


@export("nn.log_poisson_loss", v1="nn.log_poisson_loss")
def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> Tensor:
    """Computes `exp(log_input) - targets * log_input`, and adds Stirling's approximation of the
    constant term if `compute_full_loss`.

    Args:
      targets: The targets.
      log_input: The logarithm of the predictions.
      compute_full_loss: Whether to add the constant term.
      name: A name for the operation (optional).
    """
    with scope(name, "log_poisson_loss"):
        z, x = _pair(targets, log_input)
        result = op("Exp", x) - x * z
        if compute_full_loss:
            more = z * op("Log", z) - z + 0.5 * op("Log", 6.283185307179586 * z)
            inside = op(
                "LogicalAnd",
                op("GreaterEqual", z, op("ZerosLike", z)),
                op("LessEqual", z, op("OnesLike", z)),
            )
            result += op("SelectV2", inside, op("ZerosLike", z), more)
        return result


@export("nn.compute_average_loss")
def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike = None,
    global_batch_size: TensorLike = None,
) -> Tensor:
    """Scales per-example losses with sample weights and averages them over the global batch.

    Args:
      per_example_loss: A tensor of losses.
      sample_weight: Weights of the examples (optional).
      global_batch_size: The size of the batch of all replicas; by default the first dimension of
        the losses times the number of replicas.

    Returns:
      A scalar tensor; 0 if the batch is empty.

    Raises:
      InvalidArgumentError: The size is negative.
      RuntimeError: There is no size in cross-replica context.
      TypeError: The size is not an integer.
      ValueError: The losses or the size have the wrong rank.
    """
    losses = _checked_losses(convert_to_tensor(per_example_loss))
    if sample_weight is not None:
        losses = _weighted(losses, sample_weight)
    if global_batch_size is None:
        size, checks = shape_op(losses)[0] * _replicas_of_losses(), []
    else:
        size, checks = _checked_size(global_batch_size)
    with control_dependencies(checks):
        return divide_no_nan(op("Sum", losses), cast(size, losses.dtype))


def _checked_size(global_batch_size):
    """Returns a batch size, and the operations that check it if its value is not known."""
    size = check_ops.assert_scalar(global_batch_size, message="global_batch_size must be scalar. ")
    check_ops.assert_integer(size, message="global_batch_size must be an integer.")
    known = constant_value(size)
    if known is not None and known >= 0:
        return size, []
    with device("/device:CPU:0"):  # assertions have text
        check = check_ops.assert_non_negative(
            size, message="global_batch_size must be non-negative."
        )
    return size, [] if check is None else [check]


_LOSS_RANK = "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1."


def _checked_losses(losses):
    """Returns losses if they are no scalar."""
    rank = _rank(losses)
    if rank == 0:
        raise ValueError(f"{_LOSS_RANK} Received per_example_loss={losses} with rank 0")
    if rank is None:
        with device("/device:CPU:0"):
            check = check_ops.assert_greater_equal(op("Rank", losses), 1, message=_LOSS_RANK)
        with control_dependencies([check]):
            return op("Identity", losses)
    return losses


def _weighted(losses, weights):
    """Multiplies losses by weights with a dimension of size 1 more, or a dimension less."""
    weights = cast(convert_to_tensor(weights), losses.dtype)
    ranks = _rank(losses), _rank(weights)
    if None not in ranks and ranks[1] - ranks[0] == 1:
        weights = op("Squeeze", weights, [-1])
    elif None not in ranks and ranks[0] - ranks[1] == 1:
        weights = op("ExpandDims", weights, -1)
    return losses * weights


def _replicas_of_losses():
    """Returns the number of replicas; RuntimeError outside of a replica."""
    if variable.strategy() is not None:
        if in_cross_replica_context():
            raise RuntimeError(
                "You are calling `compute_average_loss` in cross replica context, while it was "
                "expected to be called in replica context."
            )
    return _replicas()


@export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """Divides the sum of regularization losses by the number of replicas.

    Args:
      regularization_loss: The losses.
    """
    return op("Sum", convert_to_tensor(regularization_loss)) / float(_replicas())


def _replicas():
    found = variable.strategy()
    return 1 if found is None else found.num_replicas_in_sync
