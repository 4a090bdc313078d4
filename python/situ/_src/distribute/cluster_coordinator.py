# SPDX-License-Identifier: Apache-2.0
"""cluster_coordinator.py: tf.distribute.coordinator.ClusterCoordinator: schedules functions on the
workers of a ParameterServerStrategy."""

from __future__ import annotations

import collections
import threading
import time

import _situ
from situ._src.cluster import service
from situ._src.distribute.parameter_server import ParameterServerStrategy, StepGraph
from situ._src.framework import errors, logs, nest
from situ._src.framework.api import export
from situ._src.framework.concrete_function import ConcreteFunction, is_tensor
from situ._src.framework.function import Function
from situ._src.framework.session import Session
from situ._src.ops.array_ops import convert_to_tensor, op
from situ._src.variables import variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable, TensorLike

_PAUSE = 0.2  # seconds between two attempts to reach a worker that is lost


@export("distribute.coordinator.RemoteValue", "distribute.experimental.coordinator.RemoteValue")
class RemoteValue:
    """The result of a scheduled function."""

    def __init__(self):
        self._ready, self._value, self._error = threading.Event(), None, None

    def _set(self, value=None, error=None):
        self._value, self._error = value, error
        self._ready.set()

    def fetch(self) -> Any:
        """Waits for the result and returns it as NumPy values; raises the error of the function."""
        self._ready.wait()
        if self._error is not None:
            raise self._error
        return self._value

    def get(self) -> Any:
        """Waits for the result and returns it as tensors; raises the error of the function."""
        return nest.map_structure(lambda v: v if v is None else convert_to_tensor(v), self.fetch())


@export(
    "distribute.coordinator.PerWorkerValues", "distribute.experimental.coordinator.PerWorkerValues"
)
class PerWorkerValues:
    """A value per worker."""

    def __init__(self, values: TensorLike):
        self._values = tuple(values)


class PerWorkerDataset:
    """A dataset per worker; the coordinator reads the elements."""

    def __init__(self, datasets):
        self._datasets = datasets
        self.element_spec = datasets[0].element_spec

    def __iter__(self):
        return PerWorkerIterator([iter(d) for d in self._datasets], self.element_spec)


class PerWorkerIterator(PerWorkerValues):
    """An iterator per worker."""

    def __init__(self, iterators, element_spec):
        super().__init__(iterators)
        self.element_spec = element_spec

    def __iter__(self):
        return self

    def __next__(self):
        raise NotImplementedError(
            "An iterator of create_per_worker_dataset has a next element only in a function that "
            "ClusterCoordinator.schedule runs."
        )

    get_next = __next__


class _TracedIterator:
    """Stands for the iterator of a worker while a function is traced."""

    def __init__(self, step, index):
        self._step, self._index = step, index
        self.element_spec = step.iterators[index].element_spec

    def __iter__(self):
        return self

    def __next__(self):
        graph = _situ.current_graph()
        if graph is not self._step.graph:
            raise NotImplementedError(
                "next(iterator) in a loop or branch of a scheduled function is not supported yet."
            )
        element = nest.map_structure(
            lambda s: op("Placeholder", dtype=s.dtype, shape=s.shape, name="element"),
            self.element_spec,
        )
        self._step.elements.append((self._index, nest.flatten(element)))
        return element

    get_next = __next__


class _ById:
    """An argument without a hash, as part of a key that keeps it."""

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return isinstance(other, _ById) and self._value is other._value

    def __hash__(self):
        return id(self._value)


def _trace_key(value):
    """Returns what decides whether a trace serves another argument."""
    if is_tensor(value):
        return value.dtype, tuple(value.shape)
    try:
        hash(value)
    except TypeError:
        return _ById(value)
    return type(value), value


class _Step:
    """A traced function, with a session per worker."""

    def __init__(self, strategy, python, args, kwargs):
        self._strategy, self.elements, self.inputs = strategy, [], []
        self.iterators = [
            v for v in nest.flatten((args, kwargs)) if isinstance(v, PerWorkerIterator)
        ]
        self.graph, count = StepGraph(getattr(python, "__name__", "step")), iter(range(1 << 30))

        def traced(value):
            if isinstance(value, PerWorkerIterator):
                return _TracedIterator(self, next(count))
            if not is_tensor(value):
                return value
            value = convert_to_tensor(value)
            self.inputs.append(op("Placeholder", dtype=value.dtype, shape=value.shape))
            return self.inputs[-1]

        with self.graph.as_default(), variable.strategy_scope(strategy):
            given, named = nest.map_structure(traced, (args, kwargs))
            result = python(*given, **named)
            result = nest.map_structure(
                lambda v: None if v is None else op("Identity", convert_to_tensor(v)), result
            )
        effects = [o for o in self.graph.get_operations() if not o.outputs]
        assigns, self.is_additive = self.graph.assign_all()
        effects += [getattr(a, "op", a) for a in assigns]
        self._result = result
        self._fetches = [v for v in nest.flatten(result) if v is not None], effects
        self._sessions: dict = {}

    def run(self, worker, args, kwargs):
        """Runs the function on a worker; returns the result as NumPy values."""
        leaves = nest.flatten((args, kwargs))
        tensors = [convert_to_tensor(v).numpy() for v in leaves if is_tensor(v)]
        feeds = dict(zip(self.inputs, tensors))
        iterators = [v for v in leaves if isinstance(v, PerWorkerIterator)]
        for index, places in self.elements:
            values = nest.flatten(next(iterators[index]._values[worker]))
            feeds.update(zip(places, [convert_to_tensor(v).numpy() for v in values]))
        for tensor, inside in self.graph.captured.values():
            feeds[inside] = tensor.numpy()
        if worker not in self._sessions:
            self._sessions[worker] = Session(self._strategy.target("worker", worker), self.graph)
        values = iter(self._sessions[worker].run(self._fetches, feeds)[0])
        return nest.map_structure(lambda v: None if v is None else next(values), self._result)


