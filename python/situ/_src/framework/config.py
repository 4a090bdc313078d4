# SPDX-License-Identifier: Apache-2.0
"""config.py: tf.config: physical and logical devices, memory options, threads, soft placement and
placement logging."""

from __future__ import annotations

import threading

import _situ
from situ._src.framework import device_spec, errors, style
from situ._src.framework.api import export
from situ._src.framework.device_types import LogicalDevice, PhysicalDevice, virtual_gpus
from situ._src.variables import eager_variable

_DEFAULTS: dict = {
    "log": False,  # log_device_placement
    "soft": False,  # soft_device_placement
    "visible": None,  # visible devices, or None for all
    "growth": {},  # GPU -> memory growth
    "fraction": 0.0,  # per-process memory fraction of GPUs
    "virtual": {},  # device -> list of LogicalDeviceConfiguration
    "physical": None,  # list of PhysicalDevice, once they are listed
    "threads": None,  # intra-op threads
    "inter": None,  # inter-op threads
    "proto": {},  # options of enable_eager_execution(config)
}
_state: dict = {}


def forget(state: dict | None = None) -> dict:
    """Resets the configuration, or restores one that an earlier call returned. Returns the previous
    one."""
    before = dict(_state)
    _state.update(state or {**_DEFAULTS, "growth": {}, "virtual": {}})
    eager_variable.Log.set(_state["log"])
    return before


forget()


def _both(name, old=None):
    """Exports a function as tf.config.NAME and tf.config.experimental.OLD."""
    return export("config." + name, "config.experimental." + (old or name))


def _physical():
    if _state["physical"] is None:
        devices = _situ.devices()
        _state["physical"] = [
            PhysicalDevice(f"/physical_device:{d['kind']}:{d['index']}", d["kind"])
            for d in devices
            if d["kind"] != "CPU" or d["index"] == 0
        ]
        if not _situ.is_started():
            try:
                _situ.devices_reset()  # listing must not fix the configuration
            except errors.OpError:
                pass
    return _state["physical"]


def _check_known(device):
    if device not in _physical():
        raise ValueError(f"Unrecognized device: {device!r}")


def _check_early(what):
    if _situ.is_started():
        raise RuntimeError(f"{what} cannot be modified after being initialized")


@_both("list_physical_devices")
def list_physical_devices(device_type: str | None = None) -> list:
    """Lists the devices of the machine, without initializing them.

    Args:
      device_type: "CPU" or "GPU"; None for all.

    Returns:
      A list of devices.
    """
    return [d for d in _physical() if device_type in (None, d.device_type)]


@_both("list_logical_devices")
def list_logical_devices(device_type: str | None = None) -> list:
    """Lists the devices of the program. Initializes them.

    Args:
      device_type: "CPU" or "GPU"; None for all.

    Returns:
      A list of devices.
    """
    _situ.start()
    return [
        LogicalDevice(d["name"], d["kind"])
        for d in _situ.devices()
        if device_type in (None, d["kind"])
    ]


@_both("get_visible_devices")
def get_visible_devices(device_type: str | None = None) -> list:
    """Lists the physical devices that the program may use.

    Args:
      device_type: "CPU" or "GPU"; None for all.

    Returns:
      A list of devices.
    """
    visible = _state["visible"] if _state["visible"] is not None else _physical()
    return [d for d in visible if device_type in (None, d.device_type)]


@_both("set_visible_devices")
def set_visible_devices(
    devices: PhysicalDevice | list[PhysicalDevice], device_type: str | None = None
) -> None:
    """Selects the physical devices that the program may use.

    Logical GPUs are numbered in the order of the physical ones, whatever the order of `devices`.

    Args:
      devices: a PhysicalDevice, or a list of them. Without a CPU the devices cannot be initialized.
      device_type: "CPU" or "GPU": devices of the other type stay as they are.

    Raises:
      ValueError: a device is unknown or of another type.
      RuntimeError: the devices have been initialized.
    """
    devices = devices if isinstance(devices, list) else [devices]
    for d in devices:
        _check_known(d)
        if device_type is not None and d.device_type != device_type:
            raise ValueError(f"Unrecognized device: {d!r}")
    others = [d for d in get_visible_devices() if device_type not in (None, d.device_type)]
    new = others + devices
    if new == get_visible_devices():
        return
    _check_early("Visible devices")
    _state["visible"] = new


