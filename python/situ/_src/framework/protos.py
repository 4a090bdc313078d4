# SPDX-License-Identifier: Apache-2.0
"""protos.py: the messages of sessions: ConfigProto, GPUOptions, RunOptions and their parts.

situ reads device_count, intra_op_parallelism_threads, allow_soft_placement, log_device_placement,
operation_timeout_in_ms and, of gpu_options, the memory fraction, growth, visible devices and
virtual devices. A local session ignores the other fields. `sim_gpus` is situ's own field: simulated
GPUs, as in SITU_SIM_GPUS."""

from __future__ import annotations

import itertools

from situ._src.framework.device_types import virtual_gpus
from situ._src.framework.message_classes import message_class

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from typing import Any

ConfigProto = message_class("tensorflow.ConfigProto")
GPUOptions = message_class("tensorflow.GPUOptions")
GraphOptions = message_class("tensorflow.GraphOptions")
OptimizerOptions = message_class("tensorflow.OptimizerOptions")
RewriterConfig = message_class("tensorflow.RewriterConfig")
RunOptions = message_class("tensorflow.RunOptions")


def config_options(config: Any) -> dict:
    """Converts a ConfigProto to the options of the engine."""
    if config is None:
        return {}
    gpu = config.gpu_options
    counts = {k.upper(): v for k, v in config.device_count.items()}
    options = {
        "log_device_placement": config.log_device_placement,
        "allow_soft_placement": config.allow_soft_placement,
        "threads": config.intra_op_parallelism_threads,
        "sim_gpus": config.sim_gpus or None,
        "visible_device_list": gpu.visible_device_list or None,
        "cpu_devices": counts.get("CPU", 0),
        "gpu_devices": (counts["GPU"] or -1) if "GPU" in counts else 0,
        "memory": {"fraction": gpu.per_process_gpu_memory_fraction, "growth": gpu.allow_growth},
    }
    pieces = virtual_gpus(
        [
            [*itertools.zip_longest(v.memory_limit_mb, v.device_ordinal)]
            for v in gpu.experimental.virtual_devices
        ]
    )
    if pieces:
        options["virtual_devices"] = pieces
    return options
