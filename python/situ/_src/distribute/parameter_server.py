# SPDX-License-Identifier: Apache-2.0
"""parameter_server.py: ParameterServerStrategy: variables on the parameter servers of a cluster,
and functions that workers run (cluster_coordinator.py).

The process that creates the strategy is the coordinator. The other tasks only start a
tf.distribute.Server and join it."""

from __future__ import annotations

import inspect
import itertools
import threading
import uuid

import _situ
from situ._src.cluster import servers, service
from situ._src.distribute import sharded_variable
from situ._src.distribute.strategy import Strategy, full_name
from situ._src.framework.api import export
from situ._src.framework.concrete_function import FuncGraph
from situ._src.framework.graph import Graph
from situ._src.framework.session import Session
from situ._src.ops.array_ops import constant, op
from situ._src.variables.eager_variable import EagerVariable, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

_numbers = itertools.count()


class ServerVariable(EagerVariable):
    """A variable of a parameter server. In the coordinator each read fetches the value, and each
    assignment sends it."""

    def __init__(self, strategy, task, **kwargs):
        self._strategy, self._task, self._local = strategy, task, None
        self.shared_name = f"situ_ps_{strategy.scope_name}_{next(_numbers)}"
        super().__init__(**kwargs)
        value, self._local = self._local, None
        self._device = f"/job:ps/replica:0/task:{task}/device:CPU:0"
        self._dtype, self._value_shape = value.dtype, value.shape
        self._make_programs()
        self._value = value

    _trace_device = "/device:CPU:0"  # the coordinator fetches the value
    dtype = property(lambda s: s._local.dtype if s._local is not None else s._dtype)
    shape = property(lambda s: s._static_shape if s._static_shape is not None else s._value_shape)

    def handle_in(self, graph):
        """Returns the handle of the variable in a graph."""
        with graph.control_dependencies(None), graph.device(None), graph.device(self._device):
            return op(
                "VarHandleOp",
                dtype=self._dtype,
                shape=self._value_shape,
                shared_name=self.shared_name,
                name=self.name.split(":")[0],
            )

    def _make_programs(self):
        """Builds the operations of the coordinator: read and assign."""
        with Graph().as_default() as graph:
            handle = self.handle_in(graph)
            with graph.device(self._device):
                self._fed = op("Placeholder", dtype=self._dtype, shape=self._value_shape)
                self._read = op("ReadVariableOp", handle, dtype=self._dtype)
                self._assign = op("AssignVariableOp", handle, self._fed)
        self._session = Session(self._strategy.target("ps", self._task), graph)

    @property
    def _value(self):
        if self._local is not None:
            return self._local
        with self._strategy.in_graph_mode():
            found = self._session.run(self._read)
        return _tensor(found)

    @_value.setter
    def _value(self, value):
        if "_session" not in self.__dict__:
            self._local = value
            return
        with self._strategy.in_graph_mode():
            self._session.run(self._assign, {self._fed: value.numpy()})

    def mirrored_like(self, value, name):
        """Creates a slot variable of an optimizer on the same parameter server."""
        return self._strategy.create(
            self._task, initial_value=value, trainable=False, name=name, dtype=self.dtype
        )

    def _put(self, value):
        graph = _situ.current_graph()
        if graph is not None and graph.building_function:
            graph.write_variable(self, value)
        else:
            self._value = value
        return self


def _tensor(array):
    """Returns an eager tensor."""
    before = _situ.swap_graph(None)
    try:
        return constant(array)
    finally:
        _situ.swap_graph(before)


class StepGraph(FuncGraph):
    """The graph of a function that workers run: it reads and assigns variables of parameter
    servers."""

    def __init__(self, name):
        super().__init__(name)
        self.handles = {}

    def read_variable(self, variable):
        if not isinstance(variable, ServerVariable):
            raise NotImplementedError(
                f"The variable '{variable.name}' was not created in the scope of the "
                "ParameterServerStrategy: a worker cannot read it."
            )
        if variable not in self.writes and variable not in self.reads:
            self.handles[variable] = handle = variable.handle_in(self)
            with self.control_dependencies(None), self.device(None), self.device(variable.device):
                self.reads[variable] = op("ReadVariableOp", handle, dtype=variable.dtype)
        return super().read_variable(variable)

    def write_variable(self, variable, value):
        if variable not in self.handles:
            self.read_variable(variable)
        super().write_variable(variable, value)

    def assign_all(self):
        """Adds the assignments at the end of the function. Returns them, and whether all of them
        only add to variables, so that steps of several workers can run at the same time."""
        done, additive = [], True
        for variable, value in self.writes.items():
            handle, read, producer = self.handles[variable], self.reads[variable], value.op
            with self.as_default(), self.device(None), self.device(variable.device):
                if producer.type in ("Add", "AddV2", "Sub") and producer.inputs[0] is read:
                    kind = (
                        "AssignSubVariableOp" if producer.type == "Sub" else "AssignAddVariableOp"
                    )
                    done.append(op(kind, handle, producer.inputs[1]))
                else:
                    additive = False
                    done.append(op("AssignVariableOp", handle, value))
        return done, additive


_JOBS = ("chief", "worker", "evaluator", "ps")