@export(
    "distribute.coordinator.ClusterCoordinator",
    "distribute.experimental.coordinator.ClusterCoordinator",
)
class ClusterCoordinator:
    """Runs functions on the workers of a cluster, each on any worker that is free.

    Args:
      strategy: a tf.distribute.ParameterServerStrategy.

    Raises:
      ValueError: the strategy is another one.
    """

    _steps: dict
    _waiting: collections.deque

    def __new__(cls, strategy):
        """Returns the only coordinator of a strategy."""
        if not isinstance(strategy, ParameterServerStrategy):
            raise ValueError(
                "Only `tf.distribute.experimental.ParameterServerStrategy` is supported to work "
                "with `ClusterCoordinator` currently."
            )
        if strategy.coordinator is None:
            strategy.coordinator = super().__new__(cls)
        return strategy.coordinator

    def __init__(self, strategy: Any):
        if "_strategy" in self.__dict__:
            return
        self._strategy, self._steps = strategy, {}
        self._waiting, self._open, self._error = collections.deque(), 0, None
        self._changed, self._tracing = threading.Condition(), threading.Lock()
        for worker in range(strategy.num_workers):
            threading.Thread(target=self._work, args=(worker,), daemon=True).start()

    strategy = property(lambda s: s._strategy)

    def schedule(self, fn: Callable, args: Any = None, kwargs: Any = None) -> Any:
        """Has a worker run a function; returns at once.

        Args:
          fn: a tf.function or a ConcreteFunction.
          args, kwargs: its arguments; of a value per worker each worker gets its own.

        Returns:
          A RemoteValue.

        Raises:
          TypeError: `fn` is another function.
          ValueError: an argument is a RemoteValue.
          Exception: the error of a function that was scheduled before.
        """
        if not isinstance(fn, (Function, ConcreteFunction)):
            raise TypeError(
                "`tf.distribute.experimental.coordinator.ClusterCoordinator.schedule` only accepts "
                "a `tf.function` or a concrete function."
            )
        if any(isinstance(v, RemoteValue) for v in nest.flatten((args, kwargs))):
            raise ValueError(
                "`tf.distribute.experimental.coordinator.RemoteValue` used as an input to "
                "scheduled function is not supported currently."
            )
        result = RemoteValue()
        with self._changed:
            self._raise()
            self._waiting.append((fn, tuple(args or ()), dict(kwargs or {}), result))
            self._open += 1
            self._changed.notify_all()
        return result

    def join(self) -> None:
        """Waits for all scheduled functions; raises the first error of one."""
        with self._changed:
            while self._open and self._error is None:
                self._changed.wait(0.2)
            self._raise()

    def done(self) -> bool:
        """Whether all scheduled functions have ended; raises the first error of one."""
        with self._changed:
            self._raise()
            return not self._open

    def fetch(self, val: Any) -> Any:
        """Waits for the results in a structure and returns NumPy values."""
        return nest.map_structure(lambda v: v.fetch() if isinstance(v, RemoteValue) else v, val)

    def create_per_worker_dataset(self, dataset_fn: Callable) -> Any:
        """Creates a dataset per worker.

        Args:
          dataset_fn: a function or tf.function that returns a dataset, or a dataset.
        """
        make = getattr(dataset_fn, "python_function", dataset_fn)
        make = make if callable(make) else lambda: dataset_fn
        return PerWorkerDataset([make() for _ in range(self._strategy.num_workers)])

    def _raise(self):
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _step_of(self, fn, args, kwargs):
        """Returns the trace of a function for arguments."""
        key = fn, tuple(_trace_key(v) for v in nest.flatten((args, kwargs)))
        with self._tracing:
            if key not in self._steps:
                python = fn._converted() if isinstance(fn, Function) else fn
                self._steps[key] = _Step(self._strategy, python, args, kwargs)
            return self._steps[key]

    def _work(self, worker):
        self._wait_for(worker)
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                task = self._waiting.popleft()
            fn, args, kwargs, result = task
            try:
                step = self._step_of(fn, args, kwargs)
                if step.is_additive:
                    result._set(step.run(worker, args, kwargs))
                else:  # an update that reads and assigns must not overwrite another one
                    with self._strategy.lock:
                        result._set(step.run(worker, args, kwargs))
            except errors.UnavailableError as error:
                if not self._is_reachable("ps"):
                    self._fail(result, error)
                else:  # another worker, or this one when it has started again, runs the function
                    with self._changed:
                        self._waiting.appendleft(task)
                        self._changed.notify_all()
                    message = "Worker %d is lost; the others continue until it starts again."
                    logs.warn(message, worker)
                    self._wait_for(worker)
                    continue
            except Exception as error:
                self._fail(result, error)
            with self._changed:
                self._open -= 1
                self._changed.notify_all()

    def _is_reachable(self, job, index=None):
        """Whether the servers of a job, or of one task, accept connections."""
        spec = self._strategy.cluster_resolver.cluster_spec()
        found = spec.task_indices(job) if index is None else [index]
        return all(service.is_reachable(spec.task_address(job, i)) for i in found)

    def _wait_for(self, worker):
        """Waits until a worker has started."""
        while not self._is_reachable("worker", worker):
            time.sleep(_PAUSE)

    def _fail(self, result, error):
        result._set(error=error)
        with self._changed:
            self._error = self._error or error
