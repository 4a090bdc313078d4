# SPDX-License-Identifier: Apache-2.0
"""queue_batch.py: batches of elements from queues: tf.train.batch, shuffle_batch and their
variants."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import _situ
from situ._src.framework import nest
from situ._src.framework.api import OPS, export
from situ._src.framework.scopes import name_scope
from situ._src.framework.tensor_shape import Dimension
from situ._src.legacy.queue_runner import QueueRunner, add_queue_runner
from situ._src.legacy.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from situ._src.ops.array_ops import cast, convert_to_tensor
from situ._src.ops.sparse_ops import SparseTensor, convert_to_tensor_or_sparse_tensor
from situ._src.ops.sparse_serialization import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from situ._src.summary import summary_ops


class _Form:
    """Converts lists, dictionaries or one tensor to a list of dense tensors and back. Sparse
    tensors become strings."""

    def __init__(self, tensors, many):
        self.keys = sorted(tensors, key=str) if isinstance(tensors, dict) else None
        self.single = not isinstance(tensors, (dict, list, tuple))
        self.many = many
        self.types, self.ranks = [], []  # of the values; the rank of sparse elements, else None

    def _listed(self, tensors):
        if self.keys is not None:
            if not isinstance(tensors, dict) or sorted(tensors, key=str) != self.keys:
                raise ValueError("All dictionaries in tensors_list must have the same keys")
            tensors = [tensors[k] for k in self.keys]
        listed = [tensors] if self.single else list(tensors)
        if not listed:
            raise ValueError("Expected at least one tensor in batch().")
        return [convert_to_tensor_or_sparse_tensor(t) for t in listed]

    def flat(self, tensors):
        """Returns the dense tensors of an element.

        Raises:
          ValueError: If its keys, or what is sparse, differ from those of elements before.
          TypeError: If its types do.
        """
        listed = self._listed(tensors)
        types = [t.dtype.base_dtype for t in listed]
        ranks = [self._rank(t) if isinstance(t, SparseTensor) else None for t in listed]
        if not self.types:
            self.types, self.ranks = types, ranks
        if types != self.types:
            raise TypeError(
                "Expected types to be consistent: "
                f"{', '.join(t.name for t in self.types)} vs. {', '.join(t.name for t in types)}."
            )
        if len(ranks) != len(self.ranks) or any(
            (a is None) != (b is None) or (a is not None and not a.is_compatible_with(b))
            for a, b in zip(self.ranks, ranks)
        ):
            raise ValueError(f"Inconsistent SparseTensors list: {ranks} vs. {self.ranks}")
        store = serialize_many_sparse if self.many else serialize_sparse
        return [store(t) if isinstance(t, SparseTensor) else t for t in listed]

    def _rank(self, sparse):
        """Returns the rank of an element, a Dimension that may be unknown."""
        rank = sparse.dense_shape.shape.with_rank(1).as_list()[0]
        return Dimension(rank - 1 if self.many and rank is not None else rank)

    def back(self, result):
        result = list(result) if isinstance(result, (list, tuple)) else [result]
        result = [
            tensor if rank is None else deserialize_many_sparse(tensor, dtype, rank.value)
            for tensor, dtype, rank in zip(result, self.types, self.ranks)
        ]
        if self.keys is not None:
            return dict(zip(self.keys, result))
        return result[0] if len(result) == 1 else result  # a list of one is not kept


def _element_shapes(lists, given, many):
    if given is not None:
        return (
            [given]
            if not isinstance(given, (list, tuple))
            or (given and not isinstance(given[0], (list, tuple)) and not hasattr(given[0], "dims"))
            else list(given)
        )
    result = []
    for same in zip(*lists):
        for tensor in same:
            if tensor.shape.ndims is None:
                raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
        shapes = [t.shape.with_rank_at_least(1)[1:] if many else t.shape for t in same]
        shape = shapes[0]
        for other in shapes[1:]:
            if not shape.is_compatible_with(other):
                raise ValueError(f"Incompatible shapes: {shape} and {other}")
            shape = (
                shape.merge_with(other)
                if shape.is_fully_defined() or not other.is_fully_defined()
                else other.merge_with(shape)
            )
        result.append(shape)
    return result


def _checked_keep(keep_input, many):
    """Returns keep_input as a tensor; None if all elements are kept."""
    if keep_input is True:
        return None
    keep = convert_to_tensor(keep_input, "bool")
    if keep.shape.ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not many and keep.shape.ndims == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _enqueued(queue, tensors, many, keep):
    """Returns the operation that enqueues an element, or elements, as far as they are kept."""
    if keep is None:
        return queue.enqueue_many(tensors) if many else queue.enqueue(tensors)
    if not many:
        tensors = [OPS["ExpandDims"](t, 0) for t in tensors]
    if keep.shape.ndims == 0:
        keep = OPS["Fill"](OPS["Shape"](tensors[0])[:1], keep)
    rows = OPS["Reshape"](OPS["Where"](keep), [-1])
    return queue.enqueue_many([OPS["GatherV2"](t, rows, 0) for t in tensors])


@dataclasses.dataclass
class _Elements:
    """The tensors to enqueue: a list per element, evaluated by each of `threads` threads."""

    lists: list
    many: bool
    shapes: Any
    threads: int = 1
    keep_input: Any = True


@dataclasses.dataclass
class _Queue:
    """A function that creates the queue from types and shapes, and the properties of the queue."""

    create: Callable
    capacity: int
    least: int | None = None  # elements that stay in the queue to shuffle with
    dynamic: bool = False  # whether elements are padded


def _batches(source, elements, batch_size, smaller, scope):
    """Adds a queue, the threads that fill it and the op that dequeues a batch."""
    if _situ.executing_eagerly():
        raise ValueError(
            "Input pipelines based on Queues are not supported when eager execution is enabled. "
            "Please use tf.data to ingest data into your model instead."
        )
    lists, many = elements.lists, elements.many
    if not lists:
        raise ValueError("Expected at least one set of tensors")
    if source.least is not None and source.capacity <= source.least:
        raise ValueError(
            f"capacity {source.capacity} must be bigger than min_after_dequeue {source.least}."
        )
    form = _Form(lists[0], many)
    with name_scope(*scope, nest.flatten(lists)) as prefix:
        flat = [form.flat(tensors) for tensors in lists]
        keep = _checked_keep(elements.keep_input, many)
        shapes = _element_shapes(flat, elements.shapes, many)
        if not source.dynamic:
            for _, shape in zip(flat[0], shapes):
                if hasattr(shape, "is_fully_defined") and not shape.is_fully_defined():
                    raise ValueError(f"All shapes must be fully defined: {shapes}")
        queue = source.create(dtypes=[t.dtype.base_dtype for t in flat[0]], shapes=shapes)
        ops = []
        for tensors in flat:
            ops += [_enqueued(queue, tensors, many, keep)] * elements.threads
        add_queue_runner(QueueRunner(queue, ops))
        _show_fullness(queue, source.capacity, source.least or 0)
        take = queue.dequeue_up_to if smaller else queue.dequeue_many
        return form.back(take(batch_size, name=prefix))


def _show_fullness(queue, capacity, least):
    """Adds a summary of the fullness of a queue, above what it keeps for shuffling."""
    if not least:
        summary_ops.scalar(
            f"fraction_of_{capacity}_full", cast(queue.size(), "float32") * (1.0 / capacity)
        )
        return
    room = capacity - least
    more = OPS["Maximum"](0, queue.size() - least)
    summary_ops.scalar(
        f"fraction_over_{least}_of_{room}_full",
        cast(more, "float32") * (1.0 / room if room else 0.0),
    )


def _fifo(capacity, dynamic_pad, shared_name):
    kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    create = functools.partial(kind, capacity, shared_name=shared_name)
    return _Queue(create, capacity, dynamic=dynamic_pad)


def _shuffling(capacity, least, seed, shared_name):
    create = functools.partial(
        RandomShuffleQueue, capacity, least, seed=seed, shared_name=shared_name
    )
    return _Queue(create, capacity, least)


@export(v1="train.batch")
def batch(
    tensors: Any,
    batch_size: int | None,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of tensors from a queue that threads fill.

    Args:
      tensors: List or dictionary of tensors of an element, or one tensor.
      batch_size: Batch size.
      num_threads: Number of threads.
      capacity: Capacity of the queue.
      enqueue_many: Whether the tensors are batches of elements.
      shapes: Shapes of the elements; default: inferred.
      dynamic_pad: Whether to pad elements of different shapes with zeros.
      allow_smaller_final_batch: Whether the last batch may be smaller.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.

    Returns:
      Tensors of the structure of the input, but one tensor for a list of one.

    Raises:
      ValueError: If a shape is not fully defined and not padded.
    """
    queue = _fifo(capacity, dynamic_pad, shared_name)
    elements = _Elements([tensors], enqueue_many, shapes, num_threads)
    scope = (name, "batch")
    return _batches(queue, elements, batch_size, allow_smaller_final_batch, scope)


