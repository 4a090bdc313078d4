# SPDX-License-Identifier: Apache-2.0
"""losses.py: softmax, cross-entropies, top_k and in_top_k, average losses."""

import collections

from situ._src.framework import tensor_shape
from situ._src.framework.api import OPS, export
from situ._src.framework.graph import scope
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, op
from situ._src.ops.array_ops import shape as shape_op
from situ._src.ops.math_ops import _pair
from situ._src.ops.reduction_ops import moved_last, swapped
from situ._src.variables import variable


def _rank(tensor):
    return tensor_shape.as_shape(tensor.shape).ndims


def _along(row, tensor, axis, name):
    order = swapped(tensor, axis)
    if order is None:
        return op(row, tensor, name=name)
    return op("Transpose", op(row, op("Transpose", tensor, order)), order, name=name)


def _soft(row, word):
    def soft(logits, axis=None, name=None, dim=None):
        tensor = convert_to_tensor(logits, name="logits")
        return _along(row, tensor, axis if dim is None else dim, name)

    soft.__name__, soft.__doc__ = word, OPS[row].__doc__
    export("nn." + word, "math." + word)(soft)
    return soft


softmax = _soft("Softmax", "softmax")
log_softmax = _soft("LogSoftmax", "log_softmax")


def _named(function, sentinel, **words):
    """Labels and logits are given by name: their order is easily mistaken."""
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )
    for word, value in words.items():
        if value is None:
            raise ValueError(f"Argument `{word}` must not be None.")


def _rows(tensor):
    """The tensor as a matrix of rows along its last axis."""
    width = tensor_shape.as_shape(tensor.shape).as_list()[-1] if _rank(tensor) else None
    if width is None:
        width = op("StridedSlice", shape_op(tensor), [-1], [0], [1], shrink_axis_mask=1)
    return op(
        "Reshape",
        tensor,
        op("Pack", [constant(-1, "int32"), width]) if not isinstance(width, int) else [-1, width],
    )


def _front(tensor):
    """The shape without the last dimension."""
    known = tensor_shape.as_shape(tensor.shape)
    if known.is_fully_defined():
        return known.as_list()[:-1]
    return op("StridedSlice", shape_op(tensor), [0], [-1], [1])


def _cross_entropy(labels, logits, axis, name):
    with scope(name, "softmax_cross_entropy_with_logits") as full:
        logits = convert_to_tensor(logits, name="logits")
        labels = cast(convert_to_tensor(labels, name="labels"), logits.dtype)
        order = moved_last(logits, axis)
        if order is not None:
            logits, labels = op("Transpose", logits, order), op("Transpose", labels, order)
        if _rank(logits) == 2:
            labels = labels if _rank(labels) in (2, None) else _rows(labels)
            return OPS["SoftmaxCrossEntropyWithLogits"](logits, labels, name=full)[0]
        loss = OPS["SoftmaxCrossEntropyWithLogits"](_rows(logits), _rows(labels))[0]
        return op("Reshape", loss, _front(logits), name=full)


