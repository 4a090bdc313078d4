# SPDX-License-Identifier: Apache-2.0
"""op_layer.py: ops on symbolic tensors as layers, and layers that take composite tensors apart and
build them."""

from __future__ import annotations

from typing import Any

import numpy

import _situ
from situ._src.keras import composite, nodes, weights
from situ._src.keras.layer import Layer
from situ._src.keras.registry import LAYERS, keras_export
from situ._src.ops.array_ops import constant, convert_to_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from situ._src.framework.type_aliases import TensorLike


@keras_export("layers.TensorFlowOpLayer", "layers.TFOpLambda")
class TensorFlowOpLayer(Layer):
    """Layer of one op; inputs that do not depend on symbolic tensors are stored."""

    UNTRACKED = Layer.UNTRACKED

    def __init__(
        self,
        node_def: Any,
        constants: Any = None,
        name: str | None = None,
        trainable: bool = True,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, dtype=dtype, **kwargs)
        self.node_def = node_def
        self.constants = {int(k): _value(v) for k, v in (constants or {}).items()}
        self.built = True

    def _cast(self, inputs):
        return inputs

    def call(self, inputs: TensorLike) -> Any:
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
        return {**config, "node_def": self.node_def, "constants": _saved(self.constants)}


LAYERS.add(TensorFlowOpLayer)


class CompositeComponent(Layer):
    """Layer that returns a component of a composite tensor, such as the row splits of a ragged
    tensor.

    Args:
      index: Index of the component.
    """

    def __init__(self, index, **kwargs) -> None:
        super().__init__(**kwargs)
        self.index, self.built = index, True

    def _cast(self, inputs):
        return inputs

    def call(self, inputs):
        return inputs._situ_tensors_[self.index]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "index": self.index}


class CompositeFromComponents(Layer):
    """Layer that returns a composite tensor of its components.

    Args:
      spec: TypeSpec of the result, or its configuration.
      constants: Dictionary from indices to components that do not depend on symbolic tensors.
    """

    UNTRACKED = Layer.UNTRACKED

    def __init__(self, spec, constants=None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.spec = composite.spec_from_config(spec)
        self.constants = {int(k): _value(v) for k, v in (constants or {}).items()}
        self.built = True

    def _cast(self, inputs):
        return inputs

    def call(self, inputs):
        given = iter(inputs)
        count = len(inputs) + len(self.constants)
        own = self.constants
        parts = [_tensor(own[i]) if i in own else next(given) for i in range(count)]
        return self.spec._situ_from_tensors_(parts)

    def get_config(self) -> dict[str, Any]:
        spec = composite.spec_config(self.spec)
        return {**super().get_config(), "spec": spec, "constants": _saved(self.constants)}


for _kind in (CompositeComponent, CompositeFromComponents):
    LAYERS.add(_kind)


def _saved(constants):
    """Returns stored inputs for a configuration."""
    return {
        str(k): {"dtype": v.dtype.base_dtype.name, "value": numpy.asarray(v.numpy()).tolist()}
        for k, v in constants.items()
    }


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
