# SPDX-License-Identifier: Apache-2.0
"""reduction.py: sums over devices: to one device, or in parts. The order of the terms is fixed:
results do not depend on timing, and are the same on every device."""

import enum

import _situ
from situ._src.framework.api import export
from situ._src.framework.scopes import device
from situ._src.ops.array_ops import convert_to_tensor, op

_SMALL = 1 << 14  # elements; below, one device adds


@export("distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """How values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation):
        return ReduceOp.MEAN if getattr(aggregation, "name", "") == "MEAN" else ReduceOp.SUM


@export("distribute.CrossDeviceOps")
class CrossDeviceOps:
    """How values are added over devices."""

    KIND = "auto"

    def __init__(self, num_packs=1):
        if num_packs < 0:
            raise ValueError(
                f"NCCL all-reduce requires num_packs >= 0, but {num_packs} is specified"
            )
        self.num_packs = num_packs


@export(
    "distribute.ReductionToOneDevice", v1="contrib.distribute.ReductionToOneDeviceCrossDeviceOps"
)
class ReductionToOneDevice(CrossDeviceOps):
    """One device adds, the others get copies."""

    KIND = "one"

    def __init__(self, reduce_to_device=None, accumulation_fn=None):
        super().__init__()
        self.reduce_to_device = reduce_to_device


@export("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(CrossDeviceOps):
    """Each device adds its part of a tensor, and gives it to the others."""

    KIND = "parts"


@export("distribute.NcclAllReduce", v1="contrib.distribute.AllReduceCrossDeviceOps")
class NcclAllReduce(CrossDeviceOps):
    """NCCL adds, in its own order, in what is compiled (graphs, tf.function, Keras) for NVIDIA's
    GPUs; without NCCL each device adds its part, as by HierarchicalCopyAllReduce."""

    KIND = "library"


def as_reduce_op(value):
    """The ReduceOp of a ReduceOp or its name in any case; ValueError for others."""
    return (
        value
        if isinstance(value, ReduceOp)
        else ReduceOp(str(getattr(value, "name", value)).upper())
    )


def added(values, where):
    """The sum of values, in their order, on a device."""
    with device(where):
        return op("AddN", values) if len(values) > 1 else op("Identity", values[0])


def _to_one(values, devices):
    total = added(values, devices[0])
    return [total] * len(devices)  # a consumer elsewhere gets one copy


def _everywhere(values, devices):
    return [added(values, where) for where in devices]


def _by_library(values, devices):
    """The same inputs on each device: what is compiled of them is one call of the library."""
    found = []
    for where in devices:
        with device(where):
            found.append(op("SumOverDevices", values))
    return found


def _in_parts(values, devices, count):
    """Device i adds part i of all, and every device puts the parts together."""
    n = len(devices)
    sizes = [count // n + (i < count % n) for i in range(n)]
    pieces = []
    for index, value in enumerate(values):
        with device(devices[index]):
            flat = op("Reshape", value, [count])
            pieces.append(op("SplitV", flat, sizes, 0, num_split=n))
    sums = [added([p[i] for p in pieces], devices[i]) for i in range(n)]
    shape = values[0].shape.as_list()
    found = []
    for where in devices:
        with device(where):
            found.append(op("Reshape", op("ConcatV2", sums, 0), shape))
    return found


def all_reduce(values, devices, how=None):
    """The sum of values, one of each replica, on each of the devices."""
    values = [convert_to_tensor(v) for v in values]
    kind = getattr(how, "KIND", "auto")
    if len(devices) == 1 or len(values) == 1 and len(devices) == 1:
        return [added(values, devices[0])]
    if kind == "library" and len(values) == len(devices) and _situ.reduces_by_library():
        return _by_library(values, devices)
    count = 1
    for size in values[0].shape.as_list():
        count = None if size is None or count is None else count * size
    if kind == "auto" and len(devices) == 2:
        return _everywhere(values, devices)
    if kind == "one" or count is None or count < max(_SMALL, len(devices)):
        return _to_one(values, devices)
    return _in_parts(values, devices, count)