@export("config.experimental.set_memory_growth")
def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Sets whether memory of a GPU is allocated as needed instead of at the start.

    Args:
      device: a PhysicalDevice of type GPU.
      enable: whether memory grows.

    Raises:
      ValueError: the device is unknown, not a GPU, or has logical devices.
      RuntimeError: the devices have been initialized.
    """
    _check_known(device)
    if device in _state["virtual"]:
        raise ValueError("Cannot set memory growth on device when virtual devices configured")
    if device.device_type != "GPU":
        raise ValueError("Cannot set memory growth on non-GPU devices")
    if _state["growth"].get(device) == enable:
        return
    _check_early("Physical devices")
    _state["growth"][device] = enable


@export("config.experimental.get_memory_growth")
def get_memory_growth(device: PhysicalDevice) -> bool | None:
    """Returns whether memory growth is enabled for a GPU, or None if it was not set.

    Args:
      device: a PhysicalDevice.

    Raises:
      ValueError: the device is unknown.
      KeyError: the device is not a GPU.
    """
    _check_known(device)
    if device.device_type != "GPU":
        raise KeyError(device)
    return _state["growth"].get(device)


@_both("set_logical_device_configuration", "set_virtual_device_configuration")
def set_logical_device_configuration(device: PhysicalDevice, logical_devices: list) -> None:
    """Divides a physical device into logical devices.

    Args:
      device: a PhysicalDevice.
      logical_devices: a list of LogicalDeviceConfiguration.

    Raises:
      ValueError: the device is unknown, a GPU has no memory limit, or a CPU has one or another
        option.
      RuntimeError: the devices have been initialized.
    """
    _check_known(device)
    for piece in logical_devices:
        _check_piece(device, piece)
    if _state["virtual"].get(device) == logical_devices:
        return
    _check_early("Virtual devices")
    _state["virtual"][device] = logical_devices


def _check_piece(device, piece):
    """Checks the configuration of one logical device."""
    if device.device_type == "CPU":
        names = {
            "memory limit": piece.memory_limit,
            "experimental_priority": piece.experimental_priority,
            "experimental_device_ordinal": piece.experimental_device_ordinal,
        }
        for name, value in names.items():
            if value is not None:
                raise ValueError(
                    f"Setting {name} on CPU virtual devices is currently not supported"
                )
        return
    if piece.memory_limit is None:
        raise ValueError("Setting memory limit is required for GPU virtual devices")


@_both("get_logical_device_configuration", "get_virtual_device_configuration")
def get_logical_device_configuration(device: PhysicalDevice) -> list | None:
    """Returns the list of LogicalDeviceConfiguration of a device, or None.

    Args:
      device: a PhysicalDevice.

    Raises:
      ValueError: the device is unknown.
    """
    _check_known(device)
    return _state["virtual"].get(device)


@export("config.experimental.get_memory_info")
def get_memory_info(device: str) -> dict[str, int]:
    """Returns memory figures of a device in bytes.

    Args:
      device: a device name, such as "GPU:0".

    Returns:
      A dict: "current", the bytes in use by tensors and running steps; "peak", the largest number
      of allocated bytes since the start or `reset_memory_stats`, which includes the blocks that
      idle steps keep; "reserved", the bytes reserved; and "limit". All but "limit"
      are 0 before the first allocation.

    Raises:
      ValueError: the name is invalid, or it matches no device or several.
    """
    info = _situ.memory_info(_find_device(device))
    return {k: info[k] for k in ("current", "peak", "reserved", "limit")}


def _find_device(name: str) -> str:
    """Returns the full name of the one device that a name matches. Initializes the devices."""
    if not style.is_graph():
        _situ.start()
    matching = device_spec.matching_names(name, [d["name"] for d in _situ.devices()])
    if matching is None:
        raise ValueError(
            f"Failed parsing device name: '{name}'. Note a valid device string should at least "
            'contain a device type and a device index, like "GPU:0".'
        )
    if not matching:
        raise ValueError(f"No matching devices found for '{name}'")
    if len(matching) > 1:
        raise ValueError(
            f"Multiple devices match the provided string '{name}': '{matching[0]}' and "
            f"'{matching[1]}'."
        )
    return matching[0]


@export("config.experimental.get_memory_usage")
def get_memory_usage(device: str) -> int:
    """Returns the bytes of a device that tensors and running steps use now.

    Args:
      device: a device name.

    Raises:
      ValueError: the name is invalid, or it matches no device or several.
    """
    return get_memory_info(device)["current"]


@export("config.experimental.reset_memory_stats")
def reset_memory_stats(device: str) -> None:
    """Sets the peak of a device's memory figures to the bytes that are allocated now.

    Args:
      device: a device name.

    Raises:
      ValueError: the name is invalid, or it matches no device or several.
    """
    _situ.reset_peak(_find_device(device))


@export("config.gpu.set_per_process_memory_growth")
def set_per_process_memory_growth(enabled: bool = True) -> None:
    """Sets whether memory of all GPUs is allocated as needed.

    Args:
      enabled: whether memory grows.

    Raises:
      RuntimeError: the devices have been initialized.
    """
    _check_startup("Per-process GPU memory growth")
    for device in list_physical_devices("GPU"):
        _state["growth"][device] = bool(enabled)


@export("config.gpu.set_per_process_memory_fraction")
def set_per_process_memory_fraction(fraction: float) -> None:
    """Limits the fraction of each GPU's memory that the process uses.

    Args:
      fraction: greater than 0 and at most 1.

    Raises:
      ValueError: the fraction is out of range.
      RuntimeError: the devices have been initialized.
    """
    _check_startup("Per-process GPU memory fraction")
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must be greater than 0 and at most 1, not {fraction}")
    _state["fraction"] = float(fraction)


@export("config.gpu.get_per_process_memory_growth")
def get_per_process_memory_growth() -> bool:
    """Returns whether memory growth is enabled for any GPU."""
    return any(_state["growth"].values())


@export("config.gpu.get_per_process_memory_fraction")
def get_per_process_memory_fraction() -> float:
    """Returns the fraction of GPU memory that the process may use; 0 if it was not set."""
    return _state["fraction"]


def _check_startup(what):
    if _situ.is_started():
        raise RuntimeError(f"{what} must be set at program startup")


@export("config.set_soft_device_placement")
def set_soft_device_placement(enabled: bool) -> None:
    """Sets whether operations without a kernel for the requested device run on another one.

    Args:
      enabled: whether to allow soft placement.
    """
    _state["soft"] = bool(enabled)
    _situ.set_soft(bool(enabled))


@export("config.get_soft_device_placement")
def get_soft_device_placement() -> bool:
    """Returns whether soft device placement is enabled."""
    return _state["soft"]


@export("debugging.set_log_device_placement")
def set_log_device_placement(enabled: bool) -> None:
    """Sets whether operations print their devices to standard output: eager ones, and those of
    functions and of sessions without a ConfigProto.

    Args:
      enabled: whether to log.

    Raises:
      RuntimeError: the devices have been initialized.
    """
    if _situ.is_started() and _state["log"] != bool(enabled):
        raise RuntimeError("Device placement logging must be set at program startup")
    _state["log"] = bool(enabled)
    eager_variable.Log.set(bool(enabled))


@export("debugging.get_log_device_placement")
def get_log_device_placement() -> bool:
    """Returns whether device placement is logged."""
    return _state["log"]


@export("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Sets the number of threads that compute operations on the CPU.

    Args:
      num_threads: 0 for the number in SITU_THREADS, else one per core that the process may use.

    Raises:
      RuntimeError: the devices have been initialized.
    """
    _set_threads("threads", num_threads, "Intra op parallelism")


