# SPDX-License-Identifier: Apache-2.0
"""top_k_metrics.py: tf.metrics of the k best classes: recall, precision, average precision.

Labels and predictions of an example are sets of class ids: an id that occurs twice counts once.
A set is a pair of tensors [..., n]: ids, and whether each of them belongs to it. Sums are float64.
"""

from situ._src.framework.api import V1
from situ._src.framework.scopes import control_dependencies
from situ._src.ops.array_ops import cast, constant, convert_to_tensor, identity, op
from situ._src.ops.sparse_ops import SparseTensor, sparse_tensor_to_dense
from situ._src.ops.weights_broadcast_ops import assert_broadcastable, broadcast_weights
from situ._src.training.metrics import finish, local, metric, predictions_first
from situ._src.variables.variable_scope import variable_scope

_NOTHING = -(2**63)  # padding for ids that a sparse tensor lacks


def _dense(labels, rank):
    """Returns (ids [..., n], mask of existing ids) of dense or sparse labels."""
    if isinstance(labels, SparseTensor) or hasattr(labels, "dense_shape"):
        values = cast(convert_to_tensor(labels.values), "int64")
        ids = sparse_tensor_to_dense(
            SparseTensor(labels.indices, values, labels.dense_shape), constant(_NOTHING, "int64")
        )
        valid = op("NotEqual", ids, constant(_NOTHING, "int64"))
    else:
        ids = cast(convert_to_tensor(labels), "int64")
        valid = op("Equal", ids, ids)
    have = ids.shape.ndims
    if have is not None and rank is not None and have not in (rank, rank - 1):
        raise ValueError(
            f"Unexpected labels shape {ids.shape} for predictions of rank {rank}. "
            "Predictions rank should be the same rank as labels rank or labels rank "
            "plus one ."
        )
    if have is not None and rank is not None and have == rank - 1:
        return op("ExpandDims", ids, -1), op("ExpandDims", valid, -1)
    return ids, valid


def _equal_pairs(a, b):
    """Returns [..., n, m]: whether element n of a equals element m of b."""
    same = op("Equal", op("ExpandDims", a[0], -1), op("ExpandDims", b[0], -2))
    return op(
        "LogicalAnd", op("LogicalAnd", same, op("ExpandDims", a[1], -1)), op("ExpandDims", b[1], -2)
    )


def _as_set(ids, mask, class_id=None):
    """Masks duplicate ids, and classes other than class_id if given."""
    if class_id is not None:
        mask = op("LogicalAnd", mask, op("Equal", ids, constant(class_id, "int64")))
    pairs = cast(_equal_pairs((ids, mask), (ids, mask)), "int32")
    earlier = op("Sum", op("MatrixBandPart", pairs, -1, 0), [-1])  # including itself
    return ids, op("LogicalAnd", mask, op("Equal", earlier, 1))


def _is_member(a, b):
    """Returns [..., n]: whether an element of a is in b."""
    return op("Any", _equal_pairs(a, b), [-1])


def _size(flags):
    return op("Sum", cast(flags, "float64"), [-1])


def _total(name, sizes, weights):
    """Returns (value, update op) of the weighted sum of sizes."""
    if weights is not None:
        with control_dependencies(assert_broadcastable(weights, sizes)):
            sizes = sizes * cast(convert_to_tensor(weights), "float64")
    kept = local(name, (), "float64")
    return kept.value(), kept.assign_add(op("Sum", sizes))


def _at_k(name, k, class_id=None):
    name = f"{name}_at_{'k' if k is None else k}"
    return name if class_id is None else f"{name}_class{class_id}"


def _hits_and_misses(labels, predictions_idx, class_id):
    """Returns the label and prediction sets and the number of correct predictions."""
    ids = cast(convert_to_tensor(predictions_idx), "int64")
    labels, valid = _dense(labels, ids.shape.ndims)
    labels = _as_set(labels, valid, class_id)
    chosen = _as_set(ids, op("Equal", ids, ids), class_id)
    return labels, chosen, _size(_is_member(chosen, labels))


def _share(hits, misses, metrics_collections, updates_collections):
    return finish(
        identity(hits[0] / (hits[0] + misses[0]), name="value"),
        identity(hits[1] / (hits[1] + misses[1]), name="update"),
        metrics_collections,
        updates_collections,
    )


def _best(predictions, k):
    return cast(op("TopKV2", convert_to_tensor(predictions), constant(k))[1], "int64")


