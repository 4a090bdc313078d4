# SPDX-License-Identifier: Apache-2.0
"""servers.py: tf.train.ClusterSpec and tf.train.Server."""

from __future__ import annotations

from situ._src.cluster import links, service, task_states
from situ._src.cluster.protos import ClusterDef, JobDef, ServerDef
from situ._src.framework import errors, style
from situ._src.framework.api import export
from situ._src.framework.protos import ConfigProto

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


@export("train.ClusterSpec", "python.training.server_lib.ClusterSpec")
class ClusterSpec:
    """The tasks of each job of a cluster and their addresses."""

    def __init__(self, cluster: Any):
        if isinstance(cluster, ClusterSpec):
            cluster = cluster.as_dict()
        if isinstance(cluster, ClusterDef):
            cluster = {job.name: dict(job.tasks) for job in cluster.job}
        if not isinstance(cluster, dict):
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists "
                "of network addresses, or a `ClusterDef` protocol buffer"
            )
        self._jobs = {}
        for job, tasks in cluster.items():
            if isinstance(tasks, dict):
                self._jobs[job] = {int(i): a for i, a in tasks.items()}
            elif isinstance(tasks, int):
                self._jobs[job] = {i: f"localhost:{i}" for i in range(tasks)}
            elif isinstance(tasks, (list, tuple)):
                self._jobs[job] = dict(enumerate(tasks))
            else:
                raise TypeError(
                    f"The tasks for job '{job}' must be a list or a dictionary from "
                    "integers to strings."
                )

    jobs = property(lambda s: sorted(s._jobs))

    def as_dict(self) -> dict:
        """Returns job -> list of addresses, or a dictionary where task indices have gaps."""
        return {
            job: [tasks[i] for i in sorted(tasks)]
            if sorted(tasks) == list(range(len(tasks)))
            else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> Any:
        """Returns a ClusterDef."""
        return ClusterDef(job=[JobDef(name=job, tasks=self._jobs[job]) for job in self.jobs])

    def _tasks(self, job):
        if job not in self._jobs:
            raise ValueError(f"No such job in cluster: {job!r}")
        return self._jobs[job]

    def num_tasks(self, job_name: str) -> int:
        """Returns the number of tasks of a job.

        Args:
          job_name: The job.
        """
        return len(self._tasks(job_name))

    def task_indices(self, job_name: str) -> list:
        """Returns the indices of the tasks of a job, in ascending order.

        Args:
          job_name: The job.
        """
        return sorted(self._tasks(job_name))

    def items_of(self, job_name: str) -> list:
        """Returns the pairs (index, address) of the tasks of a job.

        Args:
          job_name: The job.
        """
        return sorted(self._tasks(job_name).items())

    def task_address(self, job_name: str, task_index: int) -> Any:
        """Returns the address of a task.

        Args:
          job_name: The job.
          task_index: Its index.
        """
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> Any:
        """Returns the addresses of the tasks of a job; None for indices without a task.

        Args:
          job_name: The job.
        """
        tasks = self._tasks(job_name)
        return [tasks.get(i) for i in range(max(tasks) + 1)] if tasks else []

    def __bool__(self):
        return bool(self._jobs)

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __repr__(self):
        return f"ClusterSpec({self.as_dict()!r})"

    __str__ = __repr__
    __hash__ = None  # type: ignore[assignment]


@export("train.Server", "distribute.Server", "python.training.server_lib.Server")
class Server:
    """A task of a cluster in this process. It runs in the background; sessions of any task connect
    to it and wait for tasks that have not started yet. A process may have several servers.

    Args:
      server_or_cluster_def: A ServerDef, or a ClusterSpec, ClusterDef or dict.
      job_name: The job; may be omitted if there is only one.
      task_index: The task; may be omitted if the job has only one.
      protocol: Only recorded in server_def; "grpc" by default.
      config: A ConfigProto for sessions that have none. Of it, sessions with a config of their own
        only take device_count and, unless they set it, operation_timeout_in_ms.
      start: Whether to start the server.

    Raises:
      TypeError: the config or the cluster is of another type.
      ValueError: the cluster has no such task, or the task is ambiguous.
      InvalidArgumentError: the address of the task has no port.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ):
        given = server_or_cluster_def
        if isinstance(given, ServerDef):
            job_name = given.job_name if job_name is None else job_name
            task_index = given.task_index if task_index is None else task_index
            protocol = protocol or given.protocol
            config = config or (
                given.default_session_config if given.HasField("default_session_config") else None
            )
            given = given.cluster
        self._spec = ClusterSpec(given)
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        self.task, self._config = _task(self._spec, job_name, task_index), config
        self._protocol, self.group = protocol or "grpc", None
        self.announcer = task_states.Announcer()
        self._address = self._spec.task_address(*self.task)
        if not self._address.rpartition(":")[2].isdigit() or ":" not in self._address:
            raise errors.InvalidArgumentError(
                None, None, f'Could not parse port for local server from "{self._address}".'
            )
        if start:
            self.start()

    @property
    def server_def(self) -> Any:
        """The ServerDef of the server."""
        job, index = self.task
        return ServerDef(
            cluster=self._spec.as_cluster_def(),
            job_name=job,
            task_index=index,
            protocol=self._protocol,
            default_session_config=self._config,
        )

    address = property(lambda s: s._address)

    @property
    def target(self) -> str:
        """The target for tf.Session."""
        return f"grpc://{self._address}"

    def describe(self) -> dict:
        """Returns the tasks of the cluster in the form that sessions need."""
        return {
            "task": self.task,
            "addresses": {
                (job, index): self._address if (job, index) == self.task else address
                for job in self._spec.jobs
                for index, address in self._spec.items_of(job)
            },
        }

    def config_of(self, config: Any) -> Any:
        """Returns the options of a session, or else those of the server."""
        if config is None or self._config is None:
            return config or self._config
        result = ConfigProto()
        result.CopyFrom(config)
        if not result.operation_timeout_in_ms:
            result.operation_timeout_in_ms = self._config.operation_timeout_in_ms
        for kind, count in self._config.device_count.items():
            result.device_count[kind] = count  # the devices are those of the server
        return result

    def start(self) -> None:
        """Starts to accept connections; does not wait for other tasks."""
        if self.group is not None:
            return
        known = [a for j in self._spec.jobs for _, a in self._spec.items_of(j)]
        service.start(self, self._address, known)

    def started(self, address: str, group: Any) -> None:
        """Called when the server accepts connections."""
        self._address, self.group = address, group

    def join(self) -> None:
        """Blocks until the tasks that run a program have started and ended, and so at least one;
        forever without such tasks. Parameter servers, evaluators and tasks that are in join
        themselves run no program. A task that was killed has SITU_CLUSTER_TIMEOUT seconds to start
        again."""
        others = [
            a
            for (job, index), a in self.describe()["addresses"].items()
            if job not in ("ps", "evaluator") and (job, index) != self.task
        ]
        self.announcer.set(task_states.JOINED)
        task_states.wait_for_programs(service.watchers_of(others), links.start_timeout())

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Any:
        """Creates a server of a cluster with this process alone: the job "local" in TensorFlow 1,
        "localhost" in TensorFlow 2."""
        job = "local" if style.is_graph_program() else "localhost"
        return Server({job: ["localhost:0"]}, job, 0, config=config, start=start)


@export("test.create_local_cluster", "python.framework.test_util.create_local_cluster")
def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: Any = None,
    ps_config: Any = None,
) -> Any:
    """Starts the servers of a cluster in this process.

    Args:
      num_workers: how many tasks the job "worker" has.
      num_ps: how many tasks the job "ps" has.
      protocol: only recorded in the server_def of the servers.
      worker_config: a tf.compat.v1.ConfigProto for the workers, or None.
      ps_config: the same for the parameter servers.

    Returns:
      Two lists of servers: workers, and parameter servers.
    """
    counts = {"worker": (num_workers, worker_config), "ps": (num_ps, ps_config)}
    spec = ClusterSpec({job: service.free_addresses(n) for job, (n, _) in counts.items()})
    result = {
        job: [Server(spec, job, i, protocol, config) for i in range(n)]
        for job, (n, config) in counts.items()
    }
    return result["worker"], result["ps"]


def _task(spec, job, index):
    """Returns (job, index) of a server; they may be omitted if there is only one task."""
    if not spec:
        raise ValueError("The cluster has no jobs.")
    if job is None:
        if len(spec.jobs) > 1:
            raise ValueError(
                "Must specify an explicit `job_name` when there are more than one "
                "jobs in the cluster."
            )
        job = spec.jobs[0]
    if index is None:
        if len(spec.task_indices(job)) > 1:
            raise ValueError(
                "Must specify an explicit `task_index` when there are more than one "
                "tasks in the job."
            )
        index = spec.task_indices(job)[0]
    return job, int(index)
