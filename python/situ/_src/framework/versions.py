# SPDX-License-Identifier: Apache-2.0
"""versions.py: version and build information, options without effect, and hardware that situ
does not support."""

from __future__ import annotations

from situ._src.cluster.servers import ClusterResolver
from situ._src.framework import logs, style
from situ._src.framework.api import BOTH, V1, V2, export
from situ._src.framework.graph import get_default_graph

VERSION = style.VERSIONS["v2"]
V1["version.VERSION"] = style.VERSIONS["v1"]
V2["version.VERSION"] = VERSION
BOTH.update(
    {
        "version.GIT_VERSION": "situ",
        "version.COMPILER_VERSION": "C11",
        "version.GRAPH_DEF_VERSION": 1645,
        "version.GRAPH_DEF_VERSION_MIN_CONSUMER": 0,
        "version.GRAPH_DEF_VERSION_MIN_PRODUCER": 0,
        "sysconfig.CXX11_ABI_FLAG": 1,
        "sysconfig.CXX_VERSION": 201703,
        "sysconfig.MONOLITHIC_BUILD": 0,
    }
)


@export("sysconfig.get_build_info")
def get_build_info():
    """What situ is built for: neither CUDA nor ROCm is needed to build it."""
    return {
        "is_cuda_build": False,
        "is_rocm_build": False,
        "is_tensorrt_build": False,
        "cuda_version": "",
        "cudnn_version": "",
        "msvcp_dll_names": "",
    }


export("test.is_built_with_rocm", "test.is_built_with_xla")(lambda: False)

# Switches


_switches = {"options": {}, "synchronous": True, "filtering": True}


def _switch(name, *setters):
    """Functions that keep a value and give it back."""

    def get():
        return _switches[name]

    def put(value=None):
        _switches[name] = value

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
    """Whether products of float32 matrices are rounded to TensorFloat-32: never, on any device."""
    return False


@export("config.experimental.enable_tensor_float_32_execution")
def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Warns where TensorFloat-32 is asked for: float32 operations keep their full precision."""
    if enabled:
        logs.warn(
            "TensorFloat-32 is not supported: float32 operations keep their full precision "
            "on every device."
        )


@export("config.optimizer.get_jit")
def get_jit() -> str:
    """Whether XLA compiles programs: there is none, so "", which means that it is off."""
    return ""


@export("config.optimizer.set_jit")
def set_jit(enabled) -> None:
    """Warns where XLA is asked for: situ compiles every function itself."""
    if enabled:
        logs.warn("XLA is not supported: situ compiles functions itself, whatever set_jit says.")


@export("debugging.enable_traceback_filtering")
def enable_traceback_filtering():
    """What an error shows of situ itself stays as it is: little."""
    _switches["filtering"] = True


@export("debugging.disable_traceback_filtering")
def disable_traceback_filtering():
    _switches["filtering"] = False


@export("config.optimizer.get_experimental_options")
def get_experimental_options():
    return dict(_switches["options"])


@export("config.optimizer.set_experimental_options")
def set_experimental_options(options):
    """Keeps the options: situ plans every graph in the same way."""
    if options.get("auto_mixed_precision"):
        logs.warn(
            "auto_mixed_precision is not supported: operations keep their types. Use "
            "tf.keras.mixed_precision."
        )
    _switches["options"].update(options)


@export("config.experimental.enable_op_determinism")
def enable_op_determinism():
    """Nothing to do: the order of sums does not depend on chance."""


@export("config.experimental.get_device_details")
def get_device_details(device):
    """The name of a GPU, as far as it is known."""
    from situ._src.framework import device_lib

    number = device.name.rpartition(":")[2]
    for found in device_lib.list_local_devices():
        if found.device_type == "GPU" and found.name.rpartition(":")[2] == number:
            text = getattr(found, "physical_device_desc", "") or ""
            parts = dict(p.split(": ", 1) for p in text.split(", ") if ": " in p)
            return {"device_name": parts.get("name", "GPU")}
    return {}


# What is around a call


@export("get_current_name_scope")
def get_current_name_scope():
    graph = get_default_graph()
    scope = getattr(graph, "get_name_scope", lambda: "")()
    return scope or ""


@export("inside_function")
def inside_function():
    import _situ
    from situ._src.framework.concrete_function import FuncGraph

    return isinstance(_situ.current_graph(), FuncGraph)


@export("is_symbolic_tensor")
def is_symbolic_tensor(tensor):
    from situ._src.framework.tensor import GraphTensor

    return isinstance(tensor, GraphTensor)


# Hardware that situ does not drive


@export("distribute.cluster_resolver.TPUClusterResolver")
class TPUClusterResolver(ClusterResolver):
    """There are no TPUs: programs that look for one get TensorFlow's error and go on without."""

    def __init__(self, tpu=None, *args, **kwargs):
        raise ValueError("Please provide a TPU Name to connect to.")

    @staticmethod
    def connect(tpu=None, zone=None, project=None):
        raise ValueError("Please provide a TPU Name to connect to.")


@export("config.experimental_connect_to_cluster")
def experimental_connect_to_cluster(*args, **kwargs):
    raise ValueError(
        "situ joins the processes that `situ run --ranks` or mpirun starts, it does "
        "not connect to others (docs/how-to/multiple-processes.md)."
    )


BOTH["newaxis"] = None
BOTH["GIT_VERSION"] = V1["GIT_VERSION"] = "situ"
V1["VERSION"] = style.VERSIONS["v1"]
