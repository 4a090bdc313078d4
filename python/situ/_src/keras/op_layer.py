# SPDX-License-Identifier: Apache-2.0
"""op_layer.py: TensorFlowOpLayer: an op that was called on a symbolic tensor, as a layer."""

from __future__ import annotations

from typing import Any

import numpy

import _situ
from situ._src.keras import nodes, weights
from situ._src.keras.layer import Layer
from situ._src.keras.registry import LAYERS, keras_export
from situ._src.ops.array_ops import constant, convert_to_tensor


@keras_export("layers.TensorFlowOpLayer", "layers.TFOpLambda")
class TensorFlowOpLayer(Layer):
    """Layer of one op; inputs that do not depend on symbolic tensors are stored."""

    UNTRACKED = Layer.UNTRACKED

    def __init__(
        self,
        node_def,
        constants=None,
        name: str | None = None,
        trainable: bool = True,
        dtype: Any = None,
        **kwargs,
    ) -> None:
        super().__init__(name=name, trainable=trainable, dtype=dtype, **kwargs)
        self.node_def = node_def
        self.constants = {int(k): _value(v) for k, v in (constants or {}).items()}
        self.built = True

    def _cast(self, inputs):
        return inputs

    def call(self, inputs):
        given = iter(inputs if isinstance(inputs, (list, tuple)) else [inputs])
        count = len(self.constants) + (len(inputs) if isinstance(inputs, (list, tuple)) else 1)
        return nodes.call_op(
            self.node_def,
            [
                _tensor(self.constants[i]) if i in self.constants else next(given)
                for i in range(count)
            ],
        )

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        constants = {
            str(k): {"dtype": v.dtype.base_dtype.name, "value": numpy.asarray(v.numpy()).tolist()}
            for k, v in self.constants.items()
        }
        return {**config, "node_def": self.node_def, "constants": constants}


LAYERS.add(TensorFlowOpLayer)


def _tensor(value):
    """Returns a stored input; integers become graph constants, which shape inference needs."""
    if isinstance(value, weights.VARIABLE):
        return value._situ_tensor_()
    if _situ.current_graph() is not None and value.dtype.is_integer and value.shape.rank <= 1:
        return constant(value.numpy(), value.dtype)
    return value


def _value(value):
    if isinstance(value, dict):
        return convert_to_tensor(numpy.asarray(value["value"], value["dtype"]))
    return value