@export("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads() -> int:
    """Returns the number that set_intra_op_parallelism_threads stored; 0 if it was not set."""
    return _state["threads"] or 0


@export("config.threading.set_inter_op_parallelism_threads")
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Stores the number for get_inter_op_parallelism_threads; situ has no separate inter-op pool.

    Args:
      num_threads: the number.

    Raises:
      RuntimeError: the devices have been initialized.
    """
    _set_threads("inter", num_threads, "Inter op parallelism")


def _set_threads(key, number, what):
    if _state[key] == number:
        return
    if _situ.is_started():
        raise RuntimeError(f"{what} cannot be modified after initialization.")
    _state[key] = number


@export("config.threading.get_inter_op_parallelism_threads")
def get_inter_op_parallelism_threads() -> int:
    """Returns the number that set_inter_op_parallelism_threads stored."""
    return _state["inter"] or 0


def enable_eager_execution(config=None, device_policy=None, execution_mode=None) -> None:
    """Enables eager execution for the rest of the program.

    Args:
      config: a tf.compat.v1.ConfigProto with the options of eager operations and functions.
      device_policy: None or a tf.contrib.eager.DEVICE_PLACEMENT_*; situ always copies inputs from
        other devices.
      execution_mode: None, tf.contrib.eager.SYNC or ASYNC; it has no effect.

    Raises:
      TypeError: `config` is not a ConfigProto.
      ValueError: the default graph has been used, `config` is given after the devices have been
        initialized, or `device_policy` or `execution_mode` is invalid.
    """
    from situ._src.framework import protos

    if config is not None and not isinstance(config, protos.ConfigProto):
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    if device_policy not in (None, 0, 1, 2, 3):
        raise ValueError("device_policy must be one of None, DEVICE_PLACEMENT_*")
    if execution_mode not in (None, 0, 1):
        raise ValueError("execution_mode must be one of None, SYNC, ASYNC")
    style.enable_eager()
    if config is None:
        return
    if _situ.is_started():
        raise ValueError("Trying to change the options of an active eager execution.")
    proto = protos.config_options(config)
    _state["proto"] = proto
    set_soft_device_placement(proto["allow_soft_placement"])
    set_log_device_placement(proto["log_device_placement"])


def options() -> dict:
    """Returns the options of the engine for eager operations."""
    proto = _state["proto"]
    result = {
        **proto,
        "log_device_placement": _state["log"],
        "allow_soft_placement": _state["soft"],
        "threads": int(_state["threads"] or 0) or proto.get("threads", 0),
        "memory": {**proto.get("memory", {})},
    }
    if _state["fraction"]:
        result["memory"]["fraction"] = _state["fraction"]
    if _state["visible"] is not None:
        gpus = [d.name.rsplit(":", 1)[1] for d in _visible("GPU")]
        result["visible_device_list"] = ",".join(gpus) or None
        result["gpu_devices"] = len(gpus) or -1
    _add_memory(result)
    return result


def _visible(device_type):
    """Returns the visible devices of a type in the order of the physical ones."""
    visible = get_visible_devices(device_type)
    return [d for d in _physical() if d in visible]


def function_options() -> dict:
    """Returns the options of the engine for functions, and for sessions without a ConfigProto."""
    if not _situ.is_started() and _is_configured():
        return options()
    return {
        "log_device_placement": _state["log"],
        "allow_soft_placement": _state["soft"],
        "cpu_devices": _count_cpus() or _state["proto"].get("cpu_devices", 0) or 1,
    }


def _add_memory(result):
    """Adds memory growth and logical devices to the options."""
    virtual, n_cpus = _state["virtual"], _count_cpus()
    if n_cpus == 0:
        raise errors.NotFoundError(None, None, "No CPU devices are available in this process")
    if n_cpus is not None:
        result["cpu_devices"] = n_cpus
    gpus = _visible("GPU") if _state["growth"] or virtual else []
    growth = {_state["growth"].get(d) for d in gpus if d not in virtual}
    if len(growth) > 1 and not virtual:
        raise ValueError("Memory growth cannot differ between GPU devices")
    if growth and all(growth):
        result["memory"]["growth"] = True
    pieces = virtual_gpus(
        [
            [(p.memory_limit, p.experimental_device_ordinal) for p in virtual.get(d, ())]
            for d in gpus
        ]
    )
    if pieces:
        result["virtual_devices"] = pieces


_DEVICE_POLICIES = ("silent", "silent_for_int32", "warn", "explicit")


@export("config.experimental.set_device_policy")
def set_device_policy(device_policy: str | None) -> None:
    """Sets how operations of this thread treat inputs on other devices. It is only recorded: situ
    always copies them.

    Args:
      device_policy: "silent", "silent_for_int32", "warn", "explicit", or None for the default.

    Raises:
      ValueError: there is no such policy.
    """
    if device_policy not in (None, *_DEVICE_POLICIES):
        raise ValueError(
            f"Invalid argument `device_policy`: {device_policy!r}. Valid policies are None, "
            f"{', '.join(repr(p) for p in _DEVICE_POLICIES)}."
        )
    _policy.value = device_policy


@export("config.experimental.get_device_policy")
def get_device_policy() -> str:
    """Returns the policy that set_device_policy recorded; "silent" by default."""
    return getattr(_policy, "value", None) or "silent"


_policy = threading.local()


def _count_cpus():
    """Returns the number of CPUs that the program has configured, or None."""
    virtual = _state["virtual"]
    if _state["visible"] is None and not any(d.device_type == "CPU" for d in virtual):
        return None
    return sum(len(virtual.get(d, [d])) for d in _visible("CPU"))


def _is_configured():
    return _state["visible"] is not None or bool(_state["virtual"])


_situ.hook("eager_config", options)


@export("test.is_built_with_cuda")
def is_built_with_cuda() -> bool:
    """Returns whether the machine has GPUs that situ can use, including simulated ones."""
    return any(d.device_type == "GPU" for d in _physical())


export("test.is_built_with_gpu_support")(is_built_with_cuda)


@export("test.is_gpu_available")
def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Returns whether a GPU is visible.

    Args:
      cuda_only: whether only GPUs of the CUDA back end and simulated GPUs count.
      min_cuda_compute_capability: a pair (major, minor). situ does not know the capability of its
        devices, which counts as (0, 0), as in TensorFlow.
    """
    if tuple(min_cuda_compute_capability or ()) > (0, 0):
        return False
    gpus = [d for d in _situ.devices() if d["kind"] == "GPU"]
    return any(not cuda_only or d["backend"] in ("cuda", "sim") for d in gpus)


@export("test.gpu_device_name")
def gpu_device_name() -> str:
    """Returns the name of the first GPU, such as "/device:GPU:0", or ""."""
    return next((f"/device:GPU:{d['index']}" for d in _situ.devices() if d["kind"] == "GPU"), "")
