# SPDX-License-Identifier: Apache-2.0
"""device_types.py: the named tuples of tf.config that describe devices."""

from __future__ import annotations

import collections
import operator

from situ._src.framework.api import export


@export("config.PhysicalDevice")
class PhysicalDevice(collections.namedtuple("PhysicalDevice", ["name", "device_type"])):
    """A device of the machine, whether or not it is visible."""


@export("config.LogicalDevice")
class LogicalDevice(collections.namedtuple("LogicalDevice", ["name", "device_type"])):
    """A device of the running program."""


@export("config.LogicalDeviceConfiguration", "config.experimental.VirtualDeviceConfiguration")
class LogicalDeviceConfiguration(
    collections.namedtuple(
        "LogicalDeviceConfiguration",
        ["memory_limit", "experimental_priority", "experimental_device_ordinal"],
        defaults=(None, None, None),
    )
):
    """The configuration of a logical device.

    Args:
      memory_limit: in MB; required for GPUs.
      experimental_priority: has no effect: a hint for the order of work on a GPU.
      experimental_device_ordinal: logical GPUs with lower ordinals get lower numbers; by default
        the order is that of the physical devices and of the list.
    """


def virtual_gpus(per_gpu):
    """Returns (GPU, bytes) of each virtual GPU, in the order of their names.

    Args:
      per_gpu: for each GPU a list of pairs: the limit in MB, and the ordinal or None. Ordinals
        come first in the order; then the GPU, then the place in the list.

    Raises:
      ValueError: a GPU has virtual GPUs with and without an ordinal.
    """
    found = []
    for gpu, pieces in enumerate(per_gpu):
        given = [ordinal for _, ordinal in pieces if ordinal is not None]
        if given and len(given) < len(pieces):
            raise ValueError("device_ordinals must be specified for all virtual devices")
        found += [(ordinal or 0, gpu, int(limit * 2**20)) for limit, ordinal in pieces]
    return [(gpu, size) for _, gpu, size in sorted(found, key=operator.itemgetter(0))]
