# SPDX-License-Identifier: Apache-2.0
"""input.py: distributed datasets: splits global batches over the replicas."""

from __future__ import annotations

import collections
import enum
import operator

import numpy

import _situ
from situ._src.data.iterators import GraphOptional, Optional, make_initializable_iterator
from situ._src.distribute.values import PerReplica, PerReplicaSpec
from situ._src.framework import errors, nest
from situ._src.framework.api import export
from situ._src.framework.scopes import device
from situ._src.framework.tensor import GraphTensor
from situ._src.framework.type_spec import TensorSpec
from situ._src.ops.array_ops import convert_to_tensor, op, zeros

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike


@export("distribute.InputReplicationMode")
class InputReplicationMode(enum.Enum):
    """How input functions are called."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


@export("distribute.InputOptions")
class InputOptions(
    collections.namedtuple(
        "InputOptions",
        (
            "experimental_fetch_to_device",
            "experimental_replication_mode",
            "experimental_place_dataset_on_device",
            "experimental_per_replica_buffer_size",
        ),
        defaults=(True, InputReplicationMode.PER_WORKER, False, 1),
    )
):
    """Options of distributed datasets.

    Args:
      experimental_fetch_to_device: whether the batches are copied to the devices of the replicas;
        True by default. If False, they are in host memory.
      experimental_replication_mode: PER_WORKER, or PER_REPLICA to call the function of
        distribute_datasets_from_function once for each replica.
      experimental_place_dataset_on_device: whether the elements of a dataset PER_REPLICA are on the
        device of the replica.
      experimental_per_replica_buffer_size: has no effect: a hint for speed.
    """

    __slots__ = ()

    def __new__(cls, experimental_fetch_to_device=None, *args, **kwargs):
        fetch = experimental_fetch_to_device is None or experimental_fetch_to_device
        return super().__new__(cls, fetch, *args, **kwargs)


def fetch_devices(options, strategy):
    """Returns the devices of the batches of each replica."""
    if options is None or options.experimental_fetch_to_device:
        return strategy.devices
    if is_per_replica(options) and options.experimental_place_dataset_on_device:
        return strategy.devices
    return [strategy.host] * len(strategy.devices)


def is_per_replica(options):
    """Returns whether each replica has a dataset of its own."""
    mode = getattr(options, "experimental_replication_mode", None)
    return getattr(mode, "name", mode) == "PER_REPLICA"


def check_dataset_options(options):
    """Checks the tf.distribute.InputOptions, or None, of a dataset that is split.

    Raises:
      NotImplementedError: PER_REPLICA.
    """
    if is_per_replica(options):
        raise NotImplementedError(
            "InputReplicationMode.PER_REPLICA is only supported in "
            "`distribute_datasets_from_function`."
        )


def check_function_options(options, has_replicas):
    """Checks the tf.distribute.InputOptions, or None, of distribute_datasets_from_function.

    Args:
      options: the options.
      has_replicas: whether the strategy has datasets PER_REPLICA.

    Raises:
      NotImplementedError: PER_REPLICA, and the strategy has no such datasets.
      ValueError: options that contradict each other.
    """
    if is_per_replica(options) and not has_replicas:
        raise NotImplementedError(
            "InputReplicationMode.PER_REPLICA is only supported in "
            "`distribute_datasets_from_function` of tf.distribute.MirroredStrategy."
        )
    if options is None or not options.experimental_place_dataset_on_device:
        return
    if not is_per_replica(options):
        raise ValueError(
            "When `experimental_place_dataset_on_device` is set for dataset placement, you must "
            "also specify `PER_REPLICA` for the replication mode"
        )
    if options.experimental_fetch_to_device:
        raise ValueError(
            "`experimental_place_dataset_on_device` can not be set to True when "
            "experimental_fetch_to_device is True and replication mode is set to `PER_REPLICA`"
        )


def bounds(count, replicas):
    """Returns the bounds of the parts of a batch; all have the size of the first except the last
    ones."""
    each = -(-count // replicas)
    return [(min(i * each, count), min((i + 1) * each, count)) for i in range(replicas)]


def _parts_of_graph(value, devices):
    count, replicas = value.shape.as_list()[0], len(devices)
    if count is not None:
        places = bounds(count, replicas)
    else:
        count = op("Shape", value)[0]
        each = (count + (replicas - 1)) // replicas
        ends = [op("Minimum", each * i, count) for i in range(replicas + 1)]
        places = list(zip(ends[:-1], ends[1:]))
    result = []
    for (first, end), where in zip(places, devices):
        with device(where):
            result.append(op("Identity", value[first:end]))
    return result


def parts(value, devices):
    """Splits a tensor or array along its first dimension, one part per device."""
    if isinstance(value, GraphTensor):
        return _parts_of_graph(value, devices)
    array = (
        value
        if isinstance(value, numpy.ndarray)
        else numpy.asarray(value.numpy() if hasattr(value, "numpy") else value)
    )
    return [
        _situ.copy_to(convert_to_tensor(array[a:b]), d)
        for (a, b), d in zip(bounds(len(array), len(devices)), devices)
    ]


def spread(batch, strategy, devices=None):
    """Splits a batch into PerReplica values; unchanged for one replica."""
    devices = devices or strategy.devices
    if len(devices) == 1:
        return nest.map_structure(convert_to_tensor, batch)
    leaves = [PerReplica(parts(leaf, devices)) for leaf in nest.flatten(batch)]
    return nest.pack_sequence_as(batch, leaves) if nest.is_nested(batch) else leaves[0]


def spread_spec(spec, strategy):
    """Returns the spec of the parts of a batch."""
    count = len(strategy.devices)
    if count == 1:
        return spec

    def one(whole):
        dims = whole.shape.as_list() if whole.shape.ndims else [None]
        rows = [None] * count if dims[0] is None else [b - a for a, b in bounds(dims[0], count)]
        return PerReplicaSpec(*[type(whole)([n, *dims[1:]], whole.dtype) for n in rows])

    return nest.map_structure(one, spec)


class DistributedIterator:
    """An iterator over PerReplica batches."""

    def __init__(self, make, initializer=(), make_optional=None):
        self._next, self.initializer, self._make_optional = make, initializer, make_optional

    def __iter__(self):
        return self

    def __next__(self):
        return self._next()

    def get_next(self):
        return self._next()

    def get_next_as_optional(self):
        """Returns the next batch, or an Optional without a value at the end."""
        if self._make_optional is not None:
            return self._make_optional()
        try:
            return Optional(self._next(), None)
        except (StopIteration, errors.OutOfRangeError):
            return Optional(None, None)

    def initialize(self):
        return self.initializer or []


def _batches(dataset):
    """Returns (iterator, function for the next batch, initializers); tensors in graph mode."""
    graph = _situ.current_graph()
    if graph is None or graph.building_function:
        taken = iter(dataset)
        return taken, lambda: next(taken), ()
    iterator = make_initializable_iterator(dataset)
    return iterator, iterator.get_next, iterator.initializer


@export("distribute.DistributedDataset")
class DistributedDataset:
    """A dataset of global batches, split over the replicas."""

    def __init__(self, strategy: Any, dataset: Any, options: Any = None):
        self._strategy, self._dataset = strategy, dataset
        self._devices = fetch_devices(options, strategy)

    def __iter__(self):
        iterator, take, initializer = _batches(self._dataset)
        split = lambda batch: spread(batch, self._strategy, self._devices)
        make_optional = None
        if hasattr(iterator, "get_next_as_optional"):  # not so for arrays
            make_optional = lambda: iterator.get_next_as_optional().apply(split, self.element_spec)
        return DistributedIterator(lambda: split(take()), initializer, make_optional)

    make_initializable_iterator = make_one_shot_iterator = __iter__

    def __len__(self):
        return len(self._dataset)

    def cardinality(self) -> Any:
        """Returns the number of elements, as `Dataset.cardinality`."""
        return self._dataset.cardinality()

    element_spec = property(lambda s: spread_spec(s._dataset.element_spec, s._strategy))


@export("distribute.InputContext")
class InputContext:
    """The input pipeline that a dataset function creates."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ):
        self.num_input_pipelines, self.input_pipeline_id = num_input_pipelines, input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: TensorLike) -> Any:
        """Returns the batch size of a replica.

        Args:
          global_batch_size: Batch size of all replicas together.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by "
                f"`num_replicas_in_sync` {self.num_replicas_in_sync} "
            )
        return global_batch_size // self.num_replicas_in_sync


def optional_group(batches, group, spec):
    """Returns an Optional of group([values of batches]), without a value if one has none."""
    if not isinstance(batches[0], GraphOptional):
        has_all = all(bool(b.has_value()) for b in batches)
        return Optional(group([b.get_value() for b in batches]) if has_all else None, spec)
    has_all = op("All", op("Pack", [b.has_value() for b in batches]), [0])
    return GraphOptional(has_all, [b._value for b in batches], spec, group)


def _is_static(spec):
    """Returns whether elements have a static shape; of sparse and ragged tensors, a batch size."""
    shapes = [part.shape for part in nest.flatten(spec)]
    return all(
        shape.is_fully_defined()
        if isinstance(part, TensorSpec)
        else shape.ndims is not None and shape.as_list()[:1] != [None]
        for part, shape in zip(nest.flatten(spec), shapes)
    )


def _empty(spec):
    """Returns an element without rows: the dimensions of unknown size are 0."""

    def nothing(part):
        if not isinstance(part, TensorSpec) or part.shape.ndims is None:
            raise NotImplementedError(
                "distribute_datasets_from_function: the replicas get different numbers of elements "
                f"of {part}, which needs empty elements; drop the rest with "
                "dataset.take(n) or batch(..., drop_remainder=True)."
            )
        return zeros([n or 0 for n in part.shape.as_list()], part.dtype)

    return nest.map_structure(nothing, spec)


class DatasetsFromFunction:
    """Datasets of per-replica batches: each replica takes the next one of the dataset that all
    share or, PER_REPLICA, of its own."""

    def __init__(self, strategy, make, options=None):
        self._strategy, self._devices = strategy, fetch_devices(options, strategy)
        count = len(self._devices) if is_per_replica(options) else 1
        self._datasets = [make(context) for context in strategy.input_contexts(count)]

    def _sources(self):
        """Returns the iterators, the functions of the next batch and the initializers of all
        replicas. A dataset may be a function that returns the next elements."""
        made = [
            (None, dataset, ()) if callable(dataset) else _batches(dataset)
            for dataset in self._datasets
        ]
        iterators, takes, initializers = zip(*made)
        count = len(self._devices) // len(made)
        return iterators * count, takes * count, nest.flatten(initializers)

    def _round(self, takes):
        """Returns the next batch of each replica. In the last round some replicas may have none:
        they get empty batches; only in batches of a static shape the rest is left out."""
        batches = []
        for take in takes:
            try:
                batches.append(take())
            except (StopIteration, errors.OutOfRangeError):
                batches.append(None)
        if None not in batches:
            return batches
        specs = [getattr(dataset, "element_spec", None) for dataset in self._datasets]
        if all(b is None for b in batches) or _is_static(specs[0]):
            raise StopIteration
        return [_empty(specs[0]) if b is None else b for b in batches]

    def __iter__(self):
        devices = self._devices
        iterators, takes, initializers = self._sources()

        def one(batch, where):
            move = lambda t: (
                t if isinstance(t, GraphTensor) else _situ.copy_to(convert_to_tensor(t), where)
            )
            return nest.map_structure(move, batch)

        def grouped(batches):
            some = [one(batch, where) for batch, where in zip(batches, devices)]
            if len(some) == 1:
                return some[0]
            leaves = [PerReplica(x) for x in zip(*[nest.flatten(s) for s in some])]
            return nest.pack_sequence_as(some[0], leaves) if nest.is_nested(some[0]) else leaves[0]

        return DistributedIterator(
            lambda: grouped(self._round(takes)),
            initializers,
            lambda: optional_group(
                [i.get_next_as_optional() for i in iterators], grouped, self.element_spec
            ),
        )

    make_initializable_iterator = make_one_shot_iterator = __iter__

    @property
    def element_spec(self):
        count, spec = len(self._strategy.devices), self._datasets[0].element_spec
        return (
            spec if count == 1 else nest.map_structure(lambda s: PerReplicaSpec(*[s] * count), spec)
        )


class NumpyDataset:
    """A dataset of the rows of arrays."""

    def __init__(self, arrays, size=None, drop_remainder=False):
        self._arrays, self._size, self._drop_remainder = arrays, size, drop_remainder

    def batch(self, size, drop_remainder=False):
        return NumpyDataset(self._arrays, size, drop_remainder)

    def __iter__(self):
        count = len(nest.flatten(self._arrays)[0])
        step = self._size or 1
        count -= count % step if self._drop_remainder else 0
        for start in range(0, count, step):
            part = slice(start, start + step) if self._size else start
            yield nest.map_structure(operator.itemgetter(part), self._arrays)
