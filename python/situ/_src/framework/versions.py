# SPDX-License-Identifier: Apache-2.0
"""versions.py: version and build information, options without effect in situ, and hardware that
situ does not support."""

from __future__ import annotations

import _situ
from situ._src.cluster.resolvers import ClusterResolver
from situ._src.framework import config, device_lib, logs, style
from situ._src.framework.api import BOTH, V1, V2, export
from situ._src.framework.concrete_function import FuncGraph
from situ._src.framework.device_types import PhysicalDevice
from situ._src.framework.graph import get_default_graph
from situ._src.framework.tensor import GraphTensor
from situ._src.ops import random_ops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import Any, TensorLike

VERSION, GIT_VERSION = style.VERSIONS["v2"], "situ"
GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_PRODUCER = 1645, 0
V1["version.VERSION"] = style.VERSIONS["v1"]
V2["version.VERSION"] = VERSION
BOTH.update(
    {
        "version.GIT_VERSION": "situ",
        "version.COMPILER_VERSION": "C11",
        "version.GRAPH_DEF_VERSION": GRAPH_DEF_VERSION,
        "version.GRAPH_DEF_VERSION_MIN_CONSUMER": 0,
        "version.GRAPH_DEF_VERSION_MIN_PRODUCER": GRAPH_DEF_VERSION_MIN_PRODUCER,
        "sysconfig.CXX11_ABI_FLAG": 1,
        "sysconfig.CXX_VERSION": 201703,
        "sysconfig.MONOLITHIC_BUILD": 0,
    }
)


@export("sysconfig.get_build_info")
def get_build_info() -> dict:
    """Returns build information; situ is built without CUDA and loads it at run time."""
    return {
        "is_cuda_build": False,
        "is_rocm_build": False,
        "is_tensorrt_build": False,
        "cuda_version": "",
        "cudnn_version": "",
        "msvcp_dll_names": "",
    }


@export("test.is_built_with_rocm", "test.is_built_with_xla")
def _is_built_with() -> bool:
    """Returns False: situ has neither ROCm nor XLA."""
    return False


# Switches


_switches: dict = {"options": {}, "synchronous": True, "filtering": True}


def _switch(name, *setters):
    """Exports functions that store and return a value without further effect."""

    def get() -> bool:
        """Returns the value that was set; it has no further effect."""
        return _switches[name]

    def put(enable: bool | None = None) -> None:
        """Stores a value; it has no further effect.

        Args:
          enable: The value that the function with `get` or `is` in its name returns.
        """
        _switches[name] = enable

    for place, which in setters:
        export(place)(put if which else get)


_switch(
    "synchronous",
    ("config.experimental.get_synchronous_execution", False),
    ("config.experimental.set_synchronous_execution", True),
)
_switch("filtering", ("debugging.is_traceback_filtering_enabled", False))


@export("config.experimental.tensor_float_32_execution_enabled")
def tensor_float_32_execution_enabled() -> bool:
    """Returns False: TensorFloat-32 is never used."""
    return False