@export(v1="train.batch_join")
def batch_join(
    tensors_list: Any,
    batch_size: int | None,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of several lists of tensors, one thread each; further arguments as in
    batch.

    Args:
      tensors_list: List of such elements, one per thread.
      batch_size: Batch size.
      capacity: Capacity of the queue.
      enqueue_many: Whether the tensors are batches of elements.
      shapes: Shapes of the elements; default: inferred.
      dynamic_pad: Whether to pad elements of different shapes with zeros.
      allow_smaller_final_batch: Whether the last batch may be smaller.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.
    """
    queue = _fifo(capacity, dynamic_pad, shared_name)
    elements = _Elements(tensors_list, enqueue_many, shapes)
    scope = (name, "batch_join")
    return _batches(queue, elements, batch_size, allow_smaller_final_batch, scope)


@export(v1="train.shuffle_batch")
def shuffle_batch(
    tensors: Any,
    batch_size: int | None,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns shuffled batches of tensors from a queue that threads fill.

    Args:
      tensors: List or dictionary of tensors of an element, or one tensor.
      batch_size: Batch size.
      capacity: Capacity of the queue.
      min_after_dequeue: Number of elements that stay in the queue to shuffle with.
      num_threads: Number of threads.
      seed: Seed of the shuffling.
      enqueue_many: Whether the tensors are batches of elements.
      shapes: Shapes of the elements; default: inferred.
      allow_smaller_final_batch: Whether the last batch may be smaller.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.

    Returns:
      Tensors of the structure of the input, but one tensor for a list of one.

    Raises:
      ValueError: If a shape is not fully defined.
    """
    queue = _shuffling(capacity, min_after_dequeue, seed, shared_name)
    elements = _Elements([tensors], enqueue_many, shapes, num_threads)
    scope = (name, "shuffle_batch")
    return _batches(queue, elements, batch_size, allow_smaller_final_batch, scope)


@export(v1="train.shuffle_batch_join")
def shuffle_batch_join(
    tensors_list: Any,
    batch_size: int | None,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns shuffled batches of several lists of tensors; further arguments as in
    shuffle_batch.

    Args:
      tensors_list: List of such elements, one per thread.
      batch_size: Batch size.
      capacity: Capacity of the queue.
      min_after_dequeue: Number of elements that stay in the queue to shuffle with.
      seed: Seed of the shuffling.
      enqueue_many: Whether the tensors are batches of elements.
      shapes: Shapes of the elements; default: inferred.
      allow_smaller_final_batch: Whether the last batch may be smaller.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.
    """
    queue = _shuffling(capacity, min_after_dequeue, seed, shared_name)
    elements = _Elements(tensors_list, enqueue_many, shapes)
    scope = (name, "shuffle_batch_join")
    return _batches(queue, elements, batch_size, allow_smaller_final_batch, scope)


@export(v1="train.maybe_batch")
def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: int | None,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like batch, but enqueues only what keep_input selects.

    Args:
      tensors: List or dictionary of tensors of an element, or one tensor.
      keep_input: Whether to enqueue the element: a boolean scalar; with enqueue_many also a
        vector with one value per element.
      batch_size: Batch size.
      num_threads: Number of threads.
      capacity: Capacity of the queue.
      enqueue_many: Whether the tensors are batches of elements.
      shapes: Shapes of the elements; default: inferred.
      dynamic_pad: Whether to pad elements of different shapes with zeros.
      allow_smaller_final_batch: Whether the last batch may be smaller.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.

    Returns:
      As batch.

    Raises:
      ValueError: As batch, or if keep_input is neither a scalar nor, with
        enqueue_many, a vector.
    """
    queue = _fifo(capacity, dynamic_pad, shared_name)
    elements = _Elements([tensors], enqueue_many, shapes, num_threads, keep_input=keep_input)
    scope = (name, "batch")
    return _batches(queue, elements, batch_size, allow_smaller_final_batch, scope)


@export(v1="train.maybe_batch_join")
def maybe_batch_join(
    tensors_list: Any,
    keep_input: Any,
    batch_size: int | None,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like batch_join, but enqueues only what keep_input selects.

    Args:
      tensors_list: List of such elements, one per thread.
      keep_input: Whether to enqueue the element: a boolean scalar; with enqueue_many also a
        vector with one value per element.
      batch_size: Batch size.
      capacity: Capacity of the queue.
      enqueue_many: Whether the tensors are batches of elements.
      shapes: Shapes of the elements; default: inferred.
      dynamic_pad: Whether to pad elements of different shapes with zeros.
      allow_smaller_final_batch: Whether the last batch may be smaller.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.

    Returns:
      As batch_join.

    Raises:
      ValueError: As batch_join, or if keep_input is neither a scalar nor, with
        enqueue_many, a vector.
    """
    queue = _fifo(capacity, dynamic_pad, shared_name)
    elements = _Elements(tensors_list, enqueue_many, shapes, keep_input=keep_input)
    scope = (name, "batch_join")
    return _batches(queue, elements, batch_size, allow_smaller_final_batch, scope)


@export(v1="train.maybe_shuffle_batch")
def maybe_shuffle_batch(
    tensors: Any,
    batch_size: int | None,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like shuffle_batch, but enqueues only what keep_input selects.

    Args:
      tensors: List or dictionary of tensors of an element, or one tensor.
      batch_size: Batch size.
      capacity: Capacity of the queue.
      min_after_dequeue: Number of elements that stay in the queue to shuffle with.
      keep_input: Whether to enqueue the element: a boolean scalar; with enqueue_many also a
        vector with one value per element.
      num_threads: Number of threads.
      seed: Seed of the shuffling.
      enqueue_many: Whether the tensors are batches of elements.
      shapes: Shapes of the elements; default: inferred.
      allow_smaller_final_batch: Whether the last batch may be smaller.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.

    Returns:
      As shuffle_batch.

    Raises:
      ValueError: As shuffle_batch, or if keep_input is neither a scalar nor, with
        enqueue_many, a vector.
    """
    queue = _shuffling(capacity, min_after_dequeue, seed, shared_name)
    elements = _Elements([tensors], enqueue_many, shapes, num_threads, keep_input=keep_input)
    scope = (name, "shuffle_batch")
    return _batches(queue, elements, batch_size, allow_smaller_final_batch, scope)


@export(v1="train.maybe_shuffle_batch_join")
def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: int | None,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Like shuffle_batch_join, but enqueues only what keep_input selects.

    Args:
      tensors_list: List of such elements, one per thread.
      batch_size: Batch size.
      capacity: Capacity of the queue.
      min_after_dequeue: Number of elements that stay in the queue to shuffle with.
      keep_input: Whether to enqueue the element: a boolean scalar; with enqueue_many also a
        vector with one value per element.
      seed: Seed of the shuffling.
      enqueue_many: Whether the tensors are batches of elements.
      shapes: Shapes of the elements; default: inferred.
      allow_smaller_final_batch: Whether the last batch may be smaller.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.

    Returns:
      As shuffle_batch_join.

    Raises:
      ValueError: As shuffle_batch_join, or if keep_input is neither a scalar nor, with
        enqueue_many, a vector.
    """
    queue = _shuffling(capacity, min_after_dequeue, seed, shared_name)
    elements = _Elements(tensors_list, enqueue_many, shapes, keep_input=keep_input)
    scope = (name, "shuffle_batch_join")
    return _batches(queue, elements, batch_size, allow_smaller_final_batch, scope)