@metric
def recall_at_top_k(
    labels,
    predictions_idx,
    k=None,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the fraction of labels among the predicted classes.

    Args:
      labels: The labels.
      predictions_idx: Tensor [batch, k] of class ids.
      k: Number of best predictions.
      class_id: Class to look at; default: all.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    with variable_scope(name, _at_k("recall", k, class_id)):
        labels, chosen, hits = _hits_and_misses(labels, predictions_idx, class_id)
        missed = _size(op("LogicalAnd", labels[1], op("LogicalNot", _is_member(labels, chosen))))
        return _share(
            _total(_at_k("true_positive", k, class_id), hits, weights),
            _total(_at_k("false_negative", k, class_id), missed, weights),
            metrics_collections,
            updates_collections,
        )


@metric
def recall_at_k(
    labels,
    predictions,
    k,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the fraction of labels among the k best predictions.

    Args:
      labels: The labels.
      predictions: The predictions.
      k: Number of best predictions.
      class_id: Class to look at; default: all.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    return recall_at_top_k(
        labels,
        _best(predictions, k),
        k,
        class_id,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )


@metric
def precision_at_top_k(
    labels,
    predictions_idx,
    k=None,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the fraction of predicted classes that are labels.

    Args:
      labels: The labels.
      predictions_idx: Tensor [batch, k] of class ids.
      k: Number of best predictions.
      class_id: Class to look at; default: all.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    with variable_scope(name, _at_k("precision", k, class_id)):
        labels, chosen, hits = _hits_and_misses(labels, predictions_idx, class_id)
        wrong = _size(op("LogicalAnd", chosen[1], op("LogicalNot", _is_member(chosen, labels))))
        return _share(
            _total(_at_k("true_positive", k, class_id), hits, weights),
            _total(_at_k("false_positive", k, class_id), wrong, weights),
            metrics_collections,
            updates_collections,
        )


@metric
def precision_at_k(
    labels,
    predictions,
    k,
    class_id=None,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the fraction of the k best predictions that are labels.

    Args:
      labels: The labels.
      predictions: The predictions.
      k: Number of best predictions.
      class_id: Class to look at; default: all.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    return precision_at_top_k(
        labels,
        _best(predictions, k),
        k,
        class_id,
        weights,
        metrics_collections,
        updates_collections,
        name,
    )


def _average_precision(labels, chosen, k, classes):
    """Returns the mean precision at each of the first k predictions that is a label."""
    ids, valid = _dense(labels, chosen.shape.ndims)
    ids = op("SelectV2", op("Less", ids, classes), ids, constant(-1, "int64"))
    found = cast(_is_member((chosen, op("Equal", chosen, chosen)), _as_set(ids, valid)), "float64")
    retrieved = op("Cumsum", op("OnesLike", found), -1)
    precision = op("Cumsum", found, -1) / retrieved * found
    known = op("LogicalAnd", valid, op("GreaterEqual", ids, constant(0, "int64")))
    relevant = op("Minimum", _size(known), constant(k, "float64"))
    return op("Sum", precision, [-1]) / relevant


@metric
def average_precision_at_k(
    labels,
    predictions,
    k,
    weights=None,
    metrics_collections=None,
    updates_collections=None,
    name=None,
):
    """Computes the mean average precision of the k best predictions.

    Args:
      labels: The labels.
      predictions: The predictions.
      k: Number of best predictions.
      weights: Weights of the values, which broadcast to them.
      metrics_collections: Collections of the value.
      updates_collections: Collections of the update operation.
      name: A name for the operation (optional).
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}. `k` should be >= 1.")
    with variable_scope(name, _at_k("average_precision", k)):
        predictions = convert_to_tensor(predictions)
        classes = cast(op("Shape", predictions)[-1], "int64")
        average = _average_precision(labels, _best(predictions, k), k, classes)
        share = (
            op("OnesLike", average)
            if weights is None
            else broadcast_weights(cast(convert_to_tensor(weights), "float64"), average)
        )
        total, count = local("total", (), "float64"), local("max", (), "float64")
        new_total = total.assign_add(op("Sum", average * share))
        new_count = count.assign_add(op("Sum", share))
        return finish(
            op("DivNoNan", total, count, name="mean"),
            op("DivNoNan", new_total, new_count, name="update"),
            metrics_collections,
            updates_collections,
        )


V1["metrics.sparse_precision_at_k"] = precision_at_k
V1["metrics.sparse_average_precision_at_k"] = average_precision_at_k
V1["contrib.metrics.streaming_recall_at_k"] = predictions_first(recall_at_k)
V1["contrib.metrics.streaming_sparse_recall_at_k"] = predictions_first(recall_at_k)
V1["contrib.metrics.streaming_sparse_precision_at_k"] = predictions_first(precision_at_k)
V1["contrib.metrics.streaming_sparse_average_precision_at_k"] = predictions_first(
    average_precision_at_k
)
