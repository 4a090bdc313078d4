# SPDX-License-Identifier: Apache-2.0
"""layers_adaptive_pool.py: pooling layers of Keras 3 whose windows follow from the output size."""

from __future__ import annotations

from typing import Any

from situ._src.framework import api
from situ._src.keras import context
from situ._src.keras.layer import Layer
from situ._src.keras.layers_conv import normalize_tuple
from situ._src.keras.layers_core import named

_DOC = """{} pooling to an output of a fixed size, of inputs of {} dimensions with static sizes.

Args:
  output_size: Size of the output along each dimension; one int for all.
  data_format: "channels_last" or "channels_first".
  **kwargs: Arguments of `Layer`.

Call arguments:
  inputs: Tensor of rank {}.

Raises:
  ValueError: If data_format is unknown.
"""


class _Adaptive(Layer):
    """Base class of adaptive pooling."""

    RANK, OPERATION = 2, ""

    def __init__(self, output_size: Any, data_format: str | None = None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.output_size = normalize_tuple(output_size, self.RANK, "output_size")
        self.data_format = data_format or context.setting("format")
        if self.data_format not in ("channels_first", "channels_last"):
            raise ValueError(
                f"Invalid data_format: {self.data_format}. Expected 'channels_first' or "
                "'channels_last'."
            )

    def call(self, inputs):
        return api.named(self.OPERATION)(inputs, self.output_size, self.data_format)

    def get_config(self) -> dict[str, Any]:
        config = {"output_size": self.output_size, "data_format": self.data_format}
        return {**super().get_config(), **config}


for _rank in (1, 2, 3):
    for _kind in ("Average", "Max"):
        _name = f"Adaptive{_kind}Pooling{_rank}D"
        _fields = {
            "RANK": _rank,
            "OPERATION": f"keras3.ops.adaptive_{_kind.lower()}_pool",
            "__doc__": _DOC.format(_kind, _rank, _rank + 2),
        }
        named(_name)(type(_name, (_Adaptive,), _fields))
