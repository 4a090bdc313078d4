# SPDX-License-Identifier: Apache-2.0
"""device_setter.py: tf.train.replica_device_setter: places variables on ps tasks and other ops
on workers."""

from __future__ import annotations

from situ._src.cluster.servers import ClusterSpec
from situ._src.framework.api import export
from situ._src.framework.device_spec import DeviceSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any

STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
)
export(v1="python.training.device_setter.STANDARD_PS_OPS")(STANDARD_PS_OPS)


@export(v1="python.training.device_setter._RoundRobinStrategy")
class _RoundRobin:
    """Assigns ps tasks in turn."""

    def __init__(self, num_tasks: int):
        self._count, self._next = num_tasks, 0

    def __call__(self, op):
        del op  # tasks take turns, whatever the op is
        task, self._next = self._next, (self._next + 1) % self._count
        return task


@export(v1=("train.replica_device_setter", "python.training.device_setter.replica_device_setter"))
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Any = None,
    ps_strategy: Any = None,
) -> Any:
    """Returns a device function for tf.device; None if there are no ps tasks.

    Args:
      ps_tasks: Number of parameter servers.
      ps_device: Device of variables.
      worker_device: Device of other operations.
      merge_devices: Whether devices that operations request are completed, instead of kept as they
        are.
      cluster: ClusterSpec that tells the number of parameter servers.
      ps_ops: Names of ops that are placed on parameter servers; default: those of variables and
        tables.
      ps_strategy: Function of an operation that returns the index of its parameter server; default:
        round robin.
    """
    if cluster is not None:
        spec = ClusterSpec(cluster).as_dict()
        job = DeviceSpec.from_string(ps_device).job or "ps"
        if not spec.get(job):
            return None
        ps_tasks = len(spec[job])
    if ps_tasks == 0:
        return None
    kinds = STANDARD_PS_OPS if ps_ops is None else ps_ops
    strategy = _RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")

    def choose(op):
        if not merge_devices and op.device:
            return op.device
        current = DeviceSpec.from_string(op.device or "")
        if ps_device and op.node_def.op in kinds:
            ps = DeviceSpec.from_string(ps_device)
            if ps.job and (not current.job or current.job == ps.job):
                ps = ps.make_merged_spec(DeviceSpec(task=strategy(op)))
            return ps.make_merged_spec(current).to_string()
        return DeviceSpec.from_string(worker_device or "").make_merged_spec(current).to_string()

    return choose
