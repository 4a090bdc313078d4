# SPDX-License-Identifier: Apache-2.0
"""queue_input.py: input producers with queues: string_input_producer, slice_input_producer, ..."""

from __future__ import annotations

from typing import Any

from situ._src.framework.api import OPS, export
from situ._src.framework.graph import GraphKeys, get_default_graph
from situ._src.framework.scopes import name_scope
from situ._src.legacy.queue_runner import QueueRunner, add_queue_runner
from situ._src.legacy.queues import FIFOQueue
from situ._src.ops.array_ops import cast, convert_to_tensor, identity
from situ._src.ops.check_ops import Assert
from situ._src.ops.random_ops import get_seed
from situ._src.summary import summary_ops
from situ._src.variables.variable import variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import TensorLike

NO_STRINGS = "string_input_producer requires a non-null input tensor"


@export(v1="train.match_filenames_once")
def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Any:
    """Returns a tensor with the names of the files that match a pattern.

    Unlike the variable of TensorFlow it is evaluated again in each run that reads it.

    Args:
      pattern: A glob pattern, or a list of them.
      name: Name scope of the ops.
    """
    return OPS["MatchingFiles"](pattern, name=name)


def count_up_to(ref, limit, name=None):
    """Increments a variable; raises OutOfRangeError at the limit."""
    if hasattr(ref, "count_up_to"):
        return ref.count_up_to(limit)
    return OPS["CountUpTo"](ref._ref_(), limit=limit, name=name)


@export(v1="train.limit_epochs")
def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Returns a tensor that can be read num_epochs times; then runs raise OutOfRangeError.

    The count is a local variable, which must be initialized. None for num_epochs returns the
    tensor itself.

    Args:
      tensor: A tensor.
      num_epochs: Number of times the tensor can be read; None: no limit.
      name: Name scope of the ops.
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
    input_tensor: TensorLike,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: Any = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: Any = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> Any:
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
    string_tensor: TensorLike,
    num_epochs: int | None = None,
    shuffle: Any = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> Any:
    """Returns a queue of strings, usually file names; arguments as in input_producer.

    Args:
      string_tensor: Vector of strings.
      num_epochs: Number of times each row is enqueued; None: endlessly.
      shuffle: Whether to shuffle the rows of each epoch.
      seed: Seed of the shuffling.
      capacity: Capacity of the queue.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.
      cancel_op: Op that cancels pending enqueues; default: that of QueueRunner.

    Raises:
      ValueError: If the list of strings is empty. An empty tensor fails when it
        is enqueued.
    """
    if not hasattr(string_tensor, "dtype") and not len(string_tensor):
        raise ValueError(NO_STRINGS)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        tensor = convert_to_tensor(string_tensor, "string")
        if not tensor.shape.num_elements():  # a runner would loop without enqueueing anything
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
    limit: int,
    num_epochs: int | None = None,
    shuffle: Any = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns a queue of the integers from 0 to limit - 1; arguments as in input_producer.

    Args:
      limit: The limit.
      num_epochs: Number of times each row is enqueued; None: endlessly.
      shuffle: Whether to shuffle the rows of each epoch.
      seed: Seed of the shuffling.
      capacity: Capacity of the queue.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.
    """
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
    tensor_list: Any,
    num_epochs: int | None = None,
    shuffle: Any = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list:
    """Returns one slice of each tensor in a list; arguments as in input_producer.

    Args:
      tensor_list: List of tensors with the same first dimension.
      num_epochs: Number of times each row is enqueued; None: endlessly.
      shuffle: Whether to shuffle the rows of each epoch.
      seed: Seed of the shuffling.
      capacity: Capacity of the queue.
      shared_name: Name under which sessions share the queue.
      name: Name scope of the ops.
    """
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
