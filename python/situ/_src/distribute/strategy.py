# SPDX-License-Identifier: Apache-2.0
"""strategy.py: tf.distribute.Strategy: runs replicas of a computation on several devices."""

from __future__ import annotations

import functools
import inspect
import math
import weakref

import _situ
from situ._src.autograph.conversion import convert
from situ._src.data.dataset import Dataset
from situ._src.distribute import reduction, threads
from situ._src.distribute.input import (
    DatasetsFromFunction,
    DistributedDataset,
    InputContext,
    NumpyDataset,
    check_dataset_options,
    check_function_options,
)
from situ._src.distribute.run import Run
from situ._src.distribute.towers import Towers
from situ._src.distribute.values import (
    Copies,
    MirroredVariable,
    PerReplica,
    SyncOnReadVariable,
    ValueContext,
    at,
    chosen,
    copy_name,
    group_results,
    on,
)
from situ._src.framework import config, nest
from situ._src.framework.api import export
from situ._src.framework.device_spec import DeviceSpec
from situ._src.framework.function import Function, functions_run_eagerly
from situ._src.framework.indexed_slices import is_slices, map_values
from situ._src.framework.scopes import device
from situ._src.ops.array_ops import cast, concat, convert_to_tensor, group, op
from situ._src.variables import synchronization, variable
from situ._src.variables.eager_variable import EagerVariable, place
from situ._src.variables.synchronization import VariableAggregation, VariableSynchronization

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Axis, Callable, Tensor, TensorLike

_LOCAL = DeviceSpec("localhost", 0, 0)


def full_name(name):
    """Returns the full name of a device given by name, DeviceSpec or tf.config device."""
    name = getattr(name, "name", name)
    spec = name if isinstance(name, DeviceSpec) else DeviceSpec.from_string(name)
    result = _LOCAL.make_merged_spec(spec)
    if result.device_index is None:
        result = result.replace(device_index=0)
    return result.to_string()


def all_devices():
    """Returns all GPUs, or the CPU if there are none."""
    found = [d.name for d in config.list_logical_devices("GPU")]
    return found or [full_name("/device:CPU:0")]


def _ungrouped(structure):
    """Returns a structure of results with a tuple in place of each PerReplica value."""
    values = lambda value: tuple(value) if isinstance(value, PerReplica) else (value,)
    return nest.map_structure(values, structure)


def _device_of(destinations):
    """Returns the first device of the argument `destinations`."""
    first = destinations[0] if isinstance(destinations, (PerReplica, list, tuple)) else destinations
    return full_name(first if isinstance(first, (str, DeviceSpec)) else first.device)