@export("config.experimental.enable_tensor_float_32_execution")
def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Warns if TensorFloat-32 is requested: float32 operations keep full precision.

    Args:
      enabled: whether to use TensorFloat-32.
    """
    if enabled:
        logs.warn(
            "TensorFloat-32 is not supported: float32 operations keep their full precision "
            "on every device."
        )


@export("config.optimizer.get_jit")
def get_jit() -> str:
    """Returns "": XLA is off."""
    return ""


@export("config.optimizer.set_jit")
def set_jit(enabled: bool) -> None:
    """Warns if XLA is requested: situ compiles every function itself.

    Args:
      enabled: True, False, or "autoclustering".
    """
    if enabled:
        logs.warn("XLA is not supported: situ compiles functions itself, whatever set_jit says.")


@export("debugging.enable_traceback_filtering")
def enable_traceback_filtering() -> None:
    """Stores the setting for is_traceback_filtering_enabled; tracebacks do not change."""
    _switches["filtering"] = True


@export("debugging.disable_traceback_filtering")
def disable_traceback_filtering() -> None:
    """Stores the setting for is_traceback_filtering_enabled; tracebacks do not change."""
    _switches["filtering"] = False


@export("config.optimizer.get_experimental_options")
def get_experimental_options() -> dict:
    """Returns the options that set_experimental_options stored."""
    return dict(_switches["options"])


@export("config.optimizer.set_experimental_options")
def set_experimental_options(options: dict) -> None:
    """Stores options of the graph optimizer, which have no effect.

    Args:
      options: a dict.
    """
    if options.get("auto_mixed_precision"):
        logs.warn(logs.NO_MIXED_PRECISION)
    _switches["options"].update(options)


@export("config.experimental.enable_op_determinism")
def enable_op_determinism() -> None:
    """Makes random operations without a seed an error.

    Kernels compute the same result in every run anyway. Concurrent updates of a variable may still
    differ between runs."""
    random_ops.require_seeds(True)


@export("python.framework.config.disable_op_determinism")
def disable_op_determinism() -> None:
    """Ends the effect of enable_op_determinism."""
    random_ops.require_seeds(False)


@export("config.experimental.get_device_details")
def get_device_details(device: Any) -> dict:
    """Returns details of a GPU.

    Args:
      device: a tf.config.PhysicalDevice.

    Returns:
      A dict with "device_name", or an empty one.

    Raises:
      ValueError: `device` is not one of tf.config.list_physical_devices.
    """
    if not isinstance(device, PhysicalDevice):
        raise ValueError(f"device must be a tf.config.PhysicalDevice, but got: {device}")
    if device not in config.list_physical_devices():
        raise ValueError(
            "The PhysicalDevice must be one obtained from calling "
            f"`tf.config.list_physical_devices`, but got: {device}"
        )
    if device.device_type != "GPU":
        return {}
    number = device.name.rpartition(":")[2]
    for local in device_lib.list_local_devices():
        if local.device_type == "GPU" and local.name.rpartition(":")[2] == number:
            text = getattr(local, "physical_device_desc", "") or ""
            parts = dict(p.split(": ", 1) for p in text.split(", ") if ": " in p)
            return {"device_name": parts.get("name", "GPU")}
    return {}


# The context of a call


@export("get_current_name_scope")
def get_current_name_scope() -> str:
    """Returns the current name scope without the final slash."""
    graph = get_default_graph()
    scope = getattr(graph, "get_name_scope", lambda: "")()
    return scope or ""


@export("inside_function")
def inside_function() -> bool:
    """Returns whether a tf.function is being traced."""
    return isinstance(_situ.current_graph(), FuncGraph)


@export("is_symbolic_tensor")
def is_symbolic_tensor(tensor: TensorLike) -> bool:
    """Returns whether a value is a tensor of a graph.

    Args:
      tensor: a value.
    """

    return isinstance(tensor, GraphTensor)


# Unsupported hardware


@export("distribute.cluster_resolver.TPUClusterResolver")
class TPUClusterResolver(ClusterResolver):
    """Raises ValueError: situ does not support TPUs. Programs that handle TensorFlow's error
    continue without."""

    def __init__(self, tpu: Any = None, *args: Any, **kwargs: Any):
        raise ValueError("Please provide a TPU Name to connect to.")

    @staticmethod
    def connect(tpu: Any = None, zone: Any = None, project: Any = None) -> Any:
        raise ValueError("Please provide a TPU Name to connect to.")


@export("config.experimental_connect_to_cluster")
def experimental_connect_to_cluster(*args: Any, **kwargs: Any) -> Any:
    """Raises ValueError: use `situ run --ranks` or mpirun.

    Args:
      *args: The cluster.
      **kwargs: Options.
    """
    raise ValueError(
        "situ joins the processes that `situ run --ranks` or mpirun starts, it does "
        "not connect to others (docs/how-to/multiple-processes.md)."
    )


BOTH["newaxis"] = None
BOTH["GIT_VERSION"] = V1["GIT_VERSION"] = "situ"
V1["VERSION"] = style.VERSIONS["v1"]
