# SPDX-License-Identifier: Apache-2.0
"""strategies.py: MirroredStrategy, OneDeviceStrategy, CentralStorageStrategy."""

from __future__ import annotations

from situ._src.distribute.strategy import Strategy, all_devices, full_name
from situ._src.distribute.values import ValueContext
from situ._src.framework import logs
from situ._src.framework.api import export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable


@export(
    "distribute.MirroredStrategy",
    "python.distribute.mirrored_strategy.MirroredStrategy",
    v1="contrib.distribute.MirroredStrategy",
)
class MirroredStrategy(Strategy):
    """Synchronous training with a copy of the variables on each device; gradients are summed in a
    fixed order, unless NcclAllReduce sums them.

    Args:
      devices: The devices; by default all GPUs, or the CPU if there are none.
      cross_device_ops: A tf.distribute.CrossDeviceOps, or None to choose by size and number.
        Gradients of tf.train optimizers in graphs are added on the first device, or as a
        ReductionToOneDevice says.
      num_gpus: The number of GPUs to use if there are no devices; 0 for the CPU.
      num_gpus_per_worker: The same, if num_gpus is None.
      auto_shard_dataset: Has no effect: it divides a dataset among several workers.
      cross_tower_ops: The old name of cross_device_ops.

    Raises:
      AssertionError: a device occurs twice.
    """

    has_datasets_per_replica = True

    def __init__(
        self,
        devices: list[str] | None = None,
        cross_device_ops: Any = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: Any = None,
    ):
        del auto_shard_dataset  # there is one worker
        count = num_gpus if num_gpus is not None else num_gpus_per_worker
        if not devices and count is not None:
            devices = [f"/device:GPU:{i}" for i in range(count)] or ["/device:CPU:0"]
        names = [full_name(d) for d in devices or all_devices()]
        if len(set(names)) != len(names):
            raise AssertionError(
                "No duplicates allowed in `devices` argument: "
                f"({', '.join(repr(n) for n in names)})"
            )
        super().__init__(names, cross_device_ops or cross_tower_ops)
        if any("GPU" not in n for n in names):
            logs.warn(
                "There are non-GPU devices in `tf.distribute.Strategy`, not using nccl allreduce."
            )


@export("distribute.OneDeviceStrategy", v1="contrib.distribute.OneDeviceStrategy")
class OneDeviceStrategy(Strategy):
    """Places all variables and computation on one device."""

    def __init__(self, device: Any):
        super().__init__([device])

    def experimental_distribute_values_from_function(self, value_fn: Callable) -> Any:
        return value_fn(ValueContext())


@export(
    "distribute.experimental.CentralStorageStrategy", v1="contrib.distribute.CentralStorageStrategy"
)
class CentralStorageStrategy(Strategy):
    """One copy of the variables; every device computes.

    Args:
      compute_devices: The devices; by default all GPUs, or the CPU if there are none.
      parameter_device: The device of the variables; by default the only device, or the CPU if there
        are several.
    """

    def __init__(self, compute_devices: Any = None, parameter_device: Any = None):
        devices = [full_name(d) for d in compute_devices or all_devices()]
        super().__init__(devices)
        self._store = (
            full_name(parameter_device)
            if parameter_device
            else devices[0]
            if len(devices) == 1
            else full_name("/device:CPU:0")
        )
        self.extended.parameter_devices = (self._store,)

    def make_variable(self, graph: Any, args: Any, kwargs: Any) -> Any:
        computing, self.devices = self.devices, [self._store]
        try:
            return super().make_variable(graph, args, kwargs)
        finally:
            self.devices = computing
