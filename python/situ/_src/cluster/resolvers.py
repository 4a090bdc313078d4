# SPDX-License-Identifier: Apache-2.0
"""resolvers.py: cluster resolvers: which tasks there are, and which of them this process is."""

from __future__ import annotations

import collections
import json
import os
import re
import subprocess

from situ._src.cluster import processes
from situ._src.cluster.servers import ClusterSpec
from situ._src.framework.api import export
from situ._src.framework.config import list_logical_devices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any


def _url(address, rpc_layer):
    return f"{rpc_layer}://{address}" if rpc_layer else address


@export("distribute.cluster_resolver.ClusterResolver")
class ClusterResolver:
    """Base class of cluster resolvers."""

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment = ""

    def cluster_spec(self) -> Any:
        """Returns the ClusterSpec; subclasses define it."""
        raise NotImplementedError

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> Any:
        """Returns the address of the master, or of a task; subclasses define it.

        Args:
          task_type: Job of the task.
          task_id: Index of the task.
          rpc_layer: Protocol of the address.
        """
        raise NotImplementedError

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Any:
        """Returns the number of accelerators by type.

        Args:
          task_type, task_id: count the devices of this task only, if both are given.
          config_proto: has no effect: the devices are those of this process.
        """
        del config_proto  # the devices are those of this process
        found: dict = collections.defaultdict(int)
        one_task = task_type is not None and task_id is not None
        parts = [f"/job:{task_type}/", f"/task:{task_id}/"] if one_task else []
        for device in list_logical_devices():
            if device.device_type != "CPU" and all(part in device.name for part in parts):
                found[device.device_type] += 1
        return found


