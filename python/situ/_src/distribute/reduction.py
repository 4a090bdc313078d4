# SPDX-License-Identifier: Apache-2.0
"""reduction.py: all-reduce over devices: on one device or in parts. The order of summation is
fixed, so
results do not depend on timing and are equal on all devices."""

from __future__ import annotations

import enum

import _situ
from situ._src.framework import indexed_slices
from situ._src.framework.api import export
from situ._src.framework.scopes import device
from situ._src.ops.array_ops import convert_to_tensor, op

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, Callable

_SMALL = 1 << 14  # elements; smaller tensors are reduced on one device


@export("distribute.ReduceOp")
class ReduceOp(enum.Enum):
    """How values of replicas are reduced."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def from_variable_aggregation(aggregation: Any) -> Any:
        return ReduceOp.MEAN if getattr(aggregation, "name", "") == "MEAN" else ReduceOp.SUM


@export("distribute.CrossDeviceOps")
class CrossDeviceOps:
    """How values are reduced over devices. num_packs is checked, but has no effect: TensorFlow
    packs gradients for speed."""

    KIND = "auto"

    def __init__(self, num_packs: int = 1):
        if num_packs < 0:
            raise ValueError(
                f"NCCL all-reduce requires num_packs >= 0, but {num_packs} is specified"
            )
        self.num_packs = num_packs


@export(
    "distribute.ReductionToOneDevice", v1="contrib.distribute.ReductionToOneDeviceCrossDeviceOps"
)
class ReductionToOneDevice(CrossDeviceOps):
    """Reduces on one device and copies the result to the others.

    Args:
      reduce_to_device: The device; by default the first one.
      accumulation_fn: A function of a list of tensors that returns their sum; by default tf.add_n.
    """

    KIND = "one"

    def __init__(self, reduce_to_device: Any = None, accumulation_fn: Callable | None = None):
        super().__init__()
        self.reduce_to_device, self.accumulation_fn = reduce_to_device, accumulation_fn


@export("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(CrossDeviceOps):
    """Each device reduces a part of the tensor and copies it to the others; small tensors are
    reduced on the first device."""

    KIND = "parts"


@export("distribute.NcclAllReduce", v1="contrib.distribute.AllReduceCrossDeviceOps")
class NcclAllReduce(CrossDeviceOps):
    """All-reduce by NCCL in compiled code (graphs, tf.function, Keras) on NVIDIA GPUs; otherwise
    like HierarchicalCopyAllReduce."""

    KIND = "library"


def as_reduce_op(value):
    """Returns the ReduceOp of a ReduceOp or its name in any case; ValueError for others."""
    return (
        value
        if isinstance(value, ReduceOp)
        else ReduceOp(str(getattr(value, "name", value)).upper())
    )


def added(values, where):
    """Adds values in order on a device."""
    with device(where):
        return op("AddN", values) if len(values) > 1 else op("Identity", values[0])


def as_values(values):
    """Converts the values of replicas to tensors; IndexedSlices remain if all of them are."""
    if all(indexed_slices.is_slices(v) for v in values):
        return list(values)
    return [convert_to_tensor(v) for v in values]


def total(values, where, how=None):
    """Adds values on a device, or as a ReductionToOneDevice says. The sum of IndexedSlices is
    IndexedSlices."""
    if indexed_slices.is_slices(values[0]):
        where = getattr(how, "reduce_to_device", None) or where
        with device(where):
            return indexed_slices.add(values)
    if not isinstance(how, ReductionToOneDevice):
        return added(values, where)
    where = how.reduce_to_device or where
    if how.accumulation_fn is None:
        return added(values, where)
    with device(where):
        return how.accumulation_fn(values)


def _to_one(values, devices, how):
    return [total(values, devices[0], how)] * len(devices)  # each other device gets one copy


def _everywhere(values, devices):
    return [added(values, where) for where in devices]


def _by_library(values, devices):
    """Emits one sum per device with the same inputs; compiled, they are one call of the library."""
    result = []
    for where in devices:
        with device(where):
            result.append(op("SumOverDevices", values))
    return result


def _in_parts(values, devices, count):
    """Device i reduces part i; every device concatenates the parts."""
    n = len(devices)
    sizes = [count // n + (i < count % n) for i in range(n)]
    pieces = []
    for index, value in enumerate(values):
        with device(devices[index]):
            flat = op("Reshape", value, [count])
            pieces.append(op("SplitV", flat, sizes, 0, num_split=n))
    sums = [added([p[i] for p in pieces], devices[i]) for i in range(n)]
    shape = values[0].shape.as_list()
    result = []
    for where in devices:
        with device(where):
            result.append(op("Reshape", op("ConcatV2", sums, 0), shape))
    return result


def all_reduce(values, devices, how=None):
    """Returns the sum of one value per replica on each device."""
    values = as_values(values)
    if indexed_slices.is_slices(values[0]):
        return [total(values, where) for where in devices]
    kind = getattr(how, "KIND", "auto")
    if len(devices) == 1 or len(values) == 1 and len(devices) == 1:
        return [total(values, devices[0], how)]
    if kind == "library" and len(values) == len(devices) and _situ.reduces_by_library():
        return _by_library(values, devices)
    count = 1
    for size in values[0].shape.as_list():
        count = None if size is None or count is None else count * size
    if kind == "auto" and len(devices) == 2:
        return _everywhere(values, devices)
    if kind == "one" or count is None or count < max(_SMALL, len(devices)):
        return _to_one(values, devices, how)
    return _in_parts(values, devices, count)