def _check_cluster(spec, task_type, task_id):
    """Checks the jobs of a cluster and the task of this process; None if it is none of them."""
    if any(job not in _JOBS for job in spec.jobs):
        raise ValueError(
            f"Disallowed task type found in cluster spec. Allowed types are {(*_JOBS, None)} and "
            f"the cluster spec is {spec}."
        )
    if task_type is not None and task_type not in _JOBS:
        raise ValueError(
            f"Unrecognized task_type: {task_type}, valid task types are: {(*_JOBS, None)}"
        )
    counts = {job: spec.num_tasks(job) if job in spec.jobs else 0 for job in _JOBS}
    if task_type not in (None, "evaluator") and task_type not in spec.jobs:
        raise ValueError(f"`task_type` {task_type!r} not found in cluster_spec.")
    for job in ("chief", "evaluator"):
        if counts[job] > 1:
            raise ValueError(f"There must be at most one '{job}' job.")
    if task_type in spec.jobs and (task_id or 0) >= counts[task_type]:
        raise ValueError(f"The `task_id` {task_id} exceeds the maximum id of {task_type}.")
    for job in ("ps", "worker"):
        if not counts[job]:
            raise ValueError(f"There must be at least one {job}.")


@export(
    v2=("distribute.ParameterServerStrategy", "distribute.experimental.ParameterServerStrategy")
)
class ParameterServerStrategy(Strategy):
    """Asynchronous training: variables are on parameter servers, and workers run the functions that
    a tf.distribute.coordinator.ClusterCoordinator schedules.

    Args:
      cluster_resolver: names the tasks: jobs "worker" and "ps", and maybe "chief". If it says that
        this process is the chief, the strategy starts its server, so that other tasks that are in
        Server.join end with this process.
      variable_partitioner: a tf.distribute.experimental.partitioners.Partitioner, or a function of
        shape and type that returns the number of shards of each dimension, of which only the first
        one is divided; None: variables are not divided.

    Raises:
      ValueError: the cluster has no worker, no parameter server, several chiefs or evaluators, or
        jobs of other names; or it does not have the task of this process.
    """

    def __init__(self, cluster_resolver: Any, variable_partitioner: Any = None):
        super().__init__([full_name("/device:CPU:0")])
        self._resolver, self._spec = cluster_resolver, cluster_resolver.cluster_spec()
        _check_cluster(self._spec, cluster_resolver.task_type, cluster_resolver.task_id)
        self.scope_name, self._next = uuid.uuid4().hex[:12], itertools.count()
        self.lock, self._partitioner = threading.Lock(), variable_partitioner
        self.coordinator = None
        self._start_chief()

    def _start_chief(self):
        task = self._resolver.task_type, self._resolver.task_id
        if task[0] == "chief" and "chief" in self._spec.jobs:
            address = self._spec.task_address(task[0], task[1] or 0)
            if service.server_at(address) is None:
                self._server = servers.Server(self._spec, task[0], task[1] or 0)

    schedules_steps = True  # workers run the steps of Model.fit and evaluate
    cluster_resolver = property(lambda s: s._resolver)
    num_workers = property(lambda s: s._spec.num_tasks("worker"))

    def target(self, job: Any, index: int) -> str:
        """Returns the target of sessions at a task."""
        return f"grpc://{self._spec.task_address(job, index)}"

    @staticmethod
    def in_graph_mode() -> Any:
        """Returns a context manager in which sessions run outside of the traced function."""
        return _Outside()

    def make_variable(self, graph: Any, args: Any, kwargs: Any) -> Any:
        if graph is not None and not graph.building_function:
            return super().make_variable(graph, args, kwargs)
        if graph is not None:
            graph.created += 1
        kwargs = dict(inspect.signature(EagerVariable).bind(*args, **kwargs).arguments)
        if self._partitioner is not None:
            shards = self._shards(kwargs)
            if shards is not None:
                return shards
        return self.create(self._next_task(), **kwargs)

    def _next_task(self):
        return next(self._next) % self._spec.num_tasks("ps")

    def _shards(self, kwargs):
        """Creates a variable that the partitioner divides; None if it does not."""
        with _Outside():
            value = kwargs["initial_value"]
            value = value() if callable(value) else value
            value = (
                value
                if hasattr(value, "dtype") and hasattr(value.shape, "rank")
                else constant(value, kwargs.get("dtype"))
            )
        kwargs["initial_value"] = value
        if not value.shape.rank:
            return None
        counts = self._partitioner(value.shape, value.dtype)
        if any(n > 1 for n in counts[1:]):
            raise ValueError(
                "ParameterServerStrategy divides variables along the first dimension only. The "
                f"partitioner returned {list(counts)} for the shape {value.shape}."
            )
        if counts[0] <= 1:
            return None
        name, start, result = kwargs.get("name") or "Variable", 0, []
        for index, size in enumerate(sharded_variable.sizes_of(value.shape[0], counts[0])):
            with _Outside():
                part = value[start : start + size]
            own = {**kwargs, "initial_value": part, "name": f"{name}/part_{index}"}
            result.append(self.create(self._next_task(), **own))
            start += size
        return sharded_variable.ShardedVariable(result, name)

    def create(self, task: Any, **kwargs: Any) -> Any:
        """Creates a variable on a parameter server."""
        before, mode = _situ.swap_graph(None), (place.index, place.mode, place.run)
        place.index = place.mode = place.run = None
        try:
            return ServerVariable(self, task, **kwargs)
        finally:
            place.index, place.mode, place.run = mode
            _situ.swap_graph(before)


class _Outside:
    """Leaves the graph that is being built, if there is one."""

    def __enter__(self):
        self._before = _situ.swap_graph(None)

    def __exit__(self, *error):
        _situ.swap_graph(self._before)
