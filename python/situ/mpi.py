# SPDX-License-Identifier: Apache-2.0
"""mpi.py: data-parallel training with several processes (Horovod's API: `import situ.mpi as hvd`).

    hvd.init()                                  # mpirun -np 4 situ run train.py
    optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.01 * hvd.size()))
    hooks = [hvd.BroadcastGlobalVariablesHook(0)]

Without mpirun there is one process. See docs/how-to/multiple-processes.md.
"""

from __future__ import annotations

from situ._src.cluster.messages import (
    allgather,
    allgather_object,
    allreduce,
    barrier,
    broadcast,
    broadcast_object,
    grouped_allreduce,
    receive,
    send,
)
from situ._src.cluster.processes import (
    init,
    is_initialized,
    join,
    local_rank,
    local_size,
    members,
    rank,
    shutdown,
    size,
)
from situ._src.cluster.reductions import Adasum, Average, Compression, Max, Min, Product, Sum
from situ._src.cluster.variables import (
    BroadcastGlobalVariablesHook,
    broadcast_global_variables,
    broadcast_variables,
)
from situ._src.cluster.wrappers import DistributedGradientTape, DistributedOptimizer

__all__ = [name for name in dir() if not name.startswith("_")]


def cross_rank() -> int:
    """Returns the index of this process's machine."""
    return members()[rank()].machine


def cross_size() -> int:
    """Returns the number of machines."""
    return 1 + max(m.machine for m in members())


def mpi_built(verbose: bool = False) -> bool:
    """Returns True."""
    del verbose  # nothing is missing that could be listed
    return True


def mpi_enabled() -> bool:
    """Returns whether `init` was called."""
    return is_initialized()


def nccl_built(verbose: bool = False) -> bool:
    """Returns False."""
    del verbose  # nothing is known beyond the result
    return False


gloo_built = gloo_enabled = ddl_built = ccl_built = cuda_built = rocm_built = nccl_built
mpi_threads_supported = mpi_enabled