@export("distribute.cluster_resolver.SimpleClusterResolver")
class SimpleClusterResolver(ClusterResolver):
    """Returns a given ClusterSpec.

    Args:
      cluster_spec: the ClusterSpec.
      master: the address of the master.
      task_type, task_id: the task of this process.
      environment: a string, for programs.
      num_accelerators: the number of accelerators by type.
      rpc_layer: the protocol of addresses.

    Raises:
      TypeError: `cluster_spec` is not a ClusterSpec.
    """

    def __init__(
        self,
        cluster_spec: Any,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: int | None = None,
        rpc_layer: str | None = None,
    ):
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        self._spec, self._master, self._accelerators = cluster_spec, master, num_accelerators
        self.task_type, self.task_id = task_type, task_id
        self.environment, self.rpc_layer = environment, rpc_layer

    def cluster_spec(self) -> Any:
        return self._spec

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> Any:
        """Returns the address of the master, or of a task, with the protocol if there is one."""
        address = self._master
        if task_type is not None and task_id is not None:
            address = self._spec.task_address(task_type, task_id)
        return _url(address, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Any:
        """Returns the number of accelerators that was given, or {}."""
        del task_type, task_id, config_proto  # the number was given
        return {} if self._accelerators is None else self._accelerators


@export("distribute.cluster_resolver.TFConfigClusterResolver")
class TFConfigClusterResolver(ClusterResolver):
    """Reads the cluster from the environment variable TF_CONFIG.

    Args:
      task_type, task_id, rpc_layer: replace those of TF_CONFIG.
      environment: a string, for programs.
    """

    _jobs: dict

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: Any = None,
    ):
        found = processes.environment_task()
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
        self._jobs, job, index = found or ({}, None, None)
        self.task_type = task_type or job
        self.task_id = index if task_id is None else task_id
        self.rpc_layer = config.get("rpc_layer") if rpc_layer is None else rpc_layer
        self.environment, self._master = environment, config.get("session_master")

    def cluster_spec(self) -> Any:
        return ClusterSpec(self._jobs)

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> Any:
        """Returns the address of a task, by default this one; "" if there is no other."""
        if self._master is not None:
            return self._master
        if sum(len(tasks) for tasks in self._jobs.values()) <= 1:
            return ""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        address = self.cluster_spec().task_address(task_type, task_id)
        return _url(address, self.rpc_layer if rpc_layer is None else rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Any:
        """Returns the number of accelerators of a task by type, by default of this one."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        return super().num_accelerators(task_type, task_id, config_proto)


@export("distribute.cluster_resolver.UnionResolver")
class UnionResolver(ClusterResolver):
    """Joins the clusters of several resolvers.

    Jobs of the same name are joined: lists of tasks one after another; if one of them has task
    indices, all have to be different. Everything else comes from the first resolver.

    Args:
      *args: The resolvers.
      task_type, task_id, rpc_layer: replace those of the first resolver.

    Raises:
      ValueError: there is no resolver.
      TypeError: an argument is not a ClusterResolver.
    """

    def __init__(
        self,
        *args: ClusterResolver,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ):
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        if not all(isinstance(resolver, ClusterResolver) for resolver in args):
            raise TypeError("All arguments must be a sub-class of `ClusterResolver.`")
        self._resolvers, first = args, args[0]
        self.task_type = first.task_type if task_type is None else task_type
        self.task_id = first.task_id if task_id is None else task_id
        self.rpc_layer = first.rpc_layer if rpc_layer is None else rpc_layer
        self.environment = first.environment

    def cluster_spec(self) -> ClusterSpec:
        """Returns the ClusterSpec of all resolvers.

        Raises:
          KeyError: two resolvers have different addresses for a task.
        """
        jobs: dict = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                jobs.setdefault(job, []).append(tasks)
        return ClusterSpec({job: _joined_tasks(several) for job, several in jobs.items()})

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Returns the address of a task, or the master of the first resolver.

        Args:
          task_type, task_id: The task.
          rpc_layer: Protocol of the address; by default that of the resolver.
        """
        if task_type is None or task_id is None:
            return self._resolvers[0].master(rpc_layer=rpc_layer)
        address = self.cluster_spec().task_address(task_type, task_id)
        return _url(address, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> Any:
        """Returns the number of accelerators by type that the first resolver returns.

        Args:
          task_type, task_id, config_proto: as for the first resolver.
        """
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)


def _joined_tasks(several):
    """Returns the tasks of a job of several clusters: lists of addresses, or addresses by index."""
    if all(isinstance(tasks, list) for tasks in several):
        return [address for tasks in several for address in tasks]
    joined: dict = {}
    for tasks in several:
        numbered = dict(enumerate(tasks)) if isinstance(tasks, list) else tasks
        twice = joined.keys() & numbered.keys()
        if twice:
            raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: {twice!r}")
        joined.update(numbered)
    return joined


def expand_hostlist(hostlist: str) -> list[str]:
    """Returns the hosts of a host list of Slurm, in its order.

    Args:
      hostlist: such as "n[1-2],m5,o[03-04,06]".

    Raises:
      ValueError: the text is not a host list.
    """
    hosts: list[str] = []
    for part in re.split(r",(?![^\[]*\])", hostlist):
        match = re.fullmatch(r"([^,\[\]]*)(?:\[([^\[\]]+)\])?", part)
        if not part or match is None:
            raise ValueError(f'Invalid hostlist format "{hostlist}": "{part}" is not a host')
        prefix, ranges = match.groups()
        hosts += [prefix + i for i in _numbers(ranges, hostlist)] if ranges else [prefix]
    return hosts


def _numbers(ranges, hostlist):
    """Returns the numbers of ranges such as "3-5,07", with their leading zeros."""
    result = []
    for part in ranges.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if match is None:
            raise ValueError(f'Invalid hostlist format "{hostlist}": "{part}" is not a range')
        first, last = match[1], match[2] or match[1]
        result += [str(i).zfill(len(first)) for i in range(int(first), int(last) + 1)]
    return result


def expand_tasks_per_node(tasks_per_node: str) -> list[int]:
    """Returns the number of tasks of each node.

    Args:
      tasks_per_node: a list of Slurm, such as "3(x2),2,1".

    Raises:
      ValueError: the text is not such a list.
    """
    result: list[int] = []
    for part in tasks_per_node.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if match is None:
            raise ValueError(f'Invalid tasks-per-node list format "{tasks_per_node}"')
        result += [int(match[1])] * int(match[2] or 1)
    return result


def _slurm(name):
    """Returns an environment variable of a Slurm step."""
    value = os.environ.get(f"SLURM_{name}")
    if value is None:
        raise RuntimeError(
            f"SLURM_{name} not found in environment. Not running inside a SLURM step?"
        )
    return value


def _gpus_of_node():
    """Returns the number of GPUs of this node that CUDA_VISIBLE_DEVICES or nvidia-smi lists."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([entry for entry in visible.split(",") if entry])
    command = ["nvidia-smi", "--list-gpus"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(
            f"Could not get number of GPUs from nvidia-smi ({error}). Give gpus_per_node, or set "
            "CUDA_VISIBLE_DEVICES."
        ) from error
    return sum(line.startswith("GPU ") for line in listed.splitlines())


@export("distribute.cluster_resolver.SlurmClusterResolver")
class SlurmClusterResolver(ClusterResolver):
    """Reads the cluster from the environment of a job step of Slurm (srun).

    The tasks are numbered by host, in sorted order. `cluster_spec` says which of them this process
    is, and makes its GPUs visible.

    Args:
      jobs: The number of tasks of each job; by default all tasks are "worker".
      port_base: The port of the first task of each host.
      gpus_per_node: The number of GPUs of each host; by default those of this one.
      gpus_per_task: The number of GPUs of each task; by default those of a host are divided evenly.
      tasks_per_node: The number of tasks of all hosts, or a dict by host; by default Slurm's.
      auto_set_gpu: Whether `cluster_spec` sets CUDA_VISIBLE_DEVICES to the GPUs of this task.
      rpc_layer: The protocol of addresses.

    Raises:
      RuntimeError: a variable of Slurm is missing, the jobs have another number of tasks than the
        step, or the tasks of a host need more GPUs than it has.
    """

    def __init__(
        self,
        jobs: dict[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | dict[str, int] | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = "grpc",
    ):
        self._rank = int(_slurm("PROCID"))
        self._jobs = {"worker": int(_slurm("STEP_NUM_TASKS"))} if jobs is None else jobs
        self._port, self._set_gpu, self.rpc_layer = port_base, auto_set_gpu, rpc_layer
        self._tasks = self._tasks_of_hosts(tasks_per_node)
        most = max(self._tasks.values())
        self._node_gpus = _gpus_of_node() if gpus_per_node is None else gpus_per_node
        self._task_gpus = self._node_gpus // most if gpus_per_task is None else gpus_per_task
        if most * self._task_gpus > self._node_gpus:
            raise RuntimeError("Requested more GPUs per node than available.")
        requested, assigned = sum(self._jobs.values()), sum(self._tasks.values())
        if requested != assigned:
            raise RuntimeError(f"Requested {requested} tasks but only {assigned} were assigned.")

    @staticmethod
    def _tasks_of_hosts(tasks_per_node):
        if isinstance(tasks_per_node, dict):
            return tasks_per_node
        hosts = expand_hostlist(_slurm("STEP_NODELIST"))
        if tasks_per_node is not None:
            return {host: int(tasks_per_node) for host in hosts}
        return dict(zip(hosts, expand_tasks_per_node(_slurm("STEP_TASKS_PER_NODE"))))

    def cluster_spec(self) -> ClusterSpec:
        """Returns the ClusterSpec; sets task_type, task_id and, if asked for, the visible GPUs."""
        tasks = [
            (f"{host}:{self._port + i}", range(i * self._task_gpus, (i + 1) * self._task_gpus))
            for host, count in sorted(self._tasks.items())
            for i in range(count)
        ]
        cluster, first = {}, 0
        for job, count in sorted(self._jobs.items()):
            cluster[job] = [address for address, _ in tasks[first : first + count]]
            if first <= self._rank < first + count:
                self.task_type, self.task_id = job, self._rank - first
            first += count
        if self._set_gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, tasks[self._rank][1]))
        return ClusterSpec(cluster)

    def get_task_info(self) -> tuple[str | None, int | None]:
        """Returns the job and the index of this process, which `cluster_spec` finds out."""
        return self.task_type, self.task_id

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Returns the address of a task, by default this one; "" before `cluster_spec`.

        Args:
          task_type, task_id: The task.
          rpc_layer: Protocol of the address; by default that of the resolver.
        """
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        address = self.cluster_spec().task_address(task_type, task_id)
        return _url(address, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Returns {"GPU": the number of GPUs of a task}.

        Args:
          task_type, task_id, config_proto: have no effect: all tasks have equally many.
        """
        del task_type, task_id, config_proto  # all tasks have equally many
        return {"GPU": self._task_gpus}
