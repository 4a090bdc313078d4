# SPDX-License-Identifier: Apache-2.0
"""processes.py: which processes belong together: as mpirun says, or TF_CONFIG, or a ClusterSpec."""

import atexit
import collections
import hashlib
import json
import os

import _situ
from situ._src.framework.keywords import unsupported

Member = collections.namedtuple("Member", "rank machine local_rank pid host")
Task = collections.namedtuple("Task", "job index")
_tasks: list = []  # by rank, where a cluster has jobs


def under_mpirun():
    return "OMPI_COMM_WORLD_SIZE" in os.environ or "SITU_CLUSTER" in os.environ


def spans_machines():
    """Returns whether mpirun has started processes on several machines."""
    size = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
    return (
        int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", size)) != size
        or int(os.environ.get("SITU_CLUSTER_MACHINE_SIZE") or size) < size
    )


def flat_tasks(jobs):
    """Returns [(job, index)] of {job: {index: address}}, in the order of the ranks."""
    return [Task(job, index) for job in sorted(jobs, key=_order) for index in sorted(jobs[job])]


def _order(job):
    """Sorts tasks: the chief is rank 0, parameter servers are last."""
    return {"chief": 0, "master": 0, "worker": 1, "ps": 3, "evaluator": 4}.get(job, 2), job


def environment_task():
    """(jobs, job, index) of TF_CONFIG, or None."""
    text = os.environ.get("TF_CONFIG")
    if not text:
        return None
    config = json.loads(text)
    cluster, task = config.get("cluster"), config.get("task", {})
    if not cluster:
        return None
    return (
        {job: _numbered(tasks) for job, tasks in cluster.items()},
        str(task.get("type", "worker")),
        int(task.get("index", 0)),
    )


def _numbered(tasks):
    """Returns the addresses of a job by task index, from an address, a list or an object."""
    if isinstance(tasks, dict):
        return {int(index): address for index, address in tasks.items()}
    return dict(enumerate([tasks] if isinstance(tasks, str) else tasks))


def join_tasks(jobs, job, index):
    """Joins the processes of a cluster with jobs, of which this is one."""
    tasks = flat_tasks(jobs)
    if Task(job, index) not in tasks:
        raise ValueError(f"Task {job!r} {index} is not defined in the cluster {jobs}")
    given = None
    if not under_mpirun():
        text = json.dumps([[j, i, str(jobs[j][i])] for j, i in tasks])
        given = (
            tasks.index(Task(job, index)),
            len(tasks),
            "tasks-" + hashlib.sha256(text.encode()).hexdigest()[:20],
        )
    join(given)
    if size() != len(tasks):
        raise ValueError(f"The cluster has {len(tasks)} tasks, but {size()} processes were started")
    if not _tasks:
        _tasks[:] = tasks


def join(given=None):
    """Joins processes: (rank, size, name), or those of mpirun."""
    if not _situ.cluster_place()[0]:
        _situ.cluster_join(given)
        atexit.register(_situ.cluster_leave)


def init(comm=None, process_sets=None):
    """Joins the other processes; waits until all are there.

    Args:
      comm: must be None: all processes take part.
      process_sets: must be None.

    Raises:
      NotImplementedError: an argument is given.
    """
    unsupported("hvd.init", comm=(comm, None), process_sets=(process_sets, None))
    task = None if under_mpirun() else environment_task()
    if task and not is_initialized():
        join_tasks(*task)
    else:
        join()


def shutdown():
    """Leaves the others."""
    _situ.cluster_leave()


def is_initialized():
    return _situ.cluster_place()[0]


def rank():
    """Returns the rank of this process."""
    return _situ.cluster_place()[1]


def size():
    """Returns the number of processes."""
    return _situ.cluster_place()[2]


def local_rank():
    """Returns the rank of this process among those of its machine."""
    return _situ.cluster_place()[3]


def local_size():
    """Returns the number of processes on this machine."""
    return _situ.cluster_place()[4]


def members():
    """Who is there: rank, machine, local rank, process and host of each."""
    return [Member(*m) for m in _situ.cluster_members()]


def tasks():
    """(job, index) of each rank; workers where the cluster has no jobs."""
    return list(_tasks) or [Task("worker", i) for i in range(size())]
