# SPDX-License-Identifier: Apache-2.0
"""workers.py: MultiWorkerMirroredStrategy: replicas on the devices of several processes."""

from __future__ import annotations

import enum
import operator

import _situ
from situ._src.cluster import messages, processes, resolvers
from situ._src.distribute import reduction
from situ._src.distribute.input import (
    DistributedDataset,
    InputContext,
    bounds,
    check_dataset_options,
)
from situ._src.distribute.strategies import MirroredStrategy
from situ._src.distribute.values import Copies, PerReplica
from situ._src.framework import keywords, nest
from situ._src.framework.api import export
from situ._src.framework.indexed_slices import is_slices, map_values
from situ._src.ops.array_ops import cast, convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Axis, TensorLike


@export(
    "distribute.experimental.CommunicationImplementation",
    "distribute.experimental.CollectiveCommunication",
)
class CommunicationImplementation(enum.Enum):
    """How processes communicate. It has no effect: situ uses shared memory and MPI."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@export("distribute.experimental.CommunicationOptions", "distribute.experimental.CollectiveHints")
class CommunicationOptions:
    """Options of the communication between processes. They select how TensorFlow packs and sends
    values, and have no effect.

    Args:
      bytes_per_pack: The size of a message, 0 to choose it.
      timeout_seconds: Not supported.
      implementation: A CommunicationImplementation or its name.

    Raises:
      ValueError: bytes_per_pack is negative, or there is no such implementation.
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: Any = None,
        implementation: Any = CommunicationImplementation.AUTO,
    ):
        if bytes_per_pack < 0:
            raise ValueError(f"Argument `bytes_per_pack` must be >=0, Received {bytes_per_pack}.")
        if isinstance(implementation, str):
            implementation = CommunicationImplementation(implementation.upper())
        keywords.unsupported(
            "tf.distribute.experimental.CommunicationOptions",
            timeout_seconds=(timeout_seconds, None),
        )
        self.bytes_per_pack, self.timeout_seconds = bytes_per_pack, timeout_seconds
        self.implementation = implementation


