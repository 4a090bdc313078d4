# SPDX-License-Identifier: Apache-2.0
"""weights_broadcast_ops.py: aligns the shapes of labels, predictions and weights for tf.metrics and
tf.losses.

Weights are a scalar, or have the rank of the values with each dimension 1 or that of the values.
Metrics first remove or add a last dimension of 1 where ranks differ by one. If a rank is unknown
while building a graph, the graph computes the new shape.
"""

from situ._src.framework.graph import scope
from situ._src.framework.scopes import control_dependencies
from situ._src.ops.array_ops import cast, convert_to_tensor, op
from situ._src.ops.check_ops import Assert

_PREFIX = "weights can not be broadcast to values."


def _rank(tensor):
    return op("Rank", tensor)


def _with_rank(tensor, rank):
    """Reshapes a tensor to a computed rank by dropping last dimensions or adding one of 1."""
    sizes = op("ConcatV2", [op("Shape", tensor), [1]], 0)
    return op("Reshape", tensor, op("Slice", sizes, [0], op("Reshape", rank, [1])))


def _is(condition):
    return cast(condition, "int32")


def _may_squeeze(tensor):
    return tensor.shape.ndims is None or tensor.shape.dims[-1].is_compatible_with(1)


def remove_squeezable_dimensions(labels, predictions, expected_rank_diff=0, name=None):
    """Squeezes the last dimension of labels or predictions if its rank is one too large."""
    with scope(name, "remove_squeezable_dimensions"):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        p, n = predictions.shape.ndims, labels.shape.ndims
        if p is not None and n is not None:
            if p - n == expected_rank_diff + 1 and _may_squeeze(predictions):
                predictions = op("Squeeze", predictions, [-1])
            elif p - n == expected_rank_diff - 1 and _may_squeeze(labels):
                labels = op("Squeeze", labels, [-1])
            return labels, predictions
        of_predictions, of_labels = _rank(predictions), _rank(labels)
        diff = of_predictions - of_labels
        if p != 0 and _may_squeeze(predictions):
            predictions = _with_rank(
                predictions, of_predictions - _is(op("Equal", diff, expected_rank_diff + 1))
            )
        if n != 0 and _may_squeeze(labels):
            labels = _with_rank(labels, of_labels - _is(op("Equal", diff, expected_rank_diff - 1)))
        return labels, predictions


def match_weights(weights, values):
    """Squeezes or expands the last dimension of weights to match the rank of the values."""
    weights = convert_to_tensor(weights)
    w, v = weights.shape.ndims, values.shape.ndims
    if w == 0:
        return weights
    if w is not None and v is not None:
        if w - v == 1:
            return op("Squeeze", weights, [-1])
        return op("ExpandDims", weights, -1) if v - w == 1 else weights
    rank = _rank(weights)
    diff, scalar = rank - _rank(values), op("Equal", rank, 0)
    change = _is(op("Equal", diff, -1)) - (
        _is(op("Equal", diff, 1)) if w is None or _may_squeeze(weights) else 0
    )
    return _with_rank(weights, rank + (1 - _is(scalar)) * change)


def squeeze_weights(weights, labels):
    """Squeezes the last dimension of weights if their rank is larger by one than that of labels."""
    weights = convert_to_tensor(weights)
    w, n = weights.shape.ndims, labels.shape.ndims
    if w == 0 or w is not None and n is not None and w != n + 1 or not _may_squeeze(weights):
        return weights
    if w is not None and n is not None:
        return op("Squeeze", weights, [-1])
    rank = _rank(weights)
    return _with_rank(weights, rank - _is(op("Equal", rank - _rank(labels), 1)))


def matched(labels, predictions, weights):
    """Returns (labels, predictions, weights) with shapes that match."""
    labels, predictions = remove_squeezable_dimensions(labels, predictions)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions, None if weights is None else match_weights(weights, predictions)


def assert_broadcastable(weights, values):
    """Returns assertions that weights broadcast to values; ValueError if the static shapes do
    not."""
    weights, values = convert_to_tensor(weights), convert_to_tensor(values)
    w, v = weights.shape.ndims, values.shape.ndims
    if w == 0:
        return []
    if w is None or v is None:
        return [_assert_at_run_time(weights, values)]
    if w != v:
        raise ValueError(
            f"{_PREFIX} values.rank={v}. weights.rank={w}. values.shape="
            f"{values.shape}. weights.shape={weights.shape}. Received "
            f"weights={weights}, values={values}"
        )
    for i, (mine, other) in enumerate(zip(weights.shape.as_list(), values.shape.as_list())):
        if None not in (mine, other) and mine not in (1, other):
            raise ValueError(
                f"{_PREFIX} Mismatch at dim {i}. values.shape={values.shape}, "
                f"weights.shape={weights.shape}. Received weights={weights}, "
                f"values={values}"
            )
    if weights.shape.is_fully_defined() and values.shape.is_fully_defined():
        return []
    return [_assert_at_run_time(weights, values)]


def _assert_at_run_time(weights, values):
    """Returns an assertion: weights are a scalar, or have the rank of the values and each dimension
    is 1 or that of the values."""
    of_weights, of_values = op("Shape", weights), op("Shape", values)
    w, v = _rank(weights), _rank(values)
    most = op("Maximum", w, v)
    ours, theirs = (
        op("ConcatV2", [sizes, op("Fill", op("Reshape", most - rank, [1]), 1)], 0)
        for sizes, rank in ((of_weights, w), (of_values, v))
    )
    is_same = op("All", op("LogicalOr", op("Equal", ours, 1), op("Equal", ours, theirs)), [0])
    fits = op("LogicalOr", op("Equal", w, 0), op("LogicalAnd", op("Equal", w, v), is_same))
    data = [_PREFIX, "weights.shape=", weights.name, of_weights, "values.shape=", values.name]
    return Assert(fits, [*data, of_values, "is_scalar=", op("Equal", w, 0)])


def broadcast_weights(weights, values):
    """Broadcasts weights to the shape of the values."""
    values = convert_to_tensor(values)
    weights = cast(convert_to_tensor(weights), values.dtype)
    with control_dependencies(assert_broadcastable(weights, values)):
        broadcast = weights * op("OnesLike", values)
        if broadcast.shape.is_fully_defined() and values.shape.is_fully_defined():
            return broadcast
        return op("Reshape", broadcast, op("Shape", values))  # fails if values were broadcast
