# SPDX-License-Identifier: Apache-2.0
"""servers.py: tf.train.ClusterSpec, tf.train.Server, and resolvers: the words of TensorFlow for
processes that belong together."""
import time

import _situ
from situ._lib.api import export
from situ._lib.cluster import processes


@export("train.ClusterSpec")
class ClusterSpec:
    """Which tasks each job has, and their addresses."""

    def __init__(self, cluster):
        if isinstance(cluster, ClusterSpec):
            cluster = cluster.as_dict()
        if not isinstance(cluster, dict):
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists "
                            "of network addresses, or a `ClusterDef` protocol buffer")
        self._jobs = {}
        for job, tasks in cluster.items():
            if isinstance(tasks, dict):
                self._jobs[job] = {int(i): a for i, a in tasks.items()}
            elif isinstance(tasks, int):
                self._jobs[job] = {i: f"localhost:{i}" for i in range(tasks)}
            elif isinstance(tasks, (list, tuple)):
                self._jobs[job] = dict(enumerate(tasks))
            else:
                raise TypeError(f"The tasks for job '{job}' must be a list or a dictionary from "
                                "integers to strings.")

    jobs = property(lambda s: sorted(s._jobs))

    def as_dict(self):
        """Lists where tasks are numbered without a gap, else dictionaries."""
        return {job: [tasks[i] for i in sorted(tasks)] if sorted(tasks) == list(range(len(tasks)))
                else dict(tasks) for job, tasks in self._jobs.items()}

    def _tasks(self, job):
        if job not in self._jobs:
            raise ValueError(f"No such job in cluster: {job!r}")
        return self._jobs[job]

    def num_tasks(self, job_name):
        return len(self._tasks(job_name))

    def task_indices(self, job_name):
        return sorted(self._tasks(job_name))

    def items_of(self, job_name):
        return sorted(self._tasks(job_name).items())

    def task_address(self, job_name, task_index):
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name):
        tasks = self._tasks(job_name)
        return [tasks.get(i) for i in range(max(tasks) + 1)] if tasks else []

    def __bool__(self):
        return bool(self._jobs)

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __repr__(self):
        return f"ClusterSpec({self.as_dict()!r})"

    __str__ = __repr__
    __hash__ = None


@export("train.Server", "distribute.Server")
class Server:
    """This process as a task of a cluster. The processes meet when it is started: those of mpirun,
    or those of one machine that agree on the ClusterSpec."""

    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None,
                 config=None, start=True):
        self._spec = server_or_cluster_def if isinstance(server_or_cluster_def, ClusterSpec) else \
            ClusterSpec(server_or_cluster_def)
        if not self._spec:
            raise ValueError("The cluster has no jobs.")
        self._job = job_name or self._spec.jobs[0]
        self._index = 0 if task_index is None else int(task_index)
        self._address = self._spec.task_address(self._job, self._index)
        self._started = False
        if start:
            self.start()

    server_def = property(lambda s: {"cluster": s._spec.as_dict(), "job_name": s._job,
                                     "task_index": s._index})

    @property
    def target(self):
        """What tf.Session takes to run graphs in the cluster."""
        return f"grpc://{self._address}"

    def start(self):
        """Meets the other tasks."""
        if self._started:
            return
        self._started = True
        if sum(self._spec.num_tasks(j) for j in self._spec.jobs) > 1:
            processes.join_tasks({j: dict(self._spec.items_of(j)) for j in self._spec.jobs},
                                 self._job, self._index)

    def join(self):
        """A parameter server serves the others, anybody else waits, until these have gone."""
        from situ._lib.cluster import serving
        if self._job == "ps" and processes.size() > 1:
            serving.serve()
        others = [r for r in range(processes.size())
                  if r != processes.rank() and processes.tasks()[r].job != "ps"]
        while not all(_situ.cluster_gone(r) for r in others):
            time.sleep(0.05)

    @staticmethod
    def create_local_server(config=None, start=True):
        """A cluster of this process alone."""
        return Server({"local": ["localhost:0"]}, "local", 0, start=start)


@export("distribute.cluster_resolver.ClusterResolver")
class ClusterResolver:
    """Says which tasks there are."""
    task_type = task_id = None
    environment, rpc_layer = "", "grpc"

    def cluster_spec(self):
        raise NotImplementedError

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        return ""

    def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
        from situ._lib import config
        return {"GPU": len(config.list_logical_devices("GPU"))}


@export("distribute.cluster_resolver.SimpleClusterResolver")
class SimpleClusterResolver(ClusterResolver):
    """Says what it was given."""

    def __init__(self, cluster_spec, master="", task_type=None, task_id=None, environment="",
                 num_accelerators=None, rpc_layer=None):
        self._spec, self._master = cluster_spec, master
        self.task_type, self.task_id = task_type, task_id

    def cluster_spec(self):
        return self._spec

    def master(self, task_type=None, task_id=None, rpc_layer=None):
        return self._master


@export("distribute.cluster_resolver.TFConfigClusterResolver")
class TFConfigClusterResolver(ClusterResolver):
    """Says what the environment variable TF_CONFIG says."""

    def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None):
        found = processes.environment_task()
        self._jobs, job, index = found or ({}, None, None)
        self.task_type = task_type or job
        self.task_id = index if task_id is None else task_id

    def cluster_spec(self):
        return ClusterSpec(self._jobs)
