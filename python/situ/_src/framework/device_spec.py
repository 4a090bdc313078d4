# SPDX-License-Identifier: Apache-2.0
"""device_spec.py: tf.DeviceSpec: parsing, merging and formatting of device names."""

from __future__ import annotations

import re

from situ._src.framework import style

_NATIVE = re.compile(
    r"(?:/(?:job:[A-Za-z]\w*|replica:\d+|task:\d+|(?:cpu|gpu|CPU|GPU):\d+"
    r"|device:(?!cpu:|gpu:)[A-Za-z]\w*:(?:\d+|\*)))+"
)


class DeviceSpec:
    """A complete or partial device name.

    Args:
      job: the name of the job, or None.
      replica: the index of the replica, or None.
      task: the index of the task, or None.
      device_type: "CPU" or "GPU", or None.
      device_index: the index of the device, or None.
    """

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self._set_fields(job, replica, task, device_type, device_index)

    def _set_fields(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self.job, self.replica, self.task = job, replica, task
        self.device_type = device_type
        self.device_index = device_index

    @property
    def device_type(self):
        return self._type

    @device_type.setter
    def device_type(self, value):
        self._type = value.upper() if value in ("cpu", "gpu") else value

    @property
    def job(self):
        return self._job

    @job.setter
    def job(self, value):
        self._job = None if value is None else str(value)

    def _fields(self):
        return self.job, self.replica, self.task, self.device_type, self.device_index

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Sets the fields from a device name. Returns self.

        Args:
          spec: a device name, such as "/job:worker/task:1/device:GPU:0".

        Raises:
          ValueError: the name is invalid.
        """
        self._set_fields()
        wildcard = {"job": str, "replica": int, "task": int}
        for part in (p.split(":") for p in spec.split("/")):
            key, n = part[0], len(part)
            if n == 2 and key in wildcard:
                if part[1] != "*" or key == "job":
                    setattr(self, key, wildcard[key](part[1]))
            elif key and (
                key.upper() in ("CPU", "GPU") and n in (1, 2) or key == "device" and n == 3
            ):
                if self.device_type is not None:
                    raise ValueError(
                        f"Cannot specify multiple device types: {spec}"
                        if style.is_graph()
                        else "Multiple device types are not allowed while parsing the device spec: "
                        f"{spec}."
                    )
                kind, index = (
                    (part[1], part[2])
                    if key == "device"
                    else (key.upper(), part[1] if n == 2 else "*")
                )
                self.device_type = kind if kind != "*" else None
                self.device_index = None if index == "*" else int(index)
            elif key or n > 1:
                raise ValueError(
                    f"Unknown attribute: '{key}' in '{spec}'"
                    if style.is_graph()
                    else f"Unknown attribute '{key}' is encountered while parsing the device spec: "
                    f"'{spec}'."
                )
        return self

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Returns the DeviceSpec of a device name.

        Args:
          spec: a device name.

        Raises:
          ValueError: the name is invalid.
        """
        return cls().parse_from_string(spec)

    def to_string(self) -> str:
        """Returns the device name."""
        text = "" if self.job is None else "/job:" + self.job
        text += "" if self.replica is None else f"/replica:{self.replica}"
        text += "" if self.task is None else f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            text += f"/device:{self.device_type}:{index}"
        return text

    def make_merged_spec(self, other: DeviceSpec) -> DeviceSpec:
        """Returns a copy with the fields that are set in `other`."""
        return DeviceSpec(*(a if b is None else b for a, b in zip(self._fields(), other._fields())))

    def merge_from(self, other: DeviceSpec) -> None:
        """Sets the fields that are set in `other`."""
        merged = self.make_merged_spec(other)
        self._set_fields(*merged._fields())

    def replace(self, **fields) -> DeviceSpec:
        """Returns a copy with other values of the given fields."""
        names = ("job", "replica", "task", "device_type", "device_index")
        return DeviceSpec(**{**dict(zip(names, self._fields())), **fields})

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self._fields() == other._fields()

    def __hash__(self):
        return hash(self._fields())

    def __repr__(self):
        return f"<DeviceSpec '{self.to_string()}'>"

    __str__ = to_string


def to_engine_name(spec):
    """Returns a name that the engine can parse: unchanged where possible."""
    if isinstance(spec, DeviceSpec):
        return spec.to_string()
    parsed = DeviceSpec.from_string(spec)
    return spec if _NATIVE.fullmatch(spec) else parsed.to_string()


_PART = re.compile(
    r"/(?:job:(?P<job>\*|[A-Za-z]\w*)|replica:(?P<replica>\*|\d+)|task:(?P<task>\*|\d+)"
    r"|device:(?P<type>\*|[A-Za-z]\w*)(?::(?P<index>\*|\d+))?"
    r"|(?P<short>cpu|gpu|CPU|GPU):(?P<number>\*|\d+))"
)
_LOCAL = re.compile(r"([A-Za-z]\w*):(\d+)")


def matching_names(name: str, devices: list[str]) -> list[str] | None:
    """Returns those of the full device names that a name matches, or None if the name is not one
    of TensorFlow's runtime: a full name, of which parts may be missing, or a local one such as
    "GPU:0"."""
    local = _LOCAL.fullmatch(name or "")
    parts = [] if name in (None, "", "/") else list(_PART.finditer(name))
    if not local and name and name != "/" and "".join(p.group() for p in parts) != name:
        return None
    fields: dict = {}
    for part in parts:
        found = {k: v for k, v in part.groupdict().items() if v is not None}
        if "short" in found:
            found = {"type": found["short"].upper(), "index": found["number"]}
        fields.update(found)
    if local:
        fields = {"type": local[1], "index": local[2]}
    wanted = {k: v for k, v in fields.items() if v != "*"}
    return [d for d in devices if _matches(wanted, d)]


def _matches(wanted, device):
    spec = DeviceSpec.from_string(device)
    have = {
        "job": spec.job,
        "replica": spec.replica,
        "task": spec.task,
        "type": spec.device_type,
        "index": spec.device_index,
    }
    return all(
        value == have[key] if key in ("job", "type") else int(value) == have[key]
        for key, value in wanted.items()
    )
