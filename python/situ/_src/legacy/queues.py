# SPDX-License-Identifier: Apache-2.0
"""queues.py: tf.queue: FIFOQueue, RandomShuffleQueue, PriorityQueue and PaddingFIFOQueue."""

from __future__ import annotations

import functools

from situ._src.framework import dtypes, tensor_shape
from situ._src.framework.api import BOTH, OPS, V1, export
from situ._src.framework.resource_order import in_order
from situ._src.framework.scopes import device
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.array_ops import op as emit
from situ._src.ops.random_ops import get_seed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


def _as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


@export(v1=("QueueBase", "queue.QueueBase"), v2="queue.QueueBase")
class QueueBase:
    """Base class of queues of tuples of tensors; a queue lives in a session."""

    def __init__(self, dtypes_: Any, shapes: Any, names: Any, queue_ref: Any) -> None:
        self._dtypes = [dtypes.as_dtype(t).base_dtype for t in _as_list(dtypes_)]
        if shapes is None:
            self._shapes = [tensor_shape.TensorShape(None)] * len(self._dtypes)
        elif len(shapes) != len(self._dtypes):
            raise ValueError(
                "Queue shapes must have the same length as dtypes, received "
                f"len(shapes)={len(shapes)}, len(dtypes)={len(self._dtypes)}"
            )
        else:
            self._shapes = [tensor_shape.as_shape(s) for s in shapes]
        if names is not None and len(names) != len(self._dtypes):
            raise ValueError("List of names does not match number of dtypes.")
        self._names, self._queue_ref = names, queue_ref
        self._whole_name = getattr(getattr(queue_ref, "op", None), "name", None) or "queue"
        self._name = self._whole_name.split("/")[-1]

    queue_ref = property(lambda s: s._queue_ref)
    name = property(lambda s: s._whole_name)
    dtypes = property(lambda s: s._dtypes)
    shapes = property(lambda s: s._shapes)
    names = property(lambda s: s._names)

    @staticmethod
    def from_list(index: int | None, queues: Any) -> Any:
        """Returns the queue of an index.

        Args:
          index: Scalar tensor.
          queues: List of queues with elements of the same types.
        """
        raise TypeError("A queue is chosen while the graph is built: take queues[index].")

    def _values(self, values, many):
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            values = [values[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(values, (list, tuple)):
            values = [values]
        if len(values) != len(self._dtypes):
            raise ValueError(
                f"Unable to enqueue {len(values)} values in a queue of "
                f"{len(self._dtypes)} components."
            )
        result = []
        for value, dtype, shape in zip(values, self._dtypes, self._shapes):
            tensor = convert_to_tensor(value, dtype)
            have = tensor.shape[1:] if many and tensor.shape.ndims else tensor.shape
            if not (many and tensor.shape.ndims is None):
                have.assert_is_compatible_with(shape)
            result.append(tensor)
        return result

    def _give(self, tensors):
        tensors = list(tensors)
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors if len(tensors) > 1 else tensors[0]

    def _use(self, op, name, *inputs, **attrs):
        emit = functools.partial(OPS[op], self._queue_ref, *inputs, name=name, **attrs)
        return in_order(self._queue_ref, emit)

    def enqueue(self, vals: Any, name: str | None = None) -> Any:
        """Returns an op that enqueues one element; it blocks while the queue is full."""
        values = self._values(vals, False)
        return self._use("QueueEnqueueV2", name or f"{self._name}_enqueue", values)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Any:
        """Returns an op that enqueues the slices along the first dimension."""
        values = self._values(vals, True)
        return self._use(
            "QueueEnqueueManyV2",
            name or f"{self._name}_EnqueueMany",
            values,
        )

    def dequeue(self, name: str | None = None) -> Any:
        """Returns one element; blocks while the queue is empty."""
        return self._give(
            self._use(
                "QueueDequeueV2",
                name or f"{self._name}_Dequeue",
                component_types=self._dtypes,
                _output_shapes=self._shapes,
            )
        )

    def dequeue_many(self, n: int, name: str | None = None) -> Any:
        """Returns n elements as a batch; OutOfRangeError if a closed queue has fewer."""
        return self._give(
            self._use(
                "QueueDequeueManyV2",
                name or f"{self._name}_DequeueMany",
                n,
                component_types=self._dtypes,
                _output_shapes=self._shapes,
            )
        )

    def dequeue_up_to(self, n: int, name: str | None = None) -> Any:
        """Returns n elements as a batch; fewer from a closed queue."""
        return self._give(
            self._use(
                "QueueDequeueUpToV2",
                name or f"{self._name}_DequeueUpTo",
                n,
                component_types=self._dtypes,
                _output_shapes=self._shapes,
            )
        )

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Returns an op that closes the queue: further enqueues fail.

        Args:
          cancel_pending_enqueues: Whether enqueues that wait for room fail, too.
          name: Name of the op.
        """
        return self._use(
            "QueueCloseV2",
            name or f"{self._name}_Close",
            cancel_pending_enqueues=cancel_pending_enqueues,
        )

    def is_closed(self, name: str | None = None) -> Any:
        """Returns whether the queue is closed, a scalar tensor.

        Args:
          name: A name for the operation.
        """
        return self._use("QueueIsClosedV2", name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> Any:
        """Returns the number of elements, a scalar tensor.

        Args:
          name: A name for the operation.
        """
        return self._use("QueueSizeV2", name or f"{self._name}_Size")


def _make(op, name, dtypes_, shapes, **attrs):
    types = [dtypes.as_dtype(t).base_dtype for t in _as_list(dtypes_)]
    if shapes is not None:
        shapes = [shapes] if len(types) == 1 and not _is_list_of_shapes(shapes) else list(shapes)
    ref = emit(op, component_types=types, shapes=shapes or [], name=name, **attrs)
    return types, shapes, ref


def _is_list_of_shapes(value):
    if isinstance(value, tensor_shape.TensorShape):
        return False
    return (
        isinstance(value, (list, tuple))
        and all(isinstance(v, (list, tuple, tensor_shape.TensorShape)) or v is None for v in value)
        and (len(value) > 0)
    )


@export("queue.FIFOQueue", v1="FIFOQueue")
class FIFOQueue(QueueBase):
    """First-in-first-out queue.

    Args:
      capacity: Largest number of elements.
      dtypes: Types of the components.
      shapes: Shapes of the components; None: any.
      names: Names of the components, which make elements dictionaries.
      shared_name: Name under which sessions share the queue.
      name: Name of the op.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:
        with device("CPU"):
            types, shapes, ref = _make(
                "FIFOQueueV2",
                name,
                dtypes,
                shapes,
                capacity=capacity,
                shared_name=shared_name or "",
            )
        super().__init__(types, shapes, names, ref)


@export("queue.RandomShuffleQueue", v1="RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """Queue that dequeues a random element.

    Args:
      capacity: Largest number of elements.
      min_after_dequeue: Number of elements that stay in the queue to choose from.
      dtypes: Types of the components.
      shapes: Shapes of the components; None: any.
      names: Names of the components, which make elements dictionaries.
      seed: Seed of the random numbers.
      shared_name: Name under which sessions share the queue.
      name: Name of the op.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str | None = "random_shuffle_queue",
    ) -> None:
        one, two = get_seed(seed)
        types, shapes, ref = _make(
            "RandomShuffleQueueV2",
            name,
            dtypes,
            shapes,
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=one or 0,
            seed2=two or 0,
            shared_name=shared_name or "",
        )
        super().__init__(types, shapes, names, ref)


@export("queue.PriorityQueue", v1="PriorityQueue")
class PriorityQueue(QueueBase):
    """Queue that dequeues the element with the smallest priority.

    The priority is an int64 scalar before the other components.

    Args:
      capacity: Largest number of elements.
      types: Types of the components after the priority.
      shapes: Shapes of the components after the priority; None: any.
      names: Names of all components, also of the priority, which make elements dictionaries.
      shared_name: Name under which sessions share the queue.
      name: Name of the op.
    """

    def __init__(
        self,
        capacity: int,
        types: list[Any],
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "priority_queue",
    ) -> None:
        types, shapes, ref = _make(
            "PriorityQueueV2", name, types, shapes, capacity=capacity, shared_name=shared_name or ""
        )
        shapes = None if shapes is None else [tensor_shape.TensorShape([]), *shapes]
        super().__init__([dtypes.as_dtype("int64"), *types], shapes, names, ref)


@export("queue.PaddingFIFOQueue", v1="PaddingFIFOQueue")
class PaddingFIFOQueue(QueueBase):
    """First-in-first-out queue that pads elements of different shapes with zeros.

    Arguments as in FIFOQueue; shapes must be given and may have dimensions of None.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "padding_fifo_queue",
    ) -> None:
        types, shapes, ref = _make(
            "PaddingFIFOQueueV2",
            name,
            dtypes,
            shapes,
            capacity=capacity,
            shared_name=shared_name or "",
        )
        super().__init__(types, shapes, names, ref)


for _name in ("PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"):
    _kind = V1.get(_name) or BOTH.get(_name)
    if _kind is not None:
        V1["io." + _name] = _kind
