# SPDX-License-Identifier: Apache-2.0
"""config.py: keras.config, keras.backend, keras.distribution and dtype policies of Keras 3."""

from __future__ import annotations

import gc
from typing import Any

from situ._src.framework import config as devices
from situ._src.framework.api import named
from situ._src.keras import context, mixed_precision, utils
from situ._src.keras.registry import unique
from situ._src.keras3 import random
from situ._src.keras3.exports import (
    alias,
    keras3_export,
    not_supported,
    unsupported_class,
    unsupported_function,
)

VERSION = "3.15.1"  # of Keras, whose API this is
_state: dict[str, Any] = {
    "interactive_logging": True,
    "traceback_filtering": True,
    "safe_mode": True,
    "max_epochs": None,
    "max_steps_per_epoch": None,
}


@keras3_export("version")
def version() -> str:
    """Returns the version of Keras whose API this is."""
    return VERSION


keras3_export("__version__")(VERSION)


@keras3_export("config.backend", "backend.backend")
def backend() -> str:
    """Returns "tensorflow"."""
    return "tensorflow"


@keras3_export("config.set_backend")
def set_backend(backend: str) -> None:
    """Selects the backend; "tensorflow" is the only one.

    Args:
      backend: The name.
    """
    if backend != "tensorflow":
        raise not_supported(f"config.set_backend({backend!r})", "the backend is tensorflow.")


for _name in ("epsilon", "floatx", "image_data_format"):
    for _prefix in ("", "set_"):
        alias(named(f"keras.backend.{_prefix}{_name}"), f"config.{_prefix}{_name}")


@keras3_export("config.is_interactive_logging_enabled", "utils.is_interactive_logging_enabled")
def is_interactive_logging_enabled() -> bool:
    """Returns whether progress is printed to the terminal."""
    return _state["interactive_logging"]


@keras3_export("config.enable_interactive_logging", "utils.enable_interactive_logging")
def enable_interactive_logging() -> None:
    """Prints progress to the terminal; the default."""
    _state["interactive_logging"] = True


@keras3_export("config.disable_interactive_logging", "utils.disable_interactive_logging")
def disable_interactive_logging() -> None:
    """Not supported: progress is always printed to standard output."""
    raise not_supported("config.disable_interactive_logging", "progress is printed, not logged.")


@keras3_export("config.is_traceback_filtering_enabled")
def is_traceback_filtering_enabled() -> bool:
    """Returns whether tracebacks would omit frames of Keras."""
    return _state["traceback_filtering"]


@keras3_export("config.enable_traceback_filtering")
def enable_traceback_filtering() -> None:
    """Has no visible effect: situ shows complete tracebacks."""
    _state["traceback_filtering"] = True


@keras3_export("config.disable_traceback_filtering")
def disable_traceback_filtering() -> None:
    """Shows complete tracebacks, as situ always does."""
    _state["traceback_filtering"] = False


@keras3_export("config.enable_unsafe_deserialization")
def enable_unsafe_deserialization() -> None:
    """Not supported: code of files never runs."""
    raise not_supported("config.enable_unsafe_deserialization", "code of files never runs.")


@keras3_export("config.max_epochs")
def max_epochs() -> int | None:
    """Returns None: there is no limit of epochs."""
    return _state["max_epochs"]


@keras3_export("config.max_steps_per_epoch")
def max_steps_per_epoch() -> int | None:
    """Returns None: there is no limit of steps."""
    return _state["max_steps_per_epoch"]


unsupported_function("config.set_max_epochs", "pass epochs to fit.")
unsupported_function("config.set_max_steps_per_epoch", "pass steps_per_epoch to fit.")
unsupported_function("config.enable_flash_attention", "there is no flash attention kernel.")


@keras3_export("config.disable_flash_attention")
def disable_flash_attention() -> None:
    """Does nothing: there is no flash attention."""


@keras3_export("config.is_flash_attention_enabled")
def is_flash_attention_enabled() -> bool:
    """Returns False."""
    return False


@keras3_export("config.is_nnx_enabled")
def is_nnx_enabled() -> bool:
    """Returns False."""
    return False


# Backend and utilities


@keras3_export("backend.clear_session", "utils.clear_session")
def clear_session(free_memory: bool = True) -> None:
    """Resets the names of layers and the graph of symbolic tensors.

    Args:
      free_memory: Whether to collect garbage.
    """
    context.clear_session()
    random.reset()
    if free_memory:
        gc.collect()