@export(v1="nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name=None, dim=None):
    """The cross-entropy of softmax(logits) with distributions."""
    return _cross_entropy(labels, logits, axis if dim is None else dim, name)


@export(v2="nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy(labels, logits, axis=-1, name=None):
    """The cross-entropy of softmax(logits) with distributions."""
    return _cross_entropy(labels, logits, axis, name)


@export(v1="nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    _sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None
):
    """The same; no gradient goes to the labels."""
    _named("softmax_cross_entropy_with_logits", _sentinel, labels=labels, logits=logits)
    with scope(name, "softmax_cross_entropy_with_logits_sg") as full:
        fixed = op("StopGradient", convert_to_tensor(labels, name="labels_stop_gradient"))
        return _cross_entropy(fixed, logits, dim if axis is None else axis, full)


def _sparse(labels, logits, name):
    with scope(name, "SparseSoftmaxCrossEntropyWithLogits") as full:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        if None not in (_rank(labels), _rank(logits)) and _rank(labels) != _rank(logits) - 1:
            raise ValueError(
                f"Rank mismatch: Rank of labels (received {_rank(labels)}) should "
                f"equal rank of logits minus 1 (received {_rank(logits)})."
            )
        if _rank(logits) in (2, None):
            return OPS["SparseSoftmaxCrossEntropyWithLogits"](logits, labels, name=full)[0]
        flat = op("Reshape", labels, [-1])
        loss = OPS["SparseSoftmaxCrossEntropyWithLogits"](_rows(logits), flat)[0]
        return op("Reshape", loss, _front(logits), name=full)


@export(v1="nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """The cross-entropy of softmax(logits) with classes."""
    _named("sparse_softmax_cross_entropy_with_logits", _sentinel, labels=labels, logits=logits)
    return _sparse(labels, logits, name)


@export(v2="nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy(labels, logits, name=None):
    """The cross-entropy of softmax(logits) with classes."""
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
def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """The cross-entropy of sigmoid(logits) with probabilities, element by element."""
    _named("sigmoid_cross_entropy_with_logits", _sentinel, labels=labels, logits=logits)
    return _sigmoid(labels, logits, name)


@export(v2="nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy(labels=None, logits=None, name=None):
    """The cross-entropy of sigmoid(logits) with probabilities, element by element."""
    return _sigmoid(labels, logits, name)


@export(v1="nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels=None, logits=None, pos_weight=None, name=None, targets=None
):
    """The same, with a weight for what is true."""
    return weighted_cross_entropy(targets if labels is None else labels, logits, pos_weight, name)


@export(v2="nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy(labels, logits, pos_weight, name=None):
    with scope(name, "logistic_loss") as full:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, logits.dtype, name="labels")
        weight = 1 + (pos_weight - 1) * labels
        size = op("Log1p", op("Exp", op("Neg", op("Abs", logits))))
        rest = op("Relu", op("Neg", logits))
        return op("Add", (1 - labels) * logits, weight * (size + rest), name=full)


TopK = collections.namedtuple("TopKV2", ["values", "indices"])


@export("nn.top_k", "math.top_k")
def top_k(input, k=1, sorted=True, index_type="int32", name=None):
    """The k largest elements along the last dimension, and their indices."""
    values, indices = OPS["TopKV2"](input, k, sorted=sorted, name=name)
    return TopK(values, cast(indices, index_type))


@export(v1=("nn.in_top_k", "math.in_top_k"))
def in_top_k(predictions, targets, k, name=None):
    """Whether the class of each row is among the k with the largest predictions."""
    targets = convert_to_tensor(targets)
    return op(
        "InTopKV2",
        predictions,
        targets,
        constant(k, targets.dtype) if isinstance(k, int) else k,
        name=name or "in_top_k",
    )


@export(v2=("nn.in_top_k", "math.in_top_k"))
def in_top_k_v2(targets, predictions, k, name=None):
    """Whether the class of each row is among the k with the largest predictions."""
    return in_top_k(predictions, targets, k, name)


@export("nn.log_poisson_loss", v1="nn.log_poisson_loss")
def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """exp(x) - x z, with Stirling's approximation where all of it is wanted."""
    with scope(name, "log_poisson_loss"):
        z, x = _pair(targets, log_input)
        made = op("Exp", x) - x * z
        if compute_full_loss:
            more = z * op("Log", z) - z + 0.5 * op("Log", 6.283185307179586 * z)
            inside = op(
                "LogicalAnd",
                op("GreaterEqual", z, op("ZerosLike", z)),
                op("LessEqual", z, op("OnesLike", z)),
            )
            made += op("SelectV2", inside, op("ZerosLike", z), more)
        return made


@export("nn.compute_average_loss")
def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """The sum of losses over the size of the whole batch."""
    losses = convert_to_tensor(per_example_loss)
    if sample_weight is not None:
        losses = losses * cast(convert_to_tensor(sample_weight), losses.dtype)
    size = op("Size", losses) * _replicas() if global_batch_size is None else global_batch_size
    return op("Sum", losses) / cast(size, losses.dtype)


@export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss):
    """The sum of penalties, for one replica."""
    return op("Sum", convert_to_tensor(regularization_loss)) / float(_replicas())


def _replicas():
    found = variable.strategy()
    return 1 if found is None else found.num_replicas_in_sync
