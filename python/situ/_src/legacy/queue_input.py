# SPDX-License-Identifier: Apache-2.0
"""queue_input.py: input from queues: string_input_producer, batch, shuffle_batch and the like."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import OPS, export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.scopes import name_scope
from situ._src.legacy.queue_runner import QueueRunner, add_queue_runner
from situ._src.legacy.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from situ._src.ops.array_ops import cast, convert_to_tensor, identity
from situ._src.ops.check_ops import Assert
from situ._src.ops.random_ops import get_seed
from situ._src.summary import summary_ops
from situ._src.variables.variable import variable

NO_STRINGS = "string_input_producer requires a non-null input tensor"


@export(v1="train.match_filenames_once")
def match_filenames_once(pattern, name: str | None = None):
    """Returns a tensor with the names of the files that match a pattern.

    Unlike the variable of TensorFlow it is evaluated again in each run that reads it.
    """
    return OPS["MatchingFiles"](pattern, name=name)


def count_up_to(ref, limit, name=None):
    """Increments a variable; raises OutOfRangeError at the limit."""
    if hasattr(ref, "count_up_to"):
        return ref.count_up_to(limit)
    return OPS["CountUpTo"](ref._ref_(), limit=limit, name=name)


@export(v1="train.limit_epochs")
def limit_epochs(tensor, num_epochs: int | None = None, name: str | None = None):
    """Returns a tensor that can be read num_epochs times; then runs raise OutOfRangeError.

    The count is a local variable, which must be initialized. None for num_epochs returns the
    tensor itself.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        with get_default_graph().device("/cpu:0"):
            epochs = variable(
                convert_to_tensor(0, "int64"),
                name="epochs",
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
            )
        counter = count_up_to(epochs, num_epochs)
        with get_default_graph().control_dependencies([counter]):
            return identity(tensor, name=scope)


def _shuffled(tensor, seed):
    count = OPS["Shape"](tensor)[0]
    one, two = get_seed(seed)
    order = OPS["RandomShuffle"](OPS["Range"](0, count, 1), seed=one or 0, seed2=two or 0)
    return OPS["GatherV2"](tensor, order, 0)