@export("distribute.StrategyExtended")
class Extended:
    """strategy.extended: the interface for libraries.

    Args:
      container_strategy: the strategy.
    """

    def __init__(self, container_strategy: Any):
        self._strategy = container_strategy
        devices = getattr(container_strategy, "devices", ())
        self.worker_devices = self.parameter_devices = tuple(devices)

    def _container_strategy(self):
        return self._strategy

    experimental_require_static_shapes = False
    experimental_between_graph = False
    should_checkpoint = should_save_summary = True
    num_replicas_in_sync = _num_replicas_in_sync = property(
        lambda s: s._strategy.num_replicas_in_sync
    )

    def call_for_each_replica(self, fn: Callable, args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function once per replica; see `Strategy.run`.

        Args:
          fn: The function.
          args: Its arguments.
          kwargs: Its keyword arguments.
        """
        return self._strategy.run(fn, args, kwargs)

    def reduce_to(
        self, reduce_op: Any, value: TensorLike, destinations: Any = None, options: Any = None
    ) -> Tensor:
        """Reduces a value over replicas.

        Args:
          reduce_op: tf.distribute.ReduceOp.SUM or MEAN, or its name.
          value: as for strategy.reduce.
          destinations: A device, or a variable or value, whose device gets the result; the first
            one if there are several.
          options: Has no effect: it selects how values are packed and sent.

        Returns:
          A tensor.
        """
        del options  # how values are packed and sent; the sum is the same
        total = self._strategy.reduce(reduce_op, value, axis=None)
        return total if destinations is None else on(_device_of(destinations), total)

    def batch_reduce_to(
        self, reduce_op: Any, value_destination_pairs: Any, options: Any = None
    ) -> list:
        """Returns the results of reduce_to for pairs of a value and its destinations."""
        return [
            self.reduce_to(reduce_op, value, destinations, options)
            for value, destinations in value_destination_pairs
        ]

    def update(
        self, var: TensorLike, fn: Callable, args: Any = (), kwargs: Any = None, group: bool = True
    ) -> Any:
        """Calls fn on each copy of a variable.

        Args:
          var: the variable.
          fn: A function of the variable and the arguments.
          args, kwargs: Its arguments; of PerReplica values each copy gets its own.
          group: Whether to group the results of the copies to PerReplica values; otherwise they
            are tuples.

        Returns:
          The results in their structure.
        """
        result = []
        copies = var.values if isinstance(var, Copies) else (var,)  # those of a graph have one
        for index, copy in enumerate(copies):
            with at(index, "update"), device(copy.device):
                result.append(fn(var, *chosen(index, args), **chosen(index, kwargs or {})))
        return group_results(result) if group else _ungrouped(group_results(result))

    def variable_created_in_scope(self, v: TensorLike | None) -> bool:
        """Returns whether a variable was created in the scope of the strategy.

        Args:
          v: The variable.
        """
        return isinstance(v, Copies)

    def value_container(self, value: TensorLike) -> Any:
        """Returns the distributed variable that has a variable as a copy, or the variable
        itself.

        Args:
          value: The variable.
        """
        return getattr(value, "_owner", None) or value


def _modes(kwargs):
    """Returns (synchronization, aggregation) of a distributed variable."""
    name = kwargs.get("name")
    mode = synchronization.synchronization(kwargs.get("synchronization"), name)
    if mode is VariableSynchronization.NONE:
        raise ValueError(
            "`NONE` variable synchronization mode is not supported with tf.distribute "
            "strategy. Please change the `synchronization` for variable: "
            f"{name}"
        )
    return mode, synchronization.aggregation(kwargs.get("aggregation"), name)


@export("distribute.Strategy")
class Strategy:
    """Runs a function once per device and keeps the copies of variables equal."""

    def __init__(self, devices: list[str], cross_device_ops: Any = None):
        self.devices = [full_name(d) for d in devices]
        self.cross_device_ops = cross_device_ops
        self.extended = Extended(self)

    num_replicas_in_sync = property(lambda s: len(s.devices))
    several_processes = has_datasets_per_replica = False
    host = full_name("/device:CPU:0")
    first_replica = 0  # the index of the first replica of this process among all replicas

    def scope(self) -> Any:
        """Returns a context manager in which variables are mirrored."""
        return variable.StrategyScope(self)

    # Variables

    def make_variable(self, graph: Any, args: Any, kwargs: Any) -> Any:
        """Creates a variable of this strategy; None for a plain one."""
        if graph is not None and not graph.building_function:
            _modes(kwargs)
            if place.mode != "replica":
                return None
            return place.run.variable(lambda: variable.create_graph_variable(graph, args, kwargs))
        if graph is not None:
            graph.created += 1
        kwargs = inspect.signature(EagerVariable).bind(*args, **kwargs).arguments
        mode, how = _modes(kwargs)
        first, rest = self._first(kwargs), self.devices[1:]
        if how is VariableAggregation.MEAN and not first.dtype.is_floating:
            raise ValueError(
                "creating distributed tf.Variable with aggregation=MEAN and a "
                "non-floating dtype is not supported, please use a different "
                "aggregation or dtype"
            )
        name = kwargs.get("name") or "Variable"
        parts = [first]
        for i, where in enumerate(rest):
            copy = (
                _situ.copy_to(first._value, where) if first._value.device != where else first._value
            )
            parts.append(
                EagerVariable(
                    copy,
                    trainable=first.trainable,
                    name=copy_name(name, i + 1),
                    shape=first._static_shape,
                )
            )
            parts[-1]._device = where
        kind = SyncOnReadVariable if mode is VariableSynchronization.ON_READ else MirroredVariable
        made: Any = kind(parts, first.trainable, kwargs.get("constraint"), name + ":0", how)
        made.distribute_strategy = self
        return made

    def _first(self, kwargs):
        """Creates the copy on the first device with its initial value."""
        before, index = _situ.swap_graph(None), place.index
        mode, run = place.mode, place.run
        place.index = place.mode = place.run = None
        try:
            with device(self.devices[0]):
                result = EagerVariable(**kwargs)
                if result._value.device != self.devices[0]:
                    result._value = _situ.copy_to(result._value, self.devices[0])
                    result._device = self.devices[0]
                return result
        finally:
            place.index, place.mode, place.run = index, mode, run
            _situ.swap_graph(before)

    def mirror_members(self, obj: Any) -> None:
        """Mirrors the variables that an object already holds."""

        def mirror(value):
            if isinstance(value, EagerVariable) and not isinstance(value, Copies):
                result = done.get(id(value))
                if result is None:
                    result = done[id(value)] = self.make_variable(
                        None,
                        (),
                        {
                            "initial_value": value._value,
                            "trainable": value.trainable,
                            "name": value.name.split(":")[0],
                            "constraint": value.constraint,
                        },
                    )
                return result
            return value

        done = self.__dict__.setdefault("_mirrored", {})
        for name, value in list(vars(obj).items()):
            if isinstance(value, (EagerVariable, list)):
                vars(obj)[name] = nest.map_structure(mirror, value)

    # Runs

    def run_parts(self, fn: Callable, parts: Any, may_synchronize: bool = True) -> Any:
        """Calls fn for the first replicas with their arguments and returns a list of results.
        may_synchronize: they may use collectives."""
        graph, result = _situ.current_graph(), []
        if graph is not None and not graph.building_function:
            return self.build_towers(fn, parts)
        run = Run(self, len(parts))
        with variable.strategy_scope(self):
            if may_synchronize and len(parts) > 1:
                result = threads.call_all(run, fn, parts)
            else:
                for index, args in enumerate(parts):
                    with at(index, "replica", run), device(self.devices[index]):
                        result.append(fn(*args))
            run.finish()
        return result

    def build_towers(self, fn: Callable, parts: Any, mean: bool = False) -> Any:
        """Does the same in graph mode. mean: average gradients where tf.train adds them."""
        with variable.strategy_scope(self):
            return Towers(self, len(parts), _situ.current_graph(), mean).call(fn, parts)

    def run(self, fn: Callable, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Calls a function once per replica.

        Args:
          fn: The function.
          args: Positional arguments; of PerReplica values each replica gets its own.
          kwargs: Keyword arguments, likewise.
          options: Has no effect: it is for TPUs.

        Returns:
          The results, in their structure, as PerReplica values; a plain value with one replica, or
          if all replicas return the same object.
        """
        del options  # of TPUs
        if isinstance(fn, Function) and len(self.devices) > 1 and not functions_run_eagerly():
            return self._lifted(fn)(tuple(args), dict(kwargs or {}))
        return self._run_replicas(fn, args, kwargs or {})

    def _lifted(self, function):
        """Returns a tf.function that calls the Python function of another one in all replicas. So
        replicas are traced into one graph, in which they can use collectives."""
        known = self.__dict__.setdefault("_lifted_functions", weakref.WeakKeyDictionary())
        if function not in known:
            of = weakref.ref(function)

            def call(args, kwargs):
                return self._run_replicas(of()._converted(), args, kwargs)

            known[function] = Function(call, name=function._name, autograph=False)
        return known[function]

    def _run_replicas(self, fn, args, kwargs):
        graph = _situ.current_graph()
        if graph is not None and graph.building_function:
            fn = convert(fn)
        arguments = lambda i: (chosen(i, tuple(args)), chosen(i, kwargs))
        call = lambda some, named: fn(*some, **named)
        return group_results(self.run_parts(call, [arguments(i) for i in range(len(self.devices))]))

    experimental_run_v2 = run

    def experimental_run(self, fn: Callable, input_iterator: Any = None) -> Any:
        """Calls a function with the next element of an iterator; see `run`.

        Args:
          fn: The function.
          input_iterator: A distributed iterator, or None for no argument.
        """
        return self.run(fn, (next(input_iterator),) if input_iterator is not None else ())

    def call_for_each_replica(self, fn: Callable, *args: Any, **kwargs: Any) -> Any:
        """Calls a function once per replica; old name of `run`.

        Args:
          fn: The function.
          *args: Its arguments.
          **kwargs: Its keyword arguments.
        """
        return self.run(fn, args, kwargs)

    call_for_each_tower = call_for_each_replica

    def own_parts(self, parts: Any, shares: Any) -> Any:
        """Returns the parts of a batch, and their shares, that this process computes."""
        return parts, shares

    def sum_over_processes(self, tensors: Any, how: str = "sum") -> Any:
        """All-reduces tensors over processes."""
        del how  # there is one process
        return tensors

    # Values

    def reduce(self, reduce_op: Any, value: TensorLike, axis: Axis = None) -> Tensor:
        """Reduces a value over replicas.

        Args:
          reduce_op: tf.distribute.ReduceOp.SUM or MEAN, or its name.
          value: A PerReplica value, a distributed variable, or a plain value, which counts once
            per replica.
          axis: A dimension, or a list of them, to reduce within each replica, too, or None.

        Returns:
          A tensor.

        Raises:
          ValueError: a sum of a plain value over several replicas without axis.
        """
        is_mean = reduction.as_reduce_op(reduce_op) is reduction.ReduceOp.MEAN
        if isinstance(value, (PerReplica, Copies)):
            values = value.values
        elif is_mean or axis is not None:
            values = [value] * len(self.devices)
        elif len(self.devices) == 1:
            values = [value]
        else:
            raise ValueError(
                f"A non-DistributedValues value {value} cannot be reduced with the "
                f"given reduce op {reduction.ReduceOp.SUM}."
            )
        values = reduction.as_values(values)
        if axis is not None:
            values = [convert_to_tensor(v) for v in values]
            axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
            counts = [_count(v, axes) for v in values]
            values = [op("Sum", v, axes) for v in values]
            total = reduction.total(values, self.devices[0], self.cross_device_ops)
            return total / cast(sum(counts), total.dtype) if is_mean else total
        total = reduction.total(values, self.devices[0], self.cross_device_ops)
        mean = lambda t: t / cast(len(values), t.dtype)
        return map_values(mean, total) if is_mean else total

    def gather(self, value: TensorLike, axis: Axis) -> Tensor:
        """Concatenates the values of all replicas.

        Args:
          value: A PerReplica value or a distributed variable. A plain value is returned as it is.
          axis: The dimension to concatenate along; only its size may differ between replicas.

        Returns:
          A tensor.

        Raises:
          RuntimeError: called in a replica.
          NotImplementedError: the values are IndexedSlices.
        """
        if place.mode == "replica":
            raise RuntimeError(
                "tf.distribute.Strategy.gather requires cross-replica context. In a replica, call "
                "tf.distribute.get_replica_context().all_gather()."
            )
        values = self.experimental_local_results(value)
        if is_slices(values[0]):
            raise NotImplementedError("gather does not support IndexedSlices")
        whole = concat([convert_to_tensor(v) for v in values], axis)
        return self.gather_over_processes(whole, axis)

    def gather_over_processes(self, tensor: TensorLike, axis: Axis) -> Any:
        """Concatenates the tensors of all processes."""
        del axis  # there is one process
        return tensor

    def experimental_local_results(self, value: TensorLike) -> Any:
        """Returns the values of the replicas of this process as a tuple; of a structure, one
        structure per replica."""
        if isinstance(value, (PerReplica, Copies)):
            return value.values
        if not nest.is_nested(value):
            return (value,)
        of = lambda leaf, i: leaf.values[i] if isinstance(leaf, (PerReplica, Copies)) else leaf
        return tuple(
            nest.map_structure(functools.partial(of, i=i), value) for i in range(len(self.devices))
        )

    unwrap = experimental_local_results

    def group(self, value: TensorLike, name: str | None = None) -> Any:
        """Returns an operation that runs the operations of all replicas; None in eager mode.

        Args:
          value: what `run` returned.
          name: a name for the operation.
        """
        values = [v for v in nest.flatten(self.experimental_local_results(value)) if v is not None]
        return None if _situ.executing_eagerly() else group(*values, name=name)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Returns a dataset that divides each batch among the replicas.

        Args:
          dataset: a dataset of global batches.
          options: A tf.distribute.InputOptions, or None.

        Raises:
          NotImplementedError: an option is not supported.
        """
        check_dataset_options(options)
        return DistributedDataset(self, dataset, options)

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable, options: Any = None
    ) -> Any:
        """Returns the dataset of dataset_fn(input_context), with a batch for each replica.

        Args:
          dataset_fn: A function of a tf.distribute.InputContext that returns a dataset.
          options: A tf.distribute.InputOptions, or None.

        Raises:
          NotImplementedError: an option is not supported.
        """
        check_function_options(options, self.has_datasets_per_replica)
        return DatasetsFromFunction(self, dataset_fn, options)

    distribute_datasets_from_function = experimental_distribute_datasets_from_function

    def input_contexts(self, count: int) -> list:
        """Returns the InputContexts of `count` datasets of this process."""
        return [InputContext(count, i, self.num_replicas_in_sync) for i in range(count)]

    def make_dataset_iterator(self, dataset: Any) -> Any:
        """Returns an iterator of a distributed dataset.

        Args:
          dataset: The dataset.
        """
        return iter(self.experimental_distribute_dataset(dataset))

    def make_input_fn_iterator(self, input_fn: Callable, replication_mode: Any = None) -> Any:
        """Returns an iterator over the dataset of input_fn(input_context).

        Raises:
          ValueError: replication_mode is not PER_WORKER.
        """
        if getattr(replication_mode, "name", replication_mode) not in (None, "PER_WORKER"):
            raise ValueError(f"Input replication mode not supported: {replication_mode!r}")
        return iter(self.distribute_datasets_from_function(input_fn))

    def distribute_dataset(self, dataset_fn: Callable) -> Any:
        """Returns the distributed dataset that a function creates.

        Args:
          dataset_fn: The dataset, or a function that returns it.
        """
        return self.experimental_distribute_dataset(
            dataset_fn() if callable(dataset_fn) else dataset_fn
        )

    def experimental_make_numpy_dataset(self, numpy_input: Any, session: Any = None) -> Any:
        """Returns a dataset of the rows of arrays; session has no effect."""
        del session  # it initializes TensorFlow's variables for the arrays; here is none
        graph = _situ.current_graph()
        return (
            NumpyDataset(numpy_input) if graph is None else Dataset.from_tensor_slices(numpy_input)
        )

    def experimental_distribute_values_from_function(self, value_fn: Callable) -> Any:
        """Returns a PerReplica of value_fn(context) for a tf.distribute.experimental.ValueContext
        of each replica; the plain value for a strategy of one device."""
        count = len(self.devices)
        values = [value_fn(ValueContext(i, count)) for i in range(count)]
        placed = [
            nest.map_structure(lambda v, to=where: on(to, convert_to_tensor(v)), value)
            for where, value in zip(self.devices, values)
        ]
        return nest.CORE.map(lambda *some: PerReplica(some), *placed)

    @property
    def cluster_resolver(self) -> None:
        """The ClusterResolver of the strategy, or None."""
        return None

    def __deepcopy__(self, memo):
        return self


def _count(value, axes):
    """Returns the number of elements in each sum; a tensor if the shape is unknown."""
    sizes = value.shape.as_list() if value.shape.rank is not None else None
    if sizes is not None and all(sizes[axis] is not None for axis in axes):
        return math.prod(sizes[axis] for axis in axes)
    shape = op("Shape", value, out_type="int64")
    axes = op("FloorMod", convert_to_tensor(axes), op("Rank", value))
    return op("Prod", op("GatherV2", shape, axes, 0), 0)
