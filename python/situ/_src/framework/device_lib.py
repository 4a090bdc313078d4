# SPDX-License-Identifier: Apache-2.0
"""device_lib.py: device_lib.list_local_devices and the device attributes of sessions."""

from __future__ import annotations

import _situ
from situ._src.framework import protos

_CPU_LIMIT = 256 << 20  # TensorFlow reports this for every CPU


class _DeviceAttributes:
    """A device as Session.list_devices returns it."""

    def __init__(self, name, device_type, memory_limit_bytes, incarnation=0):
        self.name, self.device_type = name, device_type
        self.memory_limit_bytes, self.incarnation = memory_limit_bytes, incarnation

    def __repr__(self):
        return (
            f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, "
            f"{self.incarnation})"
        )


def limit(device):
    """Returns the memory limit of a device in bytes."""
    if device["kind"] == "CPU":
        return _CPU_LIMIT
    return _situ.memory_info(device["name"])["limit"]


def incarnation(device):
    """Returns a number that identifies the device in this process."""
    return hash((device["name"], device["bus_id"])) & (2**63 - 1)


def session_device(device, task=None):
    """Returns the attributes of a device of this process, or of a task of a cluster."""
    name = device["name"] if task is None else f"{task}/device:{device['kind']}:{device['index']}"
    size = device["limit"] if "limit" in device else limit(device)
    return _DeviceAttributes(name, device["kind"], size, incarnation(device))


def session_devices(n_cpus: int) -> list[_DeviceAttributes]:
    """Returns the devices of a session with that many CPUs; 0: with those of the process."""
    devices = _situ.devices()
    cpus = [d for d in devices if d["kind"] == "CPU"]
    first = cpus[0]
    for i in range(len(cpus), n_cpus):
        cpus.append({**first, "index": i, "name": first["name"][:-1] + str(i)})
    gpus = [d for d in devices if d["kind"] != "CPU"]
    return [session_device(d) for d in cpus[: n_cpus or None] + gpus]


class _Links:
    """The links of a device to other ones; situ lists none."""

    def __init__(self):
        self.link = []


class DeviceLocality:
    """Where a device is attached; 0 if that is unknown."""

    def __init__(self):
        self.bus_id = self.numa_node = 0
        self.links = _Links()

    def __repr__(self):
        return ""


class DeviceAttributes:
    """A device as list_local_devices returns it."""

    def __init__(self, device):
        self.name = f"/device:{device['kind']}:{device['index']}"
        self.device_type = device["kind"]
        self.memory_limit = limit(device)
        self.incarnation = incarnation(device)
        self.physical_device_desc = device["description"]
        self.locality = DeviceLocality()

    def HasField(self, name: str) -> bool:
        """Returns whether a message field is set."""
        if name != "locality":
            raise ValueError(f'Protocol message DeviceAttributes has no message field "{name}".')
        return True

    def __repr__(self):
        text = (
            f'name: "{self.name}"\ndevice_type: "{self.device_type}"\n'
            f"memory_limit: {self.memory_limit}\nlocality {{\n}}\n"
            f"incarnation: {self.incarnation}\n"
        )
        if self.physical_device_desc:
            text += f'physical_device_desc: "{self.physical_device_desc}"\n'
        return text


def list_local_devices(session_config=None) -> list[DeviceAttributes]:
    """Lists the devices of this process.

    Args:
      session_config: a ConfigProto to configure the devices with.

    Returns:
      A list of DeviceAttributes.
    """
    if session_config is not None:
        _situ.configure(protos.config_options(session_config))
    return [DeviceAttributes(d) for d in _situ.devices()]