@export(v1="train.input_producer")
def input_producer(
    input_tensor,
    element_shape=None,
    num_epochs: int | None = None,
    shuffle: Any = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name=None,
    name: str | None = None,
    cancel_op=None,
):
    """Returns a queue that a QueueRunner fills with the rows of a tensor.

    Args:
      input_tensor: Tensor with one row per element.
      element_shape: Shape of an element; default: inferred.
      num_epochs: Number of times each row is enqueued; None: endlessly.
      shuffle: Whether to shuffle the rows of each epoch.
      seed: Seed of the shuffling.
      capacity: Capacity of the queue.
      shared_name: Name under which sessions share the queue.
      summary_name: Name of the summary of the queue's fullness.
      name: Name scope of the ops.
      cancel_op: Op that cancels pending enqueues; default: that of QueueRunner.

    Returns:
      The queue.

    Raises:
      ValueError: If the shape of an element is not fully defined, or num_epochs is not positive.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        tensor = convert_to_tensor(input_tensor, name="input_tensor")
        shape = tensor.shape[1:].merge_with(element_shape)
        if not shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or "
                "`element_shape` must be specified"
            )
        if shuffle:
            tensor = _shuffled(tensor, seed)
        tensor = limit_epochs(tensor, num_epochs)
        queue = FIFOQueue(
            capacity=capacity,
            dtypes=[tensor.dtype.base_dtype],
            shapes=[shape],
            shared_name=shared_name,
            name=name or "input_producer",
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([tensor])], cancel_op=cancel_op))
        if summary_name is not None:
            summary_ops.scalar(summary_name, cast(queue.size(), "float32") * (1.0 / capacity))
        return queue


@export(v1="train.string_input_producer")
def string_input_producer(
    string_tensor,
    num_epochs: int | None = None,
    shuffle: Any = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op=None,
):
    """Returns a queue of strings, usually file names; arguments as in input_producer.

    Raises:
      ValueError: If the list of strings is empty. An empty tensor fails when it
        is enqueued.
    """
    if not hasattr(string_tensor, "dtype") and not len(string_tensor):
        raise ValueError(NO_STRINGS)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        tensor = convert_to_tensor(string_tensor, "string")
        if not tensor.shape.num_elements():  # a runner would add nothing, for ever
            enough = OPS["Greater"](OPS["Size"](tensor), 0)
            with get_default_graph().control_dependencies([Assert(enough, [NO_STRINGS])]):
                tensor = identity(tensor)
        return input_producer(
            tensor,
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
            cancel_op,
        )


@export(v1="train.range_input_producer")
def range_input_producer(
    limit,
    num_epochs: int | None = None,
    shuffle: Any = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
):
    """Returns a queue of the integers from 0 to limit - 1; arguments as in input_producer."""
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            OPS["Range"](0, limit, 1),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


@export(v1="train.slice_input_producer")
def slice_input_producer(
    tensor_list,
    num_epochs: int | None = None,
    shuffle: Any = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
):
    """Returns one slice of each tensor in a list; arguments as in input_producer."""
    if not len(tensor_list):
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        count = tensors[0].shape[0]
        count = getattr(count, "value", count)
        queue = range_input_producer(
            OPS["Shape"](tensors[0])[0] if count is None else count,
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
        )
        index = queue.dequeue()
        return [OPS["GatherV2"](t, index, 0) for t in tensors]


class _Form:
    """Converts lists, dictionaries or one tensor to a list and back."""

    def __init__(self, tensors):
        self.keys = sorted(tensors) if isinstance(tensors, dict) else None
        self.single = not isinstance(tensors, (dict, list, tuple))

    def flat(self, tensors):
        if self.keys is not None:
            return [convert_to_tensor(tensors[k]) for k in self.keys]
        return [convert_to_tensor(t) for t in ([tensors] if self.single else tensors)]

    def back(self, result):
        result = list(result) if isinstance(result, (list, tuple)) else [result]
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
        shapes = [t.shape[1:] if many else t.shape for t in same]
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


def _join(
    queue_of,
    lists,
    batch_size,
    threads,
    many,
    shapes,
    dynamic,
    smaller,
    default,
    name,
    capacity,
    least=0,
):
    form = _Form(lists[0])
    flat = [form.flat(tensors) for tensors in lists]
    with name_scope(name, default, flat[0]) as scope:
        shapes = _element_shapes(flat, shapes, many)
        types = [t.dtype.base_dtype for t in flat[0]]
        if not dynamic:
            for _, shape in zip(flat[0], shapes):
                if hasattr(shape, "is_fully_defined") and not shape.is_fully_defined():
                    raise ValueError(f"All shapes must be fully defined: {shapes}")
        queue = queue_of(types, shapes, dynamic)
        ops = []
        for tensors in flat:
            op = queue.enqueue_many(tensors) if many else queue.enqueue(tensors)
            ops += [op] * threads
        add_queue_runner(QueueRunner(queue, ops))
        _show_fullness(queue, capacity, least)
        take = queue.dequeue_up_to if smaller else queue.dequeue_many
        return form.back(take(batch_size, name=scope))


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


def _plain(capacity, shared_name):
    def make(types, shapes, dynamic):
        kind = PaddingFIFOQueue if dynamic else FIFOQueue
        return kind(capacity=capacity, dtypes=types, shapes=shapes, shared_name=shared_name)

    return make


def _shuffling(capacity, min_after_dequeue, seed, shared_name):
    def make(types, shapes, dynamic):
        return RandomShuffleQueue(
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed,
            dtypes=types,
            shapes=shapes,
            shared_name=shared_name,
        )

    return make


@export(v1="train.batch")
def batch(
    tensors: Any,
    batch_size: int | None,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes=None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
):
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
    return _join(
        _plain(capacity, shared_name),
        [tensors],
        batch_size,
        num_threads,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        "batch",
        name,
        capacity,
    )


@export(v1="train.batch_join")
def batch_join(
    tensors_list,
    batch_size: int | None,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes=None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
):
    """Returns batches of several lists of tensors, one thread each; further arguments as in
    batch.
    """
    return _join(
        _plain(capacity, shared_name),
        tensors_list,
        batch_size,
        1,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        "batch_join",
        name,
        capacity,
    )


@export(v1="train.shuffle_batch")
def shuffle_batch(
    tensors: Any,
    batch_size: int | None,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes=None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
):
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
    make = _shuffling(capacity, min_after_dequeue, seed, shared_name)
    return _join(
        make,
        [tensors],
        batch_size,
        num_threads,
        enqueue_many,
        shapes,
        False,
        allow_smaller_final_batch,
        "shuffle_batch",
        name,
        capacity,
        min_after_dequeue,
    )


@export(v1="train.shuffle_batch_join")
def shuffle_batch_join(
    tensors_list,
    batch_size: int | None,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes=None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
):
    """Returns shuffled batches of several lists of tensors; further arguments as in
    shuffle_batch.
    """
    make = _shuffling(capacity, min_after_dequeue, seed, shared_name)
    return _join(
        make,
        tensors_list,
        batch_size,
        1,
        enqueue_many,
        shapes,
        False,
        allow_smaller_final_batch,
        "shuffle_batch_join",
        name,
        capacity,
        min_after_dequeue,
    )