@export(
    "distribute.MultiWorkerMirroredStrategy",
    "distribute.experimental.MultiWorkerMirroredStrategy",
    v1="contrib.distribute.CollectiveAllReduceStrategy",
)
class MultiWorkerMirroredStrategy(MirroredStrategy):
    """Mirrored over the devices of all processes that mpirun started or TF_CONFIG names. Every
    process runs the same program; of a global batch each takes its part.

    Args:
      cluster_resolver: Names the processes if mpirun did not start them; by default TF_CONFIG.
      communication_options: A CommunicationOptions. It has no effect.
      communication: The same, in old programs.
      num_gpus_per_worker: The number of GPUs of this process; by default all.
    """

    def __init__(
        self,
        cluster_resolver: Any = None,
        communication_options: Any = None,
        communication: Any = None,
        num_gpus_per_worker: int | None = None,
    ):
        del communication_options, communication  # situ uses shared memory and MPI
        if (
            cluster_resolver is not None
            and not processes.is_initialized()
            and not processes.under_mpirun()
        ):
            spec = cluster_resolver.cluster_spec()
            if spec.jobs:
                processes.join_tasks(
                    {j: dict(spec.items_of(j)) for j in spec.jobs},
                    cluster_resolver.task_type,
                    cluster_resolver.task_id,
                )
        processes.init()
        super().__init__(num_gpus=num_gpus_per_worker)
        self._resolver = cluster_resolver or resolvers.TFConfigClusterResolver()

    num_replicas_in_sync = property(lambda s: len(s.devices) * processes.size())
    cluster_resolver = property(lambda s: s._resolver)
    several_processes = property(lambda s: processes.size() > 1)
    first_replica = property(lambda s: len(s.devices) * processes.rank())

    def input_contexts(self, count: int) -> list:
        """Returns the InputContexts of `count` datasets of this process."""
        first, whole = processes.rank() * count, processes.size() * count
        return [InputContext(whole, first + i, self.num_replicas_in_sync) for i in range(count)]

    def make_variable(self, graph: Any, args: Any, kwargs: Any) -> Any:
        result = super().make_variable(graph, args, kwargs)
        if self.several_processes and isinstance(result, Copies):
            result.across = self
        return result

    def _first(self, kwargs):
        """Broadcasts the initial value of a variable from rank 0."""
        result = super()._first(kwargs)
        before = _situ.swap_graph(None)
        try:
            value = messages.spread([result._value])[0]
        finally:
            _situ.swap_graph(before)
        if processes.size() > 1:
            result._value = _situ.copy_to(value, self.devices[0])
            result._device = self.devices[0]
        return result

    # What the parts of a step ask for

    def own_parts(self, parts: Any, shares: Any) -> Any:
        """The parts of a global batch that are computed here. A process without any computes the
        first one, and counts for nothing."""
        each, rank = len(self.devices), processes.rank()
        mine = slice(rank * each, (rank + 1) * each)
        return (parts[mine], shares[mine]) if parts[mine] else (parts[:1], [0.0])

    def sum_over_processes(self, tensors: Any, how: str = "sum") -> Any:
        """Sums (or means) over all ranks, in their order; of a list of IndexedSlices, too."""
        if tensors and is_slices(tensors[0]):
            return [messages.reduced_slices(t, how) for t in tensors]
        return messages.reduced(tensors, how)

    def joined_over_processes(self, value: TensorLike, how: Any) -> Any:
        """What the ranks have written to a mirrored variable, as one value."""
        if how == "only_first_replica":
            return messages.spread([value])[0]
        return messages.reduced([value], "mean" if how == "mean" else "sum")[0]

    # Values

    def reduce(self, reduce_op: Any, value: TensorLike, axis: Axis = None) -> Any:
        """The sum or the mean of the values of all replicas of all processes."""
        kind = reduction.as_reduce_op(reduce_op).value
        if not isinstance(value, (PerReplica, Copies)):
            value = value if is_slices(value) else convert_to_tensor(value)
            value = PerReplica([value] * len(self.devices))
        local = super().reduce("SUM", value, axis)
        if is_slices(local):
            total = messages.reduced_slices(local, "sum")
            mean = lambda t: t / cast(self.num_replicas_in_sync, t.dtype)
            return total if kind == "SUM" else map_values(mean, total)
        if kind == "SUM":
            return messages.reduced([local])[0]
        weight = len(self.devices)
        if axis is not None:
            ones = PerReplica(
                op("OnesLike", convert_to_tensor(v)) for v in self.experimental_local_results(value)
            )
            weight = super().reduce("SUM", ones, axis)
        total, count = messages.reduced([local, cast(convert_to_tensor(weight), local.dtype)])
        return total / count

    def gather_over_processes(self, tensor: TensorLike, axis: Axis) -> Any:
        """Concatenates the tensors of all ranks, in their order."""
        order = list(range(tensor.shape.rank))
        order[0], order[axis] = order[axis], 0
        if axis % len(order) == 0:
            return messages.gathered(tensor)
        return op("Transpose", messages.gathered(op("Transpose", tensor, order)), order)

    def size_before(self, size: TensorLike) -> Any:
        """Returns the sum of the sizes of the ranks before this one."""
        sizes = messages.gathered(op("Reshape", size, [1]))
        return op("Sum", sizes[: processes.rank()], [0])

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        check_dataset_options(options)
        return WorkerDataset(self, dataset)


class WorkerDataset(DistributedDataset):
    """A dataset of global batches: this process takes its part of each, and cuts it for its
    replicas."""

    def __iter__(self):
        inner = DistributedDataset(self._strategy, _Own(self._dataset))
        return iter(inner)


class _Own:
    """The parts of batches that belong to this process."""

    def __init__(self, dataset):
        self._dataset = dataset

    def __iter__(self):
        rank, size = processes.rank(), processes.size()
        for batch in self._dataset:
            leaves = nest.flatten(batch)
            start, stop = bounds(int(leaves[0].shape[0]), size)[rank]
            yield nest.map_structure(operator.itemgetter(slice(start, stop)), batch)
