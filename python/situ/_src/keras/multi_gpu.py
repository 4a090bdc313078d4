# SPDX-License-Identifier: Apache-2.0
"""multi_gpu.py: tf.keras.utils.multi_gpu_model: data parallelism over several GPUs in one model."""

from __future__ import annotations

from typing import Any

from situ._src.framework import config
from situ._src.keras import nodes
from situ._src.keras.layers_core import Lambda
from situ._src.keras.layers_merge import Concatenate
from situ._src.keras.model import Model
from situ._src.keras.registry import keras_export
from situ._src.ops.array_ops import concat, op


def _gpu_indices(gpus):
    """Returns the indices of the requested GPUs; raises a ValueError if one does not exist."""
    existing = [d.name for d in config.list_logical_devices("GPU")]
    gpus = len(existing) if gpus is None else gpus
    count = len(gpus) if isinstance(gpus, (list, tuple)) else gpus
    if count <= 1:
        raise ValueError(
            "For multi-gpu usage to be effective, call `multi_gpu_model` with "
            f"`gpus >= 2`. Received: `gpus={gpus}`"
        )
    chosen = list(gpus) if isinstance(gpus, (list, tuple)) else list(range(gpus))
    wanted = ["/cpu:0", *[f"/gpu:{i}" for i in chosen]]
    names = ["/cpu:0", *[f"/gpu:{i}" for i in range(len(existing))]]
    for name in wanted:
        if name not in names:
            raise ValueError(
                f"To call `multi_gpu_model` with `gpus={gpus}`, we expect the "
                f"following devices to be available: {wanted}. However this machine "
                f"only has: {names}. Try reducing `gpus`."
            )
    return chosen


def _part(data, i, parts):
    """Returns slice i of a batch; the last one includes the remainder."""
    shape = op("Shape", data)
    size, rest = shape[:1], shape[1:]
    step = size // parts
    mine = size - step * i if i == parts - 1 else step
    return op("Slice", data, concat([step * i, rest * 0], 0), concat([mine, rest], 0))


@keras_export("utils.multi_gpu_model")
def multi_gpu_model(
    model: Any, gpus: Any = None, cpu_merge: bool = True, cpu_relocation: bool = False
) -> Any:
    """Returns a model that splits each batch over several GPUs.

    Args:
      model: The model; its weights are shared by all replicas.
      gpus: Number of GPUs, at least 2, or a list of their indices.
      cpu_merge: Whether to concatenate the outputs on the CPU.
      cpu_relocation: Has no effect: the weights stay where they are; the results are the same.

    Returns:
      The model.

    Raises:
      ValueError: If there are fewer than 2 GPUs, or a GPU does not exist.
    """
    del cpu_relocation  # it moves weights, which does not change results
    chosen, towers = _gpu_indices(gpus), []
    for i, number in enumerate(chosen):
        with nodes.placed(f"/device:GPU:{number}"):
            kwargs = {"i": i, "parts": len(chosen)}
            parts = [Lambda(_part, lambda shape: shape, arguments=kwargs)(x) for x in model.inputs]
            result = model(parts if len(parts) > 1 else parts[0])
            towers.append(list(result) if isinstance(result, (list, tuple)) else [result])
    with nodes.placed("/device:CPU:0" if cpu_merge else f"/device:GPU:{chosen[0]}"):
        merged = [
            Concatenate(axis=0, name=name)(list(outputs))
            for name, outputs in zip(model.output_names, zip(*towers))
        ]
    return Model(model.inputs, merged if len(merged) > 1 else merged[0])