@keras3_export("utils.set_random_seed")
def set_random_seed(seed: int) -> None:
    """Sets the seeds of Python, NumPy, initializers and `keras.random`.

    Args:
      seed: The seed, an integer.

    Raises:
      ValueError: If seed is not an integer.
    """
    if not isinstance(seed, int):
        raise ValueError(
            "Expected `seed` argument to be an integer. "
            f"Received: seed={seed} (of type {type(seed)})"
        )
    utils.set_random_seed(seed)
    random.reset()


@keras3_export("backend.is_keras_tensor", "utils.is_keras_tensor")
def is_keras_tensor(x: Any) -> bool:
    """Returns whether a value is a symbolic tensor (KerasTensor).

    Args:
      x: The value.
    """
    return context.is_symbolic(x)


@keras3_export("backend.get_uid")
def get_uid(prefix: str = "") -> int:
    """Returns 1, 2, 3, ... for a prefix.

    Args:
      prefix: The prefix.
    """
    return int(unique(prefix, first_plain=False).rpartition("_")[2])


# Policies


alias(mixed_precision.Policy, "DTypePolicy", "dtype_policies.DTypePolicy", "mixed_precision.Policy")
alias(mixed_precision.Policy, "mixed_precision.DTypePolicy", "FloatDTypePolicy")
alias(mixed_precision.Policy, "dtype_policies.FloatDTypePolicy")


@keras3_export("dtype_policies.get")
def get_policy(identifier: Any) -> Any:
    """Returns the policy of a name, a configuration or a policy.

    Args:
      identifier: A name, a configuration or a policy.
    """
    if isinstance(identifier, dict):
        return deserialize_policy(identifier)
    policy = mixed_precision.as_policy(identifier)
    return mixed_precision.Policy(identifier) if policy is None else policy


@keras3_export("dtype_policies.serialize")
def serialize_policy(dtype_policy: Any) -> dict[str, Any]:
    """Returns the configuration of a policy.

    Args:
      dtype_policy: The policy.
    """
    return {
        "module": "keras",
        "class_name": "DTypePolicy",
        "config": {"name": dtype_policy.name},
        "registered_name": None,
    }


@keras3_export("dtype_policies.deserialize")
def deserialize_policy(config: Any, custom_objects: Any = None) -> Any:
    """Creates a policy from its configuration.

    Args:
      config: The configuration.
      custom_objects: Not used: there are no policies of programs.
    """
    del custom_objects  # policies have one class
    return mixed_precision.Policy(config["config"]["name"])


for _name in (
    *("AWQDTypePolicy", "DTypePolicyMap", "GPTQDTypePolicy", "Int4DTypePolicy"),
    *("QuantizedDTypePolicy", "QuantizedFloat8DTypePolicy"),
):
    unsupported_class("dtype_policies." + _name, "quantization is not implemented.")


# Distribution is not supported


@keras3_export("distribution.list_devices")
def list_devices(device_type: str | None = None) -> list[str]:
    """Returns the names of the devices, such as "gpu:0".

    Args:
      device_type: "cpu", "gpu" or "tpu"; default: GPUs if there are any, else CPUs.
    """
    kinds = [device_type.upper()] if device_type else ["GPU", "CPU"]
    for kind in kinds:
        found = devices.list_logical_devices(kind)
        if found:
            return [f"{kind.lower()}:{i}" for i in range(len(found))]
    return []


@keras3_export("distribution.get_device_count")
def get_device_count(device_type: str | None = None) -> int:
    """Returns the number of devices; see list_devices.

    Args:
      device_type: "cpu", "gpu" or "tpu"; default: GPUs if there are any, else CPUs.
    """
    return len(list_devices(device_type))


@keras3_export("distribution.distribution")
def distribution() -> None:
    """Returns None: no distribution is set."""


_DISTRIBUTE = "use tf.distribute.MirroredStrategy, as with Keras' TensorFlow backend."
for _name in ("DataParallel", "DeviceMesh", "LayoutMap", "ModelParallel", "TensorLayout"):
    unsupported_class("distribution." + _name, _DISTRIBUTE)
for _name in ("distribute_tensor", "initialize", "set_distribution"):
    unsupported_function("distribution." + _name, _DISTRIBUTE)
for _name in ("StatelessScope", "SymbolicScope", "RematScope"):
    unsupported_class(_name, "it belongs to the JAX backend.")
unsupported_function("remat", "rematerialization is not implemented.")
