# SPDX-License-Identifier: Apache-2.0
"""device_types.py: the named tuples of tf.config that describe devices."""

from __future__ import annotations

import collections

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
      experimental_device_ordinal: not supported.
    """
