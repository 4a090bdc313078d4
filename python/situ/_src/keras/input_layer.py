# SPDX-License-Identifier: Apache-2.0
"""input_layer.py: tf.keras.Input and InputLayer: the symbolic inputs of functional models."""

from __future__ import annotations

from typing import Any

from situ._src.framework import tensor_shape
from situ._src.framework.dtypes import as_dtype
from situ._src.framework.keywords import unsupported
from situ._src.keras import context, nodes
from situ._src.keras.layer import Layer
from situ._src.keras.registry import LAYERS, keras_export, unique


@keras_export("layers.InputLayer")
class InputLayer(Layer):
    """Layer of a symbolic input tensor; `tf.keras.Input` creates it.

    Args:
      input_shape: Shape without the batch dimension.
      batch_size: Batch size, if it is static.
      dtype: Type of the tensor.
      input_tensor: Symbolic tensor to use instead of a new one.
      sparse: Only False is supported.
      name: Name of the layer.
      ragged: Only False is supported.
      batch_input_shape: Shape with the batch dimension.
      shape: Name of input_shape in Keras 3.
      batch_shape: Name of batch_input_shape in Keras 3.

    Raises:
      NotImplementedError: If sparse or ragged is set.
      ValueError: If neither a shape nor a tensor is given.
    """

    def __init__(
        self,
        input_shape=None,
        batch_size=None,
        dtype=None,
        input_tensor=None,
        sparse=False,
        name=None,
        ragged=False,
        batch_input_shape=None,
        shape=None,
        batch_shape=None,
        **kwargs,
    ):
        unsupported("Input", sparse=(sparse, False), ragged=(ragged, False))
        batch_input_shape = batch_input_shape if batch_input_shape is not None else batch_shape
        input_shape = input_shape if input_shape is not None else shape
        if batch_input_shape is None and input_shape is not None:
            sizes = (
                tensor_shape.as_shape(input_shape).as_list()
                if tensor_shape.as_shape(input_shape).rank is not None
                else None
            )
            batch_input_shape = (batch_size, *sizes)
        if input_tensor is not None:
            batch_input_shape = tuple(input_tensor.shape.as_list())
            dtype = input_tensor.dtype.base_dtype.name
        if batch_input_shape is None:
            raise ValueError(
                "Please provide to Input a `shape` or a `tensor` argument. Note that "
                "`shape` does not include the batch dimension."
            )
        super().__init__(
            name=name or unique("input", False),
            dtype=dtype or context.setting("float"),
            batch_input_shape=batch_input_shape,
            **kwargs,
        )
        self.built, self.sparse, self.ragged = True, sparse, ragged
        if input_tensor is None:
            input_tensor = nodes.placeholder(
                context.keras_graph(), list(batch_input_shape), as_dtype(self.dtype), self.name
            )
        self.is_placeholder = True
        nodes.Node(self, [], (), {}, input_tensor)

    input = property(lambda s: s.output)
    input_shape = property(lambda s: s.output_shape)

    def get_config(self) -> dict[str, Any]:
        return {
            "batch_input_shape": list(self._batch_input_shape),
            "dtype": self.dtype,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
        }


LAYERS.add(InputLayer)


@keras_export("Input", "layers.Input")
def Input(
    shape: Any = None,
    batch_size: int | None = None,
    name: str | None = None,
    dtype: Any = None,
    sparse: bool = False,
    tensor=None,
    ragged: bool = False,
    batch_shape=None,
    batch_input_shape=None,
    type_spec=None,
    optional: bool = False,
    **kwargs,
):
    """Creates a symbolic tensor: an input of a functional model.

    Args:
      shape: Shape without the batch dimension; None marks an unknown size.
      batch_size: Batch size, if it is static.
      name: Name of the input.
      dtype: Type; default: `tf.keras.backend.floatx()`.
      sparse: Only False is supported.
      tensor: Symbolic tensor to use as the input; it has its own shape and type.
      ragged: Only False is supported.
      batch_shape: Shape with the batch dimension.
      batch_input_shape: Former name of batch_shape; used if shape, batch_shape and tensor are
        missing.
      type_spec: Only None is supported.
      optional: Only False is supported.

    Returns:
      A symbolic tensor.

    Raises:
      NotImplementedError: If sparse, ragged, type_spec or optional is set, or tensor is one of a
        graph of the program.
      ValueError: If neither a shape nor a tensor is given, the tensor is eager, or for unknown
        arguments.
    """
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments: {list(kwargs)}")
    unsupported("Input", type_spec=(type_spec, None), optional=(optional, False))
    if shape is None and batch_shape is None and tensor is None:
        batch_shape = batch_input_shape
    if isinstance(shape, int):
        shape = (shape,)
    if tensor is not None and not context.is_symbolic(tensor):
        if hasattr(tensor, "numpy"):
            raise ValueError(
                "You should not pass an EagerTensor to `Input`. For example, instead of creating "
                "an `InputLayer`, you should instantiate your model and directly call it on your "
                "input."
            )
        unsupported("Input", tensor=(tensor, None))
    layer = InputLayer(
        input_shape=shape,
        batch_size=batch_size,
        name=name,
        dtype=dtype,
        sparse=sparse,
        ragged=ragged,
        input_tensor=tensor,
        batch_input_shape=batch_shape,
    )
    return layer._inbound_nodes[0].outputs
